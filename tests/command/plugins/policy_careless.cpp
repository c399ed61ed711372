// Puts everything on the first device, whether it fits or not. Notes how many threads it was
// given, where that was said.
#include <string>

#include "berth/plugin.h"

namespace {

class Careless : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator& evaluator,
                            const berth::PlaceContext& context) override {
    const berth::Problem& problem = evaluator.problem();
    berth::PolicyAnswer answer(
        berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0));
    if (context.threads > 0) {
      answer.notes.push_back("it was given " + std::to_string(context.threads) + " threads");
    }
    return answer;
  }
};

constexpr berth::OptionSpec kOptions[] = {
    {"level", berth::OptionType::integer, "3", "how careless", berth::OptionRange::at_least(0)},
    {"mood", berth::OptionType::text, "calm", "of whoever places", {}, "calm,wild"},
    {"motto", berth::OptionType::text, "", "any words"}};

}  // namespace

BERTH_PLUGIN(Careless, "careless", "2.5", "everything on the first device", kOptions);
