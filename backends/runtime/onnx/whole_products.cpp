#include "runtime/onnx/whole_products.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "runtime/every_machine.h"
#include "runtime/onnx/byte_loops.h"
#include "runtime/onnx/byte_products.h"
#include "runtime/onnx/whole_tiles.h"
#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

using U8 = std::uint8_t;
using I8 = std::int8_t;

bool has_bytes(const Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kByte || x.scalar_type() == at::kChar) &&
         x.numel() > 0;
}
/// Calls with_numbers(the contiguous tensor's numbers).
template <class WithNumbers>
void with_bytes(const Tensor& x, const WithNumbers& with_numbers) {
  x.scalar_type() == at::kByte ? with_numbers(x.data_ptr<U8>()) : with_numbers(x.data_ptr<I8>());
}

Tensor centred(const Quantized& x, at::ScalarType type) {
  const Tensor wide = x.values.to(type);
  return x.zero.defined() ? at::sub(wide, x.zero.to(type)) : wide;
}
/// In i32, which wraps around, where a conversion from f64 would not.
Tensor whole(const Tensor& sums) {
  return sums.scalar_type() == at::kDouble ? sums.to(at::kLong).to(at::kInt) : sums.to(at::kInt);
}

// --- loops -----------------------------------------------------------------------------------------

template <class T>
[[gnu::always_inline]] inline void widen_each(const T* x, std::int32_t zero, std::int64_t count,
                                              std::int16_t* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(x[i] - zero);
}
BERTH_EVERY_MACHINE void widen(const U8* x, std::int32_t zero, std::int64_t n, std::int16_t* to) {
  widen_each(x, zero, n, to);
}
BERTH_EVERY_MACHINE void widen(const I8* x, std::int32_t zero, std::int64_t n, std::int16_t* to) {
  widen_each(x, zero, n, to);
}

/// Columns that follow each other, of terms at these places, in pairs of terms. `count` is even.
template <class T>
[[gnu::always_inline]] inline void interleave_each(const T* from, const std::int64_t* places,
                                                   std::size_t count, std::int16_t* to) {
  for (std::size_t k = 0; k < count; k += 2) {
    const T *const first = from + places[k], *const second = from + places[k + 1];
    for (std::int64_t i = 0; i < kTileColumns; ++i) {
      to[2 * i] = first[i];
      to[2 * i + 1] = second[i];
    }
    to += 2 * kTileColumns;
  }
}
BERTH_EVERY_MACHINE void interleave(const U8* from, const std::int64_t* places, std::size_t count,
                                    std::int16_t* to) {
  interleave_each(from, places, count, to);
}
BERTH_EVERY_MACHINE void interleave(const I8* from, const std::int64_t* places, std::size_t count,
                                    std::int16_t* to) {
  interleave_each(from, places, count, to);
}
BERTH_EVERY_MACHINE void interleave(const std::int16_t* from, const std::int64_t* places,
                                    std::size_t count, std::int16_t* to) {
  interleave_each(from, places, count, to);
}

// Unsigned: what does not fit wraps around.
using Sum = std::uint32_t;
constexpr std::int64_t kRowsAtOnce = 4;
template <class T>
[[gnu::always_inline]] inline void add_each(const T* rows, std::int64_t stride,
                                            const std::int16_t* factors, std::int64_t count,
                                            Sum* sums) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t sum = 0;
    for (std::int64_t row = 0; row < kRowsAtOnce; ++row) {
      sum += factors[row] * rows[row * stride + i];
    }
    sums[i] += static_cast<Sum>(sum);
  }
}
/// kRowsAtOnce rows, each by its factor.
BERTH_EVERY_MACHINE void add_rows(const U8* rows, std::int64_t stride, const std::int16_t* factors,
                                  std::int64_t count, Sum* sums) {
  add_each(rows, stride, factors, count, sums);
}
BERTH_EVERY_MACHINE void add_rows(const I8* rows, std::int64_t stride, const std::int16_t* factors,
                                  std::int64_t count, Sum* sums) {
  add_each(rows, stride, factors, count, sums);
}

// --- products --------------------------------------------------------------------------------------

