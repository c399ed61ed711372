#include "tester.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "instances.h"
#include "support/optimum.h"
#include "support/paths.h"
#include "support/random_rules.h"

namespace berth::differential {
namespace {

constexpr double kRounding = 1e-9;
/// Policies that learn take part in one case of so many.
constexpr std::uint64_t kCasesPerLearned = 256;
/// Placements that are tried one by one.
constexpr double kMostPlacements = 3000;

double processor_s() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Adds the processor time of its scope.
class Spent {
 public:
  explicit Spent(double& sum_s) : sum_s_(sum_s) {}
  ~Spent() { sum_s_ += processor_s() - begin_s_; }
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;

 private:
  double& sum_s_;
  double begin_s_ = processor_s();
};

struct Tally {
  std::int64_t runs = 0;
  double processor_s = 0;
  std::int64_t gave_up = 0;  ///< said that nothing fits
  std::int64_t wrongly = 0;  ///< although something does
  std::int64_t optimal = 0;  ///< of `known`
  std::int64_t known = 0;    ///< runs where the optimum is known
  double worst = 1;          ///< objective / optimum
  std::uint64_t worst_case = 0;
  double overrun_s = 0;
  std::int64_t ahead = 0;  ///< runs in which it was better than `auto`
  double most_ahead = 1;   ///< what `auto` found / what it found
  std::uint64_t ahead_case = 0;
};

class Tester {
 public:
  explicit Tester(Settings settings)
      : settings_(std::move(settings)), engine_({test::plugin_folder()}) {
    for (const PluginInfo& info : engine_.plugins()) {
      if (info.kind != PluginKind::policy) continue;
      if (!settings_.policies.empty() && !settings_.policies.contains(info.name)) continue;
      names_.push_back(info.name);
    }
    if (names_.empty()) throw Error(ErrorCode::not_found, "no such policy plugins");
  }

  /// Whether all went well.
  bool run() {
    for (std::int64_t i = 0; i < settings_.cases; ++i) {
      case_ = settings_.seed + static_cast<std::uint64_t>(i);
      one_case();
    }
    report();
    return failures_ == 0;
  }

 private:
  void fail(const std::string& what) {
    ++failures_;
    std::fprintf(stderr, "case %llu, %s: %s\n", static_cast<unsigned long long>(case_),
                 policy_.c_str(), what.c_str());
  }

  void note(const std::string& what) {
    policy_ = what;
    say_now("case " + std::to_string(case_) + ", " + what);
  }

  template <typename Step>
  void during(const char* what, const Step& step) {
    note(what);
    const Spent spent(spent_s_[what]);
    step();
  }

  void one_case() {
    Instance instance;
    during("making the problem", [&] { instance = make_instance(case_); });
    if (instance.problem == nullptr) {
      ++refused_;
      return;
    }
    instance_ = &instance;
    evaluator_ = make_simulation_evaluator(instance.problem, 1);
    several_ = nullptr;
    least_us_ = kNone;
    during("bounds", [&] {
      const LowerBound& bound = evaluator_->bound();
      bound_us_ = bound.us;
      bound_from_ = "the engine (" + bound.source + ")";
    });
    found_us_.clear();
    written_.clear();
    optimum_us_.reset();
    during("trying all placements", [&] { try_all(); });
    try {
      for (const std::string& name : names_) {
        if (settings_.policies.empty() && learns(name) && case_ % kCasesPerLearned != 1) continue;
        test_policy(name);
      }
    } catch (const Error& error) {
      fail(std::string("unexpected: ") + error.what());
    }
    compare_with_auto();
    policy_ = bound_from_;
    if (bound_us_ > least_us_ * (1 + kRounding)) {
      fail("bound " + text(bound_us_) + " above a placement of " + text(least_us_));
    }
  }

  void compare_with_auto() {
    const auto ours = found_us_.find("auto");
    if (ours == found_us_.end()) return;
    for (const auto& [name, us] : found_us_) {
      if (ours->second <= us * (1 + kRounding)) continue;
      Tally& tally = tallies_[name];
      ++tally.ahead;
      const double ratio = us > 0 ? ours->second / us : kNone;
      if (ratio <= tally.most_ahead) continue;
      tally.most_ahead = ratio;
      tally.ahead_case = case_;
    }
  }

  static std::string text(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", value);
    return buffer;
  }

  [[nodiscard]] const Problem& problem() const { return *instance_->problem; }

