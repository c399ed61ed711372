#include "tf/value.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/error.h"

namespace berth::tf_frontend {
namespace {

struct TypeRow {
  std::string_view name;
  DType dtype;
};

// By DataType.
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

// A resource or variant holds a pointer and a count; a string its length and a pointer, or a few
// characters in their place. What they point to is not part of the tensor's shape.
constexpr std::int64_t kHandleBytes = 16;
constexpr std::int64_t kStringBytes = 24;

constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

}  // namespace

int type_from_name(std::string_view name) noexcept {
  for (std::size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<int>(i);
  }
  return kUnknownType;
}

DType dtype_of(int type) noexcept {
  if (type < 0 || static_cast<std::size_t>(type) >= kTypes.size()) return DType::unknown;
  return kTypes[static_cast<std::size_t>(type)].dtype;
}

bool is_integer_type(int type) noexcept {
  switch (dtype_of(type)) {
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

bool Value::fully_known() const noexcept {
  return ranked && std::find(dims.begin(), dims.end(), kUnknownDim) == dims.end();
}

std::optional<std::int64_t> Value::element(std::size_t i) const noexcept {
  if (data == nullptr || i >= data->size() || (*data)[i] == Data::kUnknown) return std::nullopt;
  return (*data)[i];
}

const std::vector<std::int64_t>* Value::integers() const noexcept {
  if (data == nullptr || std::find(data->begin(), data->end(), Data::kUnknown) != data->end()) {
    return nullptr;
  }
  return data.get();
}

std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) noexcept {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) {
    if (dims[i] == 0) return 0;
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count) || count > kMostElements) {
      return kUnknownDim;
    }
  }
  return count;
}

bool broadcast(const Dims& a, const Dims& b, Dims& result) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const std::int64_t x = longer[shift + i];
    const std::int64_t y = shorter[i];
    if (x == y || y == 1) continue;
    if (x == 1 || x == kUnknownDim) {
      // One that is not known can only be 1 or the other's size, unless that is 1 itself.
      out[shift + i] = y;
    } else if (y != kUnknownDim) {
      return false;
    }
  }
  result = std::move(out);
  return true;
}

bool merge_shape(Value& value, const Value& other) {
  if (!other.ranked) return true;
  if (!value.ranked) {
    value.set_shape(other.dims);
    return true;
  }
  if (value.dims.size() != other.dims.size()) return false;
  bool fits = true;
  for (std::size_t i = 0; i < value.dims.size(); ++i) {
    if (value.dims[i] == kUnknownDim) {
      value.dims[i] = other.dims[i];
    } else if (other.dims[i] != kUnknownDim && other.dims[i] != value.dims[i]) {
      fits = false;
    }
  }
  return fits;
}

TensorInfo tensor_info(const Value& value) {
  TensorInfo info;
  info.dtype = dtype_of(value.type);
  info.has_shape = value.ranked;
  info.shape = value.dims;
  const std::int64_t each = value.type == kString                               ? kStringBytes
                            : value.type == kResource || value.type == kVariant ? kHandleBytes
                                                                                : 0;
  if (each > 0) {
    // A handle is one even where its shape is not stated.
    const std::int64_t count = value.ranked ? product(value.dims) : each == kHandleBytes ? 1 : -1;
    if (count != kUnknownDim && count <= kMaxDim) info.bytes = count * each;
  } else if (value.ranked && product(value.dims) == kUnknownDim) {
    // Too many elements for any machine counts as not known.
    info.bytes = kUnknownBytes;
    if (value.fully_known()) info.has_shape = false;
  }
  return info;
}

}  // namespace berth::tf_frontend
