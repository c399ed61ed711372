#include "auto/contained.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <string_view>

#include "berth/error.h"
#include "common/repair.h"

namespace berth::policies::auto_policy {
namespace {

using Clock = std::chrono::steady_clock;

/// Of a time budget, what one contained policy may take while nothing fits, and afterwards.
constexpr double kShareOfFirst = 0.8;
constexpr double kShareOfOne = 0.15;
/// What those may take that use all they get. `dp` minimises the largest load: a start worth its
/// time for throughput.
constexpr std::string_view kInsatiable[] = {"dp", "m-sct"};
constexpr double kShareOfInsatiable = 0.05;
constexpr double kShareOfInsatiableForThroughput = 0.2;
/// After so much of it no further policy is run, once anything fits.
constexpr double kShareOfAll = 0.25;

class Collector {
 public:
  Collector(const Problem& problem, Evaluator& evaluator, const PlaceContext& context)
      : problem_(problem), evaluator_(evaluator), context_(context) {}

  void add(std::string from, Placement placement) {
    const Evaluation evaluation = evaluator_.evaluate(placement);
    Solution solution{std::move(placement), evaluation.objective_us, evaluation.excess_bytes};
    if (evaluation.feasible && solution.objective_us < best_us_) {
      best_us_ = solution.objective_us;
      if (context_.progress) context_.progress(best_us_, "from " + from);
    }
    starts_.found.push_back({std::move(from), std::move(solution)});
  }

  void run(const std::string& name, Policy& policy) {
    PlaceContext inner;
    inner.seed = context_.seed;
    inner.budget_s = context_.budget_s * share_of(name);
    inner.should_stop = [this, begin = Clock::now(), limit_s = inner.budget_s] {
      if (stopped(context_)) return true;
      return std::isfinite(limit_s) &&
             std::chrono::duration<double>(Clock::now() - begin).count() >= limit_s;
    };
    try {
      Placement placement = policy.place(evaluator_, inner).placement;
      problem_.validate(placement);
      add(name, std::move(placement));
    } catch (const Error& error) {
      fail(name, error);
    }
  }

  [[nodiscard]] double share_of(std::string_view name) const {
    if (std::find(std::begin(kInsatiable), std::end(kInsatiable), name) == std::end(kInsatiable)) {
      return anything_fits() ? kShareOfOne : kShareOfFirst;
    }
    return problem_.options().objective == Objective::throughput ? kShareOfInsatiableForThroughput
                                                                 : kShareOfInsatiable;
  }

  void fail(const std::string& name, const Error& error) {
    starts_.failures.push_back(name + ": " + error.what());
  }

  /// The fastest device for every group, whatever it holds.
  void add_careless() {
    GroupPlacement placement;
    for (GroupId group = 0; group < problem_.groups().count(); ++group) {
      DeviceId fastest = 0;
      for (DeviceId device = 1; device < problem_.cluster().device_count(); ++device) {
        if (problem_.group_cost_us(group, device) < problem_.group_cost_us(group, fastest)) {
          fastest = device;
        }
      }
      placement.push_back(fastest);
    }
    keep_to_kinds(problem_, placement);
    add("the fastest devices", problem_.groups().expand(placement));
  }

  [[nodiscard]] bool anything_fits() const { return std::isfinite(best_us_); }
  [[nodiscard]] bool enough() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return anything_fits() && (stopped(context_) || seconds >= kShareOfAll * context_.budget_s);
  }
  [[nodiscard]] Starts take() { return std::move(starts_); }

 private:
  const Problem& problem_;
  Evaluator& evaluator_;
  const PlaceContext& context_;
  Clock::time_point begin_ = Clock::now();
  double best_us_ = kCannotRun;
  Starts starts_;
};

}  // namespace

Starts collect_starts(const PolicyMaker& make, const std::vector<std::string>& names,
                      bool skip_missing, const Problem& problem, Evaluator& evaluator,
                      const PlaceContext& context) {
  Collector collector(problem, evaluator, context);
  for (const Placement& placement : context.initial) {
    collector.add("a given placement", placement);
  }
  for (const std::string& name : names) {
    if (collector.enough()) break;
    std::unique_ptr<Policy> policy;
    try {
      policy = make(name, {});
    } catch (const Error& error) {
      if (!skip_missing || error.code() != ErrorCode::not_found) throw;
      continue;
    }
    collector.run(name, *policy);
  }
  if (!collector.anything_fits()) collector.add_careless();
  return collector.take();
}

}  // namespace berth::policies::auto_policy
