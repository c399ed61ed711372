// Elements picked out and put in by position.
#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/best.h"
#include "runtime/distinct.h"
#include "runtime/integers.h"
#include "runtime/tf/indices.h"

namespace berth::runtime::tf {
namespace {

/// (x, begin, size): -1 is what is left.
Kernel make_slice(const KernelRequest& request) {
  return [begins = IntsInput(request, 1), sizes = IntsInput(request, 2)](KernelContext&, Inputs in,
                                                                         Outputs out) {
    Tensor x = tensor_at(in, 0);
    const Ints begin = begins.get(in), size = sizes.get(in);
    if (begin.size() != static_cast<std::size_t>(x.dim()) || size.size() != begin.size()) {
      throw Error(ErrorCode::invalid_argument, "begin and size need a number for each dimension");
    }
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const auto axis = static_cast<std::int64_t>(i);
      x = x.narrow(axis, begin[i], size[i] == -1 ? x.size(axis) - begin[i] : size[i]);
    }
    out[0].tensor = x;
  };
}

/// The part of a shape that a strided slice picks.
class Strides {
 public:
  explicit Strides(const KernelRequest& request, std::size_t first)
      : begin_(request, first), end_(request, first + 1), stride_(request, first + 2) {
    const Instruction& op = request.instruction;
    begin_mask_ = int_attribute(op, "begin_mask", 0);
    end_mask_ = int_attribute(op, "end_mask", 0);
    ellipsis_mask_ = int_attribute(op, "ellipsis_mask", 0);
    new_axis_mask_ = int_attribute(op, "new_axis_mask", 0);
    shrink_mask_ = int_attribute(op, "shrink_axis_mask", 0);
  }

  struct Pick {
    std::int64_t first, count, stride;  ///< the stride positive: `first` is the lowest element
    bool flipped;
    bool dropped;  ///< a single element, without its dimension
  };
  struct Picks {
    std::vector<Pick> of_axis;
    Ints shape;  ///< of the result, new axes included
  };

  [[nodiscard]] Picks of(Inputs in, const Ints& shape) const {
    const Ints begin = begin_.get(in), end = end_.get(in), stride = stride_.get(in);
    std::int64_t named = 0;
    for (std::size_t i = 0; i < begin.size(); ++i) {
      named += has(new_axis_mask_, i) || has(ellipsis_mask_, i) ? 0 : 1;
    }
    Picks picks;
    const auto keep = [&](std::int64_t size) {
      picks.of_axis.push_back({0, size, 1, false, false});
      picks.shape.push_back(size);
    };
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const std::size_t axis = picks.of_axis.size();
      if (has(ellipsis_mask_, i)) {
        const auto left = static_cast<std::int64_t>(shape.size() - axis) -
                          (named - static_cast<std::int64_t>(axis));
        for (std::int64_t k = 0; k < left; ++k) keep(shape.at(picks.of_axis.size()));
      } else if (has(new_axis_mask_, i)) {
        picks.shape.push_back(1);
      } else {
        const Pick pick = one(i, shape.at(axis), begin[i], end.at(i), stride.at(i));
        picks.of_axis.push_back(pick);
        if (!pick.dropped) picks.shape.push_back(pick.count);
      }
    }
    while (picks.of_axis.size() < shape.size()) keep(shape[picks.of_axis.size()]);
    return picks;
  }

  /// The view of what is picked, every dimension kept, none flipped.
  [[nodiscard]] static Tensor view(Tensor x, const Picks& picks) {
    for (std::size_t i = 0; i < picks.of_axis.size(); ++i) {
      const Pick& pick = picks.of_axis[i];
      const auto axis = static_cast<std::int64_t>(i);
      if (pick.count == x.size(axis) && pick.stride == 1) continue;
      x = x.slice(axis, pick.first, pick.first + (pick.count - 1) * pick.stride + 1, pick.stride);
      if (pick.count == 0) x = x.narrow(axis, 0, 0);
    }
    return x;
  }
  [[nodiscard]] static Tensor flip(const Tensor& x, const Picks& picks) {
    Ints axes;
    for (std::size_t i = 0; i < picks.of_axis.size(); ++i) {
      if (picks.of_axis[i].flipped) axes.push_back(static_cast<std::int64_t>(i));
    }
    return axes.empty() ? x : x.flip(axes);
  }

