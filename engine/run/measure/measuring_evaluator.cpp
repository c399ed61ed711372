#include <algorithm>
#include <utility>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

class MeasuringEvaluator final : public Evaluator {
 public:
  MeasuringEvaluator(std::shared_ptr<const Problem> problem, std::shared_ptr<Session> session,
                     const MeasureOptions& options)
      : problem_(std::move(problem)),
        session_(std::move(session)),
        options_(options),
        simulator_(problem_) {}

  const Problem& problem() const noexcept override { return *problem_; }
  bool measures() const noexcept override { return true; }
  std::int64_t evaluations() const noexcept override { return evaluations_; }

  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    if (out.size() != placements.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("room for ", out.size(), " evaluations of ", placements.size(),
                      " placements; give one for each"));
    }
    for (const Placement& placement : placements) problem_->validate_but_separations(placement);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      evaluate_one(placements[i], out[i]);
      ++evaluations_;
    }
  }

 private:
  void evaluate_one(const Placement& placement, Evaluation& out) {
    // The simulator judges memory and constraints; runtimes are then measured.
    simulator_.evaluate(placement, workspace_, out);
    try {
      Measurement measured = measure(*session_, placement, options_);
      check_devices(measured);
      // One step that waits for another program is no reason to leave a placement.
      out.runtime_us = out.objective_us = measured.median_us;
      out.peak_bytes = std::move(measured.peak_bytes);
      out.busy_us = std::move(measured.step.busy_us);
      judge_memory(placement, out);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      if (out.feasible) say_full(out);
    }
  }

  /// A session of fewer devices has no figures for the rest, and runs some placements all the same.
  void check_devices(const Measurement& measured) const {
    const DeviceId devices = problem_->cluster().device_count();
    if (measured.peak_bytes.size() == static_cast<std::size_t>(devices)) return;
    throw Error(ErrorCode::invalid_argument,
                cat("the session has ", measured.peak_bytes.size(), " devices and cluster '",
                    problem_->cluster().name(), "' has ", devices,
                    "; make the problem with the cluster of the session's backend"));
  }

  /// Judges as the simulator does, but by the measured peaks.
  void judge_memory(const Placement& placement, Evaluation& out) const {
    out.worst_device = kNoDevice;
    out.excess_bytes = 0;
    for (DeviceId d = 0; d < problem_->cluster().device_count(); ++d) {
      const std::int64_t limit = problem_->memory_bytes(d);
      const std::int64_t peak = out.peak_bytes[at(d)];
      if (limit == kNoLimit || peak - limit <= out.excess_bytes) continue;
      out.worst_device = d;
      out.excess_bytes = peak - limit;
    }
    if (out.worst_device == kNoDevice) out.worst_device = problem_->crowded_device(placement);
    out.feasible = out.worst_device == kNoDevice;
  }

  /// The backend ran out of memory though the simulator saw room: it is the fullest device.
  void say_full(Evaluation& out) const {
    double fullest = -1;
    for (DeviceId d = 0; d < problem_->cluster().device_count(); ++d) {
      const std::int64_t limit = problem_->memory_bytes(d);
      if (limit == kNoLimit) continue;
      const auto peak = static_cast<double>(out.peak_bytes[at(d)]);
      const double share = peak / std::max(1.0, static_cast<double>(limit));
      if (share <= fullest) continue;
      fullest = share;
      out.worst_device = d;
    }
    if (out.worst_device == kNoDevice) out.worst_device = 0;
    out.excess_bytes = 1;
    out.feasible = false;
  }

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<Session> session_;
  MeasureOptions options_;
  Simulator simulator_;
  Simulator::Workspace workspace_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_measuring_evaluator(std::shared_ptr<const Problem> problem,
                                                    std::shared_ptr<Session> session,
                                                    const MeasureOptions& options) {
  if (problem->options().objective != Objective::latency) {
    throw Error(ErrorCode::unsupported,
                "execution measures the runtime of one step, not the load of a pipeline; use the "
                "objective latency, or simulate");
  }
  if (session->program().graph != problem->shared_graph()) {
    throw Error(ErrorCode::invalid_argument,
                "the problem is not of the graph that the session runs; make it with the "
                "program's graph");
  }
  return std::make_unique<MeasuringEvaluator>(std::move(problem), std::move(session), options);
}

}  // namespace berth
