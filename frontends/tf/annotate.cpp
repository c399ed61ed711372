#include "tf/annotate.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

#include "berth/error.h"
#include "support/text.h"
#include "tf/colocation.h"
#include "tf/graph_maker.h"
#include "tf/inference.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {

using frontend::readable;
using frontend::WireType;

namespace {

/// "/device:GPU:1" of "gpu:1"; empty of a name that says nothing to TensorFlow.
std::string stated_device(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos || colon + 1 == name.size()) return {};
  const std::string kind = name.substr(0, colon);
  const bool numbered =
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(colon) + 1, name.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!numbered || (kind != "gpu" && kind != "cpu" && kind != "tpu")) return {};
  std::string upper = kind;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return cat("/device:", upper, name.substr(colon));
}

bool is_neural_processor(const Device& device) {
  return !device.host && !device.runs.every();
}

}  // namespace

std::vector<std::string> tensorflow_devices(const Cluster& cluster) {
  std::vector<std::string> names;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    names.push_back(stated_device(cluster.device(d).name));
  }
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    std::string& name = names[static_cast<std::size_t>(d)];
    if (!name.empty() || is_neural_processor(cluster.device(d))) continue;
    std::string free;
    int number = 0;
    do {
      free = cat("/device:", cluster.device(d).host ? "CPU" : "GPU", ":", number++);
    } while (std::find(names.begin(), names.end(), free) != names.end());
    name = std::move(free);
  }
  return names;
}

std::vector<std::string> tensorflow_devices(const Cluster& cluster, const Placement& placement) {
  std::vector<std::string> names = tensorflow_devices(cluster);
  std::unordered_map<std::string_view, DeviceId> device_of;
  for (const DeviceId device : std::set<DeviceId>(placement.begin(), placement.end())) {
    if (device == kNoDevice) continue;
    const std::string& own = cluster.device(device).name;
    const std::string& name = names[static_cast<std::size_t>(device)];
    if (name.empty()) {
      throw Error(ErrorCode::unsupported,
                  cat("the placement has ops on ", own,
                      ", and TensorFlow knows no neural processor; place for the tool tensorflow, "
                      "or forbid that device"));
    }
    const auto [other, added] = device_of.try_emplace(name, device);
    if (added) continue;
    throw Error(
        ErrorCode::unsupported,
        cat("devices '", cluster.device(other->second).name, "' and '", own, "' of machine '",
            cluster.name(), "' are both TensorFlow's ", name, "; give one of them another name"));
  }
  return names;
}

namespace {

/// Nodes of the file's graph that were not placed go with what TensorFlow co-locates them with. A loss that
/// is fetched beside the step would otherwise take others to a device of TensorFlow's choice.
void follow_classes(const Program& program, std::vector<DeviceId>& device_of) {
  const std::vector<NodeId> classes = colocation_classes(program);
  std::unordered_map<NodeId, DeviceId> of_class;
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    if (device_of[i] != kNoDevice) of_class.try_emplace(classes[i], device_of[i]);
  }
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    const Call& call = program.calls[static_cast<std::size_t>(program.nodes[i].call)];
    const auto found = of_class.find(classes[i]);
    if (device_of[i] != kNoDevice || call.function != nullptr || found == of_class.end()) continue;
    device_of[i] = found->second;
  }
}

}  // namespace

NodeDevices::NodeDevices(Library& library, const Graph& graph, const Cluster& cluster,
                         const Placement& placement) {
  const std::vector<std::string> names = tensorflow_devices(cluster, placement);
  // The whole file, whatever part of it the graph is: names tell what belongs to what.
  const std::vector<bool> all(library.graph.nodes().size(), true);
  Program program = make_program(library, all);
  const Loops loops = find_loops(program, library.source.file);
  std::vector<DeviceId> device_of(program.nodes.size(), kNoDevice);
  // Without the graph's weights every node is an op of its name, which the graph has or has not.
  const GraphMap map = map_ops(program, loops, std::vector<bool>(program.nodes.size(), false));
  bool any = false;
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    const auto op = graph.find_op(map.op_names[static_cast<std::size_t>(map.op_of[i])]);
    if (!op) continue;
    device_of[i] = placement[static_cast<std::size_t>(*op)];
    any = true;
  }
  if (!any) {
    throw Error(ErrorCode::invalid_argument,
                cat(library.source.file, ": has no node named like an op of graph '", graph.name(),
                    "'; name the file that the graph was loaded from"));
  }
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    for (const Source& input : program.nodes[i].inputs) {
      const auto from = static_cast<std::size_t>(input.node);
      if (device_of[from] == kNoDevice && program.nodes[from].op == "Const") {
        device_of[from] = device_of[i];
      }
    }
  }
  follow_classes(program, device_of);
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    if (device_of[i] == kNoDevice) continue;
    place(program, i, names[static_cast<std::size_t>(device_of[i])], library.source.file);
  }
}

