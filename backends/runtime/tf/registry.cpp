#include "runtime/tf/kernels.h"

namespace berth::runtime {

const KernelRegistry& tf_kernels() {
  static const KernelRegistry registry;
  return registry;
}

}  // namespace berth::runtime
