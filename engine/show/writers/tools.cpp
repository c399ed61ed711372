#include "berth/tools.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/blocks.h"
#include "berth/error.h"
#include "berth/plan_writers.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"
#include "writers/buffers.h"
#include "writers/caches.h"
#include "writers/decoder.h"
#include "writers/notes.h"
#include "writers/offloading.h"
#include "writers/writers.h"

namespace berth {
namespace writers {
namespace {

using Kind = ConstraintRule::Kind;

/// vLLM's default of gpu_memory_utilization.
constexpr double kVllmMargin = 0.1;

ConstraintRule rule(const Graph& graph, Kind kind, const std::vector<OpId>& ops,
                    std::vector<std::string> devices, std::string text) {
  ConstraintRule made;
  made.kind = kind;
  for (const OpId op : ops) made.ops.emplace_back().name = graph.op_name(op);
  made.devices = std::move(devices);
  made.text = std::move(text);
  return made;
}

/// The names of the devices that `chosen(device)` holds of.
template <typename Chosen>
std::vector<std::string> devices_where(const Cluster& cluster, Chosen&& chosen) {
  std::vector<std::string> names;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (chosen(d)) names.push_back(cluster.device(d).name);
  }
  return names;
}

std::vector<std::string> hosts_of(const Cluster& cluster) {
  return devices_where(cluster, [&](DeviceId d) { return cluster.device(d).host; });
}

/// Neural processors, which have runtimes of their own.
std::vector<std::string> npus_of(const Cluster& cluster) {
  return devices_where(
      cluster, [&](DeviceId d) { return !cluster.device(d).host && !is_gpu(cluster.device(d)); });
}

bool is_onnx_mlirs(const Device& device) {
  return device.kind == "cpu" || device.kind == "nnpa";
}

/// No op on these devices.
void forbid(ToolRules& rules, std::vector<std::string> devices, std::string text) {
  if (devices.empty()) return;
  ConstraintRule made;
  made.kind = Kind::forbid;
  made.ops.emplace_back().regex = ".*";
  made.devices = std::move(devices);
  made.text = std::move(text);
  rules.constraints.push_back(std::move(made));
}

void together(const ToolTask& task, ToolRules& rules, std::vector<OpId> ops, std::string text) {
  std::erase_if(ops, [&](OpId op) { return task.graph.is_constant(op); });  // where they are read
  if (ops.size() < 2) return;
  rules.constraints.push_back(rule(task.graph, Kind::colocate, ops, {}, std::move(text)));
}

std::vector<OpId> ops_of(const Blocks& blocks, const std::vector<BlockId>& some) {
  std::vector<OpId> ops;
  for (const BlockId block : some) {
    ops.insert(ops.end(), blocks[block].ops.begin(), blocks[block].ops.end());
  }
  return ops;
}

void whole_blocks(const ToolTask& task, const Blocks& blocks, ToolRules& rules,
                  std::string_view tool) {
  for (const Block& block : blocks.all()) {
    together(task, rules, block.ops, cat("(", tool, " never cuts ", block.name, ")"));
  }
}

void tied_together(const ToolTask& task, const Blocks& blocks, ToolRules& rules,
                   std::string_view tool) {
  for (const Blocks::Tie& tie : blocks.ties()) {
    together(task, rules, tie.readers,
             cat("(", tool, " has the tied weights of ", blocks[tie.blocks.front()].name, " and ",
                 blocks[tie.blocks.back()].name, " once)"));
  }
}

/// PyTorch has no phone's GPU; Apple's it has, but what serves or trains over several GPUs does not.
/// One process of it has those of one maker.
void refuse_gpus(const Cluster& cluster, std::string_view tool, bool apples) {
  DeviceId first = kNoDevice;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    const std::string_view maker = is_gpu(device) ? maker_of(device) : std::string_view();
    if (maker.empty()) continue;
    if (first == kNoDevice) first = d;
    const std::string_view other = maker_of(cluster.device(first));
    if (maker != "a phone" && (maker != "Apple" || apples)) {
      if (maker == other) continue;
      throw Error(ErrorCode::unsupported,
                  cat(tool, " runs on GPUs of one maker, and machine '", cluster.name(), "' has ",
                      cluster.device(first).name, " of ", other, " and ", device.name, " of ",
                      maker, "; name a machine with those of one of them"));
    }
    throw Error(ErrorCode::unsupported,
                cat(tool, " runs on GPUs of NVIDIA, AMD", apples ? ", Apple" : "",
                    " and Intel, and ", device.name, " of machine '", cluster.name(), "' is ",
                    maker == "Apple" ? "Apple's" : "a phone's",
                    "; choose onnxruntime, or llama.cpp for a decoder"));
  }
}

/// One process has the memory of one host.
void refuse_hosts(const Cluster& cluster, std::string_view tool) {
  const std::vector<std::string> hosts = hosts_of(cluster);
  if (hosts.size() < 2) return;
  throw Error(ErrorCode::unsupported,
              cat(tool, " runs in one process on one host, and machine '", cluster.name(), "' has ",
                  join(hosts, 5), "; name a machine with one of them and its devices"));
}

void needs_accelerator(const Cluster& cluster, std::string_view tool) {
  refuse_gpus(cluster, tool, /*apples=*/false);
  if (accelerator_count(cluster) > 0) return;
  throw Error(ErrorCode::unsupported, cat(tool, " needs a GPU, and machine '", cluster.name(),
                                          "' has ", cluster.device_names()));
}

/// vLLM's kernels need one of Volta's or later.
void refuse_old_gpus(const Cluster& cluster) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const int capability = capability_of(cluster.device(d));
    if (capability == 0 || capability >= kVolta) continue;
    throw Error(
        ErrorCode::unsupported,
        cat("vLLM runs on NVIDIA's GPUs from compute capability 7.0 (V100) on, and ",
            cluster.device(d).name, " of machine '", cluster.name(), "' has ", capability / 10, ".",
            capability % 10, "; name a machine without it, or choose llama.cpp"));
  }
}

