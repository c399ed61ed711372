// Reductions over axes, the largest elements, transforms.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// Reals to pairs of complex numbers, half as many.
void real_fourier(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() < 2) return;
  Dims& dims = op.out(0).dims;
  dims.back() = add_dims(divide_dims(dims.back(), 2), 1);
  dims.push_back(2);
}
/// Real numbers behind so many complex ones.
std::int64_t real_length(std::int64_t dim) {
  return dim == kUnknownDim ? dim : std::max<std::int64_t>(0, 2 * dim - 2);
}
void inverse_real_fourier(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() < 2) return;
  Dims& dims = op.out(0).dims;
  dims.pop_back();
  dims.back() = real_length(dims.back());
}

/// The transformed axis is an attribute, or since opset 20 input 2, then the last but one; input 1 is
/// its length. The last dimension holds one real number or the two of a complex one.
void discrete_fourier(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() < 2) return;
  Dims& dims = op.out(0).dims;
  const std::int64_t by_default = op.version < 20 ? 1 : -2;
  const auto axis =
      op.has(2) ? op.in(2).element(0) : std::optional(op.attributes.integer("axis", by_default));
  const auto at = axis ? normal_axis(*axis, dims.size()) : std::nullopt;
  const bool one_sided = op.attributes.integer("onesided", 0) != 0;
  const bool inverse = op.attributes.integer("inverse", 0) != 0;
  dims.back() = one_sided && inverse ? 1 : 2;
  if (!at) {
    std::fill(dims.begin(), dims.end() - 1, kUnknownDim);
    return;
  }
  if (op.has(1)) {
    dims[*at] = number(op, 1);
  } else if (one_sided && inverse) {
    dims[*at] = real_length(dims[*at]);
  }
  if (one_sided && !inverse) dims[*at] = add_dims(divide_dims(dims[*at], 2), 1);
}
/// signal [batch, samples, ..], step, window, length of a frame.
void short_time_fourier(OpContext& op) {
  const Dims* const signal = op.shape(0);
  op.give(0, tensor_type(op.type_of(0)));
  if (signal == nullptr || signal->size() < 2) return;
  const std::int64_t length = op.has(3) ? number(op, 3) : op.in(2).dim(0);
  const std::int64_t step = number(op, 1), samples = (*signal)[1];
  const bool known = samples != kUnknownDim && length != kUnknownDim && step > 0;
  const std::int64_t frames = !known             ? kUnknownDim
                              : samples < length ? 0
                                                 : (samples - length) / step + 1;
  const bool one_sided = op.attributes.integer("onesided", 1) != 0;
  op.set(0, {(*signal)[0], frames, one_sided ? add_dims(divide_dims(length, 2), 1) : length, 2});
}

/// Sums of 8 bits have 32.
void reduce_integers(OpContext& op) {
  rule::reduce(op);
  op.out(0).type = op.type_of(0) == kInt8 ? kInt32 : kUint32;
}

template <fold::Reduction kind>
void fold_reduce(OpContext& op) {
  if (const auto marked = reduced_axes(op)) fold::reduce(op, kind, *marked);
}

void fold_cumulative_sum(OpContext& op) {
  const auto axis = op.in(1).element(0);
  if (axis) {
    fold::cumulative_sum(op, *axis, op.attributes.integer("exclusive", 0) != 0,
                         op.attributes.integer("reverse", 0) != 0);
  }
}

/// values, k (once an attribute): the largest along an axis, and their places.
void top_k(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
  op.out(1).type = kInt64;
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const auto axis = normal_axis(op.attributes.integer("axis", -1), from->size());
  Dims dims = *from;
  if (!axis) return;
  const std::int64_t k = op.has(1) ? number(op, 1) : valid_dim(op.attributes.integer("k", -1));
  dims[*axis] = k != kUnknownDim ? k : op.chosen(dims[*axis]);
  for (const std::size_t i : {0U, 1U}) op.set(i, dims);
}

/// The distinct elements, or slices along an axis; where the first of each lies, where each went,
/// how often each is there.
void unique(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  for (const std::size_t i : {1U, 2U, 3U}) op.set(i, kInt64, {kUnknownDim});
  auto along = along_axis_or_flat(op);
  if (!along) return;
  std::int64_t& distinct = along->dims[along->axis];
  const std::int64_t all = distinct;
  distinct = op.chosen(all);
  for (const std::size_t i : {1U, 3U}) op.set(i, kInt64, {distinct});
  op.set(2, kInt64, {all});
  op.set(0, std::move(along->dims));
}
/// Finds the distinct elements of a vector, where each went, and how often each is there.
void unique_with_counts(OpContext& op) {
  const std::int64_t all = op.in(0).dim(0);
  const std::int64_t distinct = op.chosen(all);
  op.set(0, op.type_of(0), {distinct});
  op.set(1, kInt64, {all});
  op.set(2, kInt64, {distinct});
}

