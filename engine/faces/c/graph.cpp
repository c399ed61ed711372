#include "berth/graph.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/dtype.h"
#include "berth/files.h"
#include "berth/sdk/ops/constants.h"
#include "berth/sdk/ops/dialects.h"
#include "berth/sdk/ops/states.h"
#include "berth/settings.h"
#include "detect/here.h"
#include "objects.h"

using namespace berth;

namespace {

DType dtype_of(berth_text text, DType fallback) {
  const std::string_view name = c::view(text);
  if (name.empty()) return fallback;
  if (const auto dtype = dtype_from_name(name)) return *dtype;
  throw Error(ErrorCode::invalid_argument,
              cat("no element type '", name, "'; write f32, bf16, i64, bool, ... or nothing"));
}

TensorInfo info_of(const berth_tensor* tensor, std::string& name) {
  const berth_tensor defaults = BERTH_TENSOR_INIT;
  const berth_tensor given = c::take(tensor, defaults, "berth_tensor");
  name = c::string(given.name);
  TensorInfo info;
  info.dtype = dtype_of(given.dtype, DType::unknown);
  info.bytes = given.bytes;
  // An int that nobody set is far above it: the shape would be read past its end.
  constexpr int kHighestRank = 64;
  if (given.rank > kHighestRank) {
    throw Error(ErrorCode::invalid_argument,
                cat("a rank of ", given.rank, "; set it to the length of shape, ", kHighestRank,
                    " at most, or to -1 where no shape is known"));
  }
  if (given.rank >= 0) {
    const auto shape = c::array(given.shape, static_cast<std::size_t>(given.rank), "shape");
    info.has_shape = true;
    info.shape.assign(shape.begin(), shape.end());
  }
  return info;
}

OpClass class_of(berth_text text) {
  const std::string_view name = c::view(text);
  if (name.empty()) return OpClass::other;
  std::vector<std::string> known;
  for (int i = 0; i < kOpClassCount; ++i) {
    const auto op_class = static_cast<OpClass>(i);
    if (op_class_name(op_class) == name) return op_class;
    known.emplace_back(op_class_name(op_class));
  }
  throw Error(ErrorCode::invalid_argument,
              cat("no class of ops '", name, "'", known_names(name, known)));
}

OpId add_op(berth_builder& the, std::string name, std::string type) {
  const OpId op = the.builder.add_op(std::move(name), std::move(type));
  the.first_output.push_back(kNoTensor);
  return op;
}

TensorId add_output(berth_builder& the, OpId op, TensorInfo info, std::string name) {
  const TensorId tensor = the.builder.add_output(op, std::move(info), std::move(name));
  TensorId& first = the.first_output[static_cast<std::size_t>(op)];
  if (first == kNoTensor) first = tensor;
  return tensor;
}

/// Its first output; it is given one where it has none.
TensorId output_of(berth_builder& the, OpId op) {
  const TensorId first = the.first_output[static_cast<std::size_t>(op)];
  return first != kNoTensor ? first : add_output(the, op, {}, {});
}

void check_op(const berth_builder& the, OpId op, std::size_t edge) {
  if (op >= 0 && op < the.builder.op_count()) return;
  throw Error(ErrorCode::invalid_argument,
              cat("edge #", edge, " names op #", op, ", but there are ", the.builder.op_count(),
                  "; use ids of ops"));
}

void check_states(const Graph& graph, const std::vector<Graph::State>& states) {
  for (const Graph::State& state : states) {
    const bool known = state.result >= 0 && state.result < graph.tensor_count() &&
                       state.input >= 0 && state.input < graph.op_count();
    if (known) continue;
    throw Error(
        ErrorCode::invalid_argument,
        cat("a state names tensor #", state.result, " and op #", state.input, " of a graph of ",
            graph.tensor_count(), " tensors and ", graph.op_count(), " ops"));
  }
}

const Graph& graph_of(const berth_graph* graph, OpId op) {
  const Graph& the = *c::get(graph).graph;
  if (op < 0 || op >= the.op_count()) {
    throw Error(ErrorCode::invalid_argument,
                cat("op #", op, " of a graph of ", the.op_count(), "; ids are dense, from 0"));
  }
  return the;
}

}  // namespace

std::string c::loading_settings(const Settings& settings) {
  constexpr SettingGroup kLoading[] = {SettingGroup::model};
  return settings_json(settings_of(settings, kLoading));
}

berth_status berth_builder_new(berth_text name, berth_text dialect, berth_builder** out) {
  return c::guarded([&] {
    berth_builder*& made = c::required(out, "out");
    const std::string vocabulary = c::string(dialect);
    if (!vocabulary.empty()) check_dialect(vocabulary);
    made = new berth_builder(c::string(name), vocabulary.empty() ? "berth" : vocabulary);
  });
}

