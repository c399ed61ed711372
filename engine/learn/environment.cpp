#include "berth/sdk/environment.h"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

void check_runs(const Problem& problem, GroupId group, DeviceId device) {
  const Cluster& cluster = problem.cluster();
  if (device < 0 || device >= cluster.device_count()) {
    throw Error(ErrorCode::invalid_argument,
                cat("device ", device, " for group ", group, "; '", cluster.name(),
                    "' has devices 0 to ", cluster.device_count() - 1));
  }
  if (!problem.can_run(group, device)) {
    throw Error(ErrorCode::invalid_argument,
                cat("group ", group, " (with op '",
                    problem.graph().op_name(problem.groups().members(group).front()),
                    "') cannot run on device '", cluster.device(device).name,
                    "'; offer only devices for which can_run is true"));
  }
}

void check_start(const Problem& problem, const EpisodeStart& start) {
  const auto count = at(problem.groups().count());
  if (start.initial.size() != count || start.order.size() != count) {
    throw Error(ErrorCode::invalid_argument,
                cat("an episode over ", count, " groups with an initial placement of ",
                    start.initial.size(), " and an order of ", start.order.size(),
                    " groups; both need all of them"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    check_runs(problem, static_cast<GroupId>(i), start.initial[static_cast<GroupId>(i)]);
  }
  std::vector<bool> seen(count);
  for (const GroupId group : start.order) {
    if (group < 0 || at(group) >= count || seen[at(group)]) {
      throw Error(ErrorCode::invalid_argument,
                  cat("group ", group,
                      " is not a group of the problem, or occurs twice in an order of "
                      "visits; visit each once"));
    }
    seen[at(group)] = true;
  }
}

}  // namespace

/// Measures the episodes of each problem, with scratch space kept from step to step.
struct Environment::Measure {
  struct Source {
    Evaluator* evaluator;
    /// Simulates beside an evaluator that measures in another way, where details are wanted.
    std::unique_ptr<Evaluator> beside;
    /// The evaluator's own, or that of the one beside it; null where there is neither.
    SuccessiveEvaluator* successive;

    /// Whether what a sequence gives is the evaluation; else it is good for the details alone.
    [[nodiscard]] bool measures() const noexcept { return successive != nullptr && !beside; }
  };
  std::vector<Source> sources;
  StateDetails details;
  std::vector<Placement> op_placements;                      ///< by episode
  std::vector<std::vector<double>> op_start_us;              ///< by episode
  std::vector<std::unique_ptr<PlacementSequence>> sequence;  ///< by episode; null without a source
  std::vector<Evaluation> simulated;                         ///< by episode: where not measured so
  std::vector<bool> moved;                                   ///< by episode: to be measured

  [[nodiscard]] Source& source_of(const Episode& episode) { return sources[episode.problem_index]; }
  [[nodiscard]] Evaluation& simulation_of(Episode& episode, std::size_t index) {
    return source_of(episode).measures() ? episode.evaluation : simulated[index];
  }
};

Environment::Environment(std::vector<Evaluator*> evaluators, const StateDetails& details)
    : measure_(std::make_unique<Measure>()) {
  measure_->details = details;
  for (Evaluator* const evaluator : evaluators) {
    Measure::Source source{evaluator, nullptr, evaluator->successive()};
    if (source.successive == nullptr && (details.starts || details.alternatives)) {
      source.beside = make_simulation_evaluator(
          std::shared_ptr<const Problem>(std::shared_ptr<void>(), &evaluator->problem()));
      source.successive = source.beside->successive();
    }
    measure_->sources.push_back(std::move(source));
  }
}
Environment::~Environment() = default;
Environment::Environment(Environment&&) noexcept = default;
Environment& Environment::operator=(Environment&&) noexcept = default;

void Environment::begin(std::span<const EpisodeStart> episodes) {
  for (const EpisodeStart& start : episodes) {
    if (start.problem >= measure_->sources.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("an episode of problem ", start.problem, "; the environment has ",
                      measure_->sources.size()));
    }
    check_start(measure_->sources[start.problem].evaluator->problem(), start);
  }
  episodes_.clear();
  for (const EpisodeStart& start : episodes) {
    Episode episode;
    episode.problem_index = start.problem;
    episode.problem = &measure_->sources[start.problem].evaluator->problem();
    episode.order = start.order;
    episode.placement = start.initial;
    episode.start_us.assign(start.initial.size(), 0);
    episodes_.push_back(std::move(episode));
  }
  measure_->op_placements.resize(episodes_.size());
  measure_->op_start_us.resize(episodes_.size());
  measure_->simulated.resize(episodes_.size());
  measure_->sequence.clear();
  for (std::size_t i = 0; i < episodes_.size(); ++i) {
    SuccessiveEvaluator* const successive = measure_->source_of(episodes_[i]).successive;
    measure_->sequence.push_back(
        successive != nullptr ? successive->sequence(measure_->details.alternatives) : nullptr);
    measure_->op_placements[i] = episodes_[i].problem->groups().expand(episodes_[i].placement);
  }
  measure_->moved.assign(episodes_.size(), true);
  measure();
}