/// For a tool on PyTorch, whose ops give every output memory of its own.
ToolRules on_gpus(const ToolTask& task, std::string_view tool) {
  needs_accelerator(task.cluster, tool);
  ToolRules rules;
  rules.overwrites = false;
  forbid(rules, hosts_of(task.cluster), cat("(", tool, " computes on GPUs alone)"));
  forbid(rules, npus_of(task.cluster), cat("(", tool, " computes on GPUs alone)"));
  return rules;
}

/// accelerate computes what the host holds on the first GPU of its map, and on the host if the map has none.
void compute_for_hosts(const ToolTask& task, const Blocks& blocks, DeviceId main,
                       ToolRules& rules) {
  rules.cluster = rules.cluster->with_hosts_keeping_for(main);
  const std::int64_t largest = largest_block_bytes(blocks);
  const Block* const smallest = smallest_block(task.graph, blocks);
  const Device& gpu = task.cluster.device(main);
  if (smallest != nullptr) {
    if (!has_room_for_hosts(task.graph, gpu, blocks)) {
      throw Error(ErrorCode::infeasible,
                  cat("accelerate computes on ", gpu.name, " what a host holds, and its ",
                      format_bytes(gpu.memory_bytes), " have no room for a block of its own (",
                      format_bytes(bytes_read(task.graph, smallest->ops)),
                      ") beside the largest of the host's (", format_bytes(largest),
                      "); name a machine with a larger GPU, or one without GPUs"));
    }
    rules.constraints.push_back(rule(
        task.graph, Kind::pin, smallest->ops, {gpu.name},
        cat("(accelerate computes what the host holds on ", gpu.name, " where that has a block)")));
  }
  ConstraintRule margin;
  margin.kind = Kind::memory_margin;
  margin.devices = {gpu.name};
  margin.margin_bytes = largest;
  margin.text = "(accelerate needs room on the GPU for the largest block that the host holds)";
  if (gpu.memory_bytes != kNoLimit) rules.constraints.push_back(std::move(margin));
  rules.costs = offloaded(task, main);
  rules.notes.push_back(
      cat("what the host holds is computed on ", gpu.name,
          ", where its caches and results are, and to which its weights are sent in every step: so "
          "accelerate does it"));
}

