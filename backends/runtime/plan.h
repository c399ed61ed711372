// A placed program as the executor runs it: everything that does not change from step to step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/program.h"
#include "berth/support/rows.h"

namespace berth::runtime {

inline constexpr std::uint32_t kNone = 0xFFFF'FFFF;

/// Ops, slots and messages have their own dense indices. Those of one device are adjacent, so that
/// the workers of two devices do not write to the same cache lines.
///
/// A slot holds a tensor on one device: at home, where it is made, or as a copy on a device that
/// received it. An op reads and writes slots, and reads parameters of the program.
struct Plan {
  /// The source of one input of an op.
  struct Source {
    std::uint32_t slot = kNone;      ///< or
    TensorId parameter = kNoTensor;  ///< or neither: an omitted input
  };
  /// A message crosses from one device to another: a tensor, or a control signal (kNoTensor), which
  /// needs no engine.
  struct Message {
    TensorId tensor;
    std::uint32_t producer;  ///< op index
    DeviceId src;
    DeviceId dst;
    std::uint32_t src_slot;  ///< kNone for a signal
    std::uint32_t dst_slot;
  };

  std::vector<DeviceId> device_of;      ///< by OpId: the placement
  std::vector<OpId> op;                 ///< by op index; constants of the step have none
  std::vector<std::uint32_t> index;     ///< by OpId, of those that have one
  std::vector<std::uint32_t> first_op;  ///< by device, and the end of the last

  std::vector<double> priority_us;     ///< by op index
  std::vector<std::uint32_t> pending;  ///< by op index: releases until it is ready
  /// Indexed by op and by input position, captured ones behind, stored_parameters last.
  Rows<Source> inputs;
  std::vector<std::uint32_t> overwritten;  ///< by op index: the input that it writes over; kNone
  Rows<std::uint32_t> outputs;   ///< by op index, by output position: slot; kNone = unwanted
  Rows<std::uint32_t> released;  ///< by op index: ops of its device that wait for it
  Rows<std::uint32_t> sent;      ///< by op index: its messages, in the order of queueing
  Rows<std::uint32_t> held;      ///< by op index: the slots it reads, each once
  Rows<std::uint32_t> released_on_arrival;  ///< by message: ops of its receiver

  std::vector<Message> messages;
  std::vector<std::uint32_t> incoming;   ///< by device: how many messages it receives
  std::vector<std::uint32_t> holders;    ///< by slot: local readers and sends
  std::vector<std::uint32_t> home_slot;  ///< by tensor; kNone for parameters

  struct Resident {
    TensorId parameter;
    DeviceId device;
  };
  std::vector<Resident> parameters;  ///< each once per device that reads it

  [[nodiscard]] std::uint32_t op_count() const noexcept {
    return static_cast<std::uint32_t>(op.size());
  }

  /// Whether it can be run to its end: there is a row for every op and message, what an op waits
  /// for will come, and a slot is held as often as it is read and sent. For assertions.
  [[nodiscard]] bool consistent() const;
};

/// `placement` is valid; `priorities_us` and `overwritten` (ops::overwritten_inputs; empty = none) by op.
[[nodiscard]] Plan make_plan(const Program& program, const Placement& placement,
                             DeviceId device_count, std::span<const double> priorities_us,
                             std::span<const TensorId> overwritten = {});

}  // namespace berth::runtime
