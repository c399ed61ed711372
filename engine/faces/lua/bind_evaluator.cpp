// berth.evaluator: many evaluations of one problem.
#include "berth/evaluator.h"
#include "berth/support/text.h"
#include "bind_constraints.h"
#include "call.h"
#include "lua_evaluator.h"
#include "objects.h"
#include "policy_call.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

Evaluator& EvaluatorObject::get() const {
  if (evaluator == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "this evaluator was lent to a policy for one call, which has ended; make one with "
                "berth.evaluator(problem)");
  }
  return *evaluator;
}

void EvaluatorObject::tell(std::span<const Placement> found,
                           std::span<const Evaluation> evaluations) const {
  if (lent_for == nullptr) return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    lent_for->keep(found[i], evaluations[i].feasible, evaluations[i].objective_us);
  }
  lent_for->heed();
}

namespace {

int make(Call& call) {
  const auto problem = call.argument(1, "problem").object<ProblemObject>();
  Fields fields = call.options(2);
  int threads = call.state.threads;
  fields.read("threads", threads, 0, kMaxThreads);
  const Value executing = fields.get("session");
  const MeasureOptions measure = read_measure_options(call.state, fields);
  const Value evaluate = fields.get("evaluate");
  const Value measured = fields.get("measures");
  fields.finish();
  if (evaluate.present() && executing.present()) {
    evaluate.refuse("an evaluator has a session or this function, not both");
  }
  if (measured.present() && !evaluate.present()) {
    measured.refuse("it is said of the function `evaluate`, which is not there");
  }
  auto object = std::make_shared<EvaluatorObject>();
  object->problem = problem;
  if (executing.present()) {
    object->session = executing.object<SessionObject>();
    const std::string has = problem->problem().cluster().device_names();
    const std::string runs_on = object->session->backend->cluster()->device_names();
    if (has != runs_on) {
      executing.refuse(cat("the session runs on the devices ", runs_on, ", and the problem has ",
                           has, "; make the problem with backend:cluster()"));
    }
    object->owned = make_measuring_evaluator(problem->shared(), object->session->session, measure);
  } else if (evaluate.present()) {
    evaluate.require_function();
    object->owned =
        make_lua_evaluator(call.state, problem->shared(),
                           std::make_unique<const Reference>(call.state, call.L, evaluate.index()),
                           measured.present() && measured.boolean());
  } else {
    object->owned = make_simulation_evaluator(problem->shared(), threads);
  }
  object->evaluator = object->owned.get();
  return call.made(std::move(object));
}

/// A method that only returns what the evaluator gives.
template <auto member>
int evaluator_getter(Call& call) {
  return call.value(std::invoke(member, call.self<EvaluatorObject>()->get()));
}

/// Evaluates the placement of an argument into self.results[0].
const Evaluation& evaluate_argument(const Call& call, EvaluatorObject& self, int argument) {
  Evaluator& evaluator = self.get();
  if (self.placements.empty()) self.placements.resize(1);
  if (self.results.empty()) self.results.resize(1);
  read_placement(call.argument(argument, "placement"), self.problem->problem(), self.placements[0]);
  const std::span<const Placement> one(self.placements.data(), 1);
  const std::span result(self.results.data(), 1);
  evaluator.evaluate(one, result);
  self.tell(one, result);
  return self.results[0];
}

int evaluate(Call& call) {
  const auto self = call.self<EvaluatorObject>();
  push_evaluation(call.L, evaluate_argument(call, *self, 1));
  return 1;
}

int evaluate_into(Call& call) {
  const auto self = call.self<EvaluatorObject>();
  const Value result = call.argument(1, "result");
  result.require_table();
  fill_evaluation(call.L, result.index(), evaluate_argument(call, *self, 2));
  lua_pushvalue(call.L, result.index());
  return 1;
}

int batch(Call& call) {
  const auto self = call.self<EvaluatorObject>();
  Evaluator& evaluator = self->get();
  const Value list = call.argument(1, "placements");
  list.require_table();
  const std::size_t count = lua_objlen(call.L, list.index());
  self->placements.resize(std::max(count, self->placements.size()));
  self->results.resize(std::max(count, self->results.size()));
  reserve_stack(call.L, 8);
  for (std::size_t i = 0; i < count; ++i) {
    const StackGuard guard(call.L);
    lua_rawgeti(call.L, list.index(), static_cast<int>(i) + 1);
    const std::string entry = cat("placements[", i + 1, "]");
    read_placement(Value(call.L, lua_gettop(call.L), entry.c_str(), /*argument=*/0),
                   self->problem->problem(), self->placements[i]);
  }
  const std::span<const Placement> placements(self->placements.data(), count);
  const std::span results(self->results.data(), count);
  evaluator.evaluate(placements, results);
  self->tell(placements, results);
  push_array(call.L, results, [&](const Evaluation& result) { push_evaluation(call.L, result); });
  return 1;
}

constexpr Binding kFunctions[] = {{"berth.evaluator", &make}};
constexpr Binding kMethods[] = {
    {"evaluator:measures", &evaluator_getter<&Evaluator::measures>},
    {"evaluator:problem", &getter<&EvaluatorObject::problem>},
    {"evaluator:evaluations", &evaluator_getter<&Evaluator::evaluations>},
    {"evaluator:simulated_ops", &evaluator_getter<&Evaluator::simulated_ops>},
    {"evaluator:evaluate", &evaluate},
    {"evaluator:evaluate_into", &evaluate_into},
    {"evaluator:batch", &batch},
    {"evaluator:repair", &evaluator_repair},
};

std::string describe(const void* object) {
  const auto& self = *static_cast<const EvaluatorObject*>(object);
  return cat("of ", self.problem->problem().graph().name(), " on ",
             self.problem->problem().cluster().name());
}

}  // namespace

template <>
const Type& type_of<EvaluatorObject>() {
  static constexpr Type type{"evaluator", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
