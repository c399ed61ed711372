// Products that are computed row by row, against the sums that they are.
#include "runtime/products.h"

#include <ATen/Functions.h>

#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

at::Tensor waves(at::IntArrayRef shape) {
  return at::sin(at::arange(c10::multiply_integers(shape), at::kDouble).mul(1.7)).reshape(shape);
}

void check_product(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor sums = at::sum(at::mul(a.unsqueeze(-1), b.unsqueeze(-3)), at::IntArrayRef{-2});
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor got = product(a.to(type), b.to(type));
    CHECK((got.scalar_type() == type && got.sizes() == sums.sizes()));
    CHECK(at::allclose(got.to(at::kDouble), sums, 1e-5, 1e-4));
  }
}

TEST_CASE("a few rows, or a column, by each of several matrices") {
  const at::Tensor matrices = waves({2, 3, 70, 64});
  for (const std::int64_t rows : {1, 3, 4, 5}) {
    check_product(waves({2, 3, rows, 70}), matrices);
    check_product(waves({2, 3, rows, 64}), matrices.mT());
    check_product(waves({3, rows, 70}), matrices.select(0, 1));
    // Heads that lie within rows, of a batch.
    check_product(waves({2, rows, 3, 64}).transpose(1, 2),
                  waves({2, 70, 3, 64}).transpose(1, 2).mT());
  }
  check_product(matrices, waves({2, 3, 64, 1}));
  check_product(matrices.mT(), waves({2, 3, 70, 1}));
  // One matrix for several, and none at all.
  check_product(waves({2, 3, 1, 70}), matrices.narrow(0, 0, 1));
  CHECK((product(at::zeros({0, 1, 70}), at::zeros({0, 70, 64})).sizes() ==
         at::IntArrayRef({0, 1, 64})));
}

}  // namespace
}  // namespace berth::runtime
