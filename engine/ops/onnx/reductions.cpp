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
void inverse_real_fourier(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() < 2) return;
  Dims& dims = op.out(0).dims;
  dims.pop_back();
  if (dims.back() != kUnknownDim) dims.back() = std::max<std::int64_t>(0, 2 * dims.back() - 2);
}

Estimate selection_work(const OpView& op, const WorkRule& rule) {
  const double candidates = op.input(0).elements();
  const double kept = known_or(op.output(0).elements(), candidates);
  return work::make_estimate(op, rule,
                             rule.flops * selection_flops(candidates, std::min(kept, candidates)),
                             work::all_bytes(op));
}

Estimate non_max_suppression_work(const OpView& op, const WorkRule& rule) {
  // Boxes, then scores: the scores are sorted, and each is compared with those kept so far, of
  // which the graph does not know how many there will be.
  const double scores = op.input(1).elements();
  return work::make_estimate(op, rule, rule.flops * scores + selection_flops(scores, scores),
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
// Overlap of two boxes.
constexpr WorkRule kSuppression{non_max_suppression_work, OpClass::reduction, 16};
constexpr WorkRule kFourier{fourier_work, OpClass::reduction};

constexpr Row kOps[] = {
    {"ArgMax", nullptr, reduction(1)},
    {"ArgMin", nullptr, reduction(1)},
    {"CumProd", rule::like_first, reduction(1)},
    {"CumSum", rule::like_first, reduction(1)},
    {"DFT", nullptr, kFourier},
    {"Hardmax", rule::like_first, reduction(2)},
    {"NonMaxSuppression", nullptr, kSuppression},
    {"ReduceL1", rule::reduce, reduction(2)},
    {"ReduceL2", rule::reduce, reduction(2)},
    {"ReduceLogSum", rule::reduce, reduction(kExp)},
    {"ReduceLogSumExp", rule::reduce, reduction(kExp + 2)},
    {"ReduceMax", rule::reduce, reduction(1), fold::reduce_max},
    {"ReduceMean", rule::reduce, reduction(1)},
    {"ReduceMin", rule::reduce, reduction(1), fold::reduce_min},
    {"ReduceProd", rule::reduce, reduction(1), fold::reduce_product},
    {"ReduceSum", rule::reduce, reduction(1), fold::reduce_sum},
    {"ReduceSumSquare", rule::reduce, reduction(2)},
    {"STFT", nullptr, kFourier},
    {"TopK", nullptr, kSelection},
    {"Unique", nullptr, kSelection},
    {"com.microsoft.Irfft", inverse_real_fourier, kFourier},
    {"com.microsoft.ReduceSumInteger", nullptr, reduction(1)},
    {"com.microsoft.ReduceSumTraining", rule::reduce, reduction(1)},
    {"com.microsoft.Rfft", real_fourier, kFourier},
    {"com.microsoft.Unique", nullptr, kSelection},
};

}  // namespace

std::span<const Row> reduction_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
