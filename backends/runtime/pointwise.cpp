#include "runtime/pointwise.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "runtime/every_machine.h"
#include "runtime/parallel.h"
#include "runtime/vector_math.h"

namespace berth::runtime {
namespace {

using Kind = Pointwise::Kind;

/// Writes the function of `count` numbers over them.
using Pass = void (*)(float* x, std::int64_t count, float alpha, float beta);

BERTH_EVERY_MACHINE void relu(float* x, std::int64_t count, float /*alpha*/, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = vectors::chosen(x[i] < 0, 0, x[i]);
}

BERTH_EVERY_MACHINE void clip(float* x, std::int64_t count, float alpha, float beta) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float raised = vectors::chosen(x[i] < alpha, alpha, x[i]);
    x[i] = vectors::chosen(raised > beta, beta, raised);
  }
}

BERTH_EVERY_MACHINE void leaky_relu(float* x, std::int64_t count, float alpha, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = vectors::chosen(x[i] < 0, x[i] * alpha, x[i]);
}

BERTH_EVERY_MACHINE void sigmoid(float* x, std::int64_t count, float /*alpha*/, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = vectors::sigmoid(x[i]);
}

BERTH_EVERY_MACHINE void swish(float* x, std::int64_t count, float alpha, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * vectors::sigmoid(alpha * x[i]);
}

BERTH_EVERY_MACHINE void hard_swish(float* x, std::int64_t count, float /*alpha*/, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float raised = vectors::chosen(x[i] < -3, 0, x[i] + 3);
    x[i] = x[i] * vectors::chosen(raised > 6, 6, raised) * (1.0F / 6);
  }
}

BERTH_EVERY_MACHINE void erf(float* x, std::int64_t count, float /*alpha*/, float /*beta*/) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = vectors::erf(x[i]);
}

BERTH_EVERY_MACHINE void gelu(float* x, std::int64_t count, float /*alpha*/, float /*beta*/) {
  constexpr float kRootOfHalf = 0.70710678118654752F;
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = 0.5F * x[i] * (1 + vectors::erf(kRootOfHalf * x[i]));
  }
}

BERTH_EVERY_MACHINE void add(float* to, const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

Pass pass_of(Kind kind) {
  switch (kind) {
    case Kind::relu:
      return relu;
    case Kind::clip:
      return clip;
    case Kind::leaky_relu:
      return leaky_relu;
    case Kind::sigmoid:
      return sigmoid;
    case Kind::swish:
      return swish;
    case Kind::hard_swish:
      return hard_swish;
    case Kind::erf:
      return erf;
    case Kind::gelu:
      return gelu;
  }
  return relu;
}

Tensor by_torch(const Pointwise& function, const Tensor& x) {
  switch (function.kind) {
    case Kind::relu:
      return at::relu(x);
    case Kind::clip:
      return at::clamp(x, function.alpha, function.beta);
    case Kind::leaky_relu:
      return at::leaky_relu(x, function.alpha);
    case Kind::sigmoid:
      return at::sigmoid(x);
    case Kind::swish:
      if (function.alpha == 1) return at::silu(x);
      return at::mul(x, at::sigmoid(at::mul(x, function.alpha)));
    case Kind::hard_swish:
      return at::hardswish(x);
    case Kind::erf:
      return at::erf(x);
    case Kind::gelu:
      return at::gelu(x);
  }
  return x;
}

void overwrite_by_torch(const Pointwise& function, Tensor x) {
  if (function.kind == Kind::relu) {
    at::relu_(x);
  } else if (function.kind == Kind::clip) {
    at::clamp_(x, function.alpha, function.beta);
  } else if (function.kind == Kind::leaky_relu) {
    at::leaky_relu_(x, function.alpha);
  } else if (function.kind == Kind::hard_swish) {
    at::hardswish_(x);
  } else if (function.kind == Kind::swish && function.alpha == 1) {
    at::silu_(x);
  } else {
    x.copy_(by_torch(function, x));
  }
}

bool has_numbers(const Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.is_non_overlapping_and_dense();
}

/// Calls `fill(first, count)` for parts of the numbers that stay in a core's nearest cache, and then the function's pass
/// on `to`, where they are.
template <class Fill>
void compute(const Pointwise& function, float* to, std::int64_t count, const Fill& fill) {
  constexpr std::int64_t kPart = 2048, kWorthAThread = 32768;
  const Pass pass = pass_of(function.kind);
  const auto alpha = static_cast<float>(function.alpha), beta = static_cast<float>(function.beta);
  in_parallel(0, count, kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kPart) {
      const std::int64_t part = std::min(kPart, end - first);
      fill(first, part);
      pass(to + first, part, alpha, beta);
    }
  });
}

}  // namespace

Tensor Pointwise::operator()(const Tensor& x) const {
  if (!has_numbers(x)) return by_torch(*this, x);
  const Tensor y = at::empty_like(x);
  const float* const from = x.data_ptr<float>();
  float* const to = y.data_ptr<float>();
  compute(*this, to, x.numel(), [&](std::int64_t first, std::int64_t count) {
    std::copy_n(from + first, count, to + first);
  });
  return y;
}

Tensor Pointwise::of_sum(const Tensor& a, const Tensor& b, Tensor over) const {
  const bool alike =
      has_numbers(a) && has_numbers(b) && a.sizes() == b.sizes() && a.strides() == b.strides();
  if (!alike) {
    const Tensor y = over.defined() ? at::add_out(over, a, b) : at::add(a, b);
    overwrite(y);
    return y;
  }
  const Tensor y = over.defined() ? over : at::empty_like(a);
  const float *const left = a.data_ptr<float>(), *const right = b.data_ptr<float>();
  float* const to = y.data_ptr<float>();
  compute(*this, to, y.numel(), [&](std::int64_t first, std::int64_t count) {
    add(to + first, left + first, right + first, count);
  });
  return y;
}

void Pointwise::overwrite(const Tensor& x) const {
  if (!has_numbers(x)) {
    overwrite_by_torch(*this, x);
    return;
  }
  compute(*this, x.data_ptr<float>(), x.numel(), [](std::int64_t, std::int64_t) {});
}

}  // namespace berth::runtime
