/// @file
/// Backends run placed graphs on real devices and measure them.
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
#include "berth/sdk/program.h"
#include "berth/simulator.h"

namespace berth {

/// An op that a backend cannot execute, and why.
struct Obstacle {
  OpId op;
  std::string reason;
};

struct SessionOptions {
  /// Seed of the parameters that the file does not hold.
  std::uint64_t seed = 0;
  /// Priorities in the devices' ready queues, by op (see priorities_us). Empty = those that the
  /// roofline model gives on the backend's cluster.
  std::vector<double> priorities_us;
  /// Inputs of the model by name (Program::input_names). Inputs that are not named are drawn with
  /// StepOptions::seed. An unknown name, or another type or shape than the input has, is an error.
  std::map<std::string, TensorContent, std::less<>> inputs;
};

struct StepOptions {
  /// Seed of drawn inputs and of everything the model's ops draw. The same seed gives the same
  /// values wherever the ops run.
  std::uint64_t seed = 0;
  bool outputs = false;  ///< whether the result holds the model's outputs
  bool trace = false;    ///< whether the result holds more than the runtime of the step
  /// Asked several times per second. True = give up the step with Error(cancelled). May be empty.
  std::function<bool()> should_stop;
};

struct StepResult {
  double runtime_us = 0;  ///< from the first op's start to the last event
  /// Peak memory per device: parameters, tensors, copies, and what ops allocated while they ran.
  std::vector<std::int64_t> peak_bytes;
  /// Compute time per device.
  std::vector<double> busy_us;
  /// The executed step, with times relative to its start; only with StepOptions::trace. Memory is
  /// sampled when ops end.
  StepTrace trace;
  std::vector<DeviceId> executed;  ///< by op, the device that executed it; only with `trace`
  /// Bytes allocated besides inputs and outputs, by op; only with `trace`. Right only if all
  /// ops ran on one device; otherwise it includes copies that arrived meanwhile.
  std::vector<std::int64_t> workspace_bytes;
  /// Indexed as Program::outputs; only with StepOptions::outputs. Texts and sequences cannot be
  /// returned: such an output has DType::opaque and no bytes.
  std::vector<TensorContent> outputs;
};

/// A program loaded on the devices of a backend. [thread-compatible]
class BERTH_EXPORT Session {
 public:
  virtual ~Session();

  [[nodiscard]] virtual const Program& program() const noexcept = 0;

  /// Runs one step. `placement` has a device of the backend's cluster for every op; co-located ops
  /// share one. The first step with a placement prepares for it (parameters, the plan of the step);
  /// later steps with the same placement do not.
  ///
  /// Throws Error(invalid_argument) for an invalid placement, Error(unsupported) naming an op that
  /// cannot run, Error(out_of_memory) naming device, op and limit, Error(cancelled), and
  /// Error(execution) for an op that fails, naming op, device and the shapes of its inputs. After
  /// any of them the session can run other steps.
  [[nodiscard]] virtual StepResult run(const Placement& placement, const StepOptions& options) = 0;

  /// The ops whose work others do where both are on one device.
  [[nodiscard]] virtual std::vector<Costs::Joined> joined() const { return {}; }

  /// Forgets the state that steps left behind (variables). The next step starts as the first did.
  virtual void reset() = 0;
};

/// A way to execute programs: a set of devices of this machine. [thread-compatible]
class BERTH_EXPORT Backend {
 public:
  virtual ~Backend();

  /// The devices and the links between them, with nominal figures. `profile` measures real ones.
  [[nodiscard]] virtual std::shared_ptr<const Cluster> cluster() const = 0;

  /// The machine in one line for people: processor, cores, memory, libraries.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Facts of this instance that make its steps differ from simulated ones, for people: such as cores
  /// that several devices share. Empty = none is known.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  /// Identifies everything that decides how fast ops and links are, including the options of this
  /// instance. Costs measured under one fingerprint hold wherever it is the same.
  [[nodiscard]] virtual std::string fingerprint() const = 0;

  /// The ops of `program` that this backend cannot execute, by id. Empty = it can execute all.
  [[nodiscard]] virtual std::vector<Obstacle> cannot_run(const Program& program) const = 0;

  /// Throws Error(unsupported) naming the first op that cannot be executed, and
  /// Error(invalid_argument) for invalid options. The backend must outlive the session.
  [[nodiscard]] virtual std::unique_ptr<Session> open(std::shared_ptr<const Program> program,
                                                      const SessionOptions& options) = 0;

