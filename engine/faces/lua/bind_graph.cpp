// berth.load, berth.prune and graphs. Ids are 1.. in Lua.
#include "berth/colocation.h"
#include "berth/costs.h"
#include "berth/engine.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

int load(Call& call) {
  const std::string path = call.argument(1, "path").text();
  Fields fields = call.options(2);
  const LoadOptions options = read_load_options(call.state, call.L, fields);
  fields.finish();
  const LoadedModel model = call.state.engine.load(path, options);
  call.made(model.graph);
  push_texts(call.L, model.notes);
  return 2;
}

int prune_graph(Call& call) {
  const auto graph = call.argument(1, "graph").object<const Graph>();
  const Value fetches = call.argument(2, "fetches");
  return call.made(prune(*graph, fetches.present() ? fetches.texts() : std::vector<std::string>{}));
}

int shared_parameters(Call& call) {
  const auto graph = call.self<const Graph>();
  push_records(call.L, graph->shared_parameters(), [&](const Graph::SharedParameter& each) {
    set_number(call.L, "bytes", static_cast<double>(each.bytes));
    set_ids(call.L, "consumers", each.consumers);
  });
  return 1;
}

int find(Call& call) {
  const auto graph = call.self<const Graph>();
  const auto op = graph->find_op(call.argument(1, "name").text());
  return op ? call.id(*op) : call.nil();
}

OpId op_of(const Call& call, const Graph& graph) {
  return call.argument(1, "op").id(graph.op_count());
}

TensorId tensor_of(const Call& call, const Graph& graph) {
  return call.argument(1, "tensor").id(graph.tensor_count());
}

/// A method that only returns what the graph says of an op.
template <auto member>
int op_getter(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.value(std::invoke(member, *graph, op_of(call, *graph)));
}

int push_edges(const Call& call, std::span<const Edge> edges) {
  reserve_stack(call.L, 4);
  push_records(call.L, edges, [&](const Edge& edge) {
    set_id(call.L, "src", edge.src);
    set_id(call.L, "dst", edge.dst);
    set_id(call.L, "tensor", edge.tensor);
  });
  return 1;
}

int in_edges(Call& call) {
  const auto graph = call.self<const Graph>();
  return push_edges(call, graph->in_edges(op_of(call, *graph)));
}

int out_edges(Call& call) {
  const auto graph = call.self<const Graph>();
  return push_edges(call, graph->out_edges(op_of(call, *graph)));
}

int colocation(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text_or_nil(graph->colocation(op_of(call, *graph)));
}

int requested_device(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text_or_nil(graph->requested_device(op_of(call, *graph)));
}

int attribute(Call& call) {
  const auto graph = call.self<const Graph>();
  const OpId op = op_of(call, *graph);
  const AttributeValue* value = graph->attribute(op, call.argument(2, "name").text());
  if (value == nullptr) return call.nil();
  return std::visit([&call](const auto& of_some_type) { return call.value(of_some_type); }, *value);
}

int work(Call& call) {
  const auto graph = call.self<const Graph>();
  const OpId op = op_of(call, *graph);
  const Work work = op_work(*graph, op);
  lua_createtable(call.L, 0, 6);
  set_number(call.L, "flops", work.flops);
  set_number(call.L, "bytes", work.bytes);
  set_text(call.L, "class", op_class_name(work.op_class));
  set_text(call.L, "dtype", dtype_name(work.dtype));
  set_number(call.L, "launches", work.launches);
  set_boolean(call.L, "has_rule", has_work_rule(*graph, op));
  return 1;
}

int stated_costs(Call& call) {
  const auto graph = call.self<const Graph>();
  const OpId op = op_of(call, *graph);
  lua_newtable(call.L);
  for (const Graph::StatedCost& cost : graph->stated_costs(op)) {
    set_number(call.L, cost.kind.empty() ? "*" : cost.kind.c_str(), cost.us);
  }
  return 1;
}

int producer(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.id(graph->producer(tensor_of(call, *graph)));
}

int tensor_name(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text_or_nil(graph->tensor_name(tensor_of(call, *graph)));
}

int dtype(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text(dtype_name(graph->dtype(tensor_of(call, *graph))));
}

int shape(Call& call) {
  const auto graph = call.self<const Graph>();
  const TensorId tensor = tensor_of(call, *graph);
  return graph->has_shape(tensor) ? call.value(graph->shape(tensor)) : call.nil();
}

int tensor_bytes(Call& call) {
  const auto graph = call.self<const Graph>();
  const TensorId tensor = tensor_of(call, *graph);
  return graph->bytes_known(tensor) ? call.integer(graph->bytes(tensor)) : call.nil();
}

int save(Call& call) {
  const auto graph = call.self<const Graph>();
  const std::string path = call.argument(1, "path").text();
  const auto costs = call.argument(2, "costs").object<const Costs>();
  const auto cluster = call.argument(3, "cluster").object<const Cluster>();
  if (costs->of_kind(0).size() != static_cast<std::size_t>(graph->op_count()) ||
      costs->kind_count() != cluster->kind_count()) {
    call.argument(2, "costs").refuse("not of this graph and this cluster");
  }
  write_file(path, graph_json(*graph, *costs, *cluster));
  return 0;
}

int free_gradients_of(Call& call) {
  return call.made(free_gradients(*call.argument(1, "graph").object<const Graph>()));
}

constexpr Binding kFunctions[] = {{"berth.load", &load},
                                  {"berth.prune", &prune_graph},
                                  {"berth.free_gradients", &free_gradients_of}};
constexpr Binding kMethods[] = {
    {"graph:name", &getter<&Graph::name>},
    {"graph:dialect", &getter<&Graph::dialect>},
    {"graph:op_count", &getter<&Graph::op_count>},
    {"graph:tensor_count", &getter<&Graph::tensor_count>},
    {"graph:edge_count", &getter<&Graph::edge_count>},
    {"graph:total_param_bytes", &getter<&Graph::total_param_bytes>},
    {"graph:shared_parameters", &shared_parameters},
    {"graph:find", &find},
    {"graph:op_name", &op_getter<&Graph::op_name>},
    {"graph:op_type", &op_getter<&Graph::op_type>},
    {"graph:inputs", &op_getter<&Graph::inputs>},
    {"graph:outputs", &op_getter<&Graph::outputs>},
    {"graph:in_edges", &in_edges},
    {"graph:out_edges", &out_edges},
    {"graph:output_bytes", &op_getter<&Graph::output_bytes>},
    {"graph:param_bytes", &op_getter<&Graph::param_bytes>},
    {"graph:colocation", &colocation},
    {"graph:requested_device", &requested_device},
    {"graph:attribute", &attribute},
    {"graph:work", &work},
    {"graph:stated_costs", &stated_costs},
    {"graph:producer", &producer},
    {"graph:is_constant", &op_getter<&Graph::is_constant>},
    {"graph:tensor_name", &tensor_name},
    {"graph:dtype", &dtype},
    {"graph:shape", &shape},
    {"graph:tensor_bytes", &tensor_bytes},
    {"graph:topological_order", &getter<&Graph::topological_order>},
    {"graph:save", &save},
};

std::string describe(const void* object) {
  const Graph& graph = *static_cast<const Graph*>(object);
  return cat("'", graph.name(), "' (", graph.op_count(), " ops, ", graph.edge_count(), " edges)");
}

}  // namespace

template <>
const Type& type_of<Graph>() {
  static constexpr Type type{"graph", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
