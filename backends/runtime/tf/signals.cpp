// Fourier transforms of the last dimensions, and complex numbers.
#include <ATen/Functions.h>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

Tensor magnitude(const Tensor& x) {
  return at::abs(x);
}
Tensor angle(const Tensor& x) {
  return at::angle(x);
}
Tensor real(const Tensor& x) {
  return at::real(x).contiguous();
}
Tensor imaginary(const Tensor& x) {
  return at::imag(x).contiguous();
}
Tensor conjugate(const Tensor& x) {
  return at::resolve_conj(at::conj(x));
}
Tensor complex(const Tensor& a, const Tensor& b) {
  const auto parts = at::broadcast_tensors({a, b});
  return at::complex(parts[0].contiguous(), parts[1].contiguous());
}

Ints last_axes(std::int64_t count) {
  Ints axes;
  for (std::int64_t i = -count; i < 0; ++i) axes.push_back(i);
  return axes;
}

/// (x): complex.
template <bool inverse, int rank>
Kernel make_fourier(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints axes = last_axes(rank);
    out[0].tensor = at::resolve_conj(inverse ? at::fft_ifftn(x, c10::nullopt, axes)
                                             : at::fft_fftn(x, c10::nullopt, axes));
  };
}

/// (x, lengths): real numbers to half of their spectrum, or back.
template <bool inverse, int rank>
Kernel make_real_fourier(const KernelRequest& request) {
  return [lengths = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints sizes = lengths.get(in), axes = last_axes(rank);
    out[0].tensor =
        at::resolve_conj(inverse ? at::fft_irfftn(x, sizes, axes) : at::fft_rfftn(x, sizes, axes));
  };
}

constexpr KernelRow kRows[] = {
    {"Angle", make_unary<angle>},
    {"Complex", make_binary<complex>},
    {"ComplexAbs", make_unary<magnitude>},
    {"Conj", make_unary<conjugate>},
    {"FFT", make_fourier<false, 1>},
    {"FFT2D", make_fourier<false, 2>},
    {"FFT3D", make_fourier<false, 3>},
    {"IFFT", make_fourier<true, 1>},
    {"IFFT2D", make_fourier<true, 2>},
    {"IFFT3D", make_fourier<true, 3>},
    {"IRFFT", make_real_fourier<true, 1>},
    {"IRFFT2D", make_real_fourier<true, 2>},
    {"IRFFT3D", make_real_fourier<true, 3>},
    {"Imag", make_unary<imaginary>},
    {"RFFT", make_real_fourier<false, 1>},
    {"RFFT2D", make_real_fourier<false, 2>},
    {"RFFT3D", make_real_fourier<false, 3>},
    {"Real", make_unary<real>},
};

}  // namespace

std::span<const KernelRow> signal_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
