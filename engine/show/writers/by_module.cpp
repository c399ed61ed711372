// Forms that name modules and layers of a network. Each is exact or refused.
#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/blocks.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "cluster/mask.h"
#include "layers/module_names.h"
#include "writers/buffers.h"
#include "writers/caches.h"
#include "writers/decoder.h"
#include "writers/writers.h"

namespace berth::writers {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The devices of ops, each with one of them.
using Devices = std::map<DeviceId, OpId>;

/// Those that read parameters; all, where none does.
Devices devices_of(const Blocks& blocks, const std::vector<OpId>& ops, const Placement& placement) {
  Devices reading, all;
  for (const OpId op : ops) {
    all.emplace(placement[at(op)], op);
    if (!blocks.module_of(op).empty()) reading.emplace(placement[at(op)], op);
  }
  return reading.empty() ? all : reading;
}

std::string split_text(const Graph& graph, const Cluster& cluster, const std::string& name,
                       const Devices& on) {
  const auto& [device, op] = *on.begin();
  const auto& [other, other_op] = *on.rbegin();
  return cat(name, " ('", graph.op_name(op), "' is on ", cluster.device(device).name, ", '",
             graph.op_name(other_op), "' on ", cluster.device(other).name, ")");
}

/// The device of every block; throws for those on several, with `never`: what the tool never does.
std::vector<DeviceId> whole_blocks(const Graph& graph, const Cluster& cluster,
                                   const Placement& placement, const Blocks& blocks,
                                   std::string_view never) {
  std::vector<DeviceId> device;
  std::vector<std::string> split;
  for (const Block& block : blocks.all()) {
    const Devices on = devices_of(blocks, block.ops, placement);
    device.push_back(on.empty() ? kNoDevice : on.begin()->first);
    if (on.size() > 1) split.push_back(split_text(graph, cluster, block.name, on));
  }
  if (!split.empty()) {
    throw Error(ErrorCode::unsupported,
                cat(never, ", and the plan cuts ", split.size(), " of them: ", join(split, 5)));
  }
  return device;
}

/// A module with those in it.
struct Tree {
  std::vector<std::pair<std::string, Tree>> children;  // in the network's order
  std::string name;
  DeviceId device = kNoDevice;  ///< as a block
  Tree& child(const std::string& part) {
    for (auto& [known, tree] : children) {
      if (known == part) return tree;
    }
    children.emplace_back(part, Tree());
    children.back().second.name = name.empty() ? part : name + "." + part;
    return children.back().second;
  }
  /// The device of all that is in it; kNoDevice = there are several.
  [[nodiscard]] DeviceId only() const {
    DeviceId found = device;
    for (const auto& [part, tree] : children) {
      const DeviceId of_child = tree.only();
      if (of_child == kNoDevice || (found != kNoDevice && of_child != found)) return kNoDevice;
      found = of_child;
    }
    return found;
  }
};

using Entries = std::vector<std::pair<std::string, DeviceId>>;

/// The fewest entries that say it. A module with others on several devices has none: accelerate sends all
/// that is in it to the device of its entry, before those of the others are looked at.
void add_entries(const Tree& tree, Entries& entries) {
  const DeviceId only = tree.only();
  if (only != kNoDevice && !tree.name.empty()) {
    entries.emplace_back(tree.name, only);
    return;
  }
  for (const auto& [part, child] : tree.children) add_entries(child, entries);
}

/// Whether an entry is of the module that has this parameter, or of one around it.
bool is_covered(const std::string& parameter, const Entries& entries) {
  const std::string module = module_of_parameter(parameter);
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return module == entry.first || module.starts_with(entry.first + ".");
  });
}

/// The one device of some blocks; throws where there are several.
DeviceId only_device(const Cluster& cluster, const Blocks& blocks,
                     const std::vector<DeviceId>& device, const std::vector<BlockId>& some,
                     std::string_view rule) {
  DeviceId found = kNoDevice;
  for (const BlockId block : some) {
    if (device[at(block)] == kNoDevice) continue;
    if (found == kNoDevice) found = device[at(block)];
    if (device[at(block)] == found) continue;
    throw Error(ErrorCode::unsupported, cat(rule, ", and ", blocks[block].name, " is on ",
                                            cluster.device(device[at(block)]).name, ", another on ",
                                            cluster.device(found).name));
  }
  return found;
}

std::string numbers(const std::vector<int>& layers) {
  std::string text;
  for (const int layer : layers) text += cat(text.empty() ? "" : "|", layer);
  return text;
}

