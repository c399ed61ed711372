/* Everything that a caller can get wrong is a status and a sentence. Run under the sanitizers too. */
#include <string.h>

#include "check.h"

static berth_engine* engine = NULL;

static berth_graph* two_ops(void) {
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  const berth_text names[] = {BERTH_TEXT("a"), BERTH_TEXT("b")};
  const double costs[] = {1, 2};
  const int32_t src = 0, dst = 1;
  OK(berth_builder_new(BERTH_TEXT("two"), BERTH_TEXT(""), &builder));
  OK(berth_builder_ops(builder, 2, names, NULL, costs, NULL, NULL, NULL));
  OK(berth_builder_edges(builder, 1, &src, &dst));
  OK(berth_builder_finish(builder, &graph));
  berth_release(builder);
  return graph;
}

static berth_problem* problem_of_two(void) {
  berth_graph* graph = two_ops();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  berth_release(graph);
  berth_release(cluster);
  return problem;
}

static void test_null(void) {
  berth_text out = {NULL, 0};
  berth_graph* graph = NULL;
  berth_problem* problem = NULL;
  berth_result* result = NULL;
  berth_builder* builder = NULL;
  berth_release(NULL);
  REFUSED(BERTH_INVALID_ARGUMENT, "engine is null", berth_engine_describe(NULL, &out));
  REFUSED(BERTH_INVALID_ARGUMENT, "engine is null",
          berth_engine_setting(NULL, BERTH_TEXT("policy"), &out));
  REFUSED(BERTH_INVALID_ARGUMENT, "out is null", berth_engine_new(NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "out is null",
          berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT(""), NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "builder is null", berth_builder_finish(NULL, &graph));
  REFUSED(BERTH_INVALID_ARGUMENT, "graph is null", berth_graph_op_name(NULL, 0, &out));
  REFUSED(BERTH_INVALID_ARGUMENT, "graph is null",
          berth_problem_new(engine, NULL, NULL, NULL, &problem));
  REFUSED(BERTH_INVALID_ARGUMENT, "problem is null", berth_place(engine, NULL, NULL, &result));
  REFUSED(BERTH_INVALID_ARGUMENT, "result is null", berth_result_text(NULL, 0, &out));
  REFUSED(BERTH_INVALID_ARGUMENT, "policy is null", berth_engine_register(engine, NULL));
  CHECK(berth_graph_op_count(NULL) == 0);
  CHECK(berth_cluster_device_count(NULL) == 0);
  CHECK(berth_result_devices(NULL, NULL) == NULL);
  CHECK(out.data == NULL && graph == NULL && problem == NULL && result == NULL);
  /* An object of another type. */
  OK(berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT(""), &builder));
  REFUSED(BERTH_INVALID_ARGUMENT, "another type",
          berth_graph_op_name((const berth_graph*)(void*)builder, 0, &out));
  berth_release(builder);
#ifdef BERTH_LOOKS_AFTER_OBJECTS
  REFUSED(BERTH_INVALID_ARGUMENT, "was released",
          berth_builder_op(builder, BERTH_TEXT("a"), BERTH_TEXT("A"), &(int32_t){0}));
  berth_release(builder);
#endif
}

static void test_sizes(void) {
  struct {
    berth_engine_options known;
    int64_t of_a_later_version;
  } later = {BERTH_ENGINE_OPTIONS_INIT, 0};
  berth_engine_options wrong = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* made = NULL;
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_problem* problem = problem_of_two();
  const int32_t devices[] = {0, 0};
  berth_result* result = NULL;
  wrong.size = 0;
  REFUSED(BERTH_INVALID_ARGUMENT, "has a size of 0 bytes", berth_engine_new(&wrong, &made));
  wrong.size = 1u << 30;
  REFUSED(BERTH_INVALID_ARGUMENT, "has a size of", berth_engine_new(&wrong, &made));
  CHECK(made == NULL);
  /* A later version that asks for nothing new works; one that does is told what to do. */
  later.known.size = sizeof later;
  OK(berth_engine_new(&later.known, &made));
  berth_release(made);
  later.of_a_later_version = 1;
  REFUSED(BERTH_UNSUPPORTED, "upgrade Berth", berth_engine_new(&later.known, &made));
  OK(berth_evaluate(problem, devices, 2, &result));
  summary.size = 0;
  REFUSED(BERTH_INVALID_ARGUMENT, "berth_summary has a size of 0",
          berth_result_summary(result, &summary));
  REFUSED(BERTH_INVALID_ARGUMENT, "entries of 1 bytes",
          berth_result_transfers(result, 1, NULL, 0, NULL));
  berth_text out;
  REFUSED(BERTH_INVALID_ARGUMENT, "no text of kind 99", berth_result_text(result, 99, &out));
  REFUSED(BERTH_INVALID_ARGUMENT, "op #2 of a graph of 2", berth_result_explain(result, 2, &out));
  berth_release(result);
  berth_release(problem);
}

