// Episodes of Placeto: sampled all together, learned from in batches.
#include <algorithm>
#include <numeric>

#include "berth/error.h"
#include "learning/sampling.h"
#include "placeto.h"
#include "tape.h"

namespace berth::placeto {
namespace {

/// States that one pass of the network learns from at a time: bounds the memory of a batch.
constexpr std::size_t kStatesPerPass = 1024;

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
  if (episode.step > 0 && !learning::better(evaluation, out.best_evaluation)) return;
  out.best_evaluation = evaluation;
  out.best = episode.problem->groups().expand(episode.placement);
}

}  // namespace

void PlacetoPolicy::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                            Rollout& out) {
  learning::check_rollout(options, evaluators.size());
  std::vector<Random> random;
  const std::vector<EpisodeStart> starts = starts_of(evaluators, options, random);
  auto tape = std::static_pointer_cast<Tape>(out.tape);
  if (tape == nullptr || tape.use_count() > 2) tape = std::make_shared<Tape>();
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
  }
  Environment environment({evaluators.begin(), evaluators.end()}, options_.boolean("start_time"));
  environment.begin(starts);
  out.episodes.resize(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Rollout::Episode& episode = out.episodes[i];
    const std::size_t steps = starts[i].order.size();
    episode.problem = starts[i].problem;
    episode.steps = static_cast<std::int32_t>(steps);
    episode.measured = episode.steps + 1;
    episode.evaluations.resize(steps + 1);
    episode.log_probability.resize(steps);
    episode.entropy.resize(steps);
    note(environment.episode(i), episode);
  }
  std::vector<DeviceId> actions(starts.size());
  while (!environment.done()) {
    decide(environment, *tape, options, random, actions, out);
    environment.step(actions);
    for (std::size_t i = 0; i < starts.size(); ++i) note(environment.episode(i), out.episodes[i]);
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Environment::Episode& episode = environment.episode(i);
    out.episodes[i].last = episode.problem->groups().expand(episode.placement);
  }
  out.tape = std::move(tape);
}

void PlacetoPolicy::decide(const Environment& environment, Tape& tape,
                           const RolloutOptions& options, std::vector<Random>& random,
                           std::vector<DeviceId>& actions, Rollout& out) {
  // Clusters of one size go through the network together.
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < tape.episodes.size(); ++i) {
    if (!environment.episode(i).done()) waiting.push_back(i);
  }
  while (!waiting.empty()) {
    const std::size_t devices = tape.episodes[waiting.front()].devices;
    const auto others = std::stable_partition(waiting.begin(), waiting.end(), [&](std::size_t i) {
      return tape.episodes[i].devices == devices;
    });
    const std::vector<std::size_t> chosen(waiting.begin(), others);
    waiting.erase(waiting.begin(), others);
    StateBatch batch;
    batch.devices = devices;
    tape.candidates.clear();
    tape.allowed.clear();
    for (const std::size_t i : chosen) {
      const Environment::Episode& now = environment.episode(i);
      Tape::Episode& episode = tape.episodes[i];
      float* const candidates = episode.candidates.data() + now.step * episode.candidate_floats;
      std::uint8_t* const allowed = episode.allowed.data() + now.step * devices;
      episode.view->encoder.encode(now, episode.groups.data() + now.step * episode.group_floats,
                                   candidates, allowed);
      std::copy(now.placement.begin(), now.placement.end(),
                episode.placement.begin() +
                    static_cast<std::ptrdiff_t>(now.step * episode.view->graph.count));
      episode.current[now.step] = now.current();
      tape.candidates.insert(tape.candidates.end(), candidates,
                             candidates + episode.candidate_floats);
      tape.allowed.insert(tape.allowed.end(), allowed, allowed + devices);
      batch.states.push_back(episode.state(now.step));
    }
    batch.candidates = tape.candidates.data();
    batch.allowed = tape.allowed.data();
    network(devices).log_policy(batch, tape.log_policy);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const std::size_t i = chosen[k];
      const std::size_t step = environment.episode(i).step;
      const float* const log_pi = tape.log_policy.data() + k * devices;
      std::size_t action;
      if (options.greedy) {
        action = static_cast<std::size_t>(std::max_element(log_pi, log_pi + devices) - log_pi);
      } else if (options.epsilon > 0 && random[i].uniform() < options.epsilon) {
        action = learning::draw_allowed(tape.allowed.data() + k * devices, devices, random[i]);
      } else {
        action = learning::draw(log_pi, devices, random[i].uniform());
      }
      actions[i] = static_cast<DeviceId>(action);
      tape.episodes[i].action[step] = actions[i];
      out.episodes[i].log_probability[step] = static_cast<double>(log_pi[action]);
      out.episodes[i].entropy[step] = learning::entropy_of(log_pi, devices);
    }
  }
}

UpdateReport PlacetoPolicy::update(const Rollout& rollout, std::span<const double> advantages,
                                   const UpdateOptions& options) {
  const auto tape = std::static_pointer_cast<Tape>(rollout.tape);
  if (tape == nullptr || network_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "there is nothing to learn from: update takes what this policy's rollout filled");
  }
  learning::check_advantages(rollout, advantages);
  UpdateReport report;
  for (const Rollout::Episode& episode : rollout.episodes) {
    report.entropy += std::accumulate(episode.entropy.begin(), episode.entropy.end(), 0.0);
  }
  report.entropy /= static_cast<double>(std::max<std::size_t>(advantages.size(), 1));
  // States in order, in passes of one cluster size each.
  StateBatch batch;
  const auto flush = [&] {
    if (batch.states.empty()) return;
    batch.candidates = tape->candidates.data();
    batch.allowed = tape->allowed.data();
    report.loss += network(batch.devices)
                       .accumulate(batch, tape->actions, tape->advantages, options.entropy_weight);
    batch.states.clear();
  };
  std::size_t next = 0;
  for (const Tape::Episode& episode : tape->episodes) {
    for (std::size_t step = 0; step < episode.steps; ++step) {
      if (batch.devices != episode.devices || batch.states.size() == kStatesPerPass) flush();
      if (batch.states.empty()) {
        batch.devices = episode.devices;
        tape->candidates.clear();
        tape->allowed.clear();
        tape->actions.clear();
        tape->advantages.clear();
      }
      batch.states.push_back(episode.state(step));
      const auto candidates =
          episode.candidates.begin() + static_cast<std::ptrdiff_t>(step * episode.candidate_floats);
      tape->candidates.insert(tape->candidates.end(), candidates,
                              candidates + static_cast<std::ptrdiff_t>(episode.candidate_floats));
      const auto allowed =
          episode.allowed.begin() + static_cast<std::ptrdiff_t>(step * episode.devices);
      tape->allowed.insert(tape->allowed.end(), allowed,
                           allowed + static_cast<std::ptrdiff_t>(episode.devices));
      tape->actions.push_back(episode.action[step]);
      tape->advantages.push_back(advantages[next++]);
    }
  }
  flush();
  report.gradient_norm = network_->step(options.learning_rate, options.max_norm);
  return report;
}

}  // namespace berth::placeto
