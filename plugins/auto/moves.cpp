#include "auto/moves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// Prior success of each kind: single units and small regions are usually worth most.
constexpr std::array<double, Proposer::kKinds> kPrior = {6, 3, 4, 2, 1, 2, 0.2, 4, 3};

template <typename T>
const T& pick(std::span<const T> from, Random& random) {
  return from[random.below(from.size())];
}

/// From 1 to `largest`, every order of magnitude equally often.
std::size_t log_uniform(double largest, Random& random) {
  return static_cast<std::size_t>(std::exp(random.uniform() * std::log(largest)) + 0.5);
}

}  // namespace

Proposer::Proposer(const Units& units)
    : units_(units), mark_(at(units.count()), 0), shares_(kPrior) {
  forget();
}

void Proposer::forget() {
  shares_.forget();
  std::fill(mark_.begin(), mark_.end(), 0);
  regions_ = 0;
  hot_.clear();
  fills_.clear();
  hold({});
}

void Proposer::hold(std::vector<bool> units) {
  held_ = std::move(units);
  movable_.clear();
  for (const UnitId unit : units_.movable()) {
    if (!held(unit)) movable_.push_back(unit);
  }
  if (movable_.empty() && !held_.empty()) hold({});
}

DeviceId Proposer::device_of(std::span<const DeviceId> placement, UnitId unit) const {
  return placement[at(units_.ops(unit).front())];
}

UnitId Proposer::draw_seed(Random& random) {
  if (!hot_.empty() && random.below(2) == 0) {
    const UnitId hot = pick(std::span<const UnitId>(hot_), random);
    if (!held(hot)) return hot;
  }
  return pick(std::span<const UnitId>(movable_), random);
}

/// Most of the time, the device of a neighbour: elsewhere a unit would need new transfers.
DeviceId Proposer::draw_target(std::span<const DeviceId> placement, UnitId unit,
                               Random& random) const {
  const DeviceId here = device_of(placement, unit);
  const auto around = units_.neighbours(unit);
  if (!around.empty() && random.below(4) != 0) {
    const DeviceId there = device_of(placement, pick(around, random));
    if (there != here && units_.can_run(unit, there)) return there;
  }
  return pick(units_.devices(unit), random);
}

std::size_t Proposer::draw_size(double reach, Random& random) const {
  return log_uniform(std::max(8.0, reach * static_cast<double>(units_.count())), random);
}

void Proposer::move(std::span<const DeviceId> placement, UnitId unit, DeviceId to) {
  if (held(unit) || !units_.can_run(unit, to)) return;
  for (const OpId op : units_.ops(unit)) {
    if (placement[at(op)] != to) moves_.push_back({op, to});
  }
}

/// Into region_: the seed and up to `size` in all of its device.
void Proposer::grow_region(std::span<const DeviceId> placement, UnitId seed, std::size_t size,
                           Random& random) {
  const DeviceId from = device_of(placement, seed);
  ++regions_;
  region_.assign(1, seed);
  mark_[at(seed)] = regions_;
  // Grown from random members; those without neighbours left are met in vain a few times.
  for (std::size_t tries = 0; region_.size() < size && tries < 3 * size; ++tries) {
    const UnitId member = pick(std::span<const UnitId>(region_), random);
    const auto around = units_.neighbours(member);
    if (around.empty()) continue;
    const UnitId next = pick(around, random);
    if (mark_[at(next)] == regions_ || device_of(placement, next) != from) continue;
    mark_[at(next)] = regions_;
    region_.push_back(next);
  }
}

void Proposer::move_region(std::span<const DeviceId> placement, UnitId seed, std::size_t size,
                           DeviceId to, Random& random) {
  grow_region(placement, seed, size, random);
  for (const UnitId unit : region_) move(placement, unit, to);
}

