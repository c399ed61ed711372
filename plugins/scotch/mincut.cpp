// Static mapping onto the accelerators alone: the baseline "MinCut" of the papers.
#include "berth/plugin.h"
#include "scotch/static_mapping.h"

namespace berth::policies {
namespace {

class MinCutPlugin final : public ScotchPolicy {
 public:
  explicit MinCutPlugin(const Options& options) : ScotchPolicy(options, /*hosts=*/false) {}
};

}  // namespace
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::MinCutPlugin, "mincut", "1.0",
                    "static mapping by Scotch onto the devices without the hosts",
                    berth::policies::kScotchOptions)
