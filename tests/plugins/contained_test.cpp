#include "auto/contained.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

using policies::auto_policy::collect_starts;
using policies::auto_policy::contained_policies;

/// Four ops that do not know each other, on so many devices.
std::shared_ptr<const Problem> four_ops(int devices = 2) {
  std::vector<SmallDevice> all;
  for (int d = 0; d < devices; ++d) all.push_back({std::to_string(d), "x"});
  return small_problem(all, {{{1}}, {{1}}, {{1}}, {{1}}}, {});
}

/// Says that it was asked about the whole machine, and puts as many ops as told on the second device.
class Recorded final : public Policy {
 public:
  Recorded(
      std::string name, int moved, std::vector<std::string>& asked,
      std::function<void(const PlaceContext&)> look = [](const PlaceContext&) {}, int devices = 2)
      : name_(std::move(name)),
        moved_(moved),
        asked_(asked),
        look_(std::move(look)),
        devices_(devices) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    look_(context);
    Placement placement(4, 0);
    if (evaluator.problem().cluster().device_count() == devices_) {
      asked_.push_back(name_);
      for (int op = 0; op < moved_; ++op) placement[static_cast<std::size_t>(op)] = 1;
    }
    PolicyAnswer answer(std::move(placement));
    if (name_ == "instant") answer.end = SearchEnd::budget;
    return answer;
  }

 private:
  std::string name_;
  int moved_;
  std::vector<std::string>& asked_;
  std::function<void(const PlaceContext&)> look_;
  int devices_;
};

/// Who is asked, in this order, where `heft` and `metis` move so many ops each.
std::vector<std::string> asked_where(int heft, int metis) {
  std::vector<std::string> asked;
  const PolicyMaker make = [&](std::string_view name, const OptionTexts& options) {
    const int moved = name == "heft" ? heft : name == "metis" && options.empty() ? metis : 0;
    return std::make_unique<Recorded>(std::string(name), moved, asked);
  };
  const auto problem = four_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const auto starts =
      collect_starts(make, contained_policies("single,heft,metis,topo,metis:phases=2,m-etf,dp"),
                     /*skip_missing=*/true, *problem, *evaluator, PlaceContext{});
  CHECK(starts.found.size() >= asked.size());
  return asked;
}

/// Takes 50 ms for a step, by a clock of its own.
class Slow final : public Evaluator {
 public:
  explicit Slow(std::shared_ptr<const Problem> problem)
      : inner_(make_simulation_evaluator(std::move(problem), 1)) {}

  [[nodiscard]] double now_s() const { return now_s_; }

  [[nodiscard]] const Problem& problem() const noexcept override { return inner_->problem(); }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    now_s_ += 0.05;
    inner_->evaluate(placements, out);
  }
  [[nodiscard]] std::int64_t evaluations() const noexcept override { return inner_->evaluations(); }

 private:
  std::unique_ptr<Evaluator> inner_;
  double now_s_ = 0;
};

}  // namespace

TEST_CASE("auto: a budget too short for a search goes to those that need none") {
  std::vector<std::string> asked;
  double instant_s = 0;
  const auto run = [&](double budget_s, bool installed, bool skip_missing) {
    asked.clear();
    const PolicyMaker make = [&](std::string_view name, const OptionTexts&) {
      if (name == "instant" && !installed) throw Error(ErrorCode::not_found, "not installed");
      const auto look = [&, is_instant = name == "instant"](const PlaceContext& it) {
        if (is_instant) instant_s = it.budget_s;
      };
      return std::make_unique<Recorded>(std::string(name), 0, asked, look);
    };
    const auto problem = four_ops();
    Slow evaluator(problem);
    PlaceContext context;
    context.budget_s = budget_s;
    return collect_starts(make, contained_policies("single,heft,metis,instant,topo"), skip_missing,
                          *problem, evaluator, context, [&] { return evaluator.now_s(); });
  };
  using Names = std::vector<std::string>;
  // 10 s are less than 400 steps, and 1 s less than seven times what a partitioner takes, four steps.
  CHECK(run(10, true, true).hasty);
  CHECK(asked.front() == "single");
  CHECK(asked.back() == "instant");
  CHECK(instant_s > 3);
  CHECK(run(10, true, true).end == SearchEnd::budget);
  CHECK(run(1, true, true).hasty);
  CHECK(asked == Names{"single", "instant"});
  for (const bool installed : {false, true}) {
    CHECK_FALSE(run(10, installed, /*skip_missing=*/!installed).hasty);
    CHECK(asked.size() == (installed ? 5 : 4));
  }
  CHECK_FALSE(run(1e6, true, true).hasty);
  CHECK(run(1e6, true, true).end == SearchEnd::done);
  CHECK(asked.size() == 5);
}

TEST_CASE("auto: who would be cut off is not asked, and takes nothing from passes") {
  std::vector<std::string> asked;
  double instant_s = 0;
  const auto run = [&](int devices) {
    asked.clear();
    const PolicyMaker make = [&](std::string_view name, const OptionTexts&) {
      const auto look = [&, is_instant = name == "instant"](const PlaceContext& it) {
        if (is_instant) instant_s = it.budget_s;
      };
      return std::make_unique<Recorded>(std::string(name), 0, asked, look, devices);
    };
    const auto problem = four_ops(devices);
    Slow evaluator(problem);
    PlaceContext context;
    context.budget_s = 40;
    return collect_starts(make, contained_policies("single,heft,metis,instant,m-etf"),
                          /*skip_missing=*/true, *problem, evaluator, context,
                          [&] { return evaluator.now_s(); });
  };
  using Names = std::vector<std::string>;
  // A quarter of 40 s are 200 steps or less: `heft` takes 254 for 1,000 devices, and `m-etf` more.
  CHECK_FALSE(run(1000).hasty);
  CHECK(asked == Names{"single", "metis", "instant", "instant"});  // for a trial, then for good
  CHECK(instant_s > 0.15 * 40);                                    // more than its share
  CHECK_FALSE(run(2).hasty);
  CHECK(asked == Names{"single", "heft", "metis", "instant", "m-etf"});
}

