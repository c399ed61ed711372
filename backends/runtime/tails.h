// Ops that together compute one function of each number that a layer before them makes.
#pragma once

#include <optional>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/pointwise.h"
#include "runtime/readers.h"

namespace berth::runtime {

struct Tail {
  struct Link {
    OpId op = kNoOp;
    std::size_t input = 0;  ///< one that comes from the layer, through the links before
  };

  Pointwise function;
  std::vector<Link> links;  ///< each behind those that it reads
};

/// The tail that is all that reads the tensor, of f32: Relu, Clip, LeakyRelu, HardSwish, Gelu, Swish, or what they are
/// spelled with. What it computes is returned by the last link; nobody reads, or is returned, what is between.
[[nodiscard]] std::optional<Tail> tail_behind(const Readers& readers, const Program& program,
                                              TensorId tensor);

}  // namespace berth::runtime
