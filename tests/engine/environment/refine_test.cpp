// What the samples of an update teach, by a policy that notes what it is told; the neighbourhoods
// that a policy is asked to decide.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "berth/outcome.h"
#include "berth/sdk/learning.h"
#include "berth/support/text.h"
#include "plugins/small_problem.h"
#include "support/constrained_chain.h"
#include "support/expect_error.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

/// Refines, and has no weights.
class Weightless : public LearnedPolicy {
 public:
  UpdateReport update(const Rollout&, std::span<const double>, const UpdateOptions&) override {
    return {};
  }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    return refine(*this, evaluator, context, options);
  }
  void save(const std::filesystem::path&, const std::string&) const override {}
  std::string load(const std::filesystem::path&) override { return ""; }
  [[nodiscard]] std::int64_t parameter_count() const override { return 0; }

  RefineOptions options;
};

/// Samples whose one decision led to `seconds`, in turn.
class Noting final : public Weightless {
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
      episode.start = starts.empty() ? 0 : starts[e % starts.size()];
      episode.steps = episode.measured = 1;
      episode.evaluations = {before, after};
      episode.entropy = {entropy};
      episode.best = episode.last = placement;
      episode.best_evaluation = after;
    }
    out.tape = std::make_shared<Rollout::Tape>();
  }
  UpdateReport update(const Rollout&, std::span<const double> advantages,
                      const UpdateOptions&) override {
    told.assign(advantages.begin(), advantages.end());
    ++updates;
    return {};
  }

  std::vector<std::uint64_t> starts;  ///< of the samples, in turn
  std::vector<double> told;
  int updates = 0;
  double entropy = 0.5;

 private:
  std::vector<double> seconds_;
};

/// Gives one drawn group the device where the step is shortest, and notes what it was asked.
class OneStep final : public Weightless {
 public:
  struct Asked {
    std::shared_ptr<const Groups> groups;
    Placement start;
  };

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override {
    Evaluator& evaluator = *evaluators.front();
    const Problem& problem = evaluator.problem();
    Random random(options.seed);
    out.episodes.assign(static_cast<std::size_t>(options.samples), {});
    for (std::size_t e = 0; e < out.episodes.size(); ++e) {
      GroupPlacement placement = options.initial.front()[e];
      asked.push_back({problem.shared_groups(), problem.groups().expand(placement)});
      Rollout::Episode& episode = out.episodes[e];
      const auto group = static_cast<GroupId>(random.below(at(problem.groups().count())));
      for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
        if (!problem.can_run(group, device)) continue;
        placement[group] = device;
        const Placement all = problem.groups().expand(placement);
        const Evaluation evaluation = evaluator.evaluate(all);
        if (!episode.best.empty() &&
            evaluation.objective_us >= episode.best_evaluation.objective_us) {
          continue;
        }
        episode.best = all;
        episode.best_evaluation = evaluation;
      }
    }
  }

  std::vector<Asked> asked;
};

/// Puts every group on one device, wherever its episodes start; kNoDevice: leaves all where they are.
class Always final : public Weightless {
 public:
  explicit Always(DeviceId device) : device_(device) {}

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override {
    const Problem& problem = evaluators.front()->problem();
    Environment environment({evaluators.front()});
    const std::vector<EpisodeStart> starts = episode_starts(std::array{&problem}, options);
    environment.begin(starts);
    out.begin(starts);
    out.tape = nullptr;
    for (;;) {
      for (std::size_t e = 0; e < starts.size(); ++e) out.note(e, environment.episode(e));
      if (environment.done()) break;
      if (options.should_stop && options.should_stop()) return;
      std::vector<DeviceId> devices(starts.size(), device_);
      for (std::size_t e = 0; e < starts.size() && device_ == kNoDevice; ++e) {
        const Environment::Episode& state = environment.episode(e);
        devices[e] = state.placement[state.current()];
      }
      environment.step(devices);
    }
    for (Rollout::Episode& episode : out.episodes) {
      std::fill(episode.entropy.begin(), episode.entropy.end(), 0.5);
    }
    out.tape = std::make_shared<Rollout::Tape>();
  }

 private:
  DeviceId device_;
};

/// Two chains that two devices run side by side, and a third that is ten times slower.
std::shared_ptr<const Problem> two_chains() {
  std::vector<SmallOp> ops;
  std::vector<SmallEdge> edges;
  for (OpId op = 0; op < 8; ++op) {
    ops.push_back({{100, 1000}});
    if (op >= 2) edges.push_back({op - 2, op, 8});
  }
  return small_problem({{"a", "gpu"}, {"b", "gpu"}, {"c", "cpu"}}, ops, edges);
}

