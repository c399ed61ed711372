#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <stdexcept>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "evaluate/overrun.h"
#include "support/expect_error.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

constexpr double kNoBudget = std::numeric_limits<double>::infinity();

class Scripted final : public Policy {
 public:
  using Script = std::function<PolicyAnswer(Evaluator&, const PlaceContext&)>;
  explicit Scripted(Script script) : script_(std::move(script)) { set_name("scripted"); }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    return script_(evaluator, context);
  }

 private:
  Script script_;
};

/// Two ops of 1 and 2 us; device "small" holds the parameters of one, "large" of both.
std::shared_ptr<const Problem> two_ops() {
  GraphBuilder builder("two");
  for (OpId op = 0; op < 2; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.set_param_bytes(op, 10);
  }
  Device small, large;
  small.name = "small";
  small.kind = "fast";
  small.memory_bytes = 15;
  large.name = "large";
  large.kind = "slow";
  const auto cluster = std::make_shared<const Cluster>(
      "test", std::vector<Device>{small, large}, std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  const auto costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>{{1, 2}, {10, 20}}, std::vector<std::int64_t>(), "test");
  return std::make_shared<const Problem>(builder.build(), cluster, costs);
}

}  // namespace

TEST_CASE("best_single_device: the fastest that holds everything") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const SingleDevice best = best_single_device(*evaluator);
  CHECK(best.device == 1);
  CHECK(best.placement == Placement{1, 1});
  CHECK(best.evaluation.objective_us == doctest::Approx(30));
  // Kinds cannot differ within one device: two candidates.
  CHECK(evaluator->evaluations() == 2);
}

namespace {

/// Ops of 10 us that gpus run ten times as fast, but for `hosted` ones, which they cannot run, with
/// an output of a byte each to the next; a host between two gpus.
std::shared_ptr<const Problem> hosted_chain(int ops, const std::vector<OpId>& hosted,
                                            std::int64_t gpu_bytes = kNoLimit, bool host = true) {
  GraphBuilder builder("chain");
  std::vector<double> gpu_us(static_cast<std::size_t>(ops), 1);
  TensorId before = kNoTensor;
  for (OpId op = 0; op < ops; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    builder.set_param_bytes(op, 10);
    if (op > 0) builder.add_input(op, before);
    TensorInfo info;
    info.bytes = 1;
    before = builder.add_output(op, info);
  }
  for (const OpId op : hosted) gpu_us[static_cast<std::size_t>(op)] = kCannotRun;
  Device first, cpu, second;
  first.name = "gpu:0";
  second.name = "gpu:1";
  first.kind = second.kind = "gpu";
  first.memory_bytes = second.memory_bytes = gpu_bytes;
  cpu.name = cpu.kind = "cpu";
  cpu.host = host;
  const auto cluster =
      std::make_shared<const Cluster>("test", std::vector<Device>{first, cpu, second},
                                      std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  const auto costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>{gpu_us, std::vector<double>(gpu_us.size(), 10)},
      std::vector<std::int64_t>(), "test");
  return std::make_shared<const Problem>(builder.build(), cluster, costs);
}

}  // namespace

TEST_CASE("best_single_device: what the device cannot run is on the host") {
  const auto problem = hosted_chain(6, {2, 3});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const SingleDevice best = best_single_device(*evaluator);
  CHECK(best.device == 0);
  CHECK(best.placement == Placement{0, 0, 1, 1, 0, 0});
  CHECK(best.evaluation.objective_us < 60);  // what the host alone takes
  CHECK(evaluator->evaluations() == 1);      // the gpus are alike, and the host computes longer
  CHECK(single_device_text(*problem, best) == "gpu:0 for all that it can run, cpu for 2 ops");
  CHECK(one_device_placement(*problem, 2) == Placement{2, 2, 1, 1, 2, 2});
  CHECK(one_device_placement(*problem, 1) == Placement(6, 1));
}

TEST_CASE("best_single_device: groups of a policy's grain are not its own") {
  const auto problem = hosted_chain(6, {2});
  const auto grouped = std::make_shared<const Problem>(
      problem->shared_graph(), problem->shared_cluster(), problem->shared_costs(),
      std::make_shared<const Groups>(problem->graph(), std::vector<GroupId>(6, 0)));
  const SingleDevice best = best_single_device(*make_simulation_evaluator(grouped, 1));
  CHECK(best.placement == Placement{0, 0, 1, 0, 0, 0});
  CHECK(single_device_text(*grouped, best) == "gpu:0 for all that it can run, cpu for 1 op");
}