 private:
  [[nodiscard]] static bool has(std::int64_t mask, std::size_t bit) {
    return bit < 63 && ((mask >> bit) & 1) != 0;
  }

  [[nodiscard]] Pick one(std::size_t i, std::int64_t size, std::int64_t begin, std::int64_t end,
                         std::int64_t stride) const {
    if (stride == 0) throw Error(ErrorCode::invalid_argument, "a stride is 0");
    if (has(shrink_mask_, i)) return {normal_axis(begin, size), 1, 1, false, true};
    const bool back = stride < 0;
    const std::int64_t lowest = back ? -1 : 0, highest = back ? size - 1 : size;
    const auto limit = [&](std::int64_t at) {
      return std::clamp(at < 0 ? at + size : at, lowest, highest);
    };
    const std::int64_t from = has(begin_mask_, i) ? (back ? highest : lowest) : limit(begin);
    const std::int64_t to = has(end_mask_, i) ? (back ? lowest : highest) : limit(end);
    const std::int64_t step = back ? -stride : stride;
    const std::int64_t distance = back ? from - to : to - from;
    const std::int64_t count = distance > 0 ? (distance + step - 1) / step : 0;
    const std::int64_t first = back && count > 0 ? from - (count - 1) * step : from;
    return {count > 0 ? first : 0, count, step, back, false};
  }

  IntsInput begin_, end_, stride_;
  std::int64_t begin_mask_, end_mask_, ellipsis_mask_, new_axis_mask_, shrink_mask_;
};

/// (x, begin, end, strides)
Kernel make_strided_slice(const KernelRequest& request) {
  return [strides = Strides(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Strides::Picks picks = strides.of(in, x.sizes().vec());
    out[0].tensor = Strides::flip(Strides::view(x, picks), picks).reshape(picks.shape);
  };
}

/// (shape, begin, end, strides, gradient)
Kernel make_strided_slice_gradient(const KernelRequest& request) {
  return [shape = IntsInput(request, 0), strides = Strides(request, 1)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    const Tensor& gradient = tensor_at(in, 4);
    const Ints whole = shape.get(in);
    const Strides::Picks picks = strides.of(in, whole);
    Ints kept;
    for (const Strides::Pick& pick : picks.of_axis) kept.push_back(pick.count);
    const Tensor result = at::zeros(whole, gradient.options());
    Strides::view(result, picks).copy_(Strides::flip(gradient.reshape(kept), picks));
    out[0].tensor = result;
  };
}

/// Rows of `x` along `axis`, in the shape of the indices behind the first `batches` dimensions, which both share.
Tensor gather(const Tensor& x, const Tensor& indices, std::int64_t axis, std::int64_t batches) {
  const std::int64_t along = normal_axis(axis, x.dim());
  if (batches < 0 || batches > std::min(along, indices.dim())) {
    throw Error(ErrorCode::invalid_argument,
                cat("its batch_dims is ", batches, ", and its axis ", along, " of ", indices.dim(),
                    " dimensions of indices"));
  }
  const auto at_axis = static_cast<std::size_t>(along), first = static_cast<std::size_t>(batches);
  const auto before = x.sizes().slice(0, at_axis), after = x.sizes().slice(at_axis + 1);
  const auto picks = indices.sizes().slice(first);
  Ints shape = before.vec();
  shape.insert(shape.end(), picks.begin(), picks.end());
  shape.insert(shape.end(), after.begin(), after.end());
  if (batches == 0) return at::index_select(x, along, flat_indices(indices, x)).reshape(shape);
  const std::int64_t batch = c10::multiply_integers(before.slice(0, first));
  const std::int64_t outer = c10::multiply_integers(before.slice(first));
  const std::int64_t count = c10::multiply_integers(picks), inner = c10::multiply_integers(after);
  const Tensor index =
      flat_indices(indices, x).reshape({batch, 1, count, 1}).expand({batch, outer, count, inner});
  return at::gather(x.reshape({batch, outer, x.size(along), inner}), 2, index).reshape(shape);
}

/// Those of the indices' dimensions that the attribute `batch_dims` says, which may count from the last.
std::int64_t batches_of(std::int64_t stated, const Tensor& indices) {
  return stated < 0 ? stated + indices.dim() : stated;
}

/// (x, indices) of Gather and ResourceGather
Kernel make_gather_rows(const KernelRequest& request) {
  return [stated = int_attribute(request.instruction, "batch_dims", 0)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    const Tensor& indices = tensor_at(in, 1);
    const std::int64_t batches = batches_of(stated, indices);
    out[0].tensor = gather(tensor_at(in, 0), indices, batches, batches);
  };
}

/// (x, indices, axis)
Kernel make_gather(const KernelRequest& request) {
  return [stated = int_attribute(request.instruction, "batch_dims", 0),
          axis = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& indices = tensor_at(in, 1);
    out[0].tensor = gather(tensor_at(in, 0), indices, axis.one(in), batches_of(stated, indices));
  };
}

/// (x, indices)
Kernel make_gather_nd(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor &x = tensor_at(in, 0), &indices = tensor_at(in, 1);
    const Ints shape = x.sizes().vec();
    const Tensor rows = x.reshape(merged_shape(indices, shape));
    out[0].tensor = gather(rows, linear_indices(indices, shape), 0, 0);
  };
}

