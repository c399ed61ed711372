/// @file
/// Why a placement is as good as it is, and why an op is where it is. Every figure is an evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/export.h"
#include "berth/outcome.h"

namespace berth {

/// A part of the critical path: ops that one device runs in sequence, or one transfer.
struct Stretch {
  DeviceId device = kNoDevice;    ///< of the ops; the sender of a transfer
  DeviceId receiver = kNoDevice;  ///< of a transfer; kNoDevice: ops, or a broadcast
  std::int32_t transfer = -1;     ///< index into the trace; -1 = ops
  OpId first = kNoOp;             ///< a transfer's: the producer
  OpId last = kNoOp;
  std::int32_t ops = 0;
  double start_us = 0;
  double end_us = 0;
  double waited_us = 0;  ///< a transfer's: from ready to start
};

/// In time order.
[[nodiscard]] BERTH_EXPORT std::vector<Stretch> stretches(const Outcome& outcome);
/// The transfers among them, the longest first: together they last PathShares::transfer_us.
[[nodiscard]] BERTH_EXPORT std::vector<Stretch> hurting_transfers(const std::vector<Stretch>& path);

/// The step with an op, and all ops that must share its device, on another device.
struct Alternative {
  DeviceId device = kNoDevice;
  std::string refused;  ///< why it may not be there; empty = it may
  Evaluation evaluation;
  /// The same with all of the op's group there; only where the group is larger and may be there.
  bool has_group = false;
  Evaluation group_evaluation;
};

/// The cause that holds an op where it is, by steps that are simulated with the op elsewhere: as it would be,
/// with transfers that take no time, and with the op's own time as it is here. The cause that makes
/// the step longer by more is named.
enum class Bound {
  constraint,     ///< rules or device kinds leave it no other device
  memory,         ///< elsewhere the step would be faster, and lack memory or more of it
  communication,  ///< elsewhere the step waits longer for transfers
  contention,     ///< elsewhere the step waits longer for busy devices
  compute,        ///< elsewhere it computes more slowly, and that costs more than all the rest
  order,          ///< elsewhere it computes no slower; other ops run in an order that takes longer
  nothing,        ///< another device is as good or better
};

/// "constraint", "memory", ...
[[nodiscard]] BERTH_EXPORT std::string_view bound_name(Bound bound) noexcept;
/// The same as a sentence without a full stop.
[[nodiscard]] BERTH_EXPORT std::string_view bound_text(Bound bound) noexcept;

struct OpExplanation {
  OpId op = kNoOp;
  DeviceId device = kNoDevice;
  std::vector<OpId> together;      ///< what must share its device, the op included
  std::vector<std::string> rules;  ///< the constraints that are about it or what is with it
  double start_us = 0;
  double end_us = 0;
  bool critical = false;
  std::vector<Alternative> alternatives;  ///< every other device, in the cluster's order
  DeviceId runner_up = kNoDevice;         ///< the best of them that fits; kNoDevice = none does
  Bound bound = Bound::nothing;
};

[[nodiscard]] BERTH_EXPORT OpExplanation explain_op(const Outcome& outcome, OpId op);

/// How far the placement is from the lower bound, and what the bound follows from.
[[nodiscard]] BERTH_EXPORT std::string gap_text(const Outcome& outcome);
/// The shares of what the step waited for, as a sentence; empty for a step that takes no time.
[[nodiscard]] BERTH_EXPORT std::string waits_text(const Outcome& outcome);
/// Whose load is the largest (objective throughput): "a device", or "the channel 'pcie'".
[[nodiscard]] BERTH_EXPORT std::string pace_text(const Outcome& outcome);
/// Whether the tool that is placed for, if any, can have Outcome::best_single.
[[nodiscard]] BERTH_EXPORT bool can_have_single(const Outcome& outcome);
/// Advice for a better placement, derived from its critical path.
[[nodiscard]] BERTH_EXPORT std::string advice_text(const Outcome& outcome);
/// Why there are no transfers, as a sentence; empty where there are some.
[[nodiscard]] BERTH_EXPORT std::string no_transfers_text(const Outcome& outcome);
/// Devices whose memory is (nearly) full, the fullest first.
[[nodiscard]] BERTH_EXPORT std::vector<DeviceId> full_devices(const Outcome& outcome);

}  // namespace berth
