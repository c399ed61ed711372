/// @file
/// From settings to results: the engine, the problem, the search with its fallbacks, the comparison.
/// The command, Lua, C and the MLIR pass parse settings, call these functions and print.
///
///     const Settings settings = load_settings("study.json");
///     const auto engine = make_engine(settings);
///     const Outcome outcome = run(*engine, "model.onnx", settings);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/bound_effort.h"
#include "berth/engine.h"
#include "berth/error.h"
#include "berth/export.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/settings.h"
#include "berth/tools.h"

namespace berth {

/// An engine with the plugin folders of the settings that opens the plugins they allow.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Engine> make_engine(const Settings& settings);
/// Throws Error(invalid_argument) where no cluster is named.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> make_cluster(const Settings& settings);
/// "cpu" or "cpu:devices=4,threads=1". Throws what Engine::make_backend throws.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Backend> make_backend(Engine& engine,
                                                                 const std::string& text);
/// The costs that `source` names: "stated" (in the graph), "roofline", or a file. Empty = op by op:
/// stated where the graph states one, else roofline. `arithmetic` is that of roofline costs; a file's
/// readers have that of the model.
[[nodiscard]] BERTH_EXPORT LoadedCosts make_costs(Engine& engine, const Graph& graph,
                                                  const Cluster& cluster, const std::string& source,
                                                  const std::optional<Arithmetic>& arithmetic = {});
/// The arithmetic of roofline costs: the tool's, else none of TF32 where a backend measures, else
/// usual_arithmetic; the setting "tf32" in place of their `tf32`.
[[nodiscard]] BERTH_EXPORT Arithmetic arithmetic_of(const Settings& settings, const Graph& graph);
/// The setting "bound"; strong where it is not set.
[[nodiscard]] BERTH_EXPORT BoundEffort bound_effort(const Settings& settings);
/// Types of ops that are costed by their bytes alone, and how much of the step they may be; those in bodies too, where
/// the attribute "body_types" names what is there. Empty where there are none.
[[nodiscard]] BERTH_EXPORT std::string without_rule_text(const Graph& graph);

/// A problem as settings pose it, with what evaluates its placements. Members stand in the order in
/// which they depend on one another.
struct Task {
  std::string model;                       ///< its file; empty = a graph made in process
  std::shared_ptr<Backend> backend;        ///< null where placements are simulated
  std::shared_ptr<const Program> program;  ///< the same
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<Session> session;  ///< null where placements are simulated
  /// Warnings for the user: assumed dimensions, tensors without a size, ops
  /// without a rule, how many ops a file of costs measured.
  std::vector<std::string> notes;
  /// berth.settings/1 of model and problem, for what is stored with a placement.
  std::string settings;
  const Tool* tool = nullptr;  ///< of tools(): the one whose rules the problem has
  std::shared_ptr<const ReplicaFigures> replicas;  ///< null = the step is not replicated
  /// The step of the whole batch, which one device is compared by; null = the step is not replicated.
  std::shared_ptr<const Problem> plain;
  /// For a tool that spills: poses the same problem where its accelerators do not hold everything.
  /// Empty = there is no other.
  std::function<Task()> spilled;
};

/// Objects that a caller has made already; null = as the settings say.
struct TaskParts {
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const Groups> groups;
  std::optional<double> device_gap_us, transfer_gap_us;  ///< of ProblemOptions
};

/// Participants of a run beside its settings. Each may be left empty.
struct RunHooks {
  /// Makes any policy, also those that the engine does not know, such as Lua's: policies that run
  /// others make them through it. `knows` says of a name whether the engine does not know it. Both
  /// or none.
  std::function<bool(const std::string& policy)> knows;
  PolicyMaker make;
  /// Placements to start from.
  std::vector<Placement> initial;
  /// The placement is there: of a tool's rules, its costs count and its constraints do not.
  bool placed = false;
  std::uint64_t seed = 0;  ///< where the settings name none
  int threads = 0;         ///< where the settings name none; 0 = one per core
  /// True = end now with the best so far.
  std::function<bool()> should_stop;
  std::function<void(double best_us, const std::string& text)> progress;
  /// A note as soon as there is one. All are in the outcome too.
  std::function<void(const std::string& note)> note;
  /// A part of the run begins. It lasts as long as what is returned, `within_s` at most.
  std::function<std::shared_ptr<void>(const std::string& what, double within_s)> stage;
  /// A search begins, and how it ended: `outcome` is null where it failed.
  std::function<void(const Task& task, const Origin& origin, double budget_s)> begins;
  std::function<void(const Outcome* outcome, const std::string& failure)> ends;
};

/// Loads the model and poses the problem; for the setting "evaluator": "measure" it opens a session
/// of the backend. Throws what Engine::load and make_task throw.
[[nodiscard]] BERTH_EXPORT Task load_task(Engine& engine, const std::string& model,
                                          const Settings& settings, const RunHooks& hooks = {});