static void test_graphs(void) {
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  berth_tensor tensor = BERTH_TENSOR_INIT;
  const int64_t shape[] = {2, -5};
  const berth_text names[] = {BERTH_TEXT("x"), BERTH_TEXT("y")};
  const double costs[] = {1, (double)NAN};
  const int64_t sizes[] = {1, -7};
  const int32_t src[] = {0, 9}, dst[] = {1, 1};
  int32_t a = -1, b = -1;
  REFUSED(BERTH_INVALID_ARGUMENT, "no dialect 'onx'; did you mean 'onnx'",
          berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT("onx"), &builder));
  OK(berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT(""), &builder));
  /* Names that a file could not tell apart. */
  const char* const bad[] = {"a\xff", "a\xc0\x80", "a\xed\xa0\x80", "a\xf5\x80\x80\x80",
                             "a\xe2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    const berth_text name = {bad[i], strlen(bad[i])};
    REFUSED(BERTH_INVALID_ARGUMENT, "give UTF-8 without NUL",
            berth_builder_op(builder, name, BERTH_TEXT("A"), &a));
  }
  REFUSED(BERTH_INVALID_ARGUMENT, "has byte 0 at 1",
          berth_builder_op(builder, (berth_text){"a\0b", 3}, BERTH_TEXT("A"), &a));
  OK(berth_builder_op(builder, BERTH_TEXT("a"), BERTH_TEXT("A"), &a));
  OK(berth_builder_op(builder, BERTH_TEXT("b"), BERTH_TEXT("A"), &b));
  REFUSED(BERTH_INVALID_GRAPH, "nan",
          berth_builder_cost(builder, a, BERTH_TEXT("gpu"), (double)NAN));
  REFUSED(BERTH_INVALID_GRAPH, "-1", berth_builder_cost(builder, a, BERTH_TEXT("gpu"), -1));
  REFUSED(BERTH_INVALID_ARGUMENT, "op #7", berth_builder_cost(builder, 7, BERTH_TEXT("gpu"), 1));
  REFUSED(BERTH_INVALID_ARGUMENT, "tensor #3", berth_builder_input(builder, a, 3));
  REFUSED(BERTH_INVALID_GRAPH, "entry 1",
          berth_builder_ops(builder, 2, names, NULL, costs, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_GRAPH, "entry 1",
          berth_builder_ops(builder, 2, names, NULL, NULL, sizes, NULL, NULL));
  const berth_text unreadable[] = {BERTH_TEXT("c"), {bad[0], strlen(bad[0])}};
  REFUSED(BERTH_INVALID_ARGUMENT, "give UTF-8",
          berth_builder_ops(builder, 2, unreadable, NULL, NULL, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "give UTF-8",
          berth_builder_ops(builder, 2, names, unreadable, NULL, NULL, NULL, NULL));
  int32_t next = -1;
  OK(berth_builder_ops(builder, 1, (const berth_text[]){BERTH_TEXT("c")}, NULL, NULL, NULL, NULL, &next));
  CHECK(next == b + 1); /* nothing was added by what was refused */
  REFUSED(BERTH_INVALID_ARGUMENT, "names is null",
          berth_builder_ops(builder, 2, NULL, NULL, NULL, NULL, NULL, NULL));
  REFUSED(BERTH_INVALID_ARGUMENT, "edge #1", berth_builder_edges(builder, 2, src, dst));
  tensor.dtype = BERTH_TEXT("f33");
  REFUSED(BERTH_INVALID_ARGUMENT, "f33", berth_builder_output(builder, a, &tensor, NULL));
  tensor.dtype = BERTH_TEXT("f32");
  tensor.shape = shape;
  tensor.rank = 2;
  REFUSED(BERTH_INVALID_GRAPH, "-5", berth_builder_output(builder, a, &tensor, NULL));
  tensor.rank = 1 << 30;
  REFUSED(BERTH_INVALID_ARGUMENT, "a rank of 1073741824", berth_builder_output(builder, a, &tensor, NULL));
  tensor.rank = 2;
  tensor.shape = NULL;
  REFUSED(BERTH_INVALID_ARGUMENT, "shape is null", berth_builder_output(builder, a, &tensor, NULL));
  const berth_text broken = {NULL, 3};
  REFUSED(BERTH_INVALID_ARGUMENT, "without a pointer",
          berth_builder_op(builder, broken, names[0], &b));
  OK(berth_builder_after(builder, a, b));
  OK(berth_builder_after(builder, b, a));
  REFUSED(BERTH_INVALID_GRAPH, "cycle", berth_builder_finish(builder, &graph));
  CHECK(graph == NULL);
  /* The builder is empty then, and works. */
  OK(berth_builder_op(builder, BERTH_TEXT("a"), BERTH_TEXT("A"), &a));
  CHECK(a == 0);
  berth_release(builder);
}

static void test_names(void) {
  berth_problem* problem = problem_of_two();
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_engine_options unset = BERTH_ENGINE_OPTIONS_INIT;
  const berth_text folder = BERTH_TEXT("/no/such/folder");
  berth_result* result = NULL;
  berth_engine* other = NULL;
  berth_cluster* cluster = NULL;
  const int32_t outside[] = {0, 5};
  options.policy = BERTH_TEXT("heff");
  REFUSED(BERTH_NOT_FOUND, "no policy 'heff'", berth_place(engine, problem, &options, &result));
  options.policy = BERTH_TEXT("");
  options.budget_s = (double)NAN;
  REFUSED(BERTH_INVALID_ARGUMENT, "nan", berth_place(engine, problem, &options, &result));
  options.budget_s = -1;
  options.threads = -3;
  REFUSED(BERTH_INVALID_ARGUMENT, "-3 threads", berth_place(engine, problem, &options, &result));
  REFUSED(BERTH_INVALID_ARGUMENT, "2", berth_evaluate(problem, outside, 1, &result));
  REFUSED(BERTH_INVALID_ARGUMENT, "5", berth_evaluate(problem, outside, 2, &result));
  CHECK(result == NULL);
  REFUSED(BERTH_NOT_FOUND, "k80y3", berth_cluster_new(NULL, BERTH_TEXT("k80y3"), &cluster));
  REFUSED(BERTH_INVALID_FILE, "the cluster", berth_cluster_new(NULL, BERTH_TEXT("{"), &cluster));
  REFUSED(BERTH_INVALID_ARGUMENT, "engine is null",
          berth_cluster_new(NULL, BERTH_TEXT(""), &cluster));
  /* Without plugins the answer names the folder. */
  unset.plugin_folders = &folder;
  unset.plugin_folder_count = 1;
  OK(berth_engine_new(&unset, &other));
  options.threads = 0;
  REFUSED(BERTH_NOT_FOUND, "/no/such/folder (no such folder)",
          berth_place(other, problem, &options, &result));
  berth_release(other);
  unset.settings = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"polcy\": \"heft\"}");
  REFUSED(BERTH_INVALID_FILE, "'policy'", berth_engine_new(&unset, &other));
  unset.settings = BERTH_TEXT("/no/such/settings.json");
  REFUSED(BERTH_NOT_FOUND, "/no/such/settings.json", berth_engine_new(&unset, &other));
  berth_release(problem);
}

