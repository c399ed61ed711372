// berth.moves: what a change of a placement would cost; the inner step of a local search.
//
// A proposal is the hot call of such a search, so it makes no table and allocates nothing.
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "policy_call.h"
#include "values.h"

namespace berth::lua {
namespace {

int make(Call& call) {
  const Value of = call.argument(1, "problem");
  std::shared_ptr<EvaluatorObject> counted;
  std::shared_ptr<ProblemObject> problem;
  if (of.is<EvaluatorObject>()) {
    counted = of.object<EvaluatorObject>();
    problem = counted->problem;
  } else {
    problem = of.object<ProblemObject>();
  }
  MoveEvaluator moves(problem->simulator());
  auto object = std::make_shared<MovesObject>(
      MovesObject{std::move(problem), std::move(counted), std::move(moves)});
  return call.made(std::move(object));
}

/// Tells the evaluator of a policy's call what has been done since it was told.
void count(MovesObject& self) {
  if (self.counted == nullptr || self.counted->evaluator == nullptr) return;
  SuccessiveEvaluator* const evaluator = self.counted->evaluator->successive();
  if (evaluator == nullptr) return;
  const SearchWork work = self.moves.work();
  evaluator->count(
      {work.evaluations - self.told.evaluations, work.simulated_ops - self.told.simulated_ops});
  self.told = work;
}

/// Ends the call of a policy that does not ask for its end, with the placement that these moves keep.
void heed(const MovesObject& self) {
  PolicyCall* const call = self.counted == nullptr ? nullptr : self.counted->lent_for;
  if (call == nullptr || !call->over()) return;
  const MoveEvaluator& moves = self.moves;
  call->keep(moves.placement(), moves.feasible(), moves.objective_us());
  call->heed();
}

int reset(Call& call) {
  const auto self = call.self<MovesObject>();
  const Problem& problem = self->problem->problem();
  Placement placement;
  read_placement(call.argument(1, "placement"), problem, placement);
  problem.validate_but_separations(placement);
  self->moves.reset(placement);
  count(*self);
  heed(*self);
  return call.self_again();
}

[[noreturn]] void refuse(const Problem& problem, OpId op, DeviceId device) {
  throw Error(ErrorCode::invalid_argument,
              cat("op '", problem.graph().op_name(op), "' cannot be on device '",
                  problem.cluster().device(device).name,
                  "'; ask problem:can_run before its group is moved"));
}

/// Pushes objective, excess and whether it was given up.
int propose_moves(Call& call, MovesObject& self, const Value& cutoff) {
  const double cutoff_us =
      cutoff.present() ? cutoff.number() : std::numeric_limits<double>::infinity();
  const MoveEvaluator::Candidate candidate = self.moves.propose(self.proposed, cutoff_us);
  count(self);
  heed(self);
  call.number(candidate.objective_us);
  call.integer(candidate.excess_bytes);
  call.boolean(candidate.rejected);
  return 3;
}

int propose(Call& call) {
  const auto self = call.self<MovesObject>();
  const Problem& problem = self->problem->problem();
  const OpId op_count = problem.graph().op_count();
  const DeviceId device_count = problem.cluster().device_count();
  const Value ops = call.argument(1, "op"), devices = call.argument(2, "device");
  self->proposed.clear();
  if (ops.is_table()) {
    const auto count = static_cast<std::int32_t>(lua_objlen(call.L, ops.index()));
    ops.ids(count, op_count, self->ids);
    for (const OpId op : self->ids) self->proposed.push_back({op, kNoDevice});
    if (devices.is_table()) {
      devices.ids(count, device_count, self->ids);
    } else {
      self->ids.assign(self->ids.size(), devices.id(device_count));
    }
    for (std::size_t i = 0; i < self->ids.size(); ++i) self->proposed[i].to = self->ids[i];
  } else {
    self->proposed.push_back({ops.id(op_count), devices.id(device_count)});
  }
  // The evaluator does not ask.
  for (const Move& move : self->proposed) {
    if (!(problem.cost_us(move.op, move.to) < kCannotRun)) refuse(problem, move.op, move.to);
  }
  return propose_moves(call, *self, call.argument(3, "cutoff_us"));
}

int propose_group(Call& call) {
  const auto self = call.self<MovesObject>();
  const Problem& problem = self->problem->problem();
  const GroupId group = call.argument(1, "group").id(problem.groups().count());
  const DeviceId device = call.argument(2, "device").id(problem.cluster().device_count());
  if (!problem.can_run(group, device)) {
    for (const OpId op : problem.groups().members(group)) {
      if (!(problem.cost_us(op, device) < kCannotRun)) refuse(problem, op, device);
    }
  }
  self->proposed.clear();
  for (const OpId op : problem.groups().members(group)) self->proposed.push_back({op, device});
  return propose_moves(call, *self, call.argument(3, "cutoff_us"));
}

/// The moves of a call that asks for the placement that is kept.
std::shared_ptr<MovesObject> keeping(Call& call) {
  auto self = call.self<MovesObject>();
  if (self->moves.placement().empty()) {
    throw Error(ErrorCode::invalid_argument, "no placement is kept yet; call moves:reset first");
  }
  return self;
}

int accept(Call& call) {
  const auto self = keeping(call);
  self->moves.accept();
  count(*self);
  heed(*self);
  return call.self_again();
}

/// A method that only returns what the evaluator of moves says of the placement that it keeps.
template <auto member>
int kept_getter(Call& call) {
  return call.value(std::invoke(member, keeping(call)->moves));
}

int device(Call& call) {
  const auto self = keeping(call);
  const Value op = call.argument(1, "op");
  const std::span<const DeviceId> kept = self->moves.placement();
  const std::int32_t index = op.id(static_cast<std::int32_t>(kept.size()));
  return call.id(kept[static_cast<std::size_t>(index)]);
}

int work(Call& call) {
  const SearchWork work = call.self<MovesObject>()->moves.work();
  call.integer(work.evaluations);
  call.integer(work.simulated_ops);
  return 2;
}

constexpr Binding kFunctions[] = {{"berth.moves", &make}};
constexpr Binding kMethods[] = {{"moves:reset", &reset},
                                {"moves:propose", &propose},
                                {"moves:propose_group", &propose_group},
                                {"moves:accept", &accept},
                                {"moves:objective_us", &kept_getter<&MoveEvaluator::objective_us>},
                                {"moves:excess_bytes", &kept_getter<&MoveEvaluator::excess_bytes>},
                                {"moves:feasible", &kept_getter<&MoveEvaluator::feasible>},
                                {"moves:loads_us", &kept_getter<&MoveEvaluator::loads_us>},
                                {"moves:placement", &kept_getter<&MoveEvaluator::placement>},
                                {"moves:device", &device},
                                {"moves:work", &work}};

std::string describe(const void* object) {
  const auto& self = *static_cast<const MovesObject*>(object);
  return cat("(", self.problem->problem().graph().name(), ", ", self.moves.work().evaluations,
             " placements judged)");
}

}  // namespace

template <>
const Type& type_of<MovesObject>() {
  static constexpr Type type{"moves", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
