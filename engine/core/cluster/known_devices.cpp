// Devices that people have, with the figures that the roofline model needs.
//
// What the figures are:
//  * flops     peak of the vector units in f32.
//  * flops_16, flops_8, flops_64
//              peak of the fastest unit that computes in that type, dense, with f32 (or i32)
//              accumulation: tensor cores if there are any. GeForce cards accumulate in f32 at half
//              the rate of f16. The roofline model (costs.h) uses them for matrix products only.
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

namespace berth {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMiB = 0x1p20;
constexpr double kContextMiB = 512;
constexpr double kBridgeReached = 0.9;

/// Whether copies between two devices go directly, and over what.
enum class Peers {
  host,    ///< through the host's memory: the driver of consumer cards allows nothing else
  bridge,  ///< the same, but a bridge can be bought
  pcie,    ///< directly, over PCIe
  pcie_or_bridge,
  linked,  ///< over links that are always there
};

struct Row {
  const char* word;
  const char* description;
  const char* source;
  int capability;
  double mib;
  double flops, flops_16, flops_8, flops_64;  // in TFLOP/s
  double bandwidth;                           // in GB/s
  double multiprocessors;
  double overhead_us;
  const char* slot;
  Peers peers;
  double bridge = 0;  // in GB/s, one direction, of the data sheet
  int linked_in = 0;  // as in KnownDevice; 2 for what is no `linked`
  double beyond = 0;  // as bridge
};

constexpr const char* kAmpere = "NVIDIA Ampere GA102 white paper";
constexpr const char* kAmpereSmall =
    "NVIDIA GeForce product pages; rates by cores and boost clock as in the GA102 white paper";
constexpr const char* kAda = "NVIDIA Ada GPU architecture white paper";
constexpr const char* kAdaSmall =
    "NVIDIA GeForce product pages; rates by cores and boost clock as in the Ada white paper";
constexpr const char* kBlackwell = "NVIDIA RTX Blackwell GPU architecture white paper";
constexpr const char* kBlackwellSmall =
    "NVIDIA GeForce product pages; rates by cores and boost clock as in the RTX Blackwell white "
    "paper";

constexpr const char* kTuringSmall =
    "TechPowerUp's database (cores, reference boost clock, memory); rates as in the Turing white "
    "paper";
constexpr const char* kTuring16 =
    "TechPowerUp's database (cores, boost clock, memory); no tensor cores: 16 bits at twice the "
    "f32 rate, "
    "four-way 8-bit dot product at that of f32";
// A laptop's maker chooses the power of its GPU, and with it the clock.
constexpr const char* kAmpereLaptop =
    "TechPowerUp's database (cores, boost clock at its usual power, memory); rates as in the GA102 "
    "white "
    "paper";
constexpr const char* kAdaLaptop =
    "NVIDIA's comparison of laptop GPUs (cores, upper boost clock, memory, bus); memory clock: "
    "TechPowerUp's database; rates as in the Ada white paper";
constexpr const char* kBlackwellLaptop =
    "TechPowerUp's database (cores, boost clock at its usual power, memory); rates as in the RTX "
    "Blackwell white paper";
constexpr const char* kAmperePro =
    "TechPowerUp's database (cores, boost clock, memory); rates by cores and clock as of RTX A6000";
constexpr const char* kRadeon =
    "TechPowerUp's database (f32 rate, memory); 16 bits at twice that rate, 8 bits as fast as 16";
constexpr const char* kCdna4 =
    "AMD at Hot Chips and ISSCC 2025 (256 compute units, clock, 8,192 operations in 8 bits per "
    "unit and "
    "cycle, memory); Infinity Fabric: 153.6 GB/s a link, both ways together";

// clang-format off
constexpr Row kRows[] = {
    {"gtx1080ti", "NVIDIA GeForce GTX 1080 Ti", "NVIDIA GeForce product page; four-way 8-bit dot product at the f32 rate", 61, 11264, 11.3, 0, 45.3, 0.35, 484, 28, 5, "pcie3x16", Peers::host},
    {"gtx1650", "NVIDIA GeForce GTX 1650", kTuring16, 75, 4096, 2.98, 6, 11.9, 0.09, 128, 14, 4.5, "pcie3x16", Peers::host},
    {"gtx1660", "NVIDIA GeForce GTX 1660", kTuring16, 75, 6144, 5.03, 10.1, 20.1, 0.16, 192, 22, 4.5, "pcie3x16", Peers::host},
    {"gtx1660super", "NVIDIA GeForce GTX 1660 Super", kTuring16, 75, 6144, 5.03, 10.1, 20.1, 0.16, 336, 22, 4.5, "pcie3x16", Peers::host},
    {"gtx1660ti", "NVIDIA GeForce GTX 1660 Ti", kTuring16, 75, 6144, 5.44, 10.9, 21.7, 0.17, 288, 24, 4.5, "pcie3x16", Peers::host},
    {"rtx2060", "NVIDIA GeForce RTX 2060 6 GB", kTuringSmall, 75, 6144, 6.45, 25.8, 103.2, 0.2, 336, 30, 4.5, "pcie3x16", Peers::host},
    {"rtx2060super", "NVIDIA GeForce RTX 2060 Super", kTuringSmall, 75, 8192, 7.18, 28.7, 114.9, 0.22, 448, 34, 4.5, "pcie3x16", Peers::host},
    {"rtx2070", "NVIDIA GeForce RTX 2070", kTuringSmall, 75, 8192, 7.46, 29.9, 119.4, 0.23, 448, 36, 4.5, "pcie3x16", Peers::host},
    {"rtx2070super", "NVIDIA GeForce RTX 2070 Super", kTuringSmall, 75, 8192, 9.06, 36.2, 145, 0.28, 448, 40, 4.5, "pcie3x16", Peers::bridge, 25},
    {"rtx2080", "NVIDIA GeForce RTX 2080", kTuringSmall, 75, 8192, 10.07, 40.3, 161.1, 0.31, 448, 46, 4.5, "pcie3x16", Peers::bridge, 25},
    {"rtx2080super", "NVIDIA GeForce RTX 2080 Super", kTuringSmall, 75, 8192, 11.15, 44.6, 178.4, 0.35, 496, 48, 4.5, "pcie3x16", Peers::bridge, 25},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA Turing white paper, at the reference clock", 75, 11264, 13.4, 53.8, 215.2, 0.42, 616, 68, 4.5, "pcie3x16", Peers::bridge, 50},
    {"rtx3050", "NVIDIA GeForce RTX 3050 8 GB", kAmpereSmall, 86, 8192, 9.1, 18.2, 72.8, 0.14, 224, 20, 4, "pcie4x8", Peers::host},
    {"rtx3060", "NVIDIA GeForce RTX 3060 12 GB", kAmpereSmall, 86, 12288, 12.7, 25.5, 102, 0.2, 360, 28, 4, "pcie4x16", Peers::host},
    {"rtx3060-8gb", "NVIDIA GeForce RTX 3060 8 GB", kAmpereSmall, 86, 8192, 12.7, 25.5, 102, 0.2, 240, 28, 4, "pcie4x16", Peers::host},
    {"rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", kAmpereSmall, 86, 8192, 16.2, 32.4, 129.6, 0.25, 448, 38, 4, "pcie4x16", Peers::host},
    {"rtx3070", "NVIDIA GeForce RTX 3070", kAmpere, 86, 8192, 20.3, 40.6, 162.6, 0.32, 448, 46, 4, "pcie4x16", Peers::host},
    {"rtx3070ti", "NVIDIA GeForce RTX 3070 Ti", kAmpereSmall, 86, 8192, 21.7, 43.5, 174, 0.34, 608, 48, 4, "pcie4x16", Peers::host},
    {"rtx3080", "NVIDIA GeForce RTX 3080 10 GB", kAmpere, 86, 10240, 29.8, 59.5, 238, 0.47, 760, 68, 4, "pcie4x16", Peers::host},
    {"rtx3080ti", "NVIDIA GeForce RTX 3080 Ti", kAmpereSmall, 86, 12288, 34.1, 68.2, 273, 0.53, 912, 80, 4, "pcie4x16", Peers::host},
    {"rtx3090", "NVIDIA GeForce RTX 3090", kAmpere, 86, 24576, 35.6, 71, 284, 0.56, 936, 82, 4, "pcie4x16", Peers::bridge, 56.25},
    {"rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", kAmpereSmall, 86, 24564, 40, 80, 320, 0.63, 1008, 84, 4, "pcie4x16", Peers::bridge, 56.25},
    {"rtx4060", "NVIDIA GeForce RTX 4060", kAdaSmall, 89, 8188, 15.1, 30.2, 121, 0.24, 272, 24, 3.5, "pcie4x8", Peers::host},
    {"rtx4060ti", "NVIDIA GeForce RTX 4060 Ti 8 GB", kAdaSmall, 89, 8188, 22.1, 44.1, 176.5, 0.34, 288, 34, 3.5, "pcie4x8", Peers::host},
    {"rtx4060ti-16gb", "NVIDIA GeForce RTX 4060 Ti 16 GB", kAdaSmall, 89, 16380, 22.1, 44.1, 176.5, 0.34, 288, 34, 3.5, "pcie4x8", Peers::host},
    {"rtx4070", "NVIDIA GeForce RTX 4070", kAdaSmall, 89, 12282, 29.1, 58.3, 233, 0.46, 504, 46, 3.5, "pcie4x16", Peers::host},
    {"rtx4070super", "NVIDIA GeForce RTX 4070 Super", kAdaSmall, 89, 12282, 35.5, 71, 284, 0.55, 504, 56, 3.5, "pcie4x16", Peers::host},
    {"rtx4070ti", "NVIDIA GeForce RTX 4070 Ti", kAdaSmall, 89, 12282, 40.1, 80.2, 320.7, 0.63, 504, 60, 3.5, "pcie4x16", Peers::host},
    {"rtx4070tisuper", "NVIDIA GeForce RTX 4070 Ti Super", kAdaSmall, 89, 16376, 44.1, 88.2, 353, 0.69, 672, 66, 3.5, "pcie4x16", Peers::host},
    {"rtx4080", "NVIDIA GeForce RTX 4080", kAda, 89, 16376, 48.7, 97.5, 389.9, 0.76, 716.8, 76, 3.5, "pcie4x16", Peers::host},
    {"rtx4080super", "NVIDIA GeForce RTX 4080 Super", kAdaSmall, 89, 16376, 52.2, 104.4, 418, 0.82, 736, 80, 3.5, "pcie4x16", Peers::host},
    {"rtx4090", "NVIDIA GeForce RTX 4090", kAda, 89, 24564, 82.6, 165.2, 660.6, 1.29, 1008, 128, 3.5, "pcie4x16", Peers::host},
    {"rtx5060", "NVIDIA GeForce RTX 5060", kBlackwellSmall, 120, 8151, 19.2, 38.4, 153.6, 0.3, 448, 30, 3.5, "pcie5x8", Peers::host},
    {"rtx5060ti", "NVIDIA GeForce RTX 5060 Ti 16 GB", kBlackwellSmall, 120, 16311, 23.7, 47.4, 189.6, 0.37, 448, 36, 3.5, "pcie5x8", Peers::host},
    {"rtx5070", "NVIDIA GeForce RTX 5070", kBlackwell, 120, 12227, 30.9, 61.7, 246.9, 0.48, 672, 48, 3.5, "pcie5x16", Peers::host},
    {"rtx5070ti", "NVIDIA GeForce RTX 5070 Ti", kBlackwell, 120, 16303, 43.9, 87.9, 351.5, 0.69, 896, 70, 3.5, "pcie5x16", Peers::host},
    {"rtx5080", "NVIDIA GeForce RTX 5080", kBlackwell, 120, 16303, 56.3, 112.6, 450.2, 0.88, 960, 84, 3.5, "pcie5x16", Peers::host},
    {"rtx5090", "NVIDIA GeForce RTX 5090", kBlackwell, 120, 32607, 104.8, 209.5, 838, 1.64, 1792, 170, 3.5, "pcie5x16", Peers::host},
    {"rtx3050laptop", "NVIDIA GeForce RTX 3050 Laptop GPU", kAmpereLaptop, 86, 4096, 5.5, 11, 44, 0.09, 192, 16, 4, "pcie4x8", Peers::host},
    {"rtx3050tilaptop", "NVIDIA GeForce RTX 3050 Ti Laptop GPU", kAmpereLaptop, 86, 4096, 5.3, 10.6, 42.4, 0.08, 192, 20, 4, "pcie4x8", Peers::host},
    {"rtx3060laptop", "NVIDIA GeForce RTX 3060 Laptop GPU", kAmpereLaptop, 86, 6144, 10.94, 21.9, 87.6, 0.17, 336, 30, 4, "pcie4x16", Peers::host},
    {"rtx3070laptop", "NVIDIA GeForce RTX 3070 Laptop GPU", kAmpereLaptop, 86, 8192, 15.97, 31.9, 127.8, 0.25, 448, 40, 4, "pcie4x16", Peers::host},
    {"rtx3070tilaptop", "NVIDIA GeForce RTX 3070 Ti Laptop GPU", kAmpereLaptop, 86, 8192, 16.6, 33.2, 132.8, 0.26, 448, 46, 4, "pcie4x16", Peers::host},
    {"rtx3080laptop", "NVIDIA GeForce RTX 3080 Laptop GPU", kAmpereLaptop, 86, 8192, 18.98, 38, 151.9, 0.3, 448, 48, 4, "pcie4x16", Peers::host},
    {"rtx3080tilaptop", "NVIDIA GeForce RTX 3080 Ti Laptop GPU", kAmpereLaptop, 86, 16384, 18.71, 37.4, 149.7, 0.29, 512, 58, 4, "pcie4x16", Peers::host},
    {"rtx4050laptop", "NVIDIA GeForce RTX 4050 Laptop GPU", kAdaLaptop, 89, 6144, 12.13, 24.3, 97.1, 0.19, 192, 20, 3.5, "pcie4x8", Peers::host},
    {"rtx4060laptop", "NVIDIA GeForce RTX 4060 Laptop GPU", kAdaLaptop, 89, 8192, 14.56, 29.1, 116.5, 0.23, 256, 24, 3.5, "pcie4x8", Peers::host},
    {"rtx4070laptop", "NVIDIA GeForce RTX 4070 Laptop GPU", kAdaLaptop, 89, 8192, 20.04, 40.1, 160.4, 0.31, 256, 36, 3.5, "pcie4x8", Peers::host},
    {"rtx4080laptop", "NVIDIA GeForce RTX 4080 Laptop GPU", kAdaLaptop, 89, 12288, 33.85, 67.7, 270.8, 0.53, 432, 58, 3.5, "pcie4x16", Peers::host},
    {"rtx4090laptop", "NVIDIA GeForce RTX 4090 Laptop GPU", kAdaLaptop, 89, 16384, 39.69, 79.4, 317.5, 0.62, 576, 76, 3.5, "pcie4x16", Peers::host},
    {"rtx5050laptop", "NVIDIA GeForce RTX 5050 Laptop GPU", kBlackwellLaptop, 120, 8192, 7.68, 15.4, 61.4, 0.12, 384, 20, 3.5, "pcie5x16", Peers::host},
    {"rtx5060laptop", "NVIDIA GeForce RTX 5060 Laptop GPU", kBlackwellLaptop, 120, 8192, 9.68, 19.4, 77.5, 0.15, 384, 26, 3.5, "pcie5x16", Peers::host},
    {"rtx5070laptop", "NVIDIA GeForce RTX 5070 Laptop GPU", kBlackwellLaptop, 120, 8192, 13.13, 26.3, 105.1, 0.21, 384, 36, 3.5, "pcie5x16", Peers::host},
    {"rtx5070tilaptop", "NVIDIA GeForce RTX 5070 Ti Laptop GPU", kBlackwellLaptop, 120, 12288, 17.04, 34.1, 136.3, 0.27, 672, 46, 3.5, "pcie5x16", Peers::host},
    {"rtx5080laptop", "NVIDIA GeForce RTX 5080 Laptop GPU", kBlackwellLaptop, 120, 16384, 23.04, 46.1, 184.3, 0.36, 896, 60, 3.5, "pcie5x16", Peers::host},
    {"rtx5090laptop", "NVIDIA GeForce RTX 5090 Laptop GPU", kBlackwellLaptop, 120, 24576, 31.8, 63.6, 254.4, 0.5, 896, 82, 3.5, "pcie5x16", Peers::host},
    {"a4000", "NVIDIA RTX A4000", kAmperePro, 86, 16384, 19.2, 76.7, 153.4, 0.3, 448, 48, 4, "pcie4x16", Peers::pcie},
    {"a4500", "NVIDIA RTX A4500", kAmperePro, 86, 20480, 23.7, 94.6, 189.2, 0.37, 640, 56, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a5000", "NVIDIA RTX A5000", kAmperePro, 86, 24576, 27.8, 111.1, 222.2, 0.43, 768, 64, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a5500", "NVIDIA RTX A5500", kAmperePro, 86, 24576, 34.1, 136.4, 272.8, 0.53, 768, 80, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a6000", "NVIDIA RTX A6000", "NVIDIA RTX A6000 data sheet; GA102 white paper", 86, 49140, 38.7, 154.8, 309.7, 0.6, 768, 84, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"rtx6000ada", "NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada data sheet; Ada white paper", 89, 49140, 91.1, 364.2, 728.5, 1.4, 960, 142, 3.5, "pcie4x16", Peers::pcie},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX Blackwell PRO GPU architecture white paper", 120, 97887, 126, 503.8, 1007.6, 1.97, 1792, 188, 3.5, "pcie5x16", Peers::pcie},
    {"p40", "NVIDIA Tesla P40", "NVIDIA Tesla P40 data sheet; 24 GiB less ECC; f64 at 1/32 of f32", 61, 22919, 11.8, 0, 47, 0.37, 346, 30, 5, "pcie3x16", Peers::pcie},
    {"t4", "NVIDIA T4", "NVIDIA T4 data sheet; Turing white paper", 75, 15360, 8.1, 65, 130, 0.25, 320, 40, 4, "pcie3x16", Peers::pcie},
    {"a10", "NVIDIA A10", "NVIDIA A10 data sheet", 86, 23028, 31.2, 125, 250, 0.49, 600, 72, 4, "pcie4x16", Peers::pcie},
    {"a30", "NVIDIA A30", "NVIDIA A30 data sheet, dense; f64 of its tensor cores", 80, 24576, 10.3, 165, 330, 10.3, 933, 56, 4, "pcie4x16", Peers::pcie_or_bridge, 100},
    {"a40", "NVIDIA A40", "NVIDIA A40 data sheet", 86, 46068, 37.4, 149.7, 299.3, 0.58, 696, 84, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"l4", "NVIDIA L4", "NVIDIA L4 data sheet", 89, 23034, 30.3, 121, 242.5, 0.47, 300, 58, 3.5, "pcie4x16", Peers::pcie},
    {"l20", "NVIDIA L20", "TechPowerUp's database (cores, clock, memory); 16 bits at twice the f32 rate; memory less ECC as of L40", 89, 46068, 59.3, 118.7, 237.4, 0.93, 864, 92, 3.5, "pcie4x16", Peers::pcie},
    {"l40", "NVIDIA L40", "NVIDIA L40 data sheet, dense", 89, 46068, 90.5, 181, 362, 1.41, 864, 142, 3.5, "pcie4x16", Peers::pcie},
    {"l40s", "NVIDIA L40S", "NVIDIA L40S data sheet", 89, 46068, 91.6, 362, 733, 1.43, 864, 142, 3.5, "pcie4x16", Peers::pcie},
    // The board's boost clock of 875 MHz does not hold under load within its 300 W. With the base clock,
    // TensorFlow's published training rates (costs/efficiency.cpp) are the same share of peak on K80 and
    // P100; with the boost clock, half of it on K80. 12 GiB less ECC (nvidia-smi).
    {"k80", "NVIDIA Tesla K80, one of the two GPUs of a board", "NVIDIA Tesla K80 board specification BD-07317: 2496 cores at the base clock of 560 MHz", 37, 11441, 2.8, 0, 0, 0.935, 240, 13, 5.7, "pcie3x16", Peers::pcie},
    {"p100", "NVIDIA Tesla P100 SXM2, linked in fives: four lanes, one to each other", "NVIDIA Tesla P100 data sheet", 60, 16276, 10.6, 21.2, 0, 5.3, 732, 56, 5, "pcie3x16", Peers::linked, 20, 5},
    // Four-way 8-bit dot product at the f32 rate (CUDA C programming guide, arithmetic throughput).
    {"v100", "NVIDIA Tesla V100 SXM2 16 GB, linked in fours: six lanes, two to each other", "NVIDIA Tesla V100 data sheet", 70, 16160, 15.7, 125, 62.8, 7.8, 900, 80, 4, "pcie3x16", Peers::linked, 50, 4},
    {"v100-32gb", "NVIDIA Tesla V100 SXM2 32 GB, linked as the one of 16 GB", "NVIDIA Tesla V100 data sheet", 70, 32510, 15.7, 125, 62.8, 7.8, 900, 80, 4, "pcie3x16", Peers::linked, 50, 4},
    {"a100", "NVIDIA A100 80 GB SXM", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 81920, 19.5, 312, 624, 19.5, 2039, 108, 3.5, "pcie4x16", Peers::linked, 300},
    {"a100-40gb", "NVIDIA A100 40 GB SXM", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 40960, 19.5, 312, 624, 19.5, 1555, 108, 3.5, "pcie4x16", Peers::linked, 300},
    {"a100-pcie", "NVIDIA A100 80 GB PCIe", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 81920, 19.5, 312, 624, 19.5, 1935, 108, 3.5, "pcie4x16", Peers::pcie_or_bridge, 300},
    {"a100-pcie-40gb", "NVIDIA A100 40 GB PCIe", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 40960, 19.5, 312, 624, 19.5, 1555, 108, 3.5, "pcie4x16", Peers::pcie_or_bridge, 300},
    {"h100", "NVIDIA H100 80 GB SXM", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 81559, 67, 989.5, 1979, 67, 3350, 132, 3, "pcie5x16", Peers::linked, 450},
    {"h100-pcie", "NVIDIA H100 80 GB PCIe", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 81559, 51, 756, 1513, 51, 2000, 114, 3, "pcie5x16", Peers::pcie_or_bridge, 300},
    {"h100-nvl", "NVIDIA H100 NVL 94 GB", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 95830, 60, 835.5, 1670.5, 60, 3900, 132, 3, "pcie5x16", Peers::pcie_or_bridge, 300},
    {"h800", "NVIDIA H800 80 GB SXM", "NVIDIA H100 data sheet, dense; NVLink and f64 as limited for export: 400 GB/s both ways together, 1 TFLOP/s", 90, 81559, 67, 989.5, 1979, 1, 3350, 132, 3, "pcie5x16", Peers::linked, 200},
    {"h20", "NVIDIA H20 96 GB", "NVIDIA H20 data sheet, dense", 90, 97871, 44, 148, 296, 1, 4000, 78, 3, "pcie5x16", Peers::linked, 450},
    {"gh200", "the Hopper GPU of NVIDIA GH200, 96 GB", "NVIDIA GH200 data sheet, dense; f64 of its tensor cores; NVLink-C2C to the host", 90, 97871, 67, 989.5, 1979, 67, 4000, 132, 3, "c2c", Peers::pcie},
    {"h200", "NVIDIA H200 SXM", "NVIDIA H200 data sheet, dense; f64 of its tensor cores", 90, 143771, 67, 989.5, 1979, 67, 4800, 132, 3, "pcie5x16", Peers::linked, 450},
    {"b200", "NVIDIA B200 SXM", "NVIDIA Blackwell data sheet: HGX B200, dense", 100, 183359, 75, 2250, 4500, 37, 7700, 148, 3, "pcie5x16", Peers::linked, 900},
    {"gb200", "one of the Blackwell GPUs of NVIDIA GB200", "NVIDIA Blackwell data sheet: GB200 NVL72, per GPU, dense; NVLink-C2C to the host", 100, 189440, 80, 2500, 5000, 40, 8000, 152, 3, "c2c", Peers::linked, 900},
    {"mi210", "AMD Instinct MI210", "TechPowerUp's database (f32 rate, memory, slot); other rates as of one GPU of MI250", 0, 65536, 22.6, 181, 181, 45.3, 1638, 104, 5, "pcie4x16", Peers::pcie},
    {"mi250", "AMD Instinct MI250, one of the two GPUs of a board", "AMD Instinct MI250 data sheet, halved; Infinity Fabric: four links of 50 GB/s within a board, one to the others (ROCm's MI250 page, OLCF's Frontier guide)", 0, 65536, 22.6, 181, 181, 45.3, 1638, 104, 5, "pcie4x16", Peers::linked, 200, 2, 50},
    {"mi300x", "AMD Instinct MI300X", "AMD Instinct MI300X data sheet, dense; Infinity Fabric", 0, 196608, 163.4, 1307.4, 2614.9, 163.4, 5300, 304, 4, "pcie5x16", Peers::linked, 64, 8},
    {"mi325x", "AMD Instinct MI325X", "AMD Instinct MI325X data sheet, dense; Infinity Fabric", 0, 262144, 163.4, 1307.4, 2614.9, 163.4, 6000, 304, 4, "pcie5x16", Peers::linked, 64, 8},
    {"mi350x", "AMD Instinct MI350X", kCdna4, 0, 294912, 144.2, 2306.9, 4613.7, 72.1, 8000, 256, 4, "pcie5x16", Peers::linked, 76.8, 8},
    {"mi355x", "AMD Instinct MI355X", kCdna4, 0, 294912, 157.3, 2516.6, 5033.2, 78.6, 8000, 256, 4, "pcie5x16", Peers::linked, 76.8, 8},
    {"rx6700xt", "AMD Radeon RX 6700 XT", kRadeon, 0, 12288, 13.2, 26.4, 26.4, 0.82, 384, 40, 5, "pcie4x16", Peers::host},
    {"rx6800", "AMD Radeon RX 6800", kRadeon, 0, 16384, 16.2, 32.4, 32.4, 1.01, 512, 60, 5, "pcie4x16", Peers::host},
    {"rx6800xt", "AMD Radeon RX 6800 XT", kRadeon, 0, 16384, 20.7, 41.4, 41.4, 1.29, 512, 72, 5, "pcie4x16", Peers::host},
    {"rx6900xt", "AMD Radeon RX 6900 XT", kRadeon, 0, 16384, 23, 46, 46, 1.44, 512, 80, 5, "pcie4x16", Peers::host},
    {"rx7600", "AMD Radeon RX 7600", kRadeon, 0, 8192, 21.7, 43.4, 43.4, 0.68, 288, 32, 5, "pcie4x8", Peers::host},
    {"rx7600xt", "AMD Radeon RX 7600 XT", kRadeon, 0, 16384, 22.6, 45.2, 45.2, 0.71, 288, 32, 5, "pcie4x8", Peers::host},
    {"rx7700xt", "AMD Radeon RX 7700 XT", kRadeon, 0, 12288, 35.2, 70.4, 70.4, 1.1, 432, 54, 5, "pcie4x16", Peers::host},
    {"rx7800xt", "AMD Radeon RX 7800 XT", kRadeon, 0, 16384, 37.3, 74.6, 74.6, 1.17, 624, 60, 5, "pcie4x16", Peers::host},
    {"rx7900xt", "AMD Radeon RX 7900 XT", "AMD Radeon product page; 8 bits as fast as 16", 0, 20480, 51.5, 103, 103, 1.61, 800, 84, 5, "pcie4x16", Peers::host},
    {"rx7900xtx", "AMD Radeon RX 7900 XTX", "AMD Radeon product page; 8 bits as fast as 16", 0, 24576, 61.4, 122.8, 122.8, 1.92, 960, 96, 5, "pcie4x16", Peers::host},
    {"rx9070xt", "AMD Radeon RX 9070 XT", "AMD Radeon product page, dense", 0, 16384, 48.7, 195, 389, 1.52, 640, 64, 5, "pcie5x16", Peers::host},
    {"arca750", "Intel Arc A750", "Intel Arc A750 product page; XMX at the graphics clock of 2.05 GHz", 0, 8192, 14.7, 117.6, 235, 0, 512, 28, 6, "pcie4x16", Peers::host},
    {"arca770", "Intel Arc A770 16 GB", "Intel Arc A770 product page; XMX at the graphics clock of 2.1 GHz", 0, 16384, 17.2, 137.6, 275, 0, 560, 32, 6, "pcie4x16", Peers::host},
    {"arcb580", "Intel Arc B580", "Intel Arc B580 product page; XMX at the graphics clock of 2.67 GHz", 0, 12288, 13.7, 109.4, 218.7, 0.85, 456, 20, 6, "pcie4x8", Peers::host},
};

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
  double gib;                        // 0 = it is sold with several sizes, and the words say which
  double flops, flops_16, flops_8;   // of the GPU, in TFLOP/s
  double bandwidth;                  // in GB/s
  double multiprocessors;
  double overhead_us;
  double cores, hertz, flops_per_cycle;
  const NpuRow* npu = nullptr;
  int capability = 0;  // as in Row
};

