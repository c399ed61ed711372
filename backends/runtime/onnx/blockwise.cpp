// Weights of 2, 4 or 8 bits, of which a block shares a scale and a zero point (com.microsoft).
#include <ATen/Functions.h>

#include "runtime/onnx/block_product.h"
#include "runtime/onnx/slices.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

// The numbers in the last dimension of u8, of `bits` each, the lowest bits first, in f32.
Tensor unpacked(const Tensor& packed, std::int64_t bits) {
  if (bits == 8) return packed.to(at::kFloat);
  std::vector<Tensor> parts;
  const std::int64_t mask = (std::int64_t{1} << bits) - 1;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    parts.push_back(at::bitwise_and(at::bitwise_right_shift(packed, at::Scalar(shift)), mask));
  }
  Ints shape = packed.sizes().vec();
  shape.back() *= 8 / bits;
  return at::stack(parts, -1).reshape(shape).to(at::kFloat);
}

double half_of_range(std::int64_t bits) {
  return static_cast<double>(std::int64_t{1} << (bits - 1));
}

// [rows, blocks * block].
Tensor dequantized(const BlockMatrix& matrix) {
  const std::int64_t rows = matrix.packed.size(0);
  const Tensor values = unpacked(matrix.packed, matrix.bits);
  const Tensor blocks = values.reshape({rows, values.size(1) / matrix.block, matrix.block});
  const std::int64_t count = blocks.size(1);
  Tensor zero = at::full({1, 1}, matrix.usual_zero, values.options());
  if (matrix.zeros.defined()) {
    zero = matrix.zeros.scalar_type() == at::kByte
               ? unpacked(matrix.zeros.reshape({rows, -1}), matrix.bits).narrow(1, 0, count)
               : matrix.zeros.reshape({rows, count});
  }
  return at::mul(at::sub(blocks, zero.unsqueeze(-1)), matrix.scales.reshape({rows, count, 1}))
      .reshape({rows, count * matrix.block});
}

std::int64_t stated_bits(const Instruction& op) {
  const std::int64_t bits = int_attribute(op, "bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) refuse_attribute("bits", std::to_string(bits));
  return bits;
}

std::int64_t stated_block(const Instruction& op, std::int64_t fallback) {
  const std::int64_t block = int_attribute(op, "block_size", fallback);
  if (block < 1) refuse_attribute("block_size", std::to_string(block));
  return block;
}

// Inputs: a, b (packed by rows: [out, blocks, bytes]), scales, zero points?, order of columns?, bias?.
Kernel make_matmul(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::int64_t bits = stated_bits(op), block = stated_block(op, 32);
  const std::int64_t columns = int_attribute(op, "K", 0);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    if (has(in, 4)) refuse_attribute("g_idx", "an input");
    const Tensor &x = tensor_at(in, 0), bias = optional_at(in, 5);
    const BlockMatrix matrix{
        tensor_at(in, 1).flatten(1), tensor_at(in, 2), optional_at(in, 3), bits, block,
        half_of_range(bits)};
    const Tensor y = block_product(x, matrix);
    if (y.defined()) {
      out[0].tensor = bias.defined() ? at::add(y, bias) : y;
      return;
    }
    out[0].tensor = linear(x, dequantized(matrix).narrow(1, 0, columns), bias);
  });
}

// Whether an input is of a type of 4 bits, whose tensors hold a number in each byte.
bool has_own_type(const KernelRequest& request, std::size_t input) {
  const auto& inputs = request.instruction.inputs;
  const Graph& graph = *request.program.graph;
  if (input >= inputs.size() || inputs[input] < 0 || inputs[input] >= graph.tensor_count()) {
    return false;
  }
  const DType dtype = graph.dtype(inputs[input]);
  return dtype == DType::u4 || dtype == DType::i4;
}

// Inputs: data (rows of packed numbers, or of a type of 4 bits), indices, scales, zero points?.
Kernel make_gather(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool is_packed = !has_own_type(request, 0);
  const std::int64_t stated = stated_bits(op), block = stated_block(op, 128);
  const std::int64_t bits = is_packed ? stated : 8;
  const double usual_zero = is_packed ? half_of_range(bits) : 0;
  for (const auto& [name, only] : {std::pair{"gather_axis", 0}, std::pair{"quantize_axis", 1}}) {
    const std::int64_t axis = int_attribute(op, name, only);
    if (axis != only) refuse_attribute(name, std::to_string(axis));
  }
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& indices = tensor_at(in, 1);
    const Tensor rows_wanted = from_front(indices.reshape({-1}), tensor_at(in, 0).size(0));
    const auto rows = [&](const Tensor& table) {
      return table.defined() ? at::index_select(table, 0, rows_wanted) : table;
    };
    const Tensor y = dequantized({rows(tensor_at(in, 0)), rows(tensor_at(in, 2)),
                                  rows(optional_at(in, 3)), bits, block, usual_zero});
    Ints shape = indices.sizes().vec();
    shape.push_back(y.size(1));
    out[0].tensor = y.reshape(shape);
  });
}

constexpr KernelRow kRows[] = {
    {"com.microsoft.GatherBlockQuantized", make_gather},
    {"com.microsoft.MatMulNBits", make_matmul},
};

}  // namespace

std::span<const KernelRow> blockwise_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
