#include "stages/chain.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "berth/blocks.h"
#include "berth/error.h"
#include "berth/sdk/repair.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "common/weight_layers.h"

namespace berth::policies::stages {
namespace {

/// Parameters of a unit, each once.
std::int64_t param_bytes_of(const Graph& graph, const Unit& unit) {
  std::set<TensorId> seen;
  std::int64_t bytes = 0;
  for (const std::vector<OpId>* ops : {&unit.ops, &unit.experts}) {
    for (const OpId op : *ops) {
      std::int64_t tensors = 0;
      for (const TensorId tensor : graph.parameters(op)) {
        tensors += graph.bytes(tensor);
        if (seen.insert(tensor).second) bytes += graph.bytes(tensor);
      }
      bytes += std::max<std::int64_t>(0, graph.param_bytes(op) - tensors);  // optimizer slots
    }
  }
  return bytes;
}

std::vector<Unit> units_of_blocks(const Graph& graph, const Blocks& blocks, const Groups& classes) {
  std::vector<Unit> units;
  for (BlockId block = 0; block < blocks.count(); ++block) {
    Unit unit;
    unit.experts = expert_ops(graph, blocks, block);
    std::set<GroupId> of_experts;
    for (const OpId op : unit.experts) of_experts.insert(classes.of(op));
    const std::set<OpId> experts(unit.experts.begin(), unit.experts.end());
    bool apart = true;
    for (const OpId op : blocks[block].ops) {
      if (experts.contains(op)) continue;
      unit.ops.push_back(op);
      apart = apart && !of_experts.contains(classes.of(op));
    }
    if (!apart) {
      unit.ops = blocks[block].ops;
      unit.experts.clear();
    }
    units.push_back(std::move(unit));
  }
  return units;
}

std::vector<Unit> units_of_groups(const Groups& groups) {
  std::vector<Unit> units(at(groups.count()));
  for (GroupId group = 0; group < groups.count(); ++group) {
    const auto members = groups.members(group);
    units[at(group)].ops.assign(members.begin(), members.end());
  }
  return units;
}

}  // namespace

Chain::Chain(const Problem& problem) : problem_(problem), classes_(problem.finest_groups()) {
  const Graph& graph = problem.graph();
  try {
    const Blocks blocks(graph);
    units_ = units_of_blocks(graph, blocks, *classes_);
    join_classes();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    for (std::vector<OpId>& layer : layers_in_turn(problem)) {
      units_.emplace_back().ops = std::move(layer);
    }
    if (units_.empty()) units_ = units_of_groups(problem.groups());
  }
  const DeviceId devices = problem.cluster().device_count();
  std::vector<double> fastest(at(classes_->count()), kCannotRun);
  elsewhere_.assign(at(classes_->count()), kNoDevice);
  for (DeviceId device = 0; device < devices; ++device) {
    if (problem.cluster().device(device).host && host_ == kNoDevice) host_ = device;
    runs_.emplace_back(at(classes_->count()), false);
    for (GroupId each = 0; each < classes_->count(); ++each) {
      double us = 0;  // a sum of large costs may be as large as kCannotRun
      bool runs = true;
      for (const OpId op : classes_->members(each)) {
        const double own = problem.cost_us(op, device);
        runs = runs && own < kCannotRun;
        us += own;
      }
      runs_.back()[at(each)] = runs;
      if (runs && (elsewhere_[at(each)] == kNoDevice || us < fastest[at(each)])) {
        fastest[at(each)] = us;
        elsewhere_[at(each)] = device;
      }
    }
  }
  for (Unit& unit : units_) {
    unit.param_bytes = param_bytes_of(graph, {unit.ops, unit.experts});
    unit.expert_bytes = param_bytes_of(graph, {unit.experts, {}});
    has_experts_ = has_experts_ || (!unit.experts.empty() && host_ != kNoDevice);
  }
}

/// Units that share a class become one, where the first of them is.
void Chain::join_classes() {
  DisjointSets sets(static_cast<std::int32_t>(units_.size()));
  std::vector<std::int32_t> first(at(classes_->count()), -1);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const std::vector<OpId>* ops : {&units_[u].ops, &units_[u].experts}) {
      for (const OpId op : *ops) {
        std::int32_t& of_class = first[at(classes_->of(op))];
        const auto unit = static_cast<std::int32_t>(u);
        if (of_class < 0) of_class = unit;
        if (of_class != unit) sets.merge_to_smallest(of_class, unit);
      }
    }
  }
  std::map<std::int32_t, std::size_t> index;
  std::vector<Unit> joined;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto [entry, is_new] =
        index.try_emplace(sets.find(static_cast<std::int32_t>(u)), joined.size());
    if (is_new) {
      joined.push_back(std::move(units_[u]));
      continue;
    }
    Unit& target = joined[entry->second];
    target.ops.insert(target.ops.end(), units_[u].ops.begin(), units_[u].ops.end());
    target.experts.insert(target.experts.end(), units_[u].experts.begin(), units_[u].experts.end());
  }
  units_ = std::move(joined);
}

