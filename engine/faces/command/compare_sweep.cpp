#include "compare_sweep.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

/// A policy on a cluster over all seeds.
struct Summary {
  std::string cluster;
  std::string policy;
  std::vector<double> objectives_us;  ///< of the runs that fit, ascending
  std::size_t runs = 0;
  double bound_us = 0;
  double single_us = 0;
  std::string failure;  ///< of the first that did not fit

  [[nodiscard]] double best_us() const { return objectives_us.front(); }
  /// The median; the lower of the two in the middle of an even number: a run that was made.
  [[nodiscard]] double median_us() const {
    return objectives_us.empty() ? std::numeric_limits<double>::infinity()
                                 : objectives_us[(objectives_us.size() - 1) / 2];
  }
};

/// Sorted by cluster in the order given, then by median.
std::vector<Summary> summaries_of(const std::vector<SweepRun>& runs) {
  std::vector<Summary> all;
  std::vector<std::string> clusters;
  for (const SweepRun& run : runs) {
    if (std::find(clusters.begin(), clusters.end(), run.cluster) == clusters.end()) {
      clusters.push_back(run.cluster);
    }
    auto summary = std::find_if(all.begin(), all.end(), [&](const Summary& s) {
      return s.cluster == run.cluster && s.policy == run.policy;
    });
    if (summary == all.end()) {
      all.push_back({run.cluster, run.policy, {}, 0, 0, 0, {}});
      summary = std::prev(all.end());
    }
    ++summary->runs;
    summary->bound_us = run.bound_us;
    summary->single_us = std::max(summary->single_us, run.single_us);
    if (run.fits) {
      summary->objectives_us.push_back(run.objective_us);
    } else if (summary->failure.empty()) {
      const char* key = run.figures.contains("error") ? "error" : "excess";
      summary->failure = run.figures.value(key, "does not fit");
    }
  }
  for (Summary& summary : all) {
    std::sort(summary.objectives_us.begin(), summary.objectives_us.end());
  }
  const auto rank = [&](const Summary& s) {
    return std::find(clusters.begin(), clusters.end(), s.cluster) - clusters.begin();
  };
  std::stable_sort(all.begin(), all.end(), [&](const Summary& a, const Summary& b) {
    return std::pair(rank(a), a.median_us()) < std::pair(rank(b), b.median_us());
  });
  return all;
}

std::vector<std::string> summary_cells(const Summary& summary) {
  if (summary.objectives_us.empty()) return {summary.policy, summary.failure};
  const double infinity = std::numeric_limits<double>::infinity();
  const double gap = summary.bound_us > 0 ? summary.best_us() / summary.bound_us - 1 : infinity;
  const double speed_up = summary.single_us > 0 && summary.best_us() > 0
                              ? summary.single_us / summary.best_us()
                              : infinity;
  const std::string fits =
      summary.objectives_us.size() == summary.runs
          ? std::string()
          : fmt::format("{} of {} fit", summary.objectives_us.size(), summary.runs);
  return {summary.policy,      format_us(summary.best_us()), format_us(summary.median_us()),
          format_percent(gap), format_factor(speed_up),      fits};
}

}  // namespace

SweepRun sweep_run(const ComparedPolicy& row) {
  SweepRun run;
  run.cluster = row.cluster;
  run.policy = row.policy;
  run.seed = row.seed;
  run.fits = row.fits();
  if (row.outcome) {
    run.objective_us = row.outcome->evaluation.objective_us;
    run.bound_us = row.outcome->bound.us;
    if (row.outcome->best_single.device != kNoDevice) {
      run.single_us = row.outcome->best_single.evaluation.objective_us;
    }
  }
  run.figures = row_json(row);
  return run;
}

void share_bounds(std::vector<SweepRun>& runs) {
  std::map<std::string, double> largest_us;
  for (const SweepRun& run : runs) {
    largest_us[run.cluster] = std::max(largest_us[run.cluster], run.bound_us);
  }
  for (SweepRun& run : runs) {
    if (run.bound_us <= 0) continue;
    run.bound_us = largest_us[run.cluster];
    run.figures["gap"] = run.objective_us / run.bound_us - 1;
  }
}

std::string sweep_text(const std::string& model, const std::vector<SweepRun>& runs,
                       bool throughput) {
  std::string text = std::filesystem::path(model).filename().string() + ": " +
                     (throughput ? "the largest load" : "the runtime of one step") +
                     ", the best and the median over the seeds\n";
  std::string cluster;
  std::optional<TextTable> table;
  const auto flush = [&] {
    if (table) text += "\n" + printable(cluster) + "\n" + table->text(2);
  };
  for (const Summary& summary : summaries_of(runs)) {
    if (!table || summary.cluster != cluster) {
      flush();
      cluster = summary.cluster;
      table.emplace(std::vector<TextTable::Column>{{"policy"},
                                                   {"best", Align::right},
                                                   {"median", Align::right},
                                                   {"above bound", Align::right},
                                                   {"vs one device", Align::right},
                                                   {""}});
    }
    table->add_row(summary_cells(summary));
  }
  flush();
  return text;
}

Json sweep_json(const std::vector<SweepRun>& runs) {
  Json json = {{"runs", Json::array()}, {"summary", Json::array()}};
  for (const SweepRun& run : runs) {
    Json entry = {{"cluster", run.cluster}, {"seed", run.seed}};
    entry.update(run.figures);
    json["runs"].push_back(std::move(entry));
  }
  for (const Summary& summary : summaries_of(runs)) {
    Json entry = {{"cluster", summary.cluster},
                  {"policy", summary.policy},
                  {"runs", summary.runs},
                  {"fit", summary.objectives_us.size()}};
    if (!summary.objectives_us.empty()) {
      entry["best_us"] = summary.best_us();
      entry["median_us"] = summary.median_us();
    }
    if (summary.bound_us > 0) entry["lower_bound_us"] = summary.bound_us;
    json["summary"].push_back(std::move(entry));
  }
  return json;
}

std::string sweep_csv(const std::vector<SweepRun>& runs) {
  std::vector<Json> objects;
  for (const SweepRun& run : runs) {
    objects.push_back(run.figures);
    objects.back()["cluster"] = run.cluster;
    objects.back()["seed"] = run.seed;
  }
  return csv_text(objects, {"cluster", "seed"});
}

}  // namespace berth::command