void NodeDevices::place(const Program& program, std::size_t node, const std::string& device,
                        const std::string& file) {
  const Node& at = program.nodes[node];
  const Call& call = program.calls[static_cast<std::size_t>(at.call)];
  const std::string_view function =
      call.function == nullptr ? std::string_view() : call.function->signature.name;
  // A node made for a call stands for the call's own, in the same body.
  const std::string_view name =
      at.def != nullptr ? at.def->name : at.name.substr(call.prefix.size());
  const auto [entry, added] = by_function_[function].try_emplace(name, device);
  if (!added && entry->second != device) {
    throw Error(
        ErrorCode::unsupported,
        cat(file, ": function '", readable(function), "' is called more than once and its node '",
            readable(name), "' is placed on ", entry->second, " and on ", device,
            ", which one body cannot say; export the graph with its calls inlined, or "
            "keep the placement as JSON"));
  }
}

std::optional<std::string> NodeDevices::operator()(std::string_view function,
                                                   std::string_view node) const {
  const auto nodes = by_function_.find(function);
  if (nodes == by_function_.end()) return std::nullopt;
  const auto device = nodes->second.find(node);
  if (device == nodes->second.end()) return std::nullopt;
  return device->second;
}

// --- Binary files -------------------------------------------------------------------------------

namespace {

/// Copies `bytes`, replacing the payloads of the fields for which `rewrite` gives another.
template <typename Rewrite>
std::string copy_message(std::string_view bytes, const WireSource& source, const Rewrite& rewrite) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (WireReader reader(bytes, source); reader.next();) {
    std::optional<std::string> payload;
    if (reader.type() == WireType::bytes) payload = rewrite(reader);
    if (payload) {
      frontend::append_bytes_field(out, reader.field(), *payload);
    } else {
      out += reader.whole();
    }
  }
  return out;
}

std::string node_with_device(std::string_view bytes, const WireSource& source,
                             const std::string& device) {
  constexpr std::uint32_t kDevice = 4;
  std::string out;
  bool written = false;
  for (WireReader reader(bytes, source); reader.next();) {
    const bool is_device = reader.is_bytes(kDevice);
    if (!written && reader.field() >= kDevice) {
      frontend::append_bytes_field(out, kDevice, device);
      written = true;
    }
    if (!is_device) out += reader.whole();
  }
  if (!written) frontend::append_bytes_field(out, kDevice, device);
  return out;
}

std::string name_in(std::string_view bytes, const WireSource& source, std::uint32_t field) {
  std::string name;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(field)) name = reader.payload();
  }
  return name;
}

/// A repeated field of nodes, in a graph or in a function.
std::optional<std::string> rewrite_node(std::string_view node, const WireSource& source,
                                        std::string_view function, const NodeDevices& devices) {
  const std::optional<std::string> device = devices(function, name_in(node, source, 1));
  if (!device) return std::nullopt;
  return node_with_device(node, source, *device);
}

std::string rewrite_function(std::string_view bytes, const WireSource& source,
                             const NodeDevices& devices) {
  constexpr std::uint32_t kSignature = 1, kNode = 3;
  std::string name;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(kSignature)) name = name_in(reader.payload(), source, 1);
  }
  return copy_message(bytes, source, [&](const WireReader& field) -> std::optional<std::string> {
    if (field.field() != kNode) return std::nullopt;
    return rewrite_node(field.payload(), source, name, devices);
  });
}

std::string rewrite_graph(std::string_view bytes, const WireSource& source,
                          const NodeDevices& devices) {
  constexpr std::uint32_t kNode = 1, kLibrary = 2, kFunction = 1;
  return copy_message(bytes, source, [&](const WireReader& field) -> std::optional<std::string> {
    if (field.field() == kNode) return rewrite_node(field.payload(), source, {}, devices);
    if (field.field() != kLibrary) return std::nullopt;
    return copy_message(field.payload(), source,
                        [&](const WireReader& part) -> std::optional<std::string> {
                          if (part.field() != kFunction) return std::nullopt;
                          return rewrite_function(part.payload(), source, devices);
                        });
  });
}

std::string rewrite_meta_graph(std::string_view bytes, const WireSource& source,
                               const NodeDevices& devices) {
  constexpr std::uint32_t kGraph = 2;
  return copy_message(bytes, source, [&](const WireReader& field) -> std::optional<std::string> {
    if (field.field() != kGraph) return std::nullopt;
    return rewrite_graph(field.payload(), source, devices);
  });
}

}  // namespace

std::string set_devices(const ModelFile& file, const NodeDevices& devices) {
  if (file.is_text) {
    return set_devices_in_text(file.text, file.kind, file.meta_graph, file.source.file, devices);
  }
  switch (file.kind) {
    case MessageKind::graph:
      return rewrite_graph(file.bytes, file.source, devices);
    case MessageKind::meta_graph:
      return rewrite_meta_graph(file.bytes, file.source, devices);
    case MessageKind::saved_model:
      break;
  }
  constexpr std::uint32_t kMetaGraph = 2;
  int index = 0;
  return copy_message(file.bytes, file.source,
                      [&](const WireReader& field) -> std::optional<std::string> {
                        if (field.field() != kMetaGraph || index++ != file.meta_graph) {
                          return std::nullopt;
                        }
                        return rewrite_meta_graph(field.payload(), file.source, devices);
                      });
}

}  // namespace berth::tf_frontend