/// Rows of numbers less their zero points, one for all or one for each row, with zeros behind the terms up to a multiple of
/// `at_once`. Undefined for other zero points.
Tensor widened_rows(const Tensor& rows, const Tensor& zero, std::int64_t at_once) {
  const std::int64_t count = rows.size(0), terms = rows.size(1);
  const std::int64_t stride = (terms + at_once - 1) / at_once * at_once;
  const Ints zeros = zero.defined() ? ints_of(zero) : Ints{0};
  const auto is_one = zeros.size() == 1;
  if (!is_one && static_cast<std::int64_t>(zeros.size()) != count) return {};
  const Tensor made = at::empty({count, stride}, rows.options().dtype(at::kShort));
  std::int16_t* const to = made.data_ptr<std::int16_t>();
  with_bytes(rows, [&](const auto* numbers) {
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t of_row = zeros[is_one ? 0 : static_cast<std::size_t>(row)];
      std::int16_t* const to_row = to + row * stride;
      widen(numbers + row * terms, static_cast<std::int32_t>(of_row), terms, to_row);
      std::fill(to_row + terms, to_row + stride, std::int16_t{0});
    }
  });
  return made;
}

/// A single row by a matrix, which is read once, as it is.
template <class T>
void multiply_row(const std::int16_t* factors, const T* matrix, std::int64_t terms,
                  std::int64_t columns, Sum* y) {
  constexpr std::int64_t kProducts = 1 << 16;  // of a thread, at least
  const std::int64_t whole = terms / kRowsAtOnce * kRowsAtOnce;
  in_parallel(0, columns, std::max<std::int64_t>(64, kProducts / terms),
              [&](std::int64_t begin, std::int64_t end) {
                Sum* const sums = y + begin;
                std::fill(sums, y + end, 0);
                for (std::int64_t k = 0; k < whole; k += kRowsAtOnce) {
                  add_rows(matrix + k * columns + begin, columns, factors + k, end - begin, sums);
                }
                for (std::int64_t k = whole; k < terms; ++k) {
                  for (std::int64_t i = 0; i < end - begin; ++i) {
                    sums[i] += static_cast<Sum>(factors[k] * matrix[k * columns + begin + i]);
                  }
                }
              });
}

/// Places of terms that lie `stride` apart. Behind an odd number follows one that a 0 is multiplied by.
Ints places_of(std::int64_t terms, std::int64_t stride) {
  Ints places;
  for (std::int64_t k = 0; k < terms; ++k) places.push_back(k * stride);
  if (terms % 2 != 0) places.push_back(places.back());
  return places;
}

/// `matrix` [terms, columns].
template <class T>
PackColumns packing_of(const T* matrix, std::int64_t terms, std::int64_t columns) {
  // The last columns, since reading a whole tile would pass the end.
  const std::int64_t whole = columns / kTileColumns * kTileColumns;
  std::vector<T> last(static_cast<std::size_t>(terms * kTileColumns));
  for (std::int64_t k = 0; k < terms && whole < columns; ++k) {
    std::copy_n(matrix + k * columns + whole, columns - whole, last.begin() + k * kTileColumns);
  }
  return [matrix, whole, last = std::move(last), places = places_of(terms, columns),
          last_places = places_of(terms, kTileColumns)](std::int64_t first, std::int16_t* to) {
    if (first < whole) {
      interleave(matrix + first, places.data(), places.size(), to);
    } else {
      interleave(last.data(), last_places.data(), last_places.size(), to);
    }
  };
}

/// The products with a matrix whose rows, or if `turned` its columns, follow each other. False where BLAS is faster.
template <class T>
bool multiply_rows(const WholeRows& rows, const T* matrix, bool turned, std::int64_t columns,
                   std::int32_t* y) {
  if (turned) return multiply_by_columns(rows, matrix, columns, y);
  if (multiply_few_rows(rows, matrix, columns, y)) return true;
  if (rows.count > 1) {
    return multiply_wholes(rows, columns, packing_of(matrix, rows.terms, columns), y);
  }
  multiply_row(rows.numbers, matrix, rows.terms, columns, reinterpret_cast<Sum*>(y));
  return true;
}

