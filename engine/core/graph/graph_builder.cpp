#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "graph/graph_data.h"

namespace berth {
namespace {

/// Items in the order they were added, each with the row it belongs to.
template <typename Item>
using Pending = std::vector<std::pair<std::int32_t, Item>>;

/// Gathers `pending` into rows, keeping the order within a row.
template <typename Item>
Rows<Item> gather(Pending<Item>&& pending, std::size_t row_count) {
  auto rows = Rows<Item>::collect(row_count, [&](const auto& report) {
    for (auto& [row, item] : pending) report(row, std::move(item));
  });
  Pending<Item>().swap(pending);
  return rows;
}

/// The state of a builder; one that was moved from has none.
template <typename State>
State& of(const std::unique_ptr<State>& state) {
  if (state == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "this graph builder was moved from; use the one it was moved to");
  }
  return *state;
}

constexpr auto kMostIds = static_cast<std::size_t>(std::numeric_limits<OpId>::max());

}  // namespace

struct GraphBuilder::State {
  State(std::string name, std::string dialect) {
    data->name = std::move(name);
    data->dialect = std::move(dialect);
  }

  std::unique_ptr<Graph::Data> data = std::make_unique<Graph::Data>();
  std::vector<std::vector<std::int64_t>> shapes;
  Pending<TensorId> inputs;
  Pending<TensorId> outputs;
  Pending<NamedAttribute> attributes;
  Pending<Graph::StatedCost> stated_costs;
  Pending<OpId> control_inputs;  // row = the op that waits

  [[noreturn]] void fail(ErrorCode code, const std::string& what) const {
    throw Error(code, cat("graph '", data->name, "': ", what));
  }
  std::size_t op_count() const { return data->op_names.size(); }
  std::string op_label(OpId op) const {
    return cat("op '", data->op_names[at(op)], "' (#", op, ")");
  }

  void check_op(OpId op, std::string_view call) const {
    if (op < 0 || at(op) >= op_count()) {
      fail(ErrorCode::invalid_argument,
           cat(call, " names op #", op, ", but there are ", op_count(), "; use an id of add_op"));
    }
  }
  void check_tensor(TensorId tensor, std::string_view call) const {
    if (tensor < 0 || at(tensor) >= data->producers.size()) {
      fail(ErrorCode::invalid_argument,
           cat(call, " names tensor #", tensor, ", but there are ", data->producers.size(),
               "; use an id of add_output or add_parameter"));
    }
  }

  TensorId add_tensor(OpId producer, TensorInfo info, std::string name);
  void store_info(std::size_t tensor, TensorInfo info, const std::string& name);
  std::int64_t size_of(const TensorInfo& info, const std::string& name) const;

  void check_names();
  void make_edges();
  void make_order();
  /// Whether every edge leads from an op to a later one of the order.
  bool in_order() const;
  void find_inputs_and_results();
  void make_params();
  void sum_outputs();
  std::string describe_cycle(const std::vector<std::int32_t>& waiting) const;
};

GraphBuilder::GraphBuilder(std::string name, std::string dialect)
    : state_(std::make_unique<State>(std::move(name), std::move(dialect))) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

OpId GraphBuilder::op_count() const noexcept {
  return state_ == nullptr ? 0 : static_cast<OpId>(state_->op_count());
}

OpId GraphBuilder::add_op(std::string name, std::string type) {
  Graph::Data& data = *of(state_).data;
  if (data.op_names.size() >= kMostIds) state_->fail(ErrorCode::invalid_graph, "too many ops");
  data.op_names.push_back(std::move(name));
  data.op_types.push_back(data.strings.intern(std::move(type)));
  data.colocations.push_back(0);
  data.requested_devices.push_back(0);
  data.extra_param_bytes.push_back(0);
  data.pure.push_back(false);
  return static_cast<OpId>(data.op_names.size() - 1);
}

