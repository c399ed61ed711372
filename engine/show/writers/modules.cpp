#include "writers/modules.h"

#include <algorithm>
#include <charconv>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::writers {
namespace {

/// "model.layers.0.mlp.weight" -> "model.layers.0.mlp"; empty for a name that an exporter made up.
std::string module_of_parameter(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const bool computed = name.find(':') != std::string::npos || name.find('/') != std::string::npos;
  return dot == std::string::npos || computed ? std::string() : name.substr(0, dot);
}

/// "/model/layers.0/mlp/MatMul" -> "model.layers.0.mlp"; empty without scopes.
std::string module_of_op(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {};
  std::string module = name.substr(0, slash);
  std::replace(module.begin(), module.end(), '/', '.');
  return module.substr(std::min(module.find_first_not_of('.'), module.size()));
}

/// The weight that a parameter was computed from, when the model was loaded.
TensorId weight_behind(const Graph& graph, TensorId parameter) {
  for (OpId maker = graph.maker(parameter); maker != kNoOp; maker = graph.maker(parameter)) {
    const auto inputs = graph.inputs(maker);
    if (inputs.empty() || inputs.front() == kNoTensor) break;
    parameter = inputs.front();
  }
  return parameter;
}

int number_of(const std::string& text) {
  int number = kNoLayerNumber;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && number >= 0
             ? number
             : kNoLayerNumber;
}

std::string joined(const std::vector<std::string>& parts, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += (i > begin ? "." : "") + parts[i];
  return text;
}

}  // namespace

std::map<std::string, Module> modules_of(const Graph& graph, const Placement& placement) {
  std::map<std::string, Module> modules;
  std::vector<bool> counted(at(graph.tensor_count()));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const TensorId parameter : graph.parameters(op)) {
      const TensorId tensor = weight_behind(graph, parameter);
      std::string name = module_of_parameter(graph.tensor_name(tensor));
      if (name.empty()) name = module_of_op(graph.op_name(op));
      if (name.empty()) continue;
      Module& module = modules[name];
      module.on.emplace(placement[at(op)], op);
      if (!counted[at(tensor)]) module.bytes += graph.bytes(parameter);
      counted[at(tensor)] = true;
    }
  }
  if (modules.empty()) {
    throw Error(ErrorCode::unsupported,
                cat("no parameter of graph '", graph.name(),
                    "' has the name of a module ('layers.0.mlp.weight'); export the model with the "
                    "names of its parameters, or write the plan in a form that names ops, such as "
                    "csv"));
  }
  return modules;
}

std::vector<std::string> parts_of(const std::string& module) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    parts.push_back(module.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int DecoderLayers::number(const std::string& module, std::string& rest) const {
  if (!module.starts_with(list + ".")) return kNoLayerNumber;
  const std::string inner = module.substr(list.size() + 1);
  const std::size_t dot = std::min(inner.find('.'), inner.size());
  rest = inner.substr(std::min(dot + 1, inner.size()));
  return number_of(inner.substr(0, dot));
}

DecoderLayers decoder_layers(const std::map<std::string, Module>& modules) {
  std::map<std::string, std::int64_t> bytes;
  std::map<std::string, int> last;
  for (const auto& [name, module] : modules) {
    const std::vector<std::string> parts = parts_of(name);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const int number = number_of(parts[i]);
      if (number == kNoLayerNumber) continue;
      const std::string list = joined(parts, 0, i);
      bytes[list] += module.bytes;
      last[list] = std::max(last[list], number);
      break;  // lists within a layer, of experts say, are part of it
    }
  }
  if (bytes.empty()) {
    throw Error(
        ErrorCode::unsupported,
        "no module is one of a numbered list ('model.layers.0'), so the plan has no layers; "
        "write it in a form that needs none, such as device_map or csv");
  }
  const auto largest = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return {largest->first, last[largest->first] + 1};
}

LayerPlan layer_plan(const std::map<std::string, Module>& modules, const DecoderLayers& layers) {
  std::vector<std::map<DeviceId, std::int64_t>> bytes(at(layers.count));
  for (const auto& [name, module] : modules) {
    std::string rest;
    const int number = layers.number(name, rest);
    if (number == kNoLayerNumber) continue;
    for (const auto& [device, op] : module.on) bytes[at(number)][device] += module.bytes;
  }
  LayerPlan plan;
  for (int layer = 0; layer < layers.count; ++layer) {
    const auto& on = bytes[at(layer)];
    if (on.empty()) {
      throw Error(ErrorCode::unsupported,
                  cat("no parameter of ", layers.list, ".", layer,
                      " is in the graph, but of later layers there are; load the whole model"));
    }
    plan.device.push_back(std::max_element(on.begin(), on.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                          })->first);
    plan.rounded.push_back(on.size() > 1);
  }
  return plan;
}

int accelerator_number(const Cluster& cluster, DeviceId device) {
  if (cluster.device(device).host) return -1;
  int number = 0;
  for (DeviceId d = 0; d < device; ++d) number += cluster.device(d).host ? 0 : 1;
  return number;
}

}  // namespace berth::writers
