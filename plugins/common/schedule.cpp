#include "common/schedule.h"

#include <algorithm>

#include "berth/support/sums.h"
#include "common/spread.h"

namespace berth::policies {
Schedule::Schedule(const Problem& problem, ScheduleRules rules)
    : problem_(problem),
      graph_(problem.graph()),
      cluster_(problem.cluster()),
      group_of_(problem.groups().map()),
      rules_(rules),
      broadcasts_(problem.options().semantics == Semantics::placeto),
      placement_(at(problem.groups().count()), kNoDevice),
      footprint_(problem, rules.output_share),
      used_bytes_(at(cluster_.device_count()), 0),
      end_us_(at(graph_.op_count()), -1),
      devices_(used_bytes_.size()),
      engines_(problem),
      outgoing_us_(engines_.count(), 0),
      incoming_us_(engines_.count(), 0),
      channels_us_(at(cluster_.channel_count()), 0),
      first_copy_(at(graph_.tensor_count()), kNone) {
  if (broadcasts_) {
    device_gap_us_ = problem.options().device_gap_us;
    transfer_gap_us_ = problem.options().transfer_gap_us;
  }
}

double Schedule::busy_us(OpId op, DeviceId device) const {
  const double us = problem_.cost_us(op, device);
  if (us == 0) return 0;
  return us + (broadcasts_ ? device_gap_us_ : cluster_.device(device).op_overhead_us);
}

double Schedule::known_arrival_us(TensorId tensor, DeviceId device) const {
  for (std::int32_t c = first_copy_[at(tensor)]; c != kNone; c = copies_[at(c)].next) {
    if (broadcasts_ || copies_[at(c)].device == device) return copies_[at(c)].arrival_us;
  }
  return -1;
}

double Schedule::transfer_us(TensorId tensor, const Route& route) const {
  const double us = route.transfer_us(graph_.bytes(tensor));
  return broadcasts_ ? us - route.latency_us : us;
}

double Schedule::transfer_start_us(const Route& route, DeviceId src, DeviceId dst,
                                   double from_us) const {
  if (!contends(route)) return from_us;
  double start_us = std::max(from_us, outgoing_us_[engines_.outgoing(src, dst)]);
  if (broadcasts_) return start_us;
  start_us = std::max(start_us, incoming_us_[engines_.incoming(src, dst)]);
  for (const ChannelId channel : route.channels) {
    start_us = std::max(start_us, channels_us_[at(channel)]);
  }
  return start_us;
}

double Schedule::ready_us(OpId op, DeviceId device) const {
  double ready_us = 0;
  // Transfers of one op to one device follow each other. Into one with an engine per link they come over several
  // at once, and how many over the same is not looked at.
  double first_start_us = kCannotRun;
  double total_us = 0;
  for (const Edge& edge : graph_.in_edges(op)) {
    if (!placed(edge.src)) continue;
    const DeviceId src = placement_[group_of_[at(edge.src)]];
    const double end_us = end_us_[at(edge.src)];
    if (src == device) {
      ready_us = std::max(ready_us, end_us);
      continue;
    }
    const Route& route = cluster_.route(src, device);
    if (edge.tensor == kNoTensor) {
      ready_us = std::max(ready_us, end_us + (broadcasts_ ? 0 : route.latency_us));
      continue;
    }
    const double known_us = known_arrival_us(edge.tensor, device);
    if (known_us >= 0) {
      ready_us = std::max(ready_us, known_us);
      continue;
    }
    const double us = transfer_us(edge.tensor, route);
    const double start_us = transfer_start_us(route, src, device, end_us);
    ready_us = std::max(ready_us, start_us + us);
    if (!contends(route) || engines_.one_per_link(device)) continue;
    first_start_us = std::min(first_start_us, start_us);
    total_us += us;
  }
  if (broadcasts_ || total_us == 0) return ready_us;
  return std::max(ready_us, first_start_us + total_us);
}

double Schedule::start_us(OpId op, DeviceId device, double ready_us) const {
  return devices_[at(device)].earliest(ready_us, busy_us(op, device));
}

double Schedule::send(const Edge& edge, DeviceId src, DeviceId dst) {
  const Route& route = cluster_.route(src, dst);
  const double us = transfer_us(edge.tensor, route);
  const double start_us = transfer_start_us(route, src, dst, end_us_[at(edge.src)]);
  const double end_us = start_us + us;
  if (contends(route)) {
    outgoing_us_[engines_.outgoing(src, dst)] = end_us + transfer_gap_us_;
    incoming_us_[engines_.incoming(src, dst)] = end_us;
    for (const ChannelId channel : route.channels) {
      channels_us_[at(channel)] = end_us;
    }
  }
  used_bytes_[at(dst)] = saturating_sum(used_bytes_[at(dst)], copy_bytes(edge.tensor));
  copies_.push_back({dst, end_us, first_copy_[at(edge.tensor)]});
  first_copy_[at(edge.tensor)] = static_cast<std::int32_t>(copies_.size()) - 1;
  return end_us;
}

void Schedule::place(OpId op, DeviceId device) {
  const GroupId group = group_of_[at(op)];
  if (placement_[group] == kNoDevice) {
    placement_[group] = device;
    used_bytes_[at(device)] =
        saturating_sum(used_bytes_[at(device)], footprint_.added(group, device));
    footprint_.put(group, device);
  }
  double ready_us = 0;
  for (const Edge& edge : graph_.in_edges(op)) {
    const DeviceId src = placement_[group_of_[at(edge.src)]];
    double arrival_us = end_us_[at(edge.src)];
    if (src != device && edge.tensor != kNoTensor) {
      arrival_us = known_arrival_us(edge.tensor, device);
      if (arrival_us < 0) arrival_us = send(edge, src, device);
    } else if (src != device && !broadcasts_) {
      arrival_us += cluster_.route(src, device).latency_us;
    }
    ready_us = std::max(ready_us, arrival_us);
  }
  const double start = start_us(op, device, ready_us);
  devices_[at(device)].occupy(start, busy_us(op, device));
  end_us_[at(op)] =
      start + busy_us(op, device) - (problem_.cost_us(op, device) == 0 ? 0 : device_gap_us_);
}

std::int64_t Schedule::copy_bytes(TensorId tensor) const {
  // `placeto` counts no copies.
  if (broadcasts_ || rules_.output_share == 0) return 0;
  return static_cast<std::int64_t>(rules_.output_share * static_cast<double>(graph_.bytes(tensor)));
}

std::int64_t Schedule::incoming_bytes(GroupId group, DeviceId device) const {
  std::int64_t bytes = 0;
  if (broadcasts_ || rules_.output_share == 0) return bytes;
  for (const OpId op : problem_.groups().members(group)) {
    for (const Edge& edge : graph_.in_edges(op)) {
      if (edge.tensor == kNoTensor || !placed(edge.src)) continue;
      if (device_of(group_of_[at(edge.src)]) == device) continue;
      if (known_arrival_us(edge.tensor, device) >= 0) continue;
      bytes = saturating_sum(bytes, copy_bytes(edge.tensor));
    }
  }
  return bytes;
}

std::int64_t Schedule::filled_bytes(GroupId group, DeviceId device) const {
  return saturating_sum(saturating_sum(used_bytes_[at(device)], footprint_.added(group, device)),
                        incoming_bytes(group, device));
}

bool Schedule::has_room(GroupId group, DeviceId device) const {
  const std::int64_t memory = problem_.memory_bytes(device);
  return memory == kNoLimit || filled_bytes(group, device) <= memory;
}

bool Schedule::fits() const {
  for (DeviceId device = 0; device < cluster_.device_count(); ++device) {
    if (used_bytes_[at(device)] > problem_.memory_bytes(device)) return false;
  }
  return true;
}

void Schedule::narrow(GroupId group, const std::vector<DeviceId>& among,
                      std::vector<DeviceId>& out) const {
  out.clear();
  DeviceId roomiest = kNoDevice;
  std::int64_t least_bytes = 0;
  for (const DeviceId device : among) {
    if (!problem_.can_run(group, device)) continue;
    if (has_room(group, device)) out.push_back(device);
    if (!out.empty()) continue;
    const std::int64_t excess_bytes = filled_bytes(group, device) - problem_.memory_bytes(device);
    if (roomiest == kNoDevice || excess_bytes < least_bytes) {
      roomiest = device;
      least_bytes = excess_bytes;
    }
  }
  if (out.empty() && roomiest != kNoDevice) out.push_back(roomiest);
}

void Schedule::candidates(GroupId group, const std::vector<DeviceId>& among,
                          std::vector<DeviceId>& out) const {
  narrow(group, among, out);
  if (out.empty()) narrow(group, spread_devices(problem_, /*hosts=*/true), out);
}

GroupPlacement Schedule::placement() const {
  GroupPlacement placement = placement_;
  for (GroupId group = 0; group < problem_.groups().count(); ++group) {
    DeviceId& device = placement[group];
    if (device != kNoDevice) continue;
    device = 0;
    while (!problem_.can_run(group, device)) ++device;
  }
  return placement;
}

}  // namespace berth::policies