std::int64_t GraphBuilder::State::size_of(const TensorInfo& info, const std::string& name) const {
  if (info.bytes < kUnknownBytes) {
    fail(ErrorCode::invalid_graph,
         cat("tensor '", name, "' has a size of ", info.bytes, " bytes; sizes are not negative"));
  }
  for (const std::int64_t dim : info.shape) {
    if (dim < kUnknownDim) {
      fail(ErrorCode::invalid_graph,
           cat("tensor '", name, "' has a dimension of ", dim, "; use a size, or -1 if unknown"));
    }
  }
  if (info.bytes != kUnknownBytes) return info.bytes;
  const int bits = dtype_bits(info.dtype);
  if (!info.has_shape || bits == 0) return kUnknownBytes;
  const std::int64_t elements = element_count(info.shape);
  if (elements == kUnknownDim) return kUnknownBytes;
  std::int64_t total_bits = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(bits), &total_bits) ||
      total_bits > std::numeric_limits<std::int64_t>::max() - 7) {
    fail(ErrorCode::invalid_graph,
         cat("tensor '", name, "' is larger than 2^60 bytes; correct its shape"));
  }
  return (total_bits + 7) / 8;
}

void GraphBuilder::State::store_info(std::size_t tensor, TensorInfo info, const std::string& name) {
  data->tensor_bytes[tensor] = size_of(info, name);
  data->dtypes[tensor] = info.dtype;
  data->has_shape[tensor] = info.has_shape;
  shapes[tensor] = info.has_shape ? std::move(info.shape) : std::vector<std::int64_t>();
}

TensorId GraphBuilder::State::add_tensor(OpId producer, TensorInfo info, std::string name) {
  const std::size_t tensor = data->producers.size();
  if (tensor >= kMostIds) fail(ErrorCode::invalid_graph, "too many tensors");
  data->producers.push_back(producer);
  data->dtypes.push_back(DType::unknown);
  data->has_shape.push_back(false);
  data->tensor_bytes.push_back(kUnknownBytes);
  shapes.emplace_back();
  data->tensor_names.push_back(std::move(name));
  store_info(tensor, std::move(info), data->tensor_names.back());
  return static_cast<TensorId>(tensor);
}

TensorId GraphBuilder::add_output(OpId op, TensorInfo info, std::string tensor_name) {
  of(state_).check_op(op, "add_output");
  const TensorId tensor = state_->add_tensor(op, std::move(info), std::move(tensor_name));
  state_->outputs.emplace_back(op, tensor);
  return tensor;
}

TensorId GraphBuilder::add_parameter(TensorInfo info, std::string tensor_name) {
  return of(state_).add_tensor(kNoOp, std::move(info), std::move(tensor_name));
}

void GraphBuilder::add_input(OpId op, TensorId tensor) {
  of(state_).check_op(op, "add_input");
  if (tensor != kNoTensor) state_->check_tensor(tensor, "add_input");
  state_->inputs.emplace_back(op, tensor);
}

void GraphBuilder::add_control_edge(OpId src, OpId dst) {
  of(state_).check_op(src, "add_control_edge");
  of(state_).check_op(dst, "add_control_edge");
  state_->control_inputs.emplace_back(dst, src);
}

void GraphBuilder::add_result(TensorId tensor) {
  of(state_).check_tensor(tensor, "add_result");
  std::vector<bool>& results = state_->data->results;
  if (results.size() <= at(tensor)) results.resize(at(tensor) + 1, false);
  results[at(tensor)] = true;
  state_->data->names_results = true;
}

void GraphBuilder::name_results() {
  of(state_).data->names_results = true;
}

void GraphBuilder::set_tensor(TensorId tensor, TensorInfo info) {
  of(state_).check_tensor(tensor, "set_tensor");
  const auto index = at(tensor);
  state_->store_info(index, std::move(info), state_->data->tensor_names[index]);
}

void GraphBuilder::set_param_bytes(OpId op, std::int64_t bytes) {
  of(state_).check_op(op, "set_param_bytes");
  if (bytes < 0) {
    state_->fail(ErrorCode::invalid_graph, cat(state_->op_label(op), " has ", bytes,
                                               " parameter bytes; sizes are not negative"));
  }
  state_->data->extra_param_bytes[at(op)] = bytes;
}

