#include "host/assumed_host.h"

#include <algorithm>

#include "berth/files.h"
#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"

namespace berth {

std::string assumed_host_text(const Settings& settings) {
  const std::string words = settings.cluster.value_or("");
  if (words.empty() || words.starts_with('{') || names_cluster_file(words)) return {};
  const auto presets = Cluster::presets();
  if (std::any_of(presets.begin(), presets.end(),
                  [&](const auto& info) { return info.name == words; })) {
    return {};
  }
  const KnownDevice* const host = assumed_host(words);
  if (host == nullptr) return {};
  return cat("the machine '", words, "' names no host, so that it has '", host->device.name, "', ",
             format_bytes(host->device.memory_bytes), "; name yours, such as ", words,
             "+host:64GiB");
}

bool depends_on_host(const Outcome& outcome) {
  if (!outcome.evaluation.feasible) return true;
  const Graph& graph = outcome.problem->graph();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_input(op) || graph.is_constant(op)) continue;
    if (outcome.problem->cluster().device(outcome.placement[at(op)]).host) return true;
  }
  return false;
}

}  // namespace berth
