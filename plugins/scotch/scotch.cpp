// Static mapping onto all devices, the CPU included: the baseline "Scotch" of the papers.
#include "berth/plugin.h"
#include "scotch/static_mapping.h"

namespace berth::policies {
namespace {

class ScotchPlugin final : public ScotchPolicy {
 public:
  explicit ScotchPlugin(const Options& options) : ScotchPolicy(options, /*hosts=*/true) {}
};

}  // namespace
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::ScotchPlugin, "scotch", "1.0",
                    "static mapping by Scotch onto all devices and their links",
                    berth::policies::kScotchOptions)
