// Matrix products and Einstein sums.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

void matmul(OpContext& op) {
  product_of(op, 0, 1, op.type_of(0));
}
void matmul_integer(OpContext& op) {
  product_of(op, 0, 1, kInt32);
}
void matmul_integer_to_float(OpContext& op) {
  product_of(op, 0, 1, op.type_of(2));
}
/// a, packed b, the shape of b.
void matmul_of_packed(OpContext& op) {
  const Dims* const a = op.shape(0);
  const auto b = op.integers(2);
  give(op, op.type_of(0),
       a != nullptr && b ? matrix_product(*a, {b->begin(), b->end()}, false, false) : std::nullopt);
}
/// a, scale, zero point, b, ..., zero point of the product.
void qlinear_matmul(OpContext& op) {
  product_of(op, 0, 3, op.type_of(7) != 0 ? op.type_of(7) : op.type_of(0));
}

void gemm_of(OpContext& op, std::size_t left, std::size_t right, int type) {
  op.give(0, tensor_type(type));
  const Dims* const a = op.shape(left);
  const Dims* const b = op.shape(right);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return;
  give(op, type,
       matrix_product(*a, *b, op.attributes.integer("transA", 0) != 0,
                      op.attributes.integer("transB", 0) != 0));
}
void gemm(OpContext& op) {
  gemm_of(op, 0, 1, op.type_of(0));
}
/// The type is an attribute; without it, or at its default, f32.
void gemm_float8(OpContext& op) {
  gemm_of(op, 0, 1, static_cast<int>(op.attributes.integer("dtype", kFloat)));
}
/// a, scale, zero point, b, scale, zero point, c, scale and zero point of the product; without the
/// last it is not quantized again.
void quantized_gemm(OpContext& op) {
  gemm_of(op, 0, 3, op.has(8) ? op.type_of(8) : kFloat);
}

// transBatchX: the dimensions of a batched operand are (rows, batch..., columns).
Dims unbatched(const Dims& dims, bool transposed) {
  Dims out = dims;
  if (transposed && out.size() > 2) std::rotate(out.begin(), out.begin() + 1, out.end() - 1);
  return out;
}

void fused_matmul(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  if (op.shape(0) == nullptr || op.shape(1) == nullptr) return;
  const Dims a = unbatched(*op.shape(0), op.attributes.integer("transBatchA", 0) != 0);
  const Dims b = unbatched(*op.shape(1), op.attributes.integer("transBatchB", 0) != 0);
  give(op, op.type_of(0),
       matrix_product(a, b, op.attributes.integer("transA", 0) != 0,
                      op.attributes.integer("transB", 0) != 0));
}

void matmul_n_bits(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() > 0) {
    op.out(0).dims.back() = valid_dim(op.attributes.integer("N", -1));
  }
}

/// A, then weights as [n, k].
void rows_of_weights(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() > 0) op.out(0).dims.back() = dim_of(op.shape(1), 0, 2);
}
/// A, skip, scale of the normalisation, weights..: the sum with the skip is the last output.
void packed_outputs(OpContext& op, const std::vector<std::string_view>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    op.set_like(i, 0);
    if (op.out(i).rank() > 0) {
      op.out(i).dims.back() = valid_dim(op.attributes.integer(columns[i], -1));
    }
  }
  op.set_like(columns.size(), 0);
}
void gate_and_up(OpContext& op) {
  packed_outputs(op, {"N"});
}
void query_key_value(OpContext& op) {
  packed_outputs(op, {"Nq", "Nkv", "Nkv"});
}
/// [m, k] and [n, k].
void distances(OpContext& op) {
  op.set(0, op.type_of(0), {dim_of(op.shape(0), 0, 2), dim_of(op.shape(1), 0, 2)});
}

void einsum(OpContext& op) {
  std::vector<const Dims*> operands;
  for (std::size_t i = 0; i < op.input_count(); ++i) operands.push_back(op.shape(i));
  give(op, op.type_of(0), einsum_dims(op.attributes.text("equation", {}), operands));
}

