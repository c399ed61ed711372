#include "mcmc/metropolis.h"

#include <cmath>
#include <limits>
#include <utility>

namespace berth::policies::mcmc {
namespace {

/// The groups that have a choice.
std::vector<GroupId> free_groups(const Problem& problem, const std::vector<DeviceId>& devices) {
  std::vector<GroupId> groups;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    int able = 0;
    for (const DeviceId device : devices) able += problem.can_run(group, device) ? 1 : 0;
    if (able > 1) groups.push_back(group);
  }
  return groups;
}

DeviceId other_device(const Problem& problem, const std::vector<DeviceId>& devices, GroupId group,
                      DeviceId here, Random& random) {
  for (;;) {
    const DeviceId device = devices[random.below(devices.size())];
    if (device != here && problem.can_run(group, device)) return device;
  }
}

}  // namespace

ChainBest run_chain(MoveEvaluator& moves, const Groups& groups,
                    const std::vector<DeviceId>& devices, GroupPlacement start, ChainRules rules,
                    Random random, const PlaceContext& context) {
  const Problem& problem = moves.problem();
  moves.reset(groups.expand(start));
  ChainBest best{start, moves.objective_us(), moves.excess_bytes()};
  GroupPlacement now = std::move(start);
  const std::vector<GroupId> movable = free_groups(problem, devices);
  if (movable.empty()) return best;

  std::vector<Move> proposal;
  std::int64_t since_best = 0;
  for (std::int64_t made = 0; made < rules.moves && since_best <= rules.moves / 2; ++made) {
    if (context.stopped()) break;
    ++since_best;
    const GroupId group = movable[random.below(movable.size())];
    const DeviceId device = other_device(problem, devices, group, now[group], random);
    proposal.clear();
    for (const OpId op : groups.members(group)) proposal.push_back({op, device});

    const bool fits = moves.excess_bytes() == 0;
    const double slack = -std::log1p(-random.uniform()) / rules.beta;
    const double cutoff_us =
        std::nextafter(moves.objective_us() * (1 + slack), std::numeric_limits<double>::max());
    const MoveEvaluator::Candidate candidate =
        moves.propose(proposal, fits ? cutoff_us : std::numeric_limits<double>::infinity());
    const std::int64_t excess_bytes = moves.excess_bytes();
    const bool taken =
        !candidate.rejected &&
        (candidate.excess_bytes < excess_bytes ||
         (candidate.excess_bytes == excess_bytes && candidate.objective_us < cutoff_us));
    if (!taken) continue;
    moves.accept();
    now[group] = device;
    if (!better(candidate, Score{best.objective_us, best.excess_bytes})) continue;
    best = {now, candidate.objective_us, candidate.excess_bytes};
    since_best = 0;
  }
  return best;
}

}  // namespace berth::policies::mcmc
