/* Evaluators, environments, arrays, plans and pages: what version 3 added, right and wrong. */
#define _POSIX_C_SOURCE 200112L  /* setenv */
#include <stdlib.h>

#include "check.h"

static berth_engine* engine = NULL;

/* Six ops in a row on two GPUs; each runs 100 us and sends a megabyte. */
static berth_problem* row_of_six(void) {
  enum { kOps = 6 };
  const berth_text names[kOps] = {BERTH_TEXT("a"), BERTH_TEXT("b"), BERTH_TEXT("c"),
                                  BERTH_TEXT("d"), BERTH_TEXT("e"), BERTH_TEXT("f")};
  const double costs[kOps] = {100, 100, 100, 100, 100, 100};
  const int64_t bytes[kOps] = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20};
  const int32_t src[kOps - 1] = {0, 1, 2, 3, 4}, dst[kOps - 1] = {1, 2, 3, 4, 5};
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  OK(berth_builder_new(BERTH_TEXT("row"), BERTH_TEXT(""), &builder));
  OK(berth_builder_ops(builder, kOps, names, NULL, costs, bytes, NULL, NULL));
  OK(berth_builder_edges(builder, kOps - 1, src, dst));
  OK(berth_builder_finish(builder, &graph));
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  berth_release(builder);
  berth_release(graph);
  berth_release(cluster);
  return problem;
}

static const void* array_of(const berth_problem* problem, const char* name, const char* dtype,
                            int32_t rank, int64_t first) {
  berth_array array = BERTH_ARRAY_INIT;
  OK(berth_problem_array(problem, text(name), &array));
  CHECK(strcmp(array.dtype.data, dtype) == 0);
  CHECK(array.rank == rank && array.shape[0] == first);
  return array.data;
}

static void test_problem(berth_problem* problem) {
  berth_array array = BERTH_ARRAY_INIT;
  int32_t devices[6];
  const int32_t* groups = array_of(problem, "groups", "i32", 1, 6);
  CHECK(groups[0] == 0 && groups[5] == 5);
  const double* costs = array_of(problem, "cost_us", "f64", 2, 6);
  CHECK(costs[1] == 100); /* of the first group on the second device */
  const int32_t* edges = array_of(problem, "edges", "i32", 2, 5);
  CHECK(edges[0] == 0 && edges[1] == 1);
  const int64_t* sent = array_of(problem, "edge_bytes", "i64", 1, 5);
  CHECK(sent[0] == 1 << 20);
  REFUSED(BERTH_INVALID_ARGUMENT, "edge_bytes", berth_problem_array(problem, BERTH_TEXT("edge"), &array));
  array.size = 1;
  REFUSED(BERTH_INVALID_ARGUMENT, "size of 1", berth_problem_array(problem, BERTH_TEXT("edges"), &array));
  REFUSED(BERTH_INVALID_FILE, "the placement", berth_problem_read(problem, BERTH_TEXT("{"), devices, 6));
  REFUSED(BERTH_INVALID_ARGUMENT, "6 ops", berth_problem_read(problem, BERTH_TEXT("{}"), devices, 5));
}

/* The dimensions of rows are there where there are no rows. */
static void test_no_edges(void) {
  const berth_text names[] = {BERTH_TEXT("a"), BERTH_TEXT("b")};
  const double costs[] = {1, 1};
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_array edges = BERTH_ARRAY_INIT;
  OK(berth_builder_new(BERTH_TEXT("apart"), BERTH_TEXT(""), &builder));
  OK(berth_builder_ops(builder, 2, names, NULL, costs, NULL, NULL, NULL));
  OK(berth_builder_finish(builder, &graph));
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  OK(berth_problem_array(problem, BERTH_TEXT("edges"), &edges));
  CHECK(edges.rank == 2 && edges.shape[0] == 0 && edges.shape[1] == 2);
  berth_release(problem);
  berth_release(cluster);
  berth_release(graph);
  berth_release(builder);
}

