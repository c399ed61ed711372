// Ops that pick or place elements by index.
#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <cstring>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/distinct.h"
#include "runtime/onnx/slices.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

Kernel make_gather(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& index = tensor_at(in, 1);
    const std::int64_t at_axis = normal_axis(axis, x.dim());
    const Tensor picked =
        at::index_select(x, at_axis, from_front(index, x.size(at_axis)).reshape({-1}));
    Ints shape(x.sizes().begin(), x.sizes().begin() + at_axis);
    shape.insert(shape.end(), index.sizes().begin(), index.sizes().end());
    shape.insert(shape.end(), x.sizes().begin() + at_axis + 1, x.sizes().end());
    out[0].tensor = at::reshape(picked, shape);
  };
}

Kernel make_gather_elements(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t at_axis = normal_axis(axis, x.dim());
    out[0].tensor = at::gather(x, at_axis, from_front(tensor_at(in, 1), x.size(at_axis)));
  };
}

// The last dimension of `index` holds positions, a dimension each, which ATen counts and checks.
std::vector<c10::optional<Tensor>> positions(const Tensor& index) {
  std::vector<c10::optional<Tensor>> indices;
  for (std::int64_t i = 0; i < index.size(-1); ++i) {
    indices.emplace_back(at::select(index, -1, i).to(at::kLong));
  }
  return indices;
}

c10::List<c10::optional<Tensor>> as_list(std::vector<c10::optional<Tensor>> indices) {
  return c10::List<c10::optional<Tensor>>(at::ArrayRef<c10::optional<Tensor>>(indices));
}

Kernel make_gather_nd(const KernelRequest& request) {
  const std::int64_t batches = int_attribute(request.instruction, "batch_dims", 0);
  return [batches](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& index = tensor_at(in, 1);
    std::vector<c10::optional<Tensor>> indices;
    for (std::int64_t i = 0; i < batches; ++i) {
      Ints shape(static_cast<std::size_t>(index.dim() - 1), 1);
      shape[static_cast<std::size_t>(i)] = x.size(i);
      indices.emplace_back(at::arange(x.size(i), x.options().dtype(at::kLong)).reshape(shape));
    }
    for (auto& position : positions(index)) indices.push_back(std::move(position));
    out[0].tensor = at::index(x, as_list(std::move(indices)));
  };
}

std::string reduction_of(const Instruction& op) {
  const std::string reduction = text_attribute(op, "reduction", "none");
  for (const char* const known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return reduction;
  }
  refuse_attribute("reduction", reduction);
}

// Writes `update` along `axis` at the places `index` gives; updates of one place combine.
Tensor scattered(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& update,
                 const std::string& reduction) {
  if (reduction == "none") return at::scatter(x, axis, index, update);
  const char* const name = reduction == "add"   ? "sum"
                           : reduction == "mul" ? "prod"
                           : reduction == "max" ? "amax"
                                                : "amin";
  return at::scatter_reduce(x, axis, index, update, name);
}

Kernel make_scatter_elements(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const std::string reduction = reduction_of(request.instruction);
  return [axis, reduction](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t at_axis = normal_axis(axis, x.dim());
    const Tensor index = from_front(tensor_at(in, 1), x.size(at_axis));
    out[0].tensor = scattered(x, at_axis, index, tensor_at(in, 2), reduction);
  };
}

// The row among all of `outer` that each position of `index` names.
Tensor rows_at(const Tensor& index, at::IntArrayRef outer) {
  const auto depth = static_cast<std::int64_t>(outer.size());
  if (!index.is_cpu()) {
    // Rows are picked from all there are: sums alone would take an index beyond its dimension for one of the next.
    const Tensor row = at::arange(c10::multiply_integers(outer), index.options().dtype(at::kLong));
    return (depth > 0 ? at::index(row.reshape(outer), as_list(positions(index))) : row)
        .reshape({-1});
  }
  const Tensor given = index.to(at::kLong).contiguous();
  const auto* position = given.data_ptr<std::int64_t>();
  const Tensor row =
      at::empty({c10::multiply_integers(index.sizes().slice(0, index.dim() - 1))}, given.options());
  auto* const to = row.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < row.numel(); ++i) {
    std::int64_t at = 0;
    for (const std::int64_t size : outer) {
      const std::int64_t stated = *position++;
      if (stated < -size || stated >= size) {
        throw Error(ErrorCode::invalid_argument,
                    cat("index ", stated, " is not between ", -size, " and ", size - 1));
      }
      at = at * size + (stated < 0 ? stated + size : stated);
    }
    to[i] = at;
  }
  return row;
}

// `to` with these rows in place of its own, the last where a row has several.
Tensor with_rows(const Tensor& to, const Tensor& row, const Tensor& given) {
  if (!to.is_cpu() || given.scalar_type() != to.scalar_type()) {
    return at::index_copy(to, 0, row, given);
  }
  const Tensor y = to.clone(at::MemoryFormat::Contiguous);
  const Tensor rows = given.contiguous();
  const auto bytes = static_cast<std::size_t>(y.size(1) * y.element_size());
  if (bytes == 0) return y;
  const auto* const at = row.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < row.numel(); ++i) {
    std::memcpy(static_cast<char*>(y.data_ptr()) + static_cast<std::size_t>(at[i]) * bytes,
                static_cast<const char*>(rows.data_ptr()) + static_cast<std::size_t>(i) * bytes,
                bytes);
  }
  return y;
}

