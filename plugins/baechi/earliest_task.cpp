#include "baechi/earliest_task.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "berth/support/index.h"
#include "common/list_scheduling.h"

namespace berth::policies::baechi {
namespace {

/// Ops placed between two looks at the clock.
constexpr OpId kStride = 256;

/// Limit on ops waiting for transfers that are looked at again per device and placement. Every
/// transfer moves back all that its engines still owe, thousands of ops in a wide graph, and hardly
/// changes their order. Without a limit the time was quadratic in the width: 5.7 s instead of 0.8 s
/// on a step of 61,666 ops. Eight instead of four take a third more time on wide graphs; of nine of
/// up to 47,000 ops four come out 3 to 6 % worse, one 3 % better. With two, one comes out 15 % worse.
constexpr int kMostLooks = 4;

/// A ready op in the heap of a device, the earliest on top, among equals the highest rank.
struct Entry {
  double us;
  double rank_us;
  OpId op;
  bool operator<(const Entry& other) const {
    return std::tuple(-us, rank_us, -op) < std::tuple(-other.us, other.rank_us, -other.op);
  }
};
using Heap = std::priority_queue<Entry>;

/// The next op a device would run, and when.
struct Choice {
  OpId op = kNoOp;
  double start_us = kCannotRun;
  bool urgent = false;  ///< runs while the device is awake for another
};

class EarliestTaskFirst {
 public:
  EarliestTaskFirst(const Problem& problem, const std::vector<DeviceId>& devices,
                    ScheduleRules rules, const std::vector<OpId>& favourite_child)
      : problem_(problem),
        graph_(problem.graph()),
        devices_(devices),
        favourite_child_(favourite_child),
        schedule_(problem, rules),
        ranks_us_(upward_ranks_us(problem, MeanTimes(problem, devices))),
        queues_(at(problem.cluster().device_count())),
        producers_left_(at(graph_.op_count()), 0),
        offers_(at(graph_.op_count()), 0),
        fastest_first_(by_speed(problem, schedule_)) {}

  Schedule run(const PlaceContext& context) {
    for (const OpId op : graph_.topological_order()) {
      producers_left_[at(op)] = static_cast<std::int32_t>(graph_.in_edges(op).size());
      if (producers_left_[at(op)] == 0) offer(op);
    }
    for (OpId placed = 0; placed < graph_.op_count(); ++placed) {
      if (placed % kStride == kStride - 1 && context.stopped()) break;
      place_next();
    }
    return std::move(schedule_);
  }

 private:
  /// The ready ops of one device.
  struct Queues {
    Heap waiting;  ///< by the arrival of their inputs
    Heap ready;    ///< inputs there when the device is free; by rank alone
    Heap urgent;   ///< by the arrival of their inputs wherever they run
    OpId last = kNoOp;
  };

  /// All devices, by what they would compute in all, so that what starts and ends at once on several, as an op
  /// of no work, goes to the fastest of them: what follows starts earliest where its input is.
  static std::vector<DeviceId> by_speed(const Problem& problem, const Schedule& schedule) {
    std::vector<DeviceId> devices(at(problem.cluster().device_count()));
    std::iota(devices.begin(), devices.end(), DeviceId{0});
    std::vector<double> work_us(devices.size());
    for (const DeviceId device : devices) {
      for (OpId op = 0; op < problem.graph().op_count(); ++op) {
        work_us[at(device)] += schedule.busy_us(op, device);
      }
    }
    std::stable_sort(devices.begin(), devices.end(),
                     [&](DeviceId a, DeviceId b) { return work_us[at(a)] < work_us[at(b)]; });
    return devices;
  }

  [[nodiscard]] bool has_favourites() const { return !favourite_child_.empty(); }
  [[nodiscard]] GroupId group_of(OpId op) const { return problem_.groups().of(op); }

  /// Puts a ready op into the queues of the devices that may run it.
  void offer(OpId op) {
    const DeviceId fixed = schedule_.device_of(group_of(op));
    if (fixed != kNoDevice) {
      candidates_.assign(1, fixed);
    } else {
      schedule_.candidates(group_of(op), devices_, candidates_);
    }
    offers_[at(op)] = static_cast<std::int32_t>(candidates_.size());
    double anywhere_us = 0;
    for (const DeviceId device : candidates_) {
      const double us = schedule_.ready_us(op, device);
      anywhere_us = std::max(anywhere_us, us);
      queues_[at(device)].waiting.push({us, ranks_us_[at(op)], op});
    }
    if (!has_favourites()) return;
    for (const DeviceId device : candidates_) {
      queues_[at(device)].urgent.push({anywhere_us, ranks_us_[at(op)], op});
    }
  }

  /// Whether `op` runs already, or its group runs elsewhere.
  [[nodiscard]] bool is_void(OpId op, DeviceId device) const {
    const DeviceId fixed = schedule_.device_of(group_of(op));
    return schedule_.placed(op) || (fixed != kNoDevice && fixed != device);
  }

  [[nodiscard]] bool has_room(OpId op, DeviceId device) const {
    const GroupId group = group_of(op);
    return schedule_.device_of(group) == device || schedule_.has_room(group, device);
  }

  /// Whether the device is too full for `op`. The last device asked takes it anyway.
  bool turns_away(OpId op, DeviceId device) {
    if (offers_[at(op)] <= 1 || has_room(op, device)) return false;
    --offers_[at(op)];
    return true;
  }