/// llama.cpp's buffer of a device.
std::string buffer(const Cluster& cluster, DeviceId device) {
  const int number = accelerator_number(cluster, device);
  return number < 0 ? "CPU" : cat("CUDA", number);
}

/// Experts that are not where the rest of their layer is, by device; `device` [layers] is where that is.
std::map<DeviceId, std::vector<int>> apart(const Graph& graph, const Cluster& cluster,
                                           const Placement& placement, const Blocks& blocks,
                                           const Decoder& decoder, std::vector<DeviceId>& device) {
  std::map<DeviceId, std::vector<int>> found;
  device.clear();
  for (std::size_t layer = 0; layer < decoder.layers.size(); ++layer) {
    const Block& block = blocks[decoder.layers[layer]];
    const std::vector<OpId> experts = expert_ops(graph, blocks, decoder.layers[layer]);
    const std::set<OpId> among(experts.begin(), experts.end());
    std::vector<OpId> rest;
    for (const OpId op : block.ops) {
      if (!among.contains(op)) rest.push_back(op);
    }
    const Devices of_rest = devices_of(blocks, rest, placement);
    const Devices of_experts = devices_of(blocks, experts, placement);
    for (const Devices* on : {&of_rest, &of_experts}) {
      if (on->size() < 2) continue;
      throw Error(
          ErrorCode::unsupported,
          cat("llama.cpp computes a layer where its weights and its cache are, and the plan "
              "cuts ",
              split_text(graph, cluster, block.name, *on)));
    }
    device.push_back(of_rest.begin()->first);
    if (!of_experts.empty() && of_experts.begin()->first != device.back()) {
      found[of_experts.begin()->first].push_back(static_cast<int>(layer));
    }
  }
  return found;
}

/// The first unit of each stage and its device; throws where a device comes twice or out of order.
struct Stages {
  std::vector<DeviceId> devices;
  std::vector<std::size_t> begins;
};
Stages stages_of(const Cluster& cluster, const std::vector<DeviceId>& device, bool ordered,
                 std::string_view tool) {
  Stages stages;
  for (std::size_t i = 0; i < device.size(); ++i) {
    if (!stages.devices.empty() && stages.devices.back() == device[i]) continue;
    const bool again =
        std::find(stages.devices.begin(), stages.devices.end(), device[i]) != stages.devices.end();
    const bool before = ordered && !stages.devices.empty() && device[i] < stages.devices.back();
    if (cluster.device(device[i]).host || again || before) {
      throw Error(ErrorCode::unsupported,
                  cat(tool,
                      "'s stages are consecutive blocks on one GPU after the other, and the plan "
                      "has some on ",
                      cluster.device(device[i]).name,
                      cluster.device(device[i]).host ? ", a host"
                      : again                        ? " again after others"
                                                     : " after a later one"));
    }
    stages.devices.push_back(device[i]);
    stages.begins.push_back(i);
  }
  return stages;
}

/// Each host numbers its own GPUs, so that a process on several has no numbers for some of them.
void refuse_idle(const Cluster& cluster, const Stages& stages) {
  std::vector<std::string> hosts, idle;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (device.host) hosts.push_back(device.name);
    const bool used =
        std::find(stages.devices.begin(), stages.devices.end(), d) != stages.devices.end();
    if (is_gpu(device) && !used) idle.push_back(device.name);
  }
  if (hosts.size() < 2) return;
  throw Error(ErrorCode::unsupported,
              cat("vLLM numbers GPUs by host, and the plan for ", join(hosts, 5), " of machine '",
                  cluster.name(), "' leaves ", join(idle, 5),
                  " idle; name a machine without what is idle"));
}

/// The variables of a process that sees the stages' GPUs alone, in the machine's order. Where one was set when
/// the machine was looked at, its entries name them.
std::string visible(const Cluster& cluster, const Stages& stages) {
  const std::vector<std::string> mask = mask_in(cluster.name());
  std::string numbers;
  bool all = mask.empty();
  for (std::size_t i = 0; i < stages.devices.size(); ++i) {
    const int number = accelerator_number(cluster, stages.devices[i]);
    all = all && number == static_cast<int>(i);
    numbers += cat(i > 0 ? "," : "", at(number) < mask.size() ? mask[at(number)] : cat(number));
  }
  if (!all) refuse_idle(cluster, stages);
  const std::string_view order = order_variable(cluster);
  const bool intels = maker_of(cluster.device(stages.devices.front())) == "Intel";
  return cat(order, order.empty() ? "" : "\n",
             all ? std::string()
                 : cat(intels ? "ZE_AFFINITY_MASK=" : "CUDA_VISIBLE_DEVICES=", numbers, "\n"));
}

