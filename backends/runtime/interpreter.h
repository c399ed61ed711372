// Runs instructions one after the other on one device. Kernels of control flow run their bodies
// with it, and tests compare executors with it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// The kernel of an instruction. Throws Error(unsupported) naming the op and its type if there is
/// none, if the instruction has an obstacle, or if the kernel cannot do what its attributes ask
/// for.
[[nodiscard]] Kernel make_kernel(const Program& program, const Instruction& instruction,
                                 const KernelRegistry& registry);

/// Instructions in the order in which they run, with a slot for each value. Values are dropped
/// after their last reader. What depends on the side that a Switch does not take is dead and does not run, as in
/// runtime/branches.h; an instruction also depends on the values whose ids its attribute "_alive" lists. [thread-safe:
/// immutable once built; each run has its own values]
class Sequence {
 public:
  /// The body of an op's control flow: it reads the body's inputs, its constants and what it
  /// captured. `owner` is that op. Throws as make_kernel.
  Sequence(const KernelRequest& owner, const Body& body);

  /// A whole program. Throws as make_kernel.
  Sequence(const Program& program, const KernelRegistry& registry);

  /// `inputs` are those of the body, or of the program by position in Program::inputs. `outer` is,
  /// for a body, what its owner's kernel was given; for a program, its parameters by tensor id.
  /// Returns the outputs by position in Body::outputs or Program::outputs, on the context's device.
  ///
  /// Throws what a kernel throws, with the op and the shapes of its inputs in front. Throws
  /// Error(cancelled) if the context says stop.
  [[nodiscard]] std::vector<Value> run(KernelContext& context, std::span<const Value> inputs,
                                       std::span<const Value> outer) const;

 private:
  using Slot = std::int32_t;
  struct Step {
    const Instruction* instruction;
    Kernel kernel;
    std::vector<Slot> inputs;
    std::vector<Slot> outputs;
    std::vector<Slot> dead;   // values that nothing later reads
    std::vector<Slot> waits;  // values that it does not read and that have to be alive
  };
  struct Outer {
    std::size_t position;
    Slot slot;
  };
  class Slots;

  void add(const Program& program, const Instruction& instruction, const KernelRegistry& registry,
           Slots& slots);
  void finish();
  void run_step(const Step& step, KernelContext& context, std::vector<Value>& values) const;
  // `dead` is by slot.
  [[nodiscard]] static bool is_dead(const Step& step, const std::vector<std::uint8_t>& dead);
  static void mark(const Step& step, bool dies, const std::vector<Value>& values,
                   std::vector<std::uint8_t>& dead);

  std::vector<Step> steps_;
  std::vector<Slot> inputs_;
  std::vector<Outer> outer_;
  std::vector<std::pair<Slot, Value>> constants_;
  std::vector<Slot> outputs_;
  Slot slot_count_ = 0;
  bool has_branches_ = false;
};

/// The sequence of the owner's body that `attribute` holds. The program, which it refers to, outlives
/// the kernel. Throws Error(unsupported) where there is none, and as Sequence's constructor.
[[nodiscard]] std::shared_ptr<const Sequence> sequence_of(const KernelRequest& owner,
                                                          std::string_view attribute);

/// Results become outputs by position; those that are not wanted go.
void move_results(std::vector<Value> results, std::span<Value> outputs);

}  // namespace berth::runtime
