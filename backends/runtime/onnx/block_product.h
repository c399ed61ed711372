// Products with matrices of packed numbers, of which a block shares a scale and a zero point.
#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// number = (packed number - zero point) * scale.
struct BlockMatrix {
  Tensor packed;      ///< u8 [rows, bytes], the lowest bits first
  Tensor scales;      ///< by row and block
  Tensor zeros;       ///< likewise; packed as well if u8; undefined = all are `usual_zero`
  std::int64_t bits;  ///< of a number: 2, 4 or 8
  std::int64_t block;
  double usual_zero;
};

/// Rows `x` [..., columns] times the transposed matrix: [..., rows], on a CPU, in f32. Unpacks as much of the matrix at
/// a time as a cache holds. Undefined where it cannot: other devices and types, and blocks that are no power of two of
/// words of 32 bits.
[[nodiscard]] Tensor block_product(const Tensor& x, const BlockMatrix& matrix);

}  // namespace berth::runtime::onnx
