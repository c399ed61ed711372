#include "groups/coarsen.h"

#include <map>
#include <utility>

#include "berth/constraints.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/merge_limits.h"

namespace berth {
namespace {

/// Zones, and what constraints or, without them, device kinds say of groups above the classes.
class ZoneLimits final : public MergeLimits {
 public:
  ZoneLimits(const Costs& costs, const Groups& base, std::span<const std::int32_t> zone_of,
             const Constraints* constraints)
      : costs_(costs), base_(base), constraints_(constraints) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> names;
    for (GroupId group = 0; group < base.count(); ++group) {
      const auto name =
          names.try_emplace({zone_of[at(group)], separation_label(group)}, names.size() + 1);
      labels_.push_back(name.first->second);
    }
  }

  [[nodiscard]] const Groups& classes() const override { return base_; }
  [[nodiscard]] DeviceId device_count() const override {
    return constraints_ != nullptr ? constraints_->device_count() : costs_.kind_count();
  }
  [[nodiscard]] bool can_be_on(GroupId group, DeviceId device) const override {
    const auto members = base_.members(group);
    return std::all_of(members.begin(), members.end(), [&](OpId op) {
      return constraints_ != nullptr
                 ? constraints_->class_can_be_on(constraints_->classes()->of(op), device)
                 : costs_.can_run(op, device);
    });
  }
  [[nodiscard]] std::int32_t label_of(GroupId group) const override { return labels_[at(group)]; }

 private:
  [[nodiscard]] std::int32_t separation_label(GroupId group) const {
    std::int32_t label = 0;
    if (constraints_ == nullptr) return label;
    for (const OpId op : base_.members(group)) {
      label = std::max(label, constraints_->label_of_class(constraints_->classes()->of(op)));
    }
    return label;
  }

  const Costs& costs_;
  const Groups& base_;
  const Constraints* constraints_;
  std::vector<std::int32_t> labels_;  // by group of base; from 1: 0 would go with any
};

}  // namespace

std::shared_ptr<const Groups> coarsen(const Graph& graph, const Costs& costs, GroupId count,
                                      const Constraints* constraints) {
  if (constraints == nullptr) return coarsen(graph, costs, count);
  const ConstraintLimits limits(*constraints);
  return groups::coarsen_within(graph, costs, count, constraints->classes(), &limits);
}

std::shared_ptr<const Groups> coarsen_zones(const Graph& graph, const Costs& costs,
                                            std::shared_ptr<const Groups> base, GroupId count,
                                            std::span<const std::int32_t> zone_of,
                                            const Constraints* constraints) {
  if (zone_of.size() != at(base->count())) {
    throw Error(ErrorCode::invalid_argument,
                cat(zone_of.size(), " zones for ", base->count(), " groups; give one for each"));
  }
  const ZoneLimits limits(costs, *base, zone_of, constraints);
  return groups::coarsen_within(graph, costs, count, base, &limits);
}

}  // namespace berth
