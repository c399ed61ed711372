// Parts that the tables of MLIR's ops share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ops/tables.h"

namespace berth::ops::mlir {

/// The product with input `right`, which sums over `inner`. A matrix on the right takes all rows of the
/// left at once.
[[nodiscard]] Estimate product(const OpView& op, const WorkRule& rule, double inner,
                               std::size_t right = 1);
/// linalg.matmul, tosa.matmul, torch.aten.mm: (.., m, k) with (.., k, n).
[[nodiscard]] Estimate matmul(const OpView& op, const WorkRule& rule);
/// Weights (features, channels, window..).
[[nodiscard]] Estimate features_first(const OpView& op, const WorkRule& rule);
/// Ops with a body: what it does at every point; without one, an operation for each element.
[[nodiscard]] Estimate with_body(const OpView& op, const WorkRule& rule);

inline constexpr WorkRule kMatmul{matmul, OpClass::matmul};
inline constexpr WorkRule kFeaturesFirst{features_first, OpClass::convolution};

[[nodiscard]] std::vector<NamedWork> torch_ops();
/// The type as torch_ops() has it; empty if it is none of torch-mlir's.
[[nodiscard]] std::string torch_type(std::string_view type);

}  // namespace berth::ops::mlir
