#include "host/policy_table.h"

#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "berth/cluster.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/groups.h"
#include "berth/placement.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "host/problem_arrays.h"
#include "support/c_values.h"

namespace berth {
namespace {

using c::array;
using c::required;
using c::string;
using c::view;

/// The data of a search, as the table's function sees it, and what answers its questions.
class Search {
 public:
  Search(Evaluator& evaluator, const PlaceContext& context, const Options& options,
         const PolicyTable& policy)
      : evaluator_(evaluator),
        context_(context),
        options_(options),
        arrays_(evaluator.problem()),
        policy_(policy) {
    data_.size = sizeof data_;
    data_.group_count = evaluator.problem().groups().count();
    data_.device_count = evaluator.problem().cluster().device_count();
    data_.cost_us = arrays_.cost_us.data();
    data_.param_bytes = arrays_.param_bytes.data();
    data_.memory_bytes = arrays_.memory_bytes.data();
    data_.edge_count = arrays_.edge_bytes.size();
    data_.edge_src = arrays_.edge_src.data();
    data_.edge_dst = arrays_.edge_dst.data();
    data_.edge_bytes = arrays_.edge_bytes.data();
    data_.seed = context.seed;
    data_.host = this;
    data_.evaluate = [](berth_search* search, const int32_t* devices, double* objective_us,
                        int32_t* feasible) {
      return answer(search, [&](Search& the) { the.evaluate(devices, objective_us, feasible); });
    };
    data_.should_stop = [](berth_search* search) -> int32_t {
      return search == nullptr || of(search).should_stop() ? 1 : 0;
    };
    data_.option = [](berth_search* search, berth_text name) {
      return search == nullptr ? berth_text{nullptr, 0} : of(search).option(name);
    };
    data_.say = [](berth_search* search, berth_text text) {
      static_cast<void>(answer(search, [&](Search& the) { the.said_.push_back(string(text)); }));
    };
  }

  PolicyAnswer run() {
    const berth_policy& table = policy_.table();
    const Problem& problem = evaluator_.problem();
    std::vector<DeviceId> devices(static_cast<std::size_t>(data_.group_count), kNoDevice);
    Search* const outer = std::exchange(running_, this);
    const berth_status status = table.place(table.user, &data_, devices.data());
    running_ = outer;
    // An exception of the caller's own should_stop passes through.
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (status != BERTH_OK) {
      const std::string reasons = !said_.empty()      ? join(said_)
                                  : !refusal_.empty() ? refusal_
                                                      : "it gives no reason";
      throw Error(
          status == BERTH_INFEASIBLE  ? ErrorCode::infeasible
          : status == BERTH_CANCELLED ? ErrorCode::cancelled
                                      : ErrorCode::unsupported,
          cat("policy '", view(table.name), "' failed with status ", status, ": ", reasons));
    }
    if (const std::string fault = fault_of(devices); !fault.empty()) {
      throw Error(ErrorCode::unsupported,
                  cat("policy '", view(table.name), "' gave no placement: ", fault));
    }
    PolicyAnswer answer(problem.groups().expand(GroupPlacement(std::move(devices))));
    answer.notes = said_;
    return answer;
  }

 private:
  static Search& of(berth_search* search) { return *static_cast<Search*>(search->host); }

  /// Runs what the policy asked of a search. A null one is told to the search whose `place` runs on this
  /// thread.
  template <typename Body>
  static berth_status answer(berth_search* search, const Body& body) noexcept {
    Search* const the = search != nullptr ? &of(search) : running_;
    if (the == nullptr) return BERTH_INVALID_ARGUMENT;
    return the->answered([&] { body(of(&required(search, "search"))); });
  }

  /// Runs what the policy asked for; nothing is thrown through its code.
  template <typename Body>
  berth_status answered(const Body& body) noexcept {
    try {
      body();
      return BERTH_OK;
    } catch (...) {
      return c::status_of_current([&](berth_status status, std::string_view message) {
        if (policy_.refused() != nullptr) policy_.refused()(status, message);
        refusal_ = message;
      });
    }
  }

