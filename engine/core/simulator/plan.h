// A problem compiled for simulation: the data of a step, packed in the order in which it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/problem.h"
#include "berth/simulator.h"
#include "berth/support/index.h"

namespace berth::simulator {

/// An op by its position in the graph's topological order, so that neighbours in the graph are
/// neighbours in memory.
using Index = std::uint32_t;

/// One send of an op: a tensor, or the signal of its control edges.
/// `consumers[begin, end)` are waiting for it.
struct Message {
  double alone_us;  ///< duration of its transfer where all routes are alike
  std::uint32_t begin;
  std::uint32_t end;
};

inline constexpr std::uint32_t kNoMessage = 0xFFFF'FFFF;

struct OpRow {
  /// All edges that leave the op, in the order in which its end releases consumers on its device.
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t first_message;  ///< by output port, the control signal last
  std::uint32_t message_count;
};

/// The part of an op's state word that holds its device; the rest counts the inputs it waits for.
inline constexpr std::uint32_t kDeviceBits = 12;
inline constexpr std::uint32_t kDeviceMask = (1U << kDeviceBits) - 1;
inline constexpr std::uint32_t kOneInput = 1U << kDeviceBits;
inline constexpr std::uint32_t kMaxInputs = (1U << (32 - kDeviceBits)) - 1;

/// Immutable.
struct Plan {
  /// Throws Error where an op has more inputs than a state word counts, or where the sizes
  /// together overflow.
  explicit Plan(std::shared_ptr<const Problem> problem);

  /// Steps can read it for any placement.
  static constexpr bool kPlaced = false;

  [[nodiscard]] const Graph& graph() const noexcept { return problem->graph(); }
  [[nodiscard]] const Cluster& cluster() const noexcept { return problem->cluster(); }
  [[nodiscard]] Index index_of(OpId op) const noexcept { return indices[at(op)]; }
  /// Run durations by Index on `device`.
  [[nodiscard]] const double* durations_on(DeviceId device) const noexcept {
    return duration_us.data() + at(cluster().kind_of(device)) * ids.size();
  }
  /// The message of the op of `row` that carries `tensor`, which must have consumers.
  [[nodiscard]] std::uint32_t message_of(const OpRow& row, TensorId tensor) const noexcept;
  /// Time of one transfer of `message`, alone, between two devices.
  [[nodiscard]] double transfer_us(std::uint32_t message, DeviceId src,
                                   DeviceId dst) const noexcept {
    return uniform_routes ? messages[message].alone_us
                          : route_us(cluster().route(src, dst), message_bytes[message]);
  }
  [[nodiscard]] double route_us(const Route& route, std::int64_t bytes) const noexcept {
    // The released simulator has no latency and divides by bytes per microsecond. Another rounding
    // would break its ties.
    return placeto ? static_cast<double>(bytes) / (route.bandwidth_bytes_per_s / 1e6)
                   : route.transfer_us(bytes);
  }

  /// Channels that transfers wait for.
  [[nodiscard]] std::size_t channel_count() const noexcept {
    return placeto ? 0 : static_cast<std::size_t>(cluster().channel_count());
  }

  std::shared_ptr<const Problem> problem;
  std::uint32_t op_count = 0;
  std::uint32_t device_count = 0;
  bool placeto = false;
  /// Every pair of devices is connected alike and there are no channels; all routes or none are
  /// parallel.
  bool uniform_routes = true;
  bool some_per_link = false;  ///< some device has an engine per link (dataflow)

  std::vector<OpId> ids;         ///< Index -> op
  std::vector<Index> indices;    ///< op -> Index
  std::vector<OpRow> rows;       ///< by Index
  std::vector<Index> consumers;  ///< rows and messages point into it
  std::vector<Message> messages;
  /// Time an op holds its device, kind-major: its cost, with the device's per-op overhead in
  /// dataflow semantics (an op of cost 0 pays none).
  std::vector<double> duration_us;
  std::vector<std::uint32_t> waiting;  ///< state word at the start of a step, without the device
  std::vector<std::uint32_t> sends;    ///< transfers an op makes at most, at least 1
  std::uint64_t total_sends = 0;
  std::vector<Index> sources;  ///< ops without inputs, in the graph's order

