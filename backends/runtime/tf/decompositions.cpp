// Matrices taken apart, in the last two dimensions. Signs of singular vectors, of eigenvectors and of the columns of an
// orthogonal factor are free, and may differ from TensorFlow's.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

Tensor nothing(const Tensor& like) {
  return at::empty({0}, like.options());
}

/// Gives the outputs that are wanted.
void give(Outputs out, std::initializer_list<Tensor> tensors) {
  std::size_t i = 0;
  for (const Tensor& tensor : tensors) {
    if (i < out.size()) out[i++].tensor = tensor;
  }
}

/// (x): values, left and right vectors, in columns both. Values are of the type of x, also where that is complex.
Kernel make_singular_values(const KernelRequest& request) {
  const bool with_vectors = int_attribute(request.instruction, "compute_uv", 1) != 0;
  const bool full = int_attribute(request.instruction, "full_matrices", 0) != 0;
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (!with_vectors)
      return give(out, {at::linalg_svdvals(x).to(x.scalar_type()), nothing(x), nothing(x)});
    const auto [u, s, v] = at::linalg_svd(x, full);
    give(out, {s.to(x.scalar_type()), u, v.mH()});
  };
}

/// (symmetric x): values in ascending order, and vectors in columns.
Kernel make_eigenvalues(const KernelRequest& request) {
  const bool with_vectors = int_attribute(request.instruction, "compute_v", 1) != 0;
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (!with_vectors) return give(out, {at::linalg_eigvalsh(x).to(x.scalar_type()), nothing(x)});
    const auto [values, vectors] = at::linalg_eigh(x);
    give(out, {values.to(x.scalar_type()), vectors});
  };
}

Kernel make_orthogonal_triangular(const KernelRequest& request) {
  const bool full = int_attribute(request.instruction, "full_matrices", 0) != 0;
  return [full](KernelContext&, Inputs in, Outputs out) {
    const auto [q, r] = at::linalg_qr(tensor_at(in, 0), full ? "complete" : "reduced");
    give(out, {q, r});
  };
}

/// (x): both triangles in one matrix, and the row of x that each of their product's is.
Kernel make_triangles(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "output_idx_type", at::kInt);
  return [wanted](KernelContext&, Inputs in, Outputs out) {
    const auto [triangles, pivots] = at::linalg_lu_factor(tensor_at(in, 0));
    const Tensor permutation = std::get<0>(at::lu_unpack(triangles, pivots, false, true));
    give(out, {triangles, at::argmax(at::real(permutation), -2).to(wanted)});
  };
}

/// (x): the determinant's sign, and the logarithm of its absolute value, which is no complex number in ATen.
Kernel make_log_determinant(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto [sign, logarithm] = at::linalg_slogdet(x);
    give(out, {sign, logarithm.to(x.scalar_type())});
  };
}

/// (the diagonals above, on and below the main one, each as long as that; right sides)
Kernel make_tridiagonal_solve(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor& diagonals = tensor_at(in, 0);
    if (diagonals.dim() < 2 || diagonals.size(-2) != 3) {
      throw Error(ErrorCode::invalid_argument,
                  cat("its matrix has ", diagonals.dim() < 2 ? 1 : diagonals.size(-2),
                      " diagonals and should have 3"));
    }
    const std::int64_t size = diagonals.size(-1), beside = std::max<std::int64_t>(size - 1, 0);
    Tensor matrix = at::diag_embed(diagonals.select(-2, 1));
    if (beside > 0) {
      matrix = matrix + at::diag_embed(diagonals.select(-2, 0).narrow(-1, 0, beside), 1) +
               at::diag_embed(diagonals.select(-2, 2).narrow(-1, 1, beside), -1);
    }
    out[0].tensor = at::linalg_solve(matrix, tensor_at(in, 1));
  };
}

constexpr KernelRow kRows[] = {
    {"LogMatrixDeterminant", make_log_determinant},
    {"Lu", make_triangles},
    {"Qr", make_orthogonal_triangular},
    {"SelfAdjointEigV2", make_eigenvalues},
    {"Svd", make_singular_values},
    {"TridiagonalSolve", make_tridiagonal_solve},
};

}  // namespace

std::span<const KernelRow> decomposition_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
