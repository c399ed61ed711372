// Policies that learn, written in Lua. The host runs the episodes: it asks the agent for the devices
// of one step after another, measures, and keeps what the agent wants to remember (its tape) with the
// rollout. It also places, as learned policies in C++ do (berth/sdk/learning.h, refine).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "berth/sdk/repair.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "call.h"
#include "environment_object.h"
#include "lua_policy.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

struct LuaTape : Rollout::Tape {
  LuaTape(State& state, lua_State* L, int index, std::shared_ptr<const Reference> of,
          std::int64_t seen)
      : table(state, L, index), agent(std::move(of)), updates(seen) {}
  Reference table;
  std::shared_ptr<const Reference> agent;  ///< that filled it
  std::int64_t updates;                    ///< that it had seen
};

/// Numbers by decision, as Lua gives them.
std::vector<double> finite_numbers(lua_State* L, int index, const char* name, std::size_t count) {
  const Value value(L, index, name, /*argument=*/0);
  if (!value.present()) return std::vector<double>(count);
  std::vector<double> numbers = value.numbers();
  if (numbers.size() != count) {
    value.refuse(cat("one number for each of ", count, " episodes expected, got ", numbers.size()));
  }
  for (std::size_t e = 0; e < count; ++e) {
    if (!std::isnan(numbers[e])) continue;
    value.refuse(
        cat("that of episode ", e + 1,
            " is NaN: the network gives no numbers, so that its choices mean nothing; look "
            "at its weights and at what it sees"));
  }
  return numbers;
}

double number_of(lua_State* L, int table, const char* key) {
  lua_pushstring(L, key);
  lua_rawget(L, table);
  const Value value(L, lua_gettop(L), key, /*argument=*/0);
  const double number = value.present() ? value.number() : 0;
  lua_pop(L, 1);
  return number;
}

class LuaLearner final : public LearnedPolicy {
 public:
  LuaLearner(State& state, std::shared_ptr<const PolicyDefinition> definition,
             const OptionTexts& options)
      : state_(state), definition_(std::move(definition)), options_(definition_->specs()) {
    set_name(definition_->name());
    for (const auto& [key, value] : options) {
      options_.set(cat("policy '", name(), "'"), key, value);
    }
    in_lua([&](lua_State* L) {
      learns().make->push(L);
      push_options(L, options_.values());
      protected_call(L, 1, 1, "make");
      if (lua_isnil(L, -1)) {
        throw Error(ErrorCode::invalid_argument, "`make` returned nothing; return the agent");
      }
      agent_ = std::make_shared<const Reference>(state_, L, lua_gettop(L));
    });
    const std::string& weights = options_.text("weights");
    if (!weights.empty() && weights != "none") static_cast<void>(load(weights));
  }

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override;
  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;
  UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                      const UpdateOptions& options) override;
  void save(const std::filesystem::path& file, const std::string& text) const override;
  std::string load(const std::filesystem::path& file) override;
  [[nodiscard]] std::int64_t parameter_count() const override;
  void prepare(std::span<Evaluator* const> evaluators) override;
  [[nodiscard]] std::vector<float> weights() const override;
  void set_weights(std::span<const float> weights) override;
  UpdateReport gradient(const Rollout& rollout, std::span<const double> advantages,
                        const UpdateOptions& options, std::vector<float>& out) override;
  double step(std::span<const float> gradient, const UpdateOptions& options) override;

 private:
  /// Throws Error where this rollout teaches nothing.
  [[nodiscard]] const LuaTape& require_tape(const Rollout& rollout,
                                            std::span<const double> advantages,
                                            const UpdateOptions& options) const;
  void call_learning(lua_State* L, const Reference& function, const char* called,
                     const LuaTape& tape, const Rollout& rollout,
                     std::span<const double> advantages, const UpdateOptions& options,
                     int results) const;
  /// Throws Error where its weights are its own.
  void require_sharing() const;
  void check_values(std::span<const float> values, const char* what) const;
  [[nodiscard]] const LearnsDefinition& learns() const { return *definition_->learns(); }

  /// body(L) on the host's thread, with the stack as it was afterwards; errors name the policy.
  template <typename Body>
  void in_lua(const Body& body) const {
    if (std::this_thread::get_id() != state_.thread) {
      throw Error(ErrorCode::unsupported,
                  cat("the policy '", name(),
                      "' is written in Lua and works only on the thread of its host"));
    }
    const NestedCallback nested(state_);
    lua_State* L = running_thread(state_);
    const StackGuard guard(L);
    reserve_stack(L, 24);
    try {
      body(L);
    } catch (const Error& error) {
      throw Error(error.code(), cat("the policy '", name(), "': ", error.what()));
    }
  }

  /// As call_protected; where the error is none of a script's line, it names the function.
  void protected_call(lua_State* L, int arguments, int results, const char* function) const {
    try {
      call_protected(state_, L, arguments, results, Traceback::no);
    } catch (const Error& error) {
      throw Error(error.code(), cat("`", function, "`: ", error.what()));
    }
  }

  /// Placements decided at once, one simulation each; false where `should_stop` ended it.
  bool draw(std::span<Evaluator* const> evaluators, const RolloutOptions& options, Rollout& out);
  /// Reads the values at the top of the stack, which `whole` returned.
  void read_placements(lua_State* L, std::span<Evaluator* const> evaluators,
                       std::vector<std::vector<Placement>>& placements, Rollout& out) const;
  /// The environment that shows `evaluators` from `starts`; it ends with the loan.
  std::shared_ptr<EnvironmentObject> environment_for(std::span<Evaluator* const> evaluators,
                                                     const std::vector<EpisodeStart>& starts);
  /// Pushes what an agent is told of a rollout.
  static void push_rollout_options(lua_State* L, const RolloutOptions& options);
  /// The episodes, stepped by the agent; false where `should_stop` ended them.
  bool run(lua_State* L, const std::shared_ptr<EnvironmentObject>& environment, int tape,
           const RolloutOptions& options, Rollout& out);

  /// Evaluation before a whole placement: of the best single device, else of `zero`. Kept.
  const Evaluation& reference_of(Evaluator& evaluator, const Environment::Episode& zero);

  struct ReferenceOf {
    Problem problem;
    bool measured;
    Evaluation evaluation;
  };

  State& state_;
  std::shared_ptr<const PolicyDefinition> definition_;
  Options options_;
  std::vector<ReferenceOf> references_;
  std::shared_ptr<const Reference> agent_;
  std::int64_t updates_ = 0;  ///< of the agent's weights
};

