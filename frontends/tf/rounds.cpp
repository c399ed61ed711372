// How often loops run, by their counters and conditions, and what their rounds keep.
#include <algorithm>
#include <optional>

#include "tf/loops.h"

namespace berth::tf_frontend {

namespace {

const Node& node_at(const Program& program, NodeId id) {
  return program.nodes[static_cast<std::size_t>(id)];
}

/// The node behind ops that only pass their first input on; `casts`: as another type too.
NodeId behind_copies(const Program& program, NodeId id, bool casts = true) {
  constexpr int kLongest = 16;
  for (int i = 0; i < kLongest; ++i) {
    const Node& node = node_at(program, id);
    const bool copies = node.op == "Identity" || is_switch(node.op) || node.op == "LoopCond" ||
                        node.op == "StopGradient" || (casts && node.op == "Cast");
    if (!copies || node.inputs.empty()) break;
    id = node.inputs[0].node;
  }
  return id;
}

}  // namespace

std::optional<FrameVariable> variable_at(const Program& program, NodeId merge) {
  const Node& node = node_at(program, merge);
  if (!is_merge(node.op) || node.inputs.size() != 2) return {};
  for (const std::size_t back : {std::size_t{1}, std::size_t{0}}) {
    const Node& next = node_at(program, node.inputs[back].node);
    if (!is_next_iteration(next.op) || next.inputs.empty()) continue;
    return FrameVariable{node.inputs[1 - back], next.inputs[0]};
  }
  return {};
}

Dims shape_behind(const Value& before, const Value& after, double rounds) {
  Dims dims = before.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double size =
        static_cast<double>(dims[i]) + static_cast<double>(after.dims[i] - dims[i]) * rounds;
    const bool is_valid = size >= 0 && size <= static_cast<double>(kMaxDim);
    dims[i] = is_valid ? static_cast<std::int64_t>(size) : kUnknownDim;
  }
  return dims;
}

bool is_handed_on(const Program& body, std::size_t index) {
  return index < body.arguments.size() && index < body.results.size() &&
         behind_copies(body, body.results[index].node) == body.arguments[index];
}

namespace {

/// Whether all that is done with the variable behind `handle`, an argument of `body`, is to read it.
bool is_only_read(const Program& body, NodeId handle) {
  return std::all_of(body.nodes.begin(), body.nodes.end(), [&](const Node& node) {
    return node.op == "ReadVariableOp" || node.op == "Identity" ||
           std::none_of(node.inputs.begin(), node.inputs.end(), [&](const Source& input) {
             return behind_copies(body, input.node) == handle;
           });
  });
}

}  // namespace

bool is_kept(const Program& program, const Source& source) {
  constexpr int kLongest = 16;
  static constexpr std::string_view kViews[] = {"EnsureShape", "ExpandDims", "Reshape", "Squeeze"};
  NodeId id = behind_copies(program, source.node, /*casts=*/false);
  bool reads_variable = false;
  for (int i = 0; i < kLongest; ++i) {
    const Node& node = node_at(program, id);
    if (node.op == "Const" || is_enter(node.op)) return true;
    if (const auto variable = variable_at(program, id)) {
      return behind_copies(program, variable->end.node, /*casts=*/false) == id;
    }
    const auto argument = std::find(program.arguments.begin(), program.arguments.end(), id);
    if (argument != program.arguments.end()) {
      return is_handed_on(program,
                          static_cast<std::size_t>(argument - program.arguments.begin())) &&
             (!reads_variable || is_only_read(program, id));
    }
    const bool views = std::find(std::begin(kViews), std::end(kViews), node.op) != std::end(kViews);
    if ((!views && node.op != "ReadVariableOp") || node.inputs.empty()) return false;
    reads_variable |= node.op == "ReadVariableOp";
    id = behind_copies(program, node.inputs[0].node, /*casts=*/false);
  }
  return false;
}

