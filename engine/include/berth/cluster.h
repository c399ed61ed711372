/// @file
/// The machine a graph is placed on: devices and the links between them.
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

/// Ops that a device runs. An empty list leaves nothing out.
struct DeviceOps {
  std::vector<std::string> types;  ///< op types, as the graph has them: "Conv"
  std::vector<DType> dtypes;       ///< element types of what an op reads and writes

  [[nodiscard]] bool every() const noexcept { return types.empty() && dtypes.empty(); }
  bool operator==(const DeviceOps&) const = default;
};

/// A device as a user describes it.
struct Device {
  std::string name;  ///< unique in the cluster: "gpu:0"
  std::string kind;  ///< "k80"; devices of one kind run every op at the same cost
  std::int64_t memory_bytes = kNoLimit;
  double flops = 0;  ///< peak FLOP/s in f32; 0 = not stated (the roofline model needs it)
  /// Peak FLOP/s in 16-bit types, 8-bit types and f64. 0 = the same as `flops` (f64: half of it).
  double flops_16 = 0;
  double flops_8 = 0;
  double flops_64 = 0;
  /// Peak FLOP/s of matrix units that take f32 operands in TF32 and accumulate in f32. 0 = it has none.
  /// Arithmetic (costs.h) says which products take it.
  double flops_tf32 = 0;
  double memory_bandwidth = 0;  ///< bytes per second; 0 = not stated
  /// Fixed cost of starting one op, >= 0. It is not part of Costs. `dataflow` semantics adds it
  /// once to every op whose cost is above 0.
  double op_overhead_us = 0;
  /// Units that run thread blocks independently of each other (NVIDIA: streaming multiprocessors).
  /// 0 = not stated: the roofline model then takes every kernel to fill the device.
  double multiprocessors = 0;
  bool host = false;  ///< the machine's own CPU, in whose memory other devices stage data
  /// The ops that it runs, if not every one: a neural processor's runtime compiles a list of types.
  /// op_refusal (costs.h) says which ops are left out.
  DeviceOps runs;
  /// Whether it has a copy engine per link and direction, as a host has a stream per GPU, and a GPU of a
  /// mesh a port per peer: its transfers then wait for those between the same two devices, in that
  /// direction, and for channels. False: one engine sends for all its links, and one receives. `dataflow`
  /// semantics and latency only; the rest ignores it.
  bool engine_per_link = false;
};

/// A directed link. `*` as src or dst matches any device. If several entries match a pair, the one
/// with fewer stars wins, then the later one.
struct LinkSpec {
  std::string src;
  std::string dst;
  double bandwidth_bytes_per_s = 0;  ///< > 0
  double latency_us = 0;             ///< >= 0
  /// Names of the channels that a transfer occupies, such as a PCIe switch or a socket
  /// interconnect. A channel carries one transfer at a time, whichever links it serves.
  std::vector<std::string> shares;
  /// Transfers on it wait for nothing: they occupy neither their devices' engines nor each other.
  /// Then there is nothing to share. `dataflow` semantics and latency only; the rest ignores it.
  bool parallel = false;
  /// Given, >= 0: the receiving device makes the copy itself, between two of its ops, as processors do
  /// that share memory. A transfer then holds nothing on its way, is noticed after the latency, and takes
  /// this and bytes / bandwidth of the receiver's time. There is nothing to share. `dataflow` semantics
  /// and latency only; the rest takes it as time of the transfer.
  std::optional<double> receiver_us = std::nullopt;
};

/// The resolved link of an ordered pair of distinct devices.
struct Route {
  double bandwidth_bytes_per_s;
  double latency_us;
  std::vector<ChannelId> channels;  ///< sorted, distinct
  bool parallel = false;            ///< as in LinkSpec, and where the receiver copies
  std::optional<double> receiver_us = std::nullopt;  ///< as in LinkSpec

  /// Duration of a transfer that has the route, and a receiver that copies, to itself.
  [[nodiscard]] double transfer_us(std::int64_t bytes) const noexcept {
    return latency_us + receiver_us.value_or(0) +
           static_cast<double>(bytes) / bandwidth_bytes_per_s * 1e6;
  }
  bool operator==(const Route&) const = default;
};

/// An immutable cluster. Every ordered pair of distinct devices has a route.
/// [thread-safe: immutable]
class BERTH_EXPORT Cluster {
 public:
  /// At most 4096 devices. Throws Error(invalid_argument) for an empty list of devices, duplicate
  /// names, negative or non-finite numbers, an op type without a name, a link to an unknown device, a pair without a link, and
  /// devices of one kind with different compute figures (they would need different costs).
  Cluster(std::string name, std::vector<Device> devices, const std::vector<LinkSpec>& links);

  /// A built-in machine by name ("k80x4"). Throws Error(not_found) listing the presets.
  [[nodiscard]] static std::shared_ptr<const Cluster> preset(std::string_view name);
  struct PresetInfo {
    std::string name;
    std::string description;
    std::string source;  ///< where the numbers come from
  };
  [[nodiscard]] static std::span<const PresetInfo> presets();

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] DeviceId device_count() const noexcept;
  [[nodiscard]] const Device& device(DeviceId id) const noexcept;
  [[nodiscard]] std::optional<DeviceId> find_device(std::string_view name) const noexcept;
  /// All names for messages: "gpu:0, gpu:1, cpu:0".
  [[nodiscard]] std::string device_names() const;

  [[nodiscard]] KindId kind_count() const noexcept;
  [[nodiscard]] const std::string& kind_name(KindId kind) const noexcept;
  [[nodiscard]] KindId kind_of(DeviceId id) const noexcept;
  /// Any device of this kind, for the figures that they share.
  [[nodiscard]] const Device& kind_device(KindId kind) const noexcept;

  /// Requires src != dst.
  [[nodiscard]] const Route& route(DeviceId src, DeviceId dst) const noexcept;
  /// Whether any route is.
  [[nodiscard]] bool has_parallel_routes() const noexcept;
  /// Whether some device has Device::engine_per_link.
  [[nodiscard]] bool has_engines_per_link() const noexcept;
  /// Whether some route has LinkSpec::receiver_us.
  [[nodiscard]] bool has_copying_receivers() const noexcept;
  [[nodiscard]] ChannelId channel_count() const noexcept;
  [[nodiscard]] const std::string& channel_name(ChannelId id) const noexcept;

  /// The device in whose memory ops on this one have all but their parameters: itself, unless it only
  /// keeps parameters for another.
  [[nodiscard]] DeviceId works_in(DeviceId id) const noexcept;
  /// Whether some device only keeps parameters.
  [[nodiscard]] bool has_keepers() const noexcept;
  /// The same machine with hosts that only keep parameters, for `worker`.
  [[nodiscard]] std::shared_ptr<const Cluster> with_hosts_keeping_for(DeviceId worker) const;

  /// The links as given to the constructor, for writers.
  [[nodiscard]] const std::vector<LinkSpec>& links() const noexcept;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace berth
