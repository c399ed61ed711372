// Rows and elements put in by position: into new tensors, and into variables.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/integers.h"
#include "runtime/tf/indices.h"
#include "runtime/tf/variables.h"

namespace berth::runtime::tf {

Tensor flat_indices(const Tensor& indices, const Tensor& target) {
  return indices.reshape({-1}).to(target.device(), at::kLong);
}

Tensor linear_indices(const Tensor& indices, const Ints& shape) {
  if (indices.dim() == 0 || indices.size(-1) > static_cast<std::int64_t>(shape.size())) {
    throw Error(ErrorCode::invalid_argument,
                cat("an index of ", indices.dim() == 0 ? 0 : indices.size(-1),
                    " dimensions points into a tensor of ", shape.size()));
  }
  const Tensor numbers = indices.to(at::kLong);
  Tensor linear = at::zeros(indices.sizes().slice(0, indices.dim() - 1), numbers.options());
  for (std::int64_t i = 0; i < indices.size(-1); ++i) {
    const std::int64_t length = shape.at(static_cast<std::size_t>(i));
    const Tensor along = numbers.select(-1, i);
    check_within(along, 0, length - 1, "index");
    linear = linear * length + along;
  }
  return linear;
}

Ints merged_shape(const Tensor& indices, const Ints& shape) {
  const auto depth = static_cast<std::size_t>(indices.size(-1));
  Ints merged{1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < depth) {
      merged[0] *= shape[i];
    } else {
      merged.push_back(shape[i]);
    }
  }
  return merged;
}

namespace {

// --- how rows change. Of equal indices, updates come one after the other --------------------------

using Change = void (*)(const Tensor& rows, const Tensor& index, const Tensor& updates);

void put(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  rows.index_copy_(0, index, updates);
}
void add(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  rows.index_add_(0, index, updates);
}
void subtract(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  rows.index_add_(0, index, updates, -1);
}
void reduce(const Tensor& rows, const Tensor& index, const Tensor& updates, const char* how) {
  Ints broadcast(static_cast<std::size_t>(updates.dim()), 1);
  broadcast.at(0) = index.numel();
  rows.scatter_reduce_(0, index.reshape(broadcast).expand_as(updates), updates, how);
}
void keep_largest(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  reduce(rows, index, updates, "amax");
}
void keep_smallest(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  reduce(rows, index, updates, "amin");
}
void multiply(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  reduce(rows, index, updates, "prod");
}
void divide(const Tensor& rows, const Tensor& index, const Tensor& updates) {
  const Tensor divisors = at::ones_like(rows);
  multiply(divisors, index, updates);
  if (rows.is_floating_point() || rows.is_complex()) {
    rows.div_(divisors);
  } else {
    rows.copy_(whole_quotient(rows, divisors, "trunc"));
  }
}

// --- tensors -------------------------------------------------------------------------------------

/// (indices, updates, shape): where indices repeat, updates add up.
Kernel make_scatter_nd(const KernelRequest& request) {
  return [sizes = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &indices = tensor_at(in, 0), &updates = tensor_at(in, 1);
    const Ints shape = sizes.get(in);
    const Ints merged = merged_shape(indices, shape);
    Ints rows = merged;
    rows[0] = -1;
    const Tensor result = at::zeros(merged, updates.options());
    result.index_add_(0, flat_indices(linear_indices(indices, shape), updates),
                      updates.reshape(rows));
    out[0].tensor = result.reshape(shape);
  };
}

/// (x, indices, updates): x with some of it changed. Updates to one place come one after the other.
template <Change change>
Kernel make_changed(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor &x = tensor_at(in, 0), &indices = tensor_at(in, 1);
    const Ints shape = x.sizes().vec(), merged = merged_shape(indices, shape);
    Ints rows = merged;
    rows[0] = -1;
    const Tensor result = x.clone().reshape(merged);
    change(result, flat_indices(linear_indices(indices, shape), result),
           tensor_at(in, 2).to(result.device()).reshape(rows));
    out[0].tensor = result.reshape(shape);
  };
}

