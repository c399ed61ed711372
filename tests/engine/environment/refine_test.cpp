// What the samples of an update teach, by a policy that notes what it is told.
#include <doctest/doctest.h>

#include <vector>

#include "berth/learning.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

/// Samples whose one decision led to `seconds`, in turn.
class Noting final : public LearnedPolicy {
 public:
  explicit Noting(std::vector<double> seconds) : seconds_(std::move(seconds)) {}

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override {
    const Problem& problem = evaluators.front()->problem();
    const Placement placement = problem.groups().expand(zero_placement(problem));
    const Evaluation before = evaluators.front()->evaluate(placement);
    out.episodes.assign(static_cast<std::size_t>(options.samples), {});
    for (std::size_t e = 0; e < out.episodes.size(); ++e) {
      Evaluation after = before;
      after.objective_us = seconds_[e % seconds_.size()] * 1e6;
      Rollout::Episode& episode = out.episodes[e];
      episode.steps = episode.measured = 1;
      episode.evaluations = {before, after};
      episode.best = episode.last = placement;
      episode.best_evaluation = after;
    }
    out.tape = std::make_shared<Rollout::Tape>();
  }
  UpdateReport update(const Rollout&, std::span<const double> advantages,
                      const UpdateOptions&) override {
    told.assign(advantages.begin(), advantages.end());
    return {};
  }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    return refine(*this, evaluator, context, options);
  }
  void save(const std::filesystem::path&, const std::string&) const override {}
  std::string load(const std::filesystem::path&) override { return ""; }
  [[nodiscard]] std::int64_t parameter_count() const override { return 0; }

  RefineOptions options;
  std::vector<double> told;

 private:
  std::vector<double> seconds_;
};

std::vector<double> taught(std::vector<double> seconds, RefineOptions::Baseline baseline) {
  Noting policy(std::move(seconds));
  policy.options.updates = 1;
  policy.options.samples = 20;
  policy.options.reward = RefineOptions::Reward::seconds;
  policy.options.baseline = baseline;
  policy.options.normalised = false;
  policy.options.known_starts = false;
  const auto evaluator =
      make_simulation_evaluator(small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}}, {}), 1);
  static_cast<void>(policy.place(*evaluator, {}));
  return policy.told;
}

}  // namespace

TEST_CASE("best: the best tenth of the samples teach, by what they save against the next one") {
  const std::vector<double> told = taught(
      {5, 4, 2, 3, 5, 5, 5, 5, 5, 5, 1, 5, 5, 5, 5, 5, 5, 5, 5, 5}, RefineOptions::Baseline::best);
  std::vector<double> expected(20, 0.0);
  expected[2] = 1;
  expected[10] = 2;
  CHECK(told == expected);
  // Where all are alike nothing is learned.
  CHECK(taught({5}, RefineOptions::Baseline::best) == std::vector<double>(20, 0.0));
}

TEST_CASE("average: a failure to begin with") {
  const std::vector<double> told = taught({1, 3}, RefineOptions::Baseline::average);
  REQUIRE(told.size() == 20);
  CHECK(told[0] == doctest::Approx(9));
  CHECK(told[1] == doctest::Approx(7));
}

TEST_CASE("steps: gains, against those of the other samples") {
  std::vector<double> seconds(20, 2.0);
  seconds[3] = 1;
  const std::vector<double> told = taught(seconds, RefineOptions::Baseline::steps);
  REQUIRE(told.size() == 20);
  CHECK(told[3] == doctest::Approx(1));
  CHECK(told[0] == doctest::Approx(-1.0 / 19));
}
