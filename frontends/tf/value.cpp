#include "tf/value.h"

#include <algorithm>

namespace berth::tf_frontend {
namespace {

// A resource or variant holds a pointer and a count; a string its length and a pointer, or a few
// characters in their place. What they point to is not part of the tensor's shape.
constexpr std::int64_t kHandleBytes = 16;
constexpr std::int64_t kStringBytes = 24;

/// What is behind a handle to numbers.
TensorInfo content_info(const Value& value) {
  const Handle& handle = *value.handle;
  TensorInfo info;
  info.dtype = dtype_of(handle.type);
  info.has_shape = handle.ranked;
  info.shape = handle.dims;
  if (handle.variable) {
    info.bytes = 0;
    return info;
  }
  if (!handle.ranked) {  // nothing that is known was put into it
    info.bytes = kHandleBytes;
    return info;
  }
  info.shape.insert(info.shape.begin(), value.length != kUnknownDim ? value.length : handle.size);
  const std::int64_t count = product(info.shape);
  if (count != kUnknownDim && count <= kMaxDim) {
    info.bytes = std::max(kHandleBytes, (count * dtype_bits(info.dtype) + 7) / 8);
  } else {
    info.has_shape = std::find(info.shape.begin(), info.shape.end(), kUnknownDim) !=
                     info.shape.end();  // too many elements for any machine count as not known
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
