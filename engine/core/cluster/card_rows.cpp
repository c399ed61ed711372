// The figures of cards, by makers and generations. The head of known_devices.cpp says what they are.
#include "cluster/card_rows.h"

namespace berth {
namespace {

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
// With it RTX 5090, 5070 Ti and 5060 compute what was measured on them in 16 bits: 89.5, 54 to 59 and 34 to 37
// TFLOP/s (zzc0721/torch-performance-test-data, issues 116, 69, 197, 48, 119); at a usual power's clock half of it.
constexpr const char* kBlackwellLaptop =
    "NVIDIA's comparison of laptop GPUs (cores, upper boost clock, memory); rates as in the RTX "
    "Blackwell white paper";
constexpr const char* kPascal =
    "TechPowerUp's database (cores, boost clock, memory); four-way 8-bit dot product at the f32 "
    "rate";
// Products in 16 bits gain nothing over f32 where they accumulate in it (issue 180 of the same data: 8.8 TFLOP/s).
constexpr const char* kP100 =
    "NVIDIA Tesla P100 data sheet; its 16-bit rate accumulates in 16 bits and is left out";
constexpr const char* kTuringPro =
    "TechPowerUp's database (cores, boost clock, memory); tensor cores at eight times the f32 "
    "rate";
constexpr const char* kAdaPro =
    "TechPowerUp's database (cores, boost clock, memory); rates by cores and clock as of RTX 6000 "
    "Ada";
constexpr const char* kBlackwellPro =
    "TechPowerUp's database (cores, boost clock, memory); rates by cores and clock as of RTX PRO "
    "6000";
constexpr const char* kAmperePro =
    "TechPowerUp's database (cores, boost clock, memory); rates by cores and clock as of RTX A6000";
constexpr const char* kRadeon =
    "TechPowerUp's database (f32 rate, memory); 16 bits at twice that rate, 8 bits as fast as 16";
// Data sheets count two f32 operations at once, which libraries do not reach: matrix products in f32 had 25.7 of 61.4
// TFLOP/s on RX 7900 XTX, 9.4 of 35.2 on RX 7700 XT and 17.5 of 48.7 on RX 9070 XT
// (zzc0721/torch-performance-test-data, issues 68, 157, 201), and in 16 bits what four times the rows' f32 makes.
constexpr const char* kRdna3 =
    "TechPowerUp's database (f32 rate, of which half: one operation issued at a time; memory); 16 "
    "bits at four times that, 8 bits as fast as 16";
constexpr const char* kRdna4 =
    "AMD Radeon product page and TechPowerUp's database (f32 rate, of which half: one operation "
    "issued at a time); 16 bits at eight times that, dense, 8 bits at sixteen";
constexpr const char* kVega20 =
    "AMD Instinct data sheets; packed 16 bits at twice the f32 rate, four-way 8-bit dot product";
constexpr const char* kCdna4 =
    "AMD at Hot Chips and ISSCC 2025 (256 compute units, clock, 8,192 operations in 8 bits per "
    "unit and "
    "cycle, memory); Infinity Fabric: 153.6 GB/s a link, both ways together";

// clang-format off
constexpr CardRow kCards[] = {
    {"gtx1060", "NVIDIA GeForce GTX 1060 6 GB", kPascal, 61, 6144, 4.4, 0, 17.5, 0.14, 192, 10, 5, "pcie3x16", Peers::host},
    {"gtx1070", "NVIDIA GeForce GTX 1070", kPascal, 61, 8192, 6.5, 0, 25.9, 0.2, 256, 15, 5, "pcie3x16", Peers::host},
    {"gtx1070ti", "NVIDIA GeForce GTX 1070 Ti", kPascal, 61, 8192, 8.2, 0, 32.7, 0.26, 256, 19, 5, "pcie3x16", Peers::host},
    {"gtx1080", "NVIDIA GeForce GTX 1080", kPascal, 61, 8192, 8.9, 0, 35.5, 0.28, 320, 20, 5, "pcie3x16", Peers::host},
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
    {"titanrtx", "NVIDIA TITAN RTX", kTuringPro, 75, 24220, 16.3, 130.5, 261, 0.51, 672, 72, 4.5, "pcie3x16", Peers::bridge, 50},
    {"rtx8000", "NVIDIA Quadro RTX 8000", kTuringPro, 75, 48601, 16.3, 130.5, 261, 0.51, 672, 72, 4.5, "pcie3x16", Peers::pcie_or_bridge, 50},
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
    {"rtx5050", "NVIDIA GeForce RTX 5050", kBlackwellSmall, 120, 8151, 13.2, 26.3, 105.4, 0.21, 320, 20, 3.5, "pcie5x8", Peers::host},
    {"rtx5060", "NVIDIA GeForce RTX 5060", kBlackwellSmall, 120, 8151, 19.2, 38.4, 153.6, 0.3, 448, 30, 3.5, "pcie5x8", Peers::host},
    {"rtx5060ti-8gb", "NVIDIA GeForce RTX 5060 Ti 8 GB", kBlackwellSmall, 120, 8151, 23.7, 47.4, 189.6, 0.37, 448, 36, 3.5, "pcie5x8", Peers::host},
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
    {"rtx5050laptop", "NVIDIA GeForce RTX 5050 Laptop GPU", kBlackwellLaptop, 120, 8192, 13.6, 27.3, 109.0, 0.21, 384, 20, 3.5, "pcie5x16", Peers::host},
    {"rtx5060laptop", "NVIDIA GeForce RTX 5060 Laptop GPU", kBlackwellLaptop, 120, 8192, 16.6, 33.2, 133.0, 0.26, 384, 26, 3.5, "pcie5x16", Peers::host},
    {"rtx5070laptop", "NVIDIA GeForce RTX 5070 Laptop GPU", kBlackwellLaptop, 120, 8192, 21.6, 43.3, 173.0, 0.34, 384, 36, 3.5, "pcie5x16", Peers::host},
    {"rtx5070tilaptop", "NVIDIA GeForce RTX 5070 Ti Laptop GPU", kBlackwellLaptop, 120, 12288, 26.1, 52.3, 209.1, 0.41, 672, 46, 3.5, "pcie5x16", Peers::host},
    {"rtx5080laptop", "NVIDIA GeForce RTX 5080 Laptop GPU", kBlackwellLaptop, 120, 16384, 35.1, 70.3, 281.0, 0.55, 896, 60, 3.5, "pcie5x16", Peers::host},
    {"rtx5090laptop", "NVIDIA GeForce RTX 5090 Laptop GPU", kBlackwellLaptop, 120, 24576, 45.3, 90.7, 362.7, 0.71, 896, 82, 3.5, "pcie5x16", Peers::host},
    {"a2000", "NVIDIA RTX A2000 6 GB", kAmperePro, 86, 6138, 8, 31.9, 63.9, 0.12, 288, 26, 4, "pcie4x16", Peers::pcie},
    {"a2000-12gb", "NVIDIA RTX A2000 12 GB", kAmperePro, 86, 12282, 8, 31.9, 63.9, 0.12, 288, 26, 4, "pcie4x16", Peers::pcie},
    {"a4000", "NVIDIA RTX A4000", kAmperePro, 86, 16384, 19.2, 76.7, 153.4, 0.3, 448, 48, 4, "pcie4x16", Peers::pcie},
    {"a4500", "NVIDIA RTX A4500", kAmperePro, 86, 20480, 23.7, 94.6, 189.2, 0.37, 640, 56, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a5000", "NVIDIA RTX A5000", kAmperePro, 86, 24576, 27.8, 111.1, 222.2, 0.43, 768, 64, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a5500", "NVIDIA RTX A5500", kAmperePro, 86, 24576, 34.1, 136.4, 272.8, 0.53, 768, 80, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"a6000", "NVIDIA RTX A6000", "NVIDIA RTX A6000 data sheet; GA102 white paper", 86, 49140, 38.7, 154.8, 309.7, 0.6, 768, 84, 4, "pcie4x16", Peers::pcie_or_bridge, 56.25},
    {"rtx2000ada", "NVIDIA RTX 2000 Ada Generation", kAdaPro, 89, 16380, 12, 48, 96, 0.19, 256, 22, 3.5, "pcie4x8", Peers::pcie},
    {"rtx4000ada", "NVIDIA RTX 4000 Ada Generation", kAdaPro, 89, 20475, 26.7, 106.9, 213.8, 0.42, 360, 48, 3.5, "pcie4x16", Peers::pcie},
    {"rtx4500ada", "NVIDIA RTX 4500 Ada Generation", kAdaPro, 89, 24570, 39.6, 158.5, 317, 0.62, 432, 60, 3.5, "pcie4x16", Peers::pcie},
    {"rtx5000ada", "NVIDIA RTX 5000 Ada Generation", kAdaPro, 89, 32760, 65.3, 261.1, 522.2, 1.02, 576, 100, 3.5, "pcie4x16", Peers::pcie},
    {"rtx6000ada", "NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada data sheet; Ada white paper", 89, 49140, 91.1, 364.2, 728.5, 1.4, 960, 142, 3.5, "pcie4x16", Peers::pcie},
    {"rtxpro4000", "NVIDIA RTX PRO 4000 Blackwell", kBlackwellPro, 120, 24576, 36.8, 147.3, 294.6, 0.58, 672, 70, 3.5, "pcie5x16", Peers::pcie},
    {"rtxpro4500", "NVIDIA RTX PRO 4500 Blackwell", kBlackwellPro, 120, 32768, 50.5, 202.1, 404.2, 0.79, 896, 82, 3.5, "pcie5x16", Peers::pcie},
    {"rtxpro5000", "NVIDIA RTX PRO 5000 Blackwell", kBlackwellPro, 120, 49152, 66.9, 267.7, 535.5, 1.05, 1344, 110, 3.5, "pcie5x16", Peers::pcie},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX Blackwell PRO GPU architecture white paper", 120, 97887, 126, 503.8, 1007.6, 1.97, 1792, 188, 3.5, "pcie5x16", Peers::pcie},
    {"m40", "NVIDIA Tesla M40 24 GB", "TechPowerUp's database (cores, boost clock, memory); f64 at 1/32 of f32", 52, 24576, 6.8, 0, 0, 0.21, 288, 24, 5.5, "pcie3x16", Peers::pcie},
    {"p4", "NVIDIA Tesla P4", "NVIDIA Tesla P4 data sheet; 8 GiB less ECC; f64 at 1/32 of f32", 61, 7611, 5.5, 0, 22, 0.17, 192, 20, 5, "pcie3x16", Peers::pcie},
    {"p40", "NVIDIA Tesla P40", "NVIDIA Tesla P40 data sheet; 24 GiB less ECC; f64 at 1/32 of f32", 61, 22919, 11.8, 0, 47, 0.37, 346, 30, 5, "pcie3x16", Peers::pcie},
    {"t4", "NVIDIA T4", "NVIDIA T4 data sheet; Turing white paper", 75, 15360, 8.1, 65, 130, 0.25, 320, 40, 4, "pcie3x16", Peers::pcie},
    {"a2", "NVIDIA A2", "NVIDIA A2 data sheet, dense", 86, 15356, 4.5, 18, 36, 0.07, 200, 10, 4, "pcie4x8", Peers::pcie},
    {"a10", "NVIDIA A10", "NVIDIA A10 data sheet", 86, 23028, 31.2, 125, 250, 0.49, 600, 72, 4, "pcie4x16", Peers::pcie},
    {"a10g", "NVIDIA A10G", "NVIDIA A10G data sheet, dense: tensor cores at the rates of GeForce", 86, 23028, 35, 70, 140, 0.55, 600, 80, 4, "pcie4x16", Peers::pcie},
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
    {"p100", "NVIDIA Tesla P100 SXM2, linked in fives: four lanes, one to each other", kP100, 60, 16276, 10.6, 0, 0, 5.3, 732, 56, 5, "pcie3x16", Peers::linked, 20, 5},
    {"p100-pcie", "NVIDIA Tesla P100 PCIe 16 GB", kP100, 60, 16276, 9.3, 0, 0, 4.7, 732, 56, 5, "pcie3x16", Peers::pcie},
    // Four-way 8-bit dot product at the f32 rate (CUDA C programming guide, arithmetic throughput).
    {"v100", "NVIDIA Tesla V100 SXM2 16 GB, linked in fours: six lanes, two to each other", "NVIDIA Tesla V100 data sheet", 70, 16160, 15.7, 125, 62.8, 7.8, 900, 80, 4, "pcie3x16", Peers::linked, 50, 4},
    {"v100-32gb", "NVIDIA Tesla V100 SXM2 32 GB, linked as the one of 16 GB", "NVIDIA Tesla V100 data sheet", 70, 32510, 15.7, 125, 62.8, 7.8, 900, 80, 4, "pcie3x16", Peers::linked, 50, 4},
    {"v100-pcie", "NVIDIA Tesla V100 PCIe 16 GB", "NVIDIA Tesla V100 data sheet", 70, 16160, 14, 112, 56, 7, 900, 80, 4, "pcie3x16", Peers::pcie},
    {"v100-pcie-32gb", "NVIDIA Tesla V100 PCIe 32 GB", "NVIDIA Tesla V100 data sheet", 70, 32510, 14, 112, 56, 7, 900, 80, 4, "pcie3x16", Peers::pcie},
    {"v100s", "NVIDIA Tesla V100S PCIe 32 GB", "NVIDIA Tesla V100 data sheet", 70, 32510, 16.4, 130, 65.6, 8.2, 1134, 80, 4, "pcie3x16", Peers::pcie},
    {"a100", "NVIDIA A100 80 GB SXM", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 81920, 19.5, 312, 624, 19.5, 2039, 108, 3.5, "pcie4x16", Peers::linked, 300},
    {"a100-40gb", "NVIDIA A100 40 GB SXM", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 40960, 19.5, 312, 624, 19.5, 1555, 108, 3.5, "pcie4x16", Peers::linked, 300},
    {"a100-pcie", "NVIDIA A100 80 GB PCIe", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 81920, 19.5, 312, 624, 19.5, 1935, 108, 3.5, "pcie4x16", Peers::pcie_or_bridge, 300},
    {"a100-pcie-40gb", "NVIDIA A100 40 GB PCIe", "NVIDIA A100 data sheet, dense; f64 of its tensor cores", 80, 40960, 19.5, 312, 624, 19.5, 1555, 108, 3.5, "pcie4x16", Peers::pcie_or_bridge, 300},
    {"a800", "NVIDIA A800 80 GB SXM", "NVIDIA A100 data sheet, dense; f64 of its tensor cores; NVLink as limited for export: 400 GB/s both ways together", 80, 81920, 19.5, 312, 624, 19.5, 2039, 108, 3.5, "pcie4x16", Peers::linked, 200},
    {"h100", "NVIDIA H100 80 GB SXM", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 81559, 67, 989.5, 1979, 67, 3350, 132, 3, "pcie5x16", Peers::linked, 450},
    {"h100-pcie", "NVIDIA H100 80 GB PCIe", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 81559, 51, 756, 1513, 51, 2000, 114, 3, "pcie5x16", Peers::pcie_or_bridge, 300},
    {"h100-nvl", "NVIDIA H100 NVL 94 GB", "NVIDIA H100 data sheet, dense; f64 of its tensor cores", 90, 95830, 60, 835.5, 1670.5, 60, 3900, 132, 3, "pcie5x16", Peers::pcie_or_bridge, 300},
    {"h800", "NVIDIA H800 80 GB SXM", "NVIDIA H100 data sheet, dense; NVLink and f64 as limited for export: 400 GB/s both ways together, 1 TFLOP/s", 90, 81559, 67, 989.5, 1979, 1, 3350, 132, 3, "pcie5x16", Peers::linked, 200},
    {"h20", "NVIDIA H20 96 GB", "NVIDIA H20 data sheet, dense", 90, 97871, 44, 148, 296, 1, 4000, 78, 3, "pcie5x16", Peers::linked, 450},
    {"gh200", "the Hopper GPU of NVIDIA GH200, 96 GB", "NVIDIA GH200 data sheet, dense; f64 of its tensor cores; NVLink-C2C to the host", 90, 97871, 67, 989.5, 1979, 67, 4000, 132, 3, "c2c", Peers::pcie},
    {"h200", "NVIDIA H200 SXM", "NVIDIA H200 data sheet, dense; f64 of its tensor cores", 90, 143771, 67, 989.5, 1979, 67, 4800, 132, 3, "pcie5x16", Peers::linked, 450},
    {"b200", "NVIDIA B200 SXM", "NVIDIA Blackwell data sheet: HGX B200, dense", 100, 183359, 75, 2250, 4500, 37, 7700, 148, 3, "pcie5x16", Peers::linked, 900},
    {"b300", "NVIDIA B300 SXM", "NVIDIA Blackwell Ultra data sheet: HGX B300, dense; 8-bit integers are slow there, so that 8 bits are left out", 103, 275040, 75, 2250, 0, 1.2, 8000, 148, 3, "pcie5x16", Peers::linked, 900},
    {"gb200", "one of the Blackwell GPUs of NVIDIA GB200", "NVIDIA Blackwell data sheet: GB200 NVL72, per GPU, dense; NVLink-C2C to the host", 100, 189440, 80, 2500, 5000, 40, 8000, 152, 3, "c2c", Peers::linked, 900},
    {"mi50", "AMD Instinct MI50 16 GB", kVega20, 0, 16384, 13.4, 26.8, 53.6, 6.7, 1024, 60, 5, "pcie4x16", Peers::pcie},
    {"mi50-32gb", "AMD Instinct MI50 32 GB", kVega20, 0, 32768, 13.4, 26.8, 53.6, 6.7, 1024, 60, 5, "pcie4x16", Peers::pcie},
    {"mi60", "AMD Instinct MI60", kVega20, 0, 32768, 14.7, 29.5, 59, 7.4, 1024, 64, 5, "pcie4x16", Peers::pcie},
    {"mi100", "AMD Instinct MI100", "AMD Instinct MI100 data sheet", 0, 32768, 23.1, 184.6, 184.6, 11.5, 1229, 120, 5, "pcie4x16", Peers::pcie},
    {"mi210", "AMD Instinct MI210", "TechPowerUp's database (f32 rate, memory, slot); other rates as of one GPU of MI250", 0, 65536, 22.6, 181, 181, 45.3, 1638, 104, 5, "pcie4x16", Peers::pcie},
    {"mi250", "AMD Instinct MI250, one of the two GPUs of a board", "AMD Instinct MI250 data sheet, halved; Infinity Fabric: four links of 50 GB/s within a board, one to the others (ROCm's MI250 page, OLCF's Frontier guide)", 0, 65536, 22.6, 181, 181, 45.3, 1638, 104, 5, "pcie4x16", Peers::linked, 200, 2, 50},
    {"mi250x", "AMD Instinct MI250X, one of the two GPUs of a board", "AMD Instinct MI250X data sheet, halved; Infinity Fabric as of MI250", 0, 65536, 23.9, 191.5, 191.5, 47.9, 1638, 110, 5, "pcie4x16", Peers::linked, 200, 2, 50},
    {"mi300x", "AMD Instinct MI300X", "AMD Instinct MI300X data sheet, dense; Infinity Fabric", 0, 196608, 163.4, 1307.4, 2614.9, 163.4, 5300, 304, 4, "pcie5x16", Peers::linked, 64, 8},
    {"mi325x", "AMD Instinct MI325X", "AMD Instinct MI325X data sheet, dense; Infinity Fabric", 0, 262144, 163.4, 1307.4, 2614.9, 163.4, 6000, 304, 4, "pcie5x16", Peers::linked, 64, 8},
    {"mi350x", "AMD Instinct MI350X", kCdna4, 0, 294912, 144.2, 2306.9, 4613.7, 72.1, 8000, 256, 4, "pcie5x16", Peers::linked, 76.8, 8},
    {"mi355x", "AMD Instinct MI355X", kCdna4, 0, 294912, 157.3, 2516.6, 5033.2, 78.6, 8000, 256, 4, "pcie5x16", Peers::linked, 76.8, 8},
    {"rx6600", "AMD Radeon RX 6600", kRadeon, 0, 8192, 8.9, 17.9, 17.9, 0.56, 224, 28, 5, "pcie4x8", Peers::host},
    {"rx6600xt", "AMD Radeon RX 6600 XT", kRadeon, 0, 8192, 10.6, 21.2, 21.2, 0.66, 256, 32, 5, "pcie4x8", Peers::host},
    {"rx6700xt", "AMD Radeon RX 6700 XT", kRadeon, 0, 12288, 13.2, 26.4, 26.4, 0.82, 384, 40, 5, "pcie4x16", Peers::host},
    {"rx6800", "AMD Radeon RX 6800", kRadeon, 0, 16384, 16.2, 32.4, 32.4, 1.01, 512, 60, 5, "pcie4x16", Peers::host},
    {"rx6800xt", "AMD Radeon RX 6800 XT", kRadeon, 0, 16384, 20.7, 41.4, 41.4, 1.29, 512, 72, 5, "pcie4x16", Peers::host},
    {"rx6900xt", "AMD Radeon RX 6900 XT", kRadeon, 0, 16384, 23, 46, 46, 1.44, 512, 80, 5, "pcie4x16", Peers::host},
    {"rx6950xt", "AMD Radeon RX 6950 XT", kRadeon, 0, 16384, 23.7, 47.3, 47.3, 1.48, 576, 80, 5, "pcie4x16", Peers::host},
    {"rx7600", "AMD Radeon RX 7600", kRdna3, 0, 8192, 10.9, 43.4, 43.4, 0.68, 288, 32, 5, "pcie4x8", Peers::host},
    {"rx7600xt", "AMD Radeon RX 7600 XT", kRdna3, 0, 16384, 11.3, 45.2, 45.2, 0.71, 288, 32, 5, "pcie4x8", Peers::host},
    {"rx7700xt", "AMD Radeon RX 7700 XT", kRdna3, 0, 12288, 17.6, 70.4, 70.4, 1.1, 432, 54, 5, "pcie4x16", Peers::host},
    {"rx7800xt", "AMD Radeon RX 7800 XT", kRdna3, 0, 16384, 18.7, 74.6, 74.6, 1.17, 624, 60, 5, "pcie4x16", Peers::host},
    {"rx7900gre", "AMD Radeon RX 7900 GRE", kRdna3, 0, 16384, 23, 92, 92, 1.44, 576, 80, 5, "pcie4x16", Peers::host},
    {"rx7900xt", "AMD Radeon RX 7900 XT", kRdna3, 0, 20480, 25.8, 103, 103, 1.61, 800, 84, 5, "pcie4x16", Peers::host},
    {"rx7900xtx", "AMD Radeon RX 7900 XTX", kRdna3, 0, 24576, 30.7, 122.8, 122.8, 1.92, 960, 96, 5, "pcie4x16", Peers::host},
    {"w7800", "AMD Radeon PRO W7800 32 GB", kRdna3, 0, 32768, 22.6, 90.5, 90.5, 1.41, 576, 70, 5, "pcie4x16", Peers::host},
    {"w7900", "AMD Radeon PRO W7900", kRdna3, 0, 49152, 30.7, 122.6, 122.6, 1.92, 864, 96, 5, "pcie4x16", Peers::host},
    {"rx9060xt", "AMD Radeon RX 9060 XT 16 GB", kRdna4, 0, 16384, 12.8, 102.6, 205.1, 0.8, 320, 32, 5, "pcie5x16", Peers::host},
    {"rx9060xt-8gb", "AMD Radeon RX 9060 XT 8 GB", kRdna4, 0, 8192, 12.8, 102.6, 205.1, 0.8, 320, 32, 5, "pcie5x16", Peers::host},
    {"rx9070", "AMD Radeon RX 9070", kRdna4, 0, 16384, 18.1, 144.5, 289, 1.13, 640, 56, 5, "pcie5x16", Peers::host},
    {"rx9070xt", "AMD Radeon RX 9070 XT", kRdna4, 0, 16384, 24.4, 195, 389, 1.52, 640, 64, 5, "pcie5x16", Peers::host},
    {"r9700", "AMD Radeon AI PRO R9700", kRdna4, 0, 32768, 23.9, 191.4, 382.7, 1.5, 640, 64, 5, "pcie5x16", Peers::host},
    {"arca380", "Intel Arc A380", "Intel Arc A380 product page; XMX at the graphics clock of 2 GHz", 0, 6144, 4.1, 32.8, 65.5, 0, 186, 8, 6, "pcie4x8", Peers::host},
    {"arca750", "Intel Arc A750", "Intel Arc A750 product page; XMX at the graphics clock of 2.05 GHz", 0, 8192, 14.7, 117.6, 235, 0, 512, 28, 6, "pcie4x16", Peers::host},
    {"arca770", "Intel Arc A770 16 GB", "Intel Arc A770 product page; XMX at the graphics clock of 2.1 GHz", 0, 16384, 17.2, 137.6, 275, 0, 560, 32, 6, "pcie4x16", Peers::host},
    {"arcb570", "Intel Arc B570", "Intel Arc B570 product page; XMX at the graphics clock of 2.5 GHz", 0, 10240, 11.5, 92.2, 184.3, 0.72, 380, 18, 6, "pcie4x8", Peers::host},
    {"arcb580", "Intel Arc B580", "Intel Arc B580 product page; XMX at the graphics clock of 2.67 GHz", 0, 12288, 13.7, 109.4, 218.7, 0.85, 456, 20, 6, "pcie4x8", Peers::host},
    {"arcb60", "Intel Arc Pro B60", "Intel Arc Pro B60 product page; XMX at the graphics clock of 2.4 GHz", 0, 24576, 12.3, 98.3, 196.6, 0.77, 456, 20, 6, "pcie5x8", Peers::host},
};
// clang-format on

/// Names that NVIDIA's driver prints where those are not the row's description without its size.
constexpr DriverName kDriverNames[] = {
    {"gtx1060", "NVIDIA GeForce GTX 1060 6GB"},
    {"a2000", "NVIDIA RTX A2000"},
    {"a2000-12gb", "NVIDIA RTX A2000 12GB"},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
    {"m40", "Tesla M40 24GB"},
    {"k80", "Tesla K80"},
    {"p100", "Tesla P100-SXM2-16GB"},
    {"p100-pcie", "Tesla P100-PCIE-16GB"},
    {"v100", "Tesla V100-SXM2-16GB"},
    {"v100-32gb", "Tesla V100-SXM2-32GB"},
    {"v100-pcie", "Tesla V100-PCIE-16GB"},
    {"v100-pcie-32gb", "Tesla V100-PCIE-32GB"},
    {"v100s", "Tesla V100S-PCIE-32GB"},
    {"a100", "NVIDIA A100-SXM4-80GB"},
    {"a100-40gb", "NVIDIA A100-SXM4-40GB"},
    {"a100-pcie", "NVIDIA A100 80GB PCIe"},
    {"a100-pcie-40gb", "NVIDIA A100-PCIE-40GB"},
    {"a800", "NVIDIA A800-SXM4-80GB"},
    {"h100", "NVIDIA H100 80GB HBM3"},
    {"h100-pcie", "NVIDIA H100 PCIe"},
    {"h100-nvl", "NVIDIA H100 NVL"},
    {"h800", "NVIDIA H800"},
    {"gh200", "NVIDIA GH200 480GB"},
    {"h200", "NVIDIA H200"},
    {"b200", "NVIDIA B200"},
    {"b300", "NVIDIA B300 SXM6 AC"},
    {"gb200", "NVIDIA GB200"},
    {"gb10", "NVIDIA GB10"},
};

}  // namespace

std::span<const CardRow> card_rows() {
  return kCards;
}

std::span<const DriverName> driver_names() {
  return kDriverNames;
}

}  // namespace berth
