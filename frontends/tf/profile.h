// TensorFlow's measurements of a step: a RunMetadata, its StepStats, or a CostGraphDef.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth::tf_frontend {

/// A device by TensorFlow's type and number, whichever process it belongs to.
struct DeviceName {
  std::string type;  ///< "CPU", "GPU", ...; empty if the name does not tell
  int index = 0;
};

/// From a full name ("/job:a/task:0/device:GPU:1") or one of the first years ("/gpu:1").
[[nodiscard]] DeviceName parse_device(std::string_view name);

struct Profile {
  struct OfDevice {
    DeviceName device;
    /// Compute time of each node over the whole step, the sum over all its runs.
    ///
    /// On a device whose kernels were traced ("stream:all", else its single streams) it is the sum
    /// of the node's kernels, and 0 for a node that launched none. Otherwise it is the time of the
    /// op on the executor's thread, without waiting. For a CostGraphDef it is its estimate.
    /// kNotMeasured for a node of which a run ends before it begins.
    std::unordered_map<std::string, double> us;
  };
  std::vector<OfDevice> devices;
};

/// Whether a file, binary or text, compressed or not, begins like one of the messages.
[[nodiscard]] bool looks_like_profile(const std::filesystem::path& path);

/// Throws Error naming the file, the byte (or line and column of a text file) and the fix.
[[nodiscard]] Profile read_profile(const std::filesystem::path& path);

}  // namespace berth::tf_frontend
