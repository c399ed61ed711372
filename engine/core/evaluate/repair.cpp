#include "berth/sdk/repair.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "berth/error.h"
#include "berth/sdk/footprint.h"
#include "berth/sdk/separation.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "evaluate/packing.h"
#include "groups/placement_check.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr int kMemoryRounds = 12;
/// After room was made beforehand: what is left to move is little, or too much.
constexpr int kRoundsWithRoom = 3;

/// Compute time of `group` on `device` plus its transfers from and to neighbours elsewhere.
double added_us(const Problem& problem, const GroupPlacement& placement, GroupId group,
                DeviceId device) {
  const Cluster& cluster = problem.cluster();
  double us = problem.group_cost_us(group, device);
  for (const Groups::Edge& edge : problem.groups().in_edges(group)) {
    const DeviceId other = placement[edge.src];
    if (other != device) us += cluster.route(other, device).transfer_us(edge.bytes);
  }
  for (const Groups::Edge& edge : problem.groups().out_edges(group)) {
    const DeviceId other = placement[edge.dst];
    if (other != device) us += cluster.route(device, other).transfer_us(edge.bytes);
  }
  return us;
}

/// The groups from the most restricted and the largest on.
std::vector<GroupId> packing_order(const Problem& problem, const Footprint& footprint) {
  const GroupId count = problem.groups().count();
  std::vector<std::tuple<DeviceId, std::int64_t, GroupId>> keys;
  keys.reserve(at(count));
  for (GroupId group = 0; group < count; ++group) {
    DeviceId able = 0;
    for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
      able += problem.can_run(group, d) ? 1 : 0;
    }
    keys.emplace_back(able, -footprint.alone(group), group);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<GroupId> order;
  order.reserve(keys.size());
  for (const auto& key : keys) order.push_back(std::get<2>(key));
  return order;
}

/// The device among those that `suits` where the group adds least; kNoDevice if none does.
template <typename Suits>
DeviceId cheapest_device(const Problem& problem, const GroupPlacement& placement, GroupId group,
                         const Suits& suits) {
  DeviceId best = kNoDevice;
  double best_us = kCannotRun;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (!suits(device)) continue;
    const double us = added_us(problem, placement, group, device);
    if (best == kNoDevice || us < best_us) {
      best = device;
      best_us = us;
    }
  }
  return best;
}

/// Moves separated groups, and no others, to devices where they can run and are apart. Only groups
/// in the way of others move, each to where it adds least. If that fails, they take the devices
/// that a search finds.
void keep_apart(const Problem& problem, GroupPlacement& placement) {
  if (problem.separations().empty()) return;
  SeparationTracker separations(problem, GroupPlacement(placement.size(), kNoDevice));
  const auto suits = [&](GroupId group, DeviceId device) {
    return problem.can_run(group, device) && separations.may_be_on(group, device);
  };
  std::vector<GroupId> in_the_way;
  for (const GroupId group : separations.separated_groups()) {
    if (suits(group, placement[group])) {
      separations.move(group, kNoDevice, placement[group]);
    } else {
      in_the_way.push_back(group);
    }
  }
  for (const GroupId group : in_the_way) {
    const DeviceId device =
        cheapest_device(problem, placement, group, [&](DeviceId d) { return suits(group, d); });
    if (device == kNoDevice) {
      for (const auto& [searched, found] : separated_devices(problem, placement)) {
        placement[searched] = found;
      }
      return;
    }
    separations.move(group, kNoDevice, device);
    placement[group] = device;
  }
}

/// Throws Error(invalid_argument) unless every group is on a device of the cluster.
void require_devices(const Problem& problem, const GroupPlacement& placement) {
  groups::require_device_per_group(placement, problem.groups());
  const DeviceId count = problem.cluster().device_count();
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const DeviceId device = placement[group];
    if (device >= 0 && device < count) continue;
    throw Error(ErrorCode::invalid_argument,
                cat("group #", group, " is on device ", device, "; devices of cluster '",
                    problem.cluster().name(), "' are numbered from 0 to ", count - 1));
  }
}

