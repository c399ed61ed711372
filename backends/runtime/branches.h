// Branches written with Switch and Merge: what depends on the side that a Switch does not take does not run. Those of a
// graph are here, those of a body (of a loop or a function) in runtime/interpreter.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// Whether ops of this type give what they are given on one of two sides.
[[nodiscard]] inline bool is_switch(std::string_view type) noexcept {
  return type == "Switch" || type == "RefSwitch";
}

/// Follows, from step to step, which ops do not run: an op is dead if a tensor that it reads is, or an op that it waits
/// for. A Merge is dead if all of its inputs are. What is dead is absent. [thread-compatible: one step at a time; within
/// a step each op's entries are written by that op alone and read by ops that wait for it]
class Branches {
 public:
  /// The program must outlive it.
  explicit Branches(const Program& program);

  /// Makes the kernels, by op, of all ops behind a Switch run only where they are alive. They refer to this object.
  void guard(std::span<Kernel> kernels);

 private:
  [[nodiscard]] Kernel guarded(OpId op, Kernel kernel);

  const Program& program_;
  std::vector<OpId> behind_;                ///< ops behind a Switch, and those
  std::vector<std::uint8_t> dead_ops_;      ///< by op
  std::vector<std::uint8_t> dead_tensors_;  ///< by tensor
};

}  // namespace berth::runtime