ToolRules accelerate(const ToolTask& task) {
  refuse_gpus(task.cluster, "accelerate", /*apples=*/true);
  refuse_hosts(task.cluster, "accelerate");
  const Blocks blocks(task.graph);
  ToolRules rules;
  rules.overwrites = false;  // as PyTorch
  note_order(task.cluster, rules);
  if (task.pipeline && accelerator_count(task.cluster) > 1) {
    rules.notes.push_back(
        "accelerate computes on one device after the other, so that a step takes its runtime "
        "alone; "
        "the largest load is that of a pipeline, which torch-pipelining and deepspeed run");
  }
  whole_blocks(task, blocks, rules, "accelerate");
  tied_together(task, blocks, rules, "accelerate");
  note_computed(task, blocks, rules);
  note_quantised(task, blocks, "accelerate", rules);
  forbid(rules, npus_of(task.cluster), "(accelerate knows no neural processor)");
  const DeviceId main = main_accelerator(task.graph, task.cluster, blocks);
  if (main == kNoDevice) return rules;
  rules.cluster = held_by_hosts(task.cluster, main);
  std::vector<std::string> hosts = hosts_of(task.cluster);
  if (!task.spill || hosts.empty()) {
    forbid(rules, std::move(hosts),
           "(accelerate computes nothing on the host while GPUs hold everything)");
    return rules;
  }
  compute_for_hosts(task, blocks, main, rules);
  return rules;
}

/// Prompts are computed on the first GPU, for layers and experts that the host holds too, to which their
/// tensors are sent one by one.
void keep_room_for_prompts(const ToolTask& task, const Blocks& blocks, const Decoder& decoder,
                           const LlamaBuffers& buffers, ToolRules& rules) {
  const Graph& graph = task.graph;
  std::int64_t room = 0;
  DeviceId first = kNoDevice;
  for (DeviceId device = 0; device < task.cluster.device_count(); ++device) {
    const std::int64_t memory = task.cluster.device(device).memory_bytes;
    if (!is_gpu(task.cluster.device(device))) continue;
    if (memory == kNoLimit) return;
    if (first == kNoDevice) first = device;
    room += std::max<std::int64_t>(0, memory - buffers.layer);
  }
  if (first == kNoDevice) return;
  rules.notes.push_back(cat("llama.cpp's buffer for a prompt takes ", format_bytes(buffers.layer),
                            " on a GPU with layers and ", format_bytes(buffers.head),
                            " on that with the head"));
  // Counts what ops read, not what blocks count for: a tied head is read on the GPU too.
  std::vector<OpId> ops = ops_of(blocks, decoder.layers);
  const std::vector<OpId> behind = ops_of(blocks, decoder.behind);
  ops.insert(ops.end(), behind.begin(), behind.end());
  std::int64_t needed = bytes_read(graph, ops);
  for (const OpId op : ops) needed += graph.is_input(op) ? graph.output_bytes(op) : 0;
  if (needed <= room) return;
  const std::int64_t largest = llama_largest_tensor(graph, blocks, decoder);
  ConstraintRule margin;
  margin.kind = Kind::memory_margin;
  margin.devices = {task.cluster.device(first).name};
  margin.margin_bytes = std::min(largest, task.cluster.device(first).memory_bytes);
  margin.text =
      "(llama.cpp sends the first GPU what the host holds, tensor by tensor, for prompts)";
  rules.constraints.push_back(std::move(margin));
}

/// llama.cpp's.
void needs_host(const Cluster& cluster) {
  refuse_hosts(cluster, "llama.cpp");
  if (!hosts_of(cluster).empty()) return;
  throw Error(ErrorCode::unsupported, cat("llama.cpp looks words up on the host, and machine '",
                                          cluster.name(), "' has none"));
}

ToolRules llama(const ToolTask& task) {
  const Blocks blocks(task.graph);
  const Decoder decoder = decoder_of(task.graph, blocks, "llama.cpp");
  needs_host(task.cluster);
  const std::vector<std::string> hosts = hosts_of(task.cluster);
  ToolRules rules;
  forbid(rules, npus_of(task.cluster), "(llama.cpp knows no neural processor)");
  std::vector<std::string> beyond = devices_where(task.cluster, [&](DeviceId d) {
    return accelerator_number(task.cluster, d) >= kLlamaShares;
  });
  if (!beyond.empty()) {
    rules.notes.push_back(
        cat("llama.cpp takes shares of ", kLlamaShares, " GPUs: not of ", join(beyond, 5)));
  }
  forbid(rules, std::move(beyond), "(llama.cpp takes shares of 15 GPUs)");
  for (const BlockId layer : decoder.layers) {
    const std::vector<OpId> experts = expert_ops(task.graph, blocks, layer);
    const std::set<OpId> among(experts.begin(), experts.end());
    std::vector<OpId> rest;
    for (const OpId op : blocks[layer].ops) {
      if (!among.contains(op)) rest.push_back(op);
    }
    together(task, rules, rest, cat("(llama.cpp never cuts ", blocks[layer].name, ")"));
    together(task, rules, experts,
             cat("(llama.cpp has the experts of ", blocks[layer].name, " in one place)"));
  }
  together(task, rules, ops_of(blocks, decoder.behind),
           "(llama.cpp has norm and head in one place)");
  if (!decoder.before.empty()) {
    rules.constraints.push_back(rule(task.graph, Kind::pin, ops_of(blocks, decoder.before), hosts,
                                     "(llama.cpp looks words up on the host)"));
  }
  rules.costs = with_fused_experts(task, blocks, decoder);
  const Widths widths = widths_of(task.graph, blocks, decoder);
  if (widths.hidden == 0) return rules;  // a graph without shapes
  rules.costs = with_llama_buffers(
      {task.graph, task.cluster, *rules.costs, task.spill, task.pipeline, task.arithmetic}, blocks,
      decoder);
  keep_room_for_prompts(task, blocks, decoder, llama_buffers(widths), rules);
  note_caches(task, blocks, decoder, "llama.cpp", rules);
  note_bits(task, ops_of(blocks, decoder.layers), "llama.cpp", "a GGUF file", rules);
  return rules;
}

