// Work of torch-mlir's ops. Types stand here without their overload and without the underscore of
// those that write in place: "torch.aten.add" for torch.aten.add_.Tensor. Sizes of windows are values
// of other ops, which no type tells.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/mlir/rules.h"

namespace berth::ops::mlir {
namespace {

/// aten.addmm, baddbmm: what is added comes first, then (.., m, k) and (.., k, n).
Estimate product_and_sum(const OpView& op, const WorkRule& rule) {
  const TensorView right = op.input(2);
  const double batches = right.rank() <= 2 ? 1 : right.elements(0, -2);
  return product(op, rule, op.input(1).dim(-1), 2, batches);
}
/// aten.addbmm: the products of all batches are added up.
Estimate sum_of_products(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(1).dim(0) * op.input(1).dim(-1), 2, 1);
}
/// (.., queries, width), (.., keys, width), (.., keys, width of values), from input `first` on.
AttentionShape attention_shape(const OpView& op, std::size_t first) {
  const TensorView query = op.input(first);
  const double queries = query.dim(-2), width = query.dim(-1);
  const double heads = query.elements() / (queries * width);  // of the whole batch
  return {1, heads, queries, op.input(first + 1).dim(-2), width, op.input(first + 2).dim(-1)};
}
Estimate attention(const OpView& op, const WorkRule& rule) {
  const AttentionShape shape = attention_shape(op, 0);
  return work::make_estimate(op, rule, attention_flops(shape), work::all_bytes(op),
                             attention_scores(shape) * work::element_bytes(op.output(0).dtype()));
}
/// Its inputs are the gradient and the forward's; it computes the scores again, and has two products for each of two.
Estimate fused_attention_backward(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, 2.5 * attention_flops(attention_shape(op, 1)),
                             work::all_bytes(op));
}
/// aten.einsum: the equation, the tensors, a path.
Estimate einsum_of_list(const OpView& op, const WorkRule& rule) {
  const std::string_view terms = op.text("equation").substr(0, op.text("equation").find("->"));
  const auto count = static_cast<std::size_t>(std::count(terms.begin(), terms.end(), ',')) + 1;
  return work::einsum_of(op, rule, 1, count);
}
/// aten.lstm_cell and its like: one step; rule.flops = products with the input and the state.
Estimate cell(const OpView& op, const WorkRule& rule) {
  const TensorView input = op.input(0);
  const double width = input.dim(-1);
  return work::make_estimate(
      op, rule,
      recurrent_flops({1, input.elements() / width, width, op.output(0).dim(-1), 1, rule.flops}),
      work::all_bytes(op));
}
/// aten.lstm and its like: every step of a batch (steps, batch, width) meets all matrices.
Estimate recurrent(const OpView& op, const WorkRule& rule) {
  double weights = 0;
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    if (op.input(i).rank() == 2) weights += op.input(i).elements();
  }
  return work::make_estimate(op, rule, 2 * op.input(0).elements(0, -1) * weights,
                             work::all_bytes(op));
}

constexpr WorkRule kPooling{pooled_by_attribute, OpClass::pooling};
constexpr WorkRule kSum{product_and_sum, OpClass::matmul};

