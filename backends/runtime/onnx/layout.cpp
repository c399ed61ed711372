// Ops that move elements without computing with them, and conversions of their type.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <numeric>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/layouts.h"
#include "runtime/onnx/slices.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

// Deals out the channels of each pixel, of which there are `parts` times `each`: the first of every part, then the
// second. A number of parts that is known while compiling (0: is not) is four times as fast.
template <int kParts>
void deal(const float* from, float* to, std::int64_t pixels, std::int64_t parts,
          std::int64_t each) {
  if constexpr (kParts != 0) parts = kParts;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (std::int64_t i = 0; i < each; ++i) {
      for (std::int64_t part = 0; part < parts; ++part)
        to[i * parts + part] = from[part * each + i];
    }
    from += parts * each;
    to += parts * each;
  }
}

// `rows` are pixels, and their channels in two dimensions.
Tensor dealt(const Tensor& rows) {
  const std::int64_t each = rows.size(3), parts = rows.size(4);
  const std::int64_t width = each * parts;
  const Tensor plain = at::transpose(rows, 3, 4);
  const bool one_thread = rows.is_cpu() && at::get_num_threads() == 1;  // ATen's copy takes several
  if (!one_thread || rows.scalar_type() != at::kFloat || !plain.is_contiguous()) {
    return at::reshape(rows, {rows.size(0), rows.size(1), rows.size(2), width});
  }
  const Tensor result =
      at::empty({rows.size(0), rows.size(1), rows.size(2), width}, rows.options());
  const auto function = parts == 2   ? deal<2>
                        : parts == 3 ? deal<3>
                        : parts == 4 ? deal<4>
                        : parts == 8 ? deal<8>
                                     : deal<0>;
  const std::int64_t pixels = width == 0 ? 0 : rows.numel() / width;
  function(plain.data_ptr<float>(), result.data_ptr<float>(), pixels, parts, each);
  return result;
}

// at::reshape, but where channels that were split, and lie innermost, become one dimension again they stay innermost:
// the shuffles of channels between convolutions.
Tensor reshaped(const Tensor& x, const Ints& shape) {
  if (x.dim() == 5 && shape.size() == 4 && shape[0] == x.size(0) && shape[2] == x.size(3) &&
      shape[3] == x.size(4) && shape[1] == x.size(1) * x.size(2) && has_channels_innermost(x)) {
    return at::permute(dealt(at::permute(x, {0, 3, 4, 1, 2})), {0, 3, 1, 2});
  }
  return at::reshape(x, shape);
}

Kernel make_reshape(const KernelRequest& request) {
  const IntsOperand shape_operand(request, "shape", 1);
  const bool zero_is_zero = int_attribute(request.instruction, "allowzero", 0) != 0;
  return [shape_operand, zero_is_zero](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints shape = shape_operand.need(in);
    for (std::size_t i = 0; i < shape.size() && !zero_is_zero; ++i) {
      if (shape[i] == 0 && static_cast<std::int64_t>(i) < x.dim()) shape[i] = x.size(i);
    }
    // ATen cannot infer a dimension beside one of 0.
    const auto unknown = std::find(shape.begin(), shape.end(), -1);
    if (unknown != shape.end() && x.numel() == 0) *unknown = 0;
    out[0].tensor = reshaped(x, shape);
  };
}

Kernel make_flatten(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 1);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto split = static_cast<std::size_t>(axis < 0 ? axis + x.dim() : axis);
    out[0].tensor = at::reshape(x, {c10::multiply_integers(x.sizes().slice(0, split)),
                                    c10::multiply_integers(x.sizes().slice(split))});
  };
}

Kernel make_transpose(const KernelRequest& request) {
  const auto perm = ints_attribute(request.instruction, "perm");
  return [perm](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints order;
    if (perm) {
      order = *perm;
    } else {
      for (std::int64_t i = x.dim(); i > 0; --i) order.push_back(i - 1);
    }
    out[0].tensor = at::permute(x, order);
  };
}

Kernel make_squeeze(const KernelRequest& request) {
  const IntsOperand axes_operand(request, "axes", 1);
  return [axes_operand](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto axes = axes_operand.get(in);
    if (!axes) {
      out[0].tensor = at::squeeze(x);
      return;
    }
    Ints descending = *axes;
    for (std::int64_t& axis : descending) axis = normal_axis(axis, x.dim());
    std::sort(descending.rbegin(), descending.rend());
    Tensor y = x;
    for (const std::int64_t axis : descending) {
      if (y.size(axis) != 1) {
        throw Error(ErrorCode::invalid_argument,
                    "axis " + std::to_string(axis) + " to squeeze has more than one element");
      }
      y = at::squeeze(y, axis);
    }
    out[0].tensor = y;
  };
}

