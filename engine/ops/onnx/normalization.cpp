// Normalisation, softmax and losses.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// Whether inputs 1 to 4 have a number for each channel; in the first opsets they could have one for each point.
bool has_statistics_of_channels(const OpContext& op) {
  const Dims* const x = op.shape(0);
  if (x == nullptr || op.attributes.integer("spatial", 1) == 0) return true;
  const std::int64_t channels = x->size() > 1 ? (*x)[1] : 1;
  for (std::size_t i = 1; i < 5; ++i) {
    const std::int64_t own = dim_of(op.shape(i), 0, 1);
    if (own != kUnknownDim && channels != kUnknownDim && own != channels) return false;
  }
  return true;
}

void batch_normalization(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  if (has_statistics_of_channels(op)) op.set_like(0, 0);
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set_like(i, i == 1 || i == 3 ? 3 : 4);
}

// The first output has the type of the scale, which is that of X but where there is no shift. Outputs after it hold the statistics: the shape up to `axis`, then ones.
void layer_normalization(OpContext& op) {
  op.set_like(0, 0);
  if (op.type_of(1) != 0) op.out(0).type = op.type_of(1);
  const Dims* const x = op.shape(0);
  if (x == nullptr) return;
  const auto axis = normal_axis(op.attributes.integer("axis", -1), x->size());
  if (!axis) return;
  Dims statistics = *x;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), 1);
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, kFloat, statistics);
}

/// ids, segment ids, word table; `type`: the type of the tables.
void embed_ids(OpContext& op, int type) {
  op.give(0, tensor_type(type));
  const Dims* const ids = op.shape(0);
  if (ids == nullptr || ids->size() != 2) return;
  const Dims result = {(*ids)[0], (*ids)[1], dim_of(op.shape(2), 1, 2)};
  op.set(0, type, result);
  op.set(1, kInt32, {(*ids)[0]});
  op.set(2, type, result);
}
void embed_layer_normalization(OpContext& op) {
  embed_ids(op, op.type_of(2));
}
/// The tables are quantised, their scales are not.
void quantized_embed_layer_normalization(OpContext& op) {
  embed_ids(op, op.type_of(7));
}

void skip_layer_normalization(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(3, 0);
  if (op.shape(0) == nullptr || op.shape(0)->empty()) return;
  Dims statistics = *op.shape(0);
  statistics.back() = 1;
  for (const std::size_t i : {1U, 2U}) op.set(i, kFloat, statistics);
}

void skip_group_norm(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
}

// dY, X, scale (or weights), ...: gradients of X, of the scale and of the bias.
void normalization_gradient(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set_like(i, i == 0 ? 1 : 2);
}

// Scores (batch, classes, d...) and labels (batch, d...).
void cross_entropy(OpContext& op) {
  op.set(0, op.type_of(0), {});
  if (op.attributes.text("reduction", {}) == "none" && op.shape(1) != nullptr) {
    op.set(0, op.type_of(0), *op.shape(1));
  }
  op.set_like(1, 0);
}

Estimate embedding_norm_work(const OpView& op, const WorkRule& rule) {
  // Ids, then a word, a position and a segment table: one row of each per output row.
  constexpr double kTables = 3;
  const double bytes = op.input(0).bytes() + op.input(1).bytes() + kTables * op.output(0).bytes() +
                       op.bytes_written();
  return work::make_estimate(op, rule, rule.flops * op.output(0).elements(), bytes);
}

Estimate local_response_work(const OpView& op, const WorkRule& rule) {
  // A square and a sum per neighbour, a power and a division per element.
  const double size = static_cast<double>(std::max<std::int64_t>(1, op.integer("size", 1)));
  const double flops = 2 * size + 2 * kTranscendentalFlops;
  return work::make_estimate(op, rule, flops * op.output(0).elements(), work::all_bytes(op));
}

// Maximum, subtract, exp, sum, divide.
constexpr WorkRule kSoftmax = reduction(kExp + 4);
constexpr WorkRule kSoftmaxGradient = reduction(4);
// Chances of their logarithms, less one at the label, and scaled; the first input is one number.
constexpr WorkRule kLossGradient{work::per_output, OpClass::reduction, kExp + 2};
constexpr WorkRule kLocalResponse{local_response_work, OpClass::normalization};
constexpr WorkRule kEmbedding{embedding_norm_work, OpClass::normalization, 10};

constexpr Row kOps[] = {
    {"BatchNormalization", batch_normalization, normalization(2)},
    {"GroupNormalization", rule::like_first, normalization(8)},
    {"InstanceNormalization", rule::like_first, normalization(8)},
    {"LRN", rule::like_first, kLocalResponse},
    {"LayerNormalization", layer_normalization, normalization(8)},
    {"LogSoftmax", rule::like_first, kSoftmax},
    {"LpNormalization", rule::like_first, normalization(5)},
    {"MeanSquaredDistance", nullptr, reduction(1)},
    {"MeanVarianceNormalization", rule::like_first, normalization(8)},
    {"NegativeLogLikelihoodLoss", nullptr, reduction(1)},
    {"RMSNormalization", layer_normalization, normalization(5)},
    {"SimplifiedLayerNormalization", layer_normalization, normalization(5)},
    {"Softmax", rule::like_first, kSoftmax},
    {"SoftmaxCrossEntropyLoss", nullptr, kSoftmax},
    {"com.microsoft.BatchNormInternal", batch_normalization, normalization(8)},
    {"com.microsoft.BatchNormalizationGrad", normalization_gradient, normalization(16)},
    {"com.microsoft.BiasSoftmax", rule::like_first, kSoftmax},
    {"com.microsoft.BranchwiseRMSNorm", rule::like_first, normalization(5)},
    {"com.microsoft.EmbedLayerNormalization", embed_layer_normalization, kEmbedding},
    {"com.microsoft.GatedRMSNorm", rule::like_first, normalization(kExp + 8)},
    {"com.microsoft.GroupNorm", rule::like_first, normalization(8)},
    {"com.microsoft.InvertibleLayerNormalizationGrad", normalization_gradient, normalization(16)},
    {"com.microsoft.LayerNormalizationGrad", normalization_gradient, normalization(16)},
    {"com.microsoft.LogSoftmaxGrad", rule::like_first, kSoftmaxGradient},
    {"com.microsoft.LogSoftmaxGrad_13", rule::like_first, kSoftmaxGradient},
    {"com.microsoft.QEmbedLayerNormalization", quantized_embed_layer_normalization, kEmbedding},
    {"com.microsoft.QLinearSoftmax", rule::like_first, kSoftmax},
    {"com.microsoft.SimplifiedLayerNormalizationGrad", normalization_gradient, normalization(16)},
    {"com.microsoft.SkipGroupNorm", skip_group_norm, normalization(10)},
    {"com.microsoft.SkipLayerNormalization", skip_layer_normalization, normalization(10)},
    {"com.microsoft.SkipSimplifiedLayerNormalization", skip_layer_normalization, normalization(6)},
    {"com.microsoft.SoftmaxCrossEntropyLossGrad", rule::like_second, kLossGradient},
    {"com.microsoft.SoftmaxCrossEntropyLossInternal", cross_entropy, kSoftmax},
    {"com.microsoft.SoftmaxCrossEntropyLossInternalGrad", rule::like_second, kLossGradient},
    {"com.microsoft.SoftmaxGrad", rule::like_first, kSoftmaxGradient},
    {"com.microsoft.SoftmaxGrad_13", rule::like_first, kSoftmaxGradient},
};

}  // namespace

std::span<const Row> normalization_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
