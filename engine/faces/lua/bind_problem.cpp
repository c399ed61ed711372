// berth.problem: what is to be solved, and what is known of any placement of it.
#include "berth/bounds.h"
#include "berth/constraints.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "berth/plan_writers.h"
#include "berth/report.h"
#include "berth/run.h"
#include "berth/sdk/neighbourhoods.h"
#include "berth/support/text.h"
#include "bind_constraints.h"
#include "call.h"
#include "detect/here.h"
#include "explanation_values.h"
#include "objects.h"
#include "settings_values.h"
#include "state.h"
#include "values.h"

namespace berth::lua {

ProblemObject::ProblemObject(std::shared_ptr<const Problem> problem, int threads,
                             std::vector<std::string> notes, std::string settings)
    : problem_(std::move(problem)),
      threads_(threads),
      notes_(std::move(notes)),
      settings_(std::move(settings)) {}

Evaluator& ProblemObject::evaluator() {
  if (evaluator_ == nullptr) evaluator_ = make_simulation_evaluator(problem_, threads_);
  return *evaluator_;
}

const std::shared_ptr<const Simulator>& ProblemObject::simulator() {
  if (simulator_ == nullptr) simulator_ = std::make_shared<const Simulator>(problem_);
  return simulator_;
}

namespace {

std::shared_ptr<const Cluster> cluster_of(const Value& value) {
  return value.is_text() ? detect::load_machine(value.text()) : value.object<const Cluster>();
}

int make(Call& call) {
  const Value table = call.argument(1, "problem");
  table.require_table();
  Fields fields(call.L, table);
  const auto graph = fields.get("graph").object<const Graph>();
  Settings settings = call.state.settings;
  settings.add(read_settings(call.L, fields, SettingGroup::problem));
  TaskParts parts;
  if (const Value groups = fields.get("groups"); groups.is_object()) {
    if (settings.grouping) groups.refuse("either a grouping or groups that are made already");
    parts.groups = groups.object<const Groups>();
  }
  if (const Value costs = fields.get("costs"); costs.is_text()) {
    settings.costs = cost_source(costs);
    settings.origins.erase("costs");
  } else if (costs.present()) {
    parts.costs = costs.object<const Costs>();
  }
  fields.read("device_gap_us", parts.device_gap_us);
  fields.read("transfer_gap_us", parts.transfer_gap_us);
  const Value cluster = fields.get("cluster");
  fields.finish();
  const auto machine = cluster.present() ? cluster_of(cluster) : make_cluster(settings);
  Task made = make_task(call.state.engine, graph, machine, settings, parts);
  return call.made(std::make_shared<ProblemObject>(std::move(made.problem), call.state.threads,
                                                   std::move(made.notes),
                                                   std::move(made.settings)));
}

/// A method that only returns what Problem gives.
template <auto member>
int problem_getter(Call& call) {
  return call.value(std::invoke(member, call.self<ProblemObject>()->problem()));
}

int objective(Call& call) {
  return call.text(objective_name(call.self<ProblemObject>()->problem().options().objective));
}

int semantics(Call& call) {
  return call.text(semantics_name(call.self<ProblemObject>()->problem().options().semantics));
}

/// The same groups, rules and options with other figures.
int with(Call& call) {
  const Problem& problem = call.self<ProblemObject>()->problem();
  const auto costs = call.argument(1, "costs").object<const Costs>();
  std::shared_ptr<const Cluster> cluster = problem.shared_cluster();
  if (const Value other = call.argument(2, "cluster"); other.present()) {
    cluster = other.object<const Cluster>();
    if (cluster->device_names() != problem.cluster().device_names()) {
      other.refuse(cat("it has the devices ", cluster->device_names(), ", and the problem ",
                       problem.cluster().device_names(), "; give one of the same devices"));
    }
  }
  std::shared_ptr<const Constraints> constraints;
  if (problem.constraints() != nullptr) {
    constraints = std::make_shared<const Constraints>(problem.graph(), *cluster, *costs,
                                                      problem.constraints()->rules());
  }
  return call.made(std::make_shared<ProblemObject>(
      std::make_shared<const Problem>(problem.shared_graph(), cluster, costs,
                                      problem.shared_groups(), problem.options(), constraints),
      call.state.threads, std::vector<std::string>()));
}

DeviceId device_of(const Call& call, const Problem& problem) {
  return call.argument(2, "device").id(problem.cluster().device_count());
}

GroupId group_of(const Call& call, const Problem& problem) {
  return call.argument(1, "group").id(problem.groups().count());
}

int cost_us(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const OpId op = call.argument(1, "op").id(problem.graph().op_count());
  return call.number(problem.cost_us(op, device_of(call, problem)));
}

/// A method that only returns what Problem says of a group on a device.
template <auto member>
int group_getter(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const GroupId group = group_of(call, problem);
  return call.value(std::invoke(member, problem, group, device_of(call, problem)));
}

int group_param_bytes(Call& call) {
  const auto self = call.self<ProblemObject>();
  return call.integer(self->problem().group_param_bytes(group_of(call, self->problem())));
}

/// A placement that Problem::validate accepts.
Placement placement_of(const Value& value, const Problem& problem) {
  Placement placement;
  read_placement(value, problem, placement);
  problem.validate(placement);
  return placement;
}

int validate(Call& call) {
  const auto self = call.self<ProblemObject>();
  static_cast<void>(placement_of(call.argument(1, "placement"), self->problem()));
  return call.self_again();
}

int evaluate(Call& call) {
  const auto self = call.self<ProblemObject>();
  Placement placement;
  read_placement(call.argument(1, "placement"), self->problem(), placement);
  push_evaluation(call.L, self->evaluator().evaluate(placement));
  return 1;
}

int one_device(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const DeviceId device = call.argument(1, "device").id(problem.cluster().device_count());
  return call.value(one_device_placement(problem, device));
}

int single(Call& call) {
  const auto self = call.self<ProblemObject>();
  const SingleDevice best = best_single_device(self->evaluator());
  if (best.device == kNoDevice) return call.nil();
  push_single_device(call.L, self->problem(), best);
  return 1;
}

int bound(Call& call) {
  const LowerBound bound = call.self<ProblemObject>()->evaluator().bound();
  call.number(bound.us);
  call.text(bound.source);
  return 2;
}

int bounds(Call& call) {
  const auto self = call.self<ProblemObject>();
  push_records(call.L, strong_lower_bounds(self->problem()), [&](const LowerBound& bound) {
    set_number(call.L, "us", bound.us);
    set_text(call.L, "source", bound.source);
  });
  return 1;
}

int trace(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Placement placement = placement_of(call.argument(1, "placement"), self->problem());
  push_trace(call.L, self->simulator()->trace(placement));
  return 1;
}

int save_trace(Call& call) {
  const auto self = call.self<ProblemObject>();
  const std::string path = call.argument(1, "path").text();
  const Placement placement = placement_of(call.argument(2, "placement"), self->problem());
  const StepTrace step = self->simulator()->trace(placement);
  write_file(path, trace_json(self->problem(), placement, step));
  return 0;
}

int save_timeline(Call& call) {
  const auto self = call.self<ProblemObject>();
  const std::string path = call.argument(1, "path").text();
  const Placement placement = placement_of(call.argument(2, "placement"), self->problem());
  const StepTrace step = self->simulator()->trace(placement);
  write_file(path, timeline_svg(self->problem(), placement, step));
  return 0;
}

int explain(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Placement placement = placement_of(call.argument(1, "placement"), self->problem());
  const Outcome outcome = simulated_outcome(self->shared(), {}, placement);
  if (const Value op = call.argument(2, "op"); op.present()) {
    push_op_explanation(call.L, explain_op(outcome, op.id(self->problem().graph().op_count())));
  } else {
    push_explanation(call.L, outcome);
  }
  return 1;
}

/// One placement, or two side by side; `labels` tells them apart.
int save_report(Call& call) {
  const auto self = call.self<ProblemObject>();
  const std::string path = call.argument(1, "path").text();
  Report report;
  std::vector<std::string> labels = {"the first", "the second"};
  if (const Value given = call.argument(4, "labels"); given.present()) {
    labels = given.texts();
    if (labels.size() != 2) given.fail("two texts, one for each placement");
  }
  const auto add = [&](const Value& value, const std::string& label) {
    Origin origin;
    origin.model = self->problem().graph().name();
    report.placements.push_back({label, simulated_outcome(self->shared(), std::move(origin),
                                                          placement_of(value, self->problem()))});
  };
  add(call.argument(2, "placement"), labels[0]);
  if (const Value other = call.argument(3, "other"); other.present()) add(other, labels[1]);
  write_file(path, report_html(report, call.state.should_stop));
  return 0;
}

int save_plan(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const PlanWriter& writer = plan_writer(call.argument(1, "format").text());
  const std::string path = call.argument(2, "path").text();
  const Placement placement = placement_of(call.argument(3, "placement"), problem);
  write_file(path, writer.text(problem.graph(), problem.cluster(), placement));
  return 0;
}

int save_placement(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const std::string path = call.argument(1, "path").text();
  const Placement placement = placement_of(call.argument(2, "placement"), problem);
  const Value table = call.argument(3, "provenance");
  Origin origin;
  origin.settings = self->settings();
  if (table.present()) {
    Fields fields(call.L, table);
    origin.policy = fields.get("policy").text();
    if (const Value options = fields.get("options"); options.present()) {
      for (auto& [key, value] : options.options()) origin.options[key] = std::move(value);
    }
    fields.read("seed", origin.seed, 0);
    fields.finish();
  }
  const Evaluation evaluation = self->evaluator().evaluate(placement);
  write_file(path,
             placement_json(problem.graph(), problem.cluster(), placement, &evaluation, &origin));
  return 0;
}

int load_a_placement(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  push_ids(call.L,
           load_placement(call.argument(1, "path").text(), problem.graph(), problem.cluster()));
  return 1;
}

int neighbourhood(Call& call) {
  const auto self = call.self<ProblemObject>();
  const Problem& problem = self->problem();
  const Placement placement = placement_of(call.argument(1, "placement"), problem);
  const auto count = static_cast<GroupId>(
      call.argument(2, "count").integer(1, std::numeric_limits<GroupId>::max()));
  const auto seed = static_cast<std::uint64_t>(call.argument(3, "seed").integer(0));
  return call.made(draw_neighbourhood(problem, placement, count, seed));
}

constexpr Binding kFunctions[] = {{"berth.problem", &make}};
constexpr Binding kMethods[] = {
    {"problem:notes", &getter<&ProblemObject::notes>},
    {"problem:graph", &problem_getter<&Problem::shared_graph>},
    {"problem:cluster", &problem_getter<&Problem::shared_cluster>},
    {"problem:costs", &problem_getter<&Problem::shared_costs>},
    {"problem:groups", &problem_getter<&Problem::shared_groups>},
    {"problem:objective", &objective},
    {"problem:semantics", &semantics},
    {"problem:with", &with},
    {"problem:cost_us", &cost_us},
    {"problem:group_cost_us", &group_getter<&Problem::group_cost_us>},
    {"problem:can_run", &group_getter<&Problem::can_run>},
    {"problem:group_param_bytes", &group_param_bytes},
    {"problem:separations", &problem_separations},
    {"problem:memory_bytes", &problem_memory_bytes},
    {"problem:validate", &validate},
    {"problem:evaluate", &evaluate},
    {"problem:one_device", &one_device},
    {"problem:single", &single},
    {"problem:bound", &bound},
    {"problem:bounds", &bounds},
    {"problem:trace", &trace},
    {"problem:explain", &explain},
    {"problem:save_trace", &save_trace},
    {"problem:save_timeline", &save_timeline},
    {"problem:save_report", &save_report},
    {"problem:save_plan", &save_plan},
    {"problem:save_placement", &save_placement},
    {"problem:load_placement", &load_a_placement},
    {"problem:neighbourhood", &neighbourhood},
};

std::string describe(const void* object) {
  const Problem& problem = static_cast<const ProblemObject*>(object)->problem();
  return cat("(", problem.graph().name(), " on ", problem.cluster().name(), ", ",
             problem.groups().count(), " groups, ", objective_name(problem.options().objective),
             ", ", semantics_name(problem.options().semantics), ")");
}

}  // namespace

template <>
const Type& type_of<ProblemObject>() {
  static constexpr Type type{"problem", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
