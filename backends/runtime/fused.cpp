#include "runtime/fused.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "runtime/branches.h"
#include "runtime/computing.h"
#include "runtime/onnx/packed.h"
#include "runtime/readers.h"

namespace berth::runtime {
namespace {

/// Counts the dimensions of images or filters of f32 whose sizes are all known; 0 = they are not.
std::size_t known_rank(const Graph& graph, TensorId tensor) {
  if (tensor == kNoTensor || !graph.has_shape(tensor) || graph.dtype(tensor) != DType::f32) {
    return 0;
  }
  const auto shape = graph.shape(tensor);
  return std::ranges::any_of(shape, [](auto n) { return n == kUnknownDim; }) ? 0 : shape.size();
}

/// Whether the op's inputs from `first` on are constants of the step, all there.
bool reads_constants(const Readers& readers, std::span<const TensorId> inputs, std::size_t first) {
  return std::ranges::all_of(inputs.subspan(first),
                             [&](TensorId tensor) { return readers.is_plain_constant(tensor); });
}

bool is_packable(const Readers& readers, const Program& program, OpId op) {
  const Graph& graph = *program.graph;
  const auto inputs = graph.inputs(op);
  if (graph.is_constant(op) || program.instructions[at(op)].type != "Conv" || inputs.size() < 2) {
    return false;
  }
  const bool has_no_bias = inputs.size() == 3 && inputs[2] == kNoTensor;
  const std::size_t rank = known_rank(graph, inputs[0]);
  const bool is_volume = rank == 5 && int_attribute(program.instructions[at(op)], "group", 1) == 1;
  return (rank == 4 || is_volume) && known_rank(graph, inputs[1]) == rank &&
         readers.once(inputs[1]) &&
         reads_constants(readers, has_no_bias ? inputs.first(2) : inputs, 1);
}

/// Whether some ops of each step do not run, of which the others are told (branches.h).
bool has_branches(const Graph& graph) {
  if (graph.dialect() != "tf") return false;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (is_switch(graph.op_type(op))) return true;
  }
  return false;
}

/// Whether the kernels of such ops make tensors of their own: some others hand on what they are given.
bool makes_its_own(const Program& program, OpId op) {
  static constexpr std::string_view kTypes[] = {"Add",
                                                "AddV2",
                                                "BatchMatMul",
                                                "BatchMatMulV2",
                                                "BatchMatMulV3",
                                                "BatchNormalization",
                                                "BiasAdd",
                                                "Conv",
                                                "Conv2D",
                                                "Conv3D",
                                                "ConvTranspose",
                                                "DepthwiseConv2dNative",
                                                "FusedBatchNorm",
                                                "FusedBatchNormV2",
                                                "FusedBatchNormV3",
                                                "Gemm",
                                                "GroupNormalization",
                                                "InstanceNormalization",
                                                "LayerNormalization",
                                                "MatMul",
                                                "Mul",
                                                "Sub",
                                                "Sum"};
  const Graph& graph = *program.graph;
  const std::string& type = program.instructions[at(op)].type;
  if (graph.is_constant(op) || std::ranges::find(kTypes, type) == std::end(kTypes)) return false;
  return type != "Sum" || (graph.dialect() == "onnx" && graph.inputs(op).size() >= 2);
}

bool is_foldable(const Readers& readers, const Program& program, OpId normalization) {
  const Instruction& instruction = program.instructions[at(normalization)];
  const auto inputs = program.graph->inputs(normalization);
  return inputs.size() == 5 && !onnx::normalizes_by_batch(instruction) &&
         int_attribute(instruction, "spatial", 1) != 0 && reads_constants(readers, inputs, 1);
}

/// Whether the op's second input is a constant of the step, with a number for each channel of images.
bool has_channels_constant(const Readers& readers, const Graph& graph, OpId op,
                           std::int64_t channels) {
  const auto inputs = graph.inputs(op);
  if (inputs.size() != 2 || !readers.is_plain_constant(inputs[1]) || !graph.has_shape(inputs[1])) {
    return false;
  }
  const auto shape = graph.shape(inputs[1]);
  const std::size_t before = shape.size() == 4 ? 1 : 0;
  return shape.size() == before + 3 && (before == 0 || shape[0] == 1) &&
         shape[before] == channels && shape[before + 1] == 1 && shape[before + 2] == 1;
}

}  // namespace

