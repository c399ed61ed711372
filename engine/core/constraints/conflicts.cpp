// Which rules cannot be obeyed together.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/compiler.h"
#include "constraints/rule_text.h"

namespace berth {
namespace {

using Kind = ConstraintRule::Kind;

bool none_in_common(const std::vector<const std::vector<bool>*>& sets, std::size_t devices) {
  for (std::size_t d = 0; d < devices; ++d) {
    if (std::all_of(sets.begin(), sets.end(), [d](const auto* set) { return (*set)[d]; })) {
      return false;
    }
  }
  return true;
}

void add_new(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  for (const std::string& line : more) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
}

}  // namespace

std::vector<ConstraintCompiler::Cause> ConstraintCompiler::causes(GroupId of_classes) const {
  std::vector<Cause> all;
  for (const Constraints::Data::Restriction& restriction : out_.restrictions) {
    const auto op = std::find_if(restriction.ops.begin(), restriction.ops.end(),
                                 [&](OpId id) { return class_of(id) == of_classes; });
    if (op == restriction.ops.end()) continue;
    all.push_back({*op, restriction.devices, shown(out_.rules[restriction.rule])});
  }
  std::set<std::vector<bool>> seen;
  for (const OpId op : out_.classes->members(of_classes)) {
    std::vector<bool> devices = runnable(op);
    if (std::find(devices.begin(), devices.end(), false) == devices.end()) continue;
    if (!seen.insert(devices).second) continue;
    std::set<std::string> kinds;
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      if (devices[at(d)]) kinds.insert(cluster_.device(d).kind);
    }
    all.push_back({op, std::move(devices),
                   cat("op '", graph_.op_name(op), "' of type '", graph_.op_type(op),
                       "' runs on kind ", join({kinds.begin(), kinds.end()}), " alone")});
  }
  return all;
}

std::vector<std::string> ConstraintCompiler::chain(OpId a, OpId b) const {
  struct Link {
    std::vector<OpId> ops;
    std::string text;
  };
  std::vector<Link> links;
  for (std::size_t rule = 0; rule < out_.rules.size(); ++rule) {
    if (out_.rules[rule].kind != Kind::colocate) continue;
    links.push_back({out_.ops_of_rule[rule], shown(out_.rules[rule])});
  }
  std::map<std::string, std::vector<OpId>> by_name;
  for (const OpId op : out_.classes->members(class_of(a))) {
    if (!graph_.colocation(op).empty()) by_name[graph_.colocation(op)].push_back(op);
  }
  for (auto& [name, ops] : by_name) {
    links.push_back({std::move(ops), cat("the model's co-location '", name, "'")});
  }
  std::unordered_map<OpId, std::vector<std::size_t>> links_of;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const OpId op : links[i].ops) links_of[op].push_back(i);
  }
  // Breadth first from a; through[op] is the link by which op was reached, and from where.
  std::unordered_map<OpId, std::pair<std::size_t, OpId>> through;
  std::vector<bool> used(links.size(), false);
  std::vector<OpId> queue{a};
  for (std::size_t next = 0; next < queue.size() && !through.contains(b); ++next) {
    for (const std::size_t i : links_of[queue[next]]) {
      if (used[i]) continue;
      used[i] = true;
      for (const OpId op : links[i].ops) {
        if (op == a || !through.try_emplace(op, std::pair(i, queue[next])).second) continue;
        queue.push_back(op);
      }
    }
  }
  std::vector<std::string> texts;
  for (OpId op = b; op != a && through.contains(op); op = through.at(op).second) {
    texts.push_back(links[through.at(op).first].text);
  }
  std::reverse(texts.begin(), texts.end());
  return texts;
}

void ConstraintCompiler::fail_for_constant(const std::string& rule, OpId constant,
                                           OpId beside) const {
  const OpId reader = graph_.first_reader(constant);
  throw Error(ErrorCode::invalid_argument,
              cat("the constraint ", rule, " selects ",
                  beside == kNoOp ? std::string() : cat("'", graph_.op_name(beside), "' and else "),
                  "only constants of the step, such as '", graph_.op_name(constant),
                  "', which are where ops read them, or sizes where their tensor is made; name ",
                  reader == kNoOp ? std::string("those ops")
                                  : cat("that op, such as '", graph_.op_name(reader), "'"),
                  ", or load the model without folding constants"));
}

