// One policy with its fallbacks, under the rules of a tool where the plan is for one.
#include "berth/run.h"

#include <utility>

#include "berth/bounds.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "host/replica_search.h"
#include "host/searches.h"
#include "host/simplest_run.h"

namespace berth {
namespace {

/// The policy, then its fallbacks. `task` is asked for once there is a policy.
Outcome in_order(Engine& engine, const Settings& settings, const RunHooks& hooks,
                 const std::function<const Task&()>& task) {
  const Policies policies(engine, hooks);
  std::vector<std::string> names = {settings.policy.value_or("auto")};
  if (settings.fallbacks) {
    names.insert(names.end(), settings.fallbacks->begin(), settings.fallbacks->end());
  }
  std::optional<Searches> searches;
  std::vector<std::string> notes;
  for (std::size_t i = 0;; ++i) {
    const bool last = i + 1 == names.size();
    std::string why;
    // A mistake of the user is reported, not worked around.
    const auto failed = [&](const Error& error) {
      if (last || error.code() == ErrorCode::invalid_argument) throw;
      why = cat("failed (", error.what(), ")");
    };
    std::unique_ptr<Policy> policy;
    Origin origin;
    origin.policy = names[i];
    try {
      const OptionTexts options =
          policies.with_moves(names[i], i == 0 ? settings.options : OptionTexts(), settings);
      policy = policies.make(names[i], options);
      origin.options = policies.resolved(names[i], options);
    } catch (const Error& error) {
      failed(error);
    }
    // A model that cannot be loaded is no failure of the policy.
    if (policy != nullptr && !searches) searches.emplace(task(), settings, hooks);
    try {
      if (policy != nullptr) {
        for (std::string& note : policies.unasked(names[i], *policy, settings)) {
          if (hooks.note) hooks.note(note);
          notes.push_back(std::move(note));
        }
        Outcome outcome = searches->run(*policy, std::move(origin), settings, /*own=*/false);
        const bool useless =
            outcome.search->end == SearchEnd::gave_up || !outcome.evaluation.feasible;
        if (last || !useless || outcome.search->end == SearchEnd::cancelled) {
          outcome.search->notes.insert(outcome.search->notes.begin(), notes.begin(), notes.end());
          outcome.notes.insert(outcome.notes.begin(), notes.begin(), notes.end());
          return outcome;
        }
        why =
            outcome.search->end == SearchEnd::gave_up ? "gave up" : "found no placement that fits";
      }
    } catch (const Error& error) {
      failed(error);
    }
    notes.push_back(
        cat("policy '", names[i], "' ", why, "; '", names[i + 1], "' was asked instead"));
    if (hooks.note) hooks.note(notes.back());
  }
}

/// Whether the devices that may have any op are too small for the parameters, wherever these are.
bool overflows(const Problem& problem) {
  std::int64_t room = 0;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    bool used = false;
    for (GroupId group = 0; group < problem.groups().count() && !used; ++group) {
      used = problem.can_run(group, device);
    }
    if (used) room = saturating_sum(room, problem.memory_bytes(device));
  }
  return room < problem.graph().total_param_bytes();
}

/// in_order under the rules of a tool, then the simplest placement near to what it finds.
Outcome for_tool(Engine& engine, const Settings& settings, const RunHooks& hooks,
                 const std::function<const Task&()>& task) {
  const Settings inner = search_settings(settings);
  const Task* posed = nullptr;
  const auto ask = [&]() -> const Task& {
    posed = &task();
    if (posed->spilled && overflows(*posed->problem)) {
      throw Error(ErrorCode::infeasible, "the accelerators are too small for the parameters");
    }
    return *posed;
  };
  std::optional<Outcome> outcome;
  try {
    outcome = in_order(engine, inner, hooks, ask);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible || posed == nullptr || !posed->spilled) throw;
  }
  if (!outcome || (!outcome->evaluation.feasible && posed->spilled && !stopped(hooks))) {
    const Task again = spilled(*posed, hooks);
    outcome = in_order(engine, inner, hooks, [&]() -> const Task& { return again; });
  }
  return simplified(engine, std::move(*outcome), settings, /*rivals=*/true, hooks);
}

}  // namespace

Outcome place(Engine& engine, const Task& task, const Settings& settings, const RunHooks& hooks) {
  return for_tool(engine, settings, hooks, [&]() -> const Task& { return task; });
}

Outcome run(Engine& engine, const std::string& model, const Settings& settings,
            const RunHooks& hooks) {
  if (settings.replicate) return run_replicated(engine, model, settings, hooks);
  std::optional<Task> task;
  Outcome outcome = for_tool(engine, settings, hooks, [&]() -> const Task& {
    return task.emplace(load_task(engine, model, settings, hooks));
  });
  if (outcome.evaluation.feasible && !outcome.executed &&
      (settings.prove.value_or(false) || settings.certificate)) {
    outcome.certificate =
        certify(*outcome.problem, strong_lower_bounds(*outcome.problem, hooks.should_stop));
  }
  return outcome;
}

}  // namespace berth
