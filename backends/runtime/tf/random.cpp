// Random tensors. They are drawn on the host from the seed of op and step, so they are the same on
// every device. TensorFlow draws other numbers.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <cmath>

#include "berth/error.h"
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

/// (x): its rows in another order.
Kernel make_shuffle(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = x;
    if (x.dim() == 0 || x.size(0) < 2) return;
    const Tensor order = at::randperm(x.size(0), at::detail::createCPUGenerator(context.seed));
    out[0].tensor = at::index_select(x, 0, order.to(x.device()));
  };
}

/// (logits [batch, classes], samples): classes drawn by their chances.
Kernel make_multinomial(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "output_dtype", at::kLong);
  return [wanted, samples = IntsInput(request, 1)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor chances = at::softmax(tensor_at(in, 0).to(at::kCPU, at::kDouble), -1);
    const std::int64_t count = samples.one(in);
    if (chances.dim() != 2 || chances.size(1) < 1 || count < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "samples are drawn from rows of classes, at least one");
    }
    if (chances.size(0) == 0 || count == 0) {  // which ATen refuses
      out[0].tensor = at::empty({chances.size(0), count}, wanted).to(context.device);
      return;
    }
    out[0].tensor = at::multinomial(chances, count, /*replacement=*/true,
                                    at::detail::createCPUGenerator(context.seed))
                        .to(context.device, wanted);
  };
}

/// Numbers of a distribution with this parameter in each place.
using Sample = Tensor (*)(const Tensor& parameter, const at::Generator& generator);
Tensor gamma(const Tensor& shape, const at::Generator& generator) {
  return at::_standard_gamma(shape, generator);
}
Tensor poisson(const Tensor& rate, const at::Generator& generator) {
  return at::poisson(rate, generator);
}

/// (shape, parameters): numbers of that shape for each parameter.
template <Sample sample>
Kernel make_samples(const KernelRequest& request) {
  const bool is_typed = request.instruction.type == "RandomPoissonV2";
  const at::ScalarType stated = type(request.instruction, "dtype", at::kLong);
  return [is_typed, stated, sizes = IntsInput(request, 0)](KernelContext& context, Inputs in,
                                                           Outputs out) {
    const Tensor& parameters = tensor_at(in, 1);
    Ints shape = sizes.get(in);
    shape.insert(shape.end(), parameters.sizes().begin(), parameters.sizes().end());
    const Tensor each = parameters.to(at::kCPU, at::kDouble).expand(shape).contiguous();
    out[0].tensor = sample(each, at::detail::createCPUGenerator(context.seed))
                        .to(context.device, is_typed ? stated : parameters.scalar_type());
  };
}

constexpr KernelRow kRows[] = {
    {"Multinomial", make_multinomial},
    {"RandomGamma", make_samples<gamma>},
    {"RandomPoissonV2", make_samples<poisson>},
    {"RandomShuffle", make_shuffle},
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
