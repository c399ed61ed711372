/// @file
/// An evaluated placement with everything reported about it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/bounds.h"
#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

struct Tool;
struct Training;

/// The critical path divided by what the step waited for. The three parts add up to the runtime.
struct PathShares {
  double compute_us = 0;
  double transfer_us = 0;
  double pause_us = 0;  ///< the rest: overheads of the semantics between two steps of the path
  /// The part of compute_us in ops that started late because their device was busy with another.
  double contended_us = 0;
};
[[nodiscard]] BERTH_EXPORT PathShares path_shares(const StepTrace& trace);

/// A speed-up between the two shows as "1.00x" and is called none.
inline constexpr double kFaster = 1.0005;
inline constexpr double kSlower = 0.9995;
/// A gap below this is none: the bound and the runtime are sums in different orders.
inline constexpr double kReached = 5e-7;

/// The origin of a placement; empty policy = read from a file.
struct Origin {
  std::string model;
  std::string policy;
  std::map<std::string, OptionValue, std::less<>> options;
  std::uint64_t seed = 0;
  std::string settings;  ///< berth.settings/1 of model and problem; empty = not known
  /// Whose the placement is, if a policy that learns gives one that is not its own: "the start, list
  /// scheduling; the policy's own: 17.1 ms".
  std::string whose;
  std::string weights;      ///< LearnedFigures::weights_text, of a policy that learns
  std::string measured_on;  ///< what executed it, where its figures were measured; else empty
};

/// Figures that only a search has.
struct SearchFigures {
  std::int64_t evaluations = 0;
  std::int64_t simulated_ops = 0;
  double wall_s = 0;
  SearchEnd end = SearchEnd::done;
  std::vector<std::string> notes;  ///< those of the search
};

/// A plan of replicas (replicas.h), where the placement is of one.
struct ReplicaFigures {
  struct Replica {
    std::vector<DeviceId> devices;
    std::int64_t share = 0;  ///< samples
  };
  std::vector<Replica> replicas;
  std::string plan;  ///< a value of the setting "replicate"
  std::int64_t batch = 0;
  std::int64_t gradients = 0;       ///< tensors that are reduced
  std::int64_t gradient_bytes = 0;  ///< of the summed ones, each replica's
  std::int64_t gathered_bytes = 0;  ///< of the sparse ones, together
  std::int64_t buckets = 0;
  bool shares_updates = false;           ///< ReplicaPlan::share_updates
  bool adds_gradients = false;           ///< the loss is a sum over the samples
  std::vector<std::int32_t> replica_of;  ///< by op
  std::vector<bool> reduces;             ///< by op: it is of the reduction
  std::shared_ptr<const Graph> plain;    ///< the step of the whole batch
  std::shared_ptr<const Training> training;
};

/// The result of one placement.
struct BERTH_EXPORT Outcome {
  std::shared_ptr<const Problem> problem;
  Origin origin;
  Placement placement;
  Evaluation evaluation;
  StepTrace trace;
  /// Measured, not simulated. Bounds follow from costs, which bound no measurement: there is none
  /// then. What did not fit when it was executed has a simulated runtime.
  bool executed = false;
  SingleDevice best_single;
  LowerBound bound;                        ///< 0 us = none
  std::optional<Certificate> certificate;  ///< where a proof was asked for
  std::optional<SearchFigures> search;
  /// A policy that learns says here whose `placement` is, and the figures beside it.
  std::optional<LearnedFigures> learned;
  /// Notes for the user, each a sentence without a full stop: of the model and its costs, of
  /// the search and its fallbacks.
  std::vector<std::string> notes;
  const Tool* tool = nullptr;                      ///< the one whose rules the problem has
  std::shared_ptr<const ReplicaFigures> replicas;  ///< null = the step is not replicated

  /// The runtime of one step: measured if there is a measurement, else simulated.
  [[nodiscard]] double runtime_us() const;
  /// The whole of which busy_us is a share: the largest load (throughput) or the runtime.
  [[nodiscard]] double whole_us() const;
  /// Devices at work on average over the step.
  [[nodiscard]] double mean_busy_devices() const;
  /// objective / bound - 1; infinity if there is no bound.
  [[nodiscard]] double gap() const;
  /// The same above `us`.
  [[nodiscard]] double gap_to(double us) const;
  /// best single device / this; NaN where no single device holds everything.
  [[nodiscard]] double speed_up() const;
};

/// Simulates a placement that Problem::validate accepts.
[[nodiscard]] BERTH_EXPORT Outcome simulated_outcome(std::shared_ptr<const Problem> problem,
                                                     Origin origin, Placement placement);
/// A policy's answer with the trace of a simulated step: the best placement, for whoever uses it.
[[nodiscard]] BERTH_EXPORT Outcome searched_outcome(std::shared_ptr<const Problem> problem,
                                                    Origin origin, PlaceResult result);

/// The outcome of what is called the policy's, for comparisons: the own placement of one that learns.
/// Throws Error(unsupported) where it has none.
[[nodiscard]] BERTH_EXPORT Outcome own_outcome(Outcome outcome);

/// Facts that the steps of replicas show.
struct ReplicaTimes {
  std::vector<double> computed_us;  ///< by replica: when the last gradient of its own was there
  double reduced_us = 0;            ///< when the last bucket was there everywhere
  double waits_us = 0;  ///< of the critical path, in the reduction: its sums and transfers
};
/// The part of an outcome that replicas have.
[[nodiscard]] BERTH_EXPORT ReplicaTimes replica_times(const Outcome& outcome);
/// The replicas in words, a line each, then what the step waits for in their reduction; empty where there
/// are none.
[[nodiscard]] BERTH_EXPORT std::vector<std::string> replica_lines(const Outcome& outcome);

[[nodiscard]] BERTH_EXPORT std::vector<std::string> device_names(const Cluster& cluster,
                                                                 std::span<const DeviceId> devices);
/// Its name; "all" for kNoDevice, which receives what is sent to every device at once.
[[nodiscard]] BERTH_EXPORT std::string device_name(const Outcome& outcome, DeviceId device);

/// "device gpu:0 needs 15.2 GiB, 3.2 GiB more than it has; its peak is at op ...".
[[nodiscard]] BERTH_EXPORT std::string excess_text(const Outcome& outcome);

}  // namespace berth
