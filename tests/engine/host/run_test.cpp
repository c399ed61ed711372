#include "berth/run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "berth/bounds.h"
#include "berth/engine.h"
#include "berth/files.h"
#include "berth/machines.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/ops/constants.h"
#include "support/constrained_chain.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/temporary_folder.h"

using namespace berth;
using namespace berth::test;

namespace {

/// What the policies below were given last.
struct Seen {
  int threads = -1;
  std::uint64_t seed = 0;
  std::int64_t rounds = 0;
};
Seen seen;

class First final : public Policy {
 public:
  explicit First(const Options& options) : rounds_(options.integer("rounds")) {}
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    seen = {context.threads, context.seed, rounds_};
    const Problem& problem = evaluator.problem();
    PolicyAnswer answer(Placement(static_cast<std::size_t>(problem.graph().op_count()), 0));
    answer.notes.push_back("all on the first");
    return answer;
  }

 private:
  std::int64_t rounds_;
};

class Throwing final : public Policy {
 public:
  PolicyAnswer place(Evaluator&, const PlaceContext&) override { throw 42; }
};

/// Learned that everything goes on the first device, and saw something better where it started.
class Learning final : public Policy {
 public:
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext&) override {
    const Problem& problem = evaluator.problem();
    PolicyAnswer answer(problem.groups().expand(earliest_placement(problem)));
    LearnedAnswer learned;
    learned.whose = Whose::start;
    learned.own.assign(answer.placement.size(), 0);
    learned.start = answer.placement;
    learned.start_name = "list scheduling";
    learned.weights = Weights::fresh;
    learned.updates = 40;
    answer.learned = learned;
    return answer;
  }
};
class Full final : public Policy {
 public:
  PolicyAnswer place(Evaluator&, const PlaceContext&) override {
    throw Error(ErrorCode::infeasible, "nothing fits");
  }
};
constexpr PluginDescriptor kFull = describe_plugin<Full>("full", "1", "finds nothing that fits");

constexpr PluginDescriptor kLearning =
    describe_plugin<Learning>("learning", "1", "all on the first device, as learned");

constexpr OptionSpec kOptions[] = {{"rounds", OptionType::integer, "8", "passes"}};
constexpr PluginDescriptor kFirst =
    describe_plugin<First>("first", "1", "all on the first device", kOptions);
constexpr PluginDescriptor kThrowing = describe_plugin<Throwing>("throwing", "1", "throws an int");

Task task_of_90_ops(Engine& engine, const Settings& settings) {
  return make_task(engine, layered_graph(/*seed=*/1, {.ops = 90}), equal_devices(2), settings);
}

}  // namespace

TEST_CASE("place: one call from settings to an outcome") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  const Settings settings = parse_settings(
      R"({"format": "berth.settings/1", "policy": "missing", "fallbacks": ["first"], "seed": 7,
          "threads": 3})",
      "a test");
  RunHooks hooks;
  hooks.threads = 1;  // the settings are stronger
  std::vector<std::string> told;
  hooks.note = [&](const std::string& note) { told.push_back(note); };
  const Outcome outcome = place(engine, task_of_90_ops(engine, settings), settings, hooks);
  CHECK(outcome.origin.policy == "first");
  CHECK(outcome.origin.seed == 7);
  CHECK(outcome.origin.options.at("rounds") == OptionValue(std::int64_t{8}));
  CHECK(seen.threads == 3);
  CHECK(seen.seed == 7);
  CHECK(outcome.evaluation.feasible);
  CHECK(outcome.trace.runtime_us == outcome.evaluation.runtime_us);
  CHECK(outcome.bound.us > 0);
  REQUIRE(outcome.search);
  REQUIRE(outcome.search->notes.size() == 2);
  CHECK(outcome.search->notes[0].find("'first' was asked instead") != std::string::npos);
  CHECK(outcome.search->notes[1] == "all on the first");
  CHECK(outcome.notes == outcome.search->notes);
  CHECK(told == std::vector{outcome.notes[0]});
}