  /// The least objective of all placements that fit and are valid; none where they are too many.
  void try_all() {
    const auto units = problem().finest_groups();
    const DeviceId devices = problem().cluster().device_count();
    if (std::pow(devices, units->count()) > kMostPlacements) return;
    const Simulator simulator(instance_->problem);
    Simulator::Workspace workspace;
    Evaluation evaluation;
    optimum_us_ = kNone;
    test::for_all_placements(problem(), [&](const Placement& placement) {
      if (!complaint(placement).empty()) return;
      simulator.evaluate(placement, workspace, evaluation);
      if (evaluation.feasible) optimum_us_ = std::min(*optimum_us_, evaluation.objective_us);
    });
    least_us_ = *optimum_us_;
  }

  /// What is wrong with the placement, memory apart.
  [[nodiscard]] std::string complaint(const Placement& placement) const {
    const Graph& graph = problem().graph();
    const Cluster& cluster = problem().cluster();
    if (placement.size() != static_cast<std::size_t>(graph.op_count())) return "wrong size";
    std::map<std::string, DeviceId> of_class;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const DeviceId device = placement[static_cast<std::size_t>(op)];
      if (device < 0 || device >= cluster.device_count()) return "no such device";
      if (!problem().costs().can_run(op, cluster.kind_of(device))) {
        return "op '" + graph.op_name(op) + "' cannot run on its device";
      }
      const std::string& name = graph.colocation(op);
      if (!name.empty() && of_class.emplace(name, device).first->second != device) {
        return "co-location '" + name + "' broken";
      }
    }
    const std::string rule = test::broken_rule(graph, cluster, instance_->rules, placement);
    return rule.empty() ? rule : "broken: " + rule;
  }

  void test_policy(const std::string& name) {
    note(name);
    Tally& tally = tallies_[name];
    ++tally.runs;
    const Spent spent(tally.processor_s);
    const auto first = placed(name, 1, /*stop_at_once=*/false, tally);
    if (!std::isfinite(settings_.budget_s) && case_ % 4 == 1) {
      note(name + " on three threads");
      const auto second = placed(name, 3, /*stop_at_once=*/false, tally);
      if (first.placement != second.placement) fail("the answer depends on the number of threads");
    }
    if (case_ % 4 == 0) {
      note(name + " stopped at once");
      placed(name, 1, /*stop_at_once=*/true, tally);
    }
    if (first.placement.empty()) {
      ++tally.gave_up;
      if (least_us_ < kNone) ++tally.wrongly;
      const bool finest = problem().groups().count() == problem().finest_groups()->count();
      const bool all_tried = optimum_us_ && *optimum_us_ < kNone;
      if (all_tried && name == "exact" && finest && first.exhausted) {
        fail("says that nothing fits, and " + text(*optimum_us_) + " us does");
      }
      return;
    }
    found_us_[name] = first.evaluation.objective_us;
    check_optimum(first, tally);
    // Many policies give the same placement.
    if (case_ % 4 == 3 && written_.insert(first.placement).second) {
      during("files", [&] { check_files(name, first.placement); });
    }
  }

  struct Answer {
    Placement placement;  ///< empty: nothing that fits was found
    bool exhausted = false;
    Evaluation evaluation;
    LowerBound bound;
  };

