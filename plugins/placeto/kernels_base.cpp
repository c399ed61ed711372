#include "kernels_body.h"

namespace berth::placeto {
extern const Kernels kKernels_base;
const Kernels kKernels_base = kKernels;
}  // namespace berth::placeto
