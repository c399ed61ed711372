// Reductions: over axes, of segments, the largest elements, losses' sums.
#include <algorithm>
#include <limits>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// input, axes; keep_dims.
void reduce(OpContext& op) {
  const Value& input = op.in(0);
  const Value& axes = op.in(1);
  const bool keep = op.attributes.boolean("keep_dims", false);
  if (!input.ranked) return;
  const std::vector<Number>* list = axes.integers();
  if (list == nullptr) {
    if (keep) op.set(0, Dims(input.dims.size(), kUnknownDim));
    // One unknown axis of many still tells the rank.
    if (!keep && axes.ranked && product(axes.dims) == 1 && !input.dims.empty()) {
      op.set(0, Dims(input.dims.size() - 1, kUnknownDim));
    }
    return;
  }
  if (const auto marked = marked_axes(*list, input.dims.size())) {
    op.set(0, reduced(input.dims, *marked, keep));
  }
}

template <fold::Reduction kind>
void fold_reduce(OpContext& op) {
  const std::vector<Number>* list = op.in(1).integers();
  const auto marked = list != nullptr ? marked_axes(*list, op.in(0).dims.size()) : std::nullopt;
  if (marked) fold::reduce(op, kind, *marked);
}

void fold_cumulative_sum(OpContext& op) {
  const auto axis = op.in(1).element(0);
  if (axis) {
    fold::cumulative_sum(op, *axis, op.attributes.boolean("exclusive", false),
                         op.attributes.boolean("reverse", false));
  }
}

void arg_reduce(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  Dims dims = input.dims;
  const auto axis = op.in(1).element(0);
  if (axis) {
    const int at = axis_of(*axis, input.rank());
    if (at < 0) return;
    dims.erase(dims.begin() + at);
  } else if (!dims.empty()) {
    dims.pop_back();
    std::fill(dims.begin(), dims.end(), kUnknownDim);
  }
  op.set(0, std::move(dims));
}

// --- Segments -----------------------------------------------------------------------------------

/// data, segment ids, number of segments.
void unsorted_segment(OpContext& op) {
  const Value& data = op.in(0);
  const Value& ids = op.in(1);
  if (!data.ranked || !ids.ranked || ids.dims.size() > data.dims.size()) return;
  Dims dims{size_or_unknown(op.in(2))};
  dims.insert(dims.end(), data.dims.begin() + ids.rank(), data.dims.end());
  op.set(0, std::move(dims));
}
/// The first dimension becomes the number of segments, of which input `count` may tell.
void segments(OpContext& op, std::size_t count) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  Dims dims = op.in(0).dims;
  dims[0] = size_or_unknown(op.in(count));
  op.set(0, std::move(dims));
}
constexpr std::size_t kNoInput = std::numeric_limits<std::size_t>::max();
void segment(OpContext& op) {
  segments(op, kNoInput);
}
/// data, indices, ids, number of rows.
void segment_counted(OpContext& op) {
  segments(op, 3);
}

/// data, ids, number of segments.
void segment_numbered(OpContext& op) {
  segments(op, 2);
}

// --- The largest --------------------------------------------------------------------------------

void top_k(OpContext& op) {
  const Value& input = op.in(0);
  const Number k = valid_dim(op.attributes.integer("k", op.in(1).element(0).value_or(kUnknownDim)));
  if (!input.ranked || input.dims.empty()) return;
  Dims dims = input.dims;
  dims.back() = k != kUnknownDim ? k : op.chosen(dims.back());
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}
/// boxes [n, 4], scores [n], how many at most.
Number most_boxes(const OpContext& op) {
  const Number boxes = op.in(1).dim(0), limit = size_or_unknown(op.in(2));
  return boxes == kUnknownDim || limit == kUnknownDim ? std::max(boxes, limit)
                                                      : std::min(boxes, limit);
}
void non_max_suppression(OpContext& op) {
  op.set(0, {op.chosen(most_boxes(op))});
}
/// Places, and scores in between; how many of them count is the last output.
void non_max_suppression_counted(OpContext& op) {
  const bool filled = op.attributes.boolean("pad_to_max_output_size", false);
  const Number count = filled ? size_or_unknown(op.in(2)) : op.chosen(most_boxes(op));
  for (std::size_t i = 0; i + 1 < op.output_count(); ++i) op.set(i, {count});
  op.set(op.output_count() - 1, {});
}

