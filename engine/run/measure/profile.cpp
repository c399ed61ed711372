#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "measure/counted_step.h"
#include "measure/host_state.h"
#include "measure/statistics.h"

namespace berth {
namespace {

constexpr int kLinkSamples = 25;
/// Sent at once, where the receiver copies: what one more of them takes is the receiver's.
constexpr int kAtOnce = 17;
constexpr std::int64_t kLinkBytes[] = {4,       1 << 10, 1 << 14, 1 << 16,
                                       1 << 18, 1 << 20, 1 << 22, 1 << 24};

/// Measurements of steps on one device about its kind.
struct KindProfile {
  std::vector<double> op_us;
  std::vector<std::int64_t> workspace_bytes;
  double overhead_us = 0;
  int steps = 0;  ///< that count
  bool contended = false;
};

/// The time that `samples` tell.
double typical_us(std::vector<double> samples, bool contended) {
  return contended ? low_decile(std::move(samples)) : robust_median(std::move(samples));
}

/// Runs `steps`, and as many more as a core needs to reach its clock rate: the steps of a small
/// model are over before that.
void warm_up(Session& session, const Placement& placement, const StepOptions& step, int steps) {
  constexpr auto kAtLeast = std::chrono::milliseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps || std::chrono::steady_clock::now() - begin < kAtLeast; ++i) {
    static_cast<void>(session.run(placement, step));
  }
}

KindProfile profile_device(Session& session, DeviceId device, const ProfileOptions& options) {
  const auto ops = at(session.program().graph->op_count());
  const Placement placement(ops, device);
  StepOptions step;
  step.seed = options.seed;
  step.trace = true;
  step.should_stop = options.should_stop;
  std::vector<std::vector<double>> samples(ops);
  // Another program's turn on the core makes a step longer and an op in it, but not what is between ops.
  std::vector<double> gaps_us;
  KindProfile found;
  found.workspace_bytes.resize(ops, 0);
  warm_up(session, placement, step, options.warm_up);
  const HostState before = read_host_state();
  for (int i = 0; i < options.repeats; ++i) {
    const std::optional<StepResult> result = counted_step(session, placement, step, gaps_us.size());
    if (!result) break;
    double ops_us = 0;
    for (std::size_t op = 0; op < ops; ++op) {
      samples[op].push_back(result->trace.op_end_us[op] - result->trace.op_start_us[op]);
      ops_us += samples[op].back();
      found.workspace_bytes[op] = std::max(found.workspace_bytes[op], result->workspace_bytes[op]);
    }
    gaps_us.push_back(result->runtime_us - ops_us);
  }
  found.steps = static_cast<int>(gaps_us.size());
  found.contended = contended(before, read_host_state());
  double costly = 0;
  for (std::vector<double>& of_op : samples) {
    found.op_us.push_back(typical_us(std::move(of_op), found.contended));
    if (found.op_us.back() > 0) ++costly;
  }
  // Time of the step beyond its ops, so that a step on this device alone is simulated as it was
  // measured.
  if (costly > 0) {
    found.overhead_us = std::max(0.0, typical_us(std::move(gaps_us), found.contended)) / costly;
  }
  return found;
}

/// The time of `count` transfers at once. Takes as few as have a median where the profile is stopped: the ops
/// were measured by then, and the links take a second of their minutes.
double measured_us(Backend& backend, DeviceId src, DeviceId dst, std::int64_t bytes, int count,
                   const ProfileOptions& options, bool contended) {
  std::vector<double> samples;
  static_cast<void>(backend.transfers_us(src, dst, bytes, count));  // the first one warms up
  for (int i = 0; i < kLinkSamples; ++i) {
    if (samples.size() >= kFewestSamples && options.should_stop && options.should_stop()) break;
    samples.push_back(backend.transfers_us(src, dst, bytes, count));
  }
  return std::max(1e-3, typical_us(std::move(samples), contended));
}

LinkSpec profile_link(Backend& backend, const Cluster& cluster, DeviceId src, DeviceId dst,
                      const ProfileOptions& options, bool contended, Profile& profile) {
  std::vector<Point> points;
  for (const std::int64_t bytes : kLinkBytes) {
    const double us = measured_us(backend, src, dst, bytes, 1, options, contended);
    profile.link_samples.push_back({src, dst, bytes, us});
    points.push_back({static_cast<double>(bytes), us});
  }
  const TransferLine line = fit_transfers(points);
  LinkSpec link;
  link.src = cluster.device(src).name;
  link.dst = cluster.device(dst).name;
  // Two devices of one GPU: what the backend says, where no tensor was large enough to tell.
  const bool told = line.bandwidth_bytes_per_s < kNoSlope;
  link.bandwidth_bytes_per_s =
      told ? line.bandwidth_bytes_per_s : cluster.route(src, dst).bandwidth_bytes_per_s;
  link.latency_us = line.latency_us;
  if (cluster.route(src, dst).receiver_us) {
    const double all_us =
        measured_us(backend, src, dst, kLinkBytes[0], kAtOnce, options, contended);
    const double each_us = (all_us - points.front().us) / (kAtOnce - 1);
    link.receiver_us = std::clamp(each_us, 0.0, line.latency_us);
    link.latency_us -= *link.receiver_us;
  }
  return link;
}

std::vector<LinkSpec> profile_links(Backend& backend, const Cluster& cluster,
                                    const ProfileOptions& options, bool contended,
                                    Profile& profile) {
  std::vector<LinkSpec> links;
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      if (options.progress) {
        options.progress(cat("link ", cluster.device(src).name, " to ", cluster.device(dst).name));
      }
      links.push_back(profile_link(backend, cluster, src, dst, options, contended, profile));
    }
  }
  return links;
}

}  // namespace

