// An evaluated placement with everything that is told of it, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "berth/evaluator.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth::command {

/// What the step waited for, along its critical path. The three parts add up to the runtime.
struct PathShares {
  double compute_us = 0;
  double transfer_us = 0;
  double pause_us = 0;  ///< the rest: overheads of the semantics between two steps of the path
  /// The part of compute_us in ops that started late because their device was busy with another.
  double contended_us = 0;
};
[[nodiscard]] PathShares path_shares(const StepTrace& trace);

/// A speed-up between the two shows as "1.00x" and is called none.
inline constexpr double kFaster = 1.0005;
inline constexpr double kSlower = 0.9995;

/// Where a placement came from; empty policy = read from a file.
struct Origin {
  std::string model;
  std::string policy;
  std::map<std::string, OptionValue, std::less<>> options;
  std::uint64_t seed = 0;
};

/// What a placement file says of its making; `file` is its content, which has been read as a
/// placement before.
[[nodiscard]] Origin stored_origin(const std::string& model, const std::string& file);

/// What only a search knows.
struct SearchFigures {
  std::int64_t evaluations = 0;
  double wall_s = 0;
  SearchEnd end = SearchEnd::done;
  std::vector<std::string> notes;
};

/// The result of one placement.
struct Outcome {
  std::shared_ptr<const Problem> problem;
  Origin origin;
  Placement placement;
  Evaluation evaluation;
  StepTrace trace;
  /// Measured, not simulated. Bounds follow from costs, which bound no measurement: there is none
  /// then. What did not fit when it was executed has a simulated runtime.
  bool executed = false;
  SingleDevice best_single;
  LowerBound bound;  ///< 0 us = none
  std::optional<SearchFigures> search;

  /// Of one step: as it was measured, else as it was simulated.
  [[nodiscard]] double runtime_us() const;
  /// What a device's busy_us is a share of: the largest load (throughput) or the runtime.
  [[nodiscard]] double whole_us() const;
  /// Devices at work on average over the step.
  [[nodiscard]] double mean_busy_devices() const;
  /// objective / bound - 1; infinity if there is no bound.
  [[nodiscard]] double gap() const;
  /// Another bound is known: a larger one replaces what there is, and may prove the placement.
  void add_bound(const LowerBound& known);
  /// best single device / this; NaN where no single device holds everything.
  [[nodiscard]] double speed_up() const;
};

/// Simulates a placement that Problem::validate accepts.
[[nodiscard]] Outcome simulated_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                                        Placement placement);
/// What a policy returned, with the trace of a simulated step.
[[nodiscard]] Outcome searched_outcome(std::shared_ptr<const Problem> problem, Origin origin,
                                       PlaceResult result);

/// Its name; "all" for kNoDevice, which receives what is sent to every device at once.
[[nodiscard]] std::string device_name(const Outcome& outcome, DeviceId device);

/// "device gpu:0 needs 15.2 GiB, 3.2 GiB more than it has; its peak is at op ...".
[[nodiscard]] std::string excess_text(const Outcome& outcome);

/// The object that `--json` prints.
[[nodiscard]] nlohmann::ordered_json outcome_json(const Outcome& outcome);
/// One line of JSON text; invalid UTF-8 of names is replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

/// Model (by its file), machine and how the costs were made, in one line.
[[nodiscard]] std::string problem_text(const std::string& model, const Problem& problem);
/// Runtime, bound, comparison with one device, devices, transfers, and why.
[[nodiscard]] std::string outcome_text(const Outcome& outcome);
/// What the step waited for and what would help, in two lines.
[[nodiscard]] std::string why_text(const Outcome& outcome);
/// Links by the time they carried something, busiest first.
[[nodiscard]] std::string links_text(const Outcome& outcome);
/// The ops and transfers of the critical path, longest first, fifteen at most.
[[nodiscard]] std::string critical_path_text(const Outcome& outcome);

}  // namespace berth::command