bool Environment::done() const noexcept {
  return std::all_of(episodes_.begin(), episodes_.end(),
                     [](const Episode& episode) { return episode.done(); });
}

void Environment::step(std::span<const DeviceId> devices) {
  if (devices.size() != episodes_.size()) {
    throw Error(ErrorCode::invalid_argument, cat(devices.size(), " devices for ", episodes_.size(),
                                                 " episodes; give one for each"));
  }
  for (std::size_t i = 0; i < episodes_.size(); ++i) {
    const Episode& episode = episodes_[i];
    if (!episode.done()) check_runs(*episode.problem, episode.current(), devices[i]);
  }
  for (std::size_t i = 0; i < episodes_.size(); ++i) {
    measure_->moved[i] = !episodes_[i].done() && move(i, devices[i]);
  }
  measure();
}

bool Environment::move(std::size_t index, DeviceId device) {
  Episode& episode = episodes_[index];
  const GroupId group = episode.current();
  ++episode.step;
  DeviceId& now = episode.placement[group];
  if (now == device) return false;  // the state is as it was, and so is its measurement
  now = device;
  Placement& placement = measure_->op_placements[index];
  for (const OpId op : episode.problem->groups().members(group)) {
    placement[at(op)] = device;
  }
  return true;
}

void Environment::run(const Decide& decide) {
  const auto& sources = measure_->sources;
  const bool alone = std::all_of(sources.begin(), sources.end(),
                                 [](const Measure::Source& source) { return source.measures(); });
  if (!alone) {
    std::vector<DeviceId> devices(episodes_.size());
    while (!done()) {
      tbb::parallel_for(std::size_t{0}, episodes_.size(), [&](std::size_t i) {
        if (!episodes_[i].done()) devices[i] = decide(i);
      });
      step(devices);
    }
    return;
  }
  if (episodes_.empty()) return;
  std::vector<std::size_t> before(episodes_.size());
  for (std::size_t i = 0; i < episodes_.size(); ++i) before[i] = episodes_[i].measured;
  const auto count = [&] {
    for (std::size_t i = 0; i < episodes_.size(); ++i) {
      sources[episodes_[i].problem_index].successive->count(
          {static_cast<std::int64_t>(episodes_[i].measured - before[i]),
           measure_->sequence[i]->take_simulated_ops()});
    }
  };
  try {
    sources.front().successive->for_each(episodes_.size(), [&](std::size_t i) {
      Episode& episode = episodes_[i];
      while (!episode.done()) {
        const DeviceId device = decide(i);
        check_runs(*episode.problem, episode.current(), device);
        if (move(i, device)) simulate(i);
        look_ahead(i);
      }
    });
  } catch (...) {  // `decide` ends it, or an alternative
    count();
    throw;
  }
  count();
}

