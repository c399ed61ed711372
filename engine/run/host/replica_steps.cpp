#include "host/replica_steps.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "replicas/folded.h"

namespace berth {
namespace {

ConstraintRule pinned(const std::string& ops, std::vector<std::string> devices) {
  ConstraintRule rule;
  rule.ops = {{.name = {}, .regex = ops, .type = {}, .requested_device = {}}};
  rule.devices = std::move(devices);
  return rule;
}

/// Whether one placement serves all replicas.
bool are_alike(const ReplicaPlan& plan, const Cluster& cluster) {
  const auto& first = plan.replicas.front().devices;
  bool alike = true, grouped = false;
  for (const auto& replica : plan.replicas) {
    alike = alike && replica.devices.size() == first.size();
    grouped = grouped || replica.devices.size() > 1;
    for (std::size_t i = 0; alike && i < first.size(); ++i) {
      alike = cluster.kind_of(replica.devices[i]) == cluster.kind_of(first[i]);
    }
  }
  if (alike || !grouped) return alike;
  throw Error(ErrorCode::invalid_argument,
              "replicas: replicas of several devices have as many each, of the same kinds in the "
              "same order, so that one placement serves all; give each replica one device, or "
              "groups that are alike");
}

}  // namespace

ReplicaBudget::ReplicaBudget(const Settings& settings, const RunHooks& hooks,
                             const ReplicaModels& models)
    : settings_(settings),
      hooks_(hooks),
      models_(models),
      counts_(settings.moves.value_or(0) > 0),
      whole_(counts_ ? static_cast<double>(*settings.moves)
                     : settings.budget_s.value_or(kDefault_s)) {}

double ReplicaBudget::wall_s() const {
  return seconds_since(began_);
}

double ReplicaBudget::seconds() const {
  return wall_s() - models_.loading_s();
}

double ReplicaBudget::left() const {
  return whole_ - (counts_ ? proposed_ : seconds());
}

bool ReplicaBudget::stopped() const {
  // Proposals may have a time, too.
  const bool is_over = counts_ && settings_.budget_s && seconds() >= *settings_.budget_s;
  return left() <= least() || is_over || (hooks_.should_stop && hooks_.should_stop());
}

Settings ReplicaBudget::settings(double amount) const {
  Settings settings = settings_;
  settings.replicate.reset();
  if (counts_) {
    settings.moves = static_cast<std::int64_t>(std::max(1.0, amount));
    if (settings_.budget_s) settings.budget_s = std::max(0.0, *settings_.budget_s - seconds());
  } else {
    settings.budget_s = std::max(0.0, amount);
  }
  settings.bound = BoundEffort::none;
  settings.prove.reset();
  settings.certificate.reset();
  settings.start.reset();
  return settings;
}

bool Tried::is_grouped() const {
  return std::any_of(plan.replicas.begin(), plan.replicas.end(),
                     [](const auto& replica) { return replica.devices.size() > 1; });
}

Tried ReplicaSteps::plain() {
  Tried plain;
  const auto began = std::chrono::steady_clock::now();
  plain.one.task = plain_task(engine_, models_, budget_.settings(0));
  plain.one.task.model = model_;
  // Until one is posed: the plain step's, and twice as much for making the graph.
  posed_op_s_ = 3 * seconds_since(began) / plain.one.problem().graph().op_count();
  return plain;
}

Tried ReplicaSteps::on_one_device(const Tried& plain) {
  Tried single = plain;
  const auto evaluator = make_simulation_evaluator(plain.one.task.problem, /*threads=*/1);
  SingleDevice best = best_single_device(*evaluator);
  evaluations_ += evaluator->evaluations();
  if (best.device == kNoDevice) return single;
  single.one.placement = std::move(best.placement);
  single.one.evaluation = std::move(best.evaluation);
  return single;
}

Tried ReplicaSteps::planned(const ReplicaPlan& plan) {
  const Cluster& cluster = *models_.cluster();
  if (!are_alike(plan, cluster)) return {.plan = plan};
  const auto& first = plan.replicas.front();
  Folded folded =
      fold(models_.training(), models_.whole(), models_.share(first.share), cluster, plan);
  Settings settings = budget_.settings(0);
  settings.constraints.push_back(
      pinned("replica_0/.*", device_names(cluster, devices_with_hosts(cluster, first.devices))));
  for (std::size_t i = 0; i < std::min(folded.reductions.size(), reducer_count(plan)); ++i) {
    const DeviceId reducer = folded.reductions[i].second;
    settings.constraints.push_back(
        pinned(cat("reducer_", i, "/.*"), {folded.cluster->device(reducer).name}));
  }
  TaskParts parts;
  parts.costs = folded.model.costs;
  Tried tried;
  tried.plan = plan;
  tried.one.estimates = true;
  tried.one.task = make_task(engine_, folded.model.graph, folded.cluster, settings, parts);
  // For groups it is a start, which the policy does not find by itself under these rules.
  tried.one.placement = one_device_placement(tried.one.problem(), first.devices.front());
  for (const auto& [op, reducer] : folded.reductions) tried.one.placement[at(op)] = reducer;
  evaluate(tried.one);
  return tried;
}

void ReplicaSteps::pose(Tried& tried) {
  const ReplicaPlan& plan = tried.plan;
  const auto began = std::chrono::steady_clock::now();
  tried.step = {};
  tried.step.task = replicated_task(engine_, models_, plan, settings_);
  const Graph& graph = tried.step.problem().graph();
  posed_op_s_ = seconds_since(began) / graph.op_count();
  if (tried.is_grouped()) {
    Replicated step;
    step.ops_each = models_.whole().graph->op_count();
    step.model.graph = tried.step.task.problem->shared_graph();
    const auto& of = tried.step.task.replicas->replica_of;
    const auto replicas = static_cast<std::ptrdiff_t>(plan.replicas.size());
    step.reduction_replica.assign(of.begin() + step.ops_each * replicas, of.end());
    Placement one = tried.one.placement;
    one.resize(at(step.ops_each));
    tried.step.placement = mirrored(step, plan, one);
  } else {
    tried.step.placement = own_devices(tried);
  }
  evaluate(tried.step);
}

double ReplicaSteps::posing_s(const ReplicaPlan& plan) {
  return posed_op_s_ * static_cast<double>(plan.replicas.size()) *
         models_.whole().graph->op_count();
}

double ReplicaSteps::alone_us(const ReplicaPlan& plan) {
  const Cluster& cluster = *models_.cluster();
  double slowest_us = 0;
  std::set<std::pair<std::int64_t, KindId>> known;
  for (const auto& replica : plan.replicas) {
    const DeviceId device = replica.devices.front();
    if (!known.emplace(replica.share, cluster.kind_of(device)).second) continue;
    const SizedModel& model = models_.at_size(replica.share);
    Placed alone;
    alone.task.problem =
        std::make_shared<const Problem>(model.graph, models_.cluster(), model.costs);
    alone.placement = one_device_placement(alone.problem(), device);
    evaluate(alone);
    slowest_us = std::max(slowest_us, alone.us());
  }
  return slowest_us;
}

void ReplicaSteps::search(Placed& placed, double amount) {
  RunHooks hooks = hooks_;
  hooks.initial.clear();
  hooks.note = {};
  if (placed.estimates) hooks.progress = {};
  Settings settings = budget_.settings(amount);
  if (!placed.placement.empty()) {
    hooks.initial = {placed.placement};
    // The policies that `auto` starts from have answered. One that has much more time may answer otherwise.
    const bool is_auto = settings.policy.value_or("auto") == "auto";
    if (is_auto && amount < 2 * placed.longest) settings.options.try_emplace("from", "single");
  }
  // The same proposals again would be of no use.
  settings.seed = settings_.seed.value_or(hooks_.seed) + searches_++;
  placed.longest = std::max(placed.longest, amount);
  budget_.use(amount);
  try {
    Outcome outcome = berth::place(engine_, placed.task, settings, hooks);
    evaluations_ += outcome.search->evaluations;
    simulated_ops_ += outcome.search->simulated_ops;
    if (!placed.placement.empty() && !better(outcome.evaluation, placed.evaluation)) return;
    placed.placement = std::move(outcome.placement);
    placed.evaluation = std::move(outcome.evaluation);
    placed.improved = true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible) throw;
    nothing_fits_ = error;
  }
}