ToolRules vllm_rules(const ToolTask& task) {
  const Blocks blocks(task.graph);
  const Decoder decoder = decoder_of(task.graph, blocks, "vLLM");
  ToolRules rules = on_gpus(task, "vLLM");
  refuse_old_gpus(task.cluster);
  if (needs_halves(task.graph, task.cluster)) {
    rules.notes.push_back(
        "bf16 needs compute capability 8.0, which a GPU of the machine lacks: vLLM gets --dtype "
        "half");
  }
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    std::vector<BlockId> some = {decoder.layers[i]};
    if (i == 0) some.insert(some.end(), decoder.before.begin(), decoder.before.end());
    if (i + 1 == decoder.layers.size()) {
      some.insert(some.end(), decoder.behind.begin(), decoder.behind.end());
    }
    together(task, rules, ops_of(blocks, some),
             cat("(vLLM never cuts ", blocks[decoder.layers[i]].name,
                 some.size() > 1 ? " from what is before or behind all layers)" : ")"));
  }
  ConstraintRule margin;
  margin.kind = Kind::memory_margin;
  margin.devices =
      devices_where(task.cluster, [&](DeviceId d) { return !task.cluster.device(d).host; });
  margin.margin_share = kVllmMargin;
  margin.text = "(vLLM's gpu_memory_utilization of 0.9)";
  rules.constraints.push_back(std::move(margin));
  const auto fused = with_fused_experts(task, blocks, decoder);
  rules.costs = with_vllm_activations(
      {task.graph, task.cluster, *fused, task.spill, task.pipeline, task.arithmetic}, blocks,
      decoder);
  note_caches(task, blocks, decoder, "vLLM", rules);
  note_bits(task, ops_of(blocks, decoder.layers), "vLLM", "a checkpoint", rules);
  note_tensor_parallel(task.cluster, rules);
  return rules;
}

ToolRules deepspeed_rules(const ToolTask& task) {
  const Blocks blocks(task.graph);
  static_cast<void>(pipeline_layers(task.graph, blocks));
  ToolRules rules = on_gpus(task, "DeepSpeed");
  note_order(task.cluster, rules);
  whole_blocks(task, blocks, rules, "DeepSpeed");
  note_quantised(task, blocks, "DeepSpeed", rules);
  note_training(task, blocks, "DeepSpeed", rules);
  note_one_step(task, "DeepSpeed", rules);
  return rules;
}

ToolRules torch_rules(const ToolTask& task) {
  const Blocks blocks(task.graph);
  ToolRules rules = on_gpus(task, "torch.distributed.pipelining");
  note_order(task.cluster, rules);
  whole_blocks(task, blocks, rules, "torch.distributed.pipelining");
  note_quantised(task, blocks, "torch.distributed.pipelining", rules);
  note_training(task, blocks, "torch.distributed.pipelining", rules);
  note_one_step(task, "torch.distributed.pipelining", rules);
  if (blocks.ties().empty() || accelerator_count(task.cluster) < 2) return rules;
  rules.costs = with_copied_ties(task, blocks);
  const std::vector<BlockId>& tied = blocks.ties().front().blocks;
  rules.notes.push_back(cat("torch.distributed.pipelining has the tied weights of ",
                            blocks[tied.front()].name, " and ", blocks[tied.back()].name,
                            " twice in the first of their stages, and again in the others"));
  return rules;
}