bool puts_the_same(const Program& body, std::size_t index) {
  if (index >= body.results.size() || index >= body.arguments.size()) return false;
  const Node& push = node_at(body, behind_copies(body, body.results[index].node));
  return push.op == "TensorListPushBack" && push.inputs.size() == 2 &&
         behind_copies(body, push.inputs[0].node) == body.arguments[index] &&
         is_kept(body, push.inputs[1]);
}

namespace {

std::optional<std::int64_t> number(const Value& value) {
  if (value.data == nullptr || value.data->size() != 1) return {};
  return value.element(0);
}

std::optional<std::int64_t> number(const Program& program, const Source& source) {
  const Node& node = node_at(program, source.node);
  if (source.port < 0 || static_cast<std::size_t>(source.port) >= node.outputs.size()) return {};
  return number(node.outputs[static_cast<std::size_t>(source.port)]);
}

/// Small enough to be counted with.
bool is_moderate(std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return n >= -kMost && n <= kMost;
}

struct Counter {
  std::int64_t start;
  std::int64_t step;
};

std::int64_t counted(const Counter& counter, std::int64_t trips) {
  std::int64_t change = 0, result = 0;
  if (trips < 0 || __builtin_mul_overflow(counter.step, trips, &change) ||
      __builtin_add_overflow(counter.start, change, &result)) {
    return Data::kUnknown;
  }
  return result;
}

/// The difference of `end`, a variable after a round, from `own`, the variable before it.
/// `kept(source)` is a number that no round changes.
template <typename Kept>
std::optional<std::int64_t> step_of(const Program& program, NodeId end, NodeId own,
                                    const Kept& kept) {
  const Node& change = node_at(program, behind_copies(program, end));
  const bool adds = change.op == "Add" || change.op == "AddV2";
  if ((!adds && change.op != "Sub") || change.inputs.size() != 2) return {};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (behind_copies(program, change.inputs[i].node) != own) continue;
    if (!adds && i == 1) continue;
    const std::optional<std::int64_t> step = kept(change.inputs[1 - i]);
    if (step && is_moderate(*step)) return adds ? *step : -*step;
  }
  return {};
}

/// A number that no round of its loop changes: a constant, or a variable that every round hands on as
/// it is.
std::optional<std::int64_t> kept_number(const Program& program, const Source& source) {
  if (const auto constant = number(program, source)) return constant;
  const NodeId merge = behind_copies(program, source.node);
  const auto variable = variable_at(program, merge);
  if (!variable || behind_copies(program, variable->end.node) != merge) return {};
  return number(program, variable->start);
}

/// A variable of a loop that changes by the same number each round.
std::optional<Counter> counter_at(const Program& program, NodeId merge) {
  const auto variable = variable_at(program, merge);
  if (!variable) return {};
  const auto start = number(program, variable->start);
  const auto step = step_of(program, variable->end.node, merge,
                            [&](const Source& source) { return kept_number(program, source); });
  if (!start || !step) return {};
  return Counter{*start, *step};
}

/// Rounds of which the comparison holds at the start.
std::int64_t rounds(const Counter& counter, std::string_view op, std::int64_t limit) {
  const bool down = op == "Greater" || op == "GreaterEqual";
  const bool equal = op == "LessEqual" || op == "GreaterEqual";
  if (!is_moderate(counter.start) || !is_moderate(limit)) return kUnknownDim;
  const std::int64_t step = down ? -counter.step : counter.step;
  std::int64_t distance = down ? counter.start - limit : limit - counter.start;
  if (equal) ++distance;
  if (step <= 0) return kUnknownDim;
  return distance <= 0 ? 0 : (distance + step - 1) / step;
}

