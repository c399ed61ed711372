#include "onnx/types.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

/// A string as ONNX Runtime holds it, without a text too long to lie inside.
constexpr std::int64_t kStringBytes = 32;

std::int64_t checked_dim(std::int64_t dim) {
  return dim >= 0 && dim <= kMaxDim ? dim : kUnknownDim;
}

template <class Shape>
void read_shape(const Shape& shape, Type& type) {
  if (shape.dim_size() > kMaxRank) return;
  type.ranked = true;
  type.dims.reserve(static_cast<std::size_t>(shape.dim_size()));
  for (const auto& dim : shape.dim()) {
    type.dims.push_back(dim.has_dim_value() ? checked_dim(dim.dim_value()) : kUnknownDim);
  }
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

/// A list of tensors is numbers, or texts, as they are, and lives where they may; a map does not.
DType dtype_of_elements(const Other& other) {
  const onnx::TypeProto& proto = other.proto;
  const onnx::TypeProto* element = nullptr;
  if (proto.has_sequence_type()) element = &proto.sequence_type().elem_type();
  if (proto.has_optional_type()) element = &proto.optional_type().elem_type();
  if (element == nullptr || !element->has_tensor_type()) return DType::opaque;
  return ops::onnx::dtype_of(element->tensor_type().elem_type());
}

/// All of them, if each has a known size.
std::int64_t bytes_of_elements(const Other& other) {
  std::int64_t bytes = 0;
  if (!other.elements) {
    const onnx::TypeProto& element = other.proto.sequence_type().elem_type();
    const std::int64_t each = bytes_of(tensor_info(type_from_proto(element)));
    const bool known = other.alike != kUnknownDim && each != kUnknownBytes &&
                       !__builtin_mul_overflow(each, other.alike, &bytes);
    return known ? bytes : kUnknownBytes;
  }
  for (const Type& element : *other.elements) {
    const std::int64_t more = bytes_of(tensor_info(element));
    if (more == kUnknownBytes || __builtin_add_overflow(bytes, more, &bytes)) return kUnknownBytes;
  }
  return bytes;
}

bool elements_known(const Type& type) {
  return other_of(type)->elements.has_value() || other_of(type)->alike != kUnknownDim;
}

bool is_empty(const Other& other) {
  return other.elements && other.elements->empty();
}

bool same_elements(const Other& a, const Other& b) {
  if (!a.elements || !b.elements || a.elements->size() != b.elements->size()) return false;
  bool differ = false;
  for (std::size_t i = 0; i < a.elements->size(); ++i) {
    (void)common_type((*a.elements)[i], (*b.elements)[i], differ);
  }
  return !differ;
}

}  // namespace

bool complete(const Type& type) noexcept {
  return type.other != nullptr || (type.type != ops::kUnknownType && type.fully_known());
}

Type without_content(Type type) {
  type.forget_content();
  return type;
}

Type type_from_proto(const onnx::TypeProto& proto) {
  Type type;
  if (proto.has_tensor_type()) {
    type.type = proto.tensor_type().elem_type();
    if (proto.tensor_type().has_shape()) read_shape(proto.tensor_type().shape(), type);
  } else if (proto.value_case() != onnx::TypeProto::VALUE_NOT_SET) {
    type.other = std::make_shared<Other>(Other{proto, std::nullopt});
  }
  return type;
}

void type_to_proto(const Type& type, onnx::TypeProto& proto) {
  if (type.other) {
    proto = other_of(type)->proto;
    return;
  }
  auto* const tensor = proto.mutable_tensor_type();
  if (type.type != 0) tensor->set_elem_type(type.type);
  if (!type.ranked) return;
  auto* const shape = tensor->mutable_shape();
  for (const std::int64_t dim : type.dims) {
    auto* const added = shape->add_dim();
    if (dim != kUnknownDim) added->set_dim_value(dim);
  }
}

