// Clusters into which more flows than a link can bring in time.
//
// Let a step take T at most, and let a cluster, the hub, be on a device d. What it reads of another
// cluster, a satellite, either comes over links, or the satellite is on d too.
//
// Arrivals occupy d's incoming engine, one tensor after the other, each once and for no less
// than its fastest transfer. It does not start before its producer's head and work, and ends before
// the latest start of every reader in the hub; so within a window from a to b each takes the engine
// for some least time, as an op takes a device (demand.h), and all that come together no more than
// the engine has: from the first of their possible starts (or a) to the last of their possible ends
// (or b). What is on d needs d within the window for some least time (demand.h).
//
// Let L be the length of the window, E the time that the engine has, q what the hub needs, and for
// a satellite x, q(x) what it needs and e(x) the time of its transfers. Those on d have
// q + sum of q(x) <= L, the others sum of e(x) <= E. So for every price z >= 0
//   q + sum over all x of min(q(x), z e(x)) <= L + z E.
// If that does not hold, the hub is on no device of this kind. The best price is that of the
// relaxation in which parts of satellites may be chosen: q(x) / e(x) where the engine's time ends
// if those with the largest come over links first. The engine's window may be another than d's.
//
// The semantics must have incoming engines, and d one for all: dataflow, over links that are not parallel, to
// kinds without an engine per link.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proofs/bound_facts.h"
#include "proofs/demand.h"
#include "proofs/heads.h"
#include "proofs/proof.h"

namespace berth::bounds {

class Hubs {
 public:
  explicit Hubs(const Facts& facts);

  /// Hubs that cannot be on a kind in a step of at most `t_us`; sums of times are rounded by
  /// less than `margin_us`.
  [[nodiscard]] std::vector<CrowdedHub> crowded(const Known& known,
                                                const std::vector<std::vector<OpId>>& clusters,
                                                const Heads& heads, const Heads& tails, double t_us,
                                                double margin_us);

  [[nodiscard]] std::int64_t work() const noexcept { return work_; }

 private:
  struct Transfer {
    GroupId from;  ///< satellite
    double us, earliest_us, latest_us;

    [[nodiscard]] double needed_us(double opens_us, double closes_us) const {
      return Demand::within_us({us, earliest_us, latest_us}, opens_us, closes_us);
    }
  };
  struct Satellite {
    std::optional<Demand> demand;  ///< none: it cannot be on the kind
    std::size_t first, last;       ///< of its transfers
  };
  struct Choice {
    double needed_us, transfer_us;  ///< of a satellite, if it is on the device, and if not
  };
  void gather_transfers(const Known& known, const std::vector<OpId>& hub, KindId kind,
                        const Heads& heads, const Heads& tails, double t_us);
  void gather_satellites(const Known& known, const std::vector<std::vector<OpId>>& clusters,
                         KindId kind, const Heads& heads, const Heads& tails, double t_us);
  [[nodiscard]] std::optional<CrowdedHub> search(const Demand& hub, double t_us, double margin_us);
  [[nodiscard]] std::optional<CrowdedHub> test(const Demand& hub, double from_us, double to_us,
                                               double margin_us);
  [[nodiscard]] double price(double left_us, double window_us);

  const Facts& facts_;
  std::vector<bool>
      queues_;  // by kind of the receiver: transfers to it hold its only incoming engine
  std::vector<Transfer> transfers_;  // by satellite
  std::vector<Satellite> satellites_;
  std::vector<Choice> choices_;
  std::int64_t work_ = 0;
};

}  // namespace berth::bounds
