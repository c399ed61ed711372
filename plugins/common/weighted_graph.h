// The graph of groups as partitioners see it: undirected, weighted, in integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "berth/problem.h"

namespace berth::policies {

/// An undirected graph without loops or parallel edges.
struct WeightedGraph {
  struct Edge {
    std::int32_t a;
    std::int32_t b;
    double weight;  ///< >= 0: data that flows between them
  };
  std::vector<double> vertex_weights;  ///< >= 0: compute
  std::vector<Edge> edges;
  /// Processor of each vertex that has no choice, -1 for the others.
  std::vector<std::int32_t> fixed;
};

/// Speed of each device relative to the fastest, over the groups that all of them can run:
/// partitioners know one load per vertex and one speed per processor.
[[nodiscard]] std::vector<double> relative_speeds(const Problem& problem,
                                                  const std::vector<DeviceId>& devices);

/// The problem's groups. The weight of a vertex is its compute time at speed 1, that of an edge its
/// bytes in both directions. `speeds` are relative_speeds of `devices`, which `fixed` indexes. A
/// group that none of the devices can run has weight 0.
[[nodiscard]] WeightedGraph weighted_graph(const Problem& problem,
                                           const std::vector<DeviceId>& devices,
                                           const std::vector<double>& speeds);

/// `value` within [smallest, largest], as a partitioner's integer.
template <typename Integer>
[[nodiscard]] Integer rounded(double value, double smallest, double largest) {
  return static_cast<Integer>(std::lround(std::clamp(value, smallest, largest)));
}

/// A graph in a partitioner's compressed rows, every edge in both directions.
template <typename Integer>
struct CompressedGraph {
  struct Edge {
    std::int32_t a;
    std::int32_t b;
    Integer weight;
  };

  std::vector<Integer> begin, neighbours, edge_weights, vertex_weights;

  CompressedGraph(std::vector<Integer> weights, const std::vector<Edge>& edges)
      : begin(weights.size() + 1, 0), vertex_weights(std::move(weights)) {
    for (const Edge& edge : edges) {
      ++begin[static_cast<std::size_t>(edge.a) + 1];
      ++begin[static_cast<std::size_t>(edge.b) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    // One spare element: partitioners want arrays even if there are no edges.
    neighbours.reserve(2 * edges.size() + 1);
    neighbours.resize(2 * edges.size());
    edge_weights.reserve(2 * edges.size() + 1);
    edge_weights.resize(2 * edges.size());
    std::vector<Integer> next(begin.begin(), begin.end() - 1);
    for (const Edge& edge : edges) {
      for (const auto& [from, to] : {std::pair(edge.a, edge.b), std::pair(edge.b, edge.a)}) {
        const auto slot = static_cast<std::size_t>(next[static_cast<std::size_t>(from)]++);
        neighbours[slot] = to;
        edge_weights[slot] = edge.weight;
      }
    }
  }

  /// Scaled so that the vertex weights, and the edge weights, add up to about `largest_sum`. If
  /// nothing has a cost, all vertices count alike. Edges weigh at least 1.
  CompressedGraph(const WeightedGraph& graph, double largest_sum)
      : CompressedGraph(scaled_vertices(graph, largest_sum), scaled_edges(graph, largest_sum)) {}

 private:
  static std::vector<Integer> scaled_vertices(const WeightedGraph& graph, double largest_sum) {
    const double compute =
        std::accumulate(graph.vertex_weights.begin(), graph.vertex_weights.end(), 0.0);
    std::vector<Integer> weights;
    for (const double weight : graph.vertex_weights) {
      weights.push_back(
          compute > 0 ? rounded<Integer>(weight * (largest_sum / compute), 0, largest_sum) : 1);
    }
    return weights;
  }

  static std::vector<Edge> scaled_edges(const WeightedGraph& graph, double largest_sum) {
    double data = 0;
    for (const WeightedGraph::Edge& edge : graph.edges) data += edge.weight;
    const double scale = data > 0 ? largest_sum / data : 0;
    std::vector<Edge> edges;
    for (const WeightedGraph::Edge& edge : graph.edges) {
      edges.push_back({edge.a, edge.b, rounded<Integer>(edge.weight * scale, 1, largest_sum)});
    }
    return edges;
  }
};

}  // namespace berth::policies