/// boxes [batch, n, 4], scores [batch, classes, n], how many of each class at most.
void non_max_suppression(OpContext& op) {
  const std::int64_t boxes = dim_of(op.shape(1), 2, 3);
  std::int64_t each = boxes;
  if (!op.has(2)) {
    each = 0;
  } else if (const std::int64_t limit = number(op, 2); limit != kUnknownDim) {
    each = boxes == kUnknownDim ? limit : std::min(boxes, limit);
  }
  const std::int64_t lines = multiply_dims(dim_of(op.shape(1), 0, 3), dim_of(op.shape(1), 1, 3));
  op.set(0, kInt64, {op.chosen(multiply_dims(lines, each)), 3});
}

/// Lines along one axis, each sorted for itself.
Estimate top_k_work(const OpView& op, const WorkRule& rule) {
  const int axis = static_cast<int>(op.integer("axis", -1));
  const double kept = known_or(op.output(0).dim(axis), op.input(0).dim(axis));
  return work::make_estimate(op, rule, selection_flops(op.input(0).elements(), kept),
                             work::all_bytes(op));
}

Estimate selection_work(const OpView& op, const WorkRule& rule) {
  const double candidates = op.input(0).elements();
  const double kept = known_or(op.output(0).elements(), candidates);
  return work::make_estimate(op, rule,
                             rule.flops * selection_flops(candidates, std::min(kept, candidates)),
                             work::all_bytes(op));
}

Estimate fourier_work(const OpView& op, const WorkRule& rule) {
  // 5 n log2 n per transform. The transformed length is the output's second last dimension (the
  // last one is the complex pair).
  const TensorView output = op.output(0);
  const double length = output.dim(-2);
  return work::make_estimate(op, rule, fourier_flops(output.elements() / 2, length),
                             work::all_bytes(op));
}

constexpr WorkRule kSelection{selection_work, OpClass::reduction, 1};
constexpr WorkRule kFourier{fourier_work, OpClass::reduction};

constexpr Row kOps[] = {
    {"ArgMax", nullptr, reduction(1)},
    {"ArgMin", nullptr, reduction(1)},
    {"CumProd", rule::like_first, reduction(1)},
    {"CumSum", rule::like_first, reduction(1), fold_cumulative_sum},
    {"DFT", discrete_fourier, kFourier},
    {"Hardmax", rule::like_first, reduction(2)},
    {"NonMaxSuppression", non_max_suppression, kSuppression},
    {"ReduceL1", rule::reduce, reduction(2)},
    {"ReduceL2", rule::reduce, reduction(2)},
    {"ReduceLogSum", rule::reduce, reduction(kExp)},
    {"ReduceLogSumExp", rule::reduce, reduction(kExp + 2)},
    {"ReduceMax", rule::reduce, reduction(1), fold_reduce<fold::Reduction::largest>},
    {"ReduceMean", rule::reduce, reduction(1)},
    {"ReduceMin", rule::reduce, reduction(1), fold_reduce<fold::Reduction::smallest>},
    {"ReduceProd", rule::reduce, reduction(1), fold_reduce<fold::Reduction::product>},
    {"ReduceSum", rule::reduce, reduction(1), fold_reduce<fold::Reduction::sum>},
    {"ReduceSumSquare", rule::reduce, reduction(2)},
    {"STFT", short_time_fourier, kFourier},
    {"TopK", top_k, {top_k_work, OpClass::reduction}},
    {"Unique", unique, kSelection},
    {"com.microsoft.Irfft", inverse_real_fourier, kFourier},
    {"com.microsoft.ReduceSumInteger", reduce_integers, reduction(1)},
    {"com.microsoft.ReduceSumTraining", rule::reduce, reduction(1),
     fold_reduce<fold::Reduction::sum>},
    {"com.microsoft.Rfft", real_fourier, kFourier},
    {"com.microsoft.Unique", unique_with_counts, kSelection},
};

}  // namespace

std::span<const Row> reduction_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
