#include <array>

#include "berth/sdk/training_options.h"
#include "lua_policy.h"
#include "values.h"

namespace berth::lua {

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
  const Value by_gradient = fields.get("gradient");
  const bool by_episodes = fields.get("unpack").present();
  if (by_gradient.present() && by_episodes) {
    by_gradient.refuse(
        "processes exchange gradients or episodes; give gradient and step, or pack and unpack");
  }
  if (by_gradient.present()) {
    gradient = function("gradient");
    step = function("step");
  }
  if (by_episodes) {
    pack = function("pack");
    unpack = function("unpack");
  }
  if (by_gradient.present() || by_episodes) {
    weights = function("weights");
    set_weights = function("set_weights");
  }
  fields.finish();
  if (!observe.present()) return;
  Fields what(L, observe);
  seen = read_seen(what);
  what.finish();
}

std::span<const OptionSpec> learner_options() {
  static constexpr std::array<OptionSpec, 2> kOwn = {
      {{"weights", OptionType::text, "", "file of a trained policy; none or empty = fresh weights"},
       {"groups", OptionType::integer, "320",
        "coarsen to this many groups where the problem has more; 0 = never",
        OptionRange::at_least(0).up_to(1 << 20)}}};
  static constexpr auto kOptions = join_options(kOwn, training_options({}), kEpisodeOptions);
  return kOptions;
}

}  // namespace berth::lua
