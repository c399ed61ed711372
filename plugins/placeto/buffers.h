// Named views of the floats that a pass through the network works in.
#pragma once

#include <algorithm>
#include <cstddef>

namespace berth::placeto {

/// Rows of `width` floats, one after the other.
template <typename Float>
struct RowsOf {
  Float* data = nullptr;
  std::size_t count = 0;
  std::size_t width = 0;

  [[nodiscard]] Float* row(std::size_t r) const { return data + r * width; }
  [[nodiscard]] std::size_t size() const { return count * width; }
  [[nodiscard]] RowsOf part(std::size_t first, std::size_t rows) const {
    return {row(first), rows, width};
  }
  operator RowsOf<const Float>() const { return {data, count, width}; }
};
using Rows = RowsOf<float>;
using ConstRows = RowsOf<const float>;

inline void clear(Rows rows) {
  std::fill_n(rows.data, rows.size(), 0.0F);
}
inline void copy(ConstRows from, Rows to) {
  std::copy_n(from.data, from.size(), to.data);
}

/// The sum of so many terms in `rows`, or its gradient, made that of their mean.
inline void divide(Rows rows, std::size_t terms) {
  if (terms < 2) return;
  const float scale = 1.0F / static_cast<float>(terms);
  for (std::size_t i = 0; i < rows.size(); ++i) rows.data[i] *= scale;
}

/// Outputs of every layer of a perceptron for some rows, kept for the backward pass.
struct Activations {
  Rows first;                ///< of the first layer
  std::size_t layer_stride;  ///< floats from one layer's rows to the next one's

  [[nodiscard]] Rows layer(std::size_t l) const {
    return {first.data + l * layer_stride, first.count, first.width};
  }
  [[nodiscard]] Activations part(std::size_t r, std::size_t rows) const {
    return {first.part(r, rows), layer_stride};
  }
};

/// Hands out buffers one after the other. Without memory it only counts what is asked for.
class Arena {
 public:
  explicit Arena(float* memory = nullptr) : memory_(memory) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  Rows rows(std::size_t count, std::size_t width) {
    Rows rows{memory_ == nullptr ? nullptr : memory_ + size_, count, width};
    size_ += rows.size();
    return rows;
  }
  Activations activations(std::size_t layers, std::size_t count, std::size_t width) {
    Rows all = rows(layers * count, width);
    return {{all.data, count, width}, count * width};
  }

 private:
  float* memory_;
  std::size_t size_ = 0;
};

}  // namespace berth::placeto
