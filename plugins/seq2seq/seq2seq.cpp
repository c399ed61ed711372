// The sequence-to-sequence policy of Mirhoseini et al., "Device Placement Optimization with
// Reinforcement Learning", ICML 2017. It reads the problem's groups in their order and draws a
// device for each. The network is in learning/placer.h.
#include "berth/plugin.h"
#include "learning/sequence_policy.h"

namespace berth::seq2seq {
namespace {

constexpr const char* kName = "seq2seq";
constexpr const char* kVersion = "1.0";

constexpr auto kOptions = join_options(learning::kSequenceShapeOptions, learning::kSequenceOptions);

/// Mirhoseini et al., ICML 2017: the cost is the square root of the runtime, the baseline its moving
/// average, which begins with the signal of a failure. What that paper leaves open is as in the
/// next one and its code (ICLR 2018; TensorFlow's grappler): attention alone, 512 units, eight
/// placements in an update, a gradient's norm of at most 1. The rate is not published.
constexpr learning::FormValue kPublished[] = {
    {"hidden", "512"},       {"aligned", "false"},      {"samples", "8"},
    {"entropy", "0"},        {"learning_rate", "1e-3"}, {"reward", "root"},
    {"baseline", "average"}, {"advantages", "plain"},   {"max_norm", "1"}};

class Seq2SeqPolicy final : public learning::SequencePolicy {
 public:
  explicit Seq2SeqPolicy(const Options& options)
      : SequencePolicy(learning::with_form(options, kName, kPublished),
                       {kName, kVersion, learning::kSequenceShapeOptions, {}}) {}
};

}  // namespace

BERTH_PLUGIN(Seq2SeqPolicy, "seq2seq", "1.0",
             "learned, all groups by one sequence of draws (Mirhoseini et al., ICML 2017)",
             kOptions);

}  // namespace berth::seq2seq
