#include "common/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "berth/sdk/random.h"

using berth::Random;
using berth::policies::Timeline;

namespace {

/// The same by looking at every stay.
class PlainTimeline {
 public:
  double earliest(double from_us, double duration_us) const {
    double start_us = from_us;
    for (const auto& [begin_us, end_us] : stays_) {
      if (start_us + duration_us <= begin_us) break;
      start_us = std::max(start_us, end_us);
    }
    return start_us;
  }
  void occupy(double start_us, double duration_us) { stays_[start_us] = start_us + duration_us; }

 private:
  std::map<double, double> stays_;
};

}  // namespace

TEST_CASE("timeline: the first gap that is long enough") {
  Timeline timeline;
  CHECK(timeline.earliest(3, 10) == 3);
  timeline.occupy(10, 5);
  timeline.occupy(20, 5);
  CHECK(timeline.end_us() == 25);
  CHECK(timeline.earliest(0, 10) == 0);
  CHECK(timeline.earliest(1, 10) == 25);
  CHECK(timeline.earliest(1, 5) == 1);
  CHECK(timeline.earliest(6, 5) == 15);
  CHECK(timeline.earliest(16, 5) == 25);
  CHECK(timeline.earliest(12, 0) == 15);
  CHECK(timeline.earliest(16, 0) == 16);
  timeline.occupy(15, 5);
  CHECK(timeline.earliest(6, 5) == 25);
}

TEST_CASE("timeline: random stays in gaps, against a list of stays") {
  Random random(11);
  for (int round = 0; round < 10; ++round) {
    Timeline timeline;
    PlainTimeline plain;
    for (int i = 0; i < 2000; ++i) {
      // Whole numbers, so that no sum is rounded; far apart at first, so that there are many gaps.
      const auto from_us = static_cast<double>(random.below(round % 2 == 0 ? 600 : 12000));
      const auto duration_us = static_cast<double>(1 + random.below(1 + i % 9));
      const double start_us = timeline.earliest(from_us, duration_us);
      REQUIRE(start_us == plain.earliest(from_us, duration_us));
      if (random.uniform() < 0.3) continue;
      timeline.occupy(start_us, duration_us);
      plain.occupy(start_us, duration_us);
    }
  }
}
