// A substitute for CUDA: everything happens at once on the CPU, and what the streams and events
// would have allowed to happen is checked as race detectors do, by vector clocks. An order that
// nothing enforces is found in every run, whatever the timing.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "cuda/calls.h"
#include "runtime/device_runtime.h"

namespace berth::cuda {

/// What lies before a point of a stream: by stream, how many of its actions.
using Clock = std::map<Stream, int>;

struct StreamTag {
  int gpu;
  Clock clock;
};
struct EventTag {
  int gpu;
  bool recorded = false;
  Clock clock;
  double at_us = 0;
};

class Substitute final : public Calls {
 public:
  explicit Substitute(int gpus = 2, std::int64_t memory_bytes = std::int64_t{1} << 30)
      : gpu_count_(gpus), memory_bytes_(memory_bytes), caller_([this] { call(); }) {}
  ~Substitute() override {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    caller_.join();
  }

  /// What went wrong, in words; empty = nothing.
  std::vector<std::string> violations() {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  /// How often the host waited for a stream.
  int waits() const { return waits_; }
  /// Streams, events and pinned blocks that were not given back.
  int left() const { return left_; }
  /// Nothing works on this GPU any more, and CUDA tells nobody.
  void lose(int gpu) {
    const std::lock_guard lock(mutex_);
    lost_.insert(gpu);
  }
  /// The same when it is next asked to call.
  void lose_before_calling(int gpu) {
    const std::lock_guard lock(mutex_);
    lost_when_calling_ = gpu;
  }
  /// While it is set, GPUs have not yet come to what they were given.
  void set_behind(bool behind) { behind_ = behind; }
  void repair() {
    const std::lock_guard lock(mutex_);
    lost_.clear();
    lost_when_calling_ = kHost;
  }

  /// What a kernel does in the calling thread: on its stream, or on the host where it has none.
  /// The point that follows.
  Clock launch(const std::string& op, const std::vector<const void*>& reads,
               const std::vector<const void*>& writes) {
    const std::lock_guard lock(mutex_);
    const auto current = current_.find(std::this_thread::get_id());
    if (current == current_.end()) {
      for (const void* const block : reads) {
        if (on_its_way_.contains(block)) violations_.push_back(op + " reads what is on its way");
      }
      return {};
    }
    check(current->second->gpu);
    for (const void* const block : reads) read(op, current->second, block, /*must_be_kept=*/true);
    for (const void* const block : writes) write(current->second, block);
    return current->second->clock;
  }
  /// The host needs what the calling thread's stream computes, as in `item`.
  void look() {
    Stream stream = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto current = current_.find(std::this_thread::get_id());
      if (current != current_.end()) stream = current->second;
    }
    if (stream != nullptr) synchronize(stream);
  }

  std::vector<Gpu> gpus() override {
    Gpu gpu{"substitute", memory_bytes_, memory_bytes_, 1e12, 1e12};
    return std::vector<Gpu>(static_cast<std::size_t>(gpu_count_), gpu);
  }
  std::string versions() override { return "a substitute for CUDA"; }
  bool connect(int, int) override { return true; }

  Stream make_stream(int gpu) override {
    ++left_;
    return new StreamTag{gpu, {}};
  }
  Event make_event(int gpu) override {
    ++left_;
    return new EventTag{gpu, false, {}, 0};
  }
  void destroy(Stream stream) noexcept override {
    --left_;
    delete stream;
  }
  void destroy(Event event) noexcept override {
    --left_;
    delete event;
  }

  void record(Event event, Stream stream) override {
    const std::lock_guard lock(mutex_);
    check(stream->gpu);
    if (event->gpu != stream->gpu) violations_.push_back("an event is recorded on another GPU");
    ++stream->clock[stream];
    event->recorded = true;
    event->clock = stream->clock;
    event->at_us = runtime::now_us();
  }
  void wait(Stream stream, Event event) override {
    const std::lock_guard lock(mutex_);
    check(stream->gpu);
    if (event == nullptr || !event->recorded) {
      violations_.push_back("a stream waits for what was never recorded");
      return;
    }
    for (const auto& [other, actions] : event->clock) {
      stream->clock[other] = std::max(stream->clock[other], actions);
    }
  }
  bool done(Event event) override {
    const std::lock_guard lock(mutex_);
    check(event->gpu);
    return event->recorded && !behind_;
  }
  void synchronize(Stream stream) override {
    const std::lock_guard lock(mutex_);
    ++waits_;
    check(stream->gpu);
  }
  double elapsed_us(Event from, Event to) override { return to->at_us - from->at_us; }

