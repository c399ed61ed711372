#include <cmath>
#include <optional>

#include "berth/cluster.h"
#include "berth/compare.h"
#include "berth/costs.h"
#include "berth/graph.h"
#include "berth/outcome.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/problem_choices.h"
#include "berth/settings.h"
#include "objects.h"

using namespace berth;

namespace {

constexpr berth_place_options kPlaceDefaults = BERTH_PLACE_OPTIONS_INIT;

/// Costs that the caller was asked for, over Berth's own.
std::shared_ptr<const Costs> asked_costs(const berth_problem_options& options, const Graph& graph,
                                         const Cluster& cluster, const Costs& own) {
  std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster.kind_count()));
  std::vector<std::int64_t> workspace;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const auto row = own.of_kind(kind);
    us[static_cast<std::size_t>(kind)].assign(row.begin(), row.end());
  }
  for (OpId op = 0; op < graph.op_count(); ++op) {
    workspace.push_back(own.workspace_bytes(op));
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      double& cost = us[static_cast<std::size_t>(kind)][static_cast<std::size_t>(op)];
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
  return std::make_shared<const Costs>(std::move(us), std::move(workspace), "callback");
}

Settings problem_settings(const berth_engine& engine, const berth_problem_options& options) {
  Settings settings = engine.settings;
  const auto set = [&](const char* key, berth_text text) {
    if (text.size > 0) settings.values[key] = c::string(text);
  };
  set("objective", options.objective);
  set("semantics", options.semantics);
  set("costs", options.costs);
  set("grouping", options.grouping);
  if (options.group_count < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(options.group_count, " groups; give a number, or 0 for the settings'"));
  }
  if (options.group_count > 0) settings.values["groups"] = std::int64_t{options.group_count};
  if (options.constraints.size > 0) {
    const std::string text =
        cat(R"({"format":"berth.settings/1","constraints":)", c::view(options.constraints), "}");
    settings.add(parse_settings(text, "the constraints"));
  }
  return settings;
}

Settings place_settings(const berth_engine& engine, const berth_place_options& options) {
  Settings settings = engine.settings;
  Settings caller;
  if (options.policy.size > 0) caller.values["policy"] = c::string(options.policy);
  for (const berth_option& option : c::array(options.options, options.option_count, "options")) {
    caller.options[c::string(option.name)] = c::string(option.value);
  }
  if (options.fallback_count > 0) {
    std::string names;
    for (const berth_text& name :
         c::array(options.fallbacks, options.fallback_count, "fallbacks")) {
      names += (names.empty() ? "" : ",") + c::string(name);
    }
    caller.values["fallbacks"] = names;
  }
  if (std::isnan(options.budget_s)) {
    throw Error(ErrorCode::invalid_argument, "a budget of nan s; give seconds, or INFINITY");
  }
  if (options.budget_s >= 0) caller.values["budget"] = options.budget_s;
  if (options.moves < 0 || options.threads < 0) {
    throw Error(ErrorCode::invalid_argument, cat(options.moves, " moves and ", options.threads,
                                                 " threads; give numbers, or 0 for the settings'"));
  }
  if (options.moves > 0) caller.values["moves"] = options.moves;
  if (options.seed >= 0) caller.values["seed"] = options.seed;
  if (options.bound.size > 0) caller.values["bound"] = c::string(options.bound);
  if (options.threads > 0) caller.values["threads"] = std::int64_t{options.threads};
  settings.add(caller);
  return settings;
}

PlaceContext context_of(const berth_place_options& options, const Problem& problem) {
  PlaceContext context;
  if (options.initial != nullptr) {
    const auto given =
        c::array(options.initial, static_cast<std::size_t>(problem.graph().op_count()), "initial");
    context.initial.emplace_back(given.begin(), given.end());
  }
  if (options.should_stop != nullptr) {
    context.should_stop = [asked = options.should_stop, user = options.user] {
      return asked(user) != 0;
    };
  }
  if (options.progress != nullptr) {
    context.progress = [report = options.progress, user = options.user](double best_us,
                                                                        const std::string& text) {
      report(user, best_us, c::borrow(text));
    };
  }
  return context;
}

/// What a search uses. It owns all of it: a callback may release what the caller holds.
struct Search {
  Search(berth_engine* of_engine, const berth_problem* of_problem, const berth_place_options* given)
      : engine(c::get(of_engine).engine),
        tables(of_engine->policies),
        problem(c::get(of_problem).problem),
        notes(of_problem->notes) {
    const berth_place_options options =
        c::take(given, kPlaceDefaults, "berth_place_options", offsetof(berth_place_options, bound));
    settings = place_settings(*of_engine, options);
    context = context_of(options, *problem);
  }

  [[nodiscard]] std::unique_ptr<berth_result> result_of(Outcome outcome) const {
    if (outcome.search) {
      std::vector<std::string>& all = outcome.search->notes;
      all.insert(all.begin(), notes.begin(), notes.end());
    }
    return std::make_unique<berth_result>(std::move(outcome));
  }

  std::shared_ptr<Engine> engine;
  std::shared_ptr<const void> tables;
  std::shared_ptr<const Problem> problem;
  std::vector<std::string> notes;
  Settings settings;
  PlaceContext context;
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
    ProblemChoices choices = problem_choices(problem_settings(the, given));
    std::vector<std::string> notes;
    if (given.cost != nullptr) {
      LoadedCosts own = make_costs(*keeps, *the_graph, *the_cluster, choices.cost_source);
      notes = std::move(own.notes);
      choices.costs = asked_costs(given, *the_graph, *the_cluster, *own.costs);
    }
    MadeProblem problem = make_problem(*keeps, the_graph, the_cluster, choices);
    problem.notes.insert(problem.notes.begin(), notes.begin(), notes.end());
    made = new berth_problem(std::move(problem), bound_effort(the.settings));
  });
}

berth_status berth_place(berth_engine* engine, const berth_problem* problem,
                         const berth_place_options* options, berth_result** out) {
  return c::guarded([&] {
    const Search search(engine, problem, options);
    berth_result*& made = c::required(out, "out");
    Outcome outcome =
        place_outcome(*search.engine, search.problem, search.settings, search.context);
    made = search.result_of(std::move(outcome)).release();
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
        compare_policies(*search.engine, search.problem, copied, search.settings, search.context);
    std::vector<std::unique_ptr<berth_result>> made(count);
    std::string failures;
    for (std::size_t i = 0; i < count; ++i) {
      if (compared[i].outcome) {
        made[i] = search.result_of(std::move(*compared[i].outcome));
      } else {
        failures += cat(compared[i].name, ": ", compared[i].failure, "\n");
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      ends[i] = made[i] ? BERTH_OK : c::status_of(compared[i].code);
      found[i] = made[i].release();
    }
    if (messages != nullptr) *messages = c::give(std::move(failures));
  });
}

berth_status berth_evaluate(const berth_problem* problem, const int32_t* devices, size_t count,
                            berth_result** out) {
  return c::guarded([&] {
    const berth_problem& the = c::get(problem);
    const std::shared_ptr<const Problem> solved = the.problem;
    berth_result*& made = c::required(out, "out");
    const auto given = c::array(devices, count, "devices");
    const Placement placement(given.begin(), given.end());
    solved->validate(placement);
    made = new berth_result(simulated_outcome(solved, {}, placement, the.effort));
  });
}
