// A policy that places all groups of a problem at once, by a sequence of draws (learning/placer.h),
// and measures the placement that comes of them: what seq2seq and hdp share.
//
// A policy without a grouper places the problem's groups. One with a grouper takes them for units,
// draws the groups first, and learns both by the one measurement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/options.h"
#include "berth/sdk/learning.h"
#include "berth/sdk/repair.h"
#include "berth/sdk/training_options.h"
#include "learning/form.h"
#include "learning/grouper.h"
#include "learning/network_policy.h"

namespace berth::learning {

/// Options that weights depend on; a plugin lists them first, then its own of that kind.
inline constexpr std::array<OptionSpec, 7> kSequenceShapeOptions = {
    {{"hidden", OptionType::integer, "256",
      "units of the decoder's LSTM, half of them in each direction of the encoder's",
      OptionRange::at_least(32).up_to(4096).multiple_of(32)},
     {"groups", OptionType::integer, "320", "groups that a sequence may have",
      OptionRange::at_least(2).up_to(4096)},
     {"types", OptionType::integer, "200",
      "op types with an embedding of their own, the most frequent of the first problems; the rest "
      "share one",
      OptionRange::at_least(0).up_to(100000)},
     {"temperature", OptionType::real, "10", "logits are divided by it", OptionRange::above(0)},
     {"tanh_constant", OptionType::real, "5", "C of C * tanh(logits); 0 = unbounded",
      OptionRange::at_least(0)},
     {"aligned", OptionType::boolean, "true",
      "the decoder sees what the encoder made of the group it places; false: it finds it by "
      "attention alone, as in the published code"},
     {"persistence", OptionType::real, "0",
      "logarithm of the odds that a group goes with the one before rather than elsewhere, to begin "
      "with; 0: nothing of the kind, as published",
      OptionRange::at_least(0)}}};

inline constexpr std::array<OptionSpec, 3> kSequenceOwnOptions = {
    {{"weights", OptionType::text, "", "file of a trained policy; none or empty = fresh weights"},
     {"init_seed", OptionType::integer, "1", "seed of fresh weights", OptionRange::at_least(0)},
     kFormOption}};
inline constexpr auto kSequenceOptions =
    join_options(kSequenceOwnOptions, training_options({.entropy = "0.003", .baseline = "best"}));

struct SequenceSettings {
  const char* name;                   ///< of the plugin
  const char* version;                ///< of the plugin
  std::span<const OptionSpec> shape;  ///< options that weights depend on
  GrouperMaker make_grouper;          ///< empty = the problem's groups are placed
};

class SequencePolicy : public NetworkPolicy {
 public:
  SequencePolicy(const Options& options, const SequenceSettings& settings);
  ~SequencePolicy() override;

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;

 private:
  struct Net;
  struct View;
  struct Tape;
  [[nodiscard]] Facts facts_of(std::span<Evaluator* const> evaluators) const override;
  [[nodiscard]] std::unique_ptr<Network> make_network(const Facts& facts) const override;
  void require_served(const Network& network, const Problem& problem) const override;
  UpdateReport learn(const NetworkPolicy::Tape& tape, std::span<const double> advantages,
                     double entropy_weight) override;
  void network_changed() override { views_.clear(); }  // made with the vocabulary of before
  void sample_problem(Evaluator& evaluator, std::size_t index, const RolloutOptions& options,
                      Random& random, Tape& tape, Rollout& out);

  GrouperMaker make_grouper_;
  Views<View> views_;
};

}  // namespace berth::learning
