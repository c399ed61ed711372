#include "dp/ideals.h"

#include <algorithm>
#include <bit>

#include "berth/sdk/random.h"
#include "berth/support/index.h"

namespace berth::policies::dp {
/// Grows each set by each node that it may get next, and keeps the new ones. Any set within the
/// window is reached: without its last node it is still closed and still within the window.
class Ideals::Enumeration {
 public:
  Enumeration(const SplitGraph& graph, const Limits& limits, Ideals& ideals)
      : graph_(graph), limits_(limits), ideals_(ideals) {
    Random random(0x1DEA15);
    for (Node node = 0; node < graph.count(); ++node) key_of_node_.push_back(random.next());
    ideals_.words_ = (at(graph.count()) + 63) / 64;
    table_.assign(1024, kEmpty);
    scratch_.assign(ideals_.words_, 0);
    add(0);
  }

  bool run() {
    for (std::size_t ideal = 0; ideal < ideals_.size(); ++ideal) {
      if (ideal % 256 == 0 && limits_.should_stop && limits_.should_stop()) return false;
      grow(ideal);
      if (ideals_.size() > limits_.count) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

  [[nodiscard]] Node first_missing(const std::uint64_t* bits) const {
    for (std::size_t word = 0; word < ideals_.words_; ++word) {
      if (~bits[word] != 0) {
        return std::min(graph_.count(), static_cast<Node>(word * 64) + std::countr_one(bits[word]));
      }
    }
    return graph_.count();
  }

  void grow(std::size_t ideal) {
    const Node first = first_missing(ideals_.bits(ideal));
    for (Node node = first; node < graph_.count(); ++node) {
      const std::uint64_t* bits = ideals_.bits(ideal);  // adding moves them
      if (contains(bits, node)) continue;
      const auto& producers = graph_.producers(node);
      const bool ready = std::all_of(producers.begin(), producers.end(),
                                     [&](Node producer) { return contains(bits, producer); });
      if (!ready) continue;
      if (node - first > limits_.window) {
        ideals_.all_ = false;
        return;
      }
      std::copy_n(bits, ideals_.words_, scratch_.begin());
      scratch_[at(node) / 64] |= std::uint64_t{1} << (at(node) % 64);
      add(keys_[ideal] ^ key_of_node_[at(node)]);
    }
  }

  /// Keeps the set in `scratch_`, whose key is the exclusive or of its nodes' keys, where it is
  /// new.
  void add(std::uint64_t key) {
    if (ideals_.size() * 2 > table_.size()) rehash();
    std::size_t slot = key & (table_.size() - 1);
    for (; table_[slot] != kEmpty; slot = (slot + 1) & (table_.size() - 1)) {
      const std::uint32_t other = table_[slot];
      if (keys_[other] == key &&
          std::equal(scratch_.begin(), scratch_.end(), ideals_.bits(other))) {
        return;
      }
    }
    table_[slot] = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    ideals_.bits_.insert(ideals_.bits_.end(), scratch_.begin(), scratch_.end());
  }

  void rehash() {
    table_.assign(table_.size() * 4, kEmpty);
    for (std::size_t ideal = 0; ideal < keys_.size(); ++ideal) {
      std::size_t slot = keys_[ideal] & (table_.size() - 1);
      while (table_[slot] != kEmpty) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<std::uint32_t>(ideal);
    }
  }

  const SplitGraph& graph_;
  const Limits& limits_;
  Ideals& ideals_;
  std::vector<std::uint64_t> key_of_node_;
  std::vector<std::uint64_t> keys_;   // by ideal
  std::vector<std::uint32_t> table_;  // open addressing; a power of two
  std::vector<std::uint64_t> scratch_;
};

std::optional<Ideals> Ideals::enumerate(const SplitGraph& graph, const Limits& limits) {
  Ideals ideals;
  if (!Enumeration(graph, limits, ideals).run()) return std::nullopt;
  return ideals;
}

}  // namespace berth::policies::dp