Profile profile(Backend& backend, Session& session, const ProfileOptions& options) {
  if (options.warm_up < 0 || options.repeats < 3) {
    throw Error(ErrorCode::invalid_argument,
                cat("cannot profile with ", options.warm_up, " warm-up steps and ", options.repeats,
                    " that count; give at least 0 and 3"));
  }
  const std::shared_ptr<const Cluster> cluster = backend.cluster();
  const HostState before = read_host_state();
  Profile profile;
  std::vector<std::vector<double>> us;
  std::vector<std::int64_t> workspace_bytes;
  std::vector<double> overhead_us;
  bool contended = false;
  for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
    DeviceId device = 0;
    while (cluster->kind_of(device) != kind) ++device;
    if (options.progress) options.progress(cat("ops on ", cluster->device(device).name));
    KindProfile found = profile_device(session, device, options);
    us.push_back(std::move(found.op_us));
    overhead_us.push_back(found.overhead_us);
    contended |= found.contended;
    if (found.steps < options.repeats) {
      profile.stopped = true;
      profile.notes.push_back(cat("stopped after ", found.steps, " of ", options.repeats,
                                  " steps on ", cluster->device(device).name));
    }
    workspace_bytes.resize(found.workspace_bytes.size(), 0);
    for (std::size_t op = 0; op < workspace_bytes.size(); ++op) {
      workspace_bytes[op] = std::max(workspace_bytes[op], found.workspace_bytes[op]);
    }
  }
  const std::vector<LinkSpec> links = profile_links(backend, *cluster, options, contended, profile);
  if (!links.empty() && options.should_stop && options.should_stop()) {
    profile.stopped = true;
    profile.notes.push_back("stopped before every link was measured often");
  }
  std::vector<Device> devices;
  for (DeviceId d = 0; d < cluster->device_count(); ++d) {
    devices.push_back(cluster->device(d));
    devices.back().op_overhead_us = overhead_us[at(cluster->kind_of(d))];
  }
  profile.cluster = std::make_shared<const Cluster>(
      cat(cluster->name(), " (", backend.description(), ")"), std::move(devices), links);
  profile.costs =
      std::make_shared<const Costs>(std::move(us), std::move(workspace_bytes),
                                    cat("profile of ", cluster->name()), session.joined());
  for (std::string& note : disturbances(before, read_host_state())) {
    profile.notes.push_back(std::move(note));
  }
  if (contended) {
    profile.notes.push_back(
        "the least times of ops and links count, since most waited for other programs");
  }
  return profile;
}

}  // namespace berth
