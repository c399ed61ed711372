// The expert on networks small enough to say where everything goes, and on the papers' benchmarks.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>

#include "plugins/small_problem.h"
#include "support/layered_network.h"
#include "support/paths.h"

using namespace berth;
using namespace berth::test;

namespace {

std::shared_ptr<const Cluster> gpus(int count) {
  std::vector<Device> devices(static_cast<std::size_t>(count) + 1);
  devices[0].name = "cpu:0";
  devices[0].kind = "cpu";
  devices[0].host = true;
  for (int i = 1; i <= count; ++i) {
    devices[static_cast<std::size_t>(i)].name = "gpu:" + std::to_string(i - 1);
    devices[static_cast<std::size_t>(i)].kind = "gpu";
  }
  for (Device& device : devices) {
    device.flops = 1e12;
    device.memory_bandwidth = 1e11;
  }
  return std::make_shared<const Cluster>("gpus", devices,
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}});
}

struct Placed {
  std::shared_ptr<const Problem> problem;
  Placement placement;
  std::string told;  ///< the note of the answer

  [[nodiscard]] std::string of(const std::string& op) const {
    const auto id = problem->graph().find_op(op);
    REQUIRE_MESSAGE(id.has_value(), op);
    return problem->cluster().device(placement[static_cast<std::size_t>(*id)]).name;
  }
};

Engine& engine() {
  static Engine instance({test::plugin_folder()});
  return instance;
}

Placed expert(const std::shared_ptr<const Graph>& graph,
              const std::shared_ptr<const Cluster>& cluster, const OptionTexts& options = {},
              GroupId groups = 0) {
  const auto costs = Costs::roofline(*graph, *cluster);
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, costs, groups == 0 ? nullptr : placeto_groups(*graph, *costs, groups));
  const auto policy = engine().make_policy("expert", options);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const PlaceResult result =
      place(*policy, *evaluator, {}, std::numeric_limits<double>::infinity());
  REQUIRE(result.notes.size() == 1);
  return {problem, result.placement, result.notes.front()};
}

std::shared_ptr<const Graph> benchmark(const std::string& file) {
  return engine().load((test::source_folder() / "examples/models/tf/").string() + file, {}).graph;
}

/// The devices of all ops whose name, as it is or behind "gradients/", starts with `scope`.
std::set<std::string> devices_of(const Placed& placed, const std::string& scope) {
  std::set<std::string> devices;
  const Graph& graph = placed.problem->graph();
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& name = graph.op_name(op);
    if (name.rfind(scope, 0) == 0 || name.rfind("gradients/" + scope, 0) == 0) {
      devices.insert(placed.of(name));
    }
  }
  CHECK_MESSAGE(!devices.empty(), scope);
  return devices;
}

using Devices = std::set<std::string>;

}  // namespace

TEST_CASE("expert: a recurrent layer per device, the rest beside the last") {
  const auto graph = lstm_network(/*layers=*/3, /*steps=*/4);
  const std::vector<std::vector<std::string>> device_of_layer = {
      {"gpu:0", "gpu:0", "gpu:0"},
      {"gpu:0", "gpu:1", "gpu:0"},
      {"gpu:0", "gpu:1", "gpu:2"},
      {"gpu:0", "gpu:1", "gpu:2"},
  };
  for (std::size_t count = 1; count <= device_of_layer.size(); ++count) {
    CAPTURE(count);
    const Placed placed = expert(graph, gpus(static_cast<int>(count)));
    CHECK(placed.told == "3 recurrent layers, one per device, the rest beside the last");
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const std::string& device = device_of_layer[count - 1][layer];
      CHECK(devices_of(placed, "layer_" + std::to_string(layer) + "/") == Devices{device});
    }
    CHECK(devices_of(placed, "softmax/") == Devices{device_of_layer[count - 1][2]});
    CHECK(devices_of(placed, "embedding/") == Devices{"gpu:0"});
    CHECK(placed.of("table") == "gpu:0");
  }
}

