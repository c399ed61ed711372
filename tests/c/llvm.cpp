// berth/c.h as a compiler built like LLVM sees it: C++17 without exceptions and RTTI. A wrong name of a
// policy is a status, and a plugin's macro is understood.
#include <berth/c.h>

#include <cstdio>
#include <string>

static berth_status place_first(void*, berth_search* search, int32_t* devices) {
  for (int32_t group = 0; group < search->group_count; ++group) devices[group] = 0;
  return BERTH_OK;
}
BERTH_POLICY_PLUGIN(BERTH_TEXT_INIT("first"), BERTH_TEXT_INIT("1"), BERTH_TEXT_INIT("all on one"),
                    nullptr, 0, place_first, nullptr, nullptr);

static int failed(const char* what) {
  std::printf("%s: %s\n", what, berth_message().data);
  return 1;
}

int main() {
  berth_engine* engine = nullptr;
  berth_builder* builder = nullptr;
  berth_graph* graph = nullptr;
  berth_cluster* cluster = nullptr;
  berth_problem* problem = nullptr;
  berth_result* result = nullptr;
  int32_t op = 0;
  if (berth_engine_new(nullptr, &engine) != BERTH_OK) return failed("engine");
  if (berth_builder_new(BERTH_TEXT("one"), BERTH_TEXT(""), &builder) != BERTH_OK ||
      berth_builder_op(builder, BERTH_TEXT("op"), BERTH_TEXT("Op"), &op) != BERTH_OK ||
      berth_builder_cost(builder, op, BERTH_TEXT(""), 1) != BERTH_OK ||
      berth_builder_finish(builder, &graph) != BERTH_OK) {
    return failed("graph");
  }
  if (berth_cluster_new(engine, BERTH_TEXT("k80x2"), &cluster) != BERTH_OK)
    return failed("cluster");
  if (berth_problem_new(engine, graph, cluster, nullptr, &problem) != BERTH_OK) {
    return failed("problem");
  }
  berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
  options.policy = BERTH_TEXT("frist");
  if (berth_place(engine, problem, &options, &result) != BERTH_NOT_FOUND)
    return failed("no status");
  if (std::string(berth_message().data).find("no policy 'frist'") == std::string::npos) {
    return failed("no words");
  }
  // The table of a plugin's file is a policy in process as well.
  options.policy = berth_c_plugin.policy.name;
  if (berth_engine_register(engine, &berth_c_plugin.policy) != BERTH_OK) return failed("register");
  if (berth_place(engine, problem, &options, &result) != BERTH_OK) return failed("place");
  for (void* object :
       {static_cast<void*>(result), static_cast<void*>(problem), static_cast<void*>(cluster),
        static_cast<void*>(graph), static_cast<void*>(builder), static_cast<void*>(engine)}) {
    berth_release(object);
  }
  return 0;
}
