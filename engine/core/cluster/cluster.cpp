#include "berth/cluster.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

constexpr std::size_t kMostDevices = 4096;
constexpr std::string_view kAny = "*";

[[noreturn]] void fail(const std::string& cluster, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, cat("cluster '", cluster, "': ", what));
}

void check_device(const std::string& cluster, const Device& device) {
  if (device.name.empty() || device.name == kAny) {
    fail(cluster, cat("a device is named '", device.name, "'; give every device a name"));
  }
  if (device.kind.empty()) {
    fail(cluster, cat("device '", device.name, "' has no kind; name one, like 'gpu'"));
  }
  if (device.memory_bytes < 0) {
    fail(cluster, cat("device '", device.name, "' has ", device.memory_bytes,
                      " bytes of memory; leave memory_bytes out for no limit"));
  }
  for (const double figure :
       {device.flops, device.flops_16, device.flops_8, device.flops_64, device.flops_tf32,
        device.memory_bandwidth, device.op_overhead_us, device.multiprocessors}) {
    if (!std::isfinite(figure) || figure < 0) {
      fail(cluster, cat("device '", device.name, "' has a figure of ", figure,
                        "; figures are finite and not negative"));
    }
  }
}

void check_runs(const std::string& cluster, const Device& device) {
  const auto& [types, dtypes] = device.runs;
  if (std::find(types.begin(), types.end(), "") != types.end()) {
    fail(cluster, cat("device '", device.name,
                      "' runs an op type without a name; write types such as 'Conv'"));
  }
  if (std::find(dtypes.begin(), dtypes.end(), DType::unknown) != dtypes.end()) {
    fail(cluster,
         cat("device '", device.name, "' runs an unknown element type; write types such as 'f16'"));
  }
}

/// The key in which two devices differ that those of one kind have alike, as cluster files call it; empty = none.
std::string_view difference(const Device& a, const Device& b) {
  if (a.flops != b.flops) return "flops";
  if (a.flops_16 != b.flops_16) return "flops_16";
  if (a.flops_8 != b.flops_8) return "flops_8";
  if (a.flops_64 != b.flops_64) return "flops_64";
  if (a.flops_tf32 != b.flops_tf32) return "flops_tf32";
  if (a.memory_bandwidth != b.memory_bandwidth) return "memory_bandwidth_bytes_per_s";
  if (a.op_overhead_us != b.op_overhead_us) return "op_overhead_us";
  if (a.multiprocessors != b.multiprocessors) return "multiprocessors";
  if (a.host != b.host) return "host";
  if (a.engine_per_link != b.engine_per_link) return "engine_per_link";
  return a.runs != b.runs ? "runs" : "";
}

void check_link(const std::string& cluster, const LinkSpec& link) {
  if (!std::isfinite(link.bandwidth_bytes_per_s) || link.bandwidth_bytes_per_s <= 0) {
    fail(cluster, cat("link ", link.src, " -> ", link.dst, " has a bandwidth of ",
                      link.bandwidth_bytes_per_s, " bytes/s; it must be above 0"));
  }
  if (!std::isfinite(link.latency_us) || link.latency_us < 0) {
    fail(cluster, cat("link ", link.src, " -> ", link.dst, " has a latency of ", link.latency_us,
                      " us; it must not be negative"));
  }
  if (link.receiver_us && !(std::isfinite(*link.receiver_us) && *link.receiver_us >= 0)) {
    fail(cluster, cat("link ", link.src, " -> ", link.dst, " takes ", *link.receiver_us,
                      " us of its receiver; that must not be negative"));
  }
  if (link.receiver_us && !link.shares.empty()) {
    fail(cluster, cat("link ", link.src, " -> ", link.dst, " shares '", link.shares.front(),
                      "', but its receiver copies (receiver_us), and nothing is held on the way: "
                      "leave one of them out"));
  }
  if (link.receiver_us && link.parallel) {
    fail(cluster, cat("link ", link.src, " -> ", link.dst,
                      " is parallel, but its receiver copies (receiver_us), one transfer after the "
                      "other: leave one of them out"));
  }
  if (link.parallel && !link.shares.empty()) {
    fail(cluster,
         cat("link ", link.src, " -> ", link.dst, " is parallel and shares '", link.shares.front(),
             "'; transfers on a parallel link wait for nothing: leave one of them out"));
  }
}

}  // namespace

