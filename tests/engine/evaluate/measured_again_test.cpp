#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/evaluator.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

constexpr double kNoBudget = std::numeric_limits<double>::infinity();

class Scripted final : public Policy {
 public:
  using Script = std::function<PolicyAnswer(Evaluator&)>;
  explicit Scripted(Script script) : script_(std::move(script)) { set_name("scripted"); }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    static_cast<void>(context);
    return script_(evaluator);
  }

 private:
  Script script_;
};

/// Says what runtime a placement has when it is measured for the n-th time, from 1; 0 = it does not fit.
using Runtime = std::function<double(const Placement&, int n)>;

class Hardware final : public Evaluator {
 public:
  Hardware(std::shared_ptr<const Problem> problem, Runtime runtime)
      : simulated_(make_simulation_evaluator(std::move(problem), 1)),
        runtime_(std::move(runtime)) {}
  const Problem& problem() const noexcept override { return simulated_->problem(); }
  bool measures() const noexcept override { return true; }
  std::int64_t evaluations() const noexcept override { return simulated_->evaluations(); }
  using Evaluator::evaluate;
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    simulated_->evaluate(placements, out);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const double us = runtime_(placements[i], ++counts_[placements[i]]);
      out[i].runtime_us = out[i].objective_us = us;
      out[i].feasible = us > 0;
    }
  }
  [[nodiscard]] int count(const Placement& placement) { return counts_[placement]; }

 private:
  std::unique_ptr<Evaluator> simulated_;
  Runtime runtime_;
  std::map<Placement, int> counts_;
};

/// Two ops on three devices that hold all of them.
std::shared_ptr<const Problem> two_ops() {
  GraphBuilder builder("two");
  for (OpId op = 0; op < 2; ++op) builder.add_op("op" + std::to_string(op), "Op");
  std::vector<Device> devices(3);
  devices[0].name = "a";
  devices[1].name = "b";
  devices[2].name = "c";
  for (Device& device : devices) device.kind = "gpu";
  const auto cluster = std::make_shared<const Cluster>(
      "test", std::move(devices), std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  const auto costs = std::make_shared<const Costs>(std::vector<std::vector<double>>{{1, 2}},
                                                   std::vector<std::int64_t>(), "test");
  return std::make_shared<const Problem>(builder.build(), cluster, costs);
}

/// Measures all of these once, and answers with the first.
Scripted search(std::vector<Placement> placements) {
  return Scripted([placements = std::move(placements)](Evaluator& evaluator) {
    std::vector<Evaluation> found(placements.size());
    evaluator.evaluate(placements, found);
    return placements.front();
  });
}

}  // namespace

TEST_CASE("measure_again: no answer of a search is slower than one device") {
  Hardware hardware(two_ops(), [](const Placement& placement, int n) {
    if (placement == Placement{0, 1}) return n == 1 ? 5.0 : 40.0;
    return placement[0] == placement[1] ? 20.0 : 30.0;
  });
  Scripted lucky = search({{0, 1}, {1, 0}});
  const PlaceResult result = place(lucky, hardware, {}, kNoBudget);
  CHECK(result.placement == result.best_single.placement);
  CHECK(result.evaluation.objective_us == 20);
  CHECK(result.best_single.evaluation.objective_us == 20);
  REQUIRE(result.notes.size() == 2);
  CHECK(result.notes[1] ==
        "one device answers, since the policy's took 40.00 us beside 20.00 us when both were "
        "measured again in turn");
}

TEST_CASE("measure_again: the best of what a search measured answers") {
  const Placement lucky = {0, 1}, best = {1, 0};
  Hardware hardware(two_ops(), [&](const Placement& placement, int n) {
    if (placement == lucky) return n == 1 ? 5.0 : 40.0;
    // One of its runs waits for another program.
    if (placement == best) return n == 3 ? 90.0 : 10.0;
    return 20.0;
  });
  Scripted policy = search({lucky, best});
  const PlaceResult result = place(policy, hardware, {}, kNoBudget);
  CHECK(result.placement == best);
  CHECK(result.evaluation.objective_us == 10);
  REQUIRE(result.notes.size() == 2);
  CHECK(result.notes[0].starts_with("measured 7 times more, 10 to 90 us; the median is given"));
  CHECK(result.notes[1].starts_with("another placement that was measured answers"));
}

