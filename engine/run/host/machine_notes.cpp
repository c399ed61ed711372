#include "host/machine_notes.h"

#include <algorithm>

#include "berth/files.h"
#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "cluster/implausible.h"
#include "support/units.h"

namespace berth {
namespace {

std::int64_t bytes_of(const Graph& graph) {
  std::int64_t bytes = graph.total_param_bytes();
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    bytes = saturating_sum(bytes, graph.bytes(tensor));
  }
  return bytes;
}

/// Whether the peak is near to all that the device has.
bool is_full(const Outcome& outcome, DeviceId device) {
  constexpr double kFull = 0.9;
  const std::int64_t memory = outcome.problem->cluster().device(device).memory_bytes;
  const auto& peaks = outcome.evaluation.peak_bytes;
  return at(device) < peaks.size() &&
         static_cast<double>(peaks[at(device)]) > kFull * static_cast<double>(memory);
}

}  // namespace

std::string words_of_machine(const Settings& settings) {
  const std::string words = settings.cluster.value_or("");
  if (words.empty() || words.starts_with('{') || names_cluster_file(words)) return {};
  const auto presets = Cluster::presets();
  const bool preset = std::any_of(presets.begin(), presets.end(),
                                  [&](const auto& info) { return info.name == words; });
  return preset ? std::string() : words;
}

std::vector<std::string> notes_of_machine(const Settings& settings, const Graph& graph,
                                          const Cluster& cluster) {
  const std::string words = words_of_machine(settings);
  if (!words.empty()) return machine_notes(words);
  if (!settings.cluster) return {};
  std::vector<std::string> notes = implausible_figures(cluster);
  constexpr std::int64_t kSmallGraph = std::int64_t{1} << 20;
  if (bytes_of(graph) < kSmallGraph) return notes;
  const std::vector<std::string> memory = implausible_memory(cluster);
  notes.insert(notes.end(), memory.begin(), memory.end());
  return notes;
}

std::string gpu_limit_text(const Settings& settings, const Outcome& outcome) {
  const std::string words = words_of_machine(settings);
  const Cluster& cluster = outcome.problem->cluster();
  for (DeviceId device = 0; device < cluster.device_count() && !words.empty(); ++device) {
    const KnownDevice* const known = find_known_device(cluster.device(device).kind);
    const bool mac = known != nullptr && known->maker == "Apple" && known->npu.name.empty();
    if (!mac || !(is_full(outcome, device) || !outcome.evaluation.feasible)) continue;
    return cat(cluster.device(device).name, " has the ",
               format_bytes(cluster.device(device).memory_bytes),
               " of the memory that macOS gives it; `sudo sysctl iogpu.wired_limit_mb=N` gives it "
               "N MiB: put them into memory_bytes of the file of `berth devices --cluster ",
               words, " --json`");
  }
  return {};
}

}  // namespace berth
