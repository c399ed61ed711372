#include "runtime/onnx/block_product.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/empty.h"
#include "runtime/every_machine.h"
#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

// A group of words of 32 bits is read at once. The numbers at one place of each word make a vector, so that none of them
// moves: columns are multiplied in the order [group, place in a word, word].
constexpr std::int64_t kWords = 8, kWordBits = 32, kGroupBytes = kWords * kWordBits / 8;
using Reals = float __attribute__((vector_size(kGroupBytes)));
using Words = std::uint32_t __attribute__((vector_size(kGroupBytes)));
using Wholes = std::int32_t __attribute__((vector_size(kGroupBytes)));

/// One row's contents, each with zeros up to the end of a group.
struct Row {
  std::vector<std::uint8_t> packed;
  std::vector<float> scales, zeros;  // by block
  std::vector<float> reals;          // once they are unpacked
};

struct Matrix {
  std::int64_t rows, row_bytes, blocks, groups;
  int bits, shift;               // words of a group that share a scale: 2 to the power of this
  std::int64_t groups_in_block;  // 1 if it has several blocks
  const std::uint8_t* packed;
  const float* scales;
  const std::uint8_t* packed_zeros;  // or null
  const float* zeros;                // or null
  float usual_zero;

  [[nodiscard]] std::int64_t width() const { return groups * kWords * (kWordBits / bits); }
  [[nodiscard]] Row empty_row() const {
    const auto padded_blocks = static_cast<std::size_t>(blocks + kWords);
    return {std::vector<std::uint8_t>(static_cast<std::size_t>(groups * kGroupBytes)),
            std::vector<float>(padded_blocks),
            std::vector<float>(padded_blocks, usual_zero),
            {}};
  }
  void read(std::int64_t row, Row& to) const;
};

void Matrix::read(std::int64_t row, Row& to) const {
  std::copy_n(packed + row * row_bytes, row_bytes, to.packed.begin());
  std::copy_n(scales + row * blocks, blocks, to.scales.begin());
  if (zeros != nullptr) std::copy_n(zeros + row * blocks, blocks, to.zeros.begin());
  if (packed_zeros == nullptr) return;
  const std::uint8_t* const from = packed_zeros + row * ((blocks * bits + 7) / 8);
  const int in_byte = 8 / bits, mask = (1 << bits) - 1;
  for (std::int64_t b = 0; b < blocks; ++b) {
    to.zeros[static_cast<std::size_t>(b)] =
        static_cast<float>((from[b / in_byte] >> (b % in_byte * bits)) & mask);
  }
}

// References: vectors that are passed or returned would make a function's ABI depend on the machine.
template <int shift>
[[gnu::always_inline]] inline void read_group(const Matrix& matrix, const Row& row, std::int64_t g,
                                              Words& words, Reals& scale, Reals& zero) {
  const std::int64_t block = shift < 3 ? g * (kWords >> shift) : g / matrix.groups_in_block;
  std::memcpy(&words, row.packed.data() + g * kGroupBytes, kGroupBytes);
  for (int word = 0; word < kWords; ++word) {
    scale[word] = row.scales[static_cast<std::size_t>(block + (word >> shift))];
    zero[word] = row.zeros[static_cast<std::size_t>(block + (word >> shift))];
  }
}

template <int bits>
[[gnu::always_inline]] inline void unpack(const Words& words, int place, const Reals& zero,
                                          Reals& to) {
  constexpr std::uint32_t kMask = (std::uint32_t{1} << bits) - 1;
  const Words numbers = (words >> (place * bits)) & kMask;
  to = __builtin_convertvector(reinterpret_cast<const Wholes&>(numbers), Reals) - zero;
}

/// One number of y.
struct Dot {
  template <int bits, int shift>
  [[gnu::always_inline]] static inline float run(const Matrix& matrix, const Row& row,
                                                 const float* x) {
    Reals total{};
    for (std::int64_t g = 0; g < matrix.groups; ++g) {
      Words words;
      Reals scale, zero;
      read_group<shift>(matrix, row, g, words, scale, zero);
      Reals sums[2] = {};  // two chains, since a sum waits for the one before
      for (int place = 0; place < kWordBits / bits; ++place) {
        Reals weights, values;
        unpack<bits>(words, place, zero, weights);
        std::memcpy(&values, x, kGroupBytes);
        sums[place % 2] += values * weights;
        x += kWords;
      }
      total += (sums[0] + sums[1]) * scale;
    }
    float sum = 0;
    for (int word = 0; word < kWords; ++word) sum += total[word];
    return sum;
  }
};