/// Parts that repeat are mostly best placed alike: one proposal changes a part of many layers or steps of
/// a loop, where single ones would have to come together by chance.
void Proposer::move_alike(std::span<const DeviceId> placement, UnitId seed, DeviceId to,
                          Random& random) {
  constexpr double kLargest = 32;
  const auto& depths = units_.alike();
  if (depths.empty()) return;
  const Units::Level& alike = depths[random.below(depths.size())];
  const DeviceId from = device_of(placement, seed);
  const auto count = static_cast<double>(units_.count());
  grow_region(placement, seed, log_uniform(kLargest, random), random);
  // Near by: units are numbered in topological order.
  const auto distance = static_cast<UnitId>(log_uniform(count, random));
  ++regions_;
  for (std::size_t i = 0; i < region_.size(); ++i) {
    const auto members = alike.members(alike.of(region_[i]));
    auto next = std::lower_bound(members.begin(), members.end(), region_[i] - distance);
    for (; next != members.end() && *next <= region_[i] + distance; ++next) {
      if (mark_[at(*next)] == regions_ || device_of(placement, *next) != from) continue;
      mark_[at(*next)] = regions_;
      move(placement, *next, to);
    }
  }
}

void Proposer::move_cluster(std::span<const DeviceId> placement, UnitId seed, DeviceId to,
                            Random& random) {
  const auto& levels = units_.levels();
  if (levels.empty()) return move(placement, seed, to);
  const Units::Level& level = levels[random.below(levels.size())];
  for (const UnitId unit : level.members(level.of(seed))) move(placement, unit, to);
}

void Proposer::move_interval(std::span<const DeviceId> placement, UnitId seed, std::size_t size,
                             DeviceId to) {
  const DeviceId from = device_of(placement, seed);
  std::size_t left = size;
  // Units are numbered in topological order. The units of other devices in between stay.
  for (UnitId unit = seed; unit < units_.count() && left > 0; ++unit) {
    if (device_of(placement, unit) != from) continue;
    move(placement, unit, to);
    --left;
  }
}

void Proposer::exchange_devices(std::span<const DeviceId> placement, DeviceId a, DeviceId b) {
  for (const UnitId unit : units_.movable()) {
    const DeviceId here = device_of(placement, unit);
    if (here == a || here == b) move(placement, unit, here == a ? b : a);
  }
}

/// A unit of `device`, rather near `unit` in topological order.
UnitId Proposer::draw_partner(std::span<const DeviceId> placement, UnitId unit, DeviceId device,
                              Random& random) const {
  const UnitId count = units_.count();
  UnitId partner = unit;
  if (random.below(2) == 0) partner = static_cast<UnitId>(random.below(at(count)));
  const UnitId step = random.below(2) == 0 ? 1 : count - 1;
  for (UnitId tried = 0; tried < std::min<UnitId>(count, 64); ++tried) {
    partner = (partner + step) % count;
    if (partner != unit && device_of(placement, partner) == device) return partner;
  }
  return unit;
}

std::span<const Move> Proposer::draw(std::span<const DeviceId> placement, double reach,
                                     Random& random) {
  moves_.clear();
  if (movable_.empty()) return moves_;
  const UnitId seed = draw_seed(random);
  const DeviceId from = device_of(placement, seed);
  const DeviceId to = draw_target(placement, seed, random);
  kind_ = static_cast<Kind>(shares_.draw(random));
  if (to == from && kind_ != kCluster && kind_ != kFill) return moves_;
  switch (kind_) {
    case kSwap:
      move(placement, draw_partner(placement, seed, to, random), from);
      [[fallthrough]];
    case kSingle:
      move(placement, seed, to);
      break;
    case kExchange: {
      const UnitId partner = draw_partner(placement, seed, to, random);
      const std::size_t size = draw_size(reach, random);
      if (partner != seed) move_region(placement, partner, size, from, random);
      move_region(placement, seed, size, to, random);
      break;
    }
    case kRegion:
      move_region(placement, seed, draw_size(reach, random), to, random);
      break;
    case kCluster:
      move_cluster(placement, seed, to, random);
      break;
    case kInterval:
      move_interval(placement, seed, draw_size(reach, random), to);
      break;
    case kDevices:
      exchange_devices(placement, from, to);
      break;
    case kFill:
      if (!fills_.empty()) {
        const Fill& fill = pick(std::span<const Fill>(fills_), random);
        move(placement, fill.unit, fill.to);
      }
      break;
    case kAlike:
      move_alike(placement, seed, to, random);
      break;
    case kKinds:
      break;
  }
  return moves_;
}

}  // namespace berth::policies::auto_policy
