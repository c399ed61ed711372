// What a Graph holds and GraphBuilder fills.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

using NamedAttribute = std::pair<std::uint32_t, AttributeValue>;

struct Graph::Data {
  std::string name;
  std::string dialect;
  StringTable strings;

  // By op.
  std::vector<std::string> op_names;
  std::unordered_map<std::string_view, OpId> op_by_name;  // views into op_names
  std::vector<std::uint32_t> op_types;
  std::vector<std::uint32_t> colocations;
  std::vector<std::uint32_t> requested_devices;
  std::vector<std::int64_t> output_bytes;
  std::vector<std::int64_t> param_bytes;
  std::vector<std::int64_t> own_param_bytes;
  std::unordered_map<OpId, std::optional<Work>> stated_work;
  Rows<TensorId> inputs;
  Rows<TensorId> outputs;
  Rows<Edge> in_edges;
  Rows<Edge> out_edges;
  Rows<NamedAttribute> attributes;
  Rows<StatedCost> stated_costs;

  // By tensor.
  std::vector<OpId> producers;
  std::vector<std::string> tensor_names;
  std::vector<DType> dtypes;
  std::vector<std::int64_t> tensor_bytes;  // kUnknownBytes where unknown
  std::vector<bool> has_shape;
  Rows<std::int64_t> shapes;

  std::vector<SharedParameter> shared_parameters;
  std::int64_t total_param_bytes = 0;
  std::vector<OpId> order;
};

}  // namespace berth
