#include "host/replica_models.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "berth/error.h"
#include "berth/run.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "host/load_parts.h"
#include "host/task_notes.h"

namespace berth {
namespace {

/// The first dimension that all inputs share; 0 where there is none.
std::int64_t first_dimension(const Graph& graph) {
  std::int64_t batch = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_input(op)) continue;
    for (const TensorId tensor : graph.outputs(op)) {
      if (!graph.has_shape(tensor) || graph.shape(tensor).empty()) continue;
      const std::int64_t first = graph.shape(tensor).front();
      if (batch != 0 && first != batch) return 0;
      batch = first;
    }
  }
  return std::max<std::int64_t>(batch, 0);
}

/// Groups of `each` devices, of one kind and with fast links among themselves.
std::vector<std::vector<DeviceId>> near_groups(const Cluster& cluster, std::size_t count,
                                               std::size_t each) {
  std::vector<DeviceId> free = accelerators(cluster);
  std::vector<std::vector<DeviceId>> groups(count);
  for (auto& group : groups) {
    group = {free.front()};
    free.erase(free.begin());
    while (group.size() < each) {
      const auto nearness = [&](DeviceId device) {
        double sum = 0;
        for (const DeviceId own : group) sum += cluster.route(own, device).bandwidth_bytes_per_s;
        return std::pair(cluster.kind_of(device) == cluster.kind_of(group.front()), sum);
      };
      const auto next = std::max_element(free.begin(), free.end(), [&](DeviceId a, DeviceId b) {
        return nearness(a) < nearness(b);
      });
      group.push_back(*next);
      free.erase(next);
    }
  }
  return groups;
}

/// "'a' (Roll) and 2 other ops".
std::string first_of(const Graph& graph, const std::vector<OpId>& ops) {
  const std::size_t others = ops.size() - 1;
  return cat("'", graph.op_name(ops.front()), "' (", graph.op_type(ops.front()), ")",
             others > 0 ? cat(" and ", others, others == 1 ? " other op" : " other ops") : "");
}

void note_meetings(const Graph& graph, const Training& training, std::vector<std::string>& notes) {
  constexpr std::string_view kOwn =
      "each replica has those of its own samples: its updates are not quite those of one device "
      "with the whole batch, as with batch normalisation";
  if (!training.meetings.empty()) {
    notes.push_back(cat("replicas: samples of the whole batch meet in ",
                        first_of(graph, training.meetings), ", of which ", kOwn));
  }
  if (!training.possible_meetings.empty()) {
    notes.push_back(cat("replicas: it is not known whether samples of the whole batch meet in ",
                        first_of(graph, training.possible_meetings), "; where they do, ", kOwn));
  }
}

}  // namespace

ReplicaModels::ReplicaModels(Engine& engine, const std::string& model, const Settings& settings,
                             std::shared_ptr<const Cluster> cluster)
    : engine_(engine), model_(model), settings_(settings), cluster_(std::move(cluster)) {
  int weakness_of_key = 0;
  for (const char* const key : {"*", "batch"}) {
    const auto stated = settings.load.dims.find(key);
    if (stated == settings.load.dims.end()) continue;
    const auto weak = settings.load.weakness.find(cat("dims.", key));
    const int weakness = weak == settings.load.weakness.end() ? 0 : weak->second;
    if (batch_ > 0 && weakness > weakness_of_key) continue;
    weakness_of_key = weakness;
    key_ = key;
    batch_ = stated->second;
  }
  LoadedModel loaded = load_by(engine, frontend_, model, settings.load);
  notes_ = std::move(loaded.notes);
  const bool stated = batch_ > 0;
  if (!stated) batch_ = first_dimension(*loaded.graph);
  if (batch_ == 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(settings.place("replicate"), model,
                    ": replicas share a batch, and nothing says its size: set \"batch\" (on a "
                    "command line --batch N)"));
  }
  if (batch_ < 2) {
    throw Error(ErrorCode::invalid_argument, cat(settings.place("replicate"), model,
                                                 ": a batch of one sample cannot be shared; set "
                                                 "\"batch\" (on a command line --batch N)"));
  }
  // Sizes that the file fixes are constants, and those of a share are not: both are to be the same ops.
  if (!stated) loaded.graph = load_at(batch_);
  LoadedCosts costs =
      make_costs(engine, *loaded.graph, *cluster_, settings.costs.value_or(std::string()),
                 arithmetic_of(settings, *loaded.graph));
  notes_.insert(notes_.end(), costs.notes.begin(), costs.notes.end());
  costs.costs = Costs::of_step(std::move(costs.costs), *loaded.graph, *cluster_);
  note_tf32(*loaded.graph, *cluster_, *costs.costs, settings, notes_);
  if (costs.costs->source() != "roofline") {
    try {
      roofline_ = Costs::roofline(*loaded.graph, *cluster_, arithmetic_of(settings, *loaded.graph));
    } catch (const Error& error) {
      throw Error(
          ErrorCode::unsupported,
          cat("costs of one batch follow another as the roofline model has it: ", error.what()));
    }
  }
  sizes_[batch_] = {std::move(loaded.graph), std::move(costs.costs)};
}

