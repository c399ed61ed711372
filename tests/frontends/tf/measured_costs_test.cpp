// Measured costs: RunMetadata, StepStats and CostGraphDef by name to ops.
#include "berth/costs.h"
#include "berth/error.h"
#include "berth/groups.h"
#include "berth/sdk/gzip.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "text_graph.h"
#include "tf/profile.h"

namespace berth::tf_frontend {
namespace {

using test::expect_error;

/// gpu:0 and gpu:1 of kind "fast", gpu:2 of kind "slow", and the host.
std::shared_ptr<const Cluster> machine() {
  std::vector<Device> devices;
  for (const auto& [name, kind] : std::vector<std::pair<std::string, std::string>>{
           {"gpu:0", "fast"}, {"gpu:1", "fast"}, {"gpu:2", "slow"}, {"cpu:0", "cpu"}}) {
    Device device;
    device.name = name;
    device.kind = kind;
    device.host = kind == "cpu";
    device.flops = 1e12;
    device.memory_bandwidth = 1e11;
    devices.push_back(device);
  }
  return std::make_shared<Cluster>("machine", devices,
                                   std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
}

LoadedCosts costs_from(const std::string& profile, const Graph& graph,
                       const Cluster& cluster = *machine(),
                       const std::string& name = "run_metadata.pbtxt") {
  const test::TemporaryFolder folder;
  write_file(folder / name, profile);
  TensorFlowFrontend frontend{Options{}};
  CHECK(frontend.claims_costs(folder / name));
  return frontend.load_costs(folder / name, graph, cluster);
}

struct Stat {
  std::string node;
  int start_us;
  int end_us;
};

std::string device_stats(const std::string& device, const std::vector<Stat>& stats) {
  std::string text = "dev_stats { device: '" + device + "'";
  for (const Stat& stat : stats) {
    text += " node_stats { node_name: '" + stat.node +
            "' all_start_micros: 1000 op_start_rel_micros: " + std::to_string(stat.start_us) +
            " op_end_rel_micros: " + std::to_string(stat.end_us) + " all_end_rel_micros: 999 }";
  }
  return text + " }\n";
}

const std::string kTask = "/job:localhost/replica:0/task:0";

std::shared_ptr<const Graph> chain() {
  return load_bytes(placeholder("x", {64, 64}) + node("a", "Relu", "x", kFloats) +
                    node("b", "Tanh", "a", kFloats) + node("c", "Exp", "b", kFloats))
      .graph;
}

double us(const LoadedCosts& costs, const Graph& graph, const Cluster& cluster,
          const std::string& op, const std::string& kind) {
  for (KindId k = 0; k < cluster.kind_count(); ++k) {
    if (cluster.kind_name(k) == kind) return costs.costs->op_us(op_named(graph, op), k);
  }
  FAIL("no kind ", kind);
  return 0;
}

double roofline(const Graph& graph, const Cluster& cluster, const std::string& op,
                const std::string& kind) {
  return us({Costs::roofline(graph, cluster), {}}, graph, cluster, op, kind);
}

TEST_CASE("what a device ran counts for its kind, the rest is the roofline model's") {
  const auto graph = chain();
  const auto cluster = machine();
  const LoadedCosts costs =
      costs_from(device_stats(kTask + "/device:GPU:0", {{"a", 3, 10}, {"b", 1, 5}}) +
                     device_stats(kTask + "/cpu:0", {{"_SOURCE", 0, 2}, {"c", 0, 40}}) +
                     device_stats("/host:CPU", {{"a", 0, 9000}}),
                 *graph);
  CHECK(us(costs, *graph, *cluster, "a", "fast") == 7);
  CHECK(us(costs, *graph, *cluster, "b", "fast") == 4);
  CHECK(us(costs, *graph, *cluster, "c", "cpu") == 40);
  for (const auto& [op, kind] : std::vector<std::pair<std::string, std::string>>{
           {"c", "fast"}, {"a", "slow"}, {"b", "cpu"}, {"x", "cpu"}}) {
    CAPTURE(op);
    CHECK(us(costs, *graph, *cluster, op, kind) == roofline(*graph, *cluster, op, kind));
  }
  REQUIRE(costs.notes.size() == 1);
  CHECK(costs.notes[0] ==
        "measured ops of 4: 2 on fast, 0 on slow, 1 on cpu; the rest cost what the roofline model "
        "says");
}

TEST_CASE("an op costs the sum of its kernels, none where it launches none, and no copies") {
  const auto graph = chain();
  const auto cluster = machine();
  const std::string executor =
      device_stats(kTask + "/device:GPU:0", {{"a", 0, 500}, {"b", 0, 3}, {"x", 0, 2}});
  const std::string single =
      device_stats("/device:GPU:0/stream:13", {{"a:Relu", 0, 10}, {"a:Relu", 0, 5}}) +
      device_stats("/device:GPU:0/stream:14", {{"b", 0, 7}});
  const std::string all =
      device_stats("/gpu:0/stream:all",
                   {{"a:Relu", 0, 10}, {"a:Relu", 0, 5}, {"b", 0, 7}, {"MEMCPYHtoD", 0, 2}});
  const std::string copies = device_stats("/gpu:0/memcpy", {{"a", 0, 600}});
  for (const std::string& profile :
       {executor + single + all + copies, executor + all, executor + single}) {
    const LoadedCosts costs = costs_from(profile, *graph);
    CHECK(us(costs, *graph, *cluster, "a", "fast") == 15);
    CHECK(us(costs, *graph, *cluster, "b", "fast") == 7);
    CHECK(us(costs, *graph, *cluster, "x", "fast") == 0);
    CHECK(us(costs, *graph, *cluster, "c", "fast") == roofline(*graph, *cluster, "c", "fast"));
  }
}

TEST_CASE("several devices of a kind: their mean; of another: its own; of none: all of the class") {
  const auto graph = chain();
  const auto cluster = machine();
  const LoadedCosts costs = costs_from(device_stats("/device:GPU:0", {{"a", 0, 10}, {"b", 0, 6}}) +
                                           device_stats("/device:GPU:1", {{"a", 0, 20}}) +
                                           device_stats("/device:GPU:2", {{"a", 0, 100}}),
                                       *graph);
  CHECK(us(costs, *graph, *cluster, "a", "fast") == 15);
  CHECK(us(costs, *graph, *cluster, "b", "fast") == 6);
  CHECK(us(costs, *graph, *cluster, "a", "slow") == 100);
  const LoadedCosts stranger = costs_from(
      device_stats("/device:TPU:9", {{"a", 0, 10}}) + device_stats("/cpu:7", {{"b", 0, 3}}),
      *graph);
  for (const char* kind : {"fast", "slow"}) CHECK(us(stranger, *graph, *cluster, "a", kind) == 10);
  CHECK(us(stranger, *graph, *cluster, "b", "cpu") == 3);
}

TEST_CASE("nanoseconds count before microseconds") {
  const auto graph = chain();
  const auto cluster = machine();
  const LoadedCosts costs = costs_from(
      "dev_stats { device: '/device:GPU:0' node_stats { node_name: 'a' op_end_rel_micros: 1 "
      "op_start_rel_nanos: 250 op_end_rel_nanos: 1000 } }",
      *graph);
  CHECK(us(costs, *graph, *cluster, "a", "fast") == 0.75);
}

TEST_CASE("a node with a run that ends before it begins is not measured, and told") {
  const auto graph = chain();
  const auto cluster = machine();
  const std::string nanos =
      "dev_stats { device: '/device:GPU:0' node_stats { node_name: 'c' op_end_rel_nanos: -5 } }";
  const LoadedCosts costs = costs_from(
      device_stats("/device:GPU:0", {{"a", 0, 5}, {"b", 0, 5}, {"b", 9, -4}}) + nanos, *graph);
  CHECK(us(costs, *graph, *cluster, "a", "fast") == 5);
  for (const char* op : {"b", "c"}) {
    CHECK(us(costs, *graph, *cluster, op, "fast") == roofline(*graph, *cluster, op, "fast"));
  }
  CHECK(costs.notes.back() ==
        "2 measured nodes have a run that ends before it begins and do not count");
  // The executor's time says nothing of traced kernels.
  const LoadedCosts traced = costs_from(device_stats("/device:GPU:0", {{"a", 0, -5}}) +
                                            device_stats("/gpu:0/stream:all", {{"a", 0, 7}}),
                                        *graph);
  CHECK(us(traced, *graph, *cluster, "a", "fast") == 7);
  CHECK(traced.notes.size() == 1);
  expect_error(
      ErrorCode::invalid_file,
      {"run_metadata.pbtxt", "2 measured nodes", "no op of graph", "record the step again"}, [&] {
        static_cast<void>(
            costs_from(device_stats("/device:GPU:0", {{"a", 0, -5}, {"b", 9, 4}}), *graph));
      });
}

TEST_CASE("a cost graph counts where the step itself was not measured") {
  const auto graph = chain();
  const auto cluster = machine();
  const std::string nodes =
      "node { name: 'a' device: '/job:w/task:0/device:GPU:0' id: 2 compute_cost: 11 }"
      "node { name: 'b' device: '/job:w/task:0/device:GPU:0' id: 3 compute_cost: 12 }"
      "node { name: 'c' device: '/job:w/task:0/device:GPU:0' id: 4 }";
  SUBCASE("alone") {
    const LoadedCosts costs = costs_from(nodes, *graph);
    CHECK(us(costs, *graph, *cluster, "a", "fast") == 11);
    CHECK(us(costs, *graph, *cluster, "c", "fast") == roofline(*graph, *cluster, "c", "fast"));
  }
  SUBCASE("beside the step's statistics") {
    const LoadedCosts costs =
        costs_from("step_stats { " + device_stats("/device:GPU:0", {{"a", 0, 5}}) +
                       " } cost_graph { " + nodes + " }",
                   *graph);
    CHECK(us(costs, *graph, *cluster, "a", "fast") == 5);
    CHECK(us(costs, *graph, *cluster, "b", "fast") == 12);
  }
}

TEST_CASE("names behind calls, in loops, and of ops that were pruned") {
  const auto cluster = machine();
  SUBCASE("an inlined call") {
    const std::string function =
        "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } "
        "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: 'n' op: 'Relu' input: 'a' " +
        kFloats + " } ret { key: 'r' value: 'n:activations:0' } } }";
    const auto graph =
        load_bytes(placeholder("x", {2}) + node("c", "f", "x") + node("d", "f", "c") + function)
            .graph;
    const LoadedCosts costs =
        costs_from(device_stats("/cpu:0", {{"c/n", 0, 4}, {"d/n", 0, 6}}), *graph);
    CHECK(us(costs, *graph, *cluster, "c/n", "cpu") == 4);
    CHECK(us(costs, *graph, *cluster, "d/n", "cpu") == 6);
  }
  SUBCASE("a loop costs all rounds of its nodes") {
    const std::string frame = attr("frame_name", "s: 'frame'") + kFloats;
    const auto graph =
        load_bytes(placeholder("x", {2}) + placeholder("p", {}) +
                   node("enter", "Enter", "x", frame) +
                   node("merge", "Merge", "enter next", kFloats + attr("N", "i: 2")) +
                   node("pred", "Enter", "p", frame) + node("go", "LoopCond", "pred") +
                   node("switch", "Switch", "merge go", kFloats) +
                   node("body", "Relu", "switch:1", kFloats) +
                   node("next", "NextIteration", "body", kFloats) +
                   node("exit", "Exit", "switch", kFloats))
            .graph;
    const LoadedCosts costs = costs_from(
        device_stats("/device:GPU:0",
                     {{"body", 0, 4}, {"switch", 0, 1}, {"body", 0, 6}, {"switch", 0, 1}}) +
            device_stats("/cpu:0", {{"go", 0, 50}}),
        *graph);
    CHECK(us(costs, *graph, *cluster, "frame", "fast") == 12);
    // One node whose time is not known leaves the loop's unknown.
    expect_error(ErrorCode::invalid_file, {"1 measured nodes have a run that ends"}, [&] {
      static_cast<void>(costs_from(
          device_stats("/device:GPU:0", {{"body", 0, -4}, {"switch", 0, 1}, {"next", 0, 1}}),
          *graph));
    });
    // One node of three is not the loop's cost.
    CHECK(us(costs, *graph, *cluster, "frame", "cpu") ==
          roofline(*graph, *cluster, "frame", "cpu"));
  }
  SUBCASE("a functional loop costs what runs behind its name") {
    GraphBuilder builder("g", "tf");
    builder.add_op("lp", "StatelessWhile");
    builder.add_op("lp/Identity", "Identity");
    builder.add_op("plain", "Relu");
    const auto graph = builder.build();
    const LoadedCosts costs = costs_from(device_stats("/cpu:0", {{"lp/body/_1/mm_0", 0, 4},
                                                                 {"lp/cond/_0/Less", 0, 2},
                                                                 {"lp/Identity", 0, 1},
                                                                 {"plain/inside", 0, 1}}),
                                         *graph);
    CHECK(us(costs, *graph, *cluster, "lp", "cpu") == 6);
    CHECK(us(costs, *graph, *cluster, "lp/Identity", "cpu") == 1);
    CHECK(us(costs, *graph, *cluster, "plain", "cpu") ==
          roofline(*graph, *cluster, "plain", "cpu"));
    CHECK(costs.notes.back() == "1 measured nodes are not ops of this graph and do not count");
  }
  SUBCASE("a pruned graph takes what is left of it") {
    const auto graph = prune(*chain(), std::vector<std::string>{"a"});
    const LoadedCosts costs =
        costs_from(device_stats("/cpu:0", {{"a", 0, 4}, {"b", 0, 2}, {"c", 0, 2}}), *graph);
    CHECK(us(costs, *graph, *cluster, "a", "cpu") == 4);
    CHECK(costs.notes.back() == "2 measured nodes are not ops of this graph and do not count");
  }
}

TEST_CASE("every form of the file gives the same") {
  const auto graph = chain();
  const auto cluster = machine();
  const std::string stats = device_stats("/cpu:0", {{"a", 0, 4}});
  const std::string text = "step_stats { " + stats + " }";
  for (const std::string& content : {text, "# of today\n" + text, gzip(text), stats}) {
    CHECK(us(costs_from(content, *graph, *cluster, "anything"), *graph, *cluster, "a", "cpu") == 4);
  }
}

TEST_CASE(
    "a binary cost graph is known by its second node: the first of TensorFlow has only a name") {
  const auto field = [](char number, const std::string& payload) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(payload.size())} +
           payload;
  };
  const std::string source = field(1, field(1, "_SOURCE"));
  // Fields 3 and 9: the node's number, and its 11 us.
  const std::string nodes =
      source + field(1, field(1, "a") + field(2, "/device:GPU:0") + "\x18\x02\x48\x0b");
  const auto graph = chain();
  const auto cluster = machine();
  for (const std::string& content : {nodes, field(2, nodes)}) {
    CHECK(us(costs_from(content, *graph, *cluster, "costs.pb"), *graph, *cluster, "a", "fast") ==
          11);
  }
  const test::TemporaryFolder folder;
  const TensorFlowFrontend frontend{Options{}};
  for (const std::string& content : {source, source + field(1, field(1, "a") + field(2, "Relu"))}) {
    write_file(folder / "costs.pb", content);
    CHECK_FALSE(frontend.claims_costs(folder / "costs.pb"));
  }
}

TEST_CASE("an op measured on everything needs no figures of the machine") {
  Device device;
  device.name = "cpu:0";
  device.kind = "cpu";
  device.host = true;
  const Cluster bare("bare", {device}, {});
  const auto graph = load_bytes(node("only", "NoOp") + node("other", "NoOp")).graph;
  const LoadedCosts costs =
      costs_from(device_stats("/cpu:0", {{"only", 0, 3}, {"other", 0, 2}}), *graph, bare);
  CHECK(us(costs, *graph, bare, "only", "cpu") == 3);
  CHECK(costs.notes == std::vector<std::string>{"measured ops of 2: 2 on cpu"});
  expect_error(ErrorCode::invalid_argument, {"run_metadata.pbtxt", "not all ops", "cpu:0"}, [&] {
    static_cast<void>(costs_from(device_stats("/cpu:0", {{"only", 0, 3}}), *graph, bare));
  });
}

TEST_CASE("a profile that says nothing of the graph is refused with the reason") {
  const auto graph = chain();
  expect_error(ErrorCode::invalid_file, {"run_metadata.pbtxt", "no op of graph", "'other'"}, [&] {
    static_cast<void>(costs_from(device_stats("/cpu:0", {{"other", 0, 3}}), *graph));
  });
  expect_error(ErrorCode::invalid_file, {"run_metadata.pbtxt", "no node on any device"}, [&] {
    static_cast<void>(costs_from(device_stats("/host:CPU", {{"a", 0, 3}}), *graph));
  });
  Device device;
  device.name = "gpu:0";
  device.kind = "gpu";
  const Cluster gpus("gpus", {device}, {});
  expect_error(ErrorCode::invalid_file, {"'CPU:0'", "cluster 'gpus'"}, [&] {
    static_cast<void>(costs_from(device_stats("/cpu:0", {{"a", 0, 3}}), *graph, gpus));
  });
  expect_error(ErrorCode::invalid_file, {"run_metadata.pbtxt", "line 2"},
               [&] { static_cast<void>(costs_from("dev_stats {\n device: 3 }", *graph)); });
}

TEST_CASE("files that are no profiles are not claimed") {
  const TensorFlowFrontend frontend{Options{}};
  const test::TemporaryFolder folder;
  const std::string cases[] = {placeholder("x", {1}),
                               "{ \"format\": \"berth.costs/1\" }",
                               "",
                               "words",
                               std::string("\x08\x03\x0a\xff", 4),
                               "meta_info_def { tags: 'a' }"};
  for (const std::string& content : cases) {
    CAPTURE(content);
    write_file(folder / "costs.pb", content);
    CHECK_FALSE(frontend.claims_costs(folder / "costs.pb"));
  }
  CHECK_FALSE(frontend.claims_costs(folder / "absent.pb"));
  CHECK_FALSE(frontend.claims_costs(folder.path()));
  for (const char* model : {"nmt_tiny.pb", "nmt_tiny.pbtxt", "rnnlm_b64.pb.gz"}) {
    CHECK_FALSE(frontend.claims_costs(test::source_path("examples/models/tf") / model));
  }
}

TEST_CASE("a damaged profile is refused with the byte, and never crashes") {
  if (!test::have_shared_data("the test of damaged profiles")) return;
  const std::string good = read_file(test::shared_path("models/costs/tfprof_run_meta.pb"));
  const auto graph = chain();
  const test::TemporaryFolder folder;
  TensorFlowFrontend frontend{Options{}};
  for (std::size_t size = 40; size < good.size(); size += 97) {
    CAPTURE(size);
    write_file(folder / "cut.pb", good.substr(0, size));
    REQUIRE(frontend.claims_costs(folder / "cut.pb"));
    CHECK_THROWS_AS(static_cast<void>(frontend.load_costs(folder / "cut.pb", *graph, *machine())),
                    Error);
  }
}

TEST_CASE("a real RunMetadata of a GPU") {
  if (!test::have_shared_data("the test of a real RunMetadata")) return;
  TensorFlowFrontend frontend{Options{}};
  const auto path = test::shared_path("models/costs/tfprof_run_meta.pb");
  const auto graph = frontend.load(test::shared_path("models/costs/tfprof_graph.pbtxt"), {}).graph;
  const auto cluster = machine();
  REQUIRE(frontend.claims_costs(path));
  const LoadedCosts costs = frontend.load_costs(path, *graph, *cluster);
  // 11 and 10 kernels; the executor's own 4,066 and 419 us hold the search for an algorithm.
  CHECK(us(costs, *graph, *cluster, "Conv2D", "fast") == 226);
  CHECK(us(costs, *graph, *cluster, "Conv2D_1", "fast") == 178);
  CHECK(us(costs, *graph, *cluster, "DW", "fast") == 0);
  CHECK(us(costs, *graph, *cluster, "Conv2D", "slow") ==
        roofline(*graph, *cluster, "Conv2D", "slow"));
  for (const std::string& note : costs.notes) MESSAGE(note);
}

TEST_CASE("names of devices") {
  const struct {
    const char* name;
    const char* type;
    int index;
  } cases[] = {{"/job:w/replica:0/task:3/device:GPU:1", "GPU", 1},
               {"/gpu:2", "GPU", 2},
               {"/device:CPU:0", "CPU", 0},
               {"/device:GPU:1/stream:all", "GPU", 1},
               {"/host:CPU", "", 0},
               {"/job:w/task:1", "", 0},
               {"/device:GPU:*", "", 0},
               {"/device:GPU:99999999999", "", 0},
               {"", "", 0}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(parse_device(c.name).type == c.type);
    CHECK(parse_device(c.name).index == c.index);
  }
}

}  // namespace
}  // namespace berth::tf_frontend
