/// @file
/// Placement as a sequence of decisions: the Markov decision process of Placeto (Addanki et al.,
/// NeurIPS 2019, section on the MDP formulation). The state is a complete placement of the groups.
/// Each step moves one group to a device, in a fixed order of visits. Every state can be measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/problem.h"
#include "berth/sdk/random.h"
#include "berth/support/score.h"
#include "berth/types.h"

namespace berth {

/// The order in which an episode visits the groups.
enum class Traversal { topological, reverse, breadth_first, depth_first, random };
/// Throws Error(invalid_argument) listing the names: "topological", "reverse", "breadth_first",
/// "depth_first", "random".
[[nodiscard]] BERTH_EXPORT Traversal traversal_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view traversal_name(Traversal traversal) noexcept;

/// Every group once. `breadth_first` and `depth_first` follow edges from the sources. Only `random`
/// draws from `random`.
[[nodiscard]] BERTH_EXPORT std::vector<GroupId> traversal_order(const Groups& groups,
                                                                Traversal traversal,
                                                                Random& random);

/// The schedule of the groups put so far, as if there were no others. Each group runs as one unit,
/// in the order in which the groups were put, as soon as its device is free and its inputs have
/// arrived. [thread-compatible]
class BERTH_EXPORT PartialSchedule {
 public:
  /// The schedule keeps a reference to `problem`, which must outlive it.
  explicit PartialSchedule(const Problem& problem);

  /// Puts `group` on `device`. Requires that it has not been put yet and that the device can run
  /// it.
  void put(GroupId group, DeviceId device);

  /// When the inputs of `group` that have been put are available on `device`.
  [[nodiscard]] double ready_us(GroupId group, DeviceId device) const;
  /// When `group` would end on `device`; kCannotRun if the device cannot run it.
  [[nodiscard]] double end_us(GroupId group, DeviceId device) const;
  /// When the last group on `device` ends (free_us), and how long the device has been busy
  /// (load_us).
  [[nodiscard]] double free_us(DeviceId device) const;
  [[nodiscard]] double load_us(DeviceId device) const;

 private:
  struct Put {
    DeviceId device = kNoDevice;
    double end_us = 0;
  };
  const Problem& problem_;
  std::vector<Put> put_;         ///< by group
  std::vector<double> free_us_;  ///< by device
  std::vector<double> load_us_;  ///< by device
};

/// Every group on the first device that can run it. "Device 0" means the first that can run all.
[[nodiscard]] BERTH_EXPORT GroupPlacement zero_placement(const Problem& problem);
/// Every group on a device drawn uniformly from those that can run it.
[[nodiscard]] BERTH_EXPORT GroupPlacement random_placement(const Problem& problem, Random& random);
/// The groups in topological order, cut into one run per device with about as many groups each.
/// Only fast devices get a run: those that compute all they can run in at most twice the least
/// time. A group that the device of its run cannot run goes to the first device that can.
[[nodiscard]] BERTH_EXPORT GroupPlacement contiguous_placement(const Problem& problem);
/// List scheduling: in topological order, every group on the device where it ends first given the
/// groups before it. Memory is not considered.
[[nodiscard]] BERTH_EXPORT GroupPlacement earliest_placement(const Problem& problem);
/// For each group, the first device of its ops that can run the whole group; without one, as in
/// zero_placement. Exact if no group is split over devices.
[[nodiscard]] BERTH_EXPORT GroupPlacement group_placement(const Problem& problem,
                                                          const Placement& placement);

/// How one episode starts.
struct EpisodeStart {
  std::size_t problem = 0;  ///< index into the environment's evaluators
  GroupPlacement initial;   ///< for every group, a device that can run it
  std::vector<GroupId> order;
};

/// Figures of a state besides its evaluation. They are simulated, even
/// if the evaluator measures in another way.
struct StateDetails {
  bool starts = true;         ///< Episode::start_us
  bool alternatives = false;  ///< Episode::alternatives: one simulation per device and decision
  /// Called before each of these simulations, on the thread of the episode. What it throws leaves
  /// `begin`, `step` or `run`; the episodes are then good for nothing but `begin`. May be empty.
  std::function<void()> before_alternative = {};
};

/// Many episodes over one or several problems. They step together or each runs by itself.
///
/// The placements of a step are measured as one batch, on as many threads as the evaluators have.
/// No result depends on the number of threads. Episodes over smaller problems end earlier.
/// [thread-compatible]
class BERTH_EXPORT Environment {
 public:
  /// One evaluator per problem, none null. They must outlive the environment.
  explicit Environment(std::vector<Evaluator*> evaluators, const StateDetails& details = {});
  ~Environment();
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;

  /// Starts new episodes and measures their initial placements. Throws Error(invalid_argument) for
  /// an initial placement or an order that does not fit its problem.
  void begin(std::span<const EpisodeStart> episodes);

  [[nodiscard]] std::size_t episode_count() const noexcept { return episodes_.size(); }
  /// True when every episode has visited all of its groups.
  [[nodiscard]] bool done() const noexcept;

  /// See Episode::alternatives.
  static constexpr double kHopeless = 1.1;

  /// One running episode. Spans into it stay valid until the next `begin`.
  struct Episode {
    std::size_t problem_index;
    const Problem* problem;
    std::vector<GroupId> order;
    std::size_t step = 0;          ///< number of decisions made
    GroupPlacement placement;      ///< the state
    std::vector<double> start_us;  ///< by group: when its first op starts; 0 if not requested
                                   ///< and for the objective throughput
    Evaluation evaluation;         ///< of the state
    std::size_t measured = 0;      ///< placements measured or simulated for it, alternatives too
    /// Scores of the state with the current group on each device. The objective is kCannotRun
    /// if the group cannot run there, and if it would be at least kHopeless times that of the
    /// state; if the state does not fit in memory, this second rule is off. Empty if done or not
    /// requested.
    std::vector<Score> alternatives;

    [[nodiscard]] bool done() const noexcept { return step == order.size(); }
    /// The group to place next. Undefined if done.
    [[nodiscard]] GroupId current() const noexcept { return order[step]; }
  };
  [[nodiscard]] const Episode& episode(std::size_t index) const { return episodes_[index]; }

  /// Moves the current group of every unfinished episode to `devices[episode]` and measures. Throws
  /// Error(invalid_argument) naming group and device if it cannot run there; no episode has then
  /// moved.
  void step(std::span<const DeviceId> devices);

  /// Chooses the device for the current group of an unfinished episode. Called on several threads
  /// at once for different episodes; it may look at that episode only.
  using Decide = std::function<DeviceId(std::size_t episode)>;
  /// Runs every episode to its end. If all evaluators simulate, each episode runs on its own
  /// thread, up to the first evaluator's thread count at a time. Otherwise all episodes step
  /// together. Throws what `step` and `decide` throw; the episodes then stay where they were.
  void run(const Decide& decide);

 private:
  struct Measure;
  /// Moves the current group; false if it is already there.
  bool move(std::size_t index, DeviceId device);
  void simulate(std::size_t index);
  void note_starts(std::size_t index);
  std::size_t look_ahead(std::size_t index);
  void measure();
  void measure_together(std::size_t source, std::span<const std::size_t> moved);
  std::vector<Episode> episodes_;
  std::unique_ptr<Measure> measure_;
};

}  // namespace berth
