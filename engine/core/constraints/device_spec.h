// Devices as TensorFlow names them: "/job:worker/replica:0/task:1/device:GPU:0", or some of its parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Names of devices are compared in lower case.
[[nodiscard]] std::string lower(std::string_view text);

/// A part that is absent, or "*", says nothing. Letters are lower case.
struct DeviceSpec {
  std::optional<std::string> job, type;
  std::optional<int> replica, task, index;

  [[nodiscard]] bool states_task() const { return job || replica || task; }
  [[nodiscard]] bool same_task(const DeviceSpec& other) const {
    return job == other.job && replica == other.replica && task == other.task;
  }
};

/// Reads "/gpu:1" and "gpu:1" as "/device:GPU:1". Nothing for a text with a part of another form.
[[nodiscard]] std::optional<DeviceSpec> parse_device_spec(std::string_view text);

/// Whether the two agree in all parts that both state.
[[nodiscard]] bool agree(const DeviceSpec& a, const DeviceSpec& b);

}  // namespace berth
