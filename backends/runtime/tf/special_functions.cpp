// Functions of mathematics and of bits that are rare in networks, element by element.
#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// A function of which ATen has no more than six digits in f64 either.
template <Tensor (*function)(const Tensor&)>
Kernel make_single(const KernelRequest& request) {
  if (type(request.instruction, "T", at::kFloat) == at::kDouble) refuse_attribute("T", "f64");
  return make_unary<function>(request);
}

/// Derivatives of digamma: (-1)^(n+1) n! zeta(n+1, x), computed in f64.
Tensor polygamma(const Tensor& order, const Tensor& given) {
  const Tensor n = order.to(at::kDouble), x = given.to(at::kDouble);
  const Tensor sign = at::sub(at::mul(at::remainder(n, 2), 2), 1);
  const Tensor derivative = sign * at::exp(at::lgamma(n + 1)) * at::special_zeta(n + 1, x);
  const Tensor all = at::where(at::eq(n, 0), at::digamma(x), derivative);
  const Tensor whole = at::logical_and(at::eq(n, at::floor(n)), at::ge(n, 0));
  const Tensor odd = at::full({}, std::numeric_limits<double>::quiet_NaN(), all.options());
  return at::where(whole, all, odd).to(given.scalar_type());
}

/// The continued fraction of the incomplete beta function by Lentz's method (DLMF 8.17.22).
double beta_fraction(double a, double b, double x) {
  constexpr int kTerms = 500;
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  const auto add = [&](double numerator) {
    d = 1 / away_from_zero(1 + numerator * d);
    c = away_from_zero(1 + numerator / c);
    fraction *= d * c;
    return d * c;
  };
  for (int m = 1; m <= kTerms; ++m) {
    const double twice = 2.0 * m;
    add(m * (b - m) * x / ((a + twice - 1) * (a + twice)));
    const double last = add(-(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1)));
    if (std::abs(last - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || x == 1) return x;
  const double scale = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast below the mean; above it the other end is computed.
  if (x < (a + 1) / (a + b + 2)) return scale * beta_fraction(a, b, x) / a;
  return 1 - scale * beta_fraction(b, a, 1 - x) / b;
}

/// (a, b, x), on the host: ATen has none.
Kernel make_incomplete_beta(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const auto wide = [&](std::size_t i) { return tensor_at(in, i).to(at::kCPU, at::kDouble); };
    std::vector<Tensor> operands = at::broadcast_tensors({wide(0), wide(1), wide(2)});
    for (Tensor& each : operands) each = each.contiguous();
    const Tensor made = at::empty_like(operands[0]);
    double* const result = made.data_ptr<double>();
    const double* const a = operands[0].data_ptr<double>();
    const double* const b = operands[1].data_ptr<double>();
    const double* const x = operands[2].data_ptr<double>();
    for (std::int64_t i = 0; i < made.numel(); ++i) result[i] = incomplete_beta(a[i], b[i], x[i]);
    out[0].tensor = made.to(context.device, tensor_at(in, 0).scalar_type());
  };
}

/// How many bits are set.
Tensor population(const Tensor& x) {
  Tensor count = at::zeros(x.sizes(), x.options().dtype(at::kByte));
  const auto bits = static_cast<int>(8 * x.element_size());
  for (int i = 0; i < bits; ++i) {
    count.add_(at::bitwise_and(at::bitwise_right_shift(x, i), 1).to(at::kByte));
  }
  return count;
}

constexpr KernelRow kRows[] = {
    {"BesselI0", unary<at::special_i0>},
    {"BesselI0e", unary<at::special_i0e>},
    {"BesselI1", unary<at::special_i1>},
    {"BesselI1e", unary<at::special_i1e>},
    {"BesselJ0", make_single<at::special_bessel_j0>},
    {"BesselJ1", make_single<at::special_bessel_j1>},
    {"BesselK0", unary<at::special_modified_bessel_k0>},
    {"BesselK0e", unary<at::special_scaled_modified_bessel_k0>},
    {"BesselK1", unary<at::special_modified_bessel_k1>},
    {"BesselK1e", unary<at::special_scaled_modified_bessel_k1>},
    {"BesselY0", make_single<at::special_bessel_y0>},
    {"BesselY1", make_single<at::special_bessel_y1>},
    {"Betainc", make_incomplete_beta},
    {"NextAfter", binary<at::nextafter>},
    {"Polygamma", binary<polygamma>},
    {"PopulationCount", unary<population>},
    {"Zeta", binary<at::special_zeta>},
};

}  // namespace

std::span<const KernelRow> special_function_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
