#include "runtime/tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "berth/error.h"
#include "berth/graph.h"

namespace berth::runtime {
namespace {

template <class Narrow, class Wide>
at::Tensor widened(const TensorContent& content) {
  at::Tensor tensor = at::empty(content.shape, at::CppTypeToScalarType<Wide>::value);
  Wide* const out = tensor.data_ptr<Wide>();
  const auto count = static_cast<std::size_t>(tensor.numel());
  for (std::size_t i = 0; i < count; ++i) {
    Narrow narrow;
    std::memcpy(&narrow, content.bytes.data() + i * sizeof(Narrow), sizeof(Narrow));
    out[i] = static_cast<Wide>(narrow);
  }
  return tensor;
}

/// Two elements to a byte, the first in the low bits.
at::Tensor unpacked(const TensorContent& content, bool is_signed) {
  at::Tensor tensor = at::empty(content.shape, is_signed ? at::kChar : at::kByte);
  auto* const out = static_cast<std::uint8_t*>(tensor.data_ptr());
  const auto count = static_cast<std::size_t>(tensor.numel());
  for (std::size_t i = 0; i < count; ++i) {
    const auto both = static_cast<unsigned>(content.bytes[i / 2]);
    const unsigned four = i % 2 == 0 ? both & 0xFU : both >> 4U;
    out[i] = static_cast<std::uint8_t>(is_signed && four >= 8 ? four | 0xF0U : four);
  }
  return tensor;
}

void check_size(const TensorContent& content) {
  const std::int64_t count = element_count(content.shape);
  const std::int64_t bits = dtype_bits(content.dtype);
  const auto given = static_cast<std::int64_t>(content.bytes.size());
  // The first comparison keeps the product small.
  if (count < 0 || count > 8 * given || (count * bits + 7) / 8 != given) {
    throw Error(ErrorCode::invalid_graph, "a tensor of " + std::to_string(count) +
                                              " elements of type " +
                                              std::string(dtype_name(content.dtype)) + " has " +
                                              std::to_string(content.bytes.size()) +
                                              " bytes of content; export the model again");
  }
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return at::kDouble;
    case DType::f32:
      return at::kFloat;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::c128:
      return at::kComplexDouble;
    case DType::c64:
      return at::kComplexFloat;
    case DType::i64:
    case DType::u64:
    case DType::u32:
      return at::kLong;
    case DType::i32:
    case DType::u16:
      return at::kInt;
    case DType::i16:
      return at::kShort;
    case DType::i8:
    case DType::i4:
      return at::kChar;
    case DType::u8:
    case DType::u4:
      return at::kByte;
    case DType::boolean:
      return at::kBool;
    default:
      throw Error(ErrorCode::unsupported, "tensors of type " + std::string(dtype_name(dtype)) +
                                              " are not computed with; use f32");
  }
}

at::Tensor make_tensor(const TensorContent& content) {
  const at::ScalarType type = scalar_type(content.dtype);
  check_size(content);
  switch (content.dtype) {
    case DType::u16:
      return widened<std::uint16_t, std::int32_t>(content);
    case DType::u32:
      return widened<std::uint32_t, std::int64_t>(content);
    case DType::i4:
    case DType::u4:
      return unpacked(content, content.dtype == DType::i4);
    default:
      break;
  }
  const std::size_t width = c10::elementSize(type);
  const auto address = reinterpret_cast<std::uintptr_t>(content.bytes.data());
  if (content.owner != nullptr && !content.bytes.empty() && address % width == 0) {
    // Values are never written, so that the content's bytes can be the tensor's.
    return at::from_blob(
        const_cast<std::byte*>(content.bytes.data()), content.shape,
        [owner = content.owner](void*) {}, type);
  }
  at::Tensor tensor = at::empty(content.shape, type);
  if (!content.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), content.bytes.data(), content.bytes.size());
  }
  return tensor;
}

}  // namespace berth::runtime