void nth_element(OpContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  op.set(0, Dims(op.in(0).dims.begin(), op.in(0).dims.end() - 1));
}
/// predictions, targets [batch].
void in_top_k(OpContext& op) {
  op.set(0, {op.in(1).dim(0) != kUnknownDim ? op.in(1).dim(0) : op.in(0).dim(0)});
}

/// value, start, limit: the shape with one dimension of bins.
void histogram(OpContext& op) {
  op.set(0, {size_or_unknown(op.in(2))});
}

/// values, size: [size], or a row of bins for each row of values.
void bincount(OpContext& op) {
  op.set(0, {size_or_unknown(op.in(1))});
}
void dense_bincount(OpContext& op) {
  if (!op.in(0).ranked) return;
  Dims dims(op.in(0).dims.begin(), op.in(0).dims.end() - (op.in(0).dims.empty() ? 0 : 1));
  dims.push_back(size_or_unknown(op.in(1)));
  op.set(0, std::move(dims));
}
/// splits, values, size.
void ragged_bincount(OpContext& op) {
  const Number splits = op.in(0).dim(0);
  op.set(0, {splits > 0 ? splits - 1 : kUnknownDim, size_or_unknown(op.in(2))});
}
/// indices, values, shape, size.
void sparse_bincount(OpContext& op) {
  const Value shape = shape_of_content(op.in(2));
  const Number size = size_or_unknown(op.in(3));
  op.set(0, shape.rank() == 1 ? Dims{size} : Dims{shape.dim(0), size});
}

/// boxes [batch, n, classes, 4], scores [batch, n, classes], how many of each class, how many.
void combined_non_max_suppression(OpContext& op) {
  const Number batch = op.in(0).dim(0);
  Number count = size_or_unknown(op.in(3));
  if (op.attributes.boolean("pad_per_class", false)) {
    const Number each = multiply_dims(size_or_unknown(op.in(2)), op.in(1).dim(2));
    count = count == kUnknownDim || each == kUnknownDim ? kUnknownDim : std::min(count, each);
  }
  op.set(0, {batch, count, 4});
  op.set(1, {batch, count});
  op.set(2, {batch, count});
  op.set(3, {batch});
}
void approximate_top_k(OpContext& op) {
  if (!op.in(0).ranked) return;
  const int axis = axis_of(op.attributes.integer("reduction_dimension", -1), op.in(0).rank());
  if (axis < 0) return;
  Dims dims = op.in(0).dims;
  dims[static_cast<std::size_t>(axis)] = valid_dim(op.attributes.integer("k", kUnknownDim));
  op.set(0, dims);
  op.set(1, std::move(dims));
}

Estimate selection_work(const OpView& op, const WorkRule& rule) {
  const int axis = static_cast<int>(op.integer("reduction_dimension", -1));
  return work::make_estimate(op, rule,
                             selection_flops(op.input(0).elements(), op.output(0).dim(axis)),
                             work::all_bytes(op));
}
constexpr WorkRule kSelection{selection_work, OpClass::reduction};
/// data, indices, numbers of segments: each index reads a row of the data and adds it to its segment's. The
/// gradient reads a row of what it is given and adds it to the row that the index names.
Estimate gathered_segments(const OpView& op, const WorkRule& rule) {
  const TensorView data = op.input(0), indices = op.input(1);
  const double elements = known_or(indices.elements() * data.elements(1, TensorView::kEnd), 0);
  const double numbers = op.bytes_read() - data.bytes();
  return work::make_estimate(
      op, rule, rule.flops * elements,
      elements * work::element_bytes(data.dtype()) + numbers + op.bytes_written());
}
constexpr WorkRule kGatheredSegments{gathered_segments, OpClass::reduction, 1};

/// Each pass compares about half as many as the last.
constexpr WorkRule kNthElement = reduction(2);

/// An addition for each value, which is input 1.
Estimate bins_by_values(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, op.input(1).elements(), work::all_bytes(op));
}
constexpr WorkRule kBinsByValues{bins_by_values, OpClass::reduction};

/// A kernel that has no axis to reduce, or only such of one element, gives its input's buffer.
constexpr WorkRule kReduction{work::reduced, OpClass::reduction, 1};

