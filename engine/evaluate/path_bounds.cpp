// Lower bounds of a step's runtime from chains of dependent ops.
//
// head(v, k): no op v on a device of kind k ends before it. With op(v, k) the op's own duration,
//   head(v, k) = op(v, k) + max over edges u -> v of min over kinds j of
//                                                  head(u, j) + gap(u -> v, j, k)
// where gap is the least time between u's end and v's start: on one device (j = k) the device's
// pause after u (placeto; 0 in dataflow), on two the fastest transfer of the edge's tensor between
// the kinds. Proof by induction along the graph's order: v starts once every u is done and its
// tensor is there; whatever kind u is on, the minimum is no more than that. Queues, busy links and
// shared channels only delay further. A class of co-located ops may be counted on different kinds
// by different paths, which only lowers the bound.
//
// tail(v, k), the least time from v's start to the end of the step, is the same backwards; at the
// end of a path the device's pause after the last op still counts (placeto: the runtime is the time
// of the last event, pauses included).
#include <algorithm>

#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "evaluate/bound_facts.h"

namespace berth::bounds {
namespace {

/// The recurrences cost edges x kinds^2; beyond this many kinds transfers count as free, which is
/// weaker.
constexpr KindId kMaxKindsWithTransfers = 16;

class Paths {
 public:
  explicit Paths(const Facts& facts)
      : facts_(facts),
        kinds_(facts.kind_count()),
        with_transfers_(kinds_ <= kMaxKindsWithTransfers),
        head_(at(facts.graph().op_count()) * at(kinds_)) {
    for (const OpId op : facts.graph().topological_order()) compute_head(op);
  }

  /// Needed before cut_us and ends_us.
  void compute_tails() {
    tail_.resize(head_.size());
    const auto order = facts_.graph().topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) compute_tail(*op);
  }

  /// Adds in the same order as a simulated step. Rounding is monotone, so the bound never exceeds
  /// the optimum, and equals it if a single path decides.
  [[nodiscard]] double critical_path_us() const {
    double longest = 0;
    for (OpId op = 0; op < facts_.graph().op_count(); ++op) {
      double end = kCannotRun;
      for (KindId kind = 0; kind < kinds_; ++kind) {
        end = std::min(end, head(op, kind) + facts_.pause_us(op, kind));
      }
      longest = std::max(longest, end);
    }
    return longest;
  }

  struct Ends {
    double start;  ///< least time before the op starts
    double rest;   ///< least time after the op and its pause
    double work;   ///< least time that the op and its pause take
  };
  [[nodiscard]] Ends ends_us(OpId op) const {
    Ends ends{kCannotRun, kCannotRun, kCannotRun};
    for (KindId kind = 0; kind < kinds_; ++kind) {
      const double op_us = facts_.op_us(op, kind);
      if (op_us == kCannotRun) continue;
      const double work_us = op_us + facts_.pause_us(op, kind);
      ends.start = std::min(ends.start, std::max(0.0, head(op, kind) - op_us));
      ends.rest = std::min(ends.rest, std::max(0.0, tail(op, kind) - work_us));
      ends.work = std::min(ends.work, work_us);
    }
    return ends;
  }

  /// The least runtime of a step in which the ends of `edge` are on different devices.
  [[nodiscard]] double cut_us(const Edge& edge) const {
    if (!with_transfers_) return least(head_, edge.src) + least(tail_, edge.dst);
    double best = kCannotRun;
    for (KindId j = 0; j < kinds_; ++j) {
      for (KindId k = 0; k < kinds_; ++k) {
        best = std::min(
            best, head(edge.src, j) + facts_.transfer_us(edge.tensor, j, k) + tail(edge.dst, k));
      }
    }
    return best;
  }

 private:
  [[nodiscard]] double least(const std::vector<double>& rows, OpId op) const {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(at(op) * at(kinds_));
    return *std::min_element(row, row + kinds_);
  }
  [[nodiscard]] double head(OpId op, KindId kind) const {
    return head_[at(op) * at(kinds_) + at(kind)];
  }
  [[nodiscard]] double tail(OpId op, KindId kind) const {
    return tail_[at(op) * at(kinds_) + at(kind)];
  }

