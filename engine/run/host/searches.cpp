#include "host/searches.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "berth/bounds.h"
#include "berth/files.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "host/assumed_host.h"
#include "host/machine_notes.h"
#include "host/replica_steps.h"
#include "host/short_by_rules.h"
#include "support/units.h"

namespace berth {
namespace {

/// A start whose inputs are where the problem has them: that is no choice of a placement.
Placement with_own_inputs(const Problem& problem, Placement placement) {
  const auto has = [&](OpId op, DeviceId device) {
    return problem.allowed(op, device) && problem.cost_us(op, device) < kCannotRun;
  };
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    DeviceId& device = placement[at(op)];
    if (!problem.graph().is_input(op)) continue;
    for (DeviceId d = 0; d < problem.cluster().device_count() && !has(op, device); ++d) device = d;
  }
  return placement;
}

}  // namespace

double budget_s(const Settings& settings) {
  return settings.budget_s.value_or(std::numeric_limits<double>::infinity());
}

bool stopped(const RunHooks& hooks) {
  return hooks.should_stop && hooks.should_stop();
}

std::shared_ptr<void> stage_within(const RunHooks& hooks, const std::string& what,
                                   double within_s) {
  return hooks.stage ? hooks.stage(what, within_s) : nullptr;
}

std::unique_ptr<Policy> Policies::make(const std::string& name, const OptionTexts& options) const {
  return knows(name) ? hooks_.make(name, options) : engine_.make_policy(name, options, hooks_.make);
}

std::map<std::string, OptionValue, std::less<>> Policies::resolved(
    const std::string& name, const OptionTexts& options) const {
  if (knows(name)) return {options.begin(), options.end()};
  return engine_.options_of(PluginKind::policy, name, options).values();
}

OptionTexts Policies::with_moves(const std::string& name, OptionTexts options,
                                 const Settings& settings) const {
  if (settings.moves && counts_moves(name)) options.try_emplace("moves", *settings.moves);
  return options;
}

std::vector<std::string> Policies::unasked(const std::string& name, const Policy& policy,
                                           const Settings& settings) const {
  std::vector<std::string> notes;
  if (settings.start && !policy.takes_starts()) {
    notes.push_back(cat(settings.place("start"), "policy '", name,
                        "' begins with nothing, so that the placement to start from changes "
                        "nothing of what it finds"));
  }
  if (settings.moves && !knows(name) && !counts_moves(name)) {
    notes.push_back(cat(settings.place("moves"), "policy '", name,
                        "' counts no moves, so that their limit changes nothing"));
  }
  return notes;
}

bool Policies::knows(const std::string& name) const {
  return hooks_.knows && hooks_.knows(name);
}

bool Policies::counts_moves(const std::string& name) const {
  if (knows(name)) return false;
  const auto& options = engine_.plugin(PluginKind::policy, name).options;
  return std::any_of(options.begin(), options.end(),
                     [](const auto& option) { return option.name == "moves"; });
}

Searches::Searches(const Task& task, const Settings& settings, const RunHooks& hooks)
    : task_(task),
      hooks_(hooks),
      threads_(settings.threads.value_or(hooks.threads)),
      initial_(hooks.initial) {
  evaluator_ = task.session == nullptr ? make_simulation_evaluator(task.problem, threads_)
                                       : make_measuring_evaluator(task.problem, task.session);
  if (settings.start) {
    initial_.push_back(with_own_inputs(
        *task.problem,
        load_placement(*settings.start, task.problem->graph(), task.problem->cluster())));
  }
}

Outcome Searches::run(Policy& policy, Origin origin, const Settings& settings, bool own) {
  origin.model = task_.model;
  origin.settings = task_.settings;
  origin.seed = settings.seed.value_or(hooks_.seed);
  PlaceContext context;
  context.seed = origin.seed;
  context.threads = threads_;
  context.should_stop = hooks_.should_stop;
  context.progress = hooks_.progress;
  context.initial = initial_;
  const double within_s = budget_s(settings);
  const auto stage = stage_within(
      hooks_, cat(origin.policy, " places ", task_.problem->groups().count(), " groups"), within_s);
  if (hooks_.begins) hooks_.begins(task_, origin, within_s);
  try {
    PlaceResult result =
        berth::place(policy, *evaluator_, std::move(context), within_s, bound_effort(settings));
    Outcome outcome = searched_outcome(task_.problem, std::move(origin), std::move(result));
    if (own) outcome = own_outcome(std::move(outcome));
    outcome.notes.insert(outcome.notes.begin(), task_.notes.begin(), task_.notes.end());
    if (depends_on_host(outcome)) note_host(settings, outcome);
    outcome.tool = task_.tool;
    outcome.replicas = task_.replicas;
    if (task_.plain != nullptr) compare_with_one_device(task_.plain, outcome);
    if (task_.session != nullptr) trace_measured(outcome);
    if (hooks_.ends) hooks_.ends(&outcome, {});
    return outcome;
  } catch (const Error& error) {
    if (hooks_.ends) hooks_.ends(nullptr, error.what());
    if (error.code() != ErrorCode::infeasible) throw;
    const std::string rules = short_by_rules_text(*task_.problem);
    const std::string host = assumed_host_text(settings);
    throw Error(error.code(), cat(rules, rules.empty() ? "" : ": ", error.what(),
                                  host.empty() ? "" : "; ", host));
  }
}

void Searches::note_host(const Settings& settings, Outcome& outcome) {
  std::string note = assumed_host_text(settings);
  if (note.empty()) note = gpu_limit_text(settings, outcome);
  if (note.empty()) return;
  if (hooks_.note && !told_host_) hooks_.note(note);
  told_host_ = true;
  outcome.notes.push_back(std::move(note));
}

void Searches::trace_measured(Outcome& outcome) const {
  outcome.executed = true;
  if (!outcome.evaluation.feasible) return;
  outcome.origin.measured_on = task_.backend->description();
  MeasureOptions options;
  options.trace = true;
  Measurement measured = berth::measure(*task_.session, outcome.placement, options);
  outcome.trace = std::move(measured.step.trace);
  // Busy times and the picture are of one and the same step.
  outcome.evaluation.busy_us = std::move(measured.step.busy_us);
  constexpr double kUnlike = 0.1;
  const double figure_us = outcome.evaluation.runtime_us;
  if (std::abs(outcome.trace.runtime_us - figure_us) > kUnlike * figure_us) {
    outcome.notes.push_back(cat("devices and transfers are of a step that took ",
                                format_us(outcome.trace.runtime_us), " when it was traced, not ",
                                format_us(figure_us)));
  }
  for (std::string& note : measured.notes) outcome.notes.push_back(std::move(note));
}

Task spilled(const Task& task, const RunHooks& hooks) {
  Task again = task.spilled();
  std::vector<std::string> notes = task.notes;
  for (std::string& note : again.notes) {
    if (std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
    if (hooks.note) hooks.note(note);
    notes.push_back(std::move(note));
  }
  again.notes = std::move(notes);
  again.model = task.model;
  return again;
}

}  // namespace berth
