#include <vector>

#include "scripted.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// Steps that last `runtimes_us`, one after the other.
ScriptedSession lasting(const std::vector<double>& runtimes_us) {
  return {chain_program(), [runtimes_us, next = std::size_t{0}](
                               const Placement&, const StepOptions& options) mutable {
            StepResult result;
            result.runtime_us = runtimes_us.at(next++);
            result.peak_bytes = {static_cast<std::int64_t>(next),
                                 100 - static_cast<std::int64_t>(next)};
            if (options.trace) result.trace.runtime_us = result.runtime_us;
            return result;
          }};
}

TEST_CASE("measure: the first steps are dropped and the others described") {
  ScriptedSession session = lasting({900, 800, 3, 1, 8, 2});
  const Measurement found = measure(session, {0, 0, 0}, {.warm_up = 2, .repeats = 4});
  CHECK(session.steps == 6);
  CHECK(found.steps_us == std::vector<double>{3, 1, 8, 2});
  CHECK(found.mean_us == 3.5);
  CHECK(found.median_us == 2.5);
  CHECK(found.min_us == 1);
  CHECK(found.max_us == 8);
  CHECK(found.deviation_us == doctest::Approx(3.1091263510296048));  // over n - 1
  CHECK(found.peak_bytes == std::vector<std::int64_t>{6, 97});       // of the steps that count
  CHECK((found.step.runtime_us == 3 || found.step.runtime_us == 2));
}

TEST_CASE("measure: one step that counts has no deviation") {
  ScriptedSession session = lasting({5});
  const Measurement found = measure(session, {0, 0, 0}, {.warm_up = 0, .repeats = 1});
  CHECK(found.mean_us == 5);
  CHECK(found.median_us == 5);
  CHECK(found.deviation_us == 0);
}

TEST_CASE(
    "measure: the trace is of the step nearest to the median, and only where it is asked for") {
  const std::vector<double> runtimes_us = {50, 10, 30, 20, 90};
  ScriptedSession traced = lasting(runtimes_us);
  CHECK(measure(traced, {0, 0, 0}, {.warm_up = 0, .repeats = 5, .trace = true})
            .step.trace.runtime_us == 30);
  ScriptedSession untraced = lasting(runtimes_us);
  const Measurement found = measure(untraced, {0, 0, 0}, {.warm_up = 0, .repeats = 5});
  CHECK(found.step.runtime_us == 30);
  CHECK(found.step.trace.runtime_us == 0);
}

TEST_CASE("measure: seed and interruption reach every step, and what a step throws comes out") {
  int asked = 0;
  MeasureOptions options;
  options.seed = 7;
  options.should_stop = [&] { return ++asked == 3; };
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions& step) {
    CHECK(step.seed == 7);
    if (step.should_stop()) throw Error(ErrorCode::cancelled, "stopped");
    return StepResult{.runtime_us = 1};
  });
  expect_error(ErrorCode::cancelled, {"stopped"}, [&] {
    static_cast<void>(measure(session, {0, 0, 0}, options));
  });
  CHECK(session.steps == 3);
}

TEST_CASE("measure: what cannot be measured is refused") {
  ScriptedSession session = lasting({});
  for (const auto& [warm_up, repeats] : {std::pair{-1, 5}, {0, 0}, {5, -1}}) {
    expect_error(ErrorCode::invalid_argument, {"at least 0 and 1"}, [&] {
      static_cast<void>(measure(session, {0, 0, 0}, {.warm_up = warm_up, .repeats = repeats}));
    });
  }
  CHECK(session.steps == 0);
}

}  // namespace
}  // namespace berth::test