/// a [rows, terms] times b [terms, columns], of bytes. Undefined for zero points of a that are no row's, and where BLAS is
/// faster.
Tensor product_of_bytes(const Quantized& a, const Quantized& b) {
  const std::int64_t terms = b.values.size(0), columns = b.values.size(1);
  const Tensor wide =
      widened_rows(a.values.reshape({-1, terms}).contiguous(), a.zero, kTermsAtOnce);
  if (!wide.defined()) return {};
  const WholeRows rows{wide.data_ptr<std::int16_t>(), wide.size(0), terms, wide.size(1)};
  const bool turned = !b.values.is_contiguous() && b.values.t().is_contiguous();
  const Tensor matrix = turned ? b.values.t() : b.values.contiguous();
  const Tensor y = at::empty({rows.count, columns}, wide.options().dtype(at::kInt));
  bool is_done = false;
  with_bytes(matrix, [&](const auto* numbers) {
    is_done = multiply_rows(rows, numbers, turned, columns, y.data_ptr<std::int32_t>());
  });
  if (!is_done) return {};
  const bool is_centred =
      !b.zero.defined() || (b.zero.numel() == 1 && b.zero.item<std::int64_t>() == 0);
  if (is_centred) return y;
  const Tensor sums = at::sum(wide, {1}, /*keepdim=*/true, at::kInt);
  return at::sub(y, at::mul(sums, b.zero.to(at::kInt)));
}

// --- convolutions ----------------------------------------------------------------------------------

/// Images [channels, height, width] with their margins, and how windows lie in them.
struct Margined {
  std::int64_t channels, height, width;
  const Windows& windows;

  Margined(at::IntArrayRef images, const Windows& their_windows)
      : channels(images[1]),
        height(images[2] + their_windows.before[0] + their_windows.after[0]),
        width(images[3] + their_windows.before[1] + their_windows.after[1]),
        windows(their_windows) {}

  /// Margins are none that take away, and no window passes them.
  [[nodiscard]] bool holds_all() const {
    const auto holds = [&](std::size_t axis, std::int64_t size) {
      return windows.before[axis] >= 0 && windows.after[axis] >= 0 && windows.dilations[axis] > 0 &&
             windows.counts[axis] > 0 &&
             (windows.counts[axis] - 1) * windows.strides[axis] +
                     (windows.kernel[axis] - 1) * windows.dilations[axis] <
                 size;
    };
    return holds(0, height) && holds(1, width);
  }

  /// Places that a window reads, from its first one, in the order of a filter. Behind an odd number as in places_of.
  [[nodiscard]] Ints taps() const {
    Ints places;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < windows.kernel[0]; ++i) {
        for (std::int64_t j = 0; j < windows.kernel[1]; ++j) {
          places.push_back((c * height + i * windows.dilations[0]) * width +
                           j * windows.dilations[1]);
        }
      }
    }
    if (places.size() % 2 != 0) places.push_back(places.back());
    return places;
  }
  /// Its first place.
  [[nodiscard]] std::int64_t window(std::int64_t number) const {
    return number / windows.counts[1] * windows.strides[0] * width +
           number % windows.counts[1] * windows.strides[1];
  }
};

void pack_windows(const std::int16_t* image, const Margined& margined, const Ints& taps,
                  std::int64_t first, std::int16_t* to) {
  std::array<std::int64_t, kTileColumns> begins;
  const std::int64_t last = margined.windows.counts[0] * margined.windows.counts[1] - 1;
  for (std::int64_t i = 0; i < kTileColumns; ++i) {
    begins[static_cast<std::size_t>(i)] = margined.window(std::min(first + i, last));
  }
  const bool follow_each_other =
      begins.back() - begins.front() == kTileColumns - 1 && first + kTileColumns - 1 <= last;
  if (follow_each_other) {
    interleave(image + begins[0], taps.data(), taps.size(), to);
    return;
  }
  for (std::size_t k = 0; k < taps.size(); k += 2) {
    for (const std::int64_t begin : begins) {
      *to++ = image[begin + taps[k]];
      *to++ = image[begin + taps[k + 1]];
    }
  }
}

/// The one zero point of images; absent if there are several.
std::optional<std::int32_t> zero_of(const Quantized& images) {
  if (!images.zero.defined()) return 0;
  if (images.zero.numel() != 1) return std::nullopt;
  return images.zero.item<std::int32_t>();
}