Outcome ReplicaSteps::traced(const Tried& tried) {
  Outcome outcome;
  outcome.problem = tried.step.task.problem;
  outcome.replicas = tried.step.task.replicas;
  outcome.trace = Simulator(outcome.problem).trace(tried.step.placement);
  return outcome;
}

void ReplicaSteps::evaluate(Placed& placed) {
  const Simulator simulator(placed.task.problem);
  Simulator::Workspace workspace;
  simulator.evaluate(placed.placement, workspace, placed.evaluation);
  ++evaluations_;
  simulated_ops_ += placed.problem().graph().op_count();
}

/// Each replica on its own device, the rest on a host.
Placement ReplicaSteps::own_devices(const Tried& tried) const {
  const Problem& problem = tried.step.problem();
  const Cluster& cluster = problem.cluster();
  const ReplicaFigures& figures = *tried.step.task.replicas;
  const auto classes = problem.finest_groups();
  Placement placement(at(problem.graph().op_count()), 0);
  for (GroupId c = 0; c < classes->count(); ++c) {
    const auto ops = classes->members(c);
    const auto r = at(figures.replica_of[at(ops.front())]);
    const auto runs = [&](DeviceId device) {
      return std::all_of(ops.begin(), ops.end(),
                         [&](OpId op) { return problem.cost_us(op, device) < kCannotRun; });
    };
    DeviceId device = tried.plan.replicas[r].devices.front();
    for (DeviceId other = 0; !runs(device) && other < cluster.device_count(); ++other) {
      if (runs(other)) device = other;
    }
    for (const OpId op : ops) placement[at(op)] = device;
  }
  return placement;
}

