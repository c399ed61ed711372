// Products of matrices of whole numbers of 9 bits with a sign, in i32: what bytes and their zero points differ by.
#pragma once

#include <cstdint>
#include <functional>

namespace berth::runtime::onnx {

/// So many columns are multiplied at once, two terms of each at a time.
inline constexpr std::int64_t kTileColumns = 16;

/// Writes columns [first, first + kTileColumns) of a matrix as [terms / 2, kTileColumns, 2], with anything beyond the last.
using PackColumns = std::function<void(std::int64_t first, std::int16_t* to)>;

/// y [rows, columns] = a [rows, terms] times the matrix of these columns. `terms` is even. Sums wrap around. Runs on all
/// threads of the device. False where the processor has no AVX2: BLAS is faster there.
[[nodiscard]] bool multiply_wholes(const std::int16_t* a, std::int64_t rows, std::int64_t terms,
                                   std::int64_t columns, const PackColumns& pack, std::int32_t* y);

}  // namespace berth::runtime::onnx