TEST_CASE("a host that a machine's words left open is told where the result depends on it") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  const auto notes_of = [&](const char* words) {
    Settings settings;
    settings.policy = "first";
    settings.cluster = words;
    const Task task =
        make_task(engine, layered_graph(/*seed=*/1, {.ops = 90}), load_cluster(words), settings);
    std::vector<std::string> told;
    RunHooks hooks;
    hooks.note = [&](const std::string& note) { told.push_back(note); };
    const Outcome outcome = place(engine, task, settings, hooks);
    std::string host;
    for (const std::string& note : outcome.notes) {
      if (note.find("names no host") == std::string::npos) continue;
      host = note;
      CHECK(std::count(told.begin(), told.end(), note) == 1);
    }
    return host;
  };
  // All ops are on the first device, which is the host.
  CHECK(notes_of("2xh100") ==
        "the machine '2xh100' names no host, so that it has 'server', 384 GiB; name yours, such as "
        "2xh100+host:64GiB");
  CHECK(notes_of("2xh100+server").empty());
  CHECK(notes_of("k80x2").empty());  // a preset
}

TEST_CASE("a Mac that lacks memory for its GPU is told what gives it more") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  const auto told = [&](const char* words) {
    Settings settings;
    settings.policy = "first";
    settings.cluster = words;
    const Task task =
        make_task(engine, layered_graph(/*seed=*/1, {.ops = 90}), load_cluster(words), settings);
    const Outcome outcome = place(engine, task, settings);
    return std::count_if(outcome.notes.begin(), outcome.notes.end(), [](const std::string& note) {
      return note.find("`sudo sysctl iogpu.wired_limit_mb=N` gives it N MiB") != std::string::npos;
    });
  };
  CHECK(told("m2max:1KiB") == 1);  // nothing fits
  CHECK(told("m2max:64GiB") == 0);
  CHECK(told("orin:1KiB") == 0);
}

TEST_CASE("what a machine's words leave open, and figures in another unit, are told") {
  const auto notes_of = [](const std::string& machine) {
    Settings settings;
    settings.cluster = machine;
    const auto graph = layered_graph(/*seed=*/1, {.ops = 90});
    Engine engine({"/no/plugins"});
    return make_task(engine, graph, load_cluster(machine), settings).notes;
  };
  const auto count = [](const std::vector<std::string>& notes, const std::string& part) {
    return std::count_if(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    });
  };
  CHECK(count(notes_of("2xrtx4090+host"), "its 2 cards share the 16 PCIe lanes") == 1);
  CHECK(count(notes_of("2xrtx4090+server"), "PCIe lanes") == 0);
  const auto file = [](const char* bandwidth, const char* flops_16) {
    return std::string(R"({"format": "berth.cluster/1", "name": "m", "devices": [
      {"name": "gpu:0", "kind": "gpu", "flops": 8.26e13, "op_overhead_us": 3.5, "flops_16": )") +
           flops_16 + R"(, "memory_bandwidth_bytes_per_s": )" + bandwidth + R"(},
      {"name": "gpu:1", "kind": "gpu", "flops": 8.26e13, "op_overhead_us": 3.5, "flops_16": )" +
           flops_16 + R"(, "memory_bandwidth_bytes_per_s": )" + bandwidth + R"(}], "links": [
      {"src": "*", "dst": "*", "bandwidth_bytes_per_s": 2.5e10, "latency_us": 12}]})";
  };
  CHECK(count(notes_of(file("1.008e12", "1.652e14")), "which none has") == 0);
  const auto notes = notes_of(file("1008", "165.2"));
  CHECK(count(notes, "which none has") == 2);  // once for the two GPUs
  CHECK(count(notes,
              "device 'gpu:0' has memory_bandwidth_bytes_per_s 1008, which none has: it is in "
              "bytes/s; if GB/s are meant, write 1.008e+12") == 1);
  CHECK(count(notes, "flops_16 165.2") == 1);
}

