#include "tf/routing.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::tf_frontend {
namespace {

/// Ops between a router and the mask of an expert are few.
constexpr std::size_t kMostFollowed = 256;

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// From the numbers of the chosen experts to a mask.
bool makes_mask(std::string_view op) {
  return is_one_of(op, {"Equal", "OneHot", "ScatterNd", "TensorScatterUpdate"});
}

bool reduces(std::string_view op) {
  return is_one_of(op, {"Any", "Max", "Min", "Sum", "Mean"});
}

bool hands_on(std::string_view op) {
  return is_one_of(
      op, {"AddN",       "AddV2",      "BroadcastTo", "Cast",    "ConcatV2",     "ExpandDims",
           "Gather",     "GatherNd",   "GatherV2",    "Greater", "GreaterEqual", "Identity",
           "LogicalAnd", "LogicalNot", "LogicalOr",   "Mul",     "NotEqual",     "Pack",
           "Reshape",    "SelectV2",   "Slice",       "Split",   "Squeeze",      "StridedSlice",
           "Tile",       "Transpose",  "Unpack"});
}

const Value* value_at(const Program& program, const Source& source) {
  const auto& outputs = program.nodes[static_cast<std::size_t>(source.node)].outputs;
  const auto port = static_cast<std::size_t>(source.port);
  return port < outputs.size() ? &outputs[port] : nullptr;
}

std::optional<frontend::Router> router_at(const Program& program, const Node& top) {
  if (top.inputs.empty() || top.outputs.size() < 2) return std::nullopt;
  const Value* const scores = value_at(program, top.inputs[0]);
  const Value& indices = top.outputs[1];
  if (scores == nullptr || scores->rank() < 1 || indices.rank() != scores->rank()) {
    return std::nullopt;
  }
  return frontend::router_of(scores->dims.back(), indices.dims.back(), ops::product(indices.dims));
}

std::optional<frontend::Router> router_behind(const Program& program, const Source& mask) {
  struct Step {
    Source source;
    bool masked = false;
    bool reduced = false;
  };
  std::vector<Step> open = {{mask}};
  std::set<std::pair<NodeId, std::int32_t>> seen;
  while (!open.empty() && seen.size() < kMostFollowed) {
    const Step step = open.back();
    open.pop_back();
    if (!seen.emplace(step.source.node, step.source.port).second) continue;
    const Node& node = program.nodes[static_cast<std::size_t>(step.source.node)];
    if (is_one_of(node.op, {"TopK", "TopKV2"}) && step.masked && step.source.port == 1) {
      auto router = router_at(program, node);
      if (router) router->reduced = step.reduced;
      return router;
    }
    if (!makes_mask(node.op) && !reduces(node.op) && !hands_on(node.op)) continue;
    for (const Source& input : node.inputs) {
      open.push_back({input, step.masked || makes_mask(node.op),
                      step.reduced || (reduces(node.op) && !step.masked)});
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<frontend::Routed> routed(const Program& program, const Node& node,
                                       LoadOptions::Experts given) {
  if (node.op != "Where" || node.inputs.empty()) return std::nullopt;
  const Value* const mask = value_at(program, node.inputs[0]);
  const std::int64_t all = mask != nullptr && mask->ranked ? ops::product(mask->dims) : kUnknownDim;
  return all < 1 ? std::nullopt
                 : frontend::routed_choice(all, router_behind(program, node.inputs[0]), given);
}

}  // namespace berth::tf_frontend
