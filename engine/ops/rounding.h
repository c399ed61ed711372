// Numbers as the tensors of a runtime hold them.
#pragma once

#include <cstdint>
#include <optional>

#include "berth/dtype.h"

namespace berth::ops {

/// The nearest number of `type`, infinite above the largest; as it is if the type is not of real
/// numbers. NaN stays.
[[nodiscard]] double held(double number, DType type) noexcept;
/// Wrapped to the width of `type`; as it is if the type is not of integers. Empty where content
/// cannot hold what it becomes.
[[nodiscard]] std::optional<std::int64_t> held(std::int64_t number, DType type) noexcept;

}  // namespace berth::ops