struct Cluster::Data {
  std::string name;
  std::vector<Device> devices;
  std::vector<LinkSpec> links;
  std::vector<std::string> kinds;
  std::vector<KindId> kind_of;
  std::vector<Route> routes;  // row-major by source; the diagonal is unused
  std::vector<std::string> channels;
  bool has_parallel_routes = false;
  bool has_copying_receivers = false;
  bool has_engines_per_link = false;
  DeviceId worker = kNoDevice;  // for which hosts keep parameters

  void index_devices();
  void resolve_routes();
  using Numbers = std::unordered_map<std::string_view, std::size_t>;
  [[nodiscard]] Route route_of(const LinkSpec& link, Numbers& channel_numbers);
  [[nodiscard]] const Device& first_of(KindId kind) const {
    const auto first = std::find(kind_of.begin(), kind_of.end(), kind);
    return devices[at(first - kind_of.begin())];
  }
  [[nodiscard]] std::optional<DeviceId> find(std::string_view device) const noexcept {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].name == device) return static_cast<DeviceId>(i);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string device_names() const {
    std::vector<std::string> names;
    for (const Device& device : devices) names.push_back(device.name);
    return join(names);
  }
};

void Cluster::Data::index_devices() {
  if (devices.empty()) fail(name, "has no devices; describe at least one");
  if (devices.size() > kMostDevices) {
    fail(name, cat("has ", devices.size(), " devices; at most ", kMostDevices, " are supported"));
  }
  std::unordered_set<std::string_view> names;
  for (const Device& device : devices) {
    check_device(name, device);
    check_runs(name, device);
    if (!names.insert(device.name).second) {
      fail(name, cat("two devices are named '", device.name, "'; make names unique"));
    }
    const auto known = std::find(kinds.begin(), kinds.end(), device.kind);
    const auto kind = static_cast<KindId>(known - kinds.begin());
    if (known == kinds.end()) {
      kinds.push_back(device.kind);
    } else if (const std::string_view key = difference(device, first_of(kind)); !key.empty()) {
      fail(name,
           cat("devices '", first_of(kind).name, "' and '", device.name, "' are both of kind '",
               device.kind, "' but differ in '", key, "'; give one of them a kind of its own"));
    }
    kind_of.push_back(kind);
    has_engines_per_link = has_engines_per_link || device.engine_per_link;
  }
}

Route Cluster::Data::route_of(const LinkSpec& link, Numbers& channel_numbers) {
  Route route{link.bandwidth_bytes_per_s,
              link.latency_us,
              {},
              link.parallel || link.receiver_us,
              link.receiver_us};
  for (const std::string& channel : link.shares) {
    const auto [known, is_new] = channel_numbers.try_emplace(channel, channels.size());
    if (is_new) channels.push_back(channel);
    route.channels.push_back(static_cast<ChannelId>(known->second));
  }
  std::sort(route.channels.begin(), route.channels.end());
  route.channels.erase(std::unique(route.channels.begin(), route.channels.end()),
                       route.channels.end());
  return route;
}

