// Episodes of Placeto: each sampled on its own, all learned from together.
#include <algorithm>
#include <atomic>
#include <thread>

#include "learning/sampling.h"
#include "placeto.h"
#include "tape.h"

namespace berth::placeto {
namespace {

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
  std::vector<const Problem*> problems;
  for (Evaluator* evaluator : evaluators) problems.push_back(&evaluator->problem());
  std::vector<Random> random;
  const std::vector<EpisodeStart> starts = episode_starts(problems, options, &random);
  // A network serves all of them or none.
  const auto network = std::static_pointer_cast<const Network>(network_for(evaluators));
  auto tape = std::dynamic_pointer_cast<Tape>(out.tape);
  if (tape == nullptr || tape.use_count() > 2) tape = std::make_shared<Tape>();
  mark(*tape);
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
  out.begin(starts);
  const auto decide = [&](std::size_t i) {
    const Environment::Episode& now = environment.episode(i);
    out.note(i, now);
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
  for (std::size_t i = 0; i < starts.size(); ++i) out.note(i, environment.episode(i));
  out.tape = std::move(tape);
}

UpdateReport PlacetoPolicy::learn(const NetworkPolicy::Tape& tape,
                                  std::span<const double> advantages, double entropy_weight) {
  UpdateReport report;
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
