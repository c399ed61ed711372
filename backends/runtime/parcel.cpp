#include "runtime/parcel.h"

#include <ATen/EmptyTensor.h>

#include <array>
#include <cstring>

namespace berth::runtime {

namespace {

/// Whether the strides are those of a new tensor. A contiguous one may have others, where a size is 1.
bool has_usual_strides(const at::Tensor& tensor) noexcept {
  std::int64_t stride = 1;
  for (std::size_t d = tensor.sizes().size(); d-- > 0;) {
    if (tensor.strides()[d] != stride) return false;
    stride *= tensor.sizes()[d];
  }
  return true;
}

}  // namespace

Parcel::Parcel(const Value& value) noexcept : data(nullptr) {
  const at::Tensor& tensor = value.tensor;
  if (value.structure != nullptr || !tensor.defined() || !tensor.device().is_cpu() ||
      tensor.layout() != at::kStrided || tensor.is_conj() || tensor.is_neg()) {
    return;
  }
  const std::size_t bytes = tensor.nbytes();
  const at::IntArrayRef shape = tensor.sizes();
  if (bytes == 0 || bytes > kMost || shape.size() > kRank || !has_usual_strides(tensor)) return;
  type = static_cast<std::int8_t>(tensor.scalar_type());
  rank = static_cast<std::uint8_t>(shape.size());
  for (std::size_t d = 0; d < rank; ++d) sizes[d] = static_cast<std::uint16_t>(shape[d]);
  if (bytes <= kRoom) {
    kind = Kind::values;
    std::memcpy(values, tensor.data_ptr(), bytes);
  } else {
    kind = Kind::pointer;
    data = tensor.data_ptr();
  }
}

Value Parcel::open() const {
  std::array<std::int64_t, kRank> shape{};
  for (std::size_t d = 0; d < rank; ++d) shape[d] = sizes[d];
  at::Tensor tensor =
      at::detail::empty_cpu(at::IntArrayRef(shape.data(), rank), static_cast<at::ScalarType>(type));
  std::memcpy(tensor.data_ptr(), kind == Kind::values ? values : data, tensor.nbytes());
  return {std::move(tensor), nullptr};
}

}  // namespace berth::runtime