static void test_result(berth_problem* problem) {
  const int32_t devices[6] = {1, 1, 1, 2, 2, 2};
  int32_t again[6] = {0};
  berth_result* result = NULL;
  berth_array array = BERTH_ARRAY_INIT;
  berth_text said;
  OK(berth_evaluate(problem, devices, 6, &result));
  OK(berth_result_array(result, BERTH_TEXT("op_end_us"), &array));
  CHECK(array.shape[0] == 6 && ((const double*)array.data)[0] >= 100);
  OK(berth_result_array(result, BERTH_TEXT("busy_us"), &array));
  CHECK(array.shape[0] == berth_cluster_device_count(NULL) + 3);
  REFUSED(BERTH_INVALID_ARGUMENT, "peak_bytes", berth_result_array(result, BERTH_TEXT("peak"), &array));
  OK(berth_result_text(result, BERTH_TEXT_PLACEMENT, &said));
  OK(berth_problem_read(problem, said, again, 6));
  CHECK(memcmp(devices, again, sizeof devices) == 0);
  OK(berth_result_plan(result, BERTH_TEXT("csv"), &said));
  CHECK(contains(said, "gpu:1"));
  REFUSED(BERTH_NOT_FOUND, "device_map", berth_result_plan(result, BERTH_TEXT("napkin"), &said));
  const berth_result* both[2] = {result, result};
  OK(berth_report(both, 2, &said));
  CHECK(contains(said, "<html"));
  REFUSED(BERTH_INVALID_ARGUMENT, "", berth_report(NULL, 0, &said));
  both[1] = NULL;
  REFUSED(BERTH_INVALID_ARGUMENT, "result is null", berth_report(both, 2, &said));
  berth_release(result);
}

