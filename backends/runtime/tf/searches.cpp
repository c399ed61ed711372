// Elements found by their value, and indices in other forms.
#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// (ascending rows, values for each): where a value would come, before or behind its equals.
template <bool behind>
Kernel make_bound(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "out_type", at::kInt);
  return [wanted](KernelContext&, Inputs in, Outputs out) {
    const Tensor rows = tensor_at(in, 0).contiguous();
    const Tensor values = tensor_at(in, 1).to(rows.device()).contiguous();
    out[0].tensor = at::searchsorted(rows, values, /*out_int32=*/false, behind).to(wanted);
  };
}

/// (x, n): the element of each row that n others come before.
Kernel make_nth(const KernelRequest& request) {
  const bool reverse = int_attribute(request.instruction, "reverse", 0) != 0;
  return [reverse, place = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t n = place.one(in);
    const std::int64_t size = x.dim() == 0 ? 1 : x.size(-1);
    if (n < 0 || n >= size) {
      throw Error(ErrorCode::invalid_argument, cat("element ", n, " of ", size, " is asked for"));
    }
    out[0].tensor = std::get<0>(at::kthvalue(x, reverse ? size - n : n + 1, -1));
  };
}

/// (x, y): the elements of x that are not in y, and where they are.
Kernel make_difference(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "out_idx", at::kInt);
  return [wanted](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor known = at::isin(x, tensor_at(in, 1).to(x.device()));
    const Tensor index = at::nonzero(at::logical_not(known)).reshape({-1});
    out[0].tensor = at::index_select(x, 0, index);
    if (out.size() > 1) out[1].tensor = index.to(wanted);
  };
}

/// (positions in a tensor laid out in one row, its shape): a row of indices for each dimension.
Kernel make_unraveled(const KernelRequest& request) {
  return [sizes = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    Tensor left = tensor_at(in, 0);
    const Ints shape = sizes.get(in);
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      if (size < 1 || count > std::numeric_limits<std::int64_t>::max() / size) {
        throw Error(ErrorCode::invalid_argument, cat("a dimension of its shape is ", size));
      }
      count *= size;
    }
    const Tensor wrong = at::logical_or(at::lt(left, 0), at::ge(left, count));
    if (wrong.any().item<bool>()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("an index lies beyond the ", count, " of its shape"));
    }
    std::vector<Tensor> rows(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
      rows[i] = at::remainder(left, shape[i]);
      left = at::div(left, shape[i], "floor");
    }
    if (rows.empty()) throw Error(ErrorCode::invalid_argument, "its shape has no dimensions");
    out[0].tensor = at::stack(rows);
  };
}

/// (x): the k best along a dimension. All are looked at, which TensorFlow does on a processor too.
Kernel make_approximate_top(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::int64_t count = int_attribute(op, "k", 0);
  const std::int64_t axis = int_attribute(op, "reduction_dimension", -1);
  const bool largest = int_attribute(op, "is_max_k", 1) != 0;
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto [values, indices] =
        at::sort(x, /*stable=*/true, normal_axis(axis, x.dim()), largest);
    out[0].tensor = values.narrow(axis, 0, count);
    if (out.size() > 1) out[1].tensor = indices.narrow(axis, 0, count).to(at::kInt);
  };
}

constexpr KernelRow kRows[] = {
    {"ApproxTopK", make_approximate_top}, {"ListDiff", make_difference},
    {"LowerBound", make_bound<false>},    {"NthElement", make_nth},
    {"UnravelIndex", make_unraveled},     {"UpperBound", make_bound<true>},
};

}  // namespace

std::span<const KernelRow> search_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
