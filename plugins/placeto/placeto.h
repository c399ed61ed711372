// Placeto as a policy: Addanki et al., "Learning Generalizable Device Placement Algorithms for
// Distributed Machine Learning", NeurIPS 2019.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/options.h"
#include "berth/sdk/learning.h"
#include "learning/network_policy.h"
#include "network.h"
#include "state_features.h"

namespace berth::placeto {

class PlacetoPolicy final : public learning::NetworkPolicy {
 public:
  explicit PlacetoPolicy(const Options& options);
  ~PlacetoPolicy() override;

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;

 private:
  struct ProblemView;
  struct Tape;
  [[nodiscard]] learning::Facts facts_of(std::span<Evaluator* const> evaluators) const override;
  [[nodiscard]] std::unique_ptr<learning::Network> make_network(
      const learning::Facts& facts) const override;
  void require_served(const learning::Network& network, const Problem& problem) const override;
  UpdateReport learn(const NetworkPolicy::Tape& tape, std::span<const double> advantages,
                     double entropy_weight) override;
  [[nodiscard]] FeatureShape feature_shape(std::size_t devices) const;
  [[nodiscard]] std::shared_ptr<const ProblemView> view_of(const Problem& problem);

  learning::Views<ProblemView> views_;
};

}  // namespace berth::placeto