std::shared_ptr<const Costs> ReplicaModels::costs_at(const Graph& graph) const {
  auto roofline = Costs::roofline(graph, *cluster_, arithmetic_of(settings_, graph));
  if (roofline_ == nullptr) return roofline;
  const Costs& whole = *sizes_.at(batch_).costs;
  CostTable table(whole);
  for (KindId kind = 0; kind < whole.kind_count(); ++kind) {
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const double before = roofline_->op_us(op, kind), after = roofline->op_us(op, kind);
      const bool follows = before > 0 && before < kCannotRun && after < kCannotRun;
      double& us = table.cost_us(op, kind);
      if (follows && us < kCannotRun) us *= after / before;
    }
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    table.workspace_bytes[at(op)] = roofline->workspace_bytes(op);
  }
  return std::move(table).costs();
}

std::shared_ptr<const Graph> ReplicaModels::load_at(std::int64_t samples) {
  LoadOptions options = settings_.load;
  options.dims[key_] = samples;
  options.weakness.erase("dims." + key_);
  try {
    return load_by(engine_, frontend_, model_, options).graph;
  } catch (const Error& error) {
    throw Error(error.code() == ErrorCode::invalid_argument ? ErrorCode::unsupported : error.code(),
                cat("the model cannot be had for ", samples, " of its ", batch_,
                    " samples: ", error.what()));
  }
}

const SizedModel& ReplicaModels::at_size(std::int64_t samples) {
  const auto known = sizes_.find(samples);
  if (known != sizes_.end()) return known->second;
  const auto began = std::chrono::steady_clock::now();
  SizedModel sized;
  sized.graph = load_at(samples);
  if (sized.graph->op_count() != whole().graph->op_count()) {
    throw Error(
        ErrorCode::unsupported,
        cat(model_, ": its ops depend on the size of the batch; it has ", whole().graph->op_count(),
            " at ", batch_, " samples and ", sized.graph->op_count(), " at ", samples));
  }
  sized.costs = costs_at(*sized.graph);
  loading_s_ += seconds_since(began);
  return sizes_[samples] = std::move(sized);
}

const SizedModel& ReplicaModels::share(std::int64_t samples) {
  const Graph& whole_graph = *whole().graph;
  const SizedModel& sized = at_size(samples);
  for (TensorId tensor = 0; tensor < whole_graph.tensor_count(); ++tensor) {
    const OpId op = whole_graph.maker(tensor);
    if (op == kNoOp || !whole_graph.bytes_known(tensor) || sized.graph->bytes_known(tensor)) {
      continue;
    }
    throw Error(ErrorCode::unsupported,
                cat("the model cannot be had for a share of ", samples, " of its ", batch_,
                    " samples: nothing says what '", whole_graph.op_name(op), "' (",
                    whole_graph.op_type(op),
                    ") gives then, as where equal parts do not come out even; give other shares"));
  }
  return sized;
}

const Training& ReplicaModels::training() {
  if (!training_) {
    const Graph& smaller_graph = *at_size(smaller()).graph;
    const auto began = std::chrono::steady_clock::now();
    training_ = study_training(*whole().graph, smaller_graph, batch_);
    note_meetings(*whole().graph, *training_, notes_);
    loading_s_ += seconds_since(began);
  }
  return *training_;
}

std::vector<DeviceId> accelerators(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  for (const bool hosts : {false, true}) {
    for (DeviceId device = 0; device < cluster.device_count(); ++device) {
      if (cluster.device(device).host == hosts) devices.push_back(device);
    }
    if (!devices.empty()) break;
  }
  return devices;
}

