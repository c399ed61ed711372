// The placement that an incremental step keeps, and the candidate a few moves away from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/sdk/moves.h"
#include "moves/step_facts.h"
#include "simulator/placed.h"
#include "simulator/plan.h"
#include "simulator/workspace.h"

namespace berth::moves {

/// All that a step is compiled from, with the candidate's moves while there are any.
class CandidatePlacement {
 public:
  struct Changed {
    simulator::Index op;
    std::uint32_t from;
    std::uint32_t to;
  };
  struct Rewired {
    simulator::Index op;
    bool sends_anew;  ///< see Placed::rewire
  };

  CandidatePlacement(const simulator::Plan& plan, std::shared_ptr<const StepFacts> facts);

  /// Keeps `placement`, by op, without a candidate.
  void reset(std::span<const DeviceId> placement);
  /// Adds moves to the candidate.
  void make(std::span<const Move> moves);
  /// Compiles anew what the moves change: the ops and those that send to them. Where it `compares`, it
  /// says which of them send something else.
  void rewire(bool compares);
  /// Forgets the candidate.
  void take_back();
  /// Keeps the candidate.
  void keep();

  [[nodiscard]] const std::vector<DeviceId>& kept() const noexcept { return kept_; }        // by op
  [[nodiscard]] const std::vector<DeviceId>& by_op() const noexcept { return candidate_; }  // moved
  /// simulator::Workspace::state at the start, by Index.
  [[nodiscard]] const std::vector<std::uint32_t>& initial() const noexcept { return initial_; }
  [[nodiscard]] std::uint32_t device(simulator::Index op) const noexcept {
    return initial_[op] & simulator::kDeviceMask;
  }
  [[nodiscard]] const simulator::Placed& placed() const noexcept { return placed_; }

  [[nodiscard]] const std::vector<Changed>& changed() const noexcept { return changed_; }
  /// The last of them; requires some.
  [[nodiscard]] simulator::Index last_changed() const noexcept { return last_changed_; }
  /// Ops that `placed` has as the candidate has them.
  [[nodiscard]] const std::vector<Rewired>& rewired() const noexcept { return rewired_; }

  /// All that may ever be on a device fits at once.
  [[nodiscard]] bool surely_fits() const;
  /// Rows as simulator::Workspace::prepare lays them out.
  void place_rows(simulator::Workspace& workspace) const;

 private:
  void relocate(const Changed& change);
  void readdress(const Changed& change);
  [[nodiscard]] std::int64_t bytes_of(const Edge& edge) const;

  const simulator::Plan& plan_;
  std::shared_ptr<const StepFacts> facts_;
  std::vector<DeviceId> kept_;
  std::vector<DeviceId> candidate_;
  std::vector<std::uint32_t> initial_;
  std::vector<std::uint32_t> room_;          ///< by device: transfers its ops make at most
  std::vector<std::int64_t> at_most_bytes_;  ///< by device; not followed where all fits always
  std::vector<Changed> changed_;
  simulator::Index last_changed_ = 0;
  simulator::Placed placed_;
  std::vector<Rewired> rewired_;
  std::vector<std::uint32_t> rewired_in_;  ///< by Index: the last round
  std::uint32_t round_ = 0;
};

}  // namespace berth::moves
