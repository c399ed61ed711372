// berth.costs: how long each op takes on each kind of device.
#include "berth/costs.h"
#include "berth/files.h"
#include "berth/run.h"
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

std::int32_t op_count(const Costs& costs) {
  return static_cast<std::int32_t>(costs.of_kind(0).size());
}

/// { us = { kind = {cost of every op} }, workspace_bytes = {...} }
std::shared_ptr<const Costs> read_costs(lua_State* L, const Value& table, const Graph& graph,
                                        const Cluster& cluster) {
  Fields fields(L, table);
  const Value us = fields.get("us");
  us.require_table();
  Fields by_kind(L, us);
  std::vector<std::vector<double>> costs;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Value of_kind = by_kind.get(cluster.kind_name(kind).c_str());
    costs.push_back(of_kind.numbers());
    if (costs.back().size() != static_cast<std::size_t>(graph.op_count())) {
      of_kind.refuse(cat("a cost for each of ", graph.op_count(), " ops expected, got ",
                         costs.back().size(), "; math.huge where this kind cannot run the op"));
    }
  }
  by_kind.finish();
  std::vector<std::int64_t> workspace_bytes;
  if (const Value workspace = fields.get("workspace_bytes"); workspace.present()) {
    workspace_bytes = workspace.integers(/*least=*/0, kMaxInteger);
  }
  fields.finish();
  return std::make_shared<const Costs>(std::move(costs), std::move(workspace_bytes), "script");
}

int make(Call& call) {
  const Value source = call.argument(1, "source");
  const auto graph = call.argument(2, "graph").object<const Graph>();
  const auto cluster = call.argument(3, "cluster").object<const Cluster>();
  const LoadedCosts loaded =
      source.is_table() ? LoadedCosts{read_costs(call.L, source, *graph, *cluster), {}}
                        : make_costs(call.state.engine, *graph, *cluster, cost_source(source));
  call.made(loaded.costs);
  push_texts(call.L, loaded.notes);
  return 2;
}

/// Kinds are ids of a cluster's own; a script has their position in cluster:kinds().
int op_us(Call& call) {
  const auto costs = call.self<const Costs>();
  const OpId op = call.argument(1, "op").id(op_count(*costs));
  const KindId kind = call.argument(2, "kind").id(costs->kind_count());
  return call.number(costs->op_us(op, kind));
}

int workspace_bytes(Call& call) {
  const auto costs = call.self<const Costs>();
  return call.integer(costs->workspace_bytes(call.argument(1, "op").id(op_count(*costs))));
}

int save(Call& call) {
  const auto costs = call.self<const Costs>();
  const std::string path = call.argument(1, "path").text();
  const auto graph = call.argument(2, "graph").object<const Graph>();
  const auto cluster = call.argument(3, "cluster").object<const Cluster>();
  write_file(path, costs_json(*graph, *costs, *cluster));
  return 0;
}

constexpr Binding kFunctions[] = {{"berth.costs", &make}};
constexpr Binding kMethods[] = {{"costs:source", &getter<&Costs::source>},
                                {"costs:op_us", &op_us},
                                {"costs:workspace_bytes", &workspace_bytes},
                                {"costs:save", &save}};

std::string describe(const void* object) {
  return cat("'", static_cast<const Costs*>(object)->source(), "'");
}

}  // namespace

std::string cost_source(const Value& source) {
  const std::string name = source.is_text() ? source.text() : "";
  const bool known = name == "roofline" || name == "stated";
  if (known || name.find_first_of("./") != std::string::npos) return name;
  source.fail("\"roofline\", \"stated\", a costs file's path or a table of costs");
}

template <>
const Type& type_of<Costs>() {
  static constexpr Type type{"costs", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