  [[nodiscard]] double gap_us(const Edge& edge, KindId src, KindId dst) const {
    const double apart = facts_.transfer_us(edge.tensor, src, dst);
    return src == dst ? std::min(apart, facts_.pause_us(edge.src, src)) : apart;
  }

  /// Earliest start of edge.dst on `kind` as far as this edge is concerned.
  [[nodiscard]] double ready_us(const Edge& edge, KindId kind) const {
    if (!with_transfers_) return least(head_, edge.src);
    double ready = kCannotRun;
    for (KindId other = 0; other < kinds_; ++other) {
      ready = std::min(ready, head(edge.src, other) + gap_us(edge, other, kind));
    }
    return ready;
  }
  /// Least time from the end of edge.src on `kind` to the end of the step through this edge.
  [[nodiscard]] double rest_us(const Edge& edge, KindId kind) const {
    if (!with_transfers_) return least(tail_, edge.dst);
    double rest = kCannotRun;
    for (KindId other = 0; other < kinds_; ++other) {
      rest = std::min(rest, tail(edge.dst, other) + gap_us(edge, kind, other));
    }
    return rest;
  }

  void compute_head(OpId op) {
    for (KindId kind = 0; kind < kinds_; ++kind) {
      double start = 0;
      for (const Edge& edge : facts_.graph().in_edges(op)) {
        start = std::max(start, ready_us(edge, kind));
      }
      head_[at(op) * at(kinds_) + at(kind)] = start + facts_.op_us(op, kind);
    }
  }

  void compute_tail(OpId op) {
    for (KindId kind = 0; kind < kinds_; ++kind) {
      double rest = facts_.pause_us(op, kind);
      for (const Edge& edge : facts_.graph().out_edges(op)) {
        rest = std::max(rest, rest_us(edge, kind));
      }
      tail_[at(op) * at(kinds_) + at(kind)] = facts_.op_us(op, kind) + rest;
    }
  }

  const Facts& facts_;
  KindId kinds_;
  bool with_transfers_;
  std::vector<double> head_;  // op-major
  std::vector<double> tail_;
};

/// Connected parts of the graph, edges taken without direction and co-location classes as one.
DisjointSets components_of(const Groups& classes) {
  DisjointSets components(at(classes.count()));
  for (GroupId group = 0; group < classes.count(); ++group) {
    for (const Groups::Edge& edge : classes.out_edges(group)) components.merge(edge.src, edge.dst);
  }
  return components;
}

/// Memory-forced transfer. If the parameters of one connected component exceed the memory of every
/// device, a feasible placement has the component on two devices or more. So it cuts at least one
/// edge between different co-location classes of the component, and cut_us of the cheapest such
/// edge is a bound.
double forced_cut_us(const Facts& facts, const Paths& paths) {
  const Graph& graph = facts.graph();
  const DeviceId devices = facts.problem().cluster().device_count();
  double largest_memory = 0;
  for (DeviceId d = 0; d < devices; ++d) {
    const std::int64_t memory = facts.problem().memory_bytes(d);
    if (memory == kNoLimit) return 0;
    largest_memory = std::max(largest_memory, static_cast<double>(memory));
  }
  if (static_cast<double>(graph.total_param_bytes()) <= largest_memory) return 0;

  DisjointSets components = components_of(facts.classes());
  std::vector<double> bytes(at(facts.classes().count()), 0);
  const auto component_of = [&](OpId op) { return components.find(facts.classes().of(op)); };
  for (OpId op = 0; op < graph.op_count(); ++op) {
    bytes[at(component_of(op))] += static_cast<double>(graph.own_param_bytes(op));
  }
  for (const Graph::SharedParameter& shared : graph.shared_parameters()) {
    std::vector<GroupId> readers;
    for (const OpId op : shared.consumers) readers.push_back(component_of(op));
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const GroupId reader : readers) bytes[at(reader)] += static_cast<double>(shared.bytes);
  }
  // The sums are rounded: a component has to be larger by more than that.
  const double limit = largest_memory * (1 + 1e-9);
  std::vector<double> cheapest(bytes.size(), kCannotRun);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (bytes[at(component_of(op))] <= limit) continue;
    double& least = cheapest[at(component_of(op))];
    for (const Edge& edge : graph.out_edges(op)) {
      if (facts.classes().of(edge.dst) == facts.classes().of(op)) continue;
      least = std::min(least, paths.cut_us(edge));
    }
  }
  double bound = 0;
  for (const double us : cheapest) {
    // Infinity: nothing can be cut, so there is no feasible placement; no bound to speak of.
    if (us < kCannotRun) bound = std::max(bound, us);
  }
  return bound * (1 - 1e-12);  // head and tail are rounded separately
}