/* Keys that say how a model is loaded, of a graph that nobody loads with them. */
static void test_loading(void) {
  static const char* const kChoices[] = {
      "\"op_rules\": \"no_such.json\"", "\"dims\": {\"n\": 4}",      "\"batch\": 2",
      "\"fetches\": [\"a\"]",          "\"states\": [\"a=b\"]",     "\"fold\": false",
      "\"arguments\": \"inputs\"",     "\"shapes\": {\"a\": [1]}", "\"experts\": \"2/8\""};
  berth_graph* graph = two_ops();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  for (size_t i = 0; i < sizeof kChoices / sizeof *kChoices; ++i) {
    char settings[128];
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    berth_engine* loading = NULL;
    snprintf(settings, sizeof settings, "{\"format\": \"berth.settings/1\", %s}", kChoices[i]);
    options.settings = text(settings);
    OK(berth_engine_new(&options, &loading));
    REFUSED(BERTH_UNSUPPORTED, "a graph that was made in process does not serve the setting '",
            berth_problem_new(loading, graph, cluster, NULL, &problem));
    berth_release(loading);
  }
  CHECK(problem == NULL);
  berth_release(cluster);
  berth_release(graph);
}

static berth_status fails(void* user, int32_t op, berth_text kind, double* us) {
  (void)user, (void)op, (void)kind, (void)us;
  return BERTH_IO;
}
static berth_status gives_nan(void* user, int32_t op, berth_text kind, double* us) {
  (void)user, (void)op, (void)kind;
  *us = (double)NAN;
  return BERTH_OK;
}

