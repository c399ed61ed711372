// Shapes, slices, joins, gathers: what moves data without computing.
#include <algorithm>
#include <optional>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

std::vector<Number> content_of(const Dims& dims) {
  std::vector<Number> numbers = dims;
  for (Number& n : numbers) n = n == kUnknownDim ? Data::kUnknown : n;
  return numbers;
}

// --- Asking for shapes --------------------------------------------------------------------------

void shapes_of(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const Value& input = op.in(i);
    op.set(i, {input.ranked ? input.rank() : kUnknownDim});
    if (input.ranked) op.set_data(i, content_of(input.dims));
  }
}

void size_of(ShapeContext& op) {
  op.set(0, {});
  const Number count = op.in(0).ranked ? product(op.in(0).dims) : kUnknownDim;
  if (count != kUnknownDim) op.set_data(0, {count});
}

void rank_of(ShapeContext& op) {
  op.set(0, {});
  if (op.in(0).ranked) op.set_data(0, {op.in(0).rank()});
}

// --- Same elements, other shape
// -------------------------------------------------------------------

void reshape(ShapeContext& op) {
  const Value& input = op.in(0);
  Value target = shape_of_content(op.in(1));
  if (!target.ranked) return;
  // One -1 takes what is left. A dimension that is not known is no -1: only where exactly one is
  // open can it be filled.
  std::int64_t open = 0;
  for (const Number dim : target.dims) open += dim == kUnknownDim ? 1 : 0;
  const Number count = input.ranked ? product(input.dims) : kUnknownDim;
  if (open == 1 && count != kUnknownDim) {
    Dims known = target.dims;
    const auto hole = std::find(known.begin(), known.end(), kUnknownDim);
    *hole = 1;
    const Number rest = product(known);
    if (rest > 0 && count % rest == 0) {
      *hole = count / rest;
      target.dims = std::move(known);
    }
  }
  op.set(0, std::move(target.dims));
  const Value& out = op.out(0);
  if (input.data != nullptr && out.fully_known() &&
      product(out.dims) == static_cast<Number>(input.data->size())) {
    op.out(0).data = input.data;
  }
}

void expand_dims(ShapeContext& op) {
  const Value& input = op.in(0);
  const auto axis = op.in(1).element(0);
  if (!input.ranked) return;
  if (!axis) return op.set(0, Dims(input.dims.size() + 1, kUnknownDim));
  const int at = normal_axis(*axis, input.rank() + 1);
  if (at < 0) return;
  Dims dims = input.dims;
  dims.insert(dims.begin() + at, 1);
  op.set(0, std::move(dims));
  op.out(0).data = input.data;
}

void squeeze(ShapeContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  std::vector<Number> axes = op.attributes.integers("squeeze_dims");
  if (axes.empty()) axes = op.attributes.integers("axis");
  std::vector<bool> gone(input.dims.size(), false);
  if (axes.empty()) {
    if (!input.fully_known()) return;
    for (std::size_t i = 0; i < gone.size(); ++i) gone[i] = input.dims[i] == 1;
  }
  for (const Number axis : axes) {
    const int at = normal_axis(axis, input.rank());
    if (at < 0) return;
    gone[static_cast<std::size_t>(at)] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) dims.push_back(input.dims[i]);
  }
  op.set(0, std::move(dims));
  op.out(0).data = input.data;
}

void transpose(ShapeContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number>* order = op.in(1).integers();
  if (!input.ranked && order == nullptr) return;
  if (order == nullptr) return op.set(0, Dims(input.dims.size(), kUnknownDim));
  Dims dims;
  for (const Number axis : *order) {
    const int at = normal_axis(axis, static_cast<int>(order->size()));
    if (at < 0) return;
    dims.push_back(input.dim(static_cast<std::size_t>(at)));
  }
  op.set(0, std::move(dims));
}

void invert_permutation(ShapeContext& op) {
  rule::like_first(op);
  const std::vector<Number>* order = op.in(0).integers();
  if (order == nullptr) return;
  std::vector<Number> inverse(order->size(), 0);
  for (std::size_t i = 0; i < order->size(); ++i) {
    const Number to = (*order)[i];
    if (to < 0 || to >= static_cast<Number>(order->size())) return;
    inverse[static_cast<std::size_t>(to)] = static_cast<Number>(i);
  }
  op.set_data(0, std::move(inverse));
}

