#include "runtime/running.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <limits>

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

/// By ATen. A result less its element would not be the exclusive one: infinities and small numbers are lost.
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

/// In one pass over [outer, length, inner], in f64 as ATen. ATen walks along one column after the other.
template <bool multiplies, class T>
void run_along(const T* x, T* y, std::int64_t outer, std::int64_t length, std::int64_t inner,
               const Running& how) {
  constexpr std::int64_t kColumns = 64, kWorthAThread = 1 << 15;
  const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
  const std::int64_t grain = 1 + kWorthAThread / (1 + length * std::min(inner, kColumns));
  in_parallel(0, outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t column = unit % blocks * kColumns;
      const std::int64_t first = unit / blocks * length * inner + column;
      const std::int64_t count = std::min(kColumns, inner - column);
      std::array<double, kColumns> totals{};
      totals.fill(multiplies ? 1 : 0);
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t at = first + (how.reverse ? length - 1 - i : i) * inner;
        for (std::int64_t j = 0; j < count; ++j) {
          double& total = totals[static_cast<std::size_t>(j)];
          const double element = static_cast<double>(x[at + j]);
          const double next = multiplies ? total * element : total + element;
          y[at + j] = static_cast<T>(how.exclusive ? total : next);
          total = next;
        }
      }
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
  const auto run = how.kind == Running::Kind::product ? run_along<true, T> : run_along<false, T>;
  run(x.data_ptr<T>(), y.data_ptr<T>(), outer, sizes[at_axis], inner, how);
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