/// `image` [channels, height, width].
template <class T>
void widen_image(const T* image, std::int32_t zero, at::IntArrayRef sizes, const Margined& margined,
                 std::int16_t* to) {
  for (std::int64_t row = 0; row < sizes[0] * sizes[1]; ++row) {
    const std::int64_t into =
        row / sizes[1] * margined.height + row % sizes[1] + margined.windows.before[0];
    widen(image + row * sizes[2], zero, sizes[2],
          to + into * margined.width + margined.windows.before[1]);
  }
}

/// Planes of bytes, filters over all channels. Undefined for zero points that are no image's or no filter's, and for windows
/// that lie elsewhere.
Tensor convolution_of_bytes(const Quantized& images, const Quantized& weight,
                            const Windows& windows) {
  const Tensor filters = widened_rows(weight.values.flatten(1).contiguous(), weight.zero, 2);
  const std::optional<std::int32_t> zero = zero_of(images);
  const Tensor x = images.values.contiguous();
  const Margined margined(x.sizes(), windows);
  if (!filters.defined() || !zero || !margined.holds_all()) return {};
  const Tensor wide = at::zeros({margined.channels, margined.height, margined.width},
                                x.options().dtype(at::kShort));
  const Tensor y = at::empty({x.size(0), filters.size(0), windows.counts[0], windows.counts[1]},
                             x.options().dtype(at::kInt));
  const Ints taps = margined.taps();
  const WholeRows rows{filters.data_ptr<std::int16_t>(), filters.size(0), weight.values[0].numel(),
                       filters.size(1)};
  const std::int64_t count = windows.counts[0] * windows.counts[1];
  const auto pack = [&](std::int64_t first, std::int16_t* to) {
    pack_windows(wide.data_ptr<std::int16_t>(), margined, taps, first, to);
  };
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    with_bytes(x, [&](const auto* numbers) {
      widen_image(numbers + i * x.stride(0), *zero, x.sizes().slice(1), margined,
                  wide.data_ptr<std::int16_t>());
    });
    if (!multiply_wholes(rows, count, pack, y.data_ptr<std::int32_t>() + i * rows.count * count)) {
      return {};
    }
  }
  return y;
}

// Neighbours in a row of results, which one vector holds.
constexpr std::int64_t kNeighbours = 8;
using Shorts = std::int16_t __attribute__((vector_size(kNeighbours * sizeof(std::int16_t))));
using Sums = Sum __attribute__((vector_size(kNeighbours * sizeof(Sum))));

/// Numbers that lie `stride` apart.
template <std::int64_t stride>
[[gnu::always_inline]] inline void read_neighbours(const std::int16_t* from, std::int64_t any,
                                                   Sums& to) {
  Shorts shorts;
  if constexpr (stride == 1) {
    std::memcpy(&shorts, from, sizeof shorts);
  } else if constexpr (stride == 2) {
    Shorts halves[2];
    std::memcpy(halves, from, sizeof halves);
    shorts = __builtin_shufflevector(halves[0], halves[1], 0, 2, 4, 6, 8, 10, 12, 14);
  } else {
    for (std::int64_t i = 0; i < kNeighbours; ++i) shorts[i] = from[i * any];
  }
  to = __builtin_convertvector(shorts, Sums);
}

/// A row of windows whose places lie `stride` apart. Reads numbers of kNeighbours more.
template <std::int64_t stride>
[[gnu::always_inline]] inline void slide_each(const std::int16_t* from, const Ints& taps,
                                              const std::int16_t* filter, std::int64_t any,
                                              std::int64_t count, std::int32_t* to) {
  for (std::int64_t i = 0; i < count; i += kNeighbours) {
    Sums sums = {};
    for (std::size_t k = 0; k < taps.size(); ++k) {
      Sums numbers;
      read_neighbours<stride>(from + i * any + taps[k], any, numbers);
      sums += numbers * static_cast<Sum>(filter[k]);
    }
    std::memcpy(to + i, &sums,
                static_cast<std::size_t>(std::min(kNeighbours, count - i)) * sizeof(Sum));
  }
}
BERTH_EVERY_MACHINE void slide(const std::int16_t* from, const Ints& taps,
                               const std::int16_t* filter, std::int64_t stride, std::int64_t count,
                               std::int32_t* to) {
  stride == 1   ? slide_each<1>(from, taps, filter, 1, count, to)
  : stride == 2 ? slide_each<2>(from, taps, filter, 2, count, to)
                : slide_each<0>(from, taps, filter, stride, count, to);
}

