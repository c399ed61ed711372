// Binds what a policy in Lua needs to honour constraints: separations, memory after margins, repair.
#include "bind_constraints.h"

#include <limits>

#include "berth/evaluator.h"
#include "berth/sdk/repair.h"
#include "call.h"
#include "objects.h"
#include "values.h"

namespace berth::lua {

int problem_separations(Call& call) {
  const auto self = call.self<ProblemObject>();
  push_array(call.L, self->problem().separations(), [&](const Problem::Separation& each) {
    push_array(call.L, each.parts,
               [&](const std::vector<GroupId>& groups) { push_ids(call.L, groups); });
  });
  return 1;
}

int problem_memory_bytes(Call& call) {
  const auto self = call.self<ProblemObject>();
  const DeviceId device = call.argument(1, "device").id(self->problem().cluster().device_count());
  const std::int64_t bytes = self->problem().memory_bytes(device);
  return bytes == kNoLimit ? call.number(std::numeric_limits<double>::infinity())
                           : call.integer(bytes);
}

int evaluator_repair(Call& call) {
  const auto self = call.self<EvaluatorObject>();
  Evaluator& evaluator = self->get();
  const Problem& problem = evaluator.problem();
  std::vector<DeviceId> devices;
  call.argument(1, "devices")
      .ids(problem.groups().count(), problem.cluster().device_count(), devices);
  Fields fields = call.options(2);
  const Value memory = fields.get("memory");
  fields.finish();
  PlaceContext context;
  context.should_stop = call.state.should_stop;
  push_ids(call.L, repair_placement(problem, evaluator, GroupPlacement(std::move(devices)),
                                    !memory.present() || memory.boolean(), context));
  return 1;
}

}  // namespace berth::lua
