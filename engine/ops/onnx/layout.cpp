// Same elements in another shape, joining, splitting, padding: what moves data without computing.
#include <algorithm>
#include <numeric>

#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

/// Whether `dims` may be those of as many elements as `from` has: a dimension that is open takes what is left.
bool holds_as_many(const Dims& dims, const Dims& from) {
  const std::int64_t total = product(from);
  std::int64_t known = 1;
  bool open = false;
  for (const std::int64_t dim : dims) {
    if (dim == kUnknownDim) {
      open = true;
    } else {
      known = product({known, dim});
    }
  }
  if (total == kUnknownDim || known == kUnknownDim) return true;
  return open ? known == 0 || total % known == 0 : total == known;
}

/// The wanted shape: an input, or before opset 5 an attribute. 0 keeps a dimension, -1 takes what
/// is left.
void reshape(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  Value wanted;
  if (op.has(1)) {
    wanted = shape_of_content(op.in(1));
  } else if (const Ints stated = op.listed("shape")) {
    wanted.set_shape(*stated);
  }
  if (!wanted.ranked || wanted.dims.size() > kMaxRank) return;
  const bool zero_is_copy = op.attributes.integer("allowzero", 0) == 0;
  for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
    std::int64_t& dim = wanted.dims[i];
    if (dim == 0 && zero_is_copy) {
      dim = from != nullptr && i < from->size() ? (*from)[i] : kUnknownDim;
    } else {
      dim = valid_dim(dim);
    }
  }
  if (from != nullptr) {
    if (!holds_as_many(wanted.dims, *from) && !op.largest_step) return;
    fill_open_dim(wanted.dims, *from);
  }
  op.set(0, std::move(wanted.dims));
}

void expand(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  const Value wanted = shape_of_content(op.in(1));
  Dims dims;
  if (from == nullptr || !op.in(1).has_content() || !wanted.ranked) return;
  if (broadcast(*from, wanted.dims, dims)) op.set(0, std::move(dims));
}

void tile(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Dims dims(from->size(), kUnknownDim);
  if (op.in(1).content_size() == dims.size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = multiply_dims((*from)[i], dim_of_element(op.in(1), i));
    }
  }
  op.set(0, std::move(dims));
}

std::vector<std::int64_t> order_of(const OpContext& op, std::size_t rank) {
  if (const Ints stated = op.listed("perm")) return *stated;
  std::vector<std::int64_t> reversed(rank);
  for (std::size_t i = 0; i < rank; ++i) reversed[i] = static_cast<std::int64_t>(rank - 1 - i);
  return reversed;
}
void transpose(OpContext& op) {
  const Dims* const from = op.shape(0);
  give(op, op.type_of(0),
       from != nullptr ? permuted(*from, order_of(op, from->size())) : std::nullopt);
}
void fold_transpose(OpContext& op) {
  if (const Dims* const from = op.shape(0)) fold::permute(op, order_of(op, from->size()));
}

void fold_concat(OpContext& op) {
  fold::concatenate(op, 0, op.input_count(), op.attributes.integer("axis", 1));
}

void squeeze(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const bool given = op.has(1) || op.attributes.has("axes");
  Ints axes = attribute_or_input(op, "axes", 1);
  if (given && !axes) return;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < from->size(); ++i) {
      if ((*from)[i] == kUnknownDim) return;  // it may be 1
      if ((*from)[i] == 1) axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  const auto removed = marked_axes(*axes, from->size());
  if (!removed) return;
  for (std::size_t i = 0; i < from->size(); ++i) {
    const bool fits = (*from)[i] == kUnknownDim || (*from)[i] == 1 || op.largest_step;
    if ((*removed)[i] && !fits) return;
  }
  op.set(0, reduced(*from, *removed, /*keep=*/false));
}

void unsqueeze(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  const Ints axes = attribute_or_input(op, "axes", 1);
  if (from == nullptr || !axes || from->size() + axes->size() > kMaxRank) return;
  const std::size_t rank = from->size() + axes->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t at : *axes) {
    const auto axis = normal_axis(at, rank);
    if (!axis || added[*axis]) return;
    added[*axis] = true;
  }
  Dims dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : (*from)[next++]);
  op.set(0, op.type_of(0), std::move(dims));
}

