// What a Graph holds and GraphBuilder fills.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/graph.h"
#include "berth/support/rows.h"

namespace berth {

/// Interns strings: equal ones share an id, and 0 is the empty string.
class StringTable {
 public:
  StringTable() : strings_{std::string()} { ids_.emplace(std::string(), 0); }

  std::uint32_t intern(std::string text) {
    const auto [entry, added] =
        ids_.try_emplace(std::move(text), static_cast<std::uint32_t>(strings_.size()));
    if (added) strings_.push_back(entry->first);
    return entry->second;
  }
  [[nodiscard]] const std::string& operator[](std::uint32_t id) const noexcept {
    return strings_[id];
  }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

/// Finds ops by their names, which are elsewhere: open addressing in one allocation, because a graph of
/// 100,000 ops would otherwise spend most of its making on the nodes of a map.
class NameIndex {
 public:
  explicit NameIndex(std::size_t count = 0) : slots_(std::bit_ceil(2 * count + 2)) {}

  /// At most `count` times. The op of the same name that is already there, else kNoOp.
  [[nodiscard]] OpId add(const std::vector<std::string>& names, OpId op) {
    const std::string& name = names[static_cast<std::size_t>(op)];
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[slot_of(names, name, hash)];
    if (slot.op != kNoOp) return slot.op;
    slot = {hash, op};
    return kNoOp;
  }
  [[nodiscard]] OpId find(const std::vector<std::string>& names,
                          std::string_view name) const noexcept {
    return slots_[slot_of(names, name, hash_of(name))].op;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    OpId op = kNoOp;
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view name) noexcept {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  }
  /// Its own slot, or the free one where it would be.
  [[nodiscard]] std::size_t slot_of(const std::vector<std::string>& names, std::string_view name,
                                    std::uint32_t hash) const noexcept {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].op != kNoOp &&
           (slots_[i].hash != hash || names[static_cast<std::size_t>(slots_[i].op)] != name)) {
      i = (i + 1) & (slots_.size() - 1);
    }
    return i;
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
};

using NamedAttribute = std::pair<std::uint32_t, AttributeValue>;

struct Graph::Data {
  std::string name;
  std::string dialect;
  StringTable strings;

  // By op.
  std::vector<std::string> op_names;
  NameIndex op_by_name;
  std::vector<std::uint32_t> op_types;
  std::vector<std::uint32_t> colocations;
  std::vector<std::uint32_t> requested_devices;
  std::vector<std::int64_t> output_bytes;
  std::vector<std::int64_t> extra_param_bytes;  // what set_param_bytes said
  std::vector<std::int64_t> param_bytes;
  std::vector<std::int64_t> own_param_bytes;
  std::vector<bool> pure;
  std::vector<bool> is_input;
  std::unordered_map<OpId, std::optional<Work>> stated_work;
  Rows<TensorId> inputs;
  Rows<TensorId> outputs;
  Rows<Edge> in_edges;
  Rows<Edge> out_edges;
  Rows<NamedAttribute> attributes;
  Rows<StatedCost> stated_costs;
  Rows<TensorId> parameters;

  // Where there are constants; else empty.
  std::vector<Constant> constants;  // by op
  std::vector<OpId> first_readers;  // by op
  Rows<TensorId> stands_for;        // by tensor: of what constants make
  OpId constant_count = 0;

  // By tensor.
  std::vector<OpId> makers;
  std::vector<OpId> producers;
  std::vector<std::string> tensor_names;
  std::vector<DType> dtypes;
  std::vector<std::int64_t> tensor_bytes;  // kUnknownBytes where unknown
  std::vector<bool> has_shape;
  Rows<std::int64_t> shapes;
  std::vector<bool> results;
  bool names_results = false;
  std::vector<State> states;
  std::vector<bool> kept_in_place;         // by state
  std::vector<std::int64_t> reused_bytes;  // by op, where there are states

  std::vector<SharedParameter> shared_parameters;
  std::int64_t total_param_bytes = 0;
  std::vector<OpId> order;

  [[nodiscard]] bool is_constant(OpId op) const noexcept {
    return !constants.empty() && constants[static_cast<std::size_t>(op)] != Constant::no;
  }
  [[nodiscard]] std::int64_t known_bytes(TensorId tensor) const noexcept {
    return std::max<std::int64_t>(0, tensor_bytes[static_cast<std::size_t>(tensor)]);
  }

  // What follows from the above. Where sizes pass 2^63 bytes, the last two say so.

  /// Data edges by input order, control edges last; `control` by the op that waits.
  void make_edges(const Rows<OpId>& control);
  void make_out_edges();
  [[nodiscard]] bool sum_parameters();
  /// The first op up to whose outputs it is too much; kNoOp where all fits.
  [[nodiscard]] OpId sum_outputs();
};

}  // namespace berth
