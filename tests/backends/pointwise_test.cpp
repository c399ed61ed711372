// Functions of single numbers against LibTorch's, in f64.
#include "runtime/pointwise.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using Kind = Pointwise::Kind;

struct Case {
  Pointwise function;
  at::Tensor (*in_f64)(const at::Tensor& x);
};

const std::vector<Case> kCases = {
    {{Kind::relu}, [](const at::Tensor& x) { return at::relu(x); }},
    {{Kind::clip, -1.5, 6}, [](const at::Tensor& x) { return at::clamp(x, -1.5, 6); }},
    {{Kind::leaky_relu, 0.25}, [](const at::Tensor& x) { return at::leaky_relu(x, 0.25); }},
    {{Kind::sigmoid}, [](const at::Tensor& x) { return at::sigmoid(x); }},
    {{Kind::swish, 1}, [](const at::Tensor& x) { return at::mul(x, at::sigmoid(x)); }},
    {{Kind::swish, 1.5},
     [](const at::Tensor& x) { return at::mul(x, at::sigmoid(at::mul(x, 1.5))); }},
    {{Kind::hard_swish},
     [](const at::Tensor& x) { return at::div(at::mul(x, at::clamp(at::add(x, 3), 0, 6)), 6); }},
    {{Kind::erf}, [](const at::Tensor& x) { return at::erf(x); }},
    {{Kind::gelu}, [](const at::Tensor& x) { return at::gelu(x); }},
};

/// The distance of results from what they should be, in units of the last place of x or of the result, whichever is larger.
double error_of(const at::Tensor& got, const at::Tensor& x, const Case& one) {
  REQUIRE((got.scalar_type() == at::kFloat));
  const at::Tensor wanted = one.in_f64(x.to(at::kDouble));
  const at::Tensor scale = at::maximum(at::abs(x.to(at::kDouble)), at::abs(wanted));
  const at::Tensor error = at::div(at::abs(at::sub(got.to(at::kDouble), wanted)),
                                   at::add(at::mul(scale, 0x1p-23), 1e-37));
  return at::max(error).item<double>();
}

TEST_CASE("functions of single numbers are those of f64 but for the last bits") {
  const at::Tensor x = at::linspace(-20, 20, 400001, at::kFloat);
  const at::Tensor small = at::linspace(-0.01, 0.01, 10001, at::kFloat);
  for (const Case& one : kCases) {
    CAPTURE(static_cast<int>(one.function.kind));
    for (const at::Tensor& numbers : {x, small, at::mul(x, 50)}) {
      CHECK(error_of(one.function(numbers), numbers, one) <= 2.5);
      const at::Tensor written = numbers.clone();
      one.function.overwrite(written);
      CHECK(at::equal(written, one.function(numbers)));
    }
  }
}

TEST_CASE("a number far out has the function's limit, and no number stays none") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const at::Tensor ends = at::tensor({-kInfinity, kInfinity, -1e30F, 1e30F});
  CHECK(at::equal(Pointwise{Kind::erf}(ends), at::tensor({-1.F, 1.F, -1.F, 1.F})));
  CHECK(at::allclose(Pointwise{Kind::sigmoid}(ends), at::tensor({0.F, 1.F, 0.F, 1.F})));
  CHECK(at::equal(Pointwise{Kind::clip, -2, 3}(ends), at::tensor({-2.F, 3.F, -2.F, 3.F})));
  for (const Case& one : kCases) {
    CAPTURE(static_cast<int>(one.function.kind));
    CHECK(std::isnan(one.function(at::full({3}, std::nan("")).to(at::kFloat))[1].item<float>()));
  }
}

TEST_CASE("the function of a sum is that of what at::add gives, however its summands lie") {
  const at::Tensor a =
      at::sub(at::remainder(at::arange(480, at::kFloat), 17), 8).reshape({2, 4, 6, 10});
  const at::Tensor b =
      at::sub(at::remainder(at::arange(480, at::kFloat), 13), 6).reshape({2, 4, 6, 10});
  const at::Tensor turned = b.contiguous(at::MemoryFormat::ChannelsLast);
  for (const at::Tensor& summand :
       {b, turned, b.slice(1, 0, 1), b.slice(0, 0, 1), at::tensor(2.F), b.to(at::kDouble)}) {
    const at::Tensor wanted = at::relu(at::add(a, summand));
    const at::Tensor got = Pointwise{Kind::relu}.of_sum(a, summand);
    CHECK((got.scalar_type() == wanted.scalar_type()));
    CHECK(at::equal(got, wanted));
  }
  const at::Tensor both = Pointwise{Kind::relu}.of_sum(turned, turned);
  CHECK(both.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(at::equal(both, at::relu(at::add(b, b))));
}

TEST_CASE("what has gaps, other types or nothing is computed, too") {
  const at::Tensor x = at::linspace(-3, 3, 60, at::kFloat).reshape({6, 10});
  for (const Case& one : kCases) {
    CAPTURE(static_cast<int>(one.function.kind));
    for (const at::Tensor& given :
         {x.slice(1, 0, 10, 3), x.t(), x.slice(0, 0, 0), x.to(at::kDouble)}) {
      const at::Tensor wanted = one.in_f64(given.to(at::kDouble)).to(given.scalar_type());
      CHECK(at::allclose(one.function(given), wanted, 1e-5, 1e-6));
      const at::Tensor written =
          given.scalar_type() == at::kFloat
              ? x.clone().as_strided(given.sizes(), given.strides(), given.storage_offset())
              : given.clone();
      one.function.overwrite(written);
      CHECK(at::allclose(written, wanted, 1e-5, 1e-6));
    }
  }
}

}  // namespace
}  // namespace berth::runtime
