#include <algorithm>
#include <set>
#include <span>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/ops/views.h"
#include "berth/support/text.h"
#include "files/json_reader.h"

namespace berth {
namespace {

constexpr std::string_view kGraphFormat = "berth.graph/1";

void read_costs(const JsonReader& cost, OpId op, GraphBuilder& builder) {
  if (!cost.json().is_object()) {
    builder.set_cost(op, {}, cost.amount());
    return;
  }
  if (cost.json().empty()) {
    cost.fail(
        "no device kind can run the op; name one, or leave \"cost_us\" out for roofline costs");
  }
  for (const auto& [kind, value] : cost.json().items()) {
    if (kind.empty()) cost.fail("a device kind has no name; name it, or give one number for all");
    builder.set_cost(op, kind, cost.at(kind).amount());
  }
}

/// Adds one op; its output tensors go to `outputs`.
void read_op(const JsonReader& json, GraphBuilder& builder, std::vector<TensorId>& outputs) {
  json.expect_object({"name", "type", "cost_us", "output_bytes", "param_bytes", "workspace_bytes",
                      "colocate", "pure", "view"});
  const std::string& name = json.at("name").text();
  const OpId op = builder.add_op(name, json.at("type").text());
  if (json.has("cost_us")) read_costs(json.at("cost_us"), op, builder);
  const JsonReader sizes = json.at("output_bytes");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    TensorInfo info;
    info.bytes = sizes.at(i).bytes();
    outputs.push_back(builder.add_output(op, std::move(info)));
  }
  if (json.has("param_bytes")) builder.set_param_bytes(op, json.at("param_bytes").bytes());
  if (json.has("workspace_bytes")) {
    const JsonReader room = json.at("workspace_bytes");
    if (!json.has("cost_us")) {
      room.fail("the op has no \"cost_us\"; add it, or state the workspace in a costs file");
    }
    Work work;
    work.workspace_bytes = static_cast<double>(room.bytes());
    builder.set_work(op, work);
  }
  if (json.has("colocate")) builder.set_colocation(op, json.at("colocate").text());
  if (json.has("pure") && json.at("pure").boolean()) builder.set_pure(op);
  if (json.has("view") && json.at("view").boolean()) {
    builder.set_attribute(op, std::string(ops::kViewAttribute), std::int64_t{1});
  }
}

TensorId output_of(const JsonReader& json, std::span<const TensorId> ports) {
  const auto last = static_cast<std::int64_t>(ports.size()) - 1;
  return ports[static_cast<std::size_t>(json.at("output").integer(0, last))];
}

void read_edge(const JsonReader& json, const std::vector<std::vector<TensorId>>& outputs,
               GraphBuilder& builder) {
  json.expect_object({"src", "output", "dst"});
  const auto last = static_cast<std::int64_t>(outputs.size()) - 1;
  if (last < 0) json.fail("there are no ops to connect; remove the edge");
  const auto src = static_cast<OpId>(json.at("src").integer(0, last));
  const auto dst = static_cast<OpId>(json.at("dst").integer(0, last));
  if (!json.has("output")) {
    builder.add_control_edge(src, dst);
    return;
  }
  if (outputs[static_cast<std::size_t>(src)].empty()) {
    json.fail(cat("op #", src, " has no outputs; leave \"output\" out for a control edge"));
  }
  builder.add_input(dst, output_of(json, outputs[static_cast<std::size_t>(src)]));
}

void read_results(const JsonReader& results, const std::vector<std::vector<TensorId>>& outputs,
                  GraphBuilder& builder) {
  builder.name_results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const JsonReader json = results.at(i);
    json.expect_object({"src", "output"});
    const auto last = static_cast<std::int64_t>(outputs.size()) - 1;
    if (last < 0) json.fail("there are no ops that give results; remove the entry");
    const auto src = static_cast<OpId>(json.at("src").integer(0, last));
    const std::vector<TensorId>& ports = outputs[static_cast<std::size_t>(src)];
    if (ports.empty()) json.fail(cat("op #", src, " has no outputs; name one that has"));
    builder.add_result(output_of(json, ports));
  }
}