  /// Measures transfers: the time from when `count` tensors of `bytes` each are on `src` until an op on
  /// `dst` that waits for nothing else has all of them. Requires src != dst and count >= 1.
  [[nodiscard]] virtual double transfers_us(DeviceId src, DeviceId dst, std::int64_t bytes,
                                            int count) = 0;
};

/// How a placement is measured: first steps that are dropped, then steps that count. The defaults,
/// ten steps of which the last five count, are those of the code released with Placeto (Addanki et
/// al., NeurIPS 2019).
struct MeasureOptions {
  int warm_up = 5;  ///< >= 0
  int repeats = 5;  ///< >= 1
  /// Steps go on after `repeats` until Measurement::interval_us is at most this share of the mean, in
  /// [0, 1), or for kMostRepeats steps. 0 = no more than `repeats`.
  double precision = 0;
  std::uint64_t seed = 0;
  bool trace = false;  ///< whether Measurement::step has its trace
  /// As StepOptions::should_stop.
  std::function<bool()> should_stop;
};

/// Steps that a precision may take, unless `repeats` asks for more.
inline constexpr int kMostRepeats = 1000;

/// A placement's measured runtime.
struct Measurement {
  double mean_us = 0;
  double median_us = 0;
  double deviation_us = 0;  ///< standard deviation of the sample (n - 1); 0 for one repeat
  /// Half of the 95 % confidence interval of the mean (Student's t; steps are taken to be independent);
  /// 0 for one repeat.
  double interval_us = 0;
  double min_us = 0;
  double max_us = 0;
  std::vector<double> steps_us;          ///< the steps that count
  std::vector<std::int64_t> peak_bytes;  ///< per device, the largest of the steps that count
  /// The step among the first `repeats` whose runtime is nearest to the median.
  StepResult step;
  /// Reasons to doubt the figures: other programs on the cores, a processor that was slowed down, steps
  /// that became slower or faster, a precision that was not reached. Linux alone tells the first two.
  std::vector<std::string> notes;
};

/// Runs and times steps. Throws what Session::run throws, and Error(invalid_argument) for invalid
/// options. Stopped after three steps that count or more, it gives the figures of these, and a note.
[[nodiscard]] BERTH_EXPORT Measurement measure(Session& session, const Placement& placement,
                                               const MeasureOptions& options = {});

struct ProfileOptions {
  int warm_up = 3;   ///< steps per device kind that are dropped, >= 0; they take at least 50 ms
  int repeats = 10;  ///< steps per device kind that count, >= 3
  std::uint64_t seed = 0;
  std::function<bool()> should_stop;
  /// Called with a short text on what is being measured. May be empty.
  std::function<void(const std::string&)> progress;
};

/// The measured figures that a simulator needs for a program on a backend.
struct Profile {
  std::shared_ptr<const Costs> costs;
  /// The backend's cluster with measured per-op overheads, bandwidths and latencies.
  std::shared_ptr<const Cluster> cluster;
  struct LinkSample {
    DeviceId src;
    DeviceId dst;
    std::int64_t bytes;
    double us;  ///< median
  };
  std::vector<LinkSample> link_samples;
  std::vector<std::string> notes;  ///< as Measurement::notes: other programs, a slowed processor
  bool stopped = false;            ///< whether fewer steps count than were asked for
};

/// Measures every op on one device of each kind (the median of the steps that count, without outliers, or
/// their lowest decile where other programs kept the cores busy), its workspace, the overhead per op of each
/// device, and every link. A link's bandwidth and latency are the best line through what its samples tell by
/// size. Throws what Session::run throws: a device that cannot hold the whole program cannot be profiled with
/// it. Stopped when three steps or more count on each kind, it gives the figures of these, with a note, and
/// takes few samples of each link.
[[nodiscard]] BERTH_EXPORT Profile profile(Backend& backend, Session& session,
                                           const ProfileOptions& options = {});

/// An output that differs between two steps, or an op that ran on another device than asked for.
struct Difference {
  std::string what;         ///< "output 'logits'", "op 'conv1'"
  std::string explanation;  ///< by how much, and where
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
    bool compared = true;           ///< false: a text or a sequence, which is not returned
  };
  std::vector<Output> outputs;
  DeviceId reference = kNoDevice;       ///< the device that ran all ops for comparison
  std::vector<Difference> differences;  ///< empty = verified
};

/// Runs one step on one device and one under `placement`, from the same state, and compares them:
/// every output must agree within the tolerances (NaN equals NaN), and every op must have run on
/// the device that was asked for.
[[nodiscard]] BERTH_EXPORT Verification verify(Backend& backend, Session& session,
                                               const Placement& placement,
                                               const VerifyOptions& options = {});

/// An evaluator that executes placements one after the other, for Objective::latency. A placement
/// that does not fit in a device's memory is not feasible and gets the runtime that the problem's
/// costs predict. `session` must have the problem's graph and cluster. Throws
/// Error(invalid_argument) otherwise, and Error(unsupported) for another objective.
[[nodiscard]] BERTH_EXPORT std::unique_ptr<Evaluator> make_measuring_evaluator(
    std::shared_ptr<const Problem> problem, std::shared_ptr<Session> session,
    const MeasureOptions& options = {});

}  // namespace berth
