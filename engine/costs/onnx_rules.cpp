#include "costs/onnx_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "costs/formulas.h"

namespace berth::costs::onnx {
namespace {

double known_or(double value, double fallback) {
  return std::isnan(value) ? fallback : value;
}

/// Bytes of one element; sub-byte and unknown types count as what they are, and as f32.
double element_bytes(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits > 0 ? bits / 8.0 : 4.0;
}

}  // namespace

// --- by elements
// -----------------------------------------------------------------------------------

Estimate dropout(const OpView& op, const WorkRule& rule) {
  constexpr std::size_t kTrainingMode = 2;
  if (!op.input(kTrainingMode).present()) {
    return no_work(op, {rule.estimate, OpClass::none, 0});
  }
  return per_output(op, rule);
}

Estimate embedding_norm(const OpView& op, const WorkRule& rule) {
  // Ids, then a word, a position and a segment table: one row of each per output row.
  constexpr double kTables = 3;
  const double bytes = op.input(0).bytes() + op.input(1).bytes() + kTables * op.output(0).bytes() +
                       op.bytes_written();
  return make_estimate(op, rule, rule.flops * op.output(0).elements(), bytes);
}

// --- convolutions
// ------------------------------------------------------------------------------------ No
// workspace: implicit products (no im2col matrix in memory) are what libraries choose for most
// shapes and what they fall back to when a workspace is refused.

namespace {

Estimate convolution_of(const OpView& op, const WorkRule& rule, const TensorView& weights,
                        bool bias) {
  const double taps = weights.elements(1, TensorView::kEnd);  // [out, in / group, kernel...]
  return make_estimate(op, rule, convolution_flops(op.output(0).elements(), taps, bias),
                       all_bytes(op));
}

}  // namespace

Estimate convolution(const OpView& op, const WorkRule& rule) {
  return convolution_of(op, rule, op.input(1), op.input(2).present());
}

Estimate quantized_convolution(const OpView& op, const WorkRule& rule) {
  return convolution_of(op, rule, op.input(3), op.input(8).present());
}

Estimate transposed_convolution(const OpView& op, const WorkRule& rule) {
  // Every input element is multiplied by the taps it spreads to.
  const double taps = op.input(1).elements(1, TensorView::kEnd);
  double flops = convolution_flops(op.input(0).elements(), taps, /*bias=*/false);
  if (op.input(2).present()) flops += op.output(0).elements();
  return make_estimate(op, rule, flops, all_bytes(op));
}

Estimate deformable_convolution(const OpView& op, const WorkRule& rule) {
  constexpr double kBilinearFlops = 8;
  const TensorView weights = op.input(1);
  const double taps = weights.elements(1, TensorView::kEnd);
  const double points = op.output(0).elements() / std::max(1.0, known_or(weights.dim(0), 1));
  const double samples =
      points * op.input(0).dim(1) * weights.elements(2, TensorView::kEnd);  // per channel and tap
  return make_estimate(op, rule,
                       convolution_flops(op.output(0).elements(), taps, op.input(3).present()) +
                           kBilinearFlops * samples,
                       all_bytes(op));
}

// --- matrix products
// ---------------------------------------------------------------------------------

namespace {

/// The summed dimension, from whichever side knows it.
double inner_dim(const OpView& op, const TensorView& a, const TensorView& b) {
  const bool trans_a = op.integer("transA", 0) != 0;
  const bool trans_b = op.integer("transB", 0) != 0;
  const double from_a = a.dim(trans_a && a.rank() > 1 ? -2 : -1);
  if (!std::isnan(from_a)) return from_a;
  return b.dim(!trans_b && b.rank() > 1 ? -2 : -1);
}

Estimate matmul_of(const OpView& op, const WorkRule& rule, const TensorView& a, const TensorView& b,
                   bool bias) {
  return make_estimate(op, rule, matmul_flops(op.output(0).elements(), inner_dim(op, a, b), bias),
                       all_bytes(op));
}

}  // namespace

Estimate matmul(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(1), /*bias=*/false);
}

Estimate gemm(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(1), op.input(2).present());
}

Estimate quantized_matmul(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(3), /*bias=*/false);
}

Estimate packed_matmul(const OpView& op, const WorkRule& rule) {
  return make_estimate(op, rule,
                       matmul_flops(op.output(0).elements(), op.input(0).dim(-1), /*bias=*/false),
                       all_bytes(op));
}