Kernel make_unsqueeze(const KernelRequest& request) {
  const IntsOperand axes_operand(request, "axes", 1);
  return [axes_operand](KernelContext&, Inputs in, Outputs out) {
    Tensor y = tensor_at(in, 0);
    Ints axes = axes_operand.need(in);
    const std::int64_t rank = y.dim() + static_cast<std::int64_t>(axes.size());
    for (std::int64_t& axis : axes) axis = normal_axis(axis, rank);
    std::sort(axes.begin(), axes.end());
    for (const std::int64_t axis : axes) y = at::unsqueeze(y, axis);
    out[0].tensor = y;
  };
}

Kernel make_concat(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 1);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    std::vector<Tensor> parts;
    parts.reserve(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) parts.push_back(tensor_at(in, i));
    out[0].tensor = at::cat(parts, axis);
  };
}

// com.microsoft: also says how long each part was.
Kernel make_concat_training(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  return [axis](KernelContext&, Inputs in, Outputs out) {
    std::vector<Tensor> parts;
    Ints lengths;
    for (std::size_t i = 0; i < in.size(); ++i) {
      parts.push_back(tensor_at(in, i));
      lengths.push_back(parts.back().size(axis));
    }
    out[0].tensor = at::cat(parts, axis);
    if (out.size() > 1) out[1].tensor = at::tensor(lengths).to(out[0].tensor.device());
  };
}

Kernel make_split(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const IntsOperand split_operand(request, "split", 1);
  return [axis, split_operand](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t length = x.size(normal_axis(axis, x.dim()));
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(out.size(), 1));
    const std::int64_t part = (length + count - 1) / count;
    const auto stated = split_operand.get(in);
    if (stated && stated->size() != out.size()) {
      throw Error(ErrorCode::invalid_argument, "it splits into " + std::to_string(stated->size()) +
                                                   " parts and has " + std::to_string(out.size()) +
                                                   " outputs");
    }
    std::int64_t from = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t size = stated ? (*stated)[i] : std::min(part, length - from);
      out[i].tensor = at::narrow(x, axis, from, size);
      from += size;
    }
  };
}

// All but the data are attributes before opset 10.
Kernel make_slice(const KernelRequest& request) {
  const IntsOperand starts_operand(request, "starts", 1);
  const IntsOperand ends_operand(request, "ends", 2);
  const IntsOperand axes_operand(request, "axes", 3);
  const IntsOperand steps_operand(request, "", 4);
  return [=](KernelContext&, Inputs in, Outputs out) {
    Tensor y = tensor_at(in, 0);
    const Ints starts = starts_operand.need(in);
    const Ints ends = ends_operand.need(in);
    const auto axes = axes_operand.get(in);
    const auto steps = steps_operand.get(in);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t axis =
          normal_axis(axes ? axes->at(i) : static_cast<std::int64_t>(i), y.dim());
      y = slice_axis(y, axis, starts[i], ends.at(i), steps ? steps->at(i) : 1);
    }
    out[0].tensor = y;
  };
}

Kernel make_expand(const KernelRequest& request) {
  const IntsOperand shape_operand(request, "", 1);
  return [shape_operand](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints shape = shape_operand.need(in);
    // Both ways: a 1 in the shape keeps the dimension of x.
    while (static_cast<std::int64_t>(shape.size()) < x.dim()) shape.insert(shape.begin(), 1);
    const std::size_t ahead = shape.size() - static_cast<std::size_t>(x.dim());
    for (std::size_t i = ahead; i < shape.size(); ++i) {
      if (shape[i] == 1) shape[i] = x.size(static_cast<std::int64_t>(i - ahead));
    }
    out[0].tensor = x.expand(shape);
  };
}

Kernel make_tile(const KernelRequest& request) {
  const IntsOperand repeats_operand(request, "", 1);
  const bool is_old = request.instruction.version < 6;  // tiles along one axis
  return [repeats_operand, is_old](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints repeats = repeats_operand.need(in);
    if (is_old) {
      const std::int64_t axis = normal_axis(ints_of(tensor_at(in, 2)).at(0), x.dim());
      Ints all(static_cast<std::size_t>(x.dim()), 1);
      all[static_cast<std::size_t>(axis)] = repeats.at(0);
      repeats = all;
    }
    out[0].tensor = at::tile(x, repeats);
  };
}

// --- padding -------------------------------------------------------------------------------------

