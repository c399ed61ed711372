#include "runtime/onnx/planes.h"

#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "runtime/every_machine.h"
#include "runtime/layouts.h"
#include "runtime/parallel.h"
#include "runtime/vector_math.h"

namespace berth::runtime::onnx {
namespace {

// --- resizing ------------------------------------------------------------------------------------

/// Images as [outer, rows, columns, inner].
struct Planes {
  explicit Planes(const Tensor& images)
      : turned(has_channels_innermost(images)),
        rows(images.size(-2)),
        columns(images.size(-1)),
        inner(turned ? images.size(1) : 1) {}

  bool turned;
  std::int64_t rows, columns, inner;
};

std::int64_t count_of(const Sources& sources, std::int64_t length) {
  return sources.first.empty() ? length : static_cast<std::int64_t>(sources.first.size());
}

/// The count of each column's repeats, where all are repeated in order; or 0.
std::int64_t factor_of(const Ints& sources, std::int64_t length) {
  const auto size = static_cast<std::int64_t>(sources.size());
  const std::int64_t factor = length == 0 ? 0 : size / length;
  if (factor * length != size) return 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (sources[static_cast<std::size_t>(i)] != i / factor) return 0;
  }
  return factor;
}

/// Copies of the pixels of a row, of which each has `inner` elements.
template <class Element>
void copy_columns(const Element* row, Element* to, const Ints& columns, std::int64_t factor,
                  std::int64_t inner) {
  const auto count = static_cast<std::int64_t>(columns.size());
  if (inner > 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(row + columns[static_cast<std::size_t>(i)] * inner, inner, to + i * inner);
    }
  } else if (factor == 2) {
    for (std::int64_t i = 0; i < count / 2; ++i) to[2 * i] = to[2 * i + 1] = row[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = row[columns[static_cast<std::size_t>(i)]];
  }
}

template <class Element>
void copy_planes(const Tensor& from, const Tensor& to, const Sources& rows,
                 const Sources& columns) {
  const Planes planes(from);
  const std::int64_t row_count = count_of(rows, planes.rows);
  const std::int64_t given = planes.columns * planes.inner;
  const std::int64_t made = count_of(columns, planes.columns) * planes.inner;
  const std::int64_t factor = factor_of(columns.first, planes.columns);
  const auto* const source = static_cast<const Element*>(from.data_ptr());
  auto* const target = static_cast<Element*>(to.data_ptr());
  const auto row_of = [&](std::int64_t row) {
    return rows.first.empty() ? row : rows.first[static_cast<std::size_t>(row)];
  };
  const std::int64_t outer = from.numel() / (planes.rows * given);
  in_parallel(0, outer, 1 + 32768 / (row_count * made), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      for (std::int64_t row = 0; row < row_count; ++row) {
        Element* const out = target + (plane * row_count + row) * made;
        const Element* const in = source + (plane * planes.rows + row_of(row)) * given;
        if (row > 0 && row_of(row) == row_of(row - 1)) {
          std::copy_n(out - made, made, out);
        } else if (columns.first.empty()) {
          std::copy_n(in, made, out);
        } else {
          copy_columns(in, out, columns.first, factor, planes.inner);
        }
      }
    }
  });
}

BERTH_EVERY_MACHINE void blend(float* to, const float* a, float of_a, const float* b, float of_b,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = a[i] * of_a + b[i] * of_b;
}

/// A row's columns between those that it has.
void blend_columns(const float* row, float* to, const Sources& columns, std::int64_t inner) {
  for (std::size_t i = 0; i < columns.first.size(); ++i) {
    const float* const a = row + columns.first[i] * inner;
    const float* const b = row + columns.second[i] * inner;
    if (inner == 1) {
      to[i] = *a * columns.of_first[i] + *b * columns.of_second[i];
    } else {
      blend(to + static_cast<std::int64_t>(i) * inner, a, columns.of_first[i], b,
            columns.of_second[i], inner);
    }
  }
}

/// The rows of a plane with their columns between those that they have: the last two that were asked for are kept.
class WideRows {
 public:
  WideRows(const Planes& planes, const Sources& columns)
      : columns_(columns), given_(planes.columns * planes.inner), inner_(planes.inner) {
    for (std::vector<float>& each : kept_) {
      each.resize(columns.first.size() * static_cast<std::size_t>(inner_));
    }
  }