constexpr const char* kApple =
    "Apple's announcement (GPU, memory bandwidth); cores by clock: estimated"
    "; macOS gives the GPU 2/3 of up to 32 GiB, 3/4 of more; iogpu.wired_limit_mb raises that";
constexpr const char* kAppleCores =
    "Apple's announcement (memory bandwidth); 256 operations per GPU core and cycle, clocks "
    "estimated"
    "; macOS gives the GPU 2/3 of up to 32 GiB, 3/4 of more; iogpu.wired_limit_mb raises that";
constexpr const char* kAppleNeural =
    "Apple's announcement (memory bandwidth; matrix products at four times the M4's rate; the fastest "
    "sort of processor cores); 256 operations per GPU core and cycle, clocks estimated"
    "; macOS gives the GPU 2/3 of up to 32 GiB, 3/4 of more; iogpu.wired_limit_mb raises that";
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
    "Add ArgMax AveragePool Cast Ceil Clip Concat Conv ConvTranspose Cos DepthToSpace Div Elu Erf Exp "
    "GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool GridSample GroupNormalization HardSigmoid "
    "Identity InstanceNormalization LayerNormalization LeakyRelu MatMul Max MaxPool Mul PRelu Pow Range "
    "Reciprocal ReduceMax ReduceMean ReduceSum Relu Reshape Resize Round Shape Sigmoid Sin Slice Softmax "
    "Softplus Split Sqrt Squeeze Sub Tanh Tile Transpose Unsqueeze com.microsoft.FusedConv "
    "com.microsoft.QuickGelu";
