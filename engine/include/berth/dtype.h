/// @file
/// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/export.h"

namespace berth {

/// Element type of a tensor. `string` and `opaque` have no fixed width.
enum class DType : std::uint8_t {
  unknown,
  f64,
  f32,
  f16,
  bf16,
  f8,
  c128,
  c64,
  i64,
  i32,
  i16,
  i8,
  i4,
  u64,
  u32,
  u16,
  u8,
  u4,
  boolean,
  string,
  opaque,
};

/// Bits per element; 0 if not fixed or not known.
[[nodiscard]] BERTH_EXPORT int dtype_bits(DType dtype) noexcept;
/// Short name in messages and files ("f32").
[[nodiscard]] BERTH_EXPORT std::string_view dtype_name(DType dtype) noexcept;
/// The inverse of dtype_name; empty for a name that it never returns.
[[nodiscard]] BERTH_EXPORT std::optional<DType> dtype_from_name(std::string_view name) noexcept;

}  // namespace berth
