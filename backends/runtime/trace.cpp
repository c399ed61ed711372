#include "runtime/trace.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "berth/support/index.h"

namespace berth::runtime {
namespace {

/// When the step's first op started, on the executor's clock.
double step_start_us(const Step& step) {
  double start_us = 0;
  bool any = false;
  for (const OpTimes& times : step.op_times()) {
    start_us = any ? std::min(start_us, times.start_us) : times.start_us;
    any = true;
  }
  return start_us;
}

class Tracer {
 public:
  Tracer(const Step& step, const Cluster& cluster, StepResult& result)
      : step_(step),
        plan_(step.plan()),
        cluster_(cluster),
        result_(result),
        start_us_(step_start_us(step)) {}

  void run() {
    StepTrace& trace = result_.trace;
    trace.runtime_us = result_.runtime_us;
    const std::size_t ops = plan_.device_of.size();
    trace.op_start_us.resize(ops);
    trace.op_end_us.resize(ops);
    result_.executed = plan_.device_of;  // of constants, which are there before the step
    result_.workspace_bytes.resize(ops);
    for (std::size_t i = 0; i < plan_.op.size(); ++i) {
      const std::size_t op = at(plan_.op[i]);
      trace.op_start_us[op] = step_.op_times()[i].start_us - start_us_;
      trace.op_end_us[op] = step_.op_times()[i].end_us - start_us_;
      result_.executed[op] = step_.executed()[i];
      result_.workspace_bytes[op] = step_.workspace_bytes()[i];
    }
    add_transfers();
    add_links();
    add_devices();
    add_memory();
    find_causes();
    add_critical_path();
  }

 private:
  using Reason = CriticalStep::Reason;

  void add_transfers() {
    order_.resize(plan_.messages.size());
    std::iota(order_.begin(), order_.end(), 0U);
    const auto times = step_.message_times();
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(times[a].start_us, plan_.messages[a].src, a) <
             std::tuple(times[b].start_us, plan_.messages[b].src, b);
    });
    place_.resize(order_.size());
    for (const std::uint32_t m : order_) {
      const Plan::Message& message = plan_.messages[m];
      place_[m] = static_cast<std::int32_t>(result_.trace.transfers.size());
      result_.trace.transfers.push_back(
          {message.tensor, plan_.op[message.producer], message.src, message.dst, times[m].bytes,
           times[m].queued_us - start_us_, times[m].start_us - start_us_,
           times[m].end_us - start_us_});
    }
  }

  void add_links() {
    const auto devices = at(cluster_.device_count());
    std::vector<LinkUsage> links(devices * devices);
    for (const Transfer& transfer : result_.trace.transfers) {
      if (transfer.tensor == kNoTensor) continue;
      LinkUsage& link = links[at(transfer.src) * devices + at(transfer.dst)];
      link.src = transfer.src;
      link.dst = transfer.dst;
      link.bytes += transfer.bytes;
      ++link.transfers;
      link.busy_us += transfer.end_us - transfer.start_us;
    }
    for (const LinkUsage& link : links) {
      if (link.transfers > 0) result_.trace.links.push_back(link);
    }
  }

