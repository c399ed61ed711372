#include "lua_policy.h"

#include <algorithm>
#include <tuple>

#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "policy_call.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

constexpr int kMaxNestedPolicies = 32;

class LuaPolicy : public Policy {
 public:
  LuaPolicy(State& state, std::shared_ptr<const PolicyDefinition> definition,
            const OptionTexts& options)
      : state_(state), definition_(std::move(definition)), options_(definition_->specs()) {
    set_name(definition_->name());
    for (const auto& [key, value] : options) {
      options_.set(cat("policy '", name(), "'"), key, value);
    }
  }

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    if (std::this_thread::get_id() != state_.thread) {
      throw Error(ErrorCode::unsupported,
                  cat("the policy '", definition_->name(),
                      "' is written in Lua and places only on the thread of its host"));
    }
    const NestedCallback nested(state_);
    lua_State* L = running_thread(state_);
    const StackGuard guard(L);
    reserve_stack(L, 8);

    // Copies of a Problem are cheap (its parts are shared), and Lua may keep this one. The
    // evaluator and the context are lent for this call.
    auto problem_object =
        std::make_shared<ProblemObject>(std::make_shared<const Problem>(problem), context.threads);
    auto evaluator_object = std::make_shared<EvaluatorObject>();
    evaluator_object->problem = problem_object;
    auto context_object = std::make_shared<ContextObject>();
    const struct Loan {
      EvaluatorObject& evaluator;
      ContextObject& context;
      ~Loan() {
        evaluator.evaluator = nullptr;
        evaluator.lent_for = nullptr;
        context = {};
      }
    } loan{*evaluator_object, *context_object};
    PolicyCall call(state_, problem, context);
    evaluator_object->evaluator = &evaluator;
    evaluator_object->lent_for = &call;
    std::vector<std::string> notes;
    LowerBound proven;
    *context_object = {&context, &options_, &notes, &proven, &call};

    definition_->place()->push(L);
    push(state_, L, problem_object);
    push(state_, L, evaluator_object);
    push(state_, L, context_object);
    try {
      call_protected(state_, L, 3, 1, Traceback::no);
    } catch (const Error& error) {
      if (call.ended() && !call.best().empty()) {
        notes.push_back(cat("the policy '", definition_->name(),
                            "' never asked whether to stop and was ended: this is the best that it "
                            "evaluated; ask context:should_stop() in its loops"));
        return answer_of(call.best(), std::move(notes), std::move(proven));
      }
      throw Error(error.code(), cat("the policy '", definition_->name(), "': ", error.what()));
    }
    Placement placement;
    try {
      read_placement(Value(L, lua_gettop(L), "placement", /*argument=*/0), problem, placement);
    } catch (const Error& error) {
      throw Error(error.code(), cat("the policy '", definition_->name(),
                                    "' did not return a placement: ", error.what()));
    }
    return answer_of(std::move(placement), std::move(notes), std::move(proven));
  }

 private:
  static PolicyAnswer answer_of(Placement placement, std::vector<std::string> notes,
                                LowerBound proven) {
    PolicyAnswer answer(std::move(placement));
    answer.notes = std::move(notes);
    answer.proven = std::move(proven);
    return answer;
  }

  State& state_;
  std::shared_ptr<const PolicyDefinition> definition_;
  Options options_;
};

OptionType type_of_default(const Value& type, const Value& default_value) {
  if (type.present()) {
    const std::string name = type.text();
    if (name == "boolean") return OptionType::boolean;
    if (name == "integer") return OptionType::integer;
    if (name == "real") return OptionType::real;
    if (name == "text") return OptionType::text;
    type.refuse(cat("'", name, "' is not a type; known: boolean, integer, real, text"));
  }
  return static_cast<OptionType>(default_value.option().index());
}

OptionRange read_range(Fields& fields) {
  OptionRange range;
  const auto read = [&fields](const char* key, double& end) {
    const Value value = fields.get(key);
    if (value.present()) end = value.number();
    return value.present();
  };
  read("at_least", range.least);
  range.above_least = read("above", range.least);
  read("at_most", range.most);
  range.below_most = read("below", range.most);
  if (const Value divisor = fields.get("multiple_of"); divisor.present()) {
    range.divisor = divisor.integer(1);
  }
  return range;
}

static_assert(static_cast<int>(OptionType::text) == 3 && std::variant_size_v<OptionValue> == 4,
              "the order of OptionValue's types is that of OptionType");

std::unique_ptr<Policy> make_registered(State& state,
                                        const std::shared_ptr<const PolicyDefinition>& definition,
                                        const OptionTexts& options) {
  if (definition->learns() != nullptr) return make_learner(state, definition, options);
  return std::make_unique<LuaPolicy>(state, definition, options);
}

}  // namespace

NestedCallback::NestedCallback(State& state) : state_(state) {
  if (state.callback_depth >= kMaxNestedPolicies) {
    throw Error(ErrorCode::invalid_argument,
                cat("more than ", kMaxNestedPolicies,
                    " policies call each other; does one place with itself?"));
  }
  ++state_.callback_depth;
}

