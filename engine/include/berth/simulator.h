// Runs one step of a placed graph in simulated time.
//
// The rules of both semantics are in DESIGN terms:
//  placeto   the published simulator of Placeto (PAPERS A6, rules as settled there): one compute
//            stream and one outgoing bus per device, a pause after every op and every transfer, one
//            broadcast per output. Where links differ, a broadcast moves at its slowest receiver's
//            bandwidth; latencies and per-op overheads do not exist there.
//  dataflow  an asynchronous executor: a compute queue per device served by (longest path to a
//            sink, ready time), a transfer per receiving device that occupies the sender's outgoing
//            engine, the receiver's incoming engine and every shared channel on its way. An op
//            holds its device for its cost plus the device's per-op overhead (none if it costs 0).
//            A control edge across devices costs the route's latency and occupies nothing.
// The order of events at one instant, and who goes first where transfers contend, are stated in
// engine/simulator/{placeto,dataflow,contention}.h; what counts as memory in memory.h there.
//
// The objective `throughput` asks for no step: a device's load is the time of its ops (as above),
// of every distinct tensor it receives, and of every output it sends, once, over the slowest of its
// receivers' routes. A host device pays no transfers, and control edges cost nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/types.h"

namespace berth {

/// The scheduling policy of a device's compute queue in `dataflow` semantics, which an executor can
/// follow too: among the ready ops the one with the largest value runs first; among equals the one
/// that was ready first. The value is the longest path from the op to a sink, both included: each
/// op at its cost on the fastest kind, per-op overhead included, transfers left out. By op.
[[nodiscard]] BERTH_EXPORT std::vector<double> priorities_us(const Problem& problem);

/// What one evaluation of a placement gives.
struct Evaluation {
  /// What the problem asks to minimise: runtime_us (latency) or max_load_us (throughput).
  double objective_us = 0;
  double runtime_us = 0;   ///< of one step; 0 where the objective is throughput
  double max_load_us = 0;  ///< the largest load of a device; 0 where the objective is latency
  /// Every device's peak is within its memory (Problem::memory_bytes), and no two ops that are to
  /// be apart share a device.
  bool feasible = true;
  /// The device that exceeds its memory by most, and by how much; kNoDevice and 0 where feasible.
  /// With an excess of 0: a device shared by ops that are to be apart.
  DeviceId worst_device = kNoDevice;
  std::int64_t excess_bytes = 0;
  /// Peak memory per device. For throughput: its parameter bytes.
  std::vector<std::int64_t> peak_bytes;
  /// Compute time per device (for throughput: its whole load, transfers included).
  std::vector<double> busy_us;
};

/// One tensor on its way. In `placeto` semantics dst is kNoDevice: a broadcast to all receivers.
/// A control edge across devices appears with tensor kNoTensor (dataflow only).
struct Transfer {
  TensorId tensor;
  OpId producer;
  DeviceId src;
  DeviceId dst;
  std::int64_t bytes;
  double queued_us;
  double start_us;
  double end_us;  ///< arrival at the receiver; without the bus's pause
};

/// One link of the chain the step waited for, in time order.
struct CriticalStep {
  OpId op;                ///< kNoOp: this is a transfer
  std::int32_t transfer;  ///< index into StepTrace::transfers; -1: this is an op
  double start_us;
  double end_us;
  /// Why it started when it did.
  enum class Reason {
    start,        ///< nothing before it
    input,        ///< its last input (or the tensor to send) was ready just then
    device_busy,  ///< the device was running the previous step of this path
    link_busy,    ///< an engine, a bus or a channel was carrying the previous step of this path
  } reason;
};

struct DeviceUsage {
  double busy_us = 0;  ///< running ops, per-op overhead included, pauses excluded
  double idle_us = 0;  ///< runtime - busy
  std::int64_t peak_bytes = 0;
  std::int64_t param_bytes = 0;  ///< resident parameters, part of the peak (0 in placeto semantics)
  double peak_us = 0;            ///< when the peak is first reached
  OpId peak_op = kNoOp;          ///< the op whose start (or whose input's arrival) made the peak
};

struct LinkUsage {
  DeviceId src = kNoDevice;
  DeviceId dst = kNoDevice;  ///< kNoDevice: the bus of `src` (placeto)
  std::int64_t bytes = 0;
  std::int32_t transfers = 0;
  double busy_us = 0;
};

/// What a device holds from `us` on, until the device's next sample.
struct MemorySample {
  DeviceId device;
  double us;
  std::int64_t bytes;
};

/// Everything about one simulated step.
struct StepTrace {
  double runtime_us = 0;
  std::vector<double> op_start_us;  ///< by op
  std::vector<double> op_end_us;    ///< by op
  std::vector<Transfer> transfers;  ///< by start time, then src
  std::vector<DeviceUsage> devices;
  std::vector<LinkUsage> links;      ///< only those used; by (src, dst)
  std::vector<MemorySample> memory;  ///< every change, by time
  std::vector<CriticalStep> critical_path;
};

/// A simulator compiled for one problem. [thread-safe: const; one Workspace per thread]
///
/// A step takes time in proportion to ops and edges, and allocates nothing once its workspace is
/// warm.
class BERTH_EXPORT Simulator {
 public:
  /// Throws Error(unsupported) for an op with more than 2^20 - 1 inputs, Error(invalid_graph) where
  /// the sizes of all tensors and parameters together overflow.
  explicit Simulator(std::shared_ptr<const Problem> problem);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  /// Scratch memory of one thread; after the first use with a problem nothing is allocated. May be
  /// used with any simulator in turn.
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

  /// The three below take a device per op and do not validate it (Problem::validate does): an
  /// invalid one is undefined behaviour.
  ///
  /// Runtime of one step alone, the fastest call.
  [[nodiscard]] double runtime_us(std::span<const DeviceId> placement, Workspace& workspace) const;
  /// Runtime or load, memory and feasibility; `out`'s vectors are reused.
  void evaluate(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out) const;
  /// The same, and when each op starts: `op_start_us` has room for every op (all 0 where the
  /// objective is throughput, which runs no step).
  void evaluate(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out,
                std::span<double> op_start_us) const;
  /// The whole story of one step, by the same rules (latency semantics whatever the objective).
  [[nodiscard]] StepTrace trace(std::span<const DeviceId> placement) const;

 private:
  friend class MoveEvaluator;
  friend class SuccessiveSteps;

  template <bool starts>
  void evaluate_step(std::span<const DeviceId> placement, Workspace& workspace, Evaluation& out,
                     std::span<double> op_start_us) const;

  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace berth