void bitcast(ShapeContext& op) {
  const Value& input = op.in(0);
  const int from = dtype_bits(dtype_of(input.type));
  const int to = dtype_bits(dtype_of(op.out(0).type));
  if (!input.ranked || from == 0 || to == 0) return;
  Dims dims = input.dims;
  if (from > to) dims.push_back(from / to);
  if (from < to) {
    if (dims.empty()) return;
    dims.pop_back();
  }
  op.set(0, std::move(dims));
}

void ensure_shape(ShapeContext& op) {
  op.pass(0, op.in(0));
  Value shape;
  if (op.attributes.shape("shape", shape)) merge_shape(op.out(0), shape);
}

// --- Filling
// --------------------------------------------------------------------------------------

void fill(ShapeContext& op) {
  rule::shape_from_first(op);
  const Value& out = op.out(0);
  const auto value = op.in(1).element(0);
  if (!value || !out.fully_known()) return;
  const Number count = product(out.dims);
  if (count >= 0 && count <= static_cast<Number>(Data::kMaxElements)) {
    op.set_data(0, std::vector<Number>(static_cast<std::size_t>(count), *value));
  }
}

void broadcast_to(ShapeContext& op) {
  op.copy_shape(0, shape_of_content(op.in(1)));
}

void tile(ShapeContext& op) {
  const Value& input = op.in(0);
  const Value times = shape_of_content(op.in(1));
  if (!input.ranked || !times.ranked || times.dims.size() != input.dims.size()) {
    if (input.ranked) op.set(0, Dims(input.dims.size(), kUnknownDim));
    return;
  }
  Dims dims;
  for (std::size_t i = 0; i < input.dims.size(); ++i) {
    dims.push_back(multiply_dims(input.dims[i], times.dims[i]));
  }
  op.set(0, std::move(dims));
}

/// input, paddings [rank, 2]; `sign` -1 takes them away.
void padded(ShapeContext& op, int sign) {
  const Value& input = op.in(0);
  const Value& paddings = op.in(1);
  const std::size_t rank =
      input.ranked ? input.dims.size()
                   : static_cast<std::size_t>(std::clamp<Number>(paddings.dim(0), 0, 254));
  if (!input.ranked && paddings.dim(0) == kUnknownDim) return;
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto before = paddings.element(2 * i);
    const auto after = paddings.element(2 * i + 1);
    if (!before || !after || input.dim(i) == kUnknownDim) {
      dims.push_back(kUnknownDim);
    } else if (sign > 0) {
      dims.push_back(add_dims(add_dims(input.dim(i), *before), *after));
    } else {
      const Number gone = add_dims(*before, *after);
      dims.push_back(gone < 0 || gone > input.dim(i) ? kUnknownDim : input.dim(i) - gone);
    }
  }
  op.set(0, std::move(dims));
}
void pad(ShapeContext& op) {
  padded(op, 1);
}
void pad_gradient(ShapeContext& op) {
  padded(op, -1);
}

void one_hot(ShapeContext& op) {
  const Value& indices = op.in(0);
  if (!indices.ranked) return;
  Number depth = op.in(1).element(0).value_or(kUnknownDim);
  if (depth < 0) depth = kUnknownDim;
  Dims dims = indices.dims;
  const int at = normal_axis(op.attributes.integer("axis", -1), indices.rank() + 1);
  if (at < 0) return;
  dims.insert(dims.begin() + at, depth);
  op.set(0, std::move(dims));
}

// --- Joining and splitting
// --------------------------------------------------------------------------

