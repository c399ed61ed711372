#include "berth/sdk/ops/states.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::ops {
namespace {

struct Input {
  OpId op;
  TensorId tensor;
};
using Inputs = std::unordered_map<std::string_view, Input>;

/// Named as the tensor, or as its op where it has no name.
Inputs inputs_of(const Graph& graph) {
  Inputs inputs;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_input(op) || graph.outputs(op).size() != 1) continue;
    const TensorId tensor = graph.outputs(op).front();
    const std::string& name = graph.tensor_name(tensor);
    inputs.emplace(name.empty() ? graph.op_name(op) : name, Input{op, tensor});
  }
  return inputs;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

/// Whether a name says that what has it is remembered from step to step.
bool remembers(std::string_view name) {
  constexpr std::array<std::string_view, 11> kWords = {
      "cache", "state", "hidden", "memory", "past", "buffer",
      // Training has weights, and what optimizers keep of gradients.
      "weight", "bias", "exp_avg", "moment", "velocity"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

/// An input that a result may be in the next step.
struct Guess {
  std::string input;
  bool grows;  ///< a cache, which may be longer than it was
};
using Guesses = std::vector<Guess>;

/// Decoders' caches.
void guess_caches(const std::string& result, Guesses& names) {
  if (result.find("present") == std::string::npos) return;
  names.push_back({replaced(result, "present", "past_key_values"), true});
  names.push_back({replaced(result, "present", "past"), true});
}

/// Hidden states, whose names differ in how they end.
void guess_ends(const std::string& result, Guesses& names) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Pair, 9> kEnds = {
      Pair{"hn", "h0"},    Pair{"cn", "c0"},          Pair{"h_n", "h_0"},
      Pair{"c_n", "c_0"},  Pair{"hn", "h"},           Pair{"cn", "c"},
      Pair{"_out", "_in"}, Pair{"_output", "_input"}, Pair{"stateN", "state"}};
  for (const auto& [out, in] : kEnds) {
    if (!result.ends_with(out)) continue;
    const std::string stem = result.substr(0, result.size() - out.size());
    if (stem.empty() && out.front() == '_') continue;
    names.push_back({stem + std::string(in), false});
  }
}

/// Models that stream: new_cached_key_0, cache_last_channel_next, r_att_cache; and training steps: fc.weight.new,
/// exp_avg_out. A word for "next" is enough; the others stand before and behind pictures and sounds too.
void guess_next(const std::string& result, Guesses& names) {
  struct Affix {
    std::string_view text;
    bool says_next;
  };
  constexpr std::array<Affix, 9> kFront = {
      Affix{"new_", true}, {"next_", true}, {"updated_", true}, {"new.", true}, {"next.", true},
      {"updated.", true},  {"out_", false}, {"output_", false}, {"r_", false}};
  constexpr std::array<Affix, 9> kBehind = {
      Affix{"_next", true}, {"_new", true},  {"_updated", true}, {".next", true},   {".new", true},
      {".updated", true},   {".out", false}, {"_out", false},    {"_output", false}};
  const auto add = [&](std::string stem, bool says_next) {
    if (!stem.empty() && (says_next || remembers(stem))) names.push_back({std::move(stem), false});
  };
  for (const Affix& affix : kFront) {
    if (result.starts_with(affix.text)) add(result.substr(affix.text.size()), affix.says_next);
  }
  for (const Affix& affix : kBehind) {
    if (!result.ends_with(affix.text)) continue;
    add(result.substr(0, result.size() - affix.text.size()), affix.says_next);
  }
}

/// The likeliest first.
Guesses guesses(const std::string& result) {
  Guesses names;
  guess_caches(result, names);
  guess_ends(result, names);
  guess_next(result, names);
  return names;
}

bool alike(const Graph& graph, TensorId a, TensorId b, bool grows) {
  if (graph.dtype(a) != graph.dtype(b) || !graph.has_shape(a) || !graph.has_shape(b)) return false;
  const auto x = graph.shape(a), y = graph.shape(b);
  return grows ? x.size() == y.size() : std::equal(x.begin(), x.end(), y.begin(), y.end());
}

// --- What the ops say, whatever the names are ---------------------------------------------------

/// An op's result that is an input of it, written on.
struct Slot {
  std::string_view type;
  std::size_t input;
  std::size_t output;
};
// Inputs and results as ONNX, and ONNX Runtime's contrib ops, number them.
constexpr std::array<Slot, 24> kSlots = {Slot{"Attention", 4, 1},
                                         {"Attention", 5, 2},
                                         {"GRU", 5, 1},
                                         {"LSTM", 5, 1},
                                         {"LSTM", 6, 2},
                                         {"RNN", 5, 1},
                                         {"ScatterElements", 0, 0},
                                         {"ScatterND", 0, 0},
                                         {"TensorScatter", 0, 0},
                                         {"TensorScatterUpdate", 0, 0},
                                         {"com.microsoft.Attention", 4, 1},
                                         {"com.microsoft.DecoderMaskedMultiHeadAttention", 5, 1},
                                         {"com.microsoft.DecoderMaskedMultiHeadAttention", 6, 2},
                                         {"com.microsoft.DecoderMaskedSelfAttention", 4, 1},
                                         {"com.microsoft.GroupQueryAttention", 3, 1},
                                         {"com.microsoft.GroupQueryAttention", 4, 2},
                                         {"com.microsoft.MultiHeadAttention", 6, 1},
                                         {"com.microsoft.MultiHeadAttention", 7, 2},
                                         {"com.microsoft.PagedAttention", 3, 1},
                                         {"com.microsoft.PagedAttention", 4, 2},
                                         {"com.microsoft.QAttention", 8, 1},
                                         {"com.microsoft.SparseAttention", 3, 1},
                                         {"com.microsoft.SparseAttention", 4, 2},
                                         {"XlaDynamicUpdateSlice", 0, 0}};
constexpr std::array<std::string_view, 2> kAppends = {"Concat", "ConcatV2"};
/// Ops that give their first input, or a part of it, in another form.
constexpr std::array<std::string_view, 12> kForms = {
    "Cast",  "ExpandDims", "Gather",  "GatherV2",     "Identity",  "Reshape",
    "Slice", "Split",      "Squeeze", "StridedSlice", "Transpose", "Unsqueeze"};
/// Ops between a result and what writes on its input, and between that and the input.
constexpr int kFarthest = 8;

template <typename Types>
bool is_one_of(const Types& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// The model's input that the tensor is a form of; kNoOp where it is of none.
OpId root_of(const Graph& graph, TensorId tensor) {
  for (int i = 0; i < kFarthest && tensor != kNoTensor; ++i) {
    const OpId op = graph.producer(tensor);
    if (op == kNoOp) return kNoOp;
    if (graph.is_input(op)) return op;
    if (!is_one_of(kForms, graph.op_type(op)) || graph.inputs(op).empty()) return kNoOp;
    tensor = graph.inputs(op).front();
  }
  return kNoOp;
}

/// Whether the tensor is computed of the input's contents: positions are computed of a cache's length.
bool depends_on(const Graph& graph, TensorId tensor, OpId root) {
  std::vector<bool> seen(at(graph.op_count()), false);
  std::vector<OpId> open;
  const auto visit = [&](TensorId each) {
    const OpId op = each == kNoTensor ? kNoOp : graph.producer(each);
    if (op == kNoOp || seen[at(op)]) return;
    seen[at(op)] = true;
    open.push_back(op);
  };
  for (visit(tensor); !open.empty() && !seen[at(root)];) {
    const OpId op = open.back();
    open.pop_back();
    if (graph.op_type(op) == "Shape" || graph.op_type(op) == "Size") continue;
    for (const TensorId input : graph.inputs(op)) visit(input);
  }
  return seen[at(root)];
}

/// Adds the inputs that the tensor goes on with.
void find_roots(const Graph& graph, TensorId tensor, int depth, std::vector<OpId>& roots) {
  const OpId op = tensor == kNoTensor ? kNoOp : graph.producer(tensor);
  if (op == kNoOp || graph.is_input(op) || depth > kFarthest) return;
  const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
  const std::string& type = graph.op_type(op);
  const auto add = [&](OpId root) {
    if (root != kNoOp && std::find(roots.begin(), roots.end(), root) == roots.end()) {
      roots.push_back(root);
    }
  };
  for (const Slot& slot : kSlots) {
    if (slot.type != type || slot.output >= outputs.size() || slot.input >= inputs.size()) continue;
    if (outputs[slot.output] == tensor) add(root_of(graph, inputs[slot.input]));
  }
  if (is_one_of(kAppends, type) && inputs.size() > 1) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const OpId root = root_of(graph, inputs[i]);
      if (root == kNoOp) find_roots(graph, inputs[i], depth + 1, roots);
      // Features beside themselves, or what was computed of them, are no state.
      bool features = root == kNoOp;
      for (std::size_t j = 0; j < inputs.size() && !features; ++j) {
        features = i != j && depends_on(graph, inputs[j], root);
      }
      if (!features) add(root);
    }
  }
  if (is_one_of(kForms, type) && !inputs.empty()) {
    find_roots(graph, inputs.front(), depth + 1, roots);
  }
}