static berth_status place_on_first(void* user, berth_search* search, int32_t* devices) {
  (void)user;
  for (int32_t i = 0; i < search->group_count; ++i) devices[i] = 0;
  return BERTH_OK;
}

/* A policy that does what the user pointer says. */
enum Wrong { kFails, kForgets, kOutside, kAsksNonsense, kCallsBack };

static berth_status place_wrongly(void* user, berth_search* search, int32_t* devices) {
  const enum Wrong wrong = *(const enum Wrong*)user;
  for (int32_t i = 0; i < search->group_count; ++i) devices[i] = 0;
  if (wrong == kFails) {
    search->say(search, BERTH_TEXT("no licence today"));
    return BERTH_UNSUPPORTED;
  }
  if (wrong == kForgets) devices[0] = -1;
  if (wrong == kOutside) devices[0] = search->device_count;
  if (wrong == kAsksNonsense) {
    double objective = 0;
    int32_t* outside = devices;
    outside[1] = 1 << 20;
    CHECK(search->evaluate(search, outside, &objective, NULL) == BERTH_INVALID_ARGUMENT);
    CHECK(search->evaluate(search, NULL, &objective, NULL) == BERTH_INVALID_ARGUMENT);
    CHECK(search->evaluate(search, devices, NULL, NULL) == BERTH_INVALID_ARGUMENT);
    outside[1] = 0;
    REFUSED(BERTH_INVALID_ARGUMENT, "search is null",
            search->evaluate(NULL, devices, &objective, NULL));
    CHECK(search->should_stop(NULL) == 1);
    CHECK(search->option(NULL, BERTH_TEXT("k")).size == 0);
    search->say(NULL, BERTH_TEXT("nobody hears this"));
  }
  if (wrong == kCallsBack) {
    /* Anything but on the search's own objects may be called from here. */
    berth_problem* inner = problem_of_two();
    berth_result* result = NULL;
    const int32_t all[] = {0, 1};
    berth_text json;
    OK(berth_evaluate(inner, all, 2, &result));
    OK(berth_engine_describe(engine, &json));
    berth_release(result);
    berth_release(inner);
  }
  return BERTH_OK;
}

/* Names of options that berth/c.h excludes, and an option that is given twice. */
static void test_options(void) {
  static const char* const kBad[] = {"Bad Name", "", "a-b", "a.b", "k"};
  berth_policy_option options[] = {{BERTH_TEXT_INIT("k"), {0, 0}, {0, 0}}, {{0, 0}, {0, 0}, {0, 0}}};
  berth_policy policy = BERTH_POLICY_INIT;
  policy.name = BERTH_TEXT("optional");
  policy.place = place_on_first;
  policy.options = options;
  policy.option_count = 2;
  for (size_t i = 0; i < sizeof kBad / sizeof *kBad; ++i) {
    options[1].name = text(kBad[i]);
    REFUSED(BERTH_INVALID_ARGUMENT,
            strcmp(kBad[i], "k") == 0 ? "two options are called 'k'" : "option #1 is called",
            berth_engine_register(engine, &policy));
  }
  options[1].name = (berth_text){"a\0b", 3};
  REFUSED(BERTH_INVALID_ARGUMENT, "without NUL", berth_engine_register(engine, &policy));
  policy.option_count = 1;
  OK(berth_engine_register(engine, &policy));

  const berth_option twice[] = {{BERTH_TEXT_INIT("k"), BERTH_TEXT_INIT("1")},
                                {BERTH_TEXT_INIT("k"), BERTH_TEXT_INIT("2")}};
  berth_problem* problem = problem_of_two();
  berth_result* result = NULL;
  berth_place_options choices = BERTH_PLACE_OPTIONS_INIT;
  choices.policy = BERTH_TEXT("optional");
  choices.options = twice;
  choices.option_count = 2;
  REFUSED(BERTH_INVALID_ARGUMENT, "the option 'k' is given twice",
          berth_place(engine, problem, &choices, &result));
  choices.option_count = 1;
  OK(berth_place(engine, problem, &choices, &result));
  berth_release(result);
  berth_release(problem);
}