/// Inputs [first, first + count) joined along `axis`.
void concat_inputs(ShapeContext& op, std::size_t first, std::size_t count,
                   std::optional<Number> axis) {
  int rank = -1;
  for (std::size_t i = first; i < first + count; ++i) {
    if (op.in(i).ranked) rank = op.in(i).rank();
  }
  if (rank <= 0) return;
  if (!axis) return op.set(0, Dims(static_cast<std::size_t>(rank), kUnknownDim));
  const int at = normal_axis(*axis, rank);
  if (at < 0) return;
  const auto axis_at = static_cast<std::size_t>(at);
  Dims dims(static_cast<std::size_t>(rank), kUnknownDim);
  Number sum = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    const Value& input = op.in(i);
    if (input.ranked && input.rank() != rank) return;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d != axis_at && dims[d] == kUnknownDim) dims[d] = input.dim(d);
    }
    sum = add_dims(sum, input.dim(axis_at));
  }
  dims[axis_at] = sum;
  op.set(0, std::move(dims));
  if (rank != 1) return;
  std::vector<Number> numbers;
  for (std::size_t i = first; i < first + count; ++i) {
    const Value& input = op.in(i);
    if (!input.fully_known() || input.dims[0] > static_cast<Number>(Data::kMaxElements)) return;
    if (input.data == nullptr) {
      numbers.insert(numbers.end(), static_cast<std::size_t>(input.dims[0]), Data::kUnknown);
    } else {
      numbers.insert(numbers.end(), input.data->begin(), input.data->end());
    }
    if (numbers.size() > Data::kMaxElements) return;
  }
  op.set_data(0, std::move(numbers));
}
void concat_last_axis(ShapeContext& op) {
  if (op.input_count() < 2) return;
  const std::size_t count = op.input_count() - 1;
  concat_inputs(op, 0, count, op.in(count).element(0));
}
void concat_first_axis(ShapeContext& op) {
  if (op.input_count() < 2) return;
  concat_inputs(op, 1, op.input_count() - 1, op.in(0).element(0));
}

/// axis, then the shapes of the joined: where each begins.
void concat_offset(ShapeContext& op) {
  const auto axis = op.in(0).element(0);
  Number offset = 0;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.copy_shape(i, op.in(i + 1));
    const Value shape = shape_of_content(op.in(i + 1));
    if (!axis || !shape.ranked) continue;
    const int at = normal_axis(*axis, shape.rank());
    if (at < 0) return;
    std::vector<Number> numbers(shape.dims.size(), 0);
    numbers[static_cast<std::size_t>(at)] = offset == kUnknownDim ? Data::kUnknown : offset;
    op.set_data(i, std::move(numbers));
    offset = add_dims(offset, shape.dims[static_cast<std::size_t>(at)]);
  }
}

void pack(ShapeContext& op) {
  Value element;
  for (std::size_t i = 0; i < op.input_count(); ++i) merge_shape(element, op.in(i));
  if (!element.ranked) return;
  const int at = normal_axis(op.attributes.integer("axis", 0), element.rank() + 1);
  if (at < 0) return;
  Dims dims = element.dims;
  dims.insert(dims.begin() + at, static_cast<Number>(op.input_count()));
  op.set(0, std::move(dims));
  // Scalars become a vector, vectors a matrix of known rows.
  if (element.rank() > 1 || at != 0 || !op.out(0).fully_known()) return;
  std::vector<Number> numbers;
  const auto each = static_cast<std::size_t>(product(element.dims));
  if (each > Data::kMaxElements || each * op.input_count() > Data::kMaxElements) return;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    for (std::size_t k = 0; k < each; ++k) {
      numbers.push_back(op.in(i).element(k).value_or(Data::kUnknown));
    }
  }
  if (is_integer_type(op.in(0).type)) op.set_data(0, std::move(numbers));
}

void unpack(ShapeContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  const int at = normal_axis(op.attributes.integer("axis", 0), input.rank());
  if (at < 0) return;
  Dims dims = input.dims;
  dims.erase(dims.begin() + at);
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, dims);
    if (input.data != nullptr && dims.empty()) {
      op.set_data(i, {input.element(i).value_or(Data::kUnknown)});
    }
  }
}

/// Cuts `input` along `axis` into the given sizes.
void split_into(ShapeContext& op, const Value& input, std::optional<Number> axis,
                const std::vector<Number>& sizes) {
  if (!input.ranked) return;
  const int at = axis ? normal_axis(*axis, input.rank()) : -1;
  Number offset = 0;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    if (at < 0) {
      op.set(i, Dims(input.dims.size(), kUnknownDim));
      continue;
    }
    Dims dims = input.dims;
    dims[static_cast<std::size_t>(at)] = sizes[i];
    op.set(i, std::move(dims));
    if (input.data == nullptr || input.rank() != 1 || sizes[i] < 0 || offset < 0) continue;
    std::vector<Number> numbers;
    for (Number k = offset; k < offset + sizes[i] && k < input.dims[0]; ++k) {
      numbers.push_back(input.element(static_cast<std::size_t>(k)).value_or(Data::kUnknown));
    }
    if (static_cast<Number>(numbers.size()) == sizes[i]) op.set_data(i, std::move(numbers));
    offset = add_dims(offset, sizes[i]);
  }
}

