#include "auto/chains.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// Readers of an input, and inputs of a reader, that are looked at.
constexpr std::size_t kMostLooked = 8;
/// Ops of a chain in the mean: with fewer, most of the step is in others.
constexpr GroupId kShortest = 4;

class ChainFinder {
 public:
  explicit ChainFinder(const Problem& problem)
      : graph_(problem.graph()),
        finest_(problem.finest_groups()),
        units_(*finest_),
        chain_of_(at(units_.count()), kNone),
        followed_(at(graph_.op_count()), false),
        read_by_(at(graph_.op_count()), kNoOp) {}

  std::vector<GroupId> run() {
    for (const OpId op : graph_.topological_order()) {
      GroupId& chain = chain_of_[at(units_.of(op))];
      if (chain != kNone) continue;
      const OpId input = to_follow(op);
      if (input != kNoOp) followed_[at(input)] = true;
      chain = input != kNoOp ? chain_of_[at(units_.of(input))] : chains_++;
    }
    std::vector<GroupId> of;
    for (OpId op = 0; op < graph_.op_count(); ++op) of.push_back(chain_of_[at(units_.of(op))]);
    return of;
  }
  [[nodiscard]] GroupId count() const { return chains_; }

 private:
  static constexpr GroupId kNone = -1;

  [[nodiscard]] OpId to_follow(OpId op) {
    OpId best = kNoOp;
    std::tuple<std::int64_t, bool, int> most{-1, false, 0};
    for (const Edge& edge : graph_.in_edges(op)) read_by_[at(edge.src)] = op;
    for (const Edge& edge : graph_.in_edges(op)) {
      if (edge.tensor == kNoTensor || followed_[at(edge.src)]) continue;
      const std::int64_t bytes = graph_.bytes(edge.tensor);
      if (bytes < std::get<0>(most)) continue;
      const bool alike = graph_.out_edges(edge.src).size() == graph_.in_edges(op).size();
      const std::tuple weight{bytes, alike, shared_inputs(edge.src, op)};
      if (weight <= most) continue;
      most = weight;
      best = edge.src;
    }
    return best;
  }

  /// Counts the inputs of all readers of `input` that `op` reads too.
  [[nodiscard]] int shared_inputs(OpId input, OpId op) const {
    int shared = 0;
    std::size_t readers = 0;
    for (const Edge& edge : graph_.out_edges(input)) {
      if (++readers > kMostLooked) break;
      std::size_t inputs = 0;
      for (const Edge& other : graph_.in_edges(edge.dst)) {
        if (++inputs > kMostLooked) break;
        shared += read_by_[at(other.src)] == op ? 1 : 0;
      }
    }
    return shared;
  }

  const Graph& graph_;
  std::shared_ptr<const Groups> finest_;
  const Groups& units_;
  std::vector<GroupId> chain_of_;  // by unit
  std::vector<bool> followed_;
  std::vector<OpId> read_by_;  // the last op that was looked at
  GroupId chains_ = 0;
};

}  // namespace

std::shared_ptr<const Groups> chains_of(const Problem& problem) {
  ChainFinder finder(problem);
  std::vector<GroupId> of = finder.run();
  if (finder.count() < problem.cluster().device_count()) return nullptr;
  if (finder.count() * kShortest > problem.finest_groups()->count()) return nullptr;
  return std::make_shared<const Groups>(problem.graph(), std::move(of));
}

}  // namespace berth::policies::auto_policy