// --- Work ---------------------------------------------------------------------------------------

/// The summed dimension, from whichever side knows it.
double inner_dim(const OpView& op, const TensorView& a, const TensorView& b) {
  const bool trans_a = op.integer("transA", 0) != 0;
  const bool trans_b = op.integer("transB", 0) != 0;
  const auto rows = [&](const TensorView& operand, const char* batched) {
    if (operand.rank() < 2) return operand.dim(-1);
    // A batched operand may have its rows first: see unbatched().
    return operand.dim(operand.rank() > 2 && op.integer(batched, 0) != 0 ? 0 : -2);
  };
  const double from_a = trans_a ? rows(a, "transBatchA") : a.dim(-1);
  if (!std::isnan(from_a)) return from_a;
  return trans_b ? b.dim(-1) : rows(b, "transBatchB");
}

/// A matrix on the right takes all rows of the left at once.
Estimate matmul_of(const OpView& op, const WorkRule& rule, const TensorView& a, const TensorView& b,
                   bool bias) {
  const TensorView product = op.output(0);
  const double columns = b.rank() > 1 ? product.dim(-1) : 1;
  const double rows = b.rank() > 2 ? known_or(product.dim(-2), 1) : product.elements() / columns;
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(product.elements(), inner_dim(op, a, b), bias),
                          work::all_bytes(op)),
      rows, columns, product.elements() / (rows * columns));
}

Estimate matmul_work(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(1), /*bias=*/false);
}

Estimate gemm_work(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(1), op.input(2).present());
}

Estimate quantized_matmul_work(const OpView& op, const WorkRule& rule) {
  return matmul_of(op, rule, op.input(0), op.input(3), /*bias=*/false);
}

Estimate packed_matmul_work(const OpView& op, const WorkRule& rule) {
  const TensorView product = op.output(0);
  return work::with_products(
      work::make_estimate(op, rule,
                          matmul_flops(product.elements(), op.input(0).dim(-1), /*bias=*/false),
                          work::all_bytes(op)),
      product.elements(0, -1), product.dim(-1), 1);
}

/// Two products of the same rows, and the gate.
Estimate gate_and_up_work(const OpView& op, const WorkRule& rule) {
  const TensorView product = op.output(0);
  const double flops = 2 * matmul_flops(product.elements(), op.input(0).dim(-1), /*bias=*/true) +
                       (kTranscendentalFlops + 2) * product.elements();
  return work::with_products(work::make_estimate(op, rule, flops, work::all_bytes(op)),
                             product.elements(0, -1), product.dim(-1), 2);
}
Estimate query_key_value_work(const OpView& op, const WorkRule& rule) {
  double columns = 0;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    columns += op.output(i).dim(-1);
  }
  const double rows = op.input(0).elements(0, -1);
  return work::with_products(
      work::make_estimate(op, rule,
                          matmul_flops(rows * columns, op.input(0).dim(-1), /*bias=*/true),
                          work::all_bytes(op)),
      rows, columns, 1);
}
/// A difference, a square and a sum for each of k.
Estimate distance_work(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, 3 * op.output(0).elements() * op.input(0).dim(-1),
                             work::all_bytes(op));
}

