// A placement described in words.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/explanation.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "berth/tools.h"
#include "evaluate/next_step.h"
#include "problem/op_time.h"
#include "support/enum_name.h"
#include "support/units.h"

namespace berth {
namespace {

/// The share of the runtime from which on something is what the step is limited by.
constexpr double kMajorShare = 0.3;
/// The share of a device's memory from which on it is what limits a placement.
constexpr double kFull = 0.9;
/// A share below it shows as 0.0 %: no advice is worth that.
constexpr double kShown = 0.0005;

bool is_on_one_device(const Placement& placement) {
  return std::adjacent_find(placement.begin(), placement.end(), std::not_equal_to<>()) ==
         placement.end();
}

/// The longest path through the graph where each op takes what is given.
double longest_path_us(const Graph& graph, const std::function<double(OpId)>& op_us) {
  double longest_us = 0;
  std::vector<double> end_us(at(graph.op_count()), 0);
  for (const OpId op : graph.topological_order()) {
    double before_us = 0;
    for (const Edge& edge : graph.in_edges(op)) {
      before_us = std::max(before_us, end_us[at(edge.src)]);
    }
    end_us[at(op)] = before_us + op_us(op);
    longest_us = std::max(longest_us, end_us[at(op)]);
  }
  return longest_us;
}

/// The same where each op takes what it took.
double longest_path_us(const Outcome& outcome) {
  const StepTrace& trace = outcome.trace;
  return longest_path_us(outcome.problem->graph(), [&](OpId op) {
    return trace.op_end_us[at(op)] - trace.op_start_us[at(op)];
  });
}

/// No step takes less, whatever the number of devices.
double least_path_us(const Problem& problem) {
  return longest_path_us(problem.graph(), [&](OpId op) {
    double least_us = kCannotRun;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      if (!problem.allowed(op, device)) continue;
      least_us = std::min(least_us, busy_us(problem, op, problem.cluster().kind_of(device)));
    }
    return least_us;
  });
}

/// Devices that ran nothing while an op waited for its own.
class Idle {
 public:
  explicit Idle(const Outcome& outcome)
      : outcome_(outcome), problem_(*outcome.problem), ran_(at(problem_.cluster().device_count())) {
    for (OpId op = 0; op < problem_.graph().op_count(); ++op) {
      ran_[at(device_of(op))].emplace_back(outcome.trace.op_start_us[at(op)],
                                           outcome.trace.op_end_us[at(op)]);
    }
    for (auto& spans : ran_) std::sort(spans.begin(), spans.end());
    for (const Transfer& transfer : outcome.trace.transfers) {
      double& us = there_us_[{transfer.producer, transfer.dst}];
      us = std::max(us, transfer.end_us);
    }
  }

