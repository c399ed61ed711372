// berth.program, berth.backend and sessions: models on the devices of this machine.
#include "berth/backend.h"
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

MeasureOptions read_measure_options(const State& state, Fields& fields) {
  MeasureOptions options;
  options.should_stop = state.should_stop;
  constexpr std::int64_t kMost = 1'000'000;
  fields.read("warm_up", options.warm_up, 0, kMost);
  fields.read("repeats", options.repeats, 1, kMost);
  fields.read("precision", options.precision);
  fields.read("seed", options.seed, 0);
  return options;
}

namespace {

int make_program(Call& call) {
  const std::string path = call.argument(1, "path").text();
  Fields fields = call.options(2);
  const LoadOptions options = read_load_options(call.state, call.L, fields);
  fields.finish();
  const LoadedProgram loaded = call.state.engine.load_program(path, options);
  call.made(loaded.program);
  push_texts(call.L, loaded.notes);
  return 2;
}

int make_backend(Call& call) {
  const std::string name = call.argument(1, "name").text();
  OptionTexts options;
  if (const Value table = call.argument(2, "options"); table.present()) options = table.options();
  return call.made(std::shared_ptr<Backend>(call.state.engine.make_backend(name, options)));
}

int cannot_run(Call& call) {
  const auto program = call.argument(1, "program").object<const Program>();
  push_records(call.L, call.self<Backend>()->cannot_run(*program), [&](const Obstacle& obstacle) {
    set_id(call.L, "op", obstacle.op);
    set_text(call.L, "reason", obstacle.reason);
  });
  return 1;
}

int open(Call& call) {
  const auto backend = call.self<Backend>();
  const auto program = call.argument(1, "program").object<const Program>();
  Fields fields = call.options(2);
  SessionOptions options;
  fields.read("seed", options.seed, 0);
  if (const Value problem = fields.get("problem"); problem.present()) {
    options.priorities_us = priorities_us(problem.object<ProblemObject>()->problem());
  }
  fields.finish();
  auto object = std::make_shared<SessionObject>();
  object->backend = backend;
  object->session = backend->open(program, options);
  return call.made(std::move(object));
}

int profile_program(Call& call) {
  const auto self = call.self<SessionObject>();
  Fields fields = call.options(1);
  const MeasureOptions read = read_measure_options(call.state, fields);
  ProfileOptions options;
  options.should_stop = read.should_stop;
  if (fields.get("warm_up").present()) options.warm_up = read.warm_up;
  if (fields.get("repeats").present()) options.repeats = read.repeats;
  options.seed = read.seed;
  fields.finish();
  const Profile found = profile(*self->backend, *self->session, options);
  call.made(found.costs);
  call.made(found.cluster);
  return 2;
}

/// A device of the backend (1..) for every op.
Placement placement_of(const Value& value, const SessionObject& self) {
  Placement placement;
  value.ids(self.session->program().graph->op_count(), self.backend->cluster()->device_count(),
            placement);
  return placement;
}

int measure_placement(Call& call) {
  const auto self = call.self<SessionObject>();
  const Placement placement = placement_of(call.argument(1, "placement"), *self);
  Fields fields = call.options(2);
  MeasureOptions options = read_measure_options(call.state, fields);
  options.trace = true;
  fields.finish();
  const Measurement found = measure(*self->session, placement, options);
  lua_newtable(call.L);
  set_number(call.L, "mean_us", found.mean_us);
  set_number(call.L, "median_us", found.median_us);
  set_number(call.L, "deviation_us", found.deviation_us);
  set_number(call.L, "interval_us", found.interval_us);
  set_number(call.L, "min_us", found.min_us);
  set_number(call.L, "max_us", found.max_us);
  set_numbers(call.L, "steps_us", found.steps_us);
  push_integers(call.L, found.peak_bytes);
  lua_setfield(call.L, -2, "peak_bytes");
  set_texts(call.L, "notes", found.notes);
  push_trace(call.L, found.step.trace);
  lua_setfield(call.L, -2, "trace");
  return 1;
}

int verify_placement(Call& call) {
  const auto self = call.self<SessionObject>();
  const Placement placement = placement_of(call.argument(1, "placement"), *self);
  Fields fields = call.options(2);
  VerifyOptions options;
  options.should_stop = call.state.should_stop;
  fields.read("relative_tolerance", options.relative_tolerance);
  fields.read("absolute_tolerance", options.absolute_tolerance);
  fields.read("seed", options.seed, 0);
  fields.finish();
  const Verification found = verify(*self->backend, *self->session, placement, options);
  std::vector<std::string> differences;
  for (const Difference& difference : found.differences) {
    differences.push_back(difference.what + " " + difference.explanation);
  }
  call.boolean(differences.empty());
  push_texts(call.L, differences);
  return 2;
}

constexpr Binding kProgramFunctions[] = {{"berth.program", &make_program}};
constexpr Binding kProgramMethods[] = {{"program:graph", &getter<&Program::graph>}};
constexpr Binding kBackendFunctions[] = {{"berth.backend", &make_backend}};
constexpr Binding kBackendMethods[] = {{"backend:cluster", &getter<&Backend::cluster>},
                                       {"backend:description", &getter<&Backend::description>},
                                       {"backend:cannot_run", &cannot_run},
                                       {"backend:open", &open}};
constexpr Binding kSessionMethods[] = {{"session:profile", &profile_program},
                                       {"session:measure", &measure_placement},
                                       {"session:verify", &verify_placement}};

std::string describe_program(const void* object) {
  return static_cast<const Program*>(object)->graph->name();
}
std::string describe_backend(const void* object) {
  return static_cast<const Backend*>(object)->description();
}
std::string describe_session(const void* object) {
  return cat("of ", static_cast<const SessionObject*>(object)->session->program().graph->name());
}

}  // namespace

template <>
const Type& type_of<Program>() {
  static constexpr Type type{"program", kProgramFunctions, kProgramMethods, &describe_program};
  return type;
}
template <>
const Type& type_of<Backend>() {
  static constexpr Type type{"backend", kBackendFunctions, kBackendMethods, &describe_backend};
  return type;
}
template <>
const Type& type_of<SessionObject>() {
  static constexpr Type type{"session", {}, kSessionMethods, &describe_session};
  return type;
}

}  // namespace berth::lua
