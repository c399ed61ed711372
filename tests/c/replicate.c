/* A training step whose batch is shared. */
#include "check.h"

int main(void) {
  berth_engine_options settings = BERTH_ENGINE_OPTIONS_INIT;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_result* result = NULL;
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_text said;
  size_t count = 0;
  const berth_text model = text(BERTH_TEST_MODEL);

  settings.no_environment = 1;
  settings.overrides =
      text("{\"format\": \"berth.settings/1\", \"batch\": 8, \"bound\": \"quick\"}");
  OK(berth_engine_new(&settings, &engine));
  options.budget_s = 2;
  options.threads = 1;
  OK(berth_replicate(engine, model, text("k80x2"), text("gpu:0=6,gpu:1=2"), &options, &result));
  OK(berth_result_summary(result, &summary));
  CHECK(summary.feasible == 1);
  CHECK(summary.bound_us > 0 && summary.bound_us <= summary.runtime_us);
  CHECK(berth_result_devices(result, &count) != NULL && count > 0);
  OK(berth_result_text(result, BERTH_TEXT_REPLICAS, &said));
  CHECK(contains(said, "berth.replicas/1") && contains(said, "\"samples\": 6"));
  OK(berth_result_text(result, BERTH_TEXT_PLACEMENT, &said));
  CHECK(contains(said, "replica_1/"));
  berth_release(result);

  result = NULL;
  REFUSED(
      BERTH_INVALID_ARGUMENT, "add up to 7 samples",
      berth_replicate(engine, model, text("k80x2"), text("gpu:0=6,gpu:1=1"), &options, &result));
  REFUSED(BERTH_NOT_FOUND, "k80x2222",
          berth_replicate(engine, model, text("k80x2222"), text("2"), &options, &result));
  const int32_t somewhere = 0;
  options.initial = &somewhere;
  REFUSED(BERTH_INVALID_ARGUMENT, "leave `initial` null",
          berth_replicate(engine, model, text("k80x2"), text("2"), &options, &result));
  REFUSED(BERTH_INVALID_ARGUMENT, "engine is null",
          berth_replicate(NULL, model, text("k80x2"), text("2"), NULL, &result));
  CHECK(result == NULL);
  berth_release(engine);
  return failures;
}
