// The GPUs that CUDA lets a process use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::detect {

struct VisibleGpu {
  std::size_t gpu = 0;  ///< its place among those of the machine
  std::string entry;    ///< of the mask, as written
};

/// Those that `mask`, the value of CUDA_VISIBLE_DEVICES, names, in its order, which is that of the process's
/// own numbers: by number or by the beginning of a UUID that no other GPU has. `uuids` are those of the
/// machine's GPUs by their PCI addresses. As in CUDA, the first entry that names none ends the list, and one that
/// comes twice leaves nothing.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(std::string_view mask,
                                                   const std::vector<std::string>& uuids);

}  // namespace berth::detect
