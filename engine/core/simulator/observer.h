// The events that a simulated step reports. The simulators are templates over the observer, so the
// fastest call and the full trace are the same code and agree to the last bit.
#pragma once

#include <cstdint>

#include "simulator/plan.h"

namespace berth::simulator {

/// The event that released an op: the end of an op, an arrival, or a control signal of an op.
struct Cause {
  enum class Kind : std::uint8_t { nothing, op_end, transfer } kind = Kind::nothing;
  std::uint32_t number = 0;  ///< the op's Index, or the transfer's number
};

/// Observes nothing and costs nothing. Also the list of all events.
struct NoObserver {
  static constexpr bool kWatchesReleases = false;
  /// Asked between events; pauses() then says whether to stop there.
  static constexpr bool kPauses = false;

  void op_started(Index, std::uint32_t /*device*/, double /*start_us*/, double /*end_us*/) {}
  [[nodiscard]] bool pauses() const { return false; }
  /// After the op's end has released consumers and queued transfers.
  void op_ended(Index, std::uint32_t /*device*/, double /*now_us*/) {}
  /// The op's last input has arrived. Only if kWatchesReleases.
  void released(Index, double /*now_us*/, Cause) {}
  /// Transfers have distinct numbers; a receiver is a device, or -1 for all of them (placeto).
  void transfer_queued(std::uint32_t /*number*/, std::uint32_t /*message*/,
                       std::uint32_t /*sender*/, DeviceId /*receiver*/, double /*now_us*/) {}
  void transfer_started(std::uint32_t /*number*/, std::uint32_t /*message*/,
                        std::uint32_t /*sender*/, DeviceId /*receiver*/, double /*start_us*/,
                        double /*end_us*/) {}
  void transfer_ended(std::uint32_t /*number*/, std::uint32_t /*message*/, std::uint32_t /*sender*/,
                      DeviceId /*receiver*/, double /*now_us*/) {}
  /// A message has arrived at all its receivers (placeto), or, of a placed plan, a parcel at its
  /// one (dataflow).
  void arrived(std::uint32_t /*sent*/) {}
};

}  // namespace berth::simulator
