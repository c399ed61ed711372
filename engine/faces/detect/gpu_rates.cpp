#include "detect/gpu_rates.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include "berth/support/text.h"

namespace berth::detect {
namespace {

/// Operations of a generation of NVIDIA's GPUs per multiprocessor and cycle (CUDA C++ programming guide,
/// arithmetic throughput; data sheets of its GPUs divided by multiprocessors and clock).
struct Generation {
  int major;
  int minor;
  int cores;        ///< per multiprocessor
  double flops_16;  ///< of tensor cores, dense, per cycle and multiprocessor; 0 = as in f32
  double flops_8;   ///< as times flops_16; 0 = as in f32
  double flops_64;  ///< as times f32
  double op_overhead_us;
  double
      nvlink_lane;  ///< GB/s in one direction, of data sheets; NVML's number of the version names none
};
constexpr Generation kGenerations[] = {
    {3, 0, 192, 0, 0, 1. / 3, 5.7, 0},
    {5, 0, 128, 0, 0, 1. / 32, 5.5, 0},
    {6, 0, 64, 256, 0, 0.5, 5, 20},
    {6, 1, 128, 0, 0, 1. / 32, 5, 0},
    {7, 0, 64, 1024, 0.5, 0.5, 4, 25},
    {7, 5, 64, 1024, 2, 1. / 32, 4, 25},
    {8, 0, 64, 2048, 2, 1, 3.5, 25},
    {8, 6, 128, 1024, 2, 1. / 64, 3.5, 14.0625},
    {8, 7, 128, 2048, 2, 1. / 64, 8, 0},  // Jetson Orin, whose data sheet has the words' figures
    {8, 9, 128, 1024, 2, 1. / 64, 3, 0},
    {9, 0, 128, 4096, 2, 1, 3, 25},
    {10, 0, 128, 8192, 2, 0.5, 3, 50},
    // HGX B300 data sheet: 8-bit integers at a 15th of 16-bit floating point, f64 at a 64th of f32. Its 8-bit
    // floating point is as fast as before, and left out.
    {10, 3, 128, 8192, 0.07, 1. / 64, 3, 50},
    {12, 0, 128, 1024, 2, 1. / 64, 3, 50},
};

/// The latest that is not later; the first for what is older than all.
const Generation& generation_of(const GpuFacts& gpu) {
  const Generation* found = &kGenerations[0];
  for (const Generation& each : kGenerations) {
    if (std::pair(each.major, each.minor) <= std::pair(gpu.major, gpu.minor)) found = &each;
  }
  return *found;
}

/// Names that the driver gives products by more than the word, as kind_name has them.
constexpr std::pair<std::string_view, std::string_view> kDriverNames[] = {
    {"rtx-a4000", "a4000"},
    {"rtx-a4500", "a4500"},
    {"rtx-a5000", "a5000"},
    {"rtx-a5500", "a5500"},
    {"rtx-a6000", "a6000"},
    {"rtx-6000-ada-generation", "rtx6000ada"},
    {"tesla-k80", "k80"},
    {"tesla-p100-sxm2-16gb", "p100"},
    {"tesla-v100-sxm2-16gb", "v100"},
    {"tesla-v100-sxm2-32gb", "v100"},
    {"tesla-t4", "t4"},
    {"a100-sxm4-40gb", "a100-40gb"},
    {"a100-sxm4-80gb", "a100"},
    {"a100-pcie-40gb", "a100-pcie-40gb"},
    {"a100-80gb-pcie", "a100-pcie"},
    {"h100-80gb-hbm3", "h100"},
};

/// The product among the machines' words. Cards of one name that differ in their cores are not it.
const KnownDevice* known_product(const GpuFacts& gpu, double multiprocessors) {
  const std::string kind = kind_name(gpu.name);
  std::string word;
  for (const auto& [name, of_words] : kDriverNames) {
    if (kind == name) word = of_words;
  }
  if (word.empty()) {
    word = kind.substr(kind.starts_with("geforce-") ? 8 : 0);
    std::erase(word, '-');
  }
  const KnownDevice* const known = find_known_device(word);
  const bool card = known != nullptr && !known->device.host && known->cores.name.empty();
  if (!card) return nullptr;
  const bool same =
      multiprocessors == 0 || std::abs(multiprocessors - known->device.multiprocessors) < 0.5;
  return same ? known : nullptr;
}

/// Turing's smaller chips: GTX 16, MX 450 and 550, T400 to T1200. They have no tensor cores, but f16 at
/// twice the rate of f32, and a four-way 8-bit dot product (NVIDIA's "GeForce GTX 1660 Ti", TU116).
bool lacks_tensor_cores(const GpuFacts& gpu) {
  if (std::pair(gpu.major, gpu.minor) != std::pair(7, 5)) return false;
  const std::string& name = gpu.name;
  if (name.find("GTX 16") != std::string::npos || name.find(" MX") != std::string::npos)
    return true;
  const std::size_t t = name.find(" T");
  const auto digits = std::string_view("0123456789");
  const std::size_t behind = t == std::string::npos ? t : name.find_first_not_of(digits, t + 2);
  return t != std::string::npos && std::min(behind, name.size()) - (t + 2) >= 3;
}

}  // namespace

std::string kind_name(const std::string& product) {
  std::string kind;
  for (const char c : product) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      kind += static_cast<char>(std::tolower(letter));
    } else if (!kind.empty() && kind.back() != '-') {
      kind += '-';
    }
  }
  if (kind.starts_with("nvidia-")) kind.erase(0, 7);
  while (kind.ends_with('-')) kind.pop_back();
  return kind.empty() ? "gpu" : kind;
}

std::string giga(double figure) {
  std::string text = std::to_string(figure / 1e9);
  return text.substr(0, text.find('.') + 2);
}

GpuRates rates_of(const GpuFacts& gpu) {
  const Generation& generation = generation_of(gpu);
  GpuRates rates;
  rates.multiprocessors = static_cast<double>(gpu.cores) / generation.cores;
  rates.op_overhead_us = generation.op_overhead_us;
  rates.nvlink_lane = generation.nvlink_lane * 1e9;
  rates.known = known_product(gpu, rates.multiprocessors);
  if (rates.known != nullptr) {
    const Device& sheet = rates.known->device;
    rates.flops = sheet.flops;
    rates.flops_16 = sheet.flops_16;
    rates.flops_8 = sheet.flops_8;
    rates.flops_64 = sheet.flops_64;
    rates.flops_tf32 = sheet.flops_tf32;
    rates.multiprocessors = sheet.multiprocessors;
    rates.op_overhead_us = sheet.op_overhead_us;
    rates.source = cat("those of '", sheet.name, "', ", rates.known->source);
    return rates;
  }
  rates.flops = gpu.cores * gpu.hertz * 2;
  rates.flops_16 = rates.multiprocessors * gpu.hertz * generation.flops_16;
  rates.flops_8 = rates.flops_16 * generation.flops_8;
  rates.flops_64 = rates.flops * generation.flops_64;
  if (lacks_tensor_cores(gpu)) {
    rates.flops_16 = 2 * rates.flops;
    rates.flops_8 = 4 * rates.flops;
  } else if (gpu.name.find("GeForce") != std::string::npos) {
    rates.flops_16 /= 2;  // their tensor cores accumulate in f32 at half the rate, integers not
  }
  if (gpu.major >= 8) rates.flops_tf32 = rates.flops_16 / 2;
  rates.source = cat(gpu.cores, " cores at ", giga(gpu.hertz),
                     " GHz, its highest clock; other types by its generation's rates");
  return rates;
}

}  // namespace berth::detect