/// One GPU and the host: the GPU that runs the model fastest of those that hold all parameters, else the
/// one that holds most.
ToolRules onnxruntime_rules(const ToolTask& task) {
  const std::string& dialect = task.graph.dialect();
  if (dialect == "tf" || dialect == "mlir") {
    throw Error(ErrorCode::unsupported,
                cat("ONNX Runtime runs models of ONNX, and '", task.graph.name(), "' is one of ",
                    dialect == "tf" ? "TensorFlow" : "MLIR"));
  }
  refuse_hosts(task.cluster, "a session of ONNX Runtime");
  ToolRules rules;
  const std::int64_t bytes = task.graph.total_param_bytes();
  DeviceId chosen = kNoDevice;
  const auto room = [&](DeviceId device) { return task.cluster.device(device).memory_bytes; };
  const auto holds = [&](DeviceId device) {
    return room(device) == kNoLimit || room(device) > bytes;
  };
  for (DeviceId d = 0; d < task.cluster.device_count(); ++d) {
    if (!is_gpu(task.cluster.device(d))) continue;
    if (chosen == kNoDevice) chosen = d;
    const auto us = [&](DeviceId device) {
      const KindId kind = task.cluster.kind_of(device);
      double sum = 0;
      for (OpId op = 0; op < task.graph.op_count(); ++op) {
        if (task.costs.can_run(op, kind)) sum += task.costs.op_us(op, kind);
      }
      return sum;
    };
    const bool better = holds(d) != holds(chosen) ? holds(d)
                        : holds(d)                ? us(d) < us(chosen)
                                                  : room(d) > room(chosen);
    if (better) chosen = d;
  }
  std::vector<std::string> others = devices_where(
      task.cluster, [&](DeviceId d) { return d != chosen && is_gpu(task.cluster.device(d)); });
  if (!others.empty()) {
    rules.notes.push_back(cat("a session of ONNX Runtime holds one GPU: ",
                              task.cluster.device(chosen).name, " and the host"));
    note_order(task.cluster, rules);
  }
  forbid(rules, std::move(others), "(a session of ONNX Runtime holds one GPU)");
  return rules;
}

ToolRules onnx_mlir_rules(const ToolTask& task) {
  ToolRules rules;
  std::vector<std::string> others = devices_where(
      task.cluster, [&](DeviceId d) { return !is_onnx_mlirs(task.cluster.device(d)); });
  if (others.size() == at(task.cluster.device_count())) needs_onnx_mlir(task.graph, task.cluster);
  forbid(rules, std::move(others), "(onnx-mlir knows the devices cpu and nnpa)");
  return rules;
}

ToolRules no_rules(const ToolTask&) {
  return {};
}

ToolRules openvino_rules(const ToolTask& task) {
  refuse_hosts(task.cluster, "OpenVINO");
  ToolRules rules;
  std::vector<std::string> others = devices_where(
      task.cluster, [&](DeviceId d) { return !is_openvinos(task.cluster.device(d)); });
  if (!others.empty()) {
    rules.notes.push_back(
        cat("OpenVINO runs on GPUs and neural processors of Intel, not on ", join(others, 5)));
  }
  forbid(rules, std::move(others), "(OpenVINO runs on GPUs and neural processors of Intel)");
  return rules;
}

ToolRules tensorflow_rules(const ToolTask& task) {
  const std::string& dialect = task.graph.dialect();
  if (dialect == "onnx" || dialect == "mlir") {
    throw Error(ErrorCode::unsupported,
                cat("TensorFlow runs its own graphs, and '", task.graph.name(), "' is one of ",
                    dialect == "onnx" ? "ONNX" : "MLIR"));
  }
  ToolRules rules;
  std::vector<std::string> others = npus_of(task.cluster);
  // A name that is TensorFlow's own is one of its devices.
  std::erase_if(others, [](const std::string& name) {
    return name.starts_with("gpu:") || name.starts_with("tpu:") ||
           name.find('/') != std::string::npos;
  });
  forbid(rules, std::move(others), "(TensorFlow knows no neural processor)");
  return rules;
}

}  // namespace

void needs_blocks(const Graph& graph, const Cluster&) {
  static_cast<void>(Blocks(graph));
}

void needs_blocks_and_one_host(const Graph& graph, const Cluster& cluster) {
  refuse_hosts(cluster, "accelerate");
  needs_blocks(graph, cluster);
}

void needs_one_host(const Graph&, const Cluster& cluster) {
  refuse_hosts(cluster, "OpenVINO");
}

