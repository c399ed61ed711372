#include "runtime/onnx/byte_products.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

constexpr std::int64_t kTileRows = 4, kVector = 8;
constexpr std::int64_t kProducts = 1 << 18;  // of a thread, at least

template <class T>
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i widened(__m128i bytes) {
  return std::is_signed_v<T> ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}
template <class T>
[[gnu::target("avx2"), gnu::always_inline]] inline __m128i bytes_at(const T* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i vector_at(const void* numbers) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(numbers));
}

// --- rows of the matrix ------------------------------------------------------------------------------

/// Some terms of rows and of the columns of a tile.
template <class T>
struct Tile {
  const std::int16_t* rows;
  std::int64_t row_stride;
  const T* matrix;
  std::int64_t matrix_stride, terms;
  std::int32_t* sums;
  std::int64_t sum_stride;
};

/// Two terms of all columns, which lie side by side for the instruction that adds two products of neighbours.
template <int rows, class T>
[[gnu::target("avx2"), gnu::always_inline]] inline void add_two(const T* first, const T* second,
                                                                const std::int16_t* factors,
                                                                std::int64_t stride,
                                                                __m256i (&sums)[rows][2]) {
  const __m128i one = bytes_at(first), other = bytes_at(second);
  const __m256i low = widened<T>(_mm_unpacklo_epi8(one, other)),
                high = widened<T>(_mm_unpackhi_epi8(one, other));
  for (int row = 0; row < rows; ++row) {
    std::int32_t both;
    std::memcpy(&both, factors + row * stride, sizeof both);
    const __m256i factor = _mm256_set1_epi32(both);
    sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(factor, low));
    sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(factor, high));
  }
}

template <int rows, class T>
[[gnu::target("avx2"), gnu::always_inline]] inline void add_tile(const Tile<T>& tile) {
  __m256i sums[rows][2];
  for (int row = 0; row < rows; ++row) {
    for (int half = 0; half < 2; ++half) {
      sums[row][half] = vector_at(tile.sums + row * tile.sum_stride + half * kVector);
    }
  }
  std::int64_t k = 0;
  const T* from = tile.matrix;
  for (; k + 2 <= tile.terms; k += 2, from += 2 * tile.matrix_stride) {
    add_two<rows>(from, from + tile.matrix_stride, tile.rows + k, tile.row_stride, sums);
  }
  if (k < tile.terms) add_two<rows>(from, from, tile.rows + k, tile.row_stride, sums);  // by 0
  for (int row = 0; row < rows; ++row) {
    for (int half = 0; half < 2; ++half) {
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(tile.sums + row * tile.sum_stride + half * kVector),
          sums[row][half]);
    }
  }
}

template <class T>
[[gnu::target("avx2")]] void add_tiles(Tile<T> tile, std::int64_t rows) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    add_tile<kTileRows>(tile);
    tile.rows += kTileRows * tile.row_stride;
    tile.sums += kTileRows * tile.sum_stride;
  }
  if (rows == 3) add_tile<3>(tile);
  if (rows == 2) add_tile<2>(tile);
  if (rows == 1) add_tile<1>(tile);
}

/// Columns [first, first + width), kTileColumns or more, of the product.
template <class T>
[[gnu::target("avx2")]] void multiply_part(const WholeRows& rows, const T* matrix,
                                           std::int64_t columns, std::int64_t first,
                                           std::int64_t width, std::int32_t* y) {
  // As many as a cache has lines that can hold a place of each, since rows may be a power of two apart. The matrix is read
  // once, in its order, and the sums stay in a cache.
  constexpr std::int64_t kTerms = 8;
  const std::int64_t whole = (width + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::int64_t stride = whole + kTileColumns;  // no power of two
  std::vector<std::int32_t> sums(static_cast<std::size_t>(rows.count * stride));
  for (std::int64_t k = 0; k < rows.terms; k += kTerms) {
    for (std::int64_t column = 0; column < width; column += kTileColumns) {
      // The last tile ends where the columns do.
      const std::int64_t from = first + std::min(column, width - kTileColumns);
      add_tiles(Tile<T>{rows.numbers + k, rows.stride, matrix + k * columns + from, columns,
                        std::min(kTerms, rows.terms - k), sums.data() + column, stride},
                rows.count);
    }
  }
  const std::int64_t last = whole - kTileColumns;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int32_t* const from = sums.data() + row * stride;
    std::int32_t* const to = y + row * columns + first;
    std::copy_n(from, last, to);
    std::copy_n(from + last, kTileColumns, to + width - kTileColumns);
  }
}

// --- columns of the matrix ---------------------------------------------------------------------------

[[gnu::target("avx2"), gnu::always_inline]] inline std::int32_t sum_of(__m256i numbers) {
  __m128i sum =
      _mm_add_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
  sum = _mm_hadd_epi32(sum, sum);
  return _mm_cvtsi128_si32(_mm_hadd_epi32(sum, sum));
}

/// Adds the products of kTermsAtOnce terms of rows and of columns.
template <int rows, int columns, class T>
[[gnu::target("avx2"), gnu::always_inline]] inline void add_terms(const std::int16_t* factors,
                                                                  std::int64_t stride,
                                                                  const T* const (&from)[columns],
                                                                  __m256i (&sums)[rows][columns]) {
  __m256i terms[columns];
  for (int c = 0; c < columns; ++c) terms[c] = widened<T>(bytes_at(from[c]));
  for (int row = 0; row < rows; ++row) {
    const __m256i given = vector_at(factors + row * stride);
    for (int c = 0; c < columns; ++c) {
      sums[row][c] = _mm256_add_epi32(sums[row][c], _mm256_madd_epi16(given, terms[c]));
    }
  }
}

