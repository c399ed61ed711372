/* Tests what the C ABI has beyond its first version, whose client (kept/) is built against today's header,
 * too, and runs. */
#include "check.h"

/* Each group goes where it is cheapest. */
static berth_status place_cheapest(void* user, berth_search* search, int32_t* devices) {
  (void)user;
  for (int32_t group = 0; group < search->group_count; ++group) {
    const double* costs = search->cost_us + group * search->device_count;
    devices[group] = 0;
    for (int32_t device = 1; device < search->device_count; ++device) {
      if (costs[device] < costs[devices[group]]) devices[group] = device;
    }
  }
  return BERTH_OK;
}

static berth_problem* problem_on(berth_engine* engine, const berth_graph* graph,
                                 const char* machine) {
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  OK(berth_cluster_new(NULL, text(machine), &cluster));
  OK(berth_problem_new(engine, graph, cluster, NULL, &problem));
  berth_release(cluster);
  return problem;
}

static berth_graph* two_ops(void) {
  const berth_text names[] = {BERTH_TEXT("start"), BERTH_TEXT("end")};
  const berth_text types[] = {BERTH_TEXT("Op"), BERTH_TEXT("Op")};
  const int64_t bytes[] = {1 << 20, 1 << 20};
  const int32_t src = 0, dst = 1;
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  int32_t first;
  OK(berth_builder_new(BERTH_TEXT("two"), BERTH_TEXT(""), &builder));
  OK(berth_builder_ops(builder, 2, names, types, NULL, bytes, NULL, &first));
  OK(berth_builder_edges(builder, 1, &src, &dst));
  OK(berth_builder_finish(builder, &graph));
  berth_release(builder);
  return graph;
}

/* Groups of a graph of three ops, the first of which is known to be pure and reads a parameter. */
static int64_t placed_of_three(berth_engine* engine, berth_builder* builder) {
  berth_tensor tensor = BERTH_TENSOR_INIT;
  berth_array groups = BERTH_ARRAY_INIT;
  berth_graph* graph = NULL;
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
  berth_problem* problem = problem_on(engine, graph, "k80x2");
  OK(berth_problem_array(problem, BERTH_TEXT("param_bytes"), &groups));
  berth_release(problem);
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

/* The bound is worth as much work as is asked for. */
static void test_bound(berth_engine* engine) {
  berth_graph* graph = two_ops();
  berth_problem* problem = problem_on(engine, graph, "k80x2");
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_summary summary = BERTH_SUMMARY_INIT;
  berth_result* result = NULL;
  options.policy = BERTH_TEXT("cheapest");
  OK(berth_place(engine, problem, &options, &result));
  OK(berth_result_summary(result, &summary));
  CHECK(summary.bound_us > 0);
  berth_release(result);
  options.bound = BERTH_TEXT("none");
  OK(berth_place(engine, problem, &options, &result));
  OK(berth_result_summary(result, &summary));
  CHECK(summary.bound_us == 0);
  berth_release(result);
  options.bound = BERTH_TEXT("some");
  REFUSED(BERTH_INVALID_ARGUMENT, "no effort for a bound 'some'",
          berth_place(engine, problem, &options, &result));
  berth_release(problem);
  berth_release(graph);
}

/* A name that is there twice has two results. */
static void test_compare_twice(berth_engine* engine) {
  berth_graph* graph = two_ops();
  berth_problem* problem = problem_on(engine, graph, "k80x2");
  const berth_text twice[] = {BERTH_TEXT("cheapest"), BERTH_TEXT("cheapest")};
  berth_result* both[2] = {NULL, NULL};
  berth_status statuses[2];
  OK(berth_compare(engine, problem, twice, 2, NULL, both, statuses, NULL));
  CHECK(both[0] != NULL && both[1] != NULL && both[0] != both[1]);
  berth_release(both[0]);
  berth_release(both[1]);
  berth_release(problem);
  berth_release(graph);
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
  berth_graph* graph = two_ops();
  berth_problem* problem = problem_on(engine, graph, kPhone);
  berth_cluster* cluster = NULL;
  berth_result* result = NULL;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  size_t count = 0;
  options.policy = BERTH_TEXT("cheapest");
  OK(berth_place(engine, problem, &options, &result));
  const int32_t* devices = berth_result_devices(result, &count);
  for (size_t op = 0; op < count; ++op) CHECK(devices[op] == 1);
  berth_release(result);
  berth_release(problem);
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

static void test_one_setting(void) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_text json;
  options.settings =
      BERTH_TEXT("{\"format\": \"berth.settings/1\", \"policy\": \"single\", \"plugins\": []}");
  options.no_environment = 1;
  OK(berth_engine_new(&options, &engine));
  OK(berth_engine_setting(engine, BERTH_TEXT("policy"), &json));
  CHECK(contains(json, "\"single\""));
  OK(berth_engine_setting(engine, BERTH_TEXT("bound"), &json));
  CHECK(json.size == 0);
  CHECK(berth_engine_setting(engine, BERTH_TEXT("boundd"), &json) == BERTH_INVALID_ARGUMENT);
  berth_release(engine);
}

int main(void) {
  berth_engine* engine = NULL;
  berth_policy policy = BERTH_POLICY_INIT;
  OK(berth_engine_new(NULL, &engine));
  policy.name = BERTH_TEXT("cheapest");
  policy.version = BERTH_TEXT("1");
  policy.description = BERTH_TEXT("each group where it is cheapest");
  policy.place = place_cheapest;
  OK(berth_engine_register(engine, &policy));

  test_builder_again(engine);
  test_bound(engine);
  test_compare_twice(engine);
  test_what_devices_run(engine);
  test_here();
  test_one_setting();

  berth_release(engine);
  if (failures == 0) puts("all is well");
  return failures == 0 ? 0 : 1;
}
