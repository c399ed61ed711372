// Fourier transforms and the windows of signals. A last dimension of 2 holds real and imaginary parts.
#include <ATen/Functions.h>

#include <cmath>

#include "berth/error.h"
#include "berth/support/text.h"
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

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

/// Triangles, in the rows of a spectrum, whose corners lie `edges` apart: [rows, triangles].
Tensor triangles(const Ints& edges, std::int64_t rows) {
  const auto count = static_cast<std::int64_t>(edges.size()) - 2;
  const Tensor weights = at::zeros({rows, count}, at::kDouble);
  auto share = weights.accessor<double, 2>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t* const edge = &edges[static_cast<std::size_t>(i)];
    const std::int64_t up = edge[1] - edge[0], down = edge[2] - edge[1];
    for (std::int64_t row = edge[0]; row < edge[1]; ++row) {
      share[row][i] = static_cast<double>(row - edge[0]) / static_cast<double>(up);
    }
    share[edge[1]][i] = 1;
    for (std::int64_t row = edge[1]; row < edge[2]; ++row) {
      share[row][i] = static_cast<double>(edge[2] - row) / static_cast<double>(down);
    }
  }
  return weights;
}

// Inputs: the number of triangles, the length of the transform, samples per second, the least and the largest frequency
// in Hz.
Kernel make_mel_weights(const KernelRequest& request) {
  constexpr std::int64_t kFloat = 1;
  const at::ScalarType type =
      scalar_type(dtype_of_number(int_attribute(request.instruction, "output_datatype", kFloat)));
  return [type](KernelContext& context, Inputs in, Outputs out) {
    const auto number = [&](std::size_t i) { return tensor_at(in, i).item<double>(); };
    const auto count = tensor_at(in, 0).item<std::int64_t>();
    const auto length = tensor_at(in, 1).item<std::int64_t>();
    const double rate = number(2), low = mel_of(number(3)), high = mel_of(number(4));
    if (count < 1 || length < 1 || !(rate > 0) || !(low >= 0) || !(high >= low)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("there are no mel weights of ", count, " bands from ", number(3), " to ",
                      number(4), " Hz, of ", length, " samples at ", rate, " per second"));
    }
    const std::int64_t rows = length / 2 + 1;
    Ints edges;
    for (std::int64_t i = 0; i < count + 2; ++i) {
      const double mel =
          low + static_cast<double>(i) * (high - low) / static_cast<double>(count + 2);
      const double edge = std::floor(static_cast<double>(length + 1) * hertz_of(mel) / rate);
      // The last is where a triangle ends, the others are rows.
      if (!(edge < static_cast<double>(i <= count ? rows : rows + 1))) {
        throw Error(ErrorCode::invalid_argument,
                    cat("mel weights up to ", number(4), " Hz need more than ", rate,
                        " samples per second"));
      }
      edges.push_back(static_cast<std::int64_t>(edge));
    }
    out[0].tensor = triangles(edges, rows).to(type).to(context.device);
  };
}

constexpr KernelRow kKernels[] = {
    {"BlackmanWindow", make_window<kBlackman>}, {"DFT", make_fourier},
    {"HammingWindow", make_window<kHamming>},   {"HannWindow", make_window<kHann>},
    {"MelWeightMatrix", make_mel_weights},      {"STFT", make_short_time_fourier},
};

}  // namespace

std::span<const KernelRow> signal_kernels() {
  return kKernels;
}

}  // namespace berth::runtime::onnx
