// Shapes of the operators of ONNX Runtime (domain com.microsoft) that exported, optimised and
// quantised models hold. Source of the shapes: ONNX Runtime, docs/ContribOperators.md.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "onnx/compute_rules.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

void like_first(OpContext& op) {
  op.set_like(0, 0);
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return a == kUnknownDim || b <= 0 ? kUnknownDim : a / b;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a == kUnknownDim || b == kUnknownDim ? kUnknownDim : a + b;
}

std::int64_t dim(const Dims* dims, std::size_t i, std::size_t rank) {
  return dims != nullptr && dims->size() == rank ? (*dims)[i] : kUnknownDim;
}

// --- attention -----------------------------------------------------------------------------------

// Attention and its quantised form: one weight (hidden, q + k + v) for the three projections.
void packed_projection_attention(OpContext& op, int elem, std::size_t past_input) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(elem));
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  const auto sizes = op.ints_attribute("qkv_hidden_sizes");
  std::int64_t hidden = quotient(dim(op.shape(1), 1, 2), 3);
  if (hidden == kUnknownDim) hidden = quotient(dim(op.shape(2), 0, 1), 3);
  if (sizes && sizes->size() == 3) hidden = valid_dim((*sizes)[2]);
  Dims result = *x;
  result.back() = hidden;
  op.set(0, elem, std::move(result));
  if (x->size() != 3) return;
  const std::int64_t heads = op.int_attribute("num_heads", 0);
  std::int64_t total = (*x)[1];
  const Dims* const past = op.shape(past_input);
  if (past != nullptr && past->size() == 5) {
    const bool shared = op.int_attribute("past_present_share_buffer", 0) != 0;
    total = shared ? (*past)[3] : sum(total, (*past)[3]);
  }
  op.set(1, elem, {2, x->front(), valid_dim(heads), total, quotient(hidden, heads)});
}

void attention(OpContext& op) {
  packed_projection_attention(op, op.elem(0), 4);
}
void quantized_attention(OpContext& op) {
  packed_projection_attention(op, op.elem(3), 8);
}

// Query (batch, length, hidden) or all three packed as (batch, length, heads, 3, head size); keys
// and values (batch, length, hidden), packed (.., heads, 2, head size) or (batch, heads, length,
// head size).
void multi_head_attention(OpContext& op, std::size_t past_input) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(op.elem(0)));
  const Dims* const q = op.shape(0);
  const Dims* const k = op.shape(1);
  const Dims* const v = op.shape(2);
  const std::int64_t heads = valid_dim(op.int_attribute("num_heads", 0));
  if (q == nullptr || (q->size() != 3 && q->size() != 5) || heads < 1) return;
  const std::int64_t batch = (*q)[0];
  const std::int64_t length = (*q)[1];
  const std::int64_t head_size = q->size() == 5 ? (*q)[4] : quotient((*q)[2], heads);
  std::int64_t total = length;
  std::int64_t v_size = head_size;
  if (k != nullptr && k->size() >= 3) total = k->size() == 4 ? (*k)[2] : (*k)[1];
  if (v != nullptr && v->size() == 3) v_size = quotient((*v)[2], heads);
  if (v != nullptr && v->size() == 4) v_size = (*v)[3];
  const Dims* const past = op.shape(past_input);
  if (past != nullptr && past->size() == 4) {
    const bool shared = op.int_attribute("past_present_share_buffer", 0) != 0;
    total = shared ? (*past)[2] : sum(total, (*past)[2]);
  }
  std::int64_t hidden = kUnknownDim;
  if (v_size != kUnknownDim && !__builtin_mul_overflow(heads, v_size, &hidden)) {
    hidden = valid_dim(hidden);
  }
  op.set(0, op.elem(0), {batch, length, hidden});
  op.set(1, op.elem(0), {batch, heads, total, head_size});
  op.set(2, op.elem(0), {batch, heads, total, v_size});
}

void multi_head(OpContext& op) {
  multi_head_attention(op, 6);
}
void masked_multi_head(OpContext& op) {
  multi_head_attention(op, 5);
}

// Query (batch, length, heads x size), or with keys and values packed behind it.
void group_query_attention(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(op.elem(0)));
  const Dims* const q = op.shape(0);
  const std::int64_t heads = op.int_attribute("num_heads", 0);
  const std::int64_t kv_heads = op.int_attribute("kv_num_heads", 0);
  if (q == nullptr || q->size() != 3 || heads < 1 || kv_heads < 1 || heads > kMaxDim ||
      kv_heads > kMaxDim) {
    return;
  }
  const bool packed = op.input(1) == nullptr;
  const std::int64_t size = quotient((*q)[2], packed ? heads + 2 * kv_heads : heads);
  std::int64_t hidden = (*q)[2];
  if (packed && (size == kUnknownDim || __builtin_mul_overflow(size, heads, &hidden))) {
    hidden = kUnknownDim;
  }
  op.set(0, op.elem(0), {(*q)[0], (*q)[1], hidden});
  const std::int64_t past = op.input(3) != nullptr ? dim(op.shape(3), 2, 4) : 0;
  std::int64_t total = sum(past, (*q)[1]);
  if (const Data* const stated = op.data(6); stated != nullptr && stated->size() == 1) {
    if (const auto value = stated->integer(0)) total = std::max(past, valid_dim(*value));
  }
  for (const std::size_t i : {1U, 2U}) op.set(i, op.elem(0), {(*q)[0], kv_heads, total, size});
}

