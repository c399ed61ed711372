// Products of matrices, and adding biases.
#include "runtime/products.h"

#include <ATen/Functions.h>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

Kernel make_matmul(const KernelRequest& request) {
  const bool left = int_attribute(request.instruction, "transpose_a", 0) != 0;
  const bool right = int_attribute(request.instruction, "transpose_b", 0) != 0;
  return [left, right](KernelContext&, Inputs in, Outputs out) {
    const Tensor &a = tensor_at(in, 0), &b = tensor_at(in, 1);
    out[0].tensor = product(left ? a.t() : a, right ? b.t() : b);
  };
}

Kernel make_batch_matmul(const KernelRequest& request) {
  const bool left = int_attribute(request.instruction, "adj_x", 0) != 0;
  const bool right = int_attribute(request.instruction, "adj_y", 0) != 0;
  return [left, right](KernelContext&, Inputs in, Outputs out) {
    const Tensor &a = tensor_at(in, 0), &b = tensor_at(in, 1);
    out[0].tensor = product(left ? a.mH() : a, right ? b.mH() : b);
  };
}

Kernel make_einsum(const KernelRequest& request) {
  return [equation = text_attribute(request.instruction, "equation", "")](KernelContext&, Inputs in,
                                                                          Outputs out) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(tensor_at(in, i));
    out[0].tensor = at::einsum(equation, operands);
  };
}

bool channels_first(const Instruction& op) {
  return text_attribute(op, "data_format", "NHWC").substr(0, 2) == "NC";
}

/// (value, bias [channels]): the channels are the last dimension, or the second.
Kernel make_bias_add(const KernelRequest& request) {
  return [first = channels_first(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &value = tensor_at(in, 0), &bias = tensor_at(in, 1);
    Ints shape(static_cast<std::size_t>(value.dim()), 1);
    if (first && shape.size() > 1) {
      shape[1] = bias.size(0);
      out[0].tensor = value + bias.view(shape);
    } else {
      out[0].tensor = value + bias;
    }
  };
}

Kernel make_bias_gradient(const KernelRequest& request) {
  return [first = channels_first(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& gradient = tensor_at(in, 0);
    const std::int64_t channels = first && gradient.dim() > 1 ? 1 : gradient.dim() - 1;
    Ints others;
    for (std::int64_t i = 0; i < gradient.dim(); ++i) {
      if (i != channels) others.push_back(i);
    }
    out[0].tensor = others.empty() ? gradient : gradient.sum(others);
  };
}

/// (indices, values and shape of a sparse matrix, dense matrix)
Kernel make_sparse_product(const KernelRequest& request) {
  const bool adjoint_a = int_attribute(request.instruction, "adjoint_a", 0) != 0;
  const bool adjoint_b = int_attribute(request.instruction, "adjoint_b", 0) != 0;
  return [=, sizes = IntsInput(request, 2)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor &indices = tensor_at(in, 0), &values = tensor_at(in, 1), &given = tensor_at(in, 3);
    const Ints shape = sizes.get(in);
    if (shape.size() != 2 || indices.dim() != 2 || indices.size(1) != 2 || given.dim() != 2) {
      throw Error(ErrorCode::invalid_argument, "an operand is no matrix");
    }
    const Tensor dense = adjoint_b ? given.mH() : given;
    if (dense.size(0) != shape[adjoint_a ? 0 : 1]) {
      throw Error(
          ErrorCode::invalid_argument,
          cat(shape[adjoint_a ? 0 : 1], " columns are multiplied by ", dense.size(0), " rows"));
    }
    const Tensor places = on_device(context, indices).to(at::kLong);
    const Tensor rows = at::index_select(dense, 0, places.select(1, adjoint_a ? 0 : 1));
    const Tensor factors = (adjoint_a ? at::conj(values) : values).unsqueeze(1);
    out[0].tensor = at::zeros({shape[adjoint_a ? 1 : 0], dense.size(1)}, rows.options())
                        .index_add_(0, places.select(1, adjoint_a ? 1 : 0), at::mul(factors, rows));
  };
}

constexpr KernelRow kRows[] = {
    {"BatchMatMul", make_batch_matmul},
    {"BatchMatMulV2", make_batch_matmul},
    {"BatchMatMulV3", make_batch_matmul},
    {"BiasAdd", make_bias_add},
    {"BiasAddGrad", make_bias_gradient},
    {"Einsum", make_einsum},
    {"MatMul", make_matmul},
    {"SparseTensorDenseMatMul", make_sparse_product},
};

}  // namespace

std::span<const KernelRow> product_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
