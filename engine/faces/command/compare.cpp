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
#include "berth/support/text.h"
#include "compare_report.h"
#include "compare_sweep.h"
#include "console.h"
#include "execution.h"
#include "model_options.h"
#include "outcome.h"
#include "report_file.h"
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
  std::vector<std::string> clusters;  ///< more than one, or empty
  std::vector<std::uint64_t> seeds;   ///< more than one, or empty
  std::string csv;
  std::string report;
  bool json = false;
};

struct Candidate {
  std::string name;
  std::unique_ptr<Policy> policy;
  OptionTexts options;
};

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

std::vector<std::uint64_t> seeds_of(const std::string& text) {
  std::vector<std::uint64_t> seeds = parse_seeds(text);
  if (seeds.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the config's seeds are '{}'; give at most 10,000, such as \"0..4\" or "
                            "{{ 0, 3, 7 }}",
                            text));
  }
  return seeds;
}

/// The settings that compare alone takes. Before fill_in: a --cluster or --seed of the command line
/// wins over several in the file.
void fill_in_runs(const Settings& config, CompareOptions& options) {
  const auto clusters = config_text(config, "clusters");
  if (clusters && options.clusters.empty() && !options.choices.cluster) {
    options.clusters = split_names(*clusters);
  }
  const auto seeds = config_text(config, "seeds");
  if (seeds && options.seeds.empty() && !options.search.seed) options.seeds = seeds_of(*seeds);
  if (options.csv.empty()) options.csv = config_text(config, "csv").value_or("");
  if (options.report.empty()) options.report = config_text(config, "report").value_or("");
  if (options.search.log.empty()) options.search.log = config_text(config, "log").value_or("");
}

/// Applies the settings and makes the policies, so that a wrong name is told before any work.
std::vector<Candidate> make_candidates(Engine& engine, NamedPolicies& maker, const Settings& config,
                                       CompareOptions& options) {
  fill_in_runs(config, options);
  fill_in(config, options.model, options.choices, options.search);
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

/// "policy 7 of 19", and when the last of them ends at the latest.
class RunStage {
 public:
  RunStage(std::size_t done, std::size_t count, const SearchChoices& search)
      : stage_(fmt::format("policy {} of {}", done + 1, count)) {
    stage_.ends_within(static_cast<double>(count - done) * search.budget_s());
  }

 private:
  Stage stage_;
};

/// A policy's row; what fails is a row with the reason.
CompareRow run_one(Search& search, const CompareOptions& options, NamedPolicies& maker,
                   const Candidate& candidate) {
  CompareRow row{candidate.name, std::nullopt, {}};
  if (InterruptGuard::interrupted()) {
    row.failure = "not run: interrupted";
    return row;
  }
  try {
    Origin origin{options.model.model, candidate.name,
                  maker.resolved(candidate.name, candidate.options), 0};
    row.outcome = search.run(*candidate.policy, std::move(origin));
  } catch (const Error& error) {
    row.failure = error.what();
  }
  return row;
}

std::vector<CompareRow> run_all(const Bench& bench, const CompareOptions& options,
                                NamedPolicies& maker, const std::vector<Candidate>& candidates) {
  const InterruptGuard guard;
  Search search(bench.problem, bench.session, options.choices, options.search);
  std::vector<CompareRow> rows;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const RunStage stage(i, candidates.size(), options.search);
    rows.push_back(run_one(search, options, maker, candidates[i]));
  }
  sort_rows(rows);
  return rows;
}

/// Every policy on every cluster with every seed.
std::vector<SweepRun> sweep(Engine& engine, CompareOptions& options, NamedPolicies& maker,
                            const std::vector<Candidate>& candidates) {
  if (options.clusters.empty() && options.choices.cluster) {
    options.clusters.push_back(*options.choices.cluster);
  }
  if (options.search.measures()) {
    throw CLI::ValidationError("--evaluator",
                               "several clusters or seeds are simulated; leave out one of them");
  }
  if (options.clusters.empty()) {
    throw CLI::ValidationError("--clusters", "which machines? Name presets of `berth devices`");
  }
  if (options.seeds.empty()) options.seeds.push_back(options.search.seed.value_or(0));
  std::vector<std::shared_ptr<const Cluster>> clusters;
  for (const std::string& name : options.clusters) clusters.push_back(load_cluster(name));
  const std::shared_ptr<const Graph> graph = load_model(engine, options.model);
  const InterruptGuard guard;
  std::vector<SweepRun> runs;
  const std::size_t count = clusters.size() * options.seeds.size() * candidates.size();
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    const auto problem = make_problem(engine, graph, clusters[c], options.choices);
    for (const std::uint64_t seed : options.seeds) {
      options.search.seed = seed;
      Search search(problem, nullptr, options.choices, options.search);
      for (const Candidate& candidate : candidates) {
        const RunStage stage(runs.size(), count, options.search);
        runs.push_back(
            sweep_run(options.clusters[c], seed, run_one(search, options, maker, candidate)));
      }
    }
  }
  return runs;
}

