#include "lua_learner.h"

#include <cmath>

#include "berth/sdk/training_options.h"
#include "berth/support/index.h"
#include "objects.h"
#include "values.h"

namespace berth::lua {
namespace {

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

/// The three values at the top of the stack, which decide for `count` episodes: an array of what is
/// decided, then log-probabilities and entropies, which may be left out.
struct Decisions {
  /// `function`, `all` and `one` name them in errors: "act", "devices", "device".
  Decisions(lua_State* L, const char* function, const char* all, const char* one, std::size_t count)
      : decided(lua_gettop(L) - 2) {
    const std::string called = cat("`", function, "`: the ");
    const std::string name = called + all;
    const Value value(L, decided, name.c_str(), /*argument=*/0);
    value.require_table();
    if (lua_objlen(L, decided) != count) {
      value.refuse(cat("one ", one, " for each of ", count, " episodes expected, got ",
                       lua_objlen(L, decided)));
    }
    log_probability = finite_numbers(L, decided + 1, (called + "log-probabilities").c_str(), count);
    entropy = finite_numbers(L, decided + 2, (called + "entropies").c_str(), count);
  }
  int decided;  ///< index in the stack
  std::vector<double> log_probability, entropy;
};

}  // namespace

LuaLearner::LuaLearner(State& state, std::shared_ptr<const PolicyDefinition> definition,
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
    const Decisions chosen(L, "act", "devices", "device", count);
    for (std::size_t e = 0; e < count; ++e) {
      const Environment::Episode& episode = environment.episode(e);
      if (episode.done()) continue;
      lua_rawgeti(L, chosen.decided, static_cast<int>(e) + 1);
      devices[e] = Value(L, lua_gettop(L), "`act`: a device", /*argument=*/0)
                       .id(episode.problem->cluster().device_count());
      lua_pop(L, 1);
      out.episodes[e].log_probability[episode.step] = chosen.log_probability[e];
      out.episodes[e].entropy[episode.step] = chosen.entropy[e];
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

namespace {
/// Ends an environment that was lent to a policy.
struct Loan {
  explicit Loan(EnvironmentObject& lent) : environment(lent) {}
  ~Loan() { environment.end(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  EnvironmentObject& environment;
};
}  // namespace

void LuaLearner::read_placements(lua_State* L, std::span<Evaluator* const> evaluators,
                                 std::vector<std::vector<Placement>>& placements,
                                 Rollout& out) const {
  const std::size_t count = out.episodes.size(), samples = count / evaluators.size();
  const Decisions all(L, "whole", "placements", "placement", count);
  std::vector<DeviceId> devices;
  for (std::size_t e = 0; e < count; ++e) {
    const Problem& problem = evaluators[e / samples]->problem();
    const GroupId groups = problem.groups().count();
    const StackGuard guard(L);
    lua_rawgeti(L, all.decided, static_cast<int>(e) + 1);
    const std::string name = cat("`whole`: placement ", e + 1, ", devices by group");
    const Value placement(L, lua_gettop(L), name.c_str(), /*argument=*/0);
    placement.ids(groups, problem.cluster().device_count(), devices);
    for (GroupId group = 0; group < groups; ++group) {
      if (problem.can_run(group, devices[at(group)])) continue;
      placement.refuse(cat("group ", group + 1, " cannot run on device ", devices[at(group)] + 1,
                           "; torch.observe's `able` says which can"));
    }
    placements[e / samples].push_back(problem.groups().expand(GroupPlacement(devices)));
    out.episodes[e].log_probability = {all.log_probability[e]};
    out.episodes[e].entropy = {all.entropy[e]};
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
        other.constraints() == problem.constraints() && other.options() == problem.options()) {
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

PolicyAnswer LuaLearner::place(Evaluator& evaluator, const PlaceContext& context) {
  RefineOptions how;
  how.groups = static_cast<GroupId>(options_.integer("groups"));
  read_training(options_, how);
  if (learns().whole != nullptr) how.starts = RefineOptions::Starts::none;
  PolicyAnswer answer = refine(*this, evaluator, context, how);
  answer.learned->weights = began_with_;
  answer.learned->updates = changes_;
  return answer;
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
  began_with_ = Weights::file;
  ++updates_;
  changes_ = 0;
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

std::unique_ptr<Policy> make_learner(State& state,
                                     std::shared_ptr<const PolicyDefinition> definition,
                                     const OptionTexts& options) {
  return std::make_unique<LuaLearner>(state, std::move(definition), options);
}

}  // namespace berth::lua
