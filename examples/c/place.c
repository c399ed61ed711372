/* A program in C that places a graph of its own: two branches that meet.
 *
 *   cc place.c $(pkg-config --cflags --libs berth_c) && ./a.out [policy]
 */
#include <berth/c.h>
#include <stdio.h>
#include <string.h>

static int failed(const char* what) {
  const berth_text why = berth_message();
  fprintf(stderr, "%s: %.*s\n", what, (int)why.size, why.data);
  return 1;
}

/* Adds an op with one output of `bytes` bytes; -1 if that fails. */
static int32_t add(berth_builder* builder, const char* name, double us, int64_t bytes,
                   const int32_t* inputs, int count, int32_t* output) {
  const berth_text text = {name, strlen(name)};
  berth_tensor tensor = BERTH_TENSOR_INIT;
  int32_t op = -1;
  tensor.bytes = bytes;
  if (berth_builder_op(builder, text, BERTH_TEXT("Layer"), &op) != BERTH_OK) return -1;
  if (berth_builder_cost(builder, op, BERTH_TEXT(""), us) != BERTH_OK) return -1;
  if (berth_builder_output(builder, op, &tensor, output) != BERTH_OK) return -1;
  for (int i = 0; i < count; ++i) {
    if (berth_builder_input(builder, op, inputs[i]) != BERTH_OK) return -1;
  }
  return op;
}

static berth_graph* make_graph(void) {
  static const char* const kNames[] = {"a0", "a1", "a2", "b0", "b1", "b2"};
  berth_builder* builder = NULL;
  berth_graph* graph = NULL;
  int32_t outputs[6], joined = -1;
  if (berth_builder_new(BERTH_TEXT("branches"), BERTH_TEXT(""), &builder) != BERTH_OK) return NULL;
  int good = 1;
  for (int i = 0; i < 6; ++i) {
    const int follows = i % 3 > 0;
    good = good && add(builder, kNames[i], 1000, 1 << 20, follows ? &outputs[i - 1] : NULL, follows,
                       &outputs[i]) >= 0;
  }
  const int32_t ends[] = {outputs[2], outputs[5]};
  good = good && add(builder, "join", 50, 1 << 10, ends, 2, &joined) >= 0;
  if (good) (void)berth_builder_finish(builder, &graph);
  berth_release(builder);
  return graph;
}

int main(int argc, char** argv) {
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  berth_problem* problem = NULL;
  berth_result* result = NULL;
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  berth_text report, name;
  size_t count = 0;

  if (berth_engine_new(NULL, &engine) != BERTH_OK) return failed("engine");
  berth_graph* graph = make_graph();
  if (graph == NULL) return failed("graph");
  if (berth_cluster_new(engine, BERTH_TEXT("k80x2"), &cluster) != BERTH_OK) return failed("cluster");
  if (berth_problem_new(engine, graph, cluster, NULL, &problem) != BERTH_OK) return failed("problem");
  if (argc > 1) {
    options.policy.data = argv[1];
    options.policy.size = strlen(argv[1]);
  } else {
    options.policy = BERTH_TEXT("topo");
  }
  if (berth_place(engine, problem, &options, &result) != BERTH_OK) return failed("place");

  const int32_t* devices = berth_result_devices(result, &count);
  for (size_t op = 0; op < count; ++op) {
    (void)berth_graph_op_name(graph, (int32_t)op, &name);
    printf("%-5.*s ", (int)name.size, name.data);
    (void)berth_cluster_device(cluster, devices[op], &name, NULL);
    printf("-> %.*s\n", (int)name.size, name.data);
  }
  if (berth_result_text(result, BERTH_TEXT_REPORT, &report) != BERTH_OK) return failed("report");
  fputs(report.data, stdout);

  berth_release(result);
  berth_release(problem);
  berth_release(cluster);
  berth_release(graph);
  berth_release(engine);
  return 0;
}