/// The graph with the states that the file lists. One "in_place" is given twice, which keeps it so
/// whatever its sizes.
std::shared_ptr<const Graph> with_states(std::shared_ptr<const Graph> graph,
                                         const JsonReader& list) {
  std::vector<Graph::State> states;
  std::vector<Graph::State> in_place;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader json = list.at(i);
    json.expect_object({"src", "output", "input", "in_place"});
    const std::int64_t last = graph->op_count() - 1;
    if (last < 0) json.fail("there are no ops that keep a state; remove the entry");
    const auto src = static_cast<OpId>(json.at("src").integer(0, last));
    const std::span<const TensorId> outputs = graph->outputs(src);
    if (outputs.empty()) json.fail(cat("op #", src, " has no outputs; name one that has"));
    const TensorId result = output_of(json, outputs);
    states.push_back({result, static_cast<OpId>(json.at("input").integer(0, last))});
    if (json.has("in_place") && json.at("in_place").boolean()) in_place.push_back(states.back());
  }
  return graph->with_states(states)->with_states(in_place);
}

/// Parameters that several ops read, as constants of the step, which reside once on each device that
/// reads them.
void write_shared(const Graph& graph, const std::vector<std::int32_t>& id, Json& ops, Json& edges) {
  std::set<std::string> taken;
  for (const Graph::SharedParameter& shared : graph.shared_parameters()) {
    const std::string& own = graph.tensor_name(shared.tensor);
    const std::string stem = own.empty() ? "parameter" : own;
    std::string name = stem;
    for (int i = 2; graph.find_op(name) || !taken.insert(name).second; ++i) {
      name = cat(stem, "#", i);
    }
    for (const OpId consumer : shared.consumers) {
      if (graph.is_constant(consumer)) continue;
      edges.push_back(
          {{"src", ops.size()}, {"output", 0}, {"dst", id[static_cast<std::size_t>(consumer)]}});
    }
    ops.push_back({{"name", name},
                   {"type", "Parameter"},
                   {"cost_us", 0},
                   {"output_bytes", {shared.bytes}},
                   {"pure", true}});
  }
}

/// Constants that no op reads, which reside all the same, and the step may return them: parameters of their own, with
/// their ids and the outputs' ports.
void write_unread(const Graph& graph, std::vector<std::int32_t>& id,
                  std::vector<std::int32_t>& port, Json& ops) {
  std::set<TensorId> seen;
  for (const Graph::SharedParameter& shared : graph.shared_parameters()) seen.insert(shared.tensor);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_constant(op) || graph.own_param_bytes(op) == 0) continue;
    Json sizes = Json::array();
    for (const TensorId tensor : graph.outputs(op)) {
      port[static_cast<std::size_t>(tensor)] = static_cast<std::int32_t>(sizes.size());
      std::int64_t bytes = 0;
      for (const TensorId kept : graph.kept_for(tensor)) {
        if (seen.insert(kept).second) bytes += graph.bytes(kept);
      }
      sizes.push_back(bytes);
    }
    id[static_cast<std::size_t>(op)] = static_cast<std::int32_t>(ops.size());
    ops.push_back({{"name", graph.op_name(op)},
                   {"type", "Parameter"},
                   {"cost_us", 0},
                   {"output_bytes", std::move(sizes)},
                   {"pure", true}});
    if (!graph.colocation(op).empty()) ops.back()["colocate"] = graph.colocation(op);
  }
}

}  // namespace

std::shared_ptr<const Graph> parse_graph(std::string_view json, const std::string& origin) {
  const LongDocument document(json, origin, {"ops", "edges"});
  const JsonReader root(document.rest(), origin);
  root.expect_object({"format", "name", "ops", "edges", "results", "states"}, kGraphFormat);
  GraphBuilder builder(root.at("name").text());
  try {
    std::vector<std::vector<TensorId>> outputs;
    document.for_each(root, "ops",
                      [&](const JsonReader& op) { read_op(op, builder, outputs.emplace_back()); });
    document.for_each(root, "edges",
                      [&](const JsonReader& edge) { read_edge(edge, outputs, builder); });
    if (root.has("results")) read_results(root.at("results"), outputs, builder);
    std::shared_ptr<const Graph> graph = builder.build();
    return root.has("states") ? with_states(std::move(graph), root.at("states")) : graph;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_file) throw;
    throw Error(ErrorCode::invalid_file, cat(origin, ": ", error.what()));
  }
}