void Chain::put(const std::vector<OpId>& ops, DeviceId device, Placement& placement) const {
  for (const OpId op : ops) {
    const GroupId of_class = classes_->of(op);
    placement[at(op)] = runs_[at(device)][at(of_class)] ? device : elsewhere_[at(of_class)];
  }
}

Placement Chain::placement(const Plan& plan) const {
  Placement placement(at(problem_.graph().op_count()), kNoDevice);
  int unit = 0;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const int begin = unit;
    for (; unit < plan.ends[i]; ++unit) {
      put((*this)[unit].ops, plan.devices[i], placement);
      const bool hosted = unit - begin < plan.hosted[i] && host_ != kNoDevice;
      put((*this)[unit].experts, hosted ? host_ : plan.devices[i], placement);
    }
  }
  return placement;
}

bool Chain::is_accelerated(OpId op) const {
  for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
    if (problem_.cluster().device(device).host) continue;
    if (runs_[at(device)][at(classes_->of(op))]) return true;
  }
  return false;
}

bool Chain::on_hosts_alone(int unit) const {
  const std::vector<OpId>& ops = (*this)[unit].ops;
  return std::none_of(ops.begin(), ops.end(), [&](OpId op) { return is_accelerated(op); });
}

std::vector<OpId> Chain::displaced(const Plan& plan) const {
  std::vector<OpId> found;
  int unit = 0;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const int begin = unit;
    for (; unit < plan.ends[i]; ++unit) {
      const bool hosted = unit - begin < plan.hosted[i] && host_ != kNoDevice;
      const auto check = [&](const std::vector<OpId>& ops, DeviceId device) {
        for (const OpId op : ops) {
          const bool runs = runs_[at(device)][at(classes_->of(op))];
          if (!runs && is_accelerated(op)) found.push_back(op);
        }
      };
      check((*this)[unit].ops, plan.devices[i]);
      check((*this)[unit].experts, hosted ? host_ : plan.devices[i]);
    }
  }
  return found;
}

int Chain::hosts_end() const {
  const auto elsewhere = [&](OpId op) { return is_accelerated(op); };
  int first = 0, last = 0;  // behind the first ones of them, and behind all
  for (int unit = 0; unit < count(); ++unit) {
    const std::vector<OpId>& ops = (*this)[unit].ops;
    if (std::all_of(ops.begin(), ops.end(), elsewhere)) continue;
    if (first == unit) ++first;
    last = unit + 1;
  }
  return last > first ? last : 0;
}

std::vector<DeviceId> Chain::by_speed() const {
  const Problem& problem = problem_;
  std::vector<std::pair<double, DeviceId>> order;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    double us = 0;
    std::int64_t ops = 0;
    for (OpId op = 0; op < problem.graph().op_count(); ++op) {
      const double each = problem.cost_us(op, device);
      if (each >= kCannotRun) continue;
      us += each;
      ++ops;
    }
    if (ops == 0) continue;
    // An op that the device cannot run counts as an average one: a device is not fast for running little.
    us *= static_cast<double>(problem.graph().op_count()) / static_cast<double>(ops);
    order.emplace_back(us, device);
  }
  std::sort(order.begin(), order.end());
  std::stable_partition(order.begin(), order.end(), [&](const auto& entry) {
    return !problem.cluster().device(entry.second).host;
  });
  std::vector<DeviceId> devices;
  for (const auto& [us, device] : order) devices.push_back(device);
  return devices;
}

