// Diagonals and bands of matrices, alone and as part of one.
#include <algorithm>
#include <optional>

#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void diagonal(OpContext& op) {
  if (!op.in(0).ranked) return;
  Dims dims = op.in(0).dims;
  dims.insert(dims.end(), op.in(0).dims.begin(), op.in(0).dims.end());
  op.set(0, std::move(dims));
}
void diagonal_part(OpContext& op) {
  if (!op.in(0).ranked) return;
  op.set(0, Dims(op.in(0).dims.begin(), op.in(0).dims.begin() + op.in(0).rank() / 2));
}
void matrix_diagonal(OpContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  Dims dims = op.in(0).dims;
  dims.push_back(dims.back());
  op.set(0, std::move(dims));
}
void matrix_diagonal_part(OpContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked || input.dims.size() < 2) return;
  Dims dims(input.dims.begin(), input.dims.end() - 1);
  const Number columns = input.dims.back();
  dims.back() = dims.back() < 0 || columns < 0 ? kUnknownDim : std::min(dims.back(), columns);
  op.set(0, std::move(dims));
}

// --- Several diagonals --------------------------------------------------------------------------

/// The diagonals from `lower` to `upper`: 0 is the main one, those above it are positive.
struct Diagonals {
  Number lower;
  Number upper;
  [[nodiscard]] Number count() const { return upper - lower + 1; }
};
/// `k`: one diagonal, or the first and the last of several.
std::optional<Diagonals> diagonals_of(const Value& k) {
  const auto lower = k.element(0), upper = k.content_size() > 1 ? k.element(1) : lower;
  const auto sane = [](Number at) { return at >= -kMaxDim && at <= kMaxDim; };
  if (!lower || !upper || !sane(*lower) || !sane(*upper) || *lower > *upper) return std::nullopt;
  return Diagonals{*lower, *upper};
}

/// The size of one side: what is `given`, or at least `least` where that is -1.
Number side(const Value& given, Number least) {
  const auto stated = given.element(0);
  if (!stated) return kUnknownDim;
  return *stated == -1 ? least : valid_dim(*stated);
}
/// diagonals, k, rows, columns. Without rows and columns the matrix is square, and the smallest that
/// holds the longest diagonal.
void matrix_of_diagonals(OpContext& op) {
  const Dims* const from = op.shape(0);
  const auto diagonals = diagonals_of(op.in(1));
  const std::size_t own = diagonals && diagonals->count() > 1 ? 2 : 1;
  if (from == nullptr || !diagonals || from->size() < own) return;
  const Number longest = from->back();
  Number rows = add_dims(longest, std::max<Number>(0, -diagonals->upper));
  Number columns = add_dims(longest, std::max<Number>(0, diagonals->lower));
  const bool square = op.in(2).element(0) == -1 && op.in(3).element(0) == -1;
  if (square && longest != kUnknownDim) rows = columns = std::max(rows, columns);
  Dims dims(from->begin(), from->end() - static_cast<std::ptrdiff_t>(own));
  dims.push_back(side(op.in(2), rows));
  dims.push_back(side(op.in(3), columns));
  op.set(0, std::move(dims));
}
/// matrix, k: the diagonals are as long as the longest one.
void diagonals_of_matrix(OpContext& op) {
  const Dims* const from = op.shape(0);
  const auto diagonals = diagonals_of(op.in(1));
  if (from == nullptr || !diagonals || from->size() < 2) return;
  const Number rows = (*from)[from->size() - 2], columns = from->back();
  Dims dims(from->begin(), from->end() - 2);
  if (diagonals->count() > 1) dims.push_back(diagonals->count());
  const bool known = rows != kUnknownDim && columns != kUnknownDim;
  dims.push_back(known ? valid_dim(std::min(rows + std::min<Number>(0, diagonals->upper),
                                            columns - std::max<Number>(0, diagonals->lower)))
                       : kUnknownDim);
  op.set(0, std::move(dims));
}

constexpr Row kOps[] = {
    {"Diag", "output:T", diagonal, copies()},
    {"DiagPart", "diagonal:T", diagonal_part, gathers()},
    {"MatrixBandPart", "band:T", rule::like_first, copies()},
    {"MatrixDiag", "output:T", matrix_diagonal, copies()},
    {"MatrixDiagPart", "diagonal:T", matrix_diagonal_part, gathers()},
    {"MatrixDiagPartV2", "diagonal:T", diagonals_of_matrix, gathers()},
    {"MatrixDiagPartV3", "diagonal:T", diagonals_of_matrix, gathers()},
    {"MatrixDiagV2", "output:T", matrix_of_diagonals, copies()},
    {"MatrixDiagV3", "output:T", matrix_of_diagonals, copies()},
    {"MatrixSetDiag", "output:T", rule::like_first, copies()},
    {"MatrixSetDiagV2", "output:T", rule::like_first, copies()},
    {"MatrixSetDiagV3", "output:T", rule::like_first, copies()},
};

}  // namespace

std::span<const Row> diagonal_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
