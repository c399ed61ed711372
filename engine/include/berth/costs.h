// Compute time per op and device kind, and memory an op needs while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth {

/// The work of an op by the rule of its (dialect, type), or as stated by the graph's builder.
/// An op type without a rule, or one whose shapes are unknown, gets OpClass::other and its bytes.
/// Always finite.
[[nodiscard]] BERTH_EXPORT Work op_work(const Graph& graph, OpId op);

/// True where op_work has a rule for this op's type (or the work is stated).
[[nodiscard]] BERTH_EXPORT bool has_work_rule(const Graph& graph, OpId op);

/// Roofline time (Williams, Waterman, Patterson, CACM 2009) of `work` on `device`: the larger of
/// flops over the peak of the type and bytes over the memory bandwidth, each divided by the
/// efficiency of the op class (engine/costs/efficiency.cpp, one table for hosts and one for
/// accelerators). The peaks of narrow types count for matrix products only. Without any per-op
/// overhead. Never falls where flops or bytes grow. device.flops and device.memory_bandwidth must
/// be stated.
[[nodiscard]] BERTH_EXPORT double roofline_us(const Work& work, const Device& device) noexcept;

/// An immutable table of costs for one graph and the kinds of one cluster. [thread-safe: immutable]
class BERTH_EXPORT Costs {
 public:
  /// `us[kind][op]`, kCannotRun where the kind cannot run the op; `workspace_bytes[op]` (may be
  /// empty = none). Throws Error(invalid_argument) for NaN, negative values or wrong sizes.
  Costs(std::vector<std::vector<double>> us, std::vector<std::int64_t> workspace_bytes,
        std::string source);

  /// The costs stated with the graph. Throws Error(invalid_argument) naming an op without any.
  [[nodiscard]] static std::shared_ptr<const Costs> stated(const Graph& graph,
                                                           const Cluster& cluster);
  /// The roofline model: roofline_us of op_work, plus the per-op overhead of a body's launches
  /// beyond the first (Work::launches - 1); the first is the simulator's, once for every op whose
  /// cost is not 0. An op without launches costs 0. Every kind runs every op, except that ops that
  /// touch text or opaque tensors run on hosts only. Workspace: an attention's score matrices and
  /// projections, a recurrent layer's gates for all steps; none for other ops, which libraries
  /// compute in place or by implicit products.
  /// Throws Error(invalid_argument) naming a device without its figures.
  [[nodiscard]] static std::shared_ptr<const Costs> roofline(const Graph& graph,
                                                             const Cluster& cluster);

  [[nodiscard]] double op_us(OpId op, KindId kind) const noexcept {
    return us_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(op)];
  }
  [[nodiscard]] bool can_run(OpId op, KindId kind) const noexcept {
    return op_us(op, kind) < kCannotRun;
  }
  /// One cost per op.
  [[nodiscard]] std::span<const double> of_kind(KindId kind) const noexcept {
    return us_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] KindId kind_count() const noexcept { return static_cast<KindId>(us_.size()); }
  [[nodiscard]] std::int64_t workspace_bytes(OpId op) const noexcept {
    return workspace_bytes_.empty() ? 0 : workspace_bytes_[static_cast<std::size_t>(op)];
  }
  /// "roofline", "stated", or a file's name.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  std::vector<std::vector<double>> us_;
  std::vector<std::int64_t> workspace_bytes_;
  std::string source_;
};

}  // namespace berth
