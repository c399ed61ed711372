// Integers that are divided. A processor ends the process where a quotient does not exist: by 0, and of the
// least integer by -1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "berth/sdk/program.h"

namespace berth::runtime {

/// An attribute that counts something. Throws Error(unsupported) where it is below 1, or so large that its square is no
/// integer.
[[nodiscard]] std::int64_t count_attribute(const Instruction& op, std::string_view name,
                                           std::int64_t fallback);

/// `total` / `parts`. Throws Error(invalid_argument), such as "4 channels are not divisible by 3 groups", where `parts`
/// is below 1 or there is a rest. `what`, `by`: what the numbers count.
[[nodiscard]] std::int64_t shared_out(std::int64_t total, std::string_view what, std::int64_t parts,
                                      std::string_view by);

/// The groups of a convolution whose filters read `of_filter` of an image's channels each. Throws as shared_out, and
/// where there are no channels.
[[nodiscard]] std::int64_t group_count(std::int64_t channels, std::int64_t of_filter);

/// Throws Error(invalid_argument), such as "index 4 is not between 0 and 3", where a number is not in [least, most].
/// Numbers on a GPU are not read: that waits for it.
void check_within(const at::Tensor& numbers, std::int64_t least, std::int64_t most,
                  std::string_view what);

// --- element by element: as ATen's own, and the least integer by -1 is itself, without a rest -------

/// `rounding`: "trunc" or "floor".
[[nodiscard]] at::Tensor whole_quotient(const at::Tensor& a, const at::Tensor& b,
                                        const char* rounding);
/// With the sign of `b`.
[[nodiscard]] at::Tensor floor_remainder(const at::Tensor& a, const at::Tensor& b);
/// With the sign of `a`.
[[nodiscard]] at::Tensor truncated_remainder(const at::Tensor& a, const at::Tensor& b);

}  // namespace berth::runtime
