// Ops that draw numbers. The op's `seed` attribute is its own stream; without one the step's seed
// decides. What is drawn is the same on every device: it is drawn on the CPU.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <bit>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

// Makes the generator of one run.
struct Stream {
  std::optional<std::uint64_t> stated;

  explicit Stream(const Instruction& op) {
    if (const auto* const seed = op.attribute<double>("seed")) {
      stated = std::bit_cast<std::uint64_t>(*seed);
    } else if (const auto* const number = op.attribute<std::int64_t>("seed")) {
      stated = static_cast<std::uint64_t>(*number);
    }
  }
  [[nodiscard]] at::Generator generator(const KernelContext& context) const {
    return at::detail::createCPUGenerator(stated.value_or(context.seed));
  }
};

at::ScalarType type_of(const Instruction& op, at::ScalarType fallback) {
  const std::int64_t dtype = int_attribute(op, "dtype", 0);
  return dtype == 0 ? fallback : scalar_type(dtype_of_number(dtype));
}

// Uniform over [low, high), or normal.
struct Distribution {
  bool normal = false;
  double first = 0;   // low, or mean
  double second = 1;  // high, or deviation

  Distribution(const Instruction& op, bool is_normal)
      : normal(is_normal),
        first(float_attribute(op, is_normal ? "mean" : "low", 0)),
        second(float_attribute(op, is_normal ? "scale" : "high", 1)) {}

  [[nodiscard]] Tensor draw(const Ints& shape, const at::Generator& generator) const {
    if (normal) return at::add(at::mul(at::randn(shape, generator), second), first);
    return at::add(at::mul(at::rand(shape, generator), second - first), first);
  }
};

template <bool normal>
Kernel make_random(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const Distribution distribution(op, normal);
  const Stream stream(op);
  const at::ScalarType type = type_of(op, at::kFloat);
  const Ints shape = ints_attribute(op, "shape").value_or(Ints{});
  return [=](KernelContext& context, Inputs, Outputs out) {
    out[0].tensor = distribution.draw(shape, stream.generator(context)).to(type).to(context.device);
  };
}

template <bool normal>
Kernel make_random_like(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const Distribution distribution(op, normal);
  const Stream stream(op);
  const bool has_type = int_attribute(op, "dtype", 0) != 0;
  const at::ScalarType type = type_of(op, at::kFloat);
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& like = tensor_at(in, 0);
    out[0].tensor = distribution.draw(like.sizes().vec(), stream.generator(context))
                        .to(has_type ? type : like.scalar_type())
                        .to(context.device);
  };
}

Kernel make_bernoulli(const KernelRequest& request) {
  const Stream stream(request.instruction);
  const bool has_type = int_attribute(request.instruction, "dtype", 0) != 0;
  const at::ScalarType type = type_of(request.instruction, at::kFloat);
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor drawn = at::rand(x.sizes(), stream.generator(context)).to(context.device);
    out[0].tensor = at::lt(drawn, x).to(has_type ? type : x.scalar_type());
  };
}

// Classes drawn with the probabilities that rows of logarithms give.
Kernel make_multinomial(const KernelRequest& request) {
  const Stream stream(request.instruction);
  const std::int64_t count = int_attribute(request.instruction, "sample_size", 1);
  const at::ScalarType type = type_of(request.instruction, at::kInt);
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const Tensor chances = at::softmax(tensor_at(in, 0).to(at::kCPU, at::kFloat), 1);
    out[0].tensor = at::multinomial(chances, count, /*replacement=*/true, stream.generator(context))
                        .to(type)
                        .to(context.device);
  };
}

// It drops while training: told by an input since opset 12, before 7 by an attribute.
Kernel make_dropout(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const Stream stream(op);
  const double stated = float_attribute(op, "ratio", 0.5);
  const bool is_old = op.version < 7;
  const bool old_trains = is_old && int_attribute(op, "is_test", 0) == 0;
  const bool numeric_mask = op.version < 10;  // before, the mask has the type of the data
  return widened([=](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const double ratio = has(in, 1) ? tensor_at(in, 1).item().toDouble() : stated;
    const bool trains = has(in, 2) ? tensor_at(in, 2).item().toBool() : old_trains;
    const at::ScalarType mask_type = numeric_mask ? x.scalar_type() : at::kBool;
    if (!trains || ratio == 0) {
      out[0].tensor = x;
      if (out.size() > 1) out[1].tensor = at::ones({}, x.options().dtype(mask_type)).expand_as(x);
      return;
    }
    const Tensor kept =
        at::ge(at::rand(x.sizes(), stream.generator(context)), ratio).to(context.device);
    out[0].tensor = at::mul(at::mul(x, kept), 1 / (1 - ratio)).to(x.scalar_type());
    if (out.size() > 1) out[1].tensor = kept.to(mask_type);
  });
}

constexpr KernelRow kRows[] = {
    {"Bernoulli", make_bernoulli},
    {"Dropout", make_dropout},
    {"Multinomial", make_multinomial},
    {"RandomNormal", make_random<true>},
    {"RandomNormalLike", make_random_like<true>},
    {"RandomUniform", make_random<false>},
    {"RandomUniformLike", make_random_like<false>},
};

}  // namespace

std::span<const KernelRow> random_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
