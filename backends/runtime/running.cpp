#include "runtime/running.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/every_machine.h"
#include "runtime/parallel.h"

namespace berth::runtime {
namespace {

/// The number that changes nothing.
double neutral_of(Running::Kind kind) {
  if (kind == Running::Kind::log_sum) return -std::numeric_limits<double>::infinity();
  return kind == Running::Kind::product ? 1 : 0;
}

Tensor inclusive(const Tensor& x, std::int64_t axis, Running::Kind kind) {
  if (kind == Running::Kind::log_sum) return at::logcumsumexp(x, axis);
  return kind == Running::Kind::product ? at::cumprod(x, axis, x.scalar_type())
                                        : at::cumsum(x, axis, x.scalar_type());
}

/// ATen computes it. A result less its element would not be the exclusive one: infinities and small numbers are lost.
Tensor composed(Tensor x, std::int64_t axis, const Running& how) {
  if (how.reverse) x = at::flip(x, axis);
  Tensor result = inclusive(x, axis, how.kind);
  if (how.exclusive && x.size(axis) > 0) {
    const Tensor all_but_last = result.narrow(axis, 0, x.size(axis) - 1);
    result = at::full_like(x, neutral_of(how.kind));
    result.narrow(axis, 1, x.size(axis) - 1).copy_(all_but_last);
  }
  return how.reverse ? at::flip(result, axis) : result;
}

constexpr std::int64_t kColumns = 64;

/// Up to kColumns columns beside each other of [length, inner], in f64 as ATen.
template <bool multiplies, class T>
[[gnu::always_inline]] inline void run_columns(const T* __restrict x, T* __restrict y,
                                               std::int64_t length, std::int64_t inner,
                                               std::int64_t count, const Running& how) {
  std::array<double, kColumns> totals{};
  totals.fill(multiplies ? 1 : 0);
  double* const total = totals.data();
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t row = (how.reverse ? length - 1 - i : i) * inner;
    for (std::int64_t j = 0; j < count; ++j) {
      const double before = total[j];
      const double element = static_cast<double>(x[row + j]);
      total[j] = multiplies ? before * element : before + element;
      y[row + j] = static_cast<T>(how.exclusive ? before : total[j]);
    }
  }
}

BERTH_EVERY_MACHINE void columns(const float* x, float* y, std::int64_t length, std::int64_t inner,
                                 std::int64_t count, const Running& how) {
  if (how.kind == Running::Kind::product) return run_columns<true>(x, y, length, inner, count, how);
  run_columns<false>(x, y, length, inner, count, how);
}
void columns(const double* x, double* y, std::int64_t length, std::int64_t inner,
             std::int64_t count, const Running& how) {
  if (how.kind == Running::Kind::product) return run_columns<true>(x, y, length, inner, count, how);
  run_columns<false>(x, y, length, inner, count, how);
}

/// In one pass over [outer, length, inner]. ATen walks along one column after the other.
template <class T>
void run_along(const T* x, T* y, std::int64_t outer, std::int64_t length, std::int64_t inner,
               const Running& how) {
  constexpr std::int64_t kWorthAThread = 1 << 15;
  const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
  const std::int64_t grain = 1 + kWorthAThread / (1 + length * std::min(inner, kColumns));
  in_parallel(0, outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t column = unit % blocks * kColumns;
      const std::int64_t first = unit / blocks * length * inner + column;
      columns(x + first, y + first, length, inner, std::min(kColumns, inner - column), how);
    }
  });
}

template <class T>
Tensor in_one_pass(const Tensor& given, std::int64_t axis, const Running& how) {
  const Tensor x = given.contiguous();
  const Tensor y = at::empty_like(x);
  const auto sizes = x.sizes();
  const auto at_axis = static_cast<std::size_t>(axis);
  const std::int64_t outer = c10::multiply_integers(sizes.slice(0, at_axis));
  const std::int64_t inner = c10::multiply_integers(sizes.slice(at_axis + 1));
  run_along(x.data_ptr<T>(), y.data_ptr<T>(), outer, sizes[at_axis], inner, how);
  return y;
}

}  // namespace

Tensor Running::operator()(const Tensor& x, std::int64_t axis) const {
  if (x.dim() == 0) return (*this)(x.unsqueeze(0), 0).squeeze(0);
  if (x.is_cpu() && kind != Kind::log_sum) {
    if (x.scalar_type() == at::kFloat) return in_one_pass<float>(x, axis, *this);
    if (x.scalar_type() == at::kDouble) return in_one_pass<double>(x, axis, *this);
  }
  return composed(x, axis, *this);
}

}  // namespace berth::runtime
