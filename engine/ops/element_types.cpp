#include "berth/sdk/ops/element_types.h"

#include <array>
#include <cstddef>

namespace berth::ops {
namespace {

struct TypeRow {
  std::string_view name;
  DType dtype;
};

bool is_integer(DType dtype) noexcept {
  switch (dtype) {
    case DType::i64:
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u64:
    case DType::u32:
    case DType::u16:
    case DType::u8:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

template <std::size_t size>
int number_of(const std::array<TypeRow, size>& types, std::string_view name) noexcept {
  for (std::size_t i = 1; i < size; ++i) {
    if (types[i].name == name) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace

namespace tf {
namespace {

// Indexed by DataType.
constexpr std::array<TypeRow, 34> kTypes = {{
    {"", DType::unknown},
    {"float", DType::f32},
    {"double", DType::f64},
    {"int32", DType::i32},
    {"uint8", DType::u8},
    {"int16", DType::i16},
    {"int8", DType::i8},
    {"string", DType::string},
    {"complex64", DType::c64},
    {"int64", DType::i64},
    {"bool", DType::boolean},
    {"qint8", DType::i8},
    {"quint8", DType::u8},
    {"qint32", DType::i32},
    {"bfloat16", DType::bf16},
    {"qint16", DType::i16},
    {"quint16", DType::u16},
    {"uint16", DType::u16},
    {"complex128", DType::c128},
    {"half", DType::f16},
    {"resource", DType::opaque},
    {"variant", DType::opaque},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"float8_e5m2", DType::f8},
    {"float8_e4m3fn", DType::f8},
    {"float8_e4m3fnuz", DType::f8},
    {"float8_e4m3b11fnuz", DType::f8},
    {"float8_e5m2fnuz", DType::f8},
    {"int4", DType::i4},
    {"uint4", DType::u4},
    {"int2", DType::i4},
    {"uint2", DType::u4},
    {"float4_e2m1fn", DType::u4},
}};

}  // namespace

int type_from_name(std::string_view name) noexcept {
  return number_of(kTypes, name);
}

DType dtype_of(int type) noexcept {
  if (type < 0 || static_cast<std::size_t>(type) >= kTypes.size()) return DType::unknown;
  return kTypes[static_cast<std::size_t>(type)].dtype;
}

bool is_integer_type(int type) noexcept {
  return is_integer(dtype_of(type));
}

bool is_float_type(int type) noexcept {
  const DType dtype = dtype_of(type);
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace tf

namespace onnx {
namespace {

// Indexed by TensorProto.DataType. Types below a byte that DType has no name for are numbers like others, which
// any device holds: their sizes are the frontend's to state.
constexpr std::array<TypeRow, 27> kTypes = {{
    {"UNDEFINED", DType::unknown}, {"FLOAT", DType::f32},     {"UINT8", DType::u8},
    {"INT8", DType::i8},           {"UINT16", DType::u16},    {"INT16", DType::i16},
    {"INT32", DType::i32},         {"INT64", DType::i64},     {"STRING", DType::string},
    {"BOOL", DType::boolean},      {"FLOAT16", DType::f16},   {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},        {"UINT64", DType::u64},    {"COMPLEX64", DType::c64},
    {"COMPLEX128", DType::c128},   {"BFLOAT16", DType::bf16}, {"FLOAT8E4M3FN", DType::f8},
    {"FLOAT8E4M3FNUZ", DType::f8}, {"FLOAT8E5M2", DType::f8}, {"FLOAT8E5M2FNUZ", DType::f8},
    {"UINT4", DType::u4},          {"INT4", DType::i4},       {"FLOAT4E2M1", DType::unknown},
    {"FLOAT8E8M0", DType::f8},     {"UINT2", DType::unknown}, {"INT2", DType::unknown},
}};

}  // namespace

int type_from_name(std::string_view name) noexcept {
  return number_of(kTypes, name);
}

DType dtype_of(int type) noexcept {
  if (type < 0 || static_cast<std::size_t>(type) >= kTypes.size()) return DType::opaque;
  return kTypes[static_cast<std::size_t>(type)].dtype;
}

bool is_integer_type(int type) noexcept {
  return is_integer(dtype_of(type));
}

bool is_float_type(int type) noexcept {
  return type == kFloat || type == kDouble || type == kFloat16 || type == kBfloat16;
}

}  // namespace onnx
}  // namespace berth::ops
