#include "runtime/onnx/whole_tiles.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

constexpr std::int64_t kTileRows = 4;

struct Tile {
  const std::int16_t* rows[kTileRows];
  const std::int16_t* columns;  // packed
  std::int64_t terms;
  std::int32_t* sums;  // [kTileRows, kTileColumns]
};

// No compiler finds the instruction that adds two products of neighbours where they are not the whole loop's sum.
__attribute__((target("avx2"))) void multiply_tile(const Tile& tile) {
  constexpr std::int64_t kVector = 8;
  __m256i sums[kTileRows][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
#pragma GCC unroll 4  // or each sum is moved to another register in every turn
  for (std::int64_t k = 0; k < tile.terms; k += 2) {
    const auto* const pairs = reinterpret_cast<const __m256i*>(tile.columns + k * kTileColumns);
    const __m256i low = _mm256_loadu_si256(pairs), high = _mm256_loadu_si256(pairs + 1);
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      std::int32_t both;
      std::memcpy(&both, tile.rows[row] + k, sizeof both);
      const __m256i factor = _mm256_set1_epi32(both);
      sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(factor, low));
      sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(factor, high));
    }
  }
  for (std::int64_t row = 0; row < kTileRows; ++row) {
    for (std::int64_t half = 0; half < 2; ++half) {
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(tile.sums + row * kTileColumns + half * kVector),
          sums[row][half]);
    }
  }
}

}  // namespace

bool multiply_wholes(const WholeRows& rows, std::int64_t columns, const PackColumns& pack,
                     std::int32_t* y) {
  if (!__builtin_cpu_supports("avx2")) return false;
  constexpr std::int64_t kProducts = 1 << 18;  // of a thread, at least
  const std::int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  const std::int64_t even = (rows.terms + 1) / 2 * 2;
  const std::int64_t of_tile = std::max<std::int64_t>(1, rows.count * even * kTileColumns);
  in_parallel(0, tiles, std::max<std::int64_t>(1, kProducts / of_tile),
              [&](std::int64_t begin, std::int64_t end) {
                std::vector<std::int16_t> packed(static_cast<std::size_t>(even * kTileColumns));
                std::int32_t sums[kTileRows * kTileColumns];
                for (std::int64_t tile = begin; tile < end; ++tile) {
                  const std::int64_t first = tile * kTileColumns;
                  pack(first, packed.data());
                  const std::int64_t width = std::min(kTileColumns, columns - first);
                  for (std::int64_t row = 0; row < rows.count; row += kTileRows) {
                    Tile each{{}, packed.data(), even, sums};
                    for (std::int64_t i = 0; i < kTileRows; ++i) {
                      each.rows[i] = rows.numbers + std::min(row + i, rows.count - 1) * rows.stride;
                    }
                    multiply_tile(each);
                    for (std::int64_t i = 0; i < std::min(kTileRows, rows.count - row); ++i) {
                      std::copy_n(sums + i * kTileColumns, width, y + (row + i) * columns + first);
                    }
                  }
                }
              });
  return true;
}

}  // namespace berth::runtime::onnx

#else

namespace berth::runtime::onnx {

bool multiply_wholes(const WholeRows& /*rows*/, std::int64_t /*columns*/,
                     const PackColumns& /*pack*/, std::int32_t* /*y*/) {
  return false;
}

}  // namespace berth::runtime::onnx

#endif