TEST_CASE("place: the bound is worth as much work as the settings say") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  const Task task = task_of_90_ops(engine, {});
  const auto& problem = task.problem;
  const auto bound_us = [&](const std::string& effort) {
    Settings settings;
    settings.policy = "first";
    if (!effort.empty()) set_setting(settings, "bound", effort);
    const Outcome outcome = place(engine, task, settings);
    CHECK(simulated_outcome(problem, {}, outcome.placement, bound_effort(settings)).bound.us ==
          outcome.bound.us);
    return outcome.bound.us;
  };
  CHECK(bound_us("none") == 0);
  CHECK(bound_us("quick") == lower_bound(*problem).us);
  CHECK(bound_us("strong") == strong_lower_bound(*problem).us);
  CHECK(bound_us("") == bound_us("strong"));
  CHECK(bound_us("strong") >= bound_us("quick"));
  test::expect_error(ErrorCode::invalid_argument, {"'some'", "quick"},
                     [&] { static_cast<void>(bound_us("some")); });
}

TEST_CASE("compare: in order, each with its outcome or why it has none") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  engine.register_plugin(kThrowing);
  const Settings settings = parse_settings(
      R"({"format": "berth.settings/1", "policy": "first", "options": {"rounds": 2},
          "fallbacks": ["first"]})",
      "a test");
  const std::vector<std::string> names = {"throwing", "first", "missing"};
  RunHooks hooks;
  hooks.threads = 1;
  hooks.seed = 5;
  const auto compared = compare(engine, task_of_90_ops(engine, settings), names, settings, hooks);
  REQUIRE(compared.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(compared[i].policy == names[i]);
  CHECK_FALSE(compared[0].outcome);
  CHECK(compared[0].failure.find("policy 'throwing'") != std::string::npos);
  REQUIRE(compared[1].outcome);
  CHECK(compared[1].failure.empty());
  CHECK(compared[1].outcome->origin.seed == 5);
  CHECK(seen.rounds == 2);  // the settings' policy has the settings' options
  CHECK(seen.threads == 1);
  CHECK_FALSE(compared[2].outcome);
  CHECK(compared[2].code == ErrorCode::not_found);
  CHECK(compared[2].failure.find("no policy 'missing'") != std::string::npos);
}

TEST_CASE("a policy that learns: place gives the best, compare its own, both say whose it is") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  engine.register_plugin(kLearning);
  const Settings settings =
      parse_settings(R"({"format": "berth.settings/1", "policy": "learning"})", "a test");
  const Task task = task_of_90_ops(engine, settings);
  const Outcome used = place(engine, task, settings);
  const std::string whose = "the start, list scheduling; the policy's own: ";
  CHECK(used.origin.whose.find(whose) == 0);
  CHECK(used.notes.back().find("this placement is " + whose) == 0);
  const std::string file = placement_json(task.problem->graph(), task.problem->cluster(),
                                          used.placement, &used.evaluation, &used.origin);
  CHECK(file.find("\"whose\": \"" + whose) != std::string::npos);
  CHECK(file.find("\"weights\": \"fresh, 40 updates\"") != std::string::npos);

  const std::vector<std::string> names = {"first", "learning"};
  const auto compared = compare(engine, task, names, settings);
  REQUIRE(compared[1].outcome);
  const Outcome& own = *compared[1].outcome;
  CHECK(own.placement == Placement(own.placement.size(), 0));
  CHECK(own.evaluation.objective_us == compared[0].outcome->evaluation.objective_us);
  CHECK(own.evaluation.objective_us > used.evaluation.objective_us);
  CHECK(own.learned->best == used.placement);
  CHECK(own.notes.back().find("the best that it saw: ") == 0);
}

TEST_CASE("compare: a policy by several settings of its options, each an entry by its text") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFirst);
  const Settings settings = parse_settings(
      R"({"format": "berth.settings/1", "policy": "first", "options": {"rounds": 3}})", "a test");
  const Task task = task_of_90_ops(engine, settings);
  const std::vector<std::string> names = {"first", "first:rounds=5", "first:runds=5", "first:5"};
  const auto compared = compare(engine, task, names, settings);
  REQUIRE(compared.size() == 4);
  REQUIRE(compared[1].outcome);
  CHECK(compared[1].policy == "first:rounds=5");
  CHECK(compared[1].outcome->origin.policy == "first");
  CHECK(compared[0].outcome->origin.options.at("rounds") == OptionValue(std::int64_t{3}));
  CHECK(compared[1].outcome->origin.options.at("rounds") == OptionValue(std::int64_t{5}));
  CHECK(compared[2].failure.find("did you mean 'rounds'") != std::string::npos);
  CHECK(compared[3].failure.find("write NAME:KEY=VALUE") != std::string::npos);
}

