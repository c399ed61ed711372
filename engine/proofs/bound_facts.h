// A problem as the lower bounds see it: device kinds instead of devices, co-location classes
// instead of ops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "berth/bounds.h"
#include "berth/support/index.h"
#include "proofs/proof.h"

namespace berth::bounds {

/// Every figure here is a lower estimate of the simulator's, whichever devices of a kind are used.
class Facts {
 public:
  /// `should_stop`: see strong_lower_bounds; empty = never.
  explicit Facts(const Problem& problem, std::function<bool()> should_stop = {});

  /// Whether to prove no more: what was looked at so far is as true without the rest.
  [[nodiscard]] bool stopped() const {
    was_stopped_ = was_stopped_ || (should_stop_ && should_stop_());
    return was_stopped_;
  }
  /// Whether something was left out for that.
  [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] const Graph& graph() const noexcept { return problem_.graph(); }
  [[nodiscard]] KindId kind_count() const noexcept { return problem_.cluster().kind_count(); }
  /// The finest sets of ops that share a device in every valid placement.
  [[nodiscard]] const Groups& classes() const noexcept { return *classes_; }

  /// Time from an op's start to its end on a device of `kind`: its cost, with the per-op overhead
  /// in dataflow semantics (an op of cost 0 pays none); kCannotRun if it cannot run or no device
  /// of the kind is allowed.
  [[nodiscard]] double op_us(OpId op, KindId kind) const noexcept;
  /// The pause of the device after the op (placeto semantics, ops with a cost).
  [[nodiscard]] double pause_us(OpId op, KindId kind) const noexcept;
  /// Time that all ops of a class keep their device from other ops, pauses included.
  [[nodiscard]] double class_us(GroupId group, KindId kind) const noexcept {
    return class_us_[at(kind) * at(classes_->count()) + at(group)];
  }

  /// Speed by kind: time of the ops that it can run on the fastest kinds over that on it; 0: none.
  [[nodiscard]] std::vector<double> speeds() const;
  /// The same, above 0 and divided so that they add up to 1 over all devices.
  [[nodiscard]] std::vector<double> weights_by_speed() const;
  [[nodiscard]] double devices_of(KindId kind) const noexcept { return device_count_[at(kind)]; }
  /// Fastest transfer of `tensor` (kNoTensor: a control signal) from a device of one kind to
  /// another device, of the second kind; kCannotRun if there are no two such devices.
  [[nodiscard]] double transfer_us(TensorId tensor, KindId src, KindId dst) const noexcept;

  struct Link {
    double latency_us;
    double bandwidth_bytes_per_s;  ///< 0: there is no such pair of devices
    bool sends_in_turn;            ///< every transfer holds the sender's only outgoing engine
    bool queues;                   ///< every transfer holds the receiver's only incoming engine
  };
  /// The best figures of all links from one kind to another; no latency in placeto semantics.
  [[nodiscard]] Link link(KindId src, KindId dst) const noexcept {
    return links_[at(src) * at(kind_count()) + at(dst)];
  }

  /// Whether a feasible placement must have room for the parameters. The placeto simulator has
  /// none: its latency evaluation counts outputs only.
  [[nodiscard]] bool counts_parameters() const noexcept;

 private:
  void mark_forbidden();

  const Problem& problem_;
  std::function<bool()> should_stop_;
  mutable bool was_stopped_ = false;
  std::vector<bool> forbidden_;  // kind-major, by class; empty without constraints
  std::shared_ptr<const Groups> classes_;
  std::vector<double> class_us_;      // kind-major
  std::vector<double> device_count_;  // by kind
  std::vector<Link> links_;           // best figures by (source kind, destination kind)
};

/// Each of these appends the bounds it can prove; see the definitions for the proofs.
void add_path_bounds(const Facts& facts, std::vector<LowerBound>& bounds);
void add_work_bounds(const Facts& facts, std::vector<LowerBound>& bounds);

/// The bounds of add_work_bounds, with their steps.
[[nodiscard]] std::vector<Proof> work_proofs(const Facts& facts);

}  // namespace berth::bounds
