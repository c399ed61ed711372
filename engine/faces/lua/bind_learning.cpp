// policy:rollout, policy:update, policy:save, policy:load, and the rollout they share.
#include "berth/support/text.h"
#include "call.h"
#include "learning.h"
#include "lua_learner.h"
#include "values.h"

namespace berth::lua {

/// visit(index, entry, name) for the first `count` entries of `array`, a table; errors name them
/// `what`[1] and so on.
template <typename Visit>
static void for_each_entry(const Call& call, const Value& array, const char* what,
                           std::size_t count, Visit visit) {
  reserve_stack(call.L, 8);
  for (std::size_t i = 0; i < count; ++i) {
    const StackGuard guard(call.L);
    lua_rawgeti(call.L, array.index(), static_cast<int>(i) + 1);
    const std::string name = cat(what, "[", i + 1, "]");
    visit(i, Value(call.L, lua_gettop(call.L), name.c_str(), /*argument=*/0), name);
  }
}

std::vector<std::shared_ptr<ProblemObject>> problems_of(const Call& call, const Value& value) {
  if (!value.is_table()) return {value.object<ProblemObject>()};
  std::vector<std::shared_ptr<ProblemObject>> problems;
  const std::size_t count = lua_objlen(call.L, value.index());
  for_each_entry(call, value, "problems", count,
                 [&](std::size_t, const Value& entry, const std::string&) {
                   problems.push_back(entry.object<ProblemObject>());
                 });
  if (problems.empty()) value.refuse("at least one problem expected");
  return problems;
}

/// The start that `name` stands for.
static GroupPlacement start_of(const Value& value, const std::string& name, ProblemObject& problem,
                               Random& random) {
  if (name == "shared") return random_placement(problem.problem(), random);
  if (name == "zero") return zero_placement(problem.problem());
  if (name == "contiguous") return contiguous_placement(problem.problem());
  if (name == "earliest") return earliest_placement(problem.problem());
  if (name == "single") {
    const SingleDevice single = best_single_device(problem.evaluator());
    // Device 0 if no device holds everything.
    return single.device == kNoDevice ? zero_placement(problem.problem())
                                      : group_placement(problem.problem(), single.placement);
  }
  value.refuse(
      "'random', 'shared', 'zero', 'single', 'contiguous', 'earliest' or placements by problem "
      "expected");
}

static std::vector<std::vector<GroupPlacement>> initial_of(
    const Call& call, const Value& value,
    const std::vector<std::shared_ptr<ProblemObject>>& problems, std::uint64_t seed) {
  std::vector<std::vector<GroupPlacement>> initial;
  if (!value.present()) return initial;
  if (value.is_text()) {
    const std::string name = value.text();
    if (name == "random") return initial;
    Random random = Random(seed).split();
    for (const auto& problem : problems) {
      initial.push_back({start_of(value, name, *problem, random)});
    }
    return initial;
  }
  value.require_table();
  for_each_entry(call, value, "initial", problems.size(),
                 [&](std::size_t p, const Value& list, const std::string& name) {
                   initial.emplace_back();
                   const Problem& problem = problems[p]->problem();
                   for (const Placement& each : read_placements(call.L, list, problem, name)) {
                     problem.validate(each);
                     initial.back().push_back(group_placement(problem, each));
                   }
                 });
  return initial;
}

std::vector<std::shared_ptr<EvaluatorObject>> evaluators_of(
    const Call& call, const Value& value,
    const std::vector<std::shared_ptr<ProblemObject>>& problems) {
  std::vector<std::shared_ptr<EvaluatorObject>> evaluators;
  if (!value.present()) return evaluators;
  value.require_table();
  for_each_entry(call, value, "evaluators", problems.size(),
                 [&](std::size_t p, const Value& each, const std::string&) {
                   evaluators.push_back(each.object<EvaluatorObject>());
                   if (evaluators.back()->problem != problems[p]) {
                     each.refuse("an evaluator of this problem expected");
                   }
                 });
  return evaluators;
}

std::vector<Evaluator*> chosen_evaluators(
    const std::vector<std::shared_ptr<ProblemObject>>& problems,
    const std::vector<std::shared_ptr<EvaluatorObject>>& measuring) {
  std::vector<Evaluator*> evaluators;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    evaluators.push_back(measuring.empty() ? &problems[p]->evaluator() : &measuring[p]->get());
  }
  return evaluators;
}

