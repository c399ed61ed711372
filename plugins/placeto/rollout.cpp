// Episodes of Placeto: each sampled on its own, all learned from together.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "learning/sampling.h"
#include "placeto.h"
#include "tape.h"

namespace berth::placeto {
namespace {

std::vector<EpisodeStart> starts_of(std::span<Evaluator* const> evaluators,
                                    const RolloutOptions& options, std::vector<Random>& random) {
  Random seeds(options.seed);
  std::vector<EpisodeStart> starts;
  for (std::size_t p = 0; p < evaluators.size(); ++p) {
    const Problem& problem = evaluators[p]->problem();
    for (std::size_t s = 0; s < static_cast<std::size_t>(options.samples); ++s) {
      Random own = seeds.split();
      EpisodeStart start;
      start.problem = p;
      start.order = traversal_order(problem.groups(), options.traversal, own);
      const bool given = !options.initial.empty() && !options.initial[p].empty();
      start.initial = given ? options.initial[p][s % options.initial[p].size()]
                            : random_placement(problem, own);
      starts.push_back(std::move(start));
      random.push_back(own);
    }
  }
  return starts;
}

void note(const Environment::Episode& episode, Rollout::Episode& out) {
  const Evaluation& evaluation = episode.evaluation;
  out.evaluations[episode.step] = evaluation;
  if (episode.step > 0 && !better(evaluation, out.best_evaluation)) return;
  out.best_evaluation = evaluation;
  out.best = episode.problem->groups().expand(episode.placement);
}

/// The device to go to, of those with these probabilities. Costs beyond single precision make all
/// of them NaN: then it is the first device that is allowed.
std::size_t choose(std::span<const float> log_pi, const std::uint8_t* allowed,
                   const RolloutOptions& options, Random& random) {
  const auto drawn = [&]() -> std::size_t {
    if (options.greedy) {
      return static_cast<std::size_t>(std::max_element(log_pi.begin(), log_pi.end()) -
                                      log_pi.begin());
    }
    if (options.epsilon > 0 && random.uniform() < options.epsilon) {
      return learning::draw_allowed(allowed, log_pi.size(), random);
    }
    return learning::draw(log_pi.data(), log_pi.size(), random.uniform());
  };
  const std::size_t device = drawn();
  if (allowed[device] != 0) return device;
  return static_cast<std::size_t>(std::find(allowed, allowed + log_pi.size(), 1) - allowed);
}

/// Asks the caller's function on the caller's thread alone.
class Ending {
 public:
  explicit Ending(const std::function<bool()>& should_stop)
      : should_stop_(should_stop), caller_(std::this_thread::get_id()) {}

  /// Throws learning::Ended where the rollout is to end.
  void check() {
    if (should_stop_ && !ended_ && std::this_thread::get_id() == caller_ && should_stop_()) {
      ended_ = true;
    }
    if (ended_) throw learning::Ended{};
  }

