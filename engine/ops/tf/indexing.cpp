// Slices, gathers, scatters and blocks: what picks and places elements.
#include <algorithm>
#include <optional>
#include <set>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

// --- Slicing ------------------------------------------------------------------------------------

void slice(OpContext& op) {
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
      dims.push_back(op.chosen(input.dim(i)));
    }
  }
  op.set(0, std::move(dims));
}
void fold_slice(OpContext& op) {
  std::vector<fold::Cut> cuts;
  for (std::size_t i = 0; i < op.out(0).dims.size(); ++i) {
    const auto first = op.in(1).element(i);
    if (!first) return;
    cuts.push_back({*first, 1, op.out(0).dims[i]});
  }
  fold::slice(op, cuts);
}

/// input, begin, end, strides; masks with a bit for each of their elements.
class StridedSlice {
 public:
  explicit StridedSlice(OpContext& op) : op_(op) {
    const Attributes& attributes = op.attributes;
    begin_ = attributes.integer("begin_mask", 0);
    end_ = attributes.integer("end_mask", 0);
    ellipsis_ = attributes.integer("ellipsis_mask", 0);
    new_axis_ = attributes.integer("new_axis_mask", 0);
    shrink_ = attributes.integer("shrink_axis_mask", 0);
  }

  /// False where the shape does not follow.
  bool solve() {
    const Value& input = op_.in(0);
    const Number specs = std::max({op_.in(1).dim(0), op_.in(2).dim(0), op_.in(3).dim(0)});
    constexpr Number kMostSpecs = 62;
    if (!input.ranked || specs < 0 || specs > kMostSpecs) return false;
    for (Number i = 0; i < specs; ++i) {
      if (!bit(ellipsis_, i) && !bit(new_axis_, i)) ++consumed_;
    }
    bool seen_ellipsis = false;
    for (Number i = 0; i < specs; ++i) {
      if (bit(ellipsis_, i)) {
        if (seen_ellipsis) return false;
        seen_ellipsis = true;
        skip(input.rank() - consumed_);
      } else if (bit(new_axis_, i)) {
        dims.push_back(1);
      } else {
        if (axis_ >= input.dims.size()) return false;
        take(i, input.dims[axis_++]);
      }
    }
    skip(input.rank());
    return true;
  }

  Dims dims;
  /// The part taken of each dimension of the input; as many as follow from the input alone.
  std::vector<fold::Cut> cuts;
  bool cuts_known = true;

 private:
  static bool bit(Number mask, Number i) { return ((mask >> i) & 1) != 0; }

  void skip(Number count) {
    const Value& input = op_.in(0);
    for (; count > 0 && axis_ < input.dims.size(); --count) {
      cuts.push_back({0, 1, input.dims[axis_]});
      dims.push_back(input.dims[axis_++]);
    }
  }

  void take(Number i, Number dim) {
    const auto at = static_cast<std::size_t>(i);
    const auto begin = op_.in(1).element(at), end = op_.in(2).element(at);
    const auto stride = op_.in(3).element(at);
    if (bit(shrink_, i)) {
      cuts.push_back({begin && *begin < 0 ? *begin + dim : begin.value_or(0), 1, 1});
      cuts_known = cuts_known && begin && dim >= 0;
      return;
    }
    const bool all = stride && (begin || bit(begin_, i)) && (end || bit(end_, i));
    const auto span = all ? span_of(dim, bit(begin_, i) ? std::nullopt : begin,
                                    bit(end_, i) ? std::nullopt : end, *stride)
                          : std::nullopt;
    dims.push_back(span ? span->count : op_.chosen(dim));
    cuts.push_back(span ? fold::Cut{span->first, *stride, span->count} : fold::Cut{});
    cuts_known = cuts_known && span;
  }

  OpContext& op_;
  Number begin_, end_, ellipsis_, new_axis_, shrink_;
  Number consumed_ = 0;  ///< dimensions of the input that are named
  std::size_t axis_ = 0;
};

void strided_slice(OpContext& op) {
  StridedSlice slice(op);
  if (slice.solve()) op.set(0, std::move(slice.dims));
}
void fold_strided_slice(OpContext& op) {
  StridedSlice slice(op);
  if (op.in(0).has_content() && slice.solve() && slice.cuts_known) fold::slice(op, slice.cuts);
}

// --- Gathering ----------------------------------------------------------------------------------

