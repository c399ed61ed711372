// The policies that a search starts from and that are not treated like the rest.
#pragma once

#include <limits>
#include <string_view>

namespace berth::policies::auto_policy {

/// Budget share of one contained policy. One that is stopped while it repairs may return what fits only
/// because the host holds all: with more time for each, a short budget went to such a repair and nothing
/// was left for those that need none.
constexpr double kShareOfOne = 0.25;

/// A policy that needs other treatment than the rest.
struct Known {
  std::string_view policy;     ///< a name, or as the user names it: "metis:phases=2"
  double share = kShareOfOne;  ///< of the budget
  double least_s = 0;          ///< gets at least this, up to kShareOfOne; latency only
  double throughput_share = kShareOfOne;
  bool quickest =
      false;  ///< takes little more than a few evaluations: comes before parts of the machine
  bool on_parts = false;  ///< worth running on a part of the machine too
  bool slow = false;      ///< uses all that it gets on large graphs
  /// About how many steps it takes, and how many more per device, and how many seconds beside them.
  double takes_steps = std::numeric_limits<double>::infinity();
  double takes_steps_per_device = 0;
  double takes_s = 0;
};

/// A policy that is not in the table has what holds for the rest.
[[nodiscard]] const Known& known(std::string_view policy);

}  // namespace berth::policies::auto_policy