TEST_CASE("best_single_device: without a host the rest is where it is fastest") {
  GraphBuilder builder("three");
  for (const char* name : {"a", "b", "c"}) builder.add_op(name, "Op");
  Device x, y, z;
  x.name = x.kind = "x";
  y.name = y.kind = "y";
  z.name = z.kind = "z";
  const auto cluster = std::make_shared<const Cluster>(
      "test", std::vector<Device>{x, y, z}, std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
  const auto costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>{{1, kCannotRun, 1}, {50, 8, kCannotRun}, {50, 5, 50}},
      std::vector<std::int64_t>(), "test");
  const auto problem = std::make_shared<const Problem>(builder.build(), cluster, costs);
  const SingleDevice best = best_single_device(*make_simulation_evaluator(problem, 1));
  CHECK(best.device == 0);
  CHECK(best.placement == Placement{0, 2, 0});
}

TEST_CASE("best_single_device: none holds what it can run") {
  const auto problem = hosted_chain(6, {2}, /*gpu_bytes=*/40);
  const SingleDevice host = best_single_device(*make_simulation_evaluator(problem, 1));
  CHECK(host.device == 1);
  CHECK(single_device_text(*problem, host) == "cpu, since none but a host holds the model");
  const auto small = hosted_chain(6, {}, /*gpu_bytes=*/40, /*host=*/false);
  std::vector<Device> devices;
  for (DeviceId d = 0; d < 3; ++d) devices.push_back(small->cluster().device(d));
  devices[1].memory_bytes = 40;
  const auto cluster = std::make_shared<const Cluster>("small", devices, small->cluster().links());
  const SingleDevice none = best_single_device(*make_simulation_evaluator(
      std::make_shared<const Problem>(small->shared_graph(), cluster, small->shared_costs()), 1));
  CHECK(none.device == kNoDevice);
  CHECK(none.placement.empty());
}

TEST_CASE("place: the bound is the strong one, which the evaluator keeps") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const LowerBound& bound = evaluator->bound();
  CHECK(bound.us == strong_lower_bound(*problem).us);
  CHECK(&evaluator->bound() == &bound);
  Scripted policy([](Evaluator&, const PlaceContext&) { return Placement{1, 0}; });
  const PlaceResult result = place(policy, *evaluator, {}, kNoBudget);
  CHECK(result.bound.us == bound.us);
  CHECK(result.bound.source == bound.source);
}

TEST_CASE("place: no more is proven than that no placement is better") {
  const auto problem = hosted_chain(6, {});
  const Placement one_device(6, 0);
  REQUIRE(lower_bound(*problem).us == doctest::Approx(6));
  Scripted policy([&](Evaluator&, const PlaceContext&) { return one_device; });
  PlaceContext context;
  // The strong bound alone asks it, and would be cut short.
  context.should_stop = [] { return true; };
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const PlaceResult result = place(policy, *evaluator, context, kNoBudget);
  CHECK(result.end == SearchEnd::proven);
  CHECK_FALSE(result.bound.cut_short);
  CHECK(simulated_outcome(problem, {}, one_device).bound.source == lower_bound(*problem).source);
}

TEST_CASE("place: the caller ends the bound of a search that is done") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Scripted policy([](Evaluator&, const PlaceContext&) { return Placement{1, 1}; });
  PlaceContext context;
  context.should_stop = [] { return true; };
  const PlaceResult result = place(policy, *evaluator, context, kNoBudget);
  CHECK(result.end == SearchEnd::done);
  CHECK(result.placement == Placement{1, 1});
  CHECK(result.bound.cut_short);
  CHECK(result.bound.us == lower_bound(*problem).us);
  // It stands for the next search, as rows of one table are compared with one bound.
  CHECK(place(policy, *evaluator, {}, kNoBudget).bound.cut_short);
  CHECK_FALSE(evaluator->bound().cut_short);
  CHECK_FALSE(place(policy, *evaluator, context, kNoBudget).bound.cut_short);
  struct Mine {};
  context.should_stop = []() -> bool { throw Mine(); };
  CHECK_THROWS_AS(
      static_cast<void>(place(policy, *make_simulation_evaluator(problem, 1), context, kNoBudget)),
      Mine);
}

