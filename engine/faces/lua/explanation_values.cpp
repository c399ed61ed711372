#include "explanation_values.h"

#include "values.h"

namespace berth::lua {

void push_explanation(lua_State* L, const Outcome& outcome) {
  lua_newtable(L);
  set_number(L, "runtime_us", outcome.runtime_us());
  set_text(L, "gap", gap_text(outcome));
  set_text(L, "waits", waits_text(outcome));
  set_text(L, "advice", advice_text(outcome));
  const PathShares shares = path_shares(outcome.trace);
  set_number(L, "compute_us", shares.compute_us);
  set_number(L, "transfer_us", shares.transfer_us);
  set_number(L, "pause_us", shares.pause_us);
  set_number(L, "contended_us", shares.contended_us);
  set_ids(L, "full_devices", full_devices(outcome));
  push_records(L, stretches(outcome), [L](const Stretch& stretch) {
    set_id(L, "device", stretch.device);
    set_id(L, "receiver", stretch.receiver);
    set_id(L, "transfer", stretch.transfer);
    set_id(L, "first", stretch.first);
    set_id(L, "last", stretch.last);
    set_number(L, "ops", stretch.ops);
    set_number(L, "start_us", stretch.start_us);
    set_number(L, "end_us", stretch.end_us);
    set_number(L, "waited_us", stretch.waited_us);
  });
  lua_setfield(L, -2, "stretches");
}

void push_op_explanation(lua_State* L, const OpExplanation& op) {
  lua_newtable(L);
  set_id(L, "op", op.op);
  set_id(L, "device", op.device);
  set_ids(L, "together", op.together);
  set_texts(L, "rules", op.rules);
  set_number(L, "start_us", op.start_us);
  set_number(L, "end_us", op.end_us);
  set_boolean(L, "critical", op.critical);
  set_id(L, "runner_up", op.runner_up);
  set_text(L, "bound", bound_name(op.bound));
  set_text(L, "why", bound_text(op.bound));
  push_records(L, op.alternatives, [L](const Alternative& other) {
    set_id(L, "device", other.device);
    if (!other.refused.empty()) {
      set_text(L, "refused", other.refused);
      return;
    }
    set_evaluation(L, "evaluation", other.evaluation);
    if (!other.has_group) return;
    set_evaluation(L, "group_evaluation", other.group_evaluation);
  });
  lua_setfield(L, -2, "alternatives");
}

}  // namespace berth::lua
