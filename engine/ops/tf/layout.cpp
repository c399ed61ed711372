// Same elements in another shape, filling, padding, joining, splitting: what moves data without
// computing.
#include <algorithm>
#include <optional>

#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

// --- Same elements, other shape -----------------------------------------------------------------

/// One -1 takes what is left. A dimension that is not known is no -1: only where exactly one is
/// open can it be filled.
void reshape(OpContext& op) {
  Value target = shape_of_content(op.in(1));
  if (!target.ranked) return;
  if (const Dims* const from = op.shape(0)) fill_open_dim(target.dims, *from);
  op.set(0, std::move(target.dims));
}

void expand_dims(OpContext& op) {
  const Value& input = op.in(0);
  const auto axis = op.in(1).element(0);
  if (!input.ranked) return;
  if (!axis) return op.set(0, Dims(input.dims.size() + 1, kUnknownDim));
  const int at = axis_of(*axis, input.rank() + 1);
  if (at < 0) return;
  Dims dims = input.dims;
  dims.insert(dims.begin() + at, 1);
  op.set(0, std::move(dims));
}

void squeeze(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  auto axes = op.listed("squeeze_dims");
  if (!axes) axes = op.listed("axis");
  if (!axes) {
    if (!input.fully_known()) return;
    axes.emplace();
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] == 1) axes->push_back(static_cast<Number>(i));
    }
  }
  if (const auto gone = marked_axes(*axes, input.dims.size())) {
    op.set(0, reduced(input.dims, *gone, /*keep=*/false));
  }
}

void transpose(OpContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number>* order = op.in(1).integers();
  if (!input.ranked && order == nullptr) return;
  if (order == nullptr) return op.set(0, Dims(input.dims.size(), kUnknownDim));
  Dims dims(order->size(), kUnknownDim);
  if (input.rank() == static_cast<int>(order->size())) dims = input.dims;
  if (auto moved = permuted(dims, *order)) op.set(0, *std::move(moved));
}
void fold_transpose(OpContext& op) {
  if (const std::vector<Number>* order = op.in(1).integers()) fold::permute(op, *order);
}

void bitcast(OpContext& op) {
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

void ensure_shape(OpContext& op) {
  op.pass(0, op.in(0));
  Value shape;
  if (op.attributes.shape("shape", shape)) merge_shape(op.out(0), shape);
}

// --- Filling ------------------------------------------------------------------------------------

void fold_fill(OpContext& op) {
  fold::fill(op, op.in(1));
}

void tile(OpContext& op) {
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
void pad_by(OpContext& op, int sign) {
  const Value& input = op.in(0);
  const Value& paddings = op.in(1);
  const Number rank = input.ranked ? input.rank() : paddings.dim(0);
  if (rank < 0 || rank > static_cast<Number>(kMaxRank)) return;
  Dims dims;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const Number before = dim_of_element(paddings, 2 * i);
    const Number after = dim_of_element(paddings, 2 * i + 1);
    const bool known = before != kUnknownDim && after != kUnknownDim;
    dims.push_back(known ? padded(input.dim(i), sign * before, sign * after) : kUnknownDim);
  }
  op.set(0, std::move(dims));
}
void pad(OpContext& op) {
  pad_by(op, 1);
}
/// Filled with zeros, or with the third input.
void fold_pad(OpContext& op) {
  std::vector<Number> before;
  for (std::size_t i = 0; i < op.in(0).dims.size(); ++i) {
    const auto added = op.in(1).element(2 * i);
    if (!added) return;
    before.push_back(*added);
  }
  Value zero = tensor_type(op.type_of(0), {});
  zero.data = std::make_shared<const std::vector<Number>>(1, 0);
  fold::pad(op, before, op.has(2) ? op.in(2) : zero);
}
void pad_gradient(OpContext& op) {
  pad_by(op, -1);
}

void one_hot(OpContext& op) {
  const Value& indices = op.in(0);
  if (!indices.ranked) return;
  Dims dims = indices.dims;
  const int at = axis_of(op.attributes.integer("axis", -1), indices.rank() + 1);
  if (at < 0) return;
  dims.insert(dims.begin() + at, size_or_unknown(op.in(1)));
  op.set(0, std::move(dims));
}

// --- Joining and splitting ----------------------------------------------------------------------

/// Inputs [first, first + count) joined along `axis`.
void concat_inputs(OpContext& op, std::size_t first, std::size_t count,
                   std::optional<Number> axis) {
  std::vector<const Dims*> parts;
  const Dims* known = nullptr;
  for (std::size_t i = first; i < first + count; ++i) {
    parts.push_back(op.shape(i));
    if (parts.back() != nullptr) known = parts.back();
  }
  if (known == nullptr || known->empty()) return;
  if (!axis) return op.set(0, Dims(known->size(), kUnknownDim));
  if (auto dims = concatenated(parts, *axis, op.largest_step)) op.set(0, *std::move(dims));
}
void concat_last_axis(OpContext& op) {
  if (op.input_count() < 2) return;
  const std::size_t count = op.input_count() - 1;
  concat_inputs(op, 0, count, op.in(count).element(0));
}
void concat_first_axis(OpContext& op) {
  if (op.input_count() < 2) return;
  concat_inputs(op, 1, op.input_count() - 1, op.in(0).element(0));
}
void fold_concat_last_axis(OpContext& op) {
  const std::size_t count = op.input_count();
  const auto axis = count > 1 ? op.in(count - 1).element(0) : std::nullopt;
  if (axis) fold::concatenate(op, 0, count - 1, *axis);
}
void fold_concat_first_axis(OpContext& op) {
  const auto axis = op.in(0).element(0);
  if (axis && op.input_count() > 1) fold::concatenate(op, 1, op.input_count() - 1, *axis);
}

void pack(OpContext& op) {
  Value element;
  for (std::size_t i = 0; i < op.input_count(); ++i) merge_shape(element, op.in(i));
  if (!element.ranked) return;
  const int at = axis_of(op.attributes.integer("axis", 0), element.rank() + 1);
  if (at < 0) return;
  Dims dims = element.dims;
  dims.insert(dims.begin() + at, static_cast<Number>(op.input_count()));
  op.set(0, std::move(dims));
}
void fold_pack(OpContext& op) {
  fold::stack(op, op.attributes.integer("axis", 0));
}

void unpack(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  const int at = axis_of(op.attributes.integer("axis", 0), input.rank());
  if (at < 0) return;
  Dims dims = input.dims;
  dims.erase(dims.begin() + at);
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}
void fold_unpack(OpContext& op) {
  fold::unstack(op, op.attributes.integer("axis", 0));
}

/// Cuts `input` along `axis` into the given sizes.
void split_into(OpContext& op, const Value& input, std::optional<Number> axis,
                const std::vector<Number>& sizes) {
  if (!input.ranked) return;
  const int at = axis ? axis_of(*axis, input.rank()) : -1;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    Dims dims = at < 0 ? Dims(input.dims.size(), kUnknownDim) : input.dims;
    if (at >= 0) dims[static_cast<std::size_t>(at)] = sizes[i];
    op.set(i, std::move(dims));
  }
}