/// (indices..., parts...): the parts' rows where the indices say; later ones win.
Kernel make_stitch(const KernelRequest& request) {
  const std::size_t count = request.instruction.inputs.size() / 2;
  return [count](KernelContext&, Inputs in, Outputs out) {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::int64_t row : ints_of(tensor_at(in, i))) rows = std::max(rows, row + 1);
    }
    const Tensor& first = tensor_at(in, count);
    Ints shape = first.sizes().slice(static_cast<std::size_t>(tensor_at(in, 0).dim())).vec();
    shape.insert(shape.begin(), rows);
    const Tensor result = at::zeros(shape, first.options());
    for (std::size_t i = 0; i < count; ++i) {
      Ints part = shape;
      part[0] = -1;
      result.index_copy_(0, flat_indices(tensor_at(in, i), result),
                         tensor_at(in, count + i).to(result.device()).reshape(part));
    }
    out[0].tensor = result;
  };
}

/// (indices, depth, on, off)
Kernel make_one_hot(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  return [axis, depth = IntsInput(request, 1)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor indices = on_device(context, tensor_at(in, 0));
    const std::int64_t at = axis < 0 ? indices.dim() : axis;
    Ints shape(static_cast<std::size_t>(indices.dim()) + 1, 1);
    shape.at(static_cast<std::size_t>(at)) = -1;
    const Tensor places = at::arange(depth.one(in), indices.options()).reshape(shape);
    const Operands values(context, tensor_at(in, 2), tensor_at(in, 3));
    out[0].tensor = at::where(at::eq(indices.unsqueeze(at), places), values.left, values.right);
  };
}

/// (x, k): along the last dimension, largest first.
Kernel make_top_k(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "index_type", at::kInt);
  return [wanted, k = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Best found = best(tensor_at(in, 0), k.one(in), -1, /*largest=*/true);
    out[0].tensor = found.values;
    out[1].tensor = found.indices.to(wanted);
  };
}

Tensor positions_of_true(const Tensor& x) {
  return at::nonzero(x);
}