TEST_CASE("expert: the longest branch stays, the others follow in turn") {
  for (const bool scopes : {true, false}) {
    CAPTURE(scopes);
    const auto graph = branched_network(scopes);
    const Placed placed = expert(graph, gpus(4));
    CHECK(placed.told.find(scopes ? "8 branches of 2 blocks, told by their scopes"
                                  : "8 branches of 2 blocks, told by the concatenations") !=
          std::string::npos);
    // Both namings are one network, op by op.
    const auto named = branched_network(true);
    const auto of = [&](const std::string& op) {
      const auto id = static_cast<std::size_t>(named->find_op(op).value());
      return placed.problem->cluster().device(placed.placement[id]).name;
    };
    for (const std::string block : {"block_0/", "block_1/"}) {
      CHECK(of(block + "branch_0/conv_0/Conv2D") == "gpu:1");
      CHECK(of(block + "branch_1/conv_1/Relu") == "gpu:2");
      CHECK(of(block + "branch_2/conv_2/Conv2D") == "gpu:0");
      CHECK(of(block + "branch_3/pool") == "gpu:3");
      CHECK(of(block + "branch_3/conv_0/weights") == "gpu:3");
      CHECK(of(block + "concat") == "gpu:0");
    }
    CHECK(of("stem/Conv2D") == "gpu:0");
    CHECK(of("logits") == "gpu:0");
  }
  const Placed two = expert(branched_network(true), gpus(2));
  CHECK(two.of("block_0/branch_0/conv_0/Conv2D") == "gpu:1");
  CHECK(two.of("block_0/branch_1/conv_0/Conv2D") == "gpu:0");
  CHECK(two.of("block_0/branch_3/pool") == "gpu:1");
}

TEST_CASE("expert: a layer that an earlier one reads as well as a join is in no branch of it") {
  NetworkBuilder net("crossing");
  const TensorId input = net.op("input", "Placeholder", {}, OpClass::none);
  // The sum belongs to the deeper layer 'q' and reads 'r', which comes after 'q'.
  const TensorId p = net.conv("p", input);
  const TensorId q = net.conv("q", p);
  const TensorId r = net.conv("r", input);
  const TensorId s = net.conv("s", net.conv("s1", input));
  const TensorId v = net.conv("v", input);
  const TensorId join = net.concat("join", {q, r, s, v});
  const TensorId sum = net.op("sum", "AddV2", {q, r});
  net.op("y", "AddV2", {net.conv("t", join), net.conv("u", sum)});
  const Placed placed = expert(net.build(), gpus(2));
  for (const char* op : {"p/Conv2D", "q/Conv2D", "r/Conv2D", "sum"}) {
    CAPTURE(op);
    CHECK(placed.of(op) == placed.of("t/Conv2D"));
  }
  CHECK(placed.of("v/Conv2D") != placed.of("s/Conv2D"));
}

TEST_CASE("expert: contiguous parts have equally many layers") {
  NetworkBuilder net("row");
  TensorId value = net.op("images", "Placeholder", {}, OpClass::none);
  for (int i = 0; i < 6; ++i) value = net.conv("conv_" + std::to_string(i), value);
  const Placed placed = expert(net.build(), gpus(3));
  CHECK(placed.told == "6 layers in contiguous parts of equally many");
  for (int i = 0; i < 6; ++i) {
    const std::string name = "conv_" + std::to_string(i);
    CHECK(devices_of(placed, name) == Devices{"gpu:" + std::to_string(i / 2)});
  }
  CHECK(placed.of("images") == "gpu:0");
}

TEST_CASE("expert: without layers, contiguous parts of groups that work") {
  const auto problem = small_problem({{"a", "k"}, {"b", "k"}}, {{{1}}, {{0}}, {{9}}, {{1}}, {{1}}},
                                     {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}});
  const auto policy = engine().make_policy("expert");
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  CHECK(policy->place(*evaluator, context).placement == Placement{0, 0, 0, 1, 1});
}

