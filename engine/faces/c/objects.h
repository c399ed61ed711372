// The objects behind the handles of berth/c.h.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/engine.h"
#include "berth/graph.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "host/policy_table.h"
#include "host/problem_arrays.h"
#include "object.h"

namespace berth::c {

/// The settings that say how a model is loaded, as text.
[[nodiscard]] std::string loading_settings(const Settings& settings);

/// The policies in tables of one engine. Its descriptors point into them, so that they live as long
/// as it, and as long as every search of it: an engine may be released before a search ends.
class Policies {
 public:
  /// Registers a copy. Throws as Engine::register_plugin does; the table is not called then.
  void add(Engine& engine, const berth_policy& policy);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<PolicyTable>> tables_;
};

}  // namespace berth::c

struct berth_engine final : berth::c::Object {
  static constexpr Kind kKind = Kind::engine;
  static constexpr const char* kName = "engine";
  explicit berth_engine(berth::Settings the_settings);
  ~berth_engine() override;

  berth::Settings settings;
  std::shared_ptr<berth::c::Policies> policies;
  std::shared_ptr<berth::Engine> engine;
};

struct berth_builder final : berth::c::Object {
  static constexpr Kind kKind = Kind::builder;
  static constexpr const char* kName = "builder";
  berth_builder(const std::string& name, const std::string& dialect)
      : Object(kKind), builder(name, dialect) {}

  berth::GraphBuilder builder;
  bool folds = true;
  std::vector<berth::Graph::State> states;
  /// The first output of every op; kNoTensor = it has none yet.
  std::vector<berth::TensorId> first_output;
};

struct berth_graph final : berth::c::Object {
  static constexpr Kind kKind = Kind::graph;
  static constexpr const char* kName = "graph";
  explicit berth_graph(std::shared_ptr<const berth::Graph> the_graph,
                       std::vector<std::string> the_notes = {}, std::string was_loaded_with = {})
      : Object(kKind),
        graph(std::move(the_graph)),
        notes(std::move(the_notes)),
        loaded_with(std::move(was_loaded_with)) {}

  std::shared_ptr<const berth::Graph> graph;
  std::vector<std::string> notes;  // of its frontend
  std::string loaded_with;         // loading_settings() then; empty = made in process
};

struct berth_cluster final : berth::c::Object {
  static constexpr Kind kKind = Kind::cluster;
  static constexpr const char* kName = "cluster";
  explicit berth_cluster(std::shared_ptr<const berth::Cluster> the_cluster)
      : Object(kKind), cluster(std::move(the_cluster)) {}

  std::shared_ptr<const berth::Cluster> cluster;
};

struct berth_problem final : berth::c::Object {
  static constexpr Kind kKind = Kind::problem;
  static constexpr const char* kName = "problem";
  berth_problem(berth::Task the_task, berth::BoundEffort the_effort)
      : Object(kKind), task(std::move(the_task)), effort(the_effort) {}

  berth::Task task;
  berth::BoundEffort effort;  // of the bound of placements that are evaluated

  /// Rows for callers, made when one is asked for.
  struct Facts : berth::ProblemArrays {
    explicit Facts(const berth::Problem& problem);
    std::vector<std::int32_t> edges;  ///< [edges, 2]
  };
  [[nodiscard]] const Facts& facts() const {
    std::call_once(facts_made_, [this] { facts_ = std::make_unique<Facts>(*task.problem); });
    return *facts_;
  }

 private:
  mutable std::once_flag facts_made_;
  mutable std::unique_ptr<const Facts> facts_;
};

struct berth_result final : berth::c::Object {
  static constexpr Kind kKind = Kind::result;
  static constexpr const char* kName = "result";
  explicit berth_result(berth::Outcome the_outcome)
      : Object(kKind), outcome(std::move(the_outcome)) {}

  berth::Outcome outcome;
};
