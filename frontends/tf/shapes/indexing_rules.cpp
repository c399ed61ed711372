// Slices, gathers, scatters, blocks and diagonals: what picks and places elements.
#include <algorithm>
#include <optional>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

// --- Slicing ------------------------------------------------------------------------------------

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

// --- Gathering ----------------------------------------------------------------------------------

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

// --- Blocks and diagonals -----------------------------------------------------------------------

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
    {"DepthToSpace", "output:T", depth_to_space},
    {"Diag", "output:T", diagonal},
    {"DiagPart", "diagonal:T", diagonal_part},
    {"DynamicPartition", "outputs:T*num_partitions", dynamic_partition},
    {"DynamicStitch", "merged:T", dynamic_stitch},
    {"ExtractImagePatches", "patches:T", extract_patches},
    {"Gather", "output:Tparams", gather},
    {"GatherNd", "output:Tparams", gather_nd},
    {"GatherV2", "output:Tparams", gather_axis},
    {"InplaceAdd", "y:T", rule::like_first},
    {"InplaceUpdate", "y:T", rule::like_first},
    {"ListDiff", "out:T idx:out_idx", list_difference},
    {"LowerBound", "output:out_type", rule::like_second},
    {"MatrixBandPart", "band:T", rule::like_first},
    {"MatrixDiag", "output:T", matrix_diagonal},
    {"MatrixDiagPart", "diagonal:T", matrix_diagonal_part},
    {"MatrixDiagPartV3", "diagonal:T", nullptr},
    {"MatrixDiagV3", "output:T", nullptr},
    {"MatrixSetDiag", "output:T", rule::like_first},
    {"MatrixSetDiagV3", "output:T", rule::like_first},
    {"ParallelDynamicStitch", "merged:T", dynamic_stitch},
    {"RandomShuffle", "output:T", rule::like_first},
    {"Reverse", "output:T", rule::like_first},
    {"ReverseSequence", "output:T", rule::like_first},
    {"ReverseV2", "output:T", reverse},
    {"Roll", "output:T", rule::like_first},
    {"ScatterNd", "output:T", scatter_nd},
    {"ScatterNdNonAliasingAdd", "output:T", rule::like_first},
    {"Slice", "output:T", slice},
    {"SpaceToBatchND", "output:T", space_to_batch},
    {"SpaceToDepth", "output:T", space_to_depth},
    {"StridedSlice", "output:T", strided_slice},
    {"StridedSliceGrad", "output:T", rule::shape_from_first},
    {"TensorScatterAdd", "output:T", rule::like_first},
    {"TensorScatterMax", "output:T", rule::like_first},
    {"TensorScatterMin", "output:T", rule::like_first},
    {"TensorScatterSub", "output:T", rule::like_first},
    {"TensorScatterUpdate", "output:T", rule::like_first},
    {"TensorStridedSliceUpdate", "output:T", rule::like_first},
    {"Unique", "y:T idx:out_idx", unique},
    {"UniqueV2", "y:T idx:out_idx", nullptr},
    {"UniqueWithCounts", "y:T idx:out_idx count:out_idx", nullptr},
    {"UniqueWithCountsV2", "y:T idx:out_idx count:out_idx", nullptr},
    {"UpperBound", "output:out_type", rule::like_second},
    {"Where", "index:=int64", where},
};

}  // namespace

std::span<const OpRow> indexing_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
