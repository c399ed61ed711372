// Rows reduced by the segment that each belongs to, and elements counted by their value.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// Rows of x, one for each element of `segments`, and what they belong to. Rows of a negative segment belong to none.
struct Rows {
  Rows(const Tensor& x, const Tensor& segments)
      : index(segments.reshape({-1}).to(x.device(), at::kLong)) {
    shape = x.sizes().slice(static_cast<std::size_t>(segments.dim())).vec();
    Ints whole = shape;
    whole.insert(whole.begin(), segments.numel());
    values = x.reshape(whole);
    const Tensor wanted = at::nonzero(index >= 0).reshape({-1});
    if (wanted.numel() == index.numel()) return;
    index = at::index_select(index, 0, wanted);
    values = at::index_select(values, 0, wanted);
  }

  [[nodiscard]] Ints result(std::int64_t count) const {
    Ints made = shape;
    made.insert(made.begin(), count);
    return made;
  }
  [[nodiscard]] Tensor sums(std::int64_t count) const {
    return at::zeros(result(count), values.options()).index_add_(0, index, values);
  }
  /// How many rows each segment has, to be divided by: [count, 1, ..].
  [[nodiscard]] Tensor counts(std::int64_t count) const {
    Ints broadcast(shape.size() + 1, 1);
    broadcast[0] = count;
    return at::zeros({count}, values.options())
        .index_add_(0, index, at::ones({index.numel()}, values.options()))
        .reshape(broadcast);
  }
  /// at::scatter_reduce by `how`, of segments that begin with `neutral`.
  [[nodiscard]] Tensor reduced(std::int64_t count, const at::Scalar& neutral,
                               const char* how) const {
    Ints broadcast(shape.size() + 1, 1);
    broadcast[0] = index.numel();
    return at::full(result(count), neutral, values.options())
        .scatter_reduce_(0, index.reshape(broadcast).expand_as(values), values, how);
  }

  Tensor index, values;
  Ints shape;
};

using Reduction = Tensor (*)(const Rows& rows, std::int64_t count);

at::Scalar least(const Tensor& x) {
  return AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "least", [] {
    return at::Scalar(std::numeric_limits<scalar_t>::lowest());
  });
}
at::Scalar most(const Tensor& x) {
  return AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "most", [] {
    return at::Scalar(std::numeric_limits<scalar_t>::max());
  });
}

Tensor sum(const Rows& rows, std::int64_t count) {
  return rows.sums(count);
}
Tensor mean(const Rows& rows, std::int64_t count) {
  return at::div(rows.sums(count), at::clamp_min(rows.counts(count), 1));
}
Tensor by_root(const Rows& rows, std::int64_t count) {
  return at::div(rows.sums(count), at::sqrt(at::clamp_min(rows.counts(count), 1)));
}
Tensor product(const Rows& rows, std::int64_t count) {
  return rows.reduced(count, 1, "prod");
}
/// A segment without rows has the least number that there is.
Tensor largest(const Rows& rows, std::int64_t count) {
  return rows.reduced(count, least(rows.values), "amax");
}
Tensor smallest(const Rows& rows, std::int64_t count) {
  return rows.reduced(count, most(rows.values), "amin");
}
/// In ascending segments one without rows is 0.
Tensor filled(const Rows& rows, std::int64_t count, const Tensor& reduced) {
  return at::where(at::eq(rows.counts(count), 0), at::zeros({}, reduced.options()), reduced);
}
Tensor largest_or_zero(const Rows& rows, std::int64_t count) {
  return filled(rows, count, largest(rows, count));
}
Tensor smallest_or_zero(const Rows& rows, std::int64_t count) {
  return filled(rows, count, smallest(rows, count));
}

std::int64_t count_of(const Tensor& segments) {
  return segments.numel() == 0 ? 0 : segments.max().item().to<std::int64_t>() + 1;
}

/// (x, segments, count)
template <Reduction reduction>
Kernel make_unsorted(const KernelRequest& request) {
  return [count = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = reduction(Rows(tensor_at(in, 0), tensor_at(in, 1)), count.one(in));
  };
}

/// (x, segments in ascending order)
template <Reduction reduction>
Kernel make_sorted(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor& segments = tensor_at(in, 1);
    out[0].tensor = reduction(Rows(tensor_at(in, 0), segments), count_of(segments));
  };
}

/// (x, rows of it, segments in ascending order; their number?)
template <Reduction reduction>
Kernel make_sparse(const KernelRequest& request) {
  std::optional<IntsInput> count;
  if (request.instruction.inputs.size() > 3) count.emplace(request, 3);
  return [count](KernelContext&, Inputs in, Outputs out) {
    const Tensor &x = tensor_at(in, 0), &segments = tensor_at(in, 2);
    const Tensor rows = at::index_select(x, 0, tensor_at(in, 1).to(x.device(), at::kLong));
    out[0].tensor = reduction(Rows(rows, segments), count ? count->one(in) : count_of(segments));
  };
}