  /// Says which group is on no device; empty where all are on one.
  [[nodiscard]] std::string fault_of(std::span<const DeviceId> devices) const {
    for (std::size_t group = 0; group < devices.size(); ++group) {
      if (devices[group] >= 0 && devices[group] < data_.device_count) continue;
      return cat("group #", group, " is on device ", devices[group], " of ", data_.device_count,
                 "; give every group a device");
    }
    return {};
  }

  void evaluate(const int32_t* devices, double* objective_us, int32_t* feasible) {
    const auto given = array(devices, static_cast<std::size_t>(data_.group_count), "devices");
    double& objective = required(objective_us, "objective_us");
    if (const std::string fault = fault_of(given); !fault.empty()) {
      throw Error(ErrorCode::invalid_argument, fault);
    }
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
  const ProblemArrays arrays_;
  std::deque<std::string> values_;
  const PolicyTable& policy_;
  std::vector<std::string> said_;
  std::string refusal_;  // the last
  std::exception_ptr failure_;
  berth_search data_{};
  static thread_local Search* running_;
};

thread_local Search* Search::running_ = nullptr;

class TablePolicy final : public Policy {
 public:
  TablePolicy(std::shared_ptr<const PolicyTable> table, Options options)
      : table_(std::move(table)), options_(std::move(options)) {}
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    return Search(evaluator, context, options_, *table_).run();
  }

 private:
  std::shared_ptr<const PolicyTable> table_;
  Options options_;
};

Policy* create(const Options& options, const PolicyMaker&, void* user) {
  return new TablePolicy(static_cast<const PolicyTable*>(user)->shared_from_this(), options);
}

}  // namespace

std::shared_ptr<PolicyTable> PolicyTable::make(const berth_policy& table, const std::string& origin,
                                               Refused refused) {
  const berth_policy defaults = BERTH_POLICY_INIT;
  const berth_policy known = c::take(&table, defaults, "berth_policy");
  if (known.place == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                cat(origin, ": a policy without `place`; set the function that places"));
  }
  return std::shared_ptr<PolicyTable>(new PolicyTable(known, refused));
}

std::shared_ptr<PolicyTable> PolicyTable::of_file(const berth_policy_plugin& plugin,
                                                  const std::filesystem::path& file) {
  try {
    auto table = make(plugin.policy, "its table");
    if (plugin.policy.destroy == nullptr) return table;
  } catch (const Error& error) {
    throw Error(error.code(), cat(file.string(), ": ", error.what()));
  }
  throw Error(ErrorCode::invalid_argument,
              cat(file.string(),
                  ": its table has `destroy`, and libraries stay until the process "
                  "ends; leave it null"));
}

PolicyTable::PolicyTable(const berth_policy& given, Refused sink) : table_(given), refused_(sink) {
  const auto kept = [&](berth_text text) { return texts_.emplace_back(string(text)).c_str(); };
  table_.name = {kept(given.name), given.name.size};
  for (const berth_policy_option& option : array(given.options, given.option_count, "options")) {
    options_.push_back(
        {kept(option.name), OptionType::text, kept(option.default_value), kept(option.meaning)});
  }
  table_.options = nullptr;  // the caller's own may be gone
  table_.option_count = 0;
  descriptor_ = {kPluginMagic,
                 BERTH_ABI_VERSION,
                 sizeof(PluginDescriptor),
                 PluginKind::policy,
                 BERTH_BUILD_FINGERPRINT,
                 BERTH_VERSION_STRING,
                 table_.name.data,
                 kept(given.version),
                 kept(given.description),
                 options_.data(),
                 options_.size(),
                 nullptr,
                 &create,
                 nullptr,
                 this};
}

PolicyTable::~PolicyTable() {
  if (owned_ && table_.destroy != nullptr) table_.destroy(table_.user);
}

}  // namespace berth
