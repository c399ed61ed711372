#include "host/states_apart.h"

#include "berth/error.h"
#include "berth/sdk/carried_states.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "support/units.h"

namespace berth {
namespace {

bool share_a_device(const Constraints& constraints, const Cluster& cluster, OpId a, OpId b) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (constraints.allowed(a, d) && constraints.allowed(b, d)) return true;
  }
  return false;
}

std::string note_of(const Graph& graph, const std::vector<Graph::State>& states) {
  std::vector<std::string> names;
  std::int64_t bytes = 0;
  for (const Graph::State& state : states) {
    names.push_back(cat("'", graph.op_name(state.input), "'"));
    bytes += graph.bytes(state.result);
  }
  return cat("constraints keep ", states.size(), " of ", graph.states().size(),
             " states from the device of the result that they become: each step sends ",
             format_bytes(bytes), " back to ", join(names, 5));
}

}  // namespace

std::shared_ptr<const Costs> with_free_ops(const Costs& costs, OpId count) {
  CostTable table(costs);
  for (std::vector<double>& us : table.us) us.resize(at(count), 0);
  table.workspace_bytes.resize(at(count), 0);
  return std::move(table).costs();
}

std::optional<StatesApart> states_apart(const Graph& graph, const Cluster& cluster,
                                        const Costs& costs,
                                        const std::vector<ConstraintRule>& rules) {
  const auto constraints_of = [&](const Graph& free) -> std::optional<Constraints> {
    try {
      return Constraints(free, cluster, *with_free_ops(costs, free.op_count()), rules);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
      return {};
    }
  };
  const auto apart = [&](std::vector<Graph::State> states) {
    std::string note = note_of(graph, states);
    return StatesApart{carry_states(graph, states), std::move(states), std::move(note)};
  };
  const auto all = graph.states();
  if (all.empty()) return {};
  StatesApart freest = apart({all.begin(), all.end()});
  const std::optional<Constraints> constraints = constraints_of(*freest.graph);
  if (!constraints) return {};
  std::vector<Graph::State> states;
  for (const Graph::State& state : all) {
    const OpId maker = graph.producer(state.result);
    if (!share_a_device(*constraints, cluster, maker, state.input)) states.push_back(state);
  }
  if (states.empty()) return freest;  // several share an op, and no device is for all of them
  StatesApart fewest = apart(std::move(states));
  return constraints_of(*fewest.graph) ? std::move(fewest) : std::move(freest);
}

}  // namespace berth