constexpr Row kOps[] = {
    {"All", "output:=bool", reduce, kReduction, fold_reduce<fold::Reduction::smallest>},
    {"Any", "output:=bool", reduce, kReduction, fold_reduce<fold::Reduction::largest>},
    {"ApproxTopK", "values:T indices:=int32", approximate_top_k, kSelection},
    {"ArgMax", "output:output_type=int64", arg_reduce, reduction(1)},
    {"ArgMin", "output:output_type=int64", arg_reduce, reduction(1)},
    {"Bincount", "bins:T", bincount, reduction(1)},
    {"CombinedNonMaxSuppression",
     "nmsed_boxes:=float nmsed_scores:=float nmsed_classes:=float valid_detections:=int32",
     combined_non_max_suppression, kSuppression},
    {"Cumprod", "out:T", rule::like_first, reduction(1)},
    {"Cumsum", "out:T", rule::like_first, reduction(1), fold_cumulative_sum},
    {"CumulativeLogsumexp", "out:T", rule::like_first, reduction(kExp + 2)},
    {"DenseBincount", "output:T", dense_bincount, reduction(1)},
    {"EuclideanNorm", "output:T", reduce, reduction(2)},
    {"HistogramFixedWidth", "out:dtype=int32", histogram, reduction(2)},
    {"InTopK", "precision:=bool", in_top_k, reduction(1)},
    {"InTopKV2", "precision:=bool", in_top_k, reduction(1)},
    {"L2Loss", "output:T", rule::scalars, reduction(2)},
    {"Max", "output:T", reduce, kReduction, fold_reduce<fold::Reduction::largest>},
    {"Mean", "output:T", reduce, kReduction},
    {"Min", "output:T", reduce, kReduction, fold_reduce<fold::Reduction::smallest>},
    {"NonMaxSuppression", "selected_indices:=int32", non_max_suppression, kSuppression},
    {"NonMaxSuppressionV2", "selected_indices:=int32", non_max_suppression, kSuppression},
    {"NonMaxSuppressionV3", "selected_indices:=int32", non_max_suppression, kSuppression},
    {"NonMaxSuppressionV4", "selected_indices:=int32 valid_outputs:=int32",
     non_max_suppression_counted, kSuppression},
    {"NonMaxSuppressionV5", "selected_indices:=int32 selected_scores:T=float valid_outputs:=int32",
     non_max_suppression_counted, kSuppression},
    {"NonMaxSuppressionWithOverlaps", "selected_indices:=int32", non_max_suppression, kSuppression},
    {"NthElement", "values:T", nth_element, kNthElement},
    {"Prod", "output:T", reduce, kReduction, fold_reduce<fold::Reduction::product>},
    {"RaggedBincount", "output:T", ragged_bincount, kBinsByValues},
    {"SegmentMax", "output:T", segment, reduction(1)},
    {"SegmentMaxV2", "output:T", segment_numbered, reduction(1)},
    {"SegmentMean", "output:T", segment, reduction(1)},
    {"SegmentMin", "output:T", segment, reduction(1)},
    {"SegmentMinV2", "output:T", segment_numbered, reduction(1)},
    {"SegmentProd", "output:T", segment, reduction(1)},
    {"SegmentProdV2", "output:T", segment_numbered, reduction(1)},
    {"SegmentSum", "output:T", segment, reduction(1)},
    {"SegmentSumV2", "output:T", segment_numbered, reduction(1)},
    {"SparseBincount", "output:T", sparse_bincount, kBinsByValues},
    {"SparseSegmentMean", "output:T", segment, kGatheredSegments},
    {"SparseSegmentMeanGrad", "output:T", segment_counted, kGatheredSegments},
    {"SparseSegmentMeanWithNumSegments", "output:T", segment_counted, kGatheredSegments},
    {"SparseSegmentSqrtN", "output:T", segment, kGatheredSegments},
    {"SparseSegmentSqrtNGrad", "output:T", segment_counted, kGatheredSegments},
    {"SparseSegmentSqrtNWithNumSegments", "output:T", segment_counted, kGatheredSegments},
    {"SparseSegmentSum", "output:T", segment, kGatheredSegments},
    {"SparseSegmentSumGrad", "output:T", segment_counted, kGatheredSegments},
    {"SparseSegmentSumWithNumSegments", "output:T", segment_counted, kGatheredSegments},
    {"Sum", "output:T", reduce, kReduction, fold_reduce<fold::Reduction::sum>},
    {"TopK", "values:T indices:=int32", top_k, kSelection},
    {"TopKV2", "values:T indices:index_type=int32", top_k, kSelection},
    {"UnsortedSegmentMax", "output:T", unsorted_segment, reduction(1)},
    {"UnsortedSegmentMin", "output:T", unsorted_segment, reduction(1)},
    {"UnsortedSegmentProd", "output:T", unsorted_segment, reduction(1)},
    {"UnsortedSegmentSum", "output:T", unsorted_segment, reduction(1)},
};

}  // namespace

std::span<const Row> reduction_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
