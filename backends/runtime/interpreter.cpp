#include "runtime/interpreter.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "runtime/branches.h"
#include "runtime/values.h"

namespace berth::runtime {
namespace {

// Distinct streams for the ops of a body and the iterations of a loop (splitmix64's mixer).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t with) {
  std::uint64_t z = seed + 0x9E3779B97F4A7C15ULL * (with + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::string kind_of(const Value& value) {
  if (!value.present()) return "absent";
  if (value.structure != nullptr) {
    switch (value.structure->kind) {
      case Structure::Kind::sequence:
        return "sequence of " + std::to_string(value.structure->sequence.size());
      case Structure::Kind::nothing:
        return "empty optional";
      case Structure::Kind::text:
        return "text of " + std::to_string(value.structure->texts.size());
    }
  }
  std::string text = c10::toString(value.tensor.scalar_type());
  text += '[';
  for (std::int64_t i = 0; i < value.tensor.dim(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(value.tensor.size(i));
  }
  return text + ']';
}

// "Float[2,3], absent, sequence of 2": for messages.
std::string kinds_of(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += kind_of(value);
  }
  return text;
}

std::string named(const Instruction& instruction) {
  return "op '" + instruction.name + "' (" + instruction.type + ")";
}

Error failure(ErrorCode code, const Instruction& instruction, std::span<const Value> inputs,
              const std::string& what) {
  return {code, named(instruction) + " with " + kinds_of(inputs) + ": " + what};
}

}  // namespace

Kernel make_kernel(const Program& program, const Instruction& instruction,
                   const KernelRegistry& registry) {
  if (!instruction.obstacle.empty()) {
    throw Error(ErrorCode::unsupported,
                named(instruction) + " cannot be executed: " + instruction.obstacle);
  }
  if (registry.find(instruction.type) == nullptr) {
    throw Error(ErrorCode::unsupported,
                named(instruction) +
                    ": there is no kernel for this type; it can be placed and "
                    "simulated, not executed");
  }
  try {
    return registry.make({program, instruction, registry});
  } catch (const Error& refusal) {
    throw Error(refusal.code(), named(instruction) + ": " + refusal.what());
  } catch (const c10::Error& refusal) {
    throw Error(ErrorCode::unsupported,
                named(instruction) + ": " + refusal.what_without_backtrace());
  }
}

class Sequence::Slots {
 public:
  explicit Slots(Slot& count) : count_(count) {}

  Slot of(ValueId id) {
    if (id == kNoValue) return kNoValue;
    const auto [entry, is_new] = slots_.try_emplace(id, count_);
    if (is_new) ++count_;
    return entry->second;
  }

