// Berth inside a toolchain: a placement pass of a compiler.
//
// The "compiler" has a small two-branch network in its own IR, and its own cost estimates. It gives
// both to Berth, asks a named policy for a placement, and reads back the device of every op.
//
//   usage: compiler_pass [POLICY]        (default: topo)

#include <berth/berth.h>

#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace {

/// An instruction as the compiler knows it.
struct Instruction {
  std::string name;
  std::string opcode;
  std::vector<std::string> operands;
  std::int64_t result_bytes;
  std::int64_t weight_bytes;
  double gpu_us;
  double cpu_us;
};

//            +-> a1 -> a2 -+
//   input -> |             +-> join -> output
//            +-> b1 -> b2 -+
const std::vector<Instruction> kProgram = {
    {"input", "param", {}, 4 << 20, 0, 5, 5},
    {"a1", "dot", {"input"}, 2 << 20, 64 << 20, 900, 9000},
    {"a2", "dot", {"a1"}, 2 << 20, 64 << 20, 900, 9000},
    {"b1", "dot", {"input"}, 2 << 20, 64 << 20, 800, 8000},
    {"b2", "dot", {"b1"}, 2 << 20, 64 << 20, 800, 8000},
    {"join", "add", {"a2", "b2"}, 2 << 20, 0, 40, 200},
    {"output", "result", {"join"}, 0, 0, 0, 0},
};

std::shared_ptr<const berth::Graph> lower_to_berth(const std::vector<Instruction>& program) {
  berth::GraphBuilder builder("two_branches");
  std::map<std::string, berth::TensorId> value_of;
  for (const Instruction& instruction : program) {
    const berth::OpId op = builder.add_op(instruction.name, instruction.opcode);
    for (const std::string& operand : instruction.operands) {
      builder.add_input(op, value_of.at(operand));
    }
    berth::TensorInfo result;
    result.bytes = instruction.result_bytes;
    value_of[instruction.name] = builder.add_output(op, result);
    builder.set_param_bytes(op, instruction.weight_bytes);
    builder.set_cost(op, "gpu", instruction.gpu_us);
    builder.set_cost(op, "cpu", instruction.cpu_us);
  }
  return builder.build();
}

std::shared_ptr<const berth::Cluster> describe_machine() {
  std::vector<berth::Device> devices(3);
  for (int i = 0; i < 2; ++i) {
    devices[i].name = "gpu:" + std::to_string(i);
    devices[i].kind = "gpu";
    devices[i].memory_bytes = std::int64_t{16} << 30;
    devices[i].op_overhead_us = 5;
  }
  devices[2].name = "cpu:0";
  devices[2].kind = "cpu";
  devices[2].host = true;
  return std::make_shared<const berth::Cluster>(
      "workstation", devices, std::vector<berth::LinkSpec>{{"*", "*", 12e9, 10, {}}});
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string policy_name = argc > 1 ? argv[1] : "topo";

  const auto graph = lower_to_berth(kProgram);
  const auto cluster = describe_machine();
  const auto costs = berth::Costs::stated(*graph, *cluster);
  const auto problem = std::make_shared<const berth::Problem>(graph, cluster, costs);

  berth::Engine engine;
  const auto policy = engine.make_policy(policy_name);
  const auto evaluator = berth::make_simulation_evaluator(problem);
  berth::PlaceContext context;
  context.seed = 1;
  const berth::PlaceResult result =
      berth::place(*policy, *evaluator, context, std::numeric_limits<double>::infinity());

  for (const Instruction& instruction : kProgram) {
    const berth::OpId op = graph->find_op(instruction.name).value();
    std::printf("%-8s -> %s\n", instruction.name.c_str(),
                cluster->device(result.placement[op]).name.c_str());
  }
  std::printf("%s: %.0f us a step, %.0f us on %s, no placement is below %.0f us\n",
              policy_name.c_str(), result.evaluation.runtime_us,
              result.best_single.evaluation.runtime_us,
              berth::single_device_text(*problem, result.best_single).c_str(), result.bound.us);
  return 0;
} catch (const berth::Error& error) {
  std::fprintf(stderr, "compiler_pass: %s\n", error.what());
  return 1;
}