FusedOps::FusedOps(const Program& program) : program_(program) {
  const Graph& graph = *program.graph;
  const Readers readers(program);
  if (graph.dialect() == "onnx") find_chains(readers);
  std::set<OpId> done;
  for (const Chain& chain : chains_) {
    done.insert(chain.convolution);
    done.insert(chain.behind.begin(), chain.behind.end());
  }
  if (has_branches(graph)) return;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (done.contains(op) || !makes_its_own(program, op) || !readers.gives_one(op)) continue;
    if (auto tail = tail_behind(readers, program, graph.outputs(op)[0])) {
      layers_.push_back({op, std::move(*tail)});
    }
  }
}

void FusedOps::find_chains(const Readers& readers) {
  const Graph& graph = *program_.graph;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!is_packable(readers, program_, op)) continue;
    Chain chain{op, {}, {}, readers.resident(graph.inputs(op)[1])};
    const std::int64_t channels = graph.shape(graph.inputs(op)[1])[0];
    OpId last = op;
    const auto takes = [&](std::string_view type, const auto& can_do) {
      const OpId next = readers.follower(last, type);
      if (next == kNoOp || !can_do(next)) return;
      chain.behind.push_back(next);
      last = next;
    };
    takes("BatchNormalization", [&](OpId next) { return is_foldable(readers, program_, next); });
    const bool is_plane = graph.shape(graph.inputs(op)[0]).size() == 4;
    for (const char* const type : {"Mul", "Add"}) {
      if (!is_plane) break;
      takes(type, [&](OpId next) { return has_channels_constant(readers, graph, next, channels); });
    }
    if (readers.gives_one(last)) {
      chain.tail = tail_behind(readers, program_, graph.outputs(last)[0]);
    }
    chains_.push_back(std::move(chain));
  }
}

std::vector<Costs::Joined> FusedOps::joined() const {
  std::vector<Costs::Joined> found;
  const auto add = [&](const Tail& tail, OpId with) {
    for (const Tail::Link& link : tail.links) found.push_back({link.op, with});
  };
  for (const Chain& chain : chains_) {
    for (const OpId op : chain.behind) found.push_back({op, chain.convolution});
    if (chain.tail) add(*chain.tail, chain.convolution);
  }
  for (const Layer& layer : layers_) add(layer.tail, layer.op);
  return found;
}

bool FusedOps::is_whole(const Tail& tail, const Placement& placement, DeviceId device) {
  return std::ranges::all_of(
      tail.links, [&](const Tail::Link& link) { return placement[at(link.op)] == device; });
}

FusedOps::Key FusedOps::key_of(const Chain& chain, const Placement& placement) const {
  const DeviceId device = placement[at(chain.convolution)];
  const auto away =
      std::ranges::find_if(chain.behind, [&](OpId op) { return placement[at(op)] != device; });
  const bool with_tail =
      away == chain.behind.end() && chain.tail && is_whole(*chain.tail, placement, device);
  return {chain.convolution, {chain.behind.begin(), away}, with_tail, device};
}

