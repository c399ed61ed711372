// Content of small tensors: what exported models compute shapes with.
#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "onnx/op_context.h"

namespace berth::onnx_frontend {
namespace {

using Results = std::vector<DataPtr>;
using Fold = void (*)(const OpContext&, Results&);

constexpr std::size_t kMost = Data::kMaxElements;
constexpr double kUnknownReal = std::numeric_limits<double>::quiet_NaN();

std::size_t count_of(const Dims& dims) {
  const std::int64_t count = product(dims, 0, dims.size());
  return count < 0 || count > static_cast<std::int64_t>(kMost) ? kMost + 1
                                                               : static_cast<std::size_t>(count);
}

DataPtr share(Data data) {
  return std::make_shared<const Data>(std::move(data));
}

Data empty_like(const Data& model, Dims dims) {
  Data data;
  data.real = model.real;
  data.dims = std::move(dims);
  return data;
}

void append(Data& to, const Data& from, std::size_t i) {
  if (to.real) {
    to.reals.push_back(from.number(i).value_or(kUnknownReal));
  } else {
    to.ints.push_back(from.integer(i).value_or(Data::kUnknown));
  }
}

// --- moving elements -----------------------------------------------------------------------------

void shape_of(const OpContext& op, Results& out) {
  const Dims* const dims = op.shape(0);
  if (dims == nullptr || out.empty() || !op.out[0].complete()) return;
  const auto rank = static_cast<std::int64_t>(dims->size());
  const std::int64_t start = op.int_attribute("start", 0);
  const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  Data data;
  data.dims = op.out[0].dims;
  for (std::int64_t i = first; i < first + data.dims[0]; ++i) {
    const std::int64_t dim = (*dims)[static_cast<std::size_t>(i)];
    data.ints.push_back(dim == kUnknownDim ? Data::kUnknown : dim);
  }
  out[0] = share(std::move(data));
}

void size_of(const OpContext& op, Results& out) {
  const Dims* const dims = op.shape(0);
  if (dims == nullptr) return;
  const std::int64_t count = product(*dims, 0, dims->size());
  Data data;
  data.ints = {count == kUnknownDim ? Data::kUnknown : count};
  out[0] = share(std::move(data));
}

// The same elements in another shape.
void same_elements(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || !op.out[0].has_shape || count_of(op.out[0].dims) != from->size()) return;
  Data data = *from;
  data.dims = op.out[0].dims;
  out[0] = share(std::move(data));
}

void cast(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  const int elem = op.out[0].elem;
  if (from == nullptr || (!is_integer_type(elem) && !is_float_type(elem))) return;
  Data data;
  data.real = is_float_type(elem);
  data.dims = from->dims;
  for (std::size_t i = 0; i < from->size(); ++i) append(data, *from, i);
  if (elem == onnx::TensorProto::BOOL) {
    for (std::int64_t& value : data.ints) value = value == Data::kUnknown ? value : value != 0;
  }
  out[0] = share(std::move(data));
}

// dims[0, axis), dims[axis], dims(axis, end) as (outer, size, inner).
struct Layout {
  std::size_t outer = 1, size = 1, inner = 1;
};
std::optional<Layout> layout(const Dims& dims, std::int64_t at) {
  const auto axis = normal_axis(at, dims.size());
  if (!axis) return std::nullopt;
  Layout result;
  result.outer = static_cast<std::size_t>(product(dims, 0, *axis));
  result.size = static_cast<std::size_t>(dims[*axis]);
  result.inner = static_cast<std::size_t>(product(dims, *axis + 1, dims.size()));
  return result;
}

void gather(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  const Data* const indices = op.data(1);
  if (from == nullptr || indices == nullptr || !op.out[0].has_shape) return;
  const auto at = layout(from->dims, op.int_attribute("axis", 0));
  if (!at || count_of(op.out[0].dims) > kMost) return;
  Data data = empty_like(*from, op.out[0].dims);
  for (std::size_t outer = 0; outer < at->outer; ++outer) {
    for (std::size_t k = 0; k < indices->size(); ++k) {
      const auto index = indices->integer(k);
      if (!index) return;
      const auto chosen = normal_axis(*index, at->size);
      if (!chosen) return;
      for (std::size_t inner = 0; inner < at->inner; ++inner) {
        append(data, *from, (outer * at->size + *chosen) * at->inner + inner);
      }
    }
  }
  out[0] = share(std::move(data));
}

void concat(const OpContext& op, Results& out) {
  if (!op.out[0].complete() || count_of(op.out[0].dims) > kMost) return;
  std::vector<const Data*> parts;
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Data* part = op.data(i);
    if (part == nullptr) return;
    const auto at = layout(part->dims.empty() ? Dims{1} : part->dims, op.int_attribute("axis", 1));
    if (!at || (i > 0 && at->outer != layouts[0].outer)) return;
    parts.push_back(part);
    layouts.push_back(*at);
  }
  if (parts.empty()) return;
  Data data = empty_like(*parts[0], op.out[0].dims);
  for (std::size_t outer = 0; outer < layouts[0].outer; ++outer) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t chunk = layouts[i].size * layouts[i].inner;
      for (std::size_t k = 0; k < chunk; ++k) append(data, *parts[i], outer * chunk + k);
    }
  }
  if (data.size() == count_of(data.dims)) out[0] = share(std::move(data));
}