void read_episodes(const Call& call, Fields& fields,
                   const std::vector<std::shared_ptr<ProblemObject>>& problems,
                   RolloutOptions& options) {
  fields.read("samples", options.samples, 1, 1 << 20);
  fields.read("seed", options.seed, 0);
  if (const Value traversal = fields.get("traversal"); traversal.present()) {
    options.traversal = traversal_from_name(traversal.text());
  }
  options.initial = initial_of(call, fields.get("initial"), problems, options.seed);
}

namespace {

LearnedPolicy* learned(const PolicyObject& object) {
  return dynamic_cast<LearnedPolicy*>(object.policy.get());
}

LearnedPolicy& require_learned(const PolicyObject& object) {
  if (LearnedPolicy* const policy = learned(object)) return *policy;
  throw Error(
      ErrorCode::unsupported,
      cat("policy '", object.name, "' has nothing to learn; use one that does (placeto, seq2seq)"));
}

DistributedLearner& require_distributed(const PolicyObject& object) {
  auto* const learner = dynamic_cast<DistributedLearner*>(&require_learned(object));
  if (learner != nullptr) return *learner;
  throw Error(ErrorCode::unsupported,
              "this policy cannot be trained by several processes, because its weights and "
              "gradients are its own; train it in one");
}

const Rollout::Episode& episode_of(const Call& call, const RolloutObject& self) {
  const auto count = static_cast<std::int32_t>(self.rollout.episodes.size());
  return self.rollout.episodes[static_cast<std::size_t>(call.argument(1, "episode").id(count))];
}

int episodes(Call& call) {
  return call.value(call.self<RolloutObject>()->rollout.episodes.size());
}

/// A method that only returns what is noted of an episode.
template <auto member>
int episode_getter(Call& call) {
  return call.value(std::invoke(member, episode_of(call, *call.self<RolloutObject>())));
}

int problem(Call& call) {
  return call.id(static_cast<std::int32_t>(episode_of(call, *call.self<RolloutObject>()).problem));
}

/// Before the first decision at 0, after each from 1 on.
int evaluation(Call& call) {
  const auto self = call.self<RolloutObject>();
  const Rollout::Episode& episode = episode_of(call, *self);
  const auto step = static_cast<std::size_t>(call.argument(2, "step").integer(0, episode.steps));
  return return_evaluation(call.L, episode.evaluations[step], call.argument(3, "result"));
}

int best_evaluation(Call& call) {
  const auto self = call.self<RolloutObject>();
  return return_evaluation(call.L, episode_of(call, *self).best_evaluation,
                           call.argument(2, "result"));
}

int best(Call& call) {
  const auto self = call.self<RolloutObject>();
  const Rollout::Episode& episode = episode_of(call, *self);
  push_ids(call.L, episode.best);
  push_evaluation(call.L, episode.best_evaluation);
  return 2;
}

int last(Call& call) {
  const auto self = call.self<RolloutObject>();
  const Rollout::Episode& episode = episode_of(call, *self);
  push_ids(call.L, episode.last);
  push_evaluation(call.L, episode.evaluations[static_cast<std::size_t>(episode.steps)]);
  return 2;
}

int differing(Call& call) {
  const auto self = call.self<RolloutObject>();
  return call.boolean(tells_apart(self->rollout, call.argument(1, "returns").numbers()));
}

std::size_t decision_of(const Call& call, const Rollout::Episode& episode) {
  return static_cast<std::size_t>(call.argument(2, "step").id(episode.steps));
}

/// A method that only returns what is noted of a decision.
template <auto member>
int decision_getter(Call& call) {
  const auto self = call.self<RolloutObject>();
  const Rollout::Episode& episode = episode_of(call, *self);
  return call.value(std::invoke(member, episode)[decision_of(call, episode)]);
}

constexpr Binding kMethods[] = {
    {"rollout:episodes", &episodes},
    {"rollout:steps", &episode_getter<&Rollout::Episode::steps>},
    {"rollout:measured", &episode_getter<&Rollout::Episode::measured>},
    {"rollout:start", &episode_getter<&Rollout::Episode::start>},
    {"rollout:problem", &problem},
    {"rollout:evaluation", &evaluation},
    {"rollout:best", &best},
    {"rollout:last", &last},
    {"rollout:entropy", &decision_getter<&Rollout::Episode::entropy>},
    {"rollout:log_probability", &decision_getter<&Rollout::Episode::log_probability>},
    {"rollout:best_evaluation", &best_evaluation},
    {"rollout:tells_apart", &differing},
};

}  // namespace

