#include "berth/plugin.h"

#include "cuda/backend.h"

using berth::cuda::CudaBackend;
using berth::cuda::kOptions;
BERTH_PLUGIN(CudaBackend, "cuda", "1.0",
             "this machine's NVIDIA GPUs, shared out to logical devices, and the host", kOptions);
