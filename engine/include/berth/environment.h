// Placement as a sequence of decisions: the Markov decision process of Placeto (Addanki et al.,
// NeurIPS 2019; PAPERS A1). The state is a complete placement of the groups; every step moves one
// group, in a fixed order of visits, to a device, and every state can be measured.
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
#include "berth/random.h"
#include "berth/types.h"

namespace berth {

/// In which order an episode visits the groups.
enum class Traversal { topological, reverse, breadth_first, depth_first, random };
/// Throws Error(invalid_argument) listing the names: "topological", "reverse", "breadth_first",
/// "depth_first", "random".
[[nodiscard]] BERTH_EXPORT Traversal traversal_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view traversal_name(Traversal traversal) noexcept;

/// Every group once. Breadth and depth first follow edges from the sources; `random` alone draws.
[[nodiscard]] BERTH_EXPORT std::vector<GroupId> traversal_order(const Groups& groups,
                                                                Traversal traversal,
                                                                Random& random);

/// A device per group.
using GroupPlacement = std::vector<DeviceId>;

/// What is known of a step if the groups put so far were all there is: each runs as one, in the
/// order in which they were put, as soon as its device and its inputs are there.
/// [thread-compatible]
class BERTH_EXPORT PartialSchedule {
 public:
  /// Keeps a reference to `problem`.
  explicit PartialSchedule(const Problem& problem);

  /// `group`, which has not been put, goes to `device`, which can run it.
  void put(GroupId group, DeviceId device);

  /// When the inputs of `group` that have been put are on `device`.
  [[nodiscard]] double ready_us(GroupId group, DeviceId device) const;
  /// When `group` would end on `device`; kCannotRun where it cannot run there.
  [[nodiscard]] double end_us(GroupId group, DeviceId device) const;
  /// When the last group on `device` ends, and how long it has been busy.
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

/// Every group on the first device that can run it (the first of all that can is "device 0").
[[nodiscard]] BERTH_EXPORT GroupPlacement zero_placement(const Problem& problem);
/// Every group on a uniformly random device of those that can run it.
[[nodiscard]] BERTH_EXPORT GroupPlacement random_placement(const Problem& problem, Random& random);
/// In topological order, one run of as many groups on each of the devices that compute everything
/// they can at no more than twice the least cost; a group that its device cannot run stays on the
/// first that can.
[[nodiscard]] BERTH_EXPORT GroupPlacement contiguous_placement(const Problem& problem);
/// In topological order, every group on the device where it ends first, if those before it were all
/// there is (list scheduling; memory is not looked at).
[[nodiscard]] BERTH_EXPORT GroupPlacement earliest_placement(const Problem& problem);
/// The device of each group's first op: exact where no group is split.
[[nodiscard]] BERTH_EXPORT GroupPlacement group_placement(const Problem& problem,
                                                          const Placement& placement);

/// One episode to run.
struct EpisodeStart {
  std::size_t problem = 0;  ///< index into the environment's evaluators
  GroupPlacement initial;   ///< a device that can run it for every group
  std::vector<GroupId> order;
};

/// What an environment tells of a state beyond its evaluation; simulated, also where an evaluator
/// measures otherwise.
struct StateDetails {
  bool starts = true;         ///< Episode::start_us
  bool alternatives = false;  ///< Episode::alternatives: a simulation per device and decision
};

/// Many episodes, over one or several problems, that step together or run each for itself.
/// [thread-compatible]
///
/// A step's placements are measured as one batch, on as many threads as the evaluators have;
/// nothing depends on how many. Episodes over smaller problems end earlier.
class BERTH_EXPORT Environment {
 public:
  /// One evaluator per problem, not null; they must outlive the environment.
  explicit Environment(std::vector<Evaluator*> evaluators, const StateDetails& details = {});
  ~Environment();
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;

  /// Starts anew and measures the initial placements. Throws Error(invalid_argument) for an initial
  /// placement or an order that does not fit its problem.
  void begin(std::span<const EpisodeStart> episodes);

  [[nodiscard]] std::size_t episode_count() const noexcept { return episodes_.size(); }
  /// True once every episode has visited all of its groups.
  [[nodiscard]] bool done() const noexcept;

  /// The state with the current group on some device.
  struct Alternative {
    /// kCannotRun where it cannot run there, and where the objective is kHopeless times that of the
    /// state or more (a state that does not fit may have any).
    double objective_us;
    std::int64_t excess_bytes;  ///< by which the fullest device's memory is exceeded
  };
  static constexpr double kHopeless = 1.1;

  /// One running episode. Spans stay valid until the next `begin`.
  struct Episode {
    std::size_t problem_index;
    const Problem* problem;
    std::vector<GroupId> order;
    std::size_t step = 0;          ///< decisions made
    GroupPlacement placement;      ///< the state
    std::vector<double> start_us;  ///< by group: when its first op starts; 0 where not asked for,
                                   ///< and for the objective throughput
    Evaluation evaluation;         ///< of the state
    std::vector<Alternative> alternatives;  ///< by device; empty where done or not asked for

    [[nodiscard]] bool done() const noexcept { return step == order.size(); }
    /// The group to place next. Undefined where done.
    [[nodiscard]] GroupId current() const noexcept { return order[step]; }
  };
  [[nodiscard]] const Episode& episode(std::size_t index) const { return episodes_[index]; }

  /// Moves the current group of every episode that is not done to `devices[episode]` and measures.
  /// Throws Error(invalid_argument) naming group and device where it cannot run there; then no
  /// episode has moved.
  void step(std::span<const DeviceId> devices);

  /// The device for the current group of an episode that is not done. Called on several threads at
  /// once, for different episodes: it may look at that episode alone.
  using Decide = std::function<DeviceId(std::size_t episode)>;
  /// Takes every episode to its end. Where all evaluators simulate, every episode goes its way on
  /// one thread, on as many at once as the first evaluator has; elsewhere all step together.
  /// Throws what `step` and `decide` throw; the episodes then stand wherever they were.
  void run(const Decide& decide);

 private:
  struct Measure;
  /// Moves the current group; false where it is there already.
  bool move(std::size_t index, DeviceId device);
  void simulate(std::size_t index);
  void note_starts(std::size_t index);
  std::size_t look_ahead(std::size_t index);
  void measure();
  void measure_otherwise(std::size_t source, std::span<const std::size_t> moved);
  std::vector<Episode> episodes_;
  std::unique_ptr<Measure> measure_;
};

}  // namespace berth
