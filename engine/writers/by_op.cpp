// Forms that name every op.
#include <cstdio>
#include <string>
#include <string_view>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "writers/writers.h"

namespace berth::writers {
namespace {

/// RFC 4180.
std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// A quoted string of Graphviz's language, in which a backslash escapes.
std::string label(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return quoted + '"';
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

}  // namespace berth::writers
