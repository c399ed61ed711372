// Lower bounds of a step's runtime from chains of dependent ops; heads.h says what heads and tails
// are, and proves them.
#include <algorithm>
#include <span>
#include <vector>

#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "proofs/bound_facts.h"
#include "proofs/heads.h"

namespace berth::bounds {
namespace {

class Paths {
 public:
  /// Keeps the references.
  Paths(const Facts& facts, const Heads& heads, const Heads& tails)
      : facts_(facts), heads_(heads), tails_(tails) {}

  /// Adds in the same order as a simulated step. Rounding is monotone, so without joins the bound
  /// never exceeds the optimum, and equals it if a single path decides.
  [[nodiscard]] double longest_head_us() const {
    return largest_of_least([&](OpId op, KindId kind) {
      return heads_.with_op_us(op, kind) + facts_.pause_us(op, kind);
    });
  }
  /// The largest head, work and tail of one op.
  [[nodiscard]] double longest_us() const {
    return rounded_down(largest_of_least([&](OpId op, KindId kind) {
      return heads_.with_op_us(op, kind) + tails_.head_us(op, kind);
    }));
  }
  /// Heads and tails are rounded separately, and joins add in another order than a step does: some
  /// hundred roundings per op of a path at most.
  [[nodiscard]] double rounded_down(double us) const {
    return us * (1 - 2e-14 * static_cast<double>(facts_.graph().op_count()));
  }

  struct Ends {
    double start;  ///< least time before the op starts
    double rest;   ///< least time after the op and its pause
    double work;   ///< least time that the op and its pause take
  };
  [[nodiscard]] Ends ends_us(OpId op) const {
    Ends ends{kCannotRun, kCannotRun, kCannotRun};
    for (KindId kind = 0; kind < facts_.kind_count(); ++kind) {
      const double op_us = facts_.op_us(op, kind);
      if (op_us == kCannotRun) continue;
      const double pause_us = facts_.pause_us(op, kind);
      ends.start = std::min(ends.start, heads_.head_us(op, kind));
      ends.rest = std::min(ends.rest, std::max(0.0, tails_.head_us(op, kind) - pause_us));
      ends.work = std::min(ends.work, op_us + pause_us);
    }
    return ends;
  }

  [[nodiscard]] double cut_us(const Edge& edge) const {
    return bounds::cut_us(facts_, heads_, tails_, edge);
  }

 private:
  /// Over all ops, the least of their kinds.
  template <typename Us>
  [[nodiscard]] double largest_of_least(const Us& us) const {
    double largest_us = 0;
    for (OpId op = 0; op < facts_.graph().op_count(); ++op) {
      double least_us = kCannotRun;
      for (KindId kind = 0; kind < facts_.kind_count(); ++kind) {
        least_us = std::min(least_us, us(op, kind));
      }
      largest_us = std::max(largest_us, least_us);
    }
    return largest_us;
  }

  const Facts& facts_;
  const Heads &heads_, &tails_;
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
  return paths.rounded_down(bound);
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
  double best_us(const std::vector<Op>& ops) {
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
  Bottleneck bottleneck(devices);
  double us = 0;
  for (std::vector<Bottleneck::Op>* ops : {&by_start, &by_rest}) {
    std::sort(ops->begin(), ops->end(),
              [](const auto& a, const auto& b) { return a.key_us > b.key_us; });
    us = std::max(us, bottleneck.best_us(*ops));
  }
  return paths.rounded_down(us);
}

/// Fans. Let J be ops that read one op v, v not among them, and let J run on m devices. On each of them
/// but v's the first of J waits for a tensor of v, which v's device sends for that device alone. Its
/// outgoing engine sends one after the other, so the i-th starts no earlier than start + i x, where v
/// has ended by `start` at the earliest and x is the least time of such a transfer. So
///   m T >= m start + x (0 + 1 + .. + m - 1) + work of J + the m smallest rests of J,
/// where m is not known. The same holds backwards, of ops that one op reads, whose device has one
/// incoming engine. Links that hold no such engine (parallel ones, and those with an engine of their own there)
/// have x = 0.
class Fans {
 public:
  Fans(const Facts& facts, const Paths& paths)
      : facts_(facts), devices_(facts.problem().cluster().device_count()) {
    for (OpId op = 0; op < facts.graph().op_count(); ++op) ends_.push_back(paths.ends_us(op));
  }

  /// `ends`: the heads of `v` where J reads it, the tails where it reads J.
  [[nodiscard]] double largest_us(const Heads& ends, Heads::Direction direction) {
    const bool forward = direction == Heads::Direction::forward;
    const Graph& graph = facts_.graph();
    double largest_us = 0;
    for (OpId v = 0; v < graph.op_count() && !facts_.stopped(); ++v) {
      const auto edges = forward ? graph.out_edges(v) : graph.in_edges(v);
      if (edges.size() < 3) continue;  // of two, joins know more
      gather(v, edges, forward);
      largest_us = std::max(largest_us, least_us(ends.least_with_op_us(v), forward));
    }
    return largest_us;
  }

