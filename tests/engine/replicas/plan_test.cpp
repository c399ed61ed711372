// Plans as text.
#include <doctest/doctest.h>

#include "berth/error.h"
#include "berth/replicas.h"
#include "support/expect_error.h"

using namespace berth;

TEST_CASE("a plan is read as it is written") {
  const auto cluster = Cluster::preset("k80x4");
  for (const char* text : {"gpu:0=27,gpu:1=27,gpu:2=5,gpu:3=5,bucket=8000000",
                           "gpu:0+gpu:1=32,gpu:2+gpu:3=32,bucket=1",
                           "gpu:0=32,gpu:1=32,bucket=8000000,updates=shared"}) {
    CHECK(parse_replica_plan(text, *cluster, 64).text(*cluster) == text);
  }
  CHECK(parse_replica_plan("gpu:0=64", *cluster, 64).bucket_bytes == 8'000'000);
}

TEST_CASE("a plan that cannot be says what is wrong") {
  const auto cluster = Cluster::preset("k80x4");
  const struct {
    const char* text;
    const char* part;
  } rows[] = {
      {"", "no device is named"},
      {"gpu:0", "no DEVICE=SAMPLES"},
      {"gpu:0=", "no DEVICE=SAMPLES"},
      {"gpu:0=x", "no DEVICE=SAMPLES"},
      {"gpu:0=-3,gpu:1=67", "no DEVICE=SAMPLES"},
      {"gpu:0=0,gpu:1=64", "no DEVICE=SAMPLES"},
      {"gpu:0=99999999999999999999", "no DEVICE=SAMPLES"},
      {"gpu:9=64", "no device 'gpu:9'"},
      {"gpu:0+=64", "no device ''"},
      {"gpu:0=32,gpu:0=32", "named twice"},
      {"gpu:0=30,gpu:1=30", "add up to 60"},
      {"gpu:0=65", "more samples than the batch"},
      {"gpu:0=64,updates=all", "no DEVICE=SAMPLES"},
      {"gpu:0=64,bucket=1,bucket=2", "'bucket' is given twice"},
      {"gpu:0=64,updates=shared,updates=shared", "'updates' is given twice"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    test::expect_error(ErrorCode::invalid_argument, {"replicas: ", row.part},
                       [&] { static_cast<void>(parse_replica_plan(row.text, *cluster, 64)); });
  }
}
