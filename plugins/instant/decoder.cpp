#include "instant/decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/support/sums.h"
#include "common/list_scheduling.h"

namespace berth::policies::instant {
namespace {

constexpr std::int32_t kNone = -1;
/// Consumers of an op, and inputs of a consumer, that are looked at for joins.
constexpr std::size_t kMostConsumers = 8;
constexpr std::size_t kMostInputs = 6;
/// Devices that are free first, on a machine of many.
constexpr std::size_t kFree = 4;
/// Ops placed between two questions whether to stop.
constexpr std::size_t kStride = 512;

}  // namespace

Decoder::Decoder(const Problem& problem, std::vector<DeviceId> devices)
    : problem_(problem),
      graph_(problem.graph()),
      devices_(std::move(devices)),
      device_count_(at(problem.cluster().device_count())),
      broadcasts_(problem.options().semantics == Semantics::placeto),
      ways_(device_count_ * device_count_),
      engines_(problem),
      is_candidate_(device_count_),
      terms_(device_count_) {
  const Cluster& cluster = problem.cluster();
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = cluster.route(src, dst);
      ways_[at(src) * device_count_ + at(dst)] = {broadcasts_ ? 0 : route.transfer_us(0),
                                                  1e6 / route.bandwidth_bytes_per_s, route.channels,
                                                  route.parallel};
    }
  }
  const auto ops = at(graph_.op_count());
  std::vector<bool> seen(at(problem.device_class_count()), false);
  busy_us_.resize(seen.size() * ops);
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    const auto of = at(problem.device_class(device));
    if (seen[of]) continue;
    seen[of] = true;
    const double extra_us =
        broadcasts_ ? problem.options().device_gap_us : cluster.device(device).op_overhead_us;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const double us = problem.cost_us(op, device);
      busy_us_[of * ops + at(op)] = us > 0 ? us + extra_us : 0;
    }
  }
  const MeanTimes means(problem, devices_);
  for (OpId op = 0; op < graph_.op_count(); ++op) mean_us_.push_back(means.op_us(op));
  for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
    bytes_.push_back(static_cast<double>(graph_.bytes(tensor)));
    mean_send_us_.push_back(means.transfer_us(graph_.bytes(tensor)));
  }
  mean_latency_us_ = means.transfer_us(0);
  find_fixed();
}

void Decoder::find_fixed() {
  for (GroupId group = 0; group < problem_.groups().count(); ++group) {
    DeviceId only = kNoDevice;
    int able = 0;
    for (DeviceId device = 0; at(device) < device_count_ && able < 2; ++device) {
      if (!problem_.can_run(group, device)) continue;
      only = device;
      ++able;
    }
    if (able == 1) fixed_.emplace_back(group, only);
  }
}

std::optional<GroupPlacement> Decoder::run(const Pass& pass, Random& random,
                                           const std::function<bool()>& stop) {
  begin(pass, random);
  for (std::size_t placed = 1; !ready_.empty(); ++placed) {
    if (placed % kStride == 0 && stop()) return std::nullopt;
    std::pop_heap(ready_.begin(), ready_.end());
    const OpId op = ready_.back().op;
    ready_.pop_back();
    const GroupId group = group_of(op);
    if (placement_[group] == kNoDevice) {
      find_candidates(group);
      put(group, choose(op, pass.rule));
    }
    place(op, placement_[group]);
    for (const Edge& edge : graph_.out_edges(op)) {
      if (--waiting_[at(edge.dst)] == 0) make_ready(edge.dst);
    }
  }
  return placement_;
}

void Decoder::begin(const Pass& pass, Random& random) {
  before_ = pass.before;
  placement_ = GroupPlacement(at(problem_.groups().count()), kNoDevice);
  rank(pass.rule[Rule::kTransfers]);
  if (pass.noise > 0) {
    for (double& us : ranks_us_) us *= 1 + pass.noise * (2 * random.uniform() - 1);
  }
  end_us_.assign(mean_us_.size(), -1);
  for (auto* each : {&free_us_, &load_us_}) each->assign(device_count_, 0);
  for (auto* each : {&outgoing_us_, &incoming_us_}) each->assign(engines_.count(), 0);
  channels_us_.assign(at(problem_.cluster().channel_count()), 0);
  used_bytes_.assign(device_count_, 0);
  footprint_.emplace(problem_, pass.output_share);
  for (const auto& [group, device] : fixed_) put(group, device);
  first_copy_.assign(at(graph_.tensor_count()), kNone);
  copies_.clear();
  ready_.clear();
  waiting_.resize(mean_us_.size());
  for (OpId op = 0; op < graph_.op_count(); ++op) {
    waiting_[at(op)] = static_cast<std::int32_t>(graph_.in_edges(op).size());
    if (waiting_[at(op)] == 0) make_ready(op);
  }
}

void Decoder::put(GroupId group, DeviceId device) {
  placement_[group] = device;
  used_bytes_[at(device)] =
      saturating_sum(used_bytes_[at(device)], footprint_->added(group, device));
  footprint_->put(group, device);
}

