// Coarsening of any groups (`balanced`: of the finest), with sizes kept even, in three phases, each
// only as far as it is needed:
//   1. contract the heaviest edge that creates no cycle (contraction.h);
//   2. merge neighbours in the resulting topological order, the cheapest pair first;
//   3. where device kinds or limits forbid what is left, order the groups so that those that
//      may merge are neighbours, and do 2 again.
#include "groups/coarsen.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "berth/error.h"
#include "berth/groups.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "groups/contraction.h"
#include "groups/costs_check.h"
#include "groups/merge_rules.h"

namespace berth {
namespace {

/// Edges that one search for another path may look at. From the finest groups long searches are
/// many and their edges seldom contractible: at 100,000 ops this bounds coarsening to a fraction of
/// a second. From coarse ones nearly every search can be completed.
constexpr std::int32_t kQuickSearch = 200;
constexpr std::int32_t kThoroughSearch = 4000;

/// A set of base groups on its way to become one group.
struct Part {
  double us = 0;           ///< on the fastest kind that can run it
  double param_bytes = 0;  ///< a double: sums of shared parameters may pass 2^63
  MergeRules::State may;
};

class Coarsening {
 public:
  Coarsening(const Graph& graph, const Costs& costs, const Groups& base, GroupId count,
             std::int32_t search_limit, const MergeLimits* limits)
      : base_(base),
        count_(count),
        search_limit_(search_limit),
        rules_(costs, limits),
        parts_(at(base.count())),
        part_of_(at(base.count())),
        left_(base.count()) {
    for (GroupId group = 0; group < base.count(); ++group) {
      parts_[at(group)] = measure(graph, costs, group);
      mean_.us += parts_[at(group)].us / count;
      mean_.param_bytes += parts_[at(group)].param_bytes / count;
    }
  }

  std::vector<GroupId> run(const Graph& graph) {
    std::vector<std::int32_t> order = contract_heavy_edges();
    merge_neighbours(order);
    if (left_ > count_) {
      order = order_by_rules(order);
      merge_neighbours(order);
    }
    std::vector<GroupId> group_of(at(graph.op_count()));
    for (OpId op = 0; op < graph.op_count(); ++op) group_of[at(op)] = part_of_.find(base_.of(op));
    return group_of;
  }

 private:
  Part measure(const Graph& graph, const Costs& costs, GroupId group) {
    Part part;
    part.may = rules_.of(base_.members(group));
    std::vector<double> us(at(costs.kind_count()), 0);
    for (const OpId op : base_.members(group)) {
      for (KindId kind = 0; kind < costs.kind_count(); ++kind) {
        us[at(kind)] += costs.op_us(op, kind);
      }
      part.param_bytes += static_cast<double>(graph.param_bytes(op));
    }
    const double fastest = *std::min_element(us.begin(), us.end());
    part.us = fastest == kCannotRun ? 0 : fastest;
    return part;
  }

  bool rules_allow(std::int32_t a, std::int32_t b) {
    return rules_.allow(parts_[at(a)].may, parts_[at(b)].may);
  }

  /// Not past twice the mean, in compute or in parameters; what adds nothing is always welcome.
  [[nodiscard]] bool size_allows(std::int32_t a, std::int32_t b) const {
    const Part& p = parts_[at(a)];
    const Part& q = parts_[at(b)];
    const auto fits = [](double x, double y, double mean) {
      return x == 0 || y == 0 || x + y <= 2 * mean;
    };
    return fits(p.us, q.us, mean_.us) && fits(p.param_bytes, q.param_bytes, mean_.param_bytes);
  }

  void absorb(std::int32_t survivor, std::int32_t absorbed) {
    Part& part = parts_[at(survivor)];
    const Part& other = parts_[at(absorbed)];
    part.us += other.us;
    part.param_bytes += other.param_bytes;
    part.may = rules_.join(part.may, other.may);
    part_of_.merge(absorbed, survivor);
    --left_;
  }

  /// Phase 1; the parts in topological order.
  std::vector<std::int32_t> contract_heavy_edges() {
    Contraction graph(base_, search_limit_);
    using Entry =
        std::pair<std::int64_t, Contraction::EdgeId>;  // (bytes, -edge): heavy, then early
    std::priority_queue<Entry> heaviest;
    for (Contraction::EdgeId e = 0; e < static_cast<Contraction::EdgeId>(graph.edges().size());
         ++e) {
      heaviest.emplace(graph.edges()[at(e)].bytes, -e);
    }
    std::vector<Contraction::EdgeId> grown;
    while (left_ > count_ && !heaviest.empty()) {
      const auto [bytes, negated] = heaviest.top();
      heaviest.pop();
      const Contraction::Edge edge = graph.edges()[at(-negated)];
      if (!edge.alive || edge.bytes != bytes) continue;
      if (!rules_allow(edge.src, edge.dst) || !size_allows(edge.src, edge.dst)) continue;
      grown.clear();
      const Contraction::Node survivor = graph.contract(-negated, grown);
      if (survivor < 0) continue;
      absorb(survivor, survivor == edge.src ? edge.dst : edge.src);
      for (const Contraction::EdgeId e : grown) heaviest.emplace(graph.edges()[at(e)].bytes, -e);
    }
    return graph.order();
  }

  /// Phase 2; leaves the surviving parts in `order`. Neighbours in a topological order have no
  /// third part between them, so merging them creates no cycle.
  void merge_neighbours(std::vector<std::int32_t>& order) {
    for (const bool keep_sizes : {true, false}) {
      if (left_ > count_) merge_neighbours(order, keep_sizes);
    }
  }