void ConstraintCompiler::fail_without_device(GroupId of_classes) const {
  std::vector<Cause> left = causes(of_classes);
  // A rule without which there is still no device is not needed to understand the conflict.
  for (std::size_t i = left.size(); i-- > 0;) {
    std::vector<const std::vector<bool>*> others;
    for (std::size_t j = 0; j < left.size(); ++j) {
      if (j != i) others.push_back(&left[j].devices);
    }
    if (none_in_common(others, at(cluster_.device_count()))) {
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::vector<std::string> lines;
  for (const Cause& cause : left) add_new(lines, {cause.text});
  for (const Cause& cause : left) {
    if (cause.op != left.front().op) add_new(lines, chain(left.front().op, cause.op));
  }
  throw Error(ErrorCode::infeasible, cat("no device of cluster '", cluster_.name(),
                                         "' is left for op '", graph_.op_name(left.front().op),
                                         "'; these constraints are in conflict: ", listed(lines)));
}

void ConstraintCompiler::fail_for_joined_parts(const Constraints::Separation& separation, OpId a,
                                               OpId b) const {
  const std::string rule = shown(out_.rules[separation.rule]);
  if (a == b) {
    throw Error(ErrorCode::infeasible,
                cat("op '", graph_.op_name(a), "' would be apart from itself: more than one part ",
                    "of this constraint selects it: ", rule));
  }
  std::vector<std::string> lines{rule};
  add_new(lines, chain(a, b));
  throw Error(ErrorCode::infeasible,
              cat("ops '", graph_.op_name(a), "' and '", graph_.op_name(b),
                  "' would be both together and apart; these constraints are in conflict: ",
                  listed(lines)));
}

std::vector<std::string> ConstraintCompiler::restricting(
    const std::vector<const Constraints::Separation*>& separations) const {
  std::set<GroupId> classes;
  for (const Constraints::Separation* separation : separations) {
    for (const std::vector<OpId>& part : separation->parts) {
      for (const OpId op : part) classes.insert(class_of(op));
    }
  }
  std::vector<std::string> lines;
  for (const Constraints::Data::Restriction& restriction : out_.restrictions) {
    const bool about = std::any_of(restriction.ops.begin(), restriction.ops.end(),
                                   [&](OpId op) { return classes.contains(class_of(op)); });
    if (about) add_new(lines, {shown(out_.rules[restriction.rule])});
  }
  return lines;
}

void ConstraintCompiler::fail_for_crowded_parts(const Constraints::Separation& separation) const {
  std::vector<std::string> lines{shown(out_.rules[separation.rule])};
  const auto devices = at(cluster_.device_count());
  if (separation.parts.size() > devices) {
    throw Error(ErrorCode::infeasible, cat("this constraint asks for ", separation.parts.size(),
                                           " devices at least and cluster '", cluster_.name(),
                                           "' has ", devices, ": ", lines.front()));
  }
  add_new(lines, restricting({&separation}));
  throw Error(
      ErrorCode::infeasible,
      cat("not each of the ", separation.parts.size(), " separated parts can have a device ",
          "of its own; these constraints (and what device kinds can run) are in conflict: ",
          listed(lines)));
}

void ConstraintCompiler::fail_for_separations() const {
  std::vector<std::string> lines;
  std::vector<const Constraints::Separation*> all;
  for (const Constraints::Separation& separation : out_.separations) {
    all.push_back(&separation);
    add_new(lines, {shown(out_.rules[separation.rule])});
  }
  add_new(lines, restricting(all));
  throw Error(ErrorCode::infeasible,
              cat("the ", cluster_.device_count(), " devices of cluster '", cluster_.name(),
                  "' are too few to keep apart what is separated; these constraints (and what "
                  "device kinds can run) are in conflict: ",
                  listed(lines)));
}

}  // namespace berth
