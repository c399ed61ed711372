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

TEST_CASE("a view in a body takes nothing, and what it is of stays until it was read") {
  // a (400) -> view -> b (100) -> c, which reads the view too, and gives the result.
  const auto most = [](bool view) {
    GraphBuilder builder("body");
    const auto made = [&](const char* name, std::int64_t bytes) {
      TensorInfo info;
      info.bytes = bytes;
      return builder.add_output(builder.add_op(name, "Op"), info);
    };
    const TensorId a = made("a", 400), shaped = made("view", 400), b = made("b", 100);
    const TensorId c = made("c", 30);
    builder.add_input(1, a);
    builder.add_input(2, shaped);
    builder.add_input(3, b);
    builder.add_input(3, shaped);
    builder.add_result(c);
    if (view) builder.set_attribute(1, "view", std::int64_t{1});
    const auto graph = builder.build();
    return work_in_turn(*graph, graph->topological_order()).workspace_bytes;
  };
  CHECK(most(false) == 400 + 400);
  CHECK(most(true) == 400 + 100);
}

}  // namespace
}  // namespace berth::test
