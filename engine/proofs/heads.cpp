#include "proofs/heads.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "berth/support/one_machine.h"
#include "proofs/backlogs.h"

namespace berth::bounds {
namespace {

/// Ops of M that a test looks at. From 16 on, bounds of training graphs hardly change.
constexpr std::size_t kMostTogether = 48;
/// Values of t that are tried for one op and kind. Most need one or two.
constexpr int kMostTests = 32;
/// Slack for summing the work of a join in another order.
constexpr double kRoundedDown = 1 - 4e-14;
/// Edges looked at in all tests of one direction: about a second.
constexpr std::int64_t kMostWorkOfPaths = 30'000'000;
/// A head is raised by a backlog where that is so much later: a proof has fewer steps.
constexpr double kWorthRaising = 1.0001;

}  // namespace

Known::Known(const Facts& facts) {
  for (OpId op = 0; op < facts.graph().op_count(); ++op) {
    for (KindId kind = 0; kind < facts.kind_count(); ++kind) op_us.push_back(facts.op_us(op, kind));
    class_of.push_back(facts.classes().of(op));
  }
}

/// Computes heads, with what only that needs.
class HeadFinder {
 public:
  HeadFinder(const Facts& facts, const Known& known, Heads::Direction direction,
             std::span<const double> least, Heads& out);

  void run(Heads::Reasons reasons);

 private:
  [[nodiscard]] std::size_t cell(OpId op, KindId kind) const noexcept {
    return at(op) * at(kinds_) + at(kind);
  }
  [[nodiscard]] std::span<const Edge> edges_before(OpId op) const noexcept {
    return forward_ ? facts_.graph().in_edges(op) : facts_.graph().out_edges(op);
  }
  [[nodiscard]] OpId before(const Edge& edge) const noexcept {
    return forward_ ? edge.src : edge.dst;
  }
  [[nodiscard]] std::span<const Edge> edges_after(OpId op) const noexcept {
    return forward_ ? facts_.graph().out_edges(op) : facts_.graph().in_edges(op);
  }
  [[nodiscard]] OpId after(const Edge& edge) const noexcept {
    return forward_ ? edge.dst : edge.src;
  }
  [[nodiscard]] double& arrival(OpId op, std::size_t edge, KindId kind) noexcept {
    return arrival_[(at(first_edge_[at(op)]) + edge) * at(kinds_) + at(kind)];
  }

  void compute_by_time();
  void compute(OpId op, bool joins);
  void raise(const Backlog& backlog);
  [[nodiscard]] double least_head_us(OpId op) const noexcept;
  [[nodiscard]] double path_us(OpId op, KindId kind);
  [[nodiscard]] bool is_join(OpId op) const noexcept;
  [[nodiscard]] double join_us(OpId op, KindId kind, double from_us);
  /// The refutation of one t.
  struct Verdict {
    double machine_us;  ///< v does not start before
    double valid_us;    ///< for every t below this
  };
  [[nodiscard]] Verdict test(OpId op, KindId kind, double t_us);
  void look_before(OpId op, KindId kind, double far_us, double near_us, double t_us);

  const Facts& facts_;
  const Known& known_;
  const bool forward_;
  const KindId kinds_;
  const std::span<const double> least_;  // by op; or empty
  Heads& out_;
  std::vector<double> pause_us_;  // op-major
  // The arrival of a tensor from another device, by edge in the order of edges_before, then by kind
  // of the later op's device.
  std::vector<double> arrival_;
  std::vector<std::int64_t> first_edge_;  // by op
  std::vector<std::int32_t> position_;    // by op: along the direction

