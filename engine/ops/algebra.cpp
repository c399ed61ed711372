#include "ops/algebra.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace berth::ops {

// --- Dimensions ---------------------------------------------------------------------------------

std::int64_t add_dims(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) return kUnknownDim;
  return valid_dim(sum);
}

std::int64_t multiply_dims(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return kUnknownDim;
  return valid_dim(product);
}

std::int64_t divide_dims(std::int64_t a, std::int64_t b) noexcept {
  return a < 0 || b < 1 ? kUnknownDim : a / b;
}

std::int64_t padded(std::int64_t dim, std::int64_t before, std::int64_t after) noexcept {
  const bool sane = std::max(before, after) <= kMaxDim && std::min(before, after) >= -kMaxDim;
  return dim >= 0 && sane ? valid_dim(dim + before + after) : kUnknownDim;
}

std::int64_t dim_of_element(const Value& value, std::size_t i) noexcept {
  return valid_dim(value.element(i).value_or(kUnknownDim));
}

// --- Shapes by content --------------------------------------------------------------------------

Value shape_of_content(const Value& vector) {
  Value shape;
  if (vector.ranked && vector.dims.size() > 1) return shape;
  // A scalar, -1, is TensorFlow's shape of unknown rank.
  if (vector.rank() == 0 && dim_of_element(vector, 0) == kUnknownDim) return shape;
  if (vector.has_content()) {
    Dims dims(vector.content_size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dim_of_element(vector, i);
    if (dims.size() <= kMaxRank) shape.set_shape(std::move(dims));
  } else if (vector.dim(0) != kUnknownDim && vector.dim(0) <= static_cast<int>(kMaxRank)) {
    shape.set_shape(Dims(static_cast<std::size_t>(vector.dim(0)), kUnknownDim));
  }
  return shape;
}

void fill_open_dim(Dims& dims, const Dims& from) {
  const std::int64_t total = product(from);
  if (total == kUnknownDim || std::count(dims.begin(), dims.end(), kUnknownDim) != 1) return;
  const auto hole = std::find(dims.begin(), dims.end(), kUnknownDim);
  *hole = 1;
  const std::int64_t rest = product(dims);
  *hole = rest > 0 && total % rest == 0 ? valid_dim(total / rest) : kUnknownDim;
}

// --- Axes ---------------------------------------------------------------------------------------

std::optional<std::vector<bool>> marked_axes(const std::vector<std::int64_t>& axes,
                                             std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t axis : axes) {
    const auto at = normal_axis(axis, rank);
    if (!at) return std::nullopt;
    marked[*at] = true;
  }
  return marked;
}

