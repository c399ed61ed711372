/// @file
/// The element types of each dialect by its own numbers, which a frontend must be able to write
/// back.
#pragma once

#include <string_view>

#include "berth/dtype.h"
#include "berth/export.h"

namespace berth::ops::tf {

// DataType of TensorFlow's files, without the offset of references.
inline constexpr int kFloat = 1;
inline constexpr int kInt32 = 3;
inline constexpr int kString = 7;
inline constexpr int kInt64 = 9;
inline constexpr int kBool = 10;
inline constexpr int kResource = 20;
inline constexpr int kVariant = 21;
inline constexpr int kReferenceOffset = 100;

/// "float" -> 1, as in the names of the files' enumerators; kUnknownType for any other text.
[[nodiscard]] BERTH_EXPORT int type_from_name(std::string_view name) noexcept;
[[nodiscard]] BERTH_EXPORT DType dtype_of(int type) noexcept;
[[nodiscard]] BERTH_EXPORT bool is_integer_type(int type) noexcept;  ///< bool included
[[nodiscard]] BERTH_EXPORT bool is_float_type(int type) noexcept;

}  // namespace berth::ops::tf

namespace berth::ops::onnx {

// TensorProto.DataType (onnx.proto, IR 12).
inline constexpr int kFloat = 1;
inline constexpr int kUint8 = 2;
inline constexpr int kInt8 = 3;
inline constexpr int kUint16 = 4;
inline constexpr int kInt16 = 5;
inline constexpr int kInt32 = 6;
inline constexpr int kInt64 = 7;
inline constexpr int kString = 8;
inline constexpr int kBool = 9;
inline constexpr int kFloat16 = 10;
inline constexpr int kDouble = 11;
inline constexpr int kUint32 = 12;
inline constexpr int kUint64 = 13;
inline constexpr int kComplex64 = 14;
inline constexpr int kComplex128 = 15;
inline constexpr int kBfloat16 = 16;
inline constexpr int kFloat8E4M3FN = 17;
inline constexpr int kFloat8E5M2FNUZ = 20;
inline constexpr int kUint4 = 21;
inline constexpr int kInt4 = 22;
inline constexpr int kFloat4 = 23;
inline constexpr int kFloat8E8M0 = 24;
inline constexpr int kUint2 = 25;
inline constexpr int kInt2 = 26;

/// "FLOAT" -> 1, as the first versions of Cast name it; kUnknownType for any other text.
[[nodiscard]] BERTH_EXPORT int type_from_name(std::string_view name) noexcept;
[[nodiscard]] BERTH_EXPORT DType dtype_of(int type) noexcept;
[[nodiscard]] BERTH_EXPORT bool is_integer_type(int type) noexcept;  ///< bool included
[[nodiscard]] BERTH_EXPORT bool is_float_type(int type) noexcept;

}  // namespace berth::ops::onnx
