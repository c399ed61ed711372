// A list scheduler whose choice of devices is a weighted sum of what it knows of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/footprint.h"
#include "berth/sdk/random.h"
#include "berth/support/index.h"
#include "common/engines.h"
#include "instant/rules.h"

namespace berth::policies::instant {

/// Places all groups of a problem in one pass over its ops. Device kinds, constraints on single groups,
/// co-location and the memory of parameters are kept where that is possible; gaps between ops and memory that
/// comes and goes are not considered. [thread-compatible]
class Decoder {
 public:
  /// Spreads over `devices`; others get what none of them can run or hold. `problem` must outlive it.
  Decoder(const Problem& problem, std::vector<DeviceId> devices);

  struct Pass {
    Rule rule;
    /// Every priority is multiplied by a number drawn from [1 - noise, 1 + noise].
    double noise = 0;
    /// How much of the outputs counts against a device's memory; see Footprint.
    double output_share = 0;
    /// The placement to better; null = none. Groups that are not reached yet count as where they are there.
    const GroupPlacement* before = nullptr;
  };
  /// Nothing if `stop()` says so, which is asked every 512 ops. Takes O(edges x devices), or O(edges + groups x
  /// devices) on machines of more than kMany devices, of which each group looks at those that hold its
  /// neighbours and at those that are free first.
  [[nodiscard]] std::optional<GroupPlacement> run(const Pass& pass, Random& random,
                                                  const std::function<bool()>& stop);
  static constexpr std::size_t kMany = 16;

 private:
  /// A group on one device, as far as it is known, in microseconds.
  struct Terms {
    double ready = 0;           ///< when its inputs are there
    double first = kCannotRun;  ///< when the first transfer of its inputs starts
    double arrive = 0;          ///< see Rule
    double send = 0;
    double join = 0;
    double future = 0;
  };
  struct Way {
    double latency_us = 0;
    double us_per_byte = 0;
    std::span<const ChannelId> channels;
    bool parallel = false;
  };
  /// A tensor that arrives on a device; the copies of one tensor are a chain.
  struct Copy {
    DeviceId device;
    double arrival_us;
    std::int32_t next;
  };
  struct Ready {
    double priority;
    OpId op;
    bool operator<(const Ready& other) const {
      return priority != other.priority ? priority < other.priority : op > other.op;
    }
  };

  void begin(const Pass& pass, Random& random);
  void put(GroupId group, DeviceId device);
  void find_fixed();
  void rank(double transfers);
  void make_ready(OpId op);
  void find_candidates(GroupId group);
  void add_near(GroupId group);
  void add_free();
  void add(DeviceId device);
  [[nodiscard]] DeviceId choose(OpId op, const Rule& rule);
  void weigh_inputs(OpId op);
  void weigh_other_inputs(OpId member);
  void weigh_outputs(OpId member, bool joins);
  void weigh_joins(const Edge& edge);
  void place(OpId op, DeviceId device);
  double send(const Edge& edge, DeviceId src, DeviceId dst);

  [[nodiscard]] GroupId group_of(OpId op) const { return problem_.groups().of(op); }
  [[nodiscard]] DeviceId device_of(OpId op) const { return placement_[group_of(op)]; }
  [[nodiscard]] const Way& way(DeviceId src, DeviceId dst) const {
    return ways_[at(src) * device_count_ + at(dst)];
  }
  [[nodiscard]] double transfer_us(TensorId tensor, DeviceId src, DeviceId dst) const {
    const Way& over = way(src, dst);
    return over.latency_us + over.us_per_byte * bytes_[at(tensor)];
  }
  [[nodiscard]] double arrival_us(TensorId tensor, DeviceId device) const;
  [[nodiscard]] double transfer_start_us(DeviceId src, DeviceId dst, double from_us) const;

  const Problem& problem_;
  const Graph& graph_;
  std::vector<DeviceId> devices_;
  std::size_t device_count_;
  bool broadcasts_;        // placeto: one transfer reaches all receivers
  std::vector<Way> ways_;  // by source, then destination
  Engines engines_;
  std::vector<double> bytes_;         // by tensor
  std::vector<double> busy_us_;       // by device class, then op
  std::vector<double> mean_us_;       // by op
  std::vector<double> mean_send_us_;  // by tensor
  double mean_latency_us_;
  /// Groups that a single device can run: everybody knows where they will be.
  std::vector<std::pair<GroupId, DeviceId>> fixed_;
  // One pass.
  const GroupPlacement* before_ = nullptr;
  GroupPlacement placement_;
  std::vector<double> ranks_us_;
  std::vector<std::int32_t> waiting_;  // by op: inputs that are not placed
  std::vector<double> end_us_;
  std::vector<double> free_us_, load_us_, outgoing_us_, incoming_us_, channels_us_;
  std::optional<Footprint> footprint_;
  std::vector<std::int64_t> used_bytes_;
  std::vector<std::int32_t> first_copy_;  // by tensor, into copies_
  std::vector<Copy> copies_;
  std::vector<Ready> ready_;  // a heap
  std::vector<DeviceId> candidates_;
  std::vector<bool> is_candidate_;
  std::vector<Terms> terms_;  // by device
};

}  // namespace berth::policies::instant
