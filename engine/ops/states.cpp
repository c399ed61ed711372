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
  constexpr std::array<std::string_view, 6> kWords = {"cache",  "state", "hidden",
                                                      "memory", "past",  "buffer"};
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

/// Models that stream: new_cached_key_0, cache_last_channel_next, r_att_cache. A word for "next" is
/// enough; the others stand before and behind pictures and sounds too.
void guess_next(const std::string& result, Guesses& names) {
  struct Affix {
    std::string_view text;
    bool says_next;
  };
  constexpr std::array<Affix, 6> kFront = {Affix{"new_", true}, {"next_", true},
                                           {"updated_", true},  {"out_", false},
                                           {"output_", false},  {"r_", false}};
  constexpr std::array<Affix, 4> kBehind = {
      Affix{"_next", true}, {"_new", true}, {"_out", false}, {"_output", false}};
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

}  // namespace

std::vector<Graph::State> find_states(const Graph& graph) {
  const Inputs inputs = inputs_of(graph);
  std::vector<Graph::State> states;
  std::vector<bool> taken(at(graph.op_count()), false);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    const OpId producer = graph.producer(tensor);
    if (producer == kNoOp || graph.is_input(producer) || !graph.is_result(tensor)) continue;
    const std::string& own = graph.tensor_name(tensor);
    for (const Guess& guess : guesses(own.empty() ? graph.op_name(producer) : own)) {
      const auto found = inputs.find(guess.input);
      if (found == inputs.end() || taken[at(found->second.op)]) continue;
      if (!alike(graph, tensor, found->second.tensor, guess.grows)) continue;
      taken[at(found->second.op)] = true;
      states.push_back({tensor, found->second.op});
      break;
    }
  }
  return states;
}

std::shared_ptr<const Graph> add_states(std::shared_ptr<const Graph> graph,
                                        const std::map<std::string, std::string>& named,
                                        bool by_name) {
  std::vector<Graph::State> states;
  if (!named.empty()) {
    const Inputs inputs = inputs_of(*graph);
    for (const auto& [input, result] : named) {
      states.push_back({result_of(*graph, result), input_of(*graph, inputs, input)});
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
