// Products of matrices.
#include <ATen/Functions.h>

#include "runtime/onnx/activations.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

// ATen has integer products on the CPU alone: elsewhere they are computed in f64, exact up to 2^53.
Tensor matrix_product(const Tensor& a, const Tensor& b) {
  if (at::isFloatingType(a.scalar_type()) || a.is_cpu()) return product(a, b);
  return at::matmul(a.to(at::kDouble), b.to(at::kDouble)).to(a.scalar_type());
}

Kernel make_gemm(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool trans_a = int_attribute(op, "transA", 0) != 0;
  const bool trans_b = int_attribute(op, "transB", 0) != 0;
  const double alpha = float_attribute(op, "alpha", 1);
  const double beta = float_attribute(op, "beta", 1);
  std::optional<Activation> activation;
  if (const std::string name = text_attribute(op, "activation", ""); !name.empty()) {
    activation = activation_named(name);
    activation->alpha = float_attribute(op, "activation_alpha", activation->alpha);
    activation->beta = float_attribute(op, "activation_beta", activation->beta);
  }
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor a = trans_a ? tensor_at(in, 0).t() : tensor_at(in, 0);
    const Tensor b = trans_b ? tensor_at(in, 1).t() : tensor_at(in, 1);
    const Tensor c = optional_at(in, 2);
    Tensor y;
    if (at::isFloatingType(a.scalar_type())) {
      // A single row is no matrix to BLAS (products.h).
      const bool is_sum = c.defined() && (a.size(0) != 1 || !a.is_cpu());
      y = is_sum ? at::addmm(c, a, b, beta, alpha) : product(a, b);
      if (!is_sum && alpha != 1) y = at::mul(y, alpha);
      if (!is_sum && c.defined()) y = at::add(y, c, beta);
    } else {
      y = at::mul(matrix_product(a, b), static_cast<std::int64_t>(alpha));
      if (c.defined()) y = at::add(y, c, static_cast<std::int64_t>(beta));
    }
    out[0].tensor = activation ? (*activation)(y) : y;
  });
}

Kernel make_fused_matmul(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool trans_a = int_attribute(op, "transA", 0) != 0;
  const bool trans_b = int_attribute(op, "transB", 0) != 0;
  const bool batch_a = int_attribute(op, "transBatchA", 0) != 0;
  const bool batch_b = int_attribute(op, "transBatchB", 0) != 0;
  const double alpha = float_attribute(op, "alpha", 1);
  // Matrices whose rows come before their batch.
  const auto batch_first = [](const Tensor& x, bool is_last) {
    return is_last && x.dim() > 2 ? at::movedim(x, 0, -2) : x;
  };
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor a = batch_first(tensor_at(in, 0), batch_a);
    const Tensor b = batch_first(tensor_at(in, 1), batch_b);
    const Tensor y = product(trans_a && a.dim() > 1 ? a.transpose(-1, -2) : a,
                             trans_b && b.dim() > 1 ? b.transpose(-1, -2) : b);
    out[0].tensor = alpha == 1 ? y : at::mul(y, alpha);
  });
}

Kernel make_einsum(const KernelRequest& request) {
  const std::string equation = text_attribute(request.instruction, "equation", "");
  return widened([equation](KernelContext&, Inputs in, Outputs out) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(tensor_at(in, i));
    out[0].tensor = at::einsum(equation, operands);
  });
}

Kernel make_distances(const KernelRequest& request) {
  const std::string metric = text_attribute(request.instruction, "metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") refuse_attribute("metric", metric);
  return [is_square = metric == "sqeuclidean"](KernelContext&, Inputs in, Outputs out) {
    const Tensor distances = at::cdist(tensor_at(in, 0), tensor_at(in, 1));
    out[0].tensor = is_square ? at::square(distances) : distances;
  };
}

constexpr KernelRow kRows[] = {
    {"Det", make_unary<[](const Tensor& x) { return at::det(x); }>},
    {"Einsum", make_einsum},
    {"Gemm", make_gemm},
    {"MatMul", make_binary<matrix_product>},
    {"com.microsoft.CDist", make_distances},
    {"com.microsoft.FusedGemm", make_gemm},
    {"com.microsoft.FusedMatMul", make_fused_matmul},
    {"com.microsoft.Inverse", make_unary<[](const Tensor& x) { return at::inverse(x); }>},
    {"com.microsoft.TransposeMatMul", make_fused_matmul},
};

}  // namespace

std::span<const KernelRow> matmul_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
