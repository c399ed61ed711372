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
  double
      nvlink_lane;  ///< GB/s in one direction, of data sheets; NVML's number of the version names none
};
constexpr Generation kGenerations[] = {
    {3, 0, 192, 0, 0, 1. / 3, 0},
    {5, 0, 128, 0, 0, 1. / 32, 0},
    {6, 0, 64, 0, 0, 0.5, 20},  // 16 bits gain nothing where f32 accumulates
    {6, 1, 128, 0, 0, 1. / 32, 0},
    {7, 0, 64, 1024, 0.5, 0.5, 25},
    {7, 5, 64, 1024, 2, 1. / 32, 25},
    {8, 0, 64, 2048, 2, 1, 25},
    {8, 6, 128, 1024, 2, 1. / 64, 14.0625},
    {8, 7, 128, 2048, 2, 1. / 64, 0},  // Jetson Orin, whose data sheet has the words' figures
    {8, 9, 128, 1024, 2, 1. / 64, 0},
    {9, 0, 128, 4096, 2, 1, 25},
    {10, 0, 128, 8192, 2, 0.5, 50},
    // HGX B300 data sheet: 8-bit integers at a 15th of 16-bit floating point, f64 at a 64th of f32. Its 8-bit
    // floating point is as fast as before, and left out.
    {10, 3, 128, 8192, 0.07, 1. / 64, 50},
    {12, 0, 128, 1024, 2, 1. / 64, 50},
};

/// The latest that is not later; the first for what is older than all.
const Generation& generation_of(const GpuFacts& gpu) {
  const Generation* found = &kGenerations[0];
  for (const Generation& each : kGenerations) {
    if (std::pair(each.major, each.minor) <= std::pair(gpu.major, gpu.minor)) found = &each;
  }
  return *found;
}

/// The product among the machines' words. Cards of one name that differ in their cores are not it.
const KnownDevice* known_product(const GpuFacts& gpu, double multiprocessors) {
  const KnownDevice* const known = find_named_device(gpu.name);
  if (known == nullptr || known->maker != "NVIDIA" || known->device.host) return nullptr;
  const bool same =
      multiprocessors == 0 || std::abs(multiprocessors - known->device.multiprocessors) < 0.5;
  return same ? known : nullptr;
}

/// The pause that words give the latest generation up to the GPU's; the first one's for what is older than all.
double op_overhead_us(const GpuFacts& gpu) {
  const KnownDevice *latest = nullptr, *first = nullptr;
  for (const KnownDevice& known : known_devices()) {
    const int own = known.capability;
    if (own == 0) continue;
    if (first == nullptr || own < first->capability) first = &known;
    if (own > 10 * gpu.major + gpu.minor) continue;
    if (latest == nullptr || own > latest->capability) latest = &known;
  }
  return (latest != nullptr ? latest : first)->device.op_overhead_us;
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
  rates.op_overhead_us = op_overhead_us(gpu);
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