void split(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr) return;
  const auto axis = op.int_attribute("axis", 0);
  const auto whole = layout(from->dims, axis);
  std::size_t begin = 0;
  for (std::size_t i = 0; whole && i < out.size(); ++i) {
    if (!op.out[i].complete() || op.out[i].rank() != static_cast<int>(from->dims.size())) return;
    const auto part = layout(op.out[i].dims, axis);
    if (!part || begin + part->size > whole->size) return;
    Data data = empty_like(*from, op.out[i].dims);
    for (std::size_t outer = 0; outer < whole->outer; ++outer) {
      const std::size_t first = (outer * whole->size + begin) * whole->inner;
      for (std::size_t k = 0; k < part->size * whole->inner; ++k) append(data, *from, first + k);
    }
    begin += part->size;
    out[i] = share(std::move(data));
  }
}

void slice(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || from->dims.size() != 1 || from->size() == 0 || !op.out[0].complete()) {
    return;
  }
  const bool by_inputs = op.input_count() > 1;
  const auto starts = by_inputs ? op.integers(1) : op.ints_attribute("starts");
  const auto steps = op.integers(4);
  if (!starts || starts->size() != 1 || (op.input(4) != nullptr && !steps)) return;
  const std::int64_t size = from->dims[0];
  const std::int64_t step = steps && steps->size() == 1 ? steps->front() : 1;
  std::int64_t at = starts->front();
  if (at < 0) at = at < -size ? 0 : at + size;
  at = std::clamp<std::int64_t>(at, 0, step > 0 ? size : size - 1);
  Data data = empty_like(*from, op.out[0].dims);
  for (std::int64_t i = 0; i < data.dims[0]; ++i) {
    if (at < 0 || at >= size) return;
    append(data, *from, static_cast<std::size_t>(at));
    if (i + 1 < data.dims[0] && __builtin_add_overflow(at, step, &at)) return;
  }
  out[0] = share(std::move(data));
}

void transpose(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || from->dims.size() > 2 || !op.out[0].complete()) return;
  if (from->dims.size() < 2 || op.out[0].dims == from->dims) {
    const auto perm = op.ints_attribute("perm");
    const bool identity = from->dims.size() < 2 || (perm && perm->front() == 0);
    if (identity) return same_elements(op, out);
  }
  Data data = empty_like(*from, op.out[0].dims);
  const auto rows = static_cast<std::size_t>(from->dims[0]);
  const auto columns = static_cast<std::size_t>(from->dims[1]);
  const auto perm = op.ints_attribute("perm");
  if (perm && perm->front() == 0) return same_elements(op, out);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) append(data, *from, r * columns + c);
  }
  out[0] = share(std::move(data));
}

