#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/files.h"
#include "berth/graph.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "costs/cost_table.h"
#include "objects.h"

using namespace berth;

namespace {

constexpr berth_place_options kPlaceDefaults = BERTH_PLACE_OPTIONS_INIT;

/// Costs that the caller was asked for, over Berth's own.
std::shared_ptr<const Costs> asked_costs(const berth_problem_options& options, const Graph& graph,
                                         const Cluster& cluster, const Costs& own) {
  CostTable table(own);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      double& cost = table.cost_us(op, kind);
      const std::string& name = cluster.kind_name(kind);
      const berth_status status = options.cost(options.user, op, c::borrow(name), &cost);
      if (status != BERTH_OK) {
        throw c::CallbackFailed{cat("the cost of op '", graph.op_name(op), "' on kind '", name,
                                    "': the callback failed with status ", status)};
      }
      if (!(cost >= 0)) {
        throw Error(ErrorCode::invalid_argument,
                    cat("the callback gives op '", graph.op_name(op), "' on kind '", name,
                        "' a cost of ", cost, " us; a cost is 0 or more, or INFINITY"));
      }
    }
  }
  table.source = "callback";
  return std::move(table).costs();
}

/// The settings with what the caller of one call says over them.
class CallSettings {
 public:
  explicit CallSettings(const berth_engine& engine) : settings_(engine.settings) {}

  void set(const char* key, berth_text text) {
    if (text.size > 0) set_setting(caller_, key, c::string(text));
  }
  Settings& caller() { return caller_; }
  [[nodiscard]] Settings merged() const {
    Settings all = settings_;
    all.add(caller_);
    return all;
  }

 private:
  Settings settings_;
  Settings caller_;
};

Settings problem_settings(const berth_engine& engine, const berth_problem_options& options) {
  CallSettings settings(engine);
  settings.set("objective", options.objective);
  settings.set("semantics", options.semantics);
  settings.set("costs", options.costs);
  settings.set("grouping", options.grouping);
  if (options.group_count < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(options.group_count, " groups; give a number, or 0 for the settings'"));
  }
  if (options.group_count > 0) settings.caller().groups = options.group_count;
  if (options.constraints.size > 0) {
    settings.caller().constraints =
        parse_constraints(c::view(options.constraints), "the constraints");
  }
  return settings.merged();
}

/// The choices that a graph was loaded with hold; of one that was made in process nothing is loaded.
void check_loading(const Settings& settings, const berth_graph& graph) {
  std::vector<std::string_view> keys;
  for (const SettingKey& key : setting_keys()) {
    if (key.group == SettingGroup::model) keys.emplace_back(key.name);
  }
  if (graph.loaded_with.empty()) {
    refuse_unserved(settings, "a graph that was made in process", keys);
  } else if (c::loading_settings(settings) != graph.loaded_with) {
    refuse_unserved(settings, "a graph that was loaded with other settings", keys);
  }
}

Settings place_settings(const berth_engine& engine, const berth_place_options& options) {
  CallSettings settings(engine);
  Settings& caller = settings.caller();
  if (options.policy.size > 0) caller.policy = c::string(options.policy);
  for (const berth_option& option : c::array(options.options, options.option_count, "options")) {
    const auto [entry, first] =
        caller.options.emplace(c::string(option.name), c::string(option.value));
    if (!first) {
      throw Error(ErrorCode::invalid_argument,
                  cat("the option '", entry->first, "' is given twice; give one value"));
    }
  }
  for (const berth_text& name : c::array(options.fallbacks, options.fallback_count, "fallbacks")) {
    if (!caller.fallbacks) caller.fallbacks.emplace();
    caller.fallbacks->push_back(c::string(name));
  }
  if (std::isnan(options.budget_s)) {
    throw Error(ErrorCode::invalid_argument, "a budget of nan s; give seconds, or INFINITY");
  }
  if (options.budget_s >= 0) caller.budget_s = options.budget_s;
  if (options.moves < 0 || options.threads < 0) {
    throw Error(ErrorCode::invalid_argument, cat(options.moves, " moves and ", options.threads,
                                                 " threads; give numbers, or 0 for the settings'"));
  }
  constexpr std::int32_t kMostThreads = 1024;  // as of the setting
  if (options.threads > kMostThreads) {
    throw Error(ErrorCode::invalid_argument,
                cat(options.threads, " threads; give at most ", kMostThreads));
  }
  if (options.moves > 0) caller.moves = options.moves;
  if (options.seed >= 0) caller.seed = static_cast<std::uint64_t>(options.seed);
  if (options.threads > 0) caller.threads = options.threads;
  settings.set("bound", options.bound);
  return settings.merged();
}