double placed_us(OneStep& policy, const std::shared_ptr<const Problem>& problem,
                 const PlaceContext& context = {}) {
  const auto evaluator = make_simulation_evaluator(problem, 1);
  policy.asked.clear();
  const Placement placement = policy.place(*evaluator, context).placement;
  problem->validate(placement);
  return evaluator->evaluate(placement).objective_us;
}

std::vector<double> taught(std::vector<double> seconds, RefineOptions::Baseline baseline,
                           std::vector<std::uint64_t> starts = {}, std::int64_t updates = 1) {
  Noting policy(std::move(seconds));
  policy.starts = std::move(starts);
  policy.options.updates = updates;
  policy.options.samples = 20;
  policy.options.reward = RefineOptions::Reward::seconds;
  policy.options.baseline = baseline;
  policy.options.normalised = false;
  policy.options.starts = RefineOptions::Starts::random;
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

TEST_CASE("steps: samples are compared with those that began alike") {
  // Every second sample begins where all is slow.
  std::vector<double> seconds;
  for (int i = 0; i < 10; ++i) seconds.insert(seconds.end(), {2.0, 8.0});
  seconds[4] = 1;
  const std::vector<std::uint64_t> two = {7, 9};
  for (const std::int64_t updates : {1, 3}) {
    const std::vector<double> told = taught(seconds, RefineOptions::Baseline::steps, two, updates);
    REQUIRE(told.size() == 20);
    const double alike = 10.0 * static_cast<double>(updates) - 1;
    CHECK(told[4] * alike == doctest::Approx(alike - static_cast<double>(updates - 1)));
    CHECK(told[0] * alike == doctest::Approx(-static_cast<double>(updates)));
    CHECK(told[1] == doctest::Approx(0));
  }
  // Samples that all begin elsewhere are compared with all others.
  std::vector<std::uint64_t> apart;
  for (std::uint64_t i = 0; i < 20; ++i) apart.push_back(i);
  const std::vector<double> told = taught(seconds, RefineOptions::Baseline::steps, apart);
  CHECK(told[1] < -2);
  CHECK(told[0] > 2);
}

TEST_CASE("a policy that is certain of every decision learns nothing, and a note says so") {
  const auto evaluator =
      make_simulation_evaluator(small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}}, {}), 1);
  const auto notes = [&](double entropy, std::int64_t updates) {
    Noting policy({1, 2});
    policy.entropy = entropy;
    policy.options.updates = updates;
    return policy.place(*evaluator, {}).notes;
  };
  REQUIRE(notes(0, 3).size() == 1);
  CHECK(notes(0, 3).front().find("all of 3 updates") != std::string::npos);
  CHECK(notes(1e-7, 3).size() == 1);
  CHECK(notes(1e-3, 3).empty());
  CHECK(notes(0, 0).empty());
}

TEST_CASE("a reward that tells no placements apart teaches nothing, and a note says so") {
  const auto evaluator =
      make_simulation_evaluator(small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}}, {}), 1);
  using Baseline = RefineOptions::Baseline;
  const auto note = [&](std::vector<double> seconds, Baseline baseline,
                        RefineOptions::Reward reward = RefineOptions::Reward::seconds) {
    Noting policy(std::move(seconds));
    policy.options.updates = 3;
    policy.options.reward = reward;
    policy.options.baseline = baseline;
    return join(policy.place(*evaluator, {}).notes);
  };
  for (const Baseline baseline : {Baseline::steps, Baseline::average, Baseline::best}) {
    CHECK(note({20, 30}, baseline)
              .find("nothing was learned: in all of 3 updates placements of "
                    "different runtimes got the same rewards") == 0);
    CHECK(note({2, 3}, baseline).empty());
    CHECK(note({20, 20}, baseline).empty());
    CHECK(note({20, 30}, baseline, RefineOptions::Reward::log).empty());
  }
}

TEST_CASE("best: one sample has nothing to be compared with, and is refused") {
  const auto evaluator =
      make_simulation_evaluator(small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}}, {}), 1);
  Noting policy({1, 2});
  policy.options.samples = 1;
  policy.options.baseline = RefineOptions::Baseline::best;
  static_cast<void>(policy.place(*evaluator, {}));  // nothing is learned, as nobody asked for it
  policy.options.updates = 3;
  expect_error(ErrorCode::invalid_argument, {"samples=1", "samples=2 or more"},
               [&] { static_cast<void>(policy.place(*evaluator, {})); });
}