/// (indices, shape, values, value elsewhere): an index is a row of a matrix, an element of a vector, or a scalar.
Kernel make_dense(const KernelRequest& request) {
  return [sizes = IntsInput(request, 1)](KernelContext& context, Inputs in, Outputs out) {
    const Ints shape = sizes.get(in);
    const Tensor values = on_device(context, tensor_at(in, 2));
    Tensor indices = tensor_at(in, 0);
    if (indices.dim() < 2) indices = indices.reshape({-1, 1});
    if (indices.size(-1) != static_cast<std::int64_t>(shape.size())) {
      throw Error(ErrorCode::invalid_argument,
                  cat("an index of ", indices.size(-1), " dimensions points into a tensor of ",
                      shape.size()));
    }
    const Tensor index = flat_indices(linear_indices(indices, shape), values);
    const Tensor dense = at::empty(merged_shape(indices, shape), values.options());
    dense.copy_(on_device(context, tensor_at(in, 3)));
    dense.index_copy_(0, index, values.reshape({-1}).expand(index.sizes()));
    out[0].tensor = dense.reshape(shape);
  };
}

// --- variables -----------------------------------------------------------------------------------

/// (reference, indices, rows)
template <Change change>
Kernel make_scatter(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& variable = writable(in, 0);
    const Tensor indices = flat_indices(tensor_at(in, 1), variable);
    Ints shape = variable.sizes().vec();
    shape.at(0) = indices.numel();
    const Tensor& updates = tensor_at(in, 2);
    const Tensor rows = updates.dim() == 0 ? updates.expand(shape) : updates.reshape(shape);
    change(variable, indices, on_device(context, rows));
    if (!out.empty()) out[0] = in[0];
  };
}

/// (reference, indices of some dimensions, what lies there)
template <Change change>
Kernel make_scatter_blocks(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& variable = writable(in, 0);
    const Tensor& indices = tensor_at(in, 1);
    const Ints shape = variable.sizes().vec(), merged = merged_shape(indices, shape);
    Ints rows = merged;
    rows[0] = -1;
    change(variable.view(merged), flat_indices(linear_indices(indices, shape), variable),
           on_device(context, tensor_at(in, 2)).reshape(rows));
    if (!out.empty()) out[0] = in[0];
  };
}

constexpr KernelRow kRows[] = {
    {"ResourceScatterAdd", make_scatter<add>},
    {"ResourceScatterDiv", make_scatter<divide>},
    {"ResourceScatterMax", make_scatter<keep_largest>},
    {"ResourceScatterMin", make_scatter<keep_smallest>},
    {"ResourceScatterMul", make_scatter<multiply>},
    {"ResourceScatterNdAdd", make_scatter_blocks<add>},
    {"ResourceScatterNdMax", make_scatter_blocks<keep_largest>},
    {"ResourceScatterNdMin", make_scatter_blocks<keep_smallest>},
    {"ResourceScatterNdSub", make_scatter_blocks<subtract>},
    {"ResourceScatterNdUpdate", make_scatter_blocks<put>},
    {"ResourceScatterSub", make_scatter<subtract>},
    {"ResourceScatterUpdate", make_scatter<put>},
    {"ScatterAdd", make_scatter<add>},
    {"ScatterDiv", make_scatter<divide>},
    {"ScatterMax", make_scatter<keep_largest>},
    {"ScatterMin", make_scatter<keep_smallest>},
    {"ScatterMul", make_scatter<multiply>},
    {"ScatterNd", make_scatter_nd},
    {"ScatterNdAdd", make_scatter_blocks<add>},
    {"ScatterNdMax", make_scatter_blocks<keep_largest>},
    {"ScatterNdMin", make_scatter_blocks<keep_smallest>},
    {"ScatterNdSub", make_scatter_blocks<subtract>},
    {"ScatterNdUpdate", make_scatter_blocks<put>},
    {"ScatterSub", make_scatter<subtract>},
    {"ScatterUpdate", make_scatter<put>},
    {"SparseToDense", make_dense},
    {"TensorScatterAdd", make_changed<add>},
    {"TensorScatterMax", make_changed<keep_largest>},
    {"TensorScatterMin", make_changed<keep_smallest>},
    {"TensorScatterSub", make_changed<subtract>},
    {"TensorScatterUpdate", make_changed<put>},
};

}  // namespace

std::span<const KernelRow> scatter_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