  /// Whether one that would run the op as fast, with all that is co-located, was idle from when the
  /// op was ready to its start.
  [[nodiscard]] bool beside(OpId op, const Groups& classes) const {
    const auto ops = classes.members(classes.of(op));
    const double from_us = ready_us(op), to_us = outcome_.trace.op_start_us[at(op)];
    for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
      if (device == device_of(op) || !is_idle(device, from_us, to_us)) continue;
      const bool allowed = std::all_of(ops.begin(), ops.end(),
                                       [&](OpId each) { return problem_.allowed(each, device); });
      if (allowed && ops_us(problem_, ops, device) <= ops_us(problem_, ops, device_of(op))) {
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] DeviceId device_of(OpId op) const {
    return problem_.cluster().works_in(outcome_.placement[at(op)]);
  }

  [[nodiscard]] double ready_us(OpId op) const {
    double us = 0;
    for (const Edge& edge : problem_.graph().in_edges(op)) {
      us = std::max(us, outcome_.trace.op_end_us[at(edge.src)]);
      for (const DeviceId to : {device_of(op), kNoDevice}) {
        const auto there = there_us_.find({edge.src, to});
        if (there != there_us_.end()) us = std::max(us, there->second);
      }
    }
    return std::min(us, outcome_.trace.op_start_us[at(op)]);
  }

  [[nodiscard]] bool is_idle(DeviceId device, double from_us, double to_us) const {
    const auto& spans = ran_[at(device)];
    const auto next = std::partition_point(
        spans.begin(), spans.end(), [&](const auto& span) { return span.second <= from_us; });
    return next == spans.end() || next->first >= to_us;
  }

  const Outcome& outcome_;
  const Problem& problem_;
  std::vector<std::vector<std::pair<double, double>>> ran_;  ///< by device: start and end
  std::map<std::pair<OpId, DeviceId>, double> there_us_;     ///< when what an op makes is there
};

/// Tells whether other devices could take what the step waits for.
std::string busy_devices_advice(const Outcome& outcome) {
  const Idle idle(outcome);
  const auto classes = outcome.problem->finest_groups();
  const auto& path = outcome.trace.critical_path;
  const bool idles = std::any_of(path.begin(), path.end(), [&](const CriticalStep& step) {
    return step.op != kNoOp && step.reason == CriticalStep::Reason::device_busy &&
           idle.beside(step.op, *classes);
  });
  return idles
             ? "Limited by busy devices: ready ops wait for others, and devices that would run "
               "them as fast are idle meanwhile: spreading them would help if transfers are cheap."
             : "Limited by busy devices: ready ops wait for others; a better balance or more "
               "devices would help.";
}

std::string chain_advice(const Outcome& outcome) {
  const bool fastest = least_path_us(*outcome.problem) >= (1 - kShown) * outcome.trace.runtime_us;
  return cat("Limited by a chain of dependent ops: faster devices would help",
             fastest ? ", more of them would not." : ".");
}

/// Tells the shares, as none is large.
std::string shares_advice(const Outcome& outcome, const PathShares& shares) {
  const double runtime_us = outcome.trace.runtime_us;
  return cat("No one thing limits the step: ops that waited for busy devices are ",
             format_percent(shares.contended_us / runtime_us), " of it, transfers ",
             format_percent(shares.transfer_us / runtime_us), ", pauses ",
             format_percent(shares.pause_us / runtime_us),
             "; the longest chain of dependent ops alone takes ",
             format_percent(longest_path_us(outcome) / runtime_us), ".");
}

/// The channel whose load is larger than that of every device; empty where there is none.
std::optional<ChannelId> pacing_channel(const Outcome& outcome) {
  const Cluster& cluster = outcome.problem->cluster();
  std::vector<double> channel_us(at(cluster.channel_count()), 0);
  for (const Transfer& transfer : outcome.trace.transfers) {
    if (transfer.tensor == kNoTensor || transfer.dst == kNoDevice) continue;
    for (const ChannelId channel : cluster.route(transfer.src, transfer.dst).channels) {
      channel_us[at(channel)] += transfer.end_us - transfer.start_us;
    }
  }
  const std::vector<double>& loads = outcome.evaluation.busy_us;
  const auto channel = std::max_element(channel_us.begin(), channel_us.end());
  if (channel == channel_us.end() || *channel <= *std::max_element(loads.begin(), loads.end())) {
    return std::nullopt;
  }
  return static_cast<ChannelId>(channel - channel_us.begin());
}

}  // namespace

std::string_view bound_name(Bound bound) noexcept {
  static constexpr std::string_view kNames[] = {
      "constraint", "memory", "communication", "contention", "compute", "order", "nothing"};
  static_assert(ends_with(kNames, Bound::nothing));
  return name_of(kNames, bound);
}

std::string_view bound_text(Bound bound) noexcept {
  static constexpr std::string_view kTexts[] = {
      "constraints and device kinds: no other device is possible",
      "memory: the step would be faster with it elsewhere, but would lack memory, or more of it",
      "communication: elsewhere the step would wait longer for transfers",
      "contention: elsewhere the step would wait longer for busy devices",
      "compute: it would run more slowly elsewhere",
      "order: it would run no more slowly elsewhere, but other ops would run in an order that "
      "takes longer",
      "nothing: another device is as good or better"};
  static_assert(ends_with(kTexts, Bound::nothing));
  return name_of(kTexts, bound);
}

/// Whether all tensors have a size; those without one count as empty.
bool knows_sizes(const Graph& graph) {
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (!graph.bytes_known(tensor)) return false;
  }
  return true;
}

/// Whether roofline costs take an op for no more than the bytes that it moves.
bool guesses_work(const Problem& problem) {
  if (problem.costs().source() != "roofline") return false;
  const Graph& graph = problem.graph();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op) || has_work_rule(graph, op) || !graph.stated_costs(op).empty())
      continue;
    if (graph.output_bytes(op) > 0) return true;
  }
  return false;
}

/// A reached bound's word on placements.
std::string_view reached_text(const Problem& problem) {
  if (!knows_sizes(problem.graph())) return "reached, where tensors without a size are empty";
  if (guesses_work(problem))
    return "reached, where ops without a work rule take what their bytes do";
  return "reached: no placement is better";
}

std::string gap_text(const Outcome& outcome) {
  if (outcome.executed) return "costs prove nothing of what is measured";
  if (std::isinf(outcome.gap())) return "no bound is known";
  const bool is_reached = outcome.gap() < kReached;
  std::string gap = is_reached ? std::string(reached_text(*outcome.problem))
                               : format_percent(outcome.gap()) + " above it";
  if (!is_reached && !knows_sizes(outcome.problem->graph())) {
    gap += ", where tensors without a size are empty";
  }
  if (outcome.bound.us <= 0) return gap;
  return cat("by the ", outcome.bound.source, outcome.bound.cut_short ? ", cut short; " : "; ",
             gap);
}