Estimate mixture_of_experts(const OpView& op, const WorkRule& rule) {
  // Input [.., H], router, then weights [experts, ...] at 2, 4 and 6 (fc1, fc2, fc3): each token
  // passes through `k` experts.
  double weights_per_expert = 0;
  for (const std::size_t i : {std::size_t{2}, std::size_t{4}, std::size_t{6}}) {
    if (op.input(i).present()) weights_per_expert += op.input(i).elements(1, TensorView::kEnd);
  }
  const double tokens = op.input(0).elements(0, -1);
  const double chosen = static_cast<double>(std::max<std::int64_t>(1, op.integer("k", 1)));
  return make_estimate(op, rule, 2 * tokens * chosen * weights_per_expert, all_bytes(op));
}

// --- attention
// ---------------------------------------------------------------------------------------
// Workspace: the score matrices, as kernels hold them that do not fuse the whole of attention, and
// the projections where the op makes them. Fused kernels need less: this errs on the safe side.

namespace {

Estimate attention_of(const OpView& op, const WorkRule& rule, const AttentionShape& shape) {
  return make_estimate(op, rule, attention_flops(shape), all_bytes(op),
                       attention_scores(shape) * element_bytes(op.output(0).dtype()));
}

/// Keys seen: those in `present` (its second last dimension) where the op gives it back, else the
/// past ones and the new ones.
double keys_seen(const TensorView& present, const TensorView& past, double fresh) {
  const double all = present.dim(-2);
  if (!std::isnan(all)) return all;
  return fresh + (past.present() ? past.dim(-2) : 0);
}

double heads_of(const OpView& op, std::string_view attribute) {
  const std::int64_t heads = op.integer(attribute, 0);
  return heads > 0 ? static_cast<double>(heads) : kUnknown;
}

}  // namespace

namespace {

Estimate projected_attention_of(const OpView& op, const WorkRule& rule, const TensorView& past) {
  const TensorView input = op.input(0);    // [batch, queries, hidden]
  const TensorView weights = op.input(1);  // [hidden, q + k + v]
  const auto sizes = op.integers("qkv_hidden_sizes");
  const double columns = weights.dim(1);
  const double q = sizes.size() == 3 ? static_cast<double>(sizes[0]) : columns / 3;
  const double v = sizes.size() == 3 ? static_cast<double>(sizes[2]) : columns / 3;
  AttentionShape shape{};
  shape.batch = input.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = input.dim(1);
  shape.keys = keys_seen(op.output(1), past, shape.queries);
  shape.qk_size = q / shape.heads;
  shape.v_size = v / shape.heads;
  Estimate estimate = attention_of(op, rule, shape);
  const double projections = shape.batch * shape.queries * columns;
  estimate.work.flops += matmul_flops(projections, weights.dim(0), op.input(2).present());
  estimate.workspace_bytes += projections * element_bytes(op.output(0).dtype());
  return estimate;
}

}  // namespace

Estimate projected_attention(const OpView& op, const WorkRule& rule) {
  return projected_attention_of(op, rule, op.input(4));
}

Estimate quantized_projected_attention(const OpView& op, const WorkRule& rule) {
  return projected_attention_of(op, rule, op.input(8));
}

Estimate multi_head_attention(const OpView& op, const WorkRule& rule) {
  // Query [b, s, d], or all packed [b, s, heads, 3, h]. Key [b, t, d], packed with the value
  // [b, t, heads, 2, h], or from another attention [b, heads, t, h]. Output [b, s, dv].
  const TensorView query = op.input(0), key = op.input(1);
  AttentionShape shape{};
  shape.batch = query.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = query.dim(1);
  const double fresh = !key.present() ? shape.queries : key.dim(key.rank() == 4 ? 2 : 1);
  shape.keys = keys_seen(op.output(1), op.input(6), fresh);
  shape.qk_size = query.rank() == 5 ? query.dim(4) : query.dim(2) / shape.heads;
  shape.v_size = op.output(0).dim(2) / shape.heads;
  return attention_of(op, rule, shape);
}

Estimate grouped_attention(const OpView& op, const WorkRule& rule) {
  // Query [b, s, d], or packed with key and value; past key [b, kv heads, p, h] at 3. Output
  // [b, s, d].
  const TensorView output = op.output(0);
  AttentionShape shape{};
  shape.batch = output.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = output.dim(1);
  shape.keys = keys_seen(op.output(1), op.input(3), shape.queries);
  shape.qk_size = shape.v_size = output.dim(2) / shape.heads;
  return attention_of(op, rule, shape);
}

