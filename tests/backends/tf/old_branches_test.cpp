// Branches written with Switch and Merge, on two devices, against what TensorFlow computed; see make_control_flow.py.
#include <ATen/Functions.h>

#include "berth/sdk/random.h"
#include "cpu/backend.h"
#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using tf_frontend::attr;
using tf_frontend::node;
using tf_frontend::placeholder;

std::unique_ptr<Backend> two_devices() {
  Options options(cpu::kOptions);
  options.set("backend 'cpu'", "devices", std::int64_t{2});
  return std::make_unique<cpu::CpuBackend>(options);
}

TensorContent condition(bool value) {
  TensorContent content;
  content.dtype = DType::boolean;
  const auto owner = std::make_shared<std::byte>(std::byte{value});
  content.bytes = {owner.get(), 1};
  content.owner = owner;
  return content;
}

/// Every class of co-location somewhere.
Placement placement_of(const Graph& graph, std::uint64_t seed) {
  Random random(seed);
  std::map<std::string, DeviceId> of_class;
  Placement placement;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto any = static_cast<DeviceId>(seed == 0 ? 0 : random.below(2));
    const std::string& name = graph.colocation(op);
    placement.push_back(name.empty() ? any : of_class.try_emplace(name, any).first->second);
  }
  return placement;
}

/// Outputs by name in a step where these are the conditions.
std::map<std::string, at::Tensor> step(Backend& backend,
                                       const std::shared_ptr<const Program>& program, int taken,
                                       const Placement& placement) {
  SessionOptions given;
  given.inputs["first"] = condition(taken % 2 == 1);
  given.inputs["second"] = condition(taken / 2 == 1);
  const auto session = backend.open(program, given);
  StepOptions options;
  options.outputs = true;
  std::map<std::string, at::Tensor> values;
  const StepResult result = session->run(placement, options);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    if (result.outputs[i].dtype != DType::f32) continue;
    values[program->output_names[i]] = make_tensor(result.outputs[i]).clone();
  }
  return values;
}

TEST_CASE("old branches compute what TensorFlow computes, wherever their ops are") {
  const auto path = test::source_path("tests/backends/tf/old_branches.pb.gz");
  std::vector<std::string> fetches;
  const auto all = load_tf(path, {"all"});
  for (const Instruction& each : all->instructions) {
    const bool is_case = each.name.find("/out_") != std::string::npos;
    if (is_case || each.name.find("/expected_") != std::string::npos)
      fetches.push_back(each.name + ":0");
  }
  const auto program = load_tf(path, fetches);
  const auto backend = two_devices();
  int compared = 0;
  for (int taken = 0; taken < 4; ++taken) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CAPTURE(taken);
      CAPTURE(seed);
      const auto values = step(*backend, program, taken, placement_of(*program->graph, seed));
      const std::string expected = "/expected_" + std::to_string(taken) + "_";
      for (const auto& [name, value] : values) {
        const std::size_t at = name.find("/out_");
        if (at == std::string::npos) continue;
        const std::string other = name.substr(0, at) + expected + name.substr(at + 5);
        REQUIRE_MESSAGE(values.contains(other), other);
        CHECK_MESSAGE(difference(value, values.at(other)) <= 2e-5, name);
        ++compared;
      }
    }
  }
  CHECK(compared == 12 * 12);
}

std::shared_ptr<const Program> program_of(const std::string& text,
                                          const std::vector<std::string>& fetches) {
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", text);
  return load_tf(folder / "graph.pbtxt", fetches);
}

TEST_CASE("a session takes one branch in one step and the other in the next") {
  const std::string kinds = tf_frontend::kFloats;
  const auto program = program_of(
      placeholder("x", {2}) + placeholder("a", {}) + placeholder("b", {}) +
          node("is_less", "Less", "a b", kinds) + node("sides", "Switch", "x is_less", kinds) +
          node("negative", "Neg", "sides", kinds) +
          node("doubled", "Add", "sides:1 sides:1", kinds) +
          node("result", "Merge", "negative doubled", kinds + attr("N", "i: 2")),
      {"result:0", "x:0", "a:0", "b:0"});
  const auto backend = two_devices();
  const auto session = backend->open(program, {});
  StepOptions options;
  options.outputs = true;
  int less = 0;
  for (options.seed = 0; options.seed < 12; ++options.seed) {
    CAPTURE(options.seed);
    const StepResult result = session->run(placement_of(*program->graph, 1), options);
    REQUIRE(result.outputs.size() == 4);
    const at::Tensor got = make_tensor(result.outputs[0]), x = make_tensor(result.outputs[1]);
    const bool is_less = make_tensor(result.outputs[2]).item().toFloat() <
                         make_tensor(result.outputs[3]).item().toFloat();
    CHECK(at::equal(got, is_less ? at::add(x, x) : at::neg(x)));
    less += is_less ? 1 : 0;
  }
  CHECK(less > 0);
  CHECK(less < 12);
}

TEST_CASE("what a Merge cannot decide it says") {
  const auto program =
      program_of(placeholder("x", {2}) + placeholder("y", {2}) +
                     node("both", "Merge", "x y", tf_frontend::kFloats + attr("N", "i: 2")),
                 {"both:0"});
  const auto backend = two_devices();
  const auto session = backend->open(program, {});
  test::expect_error(ErrorCode::unsupported, {"'both'", "several"}, [&] {
    static_cast<void>(session->run({0, 0, 0}, {}));
  });
}

}  // namespace
}  // namespace berth::runtime