  void add_devices() {
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      DeviceUsage usage;
      usage.busy_us = result_.busy_us[at(d)];
      usage.idle_us = result_.runtime_us - usage.busy_us;
      usage.peak_bytes = result_.peak_bytes[at(d)];
      usage.param_bytes = step_.resident_bytes()[at(d)];
      std::int64_t highest = usage.param_bytes;
      for (const std::uint32_t i : step_.order(d)) {
        if (step_.op_peak_bytes()[i] <= highest) continue;
        highest = step_.op_peak_bytes()[i];
        usage.peak_us = step_.op_times()[i].start_us - start_us_;
        usage.peak_op = plan_.op[i];
      }
      result_.trace.devices.push_back(usage);
    }
  }

  void add_memory() {
    auto& samples = result_.trace.memory;
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      samples.push_back({d, 0, step_.resident_bytes()[at(d)]});
      for (const std::uint32_t i : step_.order(d)) {
        samples.push_back({d, step_.op_times()[i].end_us - start_us_, step_.held_bytes()[i]});
      }
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const MemorySample& a, const MemorySample& b) { return a.us < b.us; });
  }

  /// The event that released an op last: an op of its device or a message.
  struct Cause {
    std::uint32_t op = kNone;
    std::uint32_t message = kNone;
    double us = 0;
  };

  void find_causes() {
    causes_.resize(plan_.op.size());
    previous_.assign(plan_.op.size(), kNone);
    for (std::uint32_t i = 0; i < plan_.op_count(); ++i) {
      const double end_us = step_.op_times()[i].end_us;
      for (const std::uint32_t consumer : plan_.released[i]) {
        Cause& cause = causes_[consumer];
        if (end_us > cause.us) cause = {i, kNone, end_us};
      }
    }
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      const double end_us = step_.message_times()[m].end_us;
      for (const std::uint32_t consumer : plan_.released_on_arrival[m]) {
        Cause& cause = causes_[consumer];
        if (end_us > cause.us) cause = {kNone, m, end_us};
      }
    }
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      const auto order = step_.order(d);
      for (std::size_t i = 1; i < order.size(); ++i) previous_[order[i]] = order[i - 1];
    }
  }

  /// The last transfer that held one of the message's engines while it waited; kNone. One that is on the path already
  /// cannot be: clocks of two devices differ by microseconds, and a step would wait for itself.
  std::uint32_t blocker(std::uint32_t m) const {
    const Plan::Message& message = plan_.messages[m];
    const MessageTimes& times = step_.message_times()[m];
    std::uint32_t found = kNone;
    double latest_us = times.queued_us;
    for (std::int32_t p = place_[m] - 1; p >= 0; --p) {
      const std::uint32_t other = order_[at(p)];
      const Plan::Message& before = plan_.messages[other];
      const double end_us = step_.message_times()[other].end_us;
      const bool shares = before.src == message.src || before.dst == message.dst;
      if (before.tensor == kNoTensor || !shares || end_us > times.start_us) continue;
      if (on_path_[other]) continue;
      if (end_us <= latest_us) {
        if (before.src == message.src) break;  // the sender's earlier ones ended earlier still
        continue;
      }
      latest_us = end_us;
      found = other;
    }
    return found;
  }

  void add_critical_path() {
    auto& path = result_.trace.critical_path;
    std::uint32_t op = 0;
    for (std::uint32_t i = 1; i < plan_.op_count(); ++i) {
      if (step_.op_times()[i].end_us > step_.op_times()[op].end_us) op = i;
    }
    std::uint32_t message = kNone;
    if (plan_.op.empty()) return;
    on_path_.assign(plan_.messages.size(), false);
    while (op != kNone || message != kNone) {
      if (op != kNone) {
        const OpTimes& times = step_.op_times()[op];
        const Cause& cause = causes_[op];
        const std::uint32_t before = previous_[op];
        const bool busy = before != kNone && step_.op_times()[before].end_us > cause.us;
        Reason reason = busy ? Reason::device_busy : Reason::input;
        if (!busy && cause.op == kNone && cause.message == kNone) reason = Reason::start;
        path.push_back(
            {plan_.op[op], -1, times.start_us - start_us_, times.end_us - start_us_, reason});
        message = busy ? kNone : cause.message;
        op = busy ? before : cause.op;
      } else {
        const MessageTimes& times = step_.message_times()[message];
        on_path_[message] = true;
        const std::uint32_t before = blocker(message);
        path.push_back({kNoOp, place_[message], times.start_us - start_us_,
                        times.end_us - start_us_,
                        before == kNone ? Reason::input : Reason::link_busy});
        op = before == kNone ? plan_.messages[message].producer : kNone;
        message = before;
      }
    }
    std::reverse(path.begin(), path.end());
  }

  const Step& step_;
  const Plan& plan_;
  const Cluster& cluster_;
  StepResult& result_;
  double start_us_;
  std::vector<std::uint32_t> order_;  // messages by start
  std::vector<std::int32_t> place_;   // by message
  std::vector<Cause> causes_;         // by op index
  std::vector<std::uint32_t> previous_;
  std::vector<bool> on_path_;  // messages
};

}  // namespace

void summarize(const Step& step, StepResult& result) {
  const double start_us = step_start_us(step);
  double end_us = start_us;
  const std::size_t devices = step.peak_bytes().size();
  result.peak_bytes.assign(step.peak_bytes().begin(), step.peak_bytes().end());
  result.busy_us.assign(devices, 0);
  for (std::size_t d = 0; d < devices; ++d) {
    for (const std::uint32_t i : step.order(static_cast<DeviceId>(d))) {
      const OpTimes& times = step.op_times()[i];
      result.busy_us[d] += times.end_us - times.start_us;
      end_us = std::max(end_us, times.end_us);
    }
  }
  for (const MessageTimes& times : step.message_times()) end_us = std::max(end_us, times.end_us);
  result.runtime_us = end_us - start_us;
}

void add_trace(const Step& step, const Cluster& cluster, StepResult& result) {
  Tracer(step, cluster, result).run();
}

}  // namespace berth::runtime
