// The hierarchical policy of Mirhoseini et al., "A Hierarchical Model for Device Placement", ICLR
// 2018. It draws a group for every unit, then a device for every group that has units, and learns
// both from the one placement that is measured. The units are the problem's groups: co-location
// classes unless others were made.
#include <string>

#include "berth/error.h"
#include "berth/plugin.h"
#include "grouper.h"
#include "learning/sequence_policy.h"

namespace berth::hdp {
namespace {

constexpr const char* kName = "hdp";
constexpr const char* kVersion = "1.0";

constexpr OptionSpec kGrouperOptions[] = {
    {"grouper_hidden", OptionType::integer, "64", "units of the grouper's hidden layer, 1 to 4096"},
    {"grouping_prior", OptionType::real, "8",
     "added to a unit's logit for its group in the division to begin with (unrolled layers in "
     "stretches, else balanced), >= 0; 0: as published"}};
constexpr OptionSpec kDrawOptions[] = {
    {"groupings", OptionType::integer, "4",
     "groupings among the samples of a problem, >= 1; as many placements of each"}};

constexpr auto kShapeList = learning::join(learning::kSequenceShapeOptions, kGrouperOptions);
constexpr auto kShapeAndDraws = learning::join(kShapeList.specs, kDrawOptions);
constexpr auto kList = learning::join(kShapeAndDraws.specs, learning::kSequenceOptions);
constexpr const auto& kOptions = kList.specs;

std::int64_t in_range(const Options& options, const char* name, std::int64_t most) {
  const std::int64_t value = options.integer(name);
  if (value >= 1 && value <= most) return value;
  throw Error(ErrorCode::invalid_argument, std::string("policy 'hdp': option '") + name + "' is " +
                                               std::to_string(value) + "; give 1 to " +
                                               std::to_string(most));
}

learning::GrouperMaker grouper_maker(const Options& options) {
  in_range(options, "groupings", 1 << 20);
  const double prior = options.real("grouping_prior");
  if (!(prior >= 0 && prior <= 1e6)) {
    throw Error(ErrorCode::invalid_argument, "policy 'hdp': option 'grouping_prior' is " +
                                                 std::to_string(prior) +
                                                 "; give a number from 0 (as published) to 1e6");
  }
  return
      [hidden = in_range(options, "grouper_hidden", 4096), prior](
          const learning::Vocabulary& vocabulary, std::int64_t capacity,
          learning::Parameters& parameters, Random& random) -> std::unique_ptr<learning::Grouper> {
        return std::make_unique<FeedForwardGrouper>(vocabulary, hidden, capacity, prior, parameters,
                                                    random);
      };
}

class HdpPolicy final : public learning::SequencePolicy {
 public:
  explicit HdpPolicy(const Options& options)
      : SequencePolicy(options, {kName, kVersion, kShapeList.specs, grouper_maker(options)}) {}
};

}  // namespace
}  // namespace berth::hdp

BERTH_POLICY_PLUGIN(berth::hdp::HdpPolicy, "hdp", "1.0",
                    "learned, grouping and placing together (Mirhoseini et al., ICLR 2018)",
                    berth::hdp::kOptions)