/// Heads, work and tails. Let J be any set of ops, start(v) the least time before v starts, rest(v)
/// the least time from the end of v, with its device's pause, to the end of the step (0 or more),
/// both over all kinds, and W the least time that J keeps devices busy. If J runs on m devices then
///   m T >= sum over them of (start of its first op + its work + rest of its last op)
///       >= the m smallest starts of J + W + the m smallest rests of J,
/// for the first ops are distinct, and so are the last. m is not known: the least over all counts.
/// J: the ops that start no earlier than some time, for all such times, or the same with rests.
class Bottleneck {
 public:
  explicit Bottleneck(DeviceId devices) : smallest_(at(devices), kCannotRun) {}

  struct Op {
    double key_us;    ///< J grows towards smaller ones
    double other_us;  ///< of the two ends, the one that is not the key
    double work_us;
  };
  /// `ops` is sorted by key, the largest first.
  double bound_us(const std::vector<Op>& ops) {
    std::fill(smallest_.begin(), smallest_.end(), kCannotRun);
    double best_us = 0;
    double work_us = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      work_us += ops[i].work_us;
      insert(ops[i].other_us);
      if (i + 1 < ops.size() && ops[i + 1].key_us == ops[i].key_us) continue;
      best_us = std::max(best_us, least_us(ops, i + 1, work_us));
    }
    return best_us;
  }

 private:
  void insert(double us) {
    if (us >= smallest_.back()) return;
    std::size_t place = smallest_.size() - 1;
    for (; place > 0 && smallest_[place - 1] > us; --place) smallest_[place] = smallest_[place - 1];
    smallest_[place] = us;
  }
  /// Over the numbers of devices that the first `count` ops may use.
  [[nodiscard]] double least_us(const std::vector<Op>& ops, std::size_t count,
                                double work_us) const {
    double least = kCannotRun;
    double ends_us = 0;
    for (std::size_t m = 1; m <= std::min(count, smallest_.size()); ++m) {
      ends_us += ops[count - m].key_us + smallest_[m - 1];
      least = std::min(least, (ends_us + work_us) / static_cast<double>(m));
    }
    return least;
  }

  std::vector<double> smallest_;  ///< other_us of J
};

double bottleneck_us(const Facts& facts, const Paths& paths) {
  constexpr DeviceId kMostDevices = 64;
  const DeviceId devices = facts.problem().cluster().device_count();
  if (devices > kMostDevices) return 0;
  std::vector<Bottleneck::Op> by_start, by_rest;
  for (OpId op = 0; op < facts.graph().op_count(); ++op) {
    const Paths::Ends ends = paths.ends_us(op);
    by_start.push_back({ends.start, ends.rest, ends.work});
    by_rest.push_back({ends.rest, ends.start, ends.work});
  }
  double best_us = 0;
  Bottleneck bottleneck(devices);
  for (std::vector<Bottleneck::Op>* ops : {&by_start, &by_rest}) {
    std::sort(ops->begin(), ops->end(),
              [](const auto& a, const auto& b) { return a.key_us > b.key_us; });
    best_us = std::max(best_us, bottleneck.bound_us(*ops));
  }
  return best_us * (1 - 1e-10);  // long sums, each rounded
}

}  // namespace

void add_path_bounds(const Facts& facts, std::vector<LowerBound>& bounds) {
  if (facts.problem().options().objective != Objective::latency) return;
  Paths paths(facts);
  bounds.push_back({paths.critical_path_us(), "critical path"});
  paths.compute_tails();
  bounds.push_back({bottleneck_us(facts, paths), "heads, work and tails"});
  if (facts.counts_parameters()) {
    if (const double us = forced_cut_us(facts, paths); us > 0) {
      bounds.push_back({us, "memory-forced transfer"});
    }
  }
}

}  // namespace berth::bounds
