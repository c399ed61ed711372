#include "berth/graph.h"

#include <algorithm>
#include <array>

#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "graph/graph_data.h"

namespace berth {

std::int64_t element_count(std::span<const std::int64_t> shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return kUnknownDim;
    if (dim == 0) return 0;
    count = saturating_product(count, dim);
  }
  return count;
}

std::string_view op_class_name(OpClass op_class) noexcept {
  static constexpr std::array<std::string_view, kOpClassCount> kNames = {"none",
                                                                         "convolution",
                                                                         "pointwise_convolution",
                                                                         "grouped_convolution",
                                                                         "depthwise_convolution",
                                                                         "matmul",
                                                                         "attention",
                                                                         "recurrent",
                                                                         "normalization",
                                                                         "pooling",
                                                                         "reduction",
                                                                         "elementwise",
                                                                         "data_movement",
                                                                         "other"};
  return kNames[static_cast<std::size_t>(op_class)];
}

Graph::Graph(std::unique_ptr<const Data> data) : data_(std::move(data)) {}
Graph::~Graph() = default;

const std::string& Graph::name() const noexcept {
  return data_->name;
}
const std::string& Graph::dialect() const noexcept {
  return data_->dialect;
}
OpId Graph::op_count() const noexcept {
  return static_cast<OpId>(data_->op_names.size());
}
TensorId Graph::tensor_count() const noexcept {
  return static_cast<TensorId>(data_->producers.size());
}
std::int64_t Graph::edge_count() const noexcept {
  return static_cast<std::int64_t>(data_->in_edges.items().size());
}

