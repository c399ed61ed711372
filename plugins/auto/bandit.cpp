#include "auto/bandit.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// Proposals between two looks at the estimates, and what is kept of what was learned before.
constexpr std::int64_t kProposalsPerLook = 1024;
constexpr double kKept = 0.7;
/// A unit, or a cluster, with as many proposals as this is believed as much as the cluster around.
constexpr double kPseudoProposals = 8;

}  // namespace

UnitBandit::UnitBandit(const Units& units) : units_(units) {
  forget();
}

void UnitBandit::forget() {
  gain_us_.assign(at(units_.count()), 0);
  ops_.assign(at(units_.count()), 0);
  upto_.clear();
  learned_ = 0;
  stale_ = false;
}

void UnitBandit::learn(UnitId unit, double gain_us, double ops) {
  gain_us_[at(unit)] += gain_us;
  ops_[at(unit)] += ops;
  if (++learned_ % kProposalsPerLook == 0) stale_ = true;
}

std::vector<double> UnitBandit::rates() const {
  double gain_us = 0;
  double ops = 0;
  for (std::size_t unit = 0; unit < ops_.size(); ++unit) {
    gain_us += gain_us_[unit];
    ops += ops_[unit];
  }
  if (gain_us <= 0) return std::vector<double>(ops_.size(), 0);
  const double remembered =
      std::min(static_cast<double>(learned_), kProposalsPerLook / (1 - kKept));
  const double pseudo_ops = kPseudoProposals * ops / remembered;
  std::vector<double> rates(ops_.size(), gain_us / ops);
  const auto& levels = units_.levels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (GroupId cluster = 0; cluster < level->count(); ++cluster) {
      const auto members = level->members(cluster);
      double gain_here_us = 0;
      double ops_here = 0;
      double around = 0;
      for (const UnitId unit : members) {
        gain_here_us += gain_us_[at(unit)];
        ops_here += ops_[at(unit)];
        around += rates[at(unit)] / static_cast<double>(members.size());
      }
      const double rate = (gain_here_us + pseudo_ops * around) / (ops_here + pseudo_ops);
      for (const UnitId unit : members) rates[at(unit)] = rate;
    }
  }
  for (std::size_t unit = 0; unit < ops_.size(); ++unit) {
    rates[unit] = (gain_us_[unit] + pseudo_ops * rates[unit]) / (ops_[unit] + pseudo_ops);
  }
  return rates;
}

UnitId UnitBandit::draw(const std::vector<UnitId>& movable, Random& random) {
  if (stale_) {
    stale_ = false;
    const std::vector<double> rates = this->rates();
    upto_.clear();
    double sum = 0;
    for (const UnitId unit : movable) upto_.push_back(sum += rates[at(unit)]);
    if (sum <= 0) upto_.clear();
    for (std::size_t unit = 0; unit < ops_.size(); ++unit) {
      gain_us_[unit] *= kKept;
      ops_[unit] *= kKept;
    }
  }
  if (upto_.empty()) return kNoUnit;
  const double ticket = random.uniform() * upto_.back();
  const auto found = std::upper_bound(upto_.begin(), upto_.end(), ticket) - upto_.begin();
  return movable[std::min(static_cast<std::size_t>(found), movable.size() - 1)];
}

}  // namespace berth::policies::auto_policy
