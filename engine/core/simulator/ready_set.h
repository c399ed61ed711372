// The compute queues of all devices: a set of slots each, from which the lowest is taken.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/support/index.h"

namespace berth::simulator {

/// Three levels of 64-way bitmaps per device; a bit of a higher level says that a word below is
/// not zero. Taking the lowest of up to 262,144 slots reads three words.
class ReadySets {
 public:
  void reset(std::uint32_t devices, std::uint32_t slots) {
    const std::size_t words0 = (at(slots) + 63) / 64;
    const std::size_t words1 = (words0 + 63) / 64;
    const std::size_t words2 = (words1 + 63) / 64;
    level1_ = words0;
    level2_ = words0 + words1;
    stride_ = words0 + words1 + words2;
    words_.assign(stride_ * devices, 0);
  }
  void insert(std::uint32_t device, std::uint32_t slot) noexcept {
    std::uint64_t* set = words_.data() + device * stride_;
    set[slot >> 6] |= bit(slot);
    set[level1_ + (slot >> 12)] |= bit(slot >> 6);
    set[level2_ + (slot >> 18)] |= bit(slot >> 12);
  }
  [[nodiscard]] bool empty(std::uint32_t device) const noexcept {
    const std::uint64_t* set = words_.data() + device * stride_;
    std::uint64_t any = 0;
    for (std::size_t i = level2_; i < stride_; ++i) any |= set[i];
    return any == 0;
  }
  /// visit(slot), the lowest first.
  template <typename Visit>
  void for_each(std::uint32_t device, Visit&& visit) const {
    const std::uint64_t* set = words_.data() + device * stride_;
    for (std::size_t word = 0; word < level1_; ++word) {
      for (std::uint64_t bits = set[word]; bits != 0; bits &= bits - 1) {
        visit(static_cast<std::uint32_t>(word * 64) + lowest(bits));
      }
    }
  }
  /// Must not be empty.
  [[nodiscard]] std::uint32_t take_lowest(std::uint32_t device) noexcept {
    std::uint64_t* set = words_.data() + device * stride_;
    std::uint32_t top = 0;
    while (set[level2_ + top] == 0) ++top;
    std::uint64_t& word2 = set[level2_ + top];
    const std::uint32_t middle = top * 64 + lowest(word2);
    std::uint64_t& word1 = set[level1_ + middle];
    const std::uint32_t bottom = middle * 64 + lowest(word1);
    std::uint64_t& word0 = set[bottom];
    const std::uint32_t slot = bottom * 64 + lowest(word0);
    word0 &= word0 - 1;
    word1 &= ~(static_cast<std::uint64_t>(word0 == 0) << (bottom & 63U));
    word2 &= ~(static_cast<std::uint64_t>(word1 == 0) << (middle & 63U));
    return slot;
  }

 private:
  [[nodiscard]] static std::uint64_t bit(std::uint32_t index) noexcept {
    return std::uint64_t{1} << (index & 63U);
  }
  [[nodiscard]] static std::uint32_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }

  std::size_t level1_ = 0, level2_ = 0, stride_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace berth::simulator
