// A GraphDef read in place. Names, inputs and attributes are views of the file's bytes, so a graph
// needs little more memory than its file, and constants are never copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/sdk/ops/op.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

struct AttrEntry {
  std::string_view key;
  std::string_view value;  ///< an AttrValue
};

struct NodeDef {
  std::string_view name;
  std::string_view op;
  std::string_view device;
  std::span<const std::string_view> inputs;
  std::span<const AttrEntry> attrs;
  std::string_view bytes;  ///< the message, for its place in the file
};

/// Lists that never move, one after the other, so that growing copies nothing.
template <typename Item>
class ListStore {
 public:
  std::span<const Item> add(const std::vector<Item>& list) {
    constexpr std::size_t kLargestBlock = 2048;
    if (list.size() > left_) {
      block_ = std::min(kLargestBlock, 2 * block_);
      left_ = std::max(block_, list.size());
      blocks_.push_back(std::make_unique<Item[]>(left_));
      next_ = blocks_.back().get();
    }
    Item* const begin = next_;
    next_ = std::copy(list.begin(), list.end(), begin);
    left_ -= list.size();
    return {begin, list.size()};
  }

 private:
  std::vector<std::unique_ptr<Item[]>> blocks_;
  Item* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t block_ = 16;  // most functions are small
};

/// The nodes of a graph or of a function, with the storage their spans point to.
class NodeList {
 public:
  NodeList() = default;
  NodeList(const NodeList&) = delete;  // the nodes' spans would point into the other
  NodeList& operator=(const NodeList&) = delete;
  NodeList(NodeList&&) noexcept = default;
  NodeList& operator=(NodeList&&) noexcept = default;

  /// Adds a serialized NodeDef. Throws Error(invalid_file).
  void add(std::string_view bytes, const WireSource& source);
  [[nodiscard]] const std::vector<NodeDef>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<NodeDef> nodes_;
  ListStore<std::string_view> inputs_;
  ListStore<AttrEntry> attrs_;
  std::vector<std::string_view> node_inputs_;  // of the node that is being read
  std::vector<AttrEntry> node_attrs_;
};

using ArgDef = ops::OutputSpec;

/// The arguments and results of an op or a function.
struct OpDef {
  std::string_view name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrEntry> defaults;  ///< of its attributes, where they have one
};

struct NamePair {
  std::string_view key;
  std::string_view value;
};

struct FunctionDef {
  OpDef signature;
  NodeList body;
  std::vector<NamePair> results;          ///< output name -> "node:output:index"
  std::vector<NamePair> control_results;  ///< control output -> node
  std::vector<AttrEntry> attrs;
};

struct GraphDef {
  NodeList list;
  std::vector<FunctionDef> functions;
  std::unordered_map<std::string_view, const FunctionDef*> function_by_name;
  std::int64_t producer = 0;  ///< version of the TensorFlow that made it; 0 = not stated

  [[nodiscard]] const std::vector<NodeDef>& nodes() const noexcept { return list.nodes(); }
  [[nodiscard]] const FunctionDef* function(std::string_view name) const noexcept;
};

/// `bytes` is a GraphDef. Throws Error(invalid_file) naming the byte, for damage and for two
/// functions of the same name.
void read_graph_def(std::string_view bytes, const WireSource& source, GraphDef& graph);

/// `bytes` is an OpDef.
[[nodiscard]] OpDef read_op_def(std::string_view bytes, const WireSource& source);

/// `bytes` is an entry of a map of names.
[[nodiscard]] NamePair read_pair(std::string_view bytes, const WireSource& source);

}  // namespace berth::tf_frontend
