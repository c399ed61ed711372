#include "runtime/fused.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "runtime/branches.h"
#include "runtime/computing.h"
#include "runtime/onnx/packed.h"
#include "runtime/overwriting.h"
#include "runtime/readers.h"
#include "runtime/tf/planes.h"

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

/// Whether it convolves TensorFlow's images by a constant.
bool is_packable_of_images(const Readers& readers, const Program& program, OpId op) {
  const Graph& graph = *program.graph;
  const auto inputs = graph.inputs(op);
  return !graph.is_constant(op) && tf::slides_over_images(program.instructions[at(op)]) &&
         inputs.size() == 2 && known_rank(graph, inputs[0]) == 4 &&
         known_rank(graph, inputs[1]) == 4 && readers.once(inputs[1]) &&
         readers.is_plain_constant(inputs[1]);
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
  const bool by_batch = program.graph->dialect() == "onnx"
                            ? onnx::normalizes_by_batch(instruction)
                            : int_attribute(instruction, "is_training", 1) != 0;
  return inputs.size() == 5 && !by_batch && int_attribute(instruction, "spatial", 1) != 0 &&
         reads_constants(readers, inputs, 1);
}

/// Whether the op, behind images with their channels innermost, normalizes by constants or has a number for each channel.
bool is_by_channel(const Readers& readers, const Program& program, OpId op, std::int64_t channels) {
  const Graph& graph = *program.graph;
  const Instruction& instruction = program.instructions[at(op)];
  if (text_attribute(instruction, "data_format", "NHWC") != "NHWC") return false;
  const auto inputs = graph.inputs(op);
  if (inputs.size() == 5) return is_foldable(readers, program, op);
  if (inputs.size() != 2 || !readers.is_plain_constant(inputs[1]) || !graph.has_shape(inputs[1])) {
    return false;
  }
  const auto shape = graph.shape(inputs[1]);
  return !shape.empty() && shape.size() <= 4 && shape.back() == channels &&
         std::all_of(shape.begin(), shape.end() - 1, [](std::int64_t size) { return size == 1; });
}

/// Whether the op's second input is a constant of the step, with a number for each channel of planes.
bool has_constant_of_planes(const Readers& readers, const Graph& graph, OpId op,
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
  const bool branches = has_branches(graph);
  if (!branches) find_chains(readers);
  std::set<OpId> done;
  for (const Chain& chain : chains_) {
    done.insert(chain.convolution);
    done.insert(chain.behind.begin(), chain.behind.end());
  }
  if (branches) return;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (done.contains(op) || !makes_its_own(program, op) || !readers.gives_one(op)) continue;
    if (auto tail = tail_behind(readers, program, graph.outputs(op)[0])) {
      layers_.push_back({op, std::move(*tail)});
    }
  }
}

void FusedOps::find_chains(const Readers& readers) {
  const Graph& graph = *program_.graph;
  const bool of_planes = graph.dialect() == "onnx";
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (of_planes ? !is_packable(readers, program_, op)
                  : !is_packable_of_images(readers, program_, op)) {
      continue;
    }
    Chain chain{op, {}, {}, readers.resident(graph.inputs(op)[1])};
    if (of_planes) {
      find_constants_of_planes(readers, chain);
    } else {
      find_constants_of_images(readers, chain);
    }
    const OpId last = chain.last();
    if (readers.gives_one(last)) {
      chain.tail = tail_behind(readers, program_, graph.outputs(last)[0]);
    }
    chains_.push_back(std::move(chain));
  }
}

void FusedOps::find_constants_of_planes(const Readers& readers, Chain& chain) const {
  const Graph& graph = *program_.graph;
  const auto inputs = graph.inputs(chain.convolution);
  const std::int64_t channels = graph.shape(inputs[1])[0];
  const OpId normal = readers.follower(chain.convolution, "BatchNormalization");
  if (normal != kNoOp && is_foldable(readers, program_, normal)) chain.behind.push_back(normal);
  if (graph.shape(inputs[0]).size() != 4) return;
  for (const char* const type : {"Mul", "Add"}) {
    const OpId next = readers.follower(chain.last(), type);
    if (next == kNoOp || !has_constant_of_planes(readers, graph, next, channels)) continue;
    chain.behind.push_back(next);
  }
}

// Any order of these is a factor and a summand for each channel. Keras spells a normalization as Mul and AddV2.
void FusedOps::find_constants_of_images(const Readers& readers, Chain& chain) const {
  static constexpr std::string_view kTypes[] = {
      "Add", "AddV2", "BiasAdd", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Mul"};
  const auto filter = program_.graph->shape(program_.graph->inputs(chain.convolution)[1]);
  const bool each = program_.instructions[at(chain.convolution)].type == "DepthwiseConv2dNative";
  const std::int64_t channels = each ? filter[2] * filter[3] : filter[3];
  for (;;) {
    const auto found = std::ranges::find_if(kTypes, [&](std::string_view type) {
      const OpId next = readers.follower(chain.last(), type);
      return next != kNoOp && is_by_channel(readers, program_, next, channels);
    });
    if (found == std::end(kTypes)) return;
    chain.behind.push_back(readers.follower(chain.last(), *found));
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
  const Instruction& convolution = program_.instructions[at(key.convolution)];
  const auto given = graph.shape(graph.inputs(key.convolution)[0]);
  const Ints images(given.begin(), given.end());
  const bool of_planes = graph.dialect() == "onnx";
  const auto own = constants_of(key.convolution);
  onnx::ConvolutionConstants constants{
      of_planes ? own[0] : tf::weight_of_planes(convolution, own[0]),
      own.size() > 1 ? own[1] : at::Tensor()};
  for (const OpId op : key.behind) {
    const Instruction& instruction = program_.instructions[at(op)];
    const auto its = constants_of(op);
    if (its.size() == 4) {
      const double epsilon = float_attribute(instruction, "epsilon", of_planes ? 1e-5 : 1e-4);
      constants = onnx::normalized(constants, epsilon, its[0], its[1], its[2], its[3]);
    } else if (instruction.type == "Mul") {
      constants = onnx::scaled(constants, its[0]);
    } else {
      constants = onnx::shifted(constants, its[0]);
    }
  }
  const auto tail = key.with_tail ? std::optional(chain.tail->function) : std::nullopt;
  const MeterScope counted(&meter);
  if (of_planes) return onnx::packed_convolution(convolution, constants, images, tail);
  Kernel packed =
      onnx::packed_convolution(tf::conv_of_planes(convolution, images, own[0].sizes().vec()),
                               constants, tf::shape_of_planes(convolution, images), tail);
  return packed == nullptr ? packed : tf::on_images(convolution, std::move(packed));
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
      out[0].tensor =
          function.of_sum(in[0].tensor, in[1].tensor, overwritable_operand(context, in));
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