TEST_CASE("place: measures the answer and compares it") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Scripted policy([](Evaluator& e, const PlaceContext& context) {
    CHECK(context.seed == 9);
    CHECK_FALSE(context.should_stop());
    static_cast<void>(e.evaluate(Placement{0, 0}));
    return Placement{1, 0};
  });
  PlaceContext context;
  context.seed = 9;
  const PlaceResult result = place(policy, *evaluator, context, kNoBudget);
  CHECK(result.placement == Placement{1, 0});
  CHECK(result.evaluation.objective_us == doctest::Approx(10));
  CHECK(result.evaluation.feasible);
  CHECK(result.best_single.device == 1);
  CHECK(result.evaluations == 1);
  CHECK(result.simulated_ops == 2);
  CHECK(result.wall_s >= 0);
  CHECK(result.bound.us > 0);
  CHECK(result.gap() >= 0);
}

namespace {

/// Measures steps of 1 us, whatever the costs say, or of the given runtimes in turn.
class Hardware final : public Evaluator {
 public:
  explicit Hardware(std::shared_ptr<const Problem> problem, std::vector<double> runtimes_us = {1})
      : simulated_(make_simulation_evaluator(std::move(problem), 1)),
        runtimes_us_(std::move(runtimes_us)) {}
  const Problem& problem() const noexcept override { return simulated_->problem(); }
  bool measures() const noexcept override { return true; }
  std::int64_t evaluations() const noexcept override { return simulated_->evaluations(); }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    simulated_->evaluate(placements, out);
    for (Evaluation& each : out) {
      each.runtime_us = each.objective_us = runtimes_us_[next_++ % runtimes_us_.size()];
    }
  }

 private:
  std::unique_ptr<Evaluator> simulated_;
  std::vector<double> runtimes_us_;
  std::size_t next_ = 0;
};

}  // namespace

TEST_CASE("place: costs prove nothing of what is measured") {
  Hardware hardware(two_ops());
  Scripted prover([](Evaluator&, const PlaceContext&) {
    PolicyAnswer answer(Placement{1, 1});
    answer.proven = {20, "costs"};
    return answer;
  });
  const PlaceResult result = place(prover, hardware, {}, kNoBudget);
  CHECK(result.end == SearchEnd::done);
  CHECK(result.evaluation.objective_us == 1);
  CHECK(result.bound.us == 0);
  CHECK(result.gap() == std::numeric_limits<double>::infinity());
  const auto regrouped = make_regrouped_evaluator(hardware, hardware.problem().shared_groups());
  CHECK(regrouped->measures());
}

TEST_CASE(
    "place: what is measured is measured again, beside the single device, and the medians count") {
  // The answer alone, the single devices 0 and 1 (which is the best), then both in turn.
  Hardware hardware(two_ops(), {100, 90, 50,  //
                                9, 60, 12, 58, 200, 61, 10, 59, 11, 62, 8, 63, 13, 64});
  Scripted policy([](Evaluator&, const PlaceContext&) { return Placement{1, 0}; });
  const PlaceResult result = place(policy, hardware, {}, kNoBudget);
  CHECK(result.evaluation.objective_us == 11);
  CHECK(result.best_single.evaluation.objective_us == 61);
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].starts_with("measured 7 times more, 8 to 200 us; the median is given"));

  Scripted single([](Evaluator&, const PlaceContext&) { return Placement{1, 1}; });
  Hardware other(two_ops(), {3, 2, 1, 7, 6, 5, 4, 3, 2, 1});
  const PlaceResult same = place(single, other, {}, kNoBudget);
  CHECK(same.evaluation.objective_us == 4);
  CHECK(same.best_single.evaluation.objective_us == same.evaluation.objective_us);
}

TEST_CASE("place: a caller who stops waits for no more measurements") {
  // The answer and the single devices, which whoever asks is told of; then both in turn.
  const std::vector<double> runtimes_us = {100, 90, 50, 9, 60, 12, 58, 200, 61, 10, 59};
  for (const int rounds : {0, 1, 2}) {
    CAPTURE(rounds);
    const auto problem = two_ops();
    Hardware hardware(problem, runtimes_us);
    PlaceContext context;
    context.should_stop = [&] { return hardware.evaluations() >= 3 + 2 * rounds; };
    Scripted policy([](Evaluator&, const PlaceContext&) { return Placement{1, 0}; });
    const PlaceResult result = place(policy, hardware, context, kNoBudget);
    CHECK(hardware.evaluations() == 3 + 2 * rounds);
    CHECK(result.evaluation.objective_us == (rounds == 0 ? 100 : rounds == 1 ? 9 : 12));
    REQUIRE(result.notes.size() == 1);
    CHECK(result.notes[0].find(rounds == 0 ? "measured once"
                               : rounds == 1
                                   ? "measured 1 time more, 9 to 9 us"
                                   : "measured 2 times more, 9 to 12 us") != std::string::npos);
  }
}

