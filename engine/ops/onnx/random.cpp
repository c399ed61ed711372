// Random numbers and dropout by bits.
#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

void bitmask_dropout(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const x = op.shape(0);
  const std::int64_t count = x != nullptr ? product(*x, 0, x->size()) : kUnknownDim;
  op.set(1, kUint32, {count == kUnknownDim ? count : count / 32 + (count % 32 != 0)});
}

/// A counter-based generator spends about two transcendental functions a number.
constexpr double kNumber = 2 * kTranscendentalFlops;
constexpr WorkRule kRandom = generates(kNumber);
constexpr WorkRule kWindow = generates(kTranscendentalFlops);

constexpr Row kOps[] = {
    {"Bernoulli", nullptr, elementwise(kNumber)},
    {"BlackmanWindow", nullptr, kWindow},
    {"HammingWindow", nullptr, kWindow},
    {"HannWindow", nullptr, kWindow},
    {"MelWeightMatrix", nullptr, kWindow},
    {"Multinomial", nullptr, draws(kNumber)},
    {"RandomNormal", nullptr, kRandom},
    {"RandomNormalLike", nullptr, kRandom},
    {"RandomUniform", nullptr, kRandom},
    {"RandomUniformLike", nullptr, kRandom},
    {"com.microsoft.BitmaskBiasDropout", bitmask_dropout, elementwise(2)},
    {"com.microsoft.BitmaskDropout", bitmask_dropout, elementwise(2)},
    {"com.microsoft.BitmaskDropoutGrad", rule::like_first, elementwise(2)},
};

}  // namespace

std::span<const Row> random_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
