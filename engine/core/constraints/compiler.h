// Makes Constraints of rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/constraints.h"
#include "berth/support/index.h"
#include "groups/kind_sets.h"

namespace berth {

struct Constraints::Data {
  std::vector<ConstraintRule> rules;
  std::vector<std::vector<OpId>> ops_of_rule;
  /// The devices that a rule leaves to some ops: one entry per pin and forbid, and one per device
  /// that ops of a respect_devices ask for.
  struct Restriction {
    std::size_t rule;
    std::vector<OpId> ops;
    std::vector<bool> devices;
  };
  std::vector<Restriction> restrictions;
  std::vector<std::int32_t> set_of_op;
  std::vector<bool> sets;  // set-major, by device
  std::vector<std::int32_t> place_of_class;
  std::vector<bool> places;  // place-major, by device
  std::shared_ptr<const Groups> classes;
  std::vector<Separation> separations;
  std::vector<std::int32_t> label_of_class;
  std::vector<std::int64_t> memory_bytes;

  [[nodiscard]] bool can_be_on(GroupId of_classes, DeviceId device) const {
    return places[at(place_of_class[at(of_classes)]) * memory_bytes.size() + at(device)];
  }
};

/// One use: construct, run.
class ConstraintCompiler {
 public:
  ConstraintCompiler(const Graph& graph, const Cluster& cluster, const Costs& costs,
                     Constraints::Data& out)
      : graph_(graph), cluster_(cluster), costs_(costs), out_(out), sets_(cluster.device_count()) {}

  void run();

 private:
  // The phases, in order.
  void select();
  void select(std::size_t rule);
  void respect(std::size_t rule);
  void join_classes();
  void restrict_ops();
  void find_places();
  void mark_parts();
  void label_classes();
  void check_separations();
  void keep_memory_free();

  void restrict_to(std::size_t rule, std::vector<OpId> ops, std::vector<bool> devices);
  [[nodiscard]] std::vector<bool> runnable(OpId op) const;
  [[nodiscard]] GroupId class_of(OpId op) const { return out_.classes->of(op); }

  // Throws an error that a user can act on (conflicts.cpp).
  // `beside`: the one other op that the rule selects.
  [[noreturn]] void fail_for_constant(const std::string& rule, OpId constant,
                                      OpId beside = kNoOp) const;
  [[noreturn]] void fail_without_device(GroupId of_classes) const;
  [[noreturn]] void fail_for_joined_parts(const Constraints::Separation& separation, OpId a,
                                          OpId b) const;
  [[noreturn]] void fail_for_crowded_parts(const Constraints::Separation& separation) const;
  [[noreturn]] void fail_for_separations() const;
  struct Cause {
    OpId op;
    std::vector<bool> devices;
    std::string text;
  };
  [[nodiscard]] std::vector<Cause> causes(GroupId of_classes) const;
  /// Why `a` and `b`, of one class, must be together: the shortest chain of rules and of
  /// co-location classes of the model.
  [[nodiscard]] std::vector<std::string> chain(OpId a, OpId b) const;
  /// The rules that leave not every device to one of these ops.
  [[nodiscard]] std::vector<std::string> restricting(
      const std::vector<const Constraints::Separation*>& separations) const;

  const Graph& graph_;
  const Cluster& cluster_;
  const Costs& costs_;
  Constraints::Data& out_;
  KindSets sets_;                       // of devices here
  std::vector<KindSets::Id> rule_set_;  // by class: what rules leave it
};

}  // namespace berth
