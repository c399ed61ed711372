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

}  // namespace berth::tf_frontend
