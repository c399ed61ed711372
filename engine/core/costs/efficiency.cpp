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
#include <string_view>
#include <unordered_map>

#include "berth/machines.h"

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

namespace {

// Shares by maker, where that is known. PyTorch's f32 and f16 products are those of the table in GitHub's
// zzc0721/torch-performance-test-data (numbers are issues there), in shares of the peaks of machines in words.
//  NVIDIA   0.80 as DeepBench has it: f16 on A100 0.79 (108), H100 0.66 (79), A40 0.79 (185), V100 0.79. In f32
//           without TF32 where half of its units are shared with integers: 4090 0.65 (78), RTX 3060 0.65, A40
//           0.63. In TF32 as other types: A40 0.80, H100 0.81, A100 0.69.
//  AMD      f16 on 7900 XTX, 7900 XT and 7700 XT 0.79 to 0.80.
//  Intel    f16 on Arc A770 0.43 (ollama issue 2458).
// llama.cpp's products of 8-bit integers, with scales of blocks of 32 in f32 between them, are settled on its
// prompts with 4 bits on RTX 3080 and 7900 XTX (results of the costs, which have what they are judged by).
constexpr ProductShares kHostShares = {1, 1, 1, 0};  // the table of classes alone
constexpr ProductShares kOtherShares = {0.80, 0.80, 0.80, 0};
constexpr ProductShares kNvidia = {0.80, 0.80, 0.80, 0.30};
constexpr ProductShares kNvidiaDouble = {0.62, 0.80, 0.80, 0.30};
constexpr ProductShares kRadeon = {0.80, 0.80, 0.80, 0.45};
constexpr ProductShares kIntel = {0.80, 0.43, 0.43, 0};

/// Whether half of the f32 units share their ports with integers (GA10x, AD10x, GB20x): tensor cores are
/// few there beside those units, and many on data centres' cards.
bool has_double_f32(const Device& device) noexcept {
  constexpr double kFew = 3;
  return device.flops_tf32 > 0 && device.flops_tf32 < kFew * device.flops;
}

std::unordered_map<std::string_view, const ProductShares*> shares_by_word() {
  std::unordered_map<std::string_view, const ProductShares*> shares;
  for (const KnownDevice& known : known_devices()) {
    const bool radeon =
        known.maker == "AMD" && !known.device.kind.starts_with("mi");  // no Instinct
    shares[known.device.kind] = known.maker == "NVIDIA"  ? &kNvidia
                                : known.maker == "Intel" ? &kIntel
                                : radeon                 ? &kRadeon
                                                         : &kOtherShares;
  }
  return shares;
}

}  // namespace

const ProductShares& product_shares(const Device& device) noexcept {
  if (device.host) return kHostShares;
  static const auto by_word = shares_by_word();
  const auto known = by_word.find(device.kind);
  const ProductShares* const shares = known == by_word.end() ? nullptr : known->second;
  const bool nvidia = shares == nullptr ? device.flops_tf32 > 0 : shares == &kNvidia;
  if (nvidia) return has_double_f32(device) ? kNvidiaDouble : kNvidia;
  return shares == nullptr ? kOtherShares : *shares;
}

double share_of(const ProductShares& shares, DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return shares.f32;
    case DType::f16:
    case DType::bf16:
      return shares.f16;
    default:
      return shares.others;
  }
}

const Efficiency& efficiency(OpClass op_class, bool host) noexcept {
  return (host ? kHost : kAccelerator)[static_cast<std::size_t>(op_class)];
}

}  // namespace berth::costs