TEST_CASE("auto: passes are made whatever the policies before them took") {
  std::vector<std::string> asked;
  double now_s = 0;
  const PolicyMaker make = [&](std::string_view name, const OptionTexts&) {
    return std::make_unique<Recorded>(std::string(name), 0, asked,
                                      [&now_s, is_slow = name == "heft"](const PlaceContext&) {
                                        if (is_slow) now_s += 1.3;
                                      });
  };
  const auto problem = four_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  context.budget_s = 4;
  const auto starts =
      collect_starts(make, contained_policies("single,heft,metis,instant,topo"),
                     /*skip_missing=*/true, *problem, *evaluator, context, [&] { return now_s; });
  CHECK_FALSE(starts.hasty);
  CHECK(asked == std::vector<std::string>{"single", "heft", "instant"});
}

TEST_CASE("auto: passes are made on the part of many devices where they are best") {
  /// Shares ops out well on five devices only.
  class Choosy final : public Policy {
   public:
    explicit Choosy(std::vector<int>& asked) : asked_(asked) {}
    PolicyAnswer place(Evaluator& evaluator, const PlaceContext&) override {
      asked_.push_back(evaluator.problem().cluster().device_count());
      return PolicyAnswer(asked_.back() == 5 ? Placement{0, 0, 1, 1} : Placement{0, 0, 0, 1});
    }

   private:
    std::vector<int>& asked_;
  };
  std::vector<int> devices;
  const PolicyMaker make = [&](std::string_view, const OptionTexts&) {
    return std::make_unique<Choosy>(devices);
  };
  const auto run = [&](DeviceId count) {
    devices.clear();
    const auto problem = four_ops(count);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    return collect_starts(make, contained_policies("instant"), /*skip_missing=*/true, *problem,
                          *evaluator, PlaceContext{});
  };
  // A half that does not help is no reason to leave the quarter out.
  CHECK(run(20).found.back().solution.objective_us == 2);
  CHECK(devices == std::vector<int>{20, 10, 5, 3, 2, 5});
  CHECK(run(8).found.size() == 1);
  CHECK(devices == std::vector<int>{8});
}

TEST_CASE("auto: passes last as long as they gain on many devices, up to half of the budget") {
  /// Takes a second for a pass, of which so many gain; tells how long it was let.
  class Gaining final : public Policy {
   public:
    Gaining(int gains, double& now_s) : gains_(gains), now_s_(now_s) {}
    PolicyAnswer place(Evaluator&, const PlaceContext& context) override {
      double us = 1000;
      for (int i = 0; !context.stopped(); ++i) {
        now_s_ += 1;
        if (i < gains_ && context.progress) context.progress(us *= 0.9, "a pass");
      }
      return PolicyAnswer(Placement(4, 0));
    }

   private:
    int gains_;
    double& now_s_;
  };
  const auto lasts_s = [](int gains, DeviceId devices) {
    double now_s = 0;
    const PolicyMaker make = [&](std::string_view, const OptionTexts&) {
      return std::make_unique<Gaining>(gains, now_s);
    };
    const auto problem = four_ops(devices);
    const auto evaluator = make_simulation_evaluator(problem, 1);
    PlaceContext context;
    context.budget_s = 100;
    const auto starts = collect_starts(make, contained_policies("instant"), /*skip_missing=*/true,
                                       *problem, *evaluator, context, [&] { return now_s; });
    CHECK(starts.found.size() == 1);
    return now_s;
  };
  CHECK(lasts_s(0, 20) == 15);
  CHECK(lasts_s(20, 20) > 25);
  CHECK(lasts_s(20, 20) < 35);
  CHECK(lasts_s(1000, 20) == 50);
  CHECK(lasts_s(1000, 8) == 15);
}

TEST_CASE("auto: what was evaluated for a policy is not evaluated again") {
  const auto problem = four_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  std::vector<std::string> asked;
  const PolicyMaker make = [&](std::string_view name, const OptionTexts&) {
    return std::make_unique<Recorded>(std::string(name), name == "metis" ? 2 : 1, asked);
  };
  const auto starts = collect_starts(make, contained_policies("heft,topo,metis,fill"),
                                     /*skip_missing=*/false, *problem, *evaluator, PlaceContext{});
  REQUIRE(starts.found.size() == 4);
  CHECK(starts.found[1].solution.objective_us == 3);
  CHECK(starts.found[2].solution.objective_us == 2);
  CHECK(starts.found[3].solution.objective_us == 3);
  CHECK(evaluator->evaluations() == 2);
}

TEST_CASE("auto: the second list scheduler comes next where the first beats the partitioner") {
  using Names = std::vector<std::string>;
  CHECK(asked_where(2, 1) == Names{"single", "heft", "metis", "m-etf", "topo", "metis", "dp"});
  CHECK(asked_where(1, 2) == Names{"single", "heft", "metis", "topo", "metis", "m-etf", "dp"});
  // Neither is better than one device.
  CHECK(asked_where(0, 0) == Names{"single", "heft", "metis", "topo", "metis", "m-etf", "dp"});
}
