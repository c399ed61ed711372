// Forms that name modules and layers of a network.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "writers/modules.h"
#include "writers/writers.h"

namespace berth::writers {
namespace {

/// A module with those in it.
struct Tree {
  std::map<std::string, Tree> children;
  std::string name;
  DeviceId device = kNoDevice;  ///< of its own parameters
  /// The device of all that is in it; kNoDevice = there are several.
  [[nodiscard]] DeviceId only() const {
    DeviceId found = device;
    bool several = false;
    for (const auto& [part, child] : children) {
      const DeviceId of_child = child.only();
      several = several || of_child == kNoDevice || (found != kNoDevice && of_child != found);
      found = of_child;
    }
    return several ? kNoDevice : found;
  }
};

Tree tree_of(const std::map<std::string, Module>& modules) {
  Tree root;
  for (const auto& [name, module] : modules) {
    Tree* node = &root;
    std::string path;
    for (const std::string& part : parts_of(name)) {
      path += (path.empty() ? "" : ".") + part;
      node = &node->children[part];
      node->name = path;
    }
    node->device = module.device();
  }
  return root;
}

nlohmann::ordered_json accelerate_device(const Cluster& cluster, DeviceId device) {
  const int number = accelerator_number(cluster, device);
  return number < 0 ? nlohmann::ordered_json("cpu") : nlohmann::ordered_json(number);
}

/// The fewest entries that say it.
void add_entries(const Tree& tree, const Cluster& cluster, nlohmann::ordered_json& map) {
  const DeviceId only = tree.only();
  if (only != kNoDevice) {
    map[tree.name] = accelerate_device(cluster, only);
    return;
  }
  // An entry of a module covers what is in it and has no entry of its own.
  if (tree.device != kNoDevice) map[tree.name] = accelerate_device(cluster, tree.device);
  for (const auto& [part, child] : tree.children) add_entries(child, cluster, map);
}

void refuse_split(const Graph& graph, const Cluster& cluster,
                  const std::map<std::string, Module>& modules) {
  std::vector<std::string> split;
  for (const auto& [name, module] : modules) {
    if (!module.split()) continue;
    const auto& [device, op] = *module.on.begin();
    const auto& [other, other_op] = *module.on.rbegin();
    split.push_back(cat(name, " ('", graph.op_name(op), "' is on ", cluster.device(device).name,
                        ", '", graph.op_name(other_op), "' on ", cluster.device(other).name, ")"));
  }
  if (split.empty()) return;
  throw Error(ErrorCode::unsupported,
              cat("a device_map has one device for a module, and the plan splits ", split.size(),
                  ": ", join(split, 5),
                  "; co-locate the ops of each (--colocate), or place by "
                  "larger groups (--groups)"));
}

/// llama.cpp's buffer of a device.
std::string buffer(const Cluster& cluster, DeviceId device) {
  const int number = accelerator_number(cluster, device);
  return number < 0 ? "CPU" : cat("CUDA", number);
}

/// What llama.cpp calls the tensors of a module, as its converter names them for the Llama family.
const std::map<std::string, std::string, std::less<>> kTensors = {
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"input_layernorm", "attn_norm"},
    {"post_attention_layernorm", "ffn_norm"},
};

/// Tensors that are not where the rest of their layer is, by (device, tensor): layers.
std::map<std::pair<DeviceId, std::string>, std::vector<int>> exceptions_of(
    const std::map<std::string, Module>& modules, const DecoderLayers& layers,
    const LayerPlan& plan) {
  std::map<std::pair<DeviceId, std::string>, std::vector<int>> found;
  for (const auto& [name, module] : modules) {
    std::string rest;
    const int layer = layers.number(name, rest);
    if (layer == kNoLayerNumber || module.device() == plan.device[at(layer)]) continue;
    const auto tensor = kTensors.find(rest);
    if (tensor == kTensors.end()) continue;
    found[{module.device(), tensor->second}].push_back(layer);
  }
  return found;
}

std::string numbers(std::vector<int> layers) {
  std::sort(layers.begin(), layers.end());
  std::string text;
  for (const int layer : layers) text += cat(text.empty() ? "" : "|", layer);
  return text;
}

}  // namespace

std::string device_map(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const auto modules = modules_of(graph, placement);
  refuse_split(graph, cluster, modules);
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const auto& [part, child] : tree_of(modules).children) add_entries(child, cluster, map);
  return map.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string llama_cpp(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const auto modules = modules_of(graph, placement);
  const DecoderLayers layers = decoder_layers(modules);
  const LayerPlan plan = layer_plan(modules, layers);
  int gpus = 0;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) gpus += cluster.device(d).host ? 0 : 1;
  std::vector<int> share(at(std::max(gpus, 1)));
  int on_gpus = 0;
  for (const DeviceId device : plan.device) {
    const int number = accelerator_number(cluster, device);
    if (number < 0) continue;
    ++share[at(number)];
    ++on_gpus;
  }
  // The output head is one layer more, the last.
  const bool all = on_gpus == layers.count;
  std::string text = cat("-ngl ", on_gpus + (all ? 1 : 0), "\n");
  if (gpus > 1 && on_gpus > 0) {
    std::string shares;
    for (const int each : share) shares += cat(shares.empty() ? "" : ",", each);
    text += cat("--tensor-split ", shares, "\n");
  }
  // The first expression that matches a tensor decides, so that exceptions come first.
  std::string overrides;
  const auto add = [&](const std::string& expression, DeviceId device) {
    overrides += cat(overrides.empty() ? "" : ",", expression, "=", buffer(cluster, device));
  };
  for (const auto& [where, of] : exceptions_of(modules, layers, plan)) {
    add(cat("blk\\.(", numbers(of), ")\\.", where.second, "\\."), where.first);
  }
  std::map<DeviceId, std::vector<int>> on;
  for (int layer = 0; layer < layers.count; ++layer) on[plan.device[at(layer)]].push_back(layer);
  for (const auto& [device, of] : on) add(cat("blk\\.(", numbers(of), ")\\."), device);
  return text + cat("-ot \"", overrides, "\"\n");
}

std::string vllm(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const auto modules = modules_of(graph, placement);
  const DecoderLayers layers = decoder_layers(modules);
  const LayerPlan plan = layer_plan(modules, layers);
  std::vector<std::pair<DeviceId, int>> stages;
  for (int layer = 0; layer < layers.count; ++layer) {
    const DeviceId device = plan.device[at(layer)];
    if (stages.empty() || stages.back().first != device) stages.emplace_back(device, 0);
    ++stages.back().second;
  }
  std::string partition;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Device& device = cluster.device(stages[i].first);
    if (device.host || (i > 0 && stages[i].first <= stages[i - 1].first)) {
      throw Error(
          ErrorCode::unsupported,
          cat("vLLM's stages are consecutive layers on one GPU after the other, and the plan "
              "has layers of ",
              layers.list, " on ", device.name, device.host ? ", a host" : " after a later one",
              "; place with `--forbid` on hosts and fewer groups, or write device_map"));
    }
    partition += cat(i > 0 ? "," : "", stages[i].second);
  }
  return cat("VLLM_PP_LAYER_PARTITION=", partition, "\n");
}

}  // namespace berth::writers