  void merge_neighbours(std::vector<std::int32_t>& order, bool keep_sizes) {
    const auto size = static_cast<std::int32_t>(order.size());
    std::vector<std::int32_t> previous(order.size());
    std::vector<std::int32_t> next(order.size());
    std::vector<std::int32_t> version(order.size(), 0);  // of the pair that starts here
    struct Pair {
      double us;
      std::int32_t first;  // index into order
      std::int32_t version;
      bool operator<(const Pair& other) const {
        return std::tie(us, first) > std::tie(other.us, other.first);
      }
    };
    std::priority_queue<Pair> cheapest;
    const auto consider = [&](std::int32_t first) {
      if (first < 0 || next[at(first)] >= size) return;
      const std::int32_t a = order[at(first)];
      const std::int32_t b = order[at(next[at(first)])];
      ++version[at(first)];
      if (!rules_allow(a, b) || (keep_sizes && !size_allows(a, b))) return;
      cheapest.push({parts_[at(a)].us + parts_[at(b)].us, first, version[at(first)]});
    };
    for (std::int32_t i = 0; i < size; ++i) {
      previous[at(i)] = i - 1;
      next[at(i)] = i + 1;
    }
    for (std::int32_t i = 0; i < size; ++i) consider(i);

    while (left_ > count_ && !cheapest.empty()) {
      const Pair pair = cheapest.top();
      cheapest.pop();
      if (pair.version != version[at(pair.first)]) continue;
      const std::int32_t second = next[at(pair.first)];
      absorb(order[at(pair.first)], order[at(second)]);
      ++version[at(second)];
      next[at(pair.first)] = next[at(second)];
      if (next[at(second)] < size) previous[at(next[at(second)])] = pair.first;
      consider(previous[at(pair.first)]);
      consider(pair.first);
    }
    std::vector<std::int32_t> kept;
    for (std::int32_t i = 0; i < size; i = next[at(i)]) kept.push_back(order[at(i)]);
    order = std::move(kept);
  }

  /// Another topological order of the parts: after each, one that may merge with the run so far
  /// where one is ready, else the earliest.
  std::vector<std::int32_t> order_by_rules(const std::vector<std::int32_t>& order) {
    std::vector<std::int32_t> rank(parts_.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i)
      rank[at(order[i])] = static_cast<std::int32_t>(i);
    std::set<std::pair<std::int32_t, std::int32_t>> edges;  // by rank
    for (GroupId group = 0; group < base_.count(); ++group) {
      for (const Groups::Edge& edge : base_.out_edges(group)) {
        const std::int32_t a = rank[at(part_of_.find(edge.src))];
        const std::int32_t b = rank[at(part_of_.find(edge.dst))];
        if (a != b) edges.emplace(std::min(a, b), std::max(a, b));
      }
    }
    std::vector<std::int32_t> waiting_for(order.size(), 0);
    for (const auto& [src, dst] : edges) ++waiting_for[at(dst)];
    std::map<MergeRules::State, std::set<std::int32_t>> ready;
    const auto make_ready = [&](std::int32_t r) { ready[parts_[at(order[at(r)])].may].insert(r); };
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(order.size()); ++r) {
      if (waiting_for[at(r)] == 0) make_ready(r);
    }
    std::vector<std::int32_t> result;
    MergeRules::State run;  // of all of the run so far together
    while (result.size() < order.size()) {
      std::int32_t next = -1;
      const auto earliest = [&](bool in_run) {
        for (const auto& [may, ranks] : ready) {
          if (ranks.empty() || (in_run && !rules_.allow(run, may))) continue;
          if (next < 0 || *ranks.begin() < next) next = *ranks.begin();
        }
      };
      if (!result.empty()) earliest(/*in_run=*/true);
      const bool same_run = next >= 0;
      if (!same_run) earliest(/*in_run=*/false);
      const MergeRules::State may = parts_[at(order[at(next)])].may;
      run = same_run ? rules_.join(run, may) : may;
      ready[may].erase(next);
      result.push_back(order[at(next)]);
      for (auto edge = edges.lower_bound({next, -1}); edge != edges.end() && edge->first == next;
           ++edge) {
        if (--waiting_for[at(edge->second)] == 0) make_ready(edge->second);
      }
    }
    return result;
  }

  const Groups& base_;
  GroupId count_;
  std::int32_t search_limit_;
  MergeRules rules_;
  std::vector<Part> parts_;  // by the base group that survives
  DisjointSets part_of_;     // of base groups
  Part mean_;
  GroupId left_;
};

void require_count(const Graph& graph, GroupId count) {
  if (count >= 1) return;
  throw Error(ErrorCode::invalid_argument, cat("cannot coarsen graph '", graph.name(), "' to ",
                                               count, " groups; ask for at least 1"));
}

}  // namespace

std::shared_ptr<const Groups> groups::coarsen_within(const Graph& graph, const Costs& costs,
                                                     GroupId count,
                                                     std::shared_ptr<const Groups> base,
                                                     const MergeLimits* limits) {
  require_count(graph, count);
  if (base->count() <= count) return base;
  require_costs_of(graph, costs);
  return std::make_shared<const Groups>(
      graph, Coarsening(graph, costs, *base, count, kQuickSearch, limits).run(graph));
}

std::shared_ptr<const Groups> coarsen(const Graph& graph, const Costs& costs, GroupId count) {
  return groups::coarsen_within(graph, costs, count, colocation_groups(graph), /*limits=*/nullptr);
}

std::shared_ptr<const Groups> placeto_groups(const Graph& graph, const Costs& costs,
                                             GroupId count) {
  require_count(graph, count);
  std::shared_ptr<const Groups> base = icml2017_groups(graph, costs);
  if (base->count() <= count) return base;
  return std::make_shared<const Groups>(
      graph,
      Coarsening(graph, costs, *base, count, kThoroughSearch, /*limits=*/nullptr).run(graph));
}

}  // namespace berth
