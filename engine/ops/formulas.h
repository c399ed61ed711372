// Counts of floating-point operations that do not depend on a dialect. A fused multiply-add counts
// as two. NaN as an argument gives NaN (see op_view.h).
#pragma once

#include <string_view>
#include <vector>

namespace berth::ops {

/// The cost of one exp, log, tanh or the like: range reduction and a polynomial, rounded. A vector
/// unit without a special instruction spends this much. On every preset such ops stay
/// bandwidth-bound.
inline constexpr double kTranscendentalFlops = 10;

/// `fallback` where `value` is not known.
[[nodiscard]] double known_or(double value, double fallback);

/// `output_elements` includes the batch; `taps` = weights per output element: input channels of a
/// group times the kernel's size.
[[nodiscard]] double convolution_flops(double output_elements, double taps, bool bias);

/// `output_elements` includes all batch dimensions.
[[nodiscard]] double matmul_flops(double output_elements, double inner, bool bias);

/// softmax(Q K^T) V over whole score matrices. A causal mask saves nothing, as in kernels that
/// compute masked scores too.
struct AttentionShape {
  double batch;
  double heads;
  double queries;
  double keys;     ///< past ones included
  double qk_size;  ///< of a head
  double v_size;   ///< of a head
};
[[nodiscard]] double attention_flops(const AttentionShape& shape);
/// Elements of the score matrices.
[[nodiscard]] double attention_scores(const AttentionShape& shape);

/// All time steps of all directions: `gates` matrix products with input and state (4 LSTM, 3 GRU,
/// 1 plain), a bias each, and the activations.
struct RecurrentShape {
  double steps;
  double batch;
  double input;
  double hidden;
  double directions;
  double gates;
};
[[nodiscard]] double recurrent_flops(const RecurrentShape& shape);

/// Sorting or selecting the first `kept` of `elements`, compared once per level of a heap.
[[nodiscard]] double selection_flops(double elements, double kept);

/// Fourier transforms of `elements` complex numbers in all, `points` each.
[[nodiscard]] double fourier_flops(double elements, double points);

/// An Einstein sum "ab,bc->ac"; `dims[i]` are the dimensions of operand i. Operands are
/// taken together one after the other, from the left, with two operations per point of each product; a single
/// one counts one per point. NaN if the equation does not fit the operands.
struct EinsumWork {
  double flops;
  bool contracts;  ///< it sums over an index that two operands share: a matrix product
  /// The products of two operands, with rows (indices of the first operand alone) and columns (of the
  /// second). 0 = they are not two.
  double products = 0;
  double rows = 0;
  double columns = 0;
};
[[nodiscard]] EinsumWork einsum_work(std::string_view equation,
                                     const std::vector<std::vector<double>>& dims);

}  // namespace berth::ops
