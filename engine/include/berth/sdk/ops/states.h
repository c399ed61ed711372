/// @file
/// State that loops: results of a step that are inputs of the next.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth::ops {

/// States, first by name, as exporters write caches, hidden states, and what is trained: "present" for an input's "past"
/// or "past_key_values" (present.0.key, past_key_values.0.key); hn or h_n for h0, h_0 or h, c alike; stateN;
/// x_out for x_in; new_x, next_x, x_next, x.new or x.updated for x; x_cache_out or r_x_cache for x_cache, and
/// x_out alike for a weight, a bias or a moment x. Both have one
/// element type and as many dimensions; but for the first kind they are shaped alike. Then, whatever they
/// are called, by the ops that make them: a result to which an input and something new are joined, or
/// that is an input written on (ScatterND, TensorScatter, a past of attention, a hidden state of LSTM), where it
/// goes on with that input alone and differs from it in one dimension at most. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::vector<Graph::State> find_states(const Graph& graph);

/// Names of inputs whose next value a result of this name may be if it is shaped alike, the likeliest first: those
/// that find_states looks for, without caches that grow. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::vector<std::string> earlier_names(const std::string& result);

/// The graph with the states that `named` says (result by input, each the name of a tensor or of an
/// op with one output), and with those that find_states finds for other inputs if `by_name`. Throws
/// Error(not_found) for a name that the graph does not have, Error(invalid_argument) where the element types or
/// the numbers of dimensions differ, and as Graph::with_states. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> add_states(
    std::shared_ptr<const Graph> graph, const std::map<std::string, std::string>& named,
    bool by_name);

}  // namespace berth::ops
