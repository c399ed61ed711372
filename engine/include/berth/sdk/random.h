/// @file
/// A seeded generator of random numbers.
#pragma once

#include <cstdint>

namespace berth {

/// A small seeded generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Its stream is the
/// same on every platform; the standard library's distributions do not promise that. Not for
/// cryptography. [thread-compatible]
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform over all 64-bit values.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, bound), with bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// A generator for an independent stream, for example one per sample of a batch.
  Random split() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace berth