/// axis, value; into equal parts.
void split(OpContext& op) {
  const Value& input = op.in(1);
  const auto axis = op.in(0).element(0);
  const auto parts = static_cast<Number>(op.output_count());
  const int at = axis ? axis_of(*axis, input.rank()) : -1;
  const Number whole = at < 0 ? kUnknownDim : input.dim(static_cast<std::size_t>(at));
  const Number each = parts > 0 && whole >= 0 && whole % parts == 0 ? whole / parts : kUnknownDim;
  split_into(op, input, axis, std::vector<Number>(op.output_count(), each));
}
void fold_split(OpContext& op) {
  if (const auto axis = op.in(0).element(0)) fold::split(op, 1, *axis);
}

/// value, sizes, axis; one size may be -1.
void split_sizes(OpContext& op) {
  const Value& input = op.in(0);
  const auto axis = op.in(2).element(0);
  const int at = axis ? axis_of(*axis, input.rank()) : -1;
  Number left = at < 0 ? kUnknownDim : input.dim(static_cast<std::size_t>(at));
  std::vector<Number> sizes;
  int open = 0;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const Number size = op.in(1).element(i).value_or(Data::kUnknown);
    sizes.push_back(size < 0 ? kUnknownDim : size);
    if (size < 0) ++open;
    if (size >= 0 && left >= 0) left -= size;
  }
  if (open == 1 && left >= 0) {
    std::replace(sizes.begin(), sizes.end(), kUnknownDim, left);
  } else if (open > 0 && at >= 0) {
    const Number most = op.chosen(input.dim(static_cast<std::size_t>(at)));
    std::replace(sizes.begin(), sizes.end(), kUnknownDim, most);
  }
  split_into(op, input, axis, sizes);
}
void fold_split_sizes(OpContext& op) {
  if (const auto axis = op.in(2).element(0)) fold::split(op, 0, *axis);
}

constexpr Row kOps[] = {
    {"Bitcast", "output:type", bitcast, kView},
    {"BroadcastTo", "output:T", rule::shape_from_second, copies(), fold::spread},
    {"Concat", "output:T", concat_first_axis, copies(), fold_concat_first_axis},
    {"ConcatV2", "output:T", concat_last_axis, copies(), fold_concat_last_axis},
    {"ConjugateTranspose", "y:T", transpose, copies(), fold_transpose},
    {"Empty", "output:dtype", rule::shape_from_first, writes()},
    {"EnsureShape", "output:T", ensure_shape, kView},
    {"ExpandDims", "output:T", expand_dims, kView, fold::same_elements},
    {"Fill", "output:T", rule::shape_from_first, writes(), fold_fill},
    {"MirrorPad", "output:T", pad, copies()},
    {"MirrorPadGrad", "output:T", pad_gradient, copies()},
    {"OneHot", "output:T", one_hot, copies()},
    {"Pack", "output:T", pack, copies(), fold_pack},
    {"Pad", "output:T", pad, copies(), fold_pad},
    {"PadV2", "output:T", pad, copies(), fold_pad},
    {"Reshape", "output:T", reshape, kView, fold::same_elements},
    {"Split", "output:T*num_split", split, copies(), fold_split},
    {"SplitV", "output:T*num_split", split_sizes, copies(), fold_split_sizes},
    {"Squeeze", "output:T", squeeze, kView, fold::same_elements},
    {"Tile", "output:T", tile, copies(), fold::tile},
    {"Transpose", "y:T", transpose, copies(), fold_transpose},
    {"Unpack", "output:T*num", unpack, copies(), fold_unpack},
};

}  // namespace

std::span<const Row> layout_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