/// Windows of `size` along an axis, `step` apart, in a dimension of their own at the end.
void unfold_tensor(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  const std::int64_t size = op.attributes.integer("size", 0),
                     step = op.attributes.integer("step", 1);
  if (from == nullptr || size < 0 || step < 1) return;
  const auto axis = normal_axis(op.attributes.integer("dim", -1), from->size());
  if (!axis) return;
  Dims dims = *from;
  std::int64_t& along = dims[*axis];
  if (along != kUnknownDim) along = along < size ? 0 : (along - size) / step + 1;
  dims.push_back(valid_dim(size));
  op.set(0, std::move(dims));
}

void split(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr || op.output_count() == 0) return;
  const auto axis = normal_axis(op.attributes.integer("axis", 0), from->size());
  if (!axis) return;
  const bool given = op.has(1) || op.attributes.has("split");
  const Ints parts = attribute_or_input(op, "split", 1);
  const auto count = static_cast<std::int64_t>(op.output_count());
  const std::int64_t dim = (*from)[*axis];
  const bool fits = !parts || dim == kUnknownDim || op.largest_step ||
                    std::accumulate(parts->begin(), parts->end(), std::int64_t{0}, add_dims) == dim;
  if (!fits) return;
  const std::int64_t chunk = dim == kUnknownDim ? kUnknownDim : (dim + count - 1) / count;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    Dims dims = *from;
    if (given) {
      dims[*axis] = parts && i < parts->size() ? valid_dim((*parts)[i]) : op.chosen(dim);
    } else if (chunk != kUnknownDim) {
      const std::int64_t left = dim - chunk * static_cast<std::int64_t>(i);
      dims[*axis] = std::clamp<std::int64_t>(left, 0, chunk);
    }
    op.set(i, op.type_of(0), std::move(dims));
  }
}

void fold_split(OpContext& op) {
  fold::split(op, 0, op.attributes.integer("axis", 0));
}

/// How many elements are added on either side of each dimension.
struct Pads {
  std::vector<std::int64_t> before, after;
};
std::optional<Pads> pads_of(const OpContext& op) {
  const Dims* const from = op.shape(0);
  if (from == nullptr) return std::nullopt;
  Ints stated = attribute_or_input(op, "pads", 1);
  if (!stated && !op.has(1)) stated = op.listed("paddings");
  const Ints axes = op.has(3) ? op.integers(3) : first_axes(from->size());
  if (!stated || !axes || stated->size() != 2 * axes->size()) return std::nullopt;
  Pads pads{std::vector<std::int64_t>(from->size(), 0), std::vector<std::int64_t>(from->size(), 0)};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], from->size());
    if (!axis) return std::nullopt;
    pads.before[*axis] = (*stated)[i];
    pads.after[*axis] = (*stated)[i + axes->size()];
  }
  return pads;
}
void pad(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Dims dims(from->size(), kUnknownDim);
  if (const auto pads = pads_of(op)) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      dims[d] = padded((*from)[d], pads->before[d], pads->after[d]);
    }
  }
  op.set(0, op.type_of(0), std::move(dims));
}

void fold_pad(OpContext& op) {
  static const Value kZero = [] {
    Value zero = tensor_type(kInt64, {});
    zero.data = std::make_shared<const std::vector<std::int64_t>>(1, 0);
    return zero;
  }();
  const auto pads = pads_of(op);
  // Other modes repeat elements, which no exporter computes shapes with.
  if (!pads || op.attributes.text("mode", "constant") != "constant") return;
  fold::pad(op, pads->before, op.has(2) ? op.in(2) : kZero);
}