/// Asks the caller whether to stop, at most once in `every`; what it has said holds. Policies may ask on
/// several threads.
class Asking {
 public:
  explicit Asking(const berth_place_options& options)
      : asked_(options.should_stop), user_(options.user), every_(options.ask_every_s) {}

  [[nodiscard]] bool stops() {
    if (every_ > 0) {
      const double now = std::chrono::duration<double>(Clock::now() - begin_).count();
      if (stopped_ || now < next_s_) return stopped_;
      next_s_ = now + every_;
    }
    if (asked_(user_) != 0) stopped_ = true;
    return stopped_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  int32_t (*asked_)(void*);
  void* user_;
  double every_;
  Clock::time_point begin_ = Clock::now();
  std::atomic<double> next_s_ = 0;
  std::atomic<bool> stopped_ = false;
};

RunHooks hooks_of(const berth_place_options& options) {
  RunHooks hooks;
  if (!(options.ask_every_s >= 0)) {
    throw Error(ErrorCode::invalid_argument,
                cat("should_stop asked every ", options.ask_every_s, " s; give 0 or more"));
  }
  if (options.should_stop != nullptr) {
    hooks.should_stop = [asking = std::make_shared<Asking>(options)] { return asking->stops(); };
  }
  if (options.progress != nullptr) {
    hooks.progress = [report = options.progress, user = options.user](double best_us,
                                                                      const std::string& text) {
      report(user, best_us, c::borrow(text));
    };
  }
  return hooks;
}

berth_place_options taken(const berth_place_options* given) {
  return c::take(given, kPlaceDefaults, "berth_place_options",
                 offsetof(berth_place_options, bound));
}

/// The parts of a search. It owns all of them: a callback may release what the caller holds.
struct Search {
  Search(berth_engine* of_engine, const berth_problem* of_problem, const berth_place_options* given)
      : engine(c::get(of_engine).engine),
        tables(of_engine->policies),
        task(c::get(of_problem).task) {
    const berth_place_options options = taken(given);
    settings = place_settings(*of_engine, options);
    hooks = hooks_of(options);
    if (options.initial != nullptr) {
      const auto devices = c::array(
          options.initial, static_cast<std::size_t>(task.problem->graph().op_count()), "initial");
      hooks.initial.emplace_back(devices.begin(), devices.end());
    }
  }

  std::shared_ptr<Engine> engine;
  std::shared_ptr<const void> tables;
  Task task;
  Settings settings;
  RunHooks hooks;
};

}  // namespace

berth_status berth_problem_new(berth_engine* engine, const berth_graph* graph,
                               const berth_cluster* cluster, const berth_problem_options* options,
                               berth_problem** out) {
  return c::guarded([&] {
    const berth_engine& the = c::get(engine);
    const std::shared_ptr<Engine> keeps = the.engine;
    const auto the_graph = c::get(graph).graph;
    const auto the_cluster = c::get(cluster).cluster;
    berth_problem*& made = c::required(out, "out");
    const berth_problem_options defaults = BERTH_PROBLEM_OPTIONS_INIT;
    const berth_problem_options given = c::take(options, defaults, "berth_problem_options");
    const Settings settings = problem_settings(the, given);
    check_loading(settings, c::get(graph));
    TaskParts parts;
    std::vector<std::string> notes = c::get(graph).notes;
    if (given.cost != nullptr) {
      LoadedCosts own = make_costs(*keeps, *the_graph, *the_cluster, settings.costs.value_or(""),
                                   arithmetic_of(settings, *the_graph));
      notes.insert(notes.end(), own.notes.begin(), own.notes.end());
      parts.costs = asked_costs(given, *the_graph, *the_cluster, *own.costs);
    }
    Task task = make_task(*keeps, the_graph, the_cluster, settings, parts);
    task.notes.insert(task.notes.begin(), notes.begin(), notes.end());
    made = new berth_problem(std::move(task), bound_effort(the.settings));
  });
}

berth_problem::Facts::Facts(const Problem& problem) : ProblemArrays(problem) {
  for (std::size_t edge = 0; edge < edge_src.size(); ++edge) {
    edges.push_back(edge_src[edge]);
    edges.push_back(edge_dst[edge]);
  }
}

