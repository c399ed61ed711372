// Random graphs whose result is known.
#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/test_program.h"

namespace berth::test {

/// Layers of ops that read some of the layer before, each adding its number.
struct RandomSums {
  /// Makes another kernel of an op's.
  using Wrap = std::function<runtime::Kernel(OpId, runtime::Kernel)>;

  RandomSums(std::uint32_t seed, int ops, const Wrap& wrap = {}) : random(seed) {
    std::vector<float> values;
    for (OpId op = 0; op < ops; ++op) {
      std::set<OpId> producers;
      for (int i = 0; op > 0 && i < 1 + static_cast<int>(random() % 3); ++i) {
        producers.insert(static_cast<OpId>(random() % static_cast<std::uint32_t>(op)));
      }
      float value = static_cast<float>(op % 5);
      for (const OpId producer : producers) value += values[static_cast<std::size_t>(producer)];
      value = std::fmod(value, 1024.0F);
      values.push_back(value);
      runtime::Kernel kernel = [this, op](runtime::KernelContext& context,
                                          std::span<const runtime::Value> inputs,
                                          std::span<runtime::Value> outputs) {
        if (op == failing.load()) throw std::runtime_error("as the test wants it");
        sum(static_cast<float>(op % 5))(context, inputs, outputs);
        outputs[0].tensor.fmod_(1024.0);
      };
      if (wrap) kernel = wrap(op, std::move(kernel));
      program.add("op" + std::to_string(op), {producers.begin(), producers.end()},
                  std::move(kernel));
    }
    program.add_output(ops - 1);
    expected = values.back();
  }
  Placement placement(int ops, int devices) {
    Placement placement;
    for (int op = 0; op < ops; ++op) {
      placement.push_back(static_cast<DeviceId>(random() % static_cast<std::uint32_t>(devices)));
    }
    return placement;
  }

  std::mt19937 random;
  std::atomic<OpId> failing = kNoOp;
  TestProgram program;
  float expected = 0;
};

}  // namespace berth::test
