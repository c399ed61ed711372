#include "costs/arithmetic.h"

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "costs/efficiency.h"
#include "ops/work.h"

namespace berth {

Tf32 tf32_from_name(std::string_view name) {
  for (const Tf32 tf32 : {Tf32::none, Tf32::convolutions, Tf32::all}) {
    if (name == tf32_name(tf32)) return tf32;
  }
  throw Error(
      ErrorCode::invalid_argument,
      cat("'", name, "' does not say what is computed in TF32; write none, convolutions or all"));
}

std::string_view tf32_name(Tf32 tf32) noexcept {
  switch (tf32) {
    case Tf32::none:
      return "none";
    case Tf32::convolutions:
      return "convolutions";
    case Tf32::all:
      break;
  }
  return "all";
}

Arithmetic usual_arithmetic(const Graph& graph) {
  const bool has_runtime = graph.dialect() != "berth";
  return {has_runtime ? Tf32::all : Tf32::convolutions, /*narrow_as_integers=*/false};
}

namespace costs {
namespace {

bool takes_tf32(const Work& work, const Device& device, Tf32 tf32) noexcept {
  const std::optional<Tf32> least = least_tf32(work);
  return device.flops_tf32 > 0 && least && tf32 >= *least;
}

/// Whether products with narrow weights are of 8-bit integers. llama.cpp's kernels for them are chosen from
/// Pascal's four-way dot product on, but not on Volta, whose 16 bits are faster.
bool takes_integers(const Work& work, const Device& device, const ProductShares& shares,
                    const Arithmetic& arithmetic) noexcept {
  return arithmetic.narrow_as_integers && work.narrow_weights && work.op_class == OpClass::matmul &&
         shares.integers > 0 && device.flops_8 > 0 && device.flops_8 >= device.flops_16;
}

}  // namespace

double peak_flops(const Device& device, DType dtype, bool matrix) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::c128:
      return device.flops_64 > 0 ? device.flops_64 : device.flops / 2;
    case DType::f16:
    case DType::bf16:
      return matrix && device.flops_16 > 0 ? device.flops_16 : device.flops;
    case DType::f8:
    case DType::i8:
    case DType::u8:
    case DType::i4:
    case DType::u4:
      return matrix && device.flops_8 > 0 ? device.flops_8 : device.flops;
    default:
      return device.flops;
  }
}

std::optional<Tf32> least_tf32(const Work& work) noexcept {
  if (work.dtype != DType::f32 || !efficiency(work.op_class, /*host=*/false).matrix) return {};
  switch (work.op_class) {
    case OpClass::convolution:
    case OpClass::pointwise_convolution:
    case OpClass::grouped_convolution:
    case OpClass::recurrent:
      return Tf32::convolutions;
    default:
      return Tf32::all;
  }
}

ProductRate product_rate(const Work& work, const Device& device,
                         const Arithmetic& arithmetic) noexcept {
  const Efficiency& share = efficiency(work.op_class, device.host);
  const ProductShares& shares = product_shares(device);
  if (takes_integers(work, device, shares, arithmetic)) {
    return {device.flops_8 * shares.integers, /*element_bytes=*/1};
  }
  // No class comes nearer to the peak than plain products do.
  const double reached = std::min(share.compute, share_of(shares, work.dtype));
  double flops = peak_flops(device, work.dtype, /*matrix=*/true) * reached;
  if (takes_tf32(work, device, arithmetic.tf32)) {
    flops = std::max(flops, device.flops_tf32 * share.compute);
  }
  return {flops, ops::work::element_bytes(work.dtype)};
}

}  // namespace costs
}  // namespace berth
