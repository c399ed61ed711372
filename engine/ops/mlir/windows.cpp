// Convolutions and pools of MLIR's dialects.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/mlir/rules.h"

namespace berth::ops::mlir {
namespace {

/// Weights of a convolution, in each of its groups.
struct Filter {
  double features;
  double channels;
  double window;  ///< elements in space
  double groups = 1;
};

/// `products`: of an element and a weight.
Estimate convolved(const OpView& op, const WorkRule& rule, const Filter& filter, double products) {
  return work::with_convolution(
      work::make_estimate(op, rule, 2 * products, moved_bytes(op)),
      {.window = filter.window,
       .channels = filter.channels,
       .groups = filter.groups,
       .rows = result_of(op).elements() / (filter.features * filter.groups),
       .columns = filter.features,
       .minimal = false});
}
Estimate convolved(const OpView& op, const WorkRule& rule, const Filter& filter) {
  return convolved(op, rule, filter, result_of(op).elements() * filter.window * filter.channels);
}

/// Groups of weights (f, c, w..), of which each has `channels` of the image's. Images may lack a batch.
double groups_of(const OpView& op, const TensorView& image, double channels) {
  const double all = image.dim(image.rank() - op.input(1).rank() + 1);
  return std::max(1.0, known_or(number(op, "groups"), known_or(all / channels, 1)));
}

}  // namespace

Estimate features_first(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  const double channels = weights.dim(1);
  const double groups = groups_of(op, op.input(0), channels);
  return convolved(op, rule,
                   {.features = weights.dim(0) / groups,
                    .channels = channels,
                    .window = weights.elements(2, TensorView::kEnd),
                    .groups = groups});
}

Estimate channels_last(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(op, rule, {weights.dim(0), weights.dim(-1), weights.elements(1, -1)});
}

Estimate features_last(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(op, rule, {weights.dim(-1), weights.dim(-2), weights.elements(0, -2)});
}

Estimate window_alone(const OpView& op, const WorkRule& rule) {
  return convolved(op, rule, {1, 1, op.input(1).elements()});
}

Estimate groups_first(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(
      op, rule,
      {weights.dim(1), weights.dim(2), weights.elements(3, TensorView::kEnd), weights.dim(0)});
}

Estimate groups_second(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(
      op, rule,
      {weights.dim(0), weights.dim(2), weights.elements(3, TensorView::kEnd), weights.dim(1)});
}

Estimate groups_channels_last(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(op, rule,
                   {weights.dim(1), weights.dim(-1), weights.elements(2, -1), weights.dim(0)});
}

Estimate by_attributes(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  const double stated = number(op, "output_features");
  const int last = std::isnan(stated) ? -1 : static_cast<int>(stated);
  const double beside = known_or(number(op, "input_features"), last == 0 ? 1 : -2);
  const double features = weights.dim(last), channels = weights.dim(static_cast<int>(beside));
  const double batch_groups = known_or(number(op, "batch_groups"), 1);
  Filter filter{.features = features,
                .channels = channels,
                .window = weights.elements() / (features * channels),
                .groups = known_or(number(op, "groups"), 1) * batch_groups};
  filter.features /= filter.groups;
  // One tap in `spread` meets no zero that was put in.
  double spread = 1;
  for (const std::int64_t apart : op.integers("lhs_dilation")) {
    spread *= static_cast<double>(std::max<std::int64_t>(apart, 1));
  }
  const double products = result_of(op).elements() * filter.window * channels / spread;
  // The gradient of a grouped filter: each group's channels are the batch of the result.
  const double batch = batch_groups > 1 ? number(op, "output_batch") : kUnknown;
  if (!std::isnan(batch)) filter.channels = op.output(0).dim(static_cast<int>(batch));
  return convolved(op, rule, filter, products);
}

Estimate transposed(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1), image = op.input(0);
  const double groups = groups_of(op, op.output(0), weights.dim(1));
  return convolved(op, rule,
                   {.features = weights.dim(1),
                    .channels = weights.dim(0) / groups,
                    .window = weights.elements(2, TensorView::kEnd),
                    .groups = groups},
                   // Every input meets all weights of its channel.
                   image.elements() * weights.elements(1, TensorView::kEnd));
}

Estimate maybe_transposed(const OpView& op, const WorkRule& rule) {
  return op.integer("transposed", 0) != 0 ? transposed(op, rule) : features_first(op, rule);
}

Estimate backward(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(2);
  // Each of its elements meets a window of weights, once for each gradient.
  const TensorView met = op.input(op.integer("transposed", 0) != 0 ? 1 : 0);
  const double groups = known_or(number(op, "groups"), 1);
  const double flops = known_or(number(op, "gradients"), 2) * 2 * met.elements() *
                       weights.elements(1, TensorView::kEnd);
  return work::with_convolution(work::make_estimate(op, rule, flops, moved_bytes(op)),
                                {.window = weights.elements(2, TensorView::kEnd),
                                 .channels = weights.dim(1),
                                 .groups = groups,
                                 .rows = met.elements() / weights.dim(0),
                                 .columns = weights.dim(0) / groups,
                                 .minimal = false});
}

Estimate transposed_last(const OpView& op, const WorkRule& rule) {
  const TensorView weights = op.input(1);
  return convolved(op, rule, {weights.dim(0), weights.dim(-1), weights.elements(1, -1)},
                   op.input(0).elements() * weights.elements(0, -1));
}

Estimate depthwise(const OpView& op, const WorkRule& rule) {
  const double taps = op.input(1).elements(0, op.input(0).rank() - 2);
  return work::make_estimate(op, rule, convolution_flops(result_of(op).elements(), taps, false),
                             moved_bytes(op));
}

Estimate depthwise_first(const OpView& op, const WorkRule& rule) {
  const double taps = op.input(1).elements(1, TensorView::kEnd);
  return work::make_estimate(op, rule, convolution_flops(result_of(op).elements(), taps, false),
                             moved_bytes(op));
}

Estimate general(const OpView& op, const WorkRule& rule) {
  const auto sides = op.integers("product");
  if (sides.size() != 4) return with_body(op, rule);
  const auto side = [&sides](std::size_t i) { return static_cast<double>(sides[i]); };
  const double groups = side(0), columns = side(1), channels = side(2), window = side(3);
  if (window > 1) {
    return convolved(op, convolution(general), {columns, channels, window, groups});
  }
  const double results = result_of(op).elements();
  return work::with_products(
      work::make_estimate(op, kMatmul, matmul_flops(results, channels, false), moved_bytes(op)),
      results / (columns * groups), columns, groups);
}

Estimate pooled(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, result_of(op).elements() * op.input(1).elements(),
                             moved_bytes(op));
}

Estimate pooled_by_attribute(const OpView& op, const WorkRule& rule) {
  const auto window = op.integers("window");
  if (window.empty()) return with_body(op, rule);
  double elements = 1;
  for (const std::int64_t side : window) elements *= static_cast<double>(side);
  return work::make_estimate(op, rule, op.output(0).elements() * elements, work::all_bytes(op));
}

}  // namespace berth::ops::mlir
