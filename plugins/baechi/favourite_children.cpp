#include "baechi/favourite_children.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies::baechi {
namespace {

constexpr double kFavourite = 0.5;
/// The solver's precision: an x just below a half is a half.
constexpr double kTolerance = 1e-6;
/// Simplex iterations between two looks at the clock.
constexpr int kStride = 16;

/// Ends the solver when the policy is to stop.
class StopHandler final : public ClpEventHandler {
 public:
  explicit StopHandler(const PlaceContext& context) : context_(context) {}
  int event(Event event) override {
    constexpr int kCarryOn = -1;
    constexpr int kEnd = 0;
    if (event != endOfIteration || ++iterations_ % kStride != 0) return kCarryOn;
    return context_.stopped() ? kEnd : kCarryOn;
  }
  [[nodiscard]] ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  const PlaceContext& context_;
  int iterations_ = 0;
};

struct ProgramEdge {
  GroupId src;
  GroupId dst;
  double transfer_us;
};

/// The matrix row by row, as Clp takes it.
class Program {
 public:
  Program(std::vector<double> node_us, std::vector<ProgramEdge> edges)
      : node_us_(std::move(node_us)), edges_(std::move(edges)) {}

  /// x by edge; empty if there is no solution.
  [[nodiscard]] std::vector<double> solve(const PlaceContext& context) {
    add_order();
    add_favourites(&ProgramEdge::src);
    add_favourites(&ProgramEdge::dst);
    const int columns = makespan() + 1;
    std::vector<double> column_lower(at(columns), 0);
    std::vector<double> column_upper(at(columns), COIN_DBL_MAX);
    std::fill_n(column_upper.begin(), edges_.size(), 1.0);
    std::vector<double> objective(at(columns), 0);
    objective.back() = 1;
    const std::vector<double> row_upper(row_lower_.size(), COIN_DBL_MAX);
    CoinPackedMatrix matrix(/*colordered=*/false, 0, 0);
    matrix.setDimensions(0, columns);
    matrix.appendRows(static_cast<int>(row_lower_.size()), begins_.data(), columns_.data(),
                      values_.data());

    ClpSimplex solver;
    solver.setLogLevel(0);
    solver.loadProblem(matrix, column_lower.data(), column_upper.data(), objective.data(),
                       row_lower_.data(), row_upper.data());
    StopHandler handler(context);
    solver.passInEventHandler(&handler);
    solver.dual();
    if (!solver.isProvenOptimal()) return {};
    const double* solution = solver.primalColumnSolution();
    return {solution, solution + edges_.size()};
  }

 private:
  // Columns: x by edge, s by node, w.
  [[nodiscard]] int start_of(GroupId node) const { return static_cast<int>(edges_.size()) + node; }
  [[nodiscard]] int makespan() const { return start_of(static_cast<GroupId>(node_us_.size())); }

  void add(int column, double value) {
    columns_.push_back(column);
    values_.push_back(value);
  }
  void end_row(double lower) {
    begins_.push_back(static_cast<CoinBigIndex>(columns_.size()));
    row_lower_.push_back(lower);
  }

  void add_order() {
    std::vector<bool> has_child(node_us_.size(), false);
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const ProgramEdge& edge = edges_[e];
      has_child[at(edge.src)] = true;
      add(static_cast<int>(e), -edge.transfer_us);
      add(start_of(edge.src), -1);
      add(start_of(edge.dst), 1);
      end_row(node_us_[at(edge.src)]);
    }
    for (GroupId node = 0; at(node) < node_us_.size(); ++node) {
      if (has_child[at(node)]) continue;
      add(start_of(node), -1);
      add(makespan(), 1);
      end_row(node_us_[at(node)]);
    }
  }

  /// At most one favourite among the edges that share an end.
  void add_favourites(GroupId ProgramEdge::*end) {
    std::vector<std::vector<int>> edges_of(node_us_.size());
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      edges_of[at(edges_[e].*end)].push_back(static_cast<int>(e));
    }
    for (const std::vector<int>& edges : edges_of) {
      if (edges.size() < 2) continue;
      for (const int edge : edges) add(edge, 1);
      end_row(static_cast<double>(edges.size()) - 1);
    }
  }

  std::vector<double> node_us_;
  std::vector<ProgramEdge> edges_;
  std::vector<CoinBigIndex> begins_ = {0};
  std::vector<int> columns_;
  std::vector<double> values_;
  std::vector<double> row_lower_;
};

/// The favourite child of each node; kNoGroup = none.
std::vector<GroupId> solve(const Problem& problem, const Groups& nodes, const MeanTimes& means,
                           const PlaceContext& context) {
  std::vector<double> node_us(at(nodes.count()), 0);
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    node_us[at(nodes.of(op))] += means.op_us(op);
  }
  std::vector<ProgramEdge> edges;
  for (GroupId node = 0; node < nodes.count(); ++node) {
    for (const Groups::Edge& edge : nodes.out_edges(node)) {
      if (edge.dst > node) edges.push_back({node, edge.dst, means.transfer_us(edge.bytes)});
    }
  }
  std::vector<GroupId> favourite(at(nodes.count()), kNoGroup);
  if (edges.empty() || context.stopped()) return favourite;
  const std::vector<double> x = Program(std::move(node_us), edges).solve(context);
  for (std::size_t e = 0; e < x.size(); ++e) {
    if (x[e] < kFavourite - kTolerance) favourite[at(edges[e].src)] = edges[e].dst;
  }
  return favourite;
}

}  // namespace

std::vector<OpId> favourite_children(const Problem& problem, const MeanTimes& means,
                                     GroupId max_nodes, const PlaceContext& context) {
  const Graph& graph = problem.graph();
  std::shared_ptr<const Groups> nodes = problem.shared_groups();
  if (nodes->count() > max_nodes) {
    nodes = coarsen(graph, problem.costs(), max_nodes, problem.constraints().get());
  }
  const std::vector<GroupId> favourite = solve(problem, *nodes, means, context);

  // The consumer in an op's own node, or else in the favourite node, that it sends most to.
  std::vector<OpId> child(at(graph.op_count()), kNoOp);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const GroupId node = nodes->of(op);
    std::pair<bool, std::int64_t> best{};  // within the node, bytes
    for (const Edge& edge : graph.out_edges(op)) {
      const GroupId other = nodes->of(edge.dst);
      if (other != node && other != favourite[at(node)]) continue;
      const std::pair sends(other == node, edge.tensor == kNoTensor ? 0 : graph.bytes(edge.tensor));
      if (child[at(op)] != kNoOp && sends <= best) continue;
      best = sends;
      child[at(op)] = edge.dst;
    }
  }
  return child;
}

}  // namespace berth::policies::baechi
