// Rates of a GPU, which its driver does not tell.
#pragma once

#include <string>

#include "berth/machines.h"
#include "detect/machine_facts.h"

namespace berth::detect {

struct GpuRates {
  double flops = 0;
  double flops_16 = 0, flops_8 = 0, flops_64 = 0, flops_tf32 = 0;  ///< as in Device
  double multiprocessors = 0;
  double op_overhead_us = 0;
  double nvlink_lane = 0;  ///< bytes per second of one link in one direction; 0 = it has none
  const KnownDevice* known = nullptr;  ///< the product, where machines in words know it
  std::string source;
};

/// The data sheet's figures of a product that machines in words know, else what its generation, cores and
/// highest clock make.
[[nodiscard]] GpuRates rates_of(const GpuFacts& gpu);

/// "NVIDIA GeForce RTX 4090" -> "geforce-rtx-4090".
[[nodiscard]] std::string kind_name(const std::string& product);

/// 2.5 for 2.5e9.
[[nodiscard]] std::string giga(double figure);

}  // namespace berth::detect
