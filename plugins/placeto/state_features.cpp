#include "state_features.h"

#include <algorithm>
#include <cmath>

#include "berth/support/index.h"
#include "kernels.h"

namespace berth::placeto {
namespace {

/// Positions in a group's row.
enum Group : std::size_t { kCost, kOutput, kDone, kCurrent, kShared };
/// After the shared ones and the optional start, in the form by device.
constexpr std::size_t kGroupByDevice = 7;
constexpr std::size_t kCandidate = 16;
/// And of those that looking ahead adds.
enum Ahead : std::size_t { kWorse, kSlightlyWorse, kExcess, kAhead };
constexpr double kWorst = 4;
/// Among a device's features: by how much later the group would end there than where it ends first.
constexpr std::size_t kEndsLater = 12;
/// A device on which it ends later by 1/32 of the mean load is e times less likely at first.
constexpr float kEndsLaterPrior = -8;
/// Looking ahead: where the step is longer by a hundredth of the mean group's share of it, it is
/// half as likely, by a tenth one in 30, by all of it one in 20,000.
constexpr float kAheadPrior[kAhead] = {-4, -2, -4};

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

std::size_t FeatureShape::width() const {
  const std::size_t shared = kShared + (start ? 1 : 0);
  return one_hot ? shared + (parameters ? 1 : 0) + devices : shared + kGroupByDevice;
}

std::size_t FeatureShape::candidate_width() const {
  return one_hot ? 0 : kCandidate + (lookahead ? std::size_t{kAhead} : 0);
}

std::vector<float> FeatureShape::prior() const {
  std::vector<float> prior(candidate_width(), 0.0F);
  if (lookahead) {
    std::copy(std::begin(kAheadPrior), std::end(kAheadPrior), prior.begin() + kCandidate);
  } else if (!one_hot) {
    prior[kEndsLater] = kEndsLaterPrior;
  }
  return prior;
}

FeatureEncoder::FeatureEncoder(const Problem& problem, const FeatureShape& shape)
    : problem_(problem), shape_(shape), facts_(problem) {}

void FeatureEncoder::encode(const Environment::Episode& episode, float* groups, float* candidates,
                            std::uint8_t* allowed) const {
  const auto count = at(problem_.groups().count());
  const std::size_t stride = padded(shape_.width());
  std::fill_n(groups, count * stride, 0.0F);
  const GroupId current = episode.current();
  const double now_us = episode.start_us[at(current)];
  double largest_start = 0;
  for (const double start : episode.start_us) {
    largest_start = std::max(largest_start, std::abs(start - now_us));
  }
  for (std::size_t v = 0; v < count; ++v) {
    float* const row = groups + v * stride;
    const auto group = static_cast<GroupId>(v);
    row[kCost] = static_cast<float>(ratio(facts_.cost_us[v], facts_.largest_cost_us));
    row[kOutput] = static_cast<float>(ratio(facts_.output_bytes[v], facts_.largest_output));
    if (shape_.start) {
      row[kShared] = static_cast<float>(ratio(episode.start_us[v] - now_us, largest_start));
    }
    if (shape_.one_hot) {
      std::size_t next = kShared + (shape_.start ? 1 : 0);
      if (shape_.parameters) {
        const auto bytes = static_cast<double>(problem_.group_param_bytes(group));
        row[next++] = static_cast<float>(ratio(bytes, facts_.largest_parameters));
      }
      row[next + static_cast<std::size_t>(episode.placement[group])] = 1;
    }
  }
  for (std::size_t i = 0; i < episode.step; ++i) groups[at(episode.order[i]) * stride + kDone] = 1;
  groups[at(current) * stride + kCurrent] = 1;
  for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
    allowed[device] = problem_.can_run(current, device) ? 1 : 0;
  }
  if (!shape_.one_hot) encode_by_device(episode, groups, candidates);
}

void FeatureEncoder::encode_by_device(const Environment::Episode& episode, float* groups,
                                      float* candidates) const {
  const DeviceLoads loads(problem_, episode);
  encode_group_traffic(episode, loads, groups);
  encode_candidates(episode, loads, candidates);
  if (shape_.lookahead) encode_alternatives(episode, candidates);
}

/// How much longer the step is with the current group on a device than on the best one, in units of
/// the mean group's share, scaled so that small differences count.
void FeatureEncoder::encode_alternatives(const Environment::Episode& episode,
                                         float* candidates) const {
  double least_us = kCannotRun;
  for (const Score& to : episode.alternatives) {
    least_us = std::min(least_us, to.objective_us);
  }
  const auto count = static_cast<double>(problem_.groups().count());
  for (std::size_t device = 0; device < episode.alternatives.size(); ++device) {
    const auto id = static_cast<DeviceId>(device);
    if (!problem_.can_run(episode.current(), id)) continue;
    const Score& to = episode.alternatives[device];
    float* const row = candidates + device * shape_.candidate_width() + kCandidate;
    const double worse =
        to.objective_us < kCannotRun ? ratio(to.objective_us - least_us, least_us) * count : kWorst;
    row[kWorse] = static_cast<float>(std::min(worse, kWorst));
    row[kSlightlyWorse] = static_cast<float>(std::min(std::log2(1 + 64 * worse) / 2, kWorst));
    if (to.excess_bytes > 0) {
      const double excess = ratio(static_cast<double>(to.excess_bytes),
                                  static_cast<double>(problem_.memory_bytes(id)));
      row[kExcess] = static_cast<float>(std::min(0.5 + 4 * excess, kWorst));
    }
  }
}

void FeatureEncoder::encode_group_traffic(const Environment::Episode& episode,
                                          const DeviceLoads& loads, float* rows) const {
  const Groups& groups = problem_.groups();
  const std::size_t stride = padded(shape_.width());
  const std::size_t first = kShared + (shape_.start ? 1 : 0);
  const double busiest = *std::max_element(loads.us.begin(), loads.us.end());
  const DeviceId own = episode.placement[episode.current()];
  for (GroupId v = 0; v < groups.count(); ++v) {
    const DeviceId device = episode.placement[v];
    const auto away = [&](std::span<const Groups::Edge> edges, auto end) {
      double all = 0, crossing = 0;
      for (const Groups::Edge& edge : edges) {
        const auto bytes = static_cast<double>(edge.bytes);
        all += bytes;
        if (episode.placement[end(edge)] != device) crossing += bytes;
      }
      return ratio(crossing, all);
    };
    float* const row = rows + at(v) * stride + first;
    row[0] = static_cast<float>(
        ratio(static_cast<double>(problem_.group_param_bytes(v)), facts_.largest_parameters));
    // Speed of its device for it: 1 = the fastest there is.
    const double cost = problem_.group_cost_us(v, device);
    row[1] = static_cast<float>(cost > 0 ? facts_.cost_us[at(v)] / cost : 1);
    row[2] = static_cast<float>(
        away(groups.in_edges(v), [](const Groups::Edge& edge) { return edge.src; }));
    row[3] = static_cast<float>(
        away(groups.out_edges(v), [](const Groups::Edge& edge) { return edge.dst; }));
    row[4] = static_cast<float>(ratio(loads.us[static_cast<std::size_t>(device)], busiest));
    row[5] = device == own ? 1.0F : 0.0F;
    row[6] = static_cast<float>(facts_.tail[at(v)]);
  }
}

void FeatureEncoder::encode_candidates(const Environment::Episode& episode,
                                       const DeviceLoads& loads, float* candidates) const {
  const Cluster& cluster = problem_.cluster();
  const Groups& groups = problem_.groups();
  const GroupId current = episode.current();
  const double step_us = std::max(episode.evaluation.objective_us, 1e-9);
  const auto average = loads.total_us / static_cast<double>(loads.us.size());
  const PartialSchedule visited = visited_schedule(problem_, episode);
  double first_end = kCannotRun, first_free = kCannotRun;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    first_end = std::min(first_end, visited.end_us(current, device));
    first_free = std::min(first_free, visited.free_us(device));
  }
  double in_bytes = 0, out_bytes = 0;
  for (const Groups::Edge& edge : groups.in_edges(current)) {
    in_bytes += static_cast<double>(edge.bytes);
  }
  for (const Groups::Edge& edge : groups.out_edges(current)) {
    out_bytes += static_cast<double>(edge.bytes);
  }
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    float* const row = candidates + static_cast<std::size_t>(device) * shape_.candidate_width();
    std::fill_n(row, shape_.candidate_width(), 0.0F);
    const double cost = problem_.group_cost_us(current, device);
    if (cost == kCannotRun) continue;
    double near_in = 0, near_out = 0, in_us = 0, out_us = 0, ready_us = 0, needed_us = step_us;
    for (const Groups::Edge& edge : groups.in_edges(current)) {
      const DeviceId from = episode.placement[edge.src];
      double arrival = episode.start_us[at(edge.src)] + problem_.group_cost_us(edge.src, from);
      if (from == device) {
        near_in += static_cast<double>(edge.bytes);
      } else {
        const double us = cluster.route(from, device).transfer_us(edge.bytes);
        in_us += us;
        arrival += us;
      }
      if (edge.src < current) ready_us = std::max(ready_us, arrival);
    }
    for (const Groups::Edge& edge : groups.out_edges(current)) {
      const DeviceId to = episode.placement[edge.dst];
      double start = episode.start_us[at(edge.dst)];
      if (to == device) {
        near_out += static_cast<double>(edge.bytes);
      } else {
        const double us = cluster.route(device, to).transfer_us(edge.bytes);
        out_us += us;
        start -= us;
      }
      if (edge.dst > current) needed_us = std::min(needed_us, start);
    }
    const double load = loads.us[static_cast<std::size_t>(device)];
    const std::int64_t memory = problem_.memory_bytes(device);
    const double held = loads.parameter_bytes[static_cast<std::size_t>(device)] +
                        static_cast<double>(problem_.group_param_bytes(current));
    const double scale = std::max(facts_.cost_us[at(current)] + average * 1e-3, 1e-9);
    const auto bounded = [](double value) {
      return static_cast<float>(std::clamp(value, -4.0, 4.0));
    };
    row[0] = bounded(std::log2(std::max(cost, 1e-9) / std::max(facts_.cost_us[at(current)], 1e-9)));
    row[1] = bounded(ratio(load, average));
    row[2] = bounded(ratio(load + cost, average));
    row[3] = bounded(ratio(near_in, in_bytes));
    row[4] = bounded(ratio(near_out, out_bytes));
    row[5] = bounded(std::log1p(in_us / scale));
    row[6] = bounded(std::log1p(out_us / scale));
    row[7] = memory == kNoLimit ? 0.0F : bounded(held / static_cast<double>(memory));
    row[8] = cluster.device(device).host ? 1.0F : 0.0F;
    row[9] = device == episode.placement[current] ? 1.0F : 0.0F;
    row[10] = bounded(4 * (ready_us - episode.start_us[at(current)]) / step_us);
    row[11] = bounded(4 * (needed_us - ready_us - cost) / step_us);
    const double free = visited.free_us(device);
    const double ready = visited.ready_us(current, device);
    const double share = std::max(average, 1e-9);
    row[kEndsLater] = bounded(4 * (std::max(ready, free) + cost - first_end) / share);
    row[13] = bounded(4 * (free - first_free) / share);
    row[14] = bounded(4 * (ready - free) / share);
    row[15] = bounded(visited.load_us(device) / share);
  }
}

}  // namespace berth::placeto