/// One element type, and shaped alike but for one dimension, along which a cache grows.
bool goes_on(const Graph& graph, TensorId result, TensorId input) {
  if (!alike(graph, result, input, /*grows=*/true)) return false;
  const auto x = graph.shape(result), y = graph.shape(input);
  int differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) differ += x[i] == y[i] ? 0 : 1;
  return differ <= 1;
}

TensorId result_of(const Graph& graph, const std::string& name) {
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (graph.tensor_name(tensor) == name && graph.maker(tensor) != kNoOp) return tensor;
  }
  const auto op = graph.find_op(name);
  if (op && graph.outputs(*op).size() == 1) return graph.outputs(*op).front();
  throw Error(
      ErrorCode::not_found,
      cat("graph '", graph.name(), "' has no tensor '", name,
          "' and no op of this name with one output, which is to be the next step's input"));
}

OpId input_of(const Graph& graph, const Inputs& inputs, const std::string& name) {
  if (const auto found = inputs.find(name); found != inputs.end()) return found->second.op;
  if (const auto op = graph.find_op(name)) return *op;
  std::vector<std::string> known;
  for (const auto& [each, input] : inputs) known.emplace_back(each);
  std::sort(known.begin(), known.end());
  throw Error(ErrorCode::not_found, cat("graph '", graph.name(), "' has no input '", name, "'",
                                        known_names(name, known)));
}

