#include "runtime/fused.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "runtime/computing.h"
#include "runtime/onnx/packed.h"
#include "runtime/stored.h"

namespace berth::runtime {
namespace {

/// Which ops read what, at which inputs.
class Readers {
 public:
  explicit Readers(const Program& program)
      : program_(program),
        graph_(*program.graph),
        reads_(at(graph_.tensor_count())),
        last_(reads_.size(), kNoOp) {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (graph_.is_constant(op)) continue;
      for (const TensorId tensor : graph_.inputs(op)) {
        if (tensor == kNoTensor) continue;
        const TensorId read = resident(tensor);
        ++reads_[at(read)];
        last_[at(read)] = op;
      }
      for (const TensorId parameter : stored_parameters(graph_, op)) ++reads_[at(parameter)];
    }
    for (const TensorId output : program.outputs) ++reads_[at(output)];
    for (const Graph::State& state : graph_.states()) ++reads_[at(state.result)];
  }

  /// The parameter that is on the device in the place of a constant; any other tensor is itself.
  TensorId resident(TensorId tensor) const {
    const auto kept = graph_.kept_for(tensor);
    return kept.size() == 1 ? kept.front() : tensor;
  }
  bool once(TensorId tensor) const { return reads_[at(resident(tensor))] == 1; }
  bool is_plain_constant(TensorId tensor) const {
    return tensor != kNoTensor && graph_.producer(tensor) == kNoOp && !is_stored(graph_, tensor) &&
           graph_.dtype(tensor) == DType::f32;
  }
  /// The op of this type whose first input is the only place where the op's result is read; or kNoOp.
  OpId follower(OpId op, std::string_view type) const {
    const auto outputs = graph_.outputs(op);
    if (outputs.size() != 1 || !once(outputs[0])) return kNoOp;
    const OpId reader = last_[at(outputs[0])];
    if (reader == kNoOp || program_.instructions[at(reader)].type != type) return kNoOp;
    return graph_.inputs(reader)[0] == outputs[0] ? reader : kNoOp;
  }

 private:
  const Program& program_;
  const Graph& graph_;
  std::vector<int> reads_;  // by tensor: inputs of ops of the step, and whether it is returned
  std::vector<OpId> last_;  // by tensor: an op that reads it
};

bool has_known_planes(const Graph& graph, TensorId tensor) {
  if (tensor == kNoTensor || !graph.has_shape(tensor) || graph.dtype(tensor) != DType::f32) {
    return false;
  }
  const auto shape = graph.shape(tensor);
  return shape.size() == 4 && std::ranges::none_of(shape, [](auto n) { return n == kUnknownDim; });
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
  return has_known_planes(graph, inputs[0]) && has_known_planes(graph, inputs[1]) &&
         readers.once(inputs[1]) &&
         reads_constants(readers, has_no_bias ? inputs.first(2) : inputs, 1);
}

/// Whether the op makes a tensor of its own, of f32, with sums.
bool adds(const Program& program, OpId op) {
  const Graph& graph = *program.graph;
  const std::string& type = program.instructions[at(op)].type;
  return !graph.is_constant(op) && (type == "Add" || type == "Sum") &&
         graph.inputs(op).size() >= 2 && graph.dtype(graph.outputs(op)[0]) == DType::f32;
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
  if (graph.dialect() != "onnx") return;
  const Readers readers(program);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!is_packable(readers, program, op)) continue;
    Chain chain{op, {}, readers.resident(graph.inputs(op)[1])};
    const std::int64_t channels = graph.shape(graph.inputs(op)[1])[0];
    OpId last = op;
    const auto takes = [&](std::string_view type, const auto& can_do) {
      const OpId next = readers.follower(last, type);
      if (next == kNoOp || !can_do(next)) return;
      chain.behind.push_back(next);
      last = next;
    };
    takes("BatchNormalization", [&](OpId next) { return is_foldable(readers, program, next); });
    for (const char* const type : {"Mul", "Add"}) {
      takes(type, [&](OpId next) { return has_channels_constant(readers, graph, next, channels); });
    }
    takes("Relu", [](OpId) { return true; });
    chains_.push_back(chain);
  }
  std::set<OpId> behind;
  for (const Chain& chain : chains_) behind.insert(chain.behind.begin(), chain.behind.end());
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (behind.contains(op)) continue;
    const OpId activation = adds(program, op) ? readers.follower(op, "Relu") : kNoOp;
    if (activation != kNoOp) sums_.push_back({op, activation});
  }
}

std::vector<Costs::Joined> FusedOps::joined() const {
  std::vector<Costs::Joined> found;
  for (const Chain& chain : chains_) {
    for (const OpId op : chain.behind) found.push_back({op, chain.convolution});
  }
  for (const Sum& sum : sums_) found.push_back({sum.activation, sum.op});
  return found;
}

FusedOps::Key FusedOps::key_of(const Chain& chain, const Placement& placement) const {
  const DeviceId device = placement[at(chain.convolution)];
  const auto away =
      std::ranges::find_if(chain.behind, [&](OpId op) { return placement[at(op)] != device; });
  return {chain.convolution, {chain.behind.begin(), away}, device};
}

Kernel FusedOps::pack(const Key& key, MemoryMeter& meter, const HostParameter& parameter) const {
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
  bool rectified = false;
  for (const OpId op : key.behind) {
    const Instruction& instruction = program_.instructions[at(op)];
    const auto its = constants_of(op);
    if (instruction.type == "BatchNormalization") {
      constants = onnx::normalized(constants, instruction, its[0], its[1], its[2], its[3]);
    } else if (instruction.type == "Mul") {
      constants = onnx::scaled(constants, its[0]);
    } else if (instruction.type == "Add") {
      constants = onnx::shifted(constants, its[0]);
    } else {
      rectified = true;
    }
  }
  const MeterScope counted(&meter);
  const auto images = graph.shape(graph.inputs(key.convolution)[0]);
  return onnx::packed_convolution(program_.instructions[at(key.convolution)], constants,
                                  {images.data(), images.size()}, rectified);
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
  const auto hand_on = [](KernelContext&, std::span<const Value> in, std::span<Value> out) {
    out[0] = in[0];
  };
  for (const Chain& chain : chains_) {
    const Key key = key_of(chain, placement);
    const auto entry = packed_.find(key);
    if (entry == packed_.end()) continue;
    Kernel& kernel = entry->second;
    try {
      if (kernel == nullptr) kernel = pack(key, runtime.meter(key.device), parameter);
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      // Shapes that do not fit: the op says so, with its name, when it runs as it is.
    }
    if (kernel == nullptr) continue;
    kernels[at(key.convolution)] = kernel;
    for (const OpId op : key.behind) kernels[at(op)] = hand_on;
    held_.insert(chain.weight);
  }
  for (const Sum& sum : sums_) {
    if (placement[at(sum.op)] != placement[at(sum.activation)]) continue;
    kernels[at(sum.op)] = [own = std::move(kernels[at(sum.op)])](KernelContext& context,
                                                                 std::span<const Value> in,
                                                                 std::span<Value> out) {
      own(context, in, out);
      if (out[0].tensor.defined()) at::relu_(out[0].tensor);  // nobody else has it yet
    };
    kernels[at(sum.activation)] = hand_on;
  }
}

}  // namespace berth::runtime
