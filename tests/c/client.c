/* A client of the C ABI. A copy of it, built against the first header (kept/), is what every later
 * library must run: add to it only what the newest header has. */
#include "check.h"

/* A policy in C: each group goes where it is cheapest, by one device at a time. */
static berth_status place_cheapest(void* user, berth_search* search, int32_t* devices) {
  int32_t group, device;
  double objective_us = 0;
  int32_t feasible = 0;
  berth_text rounds = search->option(search, BERTH_TEXT("rounds"));
  ++*(int*)user;
  for (group = 0; group < search->group_count; ++group) {
    const double* costs = search->cost_us + group * search->device_count;
    devices[group] = 0;
    for (device = 1; device < search->device_count; ++device) {
      if (costs[device] < costs[devices[group]]) devices[group] = device;
    }
  }
  if (rounds.size == 0 || search->option(search, BERTH_TEXT("none")).size != 0) return BERTH_INTERNAL;
  if (search->evaluate(search, devices, &objective_us, &feasible) != BERTH_OK) return BERTH_INTERNAL;
  if (objective_us <= 0) return BERTH_INTERNAL;
  if (search->should_stop(search)) return BERTH_OK;
  search->say(search, BERTH_TEXT("every group is where it is cheapest"));
  return BERTH_OK;
}

static void count_destroyed(void* user) { *(int*)user = -1; }

static berth_status costs_by_kind(void* user, int32_t op, berth_text kind, double* us) {
  ++*(int*)user;
  if (op == 0 && kind.size == 3 && memcmp(kind.data, "cpu", 3) == 0) {
    *us = INFINITY;
  } else if (op == 1) {
    *us = 7;
  }
  return BERTH_OK;
}

static int32_t stop_at_once(void* user) {
  ++*(int*)user;
  return 1;
}

static const char* const kCluster =
    "{\"format\":\"berth.cluster/1\",\"name\":\"two\",\"devices\":["
    "{\"name\":\"gpu:0\",\"kind\":\"gpu\",\"flops\":1e13,\"memory_bandwidth_bytes_per_s\":1e12},"
    "{\"name\":\"gpu:1\",\"kind\":\"gpu\",\"flops\":1e13,\"memory_bandwidth_bytes_per_s\":1e12},"
    "{\"name\":\"cpu:0\",\"kind\":\"cpu\",\"flops\":1e11,\"memory_bandwidth_bytes_per_s\":1e11,"
    "\"host\":true}],"
    "\"links\":[{\"src\":\"*\",\"dst\":\"*\",\"bandwidth_bytes_per_s\":1e10,\"latency_us\":1}]}";

/* start -> left, right -> join; all one megabyte. */
static berth_graph* diamond(void) {
  static const char* const kNames[] = {"start", "left", "right", "join"};
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  berth_tensor tensor = BERTH_TENSOR_INIT;
  berth_work work = BERTH_WORK_INIT;
  berth_op_hints hints = BERTH_OP_HINTS_INIT;
  const int64_t shape[] = {512, 512};
  const int64_t numbers[] = {1, 2};
  int32_t op, out[4], weight;
  OK(berth_builder_new(BERTH_TEXT("diamond"), BERTH_TEXT(""), &builder));
  tensor.dtype = BERTH_TEXT("f32");
  tensor.shape = shape;
  tensor.rank = 2;
  work.flops = 1e9;
  work.op_class = BERTH_TEXT("matmul");
  hints.param_bytes = 1000;
  for (int i = 0; i < 4; ++i) {
    OK(berth_builder_op(builder, text(kNames[i]), BERTH_TEXT("Op"), &op));
    CHECK(op == i);
    OK(berth_builder_output(builder, op, &tensor, &out[i]));
    OK(berth_builder_work(builder, op, &work));
    OK(berth_builder_hints(builder, op, &hints));
  }
  OK(berth_builder_parameter(builder, &tensor, &weight));
  OK(berth_builder_input(builder, 0, weight));
  OK(berth_builder_input(builder, 1, out[0]));
  OK(berth_builder_input(builder, 2, out[0]));
  OK(berth_builder_input(builder, 3, out[1]));
  OK(berth_builder_input(builder, 3, out[2]));
  OK(berth_builder_after(builder, 2, 0));
  OK(berth_builder_cost(builder, 3, BERTH_TEXT(""), 5));
  OK(berth_builder_attribute(builder, 3, BERTH_TEXT("axes"), numbers, 2, BERTH_TEXT("")));
  OK(berth_builder_attribute(builder, 3, BERTH_TEXT("mode"), NULL, 0, BERTH_TEXT("fast")));
  OK(berth_builder_finish(builder, &graph));
  berth_release(builder);
  return graph;
}