Json stage_devices(const Cluster& cluster, const Stages& stages) {
  Json devices = Json::array();
  for (const DeviceId device : stages.devices) {
    devices.push_back(accelerator_number(cluster, device));
  }
  return devices;
}

/// Blocks that compute something, with their devices.
void drop_empty(const Blocks& blocks, std::vector<DeviceId>& device, std::vector<BlockId>& kept) {
  std::vector<DeviceId> its;
  for (BlockId block = 0; block < blocks.count(); ++block) {
    if (device[at(block)] == kNoDevice) continue;
    kept.push_back(block);
    its.push_back(device[at(block)]);
  }
  device = std::move(its);
}

/// Whether the network may have a parameter of this name. Exporters number what they compute ("val_15"), and
/// shapes are short rows of integers.
bool is_of_network(const Graph& graph, TensorId tensor) {
  const std::string& name = graph.tensor_name(tensor);
  const auto in_names = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), in_names)) return false;
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end == std::string::npos || (end + 1 < name.size() && name[end] == '_');
  const DType dtype = graph.dtype(tensor);
  const bool integers = dtype == DType::i64 || dtype == DType::i32;
  return !numbered && graph.bytes(tensor) > 8 && !(integers && graph.shape(tensor).size() < 2);
}

/// Whether an op in a module reads what has the name of an op of PyTorch: a constant that torch.onnx.export
/// computed, the first of its kind, which has no number. Parameters of the network itself are read there.
bool is_computed(const Graph& graph, OpId reader, const std::string& name) {
  static const std::set<std::string> kOps = {
      "add",   "arange",    "cat",     "clone",  "cos",    "cumsum",    "div",       "embedding",
      "exp",   "expand",    "full",    "gather", "index",  "log",       "mul",       "neg",
      "ones",  "ones_like", "permute", "pow",    "repeat", "reshape",   "select",    "sin",
      "slice", "sqrt",      "stack",   "sub",    "sum",    "to",        "transpose", "tril",
      "triu",  "unsqueeze", "view",    "where",  "zeros",  "zeros_like"};
  const AttributeValue* const module = graph.attribute(reader, kModuleAttribute);
  const auto* const said = module == nullptr ? nullptr : std::get_if<std::string>(module);
  return said != nullptr && !said->empty() && kOps.contains(name);
}

/// Parameters that no entry covers, such as those of the network itself, each with the device of its first
/// reader; of what a host holds, with `worker`, as no hook sends them there.
std::map<std::string, DeviceId> loose_parameters(const Graph& graph, const Cluster& cluster,
                                                 const Placement& placement, const Entries& entries,
                                                 DeviceId worker) {
  std::map<std::string, DeviceId> found;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const OpId reader = graph.is_constant(op) ? graph.first_reader(op) : op;
    if (reader == kNoOp) continue;
    const DeviceId device = placement[at(reader)];
    const bool held = cluster.device(device).host && worker != kNoDevice;
    for (const TensorId tensor : graph.inputs(op)) {
      if (tensor == kNoTensor || graph.maker(tensor) != kNoOp) continue;
      const std::string& name = graph.tensor_name(tensor);
      if (is_of_network(graph, tensor) && !is_covered(name, entries) &&
          !is_computed(graph, reader, name)) {
        found.try_emplace(name, held ? worker : device);
      }
    }
  }
  return found;
}

/// llama.cpp's options for layers, by the `device` of each and of the output behind them.
std::string layer_options(const Cluster& cluster, const Blocks& blocks, const Decoder& decoder,
                          const std::vector<DeviceId>& device) {
  std::vector<int> share(at(accelerator_count(cluster)), 0);
  int last = -1, on_gpus = 0;
  for (std::size_t i = 0; i < device.size(); ++i) {
    const int number = accelerator_number(cluster, device[i]);
    if (number < last) {
      throw Error(
          ErrorCode::unsupported,
          cat("llama.cpp's layers are on the host first, then on one GPU after the other, and "
              "the plan has ",
              i < decoder.layers.size() ? blocks[decoder.layers[i]].name : "the output", " on ",
              cluster.device(device[i]).name, " after later ones; place with --for llama.cpp"));
    }
    last = number;
    if (number < 0) continue;
    ++share[at(number)];
    ++on_gpus;
  }
  // The output counts as a layer, the last: of layers + 1 the last `-ngl` are on GPUs, and layer i of
  // them is on the first GPU whose cumulated share is above i / ngl.
  std::string text = cat("-ngl ", on_gpus, "\n");
  if (share.size() > 1 && on_gpus > 0) {
    const std::string_view order = order_variable(cluster);
    if (!order.empty()) text = cat(order, "\n", text);
    if (last >= kLlamaShares) {
      throw Error(ErrorCode::unsupported,
                  cat("llama.cpp takes shares of ", kLlamaShares, " GPUs, and the plan uses ",
                      cluster.device(device.back()).name, "; place with --for llama.cpp"));
    }
    share.resize(std::min(share.size(), at(kLlamaShares)));  // those that are not there are 0
    std::string shares;
    for (const int each : share) shares += cat(shares.empty() ? "" : ",", each);
    text += cat("--tensor-split ", shares, "\n");
  }
  return text;
}