TEST_CASE("expert: a recipe that the graph does not suit is refused") {
  const auto graph = lstm_network(1, 2);
  CHECK_THROWS_WITH_AS(expert(graph, gpus(2), {{"recipe", std::string("branches")}}),
                       doctest::Contains("sees no parallel branches"), Error);
  CHECK_THROWS_WITH_AS(expert(branched_network(true), gpus(2), {{"recipe", std::string("layers")}}),
                       doctest::Contains("sees no recurrent layers"), Error);
  CHECK_THROWS_WITH_AS((void)engine().make_policy("expert", {{"recipe", std::string("branch")}}),
                       doctest::Contains("takes one of auto, layers, branches, contiguous"), Error);
}

TEST_CASE("expert: the translation benchmark, layer by layer with its gradients") {
  const auto graph = benchmark("nmt_b64.pb.gz");
  for (const GroupId groups : {0, 280}) {
    CAPTURE(groups);
    const Placed placed = expert(graph, Cluster::preset("k80x4"), {}, groups);
    const std::map<std::string, std::string> device_of = {{"encoder/layer_0/", "gpu:0"},
                                                          {"encoder/layer_1/", "gpu:1"},
                                                          {"decoder/layer_0/", "gpu:2"},
                                                          {"decoder/layer_1/", "gpu:3"}};
    for (const auto& [layer, device] : device_of) {
      CAPTURE(layer);
      for (const int step : {0, 1, 20, 38, 39}) {
        const std::string cell = layer + "step_" + std::to_string(step) + "/lstm/";
        CHECK(placed.of(cell + "MatMul") == device);
        CHECK(placed.of(cell + "Tanh_1") == device);
        CHECK(placed.of("gradients/" + cell + "MatMul_grad/MatMul") == device);
        CHECK(placed.of("gradients/" + cell + "Tanh_1_grad/TanhGrad") == device);
      }
      CHECK(placed.of(layer + "lstm/kernel") == device);
    }
    CHECK(placed.of("softmax/step_7/MatMul") == "gpu:3");
    CHECK(placed.of("gradients/softmax/step_7/MatMul_grad/MatMul") == "gpu:3");
    CHECK(placed.of("attention/step_7/MatMul") == "gpu:3");
    CHECK(placed.of("softmax/weights") == "gpu:3");
    CHECK(placed.of("encoder/embedding/table") == "gpu:0");
  }
}

TEST_CASE("expert: the image benchmarks, branch by branch with their gradients") {
  const Placed inception = expert(benchmark("inception_v3_b32.pb.gz"), Cluster::preset("k80x4"));
  const auto check = [](const Placed& placed, const std::string& conv, const std::string& device) {
    CHECK_MESSAGE(placed.of(conv + "/Conv2D") == device, conv);
    CHECK_MESSAGE(placed.of("gradients/" + conv + "/Conv2D_grad/Conv2DBackpropFilter") == device,
                  conv);
  };
  check(inception, "mixed_5b/branch_0/conv_1x1", "gpu:1");
  check(inception, "mixed_5b/branch_1/conv_b_5x5", "gpu:2");
  check(inception, "mixed_5b/branch_2/conv_c_3x3", "gpu:0");
  check(inception, "mixed_5b/branch_3/conv_b_1x1", "gpu:3");
  check(inception, "mixed_6a/branch_0/conv_3x3", "gpu:1");
  check(inception, "mixed_7c/branch_1/conv_b_1x3", "gpu:2");
  check(inception, "stem/conv_1a_3x3", "gpu:0");

  const Placed nasnet = expert(benchmark("nasnet_b64.pb.gz"), Cluster::preset("k80x4"));
  check(nasnet, "cell_5/combine_1/left/separable_0", "gpu:1");
  check(nasnet, "reduction_cell_0/combine_2/right/separable_1", "gpu:2");
}
