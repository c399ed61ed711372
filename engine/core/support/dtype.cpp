#include "berth/dtype.h"

#include <array>
#include <cstddef>

namespace berth {
namespace {

struct Entry {
  std::string_view name;
  int bits;
};

// In the order of the enumeration.
constexpr std::array<Entry, 21> kEntries = {{
    {"unknown", 0}, {"f64", 64},   {"f32", 32},   {"f16", 16}, {"bf16", 16}, {"f8", 8},
    {"c128", 128},  {"c64", 64},   {"i64", 64},   {"i32", 32}, {"i16", 16},  {"i8", 8},
    {"i4", 4},      {"u64", 64},   {"u32", 32},   {"u16", 16}, {"u8", 8},    {"u4", 4},
    {"bool", 8},    {"string", 0}, {"opaque", 0},
}};
static_assert(kEntries.size() == static_cast<std::size_t>(DType::opaque) + 1);

}  // namespace

int dtype_bits(DType dtype) noexcept {
  return kEntries[static_cast<std::size_t>(dtype)].bits;
}

std::string_view dtype_name(DType dtype) noexcept {
  return kEntries[static_cast<std::size_t>(dtype)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (kEntries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace berth
