// Steps of plans: posed, placed and improved.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "berth/error.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "host/replica_models.h"

namespace berth {

/// The amount that a search may use: seconds, or proposals where the settings limit those. [thread-compatible]
class ReplicaBudget {
 public:
  /// All must outlive this. It begins now.
  ReplicaBudget(const Settings& settings, const RunHooks& hooks, const ReplicaModels& models);

  [[nodiscard]] double whole() const noexcept { return whole_; }
  [[nodiscard]] double left() const;
  /// Whether what is left is too little to begin anything, or the caller wants an end.
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] bool counts_proposals() const noexcept { return counts_; }
  /// The least with which a search begins.
  [[nodiscard]] double least() const noexcept { return counts_ ? kLeastMoves : least_s(whole_); }
  /// The same of a budget of so many seconds: a part of it, or small budgets would be over at once.
  [[nodiscard]] static double least_s(double whole_s) {
    return std::min(kLeast_s, kLeastPart * whole_s);
  }
  /// Loading is no part of a budget, as it is none where a step is placed: here at several sizes.
  [[nodiscard]] double seconds() const;
  [[nodiscard]] double wall_s() const;
  /// A search has had so many proposals.
  void use(double proposals) { proposed_ += proposals; }
  /// The settings of one search that gets so much.
  [[nodiscard]] Settings settings(double amount) const;

 private:
  static constexpr double kDefault_s = 30;
  static constexpr double kLeast_s = 0.5, kLeastPart = 0.1, kLeastMoves = 1;

  const Settings& settings_;
  const RunHooks& hooks_;
  const ReplicaModels& models_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool counts_;
  double whole_;
  double proposed_ = 0;
};

/// A problem and the best that is known of it.
struct Placed {
  Task task;
  Placement placement;  ///< empty = none yet
  Evaluation evaluation;
  double longest = 0;      ///< the most that a search of it has had
  bool estimates = false;  ///< one replica for all
  bool improved = false;   ///< the policy found the placement

  [[nodiscard]] const Problem& problem() const { return *task.problem; }
  [[nodiscard]] double us() const {
    return placement.empty() || !evaluation.feasible ? kCannotRun : evaluation.objective_us;
  }
};

/// A plan; the plain step has no replicas.
struct Tried {
  ReplicaPlan plan;
  Placed one =
      {};  ///< the plain step, or one replica with its reduction, whose step is an estimate of the whole
  Placed step = {};     ///< all replicas; no task before it is posed, and never of the plain step
  double bound_us = 0;  ///< of `one`, where it is known
  bool varied = false;  ///< its variants are among the plans, too
  /// A guess, before it is posed, where `one` says nothing of the plan.
  std::optional<double> guess_us = {};

  [[nodiscard]] bool is_plain() const { return plan.replicas.empty(); }
  [[nodiscard]] bool is_grouped() const;
  [[nodiscard]] bool is_posed() const { return is_plain() || !step.placement.empty(); }
  /// The whole step: simulated once it is posed.
  [[nodiscard]] double us() const {
    return !step.placement.empty() ? step.us() : guess_us.value_or(one.us());
  }
  /// Whether pose() can pose it.
  [[nodiscard]] bool can_be_posed() const { return !is_grouped() || !one.placement.empty(); }
  /// The step that is placed in the end.
  [[nodiscard]] Placed& whole() { return is_plain() ? one : step; }
};

/// Makes and improves the steps of plans. [thread-compatible]
class ReplicaSteps {
 public:
  /// All must outlive this.
  ReplicaSteps(Engine& engine, const std::string& model, const Settings& settings,
               const RunHooks& hooks, ReplicaModels& models, ReplicaBudget& budget)
      : engine_(engine),
        model_(model),
        settings_(settings),
        hooks_(hooks),
        models_(models),
        budget_(budget) {}

  /// The plain step, not placed yet.
  [[nodiscard]] Tried plain();
  /// The plain step on the best single device; without a placement where it fits on none.
  [[nodiscard]] Tried on_one_device(const Tried& plain);
  /// A plan, not posed yet: one replica of it, on its first device. There is no such one of devices of several
  /// kinds: their plan is not placed. Throws Error(invalid_argument) for groups of several devices that differ.
  [[nodiscard]] Tried planned(const ReplicaPlan& plan);
  /// The whole step of a plan: each replica on its own device, or all as `tried.one` is placed.
  void pose(Tried& tried);
  /// About how many seconds that takes.
  [[nodiscard]] double posing_s(const ReplicaPlan& plan);
  /// The step of a replica by itself on one device, at the slowest of all; kCannotRun where one does not fit.
  [[nodiscard]] double alone_us(const ReplicaPlan& plan);

  /// The policy goes on from the placement, if there is one, and leaves the better of the two. Where nothing
  /// that it finds fits, there is still none.
  void search(Placed& placed, double amount);
  [[nodiscard]] static Outcome traced(const Tried& tried);

  [[nodiscard]] std::int64_t evaluations() const noexcept { return evaluations_; }
  [[nodiscard]] std::int64_t simulated_ops() const noexcept { return simulated_ops_; }
  /// The last time that nothing fitted.
  [[nodiscard]] const std::optional<Error>& nothing_fits() const noexcept { return nothing_fits_; }

 private:
  void evaluate(Placed& placed);
  [[nodiscard]] Placement own_devices(const Tried& tried) const;

  Engine& engine_;
  const std::string& model_;
  const Settings& settings_;
  const RunHooks& hooks_;
  ReplicaModels& models_;
  ReplicaBudget& budget_;
  double posed_op_s_ = 0;  // of a step, by op
  std::uint64_t searches_ = 0;
  std::int64_t evaluations_ = 0, simulated_ops_ = 0;
  std::optional<Error> nothing_fits_;
};

/// The step of the whole batch.
[[nodiscard]] Task plain_task(Engine& engine, ReplicaModels& models, const Settings& settings);
/// Makes the best single device that of the plain step: on one device nobody would have replicas. Its ops
/// stand for those of the first replica.
void compare_with_one_device(const std::shared_ptr<const Problem>& plain, Outcome& outcome);

/// The problem of a plan. Its settings name the plan, so that the placement can be simulated again.
[[nodiscard]] Task replicated_task(Engine& engine, ReplicaModels& models, const ReplicaPlan& plan,
                                   const Settings& settings);

}  // namespace berth
