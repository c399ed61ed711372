#include "auto/annealer.h"

#include <algorithm>
#include <cmath>

#include "auto/idleness.h"

namespace berth::policies::auto_policy {
namespace {

/// Proposals between two looks at what limits the objective.
constexpr std::int64_t kMovesPerLook = 256;
/// Proposals between two changes of the temperature.
constexpr std::int64_t kMovesPerStep = 64;

}  // namespace

Annealer::Annealer(const std::shared_ptr<const Simulator>& simulator, std::span<const Units> grains)
    : simulator_(simulator), grains_(grains), landscape_(simulator) {
  for (const Units& units : grains) proposers_.emplace_back(units);
  const bool throughput = simulator->problem().options().objective == Objective::throughput;
  // About a microsecond for a move of a load, 50 ns per op for a step.
  const std::int64_t ops = throughput ? 20 : simulator->problem().graph().op_count();
  moves_per_poll_ = std::clamp<std::int64_t>(20000 / ops, 1, 1024);
}

void Annealer::look(const Units& units, Proposer& proposer, bool fill) {
  hot_.clear();
  const auto placement = landscape_.placement();
  if (landscape_.busiest() != kNoDevice) {
    for (const UnitId unit : units.movable()) {
      if (placement[static_cast<std::size_t>(units.ops(unit).front())] == landscape_.busiest()) {
        hot_.push_back(unit);
      }
    }
  } else {
    const StepTrace trace = simulator_->trace(placement);
    for (const CriticalStep& step : trace.critical_path) {
      if (step.op == kNoOp) continue;
      const UnitId unit = units.of(step.op);
      if (units.devices(unit).size() > 1) hot_.push_back(unit);
    }
    if (fill) {
      const Problem& problem = simulator_->problem();
      const std::vector<Gap> gaps = gaps_of(problem, placement, trace);
      proposer.set_fills(fills_of(problem, units, placement, trace, gaps));
    }
  }
  proposer.set_hot(hot_);
}

void Annealer::hold_settled(const Units& units, Proposer& proposer, double share) const {
  if (share <= 0) return;
  proposer.hold(settled_units(*simulator_, units, landscape_.placement(), share));
}

Solution Annealer::run(const Solution& start, const Schedule& schedule, std::uint64_t seed,
                       const std::function<bool()>& stop) {
  Random random(seed);
  Proposer& proposer = proposers_[schedule.grain];
  proposer.forget();
  landscape_.reset(start.placement);
  landscape_.sharpen(Landscape::kBlunt);
  const Units& units = grains_[schedule.grain];
  hold_settled(units, proposer, schedule.settled);
  Solution best = start;
  const double cooling =
      schedule.hottest_us > 0 ? std::log(schedule.coldest_us / schedule.hottest_us) : 0;
  constexpr int kSteps = Landscape::kSharp - Landscape::kBlunt + 1;
  double temperature_us = schedule.hottest_us;
  for (std::int64_t i = 0; i < schedule.moves; ++i) {
    if (i % moves_per_poll_ == 0 && stop()) break;
    if (i % kMovesPerLook == 0) look(units, proposer, schedule.fill);
    if (i % kMovesPerStep == 0) {
      const double progress = static_cast<double>(i) / static_cast<double>(schedule.moves);
      temperature_us = schedule.hottest_us * std::exp(cooling * progress);
      landscape_.sharpen(Landscape::kBlunt + static_cast<int>(progress * kSteps));
    }
    const auto moves = proposer.draw(landscape_.placement(), schedule.reach, random);
    if (moves.empty() || !keeps_apart(moves)) continue;
    // exp(-(new - old) / T) > u  <=>  new < old - T ln u
    const double before_us = landscape_.energy_us();
    const double cutoff_us = before_us - temperature_us * std::log(random.uniform() + 1e-300);
    const bool accepted = landscape_.below(moves, cutoff_us);
    if (accepted) landscape_.accept();
    proposer.learn(accepted && landscape_.energy_us() < before_us);
    if (accepted) keep_if_better(best);
  }
  return best;
}

bool Annealer::keeps_apart(std::span<const Move> moves) {
  const std::vector<bool>& separated = grains_.front().separated();
  const auto concerned = [&](const Move& move) {
    return separated[static_cast<std::size_t>(move.op)];
  };
  if (separated.empty() || std::none_of(moves.begin(), moves.end(), concerned)) return true;
  trial_.assign(landscape_.placement().begin(), landscape_.placement().end());
  for (const Move& move : moves) trial_[static_cast<std::size_t>(move.op)] = move.to;
  return simulator_->problem().crowded_device(trial_) == kNoDevice;
}

void Annealer::keep_if_better(Solution& best) const {
  if (landscape_.excess_bytes() > best.excess_bytes) return;
  if (landscape_.excess_bytes() == best.excess_bytes &&
      landscape_.objective_us() >= best.objective_us) {
    return;
  }
  best.placement.assign(landscape_.placement().begin(), landscape_.placement().end());
  best.objective_us = landscape_.objective_us();
  best.excess_bytes = landscape_.excess_bytes();
}

}  // namespace berth::policies::auto_policy