  // One test.
  struct Look {
    std::int64_t test;  // the last that looked at the op
    double near_us;     // time to go once the op is done, if it is on the device
    bool together;      // whether it is in M
  };
  std::vector<Look> looks_;  // by op
  std::priority_queue<std::pair<std::int32_t, OpId>> open_;
  std::vector<MachineJob> jobs_;
  std::int64_t tests_ = 0;
  GroupId home_ = kNoGroup;
  double valid_us_ = 0;
};

HeadFinder::HeadFinder(const Facts& facts, const Known& known, Heads::Direction direction,
                       std::span<const double> least, Heads& out)
    : facts_(facts),
      known_(known),
      forward_(direction == Heads::Direction::forward),
      kinds_(facts.kind_count()),
      least_(least),
      out_(out) {
  const OpId ops = facts.graph().op_count();
  first_edge_.assign(at(ops) + 1, 0);
  for (OpId op = 0; op < ops; ++op) {
    first_edge_[at(op) + 1] =
        first_edge_[at(op)] + static_cast<std::int64_t>(edges_before(op).size());
    for (KindId kind = 0; kind < kinds_; ++kind) {
      pause_us_.push_back(facts.pause_us(op, kind));
    }
  }
  arrival_.resize(at(first_edge_.back()) * at(kinds_));
}

void HeadFinder::run(Heads::Reasons reasons) {
  const bool joins = reasons != Heads::Reasons::paths && kinds_ <= Heads::kMaxKinds;
  std::vector<OpId> order(facts_.graph().topological_order().begin(),
                          facts_.graph().topological_order().end());
  if (!forward_) std::reverse(order.begin(), order.end());
  if (joins) {
    position_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      position_[at(order[i])] = static_cast<std::int32_t>(i);
    }
    looks_.resize(order.size(), {0, 0, false});
  }
  if (joins && reasons == Heads::Reasons::all) {
    compute_by_time();
  } else {
    for (const OpId op : order) compute(op, joins && is_join(op));
  }
}

/// In the order of heads, as backlogs want it.
void HeadFinder::compute_by_time() {
  Backlogs backlogs(facts_, known_, forward_);
  const OpId ops = facts_.graph().op_count();
  std::vector<std::int32_t> waiting(at(ops));
  using Ready = std::pair<double, OpId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto find_head = [&](OpId op) {
    const bool joins = is_join(op);
    compute(op, joins);
    if (joins) raise(backlogs.before(op));
    ready.emplace(least_head_us(op), op);
  };
  for (OpId op = 0; op < ops; ++op) {
    waiting[at(op)] = static_cast<std::int32_t>(edges_before(op).size());
    if (waiting[at(op)] == 0) find_head(op);
  }
  while (!ready.empty()) {
    const auto [head_us, op] = ready.top();
    ready.pop();
    backlogs.add(op, head_us);
    for (const Edge& edge : edges_after(op)) {
      if (--waiting[at(after(edge))] == 0) find_head(after(edge));
    }
  }
}

double HeadFinder::least_head_us(OpId op) const noexcept {
  const auto row = out_.head_.begin() + static_cast<std::ptrdiff_t>(cell(op, 0));
  return *std::min_element(row, row + kinds_);
}

void HeadFinder::raise(const Backlog& backlog) {
  if (backlog.us <= kWorthRaising * least_head_us(backlog.op)) return;
  out_.backlogs_.push_back(backlog);
  for (KindId kind = 0; kind < kinds_; ++kind) {
    double& head_us = out_.head_[cell(backlog.op, kind)];
    head_us = std::max(head_us, backlog.us);
    out_.with_op_[cell(backlog.op, kind)] = head_us + known_.op_us[cell(backlog.op, kind)];
  }
}

void HeadFinder::compute(OpId op, bool joins) {
  for (KindId kind = 0; kind < kinds_; ++kind) {
    double head_us = path_us(op, kind);
    const double op_us = known_.op_us[cell(op, kind)];
    if (joins && op_us < kCannotRun && head_us < kCannotRun) {
      const double joined_us = join_us(op, kind, head_us);
      if (joined_us > head_us) out_.raised_.push_back({op, kind, joined_us});
      head_us = joined_us;
    }
    if (!least_.empty()) head_us = std::max(head_us, least_[at(op)]);
    out_.head_[cell(op, kind)] = head_us;
    out_.with_op_[cell(op, kind)] = head_us + op_us;
  }
}

double HeadFinder::path_us(OpId op, KindId kind) {
  double head_us = forward_ ? 0 : pause_us_[cell(op, kind)];
  const std::span<const Edge> edges = edges_before(op);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const OpId other = before(edges[i]);
    double& there_us = arrival(op, i, kind);
    if (kinds_ > Heads::kMaxKinds) {
      there_us = out_.least_with_op_us(other);
      head_us = std::max(head_us, there_us);
      continue;
    }
    there_us = kCannotRun;
    const bool together = known_.class_of[at(other)] == known_.class_of[at(op)];
    for (KindId far = 0; far < kinds_ && !together; ++far) {
      const double transfer_us = forward_ ? facts_.transfer_us(edges[i].tensor, far, kind)
                                          : facts_.transfer_us(edges[i].tensor, kind, far);
      there_us = std::min(there_us, out_.with_op_us(other, far) + transfer_us);
    }
    const double pause_us = pause_us_[cell(forward_ ? other : op, kind)];
    head_us = std::max(head_us, std::min(there_us, out_.with_op_us(other, kind) + pause_us));
  }
  return head_us;
}

