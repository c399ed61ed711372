// Programs of ops whose kernels a test writes.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/graph.h"
#include "berth/sdk/program.h"
#include "runtime/executor.h"
#include "runtime/kernel.h"

namespace berth::test {

/// Builds a program op by op. Tensors are f32 vectors of `elements`.
class TestProgram {
 public:
  explicit TestProgram(std::int64_t elements = 4) : elements_(elements) {}

  /// An op with one output that reads the outputs of `producers` and `parameters`. Its id.
  OpId add(const std::string& name, const std::vector<OpId>& producers, runtime::Kernel kernel,
           const std::vector<TensorId>& parameters = {}) {
    const OpId op = builder_.add_op(name, "Test");
    Instruction instruction;
    instruction.name = name;
    instruction.type = "Test";
    for (const OpId producer : producers) {
      builder_.add_input(op, outputs_[static_cast<std::size_t>(producer)]);
      instruction.inputs.push_back(outputs_[static_cast<std::size_t>(producer)]);
    }
    for (const TensorId parameter : parameters) {
      builder_.add_input(op, parameter);
      instruction.inputs.push_back(parameter);
    }
    outputs_.push_back(next_++);
    builder_.add_output(op, info(), name);
    instruction.outputs = {outputs_.back()};
    program_.instructions.push_back(std::move(instruction));
    kernels_.push_back(std::move(kernel));
    return op;
  }
  /// A parameter that no file carries.
  TensorId add_parameter(const std::string& name) {
    builder_.add_parameter(info(), name);
    return next_++;
  }
  void add_control_edge(OpId src, OpId dst) { builder_.add_control_edge(src, dst); }
  void set_colocation(OpId op, const std::string& name) { builder_.set_colocation(op, name); }
  /// The model's next input: an op that a caller feeds.
  OpId add_input(const std::string& name) {
    const OpId op = add(name, {}, {});
    program_.inputs.push_back(op);
    program_.input_names.push_back(name);
    return op;
  }
  /// The op's output is one of the model's.
  void add_output(OpId op) {
    program_.outputs.push_back(outputs_[static_cast<std::size_t>(op)]);
    program_.output_names.push_back(program_.instructions[static_cast<std::size_t>(op)].name);
  }

  struct Built {
    std::shared_ptr<const Program> program;
    std::vector<runtime::Kernel> kernels;
  };
  /// `constants` by op, none if empty.
  Built build(const std::vector<Graph::Constant>& constants = {}) {
    program_.graph = builder_.build();
    if (!constants.empty()) program_.graph = program_.graph->with_constants(constants);
    program_.parameters.resize(static_cast<std::size_t>(program_.graph->tensor_count()));
    return {std::make_shared<const Program>(std::move(program_)), std::move(kernels_)};
  }

 private:
  TensorInfo info() const { return {DType::f32, true, {elements_}}; }

  std::int64_t elements_;
  GraphBuilder builder_{"test"};
  Program program_;
  std::vector<runtime::Kernel> kernels_;
  std::vector<TensorId> outputs_;  // by op
  TensorId next_ = 0;
};

/// The sum of all inputs, plus `constant`.
inline runtime::Kernel sum(float constant, std::int64_t elements = 4) {
  return [=](runtime::KernelContext&, std::span<const runtime::Value> inputs,
             std::span<runtime::Value> outputs) {
    at::Tensor total = at::full({elements}, constant);
    for (const runtime::Value& input : inputs) total.add_(input.tensor);
    outputs[0].tensor = total;
  };
}

}  // namespace berth::test