/// axis, value; into equal parts.
void split(ShapeContext& op) {
  const Value& input = op.in(1);
  const auto axis = op.in(0).element(0);
  const auto parts = static_cast<Number>(op.output_count());
  const int at = axis ? normal_axis(*axis, input.rank()) : -1;
  const Number whole = at < 0 ? kUnknownDim : input.dim(static_cast<std::size_t>(at));
  const Number each = parts > 0 && whole >= 0 && whole % parts == 0 ? whole / parts : kUnknownDim;
  split_into(op, input, axis, std::vector<Number>(op.output_count(), each));
}

/// value, sizes, axis; one size may be -1.
void split_sizes(ShapeContext& op) {
  const Value& input = op.in(0);
  const auto axis = op.in(2).element(0);
  const int at = axis ? normal_axis(*axis, input.rank()) : -1;
  Number left = at < 0 ? kUnknownDim : input.dim(static_cast<std::size_t>(at));
  std::vector<Number> sizes;
  int open = 0;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const Number size = op.in(1).element(i).value_or(Data::kUnknown);
    sizes.push_back(size < 0 ? kUnknownDim : size);
    if (size < 0) ++open;
    if (size >= 0 && left >= 0) left -= size;
  }
  if (open == 1 && left >= 0) std::replace(sizes.begin(), sizes.end(), kUnknownDim, left);
  split_into(op, input, axis, sizes);
}

// --- Slicing
// --------------------------------------------------------------------------------------

void slice(ShapeContext& op) {
  const Value& input = op.in(0);
  const Value& begin = op.in(1);
  const Value& size = op.in(2);
  const Number listed = std::max(begin.dim(0), size.dim(0));
  const Number rank = input.ranked ? input.rank() : listed;
  if (rank < 0 || rank > static_cast<Number>(kMaxRank)) return;
  Dims dims;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const auto length = size.element(i);
    if (length && *length >= 0) {
      dims.push_back(*length);
    } else if (length && *length == -1 && begin.element(i) && input.dim(i) >= *begin.element(i)) {
      dims.push_back(input.dim(i) - std::max<Number>(0, *begin.element(i)));
    } else {
      dims.push_back(kUnknownDim);
    }
  }
  op.set(0, std::move(dims));
  if (input.data == nullptr || rank != 1 || !begin.element(0)) return;
  const Number first = *begin.element(0);
  const Number count = op.out(0).dims[0];
  if (first < 0 || count < 0 || add_dims(first, count) > input.dims[0]) return;
  std::vector<Number> numbers;
  for (Number k = first; k < first + count; ++k) {
    numbers.push_back(input.element(static_cast<std::size_t>(k)).value_or(Data::kUnknown));
  }
  op.set_data(0, std::move(numbers));
}

/// One dimension of a strided slice: first element, elements.
struct Span {
  Number first;
  Number count;
};
std::optional<Span> span_of(Number dim, std::optional<Number> begin, std::optional<Number> end,
                            Number stride, bool begin_open, bool end_open) {
  if (stride == 0 || (!begin_open && !begin) || (!end_open && !end) || dim < 0) return std::nullopt;
  const Number lowest = stride > 0 ? 0 : -1;
  const Number highest = stride > 0 ? dim : dim - 1;
  const auto bound = [&](Number n) { return std::clamp(n < 0 ? n + dim : n, lowest, highest); };
  const Number from = begin_open ? (stride > 0 ? 0 : dim - 1) : bound(*begin);
  const Number to = end_open ? (stride > 0 ? dim : -1) : bound(*end);
  const Number distance = to - from;
  if (distance == 0 || (distance < 0) != (stride < 0)) return Span{from, 0};
  return Span{from, distance / stride + (distance % stride != 0 ? 1 : 0)};
}

struct SliceMasks {
  Number begin, end, ellipsis, new_axis, shrink;
  explicit SliceMasks(const Attributes& attributes)
      : begin(attributes.integer("begin_mask", 0)),
        end(attributes.integer("end_mask", 0)),
        ellipsis(attributes.integer("ellipsis_mask", 0)),
        new_axis(attributes.integer("new_axis_mask", 0)),
        shrink(attributes.integer("shrink_axis_mask", 0)) {}
};