namespace {

std::int64_t held_bytes(const Unit& unit, bool hosted) {
  return unit.param_bytes - (hosted ? unit.expert_bytes : 0);
}

}  // namespace

Plan filled(const Chain& chain, const std::vector<DeviceId>& devices,
            const std::vector<std::int64_t>& room, bool hosted) {
  Plan plan{devices, std::vector<int>(devices.size(), 0), std::vector<int>(devices.size(), 0)};
  int unit = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool last = i + 1 == devices.size();
    const int begin = unit;
    std::int64_t bytes = 0;
    for (; unit < chain.count(); ++unit) {
      bytes += held_bytes(chain[unit], hosted);
      if (!last && room[i] != kNoLimit && bytes > room[i]) break;
    }
    plan.ends[i] = unit;
    if (hosted) plan.hosted[i] = unit - begin;
  }
  return plan;
}

Plan filled_to_fit(const Chain& chain, const std::vector<DeviceId>& devices,
                   std::vector<std::int64_t> room, Evaluator& evaluator,
                   const PlaceContext& context, bool hosted) {
  Plan plan = filled(chain, devices, room, hosted);
  // Unit by unit where there are few; else as many at once as exceed.
  constexpr int kFew = 200;
  const int rounds = 2 * std::min(chain.count(), kFew) + 8;
  for (int round = 0; round < rounds && !context.stopped(); ++round) {
    const Evaluation evaluation = evaluator.evaluate(chain.placement(plan));
    if (evaluation.feasible || evaluation.excess_bytes == 0) return plan;
    const auto worst = std::find(devices.begin(), devices.end(), evaluation.worst_device);
    if (worst == devices.end() || worst + 1 == devices.end()) return plan;
    const auto i = static_cast<std::size_t>(worst - devices.begin());
    const int begin = i == 0 ? 0 : plan.ends[i - 1];
    std::int64_t held = 0;
    for (int unit = begin; unit < plan.ends[i]; ++unit) held += held_bytes(chain[unit], hosted);
    if (begin == plan.ends[i]) return plan;
    const std::int64_t smallest = held_bytes(chain[plan.ends[i] - 1], hosted);
    room[i] = held - std::max<std::int64_t>({1, chain.count() > kFew
                                                    ? evaluation.excess_bytes
                                                    : std::min(smallest, evaluation.excess_bytes)});
    Plan next = filled(chain, devices, room, hosted);
    if (next.ends == plan.ends) {  // units without parameters
      room[i] = 0;
      next = filled(chain, devices, room, hosted);
      if (next.ends == plan.ends) return plan;
    }
    plan = std::move(next);
  }
  return plan;
}

PolicyAnswer answer_of(const Chain& chain, const Plan& plan, Evaluator& evaluator,
                       Answering answering, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  Placement placement = chain.placement(plan);
  if (answering.alone) {
    if (const std::vector<OpId> outside = chain.displaced(plan); !outside.empty()) {
      const OpId op = outside.front();
      throw Error(
          ErrorCode::infeasible,
          cat("found no plan in which each device has one run of whole layers: op '",
              problem.graph().op_name(op), "' may not be where its layer would be, and is on ",
              problem.cluster().device(placement[at(op)]).name, "; relax the constraints on it"));
    }
    return placement;
  }
  const bool repair = answering.repair;
  if (problem.separations().empty() && (!repair || evaluator.evaluate(placement).feasible)) {
    return placement;
  }
  GroupPlacement groups;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    groups.push_back(placement[at(problem.groups().members(group).front())]);
  }
  return repair_placement(problem, evaluator, std::move(groups), repair, context);
}

}  // namespace berth::policies::stages