 private:
  Slot& count_;
  std::unordered_map<ValueId, Slot> slots_;
};

void Sequence::add(const Program& program, const Instruction& instruction,
                   const KernelRegistry& registry, Slots& slots) {
  Step step;
  step.instruction = &instruction;
  step.kernel = make_kernel(program, instruction, registry);
  for (const auto* ids : {&instruction.inputs, &instruction.captured}) {
    for (const ValueId id : *ids) step.inputs.push_back(slots.of(id));
  }
  for (const ValueId id : instruction.outputs) step.outputs.push_back(slots.of(id));
  if (const auto* const ids = instruction.attribute<std::vector<std::int64_t>>("_alive")) {
    for (const std::int64_t id : *ids) step.waits.push_back(slots.of(static_cast<ValueId>(id)));
  }
  has_branches_ |= is_switch(instruction.type);
  steps_.push_back(std::move(step));
}

// Finds the last reader of each value, going backwards.
void Sequence::finish() {
  std::vector<bool> read(static_cast<std::size_t>(slot_count_), false);
  for (const Slot slot : outputs_) {
    if (slot != kNoValue) read[static_cast<std::size_t>(slot)] = true;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    for (const auto* slots : {&step->outputs, &step->inputs}) {
      for (const Slot slot : *slots) {
        if (slot == kNoValue || read[static_cast<std::size_t>(slot)]) continue;
        read[static_cast<std::size_t>(slot)] = true;
        step->dead.push_back(slot);
      }
    }
  }
}

Sequence::Sequence(const KernelRequest& owner, const Body& body) {
  Slots slots(slot_count_);
  for (const ValueId id : body.inputs) inputs_.push_back(slots.of(id));
  for (const auto& [id, content] : body.constants) {
    constants_.emplace_back(slots.of(id), value_of(content));
  }
  std::size_t position = 0;
  for (const auto* ids : {&owner.instruction.inputs, &owner.instruction.captured}) {
    for (const ValueId id : *ids) {
      if (id != kNoValue) outer_.push_back({position, slots.of(id)});
      ++position;
    }
  }
  steps_.reserve(body.instructions.size());
  for (const Instruction& instruction : body.instructions) {
    add(owner.program, instruction, owner.registry, slots);
  }
  for (const ValueId id : body.outputs) outputs_.push_back(slots.of(id));
  finish();
}

Sequence::Sequence(const Program& program, const KernelRegistry& registry) {
  Slots slots(slot_count_);
  const Graph& graph = *program.graph;
  std::vector<bool> is_fed(program.instructions.size(), false);
  for (const OpId op : program.inputs) {
    inputs_.push_back(slots.of(program.instructions[static_cast<std::size_t>(op)].outputs.front()));
    is_fed[static_cast<std::size_t>(op)] = true;
  }
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (graph.maker(tensor) != kNoOp) continue;
    outer_.push_back({static_cast<std::size_t>(tensor), slots.of(tensor)});
  }
  for (const OpId op : graph.topological_order()) {
    const auto index = static_cast<std::size_t>(op);
    if (!is_fed[index]) add(program, program.instructions[index], registry, slots);
  }
  for (const TensorId tensor : program.outputs) outputs_.push_back(slots.of(tensor));
  finish();
}

void Sequence::run_step(const Step& step, KernelContext& context,
                        std::vector<Value>& values) const {
  std::vector<Value> inputs(step.inputs.size());
  std::vector<Value> outputs(step.outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Slot slot = step.inputs[i];
    if (slot != kNoValue) inputs[i] = values[static_cast<std::size_t>(slot)];
  }
  try {
    step.kernel(context, inputs, outputs);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    throw failure(error.code(), *step.instruction, inputs, error.what());
  } catch (const c10::Error& error) {
    throw failure(ErrorCode::invalid_argument, *step.instruction, inputs,
                  error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw failure(ErrorCode::invalid_argument, *step.instruction, inputs, error.what());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Slot slot = step.outputs[i];
    if (slot != kNoValue) values[static_cast<std::size_t>(slot)] = std::move(outputs[i]);
  }
}

bool Sequence::is_dead(const Step& step, const std::vector<std::uint8_t>& dead) {
  const auto dies = [&](Slot slot) {
    return slot != kNoValue && dead[static_cast<std::size_t>(slot)] != 0;
  };
  if (step.instruction->type == "Merge") return std::ranges::all_of(step.inputs, dies);
  return std::ranges::any_of(step.inputs, dies) || std::ranges::any_of(step.waits, dies);
}

void Sequence::mark(const Step& step, bool dies, const std::vector<Value>& values,
                    std::vector<std::uint8_t>& dead) {
  const bool chooses = is_switch(step.instruction->type);
  for (const Slot slot : step.outputs) {
    if (slot == kNoValue) continue;
    const auto at = static_cast<std::size_t>(slot);
    dead[at] = dies || (chooses && !values[at].present()) ? 1 : 0;
  }
}

std::vector<Value> Sequence::run(KernelContext& context, std::span<const Value> inputs,
                                 std::span<const Value> outer) const {
  if (inputs.size() != inputs_.size()) {
    throw Error(ErrorCode::invalid_argument, "it takes " + std::to_string(inputs_.size()) +
                                                 " inputs and got " +
                                                 std::to_string(inputs.size()));
  }
  std::vector<Value> values(static_cast<std::size_t>(slot_count_));
  const auto set = [&](Slot slot, const Value& value) {
    values[static_cast<std::size_t>(slot)] = value;
  };
  for (const auto& [position, slot] : outer_) set(slot, outer[position]);
  for (const auto& [slot, value] : constants_) {
    set(slot, value);
    auto& tensor = values[static_cast<std::size_t>(slot)].tensor;
    if (tensor.defined()) tensor = tensor.to(context.device);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) set(inputs_[i], inputs[i]);
  const std::uint64_t seed = context.seed;
  std::vector<std::uint8_t> dead(has_branches_ ? values.size() : 0);  // by slot
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (context.should_stop && context.should_stop()) {
      throw Error(ErrorCode::cancelled, "stopped before the step had ended");
    }
    const Step& step = steps_[i];
    const bool dies = has_branches_ && is_dead(step, dead);
    context.seed = mixed(seed, i);
    if (!dies) run_step(step, context, values);
    if (has_branches_) mark(step, dies, values, dead);
    for (const Slot slot : step.dead) values[static_cast<std::size_t>(slot)] = Value{};
  }
  context.seed = seed;
  std::vector<Value> outputs;
  outputs.reserve(outputs_.size());
  for (const Slot slot : outputs_) {
    outputs.push_back(slot == kNoValue ? Value{} : values[static_cast<std::size_t>(slot)]);
  }
  return outputs;
}

std::shared_ptr<const Sequence> sequence_of(const KernelRequest& owner,
                                            std::string_view attribute) {
  const auto* const body = owner.instruction.attribute<std::shared_ptr<const Body>>(attribute);
  if (body == nullptr) {
    throw Error(ErrorCode::unsupported, "it has no body '" + std::string(attribute) + "'");
  }
  return std::make_shared<const Sequence>(owner, **body);
}

void move_results(std::vector<Value> results, std::span<Value> outputs) {
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    outputs[i] = std::move(results[i]);
  }
}

}  // namespace berth::runtime