 private:
  void gather(OpId v, std::span<const Edge> edges, bool forward) {
    others_.clear();
    transfer_us_ = kCannotRun;
    for (const Edge& edge : edges) {
      const OpId other = forward ? edge.dst : edge.src;
      if (edge.tensor == kNoTensor || facts_.classes().of(other) == facts_.classes().of(v))
        continue;
      others_.push_back(other);
      transfer_us_ = std::min(transfer_us_, engine_us(edge, forward));
    }
    std::sort(others_.begin(), others_.end());
    others_.erase(std::unique(others_.begin(), others_.end()), others_.end());
  }

  /// The least time that a transfer of the edge's tensor holds the only engine of v's device.
  [[nodiscard]] double engine_us(const Edge& edge, bool forward) const {
    double us = kCannotRun;
    for (KindId j = 0; j < facts_.kind_count(); ++j) {
      if (facts_.op_us(edge.src, j) == kCannotRun) continue;
      for (KindId k = 0; k < facts_.kind_count(); ++k) {
        if (facts_.op_us(edge.dst, k) == kCannotRun) continue;
        const Facts::Link link = facts_.link(j, k);
        if (link.bandwidth_bytes_per_s == 0) continue;
        const bool in_turn = forward ? link.sends_in_turn : link.queues;
        us = std::min(us, in_turn ? facts_.transfer_us(edge.tensor, j, k) : 0);
      }
    }
    return us;
  }

  /// Over the numbers of devices that the ops may use, which may be one where nothing can be sent.
  [[nodiscard]] double least_us(double start_us, bool forward) {
    rests_.clear();
    double sum_us = 0;
    for (const OpId op : others_) {
      const Paths::Ends& ends = ends_[at(op)];
      sum_us += ends.work;
      rests_.push_back(forward ? ends.rest : ends.start);
    }
    std::sort(rests_.begin(), rests_.end());
    double least = kCannotRun;
    for (std::size_t m = 1; m <= std::min(rests_.size(), at(devices_)); ++m) {
      const auto count = static_cast<double>(m);
      sum_us += rests_[m - 1] + (m == 1 ? 0 : (count - 1) * transfer_us_);
      least = std::min(least, start_us + sum_us / count);
    }
    return least == kCannotRun ? 0 : least;
  }

  const Facts& facts_;
  DeviceId devices_;
  std::vector<Paths::Ends> ends_;  // by op
  std::vector<OpId> others_;       // J
  std::vector<double> rests_;      // of J, the smallest first
  double transfer_us_ = 0;
};

double fan_us(const Facts& facts, const Paths& paths, const Heads& heads, const Heads& tails) {
  const bool engines = facts.problem().options().semantics == Semantics::dataflow;
  if (!engines || facts.kind_count() > Heads::kMaxKinds) return 0;
  Fans fans(facts, paths);
  return paths.rounded_down(std::max(fans.largest_us(heads, Heads::Direction::forward),
                                     fans.largest_us(tails, Heads::Direction::backward)));
}

}  // namespace

LowerBound backlog_bound(const Facts& facts, const Heads& heads, const Heads& tails) {
  return {Paths(facts, heads, tails).longest_us(), "critical path with joins and backlogs"};
}

void add_path_bounds(const Facts& facts, std::vector<LowerBound>& bounds) {
  if (facts.problem().options().objective != Objective::latency) return;
  const Known known(facts);
  const auto look = [&](Heads::Direction direction, Heads::Reasons reasons) {
    return Heads(facts, known, direction, reasons);
  };
  const Heads heads = look(Heads::Direction::forward, Heads::Reasons::paths);
  const Heads tails = look(Heads::Direction::backward, Heads::Reasons::paths);
  const Paths paths(facts, heads, tails);
  bounds.push_back({paths.longest_head_us(), "critical path"});
  if (facts.stopped()) return;
  bounds.push_back({bottleneck_us(facts, paths), "heads, work and tails"});
  if (facts.stopped()) return;
  const Heads joined_heads = look(Heads::Direction::forward, Heads::Reasons::paths_and_joins);
  const Heads joined_tails = look(Heads::Direction::backward, Heads::Reasons::paths_and_joins);
  const Paths joined(facts, joined_heads, joined_tails);
  bounds.push_back({joined.longest_us(), "critical path with joins"});
  if (facts.stopped()) return;
  bounds.push_back({bottleneck_us(facts, joined), "heads, work and tails with joins"});
  if (const double us = fan_us(facts, joined, joined_heads, joined_tails); us > 0) {
    bounds.push_back({us, "transfers of one op to or from many devices"});
  }
  if (facts.counts_parameters()) {
    if (const double us = forced_cut_us(facts, joined); us > 0) {
      bounds.push_back({us, "memory-forced transfer"});
    }
  }
}

}  // namespace berth::bounds