/// convolution_of_bytes where filters read one channel each, in the order of channels.
Tensor depthwise_of_bytes(const Quantized& images, const Quantized& weight,
                          const Windows& windows) {
  const Tensor filters = widened_rows(weight.values.flatten(1).contiguous(), weight.zero, 2);
  if (!filters.defined() || filters.size(0) % images.values.size(1) != 0) return {};
  const std::optional<std::int32_t> zero = zero_of(images);
  const Tensor x = images.values.contiguous();
  const std::int64_t channels = x.size(1), of_channel = filters.size(0) / channels;
  const Margined margined({1, 1, x.size(2), x.size(3)}, windows);
  if (!zero || !margined.holds_all()) return {};
  const std::int64_t rows = windows.counts[0], columns = windows.counts[1];
  const std::int64_t stride = windows.strides[1];
  const Tensor y =
      at::empty({x.size(0), filters.size(0), rows, columns}, x.options().dtype(at::kInt));
  const Ints taps = margined.taps();
  const std::int64_t beyond = kNeighbours * (stride + 1);
  constexpr std::int64_t kProducts = 1 << 17;  // of a thread, at least
  const std::int64_t of_plane = of_channel * rows * columns * filters.size(1);
  const auto convolve = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int16_t> wide(
        static_cast<std::size_t>(margined.height * margined.width + beyond));
    for (std::int64_t plane = begin; plane < end; ++plane) {
      with_bytes(x, [&](const auto* numbers) {
        widen_image(numbers + plane * x.stride(1), *zero, {1, x.size(2), x.size(3)}, margined,
                    wide.data());
      });
      for (std::int64_t row = 0; row < of_channel * rows; ++row) {
        const std::int64_t filter = plane % channels * of_channel + row / rows;
        slide(wide.data() + margined.window(row % rows * columns), taps,
              filters.data_ptr<std::int16_t>() + filter * filters.size(1), stride, columns,
              y.data_ptr<std::int32_t>() + (plane * of_channel * rows + row) * columns);
      }
    }
  };
  in_parallel(0, x.size(0) * channels, 1 + kProducts / (1 + of_plane), convolve);
  return y;
}

/// Whether f32 holds every sum of such a convolution: whole numbers up to 2^24 are exact, in sums of any order. A number of
/// 8 bits is at most 255 from its zero point.
bool fits_f32(const Tensor& weight) {
  return at::abs(weight).flatten(1).sum(-1).max().item<float>() <= 0x1p24F / 255;
}

}  // namespace

Tensor whole_product(const Quantized& a, const Quantized& b) {
  if (has_bytes(a.values) && has_bytes(b.values) && a.values.dim() > 0 && b.values.dim() == 2 &&
      a.values.size(-1) == b.values.size(0)) {
    const Tensor y = product_of_bytes(a, b);
    Ints shape = a.values.sizes().vec();
    shape.back() = b.values.size(1);
    if (y.defined()) return y.reshape(shape);
  }
  return whole(at::matmul(centred(a, at::kDouble), centred(b, at::kDouble)));
}

Tensor WholeConvolution::of(KernelContext& context, const Quantized& images,
                            const Quantized& weight) const {
  const Tensor &x = images.values, &w = weight.values;
  const bool are_bytes = has_bytes(x) && has_bytes(w) && x.dim() == w.dim() && x.dim() > 2;
  const bool is_image = are_bytes && x.dim() == 4;
  const bool is_depthwise = is_image && groups == x.size(1) && w.size(1) == 1;
  if (is_depthwise || (is_image && groups == 1 && x.size(1) == w.size(1))) {
    const Windows placed = windows_over(windows, w.sizes().slice(2).vec(), x.sizes().slice(2));
    const Tensor y = is_depthwise ? depthwise_of_bytes(images, weight, placed)
                                  : convolution_of_bytes(images, weight, placed);
    if (y.defined()) return y;
  }
  const auto result = [&](at::ScalarType type) {
    const Value inputs[] = {{centred(images, type), nullptr}, {centred(weight, type), nullptr}};
    Value output;
    plain(context, inputs, std::span(&output, 1));
    return output.tensor;
  };
  const bool is_exact = are_bytes && fits_f32(centred(weight, at::kFloat));
  return whole(result(is_exact ? at::kFloat : at::kDouble));
}

}  // namespace berth::runtime::onnx