void Decoder::rank(double transfers) {
  ranks_us_.resize(mean_us_.size());
  const auto order = graph_.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    double rest_us = 0;
    for (const Edge& edge : graph_.out_edges(*op)) {
      const double send_us =
          edge.tensor == kNoTensor ? mean_latency_us_ : mean_send_us_[at(edge.tensor)];
      rest_us = std::max(rest_us, transfers * send_us + ranks_us_[at(edge.dst)]);
    }
    ranks_us_[at(*op)] = mean_us_[at(*op)] + rest_us;
  }
}

void Decoder::make_ready(OpId op) {
  ready_.push_back({ranks_us_[at(op)], op});
  std::push_heap(ready_.begin(), ready_.end());
}

void Decoder::add(DeviceId device) {
  if (device == kNoDevice || is_candidate_[at(device)]) return;
  is_candidate_[at(device)] = true;
  candidates_.push_back(device);
}

/// Devices that hold what the group reads, what reads it, and what is read beside it.
void Decoder::add_near(GroupId group) {
  if (before_ != nullptr) add((*before_)[group]);
  for (const OpId op : problem_.groups().members(group)) {
    std::size_t consumers = 0;
    for (const Edge& edge : graph_.in_edges(op)) add(device_of(edge.src));
    for (const Edge& edge : graph_.out_edges(op)) {
      if (++consumers > kMostConsumers) break;
      add(device_of(edge.dst));
      if (before_ != nullptr) add((*before_)[group_of(edge.dst)]);
      std::size_t inputs = 0;
      for (const Edge& other : graph_.in_edges(edge.dst)) {
        if (++inputs > kMostInputs) break;
        add(device_of(other.src));
      }
    }
  }
}

void Decoder::add_free() {
  std::array<DeviceId, kFree> first;
  first.fill(kNoDevice);
  for (DeviceId device : devices_) {
    for (DeviceId& other : first) {
      if (other == kNoDevice || free_us_[at(device)] < free_us_[at(other)])
        std::swap(device, other);
      if (device == kNoDevice) break;
    }
  }
  for (const DeviceId device : first) add(device);
}

void Decoder::find_candidates(GroupId group) {
  const auto excess_bytes = [&](DeviceId device) {
    const std::int64_t memory = problem_.memory_bytes(device);
    if (memory == kNoLimit) return std::int64_t{0};
    return saturating_sum(used_bytes_[at(device)], footprint_->added(group, device)) - memory;
  };
  const auto keep_able = [&] {
    for (const DeviceId device : candidates_) is_candidate_[at(device)] = false;
    std::erase_if(candidates_, [&](DeviceId device) {
      return !problem_.can_run(group, device) || excess_bytes(device) > 0;
    });
    return !candidates_.empty();
  };
  candidates_.clear();
  if (devices_.size() > kMany) {
    add_near(group);
    add_free();
    if (keep_able()) return;
  }
  candidates_ = devices_;
  if (keep_able()) return;
  DeviceId roomiest = kNoDevice;
  for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
    if (!problem_.can_run(group, device)) continue;
    candidates_.push_back(device);
    if (roomiest == kNoDevice || excess_bytes(device) < excess_bytes(roomiest)) roomiest = device;
  }
  if (!keep_able()) candidates_.push_back(roomiest);
}

DeviceId Decoder::choose(OpId op, const Rule& rule) {
  if (candidates_.size() == 1) return candidates_.front();
  const GroupId group = group_of(op);
  double fastest_us = kCannotRun;
  for (const DeviceId device : candidates_) {
    fastest_us = std::min(fastest_us, problem_.group_cost_us(group, device));
    terms_[at(device)] = {};
  }
  weigh_inputs(op);
  for (const OpId member : problem_.groups().members(group)) {
    weigh_outputs(member, rule[Rule::kJoin] > 0);
    if (member != op) weigh_other_inputs(member);
  }
  DeviceId best = kNoDevice;
  double best_us = kCannotRun;
  for (const DeviceId device : candidates_) {
    const Terms& to = terms_[at(device)];
    const double free_us = free_us_[at(device)];
    const double start_us =
        std::max({to.ready, free_us, to.arrive > 0 && !broadcasts_ ? to.first + to.arrive : 0});
    const double us = problem_.group_cost_us(group, device);
    const bool stays = before_ == nullptr || (*before_)[group] == device;
    const double sum_us =
        start_us + us + rule[Rule::kArrive] * to.arrive + rule[Rule::kSend] * to.send +
        rule[Rule::kJoin] * to.join + rule[Rule::kLoad] * load_us_[at(device)] +
        rule[Rule::kWait] * (start_us - free_us) + rule[Rule::kSlow] * (us - fastest_us) +
        rule[Rule::kFuture] * to.future + (stays ? 0 : rule[Rule::kStay] * us);
    if (best != kNoDevice && sum_us >= best_us) continue;
    best = device;
    best_us = sum_us;
  }
  return best;
}

