#include "berth/sdk/training_options.h"

#include <string>

namespace berth {

void read_training(const Options& options, RefineOptions& how) {
  how.updates = options.integer("episodes");
  how.samples = static_cast<int>(options.integer("samples"));
  how.learning_rate = options.real("learning_rate");
  how.entropy = options.real("entropy");
  const std::string& reward = options.text("reward");
  how.reward = reward == "log"       ? RefineOptions::Reward::log
               : reward == "seconds" ? RefineOptions::Reward::seconds
                                     : RefineOptions::Reward::root;
  const std::string& baseline = options.text("baseline");
  how.baseline = baseline == "steps"     ? RefineOptions::Baseline::steps
                 : baseline == "average" ? RefineOptions::Baseline::average
                                         : RefineOptions::Baseline::best;
  how.discount = options.real("discount");
  how.normalised = options.text("advantages") == "normalised";
  how.max_norm = options.real("max_norm");
  how.repair = options.boolean(kRepairOption.name);
  if (!options.values().contains("starts")) return;
  how.passes = static_cast<int>(options.integer("passes"));
  const std::string& starts = options.text("starts");
  how.starts = starts == "known"    ? RefineOptions::Starts::known
               : starts == "random" ? RefineOptions::Starts::random
                                    : RefineOptions::Starts::none;
}

}  // namespace berth
