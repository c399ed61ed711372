// Shape rules that several families of ONNX's ops use, and what they share.
//
// A rule gives the outputs their types too: ONNX states neither in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/sdk/ops/element_types.h"
#include "ops/algebra.h"
#include "ops/folding.h"
#include "ops/tables.h"

namespace berth::ops::onnx {

using Ints = std::optional<std::vector<std::int64_t>>;

[[nodiscard]] std::span<const Row> attention_ops();
[[nodiscard]] std::span<const Row> elementwise_ops();
[[nodiscard]] std::span<const Row> generation_ops();
[[nodiscard]] std::span<const Row> indexing_ops();
[[nodiscard]] std::span<const Row> layout_ops();
[[nodiscard]] std::span<const Row> machine_learning_ops();
[[nodiscard]] std::span<const Row> normalization_ops();
[[nodiscard]] std::span<const Row> product_ops();
[[nodiscard]] std::span<const Row> quantized_ops();
[[nodiscard]] std::span<const Row> random_ops();
[[nodiscard]] std::span<const Row> recurrent_ops();
[[nodiscard]] std::span<const Row> reduction_ops();
[[nodiscard]] std::span<const Row> shape_ops();
[[nodiscard]] std::span<const Row> training_ops();
[[nodiscard]] std::span<const Row> window_ops();

namespace rule {

void like_first(OpContext& op);   ///< output 0 is of the type and shape of input 0
void like_second(OpContext& op);  ///< ... of input 1
void like_each(OpContext& op);    ///< every output like its input
void to_bool(OpContext& op);      ///< like_first, of truth values
void broadcast_all(OpContext& op);
void reduce(OpContext& op);       ///< attribute or input 1: axes; keepdims
void concatenate(OpContext& op);  ///< attribute: axis
void dropout(OpContext& op);      ///< the mask is an output

}  // namespace rule

/// The first `count` dimensions.
[[nodiscard]] std::vector<std::int64_t> first_axes(std::size_t count);
/// Since some opset an attribute became input `i`; whichever is there counts.
[[nodiscard]] Ints attribute_or_input(const OpContext& op, std::string_view name, std::size_t i);
/// The shape of input 0 and the dimension that attribute axis names; without the attribute, as a
/// vector. Empty where the shape is not known or the axis is none of it.
struct AlongAxis {
  Dims dims;
  std::size_t axis;
};
[[nodiscard]] std::optional<AlongAxis> along_axis_or_flat(const OpContext& op);
/// Which dimensions of input 0 a reduction takes together; empty where they are not known.
[[nodiscard]] std::optional<std::vector<bool>> reduced_axes(const OpContext& op);
/// All inputs named broadcast against each other; the element type of input `from`.
void broadcast_inputs(OpContext& op, const std::vector<std::size_t>& inputs, std::size_t from);
/// Output 0 is of type `type`, and of the shape that `dims` has, if any.
void give(OpContext& op, int type, std::optional<Dims> dims);
/// Output 0 is the product of inputs `a` and `b`.
void product_of(OpContext& op, std::size_t a, std::size_t b, int type);
/// The shape of output 0 is the content of input `from`.
void shaped_by(OpContext& op, std::size_t from, int type);
/// Dimension `i` of a shape of `rank` dimensions; kUnknownDim of any other.
[[nodiscard]] std::int64_t dim_of(const Dims* dims, std::size_t i, std::size_t rank);
/// The one element of an input, as a dimension.
[[nodiscard]] std::int64_t number(const OpContext& op, std::size_t input);

}  // namespace berth::ops::onnx
