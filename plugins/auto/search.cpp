#include "auto/search.h"

#include <algorithm>
#include <cmath>

#include "auto/contracted.h"
#include "auto/figures.h"
#include "auto/idleness.h"
#include "auto/race.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

double mean_unit_us(const Problem& problem, const Units& units) {
  double sum = 0;
  int count = 0;
  for (UnitId unit = 0; unit < units.count(); ++unit) {
    double least = kCannotRun;
    for (const DeviceId device : units.devices(unit)) {
      double us = 0;
      for (const OpId op : units.ops(unit)) us += problem.cost_us(op, device);
      least = std::min(least, us);
    }
    if (least > 0) ++count;
    sum += least;
  }
  return count > 0 ? sum / count : 0;
}

bool alike(const Solution& a, const Solution& b) {
  return a.excess_bytes == b.excess_bytes &&
         std::abs(a.objective_us - b.objective_us) <= 1e-9 * b.objective_us;
}

void sort_best_first(std::vector<Solution>& solutions) {
  std::stable_sort(solutions.begin(), solutions.end(),
                   [](const Solution& a, const Solution& b) { return a.better_than(b); });
}

/// Whether every unit has a device.
bool can_run(const Units& units) {
  for (UnitId unit = 0; unit < units.count(); ++unit) {
    if (units.devices(unit).empty()) return false;
  }
  return true;
}

/// The finest grain, and the coarser ones in which something can move.
std::vector<Grain> grains_of(const Problem& problem, bool contracts, const Structure& structure,
                             const std::function<bool()>& enough) {
  constexpr GroupId kFewestPerDevice = 8;
  const auto groups = grains(problem, enough);
  std::vector<Grain> all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool few = groups[i]->count() < kFewestPerDevice * problem.cluster().device_count();
    if (i > 0 && contracts && few) break;
    Units units(problem, groups[i], std::span(groups).subspan(i + 1), structure);
    if (i > 0 && (units.movable().empty() || (contracts && !can_run(units)))) continue;
    all.push_back({std::move(units), 0, 0});
  }
  return all;
}

std::int64_t default_moves(const Problem& problem, const Units& units) {
  const std::int64_t affordable = kFigures.default_ops / problem.graph().op_count();
  const std::int64_t wanted =
      std::max(kFigures.default_moves * units.count(), kFigures.default_least);
  return std::max<std::int64_t>(1, std::min(wanted, affordable));
}

}  // namespace

Search::Search(const std::shared_ptr<const Problem>& problem, const SearchSettings& settings,
               const PlaceContext& context, std::chrono::steady_clock::time_point began)
    : context_(context),
      settings_(settings),
      latency_(problem->options().objective == Objective::latency),
      contracts_(latency_ && problem->separations().empty()),
      structure_(structure_of(*problem)),
      grains_(grains_of(*problem, contracts_, structure_,
                        [this, began] {
                          if (settings_.moves > 0 || !std::isfinite(context_.budget_s))
                            return false;
                          const std::chrono::duration<double> so_far =
                              std::chrono::steady_clock::now() - began;
                          return context_.stopped() ||
                                 so_far.count() > kFigures.prepared * context_.budget_s;
                        })),
      simulator_(std::make_shared<const Simulator>(problem)),
      random_(context.seed),
      total_moves_(settings.moves),
      length_per_unit_(latency_ ? kFigures.latency_length : kFigures.throughput_length),
      full_length_(length_per_unit_ * grains_.front().units.count()),
      began_(began) {
  if (total_moves_ == 0 && !std::isfinite(context.budget_s)) {
    total_moves_ = default_moves(*problem, grains_.front().units);
  }
  const double share = latency_ ? kFigures.latency_temperature : kFigures.throughput_temperature;
  for (Grain& grain : grains_) {
    grain.temperature_us = share * mean_unit_us(*problem, grain.units);
  }
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    arms_[i] = {kFigures.factors[i].factor, kFigures.factors_tried, kFigures.factors[i].won};
  }
}

double Search::seconds() const {
  return seconds_since(began_);
}

bool Search::over() const {
  if (pool_.front().fits() && pool_.front().objective_us <= bound_us_) return true;
  return (!timed() && moves_made_ >= total_moves_) || context_.stopped();
}

bool Search::brief(std::int64_t moves) const {
  return moves < kFigures.enough * grains_.front().units.count();
}

std::int64_t Search::moves_left() const {
  if (!timed()) return total_moves_ - moves_made_;
  const double left_s = context_.budget_s - seconds();
  return static_cast<std::int64_t>(std::max(1.0, left_s * moves_per_s_));
}

