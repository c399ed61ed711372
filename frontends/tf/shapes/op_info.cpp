#include "tf/shapes/op_info.h"

#include <algorithm>
#include <unordered_map>

namespace berth::tf_frontend {

const Value& ShapeContext::in(std::size_t i) const noexcept {
  static const Value nothing;
  return i < inputs_.size() && inputs_[i] != nullptr ? *inputs_[i] : nothing;
}

Value& ShapeContext::out(std::size_t i) noexcept {
  return i < outputs_.size() ? outputs_[i] : spare_;
}

void ShapeContext::copy_shape(std::size_t output, const Value& from) {
  if (from.ranked) set(output, from.dims);
}

void ShapeContext::pass(std::size_t output, const Value& from) {
  Value& to = out(output);
  const int type = to.type != kUnknownType ? to.type : from.type;
  to = from;
  to.type = type;
}

void ShapeContext::set_data(std::size_t output, std::vector<std::int64_t> numbers) {
  if (numbers.size() <= Data::kMaxElements) {
    out(output).data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  }
}

namespace {

ArgDef parse_output(std::string_view text) {
  ArgDef arg;
  const std::size_t colon = text.find(':');
  arg.name = text.substr(0, colon);
  std::string_view type = text.substr(colon + 1);
  if (const std::size_t star = type.find('*'); star != std::string_view::npos) {
    arg.number_attr = type.substr(star + 1);
    type = type.substr(0, star);
  }
  if (type.front() == '=') {
    arg.type = type_from_name(type.substr(1));
  } else if (type.front() == '@') {
    arg.type_list_attr = type.substr(1);
  } else {
    arg.type_attr = type;
  }
  return arg;
}

using Table = std::unordered_map<std::string_view, OpInfo>;

Table make_table() {
  Table table;
  for (const auto& rows : {math_ops(), product_ops(), layout_ops(), indexing_ops(), network_ops(),
                           state_ops(), data_ops()}) {
    for (const OpRow& row : rows) {
      OpInfo info;
      info.rule = row.rule;
      std::string_view rest = row.outputs;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        info.outputs.push_back(parse_output(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      table.emplace(row.type, std::move(info));
    }
  }
  return table;
}

// No op has more tensors than a file could list inputs for.
constexpr std::int64_t kMostTensors = 1 << 20;

/// Files may leave out attributes that have their default.
int default_type(std::string_view attribute) {
  if (attribute == "output_type") return kInt64;  // of ArgMax and its like
  if (attribute == "U") return kFloat;            // of batch normalisation
  if (attribute == "out_type" || attribute == "index_type" || attribute == "Tidx" ||
      attribute == "out_idx" || attribute == "Targmax") {
    return kInt32;
  }
  return kUnknownType;
}

/// Every op that makes a dataset gives one handle to it.
bool makes_dataset(std::string_view type) {
  const std::size_t at = type.rfind("Dataset");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = type.substr(at + 7);
  return rest.empty() || (rest.size() == 2 && rest[0] == 'V');
}

}  // namespace

const OpInfo* find_op(std::string_view type) {
  static const Table table = make_table();
  const auto found = table.find(type);
  if (found != table.end()) return &found->second;
  static const OpInfo dataset{{parse_output("handle:=variant")}, rule::scalars};
  return makes_dataset(type) ? &dataset : nullptr;
}

std::size_t tensor_count(const ArgDef& output, const Attributes& attributes) {
  if (!output.type_list_attr.empty()) return attributes.types(output.type_list_attr).size();
  if (output.number_attr.empty()) return 1;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(attributes.integer(output.number_attr, 1), 0, kMostTensors));
}

std::vector<int> output_types(std::span<const ArgDef> outputs, const Attributes& attributes) {
  std::vector<int> types;
  for (const ArgDef& output : outputs) {
    if (!output.type_list_attr.empty()) {
      const std::vector<int> list = attributes.types(output.type_list_attr);
      types.insert(types.end(), list.begin(), list.end());
      continue;
    }
    const int type = output.type_attr.empty()
                         ? output.type
                         : attributes.type(output.type_attr, default_type(output.type_attr));
    types.insert(types.end(), tensor_count(output, attributes),
                 type > kReferenceOffset ? type - kReferenceOffset : type);
  }
  return types;
}

namespace rule {

void none(ShapeContext& /*op*/) {}

void scalars(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, {});
}

void like_first(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(0));
}

void like_second(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(1));
}

void like_third(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(2));
}

void identity(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.pass(i, op.in(i));
}

void broadcast_all(ShapeContext& op) {
  Dims dims;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.in(i).ranked || !broadcast(dims, op.in(i).dims, dims)) return;
  }
  op.set(0, std::move(dims));
}

void vectors(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, {kUnknownDim});
}

void shape_from_first(ShapeContext& op) {
  op.copy_shape(0, shape_of_content(op.in(0)));
}

}  // namespace rule

Value shape_of_content(const Value& vector) {
  Value shape;
  if (vector.ranked && vector.dims.size() > 1) return shape;
  if (vector.data != nullptr) {
    Dims dims;
    for (const std::int64_t n : *vector.data) {
      dims.push_back(n == Data::kUnknown || n < 0 || n > kMaxDim ? kUnknownDim : n);
    }
    if (dims.size() <= kMaxRank) shape.set_shape(std::move(dims));
  } else if (vector.dim(0) != kUnknownDim && vector.dim(0) <= static_cast<int>(kMaxRank)) {
    shape.set_shape(Dims(static_cast<std::size_t>(vector.dim(0)), kUnknownDim));
  }
  return shape;
}

int normal_axis(std::int64_t axis, int rank) noexcept {
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? -1 : static_cast<int>(axis);
}

std::int64_t add_dims(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) || sum > kMaxDim) return kUnknownDim;
  return sum;
}

std::int64_t multiply_dims(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) || product > kMaxDim) {
    return kUnknownDim;
  }
  return product;
}

std::vector<std::int64_t> small_integers(const Attributes& attributes, std::string_view key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::vector<std::int64_t> numbers = attributes.integers(key);
  for (std::int64_t& n : numbers) n = std::clamp(n, -kMost, kMost);
  return numbers;
}

}  // namespace berth::tf_frontend