/// Products of rows, from `factors` on, and of columns that follow each other.
template <int rows, int columns, class T>
[[gnu::target("avx2")]] void dots(const WholeRows& of, const std::int16_t* factors, const T* matrix,
                                  std::int32_t* y, std::int64_t y_stride) {
  __m256i sums[rows][columns];
  for (auto& row : sums) {
    for (__m256i& sum : row) sum = _mm256_setzero_si256();
  }
  const std::int64_t whole = of.terms / kTermsAtOnce * kTermsAtOnce;
  const T* from[columns];
  for (std::int64_t k = 0; k < whole; k += kTermsAtOnce) {
    for (int c = 0; c < columns; ++c) from[c] = matrix + c * of.terms + k;
    add_terms(factors + k, of.stride, from, sums);
  }
  if (whole < of.terms) {
    T last[columns][kTermsAtOnce] = {};
    for (int c = 0; c < columns; ++c) {
      std::copy_n(matrix + c * of.terms + whole, of.terms - whole, last[c]);
      from[c] = last[c];
    }
    add_terms(factors + whole, of.stride, from, sums);
  }
  for (int row = 0; row < rows; ++row) {
    for (int c = 0; c < columns; ++c) y[row * y_stride + c] = sum_of(sums[row][c]);
  }
}

/// Some rows by columns [begin, end).
template <int rows, class T>
void multiply_rows(const WholeRows& of, std::int64_t row, const T* matrix, std::int64_t begin,
                   std::int64_t end, std::int32_t* y, std::int64_t columns) {
  const std::int16_t* const factors = of.numbers + row * of.stride;
  std::int32_t* const to = y + row * columns;
  std::int64_t c = begin;
  for (; c + 2 <= end; c += 2) {
    dots<rows, 2>(of, factors, matrix + c * of.terms, to + c, columns);
  }
  if (c < end) dots<rows, 1>(of, factors, matrix + c * of.terms, to + c, columns);
}

}  // namespace

template <class T>
bool multiply_few_rows(const WholeRows& rows, const T* matrix, std::int64_t columns,
                       std::int32_t* y) {
  constexpr std::int64_t kFew = 16;  // packing takes as long as so many rows save by it
  if (rows.count > kFew || columns < kTileColumns || !__builtin_cpu_supports("avx2")) return false;
  constexpr std::int64_t kPart = 2048;  // columns whose sums stay in a cache
  const std::int64_t tiles = columns / kTileColumns;
  const std::int64_t of_tile = std::max<std::int64_t>(1, rows.count * rows.terms * kTileColumns);
  in_parallel(0, tiles, std::max<std::int64_t>(1, kProducts / of_tile),
              [&](std::int64_t begin, std::int64_t end) {
                // Columns that fill no tile go with the last ones.
                const std::int64_t stop = end == tiles ? columns : end * kTileColumns;
                for (std::int64_t first = begin * kTileColumns; first < stop;) {
                  const std::int64_t left = stop - first;
                  const std::int64_t width = left < kPart + kTileColumns ? left : kPart;
                  multiply_part(rows, matrix, columns, first, width, y);
                  first += width;
                }
              });
  return true;
}

template <class T>
bool multiply_by_columns(const WholeRows& rows, const T* matrix, std::int64_t columns,
                         std::int32_t* y) {
  if (!__builtin_cpu_supports("avx2")) return false;
  constexpr std::int64_t kPart = 1 << 17;  // bytes of the matrix that stay in a cache for all rows
  const std::int64_t terms = std::max<std::int64_t>(1, rows.terms);
  const std::int64_t most = std::max<std::int64_t>(2, kPart / terms / 2 * 2);
  in_parallel(0, columns, std::max<std::int64_t>(2, kProducts / (rows.count * terms)),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t first = begin; first < end; first += most) {
                  const std::int64_t stop = std::min(end, first + most);
                  std::int64_t row = 0;
                  for (; row + kTileRows <= rows.count; row += kTileRows) {
                    multiply_rows<kTileRows>(rows, row, matrix, first, stop, y, columns);
                  }
                  for (; row < rows.count; ++row) {
                    multiply_rows<1>(rows, row, matrix, first, stop, y, columns);
                  }
                }
              });
  return true;
}

}  // namespace berth::runtime::onnx

#else

namespace berth::runtime::onnx {

template <class T>
bool multiply_few_rows(const WholeRows& /*rows*/, const T* /*matrix*/, std::int64_t /*columns*/,
                       std::int32_t* /*y*/) {
  return false;
}
template <class T>
bool multiply_by_columns(const WholeRows& /*rows*/, const T* /*matrix*/, std::int64_t /*columns*/,
                         std::int32_t* /*y*/) {
  return false;
}

}  // namespace berth::runtime::onnx

#endif

namespace berth::runtime::onnx {

template bool multiply_few_rows(const WholeRows&, const std::uint8_t*, std::int64_t, std::int32_t*);
template bool multiply_few_rows(const WholeRows&, const std::int8_t*, std::int64_t, std::int32_t*);
template bool multiply_by_columns(const WholeRows&, const std::uint8_t*, std::int64_t,
                                  std::int32_t*);
template bool multiply_by_columns(const WholeRows&, const std::int8_t*, std::int64_t,
                                  std::int32_t*);

}  // namespace berth::runtime::onnx
