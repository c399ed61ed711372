#include "runtime/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/process_limits.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
/// Sizes per power of two: a block is at most a quarter larger than what it holds.
constexpr std::size_t kSteps = 4;
constexpr std::size_t kSmallestShift = 7;
constexpr std::size_t kClasses = kSteps * 40;

std::string text_of(std::int64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

/// The class of blocks of at least `bytes`, and their size.
std::pair<std::size_t, std::size_t> size_class(std::size_t bytes) {
  const std::size_t least = std::max(bytes, std::size_t{1} << kSmallestShift) - 1;
  const auto shift = static_cast<std::size_t>(std::bit_width(least)) - 1;
  if (shift < kSmallestShift) return {0, std::size_t{1} << kSmallestShift};
  const std::size_t step = (std::size_t{1} << shift) / kSteps;
  const std::size_t index = (least - (std::size_t{1} << shift)) / step;
  return {1 + (shift - kSmallestShift) * kSteps + index,
          (std::size_t{1} << shift) + (index + 1) * step};
}

/// Blocks from this size on are only asked for where the system has room: it would end the process that
/// writes to what it does not have.
constexpr std::size_t kLargeBlock = std::size_t{8} << 20;
/// Left to the system.
constexpr std::int64_t kReserve = std::int64_t{256} << 20;

bool has_room(std::size_t bytes) {
  if (bytes < kLargeBlock) return true;
  const std::int64_t room = free_memory_bytes();
  return room == kNoLimit || static_cast<std::int64_t>(bytes) <= room - kReserve;
}

/// A block for std::free; null where there is no room. Large ones lie on large pages where the system has
/// them: with small ones an op that streams through megabytes waits for addresses to be looked up.
void* new_block(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  if (!has_room(bytes)) return nullptr;
  const std::size_t alignment = bytes < kPage ? kAlignment : kPage;
  void* const block =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
  if (block != nullptr && alignment == kPage) madvise(block, bytes, MADV_HUGEPAGE);  // a wish
#endif
  return block;
}

}  // namespace

/// Free blocks by size class; they wait for the next allocation of the class.
class HostPool {
 public:
  ~HostPool() {
    for (const std::vector<void*>& blocks : free_) {
      for (void* const block : blocks) std::free(block);
    }
  }

  /// Null if the system has no memory left.
  void* take(std::size_t bytes) {
    const auto [index, size] = size_class(bytes);
    if (index >= kClasses) return nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::vector<void*>& blocks = free_[index];
      if (!blocks.empty()) {
        void* const block = blocks.back();
        blocks.pop_back();
        return block;
      }
    }
    return new_block(size);
  }

  void give(void* block, std::size_t bytes) noexcept {
    const std::size_t index = size_class(bytes).first;
    try {
      const std::lock_guard lock(mutex_);
      free_[index].push_back(block);
    } catch (...) {
      std::free(block);
    }
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;
};

MemoryMeter::~MemoryMeter() = default;

void MemoryMeter::take(std::int64_t bytes) {
  const std::int64_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (limit_ != kNoLimit && held > limit_) {
    give(bytes);
    throw Error(ErrorCode::out_of_memory, "device " + device_ + " is out of memory: it holds " +
                                              text_of(held - bytes) + " of its " + text_of(limit_) +
                                              ", and " + text_of(bytes) +
                                              " more are needed; place less there");
  }
  const auto raise = [held](std::atomic<std::int64_t>& peak) {
    std::int64_t known = peak.load(std::memory_order_relaxed);
    while (known < held && !peak.compare_exchange_weak(known, held, std::memory_order_relaxed)) {
    }
  };
  raise(peak_);
  raise(op_peak_);
}

namespace {

thread_local MemoryMeter* current_meter = nullptr;

/// Precedes each allocation and says to whom it belongs.
struct alignas(kAlignment) Header {
  MemoryMeter* meter;
  std::size_t bytes;
};
static_assert(sizeof(Header) == kAlignment);

void free_block(void* data) {
  if (data == nullptr) return;
  auto* const header = static_cast<Header*>(data) - 1;
  MemoryMeter* const meter = header->meter;
  const std::size_t bytes = header->bytes;
  if (meter == nullptr) {
    std::free(header);
    return;
  }
  meter->pool_of(bytes + sizeof(Header)).give(header, bytes + sizeof(Header));
  meter->give(static_cast<std::int64_t>(bytes));
}

/// ATen's CPU allocator in this process. Threads without a meter get what the default allocator
/// would give them.
class MeteringAllocator final : public c10::Allocator {
 public:
  // None says `override`: LibTorch 1.13 declares the const one alone, 2.3 and later the other two.
  c10::DataPtr allocate(std::size_t bytes) const {
    if (bytes == 0) return {nullptr, nullptr, &free_block, c10::Device(c10::kCPU)};
    MemoryMeter* const meter = current_meter;
    void* block = nullptr;
    if (meter == nullptr) {
      constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
      block = bytes > kMost ? nullptr : new_block(bytes + sizeof(Header));
    } else {
      meter->take(static_cast<std::int64_t>(bytes));
      block = meter->pool_of(bytes + sizeof(Header)).take(bytes + sizeof(Header));
    }
    if (block == nullptr) {
      if (meter != nullptr) meter->give(static_cast<std::int64_t>(bytes));
      throw Error(ErrorCode::out_of_memory,
                  "the machine has no room for " + std::to_string(bytes) +
                      " bytes more; close other programs or run a smaller model");
    }
    auto* const header = static_cast<Header*>(block);
    *header = {meter, bytes};
    void* const data = header + 1;
    return {data, data, &free_block, c10::Device(c10::kCPU)};
  }
  c10::DataPtr allocate(std::size_t bytes) { return std::as_const(*this).allocate(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
};

/// That of all devices at a cache, for as long as there is one.
std::shared_ptr<HostPool> common_pool(const std::string& cache) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<HostPool>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<HostPool> pool = known[cache].lock();
  if (pool == nullptr) known[cache] = pool = std::make_shared<HostPool>();
  return pool;
}

/// ATen keeps the pointer for good.
void install_allocator() {
  static const bool installed = [] {
    constexpr std::uint8_t kOverTheDefault = 1;
    c10::SetCPUAllocator(new MeteringAllocator, kOverTheDefault);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

MemoryMeter::MemoryMeter(std::string device, std::int64_t limit_bytes, const std::string& cache)
    : device_(std::move(device)),
      limit_(limit_bytes),
      own_(std::make_unique<HostPool>()),
      common_(common_pool(cache)) {
  // Here and not at the first allocation: ATen's setter must not be called while threads compute.
  install_allocator();
}

HostPool& MemoryMeter::pool_of(std::size_t bytes) const noexcept {
  constexpr std::size_t kCoreCache = std::size_t{1} << 20;
  return bytes < kCoreCache ? *own_ : *common_;
}

MeterScope::MeterScope(MemoryMeter* meter) noexcept : before_(current_meter) {
  current_meter = meter;
}
MeterScope::~MeterScope() {
  current_meter = before_;
}

}  // namespace berth::runtime
