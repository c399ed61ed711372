#include "berth/explanation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/constraints.h"
#include "berth/graph.h"
#include "berth/support/index.h"
#include "reports/alike.h"
#include "reports/elsewhere.h"

namespace berth {
namespace {

std::vector<std::string> rules_about(const Problem& problem, const std::vector<OpId>& ops) {
  std::vector<std::string> texts;
  if (problem.constraints() == nullptr) return texts;
  const Constraints& constraints = *problem.constraints();
  for (std::size_t rule = 0; rule < constraints.rules().size(); ++rule) {
    const auto about = constraints.ops_of(rule);
    const bool hit = std::any_of(ops.begin(), ops.end(), [&](OpId op) {
      return std::binary_search(about.begin(), about.end(), op);
    });
    if (!hit) continue;
    const ConstraintRule& stated = constraints.rules()[rule];
    texts.push_back(stated.text.empty() ? to_text(stated) : stated.text);
  }
  return texts;
}

Evaluation with_moved(Evaluator& evaluator, Placement placement, std::span<const OpId> ops,
                      DeviceId device) {
  for (const OpId op : ops) placement[at(op)] = device;
  return evaluator.evaluate(placement);
}

/// The same on an idle device that is alike.
Alternative in_place_of(Alternative other, DeviceId tried, DeviceId device) {
  other.device = device;
  if (!other.refused.empty()) return other;
  other.evaluation = reports::exchanged(std::move(other.evaluation), tried, device);
  if (other.has_group) {
    other.group_evaluation = reports::exchanged(std::move(other.group_evaluation), tried, device);
  }
  return other;
}

/// The reason that holds the op where it is, from the alternative with the best step.
Bound bound_of(const Outcome& outcome, const OpExplanation& op) {
  const Problem& problem = *outcome.problem;
  std::vector<reports::Elsewhere> others;
  for (const Alternative& other : op.alternatives) {
    reports::Elsewhere& there = others.emplace_back();
    there.device = other.device;
    there.refused = other.refused;
    if (!other.refused.empty()) continue;
    there.worth = reports::worth_of(problem, other.evaluation);
    there.excess_bytes = other.evaluation.excess_bytes;
    // Ops that must be apart may not be there, though no memory is lacking.
    if (!other.evaluation.feasible && there.excess_bytes == 0) there.refused = "separated";
  }
  DeviceId where = kNoDevice;
  const reports::Worth now = reports::worth_of(problem, outcome.evaluation);
  const auto bound = reports::bound_by(problem, op.together, op.device, now, others, where);
  return bound ? *bound : reports::reason_of(outcome, op.together, now.objective_us, where);
}

}  // namespace

std::vector<Stretch> stretches(const Outcome& outcome) {
  std::vector<Stretch> path;
  for (const CriticalStep& step : outcome.trace.critical_path) {
    Stretch stretch;
    stretch.start_us = step.start_us;
    stretch.end_us = step.end_us;
    if (step.op == kNoOp) {
      const Transfer& transfer = outcome.trace.transfers[at(step.transfer)];
      stretch.transfer = step.transfer;
      stretch.device = transfer.src;
      stretch.receiver = transfer.dst;
      stretch.first = stretch.last = transfer.producer;
      stretch.waited_us = std::max(0.0, transfer.start_us - transfer.queued_us);
      path.push_back(stretch);
      continue;
    }
    stretch.device = outcome.problem->cluster().works_in(outcome.placement[at(step.op)]);
    stretch.first = stretch.last = step.op;
    stretch.ops = 1;
    if (!path.empty() && path.back().transfer < 0 && path.back().device == stretch.device) {
      path.back().last = step.op;
      path.back().end_us = step.end_us;
      ++path.back().ops;
    } else {
      path.push_back(stretch);
    }
  }
  return path;
}

std::vector<Stretch> hurting_transfers(const std::vector<Stretch>& path) {
  std::vector<Stretch> transfers;
  for (const Stretch& stretch : path) {
    if (stretch.transfer >= 0) transfers.push_back(stretch);
  }
  // A transfer's wait is on the path before it.
  std::stable_sort(transfers.begin(), transfers.end(), [](const Stretch& a, const Stretch& b) {
    return a.end_us - a.start_us > b.end_us - b.start_us;
  });
  return transfers;
}

OpExplanation explain_op(const Outcome& outcome, OpId op) {
  const Problem& problem = *outcome.problem;
  OpExplanation result;
  result.op = op;
  result.device = outcome.placement[at(op)];
  const auto classes = problem.finest_groups();
  const auto members = classes->members(classes->of(op));
  result.together.assign(members.begin(), members.end());
  result.rules = rules_about(problem, result.together);
  result.start_us = outcome.trace.op_start_us[at(op)];
  result.end_us = outcome.trace.op_end_us[at(op)];
  const auto& path = outcome.trace.critical_path;
  result.critical =
      std::any_of(path.begin(), path.end(), [op](const CriticalStep& s) { return s.op == op; });

  const auto evaluator = make_simulation_evaluator(outcome.problem, /*threads=*/1);
  const GroupId group = problem.groups().of(op);
  const auto group_members = problem.groups().members(group);
  const Alternative* best = nullptr;
  const std::vector<DeviceId> first_alike = reports::first_alike(problem, outcome.placement);
  std::map<DeviceId, std::size_t> tried;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (device == result.device) continue;
    tried[device] = result.alternatives.size();
    if (const DeviceId first = first_alike[at(device)]; first != device) {
      result.alternatives.push_back(
          in_place_of(result.alternatives[tried.at(first)], first, device));
      continue;
    }
    Alternative other;
    other.device = device;
    other.refused = reports::refusal(problem, result.together, device);
    if (other.refused.empty()) {
      other.evaluation = with_moved(*evaluator, outcome.placement, members, device);
      other.has_group = group_members.size() > members.size() && problem.can_run(group, device);
      if (other.has_group) {
        other.group_evaluation = with_moved(*evaluator, outcome.placement, group_members, device);
      }
    }
    result.alternatives.push_back(std::move(other));
  }
  for (const Alternative& other : result.alternatives) {
    if (!other.refused.empty() || !other.evaluation.feasible) continue;
    if (best == nullptr || better(other.evaluation, best->evaluation)) best = &other;
  }
  if (best != nullptr) result.runner_up = best->device;
  result.bound = bound_of(outcome, result);
  return result;
}

}  // namespace berth