/// A row in f32.
struct Unpacked {
  template <int bits, int shift>
  [[gnu::always_inline]] static inline void run(const Matrix& matrix, const Row& row, float* to) {
    for (std::int64_t g = 0; g < matrix.groups; ++g) {
      Words words;
      Reals scale, zero;
      read_group<shift>(matrix, row, g, words, scale, zero);
      for (int place = 0; place < kWordBits / bits; ++place) {
        Reals weights;
        unpack<bits>(words, place, zero, weights);
        weights *= scale;
        std::memcpy(to, &weights, kGroupBytes);
        to += kWords;
      }
    }
  }
};

template <class Loop, int bits, class Number>
[[gnu::always_inline]] inline auto run(const Matrix& matrix, const Row& row, Number* numbers) {
  switch (matrix.shift) {
    case 0:
      return Loop::template run<bits, 0>(matrix, row, numbers);
    case 1:
      return Loop::template run<bits, 1>(matrix, row, numbers);
    case 2:
      return Loop::template run<bits, 2>(matrix, row, numbers);
    default:
      return Loop::template run<bits, 3>(matrix, row, numbers);
  }
}
/// The loop's form for the matrix. `numbers` are in the order of groups.
template <class Loop, class Number>
[[gnu::always_inline]] inline auto run(const Matrix& matrix, const Row& row, Number* numbers) {
  return matrix.bits == 2   ? run<Loop, 2>(matrix, row, numbers)
         : matrix.bits == 4 ? run<Loop, 4>(matrix, row, numbers)
                            : run<Loop, 8>(matrix, row, numbers);
}

BERTH_EVERY_MACHINE float dot(const Matrix& matrix, const Row& row, const float* x) {
  return run<Dot>(matrix, row, x);
}
BERTH_EVERY_MACHINE void unpack(const Matrix& matrix, const Row& row, float* to) {
  run<Unpacked>(matrix, row, to);
}

/// The product of two rows in the order of groups.
BERTH_EVERY_MACHINE float dot(const float* a, const float* b, std::int64_t width) {
  constexpr std::int64_t kChains = 4;  // a group holds a multiple of so many vectors
  Reals sums[kChains] = {};
  for (std::int64_t i = 0; i < width; i += kChains * kWords) {
    for (std::int64_t chain = 0; chain < kChains; ++chain) {
      Reals x, y;
      std::memcpy(&x, a + i + chain * kWords, kGroupBytes);
      std::memcpy(&y, b + i + chain * kWords, kGroupBytes);
      sums[chain] += x * y;
    }
  }
  const Reals total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float sum = 0;
  for (int word = 0; word < kWords; ++word) sum += total[word];
  return sum;
}

/// Absent: not for the loops here.
std::optional<Matrix> matrix_of(const BlockMatrix& given) {
  const auto numbers = [](const Tensor& tensor) {
    return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
  };
  const std::int64_t block_bits = given.block * given.bits;
  if (!given.packed.is_cpu() || given.packed.scalar_type() != at::kByte ||
      !given.packed.is_contiguous() || given.packed.dim() != 2 || given.packed.numel() == 0 ||
      !numbers(given.scales) || block_bits % kWordBits != 0 ||
      !std::has_single_bit(static_cast<std::uint64_t>(block_bits))) {
    return std::nullopt;
  }
  Matrix matrix{};
  matrix.bits = static_cast<int>(given.bits);
  matrix.rows = given.packed.size(0);
  matrix.row_bytes = given.packed.size(1);
  matrix.blocks = matrix.row_bytes * 8 / block_bits;
  matrix.groups = (matrix.row_bytes + kGroupBytes - 1) / kGroupBytes;
  const std::int64_t words = block_bits / kWordBits;
  matrix.shift = static_cast<int>(std::countr_zero(static_cast<std::uint64_t>(words)));
  matrix.shift = std::min(matrix.shift, 3);
  matrix.groups_in_block = std::max<std::int64_t>(1, words / kWords);
  matrix.packed = given.packed.data_ptr<std::uint8_t>();
  matrix.scales = given.scales.data_ptr<float>();
  matrix.usual_zero = static_cast<float>(given.usual_zero);
  bool fits = matrix.blocks * block_bits == matrix.row_bytes * 8 &&
              given.scales.numel() == matrix.rows * matrix.blocks;
  if (given.zeros.defined() && given.zeros.scalar_type() == at::kByte) {
    fits = fits && given.zeros.is_cpu() && given.zeros.is_contiguous() &&
           given.zeros.numel() == matrix.rows * ((matrix.blocks * given.bits + 7) / 8);
    matrix.packed_zeros = fits ? given.zeros.data_ptr<std::uint8_t>() : nullptr;
  } else if (given.zeros.defined()) {
    fits = fits && numbers(given.zeros) && given.zeros.numel() == matrix.rows * matrix.blocks;
    matrix.zeros = fits ? given.zeros.data_ptr<float>() : nullptr;
  }
  return fits ? std::optional(matrix) : std::nullopt;
}