// Tokens without padding: (tokens, hidden).
void packed_attention(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->empty() || op.out.empty()) return;
  const bool projects = op.node.type() == "PackedAttention";
  const Dims* const v = op.shape(projects ? 1 : 2);
  if (v != nullptr && v->size() == 2) {
    op.out[0].dims.back() = projects ? quotient(v->back(), 3) : v->back();
  }
}

void flex_attention(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const v = op.shape(2);
  if (op.shape(0) == nullptr || op.out.empty() || v == nullptr || v->empty()) return;
  if (!op.out[0].dims.empty()) op.out[0].dims.back() = v->back();
}

void relative_position_bias(OpContext& op) {
  const auto q = op.integers(1), k = op.integers(2);
  op.set(0, op.elem(0),
         {1, dim(op.shape(0), 1, 2), q && q->size() == 1 ? valid_dim(q->front()) : kUnknownDim,
          k && k->size() == 1 ? valid_dim(k->front()) : kUnknownDim});
}

void gated_relative_position_bias(OpContext& op) {
  const std::int64_t length = dim(op.shape(0), 1, 3);
  op.set(0, op.elem(0),
         {dim(op.shape(0), 0, 3), valid_dim(op.int_attribute("num_heads", -1)), length, length});
}

// --- normalization, embeddings -------------------------------------------------------------------

void embed_layer_normalization(OpContext& op) {
  const Dims* const ids = op.shape(0);
  const int elem = op.node.type() == "EmbedLayerNormalization" ? op.elem(2) : op.elem(7);
  op.set(0, tensor_type(elem));
  if (ids == nullptr || ids->size() != 2) return;
  const Dims result = {(*ids)[0], (*ids)[1], dim(op.shape(2), 1, 2)};
  op.set(0, elem, result);
  op.set(1, TensorProto::INT32, {(*ids)[0]});
  op.set(2, elem, result);
}

void skip_layer_normalization(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(3, 0);
  if (op.shape(0) == nullptr || op.shape(0)->empty()) return;
  Dims statistics = *op.shape(0);
  statistics.back() = 1;
  for (const std::size_t i : {1U, 2U}) op.set(i, TensorProto::FLOAT, statistics);
}

void skip_group_norm(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
}

void bias_split_gelu(OpContext& op) {
  op.set_like(0, 0);
  if (!op.out.empty() && op.out[0].rank() > 0) {
    op.out[0].dims.back() = quotient(op.out[0].dims.back(), 2);
  }
}

void dropout(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
  if (op.out.size() > 1) op.out[1].elem = TensorProto::BOOL;
}

void bitmask_dropout(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const x = op.shape(0);
  const std::int64_t count = x != nullptr ? product(*x, 0, x->size()) : kUnknownDim;
  op.set(1, TensorProto::UINT32, {count == kUnknownDim ? count : count / 32 + (count % 32 != 0)});
}

void remove_padding(OpContext& op) {
  op.set(0, op.elem(0), {kUnknownDim, dim(op.shape(0), 2, 3)});
  const std::int64_t batch = dim(op.shape(0), 0, 3);
  op.set(1, TensorProto::INT32, {batch, dim(op.shape(0), 1, 3)});
  op.set(2, TensorProto::INT32, {sum(batch, 1)});
  op.set(3, TensorProto::INT32, {1});
}

void restore_padding(OpContext& op) {
  op.set(0, op.elem(0), {dim(op.shape(1), 0, 2), dim(op.shape(1), 1, 2), dim(op.shape(0), 1, 2)});
}

void torch_embedding(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const ids = op.shape(1);
  if (ids == nullptr) return;
  Dims result = *ids;
  result.push_back(dim(op.shape(0), 1, 2));
  op.set(0, op.elem(0), std::move(result));
}

// --- products ------------------------------------------------------------------------------------

void product_of(OpContext& op, std::size_t a, std::size_t b, int elem) {
  op.set(0, tensor_type(elem));
  const Dims* const left = op.shape(a);
  const Dims* const right = op.shape(b);
  Dims dims;
  if (left && right && matmul_shape(*left, *right, false, false, dims)) {
    op.set(0, elem, std::move(dims));
  }
}

