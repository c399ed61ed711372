// Attributes of dialects that may not be loaded: lists of numbers, and the dimensions that StableHLO's attributes name,
// which are read from their text.
#pragma once

#include <cstdint>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace berth_mlir {

using Numbers = llvm::SmallVector<std::int64_t, 4>;

/// A list of whole numbers in any of the forms that dialects have had for it; one number is a list too.
[[nodiscard]] Numbers numbers_in(mlir::Attribute attribute);

/// The first of them under this name; -1 where there is none.
[[nodiscard]] std::int64_t number_in(mlir::Operation& op, llvm::StringRef key);

/// The dimensions of the operands of dot_general and ragged_dot, and those that groups part; none where the op does not
/// say them.
struct ProductDims {
  Numbers left_batching, right_batching, left_contracting, right_contracting, left_ragged;
};
[[nodiscard]] ProductDims product_dims(mlir::Operation& op);

/// Dimensions of a convolution's operands and result, each a list of one; none where the op does not say it.
struct ConvolutionDims {
  Numbers input_batch, output_batch, input_features, output_features;
};
[[nodiscard]] ConvolutionDims convolution_dims(mlir::Operation& op);

/// For stablehlo.gather: the dimensions of the result that lie within slices, those of slices that the result lacks, and
/// that of the indices along which one index lies.
struct GatherDims {
  Numbers offsets, dropped;
  std::int64_t index_vector;
};
[[nodiscard]] GatherDims gather_dims(mlir::Operation& op);

}  // namespace berth_mlir
