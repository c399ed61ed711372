// Shapes asked for and changed, filling, joining, splitting: what moves data without computing.
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

// --- Same elements, other shape -----------------------------------------------------------------

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

// --- Filling ------------------------------------------------------------------------------------

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

// --- Joining and splitting ----------------------------------------------------------------------

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

constexpr OpRow kOps[] = {
    {"Bitcast", "output:type", bitcast},
    {"BroadcastTo", "output:T", broadcast_to},
    {"Concat", "output:T", concat_first_axis},
    {"ConcatOffset", "offset:shape_type*N", concat_offset},
    {"ConcatV2", "output:T", concat_last_axis},
    {"ConjugateTranspose", "y:T", transpose},
    {"Empty", "output:dtype", rule::shape_from_first},
    {"EnsureShape", "output:T", ensure_shape},
    {"ExpandDims", "output:T", expand_dims},
    {"Fill", "output:T", fill},
    {"InvertPermutation", "y:T", invert_permutation},
    {"MirrorPad", "output:T", pad},
    {"MirrorPadGrad", "output:T", pad_gradient},
    {"OneHot", "output:T", one_hot},
    {"Pack", "output:T", pack},
    {"Pad", "output:T", pad},
    {"PadV2", "output:T", pad},
    {"Rank", "output:=int32", rank_of},
    {"Reshape", "output:T", reshape},
    {"Shape", "output:out_type", shapes_of},
    {"ShapeN", "output:out_type*N", shapes_of},
    {"Size", "output:out_type", size_of},
    {"Split", "output:T*num_split", split},
    {"SplitV", "output:T*num_split", split_sizes},
    {"Squeeze", "output:T", squeeze},
    {"Tile", "output:T", tile},
    {"Transpose", "y:T", transpose},
    {"Unpack", "output:T*num", unpack},
};

}  // namespace

std::span<const OpRow> layout_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
