// `berth compare` over several clusters or seeds: what it found, as table, JSON and CSV.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare_report.h"

namespace berth::command {

/// One policy on one cluster with one seed; only its figures are kept.
struct SweepRun {
  std::string cluster;
  std::string policy;
  std::uint64_t seed = 0;
  bool fits = false;
  double objective_us = 0;         ///< where it fits
  double bound_us = 0;             ///< of the cluster; 0 if no policy found anything
  double single_us = 0;            ///< of the best single device; 0 if there is none
  nlohmann::ordered_json figures;  ///< row_json
};
[[nodiscard]] SweepRun sweep_run(const ComparedPolicy& row);
/// The largest bound that a run on a cluster proved is that of all runs there, and gaps follow.
void share_bounds(std::vector<SweepRun>& runs);

/// A table per cluster, a row per policy: the best and the median over the seeds. Best median
/// first.
[[nodiscard]] std::string sweep_text(const std::string& model, const std::vector<SweepRun>& runs,
                                     bool throughput);
/// {"runs": [...], "summary": [...]}.
[[nodiscard]] nlohmann::ordered_json sweep_json(const std::vector<SweepRun>& runs);
/// A line per run: cluster, seed, and the columns of compare_csv.
[[nodiscard]] std::string sweep_csv(const std::vector<SweepRun>& runs);

}  // namespace berth::command