/// Rows of x in the order of groups, with zeros up to the end of the last one.
Tensor in_groups(const Tensor& x, const Matrix& matrix) {
  const std::int64_t rows = x.size(0);
  return runtime::padded(x, {0, matrix.width() - x.size(1)})
      .reshape({rows, matrix.groups, kWords, kWordBits / matrix.bits})
      .transpose(2, 3)
      .reshape({rows, matrix.width()})
      .contiguous();
}

/// Calls visit(row, its contents) for each of `count` rows from `first` on, on all of the device's threads.
template <class Visit>
void for_rows(const Matrix& matrix, std::int64_t first, std::int64_t count, const Visit& visit) {
  constexpr std::int64_t kNumbers = 1 << 16;  // of a thread, at least
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbers / matrix.width());
  in_parallel(first, first + count, grain, [&](std::int64_t begin, std::int64_t end) {
    Row contents = matrix.empty_row();
    for (std::int64_t row = begin; row < end; ++row) {
      matrix.read(row, contents);
      visit(row, contents);
    }
  });
}

/// Each row of the matrix is multiplied as it is unpacked, or is in a cache when it has been unpacked for several.
void multiply_few(const Matrix& matrix, const Tensor& x, const Tensor& y) {
  const std::int64_t count = x.size(0), width = matrix.width();
  const float* const from = x.data_ptr<float>();
  float* const to = y.data_ptr<float>();
  for_rows(matrix, 0, matrix.rows, [&](std::int64_t row, Row& contents) {
    if (count == 1) {
      to[row] = dot(matrix, contents, from);
      return;
    }
    contents.reals.resize(static_cast<std::size_t>(width));
    unpack(matrix, contents, contents.reals.data());
    for (std::int64_t i = 0; i < count; ++i) {
      to[i * matrix.rows + row] = dot(contents.reals.data(), from + i * width, width);
    }
  });
}

}  // namespace

Tensor block_product(const Tensor& x, const BlockMatrix& given) {
  const std::optional<Matrix> matrix = matrix_of(given);
  if (!matrix || !x.is_cpu() || x.scalar_type() != at::kFloat || x.dim() == 0 || x.numel() == 0 ||
      x.size(-1) > matrix->width()) {
    return {};
  }
  Ints shape = x.sizes().vec();
  shape.back() = matrix->rows;
  const Tensor rows = in_groups(x.reshape({-1, x.size(-1)}), *matrix);
  const Tensor y = at::empty({rows.size(0), matrix->rows}, x.options());
  // Rows for which BLAS would take longer to arrange the matrix than to multiply.
  constexpr std::int64_t kFew = 12;
  if (rows.size(0) <= kFew) {
    multiply_few(*matrix, rows, y);
    return y.reshape(shape);
  }
  constexpr std::int64_t kTile = 1 << 18;  // numbers
  const std::int64_t most = std::clamp<std::int64_t>(kTile / matrix->width(), 1, matrix->rows);
  const Tensor tile = at::empty({most, matrix->width()}, x.options());
  for (std::int64_t first = 0; first < matrix->rows; first += most) {
    const std::int64_t count = std::min(most, matrix->rows - first);
    for_rows(*matrix, first, count, [&](std::int64_t row, const Row& contents) {
      unpack(*matrix, contents, tile.data_ptr<float>() + (row - first) * matrix->width());
    });
    Tensor part = y.narrow(1, first, count);
    at::mm_out(part, rows, tile.narrow(0, 0, count).t());
  }
  return y.reshape(shape);
}

}  // namespace berth::runtime::onnx
