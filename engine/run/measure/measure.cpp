#include <algorithm>
#include <cmath>
#include <numeric>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/support/text.h"
#include "measure/statistics.h"

namespace berth {

Measurement measure(Session& session, const Placement& placement, const MeasureOptions& options) {
  if (options.warm_up < 0 || options.repeats < 1) {
    throw Error(ErrorCode::invalid_argument,
                cat("cannot measure with ", options.warm_up, " warm-up steps and ", options.repeats,
                    " that count; give at least 0 and 1"));
  }
  StepOptions step;
  step.seed = options.seed;
  step.should_stop = options.should_stop;
  for (int i = 0; i < options.warm_up; ++i) static_cast<void>(session.run(placement, step));
  step.trace = options.trace;
  std::vector<StepResult> results;
  for (int i = 0; i < options.repeats; ++i) results.push_back(session.run(placement, step));

  Measurement measured;
  for (const StepResult& result : results) {
    measured.steps_us.push_back(result.runtime_us);
    measured.peak_bytes.resize(result.peak_bytes.size(), 0);
    for (std::size_t d = 0; d < result.peak_bytes.size(); ++d) {
      measured.peak_bytes[d] = std::max(measured.peak_bytes[d], result.peak_bytes[d]);
    }
  }
  const auto& us = measured.steps_us;
  const auto count = static_cast<double>(us.size());
  measured.mean_us = std::accumulate(us.begin(), us.end(), 0.0) / count;
  measured.median_us = median(us);
  measured.min_us = *std::min_element(us.begin(), us.end());
  measured.max_us = *std::max_element(us.begin(), us.end());
  double squares = 0;
  for (const double one : us) squares += (one - measured.mean_us) * (one - measured.mean_us);
  if (us.size() > 1) measured.deviation_us = std::sqrt(squares / (count - 1));
  const auto nearest = std::min_element(results.begin(), results.end(),
                                        [&](const StepResult& a, const StepResult& b) {
                                          return std::abs(a.runtime_us - measured.median_us) <
                                                 std::abs(b.runtime_us - measured.median_us);
                                        });
  measured.step = std::move(*nearest);
  return measured;
}

}  // namespace berth