void GraphBuilder::set_pure(OpId op) {
  of(state_).check_op(op, "set_pure");
  state_->data->pure[at(op)] = true;
}

void GraphBuilder::set_colocation(OpId op, std::string colocation) {
  of(state_).check_op(op, "set_colocation");
  state_->data->colocations[at(op)] = state_->data->strings.intern(std::move(colocation));
}

void GraphBuilder::set_requested_device(OpId op, std::string device) {
  of(state_).check_op(op, "set_requested_device");
  state_->data->requested_devices[at(op)] = state_->data->strings.intern(std::move(device));
}

void GraphBuilder::set_attribute(OpId op, std::string name, AttributeValue value) {
  of(state_).check_op(op, "set_attribute");
  const std::uint32_t id = state_->data->strings.intern(std::move(name));
  state_->attributes.emplace_back(op, NamedAttribute(id, std::move(value)));
}

void GraphBuilder::set_work(OpId op, const Work& work) {
  of(state_).check_op(op, "set_work");
  for (const double amount : {work.flops, work.bytes, work.launches, work.workspace_bytes}) {
    if (!std::isfinite(amount) || amount < 0) {
      state_->fail(ErrorCode::invalid_graph,
                   cat(state_->op_label(op), " states work of ", amount,
                       "; flops, bytes, launches and workspace are finite and not negative"));
    }
  }
  constexpr double kMostWorkspaceBytes = 1e18;  // sums of it stay within 64 bits
  if (work.workspace_bytes > kMostWorkspaceBytes) {
    state_->fail(ErrorCode::invalid_graph,
                 cat(state_->op_label(op), " states a workspace of ", work.workspace_bytes,
                     " bytes; Berth computes with at most ", kMostWorkspaceBytes));
  }
  state_->data->stated_work[op] = work;
}

void GraphBuilder::set_cost(OpId op, std::string kind, double us) {
  of(state_).check_op(op, "set_cost");
  if (!std::isfinite(us) || us < 0) {
    state_->fail(ErrorCode::invalid_graph,
                 cat(state_->op_label(op), " states a cost of ", us,
                     " us; costs are finite and not negative (leave out a kind that cannot run "
                     "the op)"));
  }
  state_->stated_costs.emplace_back(op, Graph::StatedCost{std::move(kind), us});
}

void GraphBuilder::State::check_names() {
  data->op_by_name = NameIndex(op_count());
  for (std::size_t i = 0; i < op_count(); ++i) {
    const auto op = static_cast<OpId>(i);
    const std::string& name = data->op_names[i];
    if (name.empty()) {
      fail(ErrorCode::invalid_graph, cat("op #", op, " has no name; give it a unique one"));
    }
    const OpId other = data->op_by_name.add(data->op_names, op);
    if (other != kNoOp) {
      fail(ErrorCode::invalid_graph,
           cat("ops #", other, " and #", op, " are both named '", name, "'; make names unique"));
    }
  }
}

void GraphBuilder::State::make_edges() {
  data->make_edges(gather(std::move(control_inputs), op_count()));
  if (data->in_edges.items().size() > kMostIds) fail(ErrorCode::invalid_graph, "too many edges");
}

void GraphBuilder::State::make_order() {
  // If every edge leads to a larger id, as in a compiler's order, the order of the ids is the one that
  // the search below finds.
  const std::span<const Edge> edges = data->in_edges.items();
  if (std::all_of(edges.begin(), edges.end(),
                  [](const Edge& edge) { return edge.src < edge.dst; })) {
    data->order.resize(op_count());
    std::iota(data->order.begin(), data->order.end(), OpId{0});
    return;
  }
  std::vector<std::int32_t> waiting(op_count());
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (std::size_t i = 0; i < op_count(); ++i) {
    const auto op = static_cast<OpId>(i);
    waiting[i] = static_cast<std::int32_t>(data->in_edges[op].size());
    if (waiting[i] == 0) ready.push(op);
  }
  data->order.reserve(op_count());
  while (!ready.empty()) {
    const OpId op = ready.top();
    ready.pop();
    data->order.push_back(op);
    for (const Edge& edge : data->out_edges[op]) {
      if (--waiting[at(edge.dst)] == 0) ready.push(edge.dst);
    }
  }
  if (data->order.size() != op_count()) {
    fail(ErrorCode::invalid_graph,
         cat("the ops form a cycle: ", describe_cycle(waiting), "; remove one of its edges"));
  }
}