  void begin(const float* plane) {
    plane_ = plane;
    of_ = {-1, -1};
  }
  /// Stays as it is until two other rows are asked for.
  const float* row(std::int64_t index) {
    const float* const in = plane_ + index * given_;
    if (columns_.first.empty()) return in;
    for (const std::size_t slot : {0U, 1U}) {
      if (of_[slot] == index) {
        last_ = slot;
        return kept_[slot].data();
      }
    }
    last_ = 1 - last_;
    of_[last_] = index;
    blend_columns(in, kept_[last_].data(), columns_, inner_);
    return kept_[last_].data();
  }

 private:
  const Sources& columns_;
  std::int64_t given_, inner_;
  const float* plane_ = nullptr;
  std::array<std::vector<float>, 2> kept_;
  std::array<std::int64_t, 2> of_ = {-1, -1};
  std::size_t last_ = 0;
};

void blend_planes(const Tensor& from, const Tensor& to, const Sources& rows,
                  const Sources& columns) {
  const Planes planes(from);
  const std::int64_t row_count = count_of(rows, planes.rows);
  const std::int64_t given = planes.rows * planes.columns * planes.inner;
  const std::int64_t made = count_of(columns, planes.columns) * planes.inner;
  const float* const source = from.data_ptr<float>();
  float* const target = to.data_ptr<float>();
  const std::int64_t outer = from.numel() / given;
  in_parallel(0, outer, 1 + 32768 / (row_count * made), [&](std::int64_t begin, std::int64_t end) {
    WideRows wide(planes, columns);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      wide.begin(source + plane * given);
      for (std::int64_t row = 0; row < row_count; ++row) {
        float* const out = target + (plane * row_count + row) * made;
        const auto r = static_cast<std::size_t>(row);
        if (rows.first.empty()) {
          std::copy_n(wide.row(row), made, out);
        } else {
          const float* const a = wide.row(rows.first[r]);
          blend(out, a, rows.of_first[r], wide.row(rows.second[r]), rows.of_second[r], made);
        }
      }
    }
  });
}

// --- extremes ------------------------------------------------------------------------------------

/// Numbers of a row that are above the best so far, or are none, become the best, with the row's index.
BERTH_EVERY_MACHINE void raise(float* best, std::int32_t* where, const float* row, float sign,
                               std::int32_t index, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = row[i] * sign;
    const bool is_first_nan = (x != x) & (best[i] == best[i]);
    const bool better = (x > best[i]) | is_first_nan;
    best[i] = vectors::chosen(better, x, best[i]);
    const std::int32_t mask = -static_cast<std::int32_t>(better);
    where[i] = (index & mask) | (where[i] & ~mask);
  }
}

/// The indices along the first axis of [length, columns], for a part of the columns.
void find_extremes(const float* x, std::int64_t* to, std::int64_t length, std::int64_t columns,
                   std::int64_t first, std::int64_t count, float sign, bool last) {
  constexpr std::int64_t kPart = 512;
  std::array<float, kPart> best;
  std::array<std::int32_t, kPart> where;
  for (std::int64_t begin = first; begin < first + count; begin += kPart) {
    const std::int64_t part = std::min(kPart, first + count - begin);
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t index = last ? length - 1 - k : k;
      const float* const row = x + index * columns + begin;
      if (k == 0) {
        for (std::int64_t i = 0; i < part; ++i) best[static_cast<std::size_t>(i)] = row[i] * sign;
        where.fill(static_cast<std::int32_t>(index));
      } else {
        raise(best.data(), where.data(), row, sign, static_cast<std::int32_t>(index), part);
      }
    }
    std::copy_n(where.begin(), part, to + begin);
  }
}

// --- averages ------------------------------------------------------------------------------------

BERTH_EVERY_MACHINE double sum_of(const float* x, std::int64_t count) {
  constexpr std::int64_t kSums = 16;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) sums[k] += x[i + k];
  }
  double sum = 0;
  for (; i < count; ++i) sum += x[i];
  for (const double each : sums) sum += each;
  return sum;
}

BERTH_EVERY_MACHINE void add_to(double* sums, const float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += x[i];
}

}  // namespace

