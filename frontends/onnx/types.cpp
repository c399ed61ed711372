#include "onnx/types.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

std::int64_t checked_dim(std::int64_t dim) {
  return dim >= 0 && dim <= kMaxDim ? dim : kUnknownDim;
}

template <class Shape>
void read_shape(const Shape& shape, Type& type) {
  if (shape.dim_size() > kMaxRank) return;
  type.has_shape = true;
  type.dims.reserve(static_cast<std::size_t>(shape.dim_size()));
  for (const auto& dim : shape.dim()) {
    type.dims.push_back(dim.has_dim_value() ? checked_dim(dim.dim_value()) : kUnknownDim);
  }
}

DType dtype_of(int elem) {
  switch (elem) {
    case TensorProto::FLOAT:
      return DType::f32;
    case TensorProto::UINT8:
      return DType::u8;
    case TensorProto::INT8:
      return DType::i8;
    case TensorProto::UINT16:
      return DType::u16;
    case TensorProto::INT16:
      return DType::i16;
    case TensorProto::INT32:
      return DType::i32;
    case TensorProto::INT64:
      return DType::i64;
    case TensorProto::STRING:
      return DType::string;
    case TensorProto::BOOL:
      return DType::boolean;
    case TensorProto::FLOAT16:
      return DType::f16;
    case TensorProto::DOUBLE:
      return DType::f64;
    case TensorProto::UINT32:
      return DType::u32;
    case TensorProto::UINT64:
      return DType::u64;
    case TensorProto::COMPLEX64:
      return DType::c64;
    case TensorProto::COMPLEX128:
      return DType::c128;
    case TensorProto::BFLOAT16:
      return DType::bf16;
    case kUint4:
      return DType::u4;
    case kInt4:
      return DType::i4;
    case kFloat8E8M0:
      return DType::f8;
    default:
      break;
  }
  if (elem >= kFloat8E4M3FN && elem <= kFloat8E5M2FNUZ) return DType::f8;
  return elem == 0 ? DType::unknown : DType::opaque;
}

template <class T>
bool read_raw(const std::string& raw, std::size_t count, std::vector<T>& out) {
  if (raw.size() != count * sizeof(T)) return false;
  out.resize(count);
  if (count > 0) std::memcpy(out.data(), raw.data(), raw.size());
  return true;
}

// `raw` holds values of type Stored.
template <class Stored, class Out>
bool read_raw_as(const std::string& raw, std::size_t count, std::vector<Out>& out) {
  std::vector<Stored> values;
  if (!read_raw(raw, count, values)) return false;
  out.assign(values.begin(), values.end());
  return true;
}

