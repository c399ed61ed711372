// Matrix products, Einstein sums and factorisations.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "one_op.h"

namespace berth {
namespace {

using test::class_of;
using test::OneOp;
using test::Shape;
using test::tensor;

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kOne = 1;

TEST_CASE("work of matrix products") {
  SUBCASE("batched, with broadcast") {
    const Work work =
        OneOp{"MatMul", {tensor({8, 12, 128, 64}), tensor({64, 256})}, {tensor({8, 12, 128, 256})}}
            .work();
    CHECK(work.flops == 2.0 * 8 * 12 * 128 * 256 * 64);
    CHECK(class_of(work) == "matmul");
  }
  SUBCASE("vectors") {
    CHECK(OneOp{"MatMul", {tensor({7}), tensor({7})}, {tensor({})}}.work().flops == 14);
    CHECK(OneOp{"MatMul", {tensor({7}), tensor({7, 3})}, {tensor({3})}}.work().flops == 42);
  }
  SUBCASE("Gemm with transposed operands and a bias") {
    const OneOp op{"Gemm",
                   {tensor({2048, 32}), tensor({1000, 2048}), tensor({1000})},
                   {tensor({32, 1000})},
                   {{"transA", kOne}, {"transB", kOne}}};
    CHECK(op.work().flops == 32.0 * 1000 * (2 * 2048 + 1));
  }
  SUBCASE("a batched operand that is stored by rows has them first") {
    const Shape by_rows = {256, 4, 8};
    CHECK(OneOp{"com.microsoft.FusedMatMul",
                {tensor(by_rows), tensor({4, 256, 16})},
                {tensor({4, 8, 16})},
                {{"transA", std::int64_t{1}}, {"transBatchA", std::int64_t{1}}}}
              .work()
              .flops == 2.0 * 4 * 8 * 16 * 256);
    // A does not say.
    CHECK(OneOp{"com.microsoft.FusedMatMul",
                {tensor({4, 16, kUnknownDim}), tensor(by_rows)},
                {tensor({4, 16, 8})},
                {{"transBatchB", std::int64_t{1}}}}
              .work()
              .flops == 2.0 * 4 * 8 * 16 * 256);
  }
  SUBCASE("Gemm in 8 bits, whose scales are no operands") {
    const OneOp op{"com.microsoft.GemmFloat8",
                   {tensor({32, 2048}, DType::u8), tensor({1000, 2048}, DType::u8), std::nullopt,
                    tensor({}), tensor({})},
                   {tensor({32, 1000}, DType::f16)},
                   {{"transB", kOne}}};
    CHECK(op.work().flops == 2.0 * 32 * 1000 * 2048);
    CHECK(class_of(op.work()) == "matmul");
  }
  SUBCASE("the inner dimension from B where A does not know it") {
    const OneOp op{"MatMul", {tensor({4, -1}), tensor({6, 5})}, {tensor({4, 5})}};
    CHECK(op.work().flops == 2.0 * 4 * 5 * 6);
  }
  SUBCASE("packed four-bit weights") {
    const Work work = OneOp{
        "com.microsoft.MatMulNBits",
        {tensor({1, 16, 4096}), tensor({11008, 32, 64}, DType::u8)},
        {tensor({1, 16,
                 11008})}}.work();
    CHECK(work.flops == 2.0 * 16 * 11008 * 4096);
  }
  SUBCASE("a mixture of experts passes each token through k of them") {
    const Work work = OneOp{"com.microsoft.MoE",
                            {tensor({10, 64}), tensor({10, 8}), tensor({8, 64, 256}), std::nullopt,
                             tensor({8, 256, 64})},
                            {tensor({10, 64})},
                            {{"k", std::int64_t{2}}}}
                          .work();
    CHECK(work.flops == 2.0 * 10 * 2 * (64 * 256 + 256 * 64));
  }
  SUBCASE("of the experts only those are read that a token chooses") {
    const auto bytes = [](std::int64_t tokens, std::int64_t chosen) {
      return OneOp{"com.microsoft.MoE",
                   {tensor({tokens, 64}), tensor({tokens, 8}), tensor({8, 64, 256}), std::nullopt,
                    tensor({8, 256, 64})},
                   {tensor({tokens, 64})},
                   {{"k", chosen}}}
          .work()
          .bytes;
    };
    const double expert = 4.0 * 2 * 64 * 256;
    const double beside = 4.0 * (64 + 8 + 64);
    CHECK(bytes(1, 2) == doctest::Approx(beside + 2 * expert));
    // Two tokens: 8 * (1 - (6/8)^2).
    CHECK(bytes(2, 2) == doctest::Approx(2 * beside + 3.5 * expert));
    CHECK(bytes(1000, 2) == doctest::Approx(1000 * beside + 8 * expert));
    CHECK(bytes(1, 8) == doctest::Approx(beside + 8 * expert));
  }
  SUBCASE("each expert that is chosen multiplies the tokens that chose it") {
    const auto products = [](std::int64_t tokens) {
      return OneOp{"com.microsoft.MoE",
                   {tensor({tokens, 64}), tensor({tokens, 8}), tensor({8, 64, 256}), std::nullopt,
                    tensor({8, 256, 64})},
                   {tensor({tokens, 64})},
                   {{"k", std::int64_t{2}}}}
          .work()
          .products;
    };
    CHECK(products(1).rows == 1);
    CHECK(products(1).count == doctest::Approx(2 * 2));
    CHECK(products(1).columns * products(1).inner == doctest::Approx(64 * 256));
    CHECK(products(1000).rows == doctest::Approx(1000.0 * 2 / 8));
    CHECK(products(1000).count == doctest::Approx(2 * 8));
  }
  SUBCASE("quantised experts have scales between weights and bias, and packed weights") {
    const auto work = [](std::int64_t bits) {
      return OneOp{
          "com.microsoft.QMoE",
          {tensor({10, 64}, DType::f16), tensor({10, 8}, DType::f16),
           tensor({8, 256, 64 * bits / 8}, DType::u8), tensor({8, 256}, DType::f16), std::nullopt,
           tensor({8, 64, 256 * bits / 8}, DType::u8), tensor({8, 64}, DType::f16)},
          {tensor({10, 64}, DType::f16)},
          {{"k", std::int64_t{2}}, {"expert_weight_bits", bits}}}
          .work();
    };
    CHECK(work(4).flops == 2.0 * 10 * 2 * (64 * 256 + 256 * 64));
    CHECK(work(8).flops == work(4).flops);
    CHECK(work(4).bytes < work(8).bytes);
  }
}

TEST_CASE("work of factored matrices: n^3 by what is made of them") {
  const TensorInfo matrices = tensor({2, 30, 30}), sides = tensor({2, 30, 7});
  const auto flops = [&](const char* dialect, const char* type, std::optional<TensorInfo> right) {
    OneOp op{type, {matrices}, {right ? *right : matrices}};
    if (right) op.inputs.emplace_back(right);
    op.dialect = dialect;
    return op.work().flops;
  };
  const double cube = 2.0 * 30 * 30 * 30;
  CHECK(flops("onnx", "Det", {}) == doctest::Approx(cube * 2 / 3));
  CHECK(flops("tf", "Lu", {}) == doctest::Approx(cube * 2 / 3));
  CHECK(flops("tf", "Cholesky", {}) == doctest::Approx(cube / 3));
  CHECK(flops("tf", "MatrixInverse", {}) == doctest::Approx(cube * 2));
  CHECK(flops("onnx", "com.microsoft.Inverse", {}) == doctest::Approx(cube * 2));
  CHECK(flops("tf", "MatrixSolve", sides) == doctest::Approx(cube * 2 / 3 + 2.0 * 2 * 30 * 30 * 7));
}

TEST_CASE("work of Einsum follows its equation") {
  const auto einsum = [](const std::string& equation, const std::vector<Shape>& shapes,
                         const Shape& result) {
    OneOp op{"Einsum", {}, {tensor(result)}, {{"equation", equation}}};
    for (const Shape& shape : shapes) op.inputs.emplace_back(tensor(shape));
    return op.work();
  };
  CHECK(einsum("ab,bc->ac", {{3, 4}, {4, 5}}, {3, 5}).flops == 2.0 * 3 * 4 * 5);
  CHECK(einsum("ab,bc", {{3, 4}, {4, 5}}, {3, 5}).flops == 2.0 * 3 * 4 * 5);
  CHECK(class_of(einsum("ab,bc", {{3, 4}, {4, 5}}, {3, 5})) == "matmul");
  CHECK(einsum("...ij, ...jk -> ...ik", {{7, 2, 3, 4}, {2, 4, 5}}, {7, 2, 3, 5}).flops ==
        2.0 * 14 * 3 * 4 * 5);
  // Three operands are two products, one after the other.
  CHECK(einsum("ij,jk,kl->il", {{5, 6}, {6, 7}, {7, 8}}, {5, 8}).flops ==
        2.0 * (5 * 6 * 7 + 5 * 7 * 8));
  CHECK(einsum("ij,jk,kl", {{5, 6}, {6, 7}, {7, 8}}, {5, 8}).flops ==
        2.0 * (5 * 6 * 7 + 5 * 7 * 8));
  CHECK(einsum("bqd,bkd,bkv->bqv", {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}}, {2, 3, 6}).flops ==
        2.0 * (2 * 3 * 4 * 5 + 2 * 3 * 5 * 6));
  CHECK(einsum("ii,ij->j", {{4, 4}, {4, 5}}, {5}).flops == 2.0 * 4 * 5);
  CHECK(class_of(einsum("i,j->ij", {{3}, {4}}, {3, 4})) == "elementwise");
  CHECK(class_of(einsum("ij->ji", {{3, 4}}, {4, 3})) == "data_movement");
  CHECK(class_of(einsum("abc,cd->ad", {{3, 4}, {4, 5}}, {3, 5})) == "other");
  CHECK(class_of(einsum("ab", {{3, 4}, {4, 5}}, {3, 5})) == "other");
  CHECK(class_of(einsum("", {{3, 4}}, {3, 5})) == "other");
}

TEST_CASE("matrix products: rows, columns and inner elements make up the FLOPs") {
  const auto check = [](const Work& work, double rows, double columns, double count) {
    CHECK(work.products.rows == rows);
    CHECK(work.products.columns == columns);
    CHECK(work.products.count == count);
    CHECK(2 * rows * columns * count * work.products.inner == doctest::Approx(work.flops));
  };
  const auto tf = [](const char* type, std::vector<std::optional<TensorInfo>> inputs,
                     const Shape& result) {
    OneOp op{type, std::move(inputs), {tensor(result)}};
    op.dialect = "tf";
    return op.work();
  };
  SUBCASE("of matrices") {
    check(tf("MatMul", {tensor({5, 7}), tensor({7, 3})}, {5, 3}), 5, 3, 1);
    check(tf("BatchMatMul", {tensor({2, 4, 5, 7}), tensor({2, 4, 7, 3})}, {2, 4, 5, 3}), 5, 3, 8);
    // One matrix takes the rows of all.
    check(OneOp{"MatMul", {tensor({4, 5, 7}), tensor({7, 3})}, {tensor({4, 5, 3})}}.work(), 20, 3,
          1);
    check(OneOp{"MatMul", {tensor({4, 5, 7}), tensor({4, 7, 3})}, {tensor({4, 5, 3})}}.work(), 5, 3,
          4);
    check(OneOp{"MatMul", {tensor({5, 7}), tensor({7})}, {tensor({5})}}.work(), 5, 1, 1);
    OneOp einsum{"Einsum", {tensor({4, 5, 7}), tensor({4, 3, 7})}, {tensor({4, 5, 3})}};
    einsum.attributes = {{"equation", std::string("bik,bjk->bij")}};
    check(einsum.work(), 5, 3, 4);
  }
  SUBCASE("of a convolution and its gradients") {
    const Shape image = {2, 12, 12, 8}, filter = {5, 5, 8, 16}, result = {2, 12, 12, 16};
    check(tf("Conv2D", {tensor(image), tensor(filter)}, result), 2 * 12 * 12, 16, 1);
    check(tf("Conv2DBackpropInputV2", {tensor(image), tensor(filter), tensor(result)}, image),
          2 * 12 * 12, 8, 1);
    check(tf("Conv2DBackpropFilterV2", {tensor(image), tensor(filter), tensor(result)}, filter),
          5 * 5 * 8, 16, 1);
  }
  SUBCASE("of a grouped one, a product for each group") {
    OneOp op{"Conv", {tensor({2, 8, 10, 10}), tensor({16, 2, 5, 5})}, {tensor({2, 16, 6, 6})}};
    op.attributes = {{"group", std::int64_t{4}}};
    check(op.work(), 2 * 6 * 6, 4, 4);
  }
  SUBCASE("3 x 3 windows in f32 take fewer multiplications than their FLOPs say") {
    const auto inner = [&](DType dtype, std::int64_t stride) {
      OneOp op{"Conv",
               {tensor({2, 8, 10, 10}, dtype), tensor({16, 8, 3, 3}, dtype)},
               {tensor({2, 16, 8, 8}, dtype)}};
      op.attributes = {{"strides", Ints{stride, stride}}};
      return op.work().products.inner;
    };
    CHECK(inner(DType::f16, 1) == 72);
    CHECK(inner(DType::f32, 2) == 72);
    CHECK(inner(DType::f32, 1) == 72 / 2.25);
  }
  SUBCASE("nothing is said of what is not known") {
    CHECK(OneOp{"MatMul", {tensor({-1, 7}), tensor({7, 3})}, {tensor({-1, 3})}}
              .work()
              .products.count == 0);
    CHECK(OneOp{"Relu", {tensor({5, 7})}, {tensor({5, 7})}}.work().products.count == 0);
  }
}

}  // namespace
}  // namespace berth
