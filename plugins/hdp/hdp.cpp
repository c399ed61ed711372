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

constexpr std::array<OptionSpec, 2> kGrouperOptions = {
    {{"grouper_hidden", OptionType::integer, "64", "units of the grouper's hidden layer",
      OptionRange::at_least(1).up_to(4096)},
     {"grouping_prior", OptionType::real, "8",
      "added to a unit's logit for its group in the division to begin with (unrolled layers in "
      "stretches, else balanced); 0: as published",
      OptionRange::at_least(0).up_to(1e6)}}};
constexpr std::array<OptionSpec, 1> kDrawOptions = {
    {{"groupings", OptionType::integer, "4",
      "groupings among the samples of a problem; as many placements of each",
      OptionRange::at_least(1).up_to(1 << 20)}}};

constexpr auto kShapeOptions = join_options(learning::kSequenceShapeOptions, kGrouperOptions);
constexpr auto kOptions = join_options(kShapeOptions, kDrawOptions, learning::kSequenceOptions);

/// Mirhoseini et al., ICLR 2018: 256 groups that nothing suggests, one grouping with four placements
/// in an update, a rate of 0.1, a gradient's norm of at most 1; cost and baseline as in the paper
/// before (ICML 2017). Units of the decoder are the default. Deviations:
///   - the rate falls to a tenth, as in all learning on one graph; the paper's is fixed;
///   - no noise is added to the logits; the paper adds some in the first 500 updates;
///   - placements that do not fit teach for 5,000 updates, as in the paper before; in this one for 500;
///   - units are told apart by random projections of the graph (FastRP) and the logarithms of their shapes; the paper
///     has breadth-first numbers of six readers and six producers, and the shapes as they are.
constexpr learning::FormValue kPublished[] = {
    {"groups", "256"},       {"aligned", "false"},     {"grouping_prior", "0"}, {"groupings", "1"},
    {"samples", "4"},        {"learning_rate", "0.1"}, {"entropy", "0"},        {"reward", "root"},
    {"baseline", "average"}, {"advantages", "plain"},  {"max_norm", "1"}};

learning::GrouperMaker grouper_maker(const Options& options) {
  return
      [hidden = options.integer("grouper_hidden"), prior = options.real("grouping_prior")](
          const learning::Vocabulary& vocabulary, std::int64_t capacity,
          learning::Parameters& parameters, Random& random) -> std::unique_ptr<learning::Grouper> {
        return std::make_unique<FeedForwardGrouper>(vocabulary, hidden, capacity, prior, parameters,
                                                    random);
      };
}

class HdpPolicy final : public learning::SequencePolicy {
 public:
  explicit HdpPolicy(const Options& options)
      : HdpPolicy(learning::with_form(options, kName, kPublished), nullptr) {}

 private:
  HdpPolicy(const Options& formed, std::nullptr_t)
      : SequencePolicy(formed, {kName, kVersion, kShapeOptions, grouper_maker(formed)}) {}
};

}  // namespace

BERTH_PLUGIN(HdpPolicy, "hdp", "1.0",
             "learned, grouping and placing together (Mirhoseini et al., ICLR 2018)", kOptions);

}  // namespace berth::hdp
