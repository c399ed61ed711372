// Products of matrices of whole numbers of 9 bits with a sign, in i32: what bytes and their zero points differ by.
#pragma once

#include <cstdint>
#include <functional>

namespace berth::runtime::onnx {

/// So many columns are multiplied at once, two terms of each at a time.
inline constexpr std::int64_t kTileColumns = 16;

/// Rows of such numbers.
struct WholeRows {
  const std::int16_t* numbers;
  std::int64_t count, terms;
  std::int64_t
      stride;  ///< from a row to the next: the terms, and zeros behind an odd number of them at least
};

/// Writes columns [first, first + kTileColumns) of a matrix as [terms / 2, kTileColumns, 2], with anything beyond the last, and
/// behind an odd number of terms.
using PackColumns = std::function<void(std::int64_t first, std::int16_t* to)>;

/// y [rows, columns] = the rows times the matrix of these columns. Sums wrap around. Runs on all threads of the device. False
/// where the processor has no AVX2: BLAS is faster there.
[[nodiscard]] bool multiply_wholes(const WholeRows& rows, std::int64_t columns,
                                   const PackColumns& pack, std::int32_t* y);

}  // namespace berth::runtime::onnx