void Decoder::weigh_inputs(OpId op) {
  for (const Edge& edge : graph_.in_edges(op)) {
    const DeviceId src = device_of(edge.src);
    const double end_us = end_us_[at(edge.src)];
    for (const DeviceId device : candidates_) {
      Terms& to = terms_[at(device)];
      double ready_us = end_us;
      if (src != device && edge.tensor == kNoTensor) {
        ready_us += way(src, device).latency_us;
      } else if (src != device) {
        ready_us = arrival_us(edge.tensor, device);
        if (ready_us < 0) {
          const double us = transfer_us(edge.tensor, src, device);
          const double start_us = transfer_start_us(src, device, end_us);
          ready_us = start_us + us;
          to.first = std::min(to.first, start_us);
          to.arrive += us;
        }
      }
      to.ready = std::max(to.ready, ready_us);
    }
  }
}

/// The same for a group's other ops, whose inputs need not be placed yet.
void Decoder::weigh_other_inputs(OpId member) {
  for (const Edge& edge : graph_.in_edges(member)) {
    const DeviceId src = device_of(edge.src);
    if (edge.tensor == kNoTensor || src == kNoDevice) continue;
    for (const DeviceId device : candidates_) {
      if (src != device) terms_[at(device)].send += transfer_us(edge.tensor, src, device);
    }
  }
}

void Decoder::weigh_outputs(OpId member, bool joins) {
  std::size_t consumers = 0;
  for (const Edge& edge : graph_.out_edges(member)) {
    if (edge.tensor == kNoTensor) continue;
    const GroupId group = group_of(edge.dst);
    const DeviceId dst = placement_[group];
    const DeviceId before = before_ == nullptr ? kNoDevice : (*before_)[group];
    for (const DeviceId device : candidates_) {
      if (dst != kNoDevice && dst != device) {
        terms_[at(device)].send += transfer_us(edge.tensor, device, dst);
      } else if (dst == kNoDevice && before != kNoDevice && before != device) {
        terms_[at(device)].future += transfer_us(edge.tensor, device, before);
      }
    }
    if (joins && dst == kNoDevice && ++consumers <= kMostConsumers) weigh_joins(edge);
  }
}

void Decoder::weigh_joins(const Edge& edge) {
  std::size_t inputs = 0;
  for (const Edge& other : graph_.in_edges(edge.dst)) {
    if (other.tensor == kNoTensor || other.src == edge.src) continue;
    if (++inputs > kMostInputs) return;
    const DeviceId src = device_of(other.src);
    if (src == kNoDevice) continue;
    for (const DeviceId device : candidates_) {
      if (src == device) continue;
      terms_[at(device)].join +=
          std::min(transfer_us(edge.tensor, device, src), transfer_us(other.tensor, src, device));
    }
  }
}

void Decoder::place(OpId op, DeviceId device) {
  double start_us = free_us_[at(device)];
  for (const Edge& edge : graph_.in_edges(op)) {
    const DeviceId src = device_of(edge.src);
    double ready_us = end_us_[at(edge.src)];
    if (src != device && edge.tensor == kNoTensor) {
      ready_us += way(src, device).latency_us;
    } else if (src != device) {
      ready_us = arrival_us(edge.tensor, device);
      if (ready_us < 0) ready_us = send(edge, src, device);
    }
    start_us = std::max(start_us, ready_us);
  }
  const double us = busy_us_[at(problem_.device_class(device)) * mean_us_.size() + at(op)];
  if (us > 0) free_us_[at(device)] = start_us + us;
  load_us_[at(device)] += us;
  end_us_[at(op)] = start_us + us;
}

double Decoder::arrival_us(TensorId tensor, DeviceId device) const {
  for (std::int32_t c = first_copy_[at(tensor)]; c != kNone; c = copies_[at(c)].next) {
    if (broadcasts_ || copies_[at(c)].device == device) return copies_[at(c)].arrival_us;
  }
  return -1;
}

double Decoder::transfer_start_us(DeviceId src, DeviceId dst, double from_us) const {
  if (broadcasts_) return std::max(from_us, outgoing_us_[at(src)]);
  const Way& over = way(src, dst);
  if (over.parallel) return from_us;
  double start_us = std::max({from_us, outgoing_us_[engines_.outgoing(src, dst)],
                              incoming_us_[engines_.incoming(src, dst)]});
  for (const ChannelId channel : over.channels) {
    start_us = std::max(start_us, channels_us_[at(channel)]);
  }
  return start_us;
}

double Decoder::send(const Edge& edge, DeviceId src, DeviceId dst) {
  const Way& over = way(src, dst);
  const double end_us =
      transfer_start_us(src, dst, end_us_[at(edge.src)]) + transfer_us(edge.tensor, src, dst);
  if (broadcasts_ || !over.parallel) {
    outgoing_us_[engines_.outgoing(src, dst)] =
        end_us + (broadcasts_ ? problem_.options().transfer_gap_us : 0);
    incoming_us_[engines_.incoming(src, dst)] = end_us;
    for (const ChannelId channel : over.channels) channels_us_[at(channel)] = end_us;
  }
  copies_.push_back({dst, end_us, first_copy_[at(edge.tensor)]});
  first_copy_[at(edge.tensor)] = static_cast<std::int32_t>(copies_.size()) - 1;
  return end_us;
}

}  // namespace berth::policies::instant
