// Work rules: what an op of a type has to do, counted from the tensors and attributes of a graph.
//
// A table names a rule for each type: one of those below, or one of its own family. What counts as
// one operation is said in formulas.h.
#pragma once

#include <string_view>

#include "berth/graph.h"
#include "ops/op_view.h"

namespace berth::ops {

/// The result of a rule. NaN in `work.flops` or `work.bytes` = the shapes are not known.
struct Estimate {
  Work work;
  /// Bytes that minimal filtering reads and writes for the transforms of the gradient of a 3 x 3
  /// filter, which are kernels of their own. 0 = the op is no such gradient.
  double transformed_bytes = 0;
};

struct WorkRule {
  Estimate (*estimate)(const OpView& op, const WorkRule& rule) = nullptr;  ///< null: there is none
  OpClass op_class = OpClass::other;
  /// Per element, for rules of that kind; otherwise as the rule says.
  double flops = 0;
  /// Why there is nothing to do; without `estimate`, why the work is not counted here.
  std::string_view free_because = {};
  /// It writes into what it reads, unless the attribute "copies" or "starts_empty" is 1.
  bool in_place = false;
};

using EstimateFunction = Estimate(const OpView& op, const WorkRule& rule);

namespace work {

// --- Results of rules --------------------------------------------------------------------------
[[nodiscard]] Estimate make_estimate(const OpView& op, const WorkRule& rule, double flops,
                                     double bytes, double workspace_bytes = 0);
/// The same, made of `count` matrix products of `rows` and `columns` each (Work::products). Their
/// inner dimension is what the FLOPs leave. Nothing is said where any of it is not known.
[[nodiscard]] Estimate with_products(Estimate estimate, double rows, double columns, double count);

/// The same, made of `steps` that follow one another in each of `layers`: each is a launch, and reads
/// the recurrent weights again. A step's state is too small to hide that.
[[nodiscard]] Estimate with_steps(Estimate estimate, double steps, double layers,
                                  double recurrent_bytes);

/// A convolution, or a gradient of one, as matrix products.
struct ConvolutionShape {
  double window;    ///< elements of the window in space
  double channels;  ///< of the input, in a group
  double groups;
  double rows;     ///< of the products: points of the result, or taps for the gradient of a filter
  double columns;  ///< of the products, in a group
  /// Whether the window is 3 x 3 and moves by single points, and the result is an image. In f32
  /// libraries then take minimal filtering F(2 x 2, 3 x 3), with 2.25 times fewer multiplications
  /// (Lavin and Gray, CVPR 2016).
  bool minimal;
  /// Elements of the image and of the result's gradient, for the gradient of such a filter. Minimal
  /// filtering F(3 x 3, 2 x 2) takes as many fewer multiplications there, and transforms both to
  /// four times their size in kernels of their own. 0: it is none.
  double transformed = 0;
};
[[nodiscard]] Estimate with_convolution(Estimate estimate, const ConvolutionShape& shape);

/// Whether the output's type is another than the input's, as far as that is known.
[[nodiscard]] bool converts(const OpView& op);
/// Whether the output has another number of elements than the first input, as far as that is known.
[[nodiscard]] bool reduces(const OpView& op);
/// Whether a Dropout is of a training step: by the attribute "training_mode" of who knows, else where it has the
/// input of that name.
[[nodiscard]] bool drops(const OpView& op);
/// Read and written.
[[nodiscard]] double all_bytes(const OpView& op);
/// Bytes of `rows` of the tensor's `all`; of all, where either is not known.
[[nodiscard]] double bytes_of_rows(const TensorView& tensor, double rows, double all);
/// Bytes of one element; a type that is not known counts as f32.
[[nodiscard]] double element_bytes(DType dtype) noexcept;

// --- Counted by elements: rule.flops for each -----------------------------------------------------------
EstimateFunction nothing;
EstimateFunction per_output;   ///< of the first output; all inputs read, all outputs written
EstimateFunction per_input;    ///< of the first input (reductions)
EstimateFunction per_operand;  ///< of the first output, for every input after the first
EstimateFunction write_only;   ///< of the first output; inputs are only sizes
EstimateFunction converted;    ///< per_output, or nothing where the input has the output's type
EstimateFunction reduced;      ///< per_input, or nothing where all elements are kept
EstimateFunction dropped;      ///< per_output, or nothing in inference
/// Input `update` written into a copy of the first, or into that itself, where the result takes its place.
[[nodiscard]] Estimate scattered(const OpView& op, const WorkRule& rule, std::size_t update);
EstimateFunction gathered;  ///< reads as many bytes of the data as it writes, and the indices

// --- Others -------------------------------------------------------------------------------------
EstimateFunction einsum;  ///< attribute "equation"
/// The same of `count` inputs from `first` on.
[[nodiscard]] Estimate einsum_of(const OpView& op, const WorkRule& rule, std::size_t first,
                                 std::size_t count);
/// Each line of the first input is a distribution's logits, which are summed up as softmax does; rule.flops for each
/// number that is drawn.
EstimateFunction drawn;
EstimateFunction cubic;  ///< rule.flops n^3 for each matrix of n columns of the first input
/// A triangle [.., n, n] and right sides [.., n, k]: n multiply-adds for two of their elements.
EstimateFunction triangular;
/// Boxes, then scores: the scores are sorted, and each candidate is compared with those kept so far, of which the
/// graph does not know how many there will be; rule.flops for each score.
EstimateFunction suppressed;

}  // namespace work

// --- How tables write them ----------------------------------------------------------------------

/// An op that does nothing that takes time.
[[nodiscard]] constexpr WorkRule free_op(std::string_view because) {
  return {work::nothing, OpClass::none, 0, because};
}
inline constexpr WorkRule kView = free_op("its output is its input's memory");
inline constexpr WorkRule kShapes = free_op("it computes shapes, on the host");
inline constexpr WorkRule kSource = free_op("its output is there before the step");
inline constexpr WorkRule kHandle = free_op("it passes a handle, not what that stands for");
inline constexpr WorkRule kControl = free_op("it steers the step and computes nothing");
inline constexpr WorkRule kHost = free_op("it feeds or watches the step from outside");

/// `flops` for each element of the output.
[[nodiscard]] constexpr WorkRule elementwise(double flops) {
  return {work::per_output, OpClass::elementwise, flops};
}
[[nodiscard]] constexpr WorkRule normalization(double flops) {
  return {work::per_output, OpClass::normalization, flops};
}
/// `flops` for each element of the input.
[[nodiscard]] constexpr WorkRule reduction(double flops) {
  return {work::per_input, OpClass::reduction, flops};
}
inline constexpr WorkRule kConversion = {work::converted, OpClass::elementwise, 1};
/// Elements moved from all inputs to all outputs, `flops` for each.
[[nodiscard]] constexpr WorkRule copies(double flops = 0) {
  return {work::per_output, OpClass::data_movement, flops};
}
/// Elements picked from the first input, `flops` for each.
[[nodiscard]] constexpr WorkRule gathers(double flops = 0) {
  return {work::gathered, OpClass::data_movement, flops};
}
/// Elements made from nothing but sizes.
[[nodiscard]] constexpr WorkRule writes() {
  return {work::write_only, OpClass::data_movement};
}
[[nodiscard]] constexpr WorkRule generates(double flops) {
  return {work::write_only, OpClass::elementwise, flops};
}
/// Elements of input `Update` moved into the first, `flops` for each that is written.
template <std::size_t Update>
[[nodiscard]] constexpr WorkRule scatters(double flops = 0) {
  return {[](const OpView& op, const WorkRule& rule) { return work::scattered(op, rule, Update); },
          OpClass::data_movement, flops};
}
/// Numbers drawn from logits, `flops` for each.
[[nodiscard]] constexpr WorkRule draws(double flops) {
  return {work::drawn, OpClass::reduction, flops};
}
/// `flops` n^3 for each matrix. A factorisation takes 2/3, Cholesky's 1/3, an inverse 2 (LAPACK
/// Working Note 41).
[[nodiscard]] constexpr WorkRule cubic(double flops) {
  return {work::cubic, OpClass::matmul, flops};
}
inline constexpr WorkRule kFactorisation = cubic(2.0 / 3);
inline constexpr WorkRule kTriangular{work::triangular, OpClass::matmul};
/// The best of overlapping boxes; the overlap of two takes 16 operations.
inline constexpr WorkRule kSuppression{work::suppressed, OpClass::reduction, 16};

}  // namespace berth::ops