std::size_t Search::slots(std::size_t tasks) const {
  if (!timed()) return tasks;
  const auto threads = static_cast<std::size_t>(settings_.threads);
  return (tasks + threads - 1) / threads * threads;
}

SearchWork Search::work() const noexcept {
  return team_ ? team_->work() : SearchWork{};
}

std::vector<Solution> Search::run(std::vector<Solution> starts, double bound_us) {
  bound_us_ = bound_us * (1 + 1e-9);
  sort_best_first(starts);
  for (const Solution& start : starts) {
    admit(start);
    const auto same = [&](const Solution& other) { return alike(start, other); };
    if (origins_.size() < kFigures.runners &&
        std::none_of(origins_.begin(), origins_.end(), same)) {
      origins_.push_back(start);
    }
  }
  if (grains_.front().units.movable().empty()) return pool_;
  if (contracts_) gather_starts();
  team_ = std::make_unique<Team>(simulator_, grains_, structure_, settings_.threads);
  if (timed() && moves_per_s_ == 0) warm_up();
  if (!over() && contracts_ && brief(moves_left())) race_starts();
  while (!over()) anneal_round();
  return pool_;
}

double Search::weight(std::size_t grain, bool contracts) const {
  return contracts ? grains_[grain].weight : 1;
}

/// A chain that is too short to come back from the full heat starts with less.
Annealer::Schedule Search::stage(std::size_t grain, bool contracts, std::int64_t moves,
                                 double factor) const {
  const auto proposals = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(moves) / weight(grain, contracts)));
  const double length = static_cast<double>(proposals) /
                        static_cast<double>(length_per_unit_ * grains_[grain].units.count());
  Annealer::Schedule schedule{};
  schedule.grain = grain;
  schedule.contracts = contracts;
  schedule.moves = proposals;
  if (timed()) schedule.seconds = static_cast<double>(moves) * settings_.threads / moves_per_s_;
  schedule.hottest_us =
      factor * grains_[grain].temperature_us * std::clamp(std::cbrt(length), 0.1, 1.0);
  schedule.coldest_us = schedule.hottest_us * kFigures.cooling;
  schedule.reach = kFigures.reach;
  return schedule;
}

std::vector<Annealer::Schedule> Search::stages(std::int64_t moves, const Arm& arm) const {
  std::size_t grain = 0;
  const bool fill = brief(moves);
  const auto contracts = [&](std::size_t g) { return contracts_ && grains_[g].weight > 0; };
  const auto plenty = [&](std::size_t g) {
    return static_cast<double>(kFigures.plenty * grains_[g].units.count()) *
           weight(g, contracts(g));
  };
  if (fill) {
    while (grain + 1 < grains_.size() && static_cast<double>(moves) < plenty(grain)) ++grain;
  }
  std::vector<Annealer::Schedule> all;
  std::int64_t left = moves;
  for (; grain > 0; --grain) {
    const auto share = static_cast<std::int64_t>(kFigures.coarse_share * static_cast<double>(left));
    if (contracts(grain) && share < kFigures.worth_contracting) continue;
    all.push_back(stage(grain, contracts(grain), share, arm.factor));
    left -= share;
  }
  all.push_back(stage(0, false, left, arm.factor));
  for (Annealer::Schedule& each : all) each.fill = fill;
  return all;
}

