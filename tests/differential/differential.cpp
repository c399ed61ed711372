// Every policy on random problems, against what is known otherwise:
//
//   - placements are valid, keep constraints, co-location and memory, told without the engine's
//   help;
//   - a fresh simulator repeats the objective to the bit;
//   - nothing is below a bound that the engine or any of them has proven, and what `exact` calls
//     proven is the best of all placements, where those are few enough to try them all;
//   - where a policy says that nothing fits although something does, `auto` and `exact` may not;
//   - the answer does not depend on the number of threads, and is there when stopped at once (of
//     every fourth case; policies that learn take part in every sixteenth);
//   - what is written is strict JSON and reads back the same.
//
//   differential [--cases N] [--seed S] [--policies a,b] [--budget SECONDS] [--search N]
//
// Case i has seed S + i, so that `--seed X --cases 1` repeats the case that a failure names. With a
// budget, time decides how far searches go, and the longest overrun is told.
//
// --search changes small problems, N times in all, to where `auto` is worst beside the best of the
// other policies (as PISA does with two schedulers: Coleman and Krishnamachari, 2024), and tells
// the worst ratio that it has met.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "instances.h"
#include "support/paths.h"
#include "support/random_rules.h"

using namespace berth;
using namespace berth::differential;

namespace {

constexpr double kRounding = 1e-9;
constexpr double kNone = std::numeric_limits<double>::infinity();
/// Placements that are tried one by one.
constexpr double kMostPlacements = 3000;

/// What runs now, for the handler of a crash.
char now_text[256];

extern "C" void on_crash(int signal) {
  static_cast<void>(!write(2, now_text, std::strlen(now_text)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Settings {
  std::int64_t cases = 1000;
  std::uint64_t seed = 1;
  std::set<std::string> policies;  ///< empty = all
  double budget_s = kNone;
  std::int64_t search = 0;
};

/// Short searches: a case takes some milliseconds. Those that prove or enumerate may go to their
/// ends where the optimum is known.
OptionTexts options_of(const std::string& policy, int threads, bool optimum_known) {
  using Int = std::int64_t;
  if (policy == "auto") {
    return {{"moves", Int{300}},
            {"chains", Int{2}},
            {"threads", Int{threads}},
            {"from", std::string("single,heft,topo,m-etf,metis,scotch")}};
  }
  if (policy == "mcmc") return {{"chains", Int{2}}, {"moves", Int{100}}};
  if (policy == "exact") return {{"nodes", Int{optimum_known ? 500 : 50}}};
  if (policy == "dp") return {{"pairs", Int{optimum_known ? 20000 : 2000}}};
  if (policy == "random") return {{"samples", Int{4}}};
  if (policy == "placeto") return {{"passes", Int{1}}, {"groups", Int{32}}};
  return {};
}

/// These take tens of milliseconds for an answer.
bool learns(const std::string& policy) {
  return policy == "placeto" || policy == "seq2seq" || policy == "hdp" || policy == "doppler";
}

struct Tally {
  std::int64_t runs = 0;
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
    std::snprintf(now_text, sizeof now_text, "crashed in case %llu, %s\n",
                  static_cast<unsigned long long>(case_), what.c_str());
  }

  void one_case() {
    note("making the problem");
    const Instance instance = make_instance(case_);
    if (instance.problem == nullptr) {
      ++refused_;
      return;
    }
    instance_ = &instance;
    evaluator_ = make_simulation_evaluator(instance.problem, 1);
    least_us_ = kNone;
    note("bounds");
    const LowerBound& bound = evaluator_->bound();
    bound_us_ = bound.us;
    bound_from_ = "the engine (" + bound.source + ")";
    found_us_.clear();
    optimum_us_.reset();
    note("trying all placements");
    try_all();
    try {
      for (const std::string& name : names_) {
        if (settings_.policies.empty() && learns(name) && case_ % 16 != 1) continue;
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
    std::vector<DeviceId> of_unit(static_cast<std::size_t>(units->count()), 0);
    for (;;) {
      const Placement placement = units->expand(GroupPlacement(of_unit));
      if (complaint(placement).empty()) {
        simulator.evaluate(placement, workspace, evaluation);
        if (evaluation.feasible) optimum_us_ = std::min(*optimum_us_, evaluation.objective_us);
      }
      std::size_t digit = 0;
      while (digit < of_unit.size() && ++of_unit[digit] == devices) of_unit[digit++] = 0;
      if (digit == of_unit.size()) break;
    }
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
    note(name);
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
    check_files(first.placement);
  }

  struct Answer {
    Placement placement;  ///< empty: nothing that fits was found
    bool exhausted = false;
    Evaluation evaluation;
    LowerBound bound;
  };

  Answer placed(const std::string& name, int threads, bool stop_at_once, Tally& tally) {
    Answer answer;
    // One for most, so that the bound is computed once.
    const auto own =
        threads == 1 ? nullptr : make_simulation_evaluator(instance_->problem, threads);
    PlaceContext context;
    context.seed = case_;
    if (stop_at_once) context.should_stop = [] { return true; };
    const auto begin = std::chrono::steady_clock::now();
    try {
      const auto policy =
          engine_.make_policy(name, std::isfinite(settings_.budget_s)
                                        ? OptionTexts()
                                        : options_of(name, threads, optimum_us_.has_value()));
      PlaceResult result =
          place(*policy, own == nullptr ? *evaluator_ : *own, context, settings_.budget_s);
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

  void check_files(const Placement& placement) {
    const Graph& graph = problem().graph();
    const Cluster& cluster = problem().cluster();
    const Evaluation evaluation = evaluator_->evaluate(placement);
    const Provenance provenance{policy_, {}, case_};
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

  void report() const {
    std::printf("%lld cases from seed %llu, %lld of them refused: %lld failures\n",
                static_cast<long long>(settings_.cases),
                static_cast<unsigned long long>(settings_.seed), static_cast<long long>(refused_),
                static_cast<long long>(failures_));
    std::printf("%-12s %9s %8s %8s %10s %10s %8s %11s %10s %s\n", "policy", "runs", "gave up",
                "wrongly", "optimum", "worst", "in case", "ahead", "by up to", "in case");
    for (const auto& [name, tally] : tallies_) {
      const double share = tally.known > 0 ? 100 * static_cast<double>(tally.optimal) /
                                                 static_cast<double>(tally.known)
                                           : 0;
      std::printf("%-12s %9lld %8lld %8lld %8.2f %% %10.4g %8llu %11lld %10.4g %llu\n",
                  name.c_str(), static_cast<long long>(tally.runs),
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
  std::int64_t failures_ = 0;
  std::int64_t refused_ = 0;
  // Of the case at hand.
  std::uint64_t case_ = 0;
  std::string policy_;
  const Instance* instance_ = nullptr;
  std::unique_ptr<Evaluator> evaluator_;  ///< on one thread
  std::optional<double> optimum_us_;      ///< infinity: nothing fits
  double least_us_ = kNone;
  double bound_us_ = 0;
  std::string bound_from_;
  std::map<std::string, double> found_us_;  ///< by policy
};

/// Searches among small problems for where auto is worst.
class Adversary {
 public:
  explicit Adversary(std::uint64_t seed) : engine_({test::plugin_folder()}), random_(seed) {}

  void run(std::int64_t tries) {
    constexpr std::int64_t kPerStart = 2000;
    double worst = 0;
    for (std::int64_t done = 0; done < tries; done += kPerStart) {
      Genes genes = random_genes(random_);
      double ratio = ratio_of(genes);
      double best_here = ratio;
      for (std::int64_t i = 0; i < kPerStart; ++i) {
        Genes changed = genes;
        for (std::uint64_t n = 1 + random_.below(3); n > 0; --n) {
          changed[random_.below(changed.size())] = random_.next();
        }
        const double now = ratio_of(changed);
        // Annealing: what is worse for the search is taken less and less.
        const double heat =
            0.05 * (1 - static_cast<double>(i) / static_cast<double>(kPerStart)) + 1e-6;
        if (now < ratio && random_.uniform() > std::exp((now - ratio) / heat)) continue;
        genes = std::move(changed);
        ratio = now;
        best_here = std::max(best_here, ratio);
        if (ratio <= worst) continue;
        worst = ratio;
        std::printf("%.6f times the best of the others (%s)\n", worst, text_.c_str());
        std::fflush(stdout);
      }
      std::printf("start %lld: %.6f\n", static_cast<long long>(done / kPerStart), best_here);
    }
    std::printf("worst of %lld: %.6f\n", static_cast<long long>(tries), worst);
  }

 private:
  static constexpr OpId kMostOps = 14;

  double ratio_of(const Genes& genes) {
    const Instance instance = make_instance(genes, kMostOps);
    if (instance.problem == nullptr) return 0;
    using Int = std::int64_t;
    const auto evaluator = make_simulation_evaluator(instance.problem, 1);
    const double ours = objective(*evaluator, "auto", {{"moves", Int{3000}}, {"threads", Int{1}}});
    if (ours == kNone) return 0;
    double best = kNone;
    for (const char* name : {"exact", "mcmc", "heft", "m-etf", "topo", "dp"}) {
      OptionTexts options = options_of(name, 1, /*optimum_known=*/true);
      if (std::string(name) == "exact") options = {{"nodes", Int{5000}}};
      const double us = objective(*evaluator, name, options);
      if (us >= best) continue;
      best = us;
      text_ = name;
    }
    text_ += ", " + std::to_string(instance.problem->graph().op_count()) + " ops, " +
             std::to_string(instance.problem->cluster().device_count()) + " devices, " +
             std::string(objective_name(instance.problem->options().objective)) + ", " +
             std::string(semantics_name(instance.problem->options().semantics)) + ", groups " +
             std::to_string(instance.problem->groups().count()) + ": " + std::to_string(ours) +
             " and " + std::to_string(best);
    // A step of no time at all has no ratio.
    return best > 1e-3 && best < kNone ? ours / best : 0;
  }

  double objective(Evaluator& evaluator, const char* name, const OptionTexts& options) {
    try {
      return place(*engine_.make_policy(name, options), evaluator, {}, kNone)
          .evaluation.objective_us;
    } catch (const Error&) {
      return kNone;
    }
  }

  Engine engine_;
  Random random_;
  std::string text_;
};

Settings settings_of(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const std::string value = arguments[i + 1];
    if (name == "--cases") {
      settings.cases = std::stoll(value);
    } else if (name == "--seed") {
      settings.seed = std::stoull(value);
    } else if (name == "--budget") {
      settings.budget_s = std::stod(value);
    } else if (name == "--search") {
      settings.search = std::stoll(value);
    } else if (name == "--policies") {
      for (std::size_t begin = 0; begin <= value.size();) {
        const std::size_t end = std::min(value.find(',', begin), value.size());
        settings.policies.insert(value.substr(begin, end - begin));
        begin = end + 1;
      }
    } else {
      throw std::invalid_argument(name);
    }
  }
  if (count % 2 == 0) throw std::invalid_argument(arguments[count - 1]);
  return settings;
}

}  // namespace

int main(int count, char** arguments) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, on_crash);
  }
  try {
    const Settings settings = settings_of(count, arguments);
    if (settings.search > 0) {
      Adversary(settings.seed).run(settings.search);
      return EXIT_SUCCESS;
    }
    return Tester(settings).run() ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "differential: %s\n"
                 "usage: differential [--cases N] [--seed S] [--policies a,b] [--budget SECONDS] "
                 "[--search N]\n",
                 error.what());
    return 2;
  }
}
