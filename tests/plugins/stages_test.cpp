// fill, even and stages on decoders small enough to try every plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/sdk/random.h"
#include "berth/simplicity.h"
#include "plugins/small_problem.h"
#include "stages/chain.h"
#include "stages/exchanges.h"
#include "support/expect_error.h"
#include "support/paths.h"

namespace berth::test {
namespace {

struct Shape {
  int layers = 8;
  bool experts = false;
  std::vector<std::int64_t> memory;   ///< of the GPUs; then hosts
  std::vector<double> us = {10, 20};  ///< of an op, by GPU; 100 on a host
  std::vector<std::int64_t> hosts = {kNoLimit};
};

/// An embedding, layers of two ops (and experts of two), a head: 10 bytes of weights each, 40 for
/// experts.
std::shared_ptr<const Problem> decoder(const Shape& shape) {
  GraphBuilder builder("decoder");
  TensorInfo info;
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& module, std::int64_t bytes) {
    const OpId op = builder.add_op(module + "/op", "T");
    if (last != kNoTensor) builder.add_input(op, last);
    info.bytes = bytes;
    builder.add_input(op, builder.add_parameter(info, module + ".weight"));
    info.bytes = 0;
    last = builder.add_output(op, info);
  };
  add("embed", 10);
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "layers." + std::to_string(layer);
    add(name + ".q", 10);
    if (shape.experts) {
      add(name + ".experts.0", 40);
      add(name + ".experts.1", 40);
    }
    add(name + ".up", 10);
  }
  add("head", 10);
  const auto graph = builder.build();
  std::vector<Device> devices;
  std::vector<std::vector<double>> us;
  for (std::size_t i = 0; i < shape.memory.size(); ++i) {
    Device device{"gpu:" + std::to_string(i), "gpu" + std::to_string(i)};
    device.memory_bytes = shape.memory[i];
    devices.push_back(device);
    us.emplace_back(static_cast<std::size_t>(graph->op_count()), shape.us[i]);
  }
  for (std::size_t i = 0; i < shape.hosts.size(); ++i) {
    Device host{"cpu:" + std::to_string(i), "cpu"};
    host.host = true;
    host.memory_bytes = shape.hosts[i];
    devices.push_back(host);
  }
  us.emplace_back(static_cast<std::size_t>(graph->op_count()), 100);
  const auto cluster = std::make_shared<const Cluster>("machine", devices,
                                                       std::vector<LinkSpec>{{"*", "*", 1e12, 1}});
  return std::make_shared<const Problem>(
      graph, cluster, std::make_shared<const Costs>(us, std::vector<std::int64_t>{}, "test"));
}

Placement placed(const std::shared_ptr<const Problem>& problem, const char* policy,
                 const OptionTexts& options = {}) {
  static Engine engine({plugin_folder()});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  return place(*engine.make_policy(policy, options), *evaluator, {},
               std::numeric_limits<double>::infinity())
      .placement;
}

std::vector<int> counts(const Problem& problem, const Placement& placement) {
  std::vector<int> result(static_cast<std::size_t>(problem.cluster().device_count()), 0);
  for (const DeviceId device : placement) ++result[static_cast<std::size_t>(device)];
  return result;
}

TEST_CASE("fill: the fastest device first, whole layers, the host last") {
  // gpu:1 is the faster one and holds embedding and four layers: 10 + 4 * 20 = 90.
  const auto problem = decoder({.memory = {50, 95}, .us = {20, 10}});
  const Placement placement = placed(problem, "fill");
  CHECK(counts(*problem, placement) == std::vector<int>{4, 9, 5});
  CHECK(placement.front() == 1);
  CHECK(placement.back() == 2);
  CHECK(simplicity_of(problem->graph(), placement) == Simplicity{2, 2, 3});
  // Everything on the fastest where it has room.
  const auto roomy = decoder({.memory = {1000, 1000}, .us = {20, 10}});
  CHECK(placed(roomy, "fill") == Placement(18, 1));
}

