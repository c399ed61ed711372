#include "simulator/plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "problem/op_time.h"

namespace berth::simulator {
namespace {

/// Rank of each name in alphabetical order.
std::vector<std::uint32_t> ranks(const std::vector<std::string_view>& names) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  std::vector<std::uint32_t> rank(names.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

}  // namespace

Plan::Plan(std::shared_ptr<const Problem> the_problem)
    : problem(std::move(the_problem)),
      op_count(static_cast<std::uint32_t>(graph().op_count())),
      device_count(static_cast<std::uint32_t>(cluster().device_count())),
      placeto(problem->options().semantics == Semantics::placeto) {
  number_ops();
  compile_durations();
  if (placeto) {
    compile_names();
  } else {
    compile_priorities();
  }
  compile_messages();
  compile_routes();
  number_engines();
  compile_memory();
  assert(consistent());
}

/// Edges lead forward, and every row and message lies within its tables.
bool Plan::consistent() const {
  for (Index op = 0; op < op_count; ++op) {
    const OpRow& row = rows[op];
    if (row.begin > row.end || row.end > consumers.size()) return false;
    if (row.first_message + row.message_count > messages.size()) return false;
    for (std::uint32_t e = row.begin; e < row.end; ++e) {
      if (consumers[e] <= op || consumers[e] >= op_count) return false;
    }
    for (std::uint32_t m = row.first_message; m < row.first_message + row.message_count; ++m) {
      const Message& message = messages[m];
      if (message_producer[m] != op || message.begin >= message.end) return false;
      if (message.end > consumers.size()) return false;
    }
  }
  return true;
}

std::uint32_t Plan::message_of(const OpRow& row, TensorId tensor) const noexcept {
  const auto begin = message_tensor.begin() + row.first_message;
  const auto found =
      std::lower_bound(begin, begin + row.message_count, tensor, [](TensorId a, TensorId b) {
        return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b);
      });
  return static_cast<std::uint32_t>(found - message_tensor.begin());
}

void Plan::number_ops() {
  const auto order = graph().topological_order();
  ids.assign(order.begin(), order.end());
  indices.resize(op_count);
  for (Index i = 0; i < op_count; ++i) indices[at(ids[i])] = i;
  waiting.resize(op_count);
  for (OpId op = 0; op < graph().op_count(); ++op) {
    const Index i = index_of(op);
    const std::size_t inputs = graph().in_edges(op).size();
    if (inputs > kMaxInputs) {
      throw Error(ErrorCode::unsupported, cat("op '", graph().op_name(op), "' waits for ", inputs,
                                              " tensors and ops; the simulator counts up to ",
                                              kMaxInputs, " of them: split the op"));
    }
    waiting[i] = static_cast<std::uint32_t>(inputs) << kDeviceBits;
    if (inputs == 0) sources.push_back(i);
  }
}

void Plan::compile_durations() {
  const auto kinds = at(cluster().kind_count());
  duration_us.resize(kinds * op_count);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (Index i = 0; i < op_count; ++i) {
      duration_us[kind * op_count + i] = busy_us(*problem, ids[i], static_cast<KindId>(kind));
    }
  }
}

void Plan::compile_names() {
  std::vector<std::string_view> names;
  for (Index i = 0; i < op_count; ++i) names.emplace_back(graph().op_name(ids[i]));
  name_rank = ranks(names);
  names.clear();
  for (DeviceId d = 0; d < cluster().device_count(); ++d) {
    names.emplace_back(cluster().device(d).name);
  }
  device_name_rank = ranks(names);
}

void Plan::compile_priorities() {
  const std::vector<double> priority = priorities_us(*problem);
  const auto of = [&](Index i) { return priority[at(ids[i])]; };
  std::vector<Index> order(op_count);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return of(a) > of(b); });
  priority_class.resize(op_count);
  for (std::uint32_t slot = 0; slot < op_count; ++slot) {
    if (slot == 0 || of(order[slot]) != of(order[slot - 1])) first_slot.push_back(slot);
    priority_class[order[slot]] = static_cast<std::uint32_t>(first_slot.size()) - 1;
  }
}

