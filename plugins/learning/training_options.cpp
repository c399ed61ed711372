#include "learning/training_options.h"

#include <string>

namespace berth::learning {

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
  how.known_starts = options.text(kStartsOption.name) == "known";
  how.max_norm = options.real(kMaxNormOption.name);
}

}  // namespace berth::learning