TEST_CASE("rules that leave more on devices than these hold are named first") {
  Engine engine({"/no/plugins"});
  engine.register_plugin(kFull);
  Settings settings = parse_settings(
      R"({"format": "berth.settings/1", "policy": "full",
          "constraints": [{"pin": ".*", "to": "gpu:0"}]})",
      "a test");
  GraphBuilder builder("large");
  for (const char* name : {"a", "b"}) {
    const OpId op = builder.add_op(name, "Op");
    builder.set_cost(op, "", 1);
    builder.set_param_bytes(op, std::int64_t{6} << 30);
  }
  std::vector<Device> devices(2);
  devices[0].name = "gpu:0";
  devices[1].name = "gpu:1";
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = 1e9;
  for (Device& device : devices) {
    device.kind = "gpu";
    device.memory_bytes = std::int64_t{8} << 30;
  }
  const auto cluster = std::make_shared<const Cluster>("two", devices, std::vector<LinkSpec>{link});
  const auto graph = builder.build();
  const Task pinned = make_task(engine, graph, cluster, settings);
  test::expect_error(ErrorCode::infeasible,
                     {"the constraint ", "gpu:0", " leaves 12.0 GiB of parameters",
                      " to gpu:0, with room for 8.00 GiB: nothing fits"},
                     [&] { static_cast<void>(place(engine, pinned, settings)); });
  // Without the rule the policy's words are all there is to say.
  settings.constraints.clear();
  const Task free = make_task(engine, graph, cluster, settings);
  try {
    static_cast<void>(place(engine, free, settings));
    FAIL_CHECK("expected an error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "nothing fits");
  }
}

