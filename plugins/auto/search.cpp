#include "auto/search.h"

#include <algorithm>
#include <cmath>

#include "auto/idleness.h"
#include "common/repair.h"

namespace berth::policies::auto_policy {
namespace {

constexpr std::size_t kPool = 6;
/// Proposals per unit of a chain that is long enough to forget where it started.
constexpr std::int64_t kLatencyLength = 1000;
constexpr std::int64_t kThroughputLength = 500;
/// Without a given length of the search: proposals per unit, the least number of proposals, and the
/// largest number of ops to simulate for them.
constexpr std::int64_t kDefaultMoves = 200;
constexpr std::int64_t kDefaultLeast = 20'000;
constexpr std::int64_t kDefaultOps = 50'000'000;
/// The first temperature of a chain of full length, as a share of a unit's mean cost. Loads change
/// smoothly; runtimes of steps do not.
constexpr double kLatencyTemperature = 0.4;
constexpr double kThroughputTemperature = 0.06;
/// Multiples of it that are tried too, with the number of wins that they start with.
struct Factor {
  double factor;
  int won;
};
constexpr std::array<Factor, 5> kFactors = {{{1, 8}, {3, 2}, {0.3, 5}, {10, 1}, {0.1, 3}}};
constexpr int kFactorsTried = 10;
/// The last temperature, as a share of the first.
constexpr double kCooling = 0.02;
/// A chain with fewer proposals per unit than this begins with coarser units, which are fewer.
constexpr std::int64_t kEnough = 150;
/// It begins with the first grain for which it has this many proposals per unit.
constexpr std::int64_t kPlenty = 300;
/// The share of the remaining proposals that each coarser grain gets.
constexpr double kCoarseShare = 0.4;
// Brief chains are followed by sweeps over what runs late. Every move of an early unit changes when
// everything after it runs, so the early part of a step settles long before the late one. Sweeps
// with twice the share of the proposals that hold five times as much end half a percent worse (on
// layered_2500_d4 of placeto_sim, twelve seeds of 300,000 proposals).
/// The number of sweeps.
constexpr int kSweeps = 3;
/// Their share of the proposals if nothing is settled yet; it grows with what is settled.
constexpr double kSweepsShare = 0.25;
/// Their first temperature, as a share of the chains'.
constexpr double kSweepHeat = 0.5;
/// Units that start before this share of the idle time has passed stay where they are.
constexpr double kSettled = 0.02;
/// The largest size of a region, as a share of all units.
constexpr double kReach = 0.1;
/// Of the budget, since it began: where it has gone before, no coarser grains are made.
constexpr double kPrepared = 0.7;
/// Of the budget: measuring the speed, and quenching the starts.
constexpr double kWarmUp = 0.01;
constexpr double kQuench = 0.04;

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

/// The finest grain, and the coarser ones in which something can move.
std::vector<Units> units_of(const Problem& problem, const std::function<bool()>& enough) {
  const auto groups = grains(problem, enough);
  std::vector<Units> all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Units units(problem, groups[i], std::span(groups).subspan(i + 1));
    if (i == 0 || !units.movable().empty()) all.push_back(std::move(units));
  }
  return all;
}

std::int64_t default_moves(const Problem& problem, const Units& units) {
  const std::int64_t affordable = kDefaultOps / problem.graph().op_count();
  const std::int64_t wanted = std::max(kDefaultMoves * units.count(), kDefaultLeast);
  return std::max<std::int64_t>(1, std::min(wanted, affordable));
}

}  // namespace

Search::Search(const std::shared_ptr<const Problem>& problem, const SearchSettings& settings,
               const PlaceContext& context, std::chrono::steady_clock::time_point began)
    : context_(context),
      settings_(settings),
      grains_(units_of(*problem,
                       [this, began] {
                         if (settings_.moves > 0 || !std::isfinite(context_.budget_s)) return false;
                         const std::chrono::duration<double> so_far =
                             std::chrono::steady_clock::now() - began;
                         return stopped(context_) || so_far.count() > kPrepared * context_.budget_s;
                       })),
      latency_(problem->options().objective == Objective::latency),
      simulator_(std::make_shared<const Simulator>(problem)),
      team_(simulator_, grains_, settings.threads),
      random_(context.seed),
      total_moves_(settings.moves),
      length_per_unit_(latency_ ? kLatencyLength : kThroughputLength),
      full_length_(length_per_unit_ * grains_.front().count()),
      began_(began) {
  if (total_moves_ == 0 && !std::isfinite(context.budget_s)) {
    total_moves_ = default_moves(*problem, grains_.front());
  }
  const double share = latency_ ? kLatencyTemperature : kThroughputTemperature;
  for (const Units& units : grains_) {
    temperature_us_.push_back(share * mean_unit_us(*problem, units));
  }
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    arms_[i] = {kFactors[i].factor, kFactorsTried, kFactors[i].won};
  }
}

double Search::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool Search::over() const {
  if (pool_.front().excess_bytes == 0 && pool_.front().objective_us <= bound_us_) return true;
  return (!timed() && moves_made_ >= total_moves_) || stopped(context_);
}

bool Search::brief(std::int64_t moves) const {
  return moves < kEnough * grains_.front().count();
}

std::int64_t Search::moves_left() const {
  if (!timed()) return total_moves_ - moves_made_;
  const double left_s = context_.budget_s - seconds();
  return static_cast<std::int64_t>(std::max(1.0, left_s * moves_per_s_));
}