/// (gradient, rows of x, their segments, how many rows x has). Each row gets its segment's gradient, divided by
/// what divided the sum.
template <Reduction reduction>
Kernel make_sparse_gradient(const KernelRequest& request) {
  return [size = IntsInput(request, 3)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &segments = tensor_at(in, 2);
    Ints broadcast(static_cast<std::size_t>(gradient.dim()), 1);
    broadcast.at(0) = -1;
    // The reduction of ones is the number of rows over its divisor.
    const Tensor ones = at::ones(segments.sizes(), gradient.options());
    const Rows rows(ones, segments);
    const Tensor counts = rows.counts(gradient.size(0)).reshape({-1});
    const Tensor share = at::div(reduction(rows, gradient.size(0)), at::clamp_min(counts, 1));
    const Tensor each = at::mul(gradient, share.reshape(broadcast));
    Ints shape = gradient.sizes().vec();
    shape.at(0) = size.one(in);
    const auto index = [&](std::size_t i) {
      return tensor_at(in, i).to(gradient.device(), at::kLong);
    };
    out[0].tensor = at::zeros(shape, gradient.options())
                        .index_add_(0, index(1), at::index_select(each, 0, index(2)));
  };
}

/// Counts, or sums of weights, by value; those from `size` on do not count. Without weights an empty tensor.
Tensor bins(const Tensor& x, const Tensor& weights, std::int64_t size, at::ScalarType wanted,
            bool is_binary) {
  Tensor value = x.reshape({-1}).to(at::kLong);
  Tensor weight = weights.numel() == 0 ? at::ones(value.sizes(), value.options().dtype(wanted))
                                       : weights.reshape({-1}).to(value.device());
  const Tensor wanted_rows = at::nonzero(at::lt(value, size)).reshape({-1});
  value = at::index_select(value, 0, wanted_rows);
  weight = at::index_select(weight, 0, wanted_rows).to(wanted);
  const Tensor sums = at::zeros({size}, weight.options()).index_add_(0, value, weight);
  return is_binary ? at::ne(sums, 0).to(wanted) : sums;
}

/// (x, size, weights?): x is a vector, or has a row for each of the output's.
Kernel make_bins(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "T", at::kFloat);
  const bool is_binary = int_attribute(request.instruction, "binary_output", 0) != 0;
  const bool has_rows = request.instruction.type == "DenseBincount";
  return [=, size = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &x = tensor_at(in, 0), &weights = tensor_at(in, 2);
    const std::int64_t count = size.one(in);
    if (!has_rows || x.dim() < 2) {
      out[0].tensor = bins(x, weights, count, wanted, is_binary);
      return;
    }
    out[0].tensor = at::empty({x.size(0), count}, x.options().dtype(wanted));
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      out[0].tensor.select(0, i).copy_(bins(x.select(0, i),
                                            weights.numel() == 0 ? weights : weights.select(0, i),
                                            count, wanted, is_binary));
    }
  };
}

/// (values, limits, number of bins): how many values lie in each of the bins. Those beyond the limits are in the outermost.
Kernel make_histogram(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "dtype", at::kInt);
  return [wanted, bin_count = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = tensor_at(in, 0).reshape({-1}).to(at::kDouble);
    const std::vector<double> limits = numbers_of(tensor_at(in, 1));
    const std::int64_t count = bin_count.one(in);
    if (limits.size() != 2 || !(limits[0] < limits[1]) || count < 1) {
      throw Error(ErrorCode::invalid_argument,
                  "a histogram needs a bin, and a limit that is above the first");
    }
    const double step = (limits[1] - limits[0]) / static_cast<double>(count);
    const Tensor bin =
        at::clamp(at::div(at::sub(x, limits[0]), step), 0, static_cast<double>(count - 1));
    out[0].tensor = bins(bin, at::empty({0}, bin.options()), count, wanted, /*is_binary=*/false);
  };
}

constexpr KernelRow kRows[] = {
    {"Bincount", make_bins},
    {"DenseBincount", make_bins},
    {"HistogramFixedWidth", make_histogram},
    {"SegmentMax", make_sorted<largest_or_zero>},
    {"SegmentMean", make_sorted<mean>},
    {"SegmentMin", make_sorted<smallest_or_zero>},
    {"SegmentProd", make_sorted<product>},
    {"SegmentSum", make_sorted<sum>},
    {"SparseSegmentMean", make_sparse<mean>},
    {"SparseSegmentMeanGrad", make_sparse_gradient<mean>},
    {"SparseSegmentMeanWithNumSegments", make_sparse<mean>},
    {"SparseSegmentSqrtN", make_sparse<by_root>},
    {"SparseSegmentSqrtNGrad", make_sparse_gradient<by_root>},
    {"SparseSegmentSqrtNWithNumSegments", make_sparse<by_root>},
    {"SparseSegmentSum", make_sparse<sum>},
    {"SparseSegmentSumGrad", make_sparse_gradient<sum>},
    {"SparseSegmentSumWithNumSegments", make_sparse<sum>},
    {"UnsortedSegmentMax", make_unsorted<largest>},
    {"UnsortedSegmentMin", make_unsorted<smallest>},
    {"UnsortedSegmentProd", make_unsorted<product>},
    {"UnsortedSegmentSum", make_unsorted<sum>},
};

}  // namespace

std::span<const KernelRow> segment_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