bool resamples(const Tensor& images, bool with_weights) {
  if (!images.is_cpu() || images.dim() < 2 || images.numel() == 0) return false;
  if (with_weights && images.scalar_type() != at::kFloat) return false;
  return images.is_contiguous() ||
         (images.dim() == 4 && images.is_contiguous(at::MemoryFormat::ChannelsLast));
}

Tensor resampled(const Tensor& images, const Sources& rows, const Sources& columns) {
  Ints shape = images.sizes().vec();
  shape[shape.size() - 2] = count_of(rows, images.size(-2));
  shape[shape.size() - 1] = count_of(columns, images.size(-1));
  const auto format =
      Planes(images).turned ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  Tensor y = at::empty(shape, images.options(), format);
  if (y.numel() == 0) return y;
  const bool sums = !rows.second.empty() || !columns.second.empty();
  if (sums) {
    blend_planes(images, y, rows, columns);
  } else if (images.itemsize() == 1) {
    copy_planes<std::uint8_t>(images, y, rows, columns);
  } else if (images.itemsize() == 2) {
    copy_planes<std::uint16_t>(images, y, rows, columns);
  } else if (images.itemsize() == 4) {
    copy_planes<std::uint32_t>(images, y, rows, columns);
  } else if (images.itemsize() == 8) {
    copy_planes<std::uint64_t>(images, y, rows, columns);
  } else {
    copy_planes<std::array<std::uint64_t, 2>>(images, y, rows, columns);
  }
  return y;
}

Tensor global_average(const Tensor& x) {
  Ints axes(static_cast<std::size_t>(std::max<std::int64_t>(x.dim() - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  const bool turned = has_channels_innermost(x) && x.dim() == 4;
  const bool is_plain = x.is_cpu() && x.scalar_type() == at::kFloat && x.dim() > 2 &&
                        x.numel() > 0 && (turned || x.is_contiguous());
  if (!is_plain) return at::mean(x, axes, true, at::kDouble).to(x.scalar_type());
  Ints shape = x.sizes().vec();
  std::fill(shape.begin() + 2, shape.end(), 1);
  const Tensor y = at::empty(shape, x.options());
  const std::int64_t channels = x.size(1), size = c10::multiply_integers(x.sizes().slice(2));
  const float* const from = x.data_ptr<float>();
  float* const to = y.data_ptr<float>();
  const auto mean = [&](double sum) { return static_cast<float>(sum / static_cast<double>(size)); };
  if (!turned) {
    in_parallel(0, y.numel(), 1 + 32768 / size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = mean(sum_of(from + i * size, size));
    });
    return y;
  }
  std::vector<double> sums(static_cast<std::size_t>(channels));
  for (std::int64_t image = 0; image < x.size(0); ++image) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::int64_t i = 0; i < size; ++i) {
      add_to(sums.data(), from + (image * size + i) * channels, channels);
    }
    std::transform(sums.begin(), sums.end(), to + image * channels, mean);
  }
  return y;
}

Tensor index_of_extreme(const Tensor& x, std::int64_t axis, bool keep, bool largest, bool last) {
  const std::int64_t length = x.dim() == 0 ? 1 : x.size(axis);
  const std::int64_t columns =
      x.dim() == 0 ? 1
                   : c10::multiply_integers(x.sizes().slice(static_cast<std::size_t>(axis) + 1));
  const bool is_plain = x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous() &&
                        x.numel() > 0 && columns >= 8;
  if (!is_plain) {
    const Tensor turned = last ? at::flip(x, axis) : x;
    const Tensor found = largest ? at::argmax(turned, axis, keep) : at::argmin(turned, axis, keep);
    return last ? at::rsub(found, length - 1) : found;
  }
  Ints shape = x.sizes().vec();
  shape[static_cast<std::size_t>(axis)] = 1;
  const Tensor found = at::empty(shape, x.options().dtype(at::kLong));
  const float* const from = x.data_ptr<float>();
  auto* const to = found.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel() / (length * columns); ++i) {
    in_parallel(0, columns, 1 + 32768 / length, [&](std::int64_t begin, std::int64_t end) {
      find_extremes(from + i * length * columns, to + i * columns, length, columns, begin,
                    end - begin, largest ? 1.0F : -1.0F, last);
    });
  }
  return keep ? found : found.squeeze(axis);
}

}  // namespace berth::runtime::onnx