Task plain_task(Engine& engine, ReplicaModels& models, const Settings& settings) {
  Settings inner = settings;
  inner.replicate.reset();
  TaskParts parts;
  parts.costs = models.whole().costs;
  return make_task(engine, models.whole().graph, models.cluster(), inner, parts);
}

void compare_with_one_device(const std::shared_ptr<const Problem>& plain, Outcome& outcome) {
  outcome.best_single = best_single_device(*make_simulation_evaluator(plain, /*threads=*/1));
  if (outcome.best_single.device == kNoDevice) return;
  outcome.best_single.placement.resize(at(outcome.problem->graph().op_count()),
                                       outcome.best_single.device);
}

Task replicated_task(Engine& engine, ReplicaModels& models, const ReplicaPlan& plan,
                     const Settings& settings) {
  PosedReplicas posed = pose_replicas(models, plan);
  Settings inner = settings;
  inner.replicate.reset();
  inner.constraints.insert(inner.constraints.end(), posed.rules.begin(), posed.rules.end());
  TaskParts parts;
  parts.costs = posed.step.model.costs;
  Task task = make_task(engine, posed.step.model.graph, models.cluster(), inner, parts);
  Settings stored = parse_settings(task.settings, "settings");
  stored.constraints = settings.constraints;
  stored.replicate = posed.figures->plan;
  stored.costs = settings.costs;
  if (stored.costs && stored.costs->find_first_of("/.") != std::string::npos) {
    stored.costs = std::filesystem::absolute(*stored.costs).string();
  }
  task.settings = settings_json(stored);
  task.notes.insert(task.notes.begin(), models.notes().begin(), models.notes().end());
  task.replicas = std::move(posed.figures);
  return task;
}

}  // namespace berth
