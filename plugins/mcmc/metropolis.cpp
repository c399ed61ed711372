#include "mcmc/metropolis.h"

#include <cmath>
#include <limits>
#include <utility>

#include "berth/support/index.h"

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

class SimulatingJudge final : public Judge {
 public:
  explicit SimulatingJudge(MoveEvaluator& moves) : moves_(moves) {}

  Score start(const Placement& placement) override {
    moves_.reset(placement);
    return {moves_.objective_us(), moves_.excess_bytes()};
  }
  Score propose(std::span<const Move> moves, double cutoff_us) override {
    const MoveEvaluator::Candidate candidate = moves_.propose(moves, cutoff_us);
    if (candidate.rejected) return {kCannotRun, candidate.excess_bytes};
    return candidate;
  }
  void accept() override { moves_.accept(); }

 private:
  MoveEvaluator& moves_;
};

class AskingJudge final : public Judge {
 public:
  explicit AskingJudge(Evaluator& evaluator) : evaluator_(evaluator) {}

  Score start(const Placement& placement) override {
    now_ = placement;
    return evaluator_.evaluate(now_).score();
  }
  Score propose(std::span<const Move> moves, double /*cutoff_us*/) override {
    proposed_ = now_;
    for (const Move& move : moves) proposed_[at(move.op)] = move.to;
    return evaluator_.evaluate(proposed_).score();
  }
  void accept() override { now_.swap(proposed_); }

 private:
  Evaluator& evaluator_;
  Placement now_;
  Placement proposed_;
};

}  // namespace

std::unique_ptr<Judge> simulating_judge(MoveEvaluator& moves) {
  return std::make_unique<SimulatingJudge>(moves);
}

std::unique_ptr<Judge> asking_judge(Evaluator& evaluator) {
  return std::make_unique<AskingJudge>(evaluator);
}

ChainBest run_chain(Judge& judge, const Problem& problem, const std::vector<DeviceId>& devices,
                    GroupPlacement start, ChainRules rules, Random random,
                    const PlaceContext& context) {
  const Groups& groups = problem.groups();
  Score here = judge.start(groups.expand(start));
  ChainBest best{start, here};
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

    const double slack = -std::log1p(-random.uniform()) / rules.beta;
    const double cutoff_us =
        std::nextafter(here.objective_us * (1 + slack), std::numeric_limits<double>::max());
    const Score score = judge.propose(
        proposal, here.excess_bytes == 0 ? cutoff_us : std::numeric_limits<double>::infinity());
    const bool taken = score.excess_bytes < here.excess_bytes ||
                       (score.excess_bytes == here.excess_bytes && score.objective_us < cutoff_us);
    if (!taken) continue;
    judge.accept();
    here = score;
    now[group] = device;
    if (!better(score, best.score)) continue;
    best = {now, score};
    since_best = 0;
  }
  return best;
}

}  // namespace berth::policies::mcmc