/// A number of a functional loop's body that no round changes: a constant, or an argument that every
/// round hands on as it is.
std::optional<std::int64_t> kept_number(const Program& body, const std::vector<Value>& initial,
                                        const Source& source) {
  if (const auto constant = number(body, source)) return constant;
  const auto found =
      std::find(body.arguments.begin(), body.arguments.end(), behind_copies(body, source.node));
  const auto index = static_cast<std::size_t>(found - body.arguments.begin());
  if (index >= initial.size() || !is_handed_on(body, index)) return {};
  return number(initial[index]);
}

/// The change per round of the variable that is argument `index` of its body.
std::optional<std::int64_t> step_at(const Program& body, const std::vector<Value>& initial,
                                    std::size_t index) {
  return step_of(body, body.results[index].node, body.arguments[index],
                 [&](const Source& source) { return kept_number(body, initial, source); });
}

/// The argument of `program`, a function's body, that `source` hands on.
std::optional<std::size_t> argument_of(const Program& program, const Source& source) {
  const auto& arguments = program.arguments;
  const auto found =
      std::find(arguments.begin(), arguments.end(), behind_copies(program, source.node));
  if (found == arguments.end()) return {};
  return static_cast<std::size_t>(found - arguments.begin());
}

/// The variables of a loop as its condition reads them.
class Variables {
 public:
  virtual ~Variables() = default;
  [[nodiscard]] virtual std::optional<Counter> counter(const Source& source) const = 0;
  /// A number that no round changes.
  [[nodiscard]] virtual std::optional<std::int64_t> limit(const Source& source) const = 0;
};

/// The only way in which a choice between two values goes on with a loop.
struct Choice {
  NodeId chooser = kNoNode;
  bool by = false;  // what the chooser is there
  NodeId value = kNoNode;
};

/// The rounds in which a condition is what a loop needs to go on.
class Conditions {
 public:
  explicit Conditions(const BranchOf& branch_of) : branch_of_(branch_of) {}

  /// The rounds at the start in which `id` is `wanted`; kUnknownDim where no part of it is compared with a limit.
  [[nodiscard]] std::int64_t rounds_while(const Program& program, const Variables& variables,
                                          NodeId id, bool wanted, int depth = 0) const {
    constexpr int kDeepest = 16;
    id = behind_copies(program, id);
    const Node& node = node_at(program, id);
    if (depth > kDeepest || node.inputs.empty()) return kUnknownDim;
    const auto behind = [&](NodeId part, bool value) {
      return rounds_while(program, variables, part, value, depth + 1);
    };
    if (node.op == "LogicalNot") return behind(node.inputs[0].node, !wanted);
    if (node.op == "If" || node.op == "StatelessIf") {
      return rounds_in_branches(program, variables, node, wanted, depth);
    }
    if (node.inputs.size() != 2) return kUnknownDim;
    if (node.op == (wanted ? "LogicalAnd" : "LogicalOr")) {
      return first_to_fail(behind(node.inputs[0].node, wanted),
                           behind(node.inputs[1].node, wanted));
    }
    if (is_merge(node.op)) {
      const Choice choice = choice_at(program, node, wanted);
      if (choice.chooser == kNoNode) return kUnknownDim;
      return first_to_fail(behind(choice.chooser, choice.by), behind(choice.value, wanted));
    }
    return rounds_compared(variables, node, wanted);
  }

 private:
  static std::int64_t first_to_fail(std::int64_t a, std::int64_t b) {
    return a == kUnknownDim || b == kUnknownDim ? std::max(a, b) : std::min(a, b);
  }

