// Devices that people have, with the figures that the roofline model needs.
//
// What the figures are:
//  * flops     peak of the vector units in f32.
//  * flops_16, flops_8, flops_64
//              peak of the fastest unit that computes in that type, dense, with f32 (or i32)
//              accumulation: tensor cores if there are any. GeForce cards accumulate in f32 at half
//              the rate of f16. 0 = no faster than in f32. The roofline model (costs.h) uses them for matrix
//              products only.
//  * flops_tf32
//              half of flops_16, from compute capability 8.0 on, as in NVIDIA's white papers of GA100, GA102,
//              AD102, GH100 and GB202.
//  * memory    the total that the driver reports, where it is known here, else the marketed size; less
//              512 MiB, an estimate of what a context with its libraries holds.
//  * multiprocessors
//              of the product, not of the whole chip. AMD: compute units; Intel: Xe cores; Apple: cores.
//  * capability
//              compute capability, ten times: 86 for 8.6 (NVIDIA's CUDA GPUs page). 0 = not NVIDIA's.
//  * overhead  pause of the compute stream between two kernels. For k80 it is the constant of the
//              simulator released with Placeto (Addanki et al., NeurIPS 2019), 5.7 us. For the others
//              it is an estimate below that, since hosts and drivers became faster.
//  * bridge    data-sheet rate of one direction times 0.9 (Dell measured 0.91 on P100 and 0.96 on V100
//              with p2pBandwidthLatencyTest, "Ready Solutions for AI, Deep Learning with NVIDIA",
//              table 3). It joins as many of them as lanes reach, all to all.
// scripts/experiments/devices.py compares them with a published database (results/devices.md).
#include <algorithm>
#include <string>
#include <vector>

#include "berth/machines.h"
#include "berth/support/text.h"
#include "cluster/card_rows.h"
#include "cluster/estimates.h"