double half_to_double(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  double value = 0;
  if (exponent == 31) {
    value = mantissa != 0 ? std::nan("") : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

bool read_integers(const TensorProto& t, std::size_t count, std::vector<std::int64_t>& out) {
  const std::string& raw = t.raw_data();
  const auto typed = [&](const auto& field) {
    if (static_cast<std::size_t>(field.size()) != count) return false;
    out.assign(field.begin(), field.end());
    return true;
  };
  switch (t.data_type()) {
    case TensorProto::INT64:
      return t.has_raw_data() ? read_raw(raw, count, out) : typed(t.int64_data());
    case TensorProto::INT32:
      return t.has_raw_data() ? read_raw_as<std::int32_t>(raw, count, out) : typed(t.int32_data());
    case TensorProto::INT16:
      return t.has_raw_data() ? read_raw_as<std::int16_t>(raw, count, out) : typed(t.int32_data());
    case TensorProto::INT8:
      return t.has_raw_data() ? read_raw_as<std::int8_t>(raw, count, out) : typed(t.int32_data());
    case TensorProto::UINT16:
      return t.has_raw_data() ? read_raw_as<std::uint16_t>(raw, count, out) : typed(t.int32_data());
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return t.has_raw_data() ? read_raw_as<std::uint8_t>(raw, count, out) : typed(t.int32_data());
    case TensorProto::UINT32:
      return t.has_raw_data() ? read_raw_as<std::uint32_t>(raw, count, out)
                              : typed(t.uint64_data());
    default:
      return false;
  }
}

bool read_reals(const TensorProto& t, std::size_t count, std::vector<double>& out) {
  const std::string& raw = t.raw_data();
  switch (t.data_type()) {
    case TensorProto::FLOAT:
      if (t.has_raw_data()) return read_raw_as<float>(raw, count, out);
      if (static_cast<std::size_t>(t.float_data_size()) != count) return false;
      out.assign(t.float_data().begin(), t.float_data().end());
      return true;
    case TensorProto::DOUBLE:
      if (t.has_raw_data()) return read_raw(raw, count, out);
      if (static_cast<std::size_t>(t.double_data_size()) != count) return false;
      out.assign(t.double_data().begin(), t.double_data().end());
      return true;
    case TensorProto::FLOAT16: {
      std::vector<std::uint16_t> halves;
      if (t.has_raw_data() ? !read_raw(raw, count, halves)
                           : static_cast<std::size_t>(t.int32_data_size()) != count) {
        return false;
      }
      if (!t.has_raw_data()) {
        for (const std::int32_t bits : t.int32_data()) {
          halves.push_back(static_cast<std::uint16_t>(bits));
        }
      }
      for (const std::uint16_t half : halves) out.push_back(half_to_double(half));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

bool Type::complete() const noexcept {
  if (other) return true;
  return elem != 0 && has_shape &&
         std::none_of(dims.begin(), dims.end(), [](std::int64_t d) { return d == kUnknownDim; });
}

Type type_from_proto(const onnx::TypeProto& proto) {
  Type type;
  if (proto.has_tensor_type()) {
    type.elem = proto.tensor_type().elem_type();
    if (proto.tensor_type().has_shape()) read_shape(proto.tensor_type().shape(), type);
  } else if (proto.value_case() != onnx::TypeProto::VALUE_NOT_SET) {
    type.other = std::make_shared<onnx::TypeProto>(proto);
  }
  return type;
}

void type_to_proto(const Type& type, onnx::TypeProto& proto) {
  if (type.other) {
    proto = *type.other;
    return;
  }
  auto* const tensor = proto.mutable_tensor_type();
  if (type.elem != 0) tensor->set_elem_type(type.elem);
  if (!type.has_shape) return;
  auto* const shape = tensor->mutable_shape();
  for (const std::int64_t dim : type.dims) {
    auto* const added = shape->add_dim();
    if (dim != kUnknownDim) added->set_dim_value(dim);
  }
}

bool merge_type(Type& type, const Type& other) {
  if (type.other || (other.other && type.elem == 0 && !type.has_shape)) {
    if (!type.other) type = other;
    return other.other || (other.elem == 0 && !other.has_shape);
  }
  if (other.other) return false;
  bool agree = type.elem == 0 || other.elem == 0 || type.elem == other.elem;
  if (type.elem == 0) type.elem = other.elem;
  if (!other.has_shape) return agree;
  if (!type.has_shape) {
    type.set_shape(other.dims);
    return agree;
  }
  if (type.dims.size() != other.dims.size()) return false;
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i] == kUnknownDim) {
      type.dims[i] = other.dims[i];
    } else if (other.dims[i] != kUnknownDim && other.dims[i] != type.dims[i]) {
      agree = false;
    }
  }
  return agree;
}

TensorInfo tensor_info(const Type& type) {
  TensorInfo info;
  if (type.other) {
    info.dtype = DType::opaque;
    return info;
  }
  info.dtype = dtype_of(type.elem);
  info.has_shape = type.has_shape;
  info.shape = type.dims;
  const std::int64_t count = type.has_shape ? element_count(info.shape) : kUnknownDim;
  if (count == kUnknownDim) return info;
  if (type.elem == kFloat4) info.bytes = count / 2 + count % 2;
  if (type.elem == kUint2 || type.elem == kInt2) info.bytes = count / 4 + (count % 4 != 0);
  return info;
}

std::int64_t bytes_of(const TensorInfo& info) noexcept {
  if (info.bytes != kUnknownBytes) return info.bytes;
  const std::int64_t count = info.has_shape ? element_count(info.shape) : kUnknownDim;
  const int bits = dtype_bits(info.dtype);
  if (count == kUnknownDim || bits == 0) return kUnknownBytes;
  if (count > std::numeric_limits<std::int64_t>::max() / bits) return kUnknownBytes;
  return (count * bits + 7) / 8;
}

std::optional<std::int64_t> Data::integer(std::size_t i) const noexcept {
  if (!real) return ints[i] == kUnknown ? std::nullopt : std::optional(ints[i]);
  if (!(std::abs(reals[i]) < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(reals[i]);
}

std::optional<double> Data::number(std::size_t i) const noexcept {
  if (real) return std::isnan(reals[i]) ? std::nullopt : std::optional(reals[i]);
  return ints[i] == kUnknown ? std::nullopt : std::optional(static_cast<double>(ints[i]));
}

std::optional<std::vector<std::int64_t>> Data::integers() const {
  std::vector<std::int64_t> out(size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto element = integer(i);
    if (!element) return std::nullopt;
    out[i] = *element;
  }
  return out;
}

DataPtr data_from_proto(const TensorProto& tensor) {
  if (tensor.dims_size() > kMaxRank || tensor.data_location() == TensorProto::EXTERNAL) {
    return nullptr;
  }
  auto data = std::make_shared<Data>();
  data->dims.assign(tensor.dims().begin(), tensor.dims().end());
  if (std::any_of(data->dims.begin(), data->dims.end(),
                  [](std::int64_t d) { return d < 0 || d > kMaxDim; })) {
    return nullptr;
  }
  const std::int64_t count = product(data->dims, 0, data->dims.size());
  if (count > static_cast<std::int64_t>(Data::kMaxElements)) return nullptr;
  data->real = is_float_type(tensor.data_type());
  const auto size = static_cast<std::size_t>(count);
  const bool read =
      data->real ? read_reals(tensor, size, data->reals) : read_integers(tensor, size, data->ints);
  return read ? data : nullptr;
}

bool data_to_proto(const Data& data, int elem, TensorProto& tensor) {
  for (const std::int64_t dim : data.dims) tensor.add_dims(dim);
  tensor.set_data_type(elem);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto number = data.number(i);
    const auto integer = data.integer(i);
    switch (elem) {
      case TensorProto::INT64:
        if (!integer) return false;
        tensor.add_int64_data(*integer);
        break;
      case TensorProto::INT32:
        if (!integer) return false;
        tensor.add_int32_data(static_cast<std::int32_t>(*integer));
        break;
      case TensorProto::FLOAT:
        if (!number) return false;
        tensor.add_float_data(static_cast<float>(*number));
        break;
      case TensorProto::DOUBLE:
        if (!number) return false;
        tensor.add_double_data(*number);
        break;
      default:
        return false;
    }
  }
  return true;
}

bool is_integer_type(int elem) noexcept {
  return (elem >= TensorProto::UINT8 && elem <= TensorProto::INT64) || elem == TensorProto::BOOL ||
         elem == TensorProto::UINT32 || elem == TensorProto::UINT64;
}

bool is_float_type(int elem) noexcept {
  return elem == TensorProto::FLOAT || elem == TensorProto::DOUBLE ||
         elem == TensorProto::FLOAT16 || elem == TensorProto::BFLOAT16;
}

bool broadcast(const Dims& a, const Dims& b, Dims& result) {
  const std::size_t rank = std::max(a.size(), b.size());
  result.assign(rank, 1);
  bool fits = true;
  for (std::size_t i = 0; i < rank; ++i) {  // from the last dimension on
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    std::int64_t& out = result[rank - 1 - i];
    if (x == 1 || x == y) {
      out = y;
    } else if (y == 1) {
      out = x;
    } else if (x == kUnknownDim || y == kUnknownDim) {
      // An unknown dimension beside one that is not 1 must be that one, or 1.
      out = std::max(x, y);
    } else {
      fits = false;
    }
  }
  return fits;
}

std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  bool unknown = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (dims[i] == 0) return 0;
    if (dims[i] == kUnknownDim) {
      unknown = true;
    } else if (__builtin_mul_overflow(result, dims[i], &result)) {
      result = std::numeric_limits<std::int64_t>::max();
    }
  }
  return unknown ? kUnknownDim : result;
}

}  // namespace berth::onnx_frontend
