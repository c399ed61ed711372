#include <algorithm>
#include <tuple>
#include <vector>

#include "berth/evaluator.h"
#include "berth/support/index.h"

namespace berth {
namespace {

bool runs_everything(const Problem& problem, DeviceId device) {
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    if (!problem.can_run(group, device)) return false;
  }
  return true;
}

/// What tells two devices apart when a whole graph runs on one of them.
auto figures(const Problem& problem, DeviceId device) {
  return std::tuple(problem.device_class(device), problem.memory_bytes(device));
}

/// One device of each sort, in the cluster's order.
std::vector<DeviceId> distinct_candidates(const Problem& problem) {
  std::vector<DeviceId> candidates;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const bool seen = std::any_of(candidates.begin(), candidates.end(), [&](DeviceId other) {
      return figures(problem, other) == figures(problem, device);
    });
    if (!seen && runs_everything(problem, device)) candidates.push_back(device);
  }
  return candidates;
}

}  // namespace

SingleDevice best_single_device(Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  const std::vector<DeviceId> candidates = distinct_candidates(problem);
  std::vector<Placement> placements;
  placements.reserve(candidates.size());
  for (const DeviceId device : candidates) {
    placements.emplace_back(at(problem.graph().op_count()), device);
  }
  std::vector<Evaluation> evaluations(placements.size());
  evaluator.evaluate(placements, evaluations);

  SingleDevice best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!evaluations[i].feasible) continue;
    if (best.device != kNoDevice && evaluations[i].objective_us >= best.evaluation.objective_us) {
      continue;
    }
    best = {candidates[i], placements[i], evaluations[i]};
  }
  return best;
}

}  // namespace berth