/// Keeps every group where it is if its device can run it and has room below `capacity`, else
/// moves it to where it adds least. Returns the first group that finds no room; kNoGroup = all do.
GroupId pack(const Problem& problem, Footprint footprint, const std::vector<std::int64_t>& capacity,
             GroupPlacement& placement) {
  require_devices(problem, placement);
  keep_apart(problem, placement);
  SeparationTracker separations(problem, placement);
  std::vector<std::int64_t> used(capacity.size(), 0);
  const auto fits = [&](GroupId group, DeviceId device) {
    return problem.can_run(group, device) && separations.may_be_on(group, device) &&
           saturating_sum(used[at(device)], footprint.added(group, device)) <= capacity[at(device)];
  };
  for (const GroupId group : packing_order(problem, footprint)) {
    DeviceId best = placement[group];
    if (!fits(group, best)) {
      best = cheapest_device(problem, placement, group,
                             [&](DeviceId device) { return fits(group, device); });
      if (best == kNoDevice) return group;
    }
    separations.move(group, placement[group], best);
    placement[group] = best;
    used[at(best)] = saturating_sum(used[at(best)], footprint.added(group, best));
    footprint.put(group, best);
  }
  return kNoGroup;
}

struct Packed {
  GroupId homeless = kNoGroup;         ///< finds no room; kNoGroup = all do
  PackingEnd end = PackingEnd::found;  ///< whether there is no other way to place it
};

/// pack(); where that leaves a group without room, the largest groups go where a search finds room for
/// them, and the rest beside them.
Packed pack_or_search(const Problem& problem, const Footprint& footprint,
                      const std::vector<std::int64_t>& capacity, GroupPlacement& placement) {
  GroupPlacement packed = placement;
  const GroupId homeless = pack(problem, footprint, capacity, packed);
  if (homeless == kNoGroup) {
    placement = std::move(packed);
    return {};
  }
  std::vector<std::int64_t> bytes;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    bytes.push_back(footprint.alone(group));
  }
  const PackingEnd end = pack_largest(problem, bytes, capacity, placement);
  if (end == PackingEnd::found && pack(problem, footprint, capacity, placement) == kNoGroup) {
    return {};
  }
  // Beside another that shares its parameters a group needs less than alone.
  const bool proven = end == PackingEnd::none_exists && problem.graph().shared_parameters().empty();
  return {homeless, proven ? PackingEnd::none_exists : PackingEnd::gave_up};
}

/// For a message: the devices that constraints let a group be on.
std::string left_by_constraints(const Problem& problem, GroupId group) {
  if (problem.constraints() == nullptr) return {};
  std::string able;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (!problem.can_run(group, device)) continue;
    able += (able.empty() ? "" : ", ") + problem.cluster().device(device).name;
  }
  return ", where constraints leave it " + able;
}

std::vector<std::int64_t> memories(const Problem& problem) {
  std::vector<std::int64_t> bytes;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    bytes.push_back(problem.memory_bytes(device));
  }
  return bytes;
}

