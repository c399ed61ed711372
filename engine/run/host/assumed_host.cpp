#include "host/assumed_host.h"

#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "host/machine_notes.h"
#include "support/units.h"

namespace berth {

std::string assumed_host_text(const Settings& settings) {
  const std::string words = words_of_machine(settings);
  if (words.empty()) return {};
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
