#include "adversary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "instances.h"
#include "support/paths.h"

namespace berth::differential {
namespace {

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
  /// Of `auto`. Where few of them end further from the best than this, it has as many as in a second.
  static constexpr std::int64_t kFewMoves = 3000;
  static constexpr std::int64_t kMoves = 300'000;
  static constexpr double kClose = 1.005;

  double ratio_of(const Genes& genes) {
    const Instance instance = make_instance(genes, kMostOps);
    if (instance.problem == nullptr) return 0;
    using Int = std::int64_t;
    const auto evaluator = make_simulation_evaluator(instance.problem, 1);
    const auto search = [&](std::int64_t moves) {
      return found(*evaluator, "auto", {{"moves", moves}, {"threads", Int{1}}});
    };
    const Found own = search(kFewMoves);
    double ours = own.us;
    if (ours == kNone) return 0;
    if (own.proven) return 1;
    double best = kNone;
    for (const char* name : {"exact", "mcmc", "heft", "m-etf", "topo", "dp"}) {
      OptionTexts options = options_of(name, 1, /*optimum_known=*/true, 0);
      if (std::string(name) == "exact") options = {{"nodes", Int{5000}}};
      const Found other = found(*evaluator, name, options);
      if (other.us < best) {
        best = other.us;
        text_ = name;
      }
      if (other.proven) break;
    }
    for (std::int64_t moves = 10 * kFewMoves; moves <= kMoves && ours > best * kClose;
         moves *= 10) {
      ours = std::min(ours, search(moves).us);
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

  struct Found {
    double us = kNone;
    bool proven = false;  ///< nothing is better
  };

  Found found(Evaluator& evaluator, const char* name, const OptionTexts& options) {
    try {
      const PlaceResult result = place(*engine_.make_policy(name, options), evaluator, {}, kNone);
      return {result.evaluation.objective_us, result.end == SearchEnd::proven};
    } catch (const Error&) {
      return {};
    }
  }

  Engine engine_;
  Random random_;
  std::string text_;
};

}  // namespace

void search_bad_instances(const Settings& settings) {
  Adversary(settings.seed).run(settings.search);
}

}  // namespace berth::differential
