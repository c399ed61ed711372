#include "metis/partition.h"

#include <metis.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include "berth/error.h"

namespace berth::policies::metis {
namespace {

static_assert(std::is_same_v<idx_t, int>, "METIS was built with 64-bit indices");

/// METIS adds weights, and weights times its imbalance, in 32 bits.
constexpr double kLargestWeightSum = 1 << 24;
/// The least of a device's share of all the compute: METIS divides by it.
constexpr double kSmallestShare = 1e-4;

/// METIS draws from the C library's generator, which is the process's. Guards it among its users
/// here; the seed is set at every call.
std::mutex metis_mutex;

/// One call of METIS: the parts of `graph`, one per share.
class Metis {
 public:
  Metis(double imbalance, std::uint64_t seed) {
    METIS_SetDefaultOptions(options_);
    options_[METIS_OPTION_SEED] = static_cast<idx_t>((seed ^ (seed >> 32)) & 0x7fffffff);
    options_[METIS_OPTION_UFACTOR] = rounded<idx_t>(imbalance * 1000, 1, 10000);
  }

  /// The vertices have `phases` weights each, one after the other.
  std::vector<idx_t> operator()(decltype(METIS_PartGraphKway)* method, CompressedGraph<idx_t> graph,
                                const std::vector<real_t>& shares, int phases = 1) {
    const std::lock_guard lock(metis_mutex);
    auto vertices = static_cast<idx_t>(graph.begin.size()) - 1;
    auto parts = static_cast<idx_t>(shares.size());
    idx_t constraints = phases;
    idx_t cut = 0;
    std::vector<idx_t> part(static_cast<std::size_t>(vertices), 0);
    std::vector<real_t> wanted;
    for (const real_t share : shares) {
      wanted.insert(wanted.end(), static_cast<std::size_t>(phases), share);
    }
    const int status =
        method(&vertices, &constraints, graph.begin.data(), graph.neighbours.data(),
               graph.vertex_weights.data(), /*vsize=*/nullptr, graph.edge_weights.data(), &parts,
               wanted.data(), /*ubvec=*/nullptr, options_, &cut, part.data());
    if (status != METIS_OK) {
      throw Error(ErrorCode::unsupported,
                  status == METIS_ERROR_MEMORY
                      ? "METIS failed for want of memory; use coarser groups"
                      : "METIS failed and gave no reason; use another policy or coarser groups");
    }
    return part;
  }

 private:
  idx_t options_[METIS_NOPTIONS];
};

/// `shares` made to add up to 1, none below kSmallestShare.
std::vector<real_t> normal_shares(const std::vector<double>& speeds) {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<double> shares;
  for (const double speed : speeds) shares.push_back(std::max(speed / all, kSmallestShare));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<real_t> result;
  for (const double share : shares) result.push_back(static_cast<real_t>(share / sum));
  return result;
}

/// Recursive bisection with METIS for each cut. Its own recursion prints to standard output where a
/// half is left without vertices, and cannot be told not to; here such a half gets nothing.
class Bisection {
 public:
  Bisection(const WeightedGraph& graph, const Phases& phases, const std::vector<double>& speeds,
            const std::vector<int>& node_of, const PartitionSettings& settings)
      : graph_(graph),
        phases_(phases),
        speeds_(speeds),
        node_of_(node_of),
        metis_(imbalance_of_a_cut(settings.imbalance, speeds.size()), settings.seed),
        part_(graph.vertex_weights.size(), 0),
        local_(part_.size(), -1) {}

  std::vector<idx_t> run() {
    std::vector<std::int32_t> all(part_.size());
    std::iota(all.begin(), all.end(), 0);
    cut(all, graph_.edges, 0, speeds_.size());
    return std::move(part_);
  }

 private:
  /// The imbalances of the cuts on the way to a part multiply.
  static double imbalance_of_a_cut(double imbalance, std::size_t parts) {
    return std::pow(1 + imbalance, 1 / std::max(1.0, std::log2(static_cast<double>(parts)))) - 1;
  }

  /// Shares `vertices`, with the edges among them, out to the parts [first, last).
  void cut(const std::vector<std::int32_t>& vertices, const std::vector<WeightedGraph::Edge>& edges,
           std::size_t first, std::size_t last) {
    if (vertices.size() < 2 || last - first < 2) {
      const auto fastest = std::max_element(speeds_.begin() + static_cast<std::ptrdiff_t>(first),
                                            speeds_.begin() + static_cast<std::ptrdiff_t>(last));
      for (const std::int32_t vertex : vertices) {
        part_[static_cast<std::size_t>(vertex)] = static_cast<idx_t>(fastest - speeds_.begin());
      }
      return;
    }
    const std::size_t middle = middle_of(first, last);
    const std::vector<idx_t> side = halve(vertices, edges, first, middle, last);
    Half left = half_of(side, 0, vertices, edges);
    Half right = half_of(side, 1, vertices, edges);
    cut(left.vertices, left.edges, first, middle);
    cut(right.vertices, right.edges, middle, last);
  }

