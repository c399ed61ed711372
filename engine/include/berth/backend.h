// Runs placed graphs on real devices, and measures them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/problem.h"
#include "berth/program.h"
#include "berth/simulator.h"

namespace berth {

/// An op that a backend cannot execute, and why.
struct Obstacle {
  OpId op;
  std::string reason;
};

struct SessionOptions {
  /// Draws the parameters that the file does not carry.
  std::uint64_t seed = 0;
  /// By op: the scheduling policy of the devices' ready queues (see priorities_us). Empty = those
  /// of the roofline model on the backend's cluster.
  std::vector<double> priorities_us;
  /// By name (Program::input_names): what the model is fed. Inputs that are not named are drawn, by
  /// StepOptions::seed. A name the model does not have, or another type or shape than its input's,
  /// is an error.
  std::map<std::string, TensorContent, std::less<>> inputs;
};

struct StepOptions {
  /// Draws inputs, and whatever the ops of the model draw: same seed, same values, wherever the ops
  /// run.
  std::uint64_t seed = 0;
  bool outputs = false;  ///< whether the result holds the model's outputs
  bool trace = false;    ///< whether the result holds more than the runtime of the step
  /// Asked several times a second; true = the step is given up with Error(cancelled). May be empty.
  std::function<bool()> should_stop;
};

struct StepResult {
  double runtime_us = 0;  ///< from the first op's start to the last event
  /// The most that each device held at once, in bytes: parameters, tensors, copies, and what ops
  /// allocated while they ran.
  std::vector<std::int64_t> peak_bytes;
  /// Compute time per device.
  std::vector<double> busy_us;
  /// The step as it was executed, times from its start on; only with StepOptions::trace. Memory is
  /// sampled at the ends of ops.
  StepTrace trace;
  std::vector<DeviceId> executed;  ///< by op, the device that executed it; only with `trace`
  /// By op: what it allocated beyond its inputs and outputs; only with `trace`, and only right
  /// where all ops were on one device: elsewhere arriving copies count too.
  std::vector<std::int64_t> workspace_bytes;
  /// By position in Program::outputs; only with StepOptions::outputs. Text and sequences cannot be
  /// returned: such an output has DType::opaque and no bytes.
  std::vector<TensorContent> outputs;
};

/// A program that is loaded on the devices of a backend. [thread-compatible]
class BERTH_EXPORT Session {
 public:
  virtual ~Session();

  [[nodiscard]] virtual const Program& program() const noexcept = 0;

  /// One step. The first with a placement prepares it (parameters, the plan of the step); further
  /// steps with the same one do not. `placement` has a device of the backend's cluster per op, and
  /// co-located ops share one.
  ///
  /// Throws Error(invalid_argument) for another placement, Error(unsupported) naming an op that
  /// cannot run, Error(out_of_memory) naming device, op and limit, Error(cancelled); and
  /// Error(execution) where an op fails, naming op, device and the shapes of its inputs. The
  /// session can go on with other steps after any of them.
  [[nodiscard]] virtual StepResult run(const Placement& placement, const StepOptions& options) = 0;

  /// Forgets what steps have left behind (variables): the next one starts as the first did.
  virtual void reset() = 0;
};

/// A way to execute programs: some devices of this machine. [thread-compatible]
class BERTH_EXPORT Backend {
 public:
  virtual ~Backend();

  /// Its devices and the links between them. Their figures are nominal: profiling gives real ones.
  [[nodiscard]] virtual std::shared_ptr<const Cluster> cluster() const = 0;

  /// The machine in one line, for people: processor, cores, memory, libraries.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Costs measured under one fingerprint hold under an equal one: everything in it that decides
  /// how fast ops and links are, this instance's options included.
  [[nodiscard]] virtual std::string fingerprint() const = 0;

  /// The ops of `program` that it cannot execute, by id. Empty = it can execute all of it.
  [[nodiscard]] virtual std::vector<Obstacle> cannot_run(const Program& program) const = 0;

  /// Throws Error(unsupported) naming the first op that it cannot execute, Error(invalid_argument)
  /// for options. The backend must outlive the session.
  [[nodiscard]] virtual std::unique_ptr<Session> open(std::shared_ptr<const Program> program,
                                                      const SessionOptions& options) = 0;

