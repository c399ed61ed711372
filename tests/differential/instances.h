// Random problems of every kind that a user may make, the odd ones more often than in life.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/random.h"

namespace berth::differential {

struct Instance {
  std::shared_ptr<const Problem> problem;  ///< null: refused
  std::string refusal;                     ///< why, where it was
  std::vector<ConstraintRule> rules;       ///< as the problem has them
};

/// The same for the same seed, on every machine.
[[nodiscard]] Instance make_instance(std::uint64_t seed);

/// An instance as the numbers that it is drawn with: a change of one is a change of the instance.
using Genes = std::vector<std::uint64_t>;
[[nodiscard]] Genes random_genes(Random& random);
/// Without constraints and with at most `most_ops` ops.
[[nodiscard]] Instance make_instance(const Genes& genes, OpId most_ops);

}  // namespace berth::differential
