// Work of TensorFlow's ops, each counted by hand on a shape small enough for it.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "one_op.h"

namespace berth::test {
namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::vector<std::optional<TensorInfo>>;

Work tf_work(const char* type, const Inputs& inputs, const TensorInfo& output,
             std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
  return OneOp{type, inputs, {output}, std::move(attributes), "tf"}.work();
}

TEST_CASE("a sparse matrix multiplies with what it has") {
  // 7 numbers, each with a row of 3.
  CHECK(tf_work("SparseTensorDenseMatMul",
                {tensor({7, 2}, DType::i64), tensor({7}), tensor({2}, DType::i64), tensor({5, 3})},
                tensor({4, 3}))
            .flops == 2 * 7 * 3);
}

TEST_CASE("decompositions take a multiple of the cube of a matrix's rows") {
  // Golub and Van Loan, Matrix Computations, count multiplications and additions: 25 for a Schur form with
  // vectors, 9 for a symmetric one; 12 for singular values and the vectors of one side, 21 with those of both, or
  // 26 by way of R; 4/3 for R, and twice that with Q. An exponential is six products, a solve and up to ten
  // squarings.
  constexpr struct {
    const char* type;
    double least, most;
  } kRows[] = {{"Eig", 25, 25},
               {"SelfAdjointEigV2", 9, 9},
               {"Svd", 12, 26},
               {"Qr", 4.0 / 3, 8.0 / 3},
               {"MatrixExponential", 6 * 2 + 8.0 / 3, 16 * 2 + 8.0 / 3}};
  for (const auto& row : kRows) {
    CAPTURE(std::string(row.type));
    const auto each = [&](std::int64_t batch, std::int64_t rows) {
      const double cubes = static_cast<double>(batch * rows * rows * rows);
      const TensorInfo matrix = tensor({batch, rows, rows});
      return tf_work(row.type, {matrix}, matrix).flops / cubes;
    };
    CHECK(each(1, 8) >= row.least);
    CHECK(each(1, 8) <= row.most);
    CHECK(each(3, 16) == doctest::Approx(each(1, 8)).scale(0));
  }
}

TEST_CASE(
    "solving with a triangle takes a multiply-add for each of its numbers, a determinant LU") {
  // Half of 6 x 6 numbers, for 4 right sides.
  CHECK(tf_work("MatrixTriangularSolve", {tensor({6, 6}), tensor({6, 4})}, tensor({6, 4})).flops ==
        36 * 4);
  CHECK(tf_work("MatrixDeterminant", {tensor({2, 6, 6})}, tensor({2})).flops ==
        doctest::Approx(2 * 2.0 / 3 * 216).scale(0));
}

TEST_CASE("a Fourier transform of n points takes 5 n log2 n, of real ones half") {
  // FFTW counts its MFLOPS so (fftw.org/speed).
  const TensorInfo complex = tensor({2, 8}, DType::c64), real = tensor({2, 8});
  const TensorInfo half = tensor({2, 5}, DType::c64), length = tensor({1}, DType::i32);
  CHECK(tf_work("FFT", {complex}, complex).flops == 2 * 5 * 8 * 3);
  CHECK(tf_work("IFFT", {complex}, complex).flops == 2 * 5 * 8 * 3);
  CHECK(tf_work("RFFT", {real, length}, half).flops == 2 * 5 * 8 * 3 / 2.0);
  CHECK(tf_work("IRFFT", {half, length}, real).flops == 2 * 5 * 8 * 3 / 2.0);
  // 4 x 8 points together.
  const TensorInfo image = tensor({4, 8}, DType::c64);
  CHECK(tf_work("FFT2D", {image}, image).flops == 5 * 32 * 5);
}

TEST_CASE("poolings look at each element of each window, their gradients spread it") {
  const TensorInfo image = tensor({2, 8, 8, 4}), pooled = tensor({2, 4, 4, 4});
  const std::vector<std::pair<std::string, AttributeValue>> window = {
      {"ksize", Ints{1, 3, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}};
  for (const char* const type : {"MaxPool", "AvgPool"}) {
    CAPTURE(std::string(type));
    CHECK(tf_work(type, {image}, pooled, window).flops == 2 * 16 * 4 * (3 * 2));
  }
  CHECK(tf_work("MaxPoolGrad", {image, pooled, pooled}, image, window).flops == 2 * 64 * 4 * 2);
  CHECK(tf_work("AvgPoolGrad", {tensor({4}, DType::i32), pooled}, image, window).flops ==
        2 * 64 * 4 * 2);
}

TEST_CASE("picking the largest k of n compares each with the log2 k levels of a heap") {
  const TensorInfo values = tensor({4096});
  const auto flops = [&](const char* type, const char* dialect, std::int64_t kept) {
    return OneOp{type, {values, tensor({}, DType::i64)}, {tensor({kept})}, {}, dialect}
        .work()
        .flops;
  };
  CHECK(flops("TopKV2", "tf", 8) == 4096 * 3);
  CHECK(flops("TopK", "onnx", 8) == 4096 * 3);
  CHECK(flops("TopKV2", "tf", 1) == 4096);
}

TEST_CASE("a sum over segments of rows that indices name reads those rows, not the table") {
  // 12 of 1000 rows of 8, into 3 segments; the gradient spreads 3 rows over 12 of 20.
  const TensorInfo indices = tensor({12}, DType::i32);
  const Work sum =
      tf_work("SparseSegmentSum", {tensor({1000, 8}), indices, indices}, tensor({3, 8}));
  CHECK(sum.flops == 12 * 8);
  CHECK(sum.bytes == 4 * (12 * 8 + 2 * 12 + 3 * 8));
  const Work slope =
      tf_work("SparseSegmentMeanGrad", {tensor({3, 8}), indices, indices, tensor({}, DType::i32)},
              tensor({20, 8}));
  CHECK(slope.flops == 12 * 8);
  CHECK(slope.bytes == 4 * (12 * 8 + 2 * 12 + 1 + 20 * 8));
}

TEST_CASE("numbers are drawn from distributions that are read") {
  // Two lines of 100 logits, three samples of each; a shape is not read.
  const TensorInfo logits = tensor({2, 100}), samples = tensor({2, 3}, DType::i64);
  for (const char* const type : {"Multinomial", "StatelessMultinomial"}) {
    const Work work = tf_work(type, {logits}, samples);
    CHECK(work.flops == 200 * 12 + 6 * 20);
    CHECK(work.bytes == 200 * 4 + 6 * 8);
  }
  const TensorInfo shape = tensor({1}, DType::i32);
  CHECK(tf_work("RandomGamma", {shape, logits}, logits).bytes == 4 + 2 * 200 * 4);
  CHECK(tf_work("RandomUniform", {shape}, logits).bytes == 200 * 4);
  CHECK(OneOp{"Multinomial", {logits}, {samples}}.work().bytes == 200 * 4 + 6 * 8);
  CHECK(OneOp{"Bernoulli", {logits}, {logits}}.work().bytes == 2 * 200 * 4);
}

TEST_CASE("diagonals and single elements are read alone") {
  CHECK(tf_work("MatrixDiagPartV3", {tensor({8, 16, 16}), tensor({1}, DType::i32), tensor({})},
                tensor({8, 16}))
            .bytes == 4 * (2 * 8 * 16 + 2));
  // 7 entries of a dense matrix.
  CHECK(
      tf_work("SparseDenseCwiseMul",
              {tensor({7, 2}, DType::i64), tensor({7}), tensor({2}, DType::i64), tensor({90, 90})},
              tensor({7}))
          .bytes == 7 * 2 * 8 + 2 * 8 + 4 * 3 * 7);
}

}  // namespace
}  // namespace berth::test