/// Adds the starts with every layer, or every unit of a coarser grain, on one device, and finds out of
/// which grains contracted steps are much like exact ones.
void Search::gather_starts() {
  const std::vector<Solution> starts = origins_;
  Simulator::Workspace workspace;
  Evaluation evaluation;
  const double begin_s = seconds();
  const double left_s = context_.budget_s - begin_s;
  const auto past = [&](double share) {
    return over() || (timed() && seconds() > begin_s + share * left_s);
  };
  double evaluated_s = 0;
  double evaluations = 0;
  const auto add = [&](std::size_t origin, Placement placement) {
    const double before_s = seconds();
    simulator_->evaluate(placement, workspace, evaluation);
    evaluated_s += seconds() - before_s;
    evaluations += 1;
    Solution solution{std::move(placement), evaluation.objective_us, evaluation.excess_bytes};
    if (solution.better_than(origins_[origin])) origins_[origin] = solution;
    admit(solution);
    return solution;
  };
  for (std::size_t j = 0; structure_.layers && j < starts.size() && !past(kFigures.gather); ++j) {
    add(j, gather_layers(starts[j].placement));
  }
  for (std::size_t i = 1; i < grains_.size(); ++i) {
    Grain& grain = grains_[i];
    Solution best;
    if (past(2 * kFigures.gather)) return;
    for (std::size_t j = 0; j < starts.size(); ++j) {
      // One is needed to know how good contracted steps are.
      if (j > 0 && past(kFigures.gather)) break;
      Solution solution =
          add(j, gather(simulator_->problem(), grain.units.groups(), starts[j].placement));
      if (best.placement.empty() || solution.better_than(best)) best = std::move(solution);
    }
    // A proposal takes about as long.
    moves_per_s_ = settings_.threads * evaluations / std::max(evaluated_s, 1e-6);
    const Contracted contracted(*simulator_, grain.units.groups(), best.placement);
    const Simulator simulator(contracted.problem());
    const double us = simulator.runtime_us(contracted.shrink(best.placement), workspace);
    if (std::abs(us - best.objective_us) > kFigures.faithful * best.objective_us) continue;
    grain.weight = static_cast<double>(contracted.problem()->graph().op_count()) /
                   simulator_->problem().graph().op_count();
  }
}

/// Every layer on one device, but for what that cannot run.
Placement Search::gather_layers(std::span<const DeviceId> start) const {
  Placement placement = gather(simulator_->problem(), *structure_.layers, start);
  const Units& units = grains_.front().units;
  for (UnitId unit = 0; unit < units.count(); ++unit) {
    const auto ops = units.ops(unit);
    if (units.can_run(unit, placement[at(ops.front())])) continue;
    for (const OpId op : ops) placement[at(op)] = start[at(op)];
  }
  return placement;
}

/// Improves the best start a little, longer each time, until there is a speed to plan with.
void Search::warm_up() {
  moves_per_s_ = 1e12;  // no limit
  for (std::int64_t moves = 8; !over(); moves *= 2) {
    const double before_s = seconds();
    Annealer::Schedule schedule = stage(0, false, moves, arms_[0].factor);
    schedule.seconds = 0;
    std::vector<Task> tasks{{pool_.front(), {schedule}, random_.next()}};
    run_tasks(tasks, {});
    moves_per_s_ *= settings_.threads;  // only one has worked
    if (seconds() - before_s > kFigures.warm_up * context_.budget_s) break;
  }
}

/// Anneals the best starts at the coarsest grain: which of them leads furthest cannot be told from
/// where they are. Contracted steps allow for many more proposals than exact ones, but not every
/// improvement shows in them: the last round is run both ways, and the better one is kept to.
void Search::race_starts() {
  const std::size_t grain = grains_.size() - 1;
  if (grain == 0 || grains_[grain].weight == 0) return;
  std::vector<Solution> runners = std::move(origins_);
  sort_best_first(runners);
  const auto moves_each = [this](const Round& round, std::size_t tasks) {
    return round.share * static_cast<double>(moves_left()) / static_cast<double>(slots(tasks));
  };
  std::vector<Round> rounds = rounds_of_race(runners.size(), kFigures.race);
  while (runners.size() >= kFigures.fewest &&
         moves_each(rounds.front(), runners.size()) < kFigures.worth_running) {
    runners.pop_back();
    rounds = rounds_of_race(runners.size(), kFigures.race);
  }
  if (runners.size() < kFigures.fewest) return;
  for (const Round& round : rounds) {
    if (over()) return;
    const std::size_t ways = round.last() ? 2 : 1;
    const auto moves = static_cast<std::int64_t>(moves_each(round, ways * runners.size()));
    std::vector<Task> tasks;
    for (std::size_t way = 0; way < ways; ++way) {
      for (const Solution& runner : runners) {
        Annealer::Schedule schedule = stage(grain, /*contracts=*/way == 0, moves, arms_[0].factor);
        schedule.fill = true;
        tasks.push_back({runner, {schedule}, random_.next()});
      }
    }
    std::vector<Solution> found = run_tasks(tasks, {});
    if (round.last()) {
      double gained_us = 0;  // by contraction
      for (std::size_t i = 0; i < runners.size(); ++i) {
        gained_us += found[runners.size() + i].objective_us - found[i].objective_us;
      }
      contracts_ = gained_us >= 0;
    }
    sort_best_first(found);
    found.resize(round.survivors());
    runners = std::move(found);
  }
}