TEST_CASE("a pointer of Git LFS in the place of costs or a placement is told as such") {
  const TemporaryFolder folder;
  const auto file = folder / "pointer";
  write_file(file, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  Engine engine;
  const auto graph = layered_graph(/*seed=*/1, {.ops = 90});
  const auto cluster = equal_devices(2);
  expect_error(ErrorCode::invalid_file, {file.string(), "git lfs pull"},
               [&] { (void)engine.load_costs(file, *graph, *cluster); });
  expect_error(ErrorCode::invalid_file, {file.string(), "git lfs pull"},
               [&] { (void)read_placement(file); });
}

TEST_CASE("ops without a work rule in a body are named") {
  GraphBuilder builder("loops", "mlir");
  const OpId loop = builder.add_op("loop", "scf.for");
  builder.set_work(loop, {.flops = 1});
  CHECK(without_rule_text(*builder.build()).empty());

  GraphBuilder other("loops", "mlir");
  other.set_work(other.add_op("loop", "scf.for"), {.flops = 1});
  other.set_attribute(0, "body_types", std::string("linalg.matmul,my.op,your.op"));
  CHECK(without_rule_text(*other.build()) ==
        "bodies of 1 op hold types without a work rule, costed by the bytes moved alone: my.op "
        "(1), your.op (1)");
}

TEST_CASE("what runs before the step has no work to be without a rule for") {
  GraphBuilder builder("loads", "mlir");
  const TensorInfo info{DType::f32, true, {8, 8}, kUnknownBytes};
  const OpId load = builder.add_op("load", "ml_program.global_load_const");
  builder.set_pure(load);
  const TensorId weight = builder.add_output(load, info);
  const OpId input = builder.add_op("x", "Input");
  builder.set_work(input, {.launches = 0});
  const TensorId x = builder.add_output(input, info);
  const OpId product = builder.add_op("product", "linalg.matmul");
  builder.add_input(product, x);
  builder.add_input(product, weight);
  builder.add_output(product, info);
  const auto graph = builder.build();
  CHECK(without_rule_text(*graph).find("ml_program.global_load_const (1)") != std::string::npos);
  CHECK(without_rule_text(*ops::fold_constants(graph)).empty());
}

namespace {

/// Words, a layer and a head that reads the words' table turned around.
std::shared_ptr<const Graph> tied_model() {
  GraphBuilder builder("tied", "onnx");
  const TensorInfo info{DType::f32, true, {8, 8}, kUnknownBytes};
  const TensorId table = builder.add_parameter(info, "embed_tokens.weight");
  TensorId last = kNoTensor;
  const auto add = [&](const char* name, const char* type, std::vector<TensorId> inputs) {
    const OpId op = builder.add_op(name, type);
    for (const TensorId input : inputs) builder.add_input(op, input);
    last = builder.add_output(op, info);
    return last;
  };
  const TensorId turned = add("turn", "Transpose", {table});
  const TensorId x = add("x", "Input", {});
  add("/embed_tokens/MatMul", "MatMul", {x, table});
  add("/layers.0/MatMul", "MatMul", {last, builder.add_parameter(info, "layers.0.weight")});
  add("/lm_head/MatMul", "MatMul", {last, turned});
  return ops::fold_constants(builder.build());
}

}  // namespace

TEST_CASE("costs count the same ops as work of others, whatever a task changes of them") {
  const auto graph = tied_model();
  const auto cluster = machine_of_words("l4+host");
  const auto op = [&](const char* name) { return *graph->find_op(name); };
  TaskParts parts;
  parts.costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>(
          2, std::vector<double>(static_cast<std::size_t>(graph->op_count()), 1)),
      std::vector<std::int64_t>{}, "profile",
      std::vector<Costs::Joined>{{op("/lm_head/MatMul"), op("/layers.0/MatMul")}});
  Engine engine({"/no/plugins"});
  for (const char* const tool : {"", "onnxruntime", "accelerate", "llama.cpp", "vllm"}) {
    CAPTURE(tool);
    for (const char* const inputs : {"host", "any"}) {
      CAPTURE(inputs);
      Settings settings;
      if (*tool != '\0') settings.tool = tool;
      settings.inputs = inputs;
      const Task task = make_task(engine, graph, cluster, settings, parts);
      const auto joined = task.problem->costs().joined();
      REQUIRE(joined.size() == 1);
      CHECK(joined[0].op == op("/lm_head/MatMul"));
      CHECK(joined[0].with == op("/layers.0/MatMul"));
      if (!task.spilled) continue;
      CHECK(task.spilled().problem->costs().joined().size() == 1);
    }
  }
}

TEST_CASE("a tool with a model of its own has a tied weight once, which the file turns around") {
  const auto graph = tied_model();
  Engine engine({"/no/plugins"});
  Settings settings;
  const auto bytes_for = [&](const char* tool) {
    settings.tool = tool;
    const Task task = make_task(engine, graph, machine_of_words("l4+host"), settings);
    return task.problem->graph().total_param_bytes() / 256;
  };
  for (const char* const tool : {"accelerate", "llama.cpp", "vllm", "torch-pipelining"}) {
    CAPTURE(tool);
    CHECK(bytes_for(tool) == 2);
  }
  CHECK(bytes_for("onnxruntime") == 3);
}

TEST_CASE("ops write over inputs but for a tool that gives every output memory of its own") {
  GraphBuilder builder("net", "onnx");
  const TensorInfo info{DType::f32, true, {8, 8}, kUnknownBytes};
  TensorId last = kNoTensor;
  const auto add = [&](const char* name, const char* type, const char* weight) {
    const OpId op = builder.add_op(name, type);
    if (last != kNoTensor) builder.add_input(op, last);
    if (weight != nullptr) builder.add_input(op, builder.add_parameter(info, weight));
    last = builder.add_output(op, info);
    return op;
  };
  add("x", "Input", nullptr);
  add("/layers.0/MatMul", "MatMul", "layers.0.weight");
  const OpId relu = add("/layers.0/Relu", "Relu", nullptr);
  add("/layers.1/MatMul", "MatMul", "layers.1.weight");
  const auto graph = builder.build();
  Engine engine({"/no/plugins"});
  for (const auto& [tool, overwrites] :
       {std::pair{"", true}, std::pair{"onnxruntime", true}, std::pair{"accelerate", false}}) {
    CAPTURE(tool);
    Settings settings;
    if (*tool != '\0') settings.tool = tool;
    const Task task = make_task(engine, graph, machine_of_words("l4+host"), settings);
    CHECK(task.problem->is_view(relu) == overwrites);
  }
}

