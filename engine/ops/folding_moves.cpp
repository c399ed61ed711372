// Folds that compute nothing: elements keep their value and change their place.
#include <algorithm>
#include <utility>

#include "ops/folding.h"

namespace berth::ops::fold {
namespace {

using Number = std::int64_t;
using Numbers = std::vector<Number>;

std::size_t index(Number n) {
  return static_cast<std::size_t>(n);
}

/// The stride of each dimension, in elements.
Numbers strides_of(const Dims& dims) {
  Numbers strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

/// The offset of `at` in a tensor of shape `dims`; empty where it lies outside.
std::optional<std::size_t> offset_of(const Numbers& at, const Dims& dims) {
  Number offset = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (at[d] < 0 || at[d] >= dims[d]) return std::nullopt;
    offset = offset * dims[d] + at[d];
  }
  return index(offset);
}

/// Visits the coordinates of all elements of a small tensor in order.
template <typename Visit>
void each_place(const Dims& dims, std::size_t count, const Visit& visit) {
  Numbers at(dims.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    visit(std::as_const(at));
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

/// The output's elements, read as a tensor of shape `dims`, are those of `from` at the place that
/// `place` gives: nothing where the element is not known.
template <typename Place>
void rearrange(const Value& from, Value& out, const Dims& dims, const Place& place) {
  const auto count = small_count(out);
  if (!count || !from.has_content() || product(dims) != static_cast<Number>(*count)) return;
  Elements elements(from);
  each_place(dims, *count, [&](const Numbers& at) {
    const std::optional<std::size_t> source = place(at);
    if (source) {
      elements.append(from, *source);
    } else {
      elements.append(std::nullopt);
    }
  });
  std::move(elements).give(out);
}

/// All elements of a tensor, to be changed one by one.
Elements copied(const Value& from) {
  Elements elements(from);
  for (std::size_t i = 0; i < from.content_size(); ++i) elements.append(from, i);
  return elements;
}

/// dims[0, axis), dims[axis], dims(axis, end) as (outer, size, inner).
struct Blocks {
  std::size_t outer = 1, size = 1, inner = 1;
};
std::optional<Blocks> blocks_of(const Dims& dims, std::int64_t axis) {
  const auto at = normal_axis(axis, dims.size());
  if (!at) return std::nullopt;
  return Blocks{index(product(dims, 0, *at)), index(dims[*at]),
                index(product(dims, *at + 1, dims.size()))};
}

}  // namespace

void same_elements(OpContext& op) {
  const Value& from = op.in(0);
  if (!from.has_content() || small_count(op.out(0)) != from.content_size()) return;
  op.out(0).data = from.data;
  op.out(0).reals = from.reals;
}

void spread(OpContext& op) {
  const Value& from = op.in(0);
  const Dims dims = op.out(0).dims;
  Dims both;
  if (!from.has_content() || !broadcast(from.dims, dims, both) || both != dims) return;
  const std::size_t added = dims.size() - from.dims.size();
  rearrange(from, op.out(0), dims, [&](const Numbers& at) {
    Numbers own(at.begin() + static_cast<std::ptrdiff_t>(added), at.end());
    for (std::size_t d = 0; d < own.size(); ++d) own[d] = from.dims[d] == 1 ? 0 : own[d];
    return offset_of(own, from.dims);
  });
}

void tile(OpContext& op) {
  const Value& from = op.in(0);
  const Dims dims = op.out(0).dims;
  if (dims.size() != from.dims.size()) return;
  rearrange(from, op.out(0), dims, [&](const Numbers& at) {
    Numbers own = at;
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (from.dims[d] > 0) own[d] %= from.dims[d];
    }
    return offset_of(own, from.dims);
  });
}

void permute(OpContext& op, const std::vector<std::int64_t>& order) {
  const Value& from = op.in(0);
  const Dims dims = op.out(0).dims;
  const auto moved = permuted(from.dims, order);
  if (!moved || *moved != dims) return;
  rearrange(from, op.out(0), dims, [&](const Numbers& at) {
    Numbers own(at.size(), 0);
    for (std::size_t d = 0; d < at.size(); ++d) own[*normal_axis(order[d], at.size())] = at[d];
    return offset_of(own, from.dims);
  });
}

void slice(OpContext& op, const std::vector<Cut>& cuts) {
  const Value& from = op.in(0);
  if (cuts.size() != from.dims.size()) return;
  Dims dims;
  for (const Cut& cut : cuts) dims.push_back(cut.count);
  rearrange(from, op.out(0), dims, [&](const Numbers& at) -> std::optional<std::size_t> {
    Numbers own(at.size(), 0);
    for (std::size_t d = 0; d < at.size(); ++d) {
      Number way = 0;
      if (__builtin_mul_overflow(at[d], cuts[d].stride, &way) ||
          __builtin_add_overflow(cuts[d].first, way, &own[d])) {
        return std::nullopt;
      }
    }
    return offset_of(own, from.dims);
  });
}

void pad(OpContext& op, const std::vector<std::int64_t>& before, const Value& filler) {
  const Value& from = op.in(0);
  Value& out = op.out(0);
  const auto count = small_count(out);
  if (!count || !from.has_content() || before.size() != from.dims.size() ||
      out.dims.size() != before.size()) {
    return;
  }
  Elements elements(from);
  each_place(out.dims, *count, [&](const Numbers& at) {
    Numbers own = at;
    for (std::size_t d = 0; d < own.size(); ++d) own[d] -= before[d];
    const auto source = offset_of(own, from.dims);
    elements.append(source ? from : filler, source.value_or(0));
  });
  std::move(elements).give(out);
}

void reverse(OpContext& op, const std::vector<bool>& marked) {
  const Value& from = op.in(0);
  if (marked.size() != from.dims.size()) return;
  std::vector<Cut> cuts;
  for (std::size_t d = 0; d < marked.size(); ++d) {
    const Number size = from.dims[d];
    cuts.push_back(marked[d] ? Cut{size - 1, -1, size} : Cut{0, 1, size});
  }
  slice(op, cuts);
}

void gather(OpContext& op, std::int64_t axis) {
  const Value& from = op.in(0);
  const Value& indices = op.in(1);
  if (!from.has_content() || !indices.has_content() || !small_count(op.out(0))) return;
  const auto at = blocks_of(from.dims, axis);
  if (!at) return;
  Elements elements(from);
  for (std::size_t outer = 0; outer < at->outer; ++outer) {
    for (std::size_t k = 0; k < indices.content_size(); ++k) {
      const auto stated = indices.element(k);
      const auto chosen = stated ? normal_axis(*stated, at->size) : std::nullopt;
      if (!chosen) return;
      for (std::size_t inner = 0; inner < at->inner; ++inner) {
        elements.append(from, (outer * at->size + *chosen) * at->inner + inner);
      }
    }
  }
  std::move(elements).give(op.out(0));
}

void gather_elements(OpContext& op, std::int64_t axis) {
  const Value& from = op.in(0);
  const Value& indices = op.in(1);
  const auto along = normal_axis(axis, from.dims.size());
  if (!along || !indices.has_content() || indices.dims.size() != from.dims.size()) return;
  rearrange(from, op.out(0), indices.dims, [&](const Numbers& at) -> std::optional<std::size_t> {
    const auto stated = indices.element(*offset_of(at, indices.dims));
    const auto chosen = stated ? normal_axis(*stated, index(from.dims[*along])) : std::nullopt;
    if (!chosen) return std::nullopt;
    Numbers own = at;
    own[*along] = static_cast<Number>(*chosen);
    return offset_of(own, from.dims);
  });
}

namespace {

/// The offset of the block that a row of `indices` names in a tensor of shape `dims`, the first
/// `batch` dimensions of which are given; empty where it is not known or lies outside.
std::optional<std::size_t> named_block(const Value& indices, std::size_t row, std::size_t depth,
                                       const Dims& dims, const Numbers& batch) {
  const Numbers strides = strides_of(dims);
  Number offset = 0;
  for (std::size_t d = 0; d < batch.size(); ++d) offset += batch[d] * strides[d];
  for (std::size_t d = 0; d < depth; ++d) {
    const std::size_t axis = batch.size() + d;
    const auto stated = indices.element(row * depth + d);
    const auto chosen = stated ? normal_axis(*stated, index(dims[axis])) : std::nullopt;
    if (!chosen) return std::nullopt;
    offset += static_cast<Number>(*chosen) * strides[axis];
  }
  return index(offset);
}

}  // namespace

void gather_nd(OpContext& op, std::int64_t batch) {
  const Value& from = op.in(0);
  const Value& indices = op.in(1);
  const auto count = small_count(op.out(0));
  if (!count || *count == 0 || !from.has_content() || !indices.has_content() ||
      !gathered_nd(from.dims, indices.dims, batch)) {
    return;
  }
  const std::size_t depth = index(indices.dims.back());
  const std::size_t block = index(product(from.dims, index(batch) + depth, from.dims.size()));
  const Dims rows(indices.dims.begin(), indices.dims.end() - 1);
  const std::size_t row_count = index(product(rows));
  if (block == 0 || row_count * block != *count) return;
  Elements elements(from);
  std::size_t row = 0;
  each_place(rows, row_count, [&](const Numbers& at) {
    const Numbers shared(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch));
    const auto first = named_block(indices, row++, depth, from.dims, shared);
    for (std::size_t k = 0; k < block; ++k) {
      if (first) {
        elements.append(from, *first + k);
      } else {
        elements.append(std::nullopt);
      }
    }
  });
  std::move(elements).give(op.out(0));
}

void scatter_nd(OpContext& op, const Value& base, const Value& indices, const Value& updates) {
  Value& out = op.out(0);
  if (!small_count(out) || !base.has_content() || !indices.has_content() ||
      !updates.has_content() || indices.dims.empty() || base.dims != out.dims ||
      indices.dims.back() > static_cast<Number>(base.dims.size())) {
    return;
  }
  const std::size_t depth = index(indices.dims.back());
  const std::size_t block = index(product(base.dims, depth, base.dims.size()));
  const std::size_t rows = index(product(indices.dims, 0, indices.dims.size() - 1));
  if (rows * block != updates.content_size()) return;
  Elements elements = copied(base);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = named_block(indices, row, depth, base.dims, {});
    if (!first) return;
    for (std::size_t k = 0; k < block; ++k) elements.set(*first + k, updates, row * block + k);
  }
  std::move(elements).give(out);
}