/// llama.cpp's option for experts `apart` from the rest of their layers, by the `device` of each layer.
std::string expert_options(const Cluster& cluster, const Decoder& decoder,
                           const std::map<DeviceId, std::vector<int>>& apart,
                           const std::vector<DeviceId>& device) {
  const auto on_host = [&](DeviceId each) { return cluster.device(each).host; };
  std::string overrides;
  for (const auto& [where, layers] : apart) {
    const auto count = static_cast<int>(layers.size());
    const bool all = layers.size() == decoder.layers.size();
    // Those of the first layers, where layers before them are on the host altogether.
    if (!all && apart.size() == 1 && on_host(where) &&
        layers.back() - layers.front() + 1 == count &&
        std::all_of(device.begin(), device.begin() + layers.front(), on_host)) {
      return cat("--n-cpu-moe ", layers.back() + 1, "\n");
    }
    overrides += cat(overrides.empty() ? "" : ",",
                     all ? std::string("_exps") : cat("blk\\.(", numbers(layers), ")\\..*_exps"),
                     "=", buffer(cluster, where));
  }
  return overrides.empty() ? overrides : cat("-ot \"", overrides, "\"\n");
}

}  // namespace

std::string device_map(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const Blocks blocks(graph);
  const std::vector<DeviceId> device =
      whole_blocks(graph, cluster, placement, blocks, "accelerate computes a block on one device");
  Tree root;
  for (BlockId block = 0; block < blocks.count(); ++block) {
    for (const std::string& module : blocks[block].modules) {
      Tree* node = &root;
      for (const std::string& part : module_parts(module)) node = &node->child(part);
      node->device = device[at(block)];
    }
  }
  Entries entries;
  add_entries(root, entries);
  // What a host holds is computed on the GPU that is named first.
  const DeviceId first = main_accelerator(graph, cluster, blocks);
  const auto held = [&](const auto& entry) { return cluster.device(entry.second).host; };
  const bool spills = std::any_of(entries.begin(), entries.end(), held);
  const bool computed = spills && !std::all_of(entries.begin(), entries.end(), held);
  for (const auto& [name, where] :
       loose_parameters(graph, cluster, placement, entries, computed ? first : kNoDevice)) {
    entries.emplace_back(name, where);
  }
  if (spills) {
    std::stable_partition(entries.begin(), entries.end(),
                          [&](const auto& entry) { return entry.second == first; });
  }
  Json map = Json::object();
  for (const auto& [module, where] : entries) {
    const int number = accelerator_number(cluster, where);
    map[module] = number < 0 ? Json("cpu") : Json(number);
  }
  return text_of(map);
}

std::string llama_cpp(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const Blocks blocks(graph);
  const Decoder decoder = decoder_of(graph, blocks, "llama.cpp");
  std::vector<DeviceId> device;  // of the layers, then of the output
  const auto exceptions = apart(graph, cluster, placement, blocks, decoder, device);
  const std::set<BlockId> of_layers(decoder.layers.begin(), decoder.layers.end());
  std::vector<DeviceId> of_block;
  for (const Block& block : blocks.all()) {
    const Devices on = devices_of(blocks, block.ops, placement);
    of_block.push_back(on.empty() ? kNoDevice : on.begin()->first);
    const auto id = static_cast<BlockId>(of_block.size() - 1);
    if (!of_layers.contains(id) && on.size() > 1) {
      throw Error(ErrorCode::unsupported, cat("llama.cpp has one place for it, and the plan cuts ",
                                              split_text(graph, cluster, block.name, on)));
    }
  }
  const DeviceId input = only_device(cluster, blocks, of_block, decoder.before,
                                     "llama.cpp looks words up on the host");
  if (input != kNoDevice && !cluster.device(input).host) {
    throw Error(ErrorCode::unsupported,
                cat("llama.cpp looks words up on the host, and the plan has ",
                    blocks[decoder.before.front()].name, " on ", cluster.device(input).name));
  }
  const DeviceId output = only_device(cluster, blocks, of_block, decoder.behind,
                                      "llama.cpp has one place for norm and head");
  device.push_back(output == kNoDevice ? device.back() : output);
  std::string text = layer_options(cluster, blocks, decoder, device);
  text += expert_options(cluster, decoder, exceptions, device);
  const Widths widths = widths_of(graph, blocks, decoder);
  // Without it llama.cpp allots caches for as many positions as the model was trained for.
  if (!widths.has_caches) return text;
  // All sequences share it.
  text += cat("-c ", widths.sequences * llama_context(widths), "\n");
  // Without it llama-server keeps the windows of four.
  if (widths.sequences > 1 || !windowed_layers(graph, blocks, decoder).empty()) {
    text += cat("-np ", widths.sequences, "\n");
  }
  if (widths.cache_bits == 8 || widths.cache_bits == 4) {
    text += cat("-ctk q", widths.cache_bits, "_0\n-ctv q", widths.cache_bits, "_0\n");
  }
  return text;
}