int policy_learns(Call& call) {
  return call.boolean(learned(*call.self<PolicyObject>()) != nullptr);
}

int policy_rollout(Call& call) {
  const auto self = call.self<PolicyObject>();
  LearnedPolicy& policy = require_learned(*self);
  auto problems = problems_of(call, call.argument(1, "problems"));
  Fields fields = call.options(2);
  RolloutOptions options;
  options.seed = self->seed;
  fields.read("greedy", options.greedy);
  fields.read("epsilon", options.epsilon);
  fields.read("noise", options.noise);
  read_episodes(call, fields, problems, options);
  const auto measuring = evaluators_of(call, fields.get("evaluators"), problems);
  std::shared_ptr<RolloutObject> object;
  if (const Value reused = fields.get("into"); reused.present()) {
    object = reused.object<RolloutObject>();
  }
  fields.finish();
  const bool made = object == nullptr;
  if (made) object = std::make_shared<RolloutObject>();
  policy.rollout(chosen_evaluators(problems, measuring), options, object->rollout);
  object->problems = std::move(problems);
  return made ? call.made(std::move(object)) : call.object(std::move(object));
}

/// learning_rate, entropy_weight and max_norm of the last argument.
static UpdateOptions update_options(const Call& call, int argument) {
  Fields fields = call.options(argument);
  UpdateOptions options;
  fields.read("learning_rate", options.learning_rate);
  fields.read("entropy_weight", options.entropy_weight);
  fields.read("max_norm", options.max_norm);
  fields.finish();
  return options;
}

static void push_report(const Call& call, const UpdateReport& report) {
  lua_newtable(call.L);
  set_number(call.L, "loss", report.loss);
  set_number(call.L, "entropy", report.entropy);
  set_number(call.L, "gradient_norm", report.gradient_norm);
}

int policy_update(Call& call) {
  const auto self = call.self<PolicyObject>();
  LearnedPolicy& policy = require_learned(*self);
  const auto rollout = call.argument(1, "rollout").object<RolloutObject>();
  const std::vector<double> advantages = call.argument(2, "advantages").numbers();
  push_report(call, policy.update(rollout->rollout, advantages, update_options(call, 3)));
  return 1;
}