static void test_evaluator(berth_problem* problem) {
  enum { kCount = 50 };
  static int32_t rows[kCount * 6];
  static double objective_us[kCount];
  static int64_t excess[kCount];
  static uint8_t feasible[kCount];
  berth_evaluator* evaluator = NULL;
  for (int i = 0; i < kCount * 6; ++i) rows[i] = 1 + (i * i / 7 + i) % 2;
  OK(berth_evaluator_new(problem, 2, &evaluator));
  for (int32_t by_group = 0; by_group < 2; ++by_group) {
    OK(berth_evaluator_batch(evaluator, by_group, rows, kCount, 6, objective_us, excess, feasible));
    for (int i = 0; i < kCount; ++i) {
      berth_result* one = NULL;
      berth_summary summary = BERTH_SUMMARY_INIT;
      OK(berth_evaluate(problem, rows + i * 6, 6, &one));
      OK(berth_result_summary(one, &summary));
      CHECK(summary.objective_us == objective_us[i] && excess[i] == 0 && feasible[i] == 1);
      berth_release(one);
    }
  }
  OK(berth_evaluator_batch(evaluator, 0, rows, 1, 6, NULL, NULL, NULL));
  OK(berth_evaluator_batch(evaluator, 0, NULL, 0, 6, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "6 ops", berth_evaluator_batch(evaluator, 0, rows, 1, 5, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "null", berth_evaluator_batch(evaluator, 0, NULL, 1, 6, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "fewer",
          berth_evaluator_batch(evaluator, 0, rows, SIZE_MAX / 4, 6, NULL, NULL, NULL));
  rows[3] = 77;
  REFUSED(BERTH_INVALID_ARGUMENT, "77", berth_evaluator_batch(evaluator, 0, rows, 2, 6, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "-1 threads", berth_evaluator_new(problem, -1, &evaluator));
  berth_release(evaluator);
}

static const void* seen(berth_environment* environment, const char* name) {
  berth_array array = BERTH_ARRAY_INIT;
  OK(berth_environment_array(environment, text(name), &array));
  return array.data;
}

static void test_environment(berth_problem* problem) {
  enum { kEpisodes = 3, kDevices = 3 };
  const berth_text of_groups[] = {BERTH_TEXT("current"), BERTH_TEXT("device")};
  const berth_text of_devices[] = {BERTH_TEXT("same_device")};
  berth_environment_options options = BERTH_ENVIRONMENT_OPTIONS_INIT;
  berth_episodes episodes = BERTH_EPISODES_INIT;
  berth_environment* environment = NULL;
  berth_evaluator* evaluator = NULL;
  berth_array array = BERTH_ARRAY_INIT;
  berth_text json;
  int32_t devices[kEpisodes] = {1, 2, 1}, done = 0;
  double objective_us[kEpisodes];
  options.group_features = of_groups;
  options.group_feature_count = 2;
  options.device_features = of_devices;
  options.device_feature_count = 1;
  options.look_ahead = 1;
  OK(berth_features(&json));
  CHECK(contains(json, "same_device"));
  OK(berth_environment_new(problem, &options, &environment));
  REFUSED(BERTH_INVALID_ARGUMENT, "reset it first", berth_environment_step(environment, devices, 3, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "reset it first",
          berth_environment_array(environment, BERTH_TEXT("groups"), &array));
  episodes.count = kEpisodes;
  episodes.start = BERTH_TEXT("contiguous");
  OK(berth_environment_reset(environment, &episodes));
  OK(berth_environment_array(environment, BERTH_TEXT("groups"), &array));
  CHECK(array.rank == 3 && array.shape[0] == kEpisodes && array.shape[1] == 6 && array.shape[2] == 1 + kDevices);
  REFUSED(BERTH_INVALID_ARGUMENT, "allowed", berth_environment_array(environment, BERTH_TEXT("allow"), &array));

  const int32_t* current = seen(environment, "current");
  const int32_t* placement = seen(environment, "placement");
  const float* groups = seen(environment, "groups");
  const double* objective = seen(environment, "objective_us");
  const double* ahead = seen(environment, "alternatives");
  devices[1] = 9;
  REFUSED(BERTH_INVALID_ARGUMENT, "device 9", berth_environment_step(environment, devices, 3, &done));
  REFUSED(BERTH_INVALID_ARGUMENT, "2 devices", berth_environment_step(environment, devices, 2, &done));
  CHECK(current[1] == 0); /* nobody has moved */
  OK(berth_evaluator_new(problem, 1, &evaluator));
  for (int step = 0; step < 6; ++step) {
    double expected[kEpisodes];
    CHECK(done == 0);
    for (int e = 0; e < kEpisodes; ++e) {
      CHECK(current[e] == step && groups[(e * 6 + step) * (1 + kDevices)] == 1);
      devices[e] = 1 + (e + step) % 2;
      expected[e] = ahead[e * kDevices + devices[e]];
    }
    OK(berth_environment_step(environment, devices, kEpisodes, &done));
    OK(berth_evaluator_batch(evaluator, 1, placement, kEpisodes, 6, objective_us, NULL, NULL));
    for (int e = 0; e < kEpisodes; ++e) {
      CHECK(placement[e * 6 + step] == devices[e] && objective[e] == objective_us[e]);
      CHECK(expected[e] == objective[e] || expected[e] == INFINITY); /* or it was hopeless */
    }
  }
  CHECK(done == 1 && current[0] == -1);
  REFUSED(BERTH_INVALID_ARGUMENT, "reset", berth_environment_step(environment, devices, kEpisodes, &done));

  /* The same seed starts from the same placements, another from others; given ones are taken in turn. */
  int32_t first[kEpisodes * 6];
  episodes.start = BERTH_TEXT("random");
  episodes.seed = 5;
  OK(berth_environment_reset(environment, &episodes));
  CHECK(seen(environment, "placement") == placement); /* the arrays keep their place */
  memcpy(first, placement, sizeof first);
  OK(berth_environment_reset(environment, &episodes));
  CHECK(memcmp(first, placement, sizeof first) == 0);
  episodes.seed = 6;
  OK(berth_environment_reset(environment, &episodes));
  CHECK(memcmp(first, placement, sizeof first) != 0);
  episodes.initial = first;
  episodes.initial_count = 2;
  OK(berth_environment_reset(environment, &episodes));
  CHECK(memcmp(first, placement, 12 * sizeof *first) == 0 && memcmp(first, placement + 12, 6 * sizeof *first) == 0);
  first[0] = -1;
  REFUSED(BERTH_INVALID_ARGUMENT, "device -1", berth_environment_reset(environment, &episodes));
  episodes.initial_count = SIZE_MAX / 2;
  REFUSED(BERTH_INVALID_ARGUMENT, "at most", berth_environment_reset(environment, &episodes));
  episodes.initial_count = 0;
  episodes.start = BERTH_TEXT("anywhere");
  REFUSED(BERTH_INVALID_ARGUMENT, "earliest", berth_environment_reset(environment, &episodes));
  episodes.count = 0;
  REFUSED(BERTH_INVALID_ARGUMENT, "0 episodes", berth_environment_reset(environment, &episodes));
  options.group_feature_count = 1;
  options.group_features = of_devices;
  berth_release(environment);
  OK(berth_environment_new(problem, &options, &environment)); /* both have a feature of that name */
  berth_release(environment);
  options.device_features = of_groups;
  REFUSED(BERTH_INVALID_ARGUMENT, "no feature of devices", berth_environment_new(problem, &options, &environment));
  berth_release(evaluator);
}

/* What the user said is stronger than BERTH_CONFIG, and that than what the program chose. */
static void test_overrides(void) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* made = NULL;
  berth_text json;
  setenv("BERTH_CONFIG", "{\"format\": \"berth.settings/1\", \"policy\": \"topo\", \"seed\": 4}", 1);
  options.settings = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"policy\": \"single\"}");
  options.overrides = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"policy\": \"heft\"}");
  OK(berth_engine_new(&options, &made));
  OK(berth_engine_describe(made, &json));
  CHECK(contains(json, "\"value\": \"heft\"") && contains(json, "\"value\": 4"));
  options.overrides = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"polcy\": 1}");
  REFUSED(BERTH_INVALID_FILE, "polcy", berth_engine_new(&options, &made));
  options.overrides = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"output\": \"x\"}");
  REFUSED(BERTH_UNSUPPORTED, "output", berth_engine_new(&options, &made));
  unsetenv("BERTH_CONFIG");
  berth_release(made);
}