void strided_slice(ShapeContext& op) {
  const Value& input = op.in(0);
  const SliceMasks masks(op.attributes);
  const Number specs = std::max({op.in(1).dim(0), op.in(2).dim(0), op.in(3).dim(0)});
  constexpr Number kMostSpecs = 62;  // masks have one bit each
  if (!input.ranked || specs < 0 || specs > kMostSpecs) return;
  const auto bit = [](Number mask, Number i) { return ((mask >> i) & 1) != 0; };
  Number consumed = 0;
  for (Number i = 0; i < specs; ++i) {
    if (!bit(masks.ellipsis, i) && !bit(masks.new_axis, i)) ++consumed;
  }
  Dims dims;
  std::size_t axis = 0;
  std::optional<Span> only;
  Number stride_of_only = 1;
  const auto skip = [&](Number count) {
    for (; count > 0 && axis < input.dims.size(); --count) dims.push_back(input.dims[axis++]);
  };
  bool seen_ellipsis = false;
  for (Number i = 0; i < specs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (bit(masks.ellipsis, i)) {
      if (seen_ellipsis) return;
      seen_ellipsis = true;
      skip(input.rank() - consumed);
    } else if (bit(masks.new_axis, i)) {
      dims.push_back(1);
    } else {
      if (axis >= input.dims.size()) return;
      const Number dim = input.dims[axis++];
      const auto stride = op.in(3).element(at);
      const auto begin = op.in(1).element(at);
      std::optional<Span> span;
      if (bit(masks.shrink, i)) {
        if (begin && dim >= 0) span = Span{*begin < 0 ? *begin + dim : *begin, 1};
      } else {
        if (stride) {
          span = span_of(dim, begin, op.in(2).element(at), *stride, bit(masks.begin, i),
                         bit(masks.end, i));
        }
        dims.push_back(span ? span->count : kUnknownDim);
      }
      only = span;
      stride_of_only = stride.value_or(1);
    }
  }
  skip(input.rank());
  op.set(0, std::move(dims));
  if (input.data == nullptr || input.rank() != 1 || !only || consumed != 1) return;
  std::vector<Number> numbers;
  for (Number k = 0; k < only->count && numbers.size() <= Data::kMaxElements; ++k) {
    const Number from = only->first + k * stride_of_only;
    numbers.push_back(from < 0
                          ? Data::kUnknown
                          : input.element(static_cast<std::size_t>(from)).value_or(Data::kUnknown));
  }
  op.set_data(0, std::move(numbers));
}

// --- Gathering
// ------------------------------------------------------------------------------------

void gather_along(ShapeContext& op, std::optional<Number> axis, Number batch_dims) {
  const Value& params = op.in(0);
  const Value& indices = op.in(1);
  if (!params.ranked || !indices.ranked) return;
  if (batch_dims < 0) batch_dims += indices.rank();
  const std::size_t rank = params.dims.size() + indices.dims.size() - 1;
  if (params.dims.empty() || batch_dims < 0 || batch_dims > indices.rank()) return;
  if (!axis) {
    return op.set(0, Dims(rank - static_cast<std::size_t>(batch_dims), kUnknownDim));
  }
  const int at = normal_axis(*axis, params.rank());
  if (at < 0 || batch_dims > at) return;
  Dims dims(params.dims.begin(), params.dims.begin() + at);
  dims.insert(dims.end(), indices.dims.begin() + batch_dims, indices.dims.end());
  dims.insert(dims.end(), params.dims.begin() + at + 1, params.dims.end());
  op.set(0, std::move(dims));
  if (params.rank() != 1 || params.data == nullptr || indices.rank() > 1) return;
  const std::vector<Number>* which = indices.integers();
  if (which == nullptr) return;
  std::vector<Number> numbers;
  for (const Number i : *which) {
    numbers.push_back(i < 0 ? Data::kUnknown
                            : params.element(static_cast<std::size_t>(i)).value_or(Data::kUnknown));
  }
  op.set_data(0, std::move(numbers));
}
void gather(ShapeContext& op) {
  gather_along(op, 0, 0);
}
void gather_axis(ShapeContext& op) {
  gather_along(op, op.in(2).element(0), op.attributes.integer("batch_dims", 0));
}

