#include "berth/plugin.h"

#include "cpu/backend.h"

using berth::cpu::CpuBackend;
using berth::cpu::kOptions;
BERTH_PLUGIN(CpuBackend, "cpu", "1.0",
             "logical devices on this machine's cores, each with memory of its own", kOptions);
