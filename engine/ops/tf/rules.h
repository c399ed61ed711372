// Shape rules that several families of TensorFlow's ops use, and what they share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/sdk/ops/element_types.h"
#include "ops/algebra.h"
#include "ops/folding.h"
#include "ops/tables.h"

namespace berth::ops::tf {

using Number = std::int64_t;

namespace rule {

void none(OpContext& op);              ///< no outputs, or nothing known of them
void scalars(OpContext& op);           ///< every output is one
void like_first(OpContext& op);        ///< every output has the shape of the first input
void like_second(OpContext& op);       ///< ... of the second input
void identity(OpContext& op);          ///< outputs are the inputs, one by one
void broadcast_all(OpContext& op);     ///< all inputs broadcast together
void vectors(OpContext& op);           ///< every output has one dimension of unknown size
void shape_from_first(OpContext& op);  ///< the first input's content is the shape
void shape_from_second(OpContext& op);
void shape_attribute(OpContext& op);  ///< the attribute "shape" of the first output
void listed_shapes(OpContext& op);    ///< one in the attribute "output_shapes" for each output

}  // namespace rule

/// -1 if it is out of range.
[[nodiscard]] int axis_of(std::int64_t axis, int rank) noexcept;
/// A scalar as a dimension.
[[nodiscard]] Number size_or_unknown(const Value& scalar) noexcept;
/// A list of sizes among the attributes, each limited to 2^31 either way so that products of two
/// cannot overflow.
[[nodiscard]] std::vector<Number> small_integers(const Attributes& attributes,
                                                 std::string_view key);

}  // namespace berth::ops::tf
