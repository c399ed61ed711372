#include "runtime/readers.h"

#include <algorithm>

#include "berth/support/index.h"
#include "runtime/stored.h"

namespace berth::runtime {

Readers::Readers(const Program& program)
    : program_(program),
      graph_(*program.graph),
      ops_(at(graph_.tensor_count())),
      others_(ops_.size()) {
  for (OpId op = 0; op < graph_.op_count(); ++op) {
    if (graph_.is_constant(op)) continue;
    for (const TensorId tensor : graph_.inputs(op)) {
      if (tensor != kNoTensor) ops_[at(resident(tensor))].push_back(op);
    }
    for (const TensorId parameter : stored_parameters(graph_, op)) ++others_[at(parameter)];
  }
  for (const TensorId output : program.outputs) ++others_[at(output)];
  for (const Graph::State& state : graph_.states()) ++others_[at(state.result)];
}

TensorId Readers::resident(TensorId tensor) const {
  const auto kept = graph_.kept_for(tensor);
  return kept.size() == 1 ? kept.front() : tensor;
}

bool Readers::once(TensorId tensor) const {
  const TensorId read = resident(tensor);
  return ops_[at(read)].size() + at(others_[at(read)]) == 1;
}

const std::vector<OpId>& Readers::of(TensorId tensor) const {
  return others_[at(tensor)] == 0 ? ops_[at(tensor)] : none_;
}

OpId Readers::only(TensorId tensor) const {
  return of(tensor).size() == 1 ? of(tensor).front() : kNoOp;
}

bool Readers::gives_one(OpId op) const {
  const auto outputs = graph_.outputs(op);
  if (outputs.empty() || program_.instructions[at(op)].outputs.front() != outputs[0]) return false;
  return std::ranges::all_of(outputs.subspan(1), [&](TensorId tensor) {
    return ops_[at(tensor)].empty() && others_[at(tensor)] == 0;
  });
}

OpId Readers::follower(OpId op, std::string_view type) const {
  if (!gives_one(op)) return kNoOp;
  const TensorId result = graph_.outputs(op)[0];
  const OpId reader = only(result);
  if (reader == kNoOp || program_.instructions[at(reader)].type != type) return kNoOp;
  return graph_.inputs(reader)[0] == result ? reader : kNoOp;
}

// TensorFlow's small constants stay ops of the step.
bool Readers::is_constant_of_tf(OpId op) const {
  const Instruction& instruction = program_.instructions[at(op)];
  return instruction.type == "Const" && instruction.attribute<TensorContent>("value") != nullptr;
}

bool Readers::is_plain_constant(TensorId tensor) const {
  if (tensor == kNoTensor || graph_.dtype(tensor) != DType::f32) return false;
  const OpId producer = graph_.producer(tensor);
  return producer == kNoOp ? !is_stored(graph_, tensor) : is_constant_of_tf(producer);
}

}  // namespace berth::runtime