std::shared_ptr<const Graph> load_graph(const std::filesystem::path& path) {
  return parse_graph(read_text(path), path.string());
}

std::string graph_json(const Graph& graph, const Costs& costs, const Cluster& cluster) {
  Json ops = Json::array();
  Json edges = Json::array();
  std::vector<std::int32_t> port(static_cast<std::size_t>(graph.tensor_count()), 0);
  // Constants are parameters of what reads them: the file has the ops that the step runs.
  std::vector<std::int32_t> id(static_cast<std::size_t>(graph.op_count()), 0);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    id[static_cast<std::size_t>(op)] = static_cast<std::int32_t>(ops.size());
    Json kinds = Json::object();
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      if (costs.can_run(op, kind)) kinds[cluster.kind_name(kind)] = costs.op_us(op, kind);
    }
    if (kinds.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("no device of cluster '", cluster.name(), "' can run op '", graph.op_name(op),
                      "'; write the graph with costs of a cluster that can"));
    }
    Json sizes = Json::array();
    for (const TensorId tensor : graph.outputs(op)) {
      port[static_cast<std::size_t>(tensor)] = static_cast<std::int32_t>(sizes.size());
      sizes.push_back(graph.bytes(tensor));
    }
    Json entry = {{"name", graph.op_name(op)},
                  {"type", graph.op_type(op)},
                  {"cost_us", std::move(kinds)},
                  {"output_bytes", std::move(sizes)}};
    if (graph.own_param_bytes(op) > 0) entry["param_bytes"] = graph.own_param_bytes(op);
    if (costs.workspace_bytes(op) > 0) entry["workspace_bytes"] = costs.workspace_bytes(op);
    if (ops::is_view(graph, op)) entry["view"] = true;
    if (!graph.colocation(op).empty()) entry["colocate"] = graph.colocation(op);
    ops.push_back(std::move(entry));
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.in_edges(op)) {
      Json entry = {{"src", id[static_cast<std::size_t>(edge.src)]},
                    {"dst", id[static_cast<std::size_t>(edge.dst)]}};
      if (edge.tensor != kNoTensor) entry["output"] = port[static_cast<std::size_t>(edge.tensor)];
      edges.push_back(std::move(entry));
    }
  }
  write_shared(graph, id, ops, edges);
  write_unread(graph, id, port, ops);
  Json document = {{"format", kGraphFormat},
                   {"name", graph.name()},
                   {"ops", std::move(ops)},
                   {"edges", std::move(edges)}};
  if (graph.names_results()) {
    Json results = Json::array();
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      const OpId maker = graph.maker(tensor);
      if (maker == kNoOp || !graph.is_result(tensor)) continue;
      if (graph.is_constant(maker) && graph.own_param_bytes(maker) == 0) continue;
      results.push_back({{"src", id[static_cast<std::size_t>(maker)]},
                         {"output", port[static_cast<std::size_t>(tensor)]}});
    }
    document["results"] = std::move(results);
  }
  const auto in_place = graph.with_states(graph.states());
  for (const Graph::State& state : graph.states()) {
    const OpId maker = graph.producer(state.result);
    Json entry = {{"src", id[static_cast<std::size_t>(maker)]},
                  {"output", port[static_cast<std::size_t>(state.result)]},
                  {"input", id[static_cast<std::size_t>(state.input)]}};
    // A maker whose states are not all in place has none said to be: those that are will be anyway.
    if (graph.reused_bytes(maker) == in_place->reused_bytes(maker)) entry["in_place"] = true;
    document["states"].push_back(std::move(entry));
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth
