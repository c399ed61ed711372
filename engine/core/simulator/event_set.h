// The pending events of a simulated step: at most one per source; the earliest is wanted.
//
// A source is the end of an op on a device, or of a transfer of a bus or engine. So there are only
// twice as many sources as devices, or one per link, and no heap of events is needed. Few sources are scanned
// without a branch; many are kept in a tournament tree. Both return the lowest source among equal
// times.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace berth::simulator {

/// The bits of a time >= 0 as an integer. They have the order of the times, and comparing them
/// avoids the longer latency of the floating-point unit.
using TimeKey = std::int64_t;

[[nodiscard]] inline TimeKey time_key(double us) noexcept {
  return std::bit_cast<TimeKey>(us);
}
[[nodiscard]] inline double time_of(TimeKey key) noexcept {
  return std::bit_cast<double>(key);
}

inline constexpr TimeKey kLastTime =
    std::bit_cast<TimeKey>(std::numeric_limits<double>::infinity());
/// Nothing pending. Later than any time, and distinct per source so that idle sources never tie.
[[nodiscard]] inline TimeKey idle_key(std::uint32_t source) noexcept {
  return kLastTime + 1 + source;
}
[[nodiscard]] inline bool is_idle(TimeKey key) noexcept {
  return key > kLastTime;
}

struct NextEvent {
  TimeKey key;
  std::uint32_t source;
  /// Another source may have the same time. Never false if one has.
  bool tie;
};

/// At most `kSources` sources (a power of two), all looked at for every event.
template <std::uint32_t kSources>
class ScanEvents {
 public:
  /// Devices can be kept in the bits of one word.
  static constexpr bool kFewDevices = true;

  void reset(std::uint32_t) noexcept {
    for (std::uint32_t source = 0; source < kSources; ++source) keys_[source] = idle_key(source);
  }
  void set(std::uint32_t source, TimeKey key) noexcept { keys_[source] = key; }
  [[nodiscard]] TimeKey key(std::uint32_t source) const noexcept { return keys_[source]; }
  [[nodiscard, gnu::always_inline]] NextEvent next() const noexcept { return best<0, kSources>(); }

 private:
  template <std::uint32_t kFirst, std::uint32_t kCount>
  [[nodiscard, gnu::always_inline]] NextEvent best() const noexcept {
    if constexpr (kCount == 1) {
      return {keys_[kFirst], kFirst, false};
    } else {
      const NextEvent a = best<kFirst, kCount / 2>();
      const NextEvent b = best<kFirst + kCount / 2, kCount / 2>();
      const bool right = b.key < a.key;
      // Ties among the others count too; excluding them would cost more.
      return {right ? b.key : a.key, right ? b.source : a.source,
              static_cast<bool>(a.tie | b.tie | (a.key == b.key))};
    }
  }

  TimeKey keys_[kSources];
};

/// Any number of sources.
class TreeEvents {
 public:
  static constexpr bool kFewDevices = false;

  void reset(std::uint32_t sources) {
    leaves_ = std::bit_ceil(std::max(sources, 2U));
    keys_.resize(leaves_);
    winner_.resize(leaves_);
    for (std::uint32_t source = 0; source < leaves_; ++source) keys_[source] = idle_key(source);
    for (std::uint32_t node = leaves_ - 1; node > 0; --node) play(node);
  }
  void set(std::uint32_t source, TimeKey key) noexcept {
    keys_[source] = key;
    for (std::uint32_t node = (source + leaves_) / 2; node > 0; node /= 2) play(node);
  }
  [[nodiscard]] TimeKey key(std::uint32_t source) const noexcept { return keys_[source]; }
  [[nodiscard]] NextEvent next() const noexcept {
    const std::uint32_t source = winner_[1];
    const TimeKey key = keys_[source];
    bool tie = false;
    for (std::uint32_t node = source + leaves_; node > 1; node /= 2) {
      tie |= keys_[contender(node ^ 1U)] == key;
    }
    return {key, source, tie};
  }

 private:
  [[nodiscard]] std::uint32_t contender(std::uint32_t node) const noexcept {
    return node < leaves_ ? winner_[node] : node - leaves_;
  }
  void play(std::uint32_t node) noexcept {
    const std::uint32_t a = contender(2 * node);
    const std::uint32_t b = contender(2 * node + 1);
    winner_[node] = keys_[b] < keys_[a] ? b : a;
  }

  std::uint32_t leaves_ = 0;
  std::vector<TimeKey> keys_;
  std::vector<std::uint32_t> winner_;  // by inner node; children of i are 2i and 2i + 1
};

}  // namespace berth::simulator
