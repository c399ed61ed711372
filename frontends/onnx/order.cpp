#include "onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "berth/error.h"
#include "berth/support/index.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

/// Calls `visit` with the producer of every value that a node of `body` reads from another one.
template <typename Visit>
void for_each_producer(const Program& program, const Body& body, const Node& node,
                       const Visit& visit) {
  for (const auto* ids : {&node.inputs, &node.captured}) {
    for (const ValueId id : *ids) {
      if (id == kNoValue) continue;
      const Value& value = program.value(id);
      if (value.body == body.id && value.producer >= 0) visit(value.producer);
    }
  }
}

/// `waiting`: by node, of how many of its inputs no order is known.
[[noreturn]] void refuse_cycle(const Program& program, const Body& body,
                               const std::vector<std::int32_t>& waiting, const std::string& file) {
  // Every node with inputs missing waits for another such node: following them finds a cycle.
  const auto predecessor = [&](std::int32_t index) {
    std::int32_t first = -1;
    for_each_producer(program, body, body.nodes[at(index)], [&](std::int32_t producer) {
      if (first < 0 && waiting[at(producer)] > 0) first = producer;
    });
    return first < 0 ? index : first;
  };
  auto node = static_cast<std::int32_t>(
      std::find_if(waiting.begin(), waiting.end(), [](auto n) { return n > 0; }) - waiting.begin());
  for (std::size_t i = 0; i < body.nodes.size(); ++i) node = predecessor(node);
  std::vector<std::string> names;
  for (std::int32_t i = node; names.empty() || i != node; i = predecessor(i)) {
    names.push_back(body.nodes[at(i)].name);
  }
  std::reverse(names.begin(), names.end());
  throw Error(ErrorCode::invalid_graph,
              cat(file, ": the nodes ", frontend::list_names(names),
                  " read each other's outputs in a circle; remove one of these connections"));
}

}  // namespace

void order_nodes(const Program& program, Body& body, const std::string& file) {
  const auto count = static_cast<std::int32_t>(body.nodes.size());
  std::vector<std::int32_t> waiting(at(count), 0);
  std::vector<std::vector<std::int32_t>> readers(at(count));
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::int32_t i = 0; i < count; ++i) {
    for_each_producer(program, body, body.nodes[at(i)], [&](std::int32_t producer) {
      readers[at(producer)].push_back(i);
      ++waiting[at(i)];
    });
    if (waiting[at(i)] == 0) ready.push(i);
  }
  body.order.reserve(at(count));
  while (!ready.empty()) {
    const std::int32_t next = ready.top();
    ready.pop();
    body.order.push_back(next);
    for (const std::int32_t reader : readers[at(next)]) {
      if (--waiting[at(reader)] == 0) ready.push(reader);
    }
  }
  if (body.order.size() != body.nodes.size()) refuse_cycle(program, body, waiting, file);
  for (Node& node : body.nodes) {
    for (auto& inner : node.bodies) order_nodes(program, *inner, file);
  }
}

}  // namespace berth::onnx_frontend