std::string vllm(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const Blocks blocks(graph);
  const Decoder decoder = decoder_of(graph, blocks, "vLLM");
  const std::vector<DeviceId> device =
      whole_blocks(graph, cluster, placement, blocks, "vLLM never cuts a layer");
  std::vector<DeviceId> of_layers;
  for (const BlockId layer : decoder.layers) of_layers.push_back(device[at(layer)]);
  const Stages stages = stages_of(cluster, of_layers, /*ordered=*/true, "vLLM");
  for (const auto& [some, where, what] :
       {std::tuple(&decoder.before, of_layers.front(), "embeddings on the first stage"),
        std::tuple(&decoder.behind, of_layers.back(), "norm and head on the last stage")}) {
    for (const BlockId block : *some) {
      if (device[at(block)] == kNoDevice || device[at(block)] == where) continue;
      throw Error(ErrorCode::unsupported,
                  cat("vLLM has ", what, ", and the plan has ", blocks[block].name, " on ",
                      cluster.device(device[at(block)]).name));
    }
  }
  std::string partition;
  for (std::size_t i = 0; i < stages.begins.size(); ++i) {
    const std::size_t end = i + 1 < stages.begins.size() ? stages.begins[i + 1] : of_layers.size();
    partition += cat(i > 0 ? "," : "", end - stages.begins[i]);
  }
  const Widths widths = widths_of(graph, blocks, decoder);
  // Without it vLLM asks for room for as many positions as the model was trained for.
  std::string options =
      widths.has_caches ? cat("--max-model-len ", widths.context, "\n") : std::string();
  if (widths.cache_bits == 8) options += "--kv-cache-dtype fp8\n";
  if (needs_halves(graph, cluster)) options += "--dtype half\n";
  return cat(visible(cluster, stages), "VLLM_PP_LAYER_PARTITION=", partition,
             "\n--pipeline-parallel-size ", stages.devices.size(), "\n", options);
}

std::string deepspeed(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  const Blocks blocks(graph);
  const PipelineLayers layers = pipeline_layers(graph, blocks);
  const std::vector<DeviceId> of_block = whole_blocks(
      graph, cluster, placement, blocks, "a PipelineModule never cuts one of its layers");
  std::vector<DeviceId> device;
  for (const BlockId block : layers.blocks) device.push_back(of_block[at(block)]);
  const Stages stages = stages_of(cluster, device, /*ordered=*/true, "DeepSpeed");
  Json parts = Json::array({0});
  for (std::size_t i = 1; i < stages.begins.size(); ++i) {
    parts.push_back(layers.numbers[stages.begins[i]]);
  }
  parts.push_back(layers.names.size());
  return text_of({{"num_stages", stages.devices.size()},
                  {"parts", std::move(parts)},
                  {"layers", layers.names},
                  {"gpus", stage_devices(cluster, stages)}});
}

std::string torch_pipelining(const Graph& graph, const Cluster& cluster,
                             const Placement& placement) {
  const Blocks blocks(graph);
  std::vector<DeviceId> device =
      whole_blocks(graph, cluster, placement, blocks, "a split point lies between blocks");
  std::vector<BlockId> kept;
  drop_empty(blocks, device, kept);
  const Stages stages =
      stages_of(cluster, device, /*ordered=*/false, "torch.distributed.pipelining");
  Json spec = Json::object();
  for (std::size_t i = 1; i < stages.begins.size(); ++i) {
    spec[blocks[kept[stages.begins[i]]].name] = "BEGINNING";
  }
  return text_of({{"split_spec", std::move(spec)}, {"gpus", stage_devices(cluster, stages)}});
}

}  // namespace berth::writers