PolicyDefinition::PolicyDefinition(State& state, lua_State* L, const Value& table) : info_{} {
  Fields fields(L, table);
  info_.kind = PluginKind::policy;
  info_.name = fields.get("name").text();
  const Value description = fields.get("description");
  if (description.present()) info_.description = description.text();
  const Value version = fields.get("version");
  info_.version = version.present() ? version.text() : "script";
  const Value options = fields.get("options");
  const Value place = fields.get("place");
  const Value learns = fields.get("learns");
  fields.finish();
  if (info_.name.empty() ||
      info_.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos) {
    throw Error(ErrorCode::invalid_argument,
                cat("field 'name': lower-case letters, digits, '-' and '_' expected, got '",
                    info_.name, "'"));
  }
  if (learns.present() && place.present()) {
    place.refuse("a policy that learns is placed with by the host; give `learns` or `place`");
  }
  if (!learns.present()) place.require_function();
  if (options.present()) read_options(L, options);
  if (learns.present()) {
    add_learner_options();
    learns_ = std::make_unique<const LearnsDefinition>(state, L, learns);
  } else {
    place_ = std::make_unique<const Reference>(state, L, place.index());
  }
}

void PolicyDefinition::read_options(lua_State* L, const Value& list) {
  list.require_table();
  const int count = static_cast<int>(lua_objlen(L, list.index()));
  for (int i = 1; i <= count; ++i) {
    const StackGuard guard(L);
    reserve_stack(L, 6);
    lua_rawgeti(L, list.index(), i);
    const std::string entry = cat("options[", i, "]");
    Fields fields(L, Value(L, lua_gettop(L), entry.c_str(), /*argument=*/0));
    PluginInfo::Option option;
    option.name = fields.get("name").text();
    const Value default_value = fields.get("default");
    option.type = type_of_default(fields.get("type"), default_value);
    option.default_value = to_text(default_value.option());
    option.meaning = fields.get("meaning").text();
    option.range = read_range(fields);
    if (const Value choices = fields.get("choices"); choices.present()) {
      option.choices = choices.texts();
    }
    fields.finish();
    add_option(std::move(option));
  }
  static_cast<void>(Options(specs_));  // throws where a default is not of its type
}

void PolicyDefinition::add_option(PluginInfo::Option option) {
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : ",") + choice;
  const OptionSpec& spec =
      specs_.emplace_back(OptionSpec{texts_.emplace_back(option.name).c_str(), option.type,
                                     texts_.emplace_back(option.default_value).c_str(),
                                     texts_.emplace_back(option.meaning).c_str(), option.range,
                                     texts_.emplace_back(std::move(choices)).c_str()});
  option.allowed = allowed_text(spec);
  info_.options.push_back(std::move(option));
}

void PolicyDefinition::add_learner_options() {
  for (const OptionSpec& spec : learner_options()) {
    const auto own = std::find_if(specs_.begin(), specs_.end(), [&](const OptionSpec& each) {
      return std::string_view(each.name) == spec.name;
    });
    if (own == specs_.end()) {
      add_option({spec.name, spec.type, spec.default_value, spec.meaning, spec.range, {}, {}});
    } else if (own->type != spec.type) {
      throw Error(ErrorCode::invalid_argument,
                  cat("option '", spec.name, "': the host reads it too, of every policy that ",
                      "learns, as \"", spec.meaning, "\" (by default ", spec.default_value,
                      "); give it a default like that, or another name"));
    }
  }
}

std::unique_ptr<Policy> make_policy(State& state, const std::string& name,
                                    const OptionTexts& options) {
  if (const auto found = state.policies.find(name); found != state.policies.end()) {
    return make_registered(state, found->second, options);
  }
  if (!name.ends_with(".lua")) {
    // Policies that it runs may be Lua's too.
    return state.engine.make_policy(
        name, options, [&state](std::string_view other, const OptionTexts& other_options) {
          return make_policy(state, std::string(other), other_options);
        });
  }

  if (std::this_thread::get_id() != state.thread) {
    throw Error(ErrorCode::unsupported,
                cat(name, ": a policy written in Lua is made on the thread of its host alone"));
  }
  state.engine.check_allowed(name);
  // The script registers its policy; one that was registered by an earlier run is still there.
  const auto before = state.policies;
  run_script(state, name, {}, Traceback::no);
  std::shared_ptr<const PolicyDefinition> registered;
  for (const auto& [key, definition] : state.policies) {
    const auto known = before.find(key);
    if (known != before.end() && known->second == definition) continue;
    if (registered != nullptr) {
      throw Error(ErrorCode::invalid_file,
                  cat(name, ": registers more than one policy ('", registered->name(), "', '", key,
                      "'); run it as a script and name the policy, or keep one"));
    }
    registered = definition;
  }
  if (registered == nullptr) {
    throw Error(ErrorCode::invalid_file,
                cat(name, ": registers no policy; it should call berth.register_policy"));
  }
  return make_registered(state, registered, options);
}

std::vector<PluginInfo> all_plugins(State& state) {
  std::vector<PluginInfo> plugins = state.engine.plugins();
  for (const auto& [name, definition] : state.policies) plugins.push_back(definition->info());
  std::stable_sort(plugins.begin(), plugins.end(), [](const PluginInfo& a, const PluginInfo& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  });
  return plugins;
}

}  // namespace berth::lua
