#include "auto/known.h"

#include <algorithm>
#include <iterator>

namespace berth::policies::auto_policy {
namespace {

/// `exact` can prove something of small problems while others only begin. `dp` minimises the largest load:
/// a start worth its time for throughput. `m-sct` is a good start on real networks, where it needs 13 to
/// 50 ms for some thousand ops; stopped before, it is a worse one.
constexpr Known kKnown[] = {
    {.policy = "single", .quickest = true, .takes_steps = 0},
    {.policy = "heft",
     .quickest = true,
     .on_parts = true,
     .takes_steps = 4,
     .takes_steps_per_device = 0.25},
    {.policy = "metis",
     .quickest = true,
     .on_parts = true,
     .takes_steps = 4,
     .takes_steps_per_device = 0.05,
     .takes_s = 0.0025},
    {.policy = "instant", .quickest = true, .takes_steps = 0},
    {.policy = "topo", .quickest = true},
    {.policy = "m-topo", .quickest = true},
    {.policy = "expert", .quickest = true, .on_parts = true},
    {.policy = "fill", .quickest = true},
    {.policy = "even", .quickest = true},
    {.policy = "metis:phases=2", .quickest = true},
    {.policy = "exact", .share = 0.2, .throughput_share = 0.2},
    {.policy = "dp", .share = 0.05, .throughput_share = 0.2, .slow = true},
    {.policy = "stages", .share = 0.1, .throughput_share = 0.1},
    {.policy = "m-etf", .takes_steps = 12, .takes_steps_per_device = 0.7},
    {.policy = "m-sct", .share = 0.05, .least_s = 0.05, .throughput_share = 0.2},
};
constexpr Known kOther = {.policy = {}};

}  // namespace

const Known& known(std::string_view policy) {
  const auto* const found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                         [&](const Known& each) { return each.policy == policy; });
  return found != std::end(kKnown) ? *found : kOther;
}

}  // namespace berth::policies::auto_policy
