// The efficiency table and where it comes from. Absolute times are estimates; what the table has to
// get right is the proportion between op classes and between CPU and accelerator.
//
// Accelerators. "DeepBench" is Baidu's, results/train, f32, on M40, Titan X, Titan X Pascal, 1080
// Ti, Titan Xp and P100; what the table is judged by is elsewhere (results of the costs).
//  convolution    0.60, settled on DeepBench with the model of thread_blocks.cpp: 0.55 to 0.65 do
//                 equally well. A pointwise or grouped one is a product like others; its size
//                 decides.
//  depthwise      0.025 of the peak. Its kernels have no tiles: a thread computes an element, with
//                 index arithmetic for every product. TensorFlow issue 12132 (1080 Ti, window of
//                 15 x 15) and PyTorch issue 18631 (Titan Xp, 3 x 3) measured 0.02 and 0.025.
//  matmul         0.80 of the peak: large products of DeepBench reach 0.67 (M40) to 0.95 (1080
//                 Ti). 0.60 of the bandwidth: its thin ones reach 0.3 (Maxwell) to 0.6 (V100). Of few
//                 rows they have a kernel of their own (thread_blocks.cpp).
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
//  convolutions and 0.50 of the bandwidth, the k80x4 preset gives 5.7 for convolutions that fill
//  the GPU and 4.7 for
//  streaming ops. Comparisons of a CPU with a GPU against those tables are therefore no test of
//  this model; nothing else here is fitted to them.
#include "costs/efficiency.h"

#include <array>
#include <cstddef>

namespace berth::costs {
namespace {

using Table = std::array<Efficiency, kOpClassCount>;

constexpr Table kAccelerator = {{
    {1.00, 1.00, false},   // none: no work
    {0.60, 0.75, true},    // convolution
    {0.60, 0.75, true},    // pointwise_convolution
    {0.60, 0.75, true},    // grouped_convolution
    {0.025, 0.75, false},  // depthwise_convolution
    {0.80, 0.60, true},    // matmul
    {0.40, 0.60, true},    // attention
    {0.30, 0.60, true},    // recurrent
    {0.25, 0.60, false},   // normalization
    {0.25, 0.60, false},   // pooling
    {0.25, 0.60, false},   // reduction
    {0.50, 0.75, false},   // elementwise
    {0.25, 0.60, false},   // data_movement
    {0.25, 0.50, false},   // other
}};

constexpr Table kHost = {{
    {1.00, 1.00, false},  // none: no work
    {0.25, 0.50, true},   // convolution
    {0.25, 0.50, true},   // pointwise_convolution
    {0.25, 0.50, true},   // grouped_convolution
    {0.05, 0.50, false},  // depthwise_convolution: estimate, a product for two loads
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