  static std::int64_t rounds_compared(const Variables& variables, const Node& node, bool wanted) {
    struct Comparison {
      std::string_view op, mirrored, opposite;
    };
    static constexpr Comparison kComparisons[] = {{"Less", "Greater", "GreaterEqual"},
                                                  {"LessEqual", "GreaterEqual", "Greater"},
                                                  {"Greater", "Less", "LessEqual"},
                                                  {"GreaterEqual", "LessEqual", "Less"}};
    const auto named = [](std::string_view op) {
      return std::find_if(std::begin(kComparisons), std::end(kComparisons),
                          [&](const Comparison& comparison) { return comparison.op == op; });
    };
    auto comparison = named(node.op);
    if (comparison == std::end(kComparisons)) return kUnknownDim;
    if (!wanted) comparison = named(comparison->opposite);
    for (const std::size_t own : {std::size_t{0}, std::size_t{1}}) {
      const auto counter = variables.counter(node.inputs[own]);
      const auto limit = variables.limit(node.inputs[1 - own]);
      if (counter && limit) {
        return rounds(*counter, own == 0 ? comparison->op : comparison->mirrored, *limit);
      }
    }
    return kUnknownDim;
  }

  /// A loop that one branch always ends goes on with the other alone, and only where that is taken.
  [[nodiscard]] std::int64_t rounds_in_branches(const Program& program, const Variables& variables,
                                                const Node& node, bool wanted, int depth) const {
    if (node.outputs.size() != 1) return kUnknownDim;
    for (const bool ending : {false, true}) {
      const auto ends = branch_of_(program, node, ending);
      if (!ends || result_of(program, node, *ends, ending) != std::optional(!wanted)) continue;
      const std::int64_t taken =
          rounds_while(program, variables, node.inputs[0].node, !ending, depth + 1);
      const auto other = branch_of_(program, node, !ending);
      if (!other || other->results.size() != 1) return taken;
      return first_to_fail(taken, rounds_while(*other, BranchVariables(node, *other, variables),
                                               other->results[0].node, wanted, depth + 1));
    }
    return kUnknownDim;
  }

  /// The value that a branch gives where that is always the same; `taken`: what the condition is where it runs, which the
  /// branch may hand on.
  static std::optional<bool> result_of(const Program& program, const Node& node,
                                       const Program& branch, bool taken) {
    if (branch.results.size() != 1) return {};
    const auto constant = number(branch, branch.results[0]);
    if (constant) return *constant != 0;
    const auto index = argument_of(branch, branch.results[0]);
    if (!index || *index + 1 >= node.inputs.size()) return {};
    const NodeId handed_on = behind_copies(program, node.inputs[*index + 1].node);
    if (handed_on == behind_copies(program, node.inputs[0].node)) return taken;
    return {};
  }

  /// The same where the branches are written with Switch and Merge.
  static Choice choice_at(const Program& program, const Node& merge, bool wanted) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Source ending = switch_before(program, merge.inputs[i]);
      if (ending.node == kNoNode) continue;
      const NodeId chooser = node_at(program, ending.node).inputs[1].node;
      const bool taken = ending.port == 1;
      auto constant = number(program, merge.inputs[i]);
      if (!constant &&
          behind_copies(program, merge.inputs[i].node) == behind_copies(program, chooser)) {
        constant = taken ? 1 : 0;
      }
      if (constant && (*constant != 0) != wanted) {
        return {chooser, !taken, merge.inputs[1 - i].node};
      }
    }
    return {};
  }

  /// The output of the Switch behind which `source` is, by data or, as constants are, by waiting for it.
  static Source switch_before(const Program& program, Source source) {
    constexpr int kLongest = 16;
    for (int i = 0; i < kLongest; ++i) {
      const Node& node = node_at(program, source.node);
      if (is_switch(node.op)) return node.inputs.size() == 2 ? source : Source{};
      if (node.inputs.empty() && node.controls.empty()) break;
      source = node.inputs.empty() ? Source{node.controls[0], 0} : node.inputs[0];
    }
    return {};
  }

  /// The variables of a loop as a branch of its condition reads them.
  class BranchVariables final : public Variables {
   public:
    BranchVariables(const Node& node, const Program& branch, const Variables& outer)
        : node_(node), branch_(branch), outer_(outer) {}
    [[nodiscard]] std::optional<Counter> counter(const Source& source) const override {
      const Source* const given = given_for(source);
      return given != nullptr ? outer_.counter(*given) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::int64_t> limit(const Source& source) const override {
      if (const auto constant = number(branch_, source)) return constant;
      const Source* const given = given_for(source);
      return given != nullptr ? outer_.limit(*given) : std::nullopt;
    }

   private:
    [[nodiscard]] const Source* given_for(const Source& source) const {
      const auto index = argument_of(branch_, source);
      return index && *index + 1 < node_.inputs.size() ? &node_.inputs[*index + 1] : nullptr;
    }
    const Node& node_;
    const Program& branch_;
    const Variables& outer_;
  };

  const BranchOf& branch_of_;
};