static int32_t never(void* user) {
  ++*(int*)user;
  return 0;
}
static int32_t at_the_second_time(void* user) { return ++*(int*)user >= 2; }

/* A policy asks hundreds of times; the caller is asked once, where once an hour is enough. */
static void test_asking(berth_problem* problem) {
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_result* result = NULL;
  int often = 0, once = 0, stopped = 0;
  options.policy = BERTH_TEXT("asks");
  options.should_stop = never;
  options.user = &often;
  OK(berth_place(engine, problem, &options, &result));
  berth_release(result);
  options.ask_every_s = 3600;
  options.user = &once;
  OK(berth_place(engine, problem, &options, &result));
  berth_release(result);
  CHECK(often >= 100 && once == 1);
  options.ask_every_s = 1e-9;
  options.should_stop = at_the_second_time;
  options.user = &stopped;
  OK(berth_place(engine, problem, &options, &result));
  berth_release(result);
  CHECK(stopped == 2); /* what it said holds: it is not asked again */
  options.ask_every_s = NAN;
  REFUSED(BERTH_INVALID_ARGUMENT, "every nan", berth_place(engine, problem, &options, &result));
}

/* Three figures of a policy that learns, and whose its best is; none of one that does not. */
static void test_whose(berth_problem* problem) {
  const berth_text names[2] = {BERTH_TEXT("placeto"), BERTH_TEXT("asks")};
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_result* result = NULL;
  berth_result* results[2] = {NULL, NULL};
  berth_status ends[2];
  options.policy = names[1];
  OK(berth_place(engine, problem, &options, &result));
  OK(berth_result_summary(result, &summary));
  CHECK(summary.whose == BERTH_WHOSE_NONE);
  CHECK(summary.own_us == 0 && summary.best_us == 0 && summary.start_us == 0);
  berth_release(result);
  options.policy = names[0];
  const berth_status status = berth_place(engine, problem, &options, &result);
  if (status == BERTH_NOT_FOUND) {
    puts("skipped: policy placeto is not built, so that nothing here learns");
    return;
  }
  OK(status);
  OK(berth_result_summary(result, &summary));
  CHECK(summary.whose >= BERTH_WHOSE_OWN && summary.whose <= BERTH_WHOSE_REPAIRED);
  CHECK(summary.own_us >= summary.best_us && summary.start_us >= summary.best_us);
  CHECK(summary.best_us > 0 && summary.objective_us == summary.best_us);
  if (summary.whose == BERTH_WHOSE_OWN) CHECK(summary.own_us == summary.best_us);
  if (summary.whose == BERTH_WHOSE_START) CHECK(summary.start_us == summary.best_us);
  const double own_us = summary.own_us;
  berth_release(result);
  OK(berth_compare(engine, problem, names, 2, &options, results, ends, NULL));
  OK(ends[0]);
  OK(berth_result_summary(results[0], &summary));
  CHECK(summary.objective_us == summary.own_us && summary.own_us == own_us);
  berth_release(results[0]);
  berth_release(results[1]);
}

static berth_status ask_a_hundred_times(void* user, berth_search* search, int32_t* devices) {
  (void)user;
  for (int i = 0; i < 100; ++i) (void)search->should_stop(search);
  for (int32_t group = 0; group < search->group_count; ++group) devices[group] = 1;
  return BERTH_OK;
}

int main(void) {
  berth_policy asks = BERTH_POLICY_INIT;
  OK(berth_engine_new(NULL, &engine));
  CHECK(berth_abi() >= 3);
  asks.name = BERTH_TEXT("asks");
  asks.place = ask_a_hundred_times;
  OK(berth_engine_register(engine, &asks));
  berth_problem* problem = row_of_six();
  test_problem(problem);
  test_no_edges();
  test_result(problem);
  test_evaluator(problem);
  test_environment(problem);
  test_overrides();
  test_asking(problem);
  test_whose(problem);
  berth_release(problem);
  berth_release(engine);
  if (failures == 0) puts("all is well");
  return failures == 0 ? 0 : 1;
}