void Cluster::Data::resolve_routes() {
  const std::size_t count = devices.size();
  Numbers device_numbers, channel_numbers;
  for (std::size_t i = 0; i < count; ++i) device_numbers.emplace(devices[i].name, i);
  // The devices that an end of a link stands for, as [first, last).
  const auto range = [&](const std::string& end) -> std::pair<std::size_t, std::size_t> {
    if (end == kAny) return {0, count};
    const auto device = device_numbers.find(end);
    if (device == device_numbers.end()) {
      fail(name, cat("a link names device '", end,
                     "', which it does not have. Devices: ", device_names(), "."));
    }
    return {device->second, device->second + 1};
  };
  routes.assign(count * count, Route{0, 0, {}});
  // Links with more stars come first, so that more specific and later ones overwrite them.
  for (int stars = 2; stars >= 0; --stars) {
    for (const LinkSpec& link : links) {
      if ((link.src == kAny) + (link.dst == kAny) != stars) continue;
      check_link(name, link);
      const auto [src_begin, src_end] = range(link.src);
      const auto [dst_begin, dst_end] = range(link.dst);
      const Route route = route_of(link, channel_numbers);
      for (std::size_t src = src_begin; src < src_end; ++src) {
        for (std::size_t dst = dst_begin; dst < dst_end; ++dst) {
          if (src != dst) routes[src * count + dst] = route;
        }
      }
    }
  }
  for (std::size_t src = 0; src < count; ++src) {
    for (std::size_t dst = 0; dst < count; ++dst) {
      if (src == dst) continue;
      has_parallel_routes = has_parallel_routes || routes[src * count + dst].parallel;
      has_copying_receivers = has_copying_receivers || routes[src * count + dst].receiver_us;
      if (routes[src * count + dst].bandwidth_bytes_per_s == 0) {
        fail(name, cat("no link from '", devices[src].name, "' to '", devices[dst].name,
                       "'; add one, or a link with \"*\""));
      }
    }
  }
}

Cluster::Cluster(std::string name, std::vector<Device> devices,
                 const std::vector<LinkSpec>& links) {
  auto data = std::make_shared<Data>();
  data->name = std::move(name);
  data->devices = std::move(devices);
  data->links = links;
  data->index_devices();
  data->resolve_routes();
  data_ = std::move(data);
}

const std::string& Cluster::name() const noexcept {
  return data_->name;
}
DeviceId Cluster::device_count() const noexcept {
  return static_cast<DeviceId>(data_->devices.size());
}
const Device& Cluster::device(DeviceId id) const noexcept {
  return data_->devices[at(id)];
}
std::optional<DeviceId> Cluster::find_device(std::string_view name) const noexcept {
  return data_->find(name);
}
std::string Cluster::device_names() const {
  return data_->device_names();
}
KindId Cluster::kind_count() const noexcept {
  return static_cast<KindId>(data_->kinds.size());
}
const std::string& Cluster::kind_name(KindId kind) const noexcept {
  return data_->kinds[at(kind)];
}
KindId Cluster::kind_of(DeviceId id) const noexcept {
  return data_->kind_of[at(id)];
}
const Device& Cluster::kind_device(KindId kind) const noexcept {
  return data_->first_of(kind);
}
const Route& Cluster::route(DeviceId src, DeviceId dst) const noexcept {
  return data_->routes[at(src) * data_->devices.size() + at(dst)];
}
bool Cluster::has_parallel_routes() const noexcept {
  return data_->has_parallel_routes;
}
bool Cluster::has_engines_per_link() const noexcept {
  return data_->has_engines_per_link;
}
bool Cluster::has_copying_receivers() const noexcept {
  return data_->has_copying_receivers;
}
ChannelId Cluster::channel_count() const noexcept {
  return static_cast<ChannelId>(data_->channels.size());
}
const std::string& Cluster::channel_name(ChannelId id) const noexcept {
  return data_->channels[at(id)];
}
DeviceId Cluster::works_in(DeviceId id) const noexcept {
  return has_keepers() && device(id).host ? data_->worker : id;
}
bool Cluster::has_keepers() const noexcept {
  return data_->worker != kNoDevice;
}
std::shared_ptr<const Cluster> Cluster::with_hosts_keeping_for(DeviceId worker) const {
  auto data = std::make_shared<Data>(*data_);
  data->worker = worker;
  auto cluster = std::make_shared<Cluster>(*this);
  cluster->data_ = std::move(data);
  return cluster;
}
const std::vector<LinkSpec>& Cluster::links() const noexcept {
  return data_->links;
}

}  // namespace berth