// --- making elements -----------------------------------------------------------------------------

void constant_of_shape(const OpContext& op, Results& out) {
  if (!op.out[0].complete() || count_of(op.out[0].dims) > kMost) return;
  Data value;
  value.real = true;
  value.reals = {0};
  if (const auto* const attribute = op.node.attribute("value")) {
    const DataPtr stated = data_from_proto(attribute->t());
    if (!stated || stated->size() != 1) return;
    value = *stated;
  }
  Data data = empty_like(value, op.out[0].dims);
  for (std::size_t i = 0; i < count_of(data.dims); ++i) append(data, value, 0);
  out[0] = share(std::move(data));
}

void range(const OpContext& op, Results& out) {
  const Data* const start = op.data(0);
  const Data* const step = op.data(2);
  if (!op.out[0].complete() || count_of(op.out[0].dims) > kMost || start == nullptr ||
      step == nullptr || start->size() != 1 || step->size() != 1 || start->real) {
    return;
  }
  const auto first = start->integer(0), by = step->integer(0);
  if (!first || !by) return;
  Data data = empty_like(*start, op.out[0].dims);
  std::int64_t value = *first;
  for (std::int64_t i = 0; i < data.dims[0]; ++i) {
    data.ints.push_back(value);
    if (__builtin_add_overflow(value, *by, &value)) value = Data::kUnknown;
  }
  out[0] = share(std::move(data));
}

void non_zero(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || from->dims.size() != 1) return;
  Data data;
  for (std::size_t i = 0; i < from->size(); ++i) {
    const auto value = from->number(i);
    if (!value) return;
    if (*value != 0) data.ints.push_back(static_cast<std::int64_t>(i));
  }
  data.dims = {1, static_cast<std::int64_t>(data.ints.size())};
  out[0] = share(std::move(data));
}

// --- arithmetic ----------------------------------------------------------------------------------

// Element of `data` for element `i` of a result of shape `dims`.
std::size_t broadcast_index(const Data& data, const Dims& dims, std::size_t i) {
  std::size_t index = 0, stride = 1;
  for (std::size_t d = 0; d < data.dims.size(); ++d) {  // from the last dimension on
    const auto size = static_cast<std::size_t>(dims[dims.size() - 1 - d]);
    const auto own = static_cast<std::size_t>(data.dims[data.dims.size() - 1 - d]);
    if (own != 1) index += i % size * stride;
    stride *= own;
    i /= size;
  }
  return index;
}

bool result_dims(const std::vector<const Data*>& inputs, Dims& dims) {
  Dims next;
  for (const Data* const input : inputs) {
    if (input == nullptr || !broadcast(dims, input->dims, next)) return false;
    dims.swap(next);
  }
  return count_of(dims) <= kMost;
}

std::optional<std::int64_t> integer_result(std::string_view type, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const auto checked = [&](bool overflow) {
    return overflow ? std::nullopt : std::optional(result);
  };
  if (type == "Add" || type == "Sum") return checked(__builtin_add_overflow(a, b, &result));
  if (type == "Sub") return checked(__builtin_sub_overflow(a, b, &result));
  if (type == "Mul") return checked(__builtin_mul_overflow(a, b, &result));
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Equal") return a == b;
  if (type == "Greater") return a > b;
  if (type == "GreaterOrEqual") return a >= b;
  if (type == "Less") return a < b;
  if (type == "LessOrEqual") return a <= b;
  if (type == "And") return a != 0 && b != 0;
  if (type == "Or") return a != 0 || b != 0;
  if (b == 0) return std::nullopt;
  if (b == -1) return type == "Div" ? integer_result("Sub", 0, a) : std::optional<std::int64_t>(0);
  if (type == "Div") return a / b;
  if (type == "Mod") return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
  return std::nullopt;
}

std::optional<double> real_result(std::string_view type, double a, double b) {
  if (type == "Add" || type == "Sum") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (type == "Div") return a / b;
  if (type == "Pow") return std::pow(a, b);
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  return std::nullopt;
}