TEST_CASE("place: the budget and the caller's wish both stop a policy") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Scripted until_stopped([](Evaluator&, const PlaceContext& context) {
    while (!context.should_stop()) continue;
    return Placement{1, 1};
  });
  CHECK(place(until_stopped, *evaluator, {}, 0.0).placement == Placement{1, 1});
  PlaceContext context;
  int asked = 0;
  context.should_stop = [&] { return ++asked == 3; };
  CHECK(place(until_stopped, *evaluator, context, kNoBudget).placement == Placement{1, 1});
  CHECK(asked == 3);
  for (const double budget : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(static_cast<void>(place(until_stopped, *evaluator, {}, budget)), Error);
  }
}

TEST_CASE("place: a bound that a policy proves counts where it is the largest") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  LowerBound proven;
  Scripted prover([&](Evaluator&, const PlaceContext&) {
    PolicyAnswer answer(Placement{1, 1});
    answer.proven = proven;
    return answer;
  });
  const double objective_us = evaluator->evaluate(Placement{1, 1}).objective_us;
  const LowerBound known = place(prover, *evaluator, {}, kNoBudget).bound;
  CHECK(known.us < objective_us);

  proven = {known.us / 2, "a weak argument"};
  CHECK(place(prover, *evaluator, {}, kNoBudget).bound.source == known.source);
  proven = {objective_us, "a strong argument"};
  const PlaceResult result = place(prover, *evaluator, {}, kNoBudget);
  CHECK(result.bound.source == "a strong argument");
  CHECK(result.gap() == 0);
  proven = {objective_us * 1.001, "a wrong argument"};
  expect_error(ErrorCode::invalid_argument, {"a wrong argument"},
               [&] { static_cast<void>(place(prover, *evaluator, {}, kNoBudget)); });
}

TEST_CASE("place: a result says why the search ended, and what the policy notes") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PolicyAnswer answer(Placement{1, 1});
  bool asks = false;
  Scripted policy([&](Evaluator&, const PlaceContext& context) {
    if (asks) static_cast<void>(context.should_stop());
    return answer;
  });
  const auto end = [&](double budget_s, bool cancelled) {
    PlaceContext context;
    context.should_stop = [cancelled] { return cancelled; };
    return place(policy, *evaluator, context, budget_s).end;
  };
  // Who never asks was not stopped.
  CHECK(end(0, true) == SearchEnd::done);
  asks = true;
  CHECK(end(kNoBudget, false) == SearchEnd::done);
  CHECK(end(0, false) == SearchEnd::budget);
  CHECK(end(0, true) == SearchEnd::cancelled);
  answer.end = SearchEnd::budget;
  CHECK(end(kNoBudget, false) == SearchEnd::budget);
  answer.end = SearchEnd::gave_up;
  answer.notes = {"too large"};
  CHECK(end(0, false) == SearchEnd::gave_up);
  CHECK(place(policy, *evaluator, {}, kNoBudget).notes == answer.notes);
  answer.proven = {evaluator->evaluate(answer.placement).objective_us, "an argument"};
  CHECK(end(0, true) == SearchEnd::proven);
}

TEST_CASE("place: what the caller's own callbacks throw ends the search, past the policy") {
  const auto evaluator = make_simulation_evaluator(two_ops(), 1);
  struct Mine {};
  bool stopped = false;
  // No policy need be safe against exceptions between two of its lines.
  Scripted policy([&](Evaluator&, const PlaceContext& context) noexcept {
    static_cast<void>(context.should_stop());
    if (context.progress) context.progress(1, "text");
    if (context.progress) context.progress(1, "text");
    stopped = context.should_stop();
    return Placement{1, 1};
  });
  int calls = 0;
  PlaceContext stops;
  stops.should_stop = [&]() -> bool {
    ++calls;
    throw Mine();
  };
  CHECK_THROWS_AS(static_cast<void>(place(policy, *evaluator, stops, kNoBudget)), Mine);
  CHECK(stopped);
  CHECK(calls == 1);
  PlaceContext reports;
  calls = 0;
  reports.progress = [&](double, const std::string&) {
    ++calls;
    throw Mine();
  };
  CHECK_THROWS_AS(static_cast<void>(place(policy, *evaluator, reports, kNoBudget)), Mine);
  CHECK(stopped);
  CHECK(calls == 1);
}

