// Puts everything on the first device, whether it fits or not.
#include "berth/plugin.h"

namespace {

class Careless : public berth::Policy {
 public:
  explicit Careless(const berth::Options&) {}

  berth::Placement place(const berth::Problem& problem, berth::Evaluator&,
                         berth::PlaceContext&) override {
    return berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

constexpr berth::OptionSpec kOptions[] = {
    {"level", berth::OptionType::integer, "3", "how careless, >= 0"},
    {"mood", berth::OptionType::text, "calm", "calm or wild"}};

}  // namespace

BERTH_POLICY_PLUGIN(Careless, "careless", "2.5", "everything on the first device", kOptions)
