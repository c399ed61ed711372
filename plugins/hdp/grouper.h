// The grouper of Mirhoseini et al., "A Hierarchical Model for Device Placement", ICLR 2018: a
// feed-forward network with a softmax over groups, applied to every unit by itself.
#pragma once

#include "learning/grouper.h"

namespace berth::hdp {

/// Numbers per unit that tell where in the graph it is.
inline constexpr std::int64_t kPlaceFeatures = 64;

/// Features of every unit, [units, kPlaceFeatures]: units that are near each other in the graph have rows
/// that are near each other. The mean of the first powers of the adjacency matrix, its rows scaled
/// to 1, of a random projection of the units (FastRP; Chen et al., CIKM 2019).
[[nodiscard]] torch::Tensor place_features(const Groups& units);

/// The first division of every unit, [units, groups]: 1 for its group (division.h), else 0.
[[nodiscard]] torch::Tensor starting_groups(const Problem& problem, std::int64_t groups);

/// log pi = log softmax(relu([types * table, shapes, place] * W1 + b1) * W2 + b2 + prior * start).
///
/// `prior` is not published. Without it, a unit's group is nearly uniform at first, and no
/// placement of such groups is good. With it, learning begins with a division into parts that
/// belong together, and the network moves units between them.
class FeedForwardGrouper final : public learning::Grouper {
 public:
  /// `prior` >= 0, in units of the logits; 0 = as published.
  FeedForwardGrouper(const learning::Vocabulary& vocabulary, std::int64_t hidden,
                     std::int64_t groups, double prior, learning::Parameters& parameters,
                     Random& random);

  [[nodiscard]] torch::Tensor features(const Problem& problem,
                                       const learning::Units& units) const override;
  [[nodiscard]] torch::Tensor log_policy(const torch::Tensor& features) const override;

 private:
  std::int64_t vocabulary_;
  std::int64_t groups_;
  double prior_;
  torch::Tensor type_table_;
  torch::Tensor first_, first_bias_, last_, last_bias_;
};

}  // namespace berth::hdp