/// Floats as a text of their bytes, which is how they are sent.
static int float_bytes(const Call& call, std::span<const float> values) {
  return call.text({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

static std::vector<float> floats_of(const Value& value) {
  const std::string bytes = value.bytes();
  if (bytes.size() % sizeof(float) != 0)
    value.refuse("the bytes of single-precision numbers expected");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
  return values;
}

int policy_prepare(Call& call) {
  const auto self = call.self<PolicyObject>();
  auto* const policy = dynamic_cast<DistributedLearner*>(&require_learned(*self));
  const auto problems = problems_of(call, call.argument(1, "problems"));
  if (policy == nullptr) return 0;
  std::vector<Evaluator*> evaluators;
  for (const auto& each : problems) evaluators.push_back(&each->evaluator());
  policy->prepare(evaluators);
  return 0;
}

int policy_weights(Call& call) {
  return float_bytes(call, require_distributed(*call.self<PolicyObject>()).weights());
}

int policy_set_weights(Call& call) {
  const auto self = call.self<PolicyObject>();
  require_distributed(*self).set_weights(floats_of(call.argument(1, "weights")));
  return 0;
}

int policy_gradient(Call& call) {
  const auto self = call.self<PolicyObject>();
  DistributedLearner& policy = require_distributed(*self);
  const auto rollout = call.argument(1, "rollout").object<RolloutObject>();
  const std::vector<double> advantages = call.argument(2, "advantages").numbers();
  std::vector<float> gradient;
  const UpdateReport report =
      policy.gradient(rollout->rollout, advantages, update_options(call, 3), gradient);
  float_bytes(call, gradient);
  push_report(call, report);
  return 2;
}

int policy_step(Call& call) {
  const auto self = call.self<PolicyObject>();
  DistributedLearner& policy = require_distributed(*self);
  return call.number(policy.step(floats_of(call.argument(1, "gradient")), update_options(call, 2)));
}

/// Null where processes exchange gradients.
static LuaLearner* sending_episodes(const PolicyObject& object) {
  auto* const learner = dynamic_cast<LuaLearner*>(&require_learned(object));
  return learner != nullptr && learner->sends_episodes() ? learner : nullptr;
}

static LuaLearner& require_episodes(const PolicyObject& object) {
  if (LuaLearner* const learner = sending_episodes(object)) return *learner;
  throw Error(ErrorCode::unsupported,
              cat("policy '", object.name,
                  "' exchanges gradients, if anything; use policy:gradient and policy:step"));
}

int policy_exchanges(Call& call) {
  return call.text(sending_episodes(*call.self<PolicyObject>()) != nullptr ? "episodes"
                                                                           : "gradients");
}

int policy_pack(Call& call) {
  const auto self = call.self<PolicyObject>();
  LuaLearner& policy = require_episodes(*self);
  const auto rollout = call.argument(1, "rollout").object<RolloutObject>();
  return call.text(policy.pack(rollout->rollout, call.argument(2, "advantages").numbers()));
}

int policy_learn(Call& call) {
  const auto self = call.self<PolicyObject>();
  LuaLearner& policy = require_episodes(*self);
  const auto table = [&](int argument, const char* name) {
    const Value value = call.argument(argument, name);
    value.require_table();
    return Reference(call.state, call.L, value.index());
  };
  const Reference packed = table(1, "packed"), problems = table(2, "problems");
  push_report(call, policy.learn(packed, problems, update_options(call, 3)));
  return 1;
}

int policy_save(Call& call) {
  const auto self = call.self<PolicyObject>();
  const std::string path = call.argument(1, "path").text();
  const Value note = call.argument(2, "note");
  require_learned(*self).save(path, note.present() ? note.text() : "");
  return 0;
}

int policy_load(Call& call) {
  const auto self = call.self<PolicyObject>();
  return call.text(require_learned(*self).load(call.argument(1, "path").text()));
}

int policy_parameters(Call& call) {
  return call.integer(require_learned(*call.self<PolicyObject>()).parameter_count());
}

template <>
const Type& type_of<RolloutObject>() {
  static constexpr Type type{"rollout", {}, kMethods, [](const void* object) {
                               const auto& self = *static_cast<const RolloutObject*>(object);
                               return cat("of ", self.rollout.episodes.size(), " episodes");
                             }};
  return type;
}

}  // namespace berth::lua
