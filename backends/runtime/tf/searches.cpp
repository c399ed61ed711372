// Elements found by their value, and indices in other forms.
#include <ATen/Functions.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/best.h"
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
    const Best found = best(x, count, normal_axis(axis, x.dim()), largest);
    out[0].tensor = found.values;
    if (out.size() > 1) out[1].tensor = found.indices.to(at::kInt);
  };
}

// --- Sets: the rows of the last dimension ---------------------------------------------------------

/// Elements of two ascending sets in one.
using Combine = void (*)(const Ints& a, const Ints& b, Ints& result);

struct SetOperation {
  std::string_view name;
  Combine combine;
};
constexpr SetOperation kSetOperations[] = {
    {"a-b",
     [](const Ints& a, const Ints& b, Ints& result) {
       std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
     }},
    {"b-a",
     [](const Ints& a, const Ints& b, Ints& result) {
       std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(result));
     }},
    {"intersection",
     [](const Ints& a, const Ints& b, Ints& result) {
       std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
     }},
    {"union",
     [](const Ints& a, const Ints& b, Ints& result) {
       std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
     }},
};

Combine combine_of(const Instruction& op) {
  const std::string name = text_attribute(op, "set_operation", "");
  for (const SetOperation& each : kSetOperations) {
    if (each.name == name) return each.combine;
  }
  throw Error(ErrorCode::unsupported,
              cat("its set_operation '", name, "' is none of a-b, b-a, intersection and union"));
}

/// Row `row` of a tensor on the host, ascending and each element once.
Ints set_at(const Tensor& rows, std::int64_t row) {
  Ints set = ints_of(rows[row]);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

/// (a, b): a sparse tensor of the sets that those in the same places make.
Kernel make_set_operation(const KernelRequest& request) {
  return [combine = combine_of(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& a = tensor_at(in, 0);
    const Tensor& b = tensor_at(in, 1);
    const std::int64_t rank = a.dim();
    Ints shape = a.sizes().vec();
    if (rank < 2 || b.dim() != rank ||
        a.sizes().slice(0, shape.size() - 1) != b.sizes().slice(0, shape.size() - 1)) {
      throw Error(ErrorCode::invalid_argument,
                  "its operands are no sets of the same places: all dimensions but the last should "
                  "be equal, and be there");
    }
    const Tensor first = a.flatten(0, -2).cpu(), second = b.flatten(0, -2).cpu();
    Ints indices, values;
    std::int64_t longest = 0;
    for (std::int64_t row = 0; row < first.size(0); ++row) {
      const std::size_t before = values.size();
      combine(set_at(first, row), set_at(second, row), values);
      const auto count = static_cast<std::int64_t>(values.size() - before);
      longest = std::max(longest, count);
      for (std::int64_t i = 0; i < count; ++i) {
        Ints index(shape.size(), i);
        std::int64_t left = row;
        for (std::size_t d = shape.size() - 1; d-- > 0;) {
          index[d] = left % shape[d];
          left /= shape[d];
        }
        indices.insert(indices.end(), index.begin(), index.end());
      }
    }
    shape.back() = longest;
    out[0].tensor = at::tensor(indices, at::kLong).reshape({-1, rank});
    out[1].tensor = at::tensor(values, at::kLong).to(a.scalar_type());
    out[2].tensor = at::tensor(shape, at::kLong);
  };
}

constexpr KernelRow kRows[] = {
    {"ApproxTopK", make_approximate_top},
    {"DenseToDenseSetOperation", make_set_operation},
    {"ListDiff", make_difference},
    {"LowerBound", make_bound<false>},
    {"NthElement", make_nth},
    {"UnravelIndex", make_unraveled},
    {"UpperBound", make_bound<true>},
};

}  // namespace

std::span<const KernelRow> search_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