bool HeadFinder::is_join(OpId op) const noexcept {
  const std::span<const Edge> edges = edges_before(op);
  return std::any_of(edges.begin(), edges.end(),
                     [&](const Edge& edge) { return before(edge) != before(edges.front()); });
}

double HeadFinder::join_us(OpId op, KindId kind, double from_us) {
  double t_us = from_us;
  if (facts_.stopped()) return t_us;
  for (int i = 0; i < kMostTests && out_.work_ < kMostWorkOfPaths; ++i) {
    const Verdict verdict = test(op, kind, t_us);
    const double refuted_us = std::min(verdict.machine_us * kRoundedDown, verdict.valid_us);
    if (refuted_us <= t_us) break;
    t_us = refuted_us;
    if (t_us == kCannotRun) break;  // with this op, nothing can run
  }
  return t_us;
}

HeadFinder::Verdict HeadFinder::test(OpId op, KindId kind, double t_us) {
  ++tests_;
  jobs_.clear();
  open_ = {};
  valid_us_ = kCannotRun;
  home_ = known_.class_of[at(op)];
  look_before(op, kind, 0, forward_ ? 0 : pause_us_[cell(op, kind)], t_us);
  while (!open_.empty() && jobs_.size() < kMostTogether) {
    const OpId other = open_.top().second;
    open_.pop();
    const double op_us = known_.op_us[cell(other, kind)];
    if (op_us == kCannotRun) return {kCannotRun, valid_us_};
    // The pause after an op belongs to what the device does; backwards it comes before the op.
    const double pause_us = pause_us_[cell(other, kind)];
    const double near_us = looks_[at(other)].near_us;
    const double head_us = out_.head_[cell(other, kind)];
    jobs_.push_back({forward_ ? head_us : head_us - pause_us, op_us + pause_us, near_us});
    const double busy_us = near_us + op_us + pause_us;
    look_before(other, kind, forward_ ? busy_us : near_us + op_us, busy_us, t_us);
  }
  return {one_machine_us(jobs_), valid_us_};
}

/// Puts into M what must be on the device of `op`. `far_us`: from the arrival of a tensor at `op`
/// to the goal; `near_us`: from the end of an op on the same device, its pause included.
void HeadFinder::look_before(OpId op, KindId kind, double far_us, double near_us, double t_us) {
  const std::span<const Edge> edges = edges_before(op);
  out_.work_ += static_cast<std::int64_t>(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const OpId other = before(edges[i]);
    Look& look = looks_[at(other)];
    if (look.test != tests_) look = {tests_, 0, false};
    look.near_us = std::max(look.near_us, near_us);
    const double reach_us = arrival(op, i, kind) + far_us;
    const bool too_far = reach_us > t_us;
    if (too_far) valid_us_ = std::min(valid_us_, reach_us);
    if (look.together || !(too_far || known_.class_of[at(other)] == home_)) continue;
    look.together = true;
    open_.emplace(position_[at(other)], other);
  }
}

Heads::Heads(const Facts& facts, const Known& known, Direction direction, Reasons reasons,
             std::span<const double> least)
    : kinds_(facts.kind_count()),
      head_(at(facts.graph().op_count()) * at(kinds_)),
      with_op_(head_.size()) {
  HeadFinder(facts, known, direction, least, *this).run(reasons);
}

double Heads::least_with_op_us(OpId op) const noexcept {
  const auto row = with_op_.begin() + static_cast<std::ptrdiff_t>(cell(op, 0));
  return *std::min_element(row, row + kinds_);
}

double cut_us(const Facts& facts, const Heads& heads, const Heads& tails, const Edge& edge) {
  const KindId kinds = facts.kind_count();
  if (kinds > Heads::kMaxKinds) {
    return heads.least_with_op_us(edge.src) + tails.least_with_op_us(edge.dst);
  }
  double least_us = kCannotRun;
  for (KindId j = 0; j < kinds; ++j) {
    for (KindId k = 0; k < kinds; ++k) {
      least_us =
          std::min(least_us, heads.with_op_us(edge.src, j) + facts.transfer_us(edge.tensor, j, k) +
                                 tails.with_op_us(edge.dst, k));
    }
  }
  return least_us;
}

}  // namespace berth::bounds