TEST_CASE("place: a policy that goes on after its budget has a note that says so") {
  CHECK(
      overrun_text("policy 'slow'", 1.6, 1) ==
      "policy 'slow' took 1.6 s of a budget of 1 s: it does not ask often enough whether to stop");
  CHECK(!overrun_text("policy 'slow'", 0.3, 0).empty());
  CHECK(overrun_text("policy 'slow'", 1.4, 1).empty());
  CHECK(overrun_text("policy 'slow'", 0.2, 0).empty());
  CHECK(overrun_text("policy 'slow'", 1e9, kNoBudget).empty());
}

TEST_CASE("place: a policy learns its budget and where to start from") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  double budget_s = 0;
  Scripted first_initial([&](Evaluator&, const PlaceContext& context) {
    budget_s = context.budget_s;
    return context.initial.at(0);
  });
  PlaceContext context;
  context.initial = {{1, 1}, {1, 0}};
  CHECK(place(first_initial, *evaluator, context, 7.5).placement == Placement{1, 1});
  CHECK(budget_s == 7.5);
  static_cast<void>(place(first_initial, *evaluator, context, kNoBudget));
  CHECK(budget_s == kNoBudget);

  context.initial.push_back({0, 2});
  try {
    static_cast<void>(place(first_initial, *evaluator, context, kNoBudget));
    FAIL("an invalid placement to start from was taken");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("to start from") != std::string::npos);
  }
}

TEST_CASE("place: a policy that breaks its contract is named") {
  const auto problem = two_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const auto message_of = [&](Scripted::Script script) {
    Scripted policy(std::move(script));
    try {
      static_cast<void>(place(policy, *evaluator, {}, kNoBudget));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto mentions = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  for (const Placement& wrong : {Placement{}, Placement{0}, Placement{0, 2}, Placement{0, -1}}) {
    const std::string message = message_of([&](Evaluator&, const PlaceContext&) { return wrong; });
    CAPTURE(message);
    CHECK(mentions(message, "policy 'scripted'"));
    CHECK(mentions(message, "returned an invalid placement"));
  }
  const std::string thrown = message_of(
      [](Evaluator&, const PlaceContext&) -> Placement { throw std::out_of_range("oops"); });
  CHECK(mentions(thrown, "policy 'scripted'"));
  CHECK(mentions(thrown, "oops"));
  for (const auto& script :
       {Scripted::Script(
            [](Evaluator&, const PlaceContext&) -> Placement { throw std::bad_alloc(); }),
        Scripted::Script([](Evaluator&, const PlaceContext&) -> Placement { throw 42; })}) {
    CHECK(mentions(message_of(script), "policy 'scripted'"));
  }
  const auto answers = [&](const auto& change) {
    return message_of([&](Evaluator&, const PlaceContext&) {
      PolicyAnswer answer(Placement{0, 0});
      answer.learned = LearnedAnswer{};
      change(answer);
      return answer;
    });
  };
  const std::string broken = "policy 'scripted' breaks its contract";
  for (const SearchEnd end : {SearchEnd::proven, SearchEnd::cancelled, SearchEnd{99}}) {
    CHECK(mentions(answers([&](PolicyAnswer& answer) { answer.end = end; }), broken.c_str()));
  }
  CHECK(mentions(answers([](PolicyAnswer& answer) { answer.learned->whose = Whose{99}; }),
                 broken.c_str()));
  CHECK(mentions(answers([](PolicyAnswer& answer) { answer.learned->weights = Weights{99}; }),
                 broken.c_str()));
  CHECK(mentions(answers([](PolicyAnswer& answer) { answer.learned->updates = -1; }),
                 broken.c_str()));
  CHECK(mentions(answers([](PolicyAnswer& answer) {
                   answer.learned->own = {0, 0, 0};
                 }),
                 broken.c_str()));
  CHECK(answers([](PolicyAnswer&) {}) == "no error");
  CHECK(message_of([](Evaluator&, const PlaceContext&) -> Placement {
          throw Error(ErrorCode::infeasible, "too small");
        }) == "too small");
}