berth_status berth_problem_array(const berth_problem* problem, berth_text name,
                                 berth_array* array) {
  return c::guarded([&] {
    const berth_problem& the = c::get(problem);
    const Groups& groups = the.task.problem->groups();
    const berth_problem::Facts& facts = the.facts();
    const DeviceId devices = the.task.problem->cluster().device_count();
    c::give_array({{"groups", c::rows(groups.map())},
                   {"cost_us", c::rows(facts.cost_us, {groups.count(), devices})},
                   {"param_bytes", c::rows(facts.param_bytes)},
                   {"memory_bytes", c::rows(facts.memory_bytes)},
                   {"edges", c::rows(facts.edges, {std::ssize(facts.edge_bytes), 2})},
                   {"edge_bytes", c::rows(facts.edge_bytes)}},
                  name, array);
  });
}

berth_status berth_problem_read(const berth_problem* problem, berth_text placement,
                                int32_t* devices, size_t count) {
  return c::guarded([&] {
    const Problem& the = *c::get(problem).task.problem;
    const auto out = c::array(devices, count, "devices");
    if (count != static_cast<std::size_t>(the.graph().op_count())) {
      throw Error(
          ErrorCode::invalid_argument,
          cat("room for ", count, " devices of ", the.graph().op_count(), " ops; give it for all"));
    }
    const Placement read =
        parse_placement(c::view(placement), "the placement", the.graph(), the.cluster());
    std::copy(read.begin(), read.end(), out.begin());
  });
}

berth_status berth_place(berth_engine* engine, const berth_problem* problem,
                         const berth_place_options* options, berth_result** out) {
  return c::guarded([&] {
    const Search search(engine, problem, options);
    berth_result*& made = c::required(out, "out");
    made =
        new berth_result(berth::place(*search.engine, search.task, search.settings, search.hooks));
  });
}

berth_status berth_compare(berth_engine* engine, const berth_problem* problem,
                           const berth_text* policies, size_t count,
                           const berth_place_options* options, berth_result** results,
                           berth_status* statuses, berth_text* messages) {
  return c::guarded([&] {
    Search search(engine, problem, options);
    const auto names = c::array(policies, count, "policies");
    const auto found = c::array(results, count, "results");
    const auto ends = c::array(statuses, count, "statuses");
    search.settings.options.clear();
    std::vector<std::string> copied;
    for (const berth_text& name : names) copied.push_back(c::string(name));
    std::vector<ComparedPolicy> compared =
        berth::compare(*search.engine, search.task, copied, search.settings, search.hooks);
    std::vector<std::unique_ptr<berth_result>> made(count);
    std::string failures;
    for (std::size_t i = 0; i < count; ++i) {
      if (compared[i].outcome) {
        made[i] = std::make_unique<berth_result>(std::move(*compared[i].outcome));
      } else {
        failures += c::one_line(cat(compared[i].policy, ": ", compared[i].failure)) + "\n";
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      ends[i] = made[i] ? BERTH_OK : c::status_of(compared[i].code);
      found[i] = made[i].release();
    }
    if (messages != nullptr) *messages = c::give(std::move(failures));
  });
}

berth_status berth_replicate(berth_engine* engine, berth_text path, berth_text cluster,
                             berth_text plan, const berth_place_options* options,
                             berth_result** out) {
  return c::guarded([&] {
    const std::shared_ptr<Engine> the = c::get(engine).engine;
    const std::shared_ptr<const void> tables = engine->policies;
    const berth_place_options given = taken(options);
    if (given.initial != nullptr) {
      throw Error(ErrorCode::invalid_argument,
                  "berth_replicate makes the ops that it places, so that there is no placement to "
                  "start from; leave `initial` null");
    }
    Settings settings = place_settings(*engine, given);
    Settings said;
    set_setting(said, "cluster", c::string(cluster));
    set_setting(said, "replicate", c::string(plan));
    settings.add(said);
    const RunHooks hooks = hooks_of(given);
    berth_result*& made = c::required(out, "out");
    made = new berth_result(berth::run(*the, c::string(path), settings, hooks));
  });
}

berth_status berth_evaluate(const berth_problem* problem, const int32_t* devices, size_t count,
                            berth_result** out) {
  return c::guarded([&] {
    const berth_problem& the = c::get(problem);
    const Task task = the.task;
    const BoundEffort effort = the.effort;
    berth_result*& made = c::required(out, "out");
    const auto given = c::array(devices, count, "devices");
    const Placement placement(given.begin(), given.end());
    task.problem->validate(placement);
    Outcome outcome = simulated_outcome(task.problem, {}, placement, effort);
    outcome.notes = task.notes;
    outcome.tool = task.tool;
    made = new berth_result(std::move(outcome));
  });
}
