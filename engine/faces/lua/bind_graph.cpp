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

int name(Call& call) {
  return call.text(call.self<const Graph>()->name());
}
int dialect(Call& call) {
  return call.text(call.self<const Graph>()->dialect());
}
int op_count(Call& call) {
  return call.integer(call.self<const Graph>()->op_count());
}
int tensor_count(Call& call) {
  return call.integer(call.self<const Graph>()->tensor_count());
}
int edge_count(Call& call) {
  return call.integer(call.self<const Graph>()->edge_count());
}
int total_param_bytes(Call& call) {
  return call.integer(call.self<const Graph>()->total_param_bytes());
}

int shared_parameters(Call& call) {
  const auto graph = call.self<const Graph>();
  lua_newtable(call.L);
  int i = 0;
  for (const Graph::SharedParameter& each : graph->shared_parameters()) {
    lua_createtable(call.L, 0, 2);
    lua_pushnumber(call.L, static_cast<lua_Number>(each.bytes));
    lua_setfield(call.L, -2, "bytes");
    push_ids(call.L, each.consumers);
    lua_setfield(call.L, -2, "consumers");
    lua_rawseti(call.L, -2, ++i);
  }
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

int op_name(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text(graph->op_name(op_of(call, *graph)));
}

int op_type(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.text(graph->op_type(op_of(call, *graph)));
}

int inputs(Call& call) {
  const auto graph = call.self<const Graph>();
  push_ids(call.L, graph->inputs(op_of(call, *graph)));
  return 1;
}

int outputs(Call& call) {
  const auto graph = call.self<const Graph>();
  push_ids(call.L, graph->outputs(op_of(call, *graph)));
  return 1;
}

int push_edges(const Call& call, std::span<const Edge> edges) {
  reserve_stack(call.L, 4);
  lua_createtable(call.L, static_cast<int>(edges.size()), 0);
  int i = 0;
  for (const Edge& edge : edges) {
    lua_createtable(call.L, 0, 3);
    set_id(call.L, "src", edge.src);
    set_id(call.L, "dst", edge.dst);
    set_id(call.L, "tensor", edge.tensor);
    lua_rawseti(call.L, -2, ++i);
  }
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

int output_bytes(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.integer(graph->output_bytes(op_of(call, *graph)));
}

int param_bytes(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.integer(graph->param_bytes(op_of(call, *graph)));
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
  const struct Push {
    const Call& call;
    int operator()(std::int64_t number) const { return call.integer(number); }
    int operator()(double number) const { return call.number(number); }
    int operator()(const std::string& text) const { return call.text(text); }
    int operator()(const std::vector<std::int64_t>& numbers) const {
      push_integers(call.L, numbers);
      return 1;
    }
    int operator()(const std::vector<double>& numbers) const {
      push_numbers(call.L, numbers);
      return 1;
    }
    int operator()(const std::vector<std::string>& texts) const {
      push_texts(call.L, texts);
      return 1;
    }
  } push{call};
  return std::visit(push, *value);
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

int is_constant(Call& call) {
  const auto graph = call.self<const Graph>();
  return call.boolean(graph->is_constant(op_of(call, *graph)));
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
  if (!graph->has_shape(tensor)) return call.nil();
  push_integers(call.L, graph->shape(tensor));
  return 1;
}

int tensor_bytes(Call& call) {
  const auto graph = call.self<const Graph>();
  const TensorId tensor = tensor_of(call, *graph);
  return graph->bytes_known(tensor) ? call.integer(graph->bytes(tensor)) : call.nil();
}

int topological_order(Call& call) {
  push_ids(call.L, call.self<const Graph>()->topological_order());
  return 1;
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
    {"graph:name", &name},
    {"graph:dialect", &dialect},
    {"graph:op_count", &op_count},
    {"graph:tensor_count", &tensor_count},
    {"graph:edge_count", &edge_count},
    {"graph:total_param_bytes", &total_param_bytes},
    {"graph:shared_parameters", &shared_parameters},
    {"graph:find", &find},
    {"graph:op_name", &op_name},
    {"graph:op_type", &op_type},
    {"graph:inputs", &inputs},
    {"graph:outputs", &outputs},
    {"graph:in_edges", &in_edges},
    {"graph:out_edges", &out_edges},
    {"graph:output_bytes", &output_bytes},
    {"graph:param_bytes", &param_bytes},
    {"graph:colocation", &colocation},
    {"graph:requested_device", &requested_device},
    {"graph:attribute", &attribute},
    {"graph:work", &work},
    {"graph:stated_costs", &stated_costs},
    {"graph:producer", &producer},
    {"graph:is_constant", &is_constant},
    {"graph:tensor_name", &tensor_name},
    {"graph:dtype", &dtype},
    {"graph:shape", &shape},
    {"graph:tensor_bytes", &tensor_bytes},
    {"graph:topological_order", &topological_order},
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
