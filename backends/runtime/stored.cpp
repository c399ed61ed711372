#include "runtime/stored.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/support/index.h"

namespace berth::runtime {
namespace {

/// Computes the stored inputs of one op.
class Reader {
 public:
  Reader(const Program& program, std::span<const Kernel> kernels, OpId op)
      : parameters_(stored_parameters(*program.graph, op)) {
    const Graph& graph = *program.graph;
    const auto inputs = graph.inputs(op);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_stored(graph, inputs[i])) wanted_.emplace_back(i, place(program, kernels, inputs[i]));
    }
  }

  /// Sets the stored ones of `inputs`, which are those of the op. `parameters` follow
  /// stored_parameters.
  void read(KernelContext& context, std::span<const Value> parameters,
            std::span<Value> inputs) const {
    std::vector<Value> values(parameters.begin(), parameters.end());
    values.resize(parameters.size() + made_);
    for (const Step& step : steps_) {
      std::vector<Value> read;
      for (const std::size_t from : step.inputs) {
        read.push_back(from == kAbsent ? Value() : values[from]);
      }
      std::vector<Value> made(step.outputs.size());
      step.kernel(context, read, made);
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (step.outputs[i] != kAbsent) values[step.outputs[i]] = std::move(made[i]);
      }
    }
    for (const auto& [input, from] : wanted_) inputs[input] = values[from];
  }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  struct Step {
    Kernel kernel;
    std::vector<std::size_t> inputs;  ///< places of values
    std::vector<std::size_t> outputs;
  };

  /// The place of the tensor's value, after the steps that make it.
  std::size_t place(const Program& program, std::span<const Kernel> kernels, TensorId tensor) {
    const Graph& graph = *program.graph;
    if (tensor == kNoTensor) return kAbsent;
    if (!is_stored(graph, tensor)) {
      const auto kept = graph.kept_for(tensor);
      const TensorId resides = kept.empty() ? tensor : kept.front();
      const auto found = std::find(parameters_.begin(), parameters_.end(), resides);
      return static_cast<std::size_t>(found - parameters_.begin());
    }
    if (const auto known = places_.find(tensor); known != places_.end()) return known->second;
    const OpId maker = graph.maker(tensor);
    const Instruction& instruction = program.instructions[at(maker)];
    Step step{kernels[at(maker)], {}, {}};
    // A chain of ops that rearrange a weight is short (fold_constants).
    for (const TensorId input : graph.inputs(maker)) {
      step.inputs.push_back(place(program, kernels, input));
    }
    for (const ValueId output : instruction.outputs) {
      if (output == kNoValue) {
        step.outputs.push_back(kAbsent);
        continue;
      }
      step.outputs.push_back(parameters_.size() + made_++);
      places_[output] = step.outputs.back();
    }
    steps_.push_back(std::move(step));
    return places_.at(tensor);
  }

  std::vector<TensorId> parameters_;
  std::vector<Step> steps_;
  std::size_t made_ = 0;
  std::map<TensorId, std::size_t> places_;
  std::vector<std::pair<std::size_t, std::size_t>> wanted_;  // input of the op, place
};

}  // namespace

bool is_stored(const Graph& graph, TensorId input) {
  return input != kNoTensor && graph.producer(input) == kNoOp && graph.kept_for(input).size() > 1;
}

std::vector<TensorId> stored_parameters(const Graph& graph, OpId op) {
  std::vector<TensorId> parameters;
  for (const TensorId input : graph.inputs(op)) {
    if (!is_stored(graph, input)) continue;
    for (const TensorId kept : graph.kept_for(input)) {
      if (std::find(parameters.begin(), parameters.end(), kept) == parameters.end()) {
        parameters.push_back(kept);
      }
    }
  }
  return parameters;
}

void read_as_stored(const Program& program, std::vector<Kernel>& kernels) {
  const Graph& graph = *program.graph;
  if (graph.constant_count() == 0) return;
  std::vector<std::pair<OpId, Kernel>> made;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto inputs = graph.inputs(op);
    const bool reads = std::any_of(inputs.begin(), inputs.end(),
                                   [&](TensorId tensor) { return is_stored(graph, tensor); });
    if (graph.is_constant(op) || !reads) continue;
    made.emplace_back(
        op, [reader = Reader(program, kernels, op), kernel = kernels[at(op)], own = inputs.size()](
                KernelContext& context, std::span<const Value> given, std::span<Value> outputs) {
          std::vector<Value> complete(given.begin(),
                                      given.begin() + static_cast<std::ptrdiff_t>(own));
          reader.read(context, given.subspan(own), complete);
          kernel(context, complete, outputs);
        });
  }
  for (auto& [op, kernel] : made) kernels[at(op)] = std::move(kernel);
}

}  // namespace berth::runtime