  // --- read less often ---------------------------------------------------------------------
  std::vector<Index> message_producer;
  std::vector<TensorId> message_tensor;  ///< kNoTensor: a control signal
  std::vector<std::int64_t> message_bytes;
  std::vector<std::int64_t> output_bytes;  ///< by Index, all outputs
  std::vector<std::int64_t>
      resident_bytes;                     ///< by Index: parameters that are not shared, and inputs
  std::vector<std::int64_t> param_bytes;  ///< by Index, without shared parameters

  // --- placeto -----------------------------------------------------------------------------
  std::vector<std::uint32_t> name_rank;         ///< by Index
  std::vector<std::uint32_t> device_name_rank;  ///< by device

  // --- dataflow ----------------------------------------------------------------------------
  /// Ops of equal priority form a class, 0 the most urgent. A class owns a row of slots, one per
  /// op, handed out in the order in which its ops become ready: the lowest slot in a device's
  /// queue is the op of the highest priority and, among equals, the one ready first.
  std::vector<std::uint32_t> priority_class;  ///< by Index
  std::vector<std::uint32_t> first_slot;      ///< by class
  /// Positions in `consumers` of the data edges of positive size that an op reads.
  std::vector<std::uint32_t> input_begin;
  std::vector<std::uint32_t> input_edges;
  std::vector<std::int64_t> workspace_bytes;  ///< by Index
  std::vector<std::int64_t> taken_bytes;      ///< by Index: outputs that its start takes
  std::vector<std::int64_t> unread_bytes;     ///< by Index: those that its end frees
  std::vector<std::int64_t> home_bytes;       ///< by message: what its last holder at home frees
  std::vector<Index> views;                   ///< Problem::is_view
  // The next four have an entry by Index where there are views, else none.
  std::vector<std::uint8_t> is_view;
  std::vector<std::uint8_t> is_returned;  ///< a view of which the step returns an output
  /// Count of what keeps a view's inputs beyond its end: outputs with readers, and one for all returned.
  std::vector<std::uint32_t> kept_by_view;
  /// The message that a view writes over, which is all that it keeps; kNoMessage: it keeps all that it reads.
  std::vector<std::uint32_t> overwritten;
  std::vector<std::uint32_t> works_in;  ///< by device: Cluster::works_in
  bool has_signals = false;             ///< some edge is a control edge
  /// Whether what an op reads by this position in `consumers` stays until a view's outputs are gone.
  [[nodiscard]] bool keeps(Index view, std::uint32_t edge) const noexcept {
    const std::uint32_t m = overwritten[view];
    return m == kNoMessage || (messages[m].begin <= edge && edge < messages[m].end);
  }
  /// Whether transfers between the devices hold nothing.
  [[nodiscard]] bool is_parallel(std::uint32_t src, std::uint32_t dst) const noexcept {
    return cluster().has_parallel_routes() &&
           cluster().route(static_cast<DeviceId>(src), static_cast<DeviceId>(dst)).parallel;
  }
  /// Outgoing engines (dataflow), by sender and then receiver: as many as devices, with the devices'
  /// numbers, unless some have one per link.
  std::uint32_t engine_count = 0;
  [[nodiscard]] bool has_engine_per_link(std::uint32_t device) const noexcept {
    return some_per_link && first_engine[device + 1] - first_engine[device] > 1;
  }
  [[nodiscard]] std::uint32_t engine(std::uint32_t src, std::uint32_t dst) const noexcept {
    if (!some_per_link) return src;
    return first_engine[src] + (has_engine_per_link(src) ? dst - (dst > src ? 1U : 0U) : 0U);
  }
  [[nodiscard]] std::uint32_t sender(std::uint32_t engine) const noexcept {
    return some_per_link ? engine_sender[engine] : engine;
  }
  std::vector<std::uint32_t> first_engine;  ///< by device, and one more; empty unless some_per_link
  std::vector<std::uint32_t> engine_sender;  ///< by engine; empty likewise

 private:
  [[nodiscard]] bool consistent() const;
  void number_ops();
  void compile_durations();
  void compile_names();
  void compile_priorities();
  void compile_messages();
  void add_message(Index producer, TensorId tensor);
  void compile_routes();
  void number_engines();
  void compile_memory();
  void compile_lifetimes();
  void compile_view(Index i);
};

}  // namespace berth::simulator

namespace berth {

struct Simulator::Plan : simulator::Plan {
  using simulator::Plan::Plan;
};

}  // namespace berth
