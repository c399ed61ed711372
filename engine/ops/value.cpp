#include "berth/sdk/ops/value.h"

#include <algorithm>
#include <cmath>

namespace berth::ops {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

}  // namespace

bool Value::fully_known() const noexcept {
  return ranked && std::find(dims.begin(), dims.end(), kUnknownDim) == dims.end();
}

std::size_t Value::content_size() const noexcept {
  return data != nullptr ? data->size() : reals != nullptr ? reals->size() : 0;
}

std::optional<std::int64_t> Value::element(std::size_t i) const noexcept {
  if (data != nullptr) {
    if (i >= data->size() || (*data)[i] == Data::kUnknown) return std::nullopt;
    return (*data)[i];
  }
  // NaN fails the comparison too.
  if (reals == nullptr || i >= reals->size() || !(std::abs((*reals)[i]) < 9e18)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>((*reals)[i]);
}

std::optional<double> Value::number(std::size_t i) const noexcept {
  if (reals != nullptr) {
    if (i >= reals->size() || std::isnan((*reals)[i])) return std::nullopt;
    return (*reals)[i];
  }
  const auto integer = element(i);
  if (!integer) return std::nullopt;
  return static_cast<double>(*integer);
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

}  // namespace berth::ops
