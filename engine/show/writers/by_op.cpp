// Forms that name every op.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "writers/decoder.h"
#include "writers/writers.h"

namespace berth::writers {
namespace {

/// RFC 4180. A name is a stranger's: what a spreadsheet would compute stands behind an apostrophe, which
/// tells it that this is a text. So does a name that begins with an apostrophe itself: without the first
/// one, every name is as the model has it.
std::string cell(std::string_view text) {
  const bool guarded =
      !text.empty() && std::string_view("'=+-@\t\r").find(text.front()) != std::string_view::npos;
  const std::string whole = cat(guarded ? "'" : "", text);
  if (whole.find_first_of(",\"\r\n") == std::string::npos) return whole;
  std::string quoted = "\"";
  for (const char c : whole) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// A quoted string of Graphviz's language, in which a backslash escapes. A line break is one on the
/// drawing too; other control characters have no picture.
std::string label(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return quoted + '"';
}

/// An expression of ECMAScript that matches this text alone.
std::string expression(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("^$\\.*+?()[]{}|").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Okabe and Ito's colours, which the colour-blind can tell apart.
constexpr std::string_view kColours[] = {"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                         "#0072b2", "#d55e00", "#cc79a7", "#999999"};

}  // namespace

std::string csv(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  std::string text = "op,type,device,device_number\r\n";
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[at(op)];
    text += cat(cell(graph.op_name(op)), ",", cell(graph.op_type(op)), ",",
                cell(cluster.device(device).name), ",", device, "\r\n");
  }
  return text;
}

std::string graphviz(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  std::string text = cat("digraph ", label(graph.name()),
                         " {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[at(op)];
    text += cat("  n", op, " [label=", label(cat(graph.op_name(op), "\n", graph.op_type(op))),
                ", tooltip=", label(cluster.device(device).name), ", fillcolor=\"",
                kColours[at(device) % std::size(kColours)], "\"];\n");
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.out_edges(op)) {
      const bool crosses = placement[at(edge.src)] != placement[at(edge.dst)];
      text += cat("  n", edge.src, " -> n", edge.dst,
                  edge.tensor == kNoTensor ? " [style=dotted]"
                  : crosses                ? " [color=red, penwidth=2]"
                                           : "",
                  ";\n");
    }
  }
  return text + "}\n";
}

std::string onnx_mlir(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const Device& device = cluster.device(placement[at(op)]);
    if (device.kind != "cpu" && device.kind != "nnpa") {
      throw Error(ErrorCode::unsupported,
                  cat("onnx-mlir knows the devices cpu and nnpa, and op '", graph.op_name(op),
                      "' is on ", device.name, " of kind '", device.kind,
                      "'; name the kinds of the cluster's devices so"));
    }
    records.push_back({{"device", device.kind},
                       {"node_type", cat("onnx.", expression(graph.op_type(op)))},
                       {"onnx_node_name", expression(graph.op_name(op))}});
  }
  return nlohmann::ordered_json{{"device_placement", std::move(records)}}.dump(
             2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string onnxruntime(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const std::set<DeviceId> used(placement.begin(), placement.end());
  std::vector<std::string> gpus;
  std::string rules;
  for (const DeviceId device : used) {
    const std::string& name = cluster.device(device).name;
    if (name.find_first_of(",;()= ") != std::string::npos) {
      throw Error(ErrorCode::unsupported,
                  cat("ONNX Runtime's rules cannot hold the device name '", name,
                      "'; name devices of the cluster without blanks and any of ,;()="));
    }
    const int number = accelerator_number(cluster, device);
    if (number >= 0) gpus.push_back(name);
    const std::string designator = number >= 0                   ? cat("gpu:", number)
                                   : cluster.device(device).host ? "cpu"
                                                                 : "npu";
    rules += cat(rules.empty() ? "" : "; ", designator, "(=", name, ")");
  }
  if (gpus.size() > 1) {
    throw Error(ErrorCode::unsupported,
                cat("a session of ONNX Runtime holds one GPU, and the plan of graph '",
                    graph.name(), "' uses ", gpus.size(), ": ", join(gpus, 5),
                    "; place on a cluster with one GPU and the host, or write csv or graphviz"));
  }
  // Names are matched whole: without "=" one matches every name that begins with it.
  return nlohmann::ordered_json{{"session.layer_assignment_settings", rules}}.dump(2) + "\n";
}

namespace {

/// OpenVINO's name of an op: of one that makes results the last result's.
const std::string& friendly_name(const Graph& graph, OpId op) {
  const auto outputs = graph.outputs(op);
  for (auto tensor = outputs.rbegin(); graph.names_results() && tensor != outputs.rend();
       ++tensor) {
    const std::string& name = graph.tensor_name(*tensor);
    if (graph.is_result(*tensor) && !name.empty()) return name;
  }
  return graph.op_name(op);
}

}  // namespace

std::string openvino(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  // It numbers Intel's GPUs alone; a single one has no number.
  std::vector<DeviceId> gpus;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (is_gpu(cluster.device(d)) && is_openvinos(cluster.device(d))) gpus.push_back(d);
  }
  const auto name = [&](DeviceId device) {
    const Device& its = cluster.device(device);
    if (!is_openvinos(its)) {
      throw Error(ErrorCode::unsupported,
                  cat("OpenVINO runs on GPUs and neural processors of Intel, and the plan uses ",
                      its.name, ", a '", its.kind, "'; place with --for openvino"));
    }
    if (its.kind == "npu" || (!its.host && !is_gpu(its))) return std::string("NPU");
    const auto number = std::find(gpus.begin(), gpus.end(), device) - gpus.begin();
    if (number == std::ssize(gpus)) return std::string("CPU");
    return gpus.size() == 1 ? std::string("GPU") : cat("GPU.", number);
  };
  nlohmann::ordered_json affinity = nlohmann::ordered_json::object();
  std::map<DeviceId, std::string> used;
  for (const DeviceId device : placement) {
    if (!used.contains(device)) used.emplace(device, name(device));
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    affinity[friendly_name(graph, op)] = used.at(placement[at(op)]);
  }
  // Accelerators before the host, as HETERO tries them in this order for what has no affinity.
  std::vector<std::string> accelerators, hosts;
  for (const auto& [device, its] : used) {
    (cluster.device(device).host ? hosts : accelerators).push_back(its);
  }
  if (!hosts.empty()) accelerators.push_back(hosts.front());
  std::string devices;
  for (const std::string& each : accelerators) devices += cat(devices.empty() ? "" : ",", each);
  return nlohmann::ordered_json{{"device", "HETERO:" + devices}, {"affinity", std::move(affinity)}}
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace berth::writers
