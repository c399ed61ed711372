// Limits that constraints set on merging groups.
#pragma once

#include "berth/constraints.h"
#include "groups/merge_rules.h"

namespace berth {

/// Keeps a reference to the constraints.
class ConstraintLimits final : public MergeLimits {
 public:
  explicit ConstraintLimits(const Constraints& constraints) : constraints_(constraints) {}

  [[nodiscard]] const Groups& classes() const override { return *constraints_.classes(); }
  [[nodiscard]] DeviceId device_count() const override { return constraints_.device_count(); }
  [[nodiscard]] bool can_be_on(GroupId of_classes, DeviceId device) const override {
    return constraints_.class_can_be_on(of_classes, device);
  }
  [[nodiscard]] std::int32_t label_of(GroupId of_classes) const override {
    return constraints_.label_of_class(of_classes);
  }

 private:
  const Constraints& constraints_;
};

}  // namespace berth