TEST_CASE("measure_again: an answer that stops to fit gives way to one that does") {
  const Placement tight = {0, 1};
  const Runtime runtime = [&](const Placement& placement, int n) {
    return placement == tight ? (n == 1 ? 5.0 : 0.0) : 20.0;
  };
  Hardware hardware(two_ops(), runtime);
  Scripted policy = search({tight, {1, 0}});
  const PlaceResult result = place(policy, hardware, {}, kNoBudget);
  CHECK(result.placement != tight);
  CHECK(result.evaluation.feasible);
  CHECK(result.notes.back().find("did not fit when it was measured again") != std::string::npos);
  // Nothing else was measured by one that does not search.
  Hardware other(two_ops(), runtime);
  Scripted alone = search({tight});
  CHECK_FALSE(place(alone, other, {}, kNoBudget).evaluation.feasible);
}

TEST_CASE("measure_again: a placement that no measurements chose stands") {
  Hardware hardware(two_ops(), [](const Placement& placement, int) {
    return placement[0] == placement[1] ? 20.0 : 30.0;
  });
  Scripted policy = search({{0, 1}});
  const PlaceResult result = place(policy, hardware, {}, kNoBudget);
  CHECK(result.placement == Placement{0, 1});
  CHECK(result.evaluation.objective_us == 30);
  CHECK(result.best_single.evaluation.objective_us == 20);
}

TEST_CASE("measure_again: what learned says whose the other answer is") {
  Hardware hardware(two_ops(), [](const Placement& placement, int n) {
    if (placement == Placement{0, 1}) return n == 1 ? 5.0 : 40.0;
    return placement == Placement{1, 0} ? 10.0 : 20.0;
  });
  for (const bool own : {true, false}) {
    CAPTURE(own);
    Scripted policy([own](Evaluator& evaluator) {
      static_cast<void>(evaluator.evaluate({1, 0}));
      PolicyAnswer answer(Placement{0, 1});
      static_cast<void>(evaluator.evaluate(answer.placement));
      answer.learned.emplace();
      answer.learned->whose = Whose::search;
      answer.learned->own = own ? Placement{1, 0} : Placement{0, 1};
      return answer;
    });
    const PlaceResult result = place(policy, hardware, {}, kNoBudget);
    REQUIRE(result.learned);
    CHECK(result.placement == Placement{1, 0});
    CHECK(result.learned->best == result.placement);
    CHECK(result.learned->best_evaluation.objective_us == 10);
    CHECK(result.learned->whose == (own ? Whose::own : Whose::passed));
  }
}

TEST_CASE("measure_again: the best four are measured again, by the median of what each took") {
  const Placement lucky = {2, 1}, best = {0, 1}, fourth = {1, 2}, fifth = {2, 0};
  std::map<Placement, double> runtimes = {{best, 5},   {{0, 2}, 6}, {{1, 0}, 7},
                                          {fourth, 8}, {fifth, 9},  {lucky, 30}};
  Hardware hardware(two_ops(), [&](const Placement& placement, int n) {
    if (placement == lucky && n == 2) return 1.0;
    return placement[0] == placement[1] ? 20.0 : runtimes[placement];
  });
  Scripted policy = search({best, lucky, lucky, lucky, {0, 2}, {1, 0}, fourth, fifth});
  const PlaceResult result = place(policy, hardware, {}, kNoBudget);
  CHECK(result.placement == best);
  CHECK(hardware.count(best) == 2 + 7);
  CHECK(hardware.count(fourth) == 1 + 3);
  CHECK(hardware.count(fifth) == 1);
  CHECK(hardware.count(lucky) == 3);
}