berth_status berth_builder_op(berth_builder* builder, berth_text name, berth_text type,
                              int32_t* op) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    int32_t& id = c::required(op, "op");
    id = add_op(the, c::string(name), c::string(type));
  });
}

berth_status berth_builder_output(berth_builder* builder, int32_t op, const berth_tensor* tensor,
                                  int32_t* out) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    std::string name;
    TensorInfo info = info_of(tensor, name);
    const TensorId id = add_output(the, op, std::move(info), std::move(name));
    if (out != nullptr) *out = id;
  });
}

berth_status berth_builder_parameter(berth_builder* builder, const berth_tensor* tensor,
                                     int32_t* out) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    int32_t& id = c::required(out, "out");
    std::string name;
    TensorInfo info = info_of(tensor, name);
    id = the.builder.add_parameter(std::move(info), std::move(name));
  });
}

berth_status berth_builder_input(berth_builder* builder, int32_t op, int32_t tensor) {
  return c::guarded([&] { c::get(builder).builder.add_input(op, tensor); });
}

berth_status berth_builder_after(berth_builder* builder, int32_t op, int32_t before) {
  return c::guarded([&] { c::get(builder).builder.add_control_edge(before, op); });
}

berth_status berth_builder_cost(berth_builder* builder, int32_t op, berth_text kind, double us) {
  return c::guarded([&] { c::get(builder).builder.set_cost(op, c::string(kind), us); });
}

berth_status berth_builder_work(berth_builder* builder, int32_t op, const berth_work* work) {
  return c::guarded([&] {
    const berth_work defaults = BERTH_WORK_INIT;
    const berth_work given = c::take(&c::required(work, "work"), defaults, "berth_work",
                                     offsetof(berth_work, workspace_bytes));
    c::get(builder).builder.set_work(op, {given.flops,
                                          given.bytes,
                                          class_of(given.op_class),
                                          dtype_of(given.dtype, DType::f32),
                                          given.launches,
                                          {},
                                          given.workspace_bytes});
  });
}

berth_status berth_builder_hints(berth_builder* builder, int32_t op, const berth_op_hints* hints) {
  return c::guarded([&] {
    const berth_op_hints defaults = BERTH_OP_HINTS_INIT;
    const berth_op_hints given = c::take(&c::required(hints, "hints"), defaults, "berth_op_hints");
    GraphBuilder& the = c::get(builder).builder;
    the.set_param_bytes(op, given.param_bytes);
    the.set_colocation(op, c::string(given.colocation));
    the.set_requested_device(op, c::string(given.requested_device));
  });
}

berth_status berth_builder_attribute(berth_builder* builder, int32_t op, berth_text name,
                                     const int64_t* numbers, size_t count, berth_text text) {
  return c::guarded([&] {
    GraphBuilder& the = c::get(builder).builder;
    if (numbers == nullptr && count == 0) {
      the.set_attribute(op, c::string(name), c::string(text));
      return;
    }
    const auto values = c::array(numbers, count, "numbers");
    the.set_attribute(op, c::string(name), std::vector<std::int64_t>(values.begin(), values.end()));
  });
}

berth_status berth_builder_ops(berth_builder* builder, size_t count, const berth_text* names,
                               const berth_text* types, const double* cost_us,
                               const int64_t* output_bytes, const int64_t* param_bytes,
                               int32_t* first) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    const auto all_names = c::array(names, count, "names");
    std::vector<std::pair<std::string, std::string>> named;  // with its type
    named.reserve(count);
    // Errors in the arrays are reported before anything is added.
    for (std::size_t i = 0; i < count; ++i) {
      named.emplace_back(c::string(all_names[i]), types == nullptr ? "" : c::string(types[i]));
      if (cost_us != nullptr && !(std::isfinite(cost_us[i]) && cost_us[i] >= 0)) {
        throw Error(ErrorCode::invalid_graph,
                    cat("op '", c::view(all_names[i]), "' (entry ", i, ") states a cost of ",
                        cost_us[i], " us; costs are finite and not negative"));
      }
      const bool sized = (output_bytes == nullptr || output_bytes[i] >= kUnknownBytes) &&
                         (param_bytes == nullptr || param_bytes[i] >= 0);
      if (!sized) {
        throw Error(ErrorCode::invalid_graph, cat("op '", c::view(all_names[i]), "' (entry ", i,
                                                  ") has a negative size; sizes are bytes"));
      }
    }
    const OpId begin = the.builder.op_count();
    for (std::size_t i = 0; i < count; ++i) {
      const OpId op = add_op(the, std::move(named[i].first), std::move(named[i].second));
      TensorInfo info;
      if (output_bytes != nullptr) info.bytes = output_bytes[i];
      static_cast<void>(add_output(the, op, std::move(info), {}));
      if (cost_us != nullptr) the.builder.set_cost(op, {}, cost_us[i]);
      if (param_bytes != nullptr) the.builder.set_param_bytes(op, param_bytes[i]);
    }
    if (first != nullptr) *first = begin;
  });
}