/// Input [.., H], router, then tensors [experts, ...]: weights at `weights` and every `step` behind
/// (fc1, fc2, fc3), `packed` numbers in each of their elements. A token passes through `k` experts;
/// only experts that a token chooses are read, and each multiplies the tokens that chose it.
Estimate experts_work(const OpView& op, const WorkRule& rule, std::size_t step, double packed) {
  constexpr std::size_t kWeights = 2;
  double weights_per_expert = 0, expert_bytes = 0, matrices = 0;
  for (std::size_t i = kWeights; i < kWeights + 3 * step; i += step) {
    if (!op.input(i).present()) continue;
    weights_per_expert += op.input(i).elements(1, TensorView::kEnd);
    ++matrices;
  }
  for (std::size_t i = kWeights; i < op.input_count(); ++i) expert_bytes += op.input(i).bytes();
  const double tokens = op.input(0).elements(0, -1);
  const double experts = op.input(kWeights).dim(0);
  const double chosen = static_cast<double>(std::max<std::int64_t>(1, op.integer("k", 1)));
  const double distinct = expected_distinct(tokens, chosen, experts);
  return work::with_products(
      work::make_estimate(op, rule, 2 * tokens * chosen * weights_per_expert * packed,
                          work::all_bytes(op) - expert_bytes * known_or(1 - distinct / experts, 0)),
      std::max(1.0, tokens * chosen / distinct), op.input(kWeights).dim(1), distinct * matrices);
}
Estimate mixture_of_experts_work(const OpView& op, const WorkRule& rule) {
  return experts_work(op, rule, /*step=*/2, /*packed=*/1);
}
/// Between the weights and the bias there are scales; weights of few bits share bytes.
Estimate quantized_experts_work(const OpView& op, const WorkRule& rule) {
  const auto bits = static_cast<double>(op.integer("expert_weight_bits", 4));
  const double stored = 8 * work::element_bytes(op.input(2).dtype());
  return experts_work(op, rule, /*step=*/3, bits > 0 && bits < stored ? stored / bits : 1);
}

constexpr WorkRule product(EstimateFunction* estimate) {
  return {estimate, OpClass::matmul};
}

constexpr Row kOps[] = {
    {"Det", nullptr, kFactorisation},
    {"Einsum", einsum, product(work::einsum)},
    {"Gemm", gemm, product(gemm_work)},
    {"Inverse", nullptr, cubic(2)},
    {"MatMul", matmul, product(matmul_work)},
    {"MatMulInteger", matmul_integer, product(matmul_work)},
    {"Matmul", matmul, product(matmul_work)},
    {"QLinearMatMul", qlinear_matmul, product(quantized_matmul_work)},
    {"com.microsoft.CDist", distances, product(distance_work)},
    {"com.microsoft.DynamicQuantizeMatMul", matmul, product(matmul_work)},
    {"com.microsoft.FusedGemm", gemm, product(gemm_work)},
    {"com.microsoft.FusedMatMul", fused_matmul, product(matmul_work)},
    {"com.microsoft.FusedMatMulActivation", fused_matmul, product(matmul_work)},
    {"com.microsoft.GemmFastGelu", matmul, product(gemm_work)},
    {"com.microsoft.GemmFloat8", gemm_float8, product(gemm_work)},
    {"com.microsoft.Inverse", rule::like_first, cubic(2)},
    {"com.microsoft.MatMulBlockQuantizedFp4Weight", rows_of_weights, product(packed_matmul_work)},
    {"com.microsoft.MatMulBlockQuantizedFp8Weight", rows_of_weights, product(packed_matmul_work)},
    {"com.microsoft.MatMulBnb4", matmul_n_bits, product(packed_matmul_work)},
    {"com.microsoft.MatMulFpQ4", matmul_of_packed, product(packed_matmul_work)},
    {"com.microsoft.MatMulInteger16", matmul_integer, product(matmul_work)},
    {"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float, product(matmul_work)},
    {"com.microsoft.MatMulNBits", matmul_n_bits, product(packed_matmul_work)},
    {"com.microsoft.MatMulNBitsMlp", gate_and_up, product(gate_and_up_work)},
    {"com.microsoft.MatMulNBitsQkv", query_key_value, product(query_key_value_work)},
    {"com.microsoft.MoE", rule::like_first, product(mixture_of_experts_work)},
    {"com.microsoft.QGemm", quantized_gemm, product(quantized_matmul_work)},
    {"com.microsoft.QLinearMatMul", qlinear_matmul, product(quantized_matmul_work)},
    {"com.microsoft.QMoE", rule::like_first, product(quantized_experts_work)},
    {"com.microsoft.TransposeMatMul", fused_matmul, product(matmul_work)},
};

}  // namespace

std::span<const Row> product_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
