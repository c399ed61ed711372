// The units that the search moves, and what a proposal needs to know of them. Units are co-location
// classes, the finest grain that a placement may have, or the clusters of a coarser grain.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "auto/structure.h"
#include "berth/problem.h"

namespace berth::policies::auto_policy {

using UnitId = GroupId;

/// [thread-safe: immutable]
class Units {
 public:
  /// The groups of `grain` are the units; `coarser`, from fine to coarse, and the layers of
  /// `structure` become the levels. Units are alike where their longest ops have the same colour.
  Units(const Problem& problem, std::shared_ptr<const Groups> grain,
        std::span<const std::shared_ptr<const Groups>> coarser, const Structure& structure = {});

  [[nodiscard]] const Groups& groups() const noexcept { return *grain_; }
  [[nodiscard]] UnitId count() const noexcept { return grain_->count(); }
  [[nodiscard]] UnitId of(OpId op) const noexcept { return grain_->of(op); }
  [[nodiscard]] std::span<const OpId> ops(UnitId unit) const noexcept {
    return grain_->members(unit);
  }
  /// Units that exchange tensors or signals with `unit`, each once.
  [[nodiscard]] std::span<const UnitId> neighbours(UnitId unit) const noexcept {
    const auto u = static_cast<std::size_t>(unit);
    return {neighbours_.data() + begin_[u], neighbours_.data() + begin_[u + 1]};
  }
  /// Devices that can run the unit, ascending; never empty.
  [[nodiscard]] std::span<const DeviceId> devices(UnitId unit) const noexcept {
    return able_[static_cast<std::size_t>(able_of_[static_cast<std::size_t>(unit)])];
  }
  [[nodiscard]] bool can_run(UnitId unit, DeviceId device) const noexcept;
  /// Ops that constraints keep apart from others, by op; empty if there are none.
  [[nodiscard]] const std::vector<bool>& separated() const noexcept { return separated_; }
  /// Units with a choice of devices.
  [[nodiscard]] std::span<const UnitId> movable() const noexcept { return movable_; }

  /// A partition of the units.
  class Level {
   public:
    /// `of`: the cluster of each unit; dense from 0.
    explicit Level(std::vector<GroupId> of);
    [[nodiscard]] GroupId count() const noexcept { return static_cast<GroupId>(begin_.size()) - 1; }
    [[nodiscard]] GroupId of(UnitId unit) const noexcept {
      return of_[static_cast<std::size_t>(unit)];
    }
    /// Ascending.
    [[nodiscard]] std::span<const UnitId> members(GroupId group) const noexcept {
      const auto g = static_cast<std::size_t>(group);
      return {members_.data() + begin_[g], members_.data() + begin_[g + 1]};
    }

   private:
    std::vector<GroupId> of_;
    std::vector<std::uint32_t> begin_;
    std::vector<UnitId> members_;
  };
  /// Ever coarser clusters of units that belong together, from fine to coarse, and layers; none for a
  /// graph of a few units.
  [[nodiscard]] const std::vector<Level>& levels() const noexcept { return levels_; }
  /// Units that are alike, as far as ever more of what is around them goes.
  [[nodiscard]] const std::vector<Level>& alike() const noexcept { return alike_; }

 private:
  void find_able(const Problem& problem);
  void connect();
  void find_separated(const Problem& problem);
  void add_level(const Groups& groups);
  void find_alike(const Problem& problem, std::span<const Colours> colours);

  std::shared_ptr<const Groups> grain_;
  std::vector<std::uint32_t> begin_;
  std::vector<UnitId> neighbours_;
  std::vector<std::vector<DeviceId>> able_;  // the distinct sets
  std::vector<std::int32_t> able_of_;        // by unit
  std::vector<UnitId> movable_;
  std::vector<bool> separated_;
  std::vector<Level> levels_;
  std::vector<Level> alike_;
};

/// The finest groups a placement may use and ever coarser ones, by about a third each; where the
/// problem's own groups are none of them, they come last. No further one is made once `enough()`.
[[nodiscard]] std::vector<std::shared_ptr<const Groups>> grains(
    const Problem& problem, const std::function<bool()>& enough);

}  // namespace berth::policies::auto_policy
