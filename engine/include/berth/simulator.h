/// @file
/// Runs one step of a placed graph in simulated time.
///
/// There are two sets of rules (Semantics).
///
/// **placeto** follows the simulator released with Placeto (Addanki et al., NeurIPS 2019). Each
/// device has one compute stream and one outgoing bus. It pauses after every op, and the bus after
/// every transfer. Each output is sent once, as a broadcast to all receivers. If the links to the
/// receivers differ, the broadcast moves at the lowest bandwidth. Latencies and per-op overheads do
/// not exist.
///
/// **dataflow** models an asynchronous executor.
///  - Each device has a compute queue. The op with the longest path to a sink runs first, and what
///    frees memory behind it (priorities_us); among equals, the one that became ready first. An op
///    holds its device for its cost plus the device's per-op overhead (none if the cost is 0).
///  - A tensor is sent once per receiving device. The transfer occupies the sender's outgoing
///    engine, the receiver's incoming engine, and every shared channel on its way. A device has one
///    engine of each sort, or one per link (Device::engine_per_link).
///  - A control edge across devices takes the route's latency and occupies nothing.
///
/// The order of simultaneous events and of competing transfers is stated in the simulator's own
/// headers (placeto.h, dataflow.h and contention.h in engine/simulator), and what counts as memory
/// in memory.h there.
///
/// **Throughput.** The objective `throughput` simulates no step. The load of a device is the time
/// of its ops (as above), of every distinct tensor it receives, and of every output it sends. An
/// output counts once, over the slowest of its receivers' routes. A host device pays for transfers
/// with other hosts alone, and control edges cost nothing. The load of a channel is the time of every
/// transfer over it (dataflow). The largest of all loads sets the pace. Memory holds the parameters, and for every step in
/// flight (ProblemOptions::in_flight) what the device's part of a step takes at the most when it
/// runs in the graph's order, with all that it receives there from the start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/support/score.h"
#include "berth/types.h"

namespace berth {

/// Priorities of the ops in a device's compute queue under `dataflow` semantics, by op. Executors
/// can use them too. Among the ready ops, the one with the largest value runs first; among equals,
/// the one that became ready first. The value is the length of the longest path from the op to a
/// sink, both included. Each op counts with its cost on its fastest kind and the per-op overhead;
/// transfers do not count. An op that alone reads what another made, and after which no more memory
/// is in use than before (or later on in a chain of such ops), comes right after the other one: its
/// value is the next larger one. So branches that are alike are computed one after another, and
/// only their results wait.
[[nodiscard]] BERTH_EXPORT std::vector<double> priorities_us(const Problem& problem);

/// The result of evaluating one placement.
struct Evaluation {
  /// The figure to minimise: runtime_us (latency) or max_load_us (throughput).
  double objective_us = 0;
  double runtime_us = 0;   ///< of one step; 0 for the objective throughput
  double max_load_us = 0;  ///< of a device or channel; 0 for the objective latency
  /// True if the peak of every device is within its memory (Problem::memory_bytes) and no two ops
  /// that must be apart share a device.
  bool feasible = true;
  /// The device that exceeds its memory by most, and by how much; kNoDevice and 0 if feasible. With
  /// an excess of 0, it is a device shared by ops that must be apart.
  DeviceId worst_device = kNoDevice;
  std::int64_t excess_bytes = 0;
  /// Peak memory per device; for the objective throughput, its parameters, and for every step in
  /// flight what its part of a step takes at the most.
  std::vector<std::int64_t> peak_bytes;
  /// Compute time per device; for the objective throughput, its whole load, transfers included.
  std::vector<double> busy_us;

