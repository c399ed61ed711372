// berth.environment: episodes that a script steps.
#include <algorithm>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "call.h"
#include "environment_object.h"
#include "learning.h"
#include "values.h"

namespace berth::lua {

Observation::Observation(const Problem& problem, const Observer& observer, std::size_t count)
    : episodes(static_cast<std::int64_t>(count)),
      groups(problem.groups().count()),
      devices(problem.cluster().device_count()),
      group_width(static_cast<std::int64_t>(observer.group_width())),
      device_width(static_cast<std::int64_t>(observer.device_width())),
      group_values(at(episodes * groups * group_width)),
      device_values(at(episodes * devices * device_width)),
      allowed(at(episodes * devices)),
      current(count),
      placement(at(episodes * groups)),
      objective_us(count),
      excess_bytes(count),
      alternatives(at(episodes * devices)) {
  for (GroupId group = 0; group < groups; ++group) {
    for (DeviceId device = 0; device < devices; ++device) {
      able.push_back(problem.can_run(group, device) ? 1 : 0);
    }
  }
}

Seen read_seen(Fields& fields) {
  Seen seen;
  fields.read("groups", seen.groups);
  fields.read("devices", seen.devices);
  fields.read("look_ahead", seen.look_ahead);
  return seen;
}

EnvironmentObject::EnvironmentObject(std::vector<std::shared_ptr<ProblemObject>> problems,
                                     std::vector<Evaluator*> evaluators, const Seen& seen)
    : problems_(std::move(problems)) {
  for (const auto& problem : problems_) {
    observers_.emplace_back(problem->problem(), seen.groups, seen.devices);
  }
  const bool starts =
      std::find(seen.groups.begin(), seen.groups.end(), "start") != seen.groups.end();
  environment_ = std::make_unique<Environment>(
      std::move(evaluators),
      StateDetails{starts, seen.look_ahead || observers_.front().looks_ahead(), {}});
}

const Environment& EnvironmentObject::running() const {
  if (environment_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "this environment was lent to a policy for one rollout, which has ended; make one "
                "with berth.environment(problems)");
  }
  if (!begun_) throw Error(ErrorCode::invalid_argument, "call environment:reset() first");
  return *environment_;
}

void EnvironmentObject::end() {
  environment_ = nullptr;
}

void EnvironmentObject::reset(const RolloutOptions& options) {
  std::vector<const Problem*> problems;
  for (const auto& problem : problems_) problems.push_back(&problem->problem());
  begin(episode_starts(problems, options));
}

void EnvironmentObject::begin(const std::vector<EpisodeStart>& starts) {
  if (environment_ == nullptr) static_cast<void>(running());
  environment_->begin(starts);
  begun_ = true;
  // Pointers into the arrays stay good where the number of episodes does.
  const std::size_t samples = starts.size() / problems_.size();
  if (samples_ != samples) {
    samples_ = samples;
    observations_.clear();
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      observations_.push_back(
          std::make_shared<Observation>(problems_[p]->problem(), observers_[p], samples_));
    }
  }
  observe();
}

void EnvironmentObject::step(std::span<const DeviceId> devices) {
  static_cast<void>(running());
  environment_->step(devices);
  observe();
}

void EnvironmentObject::observe() {
  for (std::size_t e = 0; e < environment_->episode_count(); ++e) {
    const Environment::Episode& episode = environment_->episode(e);
    Observation& seen = *observations_[e / samples_];
    const std::size_t s = e % samples_, devices = at(seen.devices), groups = at(seen.groups);
    seen.objective_us[s] = episode.evaluation.objective_us;
    seen.excess_bytes[s] = static_cast<double>(episode.evaluation.excess_bytes);
    for (std::size_t g = 0; g < groups; ++g) {
      seen.placement[s * groups + g] = episode.placement[static_cast<GroupId>(g)] + 1;
    }
    if (episode.done()) continue;
    seen.current[s] = episode.current() + 1;
    observers_[e / samples_].observe(
        episode, seen.group_values.data() + s * groups * at(seen.group_width),
        seen.device_values.data() + s * devices * at(seen.device_width),
        seen.allowed.data() + s * devices);
    for (std::size_t d = 0; d < devices; ++d) {
      seen.alternatives[s * devices + d] =
          episode.alternatives.empty() ? kCannotRun : episode.alternatives[d].objective_us;
    }
  }
}

