// Whole training graphs: one small enough to compare with TensorFlow, and the benchmark's.
#include <ATen/ops/ones.h>

#include <cmath>

#include "step.h"
#include "support/data.h"

namespace berth::runtime {
namespace {

std::filesystem::path example(const std::string& name) {
  return test::source_path("examples/models/tf") / name;
}

TEST_CASE("three steps of training as TensorFlow takes them") {
  // By the kernels of constants: initial/V, first/V, feed/P and losses; see make_cases.py.
  Stepper reference(load_tf(test::source_path("tests/backends/tf/training_steps.pb.gz"), {"all"}));
  reference.run();
  Stepper stepper(load_tf(example("nmt_tiny.pb"), {"loss/total:0", "train/train_op"}));
  std::map<std::string, at::Tensor> feeds;
  for (const std::string& name : stepper.program().input_names) {
    feeds[name] = reference.value("feed/" + name);
    REQUIRE(feeds[name].defined());
  }
  int variables = 0;
  for (const Instruction& each : stepper.program().instructions) {
    if (each.type != "VariableV2") continue;
    const at::Tensor initial = reference.value("initial/" + each.name);
    REQUIRE(initial.defined());
    stepper.set_variable(each.name, initial);
    ++variables;
  }
  CHECK(variables == 17);
  const at::Tensor losses = reference.value("losses");
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    stepper.run(feeds);
    const double expected = losses[step].item().toDouble();
    const double actual = stepper.value("loss/total").item().toDouble();
    MESSAGE("step ", step, ": loss ", actual, ", TensorFlow has ", expected);
    // Rounding grows from step to step: the loss halves in one.
    CHECK(std::abs(actual - expected) <= 2e-5 * expected);
    if (step > 0) continue;
    for (const auto& [name, variable] : stepper.state.variables) {
      CAPTURE(name);
      CHECK(difference(variable.tensor, reference.value("first/" + name)) <= 2e-5);
    }
  }
}

TEST_CASE("without stored values training starts from the file's own initializers") {
  Stepper stepper(load_tf(example("nmt_tiny.pb"), {"loss/total:0", "train/train_op"}));
  std::map<std::string, at::Tensor> feeds;
  for (const OpId op : stepper.program().inputs) {
    const Graph& graph = *stepper.program().graph;
    const TensorId tensor = graph.outputs(op)[0];
    feeds[graph.op_name(op)] =
        at::ones(at::IntArrayRef(graph.shape(tensor).data(), graph.shape(tensor).size()),
                 scalar_type(graph.dtype(tensor)));
  }
  double last = 0;
  for (int step = 0; step < 5; ++step) {
    stepper.run(feeds);
    const double loss = stepper.value("loss/total").item().toDouble();
    CHECK(std::isfinite(loss));
    if (step > 0) CHECK(loss < last);
    last = loss;
  }
  CHECK(stepper.state.variables.at("global_step").tensor.item().toLong() == 5);
  CHECK(stepper.state.variables.size() == 17);
}

TEST_CASE("every op of the benchmark graphs has a kernel") {
  for (const char* name : {"inception_v3_b32.pb.gz", "inception_v3_b64.pb.gz", "nasnet_b64.pb.gz",
                           "nmt_b64.pb.gz", "nmt_b256.pb.gz", "rnnlm_b64.pb.gz"}) {
    CAPTURE(name);
    const Stepper stepper(load_tf(example(name), {"loss/total:0", "train/train_op"}));
    CHECK(stepper.program().instructions.size() > 5000);
    for (const Instruction& each : stepper.program().instructions) CHECK(each.obstacle.empty());
  }
}

TEST_CASE("shared models: what their ops lack is named, and the rest has kernels") {
  if (!test::have_shared_data("looking for kernels of real TensorFlow files")) return;
  int files = 0, whole = 0;
  std::map<std::string, int> lacking;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_path("models/tf"))) {
    if (!entry.is_regular_file()) continue;
    const auto program = load_tf(entry.path());
    std::map<std::string, int> here;
    for (const Instruction& each : program->instructions) {
      if (each.type == "Placeholder" || each.type == "PlaceholderV2") continue;
      const KernelMaker maker = tf_kernels().find(each.type);
      if (maker == nullptr || !each.obstacle.empty()) {
        ++here[each.type];
        continue;
      }
      // It makes a kernel, or says what it cannot do.
      try {
        static_cast<void>(maker({*program, each, tf_kernels()}));
      } catch (const Error& refusal) {
        CHECK(static_cast<int>(refusal.code()) == static_cast<int>(ErrorCode::unsupported));
        ++here[each.type];
      }
    }
    ++files;
    whole += here.empty() ? 1 : 0;
    for (const auto& [type, count] : here) ++lacking[type];
  }
  std::string list;
  for (const auto& [type, count] : lacking) list += " " + type;
  MESSAGE(whole, " of ", files, " models can be executed; no kernel, or an obstacle, for:", list);
  CHECK(whole >= 19);
}

}  // namespace
}  // namespace berth::runtime