  void copy(Stream stream, void* to, int to_gpu, const void* from, int from_gpu,
            std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    check(stream->gpu);
    if (bytes == 0) return;
    if (from_gpu != kHost) read("a copy", stream, from, /*must_be_kept=*/false);
    if (to_gpu == kHost) {
      on_its_way_[to] = stream;
    } else {
      write(stream, to);
    }
    std::memcpy(to, from, bytes);
  }
  void call_after(Stream stream, void (*function)(void*), void* argument) override {
    {
      const std::lock_guard lock(mutex_);
      check(stream->gpu);
      callbacks_.push_back({stream, function, argument});
    }
    changed_.notify_all();
  }

  void* allocate_pinned(std::size_t bytes) override {
    ++left_;
    return std::aligned_alloc(64, bytes);
  }
  void free_pinned(void* block) noexcept override {
    --left_;
    std::free(block);
  }

  at::Device torch_device(int) const override { return at::kCPU; }
  c10::Stream torch_stream(int, Stream) const override {
    return c10::Stream(c10::Stream::DEFAULT, at::kCPU);
  }
  void make_current(int, Stream stream) override {
    const std::lock_guard lock(mutex_);
    current_[std::this_thread::get_id()] = stream;
  }
  void keep_for(const c10::DataPtr& block, int gpu, Stream stream) override {
    const std::lock_guard lock(mutex_);
    if (stream->gpu != gpu) violations_.push_back("a block is kept for a stream of another GPU");
    const auto found = blocks_.find(block.get());
    if (found == blocks_.end()) return;
    found->second.kept.insert(stream);
    found->second.unkept.erase(stream);
  }

  /// Reads of memory that its own stream could have handed out again meanwhile.
  int unkept() {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const auto& [block, known] : blocks_) count += static_cast<int>(known.unkept.size());
    return count;
  }

 private:
  struct Block {
    Stream home = nullptr;    // where it was written, once: values do not change
    int written = 0;          // as the home's clock has it
    std::set<Stream> kept;    // ATen knows that these use it
    std::set<Stream> unkept;  // they use it, and ATen does not know
  };
  struct Callback {
    Stream stream;
    void (*function)(void*);
    void* argument;
  };

  void check(int gpu) const {
    if (lost_.contains(gpu)) throw Error(ErrorCode::execution, "the GPU has fallen off the bus");
  }
  void write(Stream stream, const void* block) {
    Block& known = blocks_[block];
    if (!known.unkept.empty()) violations_.push_back("memory was handed out while it was read");
    known = {stream, ++stream->clock[stream], {}, {}};
  }
  void read(const std::string& who, Stream stream, const void* block, bool must_be_kept) {
    ++stream->clock[stream];
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return;  // made where no kernel of a test tells
    Block& known = found->second;
    if (stream->clock[known.home] < known.written) {
      violations_.push_back(who + " reads what may not be written yet");
    }
    if (must_be_kept && stream != known.home && !known.kept.contains(stream)) {
      known.unkept.insert(stream);
    }
  }
  void call() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return quit_ || !callbacks_.empty(); });
      if (callbacks_.empty()) return;
      const Callback callback = callbacks_.front();
      callbacks_.pop_front();
      if (callback.stream->gpu == lost_when_calling_) lost_.insert(lost_when_calling_);
      if (lost_.contains(callback.stream->gpu)) continue;
      std::erase_if(on_its_way_, [&](const auto& one) { return one.second == callback.stream; });
      lock.unlock();
      callback.function(callback.argument);
      lock.lock();
    }
  }

  const int gpu_count_;
  const std::int64_t memory_bytes_;
  std::atomic<int> waits_ = 0;
  std::atomic<int> left_ = 0;
  std::atomic<bool> behind_ = false;
  std::mutex mutex_;  // guards what follows, and the clocks
  std::condition_variable changed_;
  std::vector<std::string> violations_;
  std::map<std::thread::id, Stream> current_;
  std::map<const void*, Block> blocks_;
  std::map<const void*, Stream> on_its_way_;  // to the host, until what they are copied by calls
  std::set<int> lost_;
  int lost_when_calling_ = kHost;
  std::deque<Callback> callbacks_;
  bool quit_ = false;
  std::thread caller_;
};

}  // namespace berth::cuda