void gather_nd(ShapeContext& op) {
  const Value& params = op.in(0);
  const Value& indices = op.in(1);
  if (!params.ranked || !indices.ranked || indices.dims.empty()) return;
  const Number depth = indices.dims.back();
  if (depth < 0 || depth > params.rank()) return;
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), params.dims.begin() + depth, params.dims.end());
  op.set(0, std::move(dims));
}

/// indices, updates, shape.
void scatter_nd(ShapeContext& op) {
  op.copy_shape(0, shape_of_content(op.in(2)));
}

/// n index tensors, then n data tensors.
void dynamic_stitch(ShapeContext& op) {
  const std::size_t count = op.input_count() / 2;
  Number rows = 0;
  bool rows_known = true, content_known = true;
  Value rest;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& indices = op.in(i);
    const Value& data = op.in(count + i);
    if (const std::vector<Number>* numbers = indices.integers()) {
      for (const Number n : *numbers) rows = std::max(rows, std::min(n, kMaxDim) + 1);
    } else if (!indices.fully_known() || product(indices.dims) != 0) {
      rows_known = false;
    }
    content_known = content_known && data.data != nullptr;
    if (indices.ranked && data.ranked && data.dims.size() >= indices.dims.size()) {
      Value tail;
      tail.set_shape(Dims(data.dims.begin() + indices.rank(), data.dims.end()));
      merge_shape(rest, tail);
    }
  }
  if (!rest.ranked) return;
  Dims dims{rows_known && rows <= kMaxDim ? rows : kUnknownDim};
  dims.insert(dims.end(), rest.dims.begin(), rest.dims.end());
  op.set(0, std::move(dims));
  if (!rows_known || !content_known || !rest.dims.empty() ||
      rows > static_cast<Number>(Data::kMaxElements)) {
    return;
  }
  std::vector<Number> numbers(static_cast<std::size_t>(rows), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Number>* indices = op.in(i).integers();
    for (std::size_t k = 0; indices != nullptr && k < indices->size(); ++k) {
      const Number to = (*indices)[k];
      if (to >= 0) {
        numbers[static_cast<std::size_t>(to)] =
            op.in(count + i).element(k).value_or(Data::kUnknown);
      }
    }
  }
  op.set_data(0, std::move(numbers));
}

void dynamic_partition(ShapeContext& op) {
  if (!op.in(0).ranked || !op.in(1).ranked || op.in(1).rank() > op.in(0).rank()) return;
  Dims dims{kUnknownDim};
  dims.insert(dims.end(), op.in(0).dims.begin() + op.in(1).rank(), op.in(0).dims.end());
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}

void where(ShapeContext& op) {
  op.set(0, {kUnknownDim, op.in(0).ranked ? op.in(0).rank() : kUnknownDim});
}

/// x: the distinct elements, and the place of each among them.
void unique(ShapeContext& op) {
  rule::vectors(op);
  if (op.in(0).ranked) op.copy_shape(1, op.in(0));
}

/// The elements of x that are not in y, and their places.
void list_difference(ShapeContext& op) {
  rule::vectors(op);
  const std::vector<Number>* x = op.in(0).integers();
  const std::vector<Number>* y = op.in(1).integers();
  if (x == nullptr || y == nullptr) return;
  std::vector<Number> left, places;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (std::find(y->begin(), y->end(), (*x)[i]) != y->end()) continue;
    left.push_back((*x)[i]);
    places.push_back(static_cast<Number>(i));
  }
  op.set(0, {static_cast<Number>(left.size())});
  op.set(1, {static_cast<Number>(left.size())});
  op.set_data(0, std::move(left));
  op.set_data(1, std::move(places));
}

void reverse(ShapeContext& op) {
  rule::like_first(op);
  if (op.in(0).data == nullptr || op.in(0).rank() != 1) return;
  op.set_data(0, std::vector<Number>(op.in(0).data->rbegin(), op.in(0).data->rend()));
}

// --- Blocks and diagonals
// ---------------------------------------------------------------------------