void Plan::compile_messages() {
  // The order in which the consumers of one message are released: by name in placeto semantics,
  // the most urgent first in dataflow.
  const auto release_order = [&](Index a, Index b) {
    if (placeto) return name_rank[a] < name_rank[b];
    return std::pair(priority_class[a], ids[a]) < std::pair(priority_class[b], ids[b]);
  };
  rows.resize(op_count);
  sends.resize(op_count);
  std::vector<Edge> edges;
  for (Index i = 0; i < op_count; ++i) {
    const auto out_edges = graph().out_edges(ids[i]);
    edges.assign(out_edges.begin(), out_edges.end());
    // Sorted by message: an op's tensors are numbered as its ports are, and kNoTensor comes last.
    std::sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
      if (a.tensor != b.tensor) {
        return static_cast<std::uint32_t>(a.tensor) < static_cast<std::uint32_t>(b.tensor);
      }
      return release_order(index_of(a.dst), index_of(b.dst));
    });
    OpRow& row = rows[i];
    row.first_message = static_cast<std::uint32_t>(messages.size());
    row.begin = static_cast<std::uint32_t>(consumers.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (e == 0 || edges[e].tensor != edges[e - 1].tensor) {
        add_message(i, edges[e].tensor);
      }
      consumers.push_back(index_of(edges[e].dst));
      messages.back().end = static_cast<std::uint32_t>(consumers.size());
    }
    row.end = static_cast<std::uint32_t>(consumers.size());
    row.message_count = static_cast<std::uint32_t>(messages.size()) - row.first_message;
    if (placeto && row.message_count > 1) {
      // The op's end releases by consumer whatever the output, so that takes a list of its own.
      for (const Edge& edge : edges) consumers.push_back(index_of(edge.dst));
      row.begin = row.end;
      row.end = static_cast<std::uint32_t>(consumers.size());
      std::sort(consumers.begin() + row.begin, consumers.end(), release_order);
    }
    sends[i] = std::max<std::uint32_t>(
        1, placeto ? row.message_count : static_cast<std::uint32_t>(edges.size()));
    total_sends += sends[i];
  }
}

void Plan::add_message(Index producer, TensorId tensor) {
  const auto begin = static_cast<std::uint32_t>(consumers.size());
  messages.push_back({0, begin, begin});
  message_producer.push_back(producer);
  message_tensor.push_back(tensor);
  message_bytes.push_back(tensor == kNoTensor ? 0 : graph().bytes(tensor));
  has_signals = has_signals || tensor == kNoTensor;
}

void Plan::compile_routes() {
  if (device_count < 2) return;
  const Route& first = cluster().route(0, 1);
  for (DeviceId src = 0; src < cluster().device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster().device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = cluster().route(src, dst);
      uniform_routes = uniform_routes && route.channels.empty() && route == first;
    }
  }
  for (std::size_t m = 0; m < messages.size(); ++m) {
    messages[m].alone_us = route_us(first, message_bytes[m]);
  }
}

void Plan::number_engines() {
  engine_count = device_count;
  // A device of two has one link.
  some_per_link = !placeto && cluster().has_engines_per_link() && device_count > 2;
  if (!some_per_link) return;
  engine_count = 0;
  for (std::uint32_t d = 0; d < device_count; ++d) {
    const bool each = cluster().device(static_cast<DeviceId>(d)).engine_per_link;
    first_engine.push_back(engine_count);
    engine_count += each ? device_count - 1 : 1;
    engine_sender.resize(engine_count, d);
  }
  first_engine.push_back(engine_count);
}