Estimate standard_attention(const OpView& op, const WorkRule& rule) {
  // Q, K, V as [b, heads, s, h] or, with the heads in attributes, [b, s, heads * h]; past key at 4.
  const TensorView query = op.input(0), key = op.input(1), output = op.output(0);
  const bool split = query.rank() == 4;
  AttentionShape shape{};
  shape.batch = query.dim(0);
  shape.heads = split ? query.dim(1) : heads_of(op, "q_num_heads");
  shape.queries = query.dim(-2);
  shape.keys = keys_seen(op.output(1), op.input(4), key.dim(-2));
  shape.qk_size = query.dim(-1) / (split ? 1 : shape.heads);
  shape.v_size = output.dim(-1) / (split ? 1 : shape.heads);
  return attention_of(op, rule, shape);
}

// --- others
// --------------------------------------------------------------------------------------------

Estimate recurrent(const OpView& op, const WorkRule& rule) {
  // X [steps, batch, in] or, with layout 1, [batch, steps, in]; W at 1; R [directions, .., hidden].
  const TensorView x = op.input(0), r = op.input(2);
  const bool batch_first = op.integer("layout", 0) == 1;
  const std::int64_t hidden = op.integer("hidden_size", 0);
  RecurrentShape shape{};
  shape.steps = x.dim(batch_first ? 1 : 0);
  shape.batch = x.dim(batch_first ? 0 : 1);
  shape.input = x.dim(2);
  shape.hidden = hidden > 0 ? static_cast<double>(hidden) : r.dim(2);
  shape.directions = op.text("direction") == "bidirectional" ? 2 : 1;
  shape.gates = rule.flops;
  // Every step reads the recurrent weights again; a step's state is too small to hide that.
  const double again = std::max(0.0, shape.steps - 1) * r.bytes();
  // Workspace: the input's products with W for all steps, made at once.
  const double gates = shape.steps * shape.directions * shape.batch * shape.gates * shape.hidden;
  Estimate estimate = make_estimate(op, rule, recurrent_flops(shape), all_bytes(op) + again,
                                    gates * element_bytes(op.output(0).dtype()));
  estimate.work.launches = std::max(1.0, known_or(shape.steps * shape.directions, 1));
  return estimate;
}

Estimate pooling(const OpView& op, const WorkRule& rule) {
  double window = 1;
  const auto kernel = op.integers("kernel_shape");
  for (const std::int64_t side : kernel) window *= std::max(1.0, static_cast<double>(side));
  return make_estimate(op, rule, rule.flops * window * op.output(0).elements(), all_bytes(op));
}

Estimate region_pooling(const OpView& op, const WorkRule& rule) {
  // sampling_ratio 0 = adaptive; two per side is what detection models set.
  const std::int64_t ratio = op.integer("sampling_ratio", 0);
  const double side = ratio > 0 ? static_cast<double>(ratio) : 2;
  return make_estimate(op, rule, rule.flops * side * side * op.output(0).elements(), all_bytes(op));
}

Estimate local_response(const OpView& op, const WorkRule& rule) {
  // A square and a sum per neighbour, a power and a division per element.
  const double size = static_cast<double>(std::max<std::int64_t>(1, op.integer("size", 1)));
  const double flops = 2 * size + 2 * kTranscendentalFlops;
  return make_estimate(op, rule, flops * op.output(0).elements(), all_bytes(op));
}

Estimate selection(const OpView& op, const WorkRule& rule) {
  const double candidates = op.input(0).elements();
  const double kept = known_or(op.output(0).elements(), candidates);
  return make_estimate(op, rule,
                       rule.flops * selection_flops(candidates, std::min(kept, candidates)),
                       all_bytes(op));
}

Estimate non_max_suppression(const OpView& op, const WorkRule& rule) {
  // Boxes, then scores: the scores are sorted, and each is compared with those kept so far, of
  // which the graph does not know how many there will be.
  const double scores = op.input(1).elements();
  return make_estimate(op, rule, rule.flops * scores + selection_flops(scores, scores),
                       all_bytes(op));
}

Estimate resize(const OpView& op, const WorkRule& rule) {
  // Reads around each output element: 1, 2^axes or 4^axes of them, a product and a sum each. Two
  // axes is the case of images.
  const std::string_view mode = op.text("mode");
  const double flops = mode == "cubic" ? 32 : mode == "linear" ? 8 : 0;
  return make_estimate(op, rule, flops * op.output(0).elements(), all_bytes(op));
}

Estimate fourier(const OpView& op, const WorkRule& rule) {
  // 5 n log2 n per transform. The transformed length is the output's second last dimension (the
  // last one is the complex pair).
  const TensorView output = op.output(0);
  const double length = output.dim(-2);
  return make_estimate(op, rule, 5 * output.elements() / 2 * std::max(1.0, std::log2(length)),
                       all_bytes(op));
}

}  // namespace berth::costs::onnx