// The source of each element of the padded axis.
Tensor source_of_padding(std::int64_t length, std::int64_t before, std::int64_t after,
                         const std::string& mode, at::Device device) {
  if (length == 0) {
    throw Error(ErrorCode::invalid_argument,
                cat("an axis without elements has none to pad it with in mode ", mode));
  }
  // ATen's memory says so where there is not enough.
  const Tensor from = at::empty({before + length + after}, at::kLong);
  auto* const to = from.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < from.numel(); ++k) {
    const std::int64_t i = k - before;
    if (mode == "edge") {
      to[k] = std::clamp<std::int64_t>(i, 0, length - 1);
    } else if (mode == "wrap") {
      to[k] = (i % length + length) % length;
    } else {  // reflect
      const std::int64_t period = std::max<std::int64_t>(2 * (length - 1), 1);
      const std::int64_t at = (i % period + period) % period;
      to[k] = std::min(at, period - at) % length;
    }
  }
  return from.to(device);
}

// Planes and rows whose ends alone are reflected, in one pass. Undefined where ATen cannot: it reflects once.
Tensor reflected(const Tensor& x, const Ints& axes, const Ints& pads) {
  const std::int64_t rank = x.dim();
  const bool is_real = at::isFloatingType(x.scalar_type()) && !(x.is_cpu() && is_half(x));
  if (rank < 2 || x.numel() == 0 || !is_real) return {};
  Ints ends(4, 0);  // as ATen wants it: last dimension first
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normal_axis(axes[i], rank), from_last = rank - 1 - axis;
    const std::int64_t before = pads.at(i), after = pads.at(i + axes.size());
    if (before == 0 && after == 0) continue;
    if (from_last > 1 || std::min(before, after) < 0 || std::max(before, after) >= x.size(axis)) {
      return {};
    }
    const auto at = static_cast<std::size_t>(2 * from_last);
    ends[at] = before;
    ends[at + 1] = after;
  }
  Ints shape = x.sizes().vec();
  // Images as they are: their channels may be innermost.
  const Tensor planes = rank == 4 ? x : x.reshape({-1, x.size(-2), x.size(-1)});
  const Tensor y = at::reflection_pad2d(planes, ends);
  shape[shape.size() - 2] = y.size(-2);
  shape[shape.size() - 1] = y.size(-1);
  return y.reshape(shape);
}

Tensor pad(const Tensor& x, const Ints& axes, const Ints& pads, const std::string& mode,
           const at::Scalar& value) {
  if (mode == "reflect") {
    if (const Tensor y = reflected(x, axes, pads); y.defined()) return y;
  }
  Tensor y = x;
  Ints added(static_cast<std::size_t>(2 * x.dim()), 0);  // as ATen wants it: last dimension first
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normal_axis(axes[i], x.dim());
    std::int64_t before = pads.at(i);
    std::int64_t after = pads.at(i + axes.size());
    // Less than 0 takes away.
    if (before < 0) y = at::slice(y, axis, -before);
    if (after < 0) y = at::slice(y, axis, 0, y.size(axis) + after);
    before = std::max<std::int64_t>(before, 0);
    after = std::max<std::int64_t>(after, 0);
    if (mode == "constant") {
      const auto at = static_cast<std::size_t>(2 * (x.dim() - 1 - axis));
      added[at] = before;
      added[at + 1] = after;
    } else if (before + after > 0) {
      y = at::index_select(y, axis,
                           source_of_padding(y.size(axis), before, after, mode, y.device()));
    }
  }
  return mode == "constant" ? runtime::padded(y, added, value) : y;
}

// Pads and value are attributes before opset 11, the axes an input since 18.
Kernel make_pad(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::string mode = text_attribute(op, "mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    refuse_attribute("mode", mode);
  }
  const IntsOperand pads_operand(request, op.version < 2 ? "paddings" : "pads", 1);
  const IntsOperand axes_operand(request, "", 3);
  const double stated = float_attribute(op, "value", 0);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints all(static_cast<std::size_t>(x.dim()));
    std::iota(all.begin(), all.end(), 0);
    at::Scalar value = stated;
    if (has(in, 2)) value = tensor_at(in, 2).item();
    out[0].tensor = pad(x, axes_operand.get(in).value_or(all), pads_operand.need(in), mode, value);
  };
}

// --- blocks --------------------------------------------------------------------------------------

