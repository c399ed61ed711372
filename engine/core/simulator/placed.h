// A plan compiled for one placement: an event need not look up which consumers are on which device.
// That pays if steps of nearly the same placement are simulated many times (moves/incremental_step.h).
// A single step is over before it would have been compiled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/plan.h"

namespace berth::simulator {

/// One op's send to one receiver (dataflow).
struct Parcel {
  double duration_us;  ///< of its transfer, alone; of a control signal, the latency
  std::uint32_t message;
  std::uint32_t receiver;
  std::uint32_t begin;  ///< `consumers[begin, end)` are waiting for it
  std::uint32_t end;
};

/// The part of a plan that steps read, under the same names, for one placement:
///  rows       [begin, end): the consumers on the op's own device; first_message, message_count:
///             what it sends, in this order: in `sends` (placeto) or `parcels` (dataflow)
///  messages   [begin, end): the consumers elsewhere; alone_us: the broadcast's time (placeto)
/// An op's entries stay within their room in the plan, so that a single op can be rewired.
struct Placed {
  static constexpr bool kPlaced = true;

  /// `word` has the devices (kDeviceMask), by Index.
  void compile(const Plan& plan, std::span<const std::uint32_t> word);
  /// After the device of `op`, or of a consumer of it, has changed.
  void wire(const Plan& plan, std::span<const std::uint32_t> word, Index op);
  /// The same, and whether `op` now sends something else than before: other messages, in another
  /// order, to other receivers (dataflow), or for another time (placeto).
  bool rewire(const Plan& plan, std::span<const std::uint32_t> word, Index op);
  /// The number under which `op` sends `tensor` to an op of `receiver`, which it does.
  [[nodiscard]] std::uint32_t sent(const Plan& plan, Index op, TensorId tensor,
                                   std::uint32_t receiver) const;

  std::vector<OpRow> rows;       ///< by Index
  std::vector<Index> consumers;  ///< rows, messages and parcels point into it
  std::vector<Message> messages;
  std::vector<std::uint32_t> sends;
  std::vector<Parcel> parcels;

 private:
  void wire_placeto(const Plan& plan, std::span<const std::uint32_t> word, Index op);
  void wire_dataflow(const Plan& plan, std::span<const std::uint32_t> word, Index op);
  /// The sends of an op, in order.
  struct Sent {
    std::uint32_t message;
    std::uint32_t receiver;  ///< dataflow
    double duration_us;

    bool operator==(const Sent&) const = default;
  };
  void list_sent(const Plan& plan, Index op, std::vector<Sent>& to) const;

  std::vector<Sent> sent_before_;
  std::vector<Sent> sent_after_;
};

}  // namespace berth::simulator