void matmul(OpContext& op) {
  product_of(op, 0, 1, op.elem(0));
}
void matmul_integer_16(OpContext& op) {
  product_of(op, 0, 1, TensorProto::INT32);
}
void matmul_integer_to_float(OpContext& op) {
  product_of(op, 0, 1, op.elem(2));
}

// transBatchX: the dimensions of a batched operand are (rows, batch..., columns).
Dims unbatched(const Dims& dims, bool transposed) {
  Dims out = dims;
  if (transposed && out.size() > 2) std::rotate(out.begin(), out.begin() + 1, out.end() - 1);
  return out;
}

void fused_matmul(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  if (op.shape(0) == nullptr || op.shape(1) == nullptr) return;
  const Dims a = unbatched(*op.shape(0), op.int_attribute("transBatchA", 0) != 0);
  const Dims b = unbatched(*op.shape(1), op.int_attribute("transBatchB", 0) != 0);
  Dims dims;
  if (matmul_shape(a, b, op.int_attribute("transA", 0) != 0, op.int_attribute("transB", 0) != 0,
                   dims)) {
    op.set(0, op.elem(0), std::move(dims));
  }
}

void matmul_n_bits(OpContext& op) {
  op.set_like(0, 0);
  if (!op.out.empty() && op.out[0].rank() > 0) {
    op.out[0].dims.back() = valid_dim(op.int_attribute("N", -1));
  }
}

void fused_gemm(OpContext& op) {
  find_rule("", "Gemm")(op);
}

void dynamic_quantize_lstm(OpContext& op) {
  const std::int64_t length = dim(op.shape(0), 0, 3);
  const std::int64_t batch = dim(op.shape(0), 1, 3);
  const std::int64_t hidden = valid_dim(op.int_attribute("hidden_size", -1));
  const std::int64_t directions = op.text_attribute("direction") == "bidirectional" ? 2 : 1;
  op.set(0, op.elem(0), {length, directions, batch, hidden});
  for (const std::size_t i : {1U, 2U}) op.set(i, op.elem(0), {directions, batch, hidden});
}

// --- convolution and pooling ---------------------------------------------------------------------

void fused_conv(OpContext& op) {
  convolution_shape(op, 0, 1, op.elem(0), false);
}
void nhwc_conv(OpContext& op) {
  convolution_shape(op, 0, 1, op.elem(0), true);
}
void quantized_conv(OpContext& op) {
  convolution_shape(op, 0, 3, op.elem(7), op.int_attribute("channels_last", 0) != 0);
}
void max_pool_with_mask(OpContext& op) {
  pooling_shape(op, false);
}
void nhwc_max_pool(OpContext& op) {
  pooling_shape(op, true);
}
void quantized_pool(OpContext& op) {
  pooling_shape(op, op.int_attribute("channels_last", 0) != 0);
}
void quantized_global_pool(OpContext& op) {
  global_pooling_shape(op, op.int_attribute("channels_last", 0) != 0);
}

void crop_and_resize(OpContext& op) {
  const auto size = op.integers(3);
  const bool known = size && size->size() == 2;
  op.set(
      0, op.elem(0),
      {dim(op.shape(1), 0, 2), dim(op.shape(0), 1, 4), known ? valid_dim((*size)[0]) : kUnknownDim,
       known ? valid_dim((*size)[1]) : kUnknownDim});
}

// --- element by element --------------------------------------------------------------------------

void quantized_binary(OpContext& op) {
  broadcast_inputs(op, {0, 3}, 0);
}
void quantized_where(OpContext& op) {
  broadcast_inputs(op, {0, 1, 4}, 1);
}
void complex_multiply(OpContext& op) {
  broadcast_inputs(op, {0, 1}, 0);
}

// Inputs: scale and zero point of the output, then (tensor, scale, zero point) each.
void quantized_concat(OpContext& op) {
  op.set_like(0, 2);
  if (op.out.empty() || !op.out[0].has_shape) return;
  Dims& dims = op.out[0].dims;
  const auto axis = normal_axis(op.int_attribute("axis", 0), dims.size());
  if (!axis) return;
  for (std::size_t i = 5; i < op.input_count(); i += 3) {
    dims[*axis] = sum(dims[*axis], dim(op.shape(i), *axis, dims.size()));
  }
}

void expand_dims(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const auto axis = op.integers(1);
  if (op.shape(0) == nullptr || !axis || axis->size() != 1) return;
  Dims dims = *op.shape(0);
  const auto at = normal_axis(axis->front(), dims.size() + 1);
  if (!at) return;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*at), 1);
  op.set(0, op.elem(0), std::move(dims));
}

