// `berth compare`: many policies on one problem, best first.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "compare_report.h"
#include "console.h"
#include "model_options.h"
#include "outcome.h"
#include "scripts.h"
#include "search.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct CompareOptions {
  ModelOptions model;
  ProblemChoices choices;
  SearchChoices search;
  std::string config;
  std::vector<std::string> policies;
  std::string csv;
  bool json = false;
};

struct Candidate {
  std::string name;
  std::unique_ptr<Policy> policy;
  OptionTexts options;
};

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> all_policies(Engine& engine) {
  std::vector<std::string> names;
  for (const PluginInfo& plugin : engine.plugins()) {
    if (plugin.kind == PluginKind::policy) names.push_back(plugin.name);
  }
  if (names.empty()) {
    throw Error(ErrorCode::not_found,
                "there are no policies to compare; `berth plugins` says which plugins were found");
  }
  return names;
}

/// Reads the config and makes the policies, so that a wrong name is told before any work.
std::vector<Candidate> make_candidates(Engine& engine, PolicyMaker& maker,
                                       CompareOptions& options) {
  lua::Config config;
  if (!options.config.empty()) {
    config = Scripts(engine).read_config(options.config);
    fill_in(config, options.model, options.choices, options.search);
  }
  std::vector<std::string> names = options.policies;
  if (names.empty()) names = split_names(config_text(config, "policies").value_or(""));
  if (names.empty()) names = all_policies(engine);
  const std::optional<std::string> tuned = config_text(config, "policy");
  std::vector<Candidate> candidates;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) continue;
    const OptionTexts given = name == tuned ? OptionTexts(config.options) : OptionTexts();
    candidates.push_back({name, maker.make(name, given), given});
  }
  return candidates;
}

std::vector<CompareRow> run_all(const std::shared_ptr<const Problem>& problem,
                                const CompareOptions& options, PolicyMaker& maker,
                                const std::vector<Candidate>& candidates) {
  const InterruptGuard guard;
  Search search(problem, options.choices, options.search);
  std::vector<CompareRow> rows;
  for (const Candidate& candidate : candidates) {
    CompareRow row{candidate.name, std::nullopt, {}};
    if (InterruptGuard::interrupted()) {
      row.failure = "not run: interrupted";
    } else {
      try {
        Origin origin{options.model.model, candidate.name,
                      maker.resolved(candidate.name, candidate.options), 0};
        row.outcome = search.run(*candidate.policy, std::move(origin));
      } catch (const Error& error) {
        row.failure = error.what();
      }
    }
    rows.push_back(std::move(row));
  }
  sort_rows(rows);
  return rows;
}

int run_compare(CompareOptions options) {
  if (!options.csv.empty()) check_targets({{"--csv", options.csv}}, options.model.model);
  Engine engine;
  PolicyMaker maker(engine);
  const std::vector<Candidate> candidates = make_candidates(engine, maker, options);
  const auto problem = make_problem(engine, options.model, options.choices);
  const std::vector<CompareRow> rows = run_all(problem, options, maker, candidates);

  if (!options.csv.empty()) write_file(options.csv, compare_csv(rows));
  print(options.json ? json_text(compare_json(rows))
                     : compare_text(options.model.model, *problem, rows));
  if (!rows.front().fits()) {
    throw Error(ErrorCode::infeasible,
                "no policy found a placement that fits; try a machine with more memory, a smaller "
                "model or another policy");
  }
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("compare", "try many policies and rank them");
  const auto options = std::make_shared<CompareOptions>();
  options->model.add_to(*sub);
  options->choices.add_to(*sub, /*searches=*/true);
  sub->add_option_function<std::string>(
         "--policies",
         [options = options.get()](const std::string& list) {
           options->policies = split_names(list);
           if (options->policies.empty()) {
             throw CLI::ValidationError("--policies", "name at least one, such as topo,scotch");
           }
         },
         "which ones, separated by commas; default: all of `berth plugins`")
      ->type_name("A,B,C");
  options->search.add_to(*sub);
  add_file(*sub, "--config", options->config,
           "a Lua file that returns any of these settings; the command line wins over it");
  add_file(*sub, "--csv", options->csv, "write the table here as well");
  sub->add_flag("--json", options->json,
                "print one JSON object on standard output: the best placement, and all policies");
  sub->footer(
      "Examples:\n"
      "  berth compare model.onnx --cluster k80x4\n"
      "  berth compare model.onnx --cluster k80x4 --policies single,topo,scotch --budget 30s\n"
      "A policy that fails is a row with the reason. The budget is per policy. Ctrl-C ends the\n"
      "policy that is running, keeps its best placement so far and shows what there is.");
  sub->callback([&chosen, options] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace berth::command