bool merge_type(Type& type, const Type& other) {
  if (type.other || (other.other && type.type == 0 && !type.ranked)) {
    if (!type.other) type = other;
    return other.other || (other.type == 0 && !other.ranked);
  }
  if (other.other) return false;
  bool agree = type.type == 0 || other.type == 0 || type.type == other.type;
  if (type.type == 0) type.type = other.type;
  if (!other.ranked) return agree;
  if (!type.ranked) {
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

Type common_type(const Type& a, const Type& b, bool& changed) {
  if (a.other || b.other) {
    Type out = a.other ? a : b;
    if (!a.other || !b.other || same_elements(*other_of(a), *other_of(b))) return out;
    if (elements_known(a) || elements_known(b)) changed = true;
    // Which elements there are is no longer known, nor what they have in common.
    onnx::TypeProto proto = other_of(a)->proto;
    if (proto.has_sequence_type()) {
      // An empty sequence says nothing of elements.
      Type element = type_from_proto(proto.sequence_type().elem_type());
      const Type others = type_from_proto(other_of(b)->proto.sequence_type().elem_type());
      if (is_empty(*other_of(a))) {
        element = others;
      } else if (!is_empty(*other_of(b))) {
        element = common_type(element, others, changed);
      }
      proto.mutable_sequence_type()->clear_elem_type();
      type_to_proto(element, *proto.mutable_sequence_type()->mutable_elem_type());
    }
    out.other = std::make_shared<Other>(Other{std::move(proto), std::nullopt});
    return out;
  }
  Type out = a;
  if (a.type != b.type) out.type = 0;
  if (a.ranked && b.ranked && a.dims.size() == b.dims.size()) {
    for (std::size_t i = 0; i < out.dims.size(); ++i) {
      if (a.dims[i] == b.dims[i]) continue;
      out.dims[i] = kUnknownDim;
      changed = true;
    }
  } else if (a.ranked != b.ranked || a.dims.size() != b.dims.size()) {
    out.ranked = false;
    out.dims.clear();
    changed = true;
  }
  return out;
}

TensorInfo tensor_info(const Type& type) {
  TensorInfo info;
  if (type.other) {
    const Other& other = *other_of(type);
    // Only the step knows whether the tensor of an optional input is there: it counts as if it were.
    const onnx::TypeProto& element = other.proto.optional_type().elem_type();
    if (!other.elements && element.has_tensor_type()) return tensor_info(type_from_proto(element));
    info.dtype = dtype_of_elements(other);
    info.bytes = bytes_of_elements(other);
    return info;
  }
  info.dtype = ops::onnx::dtype_of(type.type);
  info.has_shape = type.ranked;
  info.shape = type.dims;
  const std::int64_t count = type.ranked ? element_count(info.shape) : kUnknownDim;
  if (count == kUnknownDim) return info;
  if (type.type == ops::onnx::kString && count <= kMaxDim) info.bytes = count * kStringBytes;
  if (type.type == ops::onnx::kFloat4) info.bytes = count / 2 + count % 2;
  if (type.type == ops::onnx::kUint2 || type.type == ops::onnx::kInt2)
    info.bytes = count / 4 + (count % 4 != 0);
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

void read_content(const TensorProto& tensor, Type& type) {
  if (!type.fully_known() || type.rank() > kMaxRank ||
      tensor.data_location() == TensorProto::EXTERNAL ||
      std::any_of(type.dims.begin(), type.dims.end(),
                  [](std::int64_t d) { return d < 0 || d > kMaxDim; })) {
    return;
  }
  const std::int64_t count = product(type.dims);
  if (count < 0 || count > static_cast<std::int64_t>(ops::Data::kMaxElements)) return;
  const auto size = static_cast<std::size_t>(count);
  if (ops::onnx::is_float_type(tensor.data_type())) {
    std::vector<double> reals;
    if (read_reals(tensor, size, reals)) {
      type.reals = std::make_shared<const std::vector<double>>(std::move(reals));
    }
  } else if (std::vector<std::int64_t> integers; read_integers(tensor, size, integers)) {
    type.data = std::make_shared<const std::vector<std::int64_t>>(std::move(integers));
  }
}

bool content_to_proto(const Type& type, TensorProto& tensor) {
  for (const std::int64_t dim : type.dims) tensor.add_dims(dim);
  tensor.set_data_type(type.type);
  for (std::size_t i = 0; i < type.content_size(); ++i) {
    const auto number = type.number(i);
    const auto integer = type.element(i);
    switch (type.type) {
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

}  // namespace berth::onnx_frontend
