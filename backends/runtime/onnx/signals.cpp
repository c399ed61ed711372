// Fourier transforms and the windows of signals. A last dimension of 2 holds real and imaginary parts.
#include <ATen/Functions.h>

#include <cmath>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

/// Real where the last dimension is 1.
Tensor complex_of(const Tensor& x) {
  if (x.size(-1) == 1) return x.squeeze(-1);
  return at::view_as_complex(x.contiguous());
}

std::optional<std::int64_t> one_of(const IntsOperand& operand, Inputs in) {
  const auto numbers = operand.get(in);
  return numbers && !numbers->empty() ? std::optional(numbers->front()) : std::nullopt;
}

struct Fourier {
  bool inverse;
  bool one_sided;

  /// Along `axis` of what `complex_of` gave; absent `stated` = the length of the axis.
  [[nodiscard]] Tensor of(const Tensor& x, std::optional<std::int64_t> stated,
                          std::int64_t axis) const {
    const bool halved = inverse && one_sided;
    const std::int64_t length = stated.value_or(halved ? 2 * (x.size(axis) - 1) : x.size(axis));
    if (halved) return at::fft_irfft(x, length, axis).unsqueeze(-1);
    if (inverse) return at::view_as_real(at::resolve_conj(at::fft_ifft(x, length, axis)));
    if (one_sided && !x.is_complex()) return at::view_as_real(at::fft_rfft(x, length, axis));
    const Tensor all = at::fft_fft(x, length, axis);
    return at::view_as_real(all.narrow(axis, 0, one_sided ? length / 2 + 1 : length));
  }
};

// `axis` became an input in opset 20, and -2 its default.
Kernel make_fourier(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const Fourier fourier{int_attribute(op, "inverse", 0) != 0,
                        int_attribute(op, "onesided", 0) != 0};
  const IntsOperand length(request, "", 1);
  const IntsOperand axis(request, "", 2);
  const std::int64_t stated = int_attribute(op, "axis", op.version < 20 ? 1 : -2);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = fourier
                        .of(complex_of(x), one_of(length, in),
                            normal_axis(one_of(axis, in).value_or(stated), x.dim()))
                        .contiguous();
  });
}

// signal [batch, samples, 1 or 2], step, window, length of a frame.
Kernel make_short_time_fourier(const KernelRequest& request) {
  const bool one_sided = int_attribute(request.instruction, "onesided", 1) != 0;
  const IntsOperand step(request, "", 1);
  const IntsOperand length(request, "", 3);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& whole = tensor_at(in, 0);
    const Tensor signal = complex_of(whole.dim() == 2 ? whole.unsqueeze(-1) : whole);
    const Tensor window = optional_at(in, 2);
    const auto given = one_of(length, in);
    if (!window.defined() && !given) {
      throw Error(ErrorCode::invalid_argument,
                  "neither a window nor the length of a frame is given; give one");
    }
    const std::int64_t frame = given ? *given : window.numel();
    Tensor frames = signal.unfold(1, frame, step.need_one(in));
    if (window.defined()) frames = at::mul(frames, window);
    out[0].tensor = Fourier{false, one_sided}.of(frames, std::nullopt, 2).contiguous();
  });
}

/// Sums of cosines: `first` - `second` cos(2 pi n / size) + `third` cos(4 pi n / size).
struct Window {
  double first;
  double second;
  double third;
};
constexpr Window kBlackman{0.42, 0.5, 0.08};
constexpr Window kHamming{25.0 / 46, 1 - 25.0 / 46, 0};
constexpr Window kHann{0.5, 0.5, 0};

template <const Window& window>
Kernel make_window(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool periodic = int_attribute(op, "periodic", 1) != 0;
  constexpr std::int64_t kFloat = 1;
  const at::ScalarType type =
      scalar_type(dtype_of_number(int_attribute(op, "output_datatype", kFloat)));
  const IntsOperand size(request, "", 0);
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const std::int64_t count = size.need_one(in);
    const auto period =
        static_cast<double>(std::max<std::int64_t>(1, periodic ? count : count - 1));
    const Tensor turns = at::mul(at::arange(count, at::kDouble), 2 * M_PI / period);
    out[0].tensor = at::add(at::rsub(at::mul(at::cos(turns), window.second), window.first),
                            at::cos(at::mul(turns, 2)), window.third)
                        .to(type)
                        .to(context.device);
  };
}

constexpr KernelRow kKernels[] = {
    {"BlackmanWindow", make_window<kBlackman>}, {"DFT", make_fourier},
    {"HammingWindow", make_window<kHamming>},   {"HannWindow", make_window<kHann>},
    {"STFT", make_short_time_fourier},
};

}  // namespace

std::span<const KernelRow> signal_kernels() {
  return kKernels;
}

}  // namespace berth::runtime::onnx