TEST_CASE("episodes are told apart within their problem") {
  Rollout rollout;
  const auto told = [&](std::vector<double> objectives, std::vector<double> advantages) {
    rollout.episodes.assign(objectives.size(), {});
    for (std::size_t e = 0; e < objectives.size(); ++e) {
      Rollout::Episode& episode = rollout.episodes[e];
      episode.problem = e / 2;
      episode.steps = 1;
      episode.evaluations.resize(2);
      episode.evaluations[1].objective_us = objectives[e];
      episode.entropy = {0};
    }
    return tells_apart(rollout, advantages);
  };
  CHECK_FALSE(told({1, 2, 3, 3}, {0, 0, 4, 4}));
  CHECK(told({1, 2, 3, 3}, {0, 1, 4, 4}));
  CHECK(told({1, 1, 3, 3}, {0, 0, 4, 4}));  // nothing differs
  CHECK(told({1}, {0}));
}

TEST_CASE(
    "updates that last while the time does: none without a budget, none in one that is over") {
  const auto evaluator =
      make_simulation_evaluator(small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}}, {}), 1);
  Noting policy({1, 2});
  policy.options.updates = RefineOptions::kWhileTimeLasts;
  PlaceContext context;
  const auto ends = [&](SearchEnd end, const char* note) {
    const PolicyAnswer answer = policy.place(*evaluator, context);
    CHECK(answer.end == end);
    CHECK(answer.notes ==
          (note == nullptr ? std::vector<std::string>() : std::vector<std::string>{note}));
  };
  ends(SearchEnd::done, nullptr);
  context.budget_s = 0;
  ends(SearchEnd::budget, "learned on this graph in 0 updates");
  REQUIRE(policy.updates == 0);
  // In one that is never over they go on until somebody else ends them.
  context.budget_s = 1e9;
  context.should_stop = [&] { return policy.updates == 40; };
  ends(SearchEnd::budget, "learned on this graph in 40 updates");
}

TEST_CASE("neighbourhoods: other groups around the best placement, which they keep") {
  Random random(5);
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    const auto graph =
        random_graph(random, {.ops = 80, .edge_chance = 0.05, .colocate_chance = 0.1});
    const auto cluster = random_cluster(random, {.devices = 3, .kinds = 2, .host = true});
    const auto costs = random_costs(random, *graph, *cluster, 100, 0.2);
    const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
    OneStep policy;
    policy.options.groups = 12;
    policy.options.passes = 1;
    const double coarse_us = placed_us(policy, problem);
    const std::size_t before = policy.asked.size();

    policy.options.neighbourhood = policy.options.groups;
    CHECK(placed_us(policy, problem) < coarse_us);
    REQUIRE(policy.asked.size() >= before + 32);
    std::set<std::vector<GroupId>> divisions;
    double best_us = coarse_us;
    for (std::size_t k = before; k < policy.asked.size(); ++k) {
      const OneStep::Asked& asked = policy.asked[k];
      divisions.emplace(asked.groups->map().begin(), asked.groups->map().end());
      // Nothing that is on two devices is one group: the start is the best placement itself.
      const double start_us =
          make_simulation_evaluator(problem, 1)->evaluate(asked.start).objective_us;
      CHECK(start_us <= best_us);
      best_us = start_us;
      for (GroupId of_problem = 0; of_problem < problem->groups().count(); ++of_problem) {
        for (const OpId op : problem->groups().members(of_problem)) {
          CHECK(asked.groups->of(op) ==
                asked.groups->of(problem->groups().members(of_problem).front()));
        }
      }
    }
    CHECK(divisions.size() > (policy.asked.size() - before) / 2);

    // The same seed, the same answer.
    const double found_us = placed_us(policy, problem);
    CHECK(placed_us(policy, problem) == found_us);
  }
}