namespace berth {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMiB = 0x1p20;

/// A neural processor. It reads and writes the memory of its chip.
struct NpuRow {
  double flops_16, flops_8;  // in TFLOP/s
  const char* types;         // that its runtime compiles for it, as ONNX has them
  std::vector<DType> (*dtypes)();
};

/// Chips whose processor cores and GPU have one memory.
struct ChipRow {
  const char* word;
  const char* description;
  const char* source;
  double gib;                       // 0 = it is sold with several sizes, and the words say which
  double flops, flops_16, flops_8;  // of the GPU, in TFLOP/s
  double bandwidth;                 // in GB/s
  double multiprocessors;
  double overhead_us;
  double cores, hertz, flops_per_cycle;
  const NpuRow* npu = nullptr;
  int capability = 0;  // as in Row
};

constexpr const char* kApple =
    "Apple's announcement (GPU, memory bandwidth); cores by clock: estimated";
constexpr const char* kAppleCores =
    "Apple's announcement (memory bandwidth); 256 operations per GPU core and cycle, clocks "
    "estimated";
constexpr const char* kAppleNeural =
    "Apple's announcement (memory bandwidth; matrix products at four times the M4's rate; the "
    "fastest "
    "sort of processor cores); 256 operations per GPU core and cycle, clocks estimated";
constexpr const char* kJetson = "NVIDIA Jetson Orin module data sheets, dense; without the DLAs";
/// Two 512-bit fused multiply-add units.
constexpr double kZen5 = 64;
/// Four of 128 bits; two; one core of the first sort and five of the second.
constexpr double kFourNeon = 32, kTwoNeon = 16, kOneOfSix = (kFourNeon + 5 * kTwoNeon) / 6;

// Op types that ONNX Runtime's providers of the two compile: coreml_supported_mlprogram_ops.md, the list of
// builders in qnn/builder/op_builder_factory.cc. Both compute f32 in 16 bits, which is what they do by
// default, and keep integers of 64 bits in 32. A quantised model's ops between QuantizeLinear and
// DequantizeLinear are f32 in its file.
constexpr const char* kCoreMlTypes =
    "Add ArgMax AveragePool Cast Ceil Clip Concat Conv ConvTranspose Cos DepthToSpace Div Elu Erf "
    "Exp "
    "GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool GridSample GroupNormalization HardSigmoid "
    "Identity InstanceNormalization LayerNormalization LeakyRelu MatMul Max MaxPool Mul PRelu Pow "
    "Range "
    "Reciprocal ReduceMax ReduceMean ReduceSum Relu Reshape Resize Round Shape Sigmoid Sin Slice "
    "Softmax "
    "Softplus Split Sqrt Squeeze Sub Tanh Tile Transpose Unsqueeze com.microsoft.FusedConv "
    "com.microsoft.QuickGelu";
constexpr const char* kQnnTypes =
    "Abs Add And ArgMax ArgMin Asin Atan AveragePool BatchNormalization Cast Ceil Clip Concat Conv "
    "ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div Einsum Elu Equal Exp Expand "
    "Flatten Floor "
    "Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater "
    "GreaterOrEqual "
    "GridSample HardSigmoid HardSwish InstanceNormalization LRN LSTM LayerNormalization LeakyRelu "
    "Less "
    "LessOrEqual Log LogSoftmax LpNormalization MatMul Max MaxPool Mean Min Mod Mul Neg Not Or "
    "PRelu Pad "
    "Pow QuantizeLinear RMSNormalization RandomUniformLike Reciprocal ReduceL2 ReduceMax "
    "ReduceMean "
    "ReduceMin ReduceProd ReduceSum Relu Reshape Resize Round STFT ScatterElements ScatterND "
    "Sigmoid Sign "
    "Sin Slice Softmax SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh ThresholdedRelu Tile TopK "
    "Transpose "
    "Unsqueeze Upsample Where com.microsoft.DequantizeLinear com.microsoft.FusedMatMul "
    "com.microsoft.Gelu com.microsoft.Inverse com.microsoft.QuantizeLinear";

std::vector<DType> core_ml_dtypes() {
  return {DType::f16, DType::f32, DType::i32, DType::i64, DType::boolean};
}
std::vector<DType> qnn_dtypes() {
  return {DType::f16, DType::f32, DType::i8,  DType::u8,  DType::i16,    DType::u16,
          DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean};
}

constexpr NpuRow kNeuralEngine = {17.5, 35, kCoreMlTypes, &core_ml_dtypes};
constexpr NpuRow kHexagon = {12, 45, kQnnTypes, &qnn_dtypes};

constexpr ChipRow kChips[] = {
    {"m1", "Apple M1, 8 GPU cores", kApple, 0, 2.6, 2.6, 0, 68.25, 8, 10, 4, 3.2e9, kFourNeon},
    {"m1pro", "Apple M1 Pro, 16 GPU cores", kApple, 0, 5.2, 5.2, 0, 200, 16, 10, 8, 3.2e9,
     kFourNeon},
    {"m1max", "Apple M1 Max, 32 GPU cores", kApple, 0, 10.4, 10.4, 0, 400, 32, 10, 8, 3.2e9,
     kFourNeon},
    {"m1ultra", "Apple M1 Ultra, 64 GPU cores", kApple, 0, 20.8, 20.8, 0, 800, 64, 10, 16, 3.2e9,
     kFourNeon},
    {"m2", "Apple M2, 10 GPU cores", kApple, 0, 3.6, 3.6, 0, 100, 10, 10, 4, 3.5e9, kFourNeon},
    {"m2pro", "Apple M2 Pro, 19 GPU cores", kApple, 0, 6.8, 6.8, 0, 200, 19, 10, 8, 3.5e9,
     kFourNeon},
    {"m2max", "Apple M2 Max, 38 GPU cores", kApple, 0, 13.6, 13.6, 0, 400, 38, 10, 8, 3.5e9,
     kFourNeon},
    {"m2ultra", "Apple M2 Ultra, 76 GPU cores", kApple, 0, 27.2, 27.2, 0, 800, 76, 10, 16, 3.5e9,
     kFourNeon},
    {"m3", "Apple M3, 10 GPU cores", kAppleCores, 0, 3.6, 3.6, 0, 100, 10, 10, 4, 4.05e9,
     kFourNeon},
    {"m3pro", "Apple M3 Pro, 18 GPU cores", kAppleCores, 0, 6.5, 6.5, 0, 150, 18, 10, 6, 4.05e9,
     kFourNeon},
    {"m3max", "Apple M3 Max, 40 GPU cores", kAppleCores, 0, 14.3, 14.3, 0, 400, 40, 10, 12, 4.05e9,
     kFourNeon},
    {"m3max-30", "Apple M3 Max, 30 GPU cores", kAppleCores, 0, 10.7, 10.7, 0, 300, 30, 10, 10,
     4.05e9, kFourNeon},
    {"m3ultra", "Apple M3 Ultra, 80 GPU cores", kAppleCores, 0, 28.7, 28.7, 0, 819, 80, 10, 24,
     4.05e9, kFourNeon},
    {"m4", "Apple M4, 10 GPU cores", kAppleCores, 0, 4, 4, 0, 120, 10, 10, 4, 4.4e9, kFourNeon},
    {"m4pro", "Apple M4 Pro, 20 GPU cores", kAppleCores, 0, 8.1, 8.1, 0, 273, 20, 10, 10, 4.5e9,
     kFourNeon},
    {"m4max", "Apple M4 Max, 40 GPU cores", kAppleCores, 0, 16.2, 16.2, 0, 546, 40, 10, 12, 4.5e9,
     kFourNeon},
    {"m4max-32", "Apple M4 Max, 32 GPU cores", kAppleCores, 0, 13, 13, 0, 410, 32, 10, 10, 4.5e9,
     kFourNeon},
    {"m5", "Apple M5, 10 GPU cores", kAppleNeural, 0, 4.1, 16, 0, 153, 10, 10, 4, 4.6e9, kFourNeon},
    {"m5pro", "Apple M5 Pro, 20 GPU cores", kAppleNeural, 0, 8.2, 32.4, 0, 307, 20, 10, 6, 4.6e9,
     kFourNeon},
    {"m5max", "Apple M5 Max, 40 GPU cores", kAppleNeural, 0, 16.4, 64.8, 0, 614, 40, 10, 6, 4.6e9,
     kFourNeon},
    {"a17pro", "Apple A17 Pro, 6 GPU cores, 16-core Neural Engine: iPhone 15 Pro",
     "Apple's announcement (35 trillion operations of the Neural Engine, taken as 8 bits, half of "
     "it in 16); 256 operations per GPU core and cycle, LPDDR5-6400, clocks estimated; what the "
     "NPU runs: ONNX Runtime's Core ML provider, ML programs",
     8, 2.15, 4.3, 0, 51.2, 6, 10, 2, 3.78e9, kFourNeon, &kNeuralEngine},
    {"sd8gen3",
     "Qualcomm Snapdragon 8 Gen 3 (SM8650), Adreno 750, Hexagon NPU: Galaxy S24 Ultra, OnePlus 12, "
     "Xiaomi 14",
     "Qualcomm's product brief (cores, clocks, LPDDR5X at 4800 MHz); it states no rates: those of "
     "GPU and NPU are others' figures and estimates; what the NPU runs: ONNX Runtime's QNN "
     "provider",
     0, 2.77, 5.5, 0, 76.8, 6, 10, 6, 3.15e9, kOneOfSix, &kHexagon},
    {"strixhalo", "AMD Ryzen AI Max+ 395, Radeon 8060S with 40 compute units",
     "AMD's product page (40 compute units at 2.9 GHz, 256 bits of LPDDR5X-8000, 16 cores at a "
     "base clock of 3 GHz); rates as of RX 7900 XTX, one operation issued at a time",
     0, 14.9, 59.4, 59.4, 256, 40, 8, 16, 3e9, kZen5},
    {"gb10", "NVIDIA GB10: DGX Spark",
     "NVIDIA at Hot Chips 2025 (31 TFLOP/s in f32, 1 PFLOP/s in sparse FP4 as RTX 5070, whose "
     "other rates these are) and its DGX Spark page (128 GB of LPDDR5X at 273 GB/s, 20 cores); "
     "clocks of the cores estimated",
     128, 31, 61.7, 246.9, 273, 48, 8, 20, 3e9, kTwoNeon, nullptr, 121},
    {"orin", "NVIDIA Jetson AGX Orin 64 GB", kJetson, 64, 5.3, 42.5, 85, 204.8, 16, 8, 12, 2.2e9,
     kTwoNeon, nullptr, 87},
    {"orinnx", "NVIDIA Jetson Orin NX 16 GB", kJetson, 16, 1.88, 15, 30, 102.4, 8, 8, 8, 2.0e9,
     kTwoNeon, nullptr, 87},
    {"orinnano", "NVIDIA Jetson Orin Nano 8 GB", kJetson, 8, 1.28, 10, 20, 68, 8, 8, 6, 1.5e9,
     kTwoNeon, nullptr, 87},
};

struct HostRow {
  const char* word;
  const char* description;
  const char* source;
  double gib;
  double cores, hertz, flops_per_cycle;
  double bandwidth;  // in GB/s
  int card_lanes;    // as in KnownDevice
};

/// Two 256-bit fused multiply-add units; two of 512 bits.
constexpr double kAvx2 = 32, kAvx512 = 64;

constexpr HostRow kHosts[] = {
    {"host", "a desktop's processor: 8 cores at 3.8 GHz, two channels of DDR4-3200",
     "two 256-bit multiply-add units per core; the channels' peak; 16 lanes for cards", 32, 8,
     3.8e9, kAvx2, 51.2, 16},
    {"host5", "the same with two channels of DDR5-5600",
     "two 256-bit multiply-add units per core; the channels' peak; 16 lanes for cards", 64, 8,
     4.5e9, kAvx2, 89.6, 16},
    {"server", "a server's processor: AMD EPYC 9354, 32 cores, twelve channels of DDR5-4800",
     "AMD EPYC 9354 product page", 384, 32, 3.25e9, kAvx512 / 2, 460.8, 0},
    {"grace", "NVIDIA Grace, the host of GB200: 72 Arm Neoverse V2 cores, LPDDR5X",
     "NVIDIA Grace CPU and GB200 data sheets; the clock of all cores with vectors", 480, 72, 3.0e9,
     kFourNeon, 512, 0},
};
// clang-format on

/// From op to op within what was compiled: an estimate. Entering it is in the links (words.cpp).
constexpr double kNpuOverheadUs = 1;
/// The share of a chip's memory bandwidth that its cores can take: 243 of 400 GB/s on M1 Max (AnandTech, "Apple's M1
/// Pro, M1 Max SoCs Investigated").
constexpr double kCoresReach = 0.6;

std::string maker_of(const std::string& description) {
  for (const char* const maker : {"NVIDIA", "AMD", "Intel", "Apple", "Qualcomm"}) {
    if (description.find(maker) != std::string::npos) return maker;
  }
  return {};
}

/// `capability` is NVIDIA's compute capability, ten times.
double tf32_of(int capability, double flops_16) {
  constexpr int kFirst = 80;
  return capability >= kFirst ? flops_16 / 2 : 0;
}

/// A card's description without its size, where no other name is known. Modules of one memory share names.
std::vector<std::string> driver_names_of(const KnownDevice& known) {
  std::vector<std::string> names;
  if (known.maker != "NVIDIA") return names;
  for (const DriverName& name : driver_names()) {
    if (known.device.name == name.word) names.emplace_back(name.name);
  }
  const std::string& full = known.description;
  const bool own = known.slot.starts_with("pcie") && full.starts_with("NVIDIA ");
  if (!names.empty() || !own) return names;
  const bool sized = full.ends_with(" GB");
  names.push_back(full.substr(0, sized ? full.rfind(' ', full.size() - 4) : full.size()));
  return names;
}

KnownDevice of_row(const CardRow& row) {
  KnownDevice known;
  Device& device = known.device;
  device.name = device.kind = row.word;
  device.memory_bytes = static_cast<std::int64_t>(row.mib * kMiB) - kContextBytes;
  device.flops = row.flops * kTera;
  device.flops_16 = row.flops_16 * kTera;
  device.flops_8 = row.flops_8 * kTera;
  device.flops_tf32 = tf32_of(row.capability, device.flops_16);
  device.flops_64 = row.flops_64 * kTera;
  device.memory_bandwidth = row.bandwidth * kGiga;
  device.op_overhead_us = row.overhead_us;
  device.multiprocessors = row.multiprocessors;
  known.description = row.description;
  known.source = row.source;
  known.slot = row.slot;
  known.bridge_bytes_per_s = kNvlinkReached * row.bridge * kGiga;
  known.bridged = row.peers == Peers::linked;
  known.linked_in = known.bridged ? row.linked_in : 2;
  known.beyond_bytes_per_s = kNvlinkReached * row.beyond * kGiga;
  known.maker = maker_of(known.description);
  known.capability = row.capability;
  known.driver_names = driver_names_of(known);
  known.peer_to_peer = row.peers != Peers::host && row.peers != Peers::bridge;
  return known;
}

Device cores_of(const char* kind, double cores, double hertz, double per_cycle, double bandwidth) {
  Device host;
  host.name = host.kind = kind;
  host.flops = cores * hertz * per_cycle;
  host.memory_bandwidth = bandwidth * kGiga;
  host.op_overhead_us = kHostOverheadUs;
  host.host = true;
  return host;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Device npu_of(const ChipRow& row) {
  Device npu;
  npu.name = npu.kind = cat(row.word, "-npu");
  npu.flops = npu.flops_16 = row.npu->flops_16 * kTera;
  npu.flops_8 = row.npu->flops_8 * kTera;
  npu.memory_bandwidth = row.bandwidth * kGiga;
  npu.op_overhead_us = kNpuOverheadUs;
  npu.runs = {words_of(row.npu->types), row.npu->dtypes()};
  return npu;
}

KnownDevice of_row(const ChipRow& row) {
  KnownDevice known;
  Device& device = known.device;
  device.name = device.kind = row.word;
  device.memory_bytes = static_cast<std::int64_t>(row.gib * 0x1p30);
  device.flops = row.flops * kTera;
  device.flops_16 = row.flops_16 * kTera;
  device.flops_8 = row.flops_8 * kTera;
  device.flops_tf32 = tf32_of(row.capability, device.flops_16);
  device.memory_bandwidth = row.bandwidth * kGiga;
  device.op_overhead_us = row.overhead_us;
  device.multiprocessors = row.multiprocessors;
  known.description = row.description;
  known.source = row.source;
  known.slot = "one memory";
  known.maker = maker_of(known.description);
  if (known.maker == "Apple" && row.npu == nullptr) {
    known.source +=
        "; macOS gives the GPU 74 % of 16 GiB, 78 % of 32, 81 % of 64 and 84 % of 128 "
        "(iogpu.wired_limit_mb raises that)";
  }
  known.capability = row.capability;
  known.driver_names = driver_names_of(known);
  known.cores =
      cores_of("cpu", row.cores, row.hertz, row.flops_per_cycle, kCoresReach * row.bandwidth);
  if (row.npu != nullptr) known.npu = npu_of(row);
  return known;
}

KnownDevice of_row(const HostRow& row) {
  KnownDevice known;
  known.device = cores_of("cpu", row.cores, row.hertz, row.flops_per_cycle, row.bandwidth);
  known.device.name = row.word;
  known.device.memory_bytes = static_cast<std::int64_t>(row.gib * 0x1p30);
  known.description = row.description;
  known.source = row.source;
  known.card_lanes = row.card_lanes;
  return known;
}

/// Small letters and digits alone, without makers and series: people write "RTX 4090" and "rtx3060-8GB", drivers
/// "NVIDIA GeForce RTX 4090" and "NVIDIA GeForce RTX 4090 Laptop GPU".
std::string folded(std::string_view name) {
  std::string small;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const std::string_view before :
       {"nvidia", "amd", "intel", "apple", "geforce", "tesla", "quadro", "radeon", "instinct"}) {
    if (small.starts_with(before) && small.size() > before.size()) small.erase(0, before.size());
  }
  for (const std::string_view behind : {"generation", "gpu"}) {
    if (small.ends_with(behind)) small.erase(small.size() - behind.size());
  }
  return small;
}

bool is_named(const KnownDevice& known, const std::string& small) {
  if (folded(known.device.name) == small) return true;
  return std::any_of(known.driver_names.begin(), known.driver_names.end(),
                     [&](const std::string& name) { return folded(name) == small; });
}

}  // namespace

std::span<const KnownDevice> known_devices() {
  static const std::vector<KnownDevice> all = [] {
    std::vector<KnownDevice> devices;
    for (const CardRow& row : card_rows()) devices.push_back(of_row(row));
    for (const ChipRow& row : kChips) devices.push_back(of_row(row));
    for (const HostRow& row : kHosts) devices.push_back(of_row(row));
    return devices;
  }();
  return all;
}

const KnownDevice* find_known_device(std::string_view word) {
  const auto all = known_devices();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const KnownDevice& known) { return known.device.name == word; });
  return found == all.end() ? nullptr : &*found;
}

const KnownDevice* find_named_device(std::string_view name) {
  const std::string small = folded(name);
  for (const std::string_view before : {"", "rtx", "gtx", "rx"}) {
    const std::string full = cat(before, small);
    for (const KnownDevice& known : known_devices()) {
      if (is_named(known, full)) return &known;
    }
    if (small.empty() || small.front() < '0' || small.front() > '9') break;
  }
  return nullptr;
}

}  // namespace berth
