// The machine a graph is placed on: devices and the links between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/dtype.h"
#include "berth/export.h"
#include "berth/types.h"

namespace berth {

/// A device as a user describes it.
struct Device {
  std::string name;  ///< unique in the cluster: "gpu:0"
  std::string kind;  ///< devices of one kind run every op at the same cost: "k80"
  std::int64_t memory_bytes = kNoLimit;
  double flops = 0;  ///< peak FLOP/s in f32; 0 = not stated (the roofline model needs it)
  /// Peak in 16-bit and 8-bit types and in f64; 0 = as `flops` (f64: half of it).
  double flops_16 = 0;
  double flops_8 = 0;
  double flops_64 = 0;
  double memory_bandwidth = 0;  ///< bytes per second; 0 = not stated
  /// Fixed cost of starting one op, >= 0. Costs leave it out; the `dataflow` semantics adds it once
  /// to every op that costs more than 0.
  double op_overhead_us = 0;
  bool host = false;  ///< the machine's own CPU: its memory is where the others stage
};

/// A directed connection. `*` in src or dst matches any device; where several entries match a pair,
/// the one with fewer stars wins, then the later one.
struct LinkSpec {
  std::string src;
  std::string dst;
  double bandwidth_bytes_per_s = 0;  ///< > 0
  double latency_us = 0;             ///< >= 0
  /// Names of channels the transfer occupies on its way (a PCIe switch, a socket interconnect): a
  /// channel carries one transfer at a time, whichever links it serves.
  std::vector<std::string> shares;
};

/// The resolved connection of an ordered pair of distinct devices.
struct Route {
  double bandwidth_bytes_per_s;
  double latency_us;
  std::vector<ChannelId> channels;  ///< sorted, distinct

  /// Duration of one transfer alone on this route.
  [[nodiscard]] double transfer_us(std::int64_t bytes) const noexcept {
    return latency_us + static_cast<double>(bytes) / bandwidth_bytes_per_s * 1e6;
  }
};

/// An immutable cluster. Every ordered pair of distinct devices has a route.
/// [thread-safe: immutable]
class BERTH_EXPORT Cluster {
 public:
  /// Throws Error(invalid_argument) for no devices, duplicate names, negative or non-finite
  /// numbers, a link to an unknown device, a pair without a link, or devices of one kind whose
  /// compute figures differ (they would need different costs). At most 4096 devices.
  Cluster(std::string name, std::vector<Device> devices, const std::vector<LinkSpec>& links);

  /// A described machine by name ("k80x4"). Throws Error(not_found) listing the presets.
  [[nodiscard]] static std::shared_ptr<const Cluster> preset(std::string_view name);
  struct PresetInfo {
    std::string name;
    std::string description;
    std::string source;  ///< where the numbers come from
  };
  [[nodiscard]] static std::span<const PresetInfo> presets();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DeviceId device_count() const noexcept {
    return static_cast<DeviceId>(devices_.size());
  }
  [[nodiscard]] const Device& device(DeviceId id) const noexcept {
    return devices_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::optional<DeviceId> find_device(std::string_view name) const noexcept;
  /// "gpu:0, gpu:1, cpu:0", for messages.
  [[nodiscard]] std::string device_names() const;

  [[nodiscard]] KindId kind_count() const noexcept { return static_cast<KindId>(kinds_.size()); }
  [[nodiscard]] const std::string& kind_name(KindId kind) const noexcept {
    return kinds_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] KindId kind_of(DeviceId id) const noexcept {
    return kind_of_[static_cast<std::size_t>(id)];
  }
  /// Some device of this kind, for its figures.
  [[nodiscard]] const Device& kind_device(KindId kind) const noexcept;

  /// src != dst.
  [[nodiscard]] const Route& route(DeviceId src, DeviceId dst) const noexcept {
    return routes_[static_cast<std::size_t>(src) * devices_.size() + static_cast<std::size_t>(dst)];
  }
  [[nodiscard]] ChannelId channel_count() const noexcept {
    return static_cast<ChannelId>(channels_.size());
  }
  [[nodiscard]] const std::string& channel_name(ChannelId id) const noexcept {
    return channels_[static_cast<std::size_t>(id)];
  }

  /// The links as given, for writers.
  [[nodiscard]] const std::vector<LinkSpec>& links() const noexcept { return links_; }

 private:
  void index_devices();
  void resolve_routes();
  [[nodiscard]] Route route_of(const LinkSpec& link);

  std::string name_;
  std::vector<Device> devices_;
  std::vector<LinkSpec> links_;
  std::vector<std::string> kinds_;
  std::vector<KindId> kind_of_;
  std::vector<Route> routes_;  // row-major by source; the diagonal is unused
  std::vector<std::string> channels_;
};

}  // namespace berth