bool is_comparison(std::string_view type) {
  return type == "Equal" || type == "Greater" || type == "GreaterOrEqual" || type == "Less" ||
         type == "LessOrEqual";
}

void binary(const OpContext& op, Results& out) {
  const Data* const a = op.data(0);
  const Data* const b = op.data(1);
  Dims dims;
  if (op.input_count() != 2 || !result_dims({a, b}, dims)) return;
  const std::string_view type = op.node.type();
  const bool compares = is_comparison(type);
  if (compares && a->real) return;
  Data data = empty_like(*a, dims);
  for (std::size_t i = 0; i < count_of(dims); ++i) {
    const std::size_t at_a = broadcast_index(*a, dims, i), at_b = broadcast_index(*b, dims, i);
    if (data.real) {
      const auto x = a->number(at_a), y = b->number(at_b);
      data.reals.push_back(x && y ? real_result(type, *x, *y).value_or(kUnknownReal)
                                  : kUnknownReal);
    } else if (type == "Pow") {
      const auto x = a->number(at_a), y = b->number(at_b);
      const double power = x && y ? std::pow(*x, *y) : kUnknownReal;
      data.ints.push_back(std::abs(power) < 9e15 ? static_cast<std::int64_t>(power)
                                                 : Data::kUnknown);
    } else {
      const auto x = a->integer(at_a), y = b->integer(at_b);
      data.ints.push_back(x && y ? integer_result(type, *x, *y).value_or(Data::kUnknown)
                                 : Data::kUnknown);
    }
  }
  out[0] = share(std::move(data));
}

void unary(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr) return;
  const std::string_view type = op.node.type();
  Data data = *from;
  for (std::int64_t& value : data.ints) {
    if (value == Data::kUnknown) continue;
    if (type == "Neg" || (type == "Abs" && value < 0)) {
      value = integer_result("Sub", 0, value).value_or(Data::kUnknown);
    }
    if (type == "Not") value = value == 0;
    if (type == "Sign") value = (value > 0) - (value < 0);
  }
  for (double& value : data.reals) {
    if (type == "Neg") value = -value;
    if (type == "Abs") value = std::abs(value);
    if (type == "Ceil") value = std::ceil(value);
    if (type == "Floor") value = std::floor(value);
    if (type == "Round") value = std::nearbyint(value);
    if (type == "Sqrt") value = std::sqrt(value);
    if (type == "Reciprocal") value = 1 / value;
  }
  out[0] = share(std::move(data));
}

void where(const OpContext& op, Results& out) {
  const Data* const condition = op.data(0);
  const Data* const yes = op.data(1);
  const Data* const no = op.data(2);
  Dims dims;
  if (!result_dims({condition, yes, no}, dims) || yes->real != no->real) return;
  Data data = empty_like(*yes, dims);
  for (std::size_t i = 0; i < count_of(dims); ++i) {
    const auto chosen = condition->integer(broadcast_index(*condition, dims, i));
    const std::size_t at_yes = broadcast_index(*yes, dims, i);
    const std::size_t at_no = broadcast_index(*no, dims, i);
    if (chosen) {
      append(data, *chosen != 0 ? *yes : *no, *chosen != 0 ? at_yes : at_no);
    } else {
      data.real ? data.reals.push_back(kUnknownReal) : data.ints.push_back(Data::kUnknown);
    }
  }
  out[0] = share(std::move(data));
}

void expand(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || !op.out[0].complete() || count_of(op.out[0].dims) > kMost) return;
  Dims dims;
  if (!broadcast(from->dims, op.out[0].dims, dims) || dims != op.out[0].dims) return;
  Data data = empty_like(*from, dims);
  for (std::size_t i = 0; i < count_of(dims); ++i) {
    append(data, *from, broadcast_index(*from, dims, i));
  }
  out[0] = share(std::move(data));
}