int run_sweep(Engine& engine, CompareOptions& options, NamedPolicies& maker,
              const std::vector<Candidate>& candidates) {
  const std::vector<SweepRun> runs = sweep(engine, options, maker, candidates);
  if (!options.csv.empty()) write_target(options.csv, sweep_csv(runs));
  const bool throughput = options.choices.objective == "throughput";
  print(options.json ? json_text(sweep_json(runs))
                     : sweep_text(options.model.model, runs, throughput));
  if (std::none_of(runs.begin(), runs.end(), [](const SweepRun& run) { return run.fits; })) {
    throw Error(ErrorCode::infeasible,
                "no policy found a placement that fits, on any cluster; try machines with more "
                "memory, a smaller model or other policies");
  }
  return 0;
}

int run_compare(CompareOptions options) {
  const Settings settings = read_settings(options.config);
  const std::unique_ptr<Engine> owned = make_engine(settings);
  Engine& engine = *owned;
  NamedPolicies maker(engine);
  const std::vector<Candidate> candidates = make_candidates(engine, maker, settings, options);
  std::vector<Target> targets;
  if (!options.csv.empty()) targets.push_back({"--csv", options.csv});
  if (!options.report.empty()) targets.push_back({"--report", options.report});
  if (!options.search.log.empty()) targets.push_back({"--log", options.search.log});
  if (!targets.empty()) {
    std::vector<Input> inputs = input_files(options.model, options.choices);
    inputs.push_back({"the config", options.config});
    for (const std::string& cluster : options.clusters) inputs.push_back({"a cluster", cluster});
    for (const Candidate& candidate : candidates) inputs.push_back({"a policy", candidate.name});
    check_targets(targets, inputs);
  }
  if (!options.clusters.empty() || !options.seeds.empty()) {
    if (!options.report.empty()) {
      throw CLI::ValidationError("--report", "a page shows one machine and one seed");
    }
    if (!options.search.log.empty()) {
      throw CLI::ValidationError("--log", "a log is of one machine and one seed");
    }
    return run_sweep(engine, options, maker, candidates);
  }
  const Bench bench = make_bench(engine, options.model, options.choices, options.search);
  const std::vector<CompareRow> rows = run_all(bench, options, maker, candidates);

  if (!options.csv.empty()) write_target(options.csv, compare_csv(rows));
  if (!options.report.empty() && rows.front().outcome) {
    Report report;
    add_rows(report, rows);
    write_report(options.report, report);
  }
  print(options.json ? json_text(compare_json(rows))
                     : compare_text(options.model.model, *bench.problem, rows));
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
         "the policies to run, separated by commas; default: all of `berth plugins`")
      ->type_name("A,B,C");
  options->search.add_to(*sub);
  options->search.add_log_to(*sub);
  add_evaluator(*sub, options->search);
  sub->add_option_function<std::string>(
         "--clusters",
         [options = options.get()](const std::string& list) {
           options->clusters = split_names(list);
           if (options->clusters.empty()) {
             throw CLI::ValidationError("--clusters", "name at least one, such as k80x4,v100x8");
           }
         },
         "place on each of these machines instead of --cluster; separated by commas")
      ->type_name("A,B,C");
  sub->add_option_function<std::string>(
         "--seeds",
         [options = options.get()](const std::string& text) {
           options->seeds = parse_seeds(text);
           if (options->seeds.empty()) {
             throw CLI::ValidationError(
                 "--seeds", fmt::format("'{}' is no list of at most 10,000 seeds; write 0..4 or "
                                        "0,3,7",
                                        text));
           }
         },
         "use each of these seeds instead of --seed; the table shows the best and the median")
      ->type_name("0..4");
  add_file(*sub, "--config", options->config,
           "a file of settings, berth.settings/1 or Lua; the command line overrides it");
  add_file(*sub, "--csv", options->csv, "write the table to this file too");
  add_file(*sub, "--report", options->report,
           "write a page that shows the best placement and the table here (HTML)");
  sub->add_flag("--json", options->json,
                "print one JSON object on standard output: the best placement, and all policies");
  sub->footer(
      "Examples:\n"
      "  berth compare model.onnx --cluster k80x4\n"
      "  berth compare model.onnx --cluster k80x4 --policies single,topo,scotch --budget 30s\n"
      "  berth compare model.onnx --clusters k80x4,v100x8 --seeds 0..4 --csv runs.csv\n"
      "A policy that fails gets a row with the reason. Each policy has the whole budget.\n"
      "Ctrl-C ends the running policy, keeps its best placement so far, and shows the results.");
  sub->callback([&chosen, options] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace berth::command
