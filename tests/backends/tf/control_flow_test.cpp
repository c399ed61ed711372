// Branches, loops and lists against what TensorFlow computed; see make_control_flow.py.
#include <ATen/TensorOperators.h>

#include <string>

#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/data.h"
#include "support/temporary_folder.h"

namespace berth::runtime {
namespace {

using tf_frontend::node;
using tf_frontend::placeholder;

TEST_CASE(
    "branches, loops and lists compute what TensorFlow computes, and again in the next step") {
  Stepper stepper(load_tf(test::source_path("tests/backends/tf/control_flow.pb.gz"), {"all"}));
  for (int step = 0; step < 2; ++step) {
    CAPTURE(step);
    stepper.state.variables.clear();  // as TensorFlow began
    stepper.run();
    int compared = 0;
    for (const Instruction& each : stepper.program().instructions) {
      const std::size_t at = each.name.find("/expected_");
      if (at == std::string::npos) continue;
      const std::string given = each.name.substr(0, at) + "/out_" + each.name.substr(at + 10);
      CHECK_MESSAGE(difference(stepper.value(given), stepper.value(each.name)) <= 2e-5, given);
      ++compared;
    }
    CHECK(compared > 35);
  }
}

TEST_CASE("a function that stands alone takes arguments and gives results") {
  const std::string kinds = tf_frontend::kFloats;
  const std::string text = node("x", "_Arg", "", tf_frontend::attr("index", "i: 0") + kinds) +
                           node("y", "Exp", "x", kinds) +
                           node("r", "_Retval", "y", tf_frontend::attr("index", "i: 0") + kinds);
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", text);
  const auto program = load_tf(folder / "graph.pbtxt", {"r"});
  CHECK(program->input_names == std::vector<std::string>{"x"});
}

TEST_CASE("a loop that cannot be executed says why") {
  const std::string frame = "attr { key: 'frame_name' value { s: 'endless' } } ";
  const std::string kinds = tf_frontend::kFloats;
  const std::string text =
      placeholder("x", {2}) + node("enter", "Enter", "x", kinds + frame) +
      node("merge", "Merge", "enter next", kinds) + node("more", "Exp", "merge", kinds) +
      node("next", "NextIteration", "more", kinds) + node("exit", "Exit", "merge", kinds);
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", text);
  const auto program = load_tf(folder / "graph.pbtxt", {"exit"});
  REQUIRE(program->graph->find_op("endless").has_value());
  CHECK(program->instructions[static_cast<std::size_t>(*program->graph->find_op("endless"))]
            .obstacle == "it is a loop without a condition");
}

}  // namespace
}  // namespace berth::runtime
