// Readers of each value in a program's step.
#pragma once

#include <string_view>
#include <vector>

#include "berth/sdk/program.h"

namespace berth::runtime {

/// [immutable]
class Readers {
 public:
  /// The program must outlive it.
  explicit Readers(const Program& program);

  /// The parameter that is on the device in the place of a constant; any other tensor is itself.
  [[nodiscard]] TensorId resident(TensorId tensor) const;
  /// Whether one input of one op reads it, and nobody is returned it.
  [[nodiscard]] bool once(TensorId tensor) const;
  /// The ops that read it, one for each input that does. Empty also for what is returned.
  [[nodiscard]] const std::vector<OpId>& of(TensorId tensor) const;
  /// The only input of any op that reads it is one of this op's, and nobody is returned it: the op, or kNoOp.
  [[nodiscard]] OpId only(TensorId tensor) const;
  /// The op of this type whose first input is the only place where the first result of `op` is read, of which nobody
  /// reads another; or kNoOp.
  [[nodiscard]] OpId follower(OpId op, std::string_view type) const;
  /// Whether it has a first result, and nobody reads another.
  [[nodiscard]] bool gives_one(OpId op) const;
  /// Whether it is known before the step, in f32, and no op reads it as it is stored.
  [[nodiscard]] bool is_plain_constant(TensorId tensor) const;

 private:
  [[nodiscard]] bool is_constant_of_tf(OpId op) const;

  const Program& program_;
  const Graph& graph_;
  std::vector<std::vector<OpId>> ops_;  // by tensor
  std::vector<int> others_;             // by tensor: other places where it is read or returned
  std::vector<OpId> none_;
};

}  // namespace berth::runtime
