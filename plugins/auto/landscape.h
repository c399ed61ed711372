// The function that the search minimises: the objective, smoothed where it has plateaus, plus a
// price for memory that overflows.
#pragma once

#include <memory>
#include <span>

#include "berth/sdk/moves.h"

namespace berth::policies::auto_policy {

/// One placement and what changes would make of it. [thread-compatible: one per thread]
class Landscape {
 public:
  explicit Landscape(const std::shared_ptr<const Simulator>& simulator);

  void reset(std::span<const DeviceId> placement);

  /// Energy of the kept placement.
  [[nodiscard]] double energy_us() const noexcept { return energy_us_; }
  [[nodiscard]] double objective_us() const noexcept { return moves_.objective_us(); }
  [[nodiscard]] std::int64_t excess_bytes() const noexcept { return moves_.excess_bytes(); }
  [[nodiscard]] SearchWork work() const noexcept { return moves_.work(); }
  [[nodiscard]] std::span<const DeviceId> placement() const noexcept { return moves_.placement(); }
  /// The device with the largest load (throughput); kNoDevice for latency.
  [[nodiscard]] DeviceId busiest() const noexcept { return busiest_; }

  /// Whether the energy with `moves` made is below `cutoff_us`; accept() then makes them.
  [[nodiscard]] bool below(std::span<const Move> moves, double cutoff_us);
  void accept();

  /// How closely the energy follows the objective, and how expensive overflows are: kBlunt to
  /// kSharp.
  void sharpen(int squarings);
  static constexpr int kBlunt = 4;
  static constexpr int kSharp = 8;

 private:
  /// The energy of the last candidate.
  [[nodiscard]] double smooth(double objective_us, std::int64_t excess_bytes);

  MoveEvaluator moves_;
  bool throughput_;
  int squarings_ = kBlunt;
  double us_per_excess_byte_ = 0;
  double energy_us_ = 0;
  double candidate_us_ = 0;
  DeviceId busiest_ = kNoDevice;
};

}  // namespace berth::policies::auto_policy
