#include "files/costs_file.h"

#include <algorithm>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "files/json_reader.h"

namespace berth {
namespace {

constexpr std::string_view kCostsFormat = "berth.costs/1";
constexpr std::string_view kGraphFileFormat = "berth.graph/1";  // costs may lie in a graph

/// `us[kind][op]`.
using CostTable = std::vector<std::vector<double>>;

CostTable empty_table(const Graph& graph, const Cluster& cluster) {
  return CostTable(static_cast<std::size_t>(cluster.kind_count()),
                   std::vector<double>(static_cast<std::size_t>(graph.op_count()), kCannotRun));
}

/// The kinds that the file covers. Every kind of the cluster must be among them. So a kind missing
/// from an op means that the kind cannot run it, and a misspelt kind is an error.
std::vector<std::string> read_kinds(const JsonReader& json, const Cluster& cluster) {
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < json.size(); ++i) kinds.push_back(json.at(i).text());
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const std::string& name = cluster.kind_name(kind);
    if (std::find(kinds.begin(), kinds.end(), name) != kinds.end()) continue;
    json.fail(cat("there are no costs for kind '", name, "' of cluster '", cluster.name(),
                  "', only for: ", join(kinds), "; measure that kind too, or choose a cluster of ",
                  "these kinds"));
  }
  return kinds;
}

OpId find_op(const JsonReader& entry, const std::string& name, const Graph& graph,
             const std::string& costs_of) {
  if (const auto op = graph.find_op(name)) return *op;
  entry.fail(cat("graph '", graph.name(), "' has no op '", name, "'; these costs (of graph '",
                 costs_of, "') are for another graph"));
}

std::shared_ptr<const Costs> read_costs(const JsonReader& root, const Graph& graph,
                                        const Cluster& cluster, const std::string& origin) {
  root.expect_object(
      {"format", "graph", "machine", "tensor_bytes", "kinds", "ops", "workspace_bytes", "joined"},
      kCostsFormat);
  if (root.has("machine")) static_cast<void>(root.at("machine").text());
  if (root.has("tensor_bytes")) static_cast<void>(root.at("tensor_bytes").bytes());
  const std::string& costs_of = root.at("graph").text();
  const std::vector<std::string> kinds = read_kinds(root.at("kinds"), cluster);
  const JsonReader ops = root.at("ops");
  if (!ops.json().is_object()) ops.fail("expected an object { \"op\": { \"kind\": us } }");
  CostTable us = empty_table(graph, cluster);
  std::vector<bool> seen(static_cast<std::size_t>(graph.op_count()), false);
  for (const auto& [name, costs] : ops.json().items()) {
    const JsonReader entry = ops.at(name);
    const auto op = static_cast<std::size_t>(find_op(entry, name, graph, costs_of));
    seen[op] = true;
    if (!costs.is_object()) entry.fail("expected an object { \"kind\": us }");
    for (const auto& [kind_name, value] : costs.items()) {
      if (std::find(kinds.begin(), kinds.end(), kind_name) == kinds.end()) {
        entry.fail(cat("kind '", kind_name, "' is not listed in \"kinds\"",
                       known_names(kind_name, kinds)));
      }
      const double cost = entry.at(kind_name).amount();
      for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
        if (cluster.kind_name(kind) == kind_name) us[static_cast<std::size_t>(kind)][op] = cost;
      }
    }
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (seen[static_cast<std::size_t>(op)]) continue;
    ops.fail(cat("op '", graph.op_name(op), "' of graph '", graph.name(),
                 "' is missing; add it, or these costs (of graph '", costs_of,
                 "') are for another graph"));
  }

  std::vector<std::int64_t> workspace;
  if (root.has("workspace_bytes")) {
    const JsonReader json = root.at("workspace_bytes");
    if (!json.json().is_object()) json.fail("expected an object { \"op\": bytes }");
    workspace.resize(static_cast<std::size_t>(graph.op_count()), 0);
    for (const auto& [name, value] : json.json().items()) {
      const JsonReader entry = json.at(name);
      workspace[static_cast<std::size_t>(find_op(entry, name, graph, costs_of))] = entry.bytes();
    }
  }
  std::vector<Costs::Joined> joined;
  if (root.has("joined")) {
    const JsonReader json = root.at("joined");
    if (!json.json().is_object()) json.fail("expected an object { \"op\": \"op that does it\" }");
    for (const auto& [name, value] : json.json().items()) {
      const JsonReader entry = json.at(name);
      joined.push_back(
          {find_op(entry, name, graph, costs_of), find_op(entry, entry.text(), graph, costs_of)});
    }
  }
  return std::make_shared<const Costs>(std::move(us), std::move(workspace), origin,
                                       std::move(joined));
}