/// (x, shifts, axes)
Kernel make_roll(const KernelRequest& request) {
  return [shifts = IntsInput(request, 1), axes = IntsInput(request, 2)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    out[0].tensor = at::roll(tensor_at(in, 0), shifts.get(in), axes.get(in));
  };
}

/// (x, lengths): turns the first elements of each sequence around.
Kernel make_reverse_sequence(const KernelRequest& request) {
  const std::int64_t sequence = int_attribute(request.instruction, "seq_dim", 0);
  const std::int64_t batch = int_attribute(request.instruction, "batch_dim", 0);
  return [sequence, batch](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto along = [&](const Tensor& values, std::int64_t axis) {
      Ints shape(static_cast<std::size_t>(x.dim()), 1);
      shape[static_cast<std::size_t>(axis)] = -1;
      return values.to(x.device(), at::kLong).reshape(shape);
    };
    check_within(tensor_at(in, 1), 0, x.size(sequence), "sequence length");
    const Tensor place = along(at::arange(x.size(sequence), at::kLong), sequence);
    const Tensor length = along(tensor_at(in, 1), batch);
    const Tensor from = at::where(at::lt(place, length), at::sub(at::sub(length, place), 1), place);
    out[0].tensor = at::gather(x, sequence, from.expand(x.sizes()));
  };
}

/// (x, which part each row belongs to)
Kernel make_partition(const KernelRequest& request) {
  const std::int64_t count = int_attribute(request.instruction, "num_partitions", 1);
  return [count](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& part = tensor_at(in, 1);
    Ints shape = x.sizes().slice(static_cast<std::size_t>(part.dim())).vec();
    shape.insert(shape.begin(), part.numel());
    const Tensor rows = x.reshape(shape), flat = part.reshape({-1}).to(x.device());
    for (std::int64_t i = 0; i < count; ++i) {
      out[static_cast<std::size_t>(i)].tensor =
          at::index_select(rows, 0, at::nonzero(at::eq(flat, i)).reshape({-1}));
    }
  };
}

/// (x): its distinct elements in the order in which they come first, and which of them each element is.
Kernel make_unique(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "out_idx", at::kInt);
  return [wanted](KernelContext&, Inputs in, Outputs out) {
    const Distinct found = distinct(tensor_at(in, 0), /*ascending=*/false);
    out[0].tensor = found.values;
    if (out.size() > 1) out[1].tensor = found.places.to(wanted);
    if (out.size() > 2) out[2].tensor = found.counts.to(wanted);
  };
}

/// (predictions, targets, k): whether fewer than k predictions are above that of the target. One that is not finite
/// makes that false.
Kernel make_in_top_k(const KernelRequest& request) {
  return [k = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& predictions = tensor_at(in, 0);
    const Tensor target = tensor_at(in, 1).to(predictions.device(), at::kLong).unsqueeze(1);
    const Tensor own = at::gather(predictions, 1, target);
    out[0].tensor = at::logical_and(at::lt(at::sum(at::gt(predictions, own), {1}), k.one(in)),
                                    at::all(at::isfinite(predictions), 1));
  };
}

constexpr KernelRow kRows[] = {
    {"DynamicPartition", make_partition},
    {"DynamicStitch", make_stitch},
    {"Gather", make_gather_rows},
    {"GatherNd", make_gather_nd},
    {"GatherV2", make_gather},
    {"InTopKV2", make_in_top_k},
    {"OneHot", make_one_hot},
    {"ParallelDynamicStitch", make_stitch},
    {"ResourceGather", make_gather_rows},
    {"ReverseSequence", make_reverse_sequence},
    {"Roll", make_roll},
    {"Slice", make_slice},
    {"StridedSlice", make_strided_slice},
    {"StridedSliceGrad", make_strided_slice_gradient},
    {"TopKV2", make_top_k},
    {"Unique", make_unique},
    {"UniqueWithCounts", make_unique},
    {"Where", make_unary<positions_of_true>},
};

}  // namespace

std::span<const KernelRow> indexing_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
