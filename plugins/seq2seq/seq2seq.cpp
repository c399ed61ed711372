// The sequence-to-sequence policy of Mirhoseini et al., "Device Placement Optimization with
// Reinforcement Learning", ICML 2017. It reads the problem's groups in their order and draws a
// device for each. The network is in learning/placer.h.
#include "berth/plugin.h"
#include "learning/sequence_policy.h"

namespace berth::seq2seq {
namespace {

constexpr const char* kName = "seq2seq";
constexpr const char* kVersion = "1.0";

class Seq2SeqPolicy final : public learning::SequencePolicy {
 public:
  explicit Seq2SeqPolicy(const Options& options)
      : SequencePolicy(options, {kName, kVersion, learning::kSequenceShapeOptions, {}}) {}
};

constexpr auto kList = learning::join(learning::kSequenceShapeOptions, learning::kSequenceOptions);
constexpr const auto& kOptions = kList.specs;

}  // namespace

BERTH_PLUGIN(Seq2SeqPolicy, "seq2seq", "1.0",
             "learned, all groups by one sequence of draws (Mirhoseini et al., ICML 2017)",
             kOptions);

}  // namespace berth::seq2seq
