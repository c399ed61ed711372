// Updates of a policy in Lua, and messages between processes that train it together.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lua_learner.h"
#include "values.h"

namespace berth::lua {

constexpr const char* kReport = "`update`: the report { loss =, entropy =, gradient_norm = }";

static double number_of(lua_State* L, int table, const char* key) {
  lua_pushstring(L, key);
  lua_rawget(L, table);
  const Value value(L, lua_gettop(L), key, /*argument=*/0);
  const double number = value.present() ? value.number() : 0;
  lua_pop(L, 1);
  return number;
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
static void push_update_options(lua_State* L, const UpdateOptions& options) {
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
static UpdateReport report_of(lua_State* L, const char* what) {
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
    report = report_of(L, kReport);
  });
  ++updates_;
  if (changes_weights(advantages, options)) ++changes_;
  return report;
}

std::string LuaLearner::pack(const Rollout& rollout, std::span<const double> advantages) {
  const LuaTape& tape = require_tape(rollout, advantages, {});
  std::string bytes;
  in_lua([&](lua_State* L) {
    call_learning(L, *learns().pack, "pack", tape, rollout, advantages, {}, 1);
    bytes = Value(L, lua_gettop(L), "`pack`: the text", /*argument=*/0).bytes();
  });
  return bytes;
}

UpdateReport LuaLearner::learn(const Reference& packed, const Reference& problems,
                               const UpdateOptions& options) {
  check_update(options);
  UpdateReport report;
  in_lua([&](lua_State* L) {
    learns().update->push(L);
    agent_->push(L);
    learns().unpack->push(L);
    agent_->push(L);
    packed.push(L);
    problems.push(L);
    protected_call(L, 3, 2, "unpack");  // the tape, the advantages
    push_update_options(L, options);
    protected_call(L, 4, 1, "update");
    report = report_of(L, kReport);
  });
  ++updates_;
  ++changes_;
  return report;
}

void LuaLearner::prepare(std::span<Evaluator* const>) {}  // `make` has made the agent

void LuaLearner::require_sharing() const {
  if (learns().weights != nullptr) return;
  throw Error(ErrorCode::unsupported,
              cat("policy '", name(),
                  "' cannot be trained by several processes: its `learns` does not say what they "
                  "would exchange. Give it weights and set_weights, with gradient and step or with "
                  "pack and unpack; or train in one process, without --workers"));
}

void LuaLearner::require_gradients() const {
  require_sharing();
  if (learns().gradient != nullptr) return;
  throw Error(ErrorCode::unsupported,
              cat("policy '", name(),
                  "' has no gradient to exchange, because it learns by an `update` of its own; "
                  "policy:pack sends what it saw, and policy:learn learns from that"));
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

static void push_floats(lua_State* L, std::span<const float> values) {
  lua_pushlstring(L, reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

static std::vector<float> floats_at(lua_State* L, int index, const char* what) {
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
  began_with_ = Weights::given;
  ++updates_;
  changes_ = 0;
}

UpdateReport LuaLearner::gradient(const Rollout& rollout, std::span<const double> advantages,
                                  const UpdateOptions& options, std::vector<float>& out) {
  require_gradients();
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
  require_gradients();
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
  if (options.learning_rate != 0 && norm != 0) ++changes_;
  return norm;
}

}  // namespace berth::lua