/// After a move, or at the start.
void Environment::simulate(std::size_t index) {
  Episode& episode = episodes_[index];
  const Placement& placement = measure_->op_placements[index];
  PlacementSequence& sequence = *measure_->sequence[index];
  Evaluation& out = measure_->simulation_of(episode, index);
  std::vector<double>& starts = measure_->op_start_us[index];
  if (episode.step == 0) {
    starts.resize(placement.size());
    sequence.start(placement, out, starts);
  } else {
    const Groups& groups = episode.problem->groups();
    const auto next =
        episode.done() ? std::span<const OpId>() : groups.members(episode.order[episode.step]);
    sequence.move(placement, groups.members(episode.order[episode.step - 1]), next, out, starts);
  }
  if (measure_->source_of(episode).measures()) ++episode.measured;
  note_starts(index);
}

/// The first start of each group's ops, from those of the ops.
void Environment::note_starts(std::size_t index) {
  if (!measure_->details.starts) return;
  Episode& episode = episodes_[index];
  const std::vector<double>& op_start_us = measure_->op_start_us[index];
  const Groups& groups = episode.problem->groups();
  std::fill(episode.start_us.begin(), episode.start_us.end(), kCannotRun);
  for (std::size_t op = 0; op < op_start_us.size(); ++op) {
    double& start = episode.start_us[at(groups.map()[op])];
    start = std::min(start, op_start_us[op]);
  }
}

/// After a step, or at the start. Returns how many placements it has simulated.
std::size_t Environment::look_ahead(std::size_t index) {
  Episode& episode = episodes_[index];
  episode.alternatives.clear();
  if (!measure_->details.alternatives || episode.done()) return 0;
  const Problem& problem = *episode.problem;
  const GroupId group = episode.current();
  const auto members = problem.groups().members(group);
  const DeviceId own = episode.placement[group];
  const Score now = measure_->simulation_of(episode, index).score();
  const double limit_us = now.excess_bytes > 0 ? kCannotRun : kHopeless * now.objective_us;
  Placement& placement = measure_->op_placements[index];
  std::size_t simulated = 0;
  // The state is restored however this ends.
  const struct Restore {
    Placement& placement;
    std::span<const OpId> members;
    DeviceId own;
    ~Restore() {
      for (const OpId op : members) placement[at(op)] = own;
    }
  } restore{placement, members, own};
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (device == own) {
      episode.alternatives.push_back(now);
    } else if (problem.can_run(group, device)) {
      if (measure_->details.before_alternative) measure_->details.before_alternative();
      for (const OpId op : members) placement[at(op)] = device;
      episode.alternatives.push_back(
          measure_->sequence[index]->try_move(placement, members, limit_us));
      ++simulated;
    } else {
      episode.alternatives.push_back({kCannotRun, 0});
    }
  }
  episode.measured += simulated;
  return simulated;
}

void Environment::measure() {
  for (std::size_t s = 0; s < measure_->sources.size(); ++s) {
    Measure::Source& source = measure_->sources[s];
    std::vector<std::size_t> moved, all;
    for (std::size_t i = 0; i < episodes_.size(); ++i) {
      if (episodes_[i].problem_index != s) continue;
      all.push_back(i);
      if (measure_->moved[i]) moved.push_back(i);
    }
    if (!source.measures()) measure_together(s, moved);
    if (source.successive == nullptr) continue;
    std::vector<std::size_t> looked(all.size());
    source.successive->for_each(all.size(), [&](std::size_t k) {
      if (measure_->moved[all[k]]) simulate(all[k]);
      looked[k] = look_ahead(all[k]);
    });
    SearchWork work{
        static_cast<std::int64_t>(std::accumulate(looked.begin(), looked.end(), moved.size())), 0};
    for (const std::size_t i : all) {
      work.simulated_ops += measure_->sequence[i]->take_simulated_ops();
    }
    source.successive->count(work);
  }
}

/// Evaluates those that moved as one batch, by an evaluator that has no sequences.
void Environment::measure_together(std::size_t index, std::span<const std::size_t> moved) {
  if (moved.empty()) return;
  std::vector<Placement> placements;
  for (const std::size_t i : moved) placements.push_back(measure_->op_placements[i]);
  std::vector<Evaluation> out(moved.size());
  measure_->sources[index].evaluator->evaluate(placements, out);
  for (std::size_t k = 0; k < moved.size(); ++k) {
    episodes_[moved[k]].evaluation = std::move(out[k]);
    ++episodes_[moved[k]].measured;
  }
}

}  // namespace berth