void gather_along(OpContext& op, std::optional<Number> axis, Number batch) {
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  if (from == nullptr || indices == nullptr || from->empty()) return;
  const auto rank = static_cast<Number>(from->size() + indices->size()) - 1;
  if (batch < 0) batch += static_cast<Number>(indices->size());
  if (batch < 0 || batch > static_cast<Number>(indices->size())) return;
  if (!axis) {
    return op.set(0, Dims(static_cast<std::size_t>(rank - batch), kUnknownDim));
  }
  if (auto dims = gathered(*from, *indices, *axis, batch)) op.set(0, *std::move(dims));
}
void gather(OpContext& op) {
  gather_along(op, 0, 0);
}
void gather_axis(OpContext& op) {
  gather_along(op, op.in(2).element(0), op.attributes.integer("batch_dims", 0));
}
void fold_gather(OpContext& op) {
  fold::gather(op, 0);
}
void fold_gather_axis(OpContext& op) {
  const auto axis = op.in(2).element(0);
  if (axis && op.attributes.integer("batch_dims", 0) == 0) fold::gather(op, *axis);
}

void gather_nd(OpContext& op) {
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  if (from == nullptr || indices == nullptr) return;
  if (auto dims = gathered_nd(*from, *indices, 0)) op.set(0, *std::move(dims));
}

void fold_gather_nd(OpContext& op) {
  fold::gather_nd(op, 0);
}

/// indices, updates, shape.
void scatter_nd(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(2)));
}
/// Into zeros; elements that are named twice are added up.
void fold_scatter_nd(OpContext& op) {
  const auto count = small_count(op.out(0));
  const std::vector<Number>* named = op.in(0).integers();
  if (!count || named == nullptr || op.in(0).dims.empty() || op.in(0).dims.back() < 1) return;
  const auto depth = static_cast<std::size_t>(op.in(0).dims.back());
  std::set<std::vector<Number>> rows;
  for (std::size_t i = 0; i + depth <= named->size(); i += depth) {
    const auto row = named->begin() + static_cast<std::ptrdiff_t>(i);
    if (!rows.emplace(row, row + static_cast<std::ptrdiff_t>(depth)).second) return;
  }
  Value zeros = op.out(0);
  zeros.data = std::make_shared<const std::vector<Number>>(*count, 0);
  fold::scatter_nd(op, zeros, op.in(0), op.in(1));
}
/// tensor, indices, updates.
void fold_update(OpContext& op) {
  fold::scatter_nd(op, op.in(0), op.in(1), op.in(2));
}