void scatter_elements(OpContext& op, std::int64_t axis) {
  const Value& base = op.in(0);
  const Value& indices = op.in(1);
  const Value& updates = op.in(2);
  const auto along = normal_axis(axis, base.dims.size());
  if (!along || !base.has_content() || !indices.has_content() || !updates.has_content() ||
      indices.dims != updates.dims || indices.dims.size() != base.dims.size()) {
    return;
  }
  Elements elements = copied(base);
  bool known = true;
  std::size_t i = 0;
  each_place(indices.dims, indices.content_size(), [&](const Numbers& at) {
    Numbers own = at;
    const auto stated = indices.element(i);
    const auto chosen = stated ? normal_axis(*stated, index(base.dims[*along])) : std::nullopt;
    own[*along] = chosen ? static_cast<Number>(*chosen) : -1;
    const auto to = offset_of(own, base.dims);
    known = known && to.has_value();
    if (to) elements.set(*to, updates, i);
    ++i;
  });
  if (known) std::move(elements).give(op.out(0));
}

void concatenate(OpContext& op, std::size_t first, std::size_t count, std::int64_t axis) {
  if (!small_count(op.out(0)) || count == 0) return;
  std::vector<Blocks> parts;
  bool any = false, real = false;
  for (std::size_t i = first; i < first + count; ++i) {
    const Value& part = op.in(i);
    // One whose content is not known still takes its place.
    if (!small_count(part)) return;
    const auto blocks = blocks_of(part.dims.empty() ? Dims{1} : part.dims, axis);
    if (!blocks || (i > first && blocks->outer != parts.front().outer)) return;
    parts.push_back(*blocks);
    any = any || part.has_content();
    real = real || part.reals != nullptr;
  }
  if (!any) return;
  Elements elements(real);
  for (std::size_t outer = 0; outer < parts.front().outer; ++outer) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t chunk = parts[i].size * parts[i].inner;
      for (std::size_t k = 0; k < chunk; ++k) elements.append(op.in(first + i), outer * chunk + k);
    }
  }
  std::move(elements).give(op.out(0));
}

