// Multilevel partitioning by METIS: as little data as possible crosses between parts whose compute
// follows the devices' speeds. METIS knows no links, no kinds and no memory; `finish` sees to kinds
// and memory. With phases, parts share the work of each part of the step (multi-constraint
// partitioning: Karypis and Kumar, SC 1998), so that no device waits for another to be done.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/spread.h"
#include "common/weighted_graph.h"
#include "metis/nodes.h"
#include "metis/partition.h"
#include "metis/phases.h"

namespace berth::policies::metis {
namespace {

class MetisPolicy final : public Policy {
 public:
  explicit MetisPolicy(const Options& options)
      : recursive_(options.text("method") == "recursive"),
        imbalance_(options.real("imbalance")),
        phases_(static_cast<int>(options.integer("phases"))),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    const auto count = static_cast<std::size_t>(problem.groups().count());
    std::vector<double> speeds = relative_speeds(problem, devices);
    keep_fastest(devices, speeds, count);
    const std::vector<int> node_of = sort_by_nodes(problem.cluster(), devices, speeds);
    GroupPlacement placement(count, devices.front());
    // METIS fails on a single part.
    if (devices.size() > 1) {
      const WeightedGraph graph = weighted_graph(problem, devices, speeds);
      const std::vector<int> part = partition(
          graph, phases_of(problem, graph, affordable_phases(problem, devices.size(), context)),
          speeds, node_of, {recursive_, imbalance_, context.seed});
      placement = {};
      for (const int p : part) placement.push_back(devices[static_cast<std::size_t>(p)]);
    }
    return repair_placement(problem, evaluator, std::move(placement), repair_, context);
  }

 private:
  /// METIS cannot be stopped, and takes the longer the more phases there are.
  [[nodiscard]] int affordable_phases(const Problem& problem, std::size_t devices,
                                      const PlaceContext& context) const {
    // Time of one group in one cut; measured on graphs of 17,000 to 100,000 groups, and doubled.
    constexpr double kSecondsPerPhase = 4e-7;
    const double cuts = std::log2(static_cast<double>(devices));
    const double seconds_per_phase = kSecondsPerPhase * cuts * problem.groups().count();
    int phases = phases_;
    while (phases > 1 && phases * seconds_per_phase > context.budget_s) phases /= 2;
    return phases;
  }

  /// More parts than vertices would be of no use, and METIS wants no more.
  static void keep_fastest(std::vector<DeviceId>& devices, std::vector<double>& speeds,
                           std::size_t count) {
    if (devices.size() <= count) return;
    std::vector<std::size_t> order(devices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return speeds[a] > speeds[b]; });
    order.resize(count);
    std::vector<DeviceId> kept;
    std::vector<double> kept_speeds;
    for (const std::size_t i : order) {
      kept.push_back(devices[i]);
      kept_speeds.push_back(speeds[i]);
    }
    devices = std::move(kept);
    speeds = std::move(kept_speeds);
  }

  bool recursive_;
  double imbalance_;
  int phases_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"method",
     OptionType::text,
     "kway",
     "kway: all parts at once; recursive: by repeated bisection, better for few parts",
     {},
     "kway,recursive"},
    {"imbalance", OptionType::real, "0.03", "by how much a load may pass its share, relative",
     OptionRange::at_least(0.001).up_to(10)},
    {"phases", OptionType::integer, "1",
     "phases of equal work to cut the step into; every device gets its share of each, so "
     "that all of them work all the time; by repeated bisection, nodes of the machine first; fewer "
     "where the time budget is short",
     OptionRange::at_least(1).up_to(64)},
    {"hosts", OptionType::boolean, "false",
     "give host devices their share too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(MetisPolicy, "metis", "1.0",
             "multilevel k-way partitioning by METIS, loads in proportion to speed", kOptions);

}  // namespace berth::policies::metis
