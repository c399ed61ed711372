#include "constraints/compiler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/rule_text.h"
#include "constraints/selection.h"
#include "constraints/separation_search.h"
#include "support/units.h"

namespace berth {
namespace {

using Kind = ConstraintRule::Kind;

/// Distinct sets with dense numbers, as one flat table.
class SetTable {
 public:
  explicit SetTable(const KindSets& sets) : sets_(sets) {}

  std::int32_t number(KindSets::Id set) {
    const auto [entry, is_new] =
        numbers_.try_emplace(set, static_cast<std::int32_t>(numbers_.size()));
    if (is_new) {
      const std::vector<bool>& members = sets_.members(set);
      flat_.insert(flat_.end(), members.begin(), members.end());
    }
    return entry->second;
  }
  [[nodiscard]] std::vector<bool> take() { return std::move(flat_); }

 private:
  const KindSets& sets_;
  std::map<KindSets::Id, std::int32_t> numbers_;
  std::vector<bool> flat_;
};

}  // namespace

void ConstraintCompiler::run() {
  select();
  join_classes();
  restrict_ops();
  find_places();
  mark_parts();
  label_classes();
  check_separations();
  keep_memory_free();
}

void ConstraintCompiler::select() {
  out_.ops_of_rule.resize(out_.rules.size());
  for (std::size_t rule = 0; rule < out_.rules.size(); ++rule) select(rule);
}

void ConstraintCompiler::select(std::size_t rule) {
  const ConstraintRule& stated = out_.rules[rule];
  const std::string name = shown(stated);
  if (stated.kind == Kind::memory_margin) return;
  if (stated.ops.empty() && stated.kind != Kind::respect_devices) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraint ", name, " does not say which ops"));
  }
  std::vector<OpId>& all = out_.ops_of_rule[rule];
  Constraints::Separation separation{rule, {}};
  std::vector<OpId> constants;
  for (const OpSelector& selector : stated.ops) {
    std::vector<OpId> ops = select_ops(graph_, cluster_, selector, name);
    // A constant is where it is read, whatever rules say of others.
    std::erase_if(ops, [&](OpId op) {
      if (graph_.is_constant(op)) constants.push_back(op);
      return graph_.is_constant(op);
    });
    if (ops.empty() && stated.kind == Kind::separate) fail_for_constant(name, constants.back());
    all.insert(all.end(), ops.begin(), ops.end());
    separation.parts.push_back(std::move(ops));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());

  if (stated.kind == Kind::respect_devices) return respect(rule);
  if (all.empty()) fail_for_constant(name, constants.back());
  if (stated.kind == Kind::separate) {
    if (stated.ops.size() == 1) {
      separation.parts.clear();
      for (const OpId op : all) separation.parts.push_back({op});
    }
    out_.separations.push_back(std::move(separation));
    return;
  }
  if (stated.kind == Kind::colocate) {
    const auto elsewhere = std::find_if(constants.begin(), constants.end(), [&](OpId op) {
      return graph_.first_reader(op) != all.front();
    });
    if (all.size() == 1 && elsewhere != constants.end()) {
      fail_for_constant(name, *elsewhere, all.front());
    }
    return;
  }
  if (stated.devices.empty()) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraint ", name, " does not say which devices"));
  }
  std::vector<bool> devices = select_devices(cluster_, stated.devices, name);
  if (stated.kind == Kind::forbid) devices.flip();
  restrict_to(rule, all, std::move(devices));
}

