#include "exact/model.h"

#include <algorithm>

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth::policies::exact {
ExactModel::ExactModel(const Problem& problem) : problem_(problem) {
  for (GroupId group = 0; group < groups(); ++group) {
    DeviceSet able = 0;
    for (DeviceId device = 0; device < devices(); ++device) {
      if (problem.can_run(group, device)) able |= only(device);
    }
    all_.push_back(able);
  }
  cost_ops();
  cost_groups();
  order_along_paths();
  collect_tensors();
  collect_arcs();
  classify_devices();
}

void ExactModel::cost_ops() {
  const bool throughput = problem_.options().objective == Objective::throughput;
  for (KindId kind = 0; kind < problem_.cluster().kind_count(); ++kind) {
    const double overhead_us = problem_.cluster().kind_device(kind).op_overhead_us;
    for (OpId op = 0; op < problem_.graph().op_count(); ++op) {
      const double us = problem_.costs().op_us(op, kind);
      op_us_.push_back(placeto() || us == 0 ? us : us + overhead_us);
      const bool pauses = placeto() && !throughput && us != 0;
      pause_us_.push_back(pauses ? problem_.options().device_gap_us : 0);
    }
  }
}

void ExactModel::cost_groups() {
  const Graph& graph = problem_.graph();
  const bool parameters = problem_.options().objective == Objective::throughput || !placeto();
  group_us_.assign(at(problem_.cluster().kind_count()) * all_.size(), 0);
  param_bytes_.assign(all_.size(), 0);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::size_t group = at(problem_.groups().of(op));
    if (parameters) {
      std::int64_t& bytes = param_bytes_[group];
      bytes = saturating_sum(bytes, graph.own_param_bytes(op));
      bytes = saturating_sum(bytes, problem_.lasting_bytes(op));
    }
    for (KindId kind = 0; kind < problem_.cluster().kind_count(); ++kind) {
      group_us_[at(kind) * all_.size() + group] += op_us_[at(kind) * at(graph.op_count()) + at(op)];
    }
  }
  std::int64_t all_bytes = 0;
  for (const std::int64_t bytes : param_bytes_) all_bytes = saturating_sum(all_bytes, bytes);
  for (DeviceId device = 0; device < devices(); ++device) {
    memory_binds_ = memory_binds_ || problem_.memory_bytes(device) < all_bytes;
    double fastest_us = 0;
    double here_us = 0;
    for (GroupId group = 0; group < groups(); ++group) {
      if (!problem_.can_run(group, device)) continue;
      double least = kCannotRun;
      for (DeviceId other = 0; other < devices(); ++other) {
        least = std::min(least, group_us(group, other));
      }
      fastest_us += least;
      here_us += group_us(group, device);
    }
    speed_.push_back(here_us > 0 ? fastest_us / here_us : 1);
  }
}

void ExactModel::order_along_paths() {
  const Groups& quotient = problem_.groups();
  struct Frame {
    GroupId group;
    std::size_t next_edge;
  };
  std::vector<bool> seen(all_.size(), false);
  std::vector<Frame> frames;
  const auto walk = [&](GroupId root) {
    if (seen[at(root)]) return;
    seen[at(root)] = true;
    frames.push_back({root, 0});
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const auto edges = quotient.in_edges(frame.group);
      if (frame.next_edge == edges.size()) {
        path_order_.push_back(frame.group);
        frames.pop_back();
        continue;
      }
      const GroupId before = edges[frame.next_edge++].src;
      if (seen[at(before)]) continue;
      seen[at(before)] = true;
      frames.push_back({before, 0});
    }
  };
  for (GroupId group = 0; group < groups(); ++group) {
    if (quotient.out_edges(group).empty()) walk(group);
  }
  for (GroupId group = 0; group < groups(); ++group) walk(group);
}