Kernel FusedOps::pack(const Chain& chain, const Key& key, MemoryMeter& meter,
                      const HostParameter& parameter) const {
  const Graph& graph = *program_.graph;
  const Computing computing;
  const auto constants_of = [&](OpId op) {
    std::vector<at::Tensor> constants;
    for (const TensorId tensor : graph.inputs(op).subspan(1)) {
      if (tensor == kNoTensor) continue;
      const auto kept = graph.kept_for(tensor);
      constants.push_back(parameter(kept.empty() ? tensor : kept.front()).tensor);
    }
    return constants;
  };
  const auto own = constants_of(key.convolution);
  onnx::ConvolutionConstants constants{own[0], own.size() > 1 ? own[1] : at::Tensor()};
  for (const OpId op : key.behind) {
    const Instruction& instruction = program_.instructions[at(op)];
    const auto its = constants_of(op);
    if (instruction.type == "BatchNormalization") {
      constants = onnx::normalized(constants, instruction, its[0], its[1], its[2], its[3]);
    } else if (instruction.type == "Mul") {
      constants = onnx::scaled(constants, its[0]);
    } else {
      constants = onnx::shifted(constants, its[0]);
    }
  }
  const MeterScope counted(&meter);
  const auto images = graph.shape(graph.inputs(key.convolution)[0]);
  return onnx::packed_convolution(
      program_.instructions[at(key.convolution)], constants, {images.data(), images.size()},
      key.with_tail ? std::optional(chain.tail->function) : std::nullopt);
}

void FusedOps::place(const Placement& placement, DeviceRuntime& runtime,
                     const HostParameter& parameter, std::span<Kernel> kernels) {
  std::map<Key, Kernel> needed;
  for (const Chain& chain : chains_) {
    const Key key = key_of(chain, placement);
    if (!runtime.torch_device(key.device).is_cpu()) continue;
    const auto known = packed_.find(key);
    needed[key] = known == packed_.end() ? Kernel() : std::move(known->second);
  }
  packed_ = std::move(needed);  // what is no longer needed makes room first
  held_.clear();
  for (const Chain& chain : chains_) {
    const Key key = key_of(chain, placement);
    const auto entry = packed_.find(key);
    if (entry == packed_.end()) continue;
    Kernel& kernel = entry->second;
    try {
      if (kernel == nullptr) kernel = pack(chain, key, runtime.meter(key.device), parameter);
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      // Shapes that do not fit: the op says so, with its name, when it runs as it is.
    }
    if (kernel == nullptr) continue;
    kernels[at(key.convolution)] = kernel;
    for (const OpId op : key.behind) kernels[at(op)] = handing_on(0);
    if (key.with_tail) hand_on(*chain.tail, kernels);
    held_.insert(chain.weight);
  }
  for (const Layer& layer : layers_) {
    if (!is_whole(layer.tail, placement, placement[at(layer.op)])) continue;
    Kernel& kernel = kernels[at(layer.op)];
    kernel = with_tail(std::move(kernel), layer);
    hand_on(layer.tail, kernels);
  }
}

Kernel FusedOps::with_tail(Kernel own, const Layer& layer) const {
  const Instruction& instruction = program_.instructions[at(layer.op)];
  const bool is_sum =
      program_.graph->dialect() == "onnx"
          ? instruction.version >= 7 && (instruction.type == "Add" || instruction.type == "Sum")
          : instruction.type == "Add" || instruction.type == "AddV2";
  const bool adds_two = is_sum && instruction.inputs.size() == 2;
  return [own = std::move(own), adds_two, function = layer.tail.function](
             KernelContext& context, std::span<const Value> in, std::span<Value> out) {
    if (adds_two && in[0].tensor.defined() && in[1].tensor.defined()) {
      out[0].tensor = function.of_sum(in[0].tensor, in[1].tensor);
      return;
    }
    own(context, in, out);
    if (out[0].tensor.defined()) function.overwrite(out[0].tensor);  // nobody else has it yet
  };
}

Kernel FusedOps::handing_on(std::size_t input) {
  return [input](KernelContext&, std::span<const Value> in, std::span<Value> out) {
    out[0] = in[input];
  };
}

void FusedOps::hand_on(const Tail& tail, std::span<Kernel> kernels) {
  for (const Tail::Link& link : tail.links) kernels[at(link.op)] = handing_on(link.input);
}

}  // namespace berth::runtime
