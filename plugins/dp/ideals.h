// Downward-closed sets of nodes, between which contiguous splits cut.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dp/contraction.h"

namespace berth::policies::dp {

/// Sets of nodes, each with every node that one of its nodes needs, as bits of 64-bit words.
///
/// There can be exponentially many, so they can be limited to those within `window` positions of
/// the graph's numbering: no node of the set is more than that many places after the first node
/// that it lacks. Window 0 keeps only the prefixes of the numbering; a window of the whole graph
/// keeps all; every window keeps what a narrower one keeps.
class Ideals {
 public:
  struct Limits {
    Node window;
    std::size_t count;
    std::function<bool()> should_stop;  ///< may be empty
  };

  /// All of them, the empty set first; nothing if there are more than `limits.count` or
  /// `should_stop` says so.
  [[nodiscard]] static std::optional<Ideals> enumerate(const SplitGraph& graph,
                                                       const Limits& limits);

  [[nodiscard]] std::size_t size() const noexcept { return bits_.size() / words_; }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  [[nodiscard]] const std::uint64_t* bits(std::size_t ideal) const noexcept {
    return bits_.data() + ideal * words_;
  }
  [[nodiscard]] static bool contains(const std::uint64_t* bits, Node node) noexcept {
    return (bits[node / 64] >> (node % 64) & 1U) != 0;
  }
  /// Whether the window left none out.
  [[nodiscard]] bool all() const noexcept { return all_; }

 private:
  class Enumeration;
  std::size_t words_ = 1;
  std::vector<std::uint64_t> bits_;
  bool all_ = true;
};

}  // namespace berth::policies::dp