/// Variables of a loop written with Merge and NextIteration.
class FrameVariables final : public Variables {
 public:
  explicit FrameVariables(const Program& program) : program_(program) {}
  [[nodiscard]] std::optional<Counter> counter(const Source& source) const override {
    return counter_at(program_, behind_copies(program_, source.node));
  }
  [[nodiscard]] std::optional<std::int64_t> limit(const Source& source) const override {
    return kept_number(program_, source);
  }

 private:
  const Program& program_;
};

/// Variables of a functional loop: the arguments of its condition and, in the same order, of its body.
class FunctionalVariables final : public Variables {
 public:
  FunctionalVariables(const Program& condition, const Program& body,
                      const std::vector<Value>& initial)
      : condition_(condition), body_(body), initial_(initial) {}

  [[nodiscard]] std::optional<Counter> counter(const Source& source) const override {
    const auto index = argument(source);
    if (!index) return {};
    const auto start = number(initial_[*index]);
    const auto step = step_at(body_, initial_, *index);
    if (!start || !step) return {};
    return Counter{*start, *step};
  }
  [[nodiscard]] std::optional<std::int64_t> limit(const Source& source) const override {
    if (const auto constant = number(condition_, source)) return constant;
    const auto index = argument(source);
    if (!index) return {};
    return is_handed_on(body_, *index) ? number(initial_[*index]) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> argument(const Source& source) const {
    const auto index = argument_of(condition_, source);
    if (!index || *index >= body_.arguments.size() || *index >= body_.results.size() ||
        *index >= initial_.size()) {
      return std::nullopt;
    }
    return index;
  }

  const Program& condition_;
  const Program& body_;
  const std::vector<Value>& initial_;
};

}  // namespace

std::int64_t count_trips(const Program& program, NodeId condition, const BranchOf& branch_of) {
  const Node& node = node_at(program, condition);
  if (node.inputs.empty()) return kUnknownDim;
  return Conditions(branch_of).rounds_while(program, FrameVariables(program), node.inputs[0].node,
                                            /*wanted=*/true);
}

std::int64_t count_trips(const Program& condition, const Program& body,
                         const std::vector<Value>& initial, const BranchOf& branch_of) {
  if (condition.results.empty()) return kUnknownDim;
  return Conditions(branch_of).rounds_while(condition,
                                            FunctionalVariables(condition, body, initial),
                                            condition.results[0].node, /*wanted=*/true);
}

std::int64_t counter_after(const Program& program, NodeId merge, std::int64_t trips) {
  const auto counter = counter_at(program, merge);
  return counter ? counted(*counter, trips) : Data::kUnknown;
}

DataPtr content_after(const Program& body, const std::vector<Value>& initial, std::size_t index,
                      std::int64_t trips) {
  if (index >= initial.size() || index >= body.results.size() || index >= body.arguments.size()) {
    return nullptr;
  }
  if (is_handed_on(body, index)) return initial[index].data;
  const auto start = number(initial[index]);
  const auto step = step_at(body, initial, index);
  if (!start || !step) return nullptr;
  const std::int64_t last = counted({*start, *step}, trips);
  if (last == Data::kUnknown) return nullptr;
  return std::make_shared<const std::vector<std::int64_t>>(1, last);
}

}  // namespace berth::tf_frontend
