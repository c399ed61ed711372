#include "scotch/scotch_library.h"

// Scotch's header needs these two before it.
#include <scotch.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "berth/error.h"
#include "berth/export.h"

namespace berth::policies::scotch {
namespace {

/// Scotch keeps global state (its generator, its error printer).
std::mutex scotch_mutex;
/// The last complaint of Scotch; guarded by scotch_mutex.
std::string complaint;

void record(const char* format, std::va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  complaint = text;
}

}  // namespace
}  // namespace berth::policies::scotch

// Scotch reports errors through these two functions and expects the program to define them; its own
// versions print. This library comes before libscotcherr in the search order of its users.
extern "C" {
BERTH_EXPORT void SCOTCH_errorPrint(const char* const format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  berth::policies::scotch::record(format, arguments);
  va_end(arguments);
}
BERTH_EXPORT void SCOTCH_errorPrintW(const char* const, ...) {}
}

namespace berth::policies::scotch {
namespace {

/// Scotch adds weights, and products of edge weights and distances, in integers of 32 bits: these
/// limits keep every such sum below 2^30.
constexpr double kLargestWeightSum = 1 << 24;
constexpr double kLargestDistance = 64;
/// A distance's unit: a quarter of the shortest, so that 1.25 times as far is told apart.
constexpr double kDistanceUnits = 4;
constexpr double kLargestSpeed = 1000;
/// A target of more processors is taken to be equally far apart: its graph has all pairs as edges.
constexpr std::size_t kMaxProcessorsWithDistances = 512;

void check(int status, const char* what) {
  if (status == 0) return;
  throw Error(ErrorCode::unsupported, std::string("Scotch failed in ") + what + ": " +
                                          (complaint.empty() ? "no reason given" : complaint) +
                                          "; use another policy or coarser groups");
}

template <typename Object, int (*init)(Object*), void (*exit)(Object*)>
class Owned {
 public:
  explicit Owned(const char* what) { check(init(&object_), what); }
  ~Owned() { exit(&object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Object* get() { return &object_; }

 private:
  Object object_;
};
using OwnedGraph = Owned<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit>;
using OwnedArch = Owned<SCOTCH_Arch, SCOTCH_archInit, SCOTCH_archExit>;
using OwnedStrategy = Owned<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit>;
using OwnedContext = Owned<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit>;

using Arrays = CompressedGraph<SCOTCH_Num>;

/// `arrays` must outlive the graph.
void build_graph(Arrays& arrays, SCOTCH_Graph* graph) {
  const auto vertices = static_cast<SCOTCH_Num>(arrays.vertex_weights.size());
  const auto arcs = static_cast<SCOTCH_Num>(arrays.neighbours.size());
  check(SCOTCH_graphBuild(graph, 0, vertices, arrays.begin.data(), arrays.begin.data() + 1,
                          arrays.vertex_weights.data(), nullptr, arcs, arrays.neighbours.data(),
                          arrays.edge_weights.data()),
        "building the graph");
}

/// Whether every two processors are as far apart as every other two.
bool equally_far(const MappingTarget& target) {
  const std::size_t n = target.speeds.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j && target.distances[i * n + j] != target.distances[1]) return false;
    }
  }
  return true;
}

/// A generator and one thread of its own: without a context every call starts as many threads as the
/// machine has cores, and waits for their end by asking again and again.
class Context {
 public:
  explicit Context(std::uint64_t seed) {
    check(SCOTCH_contextRandomClone(context_.get()), "making a generator");
    SCOTCH_contextRandomSeed(context_.get(), static_cast<SCOTCH_Num>(seed));
    SCOTCH_contextRandomReset(context_.get());
    check(SCOTCH_contextThreadSpawn(context_.get(), 1, nullptr), "starting one thread");
  }
  /// Binds `bound` to this; `graph` must outlive it.
  void bind(SCOTCH_Graph* graph, SCOTCH_Graph* bound) {
    check(SCOTCH_contextBindGraph(context_.get(), graph, bound), "binding the graph");
  }

