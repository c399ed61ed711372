// Running policies by name: what place and compare share.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/bound_effort.h"
#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "console.h"
#include "event_log.h"
#include "model_options.h"
#include "outcome.h"
#include "scripts.h"

namespace berth::command {

/// Makes policies of plugins and of scripts ("mine.lua").
class NamedPolicies {
 public:
  explicit NamedPolicies(Engine& engine) : engine_(engine) {}

  /// The policy must not outlive this object.
  [[nodiscard]] std::unique_ptr<Policy> make(const std::string& name, const OptionTexts& options);
  /// What a placement file says of the options: all of a plugin, with their defaults; of a script
  /// those given.
  [[nodiscard]] std::map<std::string, OptionValue, std::less<>> resolved(
      const std::string& name, const OptionTexts& options) const;

 private:
  Engine& engine_;
  std::optional<Scripts> scripts_;
};

/// Runs policies on one problem, with Ctrl-C, budget and progress line.
class Search {
 public:
  /// `session` null = placements are simulated; else they are executed by it.
  Search(std::shared_ptr<const Problem> problem, std::shared_ptr<Session> session,
         const ProblemChoices& choices, const SearchChoices& search);

  /// `origin.policy` names the policy for progress and the outcome; its seed is set here.
  [[nodiscard]] Outcome run(Policy& policy, Origin origin);

 private:
  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<Session> session_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<EventLog> log_;  ///< null = none
  int threads_;
  std::uint64_t seed_;
  double budget_s_;
  BoundEffort bound_;
};

}  // namespace berth::command