// Of a whole tensor of integers.
void reduce(const OpContext& op, Results& out) {
  const Data* const from = op.data(0);
  if (from == nullptr || from->real || from->size() == 0 || !op.out[0].complete() ||
      count_of(op.out[0].dims) != 1) {
    return;
  }
  const auto values = from->integers();
  std::optional<std::int64_t> result;
  if (values) {
    const std::string_view type = op.node.type();
    const std::string_view step = type == "ReduceProd"  ? "Mul"
                                  : type == "ReduceSum" ? "Add"
                                  : type == "ReduceMax" ? "Max"
                                                        : "Min";
    result = values->front();
    for (std::size_t i = 1; i < values->size() && result; ++i) {
      result = integer_result(step, *result, (*values)[i]);
    }
  }
  Data data = empty_like(*from, op.out[0].dims);
  data.ints = {result.value_or(Data::kUnknown)};
  out[0] = share(std::move(data));
}

// The axes along which each of two shapes was broadcast.
void broadcast_gradient_axes(const OpContext& op, Results& out) {
  const auto a = op.integers(0), b = op.integers(1);
  if (!a || !b || a->size() > kMaxRank || b->size() > kMaxRank) return;
  const std::size_t rank = std::max(a->size(), b->size());
  const auto at = [&](const auto& dims, std::size_t axis) {
    const std::size_t missing = rank - dims.size();
    return axis < missing ? 1 : dims[axis - missing];
  };
  for (std::size_t side = 0; side < std::min<std::size_t>(2, out.size()); ++side) {
    Data data;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t own = at(side == 0 ? *a : *b, i), other = at(side == 0 ? *b : *a, i);
      if (own == 1 && other != 1) data.ints.push_back(static_cast<std::int64_t>(i));
      if (own == 1 && other == 1 && i < rank - (side == 0 ? a->size() : b->size())) {
        data.ints.push_back(static_cast<std::int64_t>(i));
      }
    }
    data.dims = {static_cast<std::int64_t>(data.ints.size())};
    out[side] = share(std::move(data));
  }
}

const std::unordered_map<std::string_view, Fold>& table() {
  static const std::unordered_map<std::string_view, Fold> kTable = {
      {"Abs", unary},
      {"Add", binary},
      {"And", binary},
      {"BroadcastGradientArgs", broadcast_gradient_axes},
      {"Cast", cast},
      {"Ceil", unary},
      {"Concat", concat},
      {"ConstantOfShape", constant_of_shape},
      {"Div", binary},
      {"Equal", binary},
      {"Expand", expand},
      {"Flatten", same_elements},
      {"Floor", unary},
      {"Gather", gather},
      {"Greater", binary},
      {"GreaterOrEqual", binary},
      {"Identity", same_elements},
      {"Less", binary},
      {"LessOrEqual", binary},
      {"Max", binary},
      {"Min", binary},
      {"Mod", binary},
      {"Mul", binary},
      {"Neg", unary},
      {"NonZero", non_zero},
      {"Not", unary},
      {"Or", binary},
      {"Pow", binary},
      {"Range", range},
      {"Reciprocal", unary},
      {"ReduceMax", reduce},
      {"ReduceMin", reduce},
      {"ReduceProd", reduce},
      {"ReduceSum", reduce},
      {"Reshape", same_elements},
      {"Round", unary},
      {"Shape", shape_of},
      {"Sign", unary},
      {"Size", size_of},
      {"Slice", slice},
      {"Split", split},
      {"Sqrt", unary},
      {"Squeeze", same_elements},
      {"Sub", binary},
      {"Transpose", transpose},
      {"Unsqueeze", same_elements},
      {"Where", where},
  };
  return kTable;
}

}  // namespace

std::vector<DataPtr> fold(const OpContext& op) {
  std::vector<DataPtr> out(op.out.size());
  if (out.empty() || (!op.node.domain.empty() && op.node.domain != "com.microsoft")) return out;
  const auto found = table().find(op.node.type());
  if (found != table().end()) found->second(op, out);
  return out;
}

}  // namespace berth::onnx_frontend
