// Coarse views of a problem around a placement, for a policy that can place some dozen groups well.
#pragma once

#include <memory>
#include <vector>

#include "berth/evaluator.h"
#include "berth/problem.h"
#include "berth/sdk/random.h"

namespace berth {

/// Large neighbourhood search (Shaw, CP 1998) by groups: what may change together changes from round
/// to round. Keeps a reference to the problem. [thread-compatible]
class Neighbourhoods {
 public:
  /// Neighbourhoods have about `count` groups each.
  Neighbourhoods(const Problem& problem, GroupId count);

  /// A random division into groups, none of which is on two devices of `placement`. Mostly one
  /// window of the topological order is left at a grain between the problem's groups and `count`,
  /// and the rest is merged; or everything is merged within random stretches of that order.
  [[nodiscard]] std::shared_ptr<const Groups> draw(const Placement& placement, Random& random);

 private:
  [[nodiscard]] const std::shared_ptr<const Groups>& grain(std::size_t level);

  const Problem& problem_;
  GroupId count_;
  /// From the problem's groups on, each with half as many as the one before; null until it is used.
  std::vector<std::shared_ptr<const Groups>> grains_;
};

/// The measure of Judged::take: the logarithm of the objective, more where memory is short.
[[nodiscard]] double log_cost(const Evaluation& evaluation);

}  // namespace berth