std::vector<Solution> Search::run(std::vector<Solution> starts, double bound_us) {
  bound_us_ = bound_us * (1 + 1e-9);
  for (Solution& start : starts) admit(std::move(start));
  if (grains_.front().movable().empty()) return pool_;
  if (timed()) warm_up();
  if (!over()) quench_starts();
  while (!over()) anneal_round();
  return pool_;
}

/// A chain that is too short to come back from the full heat starts with less.
Annealer::Schedule Search::stage(std::size_t grain, std::int64_t moves, double factor) const {
  const double length =
      static_cast<double>(moves) / static_cast<double>(length_per_unit_ * grains_[grain].count());
  const double hottest_us =
      factor * temperature_us_[grain] * std::clamp(std::cbrt(length), 0.1, 1.0);
  return {grain, std::max<std::int64_t>(moves, 1), hottest_us, hottest_us * kCooling, kReach};
}

std::vector<Annealer::Schedule> Search::stages(std::int64_t moves, const Arm& arm) const {
  std::size_t grain = 0;
  const bool fill = brief(moves);
  if (fill) {
    while (grain + 1 < grains_.size() && moves < kPlenty * grains_[grain].count()) ++grain;
  }
  std::vector<Annealer::Schedule> all;
  std::int64_t left = moves;
  for (; grain > 0; --grain) {
    const auto share = static_cast<std::int64_t>(kCoarseShare * static_cast<double>(left));
    all.push_back(stage(grain, share, arm.factor));
    left -= all.back().moves;
  }
  all.push_back(stage(0, left, arm.factor));
  for (Annealer::Schedule& each : all) each.fill = fill;
  return all;
}

/// Improves the best start a little, longer each time, until there is a speed to plan with.
void Search::warm_up() {
  for (std::int64_t moves = 64; !over(); moves *= 2) {
    const double before_s = seconds();
    std::vector<Task> tasks{{pool_.front(), stages(moves, arms_[0]), random_.next()}};
    run_tasks(tasks, {});
    moves_per_s_ *= settings_.threads;  // only one has worked
    if (seconds() - before_s > kWarmUp * context_.budget_s) break;
  }
}

void Search::quench_starts() {
  const auto share = static_cast<std::int64_t>(kQuench * static_cast<double>(moves_left()));
  std::vector<Task> tasks;
  std::vector<Arm*> arms;
  for (const Solution& start : pool_) {
    Arm& arm = arms_[tasks.size() % 2];
    const std::int64_t moves = share / static_cast<std::int64_t>(pool_.size());
    tasks.push_back({start, stages(std::min(moves, full_length_), arm), random_.next()});
    arms.push_back(&arm);
  }
  run_tasks(tasks, arms);
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
    const double share = (1 - kSweepsShare) * (1 - settled_share(pool_.front()));
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
  const Units& units = grains_.front();
  const std::vector<bool> settled = settled_units(*simulator_, units, solution.placement, kSettled);
  return static_cast<double>(std::count(settled.begin(), settled.end(), true)) /
         static_cast<double>(units.count());
}

/// Until the budget ends. All chains of a sweep start from the best so far. The later ones are the
/// faster, as what they move is: where time decides, each is planned with the speed of the one
/// before, and what that leaves over goes to one more.
void Search::sweep(std::int64_t chains) {
  for (int left = kSweeps; !over(); left = std::max(left - 1, 1)) {
    Annealer::Schedule schedule = stage(0, moves_left() / (left * chains), kSweepHeat);
    schedule.fill = true;
    schedule.settled = kSettled;
    std::vector<Task> tasks;
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      tasks.push_back({pool_.front(), {schedule}, random_.next()});
    }
    run_tasks(tasks, {});
  }
}

void Search::run_tasks(std::vector<Task>& tasks, std::span<Arm* const> arms) {
  const double before_us = pool_.front().objective_us;
  const double before_s = seconds();
  std::vector<Solution> results = team_.run(tasks, [this] { return stopped(context_); });
  std::int64_t made = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const Annealer::Schedule& each : tasks[i].stages) made += each.moves;
    if (i < arms.size()) {
      ++arms[i]->tried;
      if (results[i].better_than(tasks[i].start)) ++arms[i]->won;
    }
    admit(std::move(results[i]));
  }
  moves_made_ += made;
  if (timed()) moves_per_s_ = static_cast<double>(made) / std::max(seconds() - before_s, 1e-6);
  const Solution& best = pool_.front();
  if (context_.progress && best.excess_bytes == 0 && best.objective_us < before_us) {
    context_.progress(best.objective_us, std::to_string(moves_made_) + " moves");
  }
}

void Search::admit(Solution solution) {
  const auto alike = [&](const Solution& other) {
    return other.excess_bytes == solution.excess_bytes &&
           std::abs(other.objective_us - solution.objective_us) <= 1e-9 * other.objective_us;
  };
  if (std::any_of(pool_.begin(), pool_.end(), alike)) return;
  const auto place =
      std::upper_bound(pool_.begin(), pool_.end(), solution,
                       [](const Solution& a, const Solution& b) { return a.better_than(b); });
  pool_.insert(place, std::move(solution));
  if (pool_.size() > kPool) pool_.pop_back();
}

}  // namespace berth::policies::auto_policy