std::vector<DeviceId> devices_with_hosts(const Cluster& cluster,
                                         const std::vector<DeviceId>& devices) {
  std::vector<DeviceId> all;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    if (cluster.device(device).host) all.push_back(device);
  }
  for (const DeviceId device : devices) {
    if (!cluster.device(device).host) all.push_back(device);
  }
  return all;
}

ReplicaPlan even_plan(const Cluster& cluster, std::size_t count, std::int64_t batch,
                      FastLinks links) {
  const std::size_t free = accelerators(cluster).size();
  const std::size_t each = count == 0 ? 0 : free / count;
  if (each == 0 || batch < static_cast<std::int64_t>(count)) {
    throw Error(ErrorCode::invalid_argument,
                cat("replicas: ", count, " replicas of a batch of ", batch, " on ", free,
                    " devices; each needs a device and a sample"));
  }
  const bool within = links == FastLinks::within;
  const auto groups =
      within ? near_groups(cluster, count, each) : near_groups(cluster, each, count);
  ReplicaPlan plan;
  const auto parts = static_cast<std::int64_t>(count);
  for (std::int64_t r = 0; r < parts; ++r) {
    ReplicaPlan::Replica replica;
    replica.share = batch / parts + (r < batch % parts ? 1 : 0);
    for (std::size_t i = 0; i < each; ++i) {
      replica.devices.push_back(within ? groups[at(r)][i] : groups[i][at(r)]);
    }
    plan.replicas.push_back(std::move(replica));
  }
  return plan;
}

ReplicaPlan plan_of(const std::string& setting, const Cluster& cluster, std::int64_t batch) {
  if (setting == "auto") {
    throw Error(ErrorCode::invalid_argument,
                "replicas: 'auto' searches for a plan, which `place` does; name the plan here: a "
                "number, or gpu:0=27,gpu:1=37");
  }
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(setting.data(), setting.data() + setting.size(), count);
  if (error == std::errc() && end == setting.data() + setting.size()) {
    return even_plan(cluster, count, batch);
  }
  return parse_replica_plan(setting, cluster, batch);
}

PosedReplicas pose_replicas(ReplicaModels& models, const ReplicaPlan& plan) {
  const Cluster& cluster = *models.cluster();
  const Training& training = models.training();
  std::vector<SizedModel> sized;
  for (const auto& replica : plan.replicas) sized.push_back(models.share(replica.share));
  PosedReplicas posed;
  posed.step = replicate(training, models.whole(), sized, cluster, plan);
  auto figures = std::make_shared<ReplicaFigures>();
  figures->plan = plan.text(cluster);
  figures->batch = training.batch;
  figures->gradients = static_cast<std::int64_t>(training.gradients.size());
  figures->gradient_bytes = training.gradient_bytes;
  figures->gathered_bytes = training.gathered_bytes;
  figures->buckets = posed.step.buckets;
  figures->shares_updates = !posed.step.owner.empty();
  const auto& gradients = training.gradients;
  figures->adds_gradients =
      !gradients.empty() && std::all_of(gradients.begin(), gradients.end(),
                                        [](const auto& gradient) { return gradient.of_sum; });
  figures->plain = models.whole().graph;
  auto of_plan = std::make_shared<Training>(training);
  of_plan->owner = posed.step.owner;
  figures->training = std::move(of_plan);
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    figures->replicas.push_back({plan.replicas[r].devices, plan.replicas[r].share});
    figures->replica_of.insert(figures->replica_of.end(), at(posed.step.ops_each),
                               static_cast<std::int32_t>(r));
  }
  figures->reduces.assign(figures->replica_of.size(), false);
  figures->replica_of.insert(figures->replica_of.end(), posed.step.reduction_replica.begin(),
                             posed.step.reduction_replica.end());
  figures->reduces.resize(figures->replica_of.size(), true);
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    ConstraintRule rule;
    rule.ops = {
        {.name = {}, .regex = cat("replica_", r, "/.*"), .type = {}, .requested_device = {}}};
    rule.devices = device_names(cluster, devices_with_hosts(cluster, plan.replicas[r].devices));
    posed.rules.push_back(std::move(rule));
  }
  posed.figures = std::move(figures);
  return posed;
}

}  // namespace berth
