#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "berth/version.h"
#include "files/json_reader.h"

namespace berth {
namespace {

constexpr std::string_view kPlacementFormat = "berth.placement/1";

Json option_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

}  // namespace

Placement parse_placement(std::string_view json, const std::string& origin, const Graph& graph,
                          const Cluster& cluster) {
  const Json document = parse_json(json, origin);
  const JsonReader root(document, origin);
  root.expect_object(
      {"format", "graph", "cluster", "devices", "assignment", "results", "provenance", "settings"},
      kPlacementFormat);
  const JsonReader assignment = root.at("assignment");
  if (!assignment.json().is_object()) assignment.fail("expected an object { \"op\": \"device\" }");
  Placement placement(static_cast<std::size_t>(graph.op_count()), kNoDevice);
  for (const auto& [name, value] : assignment.json().items()) {
    const JsonReader entry = assignment.at(name);
    const auto op = graph.find_op(name);
    if (!op) {
      entry.fail(cat("graph '", graph.name(), "' has no such op; this placement (of graph '",
                     root.at("graph").text(), "') is for another graph"));
    }
    const auto device = cluster.find_device(entry.text());
    if (!device) {
      entry.fail(cat("cluster '", cluster.name(), "' has no device '", entry.text(),
                     "'; it has: ", cluster.device_names()));
    }
    placement[static_cast<std::size_t>(*op)] = *device;
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    DeviceId& device = placement[static_cast<std::size_t>(op)];
    // What the step does not run need not be listed: it is where it is read.
    if (device == kNoDevice && graph.is_constant(op)) {
      const OpId reader = graph.first_reader(op);
      device = reader == kNoOp ? 0 : placement[static_cast<std::size_t>(reader)];
    }
    if (device == kNoDevice) {
      assignment.fail(cat("op '", graph.op_name(op), "' of graph '", graph.name(),
                          "' is missing; this placement (of graph '", root.at("graph").text(),
                          "') is for another graph"));
    }
  }
  return placement;
}

Placement load_placement(const std::filesystem::path& path, const Graph& graph,
                         const Cluster& cluster) {
  return parse_placement(read_text(path), path.string(), graph, cluster);
}

namespace {

Json provenance_json(const Origin& origin) {
  Json options = Json::object();
  for (const auto& [name, value] : origin.options) options[name] = option_json(value);
  Json document = {{"policy", origin.policy},
                   {"options", std::move(options)},
                   {"seed", origin.seed},
                   {"version", BERTH_VERSION_STRING}};
  if (!origin.whose.empty()) document["whose"] = origin.whose;
  if (!origin.weights.empty()) document["weights"] = origin.weights;
  if (!origin.measured_on.empty()) document["measured_on"] = origin.measured_on;
  if (!origin.model.empty()) document["model"] = origin.model;
  return document;
}

}  // namespace

std::string placement_json(const Graph& graph, const Cluster& cluster, const Placement& placement,
                           const Evaluation* evaluation, const Origin* origin) {
  Json devices = Json::array();
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    devices.push_back(cluster.device(id).name);
  }
  Json assignment = Json::object();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    assignment[graph.op_name(op)] = cluster.device(placement[static_cast<std::size_t>(op)]).name;
  }
  Json document = {{"format", kPlacementFormat},
                   {"graph", graph.name()},
                   {"cluster", cluster.name()},
                   {"devices", std::move(devices)},
                   {"assignment", std::move(assignment)}};
  if (evaluation != nullptr) {
    Json results = {{"feasible", evaluation->feasible}, {"peak_bytes", evaluation->peak_bytes}};
    // One of the two is the objective; the other was not evaluated.
    if (evaluation->runtime_us > 0) results["runtime_us"] = evaluation->runtime_us;
    if (evaluation->max_load_us > 0) results["max_load_us"] = evaluation->max_load_us;
    document["results"] = std::move(results);
  }
  if (origin != nullptr) {
    if (!origin->policy.empty()) document["provenance"] = provenance_json(*origin);
    if (!origin->settings.empty()) document["settings"] = Json::parse(origin->settings);
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth
