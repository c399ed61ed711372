#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "berth/evaluator.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/learning.h"
#include "berth/sdk/observation.h"
#include "berth/support/index.h"
#include "objects.h"

using namespace berth;

namespace {

/// Two threads in one object would corrupt it: the second is told.
class OneAtATime {
 public:
  OneAtATime(std::atomic<bool>& busy, const char* what) : busy_(busy) {
    if (!busy_.exchange(true)) return;
    throw Error(ErrorCode::invalid_argument,
                cat("the ", what, " is in use on another thread; give each thread its own"));
  }
  ~OneAtATime() { busy_ = false; }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  std::atomic<bool>& busy_;
};

std::vector<std::string> strings(const berth_text* texts, size_t count, const char* what) {
  std::vector<std::string> all;
  for (const berth_text& each : c::array(texts, count, what)) all.push_back(c::string(each));
  return all;
}

/// Arrays of what the episodes show, which keep their place.
struct Seen {
  Seen(const Problem& problem, const Observer& observer, std::size_t n)
      : count(n),
        groups(at(problem.groups().count())),
        devices(at(problem.cluster().device_count())),
        of_groups(n * groups * observer.group_width()),
        of_devices(n * devices * observer.device_width()),
        allowed(n * devices),
        feasible(n),
        current(n),
        placement(n * groups),
        objective_us(n),
        alternatives(n * devices, kCannotRun),
        excess_bytes(n) {}

  std::size_t count, groups, devices;
  std::vector<float> of_groups, of_devices;
  std::vector<std::uint8_t> allowed, feasible;
  std::vector<std::int32_t> current, placement;
  std::vector<double> objective_us, alternatives;
  std::vector<std::int64_t> excess_bytes;

  void look(const Observer& observer, const Environment::Episode& episode, std::size_t e) {
    objective_us[e] = episode.evaluation.objective_us;
    excess_bytes[e] = episode.evaluation.excess_bytes;
    feasible[e] = episode.evaluation.feasible ? 1 : 0;
    std::ranges::copy(episode.placement.devices(), placement.begin() + std::ptrdiff_t(e * groups));
    current[e] = episode.done() ? kNoGroup : episode.current();
    if (episode.done()) return;
    observer.observe(episode, of_groups.data() + e * groups * observer.group_width(),
                     of_devices.data() + e * devices * observer.device_width(),
                     allowed.data() + e * devices);
    for (std::size_t d = 0; d < episode.alternatives.size(); ++d) {
      alternatives[e * devices + d] = episode.alternatives[d].objective_us;
    }
  }
};

}  // namespace

struct berth_evaluator final : c::Object {
  static constexpr Kind kKind = Kind::evaluator;
  static constexpr const char* kName = "evaluator";
  berth_evaluator(std::shared_ptr<const Problem> the_problem, int threads)
      : Object(kKind),
        problem(std::move(the_problem)),
        evaluator(make_simulation_evaluator(problem, threads)) {}

  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Evaluator> evaluator;
  std::atomic<bool> busy = false;
  // Memory is kept from batch to batch.
  std::vector<Placement> placements;
  std::vector<Evaluation> evaluations;
};

struct berth_environment final : c::Object {
  static constexpr Kind kKind = Kind::environment;
  static constexpr const char* kName = "environment";
  berth_environment(std::shared_ptr<const Problem> the_problem, const berth_environment_options& of)
      : Object(kKind),
        problem(std::move(the_problem)),
        evaluator(make_simulation_evaluator(problem, of.threads)),
        group_features(strings(of.group_features, of.group_feature_count, "group_features")),
        observer(*problem, group_features,
                 strings(of.device_features, of.device_feature_count, "device_features")),
        environment({evaluator.get()}, {std::ranges::count(group_features, "start") > 0,
                                        of.look_ahead != 0 || observer.looks_ahead(),
                                        {}}) {}

  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<std::string> group_features;
  Observer observer;
  Environment environment;
  std::unique_ptr<Seen> seen;
  mutable std::atomic<bool> busy = false;

  void observe() {
    const auto one = [this](std::size_t e) { seen->look(observer, environment.episode(e), e); };
    evaluator->successive()->for_each(seen->count, one);
  }
  [[nodiscard]] const Seen& shown() const {
    if (seen != nullptr) return *seen;
    throw Error(ErrorCode::invalid_argument, "the environment has no episodes; reset it first");
  }
};

namespace {

GroupPlacement start_of(const Problem& problem, std::string_view name) {
  if (name == "zero") return zero_placement(problem);
  if (name == "contiguous") return contiguous_placement(problem);
  if (name == "earliest") return earliest_placement(problem);
  throw Error(ErrorCode::invalid_argument,
              cat("no start '", name, "'",
                  known_names(name, {"random", "zero", "contiguous", "earliest"})));
}

RolloutOptions rollout_of(const berth_episodes& given, const Problem& problem) {
  constexpr std::int32_t kMost = 1 << 20;
  if (given.count < 1 || given.count > kMost) {
    throw Error(ErrorCode::invalid_argument,
                cat(given.count, " episodes; give a number from 1 to ", kMost));
  }
  RolloutOptions options;
  options.samples = given.count;
  options.seed = given.seed;
  if (given.traversal.size > 0) options.traversal = traversal_from_name(c::view(given.traversal));
  const std::string start = c::string(given.start);
  const std::size_t width = at(problem.groups().count());
  if (given.initial_count > at(kMost)) {
    throw Error(ErrorCode::invalid_argument,
                cat(given.initial_count, " placements to start from; give ", kMost, " at most"));
  }
  const auto initial = c::array(given.initial, given.initial_count * width, "initial");
  if (!initial.empty()) {
    options.initial.emplace_back();
    for (std::size_t i = 0; i < given.initial_count; ++i) {
      const auto row = initial.subspan(i * width, width);
      options.initial.back().emplace_back(std::vector<DeviceId>(row.begin(), row.end()));
    }
  } else if (!start.empty() && start != "random") {
    options.initial.push_back({start_of(problem, start)});
  }
  return options;
}

nlohmann::ordered_json described(const std::vector<ObservationFeature>& features) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const ObservationFeature& each : features) all[std::string(each.name)] = each.meaning;
  return all;
}

}  // namespace

berth_status berth_evaluator_new(const berth_problem* problem, int32_t threads,
                                 berth_evaluator** out) {
  return c::guarded([&] {
    const auto the = c::get(problem).task.problem;
    berth_evaluator*& made = c::required(out, "out");
    made = new berth_evaluator(the, threads);
  });
}

berth_status berth_evaluator_batch(berth_evaluator* evaluator, int32_t by_group,
                                   const int32_t* devices, size_t count, size_t width,
                                   double* objective_us, int64_t* excess_bytes, uint8_t* feasible) {
  return c::guarded([&] {
    berth_evaluator& the = c::get(evaluator);
    const OneAtATime only(the.busy, "evaluator");
    const Groups& groups = the.problem->groups();
    const auto ops = at(the.problem->graph().op_count());
    const std::size_t wanted = by_group != 0 ? at(groups.count()) : ops;
    if (width != wanted) {
      throw Error(ErrorCode::invalid_argument,
                  cat("placements of ", width, " devices; this problem has ", wanted, " ",
                      by_group != 0 ? "groups" : "ops"));
    }
    if (count > (std::size_t{1} << 40) / std::max<std::size_t>(width, 1)) {
      throw Error(ErrorCode::invalid_argument, cat(count, " placements; give fewer at a time"));
    }
    const auto all = c::array(devices, count * width, "devices");
    // More rows than needed stay: their memory is used again.
    if (the.placements.size() < count) the.placements.resize(count);
    if (the.evaluations.size() < count) the.evaluations.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Placement& placement = the.placements[i];
      const auto row = all.subspan(i * width, width);
      placement.resize(ops);
      for (std::size_t op = 0; op < ops; ++op) {
        placement[op] = by_group != 0 ? row[at(groups.map()[op])] : row[op];
      }
    }
    const auto evaluations = std::span(the.evaluations).first(count);
    the.evaluator->evaluate(std::span(the.placements).first(count), evaluations);
    for (std::size_t i = 0; i < count; ++i) {
      if (objective_us != nullptr) objective_us[i] = evaluations[i].objective_us;
      if (excess_bytes != nullptr) excess_bytes[i] = evaluations[i].excess_bytes;
      if (feasible != nullptr) feasible[i] = evaluations[i].feasible ? 1 : 0;
    }
  });
}

berth_status berth_features(berth_text* json) {
  return c::guarded([&] {
    const nlohmann::ordered_json all = {{"groups", described(group_features())},
                                        {"devices", described(device_features())}};
    c::required(json, "json") = c::give(all.dump(1));
  });
}

berth_status berth_environment_new(const berth_problem* problem,
                                   const berth_environment_options* options,
                                   berth_environment** out) {
  return c::guarded([&] {
    const auto the = c::get(problem).task.problem;
    berth_environment*& made = c::required(out, "out");
    const berth_environment_options defaults = BERTH_ENVIRONMENT_OPTIONS_INIT;
    made = new berth_environment(the, c::take(options, defaults, "berth_environment_options"));
  });
}

berth_status berth_environment_reset(berth_environment* environment,
                                     const berth_episodes* episodes) {
  return c::guarded([&] {
    berth_environment& the = c::get(environment);
    const OneAtATime only(the.busy, "environment");
    const berth_episodes defaults = BERTH_EPISODES_INIT;
    const berth_episodes given = c::take(episodes, defaults, "berth_episodes");
    const Problem* const problem = the.problem.get();
    the.environment.begin(episode_starts({&problem, 1}, rollout_of(given, *problem)));
    const auto count = at(given.count);
    if (the.seen == nullptr || the.seen->count != count) {
      the.seen = std::make_unique<Seen>(*problem, the.observer, count);
    }
    the.observe();
  });
}

berth_status berth_environment_step(berth_environment* environment, const int32_t* devices,
                                    size_t count, int32_t* done) {
  return c::guarded([&] {
    berth_environment& the = c::get(environment);
    const OneAtATime only(the.busy, "environment");
    static_cast<void>(the.shown());
    if (the.environment.done()) {
      throw Error(ErrorCode::invalid_argument,
                  "all groups have been placed; reset the environment to go on");
    }
    the.environment.step(c::array(devices, count, "devices"));
    the.observe();
    if (done != nullptr) *done = the.environment.done() ? 1 : 0;
  });
}

berth_status berth_environment_array(const berth_environment* environment, berth_text name,
                                     berth_array* array) {
  return c::guarded([&] {
    const berth_environment& the = c::get(environment);
    const OneAtATime only(the.busy, "environment");
    const Seen& seen = the.shown();
    const auto n = static_cast<std::int64_t>(seen.count);
    const auto groups = static_cast<std::int64_t>(seen.groups);
    const auto devices = static_cast<std::int64_t>(seen.devices);
    const auto of_group = static_cast<std::int64_t>(the.observer.group_width());
    const auto of_device = static_cast<std::int64_t>(the.observer.device_width());
    c::give_array({{"groups", c::rows(seen.of_groups, {n, groups, of_group})},
                   {"devices", c::rows(seen.of_devices, {n, devices, of_device})},
                   {"allowed", c::rows(seen.allowed, {n, devices})},
                   {"current", c::rows(seen.current)},
                   {"placement", c::rows(seen.placement, {n, groups})},
                   {"objective_us", c::rows(seen.objective_us)},
                   {"excess_bytes", c::rows(seen.excess_bytes)},
                   {"feasible", c::rows(seen.feasible)},
                   {"alternatives", c::rows(seen.alternatives, {n, devices})}},
                  name, array);
  });
}