  Answer placed(const std::string& name, int threads, bool stop_at_once, Tally& tally) {
    Answer answer;
    if (threads > 1 && several_ == nullptr) {
      several_ = make_simulation_evaluator(instance_->problem, threads);
    }
    PlaceContext context;
    context.seed = case_;
    if (stop_at_once) context.should_stop = [] { return true; };
    const auto begin = std::chrono::steady_clock::now();
    try {
      const auto policy = engine_.make_policy(
          name, std::isfinite(settings_.budget_s)
                    ? OptionTexts()
                    : options_of(name, threads, optimum_us_.has_value(), case_));
      // The engine's bound is that of the problem: once is enough.
      PlaceResult result =
          threads == 1 ? place(*policy, *evaluator_, context, settings_.budget_s)
                       : place(*policy, *several_, context, settings_.budget_s, BoundEffort::none);
      answer = {std::move(result.placement), true, std::move(result.evaluation),
                std::move(result.bound)};
    } catch (const Error& error) {
      const std::string message = error.what();
      if (error.code() != ErrorCode::infeasible) fail("an error of another kind: " + message);
      answer.exhausted = message.find("leave none out") != std::string::npos;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    tally.overrun_s = std::max(tally.overrun_s, seconds - settings_.budget_s);
    if (!answer.placement.empty()) check(answer);
    return answer;
  }

  void check(const Answer& answer) {
    const std::string wrong = complaint(answer.placement);
    if (!wrong.empty()) fail(wrong);
    if (!answer.evaluation.feasible) fail("does not fit");
    if (!std::isfinite(answer.evaluation.objective_us)) fail("an objective that is not finite");
    const Simulator simulator(instance_->problem);
    Simulator::Workspace workspace;
    Evaluation again;
    simulator.evaluate(answer.placement, workspace, again);
    if (again.objective_us != answer.evaluation.objective_us ||
        again.peak_bytes != answer.evaluation.peak_bytes) {
      fail("simulated again: " + text(again.objective_us) + ", told " +
           text(answer.evaluation.objective_us));
    }
    least_us_ = std::min(least_us_, answer.evaluation.objective_us);
    if (answer.bound.us > bound_us_) {
      bound_us_ = answer.bound.us;
      bound_from_ = policy_ + " (" + answer.bound.source + ")";
    }
  }

  void check_optimum(const Answer& answer, Tally& tally) {
    if (!optimum_us_) return;
    const double us = answer.evaluation.objective_us;
    if (us < *optimum_us_) fail("below the best of all placements: " + text(us));
    const bool claims = answer.bound.source == "exact search";
    const bool best = us <= *optimum_us_ * (1 + 2 * kRounding);
    if (claims && !best)
      fail("proven optimal at " + text(us) + ", the best is " + text(*optimum_us_));
    ++tally.known;
    if (best) ++tally.optimal;
    const double ratio = best ? 1 : *optimum_us_ > 0 ? us / *optimum_us_ : kNone;
    if (ratio <= tally.worst) return;
    tally.worst = ratio;
    tally.worst_case = case_;
  }

  void check_files(const std::string& name, const Placement& placement) {
    const Graph& graph = problem().graph();
    const Cluster& cluster = problem().cluster();
    const Evaluation evaluation = evaluator_->evaluate(placement);
    Origin provenance;
    provenance.policy = name;
    provenance.seed = case_;
    const std::string json = placement_json(graph, cluster, placement, &evaluation, &provenance);
    const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) {
      fail("the placement file is not JSON");
    } else if (json.find("null") != std::string::npos) {
      fail("a figure of the placement file is not a number");
    } else if (parse_placement(json, "written", graph, cluster) != placement) {
      fail("the placement file reads back as another placement");
    }
  }

  static double milliseconds(double seconds, std::int64_t count) {
    return 1000 * seconds / static_cast<double>(std::max<std::int64_t>(1, count));
  }

  void report() const {
    std::printf("%lld cases from seed %llu, %lld of them refused: %lld failures\n",
                static_cast<long long>(settings_.cases),
                static_cast<unsigned long long>(settings_.seed), static_cast<long long>(refused_),
                static_cast<long long>(failures_));
    for (const auto& [what, seconds] : spent_s_) {
      std::printf("%-22s %8.3f ms a case\n", what.c_str(), milliseconds(seconds, settings_.cases));
    }
    std::printf("%-12s %9s %8s %8s %8s %10s %10s %8s %11s %10s %s\n", "policy", "runs", "ms each",
                "gave up", "wrongly", "optimum", "worst", "in case", "ahead", "by up to",
                "in case");
    for (const auto& [name, tally] : tallies_) {
      const double share = tally.known > 0 ? 100 * static_cast<double>(tally.optimal) /
                                                 static_cast<double>(tally.known)
                                           : 0;
      std::printf("%-12s %9lld %8.3f %8lld %8lld %8.2f %% %10.4g %8llu %11lld %10.4g %llu\n",
                  name.c_str(), static_cast<long long>(tally.runs),
                  milliseconds(tally.processor_s, tally.runs),
                  static_cast<long long>(tally.gave_up), static_cast<long long>(tally.wrongly),
                  share, tally.worst, static_cast<unsigned long long>(tally.worst_case),
                  static_cast<long long>(tally.ahead), tally.most_ahead,
                  static_cast<unsigned long long>(tally.ahead_case));
      if (std::isfinite(settings_.budget_s)) {
        std::printf("%-12s at most %.3f s over the budget\n", "", tally.overrun_s);
      }
    }
  }

  Settings settings_;
  Engine engine_;
  std::vector<std::string> names_;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, double> spent_s_;  ///< beside policies, and within them for files
  std::int64_t failures_ = 0;
  std::int64_t refused_ = 0;
  // Of the case at hand.
  std::uint64_t case_ = 0;
  std::string policy_;
  const Instance* instance_ = nullptr;
  std::unique_ptr<Evaluator> evaluator_;  ///< on one thread
  std::unique_ptr<Evaluator> several_;    ///< on several; null until one asks
  std::optional<double> optimum_us_;      ///< infinity: nothing fits
  double least_us_ = kNone;
  double bound_us_ = 0;
  std::string bound_from_;
  std::map<std::string, double> found_us_;  ///< by policy
  std::set<Placement> written_;             ///< whose files were checked
};

}  // namespace

bool test_cases(const Settings& settings) {
  return Tester(settings).run();
}

}  // namespace berth::differential