constexpr const char* kQnnTypes =
    "Abs Add And ArgMax ArgMin Asin Atan AveragePool BatchNormalization Cast Ceil Clip Concat Conv "
    "ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div Einsum Elu Equal Exp Expand Flatten Floor "
    "Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual "
    "GridSample HardSigmoid HardSwish InstanceNormalization LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual Log LogSoftmax LpNormalization MatMul Max MaxPool Mean Min Mod Mul Neg Not Or PRelu Pad "
    "Pow QuantizeLinear RMSNormalization RandomUniformLike Reciprocal ReduceL2 ReduceMax ReduceMean "
    "ReduceMin ReduceProd ReduceSum Relu Reshape Resize Round STFT ScatterElements ScatterND Sigmoid Sign "
    "Sin Slice Softmax SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh ThresholdedRelu Tile TopK Transpose "
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
    {"m1pro", "Apple M1 Pro, 16 GPU cores", kApple, 0, 5.2, 5.2, 0, 200, 16, 10, 8, 3.2e9, kFourNeon},
    {"m1max", "Apple M1 Max, 32 GPU cores", kApple, 0, 10.4, 10.4, 0, 400, 32, 10, 8, 3.2e9, kFourNeon},
    {"m1ultra", "Apple M1 Ultra, 64 GPU cores", kApple, 0, 20.8, 20.8, 0, 800, 64, 10, 16, 3.2e9, kFourNeon},
    {"m2", "Apple M2, 10 GPU cores", kApple, 0, 3.6, 3.6, 0, 100, 10, 10, 4, 3.5e9, kFourNeon},
    {"m2pro", "Apple M2 Pro, 19 GPU cores", kApple, 0, 6.8, 6.8, 0, 200, 19, 10, 8, 3.5e9, kFourNeon},
    {"m2max", "Apple M2 Max, 38 GPU cores", kApple, 0, 13.6, 13.6, 0, 400, 38, 10, 8, 3.5e9, kFourNeon},
    {"m2ultra", "Apple M2 Ultra, 76 GPU cores", kApple, 0, 27.2, 27.2, 0, 800, 76, 10, 16, 3.5e9, kFourNeon},
    {"m3", "Apple M3, 10 GPU cores", kAppleCores, 0, 3.6, 3.6, 0, 100, 10, 10, 4, 4.05e9, kFourNeon},
    {"m3pro", "Apple M3 Pro, 18 GPU cores", kAppleCores, 0, 6.5, 6.5, 0, 150, 18, 10, 6, 4.05e9, kFourNeon},
    {"m3max", "Apple M3 Max, 40 GPU cores", kAppleCores, 0, 14.3, 14.3, 0, 400, 40, 10, 12, 4.05e9, kFourNeon},
    {"m3ultra", "Apple M3 Ultra, 80 GPU cores", kAppleCores, 0, 28.7, 28.7, 0, 819, 80, 10, 24, 4.05e9, kFourNeon},
    {"m4", "Apple M4, 10 GPU cores", kAppleCores, 0, 4, 4, 0, 120, 10, 10, 4, 4.4e9, kFourNeon},
    {"m4pro", "Apple M4 Pro, 20 GPU cores", kAppleCores, 0, 8.1, 8.1, 0, 273, 20, 10, 10, 4.5e9, kFourNeon},
    {"m4max", "Apple M4 Max, 40 GPU cores", kAppleCores, 0, 16.2, 16.2, 0, 546, 40, 10, 12, 4.5e9, kFourNeon},
    {"m5", "Apple M5, 10 GPU cores", kAppleNeural, 0, 4.1, 16, 0, 153, 10, 10, 4, 4.6e9, kFourNeon},
    {"m5pro", "Apple M5 Pro, 20 GPU cores", kAppleNeural, 0, 8.2, 32.4, 0, 307, 20, 10, 6, 4.6e9, kFourNeon},
    {"m5max", "Apple M5 Max, 40 GPU cores", kAppleNeural, 0, 16.4, 64.8, 0, 614, 40, 10, 6, 4.6e9, kFourNeon},
    {"a17pro", "Apple A17 Pro, 6 GPU cores, 16-core Neural Engine: iPhone 15 Pro",
     "Apple's announcement (35 trillion operations of the Neural Engine, taken as 8 bits, half of it in 16); 256 operations per GPU core and cycle, LPDDR5-6400, clocks estimated; what the NPU runs: ONNX Runtime's Core ML provider, ML programs",
     8, 2.15, 4.3, 0, 51.2, 6, 10, 2, 3.78e9, kFourNeon, &kNeuralEngine},
    {"sd8gen3", "Qualcomm Snapdragon 8 Gen 3 (SM8650), Adreno 750, Hexagon NPU: Galaxy S24 Ultra, OnePlus 12, Xiaomi 14",
     "Qualcomm's product brief (cores, clocks, LPDDR5X at 4800 MHz); it states no rates: those of GPU and NPU are others' figures and estimates; what the NPU runs: ONNX Runtime's QNN provider",
     0, 2.77, 5.5, 0, 76.8, 6, 10, 6, 3.15e9, kOneOfSix, &kHexagon},
    {"strixhalo", "AMD Ryzen AI Max+ 395, Radeon 8060S with 40 compute units",
     "AMD's product page (40 compute units at 2.9 GHz, 256 bits of LPDDR5X-8000, 16 cores at a base clock of 3 GHz); rates as of RX 7900 XTX", 0, 29.7, 59.4, 59.4, 256, 40, 8, 16, 3e9, kZen5},
    {"gb10", "NVIDIA GB10: DGX Spark",
     "NVIDIA at Hot Chips 2025 (31 TFLOP/s in f32, 1 PFLOP/s in sparse FP4 as RTX 5070, whose other rates these are) and its DGX Spark page (128 GB of LPDDR5X at 273 GB/s, 20 cores); clocks of the cores estimated",
     128, 31, 61.7, 246.9, 273, 48, 8, 20, 3e9, kTwoNeon, nullptr, 121},
    {"orin", "NVIDIA Jetson AGX Orin 64 GB", kJetson, 64, 5.3, 42.5, 85, 204.8, 16, 8, 12, 2.2e9, kTwoNeon, nullptr, 87},
    {"orinnx", "NVIDIA Jetson Orin NX 16 GB", kJetson, 16, 1.88, 15, 30, 102.4, 8, 8, 8, 2.0e9, kTwoNeon, nullptr, 87},
    {"orinnano", "NVIDIA Jetson Orin Nano 8 GB", kJetson, 8, 1.28, 10, 20, 68, 8, 8, 6, 1.5e9, kTwoNeon, nullptr, 87},
};

