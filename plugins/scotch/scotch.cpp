// Static mapping onto all devices, the CPU included: the baseline "Scotch" of the papers.
#include "berth/plugin.h"
#include "scotch/static_mapping.h"

namespace berth::policies::scotch {
namespace {

class ScotchPlugin final : public ScotchPolicy {
 public:
  explicit ScotchPlugin(const Options& options) : ScotchPolicy(options, /*hosts=*/true) {}
};

}  // namespace

BERTH_PLUGIN(ScotchPlugin, "scotch", "1.0",
             "static mapping by Scotch onto all devices and their links", kScotchOptions);

}  // namespace berth::policies::scotch
