#include "tf/loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "berth/error.h"
#include "support/text.h"

namespace berth::tf_frontend {

using frontend::readable;

namespace {

/// Whether `source` comes back to `node` from the end of a loop's round.
bool closes_loop(const Program& program, const Node& node, const Source& source) {
  return is_merge(node.op) &&
         is_next_iteration(program.nodes[static_cast<std::size_t>(source.node)].op);
}

/// Data producers and control producers, without those that close a loop.
template <typename Visit>
void each_producer(const Program& program, const Node& node, const Visit& visit) {
  for (const Source& input : node.inputs) {
    if (!closes_loop(program, node, input)) visit(input.node);
  }
  for (const NodeId control : node.controls) visit(control);
}

[[noreturn]] void refuse_cycle(const Program& program, const std::vector<std::int32_t>& waiting,
                               const std::string& file) {
  // Every node still waiting has a producer that still waits: walking back must meet a node again.
  NodeId at = 0;
  while (waiting[static_cast<std::size_t>(at)] == 0) ++at;
  std::vector<bool> seen(waiting.size(), false);
  std::vector<NodeId> path;
  while (!seen[static_cast<std::size_t>(at)]) {
    seen[static_cast<std::size_t>(at)] = true;
    path.push_back(at);
    NodeId next = kNoNode;
    each_producer(program, program.nodes[static_cast<std::size_t>(at)], [&](NodeId producer) {
      if (next == kNoNode && waiting[static_cast<std::size_t>(producer)] > 0) next = producer;
    });
    at = next;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::reverse(path.begin(), path.end());
  constexpr std::size_t kShown = 8;
  std::string text = readable(program.nodes[static_cast<std::size_t>(at)].name);
  for (std::size_t i = 0; i < path.size() && i < kShown; ++i) {
    text += " -> " + readable(program.nodes[static_cast<std::size_t>(path[i])].name);
  }
  if (path.size() > kShown) text += cat(" -> ... (", path.size() - kShown, " more)");
  throw Error(ErrorCode::invalid_graph,
              cat(file, ": nodes feed each other in a circle but are not a loop (",
                  "which has NextIteration before its Merge): ", text));
}

struct Order {
  std::vector<NodeId> nodes;          ///< those that could be ordered
  std::vector<std::int32_t> waiting;  ///< by node: producers that never came
};

/// Orders `count` nodes; `each_edge` calls its argument with every (producer, consumer).
template <typename EachEdge>
Order ordered(std::size_t count, const EachEdge& each_edge) {
  Order order;
  order.waiting.assign(count, 0);
  std::vector<std::int32_t> begin(count + 1, 0);
  each_edge([&](NodeId producer, NodeId consumer) {
    ++order.waiting[static_cast<std::size_t>(consumer)];
    ++begin[static_cast<std::size_t>(producer) + 1];
  });
  for (std::size_t i = 0; i < count; ++i) begin[i + 1] += begin[i];
  std::vector<NodeId> consumers(static_cast<std::size_t>(begin[count]));
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  each_edge([&](NodeId producer, NodeId consumer) {
    consumers[static_cast<std::size_t>(next[static_cast<std::size_t>(producer)]++)] = consumer;
  });
  order.nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (order.waiting[i] == 0) order.nodes.push_back(static_cast<NodeId>(i));
  }
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    const auto id = static_cast<std::size_t>(order.nodes[i]);
    for (std::int32_t k = begin[id]; k < begin[id + 1]; ++k) {
      const NodeId consumer = consumers[static_cast<std::size_t>(k)];
      if (--order.waiting[static_cast<std::size_t>(consumer)] == 0) order.nodes.push_back(consumer);
    }
  }
  return order;
}

template <typename Take>
void each_edge(const Program& program, const Take& take) {
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    each_producer(program, program.nodes[i],
                  [&](NodeId producer) { take(producer, static_cast<NodeId>(i)); });
  }
}

void make_order(const Program& program, const std::string& file, std::vector<NodeId>& order) {
  Order found = ordered(program.nodes.size(), [&](const auto& take) { each_edge(program, take); });
  if (found.nodes.size() != program.nodes.size()) refuse_cycle(program, found.waiting, file);
  order = std::move(found.nodes);
}

/// Exits of a loop come after all that its rounds do: a list that is filled in them is known
/// whole where it is read. Each loop has a node of its own in between, as there may be as many ends
/// as there are results.
void move_exits_back(const Program& program, Loops& loops) {
  if (loops.frames.empty()) return;
  const std::size_t count = program.nodes.size();
  Order found = ordered(count + loops.frames.size(), [&](const auto& take) {
    each_edge(program, take);
    for (std::size_t i = 0; i < count; ++i) {
      const FrameId frame = loops.frame_of[i];
      if (frame == kNoFrame) continue;
      const auto end = static_cast<NodeId>(count) + frame;
      if (is_next_iteration(program.nodes[i].op)) take(static_cast<NodeId>(i), end);
      if (is_exit(program.nodes[i].op)) take(end, static_cast<NodeId>(i));
    }
  });
  // No framework writes a loop whose rounds wait for its own results; if one does, any order will do.
  if (found.nodes.size() != count + loops.frames.size()) return;
  std::erase_if(found.nodes, [&](NodeId id) { return id >= static_cast<NodeId>(count); });
  loops.order = std::move(found.nodes);
}

