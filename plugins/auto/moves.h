// Proposals of moves, from single units to whole regions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "auto/idleness.h"
#include "auto/shares.h"
#include "auto/units.h"
#include "berth/sdk/moves.h"
#include "berth/sdk/random.h"

namespace berth::policies::auto_policy {

/// Draws changes of a placement. A seed unit (often a hot one: on the critical path or the busiest
/// device) decides where to change; the kind of the proposal decides what moves with it.
/// [thread-compatible: one per thread]
class Proposer {
 public:
  explicit Proposer(const Units& units);

  enum Kind : std::uint8_t {
    kSingle,    ///< one unit
    kSwap,      ///< two units on two devices change places
    kRegion,    ///< connected units of one device
    kExchange,  ///< connected units of two devices change places
    kCluster,   ///< a whole cluster of some level gathers on one device
    kInterval,  ///< units of one device that follow each other in topological order
    kDevices,   ///< two devices change places
    kFill,      ///< a unit goes to a device that has nothing to do
    kAlike,     ///< a small region and those alike near by, on one device
    kKinds,
  };

  /// Units that limit the objective; empty = none known. A copy is kept.
  void set_hot(std::span<const UnitId> units) { hot_.assign(units.begin(), units.end()); }

  /// Sets the ops that idle devices could run; empty = none known.
  void set_fills(std::vector<Fill> fills) { fills_ = std::move(fills); }
  /// Holds units where they are until the next forget. If all would be held, none is.
  void hold(std::vector<bool> units);

  /// Moves that change `placement`; empty where the draw came to nothing or no unit can move. Valid
  /// until the next call. `reach` in (0, 1]: how large regions may get, as a share of all units.
  [[nodiscard]] std::span<const Move> draw(std::span<const DeviceId> placement, double reach,
                                           Random& random);
  /// Says whether the last proposal improved the placement.
  void learn(bool improved) { shares_.learn(kind_, improved); }
  /// Forgets what was learned, and what it was told of the placement.
  void forget();

 private:
  [[nodiscard]] UnitId draw_seed(Random& random);
  [[nodiscard]] DeviceId device_of(std::span<const DeviceId> placement, UnitId unit) const;
  [[nodiscard]] DeviceId draw_target(std::span<const DeviceId> placement, UnitId unit,
                                     Random& random) const;
  [[nodiscard]] std::size_t draw_size(double reach, Random& random) const;
  void move(std::span<const DeviceId> placement, UnitId unit, DeviceId to);
  void move_region(std::span<const DeviceId> placement, UnitId seed, std::size_t size, DeviceId to,
                   Random& random);
  void grow_region(std::span<const DeviceId> placement, UnitId seed, std::size_t size,
                   Random& random);
  void move_cluster(std::span<const DeviceId> placement, UnitId seed, DeviceId to, Random& random);
  void move_interval(std::span<const DeviceId> placement, UnitId seed, std::size_t size,
                     DeviceId to);
  void move_alike(std::span<const DeviceId> placement, UnitId seed, DeviceId to, Random& random);
  void exchange_devices(std::span<const DeviceId> placement, DeviceId a, DeviceId b);
  [[nodiscard]] UnitId draw_partner(std::span<const DeviceId> placement, UnitId unit,
                                    DeviceId device, Random& random) const;

  [[nodiscard]] bool held(UnitId unit) const {
    return !held_.empty() && held_[static_cast<std::size_t>(unit)];
  }

  const Units& units_;
  std::vector<bool> held_;       // by unit; empty = none
  std::vector<UnitId> movable_;  // those of units_ that are not held
  std::vector<UnitId> hot_;
  std::vector<Fill> fills_;
  std::vector<Move> moves_;
  std::vector<UnitId> region_;
  std::vector<std::uint32_t> mark_;  // by unit: the last region it was looked at for
  std::uint32_t regions_ = 0;
  Kind kind_ = kSingle;
  KindShares<kKinds> shares_;
};

}  // namespace berth::policies::auto_policy