void needs_pipeline_layers(const Graph& graph, const Cluster&) {
  static_cast<void>(pipeline_layers(graph, Blocks(graph)));
}

void needs_decoder(const Graph& graph, const Cluster& cluster) {
  needs_accelerator(cluster, "vLLM");
  refuse_old_gpus(cluster);
  static_cast<void>(decoder_of(graph, Blocks(graph), "vLLM"));
}

void needs_decoder_and_host(const Graph& graph, const Cluster& cluster) {
  static_cast<void>(decoder_of(graph, Blocks(graph), "llama.cpp"));
  needs_host(cluster);
}

void needs_onnx_mlir(const Graph&, const Cluster& cluster) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (is_onnx_mlirs(device)) continue;
    throw Error(ErrorCode::unsupported,
                cat("onnx-mlir knows the devices cpu and nnpa, and ", device.name, " of machine '",
                    cluster.name(), "' is of kind '", device.kind,
                    "'; name the kinds of the machine's devices so"));
  }
}

void needs_one_gpu(const Graph&, const Cluster& cluster) {
  refuse_hosts(cluster, "a session of ONNX Runtime");
  if (accelerator_count(cluster) < 2) return;
  throw Error(ErrorCode::unsupported,
              cat("a session of ONNX Runtime holds one GPU, and machine '", cluster.name(),
                  "' has ", accelerator_count(cluster),
                  "; `berth place --for onnxruntime` searches for a plan that it can run"));
}

}  // namespace writers

namespace {

/// ONNX Runtime (`use_tf32`), TensorFlow (`enable_tensor_float_32_execution`) and IREE take TF32 for all in
/// f32 unless they are told not to. The other tools for Intel's GPUs and IBM's have none.
constexpr Arithmetic kAllTf32 = {Tf32::all, false};
/// PyTorch: `torch.backends.cudnn.allow_tf32` is on and that of `cuda.matmul` off.
constexpr Arithmetic kPyTorch = {Tf32::convolutions, false};
/// cuBLAS with CUBLAS_TF32_TENSOR_OP_MATH for weights in f32, its own kernels (MMQ) for those of 4 to 8 bits.
constexpr Arithmetic kLlamaCpp = {Tf32::all, true};

constexpr Tool kTools[] = {
    {"accelerate", "device_map", true, nullptr, nullptr, &writers::accelerate, nullptr, kPyTorch},
    {"llama.cpp", "llama.cpp", false, "machine", "first", &writers::llama,
     &writers::with_llama_caches, kLlamaCpp},
    {"vllm", "vllm", false, "machine", "none", &writers::vllm_rules, &writers::with_vllm_caches,
     kPyTorch},
    {"deepspeed", "deepspeed", false, "machine", "none", &writers::deepspeed_rules, nullptr,
     kPyTorch},
    {"torch-pipelining", "torch-pipelining", false, "any", "none", &writers::torch_rules, nullptr,
     kPyTorch},
    // Both run one part after the other: what lies on two devices never runs at once. Where both are
    // "any" the tool can have any other plan, which runs no faster.
    {"onnxruntime", "onnxruntime", false, "any", "any", &writers::onnxruntime_rules, nullptr,
     kAllTf32},
    {"openvino", "openvino", false, "any", "any", &writers::openvino_rules, nullptr, kAllTf32},
    {"tensorflow", "model", false, nullptr, nullptr, &writers::tensorflow_rules, nullptr, kAllTf32},
    {"onnx-mlir", "onnx-mlir", false, nullptr, nullptr, &writers::onnx_mlir_rules, nullptr,
     kAllTf32},
    {"iree", "csv", false, nullptr, nullptr, &writers::no_rules, nullptr, kAllTf32},
};

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

const Tool& tool(std::string_view name) {
  std::vector<std::string> names;
  for (const Tool& each : kTools) {
    if (each.name == name) return each;
    names.emplace_back(each.name);
  }
  throw Error(ErrorCode::not_found,
              cat("no tool is called '", name, "'", known_names(name, std::move(names))));
}

std::string plan_text(const Tool& tool, const Graph& graph, const Cluster& cluster,
                      const Placement& placement) {
  if (tool.form == "model" || tool.form == "csv") return {};
  return plan_writer(tool.form).text(graph, cluster, placement);
}

bool can_have(const Tool& tool, const Graph& graph, const Cluster& cluster,
              const Placement& placement) {
  try {
    static_cast<void>(plan_text(tool, graph, cluster, placement));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace berth