/// Height and width divided (or multiplied) by the block, channels the other way.
void space_depth(ShapeContext& op, bool to_depth) {
  const Value& input = op.in(0);
  const Number block = op.attributes.integer("block_size", 1);
  if (input.rank() != 4 || block < 1) return;
  const bool first = op.attributes.text("data_format", "NHWC") == "NCHW";
  Dims dims = input.dims;
  const std::size_t height = first ? 2 : 1, channels = first ? 1 : 3;
  const auto divided = [](Number dim, Number by) { return dim < 0 ? dim : dim / by; };
  for (const std::size_t axis : {height, height + 1}) {
    dims[axis] = to_depth ? divided(dims[axis], block) : multiply_dims(dims[axis], block);
  }
  const Number area = multiply_dims(block, block);
  dims[channels] = to_depth ? multiply_dims(dims[channels], area)
                            : divided(dims[channels], std::max<Number>(1, area));
  op.set(0, std::move(dims));
}
void space_to_depth(ShapeContext& op) {
  space_depth(op, true);
}
void depth_to_space(ShapeContext& op) {
  space_depth(op, false);
}

/// input, block shape, paddings or crops.
void space_batch(ShapeContext& op, bool to_batch) {
  const Value& input = op.in(0);
  const std::vector<Number>* block = op.in(1).integers();
  if (!input.ranked) return;
  Dims dims = input.dims;
  if (block == nullptr || block->size() + 1 > dims.size()) {
    return op.set(0, Dims(dims.size(), kUnknownDim));
  }
  for (std::size_t i = 0; i < block->size(); ++i) {
    const auto before = op.in(2).element(2 * i);
    const auto after = op.in(2).element(2 * i + 1);
    Number& dim = dims[i + 1];
    const Number size = (*block)[i];
    if (size < 1) return;
    if (to_batch) {
      dims[0] = multiply_dims(dims[0], size);
      dim = before && after ? add_dims(dim, add_dims(*before, *after)) : kUnknownDim;
      if (dim >= 0) dim /= size;
    } else {
      if (dims[0] >= 0) dims[0] /= size;
      dim = multiply_dims(dim, size);
      const Number gone = before && after ? add_dims(*before, *after) : kUnknownDim;
      dim = gone < 0 || dim < gone ? kUnknownDim : dim - gone;
    }
  }
  op.set(0, std::move(dims));
}
void space_to_batch(ShapeContext& op) {
  space_batch(op, true);
}
void batch_to_space(ShapeContext& op) {
  space_batch(op, false);
}

void diagonal(ShapeContext& op) {
  if (!op.in(0).ranked) return;
  Dims dims = op.in(0).dims;
  dims.insert(dims.end(), op.in(0).dims.begin(), op.in(0).dims.end());
  op.set(0, std::move(dims));
}
void diagonal_part(ShapeContext& op) {
  if (!op.in(0).ranked) return;
  op.set(0, Dims(op.in(0).dims.begin(), op.in(0).dims.begin() + op.in(0).rank() / 2));
}
void matrix_diagonal(ShapeContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  Dims dims = op.in(0).dims;
  dims.push_back(dims.back());
  op.set(0, std::move(dims));
}
void matrix_diagonal_part(ShapeContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  Dims dims(input.dims.begin(), input.dims.end() - 1);
  const Number columns = input.dims.back();
  dims.back() = dims.back() < 0 || columns < 0 ? kUnknownDim : std::min(dims.back(), columns);
  op.set(0, std::move(dims));
}

void extract_patches(ShapeContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number> sizes = small_integers(op.attributes, "ksizes");
  const std::vector<Number> strides = small_integers(op.attributes, "strides");
  const std::vector<Number> rates = small_integers(op.attributes, "rates");
  if (input.rank() != 4 || sizes.size() != 4 || strides.size() != 4 || rates.size() != 4) return;
  Dims dims = input.dims;
  const bool same = op.attributes.text("padding") == "SAME";
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    Number& dim = dims[axis];
    if (dim < 0 || strides[axis] < 1) continue;
    const Number window = (sizes[axis] - 1) * rates[axis] + 1;
    const Number covered = same ? dim : std::max<Number>(0, dim - window + 1);
    dim = (covered + strides[axis] - 1) / strides[axis];
  }
  dims[3] = multiply_dims(dims[3], multiply_dims(sizes[1], sizes[2]));
  op.set(0, std::move(dims));
}

