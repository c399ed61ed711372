// A caller that allows one thread gets one: policies that do not learn start no other, whatever the
// libraries below them would do. Counts every thread of its process, so it is a program of its own.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <memory>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/sdk/learning.h"
#include "support/paths.h"
#include "support/random_problem.h"

namespace {
std::atomic<int> threads_started = 0;
}

// Found before the C library's own by every library of the process.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  ++threads_started;
  return create(thread, attributes, run, argument);
}

using namespace berth;

TEST_CASE("policies on one thread start none") {
  Engine engine({test::plugin_folder()});
  Random random(17);
  const auto graph = test::random_graph(random, {.ops = 30});
  // Links of their own figures each: the machine is a graph, which Scotch works on too.
  const auto cluster = test::random_cluster(random, {.devices = 4, .kinds = 2});
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, test::random_costs(random, *graph, *cluster), nullptr);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  for (const PluginInfo& info : engine.plugins()) {
    if (info.kind != PluginKind::policy) continue;
    const auto policy = engine.make_policy(info.name, {});
    if (dynamic_cast<LearnedPolicy*>(policy.get()) != nullptr) continue;
    CAPTURE(info.name);
    PlaceContext context;
    context.threads = 1;
    constexpr double kBudget_s = 0.05;  // a limit: what is counted does not depend on it
    const int before = threads_started;
    static_cast<void>(place(*policy, *evaluator, context, kBudget_s));
    CHECK(threads_started == before);
  }
}
