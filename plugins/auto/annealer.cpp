#include "auto/annealer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "auto/idleness.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// Proposals between two looks at what limits the objective.
constexpr std::int64_t kMovesPerLook = 256;
/// Proposals between two changes of the temperature.
constexpr std::int64_t kMovesPerStep = 64;
/// In the time of exact proposals: to contract a problem takes that of 25 or so.
constexpr double kLeg = 120;
constexpr int kLegs = 16;
constexpr double kAlmostAll = 0.999999;

/// Least share of a leg's time for proposals: to contract a large problem may take all.
constexpr double kLeastShare = 0.25;

using Clock = std::chrono::steady_clock;

/// Proposals that take about a millisecond: a microsecond for a move of a load, 50 ns per op for a
/// step.
std::int64_t polled_every(const Problem& problem) {
  const bool throughput = problem.options().objective == Objective::throughput;
  const std::int64_t ops = throughput ? 20 : problem.graph().op_count();
  return std::clamp<std::int64_t>(20000 / ops, 1, 1024);
}

}  // namespace

Annealer::Annealer(const std::shared_ptr<const Simulator>& simulator, std::span<const Grain> grains,
                   const Structure& structure)
    : simulator_(simulator), grains_(grains), structure_(structure), landscape_(simulator) {
  for (const Grain& grain : grains) proposers_.emplace_back(grain.units);
}

void Annealer::look(Field& field, bool fill) {
  hot_.clear();
  const Units& units = field.units;
  const auto placement = field.landscape.placement();
  if (field.landscape.busiest() != kNoDevice) {
    for (const UnitId unit : units.movable()) {
      if (placement[at(units.ops(unit).front())] == field.landscape.busiest()) hot_.push_back(unit);
    }
  } else {
    const StepTrace trace = field.simulator.trace(placement);
    for (const CriticalStep& step : trace.critical_path) {
      if (step.op == kNoOp) continue;
      const UnitId unit = units.of(step.op);
      if (units.devices(unit).size() > 1) hot_.push_back(unit);
    }
    if (fill) {
      const Problem& problem = field.simulator.problem();
      const std::vector<Gap> gaps = gaps_of(problem, placement, trace);
      field.proposer.set_fills(fills_of(problem, units, placement, trace, gaps));
    }
  }
  field.proposer.set_hot(hot_);
}

Annealer::Result Annealer::run(const Solution& start, const Schedule& schedule, std::uint64_t seed,
                               const std::function<bool()>& stop) {
  if (schedule.contracts) return run_contracted(start, schedule, seed, stop);
  const Units& units = grains_[schedule.grain].units;
  Field field{*simulator_, units, landscape_, proposers_[schedule.grain]};
  landscape_.reset(start.placement);
  field.proposer.forget();
  if (schedule.settled > 0) {
    field.proposer.hold(settled_units(*simulator_, units, start.placement, schedule.settled));
  }
  Result result{start};
  result.moves = anneal(field, schedule, seed, stop, result.best, [] {});
  return result;
}

/// In legs, each from the best placement so far, around which the problem is contracted anew.
Annealer::Result Annealer::run_contracted(const Solution& start, const Schedule& schedule,
                                          std::uint64_t seed, const std::function<bool()>& stop) {
  const double exact_moves = static_cast<double>(schedule.moves) * grains_[schedule.grain].weight;
  const int legs = std::clamp(static_cast<int>(exact_moves / kLeg), 1, kLegs);
  Random random(seed);
  Result result{start};
  for (int leg = 0; leg < legs && !stop(); ++leg) {
    Schedule part = schedule;
    part.moves = std::max<std::int64_t>(1, schedule.moves / legs);
    part.seconds = schedule.seconds / legs;
    part.begin = static_cast<double>(leg) / legs;
    part.end = static_cast<double>(leg + 1) / legs;
    run_leg(part, random.next(), stop, result);
  }
  return result;
}