TEST_CASE("neighbourhoods obey constraints, end when told to and where nothing is left to find") {
  Random random(9);
  const auto graph = random_graph(random, {.ops = 40, .edge_chance = 0.1});
  const auto cluster = random_cluster(random, {.devices = 3});
  const auto costs = random_costs(random, *graph, *cluster, 100);
  const auto constraints = std::make_shared<const Constraints>(
      *graph, *cluster, *costs,
      std::vector<ConstraintRule>{pin(named("op3"), {"d1"}), forbid(named("op20"), {"d0"}),
                                  colocate({named("op7"), named("op30")}),
                                  separate({named("op11"), named("op12")})});
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs, nullptr,
                                                       ProblemOptions(), constraints);
  OneStep policy;
  policy.options.groups = 6;
  policy.options.neighbourhood = policy.options.groups;
  placed_us(policy, problem);
  for (const OneStep::Asked& asked : policy.asked) {
    CHECK(asked.groups->of(7) == asked.groups->of(30));
    CHECK(asked.groups->of(11) != asked.groups->of(12));
  }
  const std::size_t all = policy.asked.size();

  PlaceContext context;
  context.should_stop = [&] { return policy.asked.size() >= all / 2; };
  placed_us(policy, problem, context);
  CHECK(policy.asked.size() < all);

  // A chain that no placement makes shorter.
  std::vector<SmallEdge> edges;
  for (OpId op = 1; op < 40; ++op) edges.push_back({op - 1, op, 8});
  const auto chain =
      small_problem({{"a", "gpu"}, {"b", "gpu"}}, std::vector<SmallOp>(40, SmallOp{{10}}), edges);
  OneStep looking;
  looking.options = policy.options;
  looking.options.neighbourhood = 0;
  placed_us(looking, chain);
  const std::size_t without = looking.asked.size();
  looking.options.neighbourhood = 6;
  CHECK(placed_us(looking, chain) == 400);
  CHECK(looking.asked.size() == without);
}

TEST_CASE("own, best, start: a policy is not credited with where its episodes start") {
  const auto problem = two_chains();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  for (const std::int64_t updates : {0, 3}) {
    CAPTURE(updates);
    Always slow(2);
    slow.options.updates = updates;
    PlaceResult result = place(slow, *evaluator, {}, std::numeric_limits<double>::infinity());
    REQUIRE(result.learned);
    const LearnedFigures learned = *result.learned;
    CHECK(learned.own == Placement(8, 2));
    CHECK(learned.own_evaluation.objective_us == 8000);
    CHECK(learned.whose == Whose::start);
    CHECK(learned.start_name == "list scheduling");
    REQUIRE(learned.start);
    CHECK(learned.start->objective_us == result.evaluation.objective_us);
    CHECK(result.evaluation.objective_us < 800);
    // The best is used, and a note says whose it is.
    CHECK(result.placement == learned.best);
    REQUIRE_FALSE(result.notes.empty());
    CHECK(result.notes.back() ==
          "this placement is the start, list scheduling; the policy's own: 8.000 ms");

    const Outcome used = searched_outcome(problem, {}, result);
    CHECK(used.evaluation.objective_us == result.evaluation.objective_us);
    CHECK(used.origin.whose.find("the start, list scheduling") == 0);
    const Outcome own = own_outcome(used);
    CHECK(own.placement == learned.own);
    CHECK(own.runtime_us() == 8000);
    CHECK(own.trace.runtime_us == 8000);
    CHECK(own.origin.whose.empty());
    CHECK(own.notes.back().find("the best that it saw: ") == 0);
    CHECK(own_outcome(own).placement == own.placement);
  }
}

TEST_CASE("a policy that moves nothing has its start as its answer, and the result says so") {
  const auto problem = two_chains();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Always keeping(kNoDevice);
  for (const std::int64_t updates : {0, 3}) {
    CAPTURE(updates);
    keeping.options.updates = updates;
    keeping.options.starts = RefineOptions::Starts::known;
    PlaceResult result = place(keeping, *evaluator, {}, std::numeric_limits<double>::infinity());
    CHECK(result.learned.value().whose == Whose::start);
    CHECK(result.learned->own == result.placement);
    REQUIRE_FALSE(result.notes.empty());
    CHECK(result.notes.back() ==
          "this placement is the start, list scheduling, of which the policy moves nothing");
    // From draws: the best of them.
    keeping.options.starts = RefineOptions::Starts::random;
    result = place(keeping, *evaluator, {}, std::numeric_limits<double>::infinity());
    CHECK(result.learned.value().whose == Whose::passed);
    CHECK(result.learned->own == result.placement);
  }
  // Wherever its episodes start, all on one device: decided where they start elsewhere, though one starts there.
  const auto chain =
      small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{100}}, {{100}}}, {{0, 1, 1'000'000}});
  Always first(0);
  const PlaceResult one = place(first, *make_simulation_evaluator(chain, 1), {},
                                std::numeric_limits<double>::infinity());
  CHECK(one.placement == Placement(2, 0));
  CHECK(one.learned.value().whose == Whose::own);
}

