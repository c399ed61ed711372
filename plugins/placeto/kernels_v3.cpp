#include "kernels_body.h"

namespace berth::placeto {
extern const Kernels kKernels_v3;
const Kernels kKernels_v3 = kKernels;
}  // namespace berth::placeto
