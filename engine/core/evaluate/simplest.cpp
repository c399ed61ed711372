#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/simplicity.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"

namespace berth {
namespace {

/// Evaluations for one candidate: each is a step's simulation.
constexpr std::int64_t kMostTries = 4000;

/// Ops on one device that hang together, with all that is co-located with them.
struct Piece {
  std::vector<OpId> ops;
  double us = 0;
  std::set<DeviceId> around;  ///< of its neighbours, without its own
};

class Simplifier {
 public:
  Simplifier(Evaluator& evaluator, double limit_us, const PlaceContext& context)
      : evaluator_(evaluator),
        problem_(evaluator.problem()),
        classes_(problem_.finest_groups()),
        limit_us_(limit_us),
        context_(context) {}

  /// Moves pieces until no move makes it simpler.
  Placement run(Placement placement) {
    Simplicity now = simplicity_of(problem_.graph(), placement);
    for (bool changed = true; changed && now.cuts > 0;) {
      changed = false;
      for (const Piece& piece : pieces_of(placement)) {
        if (tries_ >= kMostTries || context_.stopped()) return placement;
        changed = move(piece, placement, now) || changed;
      }
    }
    return placement;
  }

 private:
  /// The smallest first.
  [[nodiscard]] std::vector<Piece> pieces_of(const Placement& placement) const {
    const Graph& graph = problem_.graph();
    DisjointSets sets(at(graph.op_count()));
    for (GroupId each = 0; each < classes_->count(); ++each) {
      const auto members = classes_->members(each);
      for (const OpId op : members) sets.merge_to_smallest(members.front(), op);
    }
    for (OpId op = 0; op < graph.op_count(); ++op) {
      for (const Edge& edge : graph.out_edges(op)) {
        if (edge.tensor == kNoTensor || placement[at(op)] != placement[at(edge.dst)]) continue;
        sets.merge_to_smallest(op, edge.dst);
      }
    }
    std::map<std::int32_t, Piece> by_name;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      Piece& piece = by_name[sets.find(op)];
      piece.ops.push_back(op);
      piece.us += problem_.cost_us(op, placement[at(op)]);
      for (const Edge& edge : graph.out_edges(op)) {
        if (edge.tensor == kNoTensor || placement[at(op)] == placement[at(edge.dst)]) continue;
        piece.around.insert(placement[at(edge.dst)]);
        by_name[sets.find(edge.dst)].around.insert(placement[at(op)]);
      }
    }
    std::vector<Piece> pieces;
    for (auto& [name, piece] : by_name) {
      piece.around.erase(placement[at(piece.ops.front())]);
      if (!piece.around.empty()) pieces.push_back(std::move(piece));
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.us < b.us; });
    return pieces;
  }

  [[nodiscard]] bool can_run(const Piece& piece, DeviceId device) const {
    return std::all_of(piece.ops.begin(), piece.ops.end(),
                       [&](OpId op) { return problem_.cost_us(op, device) < kCannotRun; });
  }

  /// To the neighbour where the result is the simplest of those within the limit.
  bool move(const Piece& piece, Placement& placement, Simplicity& now) {
    std::vector<std::pair<Simplicity, Placement>> moved;
    for (const DeviceId device : piece.around) {
      if (!can_run(piece, device)) continue;
      Placement next = placement;
      for (const OpId op : piece.ops) next[at(op)] = device;
      const Simplicity its = simplicity_of(problem_.graph(), next);
      if (its < now) moved.emplace_back(its, std::move(next));
    }
    std::stable_sort(moved.begin(), moved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [its, next] : moved) {
      ++tries_;
      const Evaluation evaluation = evaluator_.evaluate(next);
      if (!evaluation.feasible || evaluation.objective_us > limit_us_) continue;
      placement = std::move(next);
      now = its;
      return true;
    }
    return false;
  }

  Evaluator& evaluator_;
  const Problem& problem_;
  std::shared_ptr<const Groups> classes_;
  double limit_us_;
  const PlaceContext& context_;
  std::int64_t tries_ = 0;
};

}  // namespace

Placement simplest_within(Evaluator& evaluator, std::span<const Placement> candidates,
                          double within, const PlaceContext& context) {
  if (candidates.empty() || !(within >= 0)) {
    throw Error(ErrorCode::invalid_argument,
                "the simplest placement is one of several, at a distance of 0 or more");
  }
  std::vector<Evaluation> evaluations(candidates.size());
  evaluator.evaluate(candidates, evaluations);
  const auto best =
      std::min_element(evaluations.begin(), evaluations.end(),
                       [](const Evaluation& a, const Evaluation& b) { return better(a, b); });
  const auto first = at(best - evaluations.begin());
  if (!best->feasible) return candidates[first];
  const double limit_us = best->objective_us * (1 + within);
  Placement simplest = candidates[first];
  Simplicity least = simplicity_of(evaluator.problem().graph(), simplest);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!evaluations[i].feasible || evaluations[i].objective_us > limit_us) continue;
    Placement placement = Simplifier(evaluator, limit_us, context).run(candidates[i]);
    const Simplicity its = simplicity_of(evaluator.problem().graph(), placement);
    if (its < least) {
      least = its;
      simplest = std::move(placement);
    }
  }
  return simplest;
}

}  // namespace berth