TEST_CASE("a tool with kernels of its own lacks none of ONNX Runtime's, and reads what is stored") {
  constexpr std::int64_t kWide = 4096;
  const auto model = [](const char* type, DType activations) {
    GraphBuilder builder("quantised", "onnx");
    const TensorInfo row{activations, true, {1, kWide}, kUnknownBytes};
    TensorId last = builder.add_output(builder.add_op("x", "Input"), row);
    for (const std::string layer : {"layers.0", "layers.1"}) {
      TensorId weight = builder.add_parameter({DType::i8, true, {kWide, kWide}, kUnknownBytes},
                                              layer + ".weight");
      if (activations == DType::f32) {
        // With scales of rows, which no kernel of ONNX Runtime's takes.
        const OpId wide = builder.add_op(layer + ".wide", "DequantizeLinear");
        builder.set_attribute(wide, "axis", std::int64_t{0});
        builder.add_input(wide, weight);
        builder.add_input(wide, builder.add_parameter({DType::f32, true, {kWide}, kUnknownBytes},
                                                      layer + ".scale"));
        weight = builder.add_output(wide, {DType::f32, true, {kWide, kWide}, kUnknownBytes});
      }
      const OpId product = builder.add_op(layer + ".product", type);
      builder.add_input(product, last);
      builder.add_input(product, weight);
      last = builder.add_output(product, row);
    }
    return ops::fold_constants(builder.build());
  };
  Engine engine({"/no/plugins"});
  const auto us_for = [&](const char* tool, const std::shared_ptr<const Graph>& graph) {
    Settings settings;
    settings.tool = tool;
    const auto cluster = machine_of_words("rtx3060+host");
    const Task task = make_task(engine, graph, cluster, settings);
    double us = 0;
    for (DeviceId d = 0; d < cluster->device_count(); ++d) {
      if (cluster->device(d).host) continue;
      for (OpId op = 0; op < graph->op_count(); ++op) {
        if (!graph->is_input(op)) us += task.problem->costs().op_us(op, cluster->kind_of(d));
      }
    }
    return us;
  };
  const double read_us = 2 * kWide * kWide / 360e9 * 1e6;  // the card's bytes a second
  for (const char* tool : {"accelerate", "deepspeed", "torch-pipelining"}) {
    CAPTURE(tool);
    CHECK(us_for(tool, model("MatMulInteger", DType::u8)) < 2 * read_us);
    CHECK(us_for(tool, model("MatMul", DType::f32)) < 2 * read_us);
  }
  CHECK(us_for("onnxruntime", model("MatMulInteger", DType::u8)) == kCannotRun);
  CHECK(us_for("onnxruntime", model("MatMul", DType::f32)) > 4 * read_us);
}

TEST_CASE("a rule that selects a constant and not what reads it is told, and binds the rest") {
  Engine engine({"/no/plugins"});
  const auto cluster = machine_of_words("l4+host");
  Settings settings;
  const auto notes_of = [&](const std::string& first, const std::string& second) {
    settings.constraints = {
        rule(Kind::pin, {named(first), named(second)}, {cluster->device(0).name})};
    std::vector<std::string> notes;
    for (std::string& note : make_task(engine, tied_model(), cluster, settings).notes) {
      if (note.find("does not bind") != std::string::npos) notes.push_back(std::move(note));
    }
    return notes;
  };
  REQUIRE(notes_of("turn", "x").size() == 1);
  CHECK(notes_of("turn", "x")[0].find(
            "does not bind 1 constant of the step, such as 'turn': constants are where ops read "
            "them, or sizes where their tensor is made; name those ops") != std::string::npos);
  CHECK(notes_of("turn", "/lm_head/MatMul").empty());
}