void real_fft(OpContext& op) {
  op.set_like(0, 0);
  if (op.out.empty() || op.out[0].rank() < 2) return;
  Dims& dims = op.out[0].dims;
  if (op.node.type() == "Rfft") {
    dims.back() = sum(quotient(dims.back(), 2), 1);
    dims.push_back(2);
  } else {
    dims.pop_back();
    if (dims.back() != kUnknownDim) dims.back() = std::max<std::int64_t>(0, 2 * dims.back() - 2);
  }
}

// --- generation ----------------------------------------------------------------------------------

std::int64_t number(const OpContext& op, std::size_t input) {
  const auto values = op.integers(input);
  return values && values->size() == 1 ? valid_dim(values->front()) : kUnknownDim;
}

void search(OpContext& op) {
  const std::int64_t batch = dim(op.shape(0), 0, 2);
  if (op.node.type() != "BeamSearch") {
    return op.set(0, TensorProto::INT32, {batch, number(op, 1)});
  }
  const std::int64_t returned = number(op, 4);
  op.set(0, TensorProto::INT32, {batch, returned, number(op, 1)});
  op.set(1, TensorProto::FLOAT, {batch, returned});
}

void like_second(OpContext& op) {
  op.set_like(0, 1);
}

std::unordered_map<std::string_view, Rule> make_table() {
  std::unordered_map<std::string_view, Rule> table = {
      {"Attention", attention},
      {"BeamSearch", search},
      {"BiasDropout", dropout},
      {"BiasSplitGelu", bias_split_gelu},
      {"BitmaskBiasDropout", bitmask_dropout},
      {"BitmaskDropout", bitmask_dropout},
      {"ComplexMul", complex_multiply},
      {"ComplexMulConj", complex_multiply},
      {"CropAndResize", crop_and_resize},
      {"DecoderMaskedMultiHeadAttention", masked_multi_head},
      {"DynamicQuantizeLSTM", dynamic_quantize_lstm},
      {"DynamicQuantizeMatMul", matmul},
      {"EmbedLayerNormalization", embed_layer_normalization},
      {"ExpandDims", expand_dims},
      {"FlexAttention", flex_attention},
      {"FusedConv", fused_conv},
      {"FusedGemm", fused_gemm},
      {"FusedMatMul", fused_matmul},
      {"FusedMatMulActivation", fused_matmul},
      {"GatedRelativePositionBias", gated_relative_position_bias},
      {"GemmFastGelu", matmul},
      {"GreedySearch", search},
      {"GroupQueryAttention", group_query_attention},
      {"Irfft", real_fft},
      {"MatMulBnb4", matmul_n_bits},
      {"MatMulInteger16", matmul_integer_16},
      {"MatMulIntegerToFloat", matmul_integer_to_float},
      {"MatMulNBits", matmul_n_bits},
      {"MaxpoolWithMask", max_pool_with_mask},
      {"MultiHeadAttention", multi_head},
      {"NGramRepeatBlock", like_second},
      {"NhwcConv", nhwc_conv},
      {"NhwcFusedConv", nhwc_conv},
      {"NhwcMaxPool", nhwc_max_pool},
      {"PackedAttention", packed_attention},
      {"PackedMultiHeadAttention", packed_attention},
      {"QAttention", quantized_attention},
      {"QEmbedLayerNormalization", embed_layer_normalization},
      {"QLinearAdd", quantized_binary},
      {"QLinearAveragePool", quantized_pool},
      {"QLinearConcat", quantized_concat},
      {"QLinearConv", quantized_conv},
      {"QLinearGlobalAveragePool", quantized_global_pool},
      {"QLinearMul", quantized_binary},
      {"QLinearWhere", quantized_where},
      {"RelativePositionBias", relative_position_bias},
      {"RemovePadding", remove_padding},
      {"RestorePadding", restore_padding},
      {"Rfft", real_fft},
      {"Sampling", search},
      {"SkipGroupNorm", skip_group_norm},
      {"SkipLayerNormalization", skip_layer_normalization},
      {"SkipSimplifiedLayerNormalization", skip_layer_normalization},
      {"SparseAttention", group_query_attention},
      {"TorchEmbedding", torch_embedding},
      {"TransposeMatMul", fused_matmul},
  };
  for (const char* const type :
       {"BiasAdd", "BiasGelu", "BiasSoftmax", "FastGelu", "Gelu", "GroupNorm", "Inverse",
        "LongformerAttention", "MoE", "PagedAttention", "QLinearLeakyRelu", "QLinearSigmoid",
        "QLinearSoftmax", "QMoE", "QuickGelu", "RotaryEmbedding", "DecoderAttention"}) {
    table.emplace(type, like_first);
  }
  return table;
}

}  // namespace

Rule find_contrib_rule(std::string_view type) {
  static const std::unordered_map<std::string_view, Rule> kRules = make_table();
  const auto found = kRules.find(type);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace berth::onnx_frontend