struct HostRow {
  const char* word;
  const char* description;
  const char* source;
  double gib;
  double cores, hertz, flops_per_cycle;
  double bandwidth;  // in GB/s
};

/// Two 256-bit fused multiply-add units; two of 512 bits.
constexpr double kAvx2 = 32, kAvx512 = 64;

constexpr HostRow kHosts[] = {
    {"host", "a desktop's processor: 8 cores at 3.8 GHz, two channels of DDR4-3200",
     "two 256-bit multiply-add units per core; the channels' peak", 32, 8, 3.8e9, kAvx2, 51.2},
    {"host5", "the same with two channels of DDR5-5600",
     "two 256-bit multiply-add units per core; the channels' peak", 64, 8, 4.5e9, kAvx2, 89.6},
    {"server", "a server's processor: AMD EPYC 9354, 32 cores, twelve channels of DDR5-4800",
     "AMD EPYC 9354 product page", 384, 32, 3.25e9, kAvx512 / 2, 460.8},
    {"grace", "NVIDIA Grace, the host of GB200: 72 Arm Neoverse V2 cores, LPDDR5X",
     "NVIDIA Grace CPU and GB200 data sheets; the clock of all cores with vectors", 480, 72, 3.0e9, kFourNeon, 512},
};
// clang-format on