std::string waits_text(const Outcome& outcome) {
  const double runtime_us = outcome.trace.runtime_us;
  if (runtime_us <= 0) return {};
  const PathShares shares = path_shares(outcome.trace);
  std::string text =
      cat("the step waits for compute ", format_percent(shares.compute_us / runtime_us),
          ", transfers ", format_percent(shares.transfer_us / runtime_us), ", pauses ",
          format_percent(shares.pause_us / runtime_us), "; on average ",
          format_fixed(outcome.mean_busy_devices(), 2), " of ",
          outcome.problem->cluster().device_count(),
          outcome.problem->cluster().device_count() == 1 ? " device works" : " devices work");
  for (const std::string& line : replica_lines(outcome)) text += "; " + line;
  return text;
}

std::string pace_text(const Outcome& outcome) {
  const auto channel = pacing_channel(outcome);
  if (!channel) return "a device";
  return cat("the channel '", outcome.problem->cluster().channel_name(*channel), "'");
}

bool can_have_single(const Outcome& outcome) {
  return outcome.tool == nullptr ||
         can_have(*outcome.tool, outcome.problem->graph(), outcome.problem->cluster(),
                  outcome.best_single.placement);
}

namespace {

std::string throughput_advice(const Outcome& outcome) {
  const NextStep next = longest_next_step(*outcome.problem, outcome.placement);
  if (next.us > outcome.evaluation.max_load_us) {
    return cat("The loads do not set the pace, unless ", next.exception(), ": ", next.text(), ".");
  }
  if (!pacing_channel(outcome)) {
    return "The device with the largest load sets the pace of the pipeline.";
  }
  return cat("Limited by ", pace_text(outcome),
             ", which carries one transfer at a time: fewer transfers over it would help.");
}

}  // namespace

std::string advice_text(const Outcome& outcome) {
  if (outcome.problem->options().objective == Objective::throughput) {
    return throughput_advice(outcome);
  }
  const PathShares shares = path_shares(outcome.trace);
  const double runtime_us = outcome.trace.runtime_us;
  if (outcome.gap() < kShown) {
    if (!knows_sizes(outcome.problem->graph())) {
      return "Sizes that are not known may change all of this: give them first.";
    }
    if (guesses_work(*outcome.problem)) {
      return "Work that is not known may change all of this: measure the model (profile), or "
             "state the ops' work (--op-rules).";
    }
    return cat(outcome.problem->constraints() == nullptr ? "Only" : "Under these constraints only",
               " another machine or cheaper ops would be faster",
               outcome.gap() < kReached ? "." : " by 0.1 % or more.");
  }
  const bool single = outcome.speed_up() < kSlower && can_have_single(outcome);
  const bool one_device = is_on_one_device(outcome.placement);
  if (single && one_device) {
    return "Another device alone is faster than the one that everything is on.";
  }
  if (single) {
    return "Splitting the model costs more here than it saves: one device alone is faster.";
  }
  if (longest_path_us(outcome) >= (1 - kShown) * runtime_us) return chain_advice(outcome);
  if (one_device) {
    return "Limited by one device, which does everything: spreading the ops would help if "
           "transfers are cheap.";
  }
  if (shares.transfer_us > kMajorShare * runtime_us) {
    if (outcome.problem->cluster().has_keepers()) {
      return "Limited by the weights that a host sends in every step: a GPU with more memory, "
             "fewer "
             "bits for a weight or a faster link would help.";
    }
    return "Limited by transfers: keep producers and consumers together (fewer groups), or use "
           "faster links.";
  }
  if (shares.pause_us > kMajorShare * runtime_us) {
    return "Limited by the pauses between ops and transfers: fewer, larger ops would help.";
  }
  if (shares.contended_us > kMajorShare * runtime_us) return busy_devices_advice(outcome);
  return shares_advice(outcome, shares);
}

std::string no_transfers_text(const Outcome& outcome) {
  if (!outcome.trace.links.empty()) return {};
  return is_on_one_device(outcome.placement)
             ? "No transfers: everything runs on one device."
             : "No transfers: no device reads what another one makes.";
}

std::vector<DeviceId> full_devices(const Outcome& outcome) {
  std::vector<std::pair<double, DeviceId>> full;
  for (DeviceId d = 0; d < outcome.problem->cluster().device_count(); ++d) {
    const std::int64_t memory = outcome.problem->memory_bytes(d);
    const auto peak = static_cast<double>(outcome.evaluation.peak_bytes[at(d)]);
    if (memory == kNoLimit || peak < kFull * static_cast<double>(memory) || peak == 0) continue;
    full.emplace_back(-peak / std::max(1.0, static_cast<double>(memory)), d);
  }
  std::sort(full.begin(), full.end());
  std::vector<DeviceId> devices;
  for (const auto& entry : full) devices.push_back(entry.second);
  return devices;
}

}  // namespace berth
