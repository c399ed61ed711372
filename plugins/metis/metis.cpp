// Multilevel partitioning by METIS (Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998; JPDC
// 48(1), 1998): as little data as possible crosses between parts whose compute follows the devices'
// speeds. METIS knows no links, no kinds and no memory; `finish` sees to kinds and memory.
#include <metis.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "common/repair.h"
#include "common/weighted_graph.h"

namespace berth::policies {
namespace {

/// METIS adds weights, and weights times its imbalance, in 32 bits.
constexpr double kLargestWeightSum = 1 << 24;
/// The least of a device's share of all the compute: METIS divides by it.
constexpr double kSmallestShare = 1e-4;

/// METIS draws from the C library's generator, which is the process's. Guards it among its users
/// here; the seed is set at every call.
std::mutex metis_mutex;

/// The parts of `graph`, one per share; at least 2 shares and as many vertices.
std::vector<idx_t> partition(CompressedGraph<idx_t> graph, std::vector<real_t> shares,
                             bool recursive, double imbalance, std::uint64_t seed) {
  const std::lock_guard lock(metis_mutex);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>((seed ^ (seed >> 32)) & 0x7fffffff);
  options[METIS_OPTION_UFACTOR] = std::max<idx_t>(1, rounded<idx_t>(imbalance * 1000, 1, 10000));
  auto vertices = static_cast<idx_t>(graph.vertex_weights.size());
  auto parts = static_cast<idx_t>(shares.size());
  idx_t constraints = 1;
  idx_t cut = 0;
  std::vector<idx_t> part(graph.vertex_weights.size(), 0);
  const auto method = recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int status =
      method(&vertices, &constraints, graph.begin.data(), graph.neighbours.data(),
             graph.vertex_weights.data(), /*vsize=*/nullptr, graph.edge_weights.data(), &parts,
             shares.data(), /*ubvec=*/nullptr, options, &cut, part.data());
  if (status != METIS_OK) {
    throw Error(ErrorCode::unsupported,
                status == METIS_ERROR_MEMORY
                    ? "METIS failed for want of memory; use coarser groups"
                    : "METIS failed and gave no reason; use another policy or coarser groups");
  }
  return part;
}

bool recursive_from_name(const std::string& name) {
  if (name == "recursive") return true;
  if (name == "kway") return false;
  throw Error(ErrorCode::invalid_argument,
              "no METIS method '" + name + "'. Known: kway, recursive");
}

class MetisPolicy final : public Policy {
 public:
  explicit MetisPolicy(const Options& options)
      : recursive_(recursive_from_name(options.text("method"))),
        imbalance_(options.real("imbalance")),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {
    if (!(imbalance_ >= 0.001 && imbalance_ <= 10)) {
      std::ostringstream message;
      message << "policy metis: imbalance is " << imbalance_
              << "; give a value from 0.001 to 10, such as 0.03";
      throw Error(ErrorCode::invalid_argument, message.str());
    }
  }

  Placement place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) override {
    std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    const auto count = static_cast<std::size_t>(problem.groups().count());
    std::vector<double> speeds = relative_speeds(problem, devices);
    keep_fastest(devices, speeds, count);
    GroupPlacement placement(count, devices.front());
    // METIS fails on a single part.
    if (devices.size() > 1) {
      const std::vector<idx_t> part =
          partition({weighted_graph(problem, devices, speeds), kLargestWeightSum},
                    shares_of(speeds), recursive_, imbalance_, context.seed);
      std::transform(part.begin(), part.end(), placement.begin(),
                     [&](idx_t p) { return devices[static_cast<std::size_t>(p)]; });
    }
    return finish(problem, evaluator, std::move(placement), repair_);
  }

 private:
  /// METIS wants no more parts than vertices.
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

  static std::vector<real_t> shares_of(const std::vector<double>& speeds) {
    const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    std::vector<double> shares;
    for (const double speed : speeds) shares.push_back(std::max(speed / all, kSmallestShare));
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<real_t> result;
    for (const double share : shares) result.push_back(static_cast<real_t>(share / sum));
    return result;
  }

  bool recursive_;
  double imbalance_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"method", OptionType::text, "kway",
     "kway: all parts at once; recursive: by repeated bisection, better for few parts"},
    {"imbalance", OptionType::real, "0.03",
     "by how much a load may pass its share, relative, 0.001 to 10"},
    {"hosts", OptionType::boolean, "false",
     "give host devices their share too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::MetisPolicy, "metis", "1.0",
                    "multilevel k-way partitioning by METIS, loads in proportion to speed",
                    berth::policies::kOptions)
