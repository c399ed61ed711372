// Fourier transforms and what goes with them.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

// The last dimension holds real parts, or real and imaginary ones.
Tensor as_complex(const Tensor& x) {
  if (x.size(-1) == 2) return at::view_as_complex(x.contiguous());
  return at::complex(x.squeeze(-1), at::zeros_like(x.squeeze(-1)));
}

// The real signal behind the first half of its spectrum; `length` is that of the signal.
Tensor real_signal(const Tensor& spectrum, std::int64_t length, std::int64_t axis) {
  const Tensor given = as_complex(spectrum.to(at::kDouble));
  return at::fft_irfft(given, length, axis).unsqueeze(-1).to(spectrum.scalar_type());
}

// In f64: terms that cancel leave in f32 what looks like a signal.
Tensor transform(const Tensor& x, std::int64_t length, std::int64_t axis, bool inverse,
                 bool one_sided) {
  const Tensor given = as_complex(x.to(at::kDouble));
  const Tensor y = inverse ? at::fft_ifft(given, length, axis) : at::fft_fft(given, length, axis);
  return at::view_as_real(one_sided ? y.narrow(axis, 0, length / 2 + 1).contiguous() : y)
      .to(x.scalar_type());
}

// The axis is an attribute (1 by default) before opset 20, then input 2 (-2 by default).
Kernel make_dft(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool inverse = int_attribute(op, "inverse", 0) != 0;
  const bool one_sided = int_attribute(op, "onesided", 0) != 0;
  const std::int64_t stated = int_attribute(op, "axis", op.version < 20 ? 1 : -2);
  const IntsOperand length_operand(request, "", 1);
  const IntsOperand axis_operand(request, "", 2);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto axis = normal_axis(axis_operand.get(in).value_or(Ints{stated}).at(0), x.dim());
    const bool halved = inverse && one_sided;
    const std::int64_t usual = halved ? 2 * (x.size(axis) - 1) : x.size(axis);
    const auto length = length_operand.get(in).value_or(Ints{usual}).at(0);
    out[0].tensor =
        halved ? real_signal(x, length, axis) : transform(x, length, axis, inverse, one_sided);
  });
}

// Inputs: signal [batch, length, 1 or 2], step, window?, frame length?.
Kernel make_stft(const KernelRequest& request) {
  const bool one_sided = int_attribute(request.instruction, "onesided", 1) != 0;
  const IntsOperand step_operand(request, "", 1);
  const IntsOperand length_operand(request, "", 3);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor window = optional_at(in, 2);
    const std::int64_t step = step_operand.need_one(in);
    const std::int64_t length =
        length_operand.get(in).value_or(Ints{window.defined() ? window.size(0) : x.size(1)}).at(0);
    // [batch, frames, parts, length] to [batch, frames, length, parts]
    Tensor frames = x.unfold(1, length, step).transpose(2, 3);
    if (window.defined()) frames = at::mul(frames, window.reshape({1, 1, -1, 1}));
    out[0].tensor = transform(frames, length, 2, false, one_sided);
  });
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
Kernel make_window(const KernelRequest& request, double a0, double a1, double a2) {
  const bool periodic = int_attribute(request.instruction, "periodic", 1) != 0;
  const at::ScalarType type =
      scalar_type(dtype_of_number(int_attribute(request.instruction, "output_datatype", 1)));
  const IntsOperand size_operand(request, "", 0);
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const std::int64_t size = size_operand.need_one(in);
    const Tensor n = at::arange(size, at::TensorOptions(at::kDouble).device(context.device));
    const double period =
        static_cast<double>(std::max<std::int64_t>(periodic ? size : size - 1, 1));
    const Tensor angle = at::mul(n, 2 * std::numbers::pi / period);
    out[0].tensor =
        at::add(at::add(at::mul(at::cos(angle), -a1), a0), at::mul(at::cos(at::mul(angle, 2)), a2))
            .to(type);
  };
}

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}

double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

// Triangles over the bins of a spectrum, spaced evenly in mel.
Tensor mel_weights(std::int64_t bands, std::int64_t length, double rate, double low, double high) {
  const std::int64_t bins = length / 2 + 1;
  std::vector<std::int64_t> corners;
  // One step more than there are between the corners: so the op is defined by its tests.
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = hertz_of(mel_of(low) + step * static_cast<double>(i));
    corners.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  std::vector<double> weights(static_cast<std::size_t>(bins * bands), 0);
  const auto set = [&](std::int64_t bin, std::int64_t band, double weight) {
    if (bin >= 0 && bin < bins) weights[static_cast<std::size_t>(bin * bands + band)] = weight;
  };
  for (std::int64_t band = 0; band < bands; ++band) {
    const auto at = static_cast<std::size_t>(band);
    const std::int64_t left = corners[at], top = corners[at + 1], right = corners[at + 2];
    if (left == top) set(top, band, 1);
    for (std::int64_t bin = left; left != top && bin <= top; ++bin) {
      set(bin, band, static_cast<double>(bin - left) / static_cast<double>(top - left));
    }
    for (std::int64_t bin = top; top != right && bin < right; ++bin) {
      set(bin, band, static_cast<double>(right - bin) / static_cast<double>(right - top));
    }
  }
  return at::tensor(weights, at::kDouble).reshape({bins, bands});
}

Kernel make_mel_weights(const KernelRequest& request) {
  const at::ScalarType type =
      scalar_type(dtype_of_number(int_attribute(request.instruction, "output_datatype", 1)));
  return [type](KernelContext& context, Inputs in, Outputs out) {
    const auto number = [&](std::size_t i) { return numbers_of(tensor_at(in, i)).at(0); };
    out[0].tensor =
        mel_weights(static_cast<std::int64_t>(number(0)), static_cast<std::int64_t>(number(1)),
                    number(2), number(3), number(4))
            .to(type)
            .to(context.device);
  };
}

constexpr KernelRow kRows[] = {
    {"BlackmanWindow",
     [](const KernelRequest& request) { return make_window(request, 0.42, 0.5, 0.08); }},
    {"DFT", make_dft},
    {"HammingWindow",
     [](const KernelRequest& request) {
       return make_window(request, 25.0 / 46.0, 21.0 / 46.0, 0);
     }},
    {"HannWindow", [](const KernelRequest& request) { return make_window(request, 0.5, 0.5, 0); }},
    {"MelWeightMatrix", make_mel_weights},
    {"STFT", make_stft},
};

}  // namespace

std::span<const KernelRow> signal_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