void ConstraintCompiler::respect(std::size_t rule) {
  std::vector<OpId>& ops = out_.ops_of_rule[rule];
  if (out_.rules[rule].ops.empty()) {
    ops.resize(at(graph_.op_count()));
    std::iota(ops.begin(), ops.end(), OpId{0});
  }
  std::erase_if(
      ops, [&](OpId op) { return graph_.requested_device(op).empty() || graph_.is_constant(op); });
  const std::string name = shown(out_.rules[rule]);
  if (ops.empty()) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraint ", name, " finds no op of graph '", graph_.name(),
                    "' that asks for a device; leave it out, or pin ops by name"));
  }
  std::map<std::string_view, std::vector<OpId>> by_device;
  for (const OpId op : ops) by_device[graph_.requested_device(op)].push_back(op);
  for (auto& [device, asking] : by_device) {
    std::vector<bool> devices = requested_devices(cluster_, device);
    if (std::find(devices.begin(), devices.end(), true) == devices.end()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("the constraint ", name, ": op '", graph_.op_name(asking.front()),
                      "' asks for device '", device, "', which cluster '", cluster_.name(),
                      "' does not have (it has ", cluster_.device_names(),
                      "); pin these ops elsewhere or respect the devices of fewer ops"));
    }
    restrict_to(rule, std::move(asking), std::move(devices));
  }
}

void ConstraintCompiler::restrict_to(std::size_t rule, std::vector<OpId> ops,
                                     std::vector<bool> devices) {
  out_.restrictions.push_back({rule, std::move(ops), std::move(devices)});
}

void ConstraintCompiler::join_classes() {
  DisjointSets classes(at(graph_.op_count()));
  std::unordered_map<std::string_view, OpId> first;
  for (OpId op = 0; op < graph_.op_count(); ++op) {
    if (graph_.colocation(op).empty()) continue;
    classes.merge(op, first.try_emplace(graph_.colocation(op), op).first->second);
  }
  for (OpId op = 0; op < graph_.op_count() && graph_.constant_count() > 0; ++op) {
    const OpId reader = graph_.first_reader(op);
    if (reader != kNoOp && graph_.colocation(op).empty()) classes.merge(op, reader);
  }
  for (std::size_t rule = 0; rule < out_.rules.size(); ++rule) {
    if (out_.rules[rule].kind != Kind::colocate) continue;
    const std::vector<OpId>& ops = out_.ops_of_rule[rule];
    for (const OpId op : ops) classes.merge(op, ops.front());
  }
  out_.classes = std::make_shared<const Groups>(graph_, classes.names());
}

void ConstraintCompiler::restrict_ops() {
  rule_set_.assign(at(out_.classes->count()), sets_.all());
  for (const Constraints::Data::Restriction& restriction : out_.restrictions) {
    const KindSets::Id devices = sets_.of(restriction.devices);
    for (const OpId op : restriction.ops) {
      KindSets::Id& set = rule_set_[at(class_of(op))];
      if (set == devices) continue;
      set = sets_.common(set, devices);
      if (set == KindSets::kNone) fail_without_device(class_of(op));
    }
  }
  SetTable table(sets_);
  out_.set_of_op.reserve(at(graph_.op_count()));
  for (OpId op = 0; op < graph_.op_count(); ++op) {
    out_.set_of_op.push_back(table.number(rule_set_[at(class_of(op))]));
  }
  out_.sets = table.take();
}

/// Whether the kind of each device can run the op.
std::vector<bool> ConstraintCompiler::runnable(OpId op) const {
  std::vector<bool> devices;
  for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
    devices.push_back(costs_.can_run(op, cluster_.kind_of(d)));
  }
  return devices;
}

void ConstraintCompiler::find_places() {
  std::vector<KindSets::Id> places = rule_set_;
  for (OpId op = 0; op < graph_.op_count(); ++op) {
    bool everywhere = true;
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      everywhere = everywhere && costs_.can_run(op, kind);
    }
    if (everywhere) continue;
    const std::vector<bool> devices = runnable(op);
    // An op that nothing can run is Problem's to tell: no rule is to blame.
    if (std::find(devices.begin(), devices.end(), true) == devices.end()) continue;
    KindSets::Id& set = places[at(class_of(op))];
    set = sets_.common(set, sets_.of(devices));
    if (set == KindSets::kNone) fail_without_device(class_of(op));
  }
  SetTable table(sets_);
  for (const KindSets::Id set : places) out_.place_of_class.push_back(table.number(set));
  out_.places = table.take();
}

