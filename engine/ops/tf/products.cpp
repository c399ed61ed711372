// Matrix products, Einstein sums and decompositions.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void matmul(OpContext& op) {
  const Value& a = op.in(0);
  const Value& b = op.in(1);
  const bool ta = op.attributes.boolean("transpose_a", false);
  const bool tb = op.attributes.boolean("transpose_b", false);
  // Both are matrices, also where the file does not say so.
  op.set(0, {a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)});
}
void batch_matmul(OpContext& op) {
  const Dims* const a = op.shape(0);
  const Dims* const b = op.shape(1);
  if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return;
  if (auto dims = matrix_product(*a, *b, op.attributes.boolean("adj_x", false),
                                 op.attributes.boolean("adj_y", false))) {
    op.set(0, *std::move(dims));
  }
}
/// indices, values, shape of the sparse one; then the dense one.
void sparse_matmul(OpContext& op) {
  const Value shape = shape_of_content(op.in(2));
  op.set(0, {shape.dim(op.attributes.boolean("adjoint_a", false) ? 1 : 0),
             op.in(3).dim(op.attributes.boolean("adjoint_b", false) ? 0 : 1)});
}

void einsum(OpContext& op) {
  std::vector<const Dims*> operands;
  for (std::size_t i = 0; i < op.input_count(); ++i) operands.push_back(op.shape(i));
  if (auto dims = einsum_dims(op.attributes.text("equation", {}), operands)) {
    op.set(0, *std::move(dims));
  }
}

void matrix_determinant(OpContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.size() < 2) return;
  const Dims batch(op.in(0).dims.begin(), op.in(0).dims.end() - 2);
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, batch);
}

/// input [.., m, n]: q [.., m, p] and r [.., p, n], p the smaller.
void qr(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  const Number m = input.dims[input.dims.size() - 2];
  const Number n = input.dims.back();
  const Number p = m < 0 || n < 0 ? kUnknownDim : std::min(m, n);
  const bool full = op.attributes.boolean("full_matrices", false);
  Dims q = input.dims, r = input.dims;
  q.back() = full ? m : p;
  r[r.size() - 2] = full ? m : p;
  op.set(0, std::move(q));
  op.set(1, std::move(r));
}

/// input [.., m, n]: s [.., p], u [.., m, p] and v [.., n, p], p the smaller.
void singular_values(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  const Number m = input.dims[input.dims.size() - 2];
  const Number n = input.dims.back();
  const Number p = m < 0 || n < 0 ? kUnknownDim : std::min(m, n);
  const bool full = op.attributes.boolean("full_matrices", false);
  Dims s(input.dims.begin(), input.dims.end() - 1);
  Dims u = input.dims, v = input.dims;
  s.back() = p;
  u.back() = full ? m : p;
  v[v.size() - 2] = n;
  v.back() = full ? n : p;
  op.set(0, std::move(s));
  const bool vectors = op.attributes.boolean("compute_uv", true);
  op.set(1, vectors ? std::move(u) : Dims{0});
  op.set(2, vectors ? std::move(v) : Dims{0});
}
/// [.., n, n]: values [.., n] and vectors [.., n, n].
void eigenvalues(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  op.set(0, Dims(input.dims.begin(), input.dims.end() - 1));
  op.set(1, op.attributes.boolean("compute_v", true) ? input.dims : Dims{0});
}
void lu(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  op.set(0, input.dims);
  op.set(1, Dims(input.dims.begin(), input.dims.end() - 1));
}
/// matrix [.., m, n], right sides [.., m, k]: [.., n, k].
void least_squares(OpContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.empty() || op.in(1).rank() != op.in(0).rank()) return;
  Dims dims = op.in(1).dims;
  if (dims.size() < 2) return;
  dims[dims.size() - 2] = op.in(0).dims.back();
  op.set(0, std::move(dims));
}
void like_last(OpContext& op) {
  op.copy_shape(0, op.in(op.input_count() - 1));
}

/// input, lengths: the last dimensions become those lengths.
void inverse_real_fourier(OpContext& op) {
  const Value lengths = shape_of_content(op.in(1));
  if (!op.in(0).ranked || !lengths.ranked || lengths.dims.size() > op.in(0).dims.size()) return;
  Dims dims = op.in(0).dims;
  std::copy(lengths.dims.begin(), lengths.dims.end(),
            dims.end() - static_cast<std::ptrdiff_t>(lengths.dims.size()));
  op.set(0, std::move(dims));
}
/// The same; of the last one half is kept.
void real_fourier(OpContext& op) {
  inverse_real_fourier(op);
  if (op.out(0).rank() < 1) return;
  std::int64_t& last = op.out(0).dims.back();
  last = add_dims(divide_dims(last, 2), 1);
}

// --- Work ---------------------------------------------------------------------------------------

Estimate matmul_work(const OpView& op, const WorkRule& rule) {
  const bool transposed = op.integer("transpose_a", op.integer("adj_x", 0)) != 0;
  const double inner = op.input(0).dim(transposed ? -2 : -1);
  const TensorView product = op.output(0);
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(product.elements(), inner, /*bias=*/false),
                          work::all_bytes(op)),
      product.dim(-2), product.dim(-1), product.elements(0, -2));
}
Estimate sparse_matmul_work(const OpView& op, const WorkRule& rule) {
  const double columns = op.output(0).dim(1);
  return work::make_estimate(op, rule, 2 * op.input(1).elements() * columns, work::all_bytes(op));
}
/// Matrices [.., n, n], factored, and right sides [.., n, k], solved for both triangles.
Estimate solve_work(const OpView& op, const WorkRule& rule) {
  Estimate estimate = work::cubic(op, rule);
  estimate.work.flops += 2 * op.output(0).elements() * op.input(0).dim(-1);
  return estimate;
}
constexpr WorkRule kMatMul{matmul_work, OpClass::matmul};
constexpr WorkRule kSparseMatMul{sparse_matmul_work, OpClass::matmul};
constexpr WorkRule kEinsum{work::einsum, OpClass::matmul};
constexpr WorkRule kSolve{solve_work, OpClass::matmul, kFactorisation.flops};