void assign_frames(const Program& program, Loops& loops) {
  std::map<std::pair<FrameId, std::string>, FrameId> ids;
  loops.frame_of.assign(program.nodes.size(), kNoFrame);
  for (const NodeId id : loops.order) {
    const Node& node = program.nodes[static_cast<std::size_t>(id)];
    FrameId frame = kNoFrame;
    int depth = 0;
    each_producer(program, node, [&](NodeId producer) {
      FrameId from = loops.frame_of[static_cast<std::size_t>(producer)];
      // The output of an Exit is outside, though the node itself counts as inside.
      if (is_exit(program.nodes[static_cast<std::size_t>(producer)].op) && from != kNoFrame) {
        from = loops.frames[static_cast<std::size_t>(from)].parent;
      }
      const int at = from == kNoFrame ? 0 : loops.frames[static_cast<std::size_t>(from)].depth;
      if (at > depth) {
        depth = at;
        frame = from;
      }
    });
    if (is_enter(node.op)) {
      const std::string_view prefix = program.calls[static_cast<std::size_t>(node.call)].prefix;
      std::string name = cat(prefix, readable(node.attributes.text("frame_name", node.name)));
      const auto [entry, added] =
          ids.try_emplace({frame, name}, static_cast<FrameId>(loops.frames.size()));
      if (added) {
        Frame& fresh = loops.frames.emplace_back();
        fresh.name = std::move(name);
        fresh.parent = frame;
        fresh.depth = depth + 1;
        fresh.outermost = frame == kNoFrame
                              ? entry->second
                              : loops.frames[static_cast<std::size_t>(frame)].outermost;
      }
      frame = entry->second;
    }
    loops.frame_of[static_cast<std::size_t>(id)] = frame;
  }
}

}  // namespace

Loops find_loops(const Program& program, const std::string& file) {
  Loops loops;
  make_order(program, file, loops.order);
  assign_frames(program, loops);
  move_exits_back(program, loops);
  return loops;
}

// --- Counting rounds ----------------------------------------------------------------------------

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

/// The variables of a loop as its condition reads them.
class Variables {
 public:
  virtual ~Variables() = default;
  [[nodiscard]] virtual std::optional<Counter> counter(const Source& source) const = 0;
  /// A number that no round changes.
  [[nodiscard]] virtual std::optional<std::int64_t> limit(const Source& source) const = 0;
};

std::int64_t rounds_while(const Program& program, const Variables& variables, NodeId id,
                          int depth = 0) {
  constexpr int kDeepest = 16;
  id = behind_copies(program, id);
  const Node& node = node_at(program, id);
  if (depth > kDeepest || node.inputs.size() != 2) return kUnknownDim;
  if (node.op == "LogicalAnd") {
    const std::int64_t a = rounds_while(program, variables, node.inputs[0].node, depth + 1);
    const std::int64_t b = rounds_while(program, variables, node.inputs[1].node, depth + 1);
    if (a == kUnknownDim || b == kUnknownDim) return std::max(a, b);
    return std::min(a, b);
  }
  static constexpr std::pair<std::string_view, std::string_view> kMirrored[] = {
      {"Less", "Greater"},
      {"LessEqual", "GreaterEqual"},
      {"Greater", "Less"},
      {"GreaterEqual", "LessEqual"}};
  for (const auto& [op, mirrored] : kMirrored) {
    if (node.op != op) continue;
    for (const std::size_t own : {std::size_t{0}, std::size_t{1}}) {
      const auto counter = variables.counter(node.inputs[own]);
      const auto limit = variables.limit(node.inputs[1 - own]);
      if (counter && limit) return rounds(*counter, own == 0 ? op : mirrored, *limit);
    }
  }
  return kUnknownDim;
}

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
    const auto& arguments = condition_.arguments;
    const auto found =
        std::find(arguments.begin(), arguments.end(), behind_copies(condition_, source.node));
    const auto index = static_cast<std::size_t>(found - arguments.begin());
    if (found == arguments.end() || index >= body_.arguments.size() ||
        index >= body_.results.size() || index >= initial_.size()) {
      return std::nullopt;
    }
    return index;
  }

  const Program& condition_;
  const Program& body_;
  const std::vector<Value>& initial_;
};

}  // namespace

std::int64_t count_trips(const Program& program, NodeId condition) {
  const Node& node = node_at(program, condition);
  if (node.inputs.empty()) return kUnknownDim;
  return rounds_while(program, FrameVariables(program), node.inputs[0].node);
}

std::int64_t count_trips(const Program& condition, const Program& body,
                         const std::vector<Value>& initial) {
  if (condition.results.empty()) return kUnknownDim;
  return rounds_while(condition, FunctionalVariables(condition, body, initial),
                      condition.results[0].node);
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