Search::Arm& Search::draw_arm() {
  double sum = 0;
  for (const Arm& arm : arms_) sum += static_cast<double>(arm.won) / arm.tried;
  double ticket = random_.uniform() * sum;
  for (Arm& arm : arms_) {
    ticket -= static_cast<double>(arm.won) / arm.tried;
    if (ticket < 0) return arm;
  }
  return arms_.back();
}

void Search::anneal_round() {
  const std::int64_t left = moves_left();
  const std::int64_t least = timed() ? settings_.threads : 2;
  const std::int64_t chains = std::max(
      least,
      std::min<std::int64_t>(left / full_length_, std::max(settings_.chains, settings_.threads)));
  // Later rounds are longer; what would be left over for a short one is taken along.
  std::int64_t moves = full_length_ * (2 + rounds_) / 2;
  if (left < 2 * moves * chains) moves = (left + chains - 1) / chains;
  ++rounds_;
  const bool sweeping = latency_ && brief(moves);
  if (sweeping) {
    const double share = (1 - kFigures.sweeps_share) * (1 - settled_share(pool_.front()));
    moves = static_cast<std::int64_t>(share * static_cast<double>(moves));
  }
  const bool ample = left >= full_length_ * chains;
  std::vector<Task> tasks;
  std::vector<Arm*> arms;
  for (std::int64_t chain = 0; chain < chains; ++chain) {
    // If there is time for more, the first round tries every temperature once.
    Arm& arm = rounds_ > 1 ? draw_arm()
                           : arms_[ample ? static_cast<std::size_t>(chain) % arms_.size() : 0];
    const Solution& start = chain % 2 == 0 ? pool_.front() : pool_[random_.below(pool_.size())];
    tasks.push_back({start, stages(moves, arm), random_.next()});
    arms.push_back(&arm);
  }
  run_tasks(tasks, arms);
  if (sweeping) sweep(chains);
}

double Search::settled_share(const Solution& solution) const {
  const Units& units = grains_.front().units;
  const std::vector<bool> settled =
      settled_units(*simulator_, units, solution.placement, kFigures.settled);
  return static_cast<double>(std::count(settled.begin(), settled.end(), true)) /
         static_cast<double>(units.count());
}

/// Until the budget ends. All chains of a sweep start from the best so far. The later ones are the
/// faster, as what they move is: where time decides, each is planned with the speed of the one
/// before, and what that leaves over goes to one more.
void Search::sweep(std::int64_t chains) {
  for (int left = kFigures.sweeps; !over(); left = std::max(left - 1, 1)) {
    Annealer::Schedule schedule =
        stage(0, false, moves_left() / (left * chains), kFigures.sweep_heat);
    schedule.fill = true;
    schedule.settled = kFigures.settled;
    std::vector<Task> tasks;
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      tasks.push_back({pool_.front(), {schedule}, random_.next()});
    }
    run_tasks(tasks, {});
  }
}

std::vector<Solution> Search::run_tasks(std::vector<Task>& tasks, std::span<Arm* const> arms) {
  const double before_us = pool_.front().fits() ? pool_.front().objective_us : kCannotRun;
  const double before_s = seconds();
  std::vector<Result> results = team_->run(tasks, [this] { return context_.stopped(); });
  std::vector<Solution> found;
  double made = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = 0; j < results[i].moves.size(); ++j) {
      const Annealer::Schedule& stage = tasks[i].stages[j];
      made += static_cast<double>(results[i].moves[j]) * weight(stage.grain, stage.contracts);
    }
    if (i < arms.size()) {
      ++arms[i]->tried;
      if (results[i].best.better_than(tasks[i].start)) ++arms[i]->won;
    }
    admit(results[i].best);
    found.push_back(std::move(results[i].best));
  }
  moves_made_ += std::max<std::int64_t>(1, std::llround(made));
  if (timed()) moves_per_s_ = std::max(made, 1.0) / std::max(seconds() - before_s, 1e-6);
  const Solution& best = pool_.front();
  if (context_.progress && best.fits() && best.objective_us < before_us) {
    context_.progress(best.objective_us, std::to_string(moves_made_) + " moves");
  }
  return found;
}

void Search::admit(Solution solution) {
  const auto same = [&](const Solution& other) { return alike(solution, other); };
  if (std::any_of(pool_.begin(), pool_.end(), same)) return;
  const auto place =
      std::upper_bound(pool_.begin(), pool_.end(), solution,
                       [](const Solution& a, const Solution& b) { return a.better_than(b); });
  pool_.insert(place, std::move(solution));
  if (pool_.size() > kFigures.pool) pool_.pop_back();
}

}  // namespace berth::policies::auto_policy
