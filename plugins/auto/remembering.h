// The evaluator of starts.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "auto/contained.h"

namespace berth::policies::auto_policy {

/// Knows what it was asked before: in a short budget the same placement is evaluated by the policy that made it, by the
/// collector, and by whoever goes on from it. Measures how long an evaluation takes.
class Remembering final : public Evaluator {
 public:
  Remembering(Evaluator& evaluator, const Seconds& now) : evaluator_(evaluator), now_(now) {}

  using Evaluator::evaluate;
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    const bool one = placements.size() == 1 && out.size() == 1;
    if (!one) return evaluator_.evaluate(placements, out);
    const auto same = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& each) {
      return each.placement == placements.front();
    });
    if (same != seen_.end()) {
      out.front() = same->evaluation;
      return;
    }
    const double before = now_();
    evaluator_.evaluate(placements, out);
    least_s_ = std::min(least_s_, now_() - before);
    if (measures()) return;  // no two measurements are the same
    const bool best = seen_.empty() || better(out.front(), seen_.front().evaluation);
    seen_.insert(seen_.begin() + (best ? 0 : 1), {placements.front(), out.front()});
    if (seen_.size() > kMost) seen_.pop_back();
  }
  const Problem& problem() const noexcept override { return evaluator_.problem(); }
  bool measures() const noexcept override { return evaluator_.measures(); }
  std::int64_t evaluations() const noexcept override { return evaluator_.evaluations(); }
  std::int64_t simulated_ops() const noexcept override { return evaluator_.simulated_ops(); }
  SuccessiveEvaluator* successive() noexcept override { return evaluator_.successive(); }

  /// The quickest evaluation of one placement; infinity before there was one.
  [[nodiscard]] double least_s() const noexcept { return least_s_; }

 private:
  struct Seen {
    Placement placement;
    Evaluation evaluation;
  };
  static constexpr std::size_t kMost = 4;

  Evaluator& evaluator_;
  const Seconds& now_;
  std::vector<Seen> seen_;  // the best, then the last ones
  double least_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace berth::policies::auto_policy