constexpr OpRow kOps[] = {
    {"BatchToSpaceND", "output:T", batch_to_space},
    {"Bitcast", "output:type", bitcast},
    {"BroadcastTo", "output:T", broadcast_to},
    {"Concat", "output:T", concat_first_axis},
    {"ConcatOffset", "offset:shape_type*N", concat_offset},
    {"ConcatV2", "output:T", concat_last_axis},
    {"ConjugateTranspose", "y:T", transpose},
    {"DepthToSpace", "output:T", depth_to_space},
    {"Diag", "output:T", diagonal},
    {"DiagPart", "diagonal:T", diagonal_part},
    {"DynamicPartition", "outputs:T*num_partitions", dynamic_partition},
    {"DynamicStitch", "merged:T", dynamic_stitch},
    {"Empty", "output:dtype", rule::shape_from_first},
    {"EnsureShape", "output:T", ensure_shape},
    {"ExpandDims", "output:T", expand_dims},
    {"ExtractImagePatches", "patches:T", extract_patches},
    {"Fill", "output:T", fill},
    {"Gather", "output:Tparams", gather},
    {"GatherNd", "output:Tparams", gather_nd},
    {"GatherV2", "output:Tparams", gather_axis},
    {"InplaceAdd", "y:T", rule::like_first},
    {"InplaceUpdate", "y:T", rule::like_first},
    {"InvertPermutation", "y:T", invert_permutation},
    {"ListDiff", "out:T idx:out_idx", list_difference},
    {"LowerBound", "output:out_type", rule::like_second},
    {"MatrixBandPart", "band:T", rule::like_first},
    {"MatrixDiag", "output:T", matrix_diagonal},
    {"MatrixDiagPart", "diagonal:T", matrix_diagonal_part},
    {"MatrixDiagPartV3", "diagonal:T", nullptr},
    {"MatrixDiagV3", "output:T", nullptr},
    {"MatrixSetDiag", "output:T", rule::like_first},
    {"MatrixSetDiagV3", "output:T", rule::like_first},
    {"MirrorPad", "output:T", pad},
    {"MirrorPadGrad", "output:T", pad_gradient},
    {"OneHot", "output:T", one_hot},
    {"Pack", "output:T", pack},
    {"Pad", "output:T", pad},
    {"PadV2", "output:T", pad},
    {"ParallelDynamicStitch", "merged:T", dynamic_stitch},
    {"RandomShuffle", "output:T", rule::like_first},
    {"Rank", "output:=int32", rank_of},
    {"Reshape", "output:T", reshape},
    {"Reverse", "output:T", rule::like_first},
    {"ReverseSequence", "output:T", rule::like_first},
    {"ReverseV2", "output:T", reverse},
    {"Roll", "output:T", rule::like_first},
    {"ScatterNd", "output:T", scatter_nd},
    {"ScatterNdNonAliasingAdd", "output:T", rule::like_first},
    {"Shape", "output:out_type", shapes_of},
    {"ShapeN", "output:out_type*N", shapes_of},
    {"Size", "output:out_type", size_of},
    {"Slice", "output:T", slice},
    {"SpaceToBatchND", "output:T", space_to_batch},
    {"SpaceToDepth", "output:T", space_to_depth},
    {"Split", "output:T*num_split", split},
    {"SplitV", "output:T*num_split", split_sizes},
    {"Squeeze", "output:T", squeeze},
    {"StridedSlice", "output:T", strided_slice},
    {"StridedSliceGrad", "output:T", rule::shape_from_first},
    {"TensorScatterAdd", "output:T", rule::like_first},
    {"TensorScatterMax", "output:T", rule::like_first},
    {"TensorScatterMin", "output:T", rule::like_first},
    {"TensorScatterSub", "output:T", rule::like_first},
    {"TensorScatterUpdate", "output:T", rule::like_first},
    {"TensorStridedSliceUpdate", "output:T", rule::like_first},
    {"Tile", "output:T", tile},
    {"Transpose", "y:T", transpose},
    {"Unique", "y:T idx:out_idx", unique},
    {"UniqueV2", "y:T idx:out_idx", nullptr},
    {"UniqueWithCounts", "y:T idx:out_idx count:out_idx", nullptr},
    {"UniqueWithCountsV2", "y:T idx:out_idx count:out_idx", nullptr},
    {"Unpack", "output:T*num", unpack},
    {"UpperBound", "output:out_type", rule::like_second},
    {"Where", "index:=int64", where},
};

}  // namespace

std::span<const OpRow> layout_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
