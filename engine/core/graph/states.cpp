// Graphs in which some results are the inputs of the next step.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "graph/graph_data.h"

namespace berth {
namespace {

/// Whether the op appends to the cache that it is given: kernels whose callers bind one buffer to cache
/// and result, or that say so. All others make the cache anew beside the old one, a Concat among them:
/// measured with ONNX Runtime 1.32, whose caller holds both.
bool appends(const Graph& graph, OpId op) {
  constexpr std::array<std::string_view, 6> kAppend = {"GroupQueryAttention",
                                                       "PagedAttention",
                                                       "SparseAttention",
                                                       "DecoderMaskedSelfAttention",
                                                       "DecoderMaskedMultiHeadAttention",
                                                       "TensorScatter"};
  const std::string_view type = graph.op_type(op);
  const std::string_view bare = type.substr(type.rfind('.') + 1);
  if (std::find(kAppend.begin(), kAppend.end(), bare) != kAppend.end()) return true;
  const AttributeValue* const shares = graph.attribute(op, "past_present_share_buffer");
  return shares != nullptr && *shares == AttributeValue(std::int64_t{1});
}

/// Bytes by op: its outputs that are in the places of inputs. A result is in one place, however many inputs
/// it becomes: the others are copies. What an input gives stays in its own place.
std::vector<std::int64_t> reused_by_op(const Graph& graph, const std::vector<Graph::State>& states,
                                       const std::vector<bool>& kept_in_place) {
  std::map<TensorId, std::int64_t> by_result;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Graph::State& state = states[i];
    if (!kept_in_place[i] || graph.is_input(graph.producer(state.result))) continue;
    std::int64_t& bytes = by_result[state.result];
    bytes = std::max(bytes, std::min(graph.bytes(state.result), graph.output_bytes(state.input)));
  }
  std::vector<std::int64_t> reused(at(graph.op_count()), 0);
  for (const auto& [result, bytes] : by_result) reused[at(graph.producer(result))] += bytes;
  return reused;
}

}  // namespace

std::shared_ptr<const Graph> Graph::with_states(std::span<const State> states) const {
  auto made = std::make_unique<Data>(*data_);
  Data& data = *made;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, cat("graph '", name(), "': ", what));
  };
  std::vector<bool> has_state(at(op_count()), false);
  for (const State& state : data.states) has_state[at(state.input)] = true;
  for (const State& state : states) {
    const std::string& input = op_name(state.input);
    const OpId maker = producer(state.result);
    if (maker == kNoOp) {
      refuse(cat("the state of '", input, "' is a parameter, which no step changes"));
    }
    if (!is_input(state.input)) {
      refuse(cat("'", input, "' is no input, so that it cannot hold a state; an input's type is ",
                 "Input, or another one that files/formats/graph.md lists"));
    }
    if (const auto had = std::find(data.states.begin(), data.states.end(), state);
        had != data.states.end()) {
      data.kept_in_place[static_cast<std::size_t>(had - data.states.begin())] = true;
      continue;
    }
    if (has_state[at(state.input)]) {
      refuse(cat("two results are to be the next step's '", input, "'; name one"));
    }
    has_state[at(state.input)] = true;
    data.states.push_back(state);
    data.kept_in_place.push_back(bytes(state.result) <= output_bytes(state.input) ||
                                 appends(*this, maker));
    data.results[at(state.result)] = true;
    // All of the input's class join that of the maker.
    std::uint32_t& of_maker = data.colocations[at(maker)];
    const std::uint32_t of_input = data.colocations[at(state.input)];
    if (of_maker == 0) {
      of_maker = of_input != 0 ? of_input : data.strings.intern("state " + input);
    }
    const std::uint32_t joined = of_maker;
    if (of_input == 0) {
      data.colocations[at(state.input)] = joined;
    } else if (of_input != joined) {
      for (std::uint32_t& other : data.colocations) {
        if (other == of_input) other = joined;
      }
    }
  }
  data.reused_bytes = reused_by_op(*this, data.states, data.kept_in_place);
  return std::shared_ptr<const Graph>(new Graph(std::move(made)));
}

}  // namespace berth
