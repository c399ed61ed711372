// Placeto as a policy: Addanki et al., "Learning Generalizable Device Placement Algorithms for
// Distributed Machine Learning", NeurIPS 2019.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/learning.h"
#include "berth/options.h"
#include "learning/reinforce.h"
#include "network.h"
#include "state_features.h"

namespace berth::placeto {

class PlacetoPolicy final : public LearnedPolicy {
 public:
  explicit PlacetoPolicy(const Options& options);
  ~PlacetoPolicy() override;

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override;
  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;
  UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                      const UpdateOptions& options) override;
  void save(const std::filesystem::path& file, const std::string& note) const override;
  std::string load(const std::filesystem::path& file) override;
  [[nodiscard]] std::int64_t parameter_count() const override;

 private:
  struct ProblemView;
  struct Tape;
  Network& network(std::size_t devices);
  /// Makes the network of the option `weights`, where it names some that fit.
  void start_from_weights();
  /// Throws what load throws.
  [[nodiscard]] std::unique_ptr<Network> network_of(const std::filesystem::path& file,
                                                    const learning::Checkpoint& checkpoint) const;
  [[nodiscard]] std::map<std::string, std::string> checkpoint_options(std::size_t devices) const;
  [[nodiscard]] FeatureShape feature_shape(std::size_t devices) const;
  [[nodiscard]] std::shared_ptr<const ProblemView> view_of(const Problem& problem);
  Placement answer(Evaluator& evaluator, const PlaceContext& context,
                   const learning::RefineOptions& refine);

  Options options_;
  std::map<std::string, std::string> shape_options_;  ///< those that a checkpoint must share
  std::uint64_t seed_;
  std::unique_ptr<Network> network_;  ///< made when the number of devices is known
  std::vector<std::shared_ptr<const ProblemView>> views_;
};

}  // namespace berth::placeto