void LuaLearner::push_rollout_options(lua_State* L, const RolloutOptions& options) {
  lua_createtable(L, 0, 5);
  set_boolean(L, "greedy", options.greedy);
  set_number(L, "seed", static_cast<double>(options.seed));
  set_number(L, "epsilon", options.epsilon);
  set_number(L, "noise", options.noise);
  set_number(L, "samples", options.samples);
}

bool LuaLearner::run(lua_State* L, const std::shared_ptr<EnvironmentObject>& object, int tape,
                     const RolloutOptions& options, Rollout& out) {
  const Environment& environment = object->running();
  const std::size_t count = environment.episode_count();
  push_rollout_options(L, options);
  const int settings = lua_gettop(L);
  std::vector<DeviceId> devices(count);
  for (;;) {
    for (std::size_t e = 0; e < count; ++e) out.note(e, environment.episode(e));
    if (environment.done()) return true;
    if (options.should_stop && options.should_stop()) return false;
    const StackGuard guard(L);
    learns().act->push(L);
    agent_->push(L);
    push(state_, L, object);
    lua_pushvalue(L, settings);
    lua_pushvalue(L, tape);
    protected_call(L, 4, 3, "act");
    const int results = lua_gettop(L) - 2;
    const Value chosen(L, results, "`act`: the devices", /*argument=*/0);
    chosen.require_table();
    if (lua_objlen(L, results) != count) {
      chosen.refuse(cat("one device for each of ", count, " episodes expected, got ",
                        lua_objlen(L, results)));
    }
    const auto log_probabilities =
        finite_numbers(L, results + 1, "`act`: the log-probabilities", count);
    const auto entropies = finite_numbers(L, results + 2, "`act`: the entropies", count);
    for (std::size_t e = 0; e < count; ++e) {
      const Environment::Episode& episode = environment.episode(e);
      if (episode.done()) continue;
      lua_rawgeti(L, results, static_cast<int>(e) + 1);
      devices[e] = Value(L, lua_gettop(L), "`act`: a device", /*argument=*/0)
                       .id(episode.problem->cluster().device_count());
      lua_pop(L, 1);
      out.episodes[e].log_probability[episode.step] = log_probabilities[e];
      out.episodes[e].entropy[episode.step] = entropies[e];
    }
    object->step(devices);
  }
}

