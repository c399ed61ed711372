#include "learn/neighbourhoods.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "berth/constraints.h"
#include "berth/error.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/neighbourhoods.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

/// One of so many of a neighbourhood's groups is in the window.
constexpr GroupId kPerWindow = 2;
/// Share of neighbourhoods without a window, and the upper limit on their stretches.
constexpr double kWithoutWindow = 0.2;
constexpr std::size_t kMostStretches = 8;
/// Without a budget: neighbourhoods in a row that bring nothing, after which no more are tried.
constexpr int kFruitless = 32;
/// A placement that overflows a memory by as much as it holds costs e^4 times its runtime.
constexpr double kMemoryWeight = 4;
/// Groups outside a window are merged from this many per requested group: coarsening
/// from the finest grain takes longer than placing, where graphs are large.
constexpr GroupId kOutside = 16;

/// Groups that follow each other; they are numbered in topological order.
struct Window {
  GroupId begin = 0, end = 0;
  [[nodiscard]] bool has(GroupId group) const { return group >= begin && group < end; }
};

Window draw_window(GroupId length, GroupId of, Random& random) {
  const GroupId size = std::clamp<GroupId>(length, 1, of);
  const auto begin = static_cast<GroupId>(random.below(at(of - size + 1)));
  return {begin, begin + size};
}

}  // namespace

Neighbourhoods::Neighbourhoods(const Problem& problem, GroupId count)
    : problem_(problem), count_(count), grains_{problem.shared_groups()} {
  for (GroupId left = problem.groups().count() / 2; left >= count; left /= 2) {
    grains_.emplace_back();
  }
}

const std::shared_ptr<const Groups>& Neighbourhoods::grain(std::size_t level) {
  std::shared_ptr<const Groups>& own = grains_[level];
  if (own != nullptr) return own;
  const std::shared_ptr<const Groups>& finest = problem_.shared_groups();
  const std::vector<std::int32_t> everywhere(at(finest->count()), 0);
  own = coarsen_zones(problem_.graph(), problem_.costs(), finest, finest->count() >> level,
                      everywhere, problem_.constraints().get());
  return own;
}

std::shared_ptr<const Groups> Neighbourhoods::draw(const Placement& placement, Random& random) {
  const Graph& graph = problem_.graph();
  const Groups& finest = problem_.groups();
  const Groups& inner = *grain(random.below(grains_.size()));
  Window window;
  std::vector<GroupId> cuts;
  if (random.uniform() < kWithoutWindow) {
    for (std::size_t left = random.below(kMostStretches); left > 0; --left) {
      cuts.push_back(static_cast<GroupId>(random.below(at(finest.count()))));
    }
    std::sort(cuts.begin(), cuts.end());
  } else {
    window = draw_window(count_ / kPerWindow, inner.count(), random);
  }
  std::size_t level = 0;
  while (level + 1 < grains_.size() && (finest.count() >> level) > kOutside * count_) ++level;
  const Groups& outer = *grain(level);

  const DeviceId devices = problem_.cluster().device_count();
  const auto stretches = static_cast<std::int32_t>(cuts.size()) + 1;
  const auto stretch_of = [&](OpId op) {
    const auto next = std::upper_bound(cuts.begin(), cuts.end(), finest.of(op));
    return static_cast<std::int32_t>(next - cuts.begin());
  };
  // A group's name: what of, where, and for those in the window a zone of their own.
  using Name = std::tuple<bool, GroupId, std::int32_t, DeviceId>;
  std::map<Name, GroupId> names;
  std::vector<GroupId> group_of;
  std::vector<std::int32_t> zone_of_op;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId device = placement[at(op)];
    const bool inside = window.has(inner.of(op));
    const std::int32_t stretch = stretch_of(op);
    const Name name{inside, inside ? inner.of(op) : outer.of(op), stretch, device};
    const auto next = static_cast<GroupId>(names.size());
    group_of.push_back(names.try_emplace(name, next).first->second);
    zone_of_op.push_back(inside ? stretches * devices + group_of.back()
                                : stretch * devices + device);
  }
  const auto base = std::make_shared<const Groups>(graph, std::move(group_of));
  std::vector<std::int32_t> zone_of;
  for (GroupId group = 0; group < base->count(); ++group) {
    zone_of.push_back(zone_of_op[at(base->members(group).front())]);
  }
  return coarsen_zones(graph, problem_.costs(), base, count_, zone_of,
                       problem_.constraints().get());
}

bool Judged::take(const Placement& other, const Evaluation& seen) {
  if (!placement.empty()) {
    const bool better = seen.feasible != evaluation.feasible
                            ? seen.feasible
                            : log_cost(seen) < log_cost(evaluation);
    if (!better) return false;
  }
  placement = other;
  evaluation = seen;
  return true;
}

double log_cost(const Evaluation& evaluation) {
  double peak = 1;
  for (const std::int64_t bytes : evaluation.peak_bytes) {
    peak = std::max(peak, static_cast<double>(bytes));
  }
  // A placement that breaks a rule and lacks no memory counts as if a device's whole memory lacked.
  const double lacks = evaluation.feasible || evaluation.excess_bytes > 0
                           ? static_cast<double>(evaluation.excess_bytes) / peak
                           : 1;
  return std::log(std::max(evaluation.objective_us, 1e-9)) + kMemoryWeight * lacks;
}

Judged search_neighbourhoods(Evaluator& evaluator, const PlaceContext& context, Judged start,
                             GroupId groups, const DecideNeighbourhood& decide) {
  constexpr double kRounding = 1e-9;
  if (context.stopped()) return start;  // a large graph's bound and contraction take seconds
  const double bound_us =
      evaluator.measures() ? 0 : lower_bound(evaluator.problem()).us * (1 + kRounding);
  Neighbourhoods neighbourhoods(evaluator.problem(), groups);
  Random random(context.seed);
  Judged best = std::move(start);
  Judged current = best;
  int fruitless = 0;
  for (int round = 1; !context.stopped(); ++round) {
    if (best.evaluation.feasible && best.evaluation.objective_us <= bound_us) break;
    if (std::isinf(context.budget_s) && fruitless == kFruitless) break;
    const auto within =
        make_regrouped_evaluator(evaluator, neighbourhoods.draw(current.placement, random));
    Decided decided =
        decide(*within, group_placement(within->problem(), current.placement), random.next());
    if (!decided.last.placement.empty() &&
        decided.last.evaluation.feasible >= current.evaluation.feasible &&
        log_cost(decided.last.evaluation) <= log_cost(current.evaluation)) {
      current = std::move(decided.last);
    }
    ++fruitless;
    if (decided.best.placement.empty() ||
        !best.take(decided.best.placement, decided.best.evaluation)) {
      continue;
    }
    current = best;
    fruitless = 0;
    if (best.evaluation.feasible && context.progress) {
      context.progress(best.evaluation.objective_us, "neighbourhood " + std::to_string(round));
    }
  }
  return best;
}

std::shared_ptr<const Groups> draw_neighbourhood(const Problem& problem, const Placement& placement,
                                                 GroupId count, std::uint64_t seed) {
  if (count < 1) {
    throw Error(ErrorCode::invalid_argument,
                cat("a neighbourhood of ", count, " groups; give at least 1"));
  }
  problem.validate(placement);
  Random random(seed);
  return Neighbourhoods(problem, count).draw(placement, random);
}

}  // namespace berth
