#include "kernels_body.h"

namespace berth::placeto {
extern const Kernels kKernels_v4;
const Kernels kKernels_v4 = kKernels;
}  // namespace berth::placeto