namespace {

int make(Call& call) {
  auto problems = problems_of(call, call.argument(1, "problems"));
  Fields fields = call.options(2);
  const Seen seen = read_seen(fields);
  const auto measuring = evaluators_of(call, fields.get("evaluators"), problems);
  fields.finish();
  auto evaluators = chosen_evaluators(problems, measuring);
  auto object =
      std::make_shared<EnvironmentObject>(std::move(problems), std::move(evaluators), seen);
  object->measuring = measuring;
  return call.made(std::move(object));
}

int reset(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  Fields fields = call.options(1);
  RolloutOptions options;
  read_episodes(call, fields, self->problems(), options);
  fields.finish();
  self->reset(options);
  return call.self_again();
}

int step(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  const Environment& environment = self->running();
  if (environment.done()) {
    throw Error(ErrorCode::invalid_argument,
                "every episode is done; call environment:reset() for new ones");
  }
  const Value devices = call.argument(1, "devices");
  devices.require_table();
  const std::size_t count = environment.episode_count();
  if (lua_objlen(call.L, devices.index()) != count) {
    devices.refuse(cat("one device for each of ", count, " episodes expected, got ",
                       lua_objlen(call.L, devices.index())));
  }
  std::vector<DeviceId> chosen(count);
  for (std::size_t e = 0; e < count; ++e) {
    const StackGuard guard(call.L);
    lua_rawgeti(call.L, devices.index(), static_cast<int>(e) + 1);
    const Environment::Episode& episode = environment.episode(e);
    // An episode that is done takes any device.
    if (episode.done()) continue;
    chosen[e] = Value(call.L, lua_gettop(call.L), "devices", /*argument=*/0)
                    .id(episode.problem->cluster().device_count());
  }
  self->step(chosen);
  return call.boolean(environment.done());
}

int done(Call& call) {
  return call.boolean(call.self<EnvironmentObject>()->running().done());
}

int episodes(Call& call) {
  return call.value(call.self<EnvironmentObject>()->running().episode_count());
}

const Environment::Episode& episode_of(const Call& call, const EnvironmentObject& self) {
  const Environment& environment = self.running();
  return environment.episode(
      at(call.argument(1, "episode").id(static_cast<std::int32_t>(environment.episode_count()))));
}

int evaluation(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  return return_evaluation(call.L, episode_of(call, *self).evaluation, call.argument(2, "result"));
}

int placement(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  const Environment::Episode& episode = episode_of(call, *self);
  push_ids(call.L, episode.problem->groups().expand(episode.placement));
  return 1;
}

int problem_count(Call& call) {
  return call.value(call.self<EnvironmentObject>()->problems().size());
}

std::size_t problem_index(const Call& call, const EnvironmentObject& self) {
  const Value which = call.argument(1, "index");
  return which.present() ? at(which.id(static_cast<std::int32_t>(self.problems().size()))) : 0;
}

int problem(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  return call.object(self->problems()[problem_index(call, *self)]);
}

int observation(Call& call) {
  const auto self = call.self<EnvironmentObject>();
  static_cast<void>(self->running());
  return call.object(self->observations()[problem_index(call, *self)]);
}

/// An array for LuaJIT's FFI: where it is, the type of its values, and its shape.
int view(Call& call) {
  const auto self = call.self<Observation>();
  const Value which = call.argument(1, "name");
  const std::string name = which.text();
  const auto give = [&](auto& values, const char* type, std::vector<std::int64_t> shape) {
    lua_pushlightuserdata(call.L, values.data());
    call.text(type);
    push_integers(call.L, shape);
    return 3;
  };
  const std::int64_t n = self->episodes;
  if (name == "groups")
    return give(self->group_values, "float", {n, self->groups, self->group_width});
  if (name == "devices") {
    return give(self->device_values, "float", {n, self->devices, self->device_width});
  }
  if (name == "able") return give(self->able, "uint8_t", {self->groups, self->devices});
  if (name == "allowed") return give(self->allowed, "uint8_t", {n, self->devices});
  if (name == "current") return give(self->current, "int64_t", {n});
  if (name == "placement") return give(self->placement, "int64_t", {n, self->groups});
  if (name == "objective_us") return give(self->objective_us, "double", {n});
  if (name == "excess_bytes") return give(self->excess_bytes, "double", {n});
  if (name == "alternatives") return give(self->alternatives, "double", {n, self->devices});
  which.refuse(
      "known: groups, devices, able, allowed, current, placement, objective_us, excess_bytes, "
      "alternatives");
}

int features(Call& call) {
  const auto push_list = [&](const std::vector<ObservationFeature>& list) {
    lua_newtable(call.L);
    for (const ObservationFeature& each : list) {
      set_text(call.L, std::string(each.name).c_str(), each.meaning);
    }
  };
  push_list(group_features());
  push_list(device_features());
  return 2;
}

constexpr Binding kFunctions[] = {{"berth.environment", &make}, {"berth.features", &features}};
constexpr Binding kMethods[] = {{"environment:reset", &reset},
                                {"environment:step", &step},
                                {"environment:done", &done},
                                {"environment:episodes", &episodes},
                                {"environment:evaluation", &evaluation},
                                {"environment:placement", &placement},
                                {"environment:problem_count", &problem_count},
                                {"environment:problem", &problem},
                                {"environment:observation", &observation}};
constexpr Binding kObservationMethods[] = {{"observation:view", &view}};

}  // namespace

template <>
const Type& type_of<EnvironmentObject>() {
  static constexpr Type type{"environment", kFunctions, kMethods, [](const void* object) {
                               const auto& self = *static_cast<const EnvironmentObject*>(object);
                               return cat("of ", self.problems().size(), " problems");
                             }};
  return type;
}

template <>
const Type& type_of<Observation>() {
  static constexpr Type type{"observation", {}, kObservationMethods, [](const void* object) {
                               const auto& self = *static_cast<const Observation*>(object);
                               return cat("of ", self.episodes, " episodes");
                             }};
  return type;
}

}  // namespace berth::lua