  [[nodiscard]] Score score() const noexcept { return {objective_us, excess_bytes}; }
};

/// Whether `a` ranks before `b`: feasible ones first, then by score.
[[nodiscard]] inline bool better(const Evaluation& a, const Evaluation& b) noexcept {
  return a.feasible != b.feasible ? a.feasible : better(a.score(), b.score());
}

/// One tensor in transit. In `placeto` semantics dst is kNoDevice: a broadcast to all receivers. In
/// `dataflow` semantics a control edge across devices is a transfer with tensor kNoTensor.
struct Transfer {
  TensorId tensor;
  OpId producer;
  DeviceId src;
  DeviceId dst;
  std::int64_t bytes;
  double queued_us;
  double start_us;
  double end_us;  ///< arrival at the receiver, without the pause of the bus
};

/// One element of the chain that the step waited for, in order of time.
struct CriticalStep {
  OpId op;                ///< kNoOp: the element is a transfer
  std::int32_t transfer;  ///< index into StepTrace::transfers; -1: the element is an op
  double start_us;
  double end_us;
  /// Why it started when it did.
  enum class Reason {
    start,        ///< nothing before it
    input,        ///< its last input (or the tensor to send) became ready just then
    device_busy,  ///< the device was busy with the previous element
    link_busy,    ///< an engine, a bus or a channel was busy with the previous element
  } reason;
};

struct DeviceUsage {
  double busy_us = 0;  ///< time running ops, with per-op overhead, without pauses
  double idle_us = 0;  ///< runtime - busy
  std::int64_t peak_bytes = 0;
  std::int64_t param_bytes = 0;  ///< resident parameters, part of the peak; 0 in placeto semantics
  double peak_us = 0;            ///< when the peak is first reached
  OpId peak_op = kNoOp;          ///< the op whose start, or the arrival of whose input, made it
};

struct LinkUsage {
  DeviceId src = kNoDevice;
  DeviceId dst = kNoDevice;  ///< kNoDevice: the bus of `src` (placeto)
  std::int64_t bytes = 0;
  std::int32_t transfers = 0;
  double busy_us = 0;
};

/// Memory that a device holds from the time `us` until its next sample.
struct MemorySample {
  DeviceId device;
  double us;
  std::int64_t bytes;
};

/// Everything that happened in one simulated step.
struct StepTrace {
  double runtime_us = 0;
  std::vector<double> op_start_us;  ///< by op
  std::vector<double> op_end_us;    ///< by op
  std::vector<Transfer> transfers;  ///< by start time, then src
  std::vector<DeviceUsage> devices;
  std::vector<LinkUsage> links;      ///< only those that were used; by (src, dst)
  std::vector<MemorySample> memory;  ///< every change, by time
  std::vector<CriticalStep> critical_path;
};

/// A simulator compiled for one problem. [thread-safe: const members, with one Workspace per
/// thread]
///
/// A step takes time in proportion to ops and edges. With a workspace that has been used for the
/// problem before, nothing is allocated.
class BERTH_EXPORT Simulator {
 public:
  /// Throws Error(unsupported) for an op with more than 2^20 - 1 inputs, and Error(invalid_graph)
  /// if the total size of all tensors and parameters overflows.
  explicit Simulator(std::shared_ptr<const Problem> problem);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  /// Scratch memory of one thread. It may be used with different simulators in turn.
  /// [thread-compatible]
  class BERTH_EXPORT Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;

   private:
    friend class Simulator;
    struct State;
    std::unique_ptr<State> state_;
  };

  [[nodiscard]] const Problem& problem() const noexcept;

  /// The compiled problem, which the engine's other ways of running steps share. Opaque outside.
  struct Plan;
  [[nodiscard]] const Plan& plan() const noexcept { return *plan_; }

  /// The next three functions take a device per op and do not validate it; an invalid placement is
  /// undefined behaviour (see Problem::validate).
  ///
  /// The runtime of one step only. The fastest call.
  [[nodiscard]] double runtime_us(std::span<const DeviceId> placement, Workspace& workspace) const;
  /// Runtime or load, memory and feasibility. The vectors of `out` are reused.
  void evaluate(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out) const;
  /// The same, and when each op starts. `op_start_us` has one entry per op; all are 0 for the
  /// objective throughput, which simulates no step.
  void evaluate(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out,
                std::span<double> op_start_us) const;
  /// Everything about one step by the same rules, whatever the objective.
  [[nodiscard]] StepTrace trace(std::span<const DeviceId> placement) const;

 private:
  template <bool starts>
  void evaluate_step(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out,
                     std::span<double> op_start_us) const;

  std::unique_ptr<const Plan> plan_;
};

}  // namespace berth