 private:
  const std::function<bool()>& should_stop_;
  std::thread::id caller_;
  std::atomic<bool> ended_{false};
};

}  // namespace

void PlacetoPolicy::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                            Rollout& out) {
  learning::check_rollout(options, evaluators.size());
  std::vector<Random> random;
  const std::vector<EpisodeStart> starts = starts_of(evaluators, options, random);
  // A network serves all of them or none.
  const auto network = std::static_pointer_cast<const Network>(network_for(evaluators));
  auto tape = std::dynamic_pointer_cast<Tape>(out.tape);
  if (tape == nullptr || tape.use_count() > 2) tape = std::make_shared<Tape>();
  tape->network = network;
  tape->episodes.resize(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Problem& problem = evaluators[starts[i].problem]->problem();
    Tape::Episode& episode = tape->episodes[i];
    episode.view = view_of(problem);
    const FeatureShape shape =
        feature_shape(static_cast<std::size_t>(problem.cluster().device_count()));
    const std::size_t groups = episode.view->graph.count;
    episode.steps = groups;
    episode.devices = static_cast<std::size_t>(problem.cluster().device_count());
    episode.group_floats = groups * padded(shape.width());
    episode.candidate_floats = episode.devices * shape.candidate_width();
    episode.groups.resize(groups * episode.group_floats);
    episode.candidates.resize(groups * episode.candidate_floats);
    episode.allowed.resize(groups * episode.devices);
    episode.placement.resize(groups * groups);
    episode.current.resize(groups);
    episode.action.resize(groups);
    episode.log_policy.resize(episode.devices);
  }
  Ending ending(options.should_stop);
  Environment environment(
      {evaluators.begin(), evaluators.end()},
      {NetworkPolicy::options().boolean("start_time"), feature_shape(1).lookahead,
       // One look at a large cluster alone simulates hundreds of placements.
       [&ending] { ending.check(); }});
  out.episodes.resize(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Rollout::Episode& episode = out.episodes[i];
    const std::size_t steps = starts[i].order.size();
    episode.problem = starts[i].problem;
    episode.best.clear();
    episode.steps = static_cast<std::int32_t>(steps);
    episode.measured = 0;
    episode.evaluations.resize(steps + 1);
    episode.log_probability.resize(steps);
    episode.entropy.resize(steps);
  }
  const auto decide = [&](std::size_t i) {
    const Environment::Episode& now = environment.episode(i);
    note(now, out.episodes[i]);
    ending.check();
    Tape::Episode& episode = tape->episodes[i];
    const std::size_t step = now.step;
    std::uint8_t* const allowed = episode.allowed.data() + step * episode.devices;
    episode.view->encoder.encode(now, episode.groups.data() + step * episode.group_floats,
                                 episode.candidates.data() + step * episode.candidate_floats,
                                 allowed);
    std::copy(
        now.placement.devices().begin(), now.placement.devices().end(),
        episode.placement.begin() + static_cast<std::ptrdiff_t>(step * episode.view->graph.count));
    episode.current[step] = now.current();
    network->log_policy(episode.decision(step), episode.log_policy.data());
    const std::size_t action = choose(episode.log_policy, allowed, options, random[i]);
    episode.action[step] = static_cast<std::int32_t>(action);
    out.episodes[i].log_probability[step] = static_cast<double>(episode.log_policy[action]);
    out.episodes[i].entropy[step] =
        learning::entropy_of(episode.log_policy.data(), episode.devices);
    return static_cast<DeviceId>(action);
  };
  try {
    environment.begin(starts);
    environment.run(decide);
  } catch (const learning::Ended&) {
    out.tape = nullptr;
    return;
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Environment::Episode& episode = environment.episode(i);
    note(episode, out.episodes[i]);
    out.episodes[i].measured = static_cast<std::int32_t>(episode.measured);
    out.episodes[i].last = episode.problem->groups().expand(episode.placement);
  }
  out.tape = std::move(tape);
}

UpdateReport PlacetoPolicy::learn(const NetworkPolicy::Tape& tape, const Rollout& rollout,
                                  std::span<const double> advantages, double entropy_weight) {
  UpdateReport report;
  for (const Rollout::Episode& episode : rollout.episodes) {
    report.entropy += std::accumulate(episode.entropy.begin(), episode.entropy.end(), 0.0);
  }
  report.entropy /= static_cast<double>(std::max<std::size_t>(advantages.size(), 1));
  std::vector<Decision> decisions;
  std::vector<std::int32_t> actions;
  for (const Tape::Episode& episode : static_cast<const Tape&>(tape).episodes) {
    for (std::size_t step = 0; step < episode.steps; ++step) {
      decisions.push_back(episode.decision(step));
    }
    actions.insert(actions.end(), episode.action.begin(), episode.action.end());
  }
  report.loss =
      static_cast<Network&>(*network()).accumulate(decisions, actions, advantages, entropy_weight);
  return report;
}

}  // namespace berth::placeto
