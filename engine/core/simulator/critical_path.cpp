#include "simulator/critical_path.h"

#include <algorithm>

namespace berth::simulator {
namespace {

using Reason = CriticalStep::Reason;

/// The op or transfer whose end, with the pause after it in placeto semantics, ended the step.
Cause last_event(const Plan& plan, const TracedStep& record, double runtime_us) {
  const ProblemOptions& options = plan.problem->options();
  const double op_gap_us = plan.placeto ? options.device_gap_us : 0;
  const double transfer_gap_us = plan.placeto ? options.transfer_gap_us : 0;
  Cause last;
  for (Index op = 0; op < plan.op_count; ++op) {
    const TracedStep::Op& seen = record.ops[op];
    const double cost_us = plan.durations_on(static_cast<DeviceId>(seen.device))[op];
    if (seen.end_us + (cost_us == 0 ? 0 : op_gap_us) == runtime_us) {
      last = {Cause::Kind::op_end, op};
    }
  }
  if (last.kind != Cause::Kind::nothing) return last;
  for (std::uint32_t number = 0; number < record.transfers.size(); ++number) {
    const TracedStep::Sent& sent = record.transfers[number];
    if (sent.message != kNone && sent.end_us + transfer_gap_us == runtime_us) {
      last = {Cause::Kind::transfer, number};
    }
  }
  return last;
}

}  // namespace

std::vector<CriticalStep> critical_path(const Plan& plan, const TracedStep& record,
                                        const std::vector<std::int32_t>& place, double runtime_us) {
  std::vector<CriticalStep> path;
  Cause at = last_event(plan, record, runtime_us);
  while (at.kind != Cause::Kind::nothing) {
    if (at.kind == Cause::Kind::op_end) {
      const TracedStep::Op& op = record.ops[at.number];
      Reason reason = Reason::input;
      Cause before = op.cause;
      if (op.start_us > op.ready_us) {
        reason = Reason::device_busy;
        before = op.previous;
      } else if (op.cause.kind == Cause::Kind::nothing) {
        reason = Reason::start;
      }
      path.push_back({plan.ids[at.number], -1, op.start_us, op.end_us, reason});
      at = before;
    } else {
      const TracedStep::Sent& sent = record.transfers[at.number];
      if (sent.arrival_us >= 0) {
        const bool busy =
            sent.start_us > sent.arrival_us && sent.previous.kind != Cause::Kind::nothing;
        path.push_back({kNoOp, place[at.number], busy ? sent.start_us : sent.queued_us, sent.end_us,
                        busy ? Reason::device_busy : Reason::input});
        at = busy ? sent.previous : Cause{Cause::Kind::op_end, plan.message_producer[sent.message]};
        continue;
      }
      const bool blocked = sent.start_us > sent.queued_us;
      path.push_back({kNoOp, place[at.number], sent.start_us, sent.end_us,
                      blocked ? Reason::link_busy : Reason::input});
      at = blocked ? Cause{Cause::Kind::transfer, sent.blocked_by}
                   : Cause{Cause::Kind::op_end, plan.message_producer[sent.message]};
    }
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace berth::simulator
