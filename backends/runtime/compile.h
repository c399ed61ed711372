// From a program's instructions to kernels.
#pragma once

#include <memory>
#include <vector>

#include "berth/backend.h"
#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// The kernels of a graph's dialect. Throws Error(unsupported) for a dialect without kernels.
[[nodiscard]] const KernelRegistry& kernels_of(const Program& program);

struct Compiled {
  std::vector<Kernel> kernels;      ///< by op; empty for the program's inputs and for failures
  std::vector<Obstacle> obstacles;  ///< by op id
};
[[nodiscard]] Compiled compile(const Program& program, const KernelRegistry& registry);

}  // namespace berth::runtime