static void test_graph(void) {
  berth_graph* graph = diamond();
  berth_text name;
  berth_work work = BERTH_WORK_INIT;
  CHECK(berth_graph_op_count(graph) == 4);
  OK(berth_graph_op_name(graph, 2, &name));
  CHECK(name.size == 5 && memcmp(name.data, "right", 5) == 0);
  OK(berth_graph_op_work(graph, 1, &work));
  CHECK(work.flops == 1e9);
  CHECK(contains(work.op_class, "matmul"));
  berth_release(graph);
}

static void test_bulk(void) {
  enum { kOps = 1000 };
  static char names[kOps][8];
  static berth_text views[kOps];
  static double costs[kOps];
  static int64_t bytes[kOps];
  static int32_t src[kOps - 1], dst[kOps - 1];
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  int32_t first = -1;
  for (int i = 0; i < kOps; ++i) {
    snprintf(names[i], sizeof names[i], "op%d", i);
    views[i] = text(names[i]);
    costs[i] = 1;
    bytes[i] = 100;
    if (i > 0) {
      src[i - 1] = i - 1;
      dst[i - 1] = i;
    }
  }
  OK(berth_builder_new(BERTH_TEXT("chain"), BERTH_TEXT(""), &builder));
  OK(berth_builder_ops(builder, kOps, views, NULL, costs, bytes, NULL, &first));
  CHECK(first == 0);
  OK(berth_builder_edges(builder, kOps - 1, src, dst));
  OK(berth_builder_finish(builder, &graph));
  CHECK(berth_graph_op_count(graph) == kOps);
  /* What is finished leaves a builder that can build another. */
  OK(berth_builder_ops(builder, 1, views, NULL, NULL, NULL, NULL, &first));
  CHECK(first == 0);
  berth_release(builder);
  berth_release(graph);
}

