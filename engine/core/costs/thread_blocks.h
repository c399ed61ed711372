// How long the matrix products of one kernel keep the multiprocessors of a device busy.
#pragma once

#include "berth/cluster.h"
#include "berth/graph.h"

namespace berth::costs {

/// No kernel takes less on a device with multiprocessors: it fills them, waits for memory and
/// drains them.
inline constexpr double kFillUs = 2;

/// `flops`: what the whole device reaches per second while all multiprocessors are busy.
/// `element_bytes`: of the operands. Requires `device.multiprocessors` and `products.count` above
/// 0. More rows, columns, inner elements or products never take less time.
[[nodiscard]] double product_us(const MatrixProducts& products, double flops, double element_bytes,
                                const Device& device) noexcept;

/// How long a kernel without tiles takes, memory included; infinite where both rows and columns are
/// too many for one. `vector_flops`: what the vector units of the whole device reach per second.
/// `bytes`: that the products read and write. Requires `products.count` above 0; processors have such
/// kernels too. More rows, columns, inner elements, products or bytes never take less time.
[[nodiscard]] double few_rows_us(const MatrixProducts& products, double vector_flops, double bytes,
                                 const Device& device) noexcept;

}  // namespace berth::costs
