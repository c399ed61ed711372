// Tiles, waves and splits.
//
// A kernel computes its result in tiles, one thread block for each, and a multiprocessor computes
// one block after the other. So the result is rounded up to whole tiles, and the blocks to whole
// waves over the multiprocessors ("tile quantization" and "wave quantization": NVIDIA, Matrix
// Multiplication Background User's Guide). Where that makes few blocks, libraries split the inner
// dimension and add up the parts. The library is taken to find the best tile and the best split.
//
// A block takes its arithmetic, or its operands from the second-level cache where that is longer,
// and kFillUs, in which nothing overlaps: the pipeline fills before the first product and drains
// after the last. That is what short inner dimensions cost.
//
// A product of few rows, as in each step of a decoder, has a kernel without tiles in all libraries
// (cuBLAS's GEMV, MMVQ and Metal's mul_mv of llama.cpp, MatMulNBits of ONNX Runtime): it reads the
// weights once, as they are stored, for all of the rows. So it waits for memory alone. More rows are
// passes over the weights, until tiles are faster.
//
// Sources of the figures:
//  kTiles      those that the guide above lists for cuBLAS, and 128 x 32, which cuDNN's kernels for
//              few channels have ("maxwell_scudnn_128x32_relu_small_nn").
//  kCacheRate  2.4 on V100, 2.2 on P100 (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture
//              via Microbenchmarking", arXiv 1804.06826).
//  kFillUs     settled on DeepBench, see efficiency.cpp: 1 to 4 us do equally well there.
//  kFewRows    llama.cpp's MMVQ_MAX_BATCH_SIZE, and as many in its Metal kernels.
//  kFewRowsRate  0.73 to 0.87 on T4 (DeepBench, results/inference: 8 bits, 1 to 4 columns, weights of 12
//              MB and more), 0.88 on V100 (results/train: 8 columns), 0.79 on M1 Max (4 bits:
//              llama.cpp pull request 1642), 0.74 to 0.78 on GB10 (4 and 8 bits: lablup/mlxcel pull
//              request 684). Libraries of 2017 reach 0.5 to 0.7 on Pascal. On processors 0.72 to 0.85 of
//              the channels' peak (llama.cpp issues 39 and 4716, normiebench issue 42; results of the costs).
#include "costs/thread_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::costs {
namespace {

struct Tile {
  double rows;
  double columns;
};
constexpr Tile kTiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256},
                           {128, 64},  {64, 128},  {64, 64},   {128, 32}, {32, 128}};

/// Bandwidth of the second-level cache over that of the memory.
constexpr double kCacheRate = 2.4;
/// Share of the memory bandwidth at which the parts of a split are written and added up.
constexpr double kSumRate = 0.75;
/// Parts are kept in f32, whatever the operands are.
constexpr double kPartBytes = 4;
/// More blocks than this per multiprocessor are never split further: nothing is idle.
constexpr double kManyWaves = 8;

/// Rows or columns that a kernel without tiles takes at once.
constexpr double kFewRows = 8;
/// With as many rows as the narrowest tile has, that one pads nothing.
constexpr double kMostPasses = 4;
/// Share of the memory bandwidth that such a kernel reaches.
constexpr double kFewRowsRate = 0.8;

}  // namespace

double product_us(const MatrixProducts& products, double flops, double element_bytes,
                  const Device& device) noexcept {
  const double units = device.multiprocessors;
  const double cache = device.memory_bandwidth * kCacheRate / units;
  const double sum_us = products.rows * products.columns * products.count * kPartBytes /
                        (device.memory_bandwidth * kSumRate) * 1e6;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double blocks = std::ceil(products.rows / tile.rows) *
                          std::ceil(products.columns / tile.columns) * products.count;
    const double arithmetic = 2 * tile.rows * tile.columns / (flops / units);
    const double operands = element_bytes * (tile.rows + tile.columns) / cache;
    const double step_us = std::max(arithmetic, operands) * 1e6;
    for (double parts = 1; parts == 1 || blocks * parts <= kManyWaves * units; parts *= 2) {
      const double block_us = step_us * std::ceil(products.inner / parts) + kFillUs;
      const double waves = std::ceil(blocks * parts / units);
      best_us = std::min(best_us, waves * block_us + (parts > 1 ? (parts + 1) * sum_us : 0));
    }
  }
  return best_us;
}

double few_rows_us(const MatrixProducts& products, double vector_flops, double bytes,
                   const Device& device) noexcept {
  const double rows = std::min(products.rows, products.columns);
  const double passes = std::ceil(rows / kFewRows);
  if (passes > kMostPasses) return std::numeric_limits<double>::infinity();
  const double arithmetic =
      2 * products.rows * products.columns * products.inner * products.count / vector_flops;
  const double reading = passes * bytes / (device.memory_bandwidth * kFewRowsRate);
  const double fill = device.multiprocessors > 0 ? kFillUs : 0;
  return fill + std::max(arithmetic, reading) * 1e6;
}

}  // namespace berth::costs
