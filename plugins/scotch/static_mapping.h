// The policy behind `scotch` and `mincut`.
#pragma once

#include <string>

#include "berth/export.h"
#include "berth/policy.h"
#include "berth/sdk/repair.h"
#include "scotch/scotch_library.h"

namespace berth::policies::scotch {

inline constexpr OptionSpec kScotchOptions[] = {
    {"strategy",
     OptionType::text,
     "default",
     "what Scotch's strategy favours",
     {},
     "default,quality,speed,balance"},
    {"imbalance", OptionType::real, "0.01", "by how much a load may pass its share, relative",
     OptionRange::above(0).up_to(10)},
    kRepairOption};

/// Maps the graph of groups onto the graph of devices with Scotch, as Mirhoseini et al., ICML 2017,
/// and Addanki et al., NeurIPS 2019, did for their baselines. The weight of a group is its compute
/// time, that of an edge its bytes in both directions, that of a device its speed. The distance of
/// two devices is the time that a tensor of the graph's mean size takes from one to the other. A
/// group that only one device can run is fixed there.
class BERTH_EXPORT ScotchPolicy : public Policy {
 public:
  /// `hosts`: host devices take part; otherwise they get only what nothing else can run.
  ScotchPolicy(const Options& options, bool hosts);

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override;

 private:
  std::string strategy_;
  double imbalance_;
  bool repair_;
  bool hosts_;
};

}  // namespace berth::policies::scotch