/* Groups of a graph of three ops, the first of which is known to be pure and reads a parameter. */
static int64_t placed_of_three(berth_engine* engine, berth_builder* builder) {
  berth_tensor tensor = BERTH_TENSOR_INIT;
  berth_array groups = BERTH_ARRAY_INIT;
  berth_graph* graph = NULL;
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  const int64_t shape[] = {1024, 1024};
  int32_t weight, op, out;
  tensor.dtype = BERTH_TEXT("f32");
  tensor.shape = shape;
  tensor.rank = 2;
  OK(berth_builder_parameter(builder, &tensor, &weight));
  OK(berth_builder_op(builder, BERTH_TEXT("relu"), BERTH_TEXT("Relu"), &op));
  OK(berth_builder_input(builder, op, weight));
  OK(berth_builder_output(builder, op, &tensor, &out));
  OK(berth_builder_op(builder, BERTH_TEXT("x"), BERTH_TEXT("Input"), &op));
  OK(berth_builder_output(builder, op, &tensor, &weight));
  OK(berth_builder_op(builder, BERTH_TEXT("sum"), BERTH_TEXT("Add"), &op));
  OK(berth_builder_input(builder, op, out));
  OK(berth_builder_input(builder, op, weight));
  OK(berth_builder_finish(builder, &graph));
  OK(berth_cluster_new(NULL, text(kCluster), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  OK(berth_problem_array(problem, BERTH_TEXT("param_bytes"), &groups));
  berth_release(problem);
  berth_release(cluster);
  berth_release(graph);
  return groups.shape[0];
}

/* The dialect stays, and what was said of one graph does not hold for the next. */
static void test_builder_again(berth_engine* engine) {
  berth_builder* builder = NULL;
  OK(berth_builder_new(BERTH_TEXT("g"), BERTH_TEXT("onnx"), &builder));
  OK(berth_builder_no_fold(builder));
  CHECK(placed_of_three(engine, builder) == 3);
  CHECK(placed_of_three(engine, builder) == 2);
  berth_release(builder);
}

static void test_place(berth_engine* engine) {
  berth_graph* graph = diamond();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_result *result = NULL, *again = NULL;
  berth_problem_options choices = BERTH_PROBLEM_OPTIONS_INIT;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  const berth_option rounds = {BERTH_TEXT("rounds"), BERTH_TEXT("3")};
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_transfer transfers[8];
  berth_text name, kind, said;
  size_t count = 0;
  int asked = 0;

  OK(berth_cluster_new(NULL, text(kCluster), &cluster));
  CHECK(berth_cluster_device_count(cluster) == 3);
  OK(berth_cluster_device(cluster, 2, &name, &kind));
  CHECK(contains(name, "cpu:0") && contains(kind, "cpu"));

  choices.cost = costs_by_kind;
  choices.user = &asked;
  choices.constraints = BERTH_TEXT("[{\"pin\": \"join\", \"to\": \"gpu:1\"}]");
  OK(berth_problem_new(engine, graph, cluster, &choices, &problem));
  CHECK(asked == 8);

  options.policy = BERTH_TEXT("cheapest");
  options.options = &rounds;
  options.option_count = 1;
  options.seed = 7;
  options.threads = 1;
  OK(berth_place(engine, problem, &options, &result));
  const int32_t* devices = berth_result_devices(result, &count);
  CHECK(count == 4);
  CHECK(devices[0] != 2); /* the callback says that a cpu cannot run it */
  CHECK(devices[3] == 1); /* pinned */
  OK(berth_result_summary(result, &summary));
  CHECK(summary.feasible == 1);
  CHECK(summary.objective_us > 0 && summary.bound_us <= summary.objective_us);
  CHECK(summary.best_single_us > 0 || summary.best_single_device == -1);
  OK(berth_result_transfers(result, sizeof transfers[0], transfers, 8, &count));
  CHECK((int64_t)count == summary.transfer_count);
  OK(berth_result_text(result, BERTH_TEXT_NOTES, &said));
  CHECK(contains(said, "every group is where it is cheapest"));
  OK(berth_result_text(result, BERTH_TEXT_PLACEMENT, &said));
  CHECK(contains(said, "berth.placement/1"));
  OK(berth_result_text(result, BERTH_TEXT_SVG, &said));
  CHECK(contains(said, "<svg"));
  OK(berth_result_text(result, BERTH_TEXT_TRACE, &said));
  CHECK(contains(said, "start"));
  OK(berth_result_text(result, BERTH_TEXT_REPORT, &said));
  CHECK(contains(said, "one step"));
  OK(berth_result_text(result, BERTH_TEXT_POLICY, &said));
  CHECK(strcmp(said.data, "cheapest") == 0);
  OK(berth_result_text(result, BERTH_TEXT_BOUND_SOURCE, &said));
  OK(berth_result_explain(result, 1, &said));
  CHECK(contains(said, "left is on gpu:"));

  /* The bound is worth as much work as is asked for; since 2. */
  options.bound = BERTH_TEXT("none");
  OK(berth_place(engine, problem, &options, &again));
  berth_summary unbounded = BERTH_SUMMARY_INIT;
  OK(berth_result_summary(again, &unbounded));
  CHECK(unbounded.bound_us == 0 && summary.bound_us > 0);
  berth_release(again);
  options.bound = BERTH_TEXT("some");
  REFUSED(BERTH_INVALID_ARGUMENT, "no effort for a bound 'some'",
          berth_place(engine, problem, &options, &again));

  /* What it gives by itself is what it gives when evaluated. */
  OK(berth_evaluate(problem, devices, 4, &again));
  const double objective_us = summary.objective_us;
  OK(berth_result_summary(again, &summary));
  CHECK(summary.objective_us == objective_us);

  /* Objects keep alive what they were made from. */
  berth_release(graph);
  berth_release(cluster);
  berth_release(problem);
  OK(berth_result_explain(result, 0, &said));
  berth_release(result);
  berth_release(again);
}

/* No op is on a device that does not run it by what the machine's description says of it. */
static void test_what_devices_run(berth_engine* engine) {
  static const char* const kPhone =
      "{\"format\":\"berth.cluster/1\",\"name\":\"phone\",\"devices\":["
      "{\"name\":\"npu:0\",\"kind\":\"npu\",\"flops\":1e13,"
      "\"memory_bandwidth_bytes_per_s\":1e12,\"runs\":{\"types\":[\"Conv\"]}},"
      "{\"name\":\"cpu:0\",\"kind\":\"cpu\",\"flops\":1e11,"
      "\"memory_bandwidth_bytes_per_s\":1e11,\"host\":true}],"
      "\"links\":[{\"src\":\"*\",\"dst\":\"*\",\"bandwidth_bytes_per_s\":1e10,\"latency_us\":1}]}";
  static const char* const kAlone =
      "{\"format\":\"berth.cluster/1\",\"name\":\"chip\",\"devices\":["
      "{\"name\":\"npu:0\",\"kind\":\"npu\",\"flops\":1e13,"
      "\"memory_bandwidth_bytes_per_s\":1e12,\"runs\":{\"types\":[\"Conv\"]}}],\"links\":[]}";
  berth_graph* graph = diamond();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_result* result = NULL;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  size_t count = 0;
  OK(berth_cluster_new(NULL, text(kPhone), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  options.policy = BERTH_TEXT("cheapest");
  OK(berth_place(engine, problem, &options, &result));
  const int32_t* devices = berth_result_devices(result, &count);
  for (size_t op = 0; op < count; ++op) CHECK(devices[op] == 1);
  berth_release(result);
  berth_release(problem);
  berth_release(cluster);
  OK(berth_cluster_new(NULL, text(kAlone), &cluster));
  REFUSED(BERTH_INFEASIBLE, "npu runs no op of type 'Op'",
          berth_problem_new(engine, graph, cluster, NULL, &problem));
  berth_release(cluster);
  berth_release(graph);
}

/* The word "here" is this machine, also in settings. */
static void test_here(void) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  berth_cluster* set = NULL;
  berth_text name, kind;
  OK(berth_cluster_new(NULL, BERTH_TEXT("here"), &cluster));
  OK(berth_cluster_device(cluster, 0, &name, &kind));
  CHECK(contains(name, "cpu:0"));
  options.settings = BERTH_TEXT("{\"format\": \"berth.settings/1\", \"cluster\": \"here\"}");
  options.no_environment = 1;
  OK(berth_engine_new(&options, &engine));
  OK(berth_cluster_new(engine, BERTH_TEXT(""), &set));
  CHECK(berth_cluster_device_count(set) == berth_cluster_device_count(cluster));
  berth_release(set);
  berth_release(cluster);
  berth_release(engine);
}

static void test_compare_and_cancel(berth_engine* engine) {
  berth_graph* graph = diamond();
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  const berth_text policies[] = {BERTH_TEXT("cheapest"), BERTH_TEXT("no_such_policy")};
  berth_result* results[2] = {NULL, NULL};
  berth_status statuses[2];
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_text messages;
  int asked = 0;
  OK(berth_cluster_new(NULL, BERTH_TEXT("k80x2"), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  options.should_stop = stop_at_once;
  options.user = &asked;
  OK(berth_compare(engine, problem, policies, 2, &options, results, statuses, &messages));
  CHECK(statuses[0] == BERTH_OK && results[0] != NULL);
  CHECK(statuses[1] == BERTH_NOT_FOUND && results[1] == NULL);
  CHECK(contains(messages, "no_such_policy: no policy"));
  CHECK(asked > 0);
  OK(berth_result_summary(results[0], &summary));
  CHECK(summary.end == BERTH_END_CANCELLED || summary.end == BERTH_END_PROVEN);

  /* A name that is there twice has two results. */
  const berth_text twice[] = {BERTH_TEXT("cheapest"), BERTH_TEXT("cheapest")};
  berth_result* both[2] = {NULL, NULL};
  OK(berth_compare(engine, problem, twice, 2, NULL, both, statuses, NULL));
  CHECK(both[0] != NULL && both[1] != NULL && both[0] != both[1]);
  berth_release(both[0]);
  berth_release(both[1]);

  /* Fallbacks are asked in order. */
  const berth_text fallbacks[] = {BERTH_TEXT("missing"), BERTH_TEXT("cheapest")};
  berth_result* result = NULL;
  berth_text said;
  options.policy = BERTH_TEXT("absent");
  options.fallbacks = fallbacks;
  options.fallback_count = 2;
  options.should_stop = NULL;
  OK(berth_place(engine, problem, &options, &result));
  OK(berth_result_text(result, BERTH_TEXT_POLICY, &said));
  CHECK(strcmp(said.data, "cheapest") == 0);
  OK(berth_result_text(result, BERTH_TEXT_NOTES, &said));
  CHECK(contains(said, "'missing' was asked instead"));
  berth_release(result);
  berth_release(results[0]);
  berth_release(problem);
  berth_release(cluster);
  berth_release(graph);
}

static void test_settings(void) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  berth_text json;
  options.settings = BERTH_TEXT(
      "{\"format\": \"berth.settings/1\", \"cluster\": \"k80x2\", \"policy\": \"single\","
      " \"plugins\": []}");
  options.no_environment = 1;
  OK(berth_engine_new(&options, &engine));
  OK(berth_engine_describe(engine, &json));
  CHECK(contains(json, "\"k80x2\"") && contains(json, "the settings"));
  OK(berth_cluster_new(engine, BERTH_TEXT(""), &cluster));
  CHECK(berth_cluster_device_count(cluster) == 3);
  berth_release(cluster);
  berth_release(engine);
}

int main(void) {
  const berth_policy_option kOptions[] = {
      {BERTH_TEXT("rounds"), BERTH_TEXT("1"), BERTH_TEXT("passes")}};
  berth_engine* engine = NULL;
  berth_policy policy = BERTH_POLICY_INIT;
  int calls = 0;
  CHECK(berth_abi() >= 1);
  CHECK(berth_version().size > 0);
  OK(berth_engine_new(NULL, &engine));
  policy.name = BERTH_TEXT("cheapest");
  policy.version = BERTH_TEXT("1");
  policy.description = BERTH_TEXT("each group where it is cheapest");
  policy.options = kOptions;
  policy.option_count = 1;
  policy.place = place_cheapest;
  policy.destroy = count_destroyed;
  policy.user = &calls;
  OK(berth_engine_register(engine, &policy));

  test_graph();
  test_bulk();
  test_builder_again(engine);
  test_place(engine);
  test_compare_and_cancel(engine);
  test_settings();
  test_what_devices_run(engine);
  test_here();

  CHECK(calls == 7);
  berth_release(engine);
  CHECK(calls == -1); /* destroyed with its engine */
  if (failures == 0) puts("all is well");
  return failures == 0 ? 0 : 1;
}