 private:
  OwnedContext context_{"making a context"};
};

void build_target(const MappingTarget& target, std::uint64_t seed, SCOTCH_Arch* arch) {
  const std::size_t n = target.speeds.size();
  const double fastest = *std::max_element(target.speeds.begin(), target.speeds.end());
  std::vector<SCOTCH_Num> speeds;
  for (const double speed : target.speeds) {
    speeds.push_back(rounded<SCOTCH_Num>(speed / fastest * kLargestSpeed, 1, kLargestSpeed));
  }
  if (n > kMaxProcessorsWithDistances || equally_far(target)) {
    check(SCOTCH_archCmpltw(arch, static_cast<SCOTCH_Num>(n), speeds.data()),
          "building the architecture");
    return;
  }
  double shortest = kLargestDistance * target.distances[1];
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      shortest = std::min(shortest, target.distances[i * n + j]);
    }
  }
  std::vector<Arrays::Edge> edges;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double units = target.distances[i * n + j] / shortest * kDistanceUnits;
      edges.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                       rounded<SCOTCH_Num>(units, 1, kLargestDistance)});
    }
  }
  Arrays arrays(std::move(speeds), edges);
  OwnedGraph graph("making a graph");
  build_graph(arrays, graph.get());
  OwnedStrategy strategy("making a strategy");
  Context context(seed);
  OwnedGraph bound("making a graph");
  context.bind(graph.get(), bound.get());
  check(SCOTCH_archBuild(arch, bound.get(), static_cast<SCOTCH_Num>(n), nullptr, strategy.get()),
        "building the architecture");
}

/// Scotch reports success and leaves vertices without a processor where fixed ones and far
/// processors ask too much of it: each goes to the one with the least load for its speed.
void map_the_rest(const WeightedGraph& graph, const MappingTarget& target,
                  std::vector<SCOTCH_Num>& part) {
  const auto processors = static_cast<SCOTCH_Num>(target.speeds.size());
  const auto mapped = [&](SCOTCH_Num processor) {
    return processor >= 0 && processor < processors;
  };
  std::vector<double> load(target.speeds.size(), 0);
  const auto add = [&](std::size_t vertex) {
    const auto processor = static_cast<std::size_t>(part[vertex]);
    load[processor] += graph.vertex_weights[vertex] / target.speeds[processor];
  };
  for (std::size_t vertex = 0; vertex < part.size(); ++vertex) {
    if (mapped(part[vertex])) add(vertex);
  }
  for (std::size_t vertex = 0; vertex < part.size(); ++vertex) {
    if (mapped(part[vertex])) continue;
    part[vertex] =
        static_cast<SCOTCH_Num>(std::min_element(load.begin(), load.end()) - load.begin());
    add(vertex);
  }
}

SCOTCH_Num flags_of(std::string_view strategy) {
  if (strategy == "quality") return SCOTCH_STRATQUALITY;
  if (strategy == "speed") return SCOTCH_STRATSPEED;
  if (strategy == "balance") return SCOTCH_STRATBALANCE;
  return SCOTCH_STRATDEFAULT;
}

}  // namespace

std::vector<std::int32_t> map_statically(const WeightedGraph& graph, const MappingTarget& target,
                                         std::string_view strategy, double imbalance,
                                         std::uint64_t seed) {
  const std::lock_guard lock(scotch_mutex);
  complaint.clear();
  Arrays arrays(graph, kLargestWeightSum);
  OwnedArch arch("making an architecture");
  build_target(target, seed, arch.get());
  OwnedStrategy how("making a strategy");
  check(SCOTCH_stratGraphMapBuild(how.get(), flags_of(strategy),
                                  static_cast<SCOTCH_Num>(target.speeds.size()), imbalance),
        "building the strategy");

  OwnedGraph source("making a graph");
  build_graph(arrays, source.get());
  Context context(seed);
  OwnedGraph bound("making a graph");
  context.bind(source.get(), bound.get());

  std::vector<SCOTCH_Num> part(graph.fixed.begin(), graph.fixed.end());
  const bool any_fixed =
      std::any_of(part.begin(), part.end(), [](SCOTCH_Num processor) { return processor >= 0; });
  check(any_fixed ? SCOTCH_graphMapFixed(bound.get(), arch.get(), how.get(), part.data())
                  : SCOTCH_graphMap(bound.get(), arch.get(), how.get(), part.data()),
        "mapping the graph");
  map_the_rest(graph, target, part);
  return {part.begin(), part.end()};
}

}  // namespace berth::policies::scotch
