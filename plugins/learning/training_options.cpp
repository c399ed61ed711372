#include "learning/training_options.h"

#include <string>

namespace berth::learning {
namespace {

void read_starts(const Options& options, RefineOptions& how) {
  if (!options.values().contains(kStartsOption.name)) return;
  const std::string& starts = options.text(kStartsOption.name);
  how.starts = starts == "known"    ? RefineOptions::Starts::known
               : starts == "random" ? RefineOptions::Starts::random
                                    : RefineOptions::Starts::none;
}

}  // namespace

void read_training(const Options& options, RefineOptions& how) {
  if (options.values().contains(kBaseline)) {
    const std::string& baseline = options.text(kBaseline);
    how.baseline = baseline == "steps"     ? RefineOptions::Baseline::steps
                   : baseline == "average" ? RefineOptions::Baseline::average
                                           : RefineOptions::Baseline::best;
  }
  if (!options.values().contains(kRewardOption.name)) return;
  const std::string& reward = options.text(kRewardOption.name);
  how.reward = reward == "log"       ? RefineOptions::Reward::log
               : reward == "seconds" ? RefineOptions::Reward::seconds
                                     : RefineOptions::Reward::root;
  how.discount = options.real(kDiscountOption.name);
  how.normalised = options.text(kAdvantagesOption.name) == "normalised";
  read_starts(options, how);
  how.max_norm = options.real(kMaxNormOption.name);
}

}  // namespace berth::learning
