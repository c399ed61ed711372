// Random tensors. They are drawn on the host from the seed of op and step, so they are the same on
// every device. TensorFlow draws other numbers.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <cmath>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

using Draw = void (*)(const Tensor& out, const at::Generator& generator);

void uniform(const Tensor& out, const at::Generator& generator) {
  out.uniform_(0, 1, generator);
}
void normal(const Tensor& out, const at::Generator& generator) {
  out.normal_(0, 1, generator);
}

/// Normal numbers within two standard deviations: the inverse of the distribution, of uniform ones.
void truncated_normal(const Tensor& out, const at::Generator& generator) {
  const double limit = std::erf(std::sqrt(2.0));
  out.uniform_(-limit, limit, generator);
  out.erfinv_().mul_(std::sqrt(2.0)).clamp_(-2, 2);
}

/// (shape)
template <Draw draw>
Kernel make_random(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "dtype", at::kFloat);
  return [wanted, shape = IntsInput(request, 0)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor numbers =
        at::empty(shape.get(in), wanted == at::kDouble ? at::kDouble : at::kFloat);
    draw(numbers, at::detail::createCPUGenerator(context.seed));
    out[0].tensor = numbers.to(context.device, wanted);
  };
}

/// (shape, least, limit)
Kernel make_random_integers(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& least = tensor_at(in, 1);
    const Tensor numbers = at::empty(ints_of(tensor_at(in, 0)), least.scalar_type());
    numbers.random_(least.item().to<std::int64_t>(), tensor_at(in, 2).item().to<std::int64_t>(),
                    at::detail::createCPUGenerator(context.seed));
    out[0].tensor = numbers.to(context.device);
  };
}

constexpr KernelRow kRows[] = {
    {"RandomStandardNormal", make_random<normal>},
    {"RandomUniform", make_random<uniform>},
    {"RandomUniformInt", make_random_integers},
    {"TruncatedNormal", make_random<truncated_normal>},
};

}  // namespace

std::span<const KernelRow> random_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