/// The next step reads what this one leaves, so that both have one type.
void check(const Graph& graph, const Graph::State& state, const std::string& input,
           const std::string& result) {
  const auto outputs = graph.outputs(state.input);
  if (outputs.size() != 1) return;  // with_states says what is wrong with it
  const DType of_result = graph.dtype(state.result), of_input = graph.dtype(outputs.front());
  if (of_result == DType::unknown || of_input == DType::unknown) return;
  const bool sized = graph.has_shape(state.result) && graph.has_shape(outputs.front());
  const std::size_t x = graph.shape(state.result).size(), y = graph.shape(outputs.front()).size();
  if (of_result == of_input && (!sized || x == y)) return;
  throw Error(ErrorCode::invalid_argument,
              cat("graph '", graph.name(), "': '", result, "' (", dtype_name(of_result),
                  sized ? cat(", ", x, " dimensions") : "", ") cannot be the next step's '", input,
                  "' (", dtype_name(of_input), sized ? cat(", ", y, " dimensions") : "",
                  "); name a result and an input of one element type and as many dimensions"));
}

}  // namespace

std::vector<Graph::State> find_states(const Graph& graph) {
  const Inputs inputs = inputs_of(graph);
  std::vector<Graph::State> states;
  std::vector<bool> taken(at(graph.op_count()), false);
  std::vector<TensorId> others;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    const OpId producer = graph.producer(tensor);
    if (producer == kNoOp || graph.is_input(producer) || !graph.is_result(tensor)) continue;
    others.push_back(tensor);
    const std::string& own = graph.tensor_name(tensor);
    for (const Guess& guess : guesses(own.empty() ? graph.op_name(producer) : own)) {
      const auto found = inputs.find(guess.input);
      if (found == inputs.end() || taken[at(found->second.op)]) continue;
      if (!alike(graph, tensor, found->second.tensor, guess.grows)) continue;
      taken[at(found->second.op)] = true;
      states.push_back({tensor, found->second.op});
      others.pop_back();
      break;
    }
  }
  for (const TensorId tensor : others) {
    std::vector<OpId> roots;
    find_roots(graph, tensor, 0, roots);
    if (roots.size() != 1 || taken[at(roots.front())]) continue;
    if (graph.outputs(roots.front()).size() != 1) continue;
    if (!goes_on(graph, tensor, graph.outputs(roots.front()).front())) continue;
    taken[at(roots.front())] = true;
    states.push_back({tensor, roots.front()});
  }
  return states;
}

std::vector<std::string> earlier_names(const std::string& result) {
  std::vector<std::string> names;
  for (Guess& guess : guesses(result)) {
    if (!guess.grows) names.push_back(std::move(guess.input));
  }
  return names;
}

std::shared_ptr<const Graph> add_states(std::shared_ptr<const Graph> graph,
                                        const std::map<std::string, std::string>& named,
                                        bool by_name) {
  std::vector<Graph::State> states;
  if (!named.empty()) {
    const Inputs inputs = inputs_of(*graph);
    for (const auto& [input, result] : named) {
      const Graph::State state{result_of(*graph, result), input_of(*graph, inputs, input)};
      check(*graph, state, input, result);
      states.push_back(state);
    }
  }
  if (by_name) {
    for (const Graph::State& found : find_states(*graph)) {
      const bool said = std::any_of(states.begin(), states.end(), [&](const Graph::State& state) {
        return state.input == found.input || state.result == found.result;
      });
      if (!said) states.push_back(found);
    }
  }
  return states.empty() ? graph : graph->with_states(states);
}

}  // namespace berth::ops