Dims reduced(const Dims& dims, const std::vector<bool>& marked, bool keep) {
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!marked[i]) {
      out.push_back(dims[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return out;
}

std::optional<Dims> permuted(const Dims& dims, const std::vector<std::int64_t>& order) {
  if (order.size() != dims.size()) return std::nullopt;
  Dims out;
  for (const std::int64_t axis : order) {
    const auto from = normal_axis(axis, dims.size());
    if (!from) return std::nullopt;
    out.push_back(dims[*from]);
  }
  return out;
}

std::optional<Dims> concatenated(std::span<const Dims* const> parts, std::int64_t axis,
                                 bool largest_step) {
  const auto known =
      std::find_if(parts.begin(), parts.end(), [](const Dims* part) { return part != nullptr; });
  if (known == parts.end()) return std::nullopt;
  const auto at = normal_axis(axis, (*known)->size());
  if (!at) return std::nullopt;
  Dims dims((*known)->size(), kUnknownDim);
  std::int64_t sum = 0;
  for (const bool empty : {false, true}) {
    for (const Dims* const part : parts) {
      if (part == nullptr || (product(*part) == 0) != empty) continue;
      if (part->size() != dims.size()) return std::nullopt;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        if (d == *at) continue;
        if (dims[d] == kUnknownDim) dims[d] = (*part)[d];
        const bool differs = (*part)[d] != kUnknownDim && (*part)[d] != dims[d];
        if (differs && !empty && !largest_step) return std::nullopt;
      }
    }
  }
  for (const Dims* const part : parts) {
    sum = add_dims(sum, part != nullptr ? (*part)[*at] : kUnknownDim);
  }
  dims[*at] = sum;
  return dims;
}

std::optional<Dims> gathered(const Dims& from, const Dims& indices, std::int64_t axis,
                             std::int64_t batch) {
  const auto at = normal_axis(axis, from.size());
  if (!at || batch < 0 || batch > static_cast<std::int64_t>(std::min(*at, indices.size()))) {
    return std::nullopt;
  }
  const auto split = from.begin() + static_cast<std::ptrdiff_t>(*at);
  Dims dims(from.begin(), split);
  dims.insert(dims.end(), indices.begin() + batch, indices.end());
  dims.insert(dims.end(), split + 1, from.end());
  return dims;
}

std::optional<Dims> gathered_nd(const Dims& from, const Dims& indices, std::int64_t batch) {
  if (indices.empty()) return std::nullopt;
  const std::int64_t depth = indices.back();  // dimensions that one index names
  const auto rank = static_cast<std::int64_t>(from.size());
  if (batch < 0 || batch > rank || depth < 0 || depth > rank - batch) return std::nullopt;
  Dims dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), from.begin() + batch + depth, from.end());
  return dims;
}

SpreadAxes spread_axes(const Dims& a, const Dims& b, bool common) {
  SpreadAxes axes;
  const std::size_t rank = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const bool a_lacks = i < rank - a.size(), b_lacks = i < rank - b.size();
    const std::int64_t x = a_lacks ? 1 : a[i - (rank - a.size())];
    const std::int64_t y = b_lacks ? 1 : b[i - (rank - b.size())];
    const auto axis = static_cast<std::int64_t>(i);
    if (x == 1 && (y != 1 || a_lacks || common)) axes.of_a.push_back(axis);
    if (y == 1 && (x != 1 || b_lacks || common)) axes.of_b.push_back(axis);
  }
  return axes;
}

// --- Slices and ranges --------------------------------------------------------------------------

std::optional<Span> span_of(std::int64_t dim, std::optional<std::int64_t> begin,
                            std::optional<std::int64_t> end, std::int64_t stride) noexcept {
  if (stride == 0 || dim < 0) return std::nullopt;
  const std::int64_t lowest = stride > 0 ? 0 : -1;
  const std::int64_t highest = stride > 0 ? dim : dim - 1;
  const auto bound = [&](std::int64_t n) {
    return std::clamp(n < 0 ? n + dim : n, lowest, highest);
  };
  const std::int64_t from = begin ? bound(*begin) : stride > 0 ? 0 : dim - 1;
  const std::int64_t to = end ? bound(*end) : stride > 0 ? dim : -1;
  const std::int64_t distance = to - from;
  if (distance == 0 || (distance < 0) != (stride < 0)) return Span{from, 0};
  return Span{from, distance / stride + (distance % stride != 0 ? 1 : 0)};
}

std::int64_t range_count(double start, double limit, double delta) noexcept {
  const double count = std::ceil((limit - start) / delta);
  if (!(count < static_cast<double>(kMaxDim))) return kUnknownDim;
  return static_cast<std::int64_t>(std::max(count, 0.0));
}

// --- Windows ------------------------------------------------------------------------------------

std::int64_t positions(std::int64_t dim, const Window& window) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (dim < 0 || window.stride < 1 || window.stride > kMost) return kUnknownDim;
  if (window.same) return (dim + window.stride - 1) / window.stride;
  if (window.size < 0 || window.size > kMost || window.dilation < 1 || window.dilation > kMost ||
      window.padding < -kMost || window.padding > kMost) {
    return kUnknownDim;
  }
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(window.size - 1, window.dilation, &reach)) return kUnknownDim;
  const std::int64_t room = dim + window.padding - 1 - reach;
  if (room < 0 || window.size < 1) return window.too_small;
  return (room + (window.round_up ? window.stride - 1 : 0)) / window.stride + 1;
}