TEST_CASE("even: whole layers by memory, the host only for what does not fit") {
  const auto problem = decoder({.memory = {300, 100}});
  const std::vector<int> shares = counts(*problem, placed(problem, "even"));
  CHECK(shares[2] == 0);
  CHECK(shares[0] == doctest::Approx(13).epsilon(0.1));
  const auto tight = decoder({.memory = {90, 50}});
  const Placement placement = placed(tight, "even");
  CHECK(make_simulation_evaluator(tight)->evaluate(placement).feasible);
  CHECK(counts(*tight, placement)[2] > 0);
}

TEST_CASE("stages: no other run of layers per device is better") {
  const auto problem = decoder({.memory = {90, 130}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  // Every cut of embedding, layers and head, in both orders, by hand.
  std::vector<int> unit;
  for (OpId op = 0; op < 18; ++op) unit.push_back((op + 1) / 2);
  double best = 1e9;
  for (const bool swapped : {false, true}) {
    for (int cut = 0; cut <= 10; ++cut) {
      Placement placement;
      for (const int each : unit) placement.push_back((each < cut) != swapped ? 0 : 1);
      const Evaluation evaluation = evaluator->evaluate(placement);
      if (evaluation.feasible) best = std::min(best, evaluation.objective_us);
    }
  }
  const Placement found = placed(problem, "stages");
  CHECK(evaluator->evaluate(found).feasible);
  CHECK(evaluator->evaluate(found).objective_us == doctest::Approx(best));
  // In the machine's order the first device has the first layers.
  const Placement ordered = placed(problem, "stages", {{"order", std::string("machine")}});
  CHECK(std::is_sorted(ordered.begin(), ordered.end()));
}

TEST_CASE("stages: within a distance, fewer cuts are worth more than time") {
  const auto problem = decoder({.memory = {1000, 1000}, .us = {10, 10.01}});
  CHECK(simplicity_of(problem->graph(), placed(problem, "stages")).cuts == 0);
  // The fast GPU holds all but two ops; the slow one everything.
  const auto tight = decoder({.memory = {165, 1000}, .us = {10, 10.3}});
  CHECK(simplicity_of(tight->graph(), placed(tight, "stages")).cuts == 1);
  CHECK(placed(tight, "stages", {{"within", 0.03}}) == Placement(18, 1));
}

TEST_CASE("stages: of equal plans, the one whose fullest device has most room") {
  // Two GPUs, of which every cut is tried, and five, of which the search moves some: 18 and 62 ops of
  // 10 bytes, which four of the five hold.
  const auto two = decoder({.memory = {165, 165}, .us = {10, 10}});
  CHECK(counts(*two, placed(two, "stages", {{"within", 0.03}})) == std::vector{9, 9, 0});
  const auto five =
      decoder({.layers = 30, .memory = {200, 200, 200, 200, 200}, .us = {10, 10, 10, 10, 10}});
  const auto even = counts(*five, placed(five, "stages", {{"within", 0.03}}));
  CHECK(*std::max_element(even.begin(), even.end()) == 16);
}

TEST_CASE("stages: experts go to the host where the GPUs do not hold them") {
  // A layer has 20 bytes and 80 of experts. All but the experts fit.
  const auto problem = decoder({.layers = 4, .experts = true, .memory = {60, 60}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const Placement placement = placed(problem, "stages");
  CHECK(evaluator->evaluate(placement).feasible);
  for (OpId op = 0; op < problem->graph().op_count(); ++op) {
    const bool expert = problem->graph().op_name(op).find("experts") != std::string::npos;
    CHECK((placement[static_cast<std::size_t>(op)] == 2) == expert);
  }
}

TEST_CASE("even: by number, a layer is where it begins among the shares of memory") {
  // Ten units: 6 begin before 230 of 400. By bytes the embedding and the head count less.
  const auto problem = decoder({.memory = {230, 170}});
  const Placement placement = placed(problem, "even", {{"by", std::string("number")}});
  CHECK(counts(*problem, placement) == std::vector<int>{11, 7, 0});
}

TEST_CASE("stages: devices are alike only where no link tells them apart") {
  // gpu:1 is far from the others, or slow to send, or gpu:0 and gpu:2 share nothing with it.
  const auto like = decoder({.memory = {70, 70, 70}, .us = {10, 10, 10}});
  const std::vector<LinkSpec> all = {{"*", "*", 1e12, 1}};
  for (const LinkSpec& other :
       {LinkSpec{"gpu:1", "*", 1e12, 500}, LinkSpec{"*", "gpu:1", 1e12, 500},
        LinkSpec{"gpu:0", "gpu:1", 1e12, 500}}) {
    CAPTURE(other.src);
    std::vector<LinkSpec> links = all;
    links.push_back(other);
    std::vector<Device> devices;
    for (DeviceId d = 0; d < 3; ++d) devices.push_back(like->cluster().device(d));
    for (Device& device : devices) device.kind = "gpu";
    const auto cluster = std::make_shared<const Cluster>("far", devices, links);
    const auto graph = like->shared_graph();
    const auto problem = std::make_shared<const Problem>(
        graph, cluster,
        std::make_shared<const Costs>(std::vector(1, std::vector<double>(18, 10)),
                                      std::vector<std::int64_t>{}, "test"));
    const auto evaluator = make_simulation_evaluator(problem, 1);
    // Two cuts over near links, in some order: 18 ops and two transfers.
    CHECK(evaluator->evaluate(placed(problem, "stages")).objective_us < 200);
  }
}

/// Whether the machine is the same with the two devices exchanged, by all its links and by the sets that share a channel.
bool same_when_exchanged(const Cluster& cluster, DeviceId a, DeviceId b) {
  using Links = std::vector<std::pair<DeviceId, DeviceId>>;
  const auto exchanged = [&](DeviceId device) {
    return device == a ? b : device == b ? a : device;
  };
  std::map<ChannelId, Links> uses, others;
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      const Route& one = cluster.route(src, dst);
      const Route& other = cluster.route(exchanged(src), exchanged(dst));
      if (one.latency_us != other.latency_us) return false;
      for (const ChannelId channel : one.channels) {
        uses[channel].emplace_back(src, dst);
        others[channel].emplace_back(exchanged(src), exchanged(dst));
      }
    }
  }
  const auto sets = [](std::map<ChannelId, Links>& by_channel) {
    std::vector<Links> all;
    for (auto& [channel, links] : by_channel) {
      std::sort(links.begin(), links.end());
      all.push_back(links);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  return sets(uses) == sets(others);
}

TEST_CASE("devices are alike that can be exchanged") {
  const auto like = decoder({.memory = {70, 70, 70, 70}, .us = {10, 10, 10, 10}});
  std::vector<Device> devices;
  for (DeviceId d = 0; d < 4; ++d) devices.push_back(like->cluster().device(d));
  for (Device& device : devices) device.kind = "gpu";
  std::map<bool, int> found;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<LinkSpec> links = {{"*", "*", 1e12, 1}};
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      const auto end = [&] {
        const std::uint64_t one = random.below(5);
        return one == 4 ? std::string("*") : "gpu:" + std::to_string(one);
      };
      LinkSpec link{end(), end(), 1e12, random.below(4) == 0 ? 2.0 : 1.0};
      if (link.src == link.dst && link.src != "*") continue;
      for (std::uint64_t c = random.below(3); c > 0; --c) {
        link.shares.push_back("bus" + std::to_string(random.below(3)));
      }
      links.push_back(std::move(link));
    }
    const auto cluster = std::make_shared<const Cluster>("buses", devices, links);
    const Problem problem(like->shared_graph(), cluster,
                          std::make_shared<const Costs>(std::vector(1, std::vector<double>(18, 10)),
                                                        std::vector<std::int64_t>{}, "test"));
    const policies::stages::Exchanges exchanges(problem);
    for (DeviceId a = 0; a < 4; ++a) {
      for (DeviceId b = 0; b < a; ++b) {
        CAPTURE(seed);
        const bool same = same_when_exchanged(*cluster, a, b);
        CHECK(exchanges.change_nothing(a, b) == same);
        ++found[same];
      }
    }
  }
  CHECK(found[true] > 300);
  CHECK(found[false] > 300);
}

TEST_CASE("several hosts are all before the others, or all behind them") {
  const auto problem = decoder({.memory = {95}, .us = {10}, .hosts = {50, 60}});
  for (const char* policy : {"stages", "fill"}) {
    for (const char* hosts : {"first", "last"}) {
      CAPTURE(policy);
      CAPTURE(hosts);
      const Placement placement = placed(problem, policy, {{"hosts", std::string(hosts)}});
      CHECK(make_simulation_evaluator(problem)->evaluate(placement).feasible);
      CHECK(counts(*problem, placement)[1] + counts(*problem, placement)[2] >= 9);
      const bool first = hosts == std::string("first");
      CHECK(std::is_partitioned(placement.begin(), placement.end(),
                                [&](DeviceId device) { return (device == 0) != first; }));
    }
  }
}

TEST_CASE("where hosts come first, they have all that is before what runs on them alone") {
  // The last of nine blocks of two ops, by its constraint; the embedding alone changes nothing.
  const auto pinned = [](const std::string& op) {
    const auto plain = decoder({.memory = {1000}, .us = {10}, .hosts = {1000}});
    ConstraintRule rule;
    rule.kind = ConstraintRule::Kind::pin;
    rule.ops.emplace_back().name = op;
    rule.devices = {"cpu:0"};
    return std::make_shared<const Problem>(
        plain->shared_graph(), plain->shared_cluster(), plain->shared_costs(), nullptr,
        plain->options(),
        std::make_shared<const Constraints>(plain->graph(), plain->cluster(), plain->costs(),
                                            std::vector{rule}));
  };
  const OptionTexts options = {{"hosts", std::string("first")}};
  for (const char* policy : {"stages", "fill"}) {
    CAPTURE(policy);
    CHECK(counts(*pinned("layers.3.q/op"), placed(pinned("layers.3.q/op"), policy, options)) ==
          std::vector<int>{9, 9});
    CHECK(counts(*pinned("embed/op"), placed(pinned("embed/op"), policy, options)) ==
          std::vector<int>{17, 1});
  }
}

/// Each rule keeps an op off a device.
std::shared_ptr<const Problem> kept_off(
    const std::shared_ptr<const Problem>& plain,
    const std::vector<std::pair<std::string, std::string>>& rules) {
  std::vector<ConstraintRule> made;
  for (const auto& [op, device] : rules) {
    ConstraintRule& rule = made.emplace_back();
    rule.kind = ConstraintRule::Kind::forbid;
    rule.ops.emplace_back().name = op;
    rule.devices = {device};
  }
  return std::make_shared<const Problem>(
      plain->shared_graph(), plain->shared_cluster(), plain->shared_costs(), nullptr,
      plain->options(),
      std::make_shared<const Constraints>(plain->graph(), plain->cluster(), plain->costs(), made));
}

TEST_CASE("runs that are alone have no layer elsewhere") {
  // The host, which is cpu:0, comes first; then gpu:0, which is much faster than gpu:1.
  const auto plain = decoder({.memory = {1000, 1000}, .us = {10, 90}});
  const auto problem = kept_off(plain, {{"layers.3.q/op", "gpu:0"}});
  OptionTexts options = {{"order", std::string("machine")}, {"hosts", std::string("first")}};
  for (const char* policy : {"stages", "fill"}) {
    CAPTURE(policy);
    options["alone"] = false;
    CHECK(counts(*problem, placed(problem, policy, options)) == std::vector<int>{17, 1, 0});
    options["alone"] = true;
    CHECK(counts(*problem, placed(problem, policy, options)) == std::vector<int>{9, 0, 9});
  }
  const auto none = kept_off(plain, {{"layers.3.q/op", "gpu:0"}, {"layers.5.q/op", "gpu:1"}});
  options["hosts"] = std::string("none");
  expect_error(ErrorCode::infeasible, {"one run of whole layers", "'layers.", "relax"},
               [&] { (void)placed(none, "stages", options); });
  expect_error(ErrorCode::infeasible, {"one run of whole layers", "'layers.3.q/op'", "relax"}, [&] {
    (void)placed(none, "even", {{"alone", true}});
  });
}

TEST_CASE("runs that are alone are not repaired where they do not fit") {
  const auto problem = decoder({.memory = {90, 70}});
  for (const char* policy : {"stages", "fill", "even"}) {
    CAPTURE(policy);
    OptionTexts options = {{"alone", true}};
    if (policy == std::string("stages")) options["hosts"] = std::string("none");
    const Placement placement = placed(problem, policy, options);
    CHECK(make_simulation_evaluator(problem)->evaluate(placement).feasible ==
          (policy == std::string("fill")));
    CHECK(simplicity_of(problem->graph(), placement).cuts < 3);
  }
}

TEST_CASE("stages works on groups where nothing has the name of a module") {
  GraphBuilder builder("bare");
  TensorInfo info;
  info.bytes = 1;
  TensorId last = kNoTensor;
  for (int i = 0; i < 6; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "T");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.set_param_bytes(op, 10);
    last = builder.add_output(op, info);
  }
  const auto graph = builder.build();
  std::vector<Device> devices = {{"a", "a"}, {"b", "b"}};
  devices[0].memory_bytes = devices[1].memory_bytes = 45;
  const auto problem = std::make_shared<const Problem>(
      graph,
      std::make_shared<const Cluster>("two", devices, std::vector<LinkSpec>{{"*", "*", 1e12, 1}}),
      std::make_shared<const Costs>(
          std::vector{std::vector<double>(6, 10), std::vector<double>(6, 20)},
          std::vector<std::int64_t>{}, "test"));
  for (const char* policy : {"fill", "stages"}) {
    CAPTURE(policy);
    CHECK(counts(*problem, placed(problem, policy)) == std::vector<int>{4, 2});
  }
}

TEST_CASE("a training step that names no modules is cut between the layers that it comes back to") {
  // Ops of a layer: weights, forward, backward, update. The last layer's have the first ids.
  constexpr int kLayers = 6;
  const auto id = [](int layer, int what) {
    return static_cast<OpId>(4 * (kLayers - 1 - layer) + what);
  };
  std::vector<SmallOp> ops;
  for (int i = 0; i < kLayers; ++i) {
    for (const SmallOp& op : {SmallOp{{1}, 1000}, {{10}}, {{20}}, {{1}}}) ops.push_back(op);
  }
  std::vector<SmallEdge> edges;
  for (int layer = 0; layer < kLayers; ++layer) {
    edges.push_back({id(layer, 0), id(layer, 1), 1000});
    edges.push_back({id(layer, 0), id(layer, 2), 1000});
    edges.push_back({id(layer, 2), id(layer, 3), 1000});
    if (layer + 1 == kLayers) {
      edges.push_back({id(layer, 1), id(layer, 2), 5});
    } else {
      edges.push_back({id(layer, 1), id(layer + 1, 1), 5});
      edges.push_back({id(layer + 1, 2), id(layer, 2), 5});
    }
  }
  const auto problem = small_problem({{"a", "x", 10000}, {"b", "x", 10000}}, ops, edges);
  const policies::stages::Chain chain(*problem);
  REQUIRE(chain.count() == kLayers);
  for (int layer = 0; layer < kLayers; ++layer) {
    CHECK(chain[layer].ops ==
          std::vector<OpId>{id(layer, 0), id(layer, 1), id(layer, 2), id(layer, 3)});
    CHECK(chain[layer].param_bytes == 1000);
  }
  const Placement placement = placed(problem, "stages");
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int what = 1; what < 4; ++what) {
      CHECK(placement[static_cast<std::size_t>(id(layer, what))] ==
            placement[static_cast<std::size_t>(id(layer, 0))]);
    }
  }
}

TEST_CASE("layers that few tensors come back to are cut within, too") {
  // Weights of the first layer are read before and behind the second; two more follow.
  std::vector<SmallOp> ops;
  for (const std::int64_t bytes : {900, 0, 0, 700, 0, 500, 0, 300, 0}) ops.push_back({{1}, bytes});
  const std::vector<SmallEdge> edges = {{0, 1, 900}, {0, 2, 900}, {1, 4, 5}, {3, 4, 700}, {4, 2, 5},
                                        {2, 6, 5},   {5, 6, 500}, {6, 8, 5}, {7, 8, 300}};
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, ops, edges);
  CHECK(policies::stages::Chain(*problem).count() == 9);
}

}  // namespace
}  // namespace berth::test