  /// The time from the moment when a tensor of `bytes` is on `src` until an op on `dst` that waits
  /// for nothing else has it: one sample. src != dst.
  [[nodiscard]] virtual double transfer_us(DeviceId src, DeviceId dst, std::int64_t bytes) = 0;
};

/// How a placement is measured: steps whose runtimes are dropped, then steps that count (as the
/// papers do, PAPERS A7: ten steps, the mean of the last five).
struct MeasureOptions {
  int warm_up = 5;  ///< >= 0
  int repeats = 5;  ///< >= 1
  std::uint64_t seed = 0;
  bool trace = false;  ///< whether Measurement::step has its trace
  /// As StepOptions::should_stop.
  std::function<bool()> should_stop;
};

/// A placement's runtime as measured.
struct Measurement {
  double mean_us = 0;
  double median_us = 0;
  double deviation_us = 0;  ///< of the sample (n - 1); 0 for one repeat
  double min_us = 0;
  double max_us = 0;
  std::vector<double> steps_us;          ///< those that count
  std::vector<std::int64_t> peak_bytes;  ///< per device, the largest of the steps that count
  /// The step, of those that count, whose runtime is nearest to the median.
  StepResult step;
};

/// Throws what Session::run throws, Error(invalid_argument) for options.
[[nodiscard]] BERTH_EXPORT Measurement measure(Session& session, const Placement& placement,
                                               const MeasureOptions& options = {});

struct ProfileOptions {
  int warm_up = 3;   ///< steps per device kind that are dropped, >= 0; at least 50 ms of them
  int repeats = 10;  ///< steps per device kind that count, >= 3
  std::uint64_t seed = 0;
  std::function<bool()> should_stop;
  /// Where it stands, in a short text. May be empty.
  std::function<void(const std::string&)> progress;
};

/// What a simulator needs to know of a program on a backend.
struct Profile {
  std::shared_ptr<const Costs> costs;
  /// The backend's, with the per-op overhead, bandwidths and latencies that were measured.
  std::shared_ptr<const Cluster> cluster;
  struct LinkSample {
    DeviceId src;
    DeviceId dst;
    std::int64_t bytes;
    double us;  ///< median
  };
  std::vector<LinkSample> link_samples;
};

/// Measures every op on one device of each kind (the median of the steps that count, outliers
/// dropped), the workspace it takes, each device's overhead per op, and each link: the line through
/// the medians of its samples by size that fits them best. Throws what Session::run throws: a
/// device that cannot hold the whole program cannot be profiled with it.
[[nodiscard]] BERTH_EXPORT Profile profile(Backend& backend, Session& session,
                                           const ProfileOptions& options = {});

/// One output of a program that differs between two steps, or an op that ran elsewhere.
struct Difference {
  std::string what;         ///< "output 'logits'", "op 'conv1'"
  std::string explanation;  ///< by how much, where
};

struct VerifyOptions {
  double relative_tolerance = 1e-4;
  double absolute_tolerance = 1e-5;
  std::uint64_t seed = 0;
  std::function<bool()> should_stop;
};

struct Verification {
  struct Output {
    std::string name;
    std::int64_t elements = 0;
    double largest_difference = 0;  ///< absolute
    bool compared = true;           ///< false: text or a sequence, which is not returned
  };
  std::vector<Output> outputs;
  DeviceId reference = kNoDevice;       ///< the device that ran everything for comparison
  std::vector<Difference> differences;  ///< empty = verified
};

/// Runs one step on one device and one under `placement`, from the same state, and compares: every
/// output within the tolerances (NaN equals NaN), every op on the device that was asked for.
[[nodiscard]] BERTH_EXPORT Verification verify(Backend& backend, Session& session,
                                               const Placement& placement,
                                               const VerifyOptions& options = {});

/// Evaluates placements by executing them, one after the other (Objective::latency only). What does
/// not fit in a device's memory is not feasible and has the runtime that the problem's costs
/// predict. `session` is of the problem's graph and cluster. Throws Error(invalid_argument),
/// Error(unsupported) for another objective.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_measuring_evaluator(
    std::shared_ptr<const Problem> problem, std::shared_ptr<Session> session,
    const MeasureOptions& options = {});

}  // namespace berth
