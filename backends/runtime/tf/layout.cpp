// The same elements in another shape or order, put together, taken apart, repeated.
#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// Inputs [begin, end) on one device.
std::vector<Tensor> together(const KernelContext& context, Inputs in, std::size_t begin,
                             std::size_t end) {
  bool same = true;
  for (std::size_t i = begin; i < end; ++i) {
    same = same && tensor_at(in, i).device() == tensor_at(in, begin).device();
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = begin; i < end; ++i) {
    tensors.push_back(same ? in[i].tensor : on_device(context, in[i].tensor));
  }
  return tensors;
}

/// (x, shape)
Kernel make_reshape(const KernelRequest& request) {
  return [shape = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = tensor_at(in, 0).reshape(shape.get(in));
  };
}

/// (x, axis)
Kernel make_expand_dims(const KernelRequest& request) {
  return [axis = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = tensor_at(in, 0).unsqueeze(axis.one(in));
  };
}

Kernel make_squeeze(const KernelRequest& request) {
  return [dims = ints_attribute(request.instruction, "squeeze_dims").value_or(Ints{})](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints axes = normal_axes(dims, x.dim());
    Ints shape;
    for (std::int64_t i = 0; i < x.dim(); ++i) {
      const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
      if (named && x.size(i) != 1) {
        throw Error(ErrorCode::invalid_argument, "dimension " + std::to_string(i) + " has size " +
                                                     std::to_string(x.size(i)) +
                                                     " and only ones of size 1 can be left out");
      }
      if (!named && (!axes.empty() || x.size(i) != 1)) shape.push_back(x.size(i));
    }
    out[0].tensor = x.reshape(shape);
  };
}

/// (x, permutation)
Kernel make_transpose(const KernelRequest& request) {
  return [permutation = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = tensor_at(in, 0).permute(permutation.get(in));
  };
}

/// (parts..., axis)
Kernel make_concat(const KernelRequest& request) {
  const std::size_t last = request.instruction.inputs.size() - 1;
  return [last, axis = IntsInput(request, last)](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::cat(together(context, in, 0, last), axis.one(in));
  };
}

/// (axis, parts...)
Kernel make_old_concat(const KernelRequest& request) {
  return [axis = IntsInput(request, 0)](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::cat(together(context, in, 1, in.size()), axis.one(in));
  };
}

Kernel make_pack(const KernelRequest& request) {
  return [axis = int_attribute(request.instruction, "axis", 0)](KernelContext& context, Inputs in,
                                                                Outputs out) {
    out[0].tensor = at::stack(together(context, in, 0, in.size()), axis);
  };
}

void give(const std::vector<Tensor>& parts, Outputs out) {
  if (parts.size() != out.size()) {
    throw Error(ErrorCode::invalid_argument, "there are " + std::to_string(parts.size()) +
                                                 " parts for " + std::to_string(out.size()) +
                                                 " outputs");
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor = parts[i];
}

Kernel make_unpack(const KernelRequest& request) {
  return [axis = int_attribute(request.instruction, "axis", 0)](
             KernelContext&, Inputs in, Outputs out) { give(tensor_at(in, 0).unbind(axis), out); };
}

/// (axis, x)
Kernel make_split(const KernelRequest& request) {
  return [input = IntsInput(request, 0)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 1);
    const std::int64_t axis = normal_axis(input.one(in), x.dim());
    const auto parts = static_cast<std::int64_t>(out.size());
    give(at::split(x, shared_out(x.size(axis), "elements", parts, "parts"), axis), out);
  };
}

/// (x, sizes, axis)
Kernel make_split_sizes(const KernelRequest& request) {
  return [sizes = IntsInput(request, 1), input = IntsInput(request, 2)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t axis = normal_axis(input.one(in), x.dim());
    Ints parts = sizes.get(in);
    // One of them may be whatever is left.
    for (std::int64_t& part : parts) {
      if (part == -1) part = x.size(axis) - std::accumulate(parts.begin(), parts.end(), 1LL);
    }
    give(at::split_with_sizes(x, parts, axis), out);
  };
}

/// (x, [[before, after] of each dimension], value?)
Kernel make_pad(const KernelRequest& request) {
  return [sizes = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Ints pairs = sizes.get(in);
    Ints reversed;  // ATen begins at the last dimension
    for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
      reversed.push_back(pairs[i - 2]);
      reversed.push_back(pairs[i - 1]);
    }
    const at::Scalar value = in.size() > 2 ? tensor_at(in, 2).item() : at::Scalar(0);
    out[0].tensor = runtime::padded(tensor_at(in, 0), reversed, value);
  };
}