/// Moves groups off the devices that an evaluation found too full, the cheapest per byte first,
/// into what it found free elsewhere. A group is cheap to move where its neighbours already are,
/// so that what leaves a device leaves together.
class Shedding {
 public:
  /// `trusting`: a device that is not too full takes any group, for what arrives may live when
  /// little else does; the next evaluation tells.
  Shedding(const Problem& problem, const Footprint& footprint, const Evaluation& evaluation,
           bool trusting, GroupPlacement& placement)
      : problem_(problem),
        footprint_(footprint),
        placement_(placement),
        separations_(problem, placement),
        version_(placement.size(), 0) {
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      const std::int64_t memory = problem.memory_bytes(device);
      std::int64_t room =
          memory == kNoLimit ? kNoLimit : memory - evaluation.peak_bytes[at(device)];
      if (trusting && room >= 0) room = kNoLimit;
      room_.push_back(room);
    }
  }

  /// Whether anything moved.
  bool run() {
    bool moved = false;
    for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
      if (room_[at(device)] < 0) moved = empty(device) || moved;
    }
    return moved;
  }

 private:
  struct Move {
    double us_per_byte;
    GroupId group;
    DeviceId target;
    int version;
    bool operator<(const Move& other) const {
      return std::tie(us_per_byte, group) > std::tie(other.us_per_byte, other.group);
    }
  };

  void consider(GroupId group, std::priority_queue<Move>& moves) {
    const std::int64_t bytes = footprint_.alone(group);
    if (bytes == 0) return;
    const double here = added_us(problem_, placement_, group, placement_[group]);
    Move best{kCannotRun, group, kNoDevice, ++version_[at(group)]};
    for (DeviceId target = 0; target < problem_.cluster().device_count(); ++target) {
      if (room_[at(target)] < bytes || !problem_.can_run(group, target)) continue;
      if (!separations_.may_be_on(group, target)) continue;
      const double us = added_us(problem_, placement_, group, target) - here;
      if (us / static_cast<double>(bytes) < best.us_per_byte) {
        best.us_per_byte = us / static_cast<double>(bytes);
        best.target = target;
      }
    }
    if (best.target != kNoDevice) moves.push(best);
  }

  bool empty(DeviceId device) {
    std::priority_queue<Move> moves;
    for (GroupId group = 0; group < problem_.groups().count(); ++group) {
      if (placement_[group] == device) consider(group, moves);
    }
    bool moved = false;
    while (room_[at(device)] < 0 && !moves.empty()) {
      const Move move = moves.top();
      moves.pop();
      const GroupId group = move.group;
      if (move.version != version_[at(group)]) continue;
      const std::int64_t bytes = footprint_.alone(group);
      // Filled up since, or taken by what the group is to be apart from.
      if (room_[at(move.target)] < bytes || !separations_.may_be_on(group, move.target)) {
        consider(group, moves);
        continue;
      }
      room_[at(device)] += bytes;
      if (room_[at(move.target)] != kNoLimit) room_[at(move.target)] -= bytes;
      separations_.move(group, device, move.target);
      placement_[group] = move.target;
      moved = true;
      for (const Groups::Edge& edge : problem_.groups().in_edges(group)) {
        if (placement_[edge.src] == device) consider(edge.src, moves);
      }
      for (const Groups::Edge& edge : problem_.groups().out_edges(group)) {
        if (placement_[edge.dst] == device) consider(edge.dst, moves);
      }
    }
    return moved;
  }

  const Problem& problem_;
  const Footprint& footprint_;
  GroupPlacement& placement_;
  SeparationTracker separations_;
  std::vector<std::int64_t> room_;  // by device; negative = so much too full
  std::vector<int> version_;        // by group: moves considered under another placement are void
};

/// The answer of a repair that is told to stop.
class AtHand {
 public:
  AtHand(Evaluator& evaluator, const PlaceContext& context)
      : evaluator_(evaluator), context_(context) {}

  /// None as long as the repair is to go on.
  std::optional<Placement> if_stopped() {
    if (searched_ || !context_.stopped()) return std::nullopt;
    searched_ = true;
    std::optional<Placement> best;
    double best_us = kCannotRun;
    for (const Placement& placement : context_.initial) {
      const Evaluation evaluation = evaluator_.evaluate(placement);
      if (!evaluation.feasible || evaluation.objective_us >= best_us) continue;
      best_us = evaluation.objective_us;
      best = placement;
    }
    if (best) return best;
    SingleDevice single = best_single_device(evaluator_);
    if (single.device != kNoDevice) best = std::move(single.placement);
    return best;
  }

 private:
  Evaluator& evaluator_;
  const PlaceContext& context_;
  bool searched_ = false;
};

/// Evaluates `placement` and moves groups off what overflows, in at most so many rounds. The
/// placement per op once it fits, or what is at hand; `evaluation` is the last.
std::optional<Placement> shed(const Problem& problem, Evaluator& evaluator,
                              const Footprint& footprint, int rounds, GroupPlacement placement,
                              Evaluation& evaluation, AtHand& at_hand) {
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) {
      if (auto other = at_hand.if_stopped()) return other;
    }
    Placement per_op = problem.groups().expand(placement);
    evaluation = evaluator.evaluate(per_op);
    if (evaluation.feasible) return per_op;
    if (!Shedding(problem, footprint, evaluation, /*trusting=*/false, placement).run() &&
        !Shedding(problem, footprint, evaluation, /*trusting=*/true, placement).run()) {
      break;
    }
  }
  return std::nullopt;
}

