#include "cuda/host_bridge.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/thread.h"

namespace berth::cuda {
namespace {

/// CUDA calls back nobody once a GPU has failed, so the thread must check from time to time.
constexpr auto kLookAgain = std::chrono::milliseconds(20);

}  // namespace

HostBridge::HostBridge(std::shared_ptr<Calls> calls, std::size_t devices)
    : calls_(std::move(calls)), seats_(devices) {
  for (Seat& seat : seats_) seat.bridge = this;
  thread_ = runtime::begin_thread([this] { work(); });
}

HostBridge::~HostBridge() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void HostBridge::expect(DeviceId src, Stream stream, Arrival arrival) {
  Seat& seat = seats_[static_cast<std::size_t>(src)];
  {
    const std::lock_guard lock(mutex_);
    seat.there = false;
    seat.arrival = std::move(arrival);
  }
  changed_.notify_one();  // it may be asleep for good
  try {
    calls_->call_after(stream, &HostBridge::arrived, &seat);
  } catch (...) {
    // Unless the thread has seen the failure first and notified the sink.
    if (taken(seat, /*only_there=*/false)) throw;
  }
}

void HostBridge::fail(DeviceId src, const std::exception_ptr& error) noexcept {
  if (const auto arrival = taken(seats_[static_cast<std::size_t>(src)], /*only_there=*/false)) {
    arrival->sink->copy_failed(arrival->number, error);
  }
}

void HostBridge::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void HostBridge::arrived(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  {
    const std::lock_guard lock(seat.bridge->mutex_);
    seat.there = true;
  }
  seat.bridge->changed_.notify_one();
}

/// The taker of an arrival notifies its sink, and nobody else does.
std::optional<HostBridge::Arrival> HostBridge::taken(Seat& seat, bool only_there) {
  const std::lock_guard lock(mutex_);
  if (only_there && !seat.there) return std::nullopt;
  return std::exchange(seat.arrival, std::nullopt);
}

void HostBridge::work() {
  const c10::InferenceMode no_gradients;
  std::unique_lock lock(mutex_);
  const auto is_there = [](const Seat& seat) { return seat.there && seat.arrival; };
  const auto is_expected = [](const Seat& seat) { return seat.arrival.has_value(); };
  const auto something = [&] {
    return quit_ || !jobs_.empty() || std::any_of(seats_.begin(), seats_.end(), is_there);
  };
  while (true) {
    bool late = false;
    if (!kept_.empty() || std::any_of(seats_.begin(), seats_.end(), is_expected)) {
      late = !changed_.wait_for(lock, kLookAgain, something);
    } else {
      changed_.wait(lock, [&] {
        return something() || std::any_of(seats_.begin(), seats_.end(), is_expected);
      });
    }
    if (quit_ && jobs_.empty()) break;
    std::deque<std::function<void()>> jobs = std::exchange(jobs_, {});
    lock.unlock();
    for (const auto& job : jobs) job();
    for (Seat& seat : seats_) {
      if (auto arrival = taken(seat, /*only_there=*/true)) {
        arrival->sink->copied(arrival->number, std::move(arrival->copy));
      }
    }
    if (late) look();
    free_kept();
    lock.lock();
  }
  lock.unlock();
  kept_.clear();  // the GPUs are idle: nothing is expected
}

void HostBridge::look() {
  for (std::size_t d = 0; d < seats_.size(); ++d) {
    Event end = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (seats_[d].arrival) end = seats_[d].arrival->end;
    }
    if (end == nullptr) continue;
    try {
      static_cast<void>(calls_->done(end));
    } catch (...) {
      fail(static_cast<DeviceId>(d), std::current_exception());
    }
  }
}

void HostBridge::free_kept() noexcept {
  std::erase_if(kept_, [this](const Kept& kept) {
    try {
      return calls_->done(kept.end);
    } catch (...) {
      return true;  // a GPU that has failed reads nothing any more
    }
  });
}

}  // namespace berth::cuda