std::shared_ptr<EnvironmentObject> LuaLearner::environment_for(
    std::span<Evaluator* const> evaluators, const std::vector<EpisodeStart>& starts) {
  std::vector<std::shared_ptr<ProblemObject>> objects;
  for (Evaluator* evaluator : evaluators) {
    objects.push_back(std::make_shared<ProblemObject>(
        std::make_shared<const Problem>(evaluator->problem()), state_.threads));
  }
  auto object = std::make_shared<EnvironmentObject>(
      std::move(objects), std::vector<Evaluator*>(evaluators.begin(), evaluators.end()),
      learns().seen);
  object->begin(starts);
  return object;
}

/// Ends an environment that was lent to a policy.
struct Loan {
  explicit Loan(EnvironmentObject& lent) : environment(lent) {}
  ~Loan() { environment.end(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  EnvironmentObject& environment;
};

void LuaLearner::read_placements(lua_State* L, std::span<Evaluator* const> evaluators,
                                 std::vector<std::vector<Placement>>& placements,
                                 Rollout& out) const {
  const std::size_t count = out.episodes.size(), samples = count / evaluators.size();
  const int results = lua_gettop(L) - 2;
  const Value all(L, results, "`whole`: the placements", /*argument=*/0);
  all.require_table();
  if (lua_objlen(L, results) != count) {
    all.refuse(cat("one placement for each of ", count, " episodes expected, got ",
                   lua_objlen(L, results)));
  }
  const auto log_probabilities =
      finite_numbers(L, results + 1, "`whole`: the log-probabilities", count);
  const auto entropies = finite_numbers(L, results + 2, "`whole`: the entropies", count);
  std::vector<DeviceId> devices;
  for (std::size_t e = 0; e < count; ++e) {
    const Problem& problem = evaluators[e / samples]->problem();
    const GroupId groups = problem.groups().count();
    const StackGuard guard(L);
    lua_rawgeti(L, results, static_cast<int>(e) + 1);
    const std::string name = cat("`whole`: placement ", e + 1, ", devices by group");
    const Value placement(L, lua_gettop(L), name.c_str(), /*argument=*/0);
    placement.ids(groups, problem.cluster().device_count(), devices);
    for (GroupId group = 0; group < groups; ++group) {
      if (problem.can_run(group, devices[at(group)])) continue;
      placement.refuse(cat("group ", group + 1, " cannot run on device ", devices[at(group)] + 1,
                           "; torch.observe's `able` says which can"));
    }
    placements[e / samples].push_back(problem.groups().expand(GroupPlacement(devices)));
    out.episodes[e].log_probability = {log_probabilities[e]};
    out.episodes[e].entropy = {entropies[e]};
  }
}

const Evaluation& LuaLearner::reference_of(Evaluator& evaluator, const Environment::Episode& zero) {
  constexpr std::size_t kMost = 256;  // a family of graphs in training is smaller
  const Problem& problem = evaluator.problem();
  for (const ReferenceOf& known : references_) {
    const Problem& other = known.problem;
    if (known.measured == evaluator.measures() && other.shared_graph() == problem.shared_graph() &&
        other.shared_cluster() == problem.shared_cluster() &&
        other.shared_costs() == problem.shared_costs() &&
        other.constraints() == problem.constraints() &&
        other.options().objective == problem.options().objective &&
        other.options().semantics == problem.options().semantics) {
      return known.evaluation;
    }
  }
  if (references_.size() >= kMost) references_.clear();
  SingleDevice single = best_single_device(evaluator);
  references_.push_back(
      {problem, evaluator.measures(),
       single.device == kNoDevice ? zero.evaluation : std::move(single.evaluation)});
  return references_.back().evaluation;
}

bool LuaLearner::draw(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                      Rollout& out) {
  check_rollout(options, evaluators.size());
  const auto samples = static_cast<std::size_t>(options.samples);
  out.episodes.resize(evaluators.size() * samples);
  for (Rollout::Episode& episode : out.episodes) episode.best.clear();
  // The state that the agent sees, of which nothing is its own.
  std::vector<EpisodeStart> states;
  for (std::size_t p = 0; p < evaluators.size(); ++p) {
    const Problem& problem = evaluators[p]->problem();
    Random none(0);
    states.push_back({p, zero_placement(problem),
                      traversal_order(problem.groups(), Traversal::topological, none)});
  }
  const auto object = environment_for(evaluators, states);
  const Loan loan(*object);
  std::vector<std::vector<Placement>> placements(evaluators.size());
  std::shared_ptr<LuaTape> tape;
  in_lua([&](lua_State* L) {
    lua_newtable(L);
    tape = std::make_shared<LuaTape>(state_, L, lua_gettop(L), agent_, updates_);
    learns().whole->push(L);
    agent_->push(L);
    push(state_, L, object);
    push_rollout_options(L, options);
    tape->table.push(L);
    protected_call(L, 4, 3, "whole");
    read_placements(L, evaluators, placements, out);
  });
  for (std::size_t p = 0; p < evaluators.size(); ++p) {
    if (options.should_stop && options.should_stop()) return false;
    std::vector<Evaluation> evaluations(samples);
    evaluators[p]->evaluate(placements[p], evaluations);
    const Evaluation& before = reference_of(*evaluators[p], object->running().episode(p));
    for (std::size_t k = 0; k < samples; ++k) {
      Rollout::Episode& episode = out.episodes[p * samples + k];
      episode.problem = p;
      episode.start = 0;
      episode.steps = episode.measured = 1;
      episode.evaluations = {before, evaluations[k]};
      episode.best = placements[p][k];
      episode.best_evaluation = std::move(evaluations[k]);
      episode.last = std::move(placements[p][k]);
    }
  }
  out.tape = std::move(tape);
  return true;
}

void LuaLearner::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                         Rollout& out) {
  out.tape = nullptr;
  if (learns().whole != nullptr) {
    static_cast<void>(draw(evaluators, options, out));
    return;
  }
  std::vector<const Problem*> problems;
  for (Evaluator* evaluator : evaluators) problems.push_back(&evaluator->problem());
  const std::vector<EpisodeStart> starts = episode_starts(problems, options);
  const auto object = environment_for(evaluators, starts);
  const Loan loan(*object);
  out.begin(starts);
  in_lua([&](lua_State* L) {
    lua_newtable(L);
    const int table = lua_gettop(L);
    if (run(L, object, table, options, out)) {
      out.tape = std::make_shared<LuaTape>(state_, L, table, agent_, updates_);
    }
  });
}

const LuaTape& LuaLearner::require_tape(const Rollout& rollout, std::span<const double> advantages,
                                        const UpdateOptions& options) const {
  const auto* const tape = dynamic_cast<const LuaTape*>(rollout.tape.get());
  if (tape == nullptr || tape->agent != agent_ || tape->updates != updates_) {
    throw Error(ErrorCode::invalid_argument,
                cat("policy '", name(),
                    "': there is nothing to learn from: update takes a rollout of this policy with "
                    "the weights it has now, and every update changes them"));
  }
  check_advantages(rollout, advantages);
  check_update(options);
  return *tape;
}

/// Pushes the options of an update.
void push_update_options(lua_State* L, const UpdateOptions& options) {
  lua_createtable(L, 0, 3);
  set_number(L, "learning_rate", options.learning_rate);
  set_number(L, "entropy_weight", options.entropy_weight);
  set_number(L, "max_norm", options.max_norm);
}

/// Calls a function of what was seen and the advantages; its `results` stay on the stack.
void LuaLearner::call_learning(lua_State* L, const Reference& function, const char* called,
                               const LuaTape& tape, const Rollout& rollout,
                               std::span<const double> advantages, const UpdateOptions& options,
                               int results) const {
  function.push(L);
  agent_->push(L);
  tape.table.push(L);
  lua_createtable(L, static_cast<int>(rollout.episodes.size()), 0);
  std::size_t next = 0;
  for (std::size_t e = 0; e < rollout.episodes.size(); ++e) {
    const std::size_t steps = rollout.episodes[e].entropy.size();
    push_numbers(L, advantages.subspan(next, steps));
    lua_rawseti(L, -2, static_cast<int>(e) + 1);
    next += steps;
  }
  push_update_options(L, options);
  protected_call(L, 4, results, called);
}

/// The report at the top of the stack.
UpdateReport report_of(lua_State* L, const char* what) {
  const int index = lua_gettop(L);
  Value(L, index, what, 0).require_table();
  UpdateReport report;
  report.loss = number_of(L, index, "loss");
  report.entropy = number_of(L, index, "entropy");
  report.gradient_norm = number_of(L, index, "gradient_norm");
  return report;
}

UpdateReport LuaLearner::update(const Rollout& rollout, std::span<const double> advantages,
                                const UpdateOptions& options) {
  const LuaTape& tape = require_tape(rollout, advantages, options);
  UpdateReport report;
  in_lua([&](lua_State* L) {
    call_learning(L, *learns().update, "update", tape, rollout, advantages, options, 1);
    report = report_of(L, "`update`: the report { loss =, entropy =, gradient_norm = }");
  });
  ++updates_;
  return report;
}

void LuaLearner::prepare(std::span<Evaluator* const>) {}  // `make` has made the agent

void LuaLearner::require_sharing() const {
  if (learns().gradient != nullptr) return;
  throw Error(
      ErrorCode::unsupported,
      cat("policy '", name(),
          "' cannot be trained by several processes: it learns by an `update` of its own, and what "
          "that would exchange nobody else knows. Train it in one process, without --workers, or "
          "give its `learns` weights, set_weights, gradient and step too"));
}

void LuaLearner::check_values(std::span<const float> values, const char* what) const {
  const auto count = static_cast<std::size_t>(parameter_count());
  const bool finite =
      std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  if (values.size() == count && finite) return;
  throw Error(ErrorCode::invalid_argument,
              cat("policy '", name(), "': ", values.size(), " values are no ", what,
                  " of a network with ", count, finite ? "" : ", and some are not finite"));
}

void push_floats(lua_State* L, std::span<const float> values) {
  lua_pushlstring(L, reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::vector<float> floats_at(lua_State* L, int index, const char* what) {
  const std::string bytes = Value(L, index, what, /*argument=*/0).bytes();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::vector<float> LuaLearner::weights() const {
  require_sharing();
  std::vector<float> values;
  in_lua([&](lua_State* L) {
    learns().weights->push(L);
    agent_->push(L);
    protected_call(L, 1, 1, "weights");
    values = floats_at(L, lua_gettop(L), "`weights`: their bytes");
  });
  return values;
}

void LuaLearner::set_weights(std::span<const float> weights) {
  require_sharing();
  check_values(weights, "weights");
  in_lua([&](lua_State* L) {
    learns().set_weights->push(L);
    agent_->push(L);
    push_floats(L, weights);
    protected_call(L, 2, 0, "set_weights");
  });
  ++updates_;
}

UpdateReport LuaLearner::gradient(const Rollout& rollout, std::span<const double> advantages,
                                  const UpdateOptions& options, std::vector<float>& out) {
  require_sharing();
  const LuaTape& tape = require_tape(rollout, advantages, options);
  UpdateReport report;
  in_lua([&](lua_State* L) {
    call_learning(L, *learns().gradient, "gradient", tape, rollout, advantages, options, 2);
    out = floats_at(L, lua_gettop(L) - 1, "`gradient`: its bytes");
    report = report_of(L, "`gradient`: the report { loss =, entropy = }");
  });
  return report;
}

double LuaLearner::step(std::span<const float> gradient, const UpdateOptions& options) {
  require_sharing();
  check_update(options);
  check_values(gradient, "gradient");
  double norm = 0;
  in_lua([&](lua_State* L) {
    learns().step->push(L);
    agent_->push(L);
    push_floats(L, gradient);
    push_update_options(L, options);
    protected_call(L, 3, 1, "step");
    norm = Value(L, lua_gettop(L), "`step`: the norm", /*argument=*/0).number();
  });
  ++updates_;
  return norm;
}

PolicyAnswer LuaLearner::place(Evaluator& evaluator, const PlaceContext& context) {
  RefineOptions how;
  how.groups = static_cast<GroupId>(options_.integer("groups"));
  how.passes = static_cast<int>(options_.integer("passes"));
  how.updates = options_.integer("episodes");
  how.samples = static_cast<int>(options_.integer("samples"));
  how.learning_rate = options_.real("learning_rate");
  how.entropy = options_.real("entropy");
  how.repair = options_.boolean("repair");
  if (learns().whole != nullptr || options_.text("starts") == "none")
    how.starts = RefineOptions::Starts::none;
  return refine(*this, evaluator, context, how);
}

void LuaLearner::save(const std::filesystem::path& file, const std::string& text) const {
  in_lua([&](lua_State* L) {
    learns().save->push(L);
    agent_->push(L);
    lua_pushstring(L, file.c_str());
    lua_pushlstring(L, text.data(), text.size());
    protected_call(L, 3, 0, "save");
  });
}

std::string LuaLearner::load(const std::filesystem::path& file) {
  std::string text;
  in_lua([&](lua_State* L) {
    learns().load->push(L);
    agent_->push(L);
    lua_pushstring(L, file.c_str());
    protected_call(L, 2, 1, "load");
    const Value value(L, lua_gettop(L), "`load`: the note", /*argument=*/0);
    if (value.present()) text = value.text();
  });
  ++updates_;
  return text;
}

std::int64_t LuaLearner::parameter_count() const {
  std::int64_t count = 0;
  in_lua([&](lua_State* L) {
    learns().parameters->push(L);
    agent_->push(L);
    protected_call(L, 1, 1, "parameters");
    count = Value(L, lua_gettop(L), "`parameters`: their number", /*argument=*/0).integer(0);
  });
  return count;
}

}  // namespace

LearnsDefinition::LearnsDefinition(State& state, lua_State* L, const Value& table) {
  table.require_table();
  Fields fields(L, table);
  const Value observe = fields.get("observe");
  const auto function = [&](const char* key) {
    const Value value = fields.get(key);
    value.require_function();
    return std::make_unique<const Reference>(state, L, value.index());
  };
  make = function("make");
  if (const Value all = fields.get("whole"); all.present()) {
    whole = function("whole");
    if (const Value other = fields.get("act"); other.present()) {
      other.refuse("a policy decides step by step or all at once; give `act` or `whole`");
    }
  } else {
    act = function("act");
  }
  update = function("update");
  save = function("save");
  load = function("load");
  parameters = function("parameters");
  if (fields.get("gradient").present()) {
    weights = function("weights");
    set_weights = function("set_weights");
    gradient = function("gradient");
    step = function("step");
  }
  fields.finish();
  if (!observe.present()) return;
  Fields what(L, observe);
  seen = read_seen(what);
  what.finish();
}

std::span<const OptionSpec> learner_options() {
  static constexpr OptionSpec kOptions[] = {
      {"weights", OptionType::text, "", "file of a trained policy; none or empty = fresh weights"},
      {"groups", OptionType::integer, "320",
       "coarsen to this many groups where the problem has more; 0 = never",
       OptionRange::at_least(0).up_to(1 << 20)},
      {"passes", OptionType::integer, "16", "greedy passes over the graph at most",
       OptionRange::at_least(1).up_to(1 << 20)},
      {"episodes", OptionType::integer, "-1",
       "updates on this very graph before the answer; -1: as many as the budget allows, none "
       "without one",
       OptionRange::at_least(-1)},
      {"samples", OptionType::integer, "16", "episodes per update",
       OptionRange::at_least(1).up_to(1 << 20)},
      {"learning_rate", OptionType::real, "3e-3", "of the first update; falls linearly to a tenth",
       OptionRange::at_least(0)},
      {"entropy", OptionType::real, "0.02", "weight of the entropy at first; falls linearly to 0",
       OptionRange::at_least(0)},
      {"starts",
       OptionType::text,
       "known",
       "where episodes start: known (a single device, runs of groups, list scheduling) or none "
       "(only "
       "whole placements of the policy's count)",
       {},
       "known,none"},
      kRepairOption};
  return kOptions;
}

std::unique_ptr<Policy> make_learner(State& state,
                                     std::shared_ptr<const PolicyDefinition> definition,
                                     const OptionTexts& options) {
  return std::make_unique<LuaLearner>(state, std::move(definition), options);
}

}  // namespace berth::lua