/// Units are cut by device, so that the leg begins where the best placement is. What it finds is
/// confirmed by an exact step, now and then and at the end.
void Annealer::run_leg(const Schedule& schedule, std::uint64_t seed,
                       const std::function<bool()>& stop, Result& result) {
  const Clock::time_point began = Clock::now();
  const Contracted contracted(*simulator_, grains_[schedule.grain].units.groups(),
                              result.best.placement);
  std::vector<std::shared_ptr<const Groups>> coarser;
  for (std::size_t i = schedule.grain; i < grains_.size(); ++i) {
    coarser.push_back(contracted.shrink(grains_[i].units.groups()));
  }
  const Units units(*contracted.problem(), contracted.problem()->finest_groups(), coarser,
                    contracted.shrink(structure_));
  const auto simulator = std::make_shared<const Simulator>(contracted.problem());
  Landscape landscape(simulator);
  Proposer proposer(units);
  Field field{*simulator, units, landscape, proposer};
  landscape.reset(contracted.shrink(result.best.placement));

  Solution best{contracted.shrink(result.best.placement), landscape.objective_us(),
                landscape.excess_bytes()};
  double confirmed_us = best.objective_us;
  const auto confirm = [&] {
    if (best.objective_us == confirmed_us) return;
    confirmed_us = best.objective_us;
    Placement placement = contracted.expand(best.placement);
    simulator_->evaluate(placement, workspace_, evaluation_);
    beside_ += {1, simulator_->problem().graph().op_count()};
    Solution exact{std::move(placement), evaluation_.objective_us, evaluation_.excess_bytes};
    if (exact.better_than(result.best)) result.best = std::move(exact);
  };
  Schedule rest = schedule;
  if (schedule.seconds > 0) {
    rest.seconds =
        std::max(schedule.seconds - seconds_since(began), kLeastShare * schedule.seconds);
  }
  result.moves += anneal(field, rest, seed, stop, best, confirm);
  confirm();
  beside_.simulated_ops += landscape.work().simulated_ops;
}

std::int64_t Annealer::anneal(Field& field, const Schedule& schedule, std::uint64_t seed,
                              const std::function<bool()>& stop, Solution& best,
                              const std::function<void()>& at_look) {
  Random random(seed);
  Landscape& landscape = field.landscape;
  landscape.sharpen(Landscape::kBlunt);
  const std::int64_t moves_per_poll = polled_every(field.simulator.problem());
  const Clock::time_point began = Clock::now();
  const double cooling =
      schedule.hottest_us > 0 ? std::log(schedule.coldest_us / schedule.hottest_us) : 0;
  constexpr int kSteps = Landscape::kSharp - Landscape::kBlunt + 1;
  double temperature_us = schedule.hottest_us;
  double progress = 0;
  std::int64_t i = 0;
  for (; progress < 1; ++i) {
    if (i % moves_per_poll == 0) {
      if (stop()) break;
      if (schedule.seconds > 0) {
        progress = seconds_since(began) / schedule.seconds;
      }
    }
    if (schedule.seconds == 0) {
      progress = static_cast<double>(i) / static_cast<double>(schedule.moves);
      if (i == schedule.moves) break;
    }
    if (i % kMovesPerLook == 0) {
      at_look();
      look(field, schedule.fill);
    }
    if (i % kMovesPerStep == 0) {
      const double of_all =
          schedule.begin + (schedule.end - schedule.begin) * std::min(progress, kAlmostAll);
      temperature_us = schedule.hottest_us * std::exp(cooling * of_all);
      landscape.sharpen(Landscape::kBlunt + static_cast<int>(of_all * kSteps));
    }
    const auto moves = field.proposer.draw(landscape.placement(), schedule.reach, random);
    if (moves.empty() || !keeps_apart(field, moves)) continue;
    // exp(-(new - old) / T) > u  <=>  new < old - T ln u
    const double before_us = landscape.energy_us();
    const double cutoff_us = before_us - temperature_us * std::log(random.uniform() + 1e-300);
    const bool accepted = landscape.below(moves, cutoff_us);
    if (accepted) landscape.accept();
    field.proposer.learn(landscape.energy_us() < before_us);
    if (accepted) keep_if_better(landscape, best);
  }
  return i;
}

bool Annealer::keeps_apart(const Field& field, std::span<const Move> moves) {
  const std::vector<bool>& separated = field.units.separated();
  const auto concerned = [&](const Move& move) { return separated[at(move.op)]; };
  if (separated.empty() || std::none_of(moves.begin(), moves.end(), concerned)) return true;
  const auto placement = field.landscape.placement();
  trial_.assign(placement.begin(), placement.end());
  for (const Move& move : moves) trial_[at(move.op)] = move.to;
  return field.simulator.problem().crowded_device(trial_) == kNoDevice;
}

void Annealer::keep_if_better(const Landscape& landscape, Solution& best) {
  const Score found{landscape.objective_us(), landscape.excess_bytes()};
  if (!best.refused && !better(found, best.score())) return;
  best.placement.assign(landscape.placement().begin(), landscape.placement().end());
  best.objective_us = found.objective_us;
  best.excess_bytes = found.excess_bytes;
  best.refused = false;
}

}  // namespace berth::policies::auto_policy