bool ExactModel::keep_to_memory(Domains& domains) const {
  if (!memory_binds_) return true;
  std::vector<std::int64_t> room;
  for (DeviceId device = 0; device < devices(); ++device) {
    room.push_back(problem_.memory_bytes(device));
  }
  std::vector<bool> counted(all_.size(), false);
  std::int64_t open_bytes = 0;
  for (bool fixed_one = true; fixed_one;) {
    fixed_one = false;
    for (GroupId group = 0; group < groups(); ++group) {
      if (counted[at(group)] || !is_fixed(domains[at(group)])) continue;
      counted[at(group)] = true;
      std::int64_t& left = room[at(first_device(domains[at(group)]))];
      if (left != kNoLimit) left -= param_bytes(group);
      if (left < 0) return false;
    }
    open_bytes = 0;
    for (GroupId group = 0; group < groups(); ++group) {
      if (counted[at(group)]) continue;
      open_bytes = saturating_sum(open_bytes, param_bytes(group));
      for_each_device(domains[at(group)], [&](DeviceId device) {
        if (room[at(device)] < param_bytes(group)) domains[at(group)] &= ~only(device);
      });
      if (domains[at(group)] == 0) return false;
      fixed_one = fixed_one || is_fixed(domains[at(group)]);
    }
  }
  std::int64_t open_room = 0;
  for (const std::int64_t left : room) open_room = saturating_sum(open_room, left);
  return open_bytes <= open_room;
}

void ExactModel::collect_tensors() {
  const Graph& graph = problem_.graph();
  tensors_at_.resize(all_.size());
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const GroupId group = problem_.groups().of(op);
    for (const TensorId id : graph.outputs(op)) {
      Tensor tensor{op, group, graph.bytes(id), {}, {}};
      for (const Edge& edge : graph.out_edges(op)) {
        if (edge.tensor != id) continue;
        tensor.consumers.push_back(edge.dst);
        const GroupId reader = problem_.groups().of(edge.dst);
        if (reader != group) tensor.readers.push_back(reader);
      }
      std::sort(tensor.readers.begin(), tensor.readers.end());
      tensor.readers.erase(std::unique(tensor.readers.begin(), tensor.readers.end()),
                           tensor.readers.end());
      if (tensor.readers.empty()) continue;
      tensors_at_[at(group)].push_back(tensors_.size());
      for (const GroupId reader : tensor.readers)
        tensors_at_[at(reader)].push_back(tensors_.size());
      tensors_.push_back(std::move(tensor));
    }
  }
}

void ExactModel::collect_arcs() {
  const Graph& graph = problem_.graph();
  in_.resize(at(graph.op_count()));
  out_.resize(at(graph.op_count()));
  std::size_t row = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.in_edges(op)) {
      const Arc arc{edge.src, edge.dst, row++};
      in_[at(edge.dst)].push_back(arc);
      out_[at(edge.src)].push_back(arc);
      for (DeviceId src = 0; src < devices(); ++src) {
        for (DeviceId dst = 0; dst < devices(); ++dst) {
          double us = 0;
          if (src != dst && edge.tensor != kNoTensor) {
            us = transfer_us(graph.bytes(edge.tensor), src, dst);
          } else if (src != dst && !placeto()) {
            us = problem_.cluster().route(src, dst).latency_us;
          }
          arc_us_.push_back(us);
        }
      }
    }
  }
}

double ExactModel::transfer_us(std::int64_t bytes, DeviceId src, DeviceId dst) const noexcept {
  const Route& route = problem_.cluster().route(src, dst);
  return placeto() ? static_cast<double>(bytes) / (route.bandwidth_bytes_per_s / 1e6)
                   : route.transfer_us(bytes);
}

void ExactModel::classify_devices() {
  for (DeviceId device = 0; device < devices(); ++device) {
    DeviceId first = 0;
    while (first < device && !(class_of_[at(first)] == first && exchangeable(first, device))) {
      ++first;
    }
    class_of_.push_back(first);
  }
}

bool ExactModel::exchangeable(DeviceId a, DeviceId b) const {
  const Cluster& cluster = problem_.cluster();
  if (cluster.kind_of(a) != cluster.kind_of(b) || host(a) != host(b) ||
      problem_.memory_bytes(a) != problem_.memory_bytes(b) ||
      cluster.route(a, b) != cluster.route(b, a)) {
    return false;
  }
  for (DeviceId other = 0; other < devices(); ++other) {
    if (other == a || other == b) continue;
    if (cluster.route(a, other) != cluster.route(b, other) ||
        cluster.route(other, a) != cluster.route(other, b)) {
      return false;
    }
  }
  return true;
}

}  // namespace berth::policies::exact