// Six products and a solve of Pade's approximant, and a few squarings (Higham, SIAM J. Matrix Anal.
// 2005).
constexpr WorkRule kMatrixExponential = cubic(24);
// A Schur form of 25 n^3, and roots of the triangle.
constexpr WorkRule kMatrixLogarithm = cubic(50);

/// Transforms over the last rule.flops dimensions.
Estimate fourier_work(const OpView& op, const WorkRule& rule) {
  const TensorView input = op.input(0);
  const double points = input.elements(-static_cast<int>(rule.flops), TensorView::kEnd);
  return work::make_estimate(op, rule, fourier_flops(input.elements(), points),
                             work::all_bytes(op));
}
constexpr WorkRule fourier(double dimensions) {
  return {fourier_work, OpClass::reduction, dimensions};
}
/// Half the work: of input and output, the real one has the points.
Estimate real_fourier_work(const OpView& op, const WorkRule& rule) {
  const bool inverse = op.input(0).dtype() == DType::c64 || op.input(0).dtype() == DType::c128;
  const TensorView real = inverse ? op.output(0) : op.input(0);
  const double points = real.elements(-static_cast<int>(rule.flops), TensorView::kEnd);
  return work::make_estimate(op, rule, fourier_flops(real.elements(), points) / 2,
                             work::all_bytes(op));
}
constexpr WorkRule real_fourier_of(double dimensions) {
  return {real_fourier_work, OpClass::reduction, dimensions};
}

constexpr Row kOps[] = {
    {"BandedTriangularSolve", "output:T", rule::like_second, kTriangular},
    {"BatchMatMul", "output:T", batch_matmul, kMatMul},
    {"BatchMatMulV2", "output:T", batch_matmul, kMatMul},
    {"BatchMatMulV3", "output:Tout", batch_matmul, kMatMul},
    {"Cholesky", "output:T", rule::like_first, cubic(1.0 / 3)},
    {"CholeskyGrad", "output:T", rule::like_first, cubic(2)},
    {"Eig", "e:Tout v:Tout", eigenvalues, cubic(25)},
    {"Einsum", "output:T", einsum, kEinsum},
    {"FFT", "output:Tcomplex=complex64", rule::like_first, fourier(1)},
    {"FFT2D", "output:Tcomplex=complex64", rule::like_first, fourier(2)},
    {"FFT3D", "output:Tcomplex=complex64", rule::like_first, fourier(3)},
    {"IFFT", "output:Tcomplex=complex64", rule::like_first, fourier(1)},
    {"IFFT2D", "output:Tcomplex=complex64", rule::like_first, fourier(2)},
    {"IFFT3D", "output:Tcomplex=complex64", rule::like_first, fourier(3)},
    {"IRFFT", "output:Treal=float", inverse_real_fourier, real_fourier_of(1)},
    {"IRFFT2D", "output:Treal=float", inverse_real_fourier, real_fourier_of(2)},
    {"IRFFT3D", "output:Treal=float", inverse_real_fourier, real_fourier_of(3)},
    {"LogMatrixDeterminant", "sign:T log_abs_determinant:T", matrix_determinant, kFactorisation},
    {"Lu", "lu:T p:output_idx_type=int32", lu, kFactorisation},
    {"MatMul", "product:T", matmul, kMatMul},
    {"MatrixDeterminant", "output:T", matrix_determinant, kFactorisation},
    {"MatrixExponential", "output:T", rule::like_first, kMatrixExponential},
    {"MatrixInverse", "output:T", rule::like_first, cubic(2)},
    {"MatrixLogarithm", "output:T", rule::like_first, kMatrixLogarithm},
    {"MatrixSolve", "output:T", rule::like_second, kSolve},
    {"MatrixSolveLs", "output:T", least_squares, cubic(2)},
    {"MatrixSquareRoot", "output:T", rule::like_first, kMatrixLogarithm},
    {"MatrixTriangularSolve", "output:T", rule::like_second, kTriangular},
    {"Qr", "q:T r:T", qr, cubic(2)},
    {"RFFT", "output:Tcomplex=complex64", real_fourier, real_fourier_of(1)},
    {"RFFT2D", "output:Tcomplex=complex64", real_fourier, real_fourier_of(2)},
    {"RFFT3D", "output:Tcomplex=complex64", real_fourier, real_fourier_of(3)},
    {"SelfAdjointEigV2", "e:T v:T", eigenvalues, cubic(9)},
    {"SparseMatMul", "product:=float", matmul, kMatMul},
    {"SparseTensorDenseMatMul", "product:T", sparse_matmul, kSparseMatMul},
    {"Svd", "s:T u:T v:T", singular_values, cubic(20)},
    {"TridiagonalMatMul", "output:T", like_last, elementwise(6)},
    {"TridiagonalSolve", "output:T", rule::like_second, elementwise(8)},
};

}  // namespace

std::span<const Row> product_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