Kernel make_depth_to_space(const KernelRequest& request) {
  const std::int64_t block = count_attribute(request.instruction, "blocksize", 1);
  const bool depth_first = text_attribute(request.instruction, "mode", "DCR") == "DCR";
  return [block, depth_first](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t n = x.size(0);
    const std::int64_t c = shared_out(x.size(1), "channels", block * block, "pixels of a block");
    const std::int64_t h = x.size(2), w = x.size(3);
    const Tensor parts =
        depth_first ? at::reshape(x, {n, block, block, c, h, w}).permute({0, 3, 4, 1, 5, 2})
                    : at::reshape(x, {n, c, block, block, h, w}).permute({0, 1, 4, 2, 5, 3});
    out[0].tensor = at::reshape(parts, {n, c, h * block, w * block});
  };
}

Kernel make_space_to_depth(const KernelRequest& request) {
  const std::int64_t block = count_attribute(request.instruction, "blocksize", 1);
  const std::string mode = text_attribute(request.instruction, "mode", "DCR");
  if (mode != "DCR" && mode != "CRD") refuse_attribute("mode", mode);
  const bool depth_first = mode == "DCR";
  return [block, depth_first](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t n = x.size(0), c = x.size(1);
    const std::int64_t h = shared_out(x.size(2), "rows", block, "rows of a block");
    const std::int64_t w = shared_out(x.size(3), "columns", block, "columns of a block");
    const Ints order = depth_first ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4};
    const Tensor parts = at::reshape(x, {n, c, h, block, w, block}).permute(order);
    out[0].tensor = at::reshape(parts, {n, c * block * block, h, w});
  };
}

Kernel make_reverse_sequence(const KernelRequest& request) {
  const std::int64_t batch_axis = int_attribute(request.instruction, "batch_axis", 1);
  const std::int64_t time_axis = int_attribute(request.instruction, "time_axis", 0);
  return [batch_axis, time_axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints lengths = ints_of(tensor_at(in, 1));
    std::vector<Tensor> rows = {at::narrow(x, batch_axis, 0, 0)};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const Tensor row = at::narrow(x, batch_axis, static_cast<std::int64_t>(i), 1);
      const Tensor head = at::narrow(row, time_axis, 0, lengths[i]);
      const Tensor tail = at::narrow(row, time_axis, lengths[i], row.size(time_axis) - lengths[i]);
      rows.push_back(at::cat({at::flip(head, time_axis), tail}, time_axis));
    }
    out[0].tensor = at::cat(rows, batch_axis);
  };
}

Kernel make_trilu(const KernelRequest& request) {
  const bool upper = int_attribute(request.instruction, "upper", 1) != 0;
  const IntsOperand diagonal_operand(request, "", 1);
  return [upper, diagonal_operand](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto k = diagonal_operand.get(in).value_or(Ints{0}).at(0);
    out[0].tensor = upper ? at::triu(x, k) : at::tril(x, k);
  };
}

Kernel make_identity(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0] = in[0]; };
}

// Inputs: x, the sizes of its axes. Cuts or pads both ends of an axis, the end by one more if need be.
Kernel make_center_crop_pad(const KernelRequest& request) {
  const auto stated = ints_attribute(request.instruction, "axes");
  const IntsOperand sizes(request, "", 1);
  return [stated, sizes](KernelContext&, Inputs in, Outputs out) {
    Tensor y = tensor_at(in, 0);
    const Ints wanted = sizes.need(in);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::int64_t axis =
          normal_axis(stated ? stated->at(i) : static_cast<std::int64_t>(i), y.dim());
      const std::int64_t more = wanted[i] - y.size(axis);
      if (more <= 0) {
        y = y.narrow(axis, -more / 2, wanted[i]);
        continue;
      }
      Ints pads(static_cast<std::size_t>(2 * (y.dim() - axis)), 0);
      pads[pads.size() - 2] = more / 2;
      pads[pads.size() - 1] = more - more / 2;
      y = runtime::padded(y, pads);
    }
    out[0].tensor = y.contiguous();
  };
}

constexpr KernelRow kRows[] = {
    {"CenterCropPad", make_center_crop_pad},
    {"Concat", make_concat},
    {"DepthToSpace", make_depth_to_space},
    {"Expand", make_expand},
    {"Flatten", make_flatten},
    {"Identity", make_identity},
    {"Pad", make_pad},
    {"Reshape", make_reshape},
    {"ReverseSequence", make_reverse_sequence},
    {"Slice", make_slice},
    {"SpaceToDepth", make_space_to_depth},
    {"Split", make_split},
    {"Squeeze", make_squeeze},
    {"Tile", make_tile},
    {"Transpose", make_transpose},
    {"Trilu", make_trilu},
    {"Unsqueeze", make_unsqueeze},
    {"com.microsoft.ExpandDims", make_unsqueeze},
    {"com.microsoft.ConcatTraining", make_concat_training},
    {"com.microsoft.Trilu", make_trilu},
};

}  // namespace

std::span<const KernelRow> layout_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