void stack(OpContext& op, std::int64_t axis) {
  const auto whole = small_count(op.out(0));
  const auto out = whole ? blocks_of(op.out(0).dims, axis) : std::nullopt;
  if (!out || out->size != op.input_count()) return;
  bool any = false, real = false;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    any = any || op.in(i).has_content();
    real = real || op.in(i).reals != nullptr;
  }
  if (!any) return;
  Elements elements(real);
  for (std::size_t outer = 0; outer < out->outer; ++outer) {
    for (std::size_t i = 0; i < out->size; ++i) {
      for (std::size_t k = 0; k < out->inner; ++k) {
        elements.append(op.in(i), outer * out->inner + k);
      }
    }
  }
  std::move(elements).give(op.out(0));
}

void split(OpContext& op, std::size_t input, std::int64_t axis) {
  const Value& from = op.in(input);
  const auto whole = from.has_content() ? blocks_of(from.dims, axis) : std::nullopt;
  std::size_t begin = 0;
  for (std::size_t i = 0; whole && i < op.output_count(); ++i) {
    Value& out = op.out(i);
    const auto part = small_count(out) ? blocks_of(out.dims, axis) : std::nullopt;
    if (!part || out.rank() != from.rank() || begin + part->size > whole->size) return;
    Elements elements(from);
    for (std::size_t outer = 0; outer < whole->outer; ++outer) {
      const std::size_t first = (outer * whole->size + begin) * whole->inner;
      for (std::size_t k = 0; k < part->size * whole->inner; ++k) elements.append(from, first + k);
    }
    begin += part->size;
    std::move(elements).give(out);
  }
}

void unstack(OpContext& op, std::int64_t axis) {
  const Value& from = op.in(0);
  const auto whole = from.has_content() ? blocks_of(from.dims, axis) : std::nullopt;
  if (!whole || op.output_count() != whole->size) return;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    Elements elements(from);
    for (std::size_t outer = 0; outer < whole->outer; ++outer) {
      for (std::size_t k = 0; k < whole->inner; ++k) {
        elements.append(from, (outer * whole->size + i) * whole->inner + k);
      }
    }
    std::move(elements).give(op.out(i));
  }
}

}  // namespace berth::ops::fold