/// Each behind "torch.aten.".
constexpr Family kAten[] = {
    {kMatmul, "mm bmm matmul linear mv dot vdot _int_mm _scaled_mm"},
    {kSum, "addmm baddbmm addmv"},
    {{sum_of_products, OpClass::matmul}, "addbmm"},
    {convolution(maybe_transposed), "convolution _convolution"},
    {convolution(backward), "convolution_backward"},
    {{dot_general, OpClass::matmul}, "tensordot inner"},
    {{einsum_of_list, OpClass::matmul}, "einsum"},
    {{cell, OpClass::recurrent, 4}, "lstm_cell"},
    {{cell, OpClass::recurrent, 3}, "gru_cell"},
    {{cell, OpClass::recurrent, 1}, "rnn_tanh_cell rnn_relu_cell"},
    {{recurrent, OpClass::recurrent}, "lstm gru rnn_tanh rnn_relu"},
    {convolution(features_first), "conv1d conv2d conv3d"},
    {convolution(transposed), "conv_transpose1d conv_transpose2d conv_transpose3d"},
    {{attention, OpClass::attention}, "scaled_dot_product_attention"},
    {{fused_attention, OpClass::attention},
     "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
     "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention"},
    {{fused_attention_backward, OpClass::attention},
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward "
     "_scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_cudnn_attention_backward"},
    {kPooling,
     "max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices avg_pool1d "
     "avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d _adaptive_avg_pool2d "
     "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d"},
    {normalization(8),
     "layer_norm native_layer_norm batch_norm native_batch_norm _native_batch_norm_legit "
     "_native_batch_norm_legit_no_training group_norm native_group_norm instance_norm rms_norm"},
    {normalization(kTranscendentalFlops + 5), "softmax _softmax log_softmax _log_softmax"},
    {reduction(1),
     "sum mean amax amin max min argmax argmin prod any all cumsum cumprod logsumexp norm "
     "linalg_vector_norm count_nonzero"},
    {reduction(4),
     "var std var_mean std_mean topk sort argsort cross_entropy_loss nll_loss_forward "
     "mse_loss"},
    {kView,
     "view view_as reshape reshape_as _unsafe_view _reshape_alias flatten unflatten squeeze "
     "unsqueeze transpose t numpy_T permute movedim swapaxes expand expand_as broadcast_to detach "
     "alias slice select narrow split split_with_sizes chunk unbind diagonal contiguous "
     "view_as_complex view_as_real unfold"},
    {kShapes, "size sym_size dim numel Int Bool Float item len device"},
    {copies(),
     "cat stack hstack vstack clone copy repeat repeat_interleave tile roll flip pad "
     "constant_pad_nd reflection_pad2d replication_pad2d pixel_shuffle pixel_unshuffle index_put "
     "_index_put_impl scatter scatter_add slice_scatter select_scatter im2col col2im"},
    {gathers(), "embedding index_select gather index take take_along_dim"},
    {writes(),
     "zeros ones full empty zeros_like ones_like full_like empty_like new_zeros new_ones new_empty "
     "new_full arange linspace eye scalar_tensor empty_strided new_empty_strided"},
    {generates(20),
     "rand randn rand_like randn_like randint bernoulli normal uniform normal_functional"},
    {elementwise(8), "upsample_nearest1d upsample_nearest2d upsample_bilinear2d grid_sampler"},
    {elementwise(1),
     "add sub rsub mul outer ger kron div neg abs relu relu6 leaky_relu hardtanh hardswish "
     "hardsigmoid clamp "
     "clamp_min clamp_max maximum minimum where masked_fill eq ne lt le gt ge logical_and "
     "logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not floor ceil "
     "round trunc square reciprocal remainder fmod floor_divide to _to_copy type_as dropout "
     "native_dropout tril triu sign sgn isnan isinf threshold prelu addcmul addcdiv lerp fill "
     "zero real imag conj threshold_backward"},
    {elementwise(kTranscendentalFlops),
     "exp exp2 expm1 log log2 log10 log1p log_sigmoid tanh sigmoid gelu silu softplus elu selu "
     "celu "
     "mish erf erfinv sin cos tan asin acos atan atan2 sinh cosh sqrt rsqrt pow softsign glu "
     "tanh_backward sigmoid_backward gelu_backward"},
};

constexpr std::string_view kFront = "torch.aten.";
/// Numbers and lists of them, known when the module is compiled.
constexpr std::string_view kCompiled[] = {"torch.constant", "torch.prim"};

}  // namespace

Estimate fused_attention(const OpView& op, const WorkRule& rule) {
  const auto sides = op.integers("attention");
  const auto side = [&sides](std::size_t i) { return static_cast<double>(sides[i]); };
  const AttentionShape shape = sides.size() == 4
                                   ? AttentionShape{1, 1, side(0), side(1), side(2), side(3)}
                                   : attention_shape(op, 0);
  return work::make_estimate(op, rule, attention_flops(shape), work::all_bytes(op));
}

std::vector<NamedWork> torch_ops() {
  std::vector<NamedWork> rows;
  add_rows(rows, kAten, kFront);
  for (const std::string_view front : kCompiled) rows.push_back({std::string(front), kSource});
  return rows;
}

std::string torch_type(std::string_view type) {
  for (const std::string_view front : kCompiled) {
    if (type.starts_with(front) && type.substr(front.size()).starts_with('.')) {
      return std::string(front);
    }
  }
  if (!type.starts_with(kFront)) return {};
  std::string_view name = type.substr(kFront.size());
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return std::string(kFront) + std::string(name);
}

}  // namespace berth::ops::mlir
