// Puts everything on the first device, whether it fits or not.
#include "berth/plugin.h"

namespace {

class Careless : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
    const berth::Problem& problem = evaluator.problem();
    return berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

constexpr berth::OptionSpec kOptions[] = {
    {"level", berth::OptionType::integer, "3", "how careless", berth::OptionRange::at_least(0)},
    {"mood", berth::OptionType::text, "calm", "of whoever places", {}, "calm,wild"},
    {"motto", berth::OptionType::text, "", "any words"}};

}  // namespace

BERTH_PLUGIN(Careless, "careless", "2.5", "everything on the first device", kOptions);