  /// The first op that `device` could start, whatever its favourite.
  Choice first_choice(DeviceId device) {
    Queues& queues = queues_[at(device)];
    const double free_us = schedule_.free_us(device);
    Entry first{kCannotRun, 0, kNoOp};
    for (int looks = 0;;) {
      while (!queues.waiting.empty() && queues.waiting.top().us <= free_us) {
        const Entry entry = queues.waiting.top();
        queues.waiting.pop();
        queues.ready.push({0, entry.rank_us, entry.op});
      }
      Heap& heap = queues.ready.empty() ? queues.waiting : queues.ready;
      if (heap.empty()) return {};
      const Entry entry = heap.top();
      if (is_void(entry.op, device) || turns_away(entry.op, device)) {
        heap.pop();
        continue;
      }
      const double ready_us = schedule_.ready_us(entry.op, device);
      if (ready_us <= std::max(free_us, entry.us)) {
        return {entry.op, std::max(free_us, ready_us)};
      }
      // Other transfers came in between since.
      heap.pop();
      const Entry later{ready_us, entry.rank_us, entry.op};
      queues.waiting.push(later);
      if (first.op == kNoOp || first < later) first = later;
      if (++looks == kMostLooks) return {first.op, first.us};
    }
  }

  /// The favourite child of the last op of `device`, if the device is awake for it.
  Choice favourite(DeviceId device) {
    const OpId last = queues_[at(device)].last;
    const OpId child = last == kNoOp ? kNoOp : favourite_child_[at(last)];
    if (child == kNoOp || schedule_.placed(child) || producers_left_[at(child)] > 0) return {};
    const DeviceId fixed = schedule_.device_of(group_of(child));
    if (fixed != kNoDevice && fixed != device) return {};
    const auto start_on = [&](DeviceId other) {
      return std::max(schedule_.free_us(other), schedule_.ready_us(child, other));
    };
    const double here_us = start_on(device);
    if (fixed != kNoDevice) return {child, here_us};
    schedule_.candidates(group_of(child), devices_, candidates_);
    bool here = false;
    for (const DeviceId other : candidates_) {
      if (other != device && start_on(other) < here_us) return {};
      here = here || other == device;
    }
    return here ? Choice{child, here_us} : Choice{};
  }

  Choice choose(DeviceId device) {
    if (!has_favourites()) return first_choice(device);
    const Choice awaited = favourite(device);
    if (awaited.op == kNoOp) return first_choice(device);
    Heap& urgent = queues_[at(device)].urgent;
    while (!urgent.empty() &&
           (is_void(urgent.top().op, device) || !has_room(urgent.top().op, device))) {
      urgent.pop();
    }
    if (urgent.empty()) return awaited;
    const double start_us = std::max(
        {schedule_.free_us(device), urgent.top().us, schedule_.ready_us(urgent.top().op, device)});
    return start_us < awaited.start_us ? Choice{urgent.top().op, start_us, true} : awaited;
  }

  void place_next() {
    Choice best;
    DeviceId best_device = kNoDevice;
    double best_end_us = kCannotRun;
    for (const DeviceId device : fastest_first_) {
      const Choice choice = choose(device);
      if (choice.op == kNoOp) continue;
      const double end_us = choice.start_us + schedule_.busy_us(choice.op, device);
      if (best.op != kNoOp && std::tuple(choice.start_us, -ranks_us_[at(choice.op)], end_us) >=
                                  std::tuple(best.start_us, -ranks_us_[at(best.op)], best_end_us)) {
        continue;
      }
      best = choice;
      best_device = device;
      best_end_us = end_us;
    }
    const GroupId group = group_of(best.op);
    const bool fixes = schedule_.device_of(group) == kNoDevice;
    schedule_.place(best.op, best_device);
    if (fixes) offer_again(group);
    // An urgent op does not put an awake device to sleep.
    if (!best.urgent) queues_[at(best_device)].last = best.op;
    for (const Edge& edge : graph_.out_edges(best.op)) {
      if (--producers_left_[at(edge.dst)] == 0) offer(edge.dst);
    }
  }

  /// The members that are ready too may have been turned away by the device that is now fixed.
  void offer_again(GroupId group) {
    for (const OpId op : problem_.groups().members(group)) {
      if (!schedule_.placed(op) && producers_left_[at(op)] == 0) offer(op);
    }
  }

  const Problem& problem_;
  const Graph& graph_;
  const std::vector<DeviceId>& devices_;
  const std::vector<OpId>& favourite_child_;
  Schedule schedule_;
  std::vector<double> ranks_us_;
  std::vector<Queues> queues_;  // by device
  std::vector<std::int32_t> producers_left_;
  std::vector<std::int32_t> offers_;  // by op: devices that have not turned it away
  std::vector<DeviceId> candidates_;
  std::vector<DeviceId> fastest_first_;
};

}  // namespace

Schedule schedule_earliest_task_first(const Problem& problem, const std::vector<DeviceId>& devices,
                                      ScheduleRules rules, const std::vector<OpId>& favourite_child,
                                      const PlaceContext& context) {
  return EarliestTaskFirst(problem, devices, rules, favourite_child).run(context);
}

}  // namespace berth::policies::baechi
