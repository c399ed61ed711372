// Matrices in the last two dimensions: their diagonals, and linear algebra.
#include <ATen/Functions.h>

#include <algorithm>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

// --- diagonals -----------------------------------------------------------------------------------

/// (x, below, above): elements more than so many diagonals away are 0; a negative number keeps all.
Kernel make_band(const KernelRequest& request) {
  return [below = IntsInput(request, 1), above = IntsInput(request, 2)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto whole = x.options().dtype(at::kLong);
    const Tensor row = at::arange(x.size(-2), whole).unsqueeze(1);
    const Tensor column = at::arange(x.size(-1), whole).unsqueeze(0);
    Tensor outside = at::zeros({x.size(-2), x.size(-1)}, x.options().dtype(at::kBool));
    const std::int64_t low = below.one(in), high = above.one(in);
    if (low >= 0) outside = at::logical_or(outside, at::gt(at::sub(row, column), low));
    if (high >= 0) outside = at::logical_or(outside, at::gt(at::sub(column, row), high));
    out[0].tensor = at::masked_fill(x, outside, 0);
  };
}

/// Says where a matrix's diagonals lie in a tensor that has a row for each, the highest first.
struct Diagonals {
  std::int64_t lowest = 0, highest = 0, rows = 0, columns = 0, longest = 0;
  bool right_above = true, right_below = false;  ///< shorter ones end their row

  /// `align` as TensorFlow has it: above, then below.
  void set_align(const std::string& align) {
    right_above = align.substr(0, 5) == "RIGHT";
    right_below = align.substr(align.find('_') + 1) == "RIGHT";
  }
  void set_size(std::int64_t row_count, std::int64_t column_count) {
    rows = row_count;
    columns = column_count;
    longest = 0;
    for (std::int64_t d = lowest; d <= highest; ++d) longest = std::max(longest, length(d));
  }
  [[nodiscard]] std::int64_t length(std::int64_t d) const {
    return std::min(rows + std::min<std::int64_t>(d, 0), columns - std::max<std::int64_t>(d, 0));
  }
  [[nodiscard]] bool is_band() const { return lowest != highest; }
  /// The part of `packed` that is diagonal d: [.., diagonals, longest], or [.., longest] for one.
  [[nodiscard]] Tensor row(const Tensor& packed, std::int64_t d) const {
    const bool right = d >= 0 ? right_above : right_below;
    const Tensor whole = is_band() ? packed.select(-2, highest - d) : packed;
    return whole.narrow(-1, right ? longest - length(d) : 0, length(d));
  }
};

/// Which diagonals inputs `k` name; the main one where the op takes none.
Diagonals diagonals_of(const Instruction& op, const std::optional<IntsInput>& k, Inputs in) {
  Diagonals made;
  made.set_align(text_attribute(op, "align", op.type.back() == '3' ? "RIGHT_LEFT" : "LEFT_LEFT"));
  if (!k) return made;
  const Ints named = k->get(in);
  made.lowest = named.at(0);
  made.highest = named.back();
  return made;
}

std::optional<IntsInput> optional_ints(const KernelRequest& request, std::size_t i, bool is_there) {
  return is_there ? std::optional(IntsInput(request, i)) : std::nullopt;
}

bool names_diagonals(const Instruction& op) {
  return op.type.back() == '2' || op.type.back() == '3';
}

/// (diagonals; of later versions also which, rows?, columns?, what is elsewhere)
Kernel make_from_diagonals(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool named = names_diagonals(op);
  return
      [op, named, k = optional_ints(request, 1, named), rows = optional_ints(request, 2, named),
       columns = optional_ints(request, 3, named)](KernelContext& context, Inputs in, Outputs out) {
        const Tensor& packed = tensor_at(in, 0);
        Diagonals at = diagonals_of(op, k, in);
        std::int64_t row_count = rows ? rows->one(in) : -1,
                     column_count = columns ? columns->one(in) : -1;
        const std::int64_t least_rows = packed.size(-1) - std::min<std::int64_t>(at.highest, 0);
        const std::int64_t least_columns = packed.size(-1) + std::max<std::int64_t>(at.lowest, 0);
        if (row_count < 0 && column_count < 0) {
          row_count = column_count = std::max(least_rows, least_columns);
        } else if (row_count < 0) {
          row_count = least_rows;
        } else if (column_count < 0) {
          column_count = least_columns;
        }
        at.set_size(row_count, column_count);
        Ints shape = packed.sizes()
                         .slice(0, static_cast<std::size_t>(packed.dim()) - (at.is_band() ? 2 : 1))
                         .vec();
        shape.insert(shape.end(), {row_count, column_count});
        Tensor y = at::zeros(shape, packed.options());
        if (named) y.copy_(on_device(context, tensor_at(in, 4)));
        for (std::int64_t d = at.lowest; d <= at.highest; ++d) {
          y.diagonal(d, -2, -1).copy_(at.row(packed, d));
        }
        out[0].tensor = y;
      };
}