// --- Products -----------------------------------------------------------------------------------

std::optional<Dims> matrix_product(const Dims& a, const Dims& b, bool transpose_a,
                                   bool transpose_b) {
  if (a.empty() || b.empty()) return std::nullopt;
  Dims left = a, right = b;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  if (transpose_a && a.size() > 1) std::swap(left[left.size() - 1], left[left.size() - 2]);
  if (transpose_b && b.size() > 1) std::swap(right[right.size() - 1], right[right.size() - 2]);
  const std::int64_t rows = left[left.size() - 2];
  const std::int64_t columns = right.back();
  const std::int64_t inner_a = left.back();
  const std::int64_t inner_b = right[right.size() - 2];
  if (inner_a != kUnknownDim && inner_b != kUnknownDim && inner_a != inner_b) return std::nullopt;
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  Dims result;
  if (!broadcast(left, right, result)) return std::nullopt;
  if (a.size() > 1) result.push_back(rows);
  if (b.size() > 1) result.push_back(columns);
  return result;
}

namespace {

class Einsum {
 public:
  bool read_term(std::string_view term, const Dims* dims) {
    const std::size_t dots = term.find("...");
    const bool open = dots != std::string_view::npos;
    const std::size_t letters = term.size() - (open ? 3 : 0);
    if (dims == nullptr && open) return false;
    if (dims != nullptr && (letters > dims->size() || (!open && letters != dims->size()))) {
      return false;
    }
    const std::size_t unnamed = dims != nullptr ? dims->size() - letters : 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < term.size(); ++i, ++at) {
      if (i == dots) {
        const auto begin = dims->begin() + static_cast<std::ptrdiff_t>(at);
        const Dims own(begin, begin + static_cast<std::ptrdiff_t>(unnamed));
        if (!broadcast(ellipsis_, own, ellipsis_)) return false;
        at += unnamed;
        i += 3;
        if (i >= term.size()) break;
      }
      std::int64_t& dim = dims_.try_emplace(term[i], kUnknownDim).first->second;
      const std::int64_t own = dims != nullptr ? (*dims)[at] : kUnknownDim;
      if (std::min(own, dim) > 1 && own != dim) return false;
      if (dim == kUnknownDim || dim == 1) dim = own;
      ++counts_[term[i]];
    }
    return true;
  }

  [[nodiscard]] std::optional<Dims> write_term(std::string_view term) const {
    Dims out;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.substr(i, 3) == "...") {
        out.insert(out.end(), ellipsis_.begin(), ellipsis_.end());
        i += 2;
        continue;
      }
      const auto found = dims_.find(term[i]);
      if (found == dims_.end() || out.size() >= kMaxRank) return std::nullopt;
      out.push_back(found->second);
    }
    return out;
  }

  /// Without an arrow: the letters seen once, in alphabetical order.
  [[nodiscard]] std::string implied_result() const {
    std::string output = "...";
    for (const auto& [letter, count] : counts_) {
      if (count == 1) output += letter;
    }
    return output;
  }

 private:
  std::map<char, std::int64_t> dims_;
  std::map<char, int> counts_;
  Dims ellipsis_;
};

}  // namespace

std::optional<Dims> einsum_dims(std::string_view text, std::span<const Dims* const> operands) {
  std::string equation(text);
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  std::string_view terms = std::string_view(equation).substr(0, arrow);
  Einsum einsum;
  for (const Dims* const operand : operands) {
    const std::size_t comma = terms.find(',');
    if (!einsum.read_term(terms.substr(0, comma), operand)) return std::nullopt;
    terms = comma == std::string_view::npos ? std::string_view() : terms.substr(comma + 1);
  }
  if (arrow == std::string::npos) return einsum.write_term(einsum.implied_result());
  return einsum.write_term(std::string_view(equation).substr(arrow + 2));
}

}  // namespace berth::ops
