#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/support/text.h"
#include "measure/counted_step.h"
#include "measure/host_state.h"
#include "measure/statistics.h"
#include "support/median.h"

namespace berth {

namespace {

/// Less is what caches and clocks do.
constexpr double kDrift = 0.03;

void check(const MeasureOptions& options) {
  if (options.warm_up < 0 || options.repeats < 1) {
    throw Error(ErrorCode::invalid_argument,
                cat("cannot measure with ", options.warm_up, " warm-up steps and ", options.repeats,
                    " that count; give at least 0 and 1"));
  }
  if (!(options.precision >= 0 && options.precision < 1)) {
    throw Error(ErrorCode::invalid_argument,
                cat("cannot measure to a precision of ", options.precision,
                    "; give a share of the mean from 0 to less than 1"));
  }
}

struct Spread {
  double mean_us = 0;
  double deviation_us = 0;  ///< n - 1; 0 for one
  double interval_us = 0;   ///< Measurement::interval_us
};

Spread spread_of(const std::vector<double>& us) {
  const auto count = static_cast<double>(us.size());
  Spread spread;
  spread.mean_us = std::accumulate(us.begin(), us.end(), 0.0) / count;
  if (us.size() < 2) return spread;
  double squares = 0;
  for (const double one : us) squares += (one - spread.mean_us) * (one - spread.mean_us);
  spread.deviation_us = std::sqrt(squares / (count - 1));
  spread.interval_us = half_interval(spread.deviation_us, us.size());
  return spread;
}

void describe(Measurement& measured) {
  const auto& us = measured.steps_us;
  const Spread spread = spread_of(us);
  measured.mean_us = spread.mean_us;
  measured.deviation_us = spread.deviation_us;
  measured.interval_us = spread.interval_us;
  measured.median_us = median(us);
  measured.min_us = *std::min_element(us.begin(), us.end());
  measured.max_us = *std::max_element(us.begin(), us.end());
}

bool precise(const std::vector<double>& us, double precision) {
  if (us.size() < 2) return false;
  const Spread spread = spread_of(us);
  return spread.interval_us <= precision * spread.mean_us;
}

void take_peaks(const StepResult& result, Measurement& measured) {
  measured.peak_bytes.resize(result.peak_bytes.size(), 0);
  for (std::size_t d = 0; d < result.peak_bytes.size(); ++d) {
    measured.peak_bytes[d] = std::max(measured.peak_bytes[d], result.peak_bytes[d]);
  }
}

std::string percent(double share) {
  return cat(std::round(1000 * share) / 10, " %");
}

void doubt(const MeasureOptions& options, Measurement& measured) {
  if (const double by = drift(measured.steps_us); std::abs(by) > kDrift) {
    measured.notes.push_back(cat("steps became ", percent(std::abs(by)),
                                 by > 0 ? " slower" : " faster",
                                 " while they were measured; give more steps for warming up"));
  }
  if (options.precision > 0 && measured.interval_us > options.precision * measured.mean_us) {
    measured.notes.push_back(
        cat("the mean is known to ", percent(measured.interval_us / measured.mean_us), ", not to ",
            percent(options.precision), ", after ", measured.steps_us.size(), " steps"));
  }
}

}  // namespace

Measurement measure(Session& session, const Placement& placement, const MeasureOptions& options) {
  check(options);
  StepOptions step;
  step.seed = options.seed;
  step.should_stop = options.should_stop;
  for (int i = 0; i < options.warm_up; ++i) static_cast<void>(session.run(placement, step));
  step.trace = options.trace;
  const HostState before = read_host_state();
  Measurement measured;
  std::vector<StepResult> results;
  const auto run = [&] {
    std::optional<StepResult> result =
        counted_step(session, placement, step, measured.steps_us.size());
    if (result) {
      measured.steps_us.push_back(result->runtime_us);
      take_peaks(*result, measured);
    }
    return result;
  };
  bool goes_on = true;
  for (int i = 0; i < options.repeats && goes_on; ++i) {
    std::optional<StepResult> result = run();
    goes_on = result.has_value();
    if (goes_on) results.push_back(std::move(*result));
  }
  step.trace = false;  // as many traces as the first steps have are enough to choose from
  while (goes_on && options.precision > 0 && measured.steps_us.size() < kMostRepeats &&
         !precise(measured.steps_us, options.precision)) {
    goes_on = run().has_value();
  }
  measured.notes = disturbances(before, read_host_state());
  describe(measured);
  if (!goes_on) {
    measured.notes.push_back(cat("stopped after ", measured.steps_us.size(), " steps that count"));
  }
  doubt(options, measured);
  const auto nearest = std::min_element(results.begin(), results.end(),
                                        [&](const StepResult& a, const StepResult& b) {
                                          return std::abs(a.runtime_us - measured.median_us) <
                                                 std::abs(b.runtime_us - measured.median_us);
                                        });
  measured.step = std::move(*nearest);
  return measured;
}

}  // namespace berth
