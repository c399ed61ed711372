#include "onnx/routing.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace berth::onnx_frontend {
namespace {

/// Ops between a router and the mask of an expert are few.
constexpr std::size_t kMostFollowed = 256;

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// From the numbers of the chosen experts to a mask.
bool makes_mask(const Node& node) {
  return is_one_of(node.type(), {"Equal", "OneHot", "ScatterElements", "Scatter", "ScatterND"});
}

bool reduces(const Node& node) {
  return is_one_of(node.type(), {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"});
}

bool hands_on(const Node& node) {
  return is_one_of(node.type(), {"And",
                                 "Cast",
                                 "Clip",
                                 "Concat",
                                 "Expand",
                                 "Flatten",
                                 "Gather",
                                 "GatherElements",
                                 "GatherND",
                                 "Greater",
                                 "GreaterOrEqual",
                                 "Identity",
                                 "Less",
                                 "Max",
                                 "Min",
                                 "Mul",
                                 "Not",
                                 "Or",
                                 "Reshape",
                                 "Slice",
                                 "Split",
                                 "Squeeze",
                                 "Sum",
                                 "Tile",
                                 "Transpose",
                                 "Unsqueeze",
                                 "Where"});
}

ValueId mask_of(const Node& node) {
  if (!node.domain.empty()) return kNoValue;
  if (node.type() == "NonZero" && !node.inputs.empty()) return node.inputs[0];
  if (node.type() == "Compress" && node.inputs.size() > 1) return node.inputs[1];
  return kNoValue;
}

bool scatters(const Node& node) {
  return is_one_of(node.type(), {"ScatterElements", "Scatter", "ScatterND"});
}

}  // namespace

Routing::Routing(const Program& program, LoadOptions::Experts given)
    : program_(program), given_(given) {
  add_body(program.main);
}

void Routing::add_body(const Body& body) {
  const auto id = static_cast<std::size_t>(body.id);
  if (bodies_.size() <= id) bodies_.resize(id + 1, nullptr);
  bodies_[id] = &body;
  for (const Node& node : body.nodes) {
    for (const auto& inner : node.bodies) add_body(*inner);
  }
}

std::optional<frontend::Router> Routing::router_at(const Node& top) const {
  if (top.inputs.empty() || top.inputs[0] == kNoValue || top.outputs.size() < 2) return {};
  const Type& scores = program_.value(top.inputs[0]).type;
  const Type& indices = program_.value(top.outputs[1]).type;
  const auto* const stated = top.attribute("axis");
  const auto axis = ops::normal_axis(stated != nullptr ? stated->i() : -1, scores.dims.size());
  if (!scores.ranked || !axis || indices.rank() != scores.rank()) return {};
  return frontend::router_of(scores.dims[*axis], indices.dims[*axis], product(indices.dims));
}

std::optional<frontend::Router> Routing::router_of(ValueId mask) const {
  struct Step {
    ValueId value;
    bool masked;
    bool reduced;
  };
  std::vector<Step> open = {{mask, false, false}};
  std::unordered_set<ValueId> seen;
  while (!open.empty() && seen.size() < kMostFollowed) {
    const Step step = open.back();
    open.pop_back();
    if (step.value == kNoValue || !seen.insert(step.value).second) continue;
    const Value& value = program_.value(step.value);
    if (value.origin != Value::Origin::node || value.producer < 0) continue;
    const Body* const body = bodies_[static_cast<std::size_t>(value.body)];
    const Node& node = body->nodes[static_cast<std::size_t>(value.producer)];
    if (!node.domain.empty()) continue;
    if (node.type() == "TopK" && step.masked && node.outputs.size() > 1 &&
        node.outputs[1] == step.value) {
      auto router = router_at(node);
      if (router) router->reduced = step.reduced;
      return router;
    }
    if (!makes_mask(node) && !reduces(node) && !hands_on(node)) continue;
    for (const ValueId input : node.inputs) {
      open.push_back({input, step.masked || makes_mask(node),
                      step.reduced || (reduces(node) && !step.masked)});
    }
  }
  return std::nullopt;
}

std::optional<frontend::Routed> Routing::of(const Node& node) const {
  const ValueId mask = mask_of(node);
  if (mask == kNoValue) return std::nullopt;
  const Type& type = program_.value(mask).type;
  const std::int64_t all = type.ranked ? product(type.dims) : kUnknownDim;
  return all < 1 ? std::nullopt : frontend::routed_choice(all, router_of(mask), given_);
}

double share_of(const Program& program, const Node& node) {
  double share = 1;
  if (scatters(node)) return share;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) share = std::min(share, program.value(input).share);
  }
  return share;
}

bool is_mixture_of_experts(const Node& node) {
  return node.domain == "com.microsoft" && (node.type() == "MoE" || node.type() == "QMoE");
}

}  // namespace berth::onnx_frontend