/// "op 'x'", or its group by the op that holds most.
std::string group_text(const Problem& problem, std::span<const OpId> members) {
  const Graph& graph = problem.graph();
  const auto held = [&](OpId op) {
    return std::max(graph.param_bytes(op), graph.output_bytes(op));
  };
  const OpId largest = *std::max_element(members.begin(), members.end(),
                                         [&](OpId a, OpId b) { return held(a) < held(b); });
  if (members.size() == 1) return cat("op '", graph.op_name(largest), "'");
  return cat("the group of ", members.size(), " ops with '", graph.op_name(largest), "'");
}

}  // namespace

void keep_to_kinds(const Problem& problem, GroupPlacement& placement) {
  const std::vector<std::int64_t> unlimited(at(problem.cluster().device_count()), kNoLimit);
  pack(problem, Footprint(problem, /*output_share=*/0), unlimited, placement);
}

void keep_to_parameters(const Problem& problem, GroupPlacement& placement) {
  const Footprint footprint(problem, /*output_share=*/0);
  const auto [homeless, end] = pack_or_search(problem, footprint, memories(problem), placement);
  if (homeless == kNoGroup) return;
  const Graph& graph = problem.graph();
  bool lasting = false;
  for (OpId op = 0; op < graph.op_count(); ++op) lasting = lasting || problem.lasting_bytes(op) > 0;
  const auto members = problem.groups().members(homeless);
  const std::shared_ptr<const Groups> classes = problem.finest_groups();
  const bool finer = classes->members(classes->of(members.front())).size() < members.size();
  const std::string what = cat("the parameters", lasting ? ", inputs and results" : "");
  throw Error(ErrorCode::infeasible,
              cat(end == PackingEnd::none_exists
                      ? what + " do not fit: "
                      : "found no room for all of " + what + ", and no proof that there is none: ",
                  group_text(problem, members), " needs ", format_bytes(footprint.alone(homeless)),
                  ", and no device of cluster '", problem.cluster().name(),
                  "' that can run it has that left", left_by_constraints(problem, homeless),
                  " (all parameters: ", format_bytes(graph.total_param_bytes()), "); use ",
                  finer ? "finer groups, " : "", "more devices or larger ones"));
}

Placement repair_placement(const Problem& problem, Evaluator& evaluator, GroupPlacement placement,
                           bool fit_memory, const PlaceContext& context) {
  if (!fit_memory) {
    keep_to_kinds(problem, placement);
    return problem.groups().expand(placement);
  }
  keep_to_parameters(problem, placement);
  const Footprint footprint(problem, /*output_share=*/1);
  AtHand at_hand(evaluator, context);
  Evaluation evaluation;
  if (auto fitting =
          shed(problem, evaluator, footprint, kMemoryRounds, placement, evaluation, at_hand)) {
    return *std::move(fitting);
  }
  // Groups moved off one device may fill the next, round after round. Counting a share of the
  // outputs before anything is evaluated leaves room for them on every device at once.
  for (const double output_share : {0.125, 0.25, 0.5, 1.0}) {
    if (auto other = at_hand.if_stopped()) return *std::move(other);
    GroupPlacement packed = placement;
    const Footprint share(problem, output_share);
    if (pack_or_search(problem, share, memories(problem), packed).homeless != kNoGroup) continue;
    Evaluation of_packed;
    if (auto fitting = shed(problem, evaluator, footprint, kRoundsWithRoom, std::move(packed),
                            of_packed, at_hand)) {
      return *std::move(fitting);
    }
  }
  const bool finer = problem.finest_groups()->count() > problem.groups().count();
  const std::string use = finer ? "; use finer groups, more devices" : "; use more devices";
  if (evaluation.excess_bytes == 0) {
    throw Error(ErrorCode::infeasible,
                cat("no placement that is feasible was found: no memory lacks, and constraints "
                    "that separate ops, or the evaluator, refuse what was tried",
                    use));
  }
  throw Error(
      ErrorCode::infeasible,
      cat("memory is short: device '", problem.cluster().device(evaluation.worst_device).name,
          "' exceeds its memory by ", format_bytes(evaluation.excess_bytes),
          " and moving groups elsewhere does not help", use, " or larger ones"));
}

}  // namespace berth