/// The problem of a graph and a cluster that are there. Throws what Problem, Constraints,
/// make_groups and make_costs throw, naming the settings' file, line and key where one is at fault.
[[nodiscard]] BERTH_EXPORT Task make_task(Engine& engine, std::shared_ptr<const Graph> graph,
                                          std::shared_ptr<const Cluster> cluster,
                                          const Settings& settings, const TaskParts& parts = {});

/// Runs the policy ("auto" where none is named) with its options, and evaluates what it finds.
/// `moves` is the option of that name, of policies that have one. Where a policy is not there,
/// fails, or finds no placement that fits, the `fallbacks` are asked in order, each with its own
/// defaults; a note says so. An outcome may not fit: see Outcome::evaluation.
/// For a tool whose devices have runs of layers in a fixed order the policy is `stages`, where the
/// settings name `auto` or none; Error(invalid_argument) where they name one that keeps to no runs. Of a
/// tool that spills, hosts are left out until nothing fits. With `within`, the outcome is the simplest
/// placement that is found at most so much slower than the best of the policy's own and of `stages`.
[[nodiscard]] BERTH_EXPORT Outcome place(Engine& engine, const Task& task, const Settings& settings,
                                         const RunHooks& hooks = {});
/// The same of a model's file. With "replicate": "auto" it searches for a plan of replicas, too: the outcome is of
/// the best, which may be a placement of the plain step. The policy is made before the model is loaded, so that a misspelled
/// name or option is told at once.
[[nodiscard]] BERTH_EXPORT Outcome run(Engine& engine, const std::string& model,
                                       const Settings& settings, const RunHooks& hooks = {});

/// One search of a comparison.
struct ComparedPolicy {
  std::string policy;
  /// A policy that learns has its own placement here (own_outcome). Nothing = it failed.
  std::optional<Outcome> outcome;
  ErrorCode code{};     ///< of the failure
  std::string failure;  ///< why
  std::string cluster;  ///< as the settings name it, where they name several
  std::uint64_t seed = 0;

  [[nodiscard]] bool fits() const { return outcome && outcome->evaluation.feasible; }
};

/// Runs each of `policies` on the task, in their order: with the settings' options where it is the
/// settings' policy, else with its own defaults; all else as the settings say. Fallbacks are not
/// asked. For a tool, `auto` is `stages` where place() would ask that; a plan that the tool cannot have
/// fails. With `within`, each policy's placement is made simpler by itself. What one policy proves bounds all: the
/// largest bound of all is every outcome's. Where hooks.should_stop ends the comparison, policies that have not begun fail with
/// Error(cancelled), and a note of every outcome says that the times are unequal.
[[nodiscard]] BERTH_EXPORT std::vector<ComparedPolicy> compare(
    Engine& engine, const Task& task, std::span<const std::string> policies,
    const Settings& settings, const RunHooks& hooks = {});
/// Each of the settings' policies (all that are installed where none is named), on each of their
/// clusters, with each of their seeds. Every policy is made before the model is loaded. With
/// several clusters or seeds `each` gets every search as soon as it has ended, and the result is
/// empty: outcomes are large.
[[nodiscard]] BERTH_EXPORT std::vector<ComparedPolicy> compare(
    Engine& engine, const std::string& model, const Settings& settings, const RunHooks& hooks = {},
    const std::function<void(ComparedPolicy)>& each = {});
/// Whether settings ask for several clusters or seeds.
[[nodiscard]] BERTH_EXPORT bool is_sweep(const Settings& settings);

/// A berth.placement/1 file, read as far as that needs no graph.
struct StoredPlacement {
  std::string path;
  std::string text;
  std::string machine;  ///< the name of the one it was made for; empty where the file says nothing
  Origin origin;
  double runtime_us = 0;  ///< when it was made, by the costs or the backend of then; 0 = not known
  /// The settings of model and problem when it was made; empty where the file says nothing.
  Settings settings;
};
/// Throws Error(invalid_file, io, not_found).
[[nodiscard]] BERTH_EXPORT StoredPlacement read_placement(const std::filesystem::path& path);
/// A note if it was made for another machine than the task's; else empty.
[[nodiscard]] BERTH_EXPORT std::string other_machine_text(const Task& task,
                                                          const StoredPlacement& stored);
/// A note if the placement has ops apart that the costs count as one; else empty.
[[nodiscard]] BERTH_EXPORT std::string separated_text(const Task& task, const Placement& placement);
/// Simulates one step of it. A note says where it was made for another machine than the task's.
[[nodiscard]] BERTH_EXPORT Outcome simulate(const Task& task, const StoredPlacement& stored,
                                            BoundEffort effort = BoundEffort::strong);

}  // namespace berth
