// Static mapping onto the accelerators alone: the baseline "MinCut" of the papers.
#include "berth/plugin.h"
#include "scotch/static_mapping.h"

namespace berth::policies::scotch {
namespace {

class MinCutPlugin final : public ScotchPolicy {
 public:
  explicit MinCutPlugin(const Options& options) : ScotchPolicy(options, /*hosts=*/false) {}
};

}  // namespace

BERTH_PLUGIN(MinCutPlugin, "mincut", "1.0",
             "static mapping by Scotch onto the devices without the hosts", kScotchOptions);

}  // namespace berth::policies::scotch
