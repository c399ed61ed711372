#include <algorithm>
#include <map>
#include <set>
#include <tuple>
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
/// Classes of ops between two pieces that are to be joined.
constexpr std::int64_t kLongestWay = 64;

/// Ops on one device that hang together, with all that is co-located with them.
struct Piece {
  std::vector<OpId> ops;
  double us = 0;
  std::set<DeviceId> around;  ///< of its neighbours, without its own
};

class Simplifier {
 public:
  /// `slack_us`: what the limit leaves beside the best.
  Simplifier(Evaluator& evaluator, double limit_us, double slack_us, const PlaceContext& context)
      : evaluator_(evaluator),
        problem_(evaluator.problem()),
        classes_(problem_.finest_groups()),
        limit_us_(limit_us),
        slack_us_(slack_us),
        context_(context) {}

  /// Moves pieces, and what lies between two of one device, until no move makes it simpler.
  Placement run(Placement placement) {
    Simplicity now = simplicity_of(problem_.graph(), placement);
    for (bool changed = true; changed && now.cuts > 0;) {
      changed = pass(placement, now, &Simplifier::bridge);
      changed = pass(placement, now, &Simplifier::move) || changed;
      // Last, since what it takes of the distance is missing to fewer cuts.
      if (!changed) changed = shift_borders(placement, now);
    }
    return placement;
  }

 private:
  using Step = bool (Simplifier::*)(const Piece&, Placement&, Simplicity&);

  bool pass(Placement& placement, Simplicity& now, Step step) {
    bool changed = false;
    for (const Piece& piece : pieces_of(placement)) {
      if (tries_ >= kMostTries || context_.stopped()) return false;
      changed = (this->*step)(piece, placement, now) || changed;
    }
    return changed;
  }

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

  [[nodiscard]] double added_us(GroupId of_classes, DeviceId device,
                                const Placement& placement) const {
    double us = 0;
    for (const OpId op : classes_->members(of_classes)) {
      const double there = problem_.cost_us(op, device);
      if (there == kCannotRun) return kCannotRun;
      us += std::max(0.0, there - problem_.cost_us(op, placement[at(op)]));
    }
    return us;
  }

  /// The ops between the piece and the next one on its device, by the way that costs it the least time:
  /// experts of one layer hang together by what routes between them. Empty where there is no way.
  [[nodiscard]] std::vector<OpId> way_to_next(const Piece& piece,
                                              const Placement& placement) const {
    const Graph& graph = problem_.graph();
    const DeviceId device = placement[at(piece.ops.front())];
    constexpr GroupId kNone = -1;
    std::vector<bool> own(at(classes_->count()), false);
    std::map<GroupId, GroupId> came_from;
    std::set<std::tuple<double, std::int64_t, GroupId>> open;  // time, classes on the way, class
    std::map<GroupId, std::pair<double, std::int64_t>> reached;
    for (const OpId op : piece.ops) own[at(classes_->of(op))] = true;
    GroupId met = kNone;
    const auto look_around = [&](GroupId of_classes, double us, std::int64_t length) {
      const auto look = [&](OpId other) {
        const GroupId next = classes_->of(other);
        if (met != kNone || next == of_classes || own[at(next)]) return;
        if (placement[at(other)] == device) {
          if (length > 0) met = of_classes;
          return;
        }
        const double more = added_us(next, device, placement);
        if (us + more > slack_us_) return;
        const std::pair found(us + more, length + 1);
        const auto known = reached.find(next);
        if (known != reached.end() && known->second <= found) return;
        if (known != reached.end()) open.erase({known->second.first, known->second.second, next});
        reached[next] = found;
        came_from[next] = of_classes;
        open.emplace(found.first, found.second, next);
      };
      for (const OpId op : classes_->members(of_classes)) {
        for (const Edge& edge : graph.out_edges(op)) {
          if (edge.tensor != kNoTensor) look(edge.dst);
        }
        for (const Edge& edge : graph.in_edges(op)) {
          if (edge.tensor != kNoTensor) look(edge.src);
        }
      }
    };
    for (GroupId each = 0; each < classes_->count(); ++each) {
      if (own[at(each)]) look_around(each, 0, 0);
    }
    while (met == kNone && !open.empty()) {
      const auto [us, length, next] = *open.begin();
      open.erase(open.begin());
      if (length > kLongestWay) continue;
      look_around(next, us, length);
    }
    std::vector<OpId> ops;
    for (GroupId each = met; each != kNone && !own[at(each)]; each = came_from.at(each)) {
      const auto members = classes_->members(each);
      ops.insert(ops.end(), members.begin(), members.end());
    }
    return ops;
  }

  /// Joins the piece with the next one on its device, where that makes it simpler.
  bool bridge(const Piece& piece, Placement& placement, Simplicity& now) {
    const std::vector<OpId> between = way_to_next(piece, placement);
    if (between.empty()) return false;
    return take(between, placement[at(piece.ops.front())], placement, now);
  }

  /// The ops go there, where that makes it simpler and fits.
  bool take(std::span<const OpId> ops, DeviceId device, Placement& placement, Simplicity& now) {
    Placement next = placement;
    for (const OpId op : ops) next[at(op)] = device;
    const Simplicity its = simplicity_of(problem_.graph(), next);
    if (!(its < now)) return false;
    ++tries_;
    const Evaluation evaluation = evaluator_.evaluate(next);
    if (!evaluation.feasible || evaluation.objective_us > limit_us_) return false;
    placement = std::move(next);
    now = its;
    return true;
  }

  /// Single classes at a border go over where less crosses then: what was joined took no more with it
  /// than had to be.
  bool shift_borders(Placement& placement, Simplicity& now) {
    const Graph& graph = problem_.graph();
    bool changed = false;
    for (GroupId each = 0; each < classes_->count(); ++each) {
      if (tries_ >= kMostTries || context_.stopped()) return false;
      const auto members = classes_->members(each);
      const DeviceId own = placement[at(members.front())];
      std::set<DeviceId> around;
      for (const OpId op : members) {
        for (const Edge& edge : graph.in_edges(op)) {
          if (edge.tensor != kNoTensor) around.insert(placement[at(edge.src)]);
        }
        for (const Edge& edge : graph.out_edges(op)) {
          if (edge.tensor != kNoTensor) around.insert(placement[at(edge.dst)]);
        }
      }
      around.erase(own);
      for (const DeviceId device : around) {
        if (added_us(each, device, placement) > slack_us_) continue;
        if (!take(members, device, placement, now)) continue;
        changed = true;
        break;
      }
    }
    return changed;
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
  double slack_us_;
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
    Placement placement =
        Simplifier(evaluator, limit_us, limit_us - best->objective_us, context).run(candidates[i]);
    const Simplicity its = simplicity_of(evaluator.problem().graph(), placement);
    if (its < least) {
      least = its;
      simplest = std::move(placement);
    }
  }
  return simplest;
}

}  // namespace berth