berth_status berth_builder_edges(berth_builder* builder, size_t count, const int32_t* src,
                                 const int32_t* dst) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    const auto from = c::array(src, count, "src");
    const auto to = c::array(dst, count, "dst");
    for (std::size_t i = 0; i < count; ++i) {
      check_op(the, from[i], i);
      check_op(the, to[i], i);
    }
    for (std::size_t i = 0; i < count; ++i) the.builder.add_input(to[i], output_of(the, from[i]));
  });
}

berth_status berth_builder_result(berth_builder* builder, int32_t tensor) {
  return c::guarded([&] { c::get(builder).builder.add_result(tensor); });
}

berth_status berth_builder_state(berth_builder* builder, int32_t tensor, int32_t input) {
  return c::guarded([&] { c::get(builder).states.push_back({tensor, input}); });
}

berth_status berth_builder_pure(berth_builder* builder, int32_t op) {
  return c::guarded([&] { c::get(builder).builder.set_pure(op); });
}

berth_status berth_builder_no_fold(berth_builder* builder) {
  return c::guarded([&] { c::get(builder).folds = false; });
}

berth_status berth_builder_finish(berth_builder* builder, berth_graph** out) {
  return c::guarded([&] {
    berth_builder& the = c::get(builder);
    berth_graph*& made = c::required(out, "out");
    the.first_output.clear();
    const std::vector<Graph::State> states = std::exchange(the.states, {});
    const bool folds = std::exchange(the.folds, true);
    auto graph = the.builder.build();
    if (folds) graph = ops::fold_constants(std::move(graph));
    check_states(*graph, states);
    if (!states.empty()) graph = graph->with_states(states);
    made = new berth_graph(ops::add_states(std::move(graph), {}, true));
  });
}

berth_status berth_graph_load(berth_engine* engine, berth_text path, berth_graph** out) {
  return c::guarded([&] {
    berth_engine& the = c::get(engine);
    berth_graph*& made = c::required(out, "out");
    LoadedModel loaded = the.engine->load(c::string(path), the.settings.load);
    made = new berth_graph(std::move(loaded.graph), std::move(loaded.notes),
                           c::loading_settings(the.settings));
  });
}

int32_t berth_graph_op_count(const berth_graph* graph) {
  int32_t count = 0;
  if (graph == nullptr) return count;
  static_cast<void>(c::guarded([&] { count = c::get(graph).graph->op_count(); }));
  return count;
}

berth_status berth_graph_op_name(const berth_graph* graph, int32_t op, berth_text* name) {
  return c::guarded([&] {
    const Graph& the = graph_of(graph, op);
    c::required(name, "name") = c::borrow(the.op_name(op));
  });
}

berth_status berth_graph_op_work(const berth_graph* graph, int32_t op, berth_work* work) {
  return c::guarded([&] {
    const Work found = op_work(graph_of(graph, op), op);
    const berth_work known = {sizeof(berth_work),
                              found.flops,
                              found.bytes,
                              found.launches,
                              c::borrow(op_class_name(found.op_class)),
                              c::borrow(dtype_name(found.dtype)),
                              found.workspace_bytes};
    c::give_options(&known, sizeof known, work, offsetof(berth_work, workspace_bytes),
                    "berth_work");
  });
}

berth_status berth_cluster_new(berth_engine* engine, berth_text description, berth_cluster** out) {
  return c::guarded([&] {
    berth_cluster*& made = c::required(out, "out");
    const std::string text = c::string(description);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (text.empty()) {
      made = new berth_cluster(make_cluster(c::get(engine).settings));
    } else if (first != std::string::npos && text[first] == '{') {
      made = new berth_cluster(parse_cluster(text, "the cluster"));
    } else {
      made = new berth_cluster(detect::load_machine(text));
    }
  });
}

int32_t berth_cluster_device_count(const berth_cluster* cluster) {
  int32_t count = 0;
  if (cluster == nullptr) return count;
  static_cast<void>(c::guarded([&] { count = c::get(cluster).cluster->device_count(); }));
  return count;
}

berth_status berth_cluster_device(const berth_cluster* cluster, int32_t device, berth_text* name,
                                  berth_text* kind) {
  return c::guarded([&] {
    const Cluster& the = *c::get(cluster).cluster;
    if (device < 0 || device >= the.device_count()) {
      throw Error(ErrorCode::invalid_argument, cat("device #", device, " of a cluster of ",
                                                   the.device_count(), "; ids are dense, from 0"));
    }
    c::required(name, "name") = c::borrow(the.device(device).name);
    if (kind != nullptr) *kind = c::borrow(the.device(device).kind);
  });
}
