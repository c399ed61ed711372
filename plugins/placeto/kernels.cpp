#include "kernels.h"

namespace berth::placeto {

extern const Kernels kKernels_base;
#ifdef __x86_64__
extern const Kernels kKernels_v3;
extern const Kernels kKernels_v4;
#endif

const Kernels& kernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd")) {
    return kKernels_v4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kKernels_v3;
#endif
  return kKernels_base;
}

}  // namespace berth::placeto
