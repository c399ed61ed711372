#include "policies.h"

#include "berth/cluster.h"
#include "berth/evaluator.h"
#include "berth/groups.h"
#include "berth/placement.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth::c {
namespace {

/// The data of a search, as the table's function sees it, and what answers its questions.
class Search {
 public:
  Search(Evaluator& evaluator, const PlaceContext& context, const Options& options)
      : evaluator_(evaluator), context_(context), options_(options) {
    const Problem& problem = evaluator.problem();
    const Groups& groups = problem.groups();
    const Cluster& cluster = problem.cluster();
    for (GroupId group = 0; group < groups.count(); ++group) {
      for (DeviceId device = 0; device < cluster.device_count(); ++device) {
        cost_us_.push_back(problem.group_cost_us(group, device));
      }
      param_bytes_.push_back(problem.group_param_bytes(group));
      for (const Groups::Edge& edge : groups.out_edges(group)) {
        src_.push_back(edge.src);
        dst_.push_back(edge.dst);
        bytes_.push_back(edge.bytes);
      }
    }
    for (DeviceId device = 0; device < cluster.device_count(); ++device) {
      memory_bytes_.push_back(problem.memory_bytes(device));
    }
    data_.size = sizeof data_;
    data_.group_count = groups.count();
    data_.device_count = cluster.device_count();
    data_.cost_us = cost_us_.data();
    data_.param_bytes = param_bytes_.data();
    data_.memory_bytes = memory_bytes_.data();
    data_.edge_count = src_.size();
    data_.edge_src = src_.data();
    data_.edge_dst = dst_.data();
    data_.edge_bytes = bytes_.data();
    data_.seed = context.seed;
    data_.host = this;
    data_.evaluate = [](berth_search* search, const int32_t* devices, double* objective_us,
                        int32_t* feasible) {
      return guarded([&] { of(search).evaluate(devices, objective_us, feasible); });
    };
    data_.should_stop = [](berth_search* search) -> int32_t {
      return of(search).should_stop() ? 1 : 0;
    };
    data_.option = [](berth_search* search, berth_text name) { return of(search).option(name); };
    data_.say = [](berth_search* search, berth_text text) {
      static_cast<void>(guarded([&] { of(search).said_.push_back(string(text)); }));
    };
  }

  PolicyAnswer run(const berth_policy& table) {
    const Problem& problem = evaluator_.problem();
    std::vector<DeviceId> devices(static_cast<std::size_t>(data_.group_count), kNoDevice);
    const berth_status status = table.place(table.user, &data_, devices.data());
    // What the caller's own should_stop threw goes on its way.
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (status != BERTH_OK) {
      const std::string reasons = said_.empty() ? "it gives no reason" : join(said_);
      throw Error(
          status == BERTH_INFEASIBLE  ? ErrorCode::infeasible
          : status == BERTH_CANCELLED ? ErrorCode::cancelled
                                      : ErrorCode::unsupported,
          cat("policy '", view(table.name), "' failed with status ", status, ": ", reasons));
    }
    check(devices);
    PolicyAnswer answer(problem.groups().expand(GroupPlacement(std::move(devices))));
    answer.notes = said_;
    return answer;
  }

 private:
  static Search& of(berth_search* search) { return *static_cast<Search*>(search->host); }

  void check(std::span<const DeviceId> devices) const {
    for (std::size_t group = 0; group < devices.size(); ++group) {
      if (devices[group] >= 0 && devices[group] < data_.device_count) continue;
      throw Error(ErrorCode::invalid_argument,
                  cat("group #", group, " is on device ", devices[group], " of ",
                      data_.device_count, "; give every group a device"));
    }
  }

  void evaluate(const int32_t* devices, double* objective_us, int32_t* feasible) {
    const auto given = array(devices, static_cast<std::size_t>(data_.group_count), "devices");
    double& objective = required(objective_us, "objective_us");
    check(given);
    const Placement placement = evaluator_.problem().groups().expand(
        GroupPlacement(std::vector<DeviceId>(given.begin(), given.end())));
    const Evaluation evaluation = evaluator_.evaluate(placement);
    objective = evaluation.objective_us;
    if (feasible != nullptr) *feasible = evaluation.feasible ? 1 : 0;
  }

  bool should_stop() noexcept {
    try {
      return context_.should_stop && context_.should_stop();
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
  }

  berth_text option(berth_text name) noexcept {
    try {
      const auto found = options_.values().find(view(name));
      if (found == options_.values().end()) return {nullptr, 0};
      values_.push_back(to_text(found->second));
      return {values_.back().c_str(), values_.back().size()};
    } catch (...) {
      return {nullptr, 0};
    }
  }

  Evaluator& evaluator_;
  const PlaceContext& context_;
  const Options& options_;
  std::vector<double> cost_us_;
  std::vector<std::int64_t> param_bytes_, memory_bytes_, bytes_;
  std::vector<std::int32_t> src_, dst_;
  std::deque<std::string> values_;
  std::vector<std::string> said_;
  std::exception_ptr failure_;
  berth_search data_{};
};

class TablePolicy final : public Policy {
 public:
  TablePolicy(std::shared_ptr<const Policies> owner, const berth_policy& table, Options options)
      : owner_(std::move(owner)), table_(table), options_(std::move(options)) {}
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    return Search(evaluator, context, options_).run(table_);
  }

 private:
  std::shared_ptr<const Policies> owner_;  // of everything that the table refers to
  const berth_policy& table_;
  Options options_;
};

Policy* create(const Options& options, const PolicyMaker&, void* user) {
  const auto& entry = *static_cast<const Policies::Entry*>(user);
  return new TablePolicy(entry.owner->shared_from_this(), entry.table, options);
}

}  // namespace

Policies::~Policies() {
  for (const Entry& entry : entries_) {
    if (entry.table.destroy != nullptr) entry.table.destroy(entry.table.user);
  }
}

void Policies::add(Engine& engine, const berth_policy& table) {
  if (table.place == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "a policy without `place`; set the function that places");
  }
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.emplace_back();
  try {
    const auto kept = [&](berth_text text) { return entry.texts.emplace_back(view(text)).c_str(); };
    entry.owner = this;
    entry.table = table;
    entry.table.name = {kept(table.name), table.name.size};
    for (const berth_policy_option& option : array(table.options, table.option_count, "options")) {
      entry.options.push_back(
          {kept(option.name), OptionType::text, kept(option.default_value), kept(option.meaning)});
    }
    entry.descriptor = {kPluginMagic,
                        BERTH_ABI_VERSION,
                        sizeof(PluginDescriptor),
                        PluginKind::policy,
                        BERTH_BUILD_FINGERPRINT,
                        BERTH_VERSION_STRING,
                        entry.table.name.data,
                        kept(table.version),
                        kept(table.description),
                        entry.options.data(),
                        entry.options.size(),
                        nullptr,
                        &create,
                        nullptr,
                        &entry};
    engine.register_plugin(entry.descriptor);
  } catch (...) {
    entries_.pop_back();
    throw;
  }
}

}  // namespace berth::c