/* Counts of more than there is memory, and work beyond what can be added up. */
static void test_amounts(void) {
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_work work = BERTH_WORK_INIT;
  const int64_t number = 1;
  const berth_text name = BERTH_TEXT("a");
  int32_t op = -1;
  OK(berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT(""), &builder));
  OK(berth_builder_op(builder, name, BERTH_TEXT("A"), &op));
  REFUSED(BERTH_INVALID_ARGUMENT, "numbers has",
          berth_builder_attribute(builder, op, name, &number, (size_t)-1, BERTH_TEXT("")));
  REFUSED(BERTH_INVALID_ARGUMENT, "names has",
          berth_builder_ops(builder, (size_t)-1, &name, NULL, NULL, NULL, NULL, NULL));
  work.workspace_bytes = 9.3e18;
  REFUSED(BERTH_INVALID_GRAPH, "states a workspace of 9.3e+18 bytes",
          berth_builder_work(builder, op, &work));
  work.workspace_bytes = 1e18;
  work.flops = work.bytes = work.launches = 1e308;
  OK(berth_builder_work(builder, op, &work));
  OK(berth_builder_finish(builder, &graph));
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  REFUSED(BERTH_INVALID_ARGUMENT, "Berth computes with at most 1e+24 us",
          berth_problem_new(engine, graph, cluster, NULL, &problem));
  CHECK(problem == NULL);
  berth_release(cluster);
  berth_release(graph);
  berth_release(builder);
}

static void test_callbacks(void) {
  berth_graph* graph = two_ops();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_problem_options choices = BERTH_PROBLEM_OPTIONS_INIT;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_policy policy = BERTH_POLICY_INIT;
  berth_result* result = NULL;
  enum Wrong wrong = kFails;
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  choices.cost = fails;
  REFUSED(BERTH_CALLBACK, "failed with status 5",
          berth_problem_new(engine, graph, cluster, &choices, &problem));
  choices.cost = gives_nan;
  REFUSED(BERTH_INVALID_ARGUMENT, "nan",
          berth_problem_new(engine, graph, cluster, &choices, &problem));
  choices.cost = NULL;
  choices.constraints = BERTH_TEXT("[{\"pin\": \"none\", \"to\": \"gpu:0\"}]");
  REFUSED(BERTH_INVALID_ARGUMENT, "none",
          berth_problem_new(engine, graph, cluster, &choices, &problem));
  choices.constraints = BERTH_TEXT("[{\"pin\": ");
  REFUSED(BERTH_INVALID_FILE, "constraints",
          berth_problem_new(engine, graph, cluster, &choices, &problem));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));

  policy.name = BERTH_TEXT("wrong");
  REFUSED(BERTH_INVALID_ARGUMENT, "without `place`", berth_engine_register(engine, &policy));
  policy.place = place_wrongly;
  policy.user = &wrong;
  OK(berth_engine_register(engine, &policy));
  REFUSED(BERTH_INVALID_ARGUMENT, "already there", berth_engine_register(engine, &policy));
  policy.name = BERTH_TEXT("Not A Name");
  REFUSED(BERTH_INVALID_ARGUMENT, "name", berth_engine_register(engine, &policy));

  options.policy = BERTH_TEXT("wrong");
  REFUSED(BERTH_UNSUPPORTED, "no licence today", berth_place(engine, problem, &options, &result));
  wrong = kForgets;
  REFUSED(BERTH_UNSUPPORTED, "on device -1", berth_place(engine, problem, &options, &result));
  wrong = kOutside;
  REFUSED(BERTH_UNSUPPORTED, "policy 'wrong' gave no placement",
          berth_place(engine, problem, &options, &result));
  CHECK(result == NULL);
  /* Another policy is asked instead. */
  policy.name = BERTH_TEXT("right");
  policy.place = place_on_first;
  OK(berth_engine_register(engine, &policy));
  const berth_text fallback = BERTH_TEXT("right");
  options.fallbacks = &fallback;
  options.fallback_count = 1;
  OK(berth_place(engine, problem, &options, &result));
  berth_release(result);
  options.fallback_count = 0;
  for (wrong = kAsksNonsense; wrong <= kCallsBack; ++wrong) {
    OK(berth_place(engine, problem, &options, &result));
    berth_release(result);
  }
  berth_release(problem);
  berth_release(cluster);
  berth_release(graph);
}

int main(void) {
  OK(berth_engine_new(NULL, &engine));
  test_null();
  test_sizes();
  test_graphs();
  test_names();
  test_loading();
  test_callbacks();
  test_options();
  test_amounts();
  berth_release(engine);
  if (failures == 0) puts("all is well");
  return failures == 0 ? 0 : 1;
}
