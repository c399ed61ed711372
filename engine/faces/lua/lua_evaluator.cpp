#include "lua_evaluator.h"

#include <cmath>
#include <utility>

#include "berth/support/text.h"
#include "call.h"
#include "lua_policy.h"
#include "values.h"

namespace berth::lua {
namespace {

std::int64_t bytes_of(const Value& value) {
  const double bytes = value.present() ? value.number() : 0;
  if (bytes < 0) value.refuse("a number of bytes expected");
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : kNoLimit;
}

/// An evaluation as push_evaluation makes it; only the objective is required.
void read_evaluation(lua_State* L, const Value& table, const Problem& problem, Evaluation& out) {
  const StackGuard guard(L);
  reserve_stack(L, 12);
  table.require_table();
  Fields fields(L, table);
  const auto number = [&](const char* key, double otherwise) {
    const Value value = fields.get(key);
    const double given = value.present() ? value.number() : otherwise;
    if (given < 0) value.refuse("a time is negative; give microseconds from 0 on");
    return given;
  };
  const bool latency = problem.options().objective == Objective::latency;
  out = {};
  if (const Value given = fields.get("objective_us"); !given.present()) {
    static_cast<void>(given.number());
  }
  out.objective_us = number("objective_us", 0);
  out.runtime_us = number("runtime_us", latency ? out.objective_us : 0);
  out.max_load_us = number("max_load_us", latency ? 0 : out.objective_us);
  const Value feasible = fields.get("feasible");
  out.feasible = !feasible.present() || feasible.boolean();
  const std::int32_t devices = problem.cluster().device_count();
  const Value worst = fields.get("worst_device");
  if (worst.present()) out.worst_device = worst.id(devices);
  out.excess_bytes = bytes_of(fields.get("excess_bytes"));
  if (out.excess_bytes > 0 && feasible.present() && out.feasible) {
    feasible.refuse("it is true, and excess_bytes says what memory lacks");
  }
  out.feasible = out.feasible && out.excess_bytes == 0;
  // Searches take something off the device that is over its limit.
  if (!out.feasible && out.worst_device == kNoDevice) out.worst_device = 0;
  const auto array = [&](const char* key) {
    const Value value = fields.get(key);
    std::vector<double> numbers =
        value.present() ? value.numbers() : std::vector<double>(static_cast<std::size_t>(devices));
    if (numbers.size() != static_cast<std::size_t>(devices)) {
      value.refuse("one number for each device expected");
    }
    return numbers;
  };
  for (const double bytes : array("peak_bytes")) {
    out.peak_bytes.push_back(bytes < 9e18 ? static_cast<std::int64_t>(bytes) : kNoLimit);
  }
  out.busy_us = array("busy_us");
  for (const double us : out.busy_us) {
    if (!(us >= 0)) table.refuse("busy_us: a time is negative; give microseconds from 0 on");
  }
  fields.finish();
}

class LuaEvaluator final : public Evaluator {
 public:
  LuaEvaluator(State& state, std::shared_ptr<const Problem> problem,
               std::unique_ptr<const Reference> evaluate, bool measures)
      : state_(state),
        problem_(std::move(problem)),
        evaluate_(std::move(evaluate)),
        measures_(measures) {}

  [[nodiscard]] const Problem& problem() const noexcept override { return *problem_; }
  [[nodiscard]] bool measures() const noexcept override { return measures_; }
  [[nodiscard]] std::int64_t evaluations() const noexcept override { return evaluations_; }

  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    for (const Placement& placement : placements) problem_->validate_but_separations(placement);
    if (placements.empty()) return;
    if (std::this_thread::get_id() != state_.thread) {
      throw Error(ErrorCode::unsupported,
                  "an evaluator written in Lua works only on the thread of its host; give the "
                  "policy one thread");
    }
    const NestedCallback nested(state_);
    lua_State* const L = running_thread(state_);
    const StackGuard guard(L);
    reserve_stack(L, 8);
    evaluate_->push(L);
    lua_createtable(L, static_cast<int>(placements.size()), 0);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      push_ids(L, placements[i]);
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
    call_protected(state_, L, 1, 1, Traceback::no);
    const int results = lua_gettop(L);
    const Value list(L, results, "`evaluate`", /*argument=*/0);
    list.require_table();
    if (lua_objlen(L, results) != placements.size()) {
      list.refuse(cat("one evaluation for each of ", placements.size(),
                      " placements expected, got ", lua_objlen(L, results)));
    }
    for (std::size_t i = 0; i < placements.size(); ++i) {
      lua_rawgeti(L, results, static_cast<int>(i) + 1);
      const std::string name = cat("`evaluate`: evaluation ", i + 1);
      read_evaluation(L, Value(L, lua_gettop(L), name.c_str(), /*argument=*/0), *problem_, out[i]);
      lua_pop(L, 1);
    }
    evaluations_ += static_cast<std::int64_t>(placements.size());
  }
  using Evaluator::evaluate;

 private:
  State& state_;
  std::shared_ptr<const Problem> problem_;
  std::unique_ptr<const Reference> evaluate_;
  bool measures_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_lua_evaluator(State& state, std::shared_ptr<const Problem> problem,
                                              std::unique_ptr<const Reference> evaluate,
                                              bool measures) {
  return std::make_unique<LuaEvaluator>(state, std::move(problem), std::move(evaluate), measures);
}

}  // namespace berth::lua
