#include "tf/value.h"

#include <algorithm>

namespace berth::tf_frontend {
namespace {

// A resource or variant holds a pointer and a count; a string its length and a pointer, or a few
// characters in their place. What they point to is not part of the tensor's shape.
constexpr std::int64_t kHandleBytes = 16;
constexpr std::int64_t kStringBytes = 24;

/// Tensors that an array, a list or a stack holds.
std::int64_t held(const Value& value) {
  if (value.length == kUnknownDim) return value.handle->size;
  return std::max<std::int64_t>(0, value.length - value.repeats);
}

/// Bytes of what is in an array, a list or a stack; kUnknownBytes where its size is not known.
std::int64_t content_bytes(const Value& value) {
  const Handle& handle = *value.handle;
  if (handle.variable) return 0;            // the variable's op counts them
  if (!handle.ranked) return kHandleBytes;  // nothing that is known was put into it
  Dims dims = handle.dims;
  dims.insert(dims.begin(), held(value));
  const std::int64_t count = product(dims);
  if (count == kUnknownDim || count > kMaxDim) return kUnknownBytes;
  return std::max(kHandleBytes, (count * dtype_bits(dtype_of(handle.type)) + 7) / 8);
}

/// A handle to numbers has their type. Its shape is TensorFlow's, that of handles, but for a list:
/// that is a value, and all its elements are copied with it, each tensor among them once.
TensorInfo content_info(const Value& value) {
  const Handle& handle = *value.handle;
  TensorInfo info;
  info.dtype = dtype_of(handle.type);
  info.bytes = content_bytes(value);
  if (value.type != kVariant) {
    // With a type and a shape the graph would take the handle's own size for that of the content.
    info.has_shape = value.ranked && info.bytes != kUnknownBytes;
    if (info.has_shape) info.shape = value.dims;
    return info;
  }
  info.has_shape = handle.ranked;
  if (!handle.ranked) return info;
  info.shape = handle.dims;
  info.shape.insert(info.shape.begin(), held(value));
  // Too many elements for any machine count as not known.
  if (info.bytes == kUnknownBytes) {
    info.has_shape =
        std::find(info.shape.begin(), info.shape.end(), kUnknownDim) != info.shape.end();
  }
  return info;
}

}  // namespace

TensorInfo tensor_info(const Value& value) {
  if (value.handle != nullptr && dtype_bits(dtype_of(value.handle->type)) > 0) {
    return content_info(value);
  }
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
