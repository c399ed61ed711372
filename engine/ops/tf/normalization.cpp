// Normalisation, softmax and losses.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

constexpr double kExp = kTranscendentalFlops;

void batch_norm(OpContext& op) {
  const Value& input = op.in(0);
  op.copy_shape(0, input);
  const bool channels_first = op.attributes.text("data_format", "NHWC").substr(0, 2) == "NC";
  const std::size_t last = input.rank() == 5 ? 4 : 3;
  Number channels = input.dim(channels_first ? 1 : last);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (channels == kUnknownDim) channels = op.in(i).dim(0);
  }
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {channels});
  // The third reserve is the kernel's own affair; most leave it empty.
  if (op.output_count() > 5) op.set(5, {0});
}
/// gradient, x, scale, reserves.
void batch_norm_gradient(OpContext& op) {
  op.copy_shape(0, op.in(1));
  if (!op.in(1).ranked) op.copy_shape(0, op.in(0));
  op.set(1, {op.in(2).dim(0)});
  op.set(2, {op.in(2).dim(0)});
  for (std::size_t i = 3; i < op.output_count(); ++i) op.set(i, {0});
}

void bias_gradient(OpContext& op) {
  const Value& input = op.in(0);
  const bool channels_first = op.attributes.text("data_format", "NHWC").substr(0, 2) == "NC";
  const std::size_t last = input.ranked && !input.dims.empty() ? input.dims.size() - 1 : 0;
  op.set(0, {input.dim(channels_first ? 1 : last)});
}

/// features and labels of one shape [batch, classes].
void softmax_loss(OpContext& op) {
  Value shape = op.in(0);
  if (!broadcast(op.in(0).ranked ? op.in(0).dims : Dims{kUnknownDim, kUnknownDim},
                 op.in(1).ranked ? op.in(1).dims : Dims{kUnknownDim, kUnknownDim}, shape.dims)) {
    return;
  }
  shape.ranked = true;
  op.set(0, {shape.dim(0)});
  op.copy_shape(1, shape);
}
/// features [batch, classes], labels [batch].
void sparse_softmax_loss(OpContext& op) {
  const Number batch = op.in(0).dim(0) != kUnknownDim ? op.in(0).dim(0) : op.in(1).dim(0);
  op.set(0, {batch});
  op.set(1, {batch, op.in(0).dim(1)});
}
/// inputs [time, batch, classes].
void ctc_loss(OpContext& op) {
  op.set(0, {op.in(0).dim(1)});
  op.copy_shape(1, op.in(0));
}

Estimate batch_norm_work(const OpView& op, const WorkRule& rule) {
  constexpr double kInference = 2;  // statistics are folded into a factor and an offset
  const bool training = op.integer("is_training", 1) != 0;
  return work::make_estimate(op, rule,
                             (training ? rule.flops : kInference) * op.output(0).elements(),
                             work::all_bytes(op));
}
constexpr WorkRule kBatchNorm{batch_norm_work, OpClass::normalization, 8};
// Maximum, subtract, exp, sum, divide; losses take a logarithm and the gradient along.
constexpr WorkRule kSoftmax = reduction(kExp + 4);
constexpr WorkRule kLoss = reduction(kExp + 8);
/// Forward and backward recursion over the alignments of each frame and class: an exp, a logarithm
/// and two sums each way.
constexpr WorkRule kAlignment = reduction(4 * kExp);

constexpr Row kOps[] = {
    {"BatchNormWithGlobalNormalization", "result:T", rule::like_first, normalization(2)},
    {"BiasAddGrad", "output:T", bias_gradient, reduction(1)},
    {"CTCBeamSearchDecoder",
     "decoded_indices:=int64*top_paths decoded_values:=int64*top_paths "
     "decoded_shape:=int64*top_paths log_probability:T=float",
     nullptr},
    {"CTCGreedyDecoder",
     "decoded_indices:=int64 decoded_values:=int64 decoded_shape:=int64 log_probability:T=float",
     nullptr, reduction(1)},
    {"CTCLoss", "loss:T=float gradient:T=float", ctc_loss, kAlignment},
    {"CTCLossV2", "loss:=float gradient:=float", ctc_loss, kAlignment},
    {"FusedBatchNorm", "y:T batch_mean:T batch_variance:T reserve_space_1:T reserve_space_2:T",
     batch_norm, kBatchNorm},
    {"FusedBatchNormGrad",
     "x_backprop:T scale_backprop:T offset_backprop:T reserve_space_3:T reserve_space_4:T",
     batch_norm_gradient, normalization(16)},
    {"FusedBatchNormGradV2",
     "x_backprop:T scale_backprop:U offset_backprop:U reserve_space_3:U reserve_space_4:U",
     batch_norm_gradient, normalization(16)},
    {"FusedBatchNormGradV3",
     "x_backprop:T scale_backprop:U offset_backprop:U reserve_space_4:U reserve_space_5:U",
     batch_norm_gradient, normalization(16)},
    {"FusedBatchNormV2", "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U",
     batch_norm, kBatchNorm},
    {"FusedBatchNormV3",
     "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U reserve_space_3:U",
     batch_norm, kBatchNorm},
    {"LRN", "output:T=float", rule::like_first, normalization(2 * kExp + 10)},
    {"LRNGrad", "output:T=float", rule::like_first, normalization(4 * kExp)},
    {"LogSoftmax", "logsoftmax:T", rule::like_first, kSoftmax},
    {"Softmax", "softmax:T", rule::like_first, kSoftmax},
    {"SoftmaxCrossEntropyWithLogits", "loss:T backprop:T", softmax_loss, kLoss},
    {"SparseSoftmaxCrossEntropyWithLogits", "loss:T backprop:T", sparse_softmax_loss, kLoss},
    {"_FusedBatchNormEx",
     "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U reserve_space_3:U",
     batch_norm, kBatchNorm},
};

}  // namespace

std::span<const Row> normalization_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
