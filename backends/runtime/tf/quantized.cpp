// Fake quantization: values rounded to the levels of a quantized type, and still floats.
#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// How many levels there are, and which is the first.
struct Levels {
  explicit Levels(const Instruction& op)
      : first(int_attribute(op, "narrow_range", 0) != 0 ? 1 : 0),
        last(std::exp2(static_cast<double>(int_attribute(op, "num_bits", 8))) - 1) {}
  double first, last;
};

/// The limits are moved so that 0 is a level (Jacob et al., CVPR 2018). `least` and `most` are
/// scalars, or have an element for each of the last axis.
Tensor rounded(const Tensor& x, const Tensor& least, const Tensor& most, const Levels& levels) {
  const Tensor scale = at::div(at::sub(most, least), levels.last - levels.first);
  const Tensor zero =
      at::clamp(at::sub(at::scalar_tensor(levels.first, x.options()), at::div(least, scale)),
                levels.first, levels.last);
  const Tensor level = at::floor(at::add(zero, 0.5));
  const Tensor low = at::mul(at::rsub(level, levels.first), scale);
  const Tensor high = at::mul(at::rsub(level, levels.last), scale);
  const Tensor inside = at::minimum(at::maximum(x, low), high);
  const Tensor steps = at::floor(at::add(at::div(at::sub(inside, low), scale), 0.5));
  return at::add(at::mul(steps, scale), low);
}

/// (x, least, most)
Kernel make_fake_quantized(const KernelRequest& request) {
  return [levels = Levels(request.instruction)](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = rounded(tensor_at(in, 0), on_device(context, tensor_at(in, 1)),
                            on_device(context, tensor_at(in, 2)), levels);
  };
}

Kernel make_fake_quantized_by_attributes(const KernelRequest& request) {
  const double least = float_attribute(request.instruction, "min", -6);
  const double most = float_attribute(request.instruction, "max", 6);
  return
      [least, most, levels = Levels(request.instruction)](KernelContext&, Inputs in, Outputs out) {
        const Tensor& x = tensor_at(in, 0);
        out[0].tensor = rounded(x, at::scalar_tensor(least, x.options()),
                                at::scalar_tensor(most, x.options()), levels);
      };
}

// --- quantised and back: levels are whole multiples of a scale ----------------------------------

/// The number of dimensions of a tensor along one axis, or of one number for all.
Tensor along(const Tensor& numbers, std::int64_t axis, std::int64_t rank) {
  if (axis < 0) return numbers;
  Ints shape(static_cast<std::size_t>(rank), 1);
  shape.at(static_cast<std::size_t>(axis)) = -1;
  return numbers.reshape(shape);
}

struct SymmetricLevels {
  explicit SymmetricLevels(const Instruction& op)
      : is_signed(int_attribute(op, "signed_input", 1) != 0),
        narrow(int_attribute(op, "narrow_range", 0) != 0),
        // The third version has a range unless it says otherwise.
        has_range(int_attribute(op, "range_given", op.type.ends_with("V3") ? 1 : 0) != 0),
        halves_up(text_attribute(op, "round_mode", "HALF_TO_EVEN") == "HALF_UP"),
        axis(int_attribute(op, "axis", -1)) {}

  [[nodiscard]] Tensor rounded(const Tensor& x, Tensor least, Tensor most,
                               std::int64_t bits) const {
    if (bits < 1 || bits > 62) {
      throw Error(ErrorCode::invalid_argument, cat("it quantises to ", bits, " bits"));
    }
    const double first = is_signed ? -std::exp2(bits - 1) + (narrow ? 1 : 0) : 0;
    const double last = std::exp2(bits - (is_signed ? 1 : 0)) - 1;
    // The end that leaves the other within the levels decides.
    const auto scale_of = [](const Tensor& limit, double level) {
      const Tensor scale = at::div(at::full({}, level, limit.options()), limit);
      return at::where(at::gt(at::mul(limit, level), 0), scale,
                       at::full({}, std::numeric_limits<float>::max(), limit.options()));
    };
    const Tensor by_least = scale_of(least, first), by_most = scale_of(most, last);
    const Tensor is_least = at::lt(by_least, by_most);
    const Tensor scale = at::where(is_least, by_least, by_most);
    const Tensor step =
        at::where(is_least, first == 0 ? most : at::div(least, first), at::div(most, last));
    Tensor y = x;
    if (has_range) {
      least = at::where(is_least, least, at::mul(step, first));
      most = at::where(is_least, at::mul(step, last), most);
      y = at::minimum(at::maximum(y, least), most);
    }
    y = at::mul(y, scale);
    return at::mul(halves_up ? at::floor(at::add(y, 0.5)) : at::round(y), step);
  }

  /// The limits of x itself.
  [[nodiscard]] std::pair<Tensor, Tensor> limits(const Tensor& x) const {
    if (axis < 0) return {x.min(), x.max()};
    Ints others;
    for (std::int64_t i = 0; i < x.dim(); ++i) {
      if (i != axis) others.push_back(i);
    }
    return {x.amin(others, true), x.amax(others, true)};
  }

  bool is_signed, narrow, has_range, halves_up;
  std::int64_t axis;
};

/// (x, least, most; of the third version also the number of bits)
Kernel make_quantized_and_back(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  std::optional<IntsInput> bits;
  if (op.type.ends_with("V3")) bits.emplace(request, 3);
  return [levels = SymmetricLevels(op), stated = int_attribute(op, "num_bits", 8), bits](
             KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (levels.axis >= x.dim()) {
      throw Error(ErrorCode::invalid_argument, cat("its axis is ", levels.axis, " of ", x.dim()));
    }
    if (x.numel() == 0) {
      out[0].tensor = x;
      return;
    }
    const auto limit = [&](std::size_t i) {
      return along(on_device(context, tensor_at(in, i)), levels.axis, x.dim());
    };
    const auto [least, most] = levels.has_range ? std::pair(limit(1), limit(2)) : levels.limits(x);
    out[0].tensor = levels.rounded(x, least, most, bits ? bits->one(in) : stated);
  };
}

/// (gradient, x, least, most): what is outside the limits gets none, and so do they.
Kernel make_quantized_and_back_gradient(const KernelRequest& request) {
  return [axis = int_attribute(request.instruction, "axis", -1)](KernelContext& context, Inputs in,
                                                                 Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &x = tensor_at(in, 1);
    const Tensor least = on_device(context, tensor_at(in, 2));
    const Tensor most = on_device(context, tensor_at(in, 3));
    const Tensor inside = at::logical_and(at::ge(x, along(least, axis, x.dim())),
                                          at::le(x, along(most, axis, x.dim())));
    out[0].tensor = at::where(inside, gradient, at::zeros({}, gradient.options()));
    if (out.size() > 1) out[1].tensor = at::zeros_like(least);
    if (out.size() > 2) out[2].tensor = at::zeros_like(most);
  };
}

constexpr KernelRow kRows[] = {
    {"FakeQuantWithMinMaxArgs", make_fake_quantized_by_attributes},
    {"FakeQuantWithMinMaxVars", make_fake_quantized},
    {"FakeQuantWithMinMaxVarsPerChannel", make_fake_quantized},
    {"QuantizeAndDequantizeV2", make_quantized_and_back},
    {"QuantizeAndDequantizeV3", make_quantized_and_back},
    {"QuantizeAndDequantizeV4", make_quantized_and_back},
    {"QuantizeAndDequantizeV4Grad", make_quantized_and_back_gradient},
};

}  // namespace

std::span<const KernelRow> quantized_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
