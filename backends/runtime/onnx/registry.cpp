#include "runtime/onnx/kernels.h"

namespace berth::runtime {

const KernelRegistry& onnx_kernels() {
  static const KernelRegistry registry;
  return registry;
}

}  // namespace berth::runtime
