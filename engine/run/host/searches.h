// One search as settings ask for it: its policy by name, and the task that it is asked of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "berth/settings.h"

namespace berth {

/// Policies by name, of the engine and of the hooks. Both must outlive it.
class Policies {
 public:
  Policies(Engine& engine, const RunHooks& hooks) : engine_(engine), hooks_(hooks) {}

  [[nodiscard]] std::unique_ptr<Policy> make(const std::string& name,
                                             const OptionTexts& options) const;
  /// All options of a plugin, with their defaults; of another those given.
  [[nodiscard]] std::map<std::string, OptionValue, std::less<>> resolved(
      const std::string& name, const OptionTexts& options) const;
  /// Adds the limit of moves for a policy that counts them.
  [[nodiscard]] OptionTexts with_moves(const std::string& name, OptionTexts options,
                                       const Settings& settings) const;
  /// Settings of the search that the policy does not ask.
  [[nodiscard]] std::vector<std::string> unasked(const std::string& name, const Policy& policy,
                                                 const Settings& settings) const;

 private:
  [[nodiscard]] bool knows(const std::string& name) const;
  [[nodiscard]] bool counts_moves(const std::string& name) const;

  Engine& engine_;
  const RunHooks& hooks_;
};

/// Searches on one task. Its evaluator is kept: the bound is computed once. Task and hooks must outlive it.
class Searches {
 public:
  Searches(const Task& task, const Settings& settings, const RunHooks& hooks);

  /// `own`: of a policy that learns its own placement, to compare it; else its best, to use it. Throws what
  /// the policy throws; Error(infeasible) also tells the rules and the assumed host that leave no room.
  [[nodiscard]] Outcome run(Policy& policy, Origin origin, const Settings& settings, bool own);

 private:
  /// A chip with one memory is its own host, so that one of the notes applies at most.
  void note_host(const Settings& settings, Outcome& outcome);
  void trace_measured(Outcome& outcome) const;

  const Task& task_;
  const RunHooks& hooks_;
  int threads_;
  std::vector<Placement> initial_;
  std::unique_ptr<Evaluator> evaluator_;
  bool told_host_ = false;
};

/// The settings' budget; infinite where they name none.
[[nodiscard]] double budget_s(const Settings& settings);

[[nodiscard]] bool stopped(const RunHooks& hooks);

/// The hooks' stage; null where they show none.
[[nodiscard]] std::shared_ptr<void> stage_within(const RunHooks& hooks, const std::string& what,
                                                 double within_s);

/// The same problem where the tool's accelerators do not hold everything, with what was said of the
/// other one. What is new is told. Requires task.spilled.
[[nodiscard]] Task spilled(const Task& task, const RunHooks& hooks);

}  // namespace berth