/// Checks that no op and no class is in two parts of one separation.
void ConstraintCompiler::mark_parts() {
  for (const Constraints::Separation& separation : out_.separations) {
    std::unordered_map<GroupId, std::pair<std::size_t, OpId>> part_of_class;
    for (std::size_t part = 0; part < separation.parts.size(); ++part) {
      for (const OpId op : separation.parts[part]) {
        const auto [entry, is_new] = part_of_class.try_emplace(class_of(op), std::pair(part, op));
        if (!is_new && entry->second.first != part) {
          fail_for_joined_parts(separation, entry->second.second, op);
        }
      }
    }
  }
}

void ConstraintCompiler::label_classes() {
  using Parts = std::vector<std::pair<std::size_t, std::size_t>>;  // (separation, part)
  out_.label_of_class.assign(at(out_.classes->count()), 0);
  std::map<GroupId, Parts> parts;
  for (std::size_t s = 0; s < out_.separations.size(); ++s) {
    for (std::size_t part = 0; part < out_.separations[s].parts.size(); ++part) {
      for (const OpId op : out_.separations[s].parts[part]) {
        Parts& list = parts[class_of(op)];
        if (list.empty() || list.back() != std::pair(s, part)) list.emplace_back(s, part);
      }
    }
  }
  std::map<Parts, std::int32_t> labels;
  for (const auto& [of_classes, list] : parts) {
    const auto next = static_cast<std::int32_t>(labels.size()) + 1;
    out_.label_of_class[at(of_classes)] = labels.try_emplace(list, next).first->second;
  }
}

void ConstraintCompiler::check_separations() {
  if (out_.separations.empty()) return;
  std::vector<SeparationSearch::Parts> separations;
  for (const Constraints::Separation& separation : out_.separations) {
    SeparationSearch::Parts parts;
    for (const std::vector<OpId>& ops : separation.parts) {
      parts.emplace_back();
      for (const OpId op : ops) parts.back().push_back(class_of(op));
    }
    separations.push_back(std::move(parts));
  }
  SeparationSearch search(
      cluster_.device_count(), separations,
      [this](GroupId item, DeviceId device) { return out_.can_be_on(item, device); });
  if (const auto crowded = search.crowded()) fail_for_crowded_parts(out_.separations[*crowded]);
  if (search.run() == SeparationSearch::Result::impossible) fail_for_separations();
}

void ConstraintCompiler::keep_memory_free() {
  for (std::size_t rule = 0; rule < out_.rules.size(); ++rule) {
    const ConstraintRule& stated = out_.rules[rule];
    if (stated.kind != Kind::memory_margin) continue;
    const std::string name = shown(stated);
    if (stated.margin_bytes < 0 || !(stated.margin_share >= 0 && stated.margin_share < 1)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("the constraint ", name, ": a margin is bytes >= 0 or a share in [0, 1)"));
    }
    std::vector<bool> devices(at(cluster_.device_count()), true);
    if (!stated.devices.empty()) devices = select_devices(cluster_, stated.devices, name);
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      const std::int64_t memory = cluster_.device(d).memory_bytes;
      if (!devices[at(d)] || memory == kNoLimit) continue;
      const std::int64_t margin =
          std::max(stated.margin_bytes,
                   static_cast<std::int64_t>(stated.margin_share * static_cast<double>(memory)));
      if (margin > memory) {
        throw Error(ErrorCode::invalid_argument,
                    cat("the constraint ", name, " keeps ", format_bytes(margin),
                        " free, and device '", cluster_.device(d).name, "' has ",
                        format_bytes(memory), "; keep less free, or name other devices"));
      }
      out_.memory_bytes[at(d)] = std::min(out_.memory_bytes[at(d)], memory - margin);
    }
  }
}

}  // namespace berth