void Plan::compile_memory() {
  std::int64_t all = 0;
  bool fits = true;
  for (const auto& shared : graph().shared_parameters()) {
    fits = fits && add_bytes(all, shared.bytes);
  }
  output_bytes.resize(op_count);
  param_bytes.resize(op_count);
  resident_bytes.resize(op_count);
  workspace_bytes.resize(op_count);
  taken_bytes.resize(op_count);
  unread_bytes.resize(op_count);
  home_bytes = message_bytes;
  std::int64_t largest_workspace = 0;
  for (Index i = 0; i < op_count; ++i) {
    const OpId op = ids[i];
    output_bytes[i] = graph().output_bytes(op);
    workspace_bytes[i] = problem->costs().workspace_bytes(op);
    largest_workspace = std::max(largest_workspace, workspace_bytes[i]);
    param_bytes[i] = graph().own_param_bytes(op);
    fits = fits && add_bytes(all, output_bytes[i]) && add_bytes(all, param_bytes[i]);
  }
  if (!fits || !add_bytes(all, largest_workspace)) {
    throw Error(ErrorCode::invalid_graph,
                cat("the tensors and parameters of graph '", graph().name(),
                    "' add up to more than 2^63 bytes; correct its sizes"));
  }
  compile_lifetimes();
  for (std::uint32_t d = 0; d < device_count; ++d) {
    works_in.push_back(static_cast<std::uint32_t>(cluster().works_in(static_cast<DeviceId>(d))));
  }
  if (placeto) return;

  input_begin.assign(op_count + 1, 0);
  const auto for_each_edge = [&](auto&& visit) {
    for (std::size_t m = 0; m < messages.size(); ++m) {
      if (message_bytes[m] == 0) continue;
      for (std::uint32_t e = messages[m].begin; e < messages[m].end; ++e) visit(e);
    }
  };
  for_each_edge([&](std::uint32_t e) { ++input_begin[consumers[e] + 1]; });
  std::partial_sum(input_begin.begin(), input_begin.end(), input_begin.begin());
  input_edges.resize(input_begin.back());
  std::vector<std::uint32_t> next(input_begin.begin(), input_begin.end() - 1);
  for_each_edge([&](std::uint32_t e) { input_edges[next[consumers[e]]++] = e; });
}

void Plan::compile_lifetimes() {
  for (Index i = 0; i < op_count; ++i) {
    const OpId op = ids[i];
    const bool input = graph().is_input(op);
    resident_bytes[i] = param_bytes[i] + (input ? output_bytes[i] : 0);
    taken_bytes[i] = input ? 0 : output_bytes[i];
    unread_bytes[i] = taken_bytes[i];
    // A constant gives a parameter, whether the step returns it or not.
    if (graph().is_constant(op)) continue;
    if (problem->is_view(op)) {
      compile_view(i);
      continue;
    }
    // What takes the place of an input is there already.
    taken_bytes[i] -= graph().reused_bytes(op);
    for (const TensorId tensor : graph().outputs(op)) {
      if (!input && graph().is_result(tensor)) unread_bytes[i] -= graph().bytes(tensor);
    }
    for (std::uint32_t m = rows[i].first_message; m < rows[i].first_message + rows[i].message_count;
         ++m) {
      if (message_tensor[m] == kNoTensor) continue;
      if (input || graph().is_result(message_tensor[m])) {
        home_bytes[m] = 0;
      } else {
        unread_bytes[i] -= message_bytes[m];
      }
    }
  }
}

void Plan::compile_view(Index i) {
  taken_bytes[i] = 0;
  unread_bytes[i] = 0;
  views.push_back(i);
  is_view.resize(op_count, 0);
  is_returned.resize(op_count, 0);
  kept_by_view.resize(op_count, 0);
  overwritten.resize(op_count, kNoMessage);
  is_view[i] = 1;
  if (const TensorId tensor = problem->overwritten(ids[i]); tensor != kNoTensor) {
    overwritten[i] = message_of(rows[index_of(graph().producer(tensor))], tensor);
  }
  for (const TensorId tensor : graph().outputs(ids[i])) {
    if (graph().is_result(tensor) && graph().bytes(tensor) != 0) is_returned[i] = 1;
  }
  kept_by_view[i] = is_returned[i];
  const OpRow& row = rows[i];
  for (std::uint32_t m = row.first_message; m < row.first_message + row.message_count; ++m) {
    home_bytes[m] = 0;
    if (message_bytes[m] != 0) ++kept_by_view[i];
  }
}

}  // namespace berth::simulator
