// The efficiency table and where it comes from. Absolute times are estimates; what the table has to
// get right is the proportion between op classes and between CPU and accelerator.
//
// Accelerators.
//  convolution    0.50. TensorFlow's published benchmarks (2017, batch 64, training, per GPU):
//                 Inception-V3 30 images/s on K80 and 142 on P100, ResNet-50 52 and 219. At three
//                 times the forward 11.4 and 8.2 GFLOP that is 1.03, 4.9, 1.3 and 5.4 TFLOP/s: 0.37
//                 to 0.51 of the presets' peaks over whole steps, which hold bandwidth-bound ops
//                 too, so the convolutions alone lie at or above the upper end.
//  matmul         0.70, an estimate: large products come near the peak in vendor libraries;
//                 transformer shapes lose to tile and wave quantisation.
//  attention      0.40. Fused kernels reach 0.25 to 0.40 of an A100's peak (FlashAttention) and
//                 0.50 to 0.73 (FlashAttention-2), both by Dao, arXiv 2307.08691.
//  recurrent      0.30: thin products, one time step after the other. An estimate.
//  vector classes 0.25 to 0.50 of the f32 vector peak; they are bandwidth-bound almost always.
//  bandwidth      0.75 streaming; 0.60 where a kernel passes over its data twice (normalisation,
//                 softmax) or strides (data movement, pooling windows); 0.50 with no rule.
//                 Estimates.
// CPU.
//  The same ops reach less: the clock under wide vectors is below nominal, an op is split over all
//  cores with a barrier at its end, and memory is far for half of them on two sockets. The share
//  is set by the step times in the tables of three papers. Inception-V3 takes 5.7 times as long on
//  the CPU as on one GPU in Mirhoseini et al., ICML 2017 (table 2), 8.0 times in Addanki et al.,
//  NeurIPS 2019 (table 1), and 4.1 times in Mirhoseini et al., ICLR 2018 (table 1). With 0.25 for
//  convolutions and 0.50 of the bandwidth, the k80x4 preset gives 4.8 for convolutions and 4.7 for
//  streaming ops. Comparisons of a CPU with a GPU against those tables are therefore no test of
//  this model.
#include "costs/efficiency.h"

#include <array>
#include <cstddef>

namespace berth::costs {
namespace {

using Table = std::array<Efficiency, kOpClassCount>;

constexpr Table kAccelerator = {{
    {1.00, 1.00, false},  // none: no work
    {0.50, 0.75, true},   // convolution
    {0.70, 0.75, true},   // matmul
    {0.40, 0.60, true},   // attention
    {0.30, 0.60, true},   // recurrent
    {0.25, 0.60, false},  // normalization
    {0.25, 0.60, false},  // pooling
    {0.25, 0.60, false},  // reduction
    {0.50, 0.75, false},  // elementwise
    {0.25, 0.60, false},  // data_movement
    {0.25, 0.50, false},  // other
}};

constexpr Table kHost = {{
    {1.00, 1.00, false},  // none: no work
    {0.25, 0.50, true},   // convolution
    {0.40, 0.50, true},   // matmul
    {0.25, 0.40, true},   // attention
    {0.20, 0.40, true},   // recurrent
    {0.10, 0.40, false},  // normalization
    {0.10, 0.40, false},  // pooling
    {0.10, 0.40, false},  // reduction
    {0.20, 0.50, false},  // elementwise
    {0.10, 0.40, false},  // data_movement
    {0.10, 0.40, false},  // other
}};

static_assert(static_cast<int>(OpClass::other) == kOpClassCount - 1,
              "the tables above follow the order of OpClass");

}  // namespace

const Efficiency& efficiency(OpClass op_class, bool host) noexcept {
  return (host ? kHost : kAccelerator)[static_cast<std::size_t>(op_class)];
}

}  // namespace berth::costs
