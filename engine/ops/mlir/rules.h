// Parts that the tables of MLIR's ops share.
//
// Beside the tensors a rule reads what the importer found, each a list of whole numbers:
//   contracting, batching   dimensions of input 0 that a product sums over, and that it shares with
//                 input 1 and the result (stablehlo.dot_general)
//   ragged_inner  1: of a product in groups, which part the dimensions that it sums over (chlo.ragged_dot)
//   inner         how many products each element of the result sums up, as an op's maps say
//   product       of a product or a convolution in linalg's general form: groups, columns of each, channels
//                 that an element sums up, and the window over which it does
//   output_features, input_features   dimensions of input 1 that are no taps of a convolution's output
//   groups, batch_groups   of a convolution: of its channels, and of its batch
//   output_batch  the dimension of a convolution's result that is its batch
//   lhs_dilation  how far apart a convolution spreads its input, with zeros between (a gradient's)
//   transposed    whether it is the gradient of its input, in ops that have both forms
//   gradients     how many of the image's and the weights' a convolution's gradient computes
//   window        sides of a pool's window
//   attention     as the maps of an attention say: its queries in all heads, keys of each, their width, and that of
//                 the values
//   kernel_size   side of a filter that Winograd's transforms take apart
//   dimension     the axis along which the largest are selected
//   fft_length    points of a transform, along each of the last dimensions
//   copies        1: of an update, which first makes a copy of the tensor that it changes
//   starts_empty  1: of an update of a buffer with nothing in it, whose memory is the result's
//   points, body  of an op with a body that runs per element (linalg.generic, stablehlo.reduce, map):
//                 how often it runs, and how many ops it has
//   picked        pairs: an input of which such a body reads single elements, and how many each time
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/tables.h"

namespace berth::ops::mlir {

/// The first number that the importer gave under this name; NaN where it gave none.
[[nodiscard]] double number(const OpView& op, std::string_view name);

/// The tensor that the op writes: its first result; on buffers it has none, and writes its last operand.
[[nodiscard]] TensorView result_of(const OpView& op);
/// Bytes read and written. A buffer that is written is read too, as the tensor that an op starts from is. Of an input
/// that is "picked" from, only what the body picks is read.
[[nodiscard]] double moved_bytes(const OpView& op);

/// Bytes of an update: it is read with its indices, and `written` over a part of the destinations, of which `first`
/// is one. The rest stays where it is, unless they are needed as they were: then copies are made first.
[[nodiscard]] double updated_bytes(const OpView& op, std::size_t first, std::size_t destinations,
                                   double written);

// --- Counted by elements of what the op writes: rule.flops for each ------------------------------
EstimateFunction per_result;
EstimateFunction filled;  ///< it is only written

[[nodiscard]] constexpr WorkRule elementwise(double flops) {
  return {per_result, OpClass::elementwise, flops};
}
[[nodiscard]] constexpr WorkRule copies(double flops = 0) {
  return {per_result, OpClass::data_movement, flops};
}
[[nodiscard]] constexpr WorkRule writes() {
  return {filled, OpClass::data_movement};
}

/// Ops with a body: what it does at every point, and rule.flops; without one, an operation for each element.
EstimateFunction with_body;

// --- Products -----------------------------------------------------------------------------------

/// The product with input `right`, which sums over `inner`; `batches` of them, a matrix on the right each.
[[nodiscard]] Estimate product(const OpView& op, const WorkRule& rule, double inner,
                               std::size_t right, double batches);
EstimateFunction matmul;  ///< linalg.matmul, tosa.matmul, torch.aten.mm: (.., m, k) with (.., k, n)
EstimateFunction matmul_transposed;  ///< (.., k, m) with (.., k, n)
EstimateFunction
    batched_vectors;           ///< a matrix and a vector each: (b, m, k) with (b, k), or (b, k, n)
EstimateFunction dot_general;  ///< which dimensions meet is in the attributes
EstimateFunction ragged_dot;   ///< groups of rows meet a matrix each; input 2 has the groups' sizes
EstimateFunction einsum;       ///< attribute "equation"
EstimateFunction contraction;  ///< attribute "inner"
EstimateFunction tiled_matmul;    ///< (.., m, k, m0, k0) with (.., n, k, n0, k0)
EstimateFunction reduced_matmul;  ///< sums over batches too
EstimateFunction fourier;         ///< attribute "fft_length"; without it, along the last dimension
EstimateFunction image_fourier;   ///< over the last two dimensions; complex numbers are two tensors

inline constexpr WorkRule kMatmul{matmul, OpClass::matmul};

/// (.., queries, width), (.., keys, width), (.., keys, width of values), or as the attribute "attention" says; the
/// scores are never there as a whole.
EstimateFunction fused_attention;

// --- Windows. Letters are the weights' dimensions: f features, c channels, w of the window, g groups ----
EstimateFunction features_first;  ///< (f, c, w..); groups are what the image has more channels
EstimateFunction channels_last;   ///< (f, w.., c)
EstimateFunction features_last;   ///< (w.., c, f)
EstimateFunction window_alone;    ///< (w..)
EstimateFunction groups_first;    ///< (g, f, c, w..)
EstimateFunction groups_second;   ///< (f, g, c, w..)
EstimateFunction groups_channels_last;  ///< (g, f, w.., c)
EstimateFunction by_attributes;         ///< the attributes say which dimension is which
EstimateFunction transposed;            ///< (c, f / groups, w..)
EstimateFunction maybe_transposed;  ///< features_first, or transposed where the attribute says so
EstimateFunction backward;  ///< gradient, image, weights (f, c, w..), or (c, f / groups, w..)
EstimateFunction transposed_last;      ///< (f, w.., c)
EstimateFunction depthwise;            ///< (w.., c) or (w.., c, multiplier)
EstimateFunction depthwise_first;      ///< (c, w..)
EstimateFunction general;              ///< attribute "product"; without it, what the body does
EstimateFunction pooled;               ///< input 1 has the window's shape
EstimateFunction pooled_by_attribute;  ///< attribute "window"; without it, each input is read once

[[nodiscard]] constexpr WorkRule convolution(EstimateFunction* estimate) {
  return {estimate, OpClass::convolution};
}
inline constexpr WorkRule kDepthwise{depthwise, OpClass::depthwise_convolution};
inline constexpr WorkRule kDepthwiseFirst{depthwise_first, OpClass::depthwise_convolution};

// --- Tables ---------------------------------------------------------------------------------------

/// Types that share a rule.
struct Family {
  WorkRule work;
  std::string_view types;  ///< separated by blanks
};
/// A row for each of their types, with `front` before its name.
void add_rows(std::vector<NamedWork>& rows, std::span<const Family> families,
              std::string_view front = {});

[[nodiscard]] std::vector<NamedWork> iree_ops();
[[nodiscard]] std::vector<NamedWork> torch_ops();
/// The type as torch_ops() has it; empty if it is none of torch-mlir's.
[[nodiscard]] std::string torch_type(std::string_view type);

}  // namespace berth::ops::mlir