/// n index tensors, then n data tensors.
void dynamic_stitch(OpContext& op) {
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

void dynamic_partition(OpContext& op) {
  if (!op.in(0).ranked || !op.in(1).ranked || op.in(1).rank() > op.in(0).rank()) return;
  Dims dims{op.chosen(product(op.in(1).dims))};
  dims.insert(dims.end(), op.in(0).dims.begin() + op.in(1).rank(), op.in(0).dims.end());
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}

void where(OpContext& op) {
  const Value& from = op.in(0);
  op.set(0, {op.chosen(from.ranked ? product(from.dims) : kUnknownDim),
             from.ranked ? from.rank() : kUnknownDim});
}
void fold_where(OpContext& op) {
  fold::non_zero(op, /*by_rows=*/true);
}

/// x, axis of the later ones: the distinct elements, or slices along the axis; the place of each
/// among them; how often each is there.
void unique(OpContext& op) {
  const Value& x = op.in(0);
  rule::vectors(op);
  if (!x.ranked || x.dims.empty()) return;
  const bool whole = op.has(1) && op.in(1).dim(0) != 0;
  const auto axis = whole ? op.in(1).element(0) : std::optional<Number>(0);
  const int at = axis ? axis_of(*axis, x.rank()) : -1;
  if (at < 0) return op.set(0, Dims(x.dims.size(), kUnknownDim));
  Dims dims = x.dims;
  Number& distinct = dims[static_cast<std::size_t>(at)];
  op.set(1, {distinct});
  distinct = op.chosen(distinct);
  if (op.output_count() > 2) op.set(2, {distinct});
  op.set(0, std::move(dims));
}

/// The elements of x that are not in y, and their places.
void list_difference(OpContext& op) {
  rule::vectors(op);
  const std::vector<Number>* x = op.in(0).integers();
  const std::vector<Number>* y = op.in(1).integers();
  if (x == nullptr || y == nullptr) {
    const Number most = op.chosen(op.in(0).dim(0));
    for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, {most});
    return;
  }
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

void fold_reverse(OpContext& op) {
  const std::vector<Number>* axes = op.in(1).integers();
  const auto marked = axes != nullptr ? marked_axes(*axes, op.in(0).dims.size()) : std::nullopt;
  if (marked) fold::reverse(op, *marked);
}

// --- Blocks -------------------------------------------------------------------------------------

/// Height and width divided (or multiplied) by the block, channels the other way.
void space_depth(OpContext& op, bool to_depth) {
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
void space_to_depth(OpContext& op) {
  space_depth(op, true);
}
void depth_to_space(OpContext& op) {
  space_depth(op, false);
}

/// input, block shape, paddings or crops.
void space_batch(OpContext& op, bool to_batch) {
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
void space_to_batch(OpContext& op) {
  space_batch(op, true);
}
void batch_to_space(OpContext& op) {
  space_batch(op, false);
}

/// sorted, values: each is compared with as many as halving leaves.
Estimate search_work(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, selection_flops(op.input(1).elements(), op.input(0).dim(-1)),
                             work::all_bytes(op));
}
constexpr WorkRule kBinarySearch{search_work, OpClass::reduction};

/// indices, dimensions [rank]: a column for each index, or one for a scalar.
void unravel_index(OpContext& op) {
  Dims dims = {op.in(1).dim(0)};
  if (!op.in(0).ranked) return;
  if (!op.in(0).dims.empty()) dims.push_back(op.in(0).dims[0]);
  op.set(0, std::move(dims));
}

constexpr Row kOps[] = {
    {"BatchToSpaceND", "output:T", batch_to_space, copies()},
    {"DepthToSpace", "output:T", depth_to_space, copies()},
    {"DynamicPartition", "outputs:T*num_partitions", dynamic_partition, copies()},
    {"DynamicStitch", "merged:T", dynamic_stitch, copies()},
    {"Gather", "output:Tparams", gather, gathers(), fold_gather},
    {"GatherNd", "output:Tparams", gather_nd, gathers(), fold_gather_nd},
    {"GatherV2", "output:Tparams", gather_axis, gathers(), fold_gather_axis},
    {"InplaceAdd", "y:T", rule::like_first, elementwise(1)},
    {"InplaceSub", "y:T", rule::like_first, elementwise(1)},
    {"InplaceUpdate", "y:T", rule::like_first, scatters<2>()},
    {"ListDiff", "out:T idx:out_idx=int32", list_difference, copies()},
    {"LowerBound", "output:out_type=int32", rule::like_second, kBinarySearch},
    {"ParallelDynamicStitch", "merged:T", dynamic_stitch, copies()},
    {"RandomShuffle", "output:T", rule::like_first, copies()},
    {"Reverse", "output:T", rule::like_first, copies()},
    {"ReverseSequence", "output:T", rule::like_first, copies()},
    {"ReverseV2", "output:T", rule::like_first, copies(), fold_reverse},
    {"Roll", "output:T", rule::like_first, copies()},
    {"ScatterNd", "output:T", scatter_nd, copies(), fold_scatter_nd},
    {"ScatterNdNonAliasingAdd", "output:T", rule::like_first, copies(1)},
    {"Slice", "output:T", slice, gathers(), fold_slice},
    {"SpaceToBatchND", "output:T", space_to_batch, copies()},
    {"SpaceToDepth", "output:T", space_to_depth, copies()},
    {"StridedSlice", "output:T", strided_slice, gathers(), fold_strided_slice},
    {"StridedSliceGrad", "output:T", rule::shape_from_first, copies()},
    {"TensorScatterAdd", "output:T", rule::like_first, scatters<2>()},
    {"TensorScatterMax", "output:T", rule::like_first, scatters<2>(1)},
    {"TensorScatterMin", "output:T", rule::like_first, scatters<2>(1)},
    {"TensorScatterSub", "output:T", rule::like_first, scatters<2>()},
    {"TensorScatterUpdate", "output:T", rule::like_first, scatters<2>(), fold_update},
    {"TensorStridedSliceUpdate", "output:T", rule::like_first, copies()},
    {"Unique", "y:T idx:out_idx=int32", unique, copies()},
    {"UniqueV2", "y:T idx:out_idx=int32", unique, copies()},
    {"UniqueWithCounts", "y:T idx:out_idx=int32 count:out_idx=int32", unique, copies()},
    {"UniqueWithCountsV2", "y:T idx:out_idx=int32 count:out_idx=int32", unique, copies()},
    {"UnravelIndex", "output:Tidx=int32", unravel_index, elementwise(4)},
    {"UpperBound", "output:out_type=int32", rule::like_second, kBinarySearch},
    {"Where", "index:=int64", where, copies(), fold_where},
};

}  // namespace

std::span<const Row> indexing_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