/// The costs stated in a graph file whose ops have the same names.
std::shared_ptr<const Costs> carried_costs(std::string_view json, const Graph& graph,
                                           const Cluster& cluster, const std::string& origin) {
  const std::shared_ptr<const Graph> carrier = parse_graph(json, origin);
  const std::shared_ptr<const Costs> carried = [&] {
    try {
      return Costs::stated(*carrier, cluster);
    } catch (const Error& error) {
      throw Error(ErrorCode::invalid_file, cat(origin, ": ", error.what()));
    }
  }();
  CostTable us = empty_table(graph, cluster);
  std::vector<std::int64_t> workspace;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto source = carrier->find_op(graph.op_name(op));
    if (!source) {
      throw Error(ErrorCode::invalid_file,
                  cat(origin, ": no cost for op '", graph.op_name(op), "' of graph '", graph.name(),
                      "'; add it to \"ops\", or these costs (of graph '", carrier->name(),
                      "') are for another graph"));
    }
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      us[static_cast<std::size_t>(kind)][static_cast<std::size_t>(op)] =
          carried->op_us(*source, kind);
    }
    workspace.push_back(carried->workspace_bytes(*source));
  }
  return std::make_shared<const Costs>(std::move(us), std::move(workspace), origin);
}

std::int64_t tensor_bytes(const Graph& graph) {
  std::int64_t sum = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (__builtin_add_overflow(sum, graph.bytes(tensor), &sum)) return 0;
  }
  return sum;
}

std::string note_of_other_sizes(const Json& document, const std::string& origin,
                                const Graph& graph) {
  const auto stated = document.find("tensor_bytes");
  if (stated == document.end()) return {};
  const auto then = stated->get<std::int64_t>(), now = tensor_bytes(graph);
  if (then == now || now == 0) return {};
  return cat(origin, ": these costs are of tensors of ", then,
             " bytes in all, and the model's have ", now,
             " as it is loaded now; measure it for this batch and these dimensions");
}

/// A profile's machine has its backend's description in brackets (profile.cpp). Other names say nothing of
/// what was measured.
bool describes(const std::string& machine) {
  return machine.ends_with(')') && machine.find(" (") != machine.npos;
}

/// Kinds of one name, such as "cpu", are taken to be alike.
std::string note_of_other_machine(const Json& document, const std::string& origin,
                                  const Cluster& cluster) {
  const std::string machine = document.value("machine", std::string());
  if (machine == cluster.name() || !describes(machine) || !describes(cluster.name())) return {};
  return cat(origin, ": these costs were measured on ", machine, ", and the cluster is ",
             cluster.name(), "; profile the model on that one");
}

}  // namespace

std::shared_ptr<const Costs> parse_costs(std::string_view json, const std::string& origin,
                                         const Graph& graph, const Cluster& cluster,
                                         std::string& note) {
  note.clear();
  // A graph's ops are a list, and read from the text by carried_costs.
  const LongDocument long_document(json, origin, {"ops", "edges"});
  const Json& document = long_document.rest();
  if (document.is_object() && document.value("format", Json()) == kGraphFileFormat) {
    return carried_costs(json, graph, cluster, origin);
  }
  auto costs = read_costs(JsonReader(document, origin), graph, cluster, origin);
  note = note_of_other_sizes(document, origin, graph);
  if (note.empty()) note = note_of_other_machine(document, origin, cluster);
  return costs;
}

std::shared_ptr<const Costs> parse_costs(std::string_view json, const std::string& origin,
                                         const Graph& graph, const Cluster& cluster) {
  std::string note;
  return parse_costs(json, origin, graph, cluster, note);
}

std::shared_ptr<const Costs> load_costs(const std::filesystem::path& path, const Graph& graph,
                                        const Cluster& cluster) {
  return parse_costs(read_text(path), path.string(), graph, cluster);
}

std::string costs_json(const Graph& graph, const Costs& costs, const Cluster& cluster) {
  Json kinds = Json::array();
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    kinds.push_back(cluster.kind_name(kind));
  }
  Json ops = Json::object();
  Json workspace = Json::object();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    Json entry = Json::object();
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      if (costs.can_run(op, kind)) entry[cluster.kind_name(kind)] = costs.op_us(op, kind);
    }
    ops[graph.op_name(op)] = std::move(entry);
    if (const std::int64_t bytes = costs.workspace_bytes(op); bytes > 0) {
      workspace[graph.op_name(op)] = bytes;
    }
  }
  Json document = {{"format", kCostsFormat},    {"graph", graph.name()},
                   {"machine", cluster.name()}, {"tensor_bytes", tensor_bytes(graph)},
                   {"kinds", std::move(kinds)}, {"ops", std::move(ops)}};
  if (!workspace.empty()) document["workspace_bytes"] = std::move(workspace);
  for (const Costs::Joined& pair : costs.joined()) {
    document["joined"][graph.op_name(pair.op)] = graph.op_name(pair.with);
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth
