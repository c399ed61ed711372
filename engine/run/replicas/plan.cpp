// Plans of replicas as text.
#include <algorithm>
#include <charconv>
#include <set>

#include "berth/error.h"
#include "berth/replicas.h"
#include "berth/support/text.h"

namespace berth {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, what);
}

std::int64_t number(std::string_view text, std::string_view part) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    refuse(cat("replicas: '", part, "' is no DEVICE=SAMPLES, such as gpu:0=27"));
  }
  return value;
}

std::vector<DeviceId> devices_of(std::string_view text, const Cluster& cluster,
                                 std::set<DeviceId>& taken) {
  std::vector<DeviceId> devices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto device = cluster.find_device(name);
    if (!device) {
      refuse(cat("replicas: the cluster has no device '", name,
                 "'; its devices are: ", cluster.device_names()));
    }
    if (!taken.insert(*device).second) {
      refuse(cat("replicas: device '", name, "' is named twice; a device has one replica"));
    }
    devices.push_back(*device);
    begin = end + 1;
  }
  return devices;
}

}  // namespace

std::string ReplicaPlan::text(const Cluster& cluster) const {
  std::string text;
  for (const Replica& replica : replicas) {
    for (std::size_t i = 0; i < replica.devices.size(); ++i) {
      text += cat(i > 0 ? "+" : "", cluster.device(replica.devices[i]).name);
    }
    text += cat("=", replica.share, ",");
  }
  return text + cat("bucket=", bucket_bytes, share_updates ? ",updates=shared" : "");
}

ReplicaPlan parse_replica_plan(std::string_view text, const Cluster& cluster, std::int64_t batch) {
  ReplicaPlan plan;
  std::set<DeviceId> taken;
  std::set<std::string_view> given;
  const auto once = [&](std::string_view key) {
    if (!given.insert(key).second) refuse(cat("replicas: '", key, "' is given twice; leave one"));
  };
  std::int64_t samples = 0;
  for (const std::string& part : split_names(text)) {
    const std::size_t equal = part.rfind('=');
    if (equal == std::string::npos) {
      refuse(cat("replicas: '", part, "' is no DEVICE=SAMPLES, such as gpu:0=27"));
    }
    if (part == "updates=shared") {
      once("updates");
      plan.share_updates = true;
      continue;
    }
    const std::int64_t value = number(std::string_view(part).substr(equal + 1), part);
    const std::string_view who = std::string_view(part).substr(0, equal);
    if (who == "bucket") {
      once("bucket");
      plan.bucket_bytes = value;
      continue;
    }
    plan.replicas.push_back({devices_of(who, cluster, taken), value});
    if (value > batch) {
      refuse(cat("replicas: '", part, "' has more samples than the batch of ", batch));
    }
    samples += value;
  }
  if (plan.replicas.empty()) refuse("replicas: no device is named; write gpu:0=27,gpu:1=37");
  if (samples != batch) {
    refuse(cat("replicas: the shares add up to ", samples, " samples, and the batch has ", batch,
               "; correct a share, or state the batch (--batch ", samples, ")"));
  }
  return plan;
}

}  // namespace berth