/// (x; of later versions also which diagonals, what fills up their rows)
Kernel make_diagonals(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool named = names_diagonals(op);
  return [op, named, k = optional_ints(request, 1, named)](KernelContext& context, Inputs in,
                                                           Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Diagonals at = diagonals_of(op, k, in);
    at.set_size(x.size(-2), x.size(-1));
    Ints shape = x.sizes().slice(0, static_cast<std::size_t>(x.dim()) - 2).vec();
    if (at.is_band()) shape.push_back(at.highest - at.lowest + 1);
    shape.push_back(at.longest);
    Tensor packed = at::zeros(shape, x.options());
    if (named) packed.copy_(on_device(context, tensor_at(in, 2)));
    for (std::int64_t d = at.lowest; d <= at.highest; ++d) {
      at.row(packed, d).copy_(x.diagonal(d, -2, -1));
    }
    out[0].tensor = packed;
  };
}

/// (x, diagonals; of later versions also which)
Kernel make_set_diagonals(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  return [op, k = optional_ints(request, 2, names_diagonals(op))](KernelContext&, Inputs in,
                                                                  Outputs out) {
    Tensor y = tensor_at(in, 0).clone();
    Diagonals at = diagonals_of(op, k, in);
    at.set_size(y.size(-2), y.size(-1));
    for (std::int64_t d = at.lowest; d <= at.highest; ++d) {
      y.diagonal(d, -2, -1).copy_(at.row(tensor_at(in, 1), d));
    }
    out[0].tensor = y;
  };
}

/// A tensor of twice the rank, with x where both halves of an index agree.
Tensor as_diagonal(const Tensor& x) {
  Ints shape = x.sizes().vec();
  shape.insert(shape.end(), x.sizes().begin(), x.sizes().end());
  return at::diag_embed(x.reshape({-1})).reshape(shape);
}

Tensor main_diagonal(const Tensor& x) {
  const Ints half = x.sizes().slice(0, static_cast<std::size_t>(x.dim()) / 2).vec();
  std::int64_t count = 1;
  for (const std::int64_t size : half) count *= size;
  return x.reshape({count, count}).diagonal().reshape(half);
}

// --- linear algebra ------------------------------------------------------------------------------

Tensor cholesky(const Tensor& x) {
  return at::linalg_cholesky(x);
}
Tensor determinant(const Tensor& x) {
  return at::det(x);
}
Tensor cross(const Tensor& a, const Tensor& b) {
  return at::linalg_cross(a, b, -1);
}

Kernel make_inverse(const KernelRequest& request) {
  return [adjoint = int_attribute(request.instruction, "adjoint", 0) != 0](KernelContext&,
                                                                           Inputs in, Outputs out) {
    const Tensor inverse = at::linalg_inv(tensor_at(in, 0));
    out[0].tensor = adjoint ? inverse.mH() : inverse;
  };
}

/// (matrices, right sides)
Kernel make_solve(const KernelRequest& request) {
  return [adjoint = int_attribute(request.instruction, "adjoint", 0) != 0](KernelContext&,
                                                                           Inputs in, Outputs out) {
    const Tensor& a = tensor_at(in, 0);
    out[0].tensor = at::linalg_solve(adjoint ? a.mH() : a, tensor_at(in, 1));
  };
}

Kernel make_triangular_solve(const KernelRequest& request) {
  const bool lower = int_attribute(request.instruction, "lower", 1) != 0;
  const bool adjoint = int_attribute(request.instruction, "adjoint", 0) != 0;
  return [lower, adjoint](KernelContext&, Inputs in, Outputs out) {
    const Tensor& a = tensor_at(in, 0);
    out[0].tensor = at::linalg_solve_triangular(adjoint ? a.mH() : a, tensor_at(in, 1),
                                                /*upper=*/lower == adjoint);
  };
}

constexpr KernelRow kRows[] = {
    {"Cholesky", make_unary<cholesky>},
    {"Cross", make_binary<cross>},
    {"Diag", make_unary<as_diagonal>},
    {"DiagPart", make_unary<main_diagonal>},
    {"MatrixBandPart", make_band},
    {"MatrixDeterminant", make_unary<determinant>},
    {"MatrixDiag", make_from_diagonals},
    {"MatrixDiagPart", make_diagonals},
    {"MatrixDiagPartV2", make_diagonals},
    {"MatrixDiagPartV3", make_diagonals},
    {"MatrixDiagV2", make_from_diagonals},
    {"MatrixDiagV3", make_from_diagonals},
    {"MatrixInverse", make_inverse},
    {"MatrixSetDiag", make_set_diagonals},
    {"MatrixSetDiagV2", make_set_diagonals},
    {"MatrixSetDiagV3", make_set_diagonals},
    {"MatrixSolve", make_solve},
    {"MatrixTriangularSolve", make_triangular_solve},
};

}  // namespace

std::span<const KernelRow> matrix_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