void center_crop_pad(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const from = op.shape(0);
  const Ints sizes = op.integers(1);
  if (from == nullptr) return;
  const auto axes = op.listed("axes").value_or(first_axes(from->size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = normal_axis(axes[i], from->size());
    if (!axis) return;
    op.out(0).dims[*axis] = sizes && i < sizes->size() ? valid_dim((*sizes)[i]) : kUnknownDim;
  }
}

void remove_padding(OpContext& op) {
  op.set(0, op.type_of(0), {kUnknownDim, dim_of(op.shape(0), 2, 3)});
  const std::int64_t batch = dim_of(op.shape(0), 0, 3);
  op.set(1, kInt32, {batch, dim_of(op.shape(0), 1, 3)});
  op.set(2, kInt32, {add_dims(batch, 1)});
  op.set(3, kInt32, {1});
}

void restore_padding(OpContext& op) {
  op.set(0, op.type_of(0),
         {dim_of(op.shape(1), 0, 2), dim_of(op.shape(1), 1, 2), dim_of(op.shape(0), 1, 2)});
}

void expand_dims(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const auto axis = op.integers(1);
  if (op.shape(0) == nullptr || !axis || axis->size() != 1) return;
  Dims dims = *op.shape(0);
  const auto at = normal_axis(axis->front(), dims.size() + 1);
  if (!at) return;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*at), 1);
  op.set(0, op.type_of(0), std::move(dims));
}

/// The lengths of the parts are an output too.
void concat_training(OpContext& op) {
  rule::concatenate(op);
  op.set(1, kInt64, {static_cast<std::int64_t>(op.input_count())});
}

/// Onnx Runtime's blocked layout is told by its channels alone, which are padded to whole blocks of a
/// size that the file does not state.
void reorder_input(OpContext& op) {
  op.set_like(0, 0);
  if (op.attributes.integer("channels_last", 0) != 0 && op.out(0).rank() > 2) {
    Dims& dims = op.out(0).dims;
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  }
}
void reorder_output(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() < 3) return;
  Dims& dims = op.out(0).dims;
  if (op.attributes.has("channels")) dims[1] = valid_dim(op.attributes.integer("channels", 0));
  if (op.attributes.integer("channels_last", 0) != 0) {
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
}
void blocked_upsample(OpContext& op) {
  op.set_like(0, 0);
  const auto scales = op.listed("scales");
  if (!scales || scales->size() != op.out(0).dims.size()) return;
  for (std::size_t i = 0; i < scales->size(); ++i) {
    op.out(0).dims[i] = product({op.out(0).dims[i], (*scales)[i]});
  }
}

constexpr Row kOps[] = {
    {"CenterCropPad", center_crop_pad, copies()},
    {"Concat", rule::concatenate, copies(), fold_concat},
    {"DepthToSpace", nullptr, copies()},
    {"Expand", expand, copies(), fold::spread},
    {"Flatten", nullptr, kView, fold::same_elements},
    {"Identity", rule::like_first, kView, fold::same_elements},
    {"Pad", pad, copies(), fold_pad},
    {"Reshape", reshape, kView, fold::same_elements},
    {"SpaceToDepth", nullptr, copies()},
    {"Split", split, copies(), fold_split},
    {"Squeeze", squeeze, kView, fold::same_elements},
    {"Tile", tile, copies(), fold::tile},
    {"Transpose", transpose, copies(), fold_transpose},
    {"Trilu", rule::like_first, copies()},
    {"Unsqueeze", unsqueeze, kView, fold::same_elements},
    {"com.microsoft.ConcatTraining", concat_training, copies()},
    {"com.microsoft.ExpandDims", expand_dims, kView, fold::same_elements},
    {"com.microsoft.Pad", pad, copies()},
    {"com.microsoft.RemovePadding", remove_padding, copies()},
    {"com.microsoft.RestorePadding", restore_padding, copies()},
    {"com.microsoft.SplitTraining", split, copies()},
    {"com.microsoft.Trilu", rule::like_first, copies()},
    {"com.microsoft.UnfoldTensor", unfold_tensor, copies()},
    {"com.microsoft.nchwc.ReorderInput", reorder_input, copies()},
    {"com.microsoft.nchwc.ReorderOutput", reorder_output, copies()},
    {"com.microsoft.nchwc.Upsample", blocked_upsample, copies()},
};

}  // namespace

std::span<const Row> layout_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