/// Handing an op to a thread pool and waking it: an estimate.
constexpr double kHostOverheadUs = 2;
/// From op to op within what was compiled: an estimate. Entering it is in the links (words.cpp).
constexpr double kNpuOverheadUs = 1;
/// Of a chip's memory bandwidth, what its cores can take: 243 of 400 GB/s on M1 Max (AnandTech, "Apple's M1
/// Pro, M1 Max SoCs Investigated").
constexpr double kCoresReach = 0.6;

std::string maker_of(const std::string& description) {
  for (const char* const maker : {"NVIDIA", "AMD", "Intel", "Apple", "Qualcomm"}) {
    if (description.find(maker) != std::string::npos) return maker;
  }
  return {};
}

/// Of NVIDIA's compute capability, ten times.
double tf32_of(int capability, double flops_16) {
  constexpr int kFirst = 80;
  return capability >= kFirst ? flops_16 / 2 : 0;
}

KnownDevice of_row(const Row& row) {
  KnownDevice known;
  Device& device = known.device;
  device.name = device.kind = row.word;
  device.memory_bytes = static_cast<std::int64_t>((row.mib - kContextMiB) * kMiB);
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
  known.bridge_bytes_per_s = kBridgeReached * row.bridge * kGiga;
  known.bridged = row.peers == Peers::linked;
  known.linked_in = known.bridged ? row.linked_in : 2;
  known.beyond_bytes_per_s = kBridgeReached * row.beyond * kGiga;
  known.maker = maker_of(known.description);
  known.capability = row.capability;
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
  known.capability = row.capability;
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
  return known;
}

}  // namespace

std::span<const KnownDevice> known_devices() {
  static const std::vector<KnownDevice> all = [] {
    std::vector<KnownDevice> devices;
    for (const Row& row : kRows) devices.push_back(of_row(row));
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

}  // namespace berth