bool GraphBuilder::State::in_order() const {
  std::vector<bool> passed(op_count(), false);
  for (const OpId op : data->order) {
    passed[at(op)] = true;
    for (const Edge& edge : data->out_edges[op]) {
      if (passed[at(edge.dst)]) return false;
    }
  }
  return data->order.size() == op_count();
}

std::string GraphBuilder::State::describe_cycle(const std::vector<std::int32_t>& waiting) const {
  // Every op still waiting has an input that still waits: walking back must meet an op again.
  const auto first = std::find_if(waiting.begin(), waiting.end(), [](auto n) { return n > 0; });
  auto op = static_cast<OpId>(first - waiting.begin());
  std::vector<bool> seen(op_count(), false);
  std::vector<OpId> path;
  while (!seen[at(op)]) {
    seen[at(op)] = true;
    path.push_back(op);
    for (const Edge& edge : data->in_edges[op]) {
      if (waiting[at(edge.src)] > 0) {
        op = edge.src;
        break;
      }
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), op));
  std::reverse(path.begin(), path.end());
  constexpr std::size_t kShown = 8;
  std::string text = data->op_names[at(op)];
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i == kShown && path.size() > kShown + 1) {
      text += cat(" -> (", path.size() - i - 1, " more)");
      i = path.size() - 1;
    }
    text += " -> " + data->op_names[at(path[i])];
  }
  return text;
}

void GraphBuilder::State::find_inputs_and_results() {
  static constexpr std::string_view kInputs[] = {
      "Input", "input", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg"};
  data->is_input.assign(op_count(), false);
  data->results.resize(data->producers.size(), false);
  for (std::size_t i = 0; i < op_count(); ++i) {
    const auto op = static_cast<OpId>(i);
    const std::string& type = data->strings[data->op_types[i]];
    data->is_input[i] =
        std::find(std::begin(kInputs), std::end(kInputs), type) != std::end(kInputs);
    if (data->names_results || !data->out_edges[op].empty()) continue;
    for (const TensorId tensor : data->outputs[op]) data->results[at(tensor)] = true;
  }
}

void GraphBuilder::State::make_params() {
  if (data->sum_parameters()) return;
  fail(ErrorCode::invalid_graph,
       "the parameters are larger than 2^63 bytes in total; correct their sizes");
}

void GraphBuilder::State::sum_outputs() {
  const OpId over = data->sum_outputs();
  if (over == kNoOp) return;
  fail(ErrorCode::invalid_graph, cat("the outputs up to ", op_label(over),
                                     " are larger than 2^63 bytes in total; correct their sizes"));
}

std::shared_ptr<const Graph> GraphBuilder::build() {
  // A graph that breaks the rules leaves nothing behind either.
  const Graph::Data& whole = *of(state_).data;
  const std::unique_ptr<State> built =
      std::exchange(state_, std::make_unique<State>(whole.name, whole.dialect));
  State& state = *built;
  Graph::Data& data = *state.data;
  data.inputs = gather(std::move(state.inputs), state.op_count());
  data.outputs = gather(std::move(state.outputs), state.op_count());
  data.attributes = gather(std::move(state.attributes), state.op_count());
  data.stated_costs = gather(std::move(state.stated_costs), state.op_count());
  for (const std::vector<std::int64_t>& shape : state.shapes) {
    for (const std::int64_t dim : shape) data.shapes.push_back(dim);
    data.shapes.end_row();
  }
  data.makers = data.producers;
  state.check_names();
  state.make_edges();
  state.make_order();
  state.find_inputs_and_results();
  state.make_params();
  state.sum_outputs();
  assert(state.in_order());
  return std::shared_ptr<const Graph>(new Graph(std::move(state.data)));
}

}  // namespace berth
