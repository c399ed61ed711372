// Fake quantization: values rounded to the levels of a quantized type, and still floats.
#include <ATen/Functions.h>

#include <cmath>

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

constexpr KernelRow kRows[] = {
    {"FakeQuantWithMinMaxArgs", make_fake_quantized_by_attributes},
    {"FakeQuantWithMinMaxVars", make_fake_quantized},
    {"FakeQuantWithMinMaxVarsPerChannel", make_fake_quantized},
};

}  // namespace

std::span<const KernelRow> quantized_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