  /// The border between two nodes that is nearest to the middle; of a single node the middle.
  [[nodiscard]] std::size_t middle_of(std::size_t first, std::size_t last) const {
    const std::size_t middle = first + (last - first) / 2;
    for (std::size_t off = 0; off < last - first; ++off) {
      for (const std::size_t place : {middle + off, middle - off}) {
        if (place > first && place < last && node_of_[place - 1] != node_of_[place]) return place;
      }
    }
    return middle;
  }

  struct Half {
    std::vector<std::int32_t> vertices;
    std::vector<WeightedGraph::Edge> edges;
  };
  /// While local_ holds the numbers of the cut that gave `side`.
  [[nodiscard]] Half half_of(const std::vector<idx_t>& side, idx_t half,
                             const std::vector<std::int32_t>& vertices,
                             const std::vector<WeightedGraph::Edge>& edges) const {
    Half result;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      if (side[i] == half) result.vertices.push_back(vertices[i]);
    }
    for (const WeightedGraph::Edge& edge : edges) {
      if (side[index(edge.a)] == half && side[index(edge.b)] == half) result.edges.push_back(edge);
    }
    return result;
  }

  [[nodiscard]] std::size_t index(std::int32_t vertex) const {
    return static_cast<std::size_t>(local_[static_cast<std::size_t>(vertex)]);
  }

  std::vector<idx_t> halve(const std::vector<std::int32_t>& vertices,
                           const std::vector<WeightedGraph::Edge>& edges, std::size_t first,
                           std::size_t middle, std::size_t last) {
    WeightedGraph graph;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      const auto vertex = static_cast<std::size_t>(vertices[i]);
      local_[vertex] = static_cast<std::int32_t>(i);
      graph.vertex_weights.push_back(graph_.vertex_weights[vertex]);
    }
    for (const WeightedGraph::Edge& edge : edges) {
      graph.edges.push_back({local_[static_cast<std::size_t>(edge.a)],
                             local_[static_cast<std::size_t>(edge.b)], edge.weight});
    }
    const auto begin = speeds_.begin();
    const auto sum = [&](std::size_t from, std::size_t to) {
      return std::accumulate(begin + static_cast<std::ptrdiff_t>(from),
                             begin + static_cast<std::ptrdiff_t>(to), 0.0);
    };
    CompressedGraph<idx_t> compressed(graph, kLargestWeightSum);
    if (phases_.count > 1) compressed.vertex_weights = weights_by_phase(vertices);
    return metis_(METIS_PartGraphRecursive, std::move(compressed),
                  normal_shares({sum(first, middle), sum(middle, last)}), phases_.count);
  }

  [[nodiscard]] std::vector<idx_t> weights_by_phase(
      const std::vector<std::int32_t>& vertices) const {
    const auto count = static_cast<std::size_t>(phases_.count);
    double sum = 0;
    for (const std::int32_t vertex : vertices) {
      sum += graph_.vertex_weights[static_cast<std::size_t>(vertex)];
    }
    std::vector<idx_t> weights;
    for (const std::int32_t vertex : vertices) {
      for (std::size_t phase = 0; phase < count; ++phase) {
        const double weight = phases_.weights[static_cast<std::size_t>(vertex) * count + phase];
        weights.push_back(
            sum > 0 ? rounded<idx_t>(weight * (kLargestWeightSum / sum), 0, kLargestWeightSum) : 1);
      }
    }
    return weights;
  }

  const WeightedGraph& graph_;
  const Phases& phases_;
  const std::vector<double>& speeds_;
  const std::vector<int>& node_of_;
  Metis metis_;
  std::vector<idx_t> part_;
  std::vector<std::int32_t> local_;  // by vertex: its number in the cut at hand
};

/// Whether every part is to get several vertices. METIS bisects recursively to find its first k-way
/// partition too, and prints where a half of that is left without any.
bool roomy(const CompressedGraph<idx_t>& graph, const std::vector<real_t>& shares) {
  constexpr double kVerticesPerPart = 4;
  const auto& weights = graph.vertex_weights;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto smallest = static_cast<double>(*std::min_element(shares.begin(), shares.end()));
  const double most = *std::max_element(weights.begin(), weights.end());
  return static_cast<double>(weights.size()) * smallest >= 2 * kVerticesPerPart &&
         kVerticesPerPart * most <= smallest * sum;
}

}  // namespace

std::vector<int> partition(const WeightedGraph& graph, const Phases& phases,
                           const std::vector<double>& speeds, const std::vector<int>& node_of,
                           const PartitionSettings& settings) {
  if (!settings.recursive && phases.count == 1) {
    CompressedGraph<idx_t> compressed(graph, kLargestWeightSum);
    const std::vector<real_t> shares = normal_shares(speeds);
    if (roomy(compressed, shares)) {
      return Metis(settings.imbalance, settings.seed)(METIS_PartGraphKway, std::move(compressed),
                                                      shares);
    }
  }
  return Bisection(graph, phases, speeds, node_of, settings).run();
}

}  // namespace berth::policies::metis