/// Which of `size` elements each is that mirrors them at both ends.
Tensor mirrored_places(std::int64_t before, std::int64_t size, std::int64_t after,
                       std::int64_t skipped) {
  // ATen's memory says so where there is not enough.
  const Tensor index = at::empty({before + size + after}, at::kLong);
  for (std::int64_t k = 0; k < index.numel(); ++k) {
    const std::int64_t i = k - before;
    index.data_ptr<std::int64_t>()[k] = i < 0       ? -i - 1 + skipped
                                        : i >= size ? 2 * size - i - 1 - skipped
                                                    : i;
  }
  return index;
}

/// (x, [[before, after] of each dimension]): what lies inside the border, mirrored; or of a gradient of that, the one of
/// what was mirrored.
template <bool gradient>
Kernel make_mirror_pad(const KernelRequest& request) {
  const std::int64_t skipped =
      text_attribute(request.instruction, "mode", "REFLECT") == "REFLECT" ? 1 : 0;
  return [skipped, sizes = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    Tensor x = tensor_at(in, 0);
    const Ints pairs = sizes.get(in);
    for (std::int64_t axis = 0; axis < x.dim(); ++axis) {
      const std::int64_t before = pairs.at(static_cast<std::size_t>(2 * axis));
      const std::int64_t after = pairs.at(static_cast<std::size_t>(2 * axis + 1));
      if (before == 0 && after == 0) continue;
      const std::int64_t size = x.size(axis) - (gradient ? before + after : 0);
      const Tensor places = mirrored_places(before, size, after, skipped).to(x.device());
      if (gradient) {
        Ints shape = x.sizes().vec();
        shape[static_cast<std::size_t>(axis)] = size;
        x = at::zeros(shape, x.options()).index_add_(axis, places, x);
      } else {
        x = at::index_select(x, axis, places);
      }
    }
    out[0].tensor = x;
  };
}

/// (x, repeats of each dimension)
Kernel make_tile(const KernelRequest& request) {
  return [repeats = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = tensor_at(in, 0).repeat(repeats.get(in));
  };
}

/// (shape, value)
Kernel make_fill(const KernelRequest& request) {
  return [shape = IntsInput(request, 0)](KernelContext&, Inputs in, Outputs out) {
    // The value need not be read on the host.
    out[0].tensor = tensor_at(in, 1).expand(shape.get(in)).contiguous();
  };
}

/// (x, shape)
Kernel make_broadcast(const KernelRequest& request) {
  return [shape = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::broadcast_to(tensor_at(in, 0), shape.get(in)).contiguous();
  };
}

Tensor ones_like(const Tensor& x) {
  return at::ones_like(x);
}

/// (x, axes)
Kernel make_reverse(const KernelRequest& request) {
  return [axes = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = x.flip(normal_axes(axes.get(in), x.dim()));
  };
}

void check_nhwc(const Instruction& op) {
  const std::string format = text_attribute(op, "data_format", "NHWC");
  if (format != "NHWC") refuse_attribute("data_format", format);
}

Kernel make_space_to_depth(const KernelRequest& request) {
  check_nhwc(request.instruction);
  return [block = count_attribute(request.instruction, "block_size", 2)](KernelContext&, Inputs in,
                                                                         Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t rows = shared_out(x.size(1), "rows", block, "rows of a block");
    const std::int64_t columns = shared_out(x.size(2), "columns", block, "columns of a block");
    out[0].tensor = x.reshape({x.size(0), rows, block, columns, block, x.size(3)})
                        .permute({0, 1, 3, 2, 4, 5})
                        .reshape({x.size(0), rows, columns, block * block * x.size(3)});
  };
}

Kernel make_depth_to_space(const KernelRequest& request) {
  check_nhwc(request.instruction);
  return [block = count_attribute(request.instruction, "block_size", 2)](KernelContext&, Inputs in,
                                                                         Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t channels =
        shared_out(x.size(3), "channels", block * block, "pixels of a block");
    out[0].tensor = x.reshape({x.size(0), x.size(1), x.size(2), block, block, channels})
                        .permute({0, 1, 3, 2, 4, 5})
                        .reshape({x.size(0), x.size(1) * block, x.size(2) * block, channels});
  };
}

constexpr KernelRow kRows[] = {
    {"BroadcastTo", make_broadcast},
    {"Concat", make_old_concat},
    {"ConcatV2", make_concat},
    {"DepthToSpace", make_depth_to_space},
    {"ExpandDims", make_expand_dims},
    {"Fill", make_fill},
    {"MirrorPad", make_mirror_pad<false>},
    {"MirrorPadGrad", make_mirror_pad<true>},
    {"OnesLike", make_unary<ones_like>},
    {"Pack", make_pack},
    {"Pad", make_pad},
    {"PadV2", make_pad},
    {"Reshape", make_reshape},
    {"ReverseV2", make_reverse},
    {"SpaceToDepth", make_space_to_depth},
    {"Split", make_split},
    {"SplitV", make_split_sizes},
    {"Squeeze", make_squeeze},
    {"Tile", make_tile},
    {"Transpose", make_transpose},
    {"Unpack", make_unpack},
};

}  // namespace

std::span<const KernelRow> layout_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