Kernel make_scatter_nd(const KernelRequest& request) {
  const std::string reduction = reduction_of(request.instruction);
  return [reduction](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& index = tensor_at(in, 1);
    const std::int64_t depth = index.size(-1);
    if (depth > x.dim()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("an index of ", depth, " dimensions points into a tensor of ", x.dim()));
    }
    const auto outer = x.sizes().slice(0, static_cast<std::size_t>(depth));
    const std::int64_t rest = c10::multiply_integers(x.sizes().slice(outer.size()));
    const Tensor row = rows_at(index, outer);
    const Tensor to = x.reshape({c10::multiply_integers(outer), rest});
    const Tensor given = tensor_at(in, 2).reshape({row.numel(), rest});
    const Tensor y =
        reduction == "none"
            ? with_rows(to, row, given)
            : scattered(to, 0, row.unsqueeze(1).expand({row.numel(), rest}), given, reduction);
    out[0].tensor = y.reshape(x.sizes());
  };
}

Kernel make_non_zero(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::nonzero(tensor_at(in, 0)).t();
  };
}

Kernel make_one_hot(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& index = tensor_at(in, 0);
    const std::int64_t depth = ints_of(tensor_at(in, 1)).at(0);
    const Tensor& values = tensor_at(in, 2);
    const std::int64_t at_axis = normal_axis(axis, index.dim() + 1);
    Ints shape(static_cast<std::size_t>(index.dim() + 1), 1);
    shape[static_cast<std::size_t>(at_axis)] = depth;
    const Tensor classes = at::arange(depth, index.options().dtype(at::kLong)).reshape(shape);
    const Tensor is_hot = at::eq(from_front(index, depth).unsqueeze(at_axis), classes);
    out[0].tensor = at::where(is_hot, at::select(values, 0, 1), at::select(values, 0, 0));
  };
}

Kernel make_compress(const KernelRequest& request) {
  const auto* const stated = request.instruction.attribute<std::int64_t>("axis");
  const std::optional<std::int64_t> axis =
      stated != nullptr ? std::optional(*stated) : std::nullopt;
  return [axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = axis ? tensor_at(in, 0) : tensor_at(in, 0).reshape({-1});
    const Tensor kept = at::nonzero(tensor_at(in, 1)).reshape({-1});
    out[0].tensor = at::index_select(x, normal_axis(axis.value_or(0), x.dim()), kept);
  };
}

// ATen tells how often each slice occurs and where it went; where it came from first follows from that.
Distinct distinct_slices(const Tensor& x, std::int64_t axis, bool ascending) {
  auto [values, inverse, counts] = at::unique_dim(x, axis, true, true, true);
  const std::int64_t length = x.size(axis);
  const auto longs = x.options().dtype(at::kLong);
  Tensor first = at::full({counts.size(0)}, length, longs);
  first = at::scatter_reduce(first, 0, inverse, at::arange(length, longs), "amin");
  if (ascending) return {values, first, inverse, counts};
  const Tensor order = at::argsort(first);
  return {at::index_select(values, axis, order), at::index_select(first, 0, order),
          at::index_select(at::argsort(order), 0, inverse), at::index_select(counts, 0, order)};
}

Kernel make_unique(const KernelRequest& request) {
  const auto* const stated = request.instruction.attribute<std::int64_t>("axis");
  const std::optional<std::int64_t> axis =
      stated != nullptr ? std::optional(*stated) : std::nullopt;
  const bool ascending = int_attribute(request.instruction, "sorted", 1) != 0;
  return [axis, ascending](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Distinct found = axis ? distinct_slices(x, normal_axis(*axis, x.dim()), ascending)
                                : distinct(x.reshape({-1}), ascending);
    const Tensor results[] = {found.values, found.firsts, found.places, found.counts};
    for (std::size_t i = 0; i < out.size() && i < 4; ++i) out[i].tensor = results[i];
  };
}

// Inputs: a cache, what to write into it, where each sequence begins to write?.
Kernel make_tensor_scatter(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::int64_t stated_axis = int_attribute(op, "axis", -2);
  const bool circular = text_attribute(op, "mode", "linear") == "circular";
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& cache = tensor_at(in, 0);
    const Tensor& update = tensor_at(in, 1);
    const std::int64_t axis = normal_axis(stated_axis, cache.dim());
    Ints begins(static_cast<std::size_t>(cache.size(0)), 0);
    if (has(in, 2)) begins = ints_of(tensor_at(in, 2));
    Tensor y = cache.clone();
    for (std::int64_t b = 0; b < cache.size(0); ++b) {
      Tensor at_positions = at::add(at::arange(update.size(axis), cache.options().dtype(at::kLong)),
                                    begins.at(static_cast<std::size_t>(b)));
      if (circular) at_positions = at::remainder(at_positions, cache.size(axis));
      y.select(0, b).index_copy_(axis - 1, at_positions, update.select(0, b));
    }
    out[0].tensor = y;
  };
}

constexpr KernelRow kRows[] = {
    {"Compress", make_compress},
    {"Gather", make_gather},
    {"GatherElements", make_gather_elements},
    {"GatherND", make_gather_nd},
    {"NonZero", make_non_zero},
    {"OneHot", make_one_hot},
    {"Scatter", make_scatter_elements},
    {"ScatterElements", make_scatter_elements},
    {"ScatterND", make_scatter_nd},
    {"TensorScatter", make_tensor_scatter},
    {"Unique", make_unique},
};

}  // namespace

std::span<const KernelRow> indexing_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