TEST_CASE(
    "the answer is never worse than the policy's own, which is repaired where it does not fit") {
  // Each fast device has room for two of the four ops.
  const std::vector<SmallOp> ops(4, SmallOp{{100, 1000}, /*param_bytes=*/1000});
  const auto problem = small_problem({{"a", "gpu", 2500}, {"b", "gpu", 2500}, {"c", "cpu"}}, ops,
                                     {{0, 1, 8}, {1, 2, 8}, {2, 3, 8}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Always full(0);
  full.options.starts = RefineOptions::Starts::none;
  PlaceContext context;
  context.initial = {Placement(4, 2)};
  const PlaceResult result =
      place(full, *evaluator, context, std::numeric_limits<double>::infinity());
  CHECK(result.evaluation.feasible);
  CHECK(result.evaluation.objective_us < 1000);
  CHECK(result.learned.value().whose == Whose::own);
  CHECK(result.learned->own == result.placement);
}

TEST_CASE("a start that does not fit has no figure beside an answer that does") {
  const std::vector<SmallOp> ops(4, SmallOp{{100}, /*param_bytes=*/1000});
  const auto problem = small_problem({{"a", "gpu", 1200}, {"b", "gpu", 3500}}, ops,
                                     {{0, 1, 8}, {1, 2, 8}, {2, 3, 8}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Always policy(0);
  PlaceResult result = place(policy, *evaluator, {}, std::numeric_limits<double>::infinity());
  CHECK(result.evaluation.feasible);
  CHECK_FALSE(result.learned.value().start);
  policy.options.repair = false;
  result = place(policy, *evaluator, {}, std::numeric_limits<double>::infinity());
  CHECK_FALSE(result.evaluation.feasible);
  CHECK(result.learned.value().start);
}

TEST_CASE("starts=none: nothing counts but whole placements of the policy's own") {
  const auto problem = two_chains();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Always slow(2);
  slow.options.starts = RefineOptions::Starts::none;
  for (const std::int64_t updates : {0, 3}) {
    slow.options.updates = updates;
    const PlaceResult result = place(slow, *evaluator, {}, std::numeric_limits<double>::infinity());
    CHECK(result.placement == Placement(8, 2));
    REQUIRE(result.learned);
    CHECK(result.learned->whose == Whose::own);
    CHECK_FALSE(result.learned->start);
    CHECK(result.notes.empty());
  }
}

TEST_CASE("a policy that was stopped before it had a placement of its own has none") {
  const auto problem = two_chains();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Always slow(2);
  const PlaceResult result = place(slow, *evaluator, {}, /*budget_s=*/0);
  REQUIRE(result.learned);
  CHECK(result.learned->own.empty());
  CHECK(result.notes.back() ==
        "this placement is the start, list scheduling; the time ended before the policy had one of "
        "its own");
  expect_error(ErrorCode::unsupported, {"before it had placed all groups by itself"},
               [&] { static_cast<void>(own_outcome(searched_outcome(problem, {}, result))); });
}

TEST_CASE("whose: given, passed, of a search around the policy's") {
  const auto problem = two_chains();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const auto whose = [&](LearnedPolicy& policy, std::vector<Placement> given) {
    PlaceContext context;
    context.initial = std::move(given);
    const PlaceResult result =
        place(policy, *evaluator, context, std::numeric_limits<double>::infinity());
    return result.learned.value().whose;
  };
  const Placement apart = {0, 1, 0, 1, 0, 1, 0, 1};
  Always slow(2);
  slow.options.starts = RefineOptions::Starts::random;
  CHECK(whose(slow, {apart}) == Whose::given);
  slow.options.groups = 1;  // fewer than what was given needs
  CHECK(whose(slow, {apart}) == Whose::given);
  slow.options.groups = 0;
  // A random placement is better the less of it was moved to the slow device.
  slow.options.updates = 1;
  CHECK(whose(slow, {}) == Whose::passed);
  Always fast(0);
  fast.options.starts = RefineOptions::Starts::none;
  CHECK(whose(fast, {}) == Whose::own);
  OneStep looking;
  looking.options.starts = RefineOptions::Starts::none;
  looking.options.groups = 4;
  looking.options.neighbourhood = 3;
  CHECK(whose(looking, {}) == Whose::search);
}
