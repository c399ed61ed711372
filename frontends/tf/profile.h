// What TensorFlow measured of a step: a RunMetadata, its StepStats, or a CostGraphDef.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth::tf_frontend {

/// A device by TensorFlow's type and number, whichever process it belongs to.
struct DeviceName {
  std::string type;  ///< "CPU", "GPU", ...; empty where a name tells none
  int index = 0;
};

/// Of a full name ("/job:a/task:0/device:GPU:1") or of the first years' ("/gpu:1").
[[nodiscard]] DeviceName parse_device(std::string_view name);

struct Profile {
  struct OfDevice {
    DeviceName device;
    /// By node: compute time over the whole step, every run of the node added up.
    ///
    /// On a device whose kernels were traced ("stream:all", else its single streams) the sum of the
    /// node's kernels, and 0 for a node that launched none. Otherwise the time its op took on the
    /// executor's thread, without what it waited for. Of a CostGraphDef its estimate.
    std::unordered_map<std::string, double> us;
  };
  std::vector<OfDevice> devices;
};

/// Whether a file, binary or text, compressed or not, begins as one of the messages does.
[[nodiscard]] bool looks_like_profile(const std::filesystem::path& path);

/// Throws Error naming the file, the byte (or line and column of a text file) and the fix.
[[nodiscard]] Profile read_profile(const std::filesystem::path& path);

}  // namespace berth::tf_frontend
