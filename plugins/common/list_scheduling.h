// Shared by list schedulers besides the schedule itself: ranks, and the search for one that fits.
#pragma once

#include <functional>
#include <vector>

#include "berth/evaluator.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth::policies {

inline constexpr OptionSpec kScheduleContentionOption = {
    "contention", OptionType::boolean, "true",
    "let estimated transfers wait for each other on engines and channels; false: as published"};

/// Times averaged over devices, as list schedulers rank ops by them. [thread-safe: immutable]
class MeanTimes {
 public:
  /// Averages over `devices` (not empty), and over the ordered pairs of distinct ones.
  MeanTimes(const Problem& problem, const std::vector<DeviceId>& devices);

  /// Over the devices that can run `op`, with overheads. If none of `devices` can, over all that
  /// can.
  [[nodiscard]] double op_us(OpId op) const;
  /// Time of an edge with this many bytes between devices.
  [[nodiscard]] double transfer_us(std::int64_t bytes) const {
    return latency_us_ + static_cast<double>(bytes) * us_per_byte_;
  }
  /// A control edge costs latency.
  [[nodiscard]] double edge_us(const Edge& edge) const;

 private:
  const Problem& problem_;
  std::vector<DeviceId> devices_;
  std::vector<DeviceId> all_;
  double latency_us_ = 0;
  double us_per_byte_ = 0;
};

/// Upward rank of every op: the longest path from it to a sink, both included, of mean compute and
/// mean transfer times (Topcuoglu, Hariri, Wu, TPDS 2002, section 4.1). By op.
[[nodiscard]] std::vector<double> upward_ranks_us(const Problem& problem, const MeanTimes& means);

/// Ops by falling rank, each after its producers (among equals the order of the graph).
[[nodiscard]] std::vector<OpId> by_rank(const Graph& graph, const std::vector<double>& ranks_us);

/// Places with a growing share of the outputs counted against memory until the evaluator says that
/// the step fits. Schedulers that count every output as held for the whole step, like Baechi, would
/// spread ops for memory that a step frees long before its end. `schedule` gives a placement for a
/// share of the outputs in [0, 1]. The answer goes through `finish`; if none fits, that is the one
/// that overflows least. Without `repair`, the first placement is taken.
[[nodiscard]] Placement place_within_memory(
    const Problem& problem, Evaluator& evaluator, const PlaceContext& context, bool repair,
    const std::function<GroupPlacement(double output_share)>& schedule);

}  // namespace berth::policies