const std::string& Graph::op_name(OpId op) const noexcept {
  return data_->op_names[at(op)];
}
const std::string& Graph::op_type(OpId op) const noexcept {
  return data_->strings[data_->op_types[at(op)]];
}
std::optional<OpId> Graph::find_op(std::string_view name) const noexcept {
  const OpId found = data_->op_by_name.find(data_->op_names, name);
  return found == kNoOp ? std::nullopt : std::optional<OpId>(found);
}
std::span<const TensorId> Graph::inputs(OpId op) const noexcept {
  return data_->inputs[op];
}
std::span<const TensorId> Graph::outputs(OpId op) const noexcept {
  return data_->outputs[op];
}
std::span<const Edge> Graph::in_edges(OpId op) const noexcept {
  return data_->in_edges[op];
}
std::span<const Edge> Graph::out_edges(OpId op) const noexcept {
  return data_->out_edges[op];
}
std::int64_t Graph::output_bytes(OpId op) const noexcept {
  return data_->output_bytes[at(op)];
}
std::int64_t Graph::param_bytes(OpId op) const noexcept {
  return data_->param_bytes[at(op)];
}
std::int64_t Graph::own_param_bytes(OpId op) const noexcept {
  return data_->own_param_bytes[at(op)];
}
bool Graph::is_input(OpId op) const noexcept {
  return data_->is_input[at(op)] && data_->in_edges[op].empty();
}
bool Graph::is_result(TensorId tensor) const noexcept {
  return data_->results[at(tensor)];
}
std::int64_t Graph::lasting_bytes(OpId op) const noexcept {
  if (is_constant(op)) return 0;
  if (is_input(op)) return output_bytes(op);
  std::int64_t sum = 0;
  for (const TensorId tensor : outputs(op)) {
    if (is_result(tensor)) sum += bytes(tensor);
  }
  return sum - reused_bytes(op);
}
std::span<const Graph::State> Graph::states() const noexcept {
  return data_->states;
}
std::int64_t Graph::reused_bytes(OpId op) const noexcept {
  return data_->reused_bytes.empty() ? 0 : data_->reused_bytes[at(op)];
}
bool Graph::names_results() const noexcept {
  return data_->names_results;
}
std::span<const TensorId> Graph::parameters(OpId op) const noexcept {
  return data_->parameters[op];
}
bool Graph::is_constant(OpId op) const noexcept {
  return data_->is_constant(op);
}
OpId Graph::constant_count() const noexcept {
  return data_->constant_count;
}
OpId Graph::first_reader(OpId constant) const noexcept {
  return data_->constants.empty() ? kNoOp : data_->first_readers[at(constant)];
}
OpId Graph::maker(TensorId tensor) const noexcept {
  return data_->makers[at(tensor)];
}
std::span<const TensorId> Graph::kept_for(TensorId tensor) const noexcept {
  if (data_->constants.empty()) return {};
  return data_->stands_for[tensor];
}
std::int64_t Graph::read_bytes(TensorId tensor) const noexcept {
  const OpId maker = data_->makers[at(tensor)];
  if (maker == kNoOp || !data_->is_constant(maker)) return data_->known_bytes(tensor);
  std::int64_t bytes = 0;
  for (const TensorId kept : kept_for(tensor)) {
    bytes = saturating_sum(bytes, data_->known_bytes(kept));
  }
  return bytes;
}
Graph::Constant Graph::constant_role(OpId op) const noexcept {
  return data_->constants.empty() ? Constant::no : data_->constants[at(op)];
}
std::int64_t Graph::stated_param_bytes(OpId op) const noexcept {
  return data_->extra_param_bytes[at(op)];
}
bool Graph::stated_pure(OpId op) const noexcept {
  return data_->pure[at(op)];
}
const std::string& Graph::colocation(OpId op) const noexcept {
  return data_->strings[data_->colocations[at(op)]];
}
const std::string& Graph::requested_device(OpId op) const noexcept {
  return data_->strings[data_->requested_devices[at(op)]];
}
const AttributeValue* Graph::attribute(OpId op, std::string_view name) const noexcept {
  for (const auto& [id, value] : data_->attributes[op]) {
    if (data_->strings[id] == name) return &value;
  }
  return nullptr;
}
std::vector<std::pair<std::string_view, const AttributeValue*>> Graph::attributes(OpId op) const {
  std::vector<std::pair<std::string_view, const AttributeValue*>> attributes;
  for (const auto& [id, value] : data_->attributes[op]) {
    attributes.emplace_back(data_->strings[id], &value);
  }
  return attributes;
}
const std::optional<Work>& Graph::stated_work(OpId op) const noexcept {
  static const std::optional<Work> kNone;
  const auto found = data_->stated_work.find(op);
  return found == data_->stated_work.end() ? kNone : found->second;
}

OpId Graph::producer(TensorId tensor) const noexcept {
  return data_->producers[at(tensor)];
}
const std::string& Graph::tensor_name(TensorId tensor) const noexcept {
  return data_->tensor_names[at(tensor)];
}
DType Graph::dtype(TensorId tensor) const noexcept {
  return data_->dtypes[at(tensor)];
}
bool Graph::has_shape(TensorId tensor) const noexcept {
  return data_->has_shape[at(tensor)];
}
std::span<const std::int64_t> Graph::shape(TensorId tensor) const noexcept {
  return data_->shapes[tensor];
}
std::int64_t Graph::bytes(TensorId tensor) const noexcept {
  return std::max<std::int64_t>(0, data_->tensor_bytes[at(tensor)]);
}
bool Graph::bytes_known(TensorId tensor) const noexcept {
  return data_->tensor_bytes[at(tensor)] != kUnknownBytes;
}

const std::vector<Graph::SharedParameter>& Graph::shared_parameters() const noexcept {
  return data_->shared_parameters;
}
std::int64_t Graph::total_param_bytes() const noexcept {
  return data_->total_param_bytes;
}
std::span<const OpId> Graph::topological_order() const noexcept {
  return data_->order;
}
std::span<const Graph::StatedCost> Graph::stated_costs(OpId op) const noexcept {
  return data_->stated_costs[op];
}

}  // namespace berth
