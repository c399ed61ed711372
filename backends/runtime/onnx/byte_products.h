// Products of matrices of whole numbers, as in whole_tiles.h, by a matrix of bytes that is multiplied as it lies in memory.
#pragma once

#include "runtime/onnx/whole_tiles.h"

namespace berth::runtime::onnx {

/// Rows have zeros behind their terms, up to a multiple of this.
inline constexpr std::int64_t kTermsAtOnce = 16;

/// y [rows, columns] = the rows times the matrix [terms, columns] of u8 or i8. Sums wrap around. Runs on all threads of the
/// device. False where the processor has no AVX2, where so many rows are multiplied sooner by packed columns, and for fewer
/// than kTileColumns columns.
template <class T>
[[nodiscard]] bool multiply_few_rows(const WholeRows& rows, const T* matrix, std::int64_t columns,
                                     std::int32_t* y);

/// The same by [columns, terms], for any number of rows and columns.
template <class T>
[[nodiscard]] bool multiply_by_columns(const WholeRows& rows, const T* matrix, std::int64_t columns,
                                       std::int32_t* y);

}  // namespace berth::runtime::onnx
