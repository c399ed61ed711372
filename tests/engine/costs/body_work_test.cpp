// Ops of a body, taken as one.
#include <doctest/doctest.h>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::test {
namespace {

TEST_CASE("a body holds its tensors, and the workspace of the op that runs") {
  // input -> a -> b -> c -> result; a's tensor (400) is given up by b, b's (100) by c.
  const auto most = [](double a_holds, double b_holds, double c_holds) {
    GraphBuilder builder("body");
    const auto info = [](std::int64_t bytes) {
      TensorInfo made;
      made.bytes = bytes;
      return made;
    };
    TensorId last = builder.add_output(builder.add_op("input", "Input"), info(5000));
    const struct {
      const char* name;
      std::int64_t bytes;
      double workspace;
    } ops[] = {{"a", 400, a_holds}, {"b", 100, b_holds}, {"c", 7000, c_holds}};
    for (const auto& each : ops) {
      const OpId op = builder.add_op(each.name, "Op");
      Work work;
      work.workspace_bytes = each.workspace;
      builder.set_work(op, work);
      builder.add_input(op, last);
      last = builder.add_output(op, info(each.bytes));
    }
    builder.name_results();
    builder.add_result(last);
    const auto graph = builder.build();
    return work_in_turn(*graph, graph->topological_order()).workspace_bytes;
  };
  CHECK(most(0, 0, 0) == 400 + 100);  // neither input nor result
  CHECK(most(1000, 0, 0) == 400 + 1000);
  CHECK(most(0, 1000, 0) == 400 + 100 + 1000);
  CHECK(most(0, 0, 1000) == 100 + 1000);
  CHECK(most(200, 300, 1000) == 1100);  // not the sum of all
}

}  // namespace
}  // namespace berth::test
