// Each rule of the dataflow semantics on a case small enough to check by hand. In the drawings one
// column is 1 us, a row is a device ("0:"), a link ("0>1") or the memory of a device.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/sdk/ops/constants.h"
#include "berth/simulator.h"

namespace berth::test {
namespace {

/// Link bandwidth of the cases: 1000 bytes take 1 us.
constexpr double kBandwidth = 1e9;

/// Ops named by one letter each; sizes in thousands of bytes, so in us on a link.
/// The step returns nothing but what `result` names.
class Case {
 public:
  explicit Case(const std::string& dialect = "berth") : builder_("case", dialect) {
    builder_.name_results();
  }
  OpId op(const std::string& name, double cost_us, std::vector<std::int64_t> kilobytes = {},
          const std::string& type = "Op") {
    const OpId id = builder_.add_op(name, name == "x" ? "Input" : type);
    builder_.set_cost(id, "", cost_us);
    outputs_.emplace_back();
    for (const std::int64_t size : kilobytes) {
      TensorInfo info;
      info.bytes = size * 1000;
      outputs_.back().push_back(builder_.add_output(id, info));
    }
    return id;
  }
  void read(OpId consumer, OpId producer, std::size_t output = 0) {
    builder_.add_input(consumer, outputs_[static_cast<std::size_t>(producer)][output]);
  }
  void result(OpId op) { builder_.add_result(outputs_[static_cast<std::size_t>(op)][0]); }
  TensorId output(OpId op) const { return outputs_[static_cast<std::size_t>(op)][0]; }
  GraphBuilder& builder() { return builder_; }

  std::vector<Device> devices{device("0"), device("1")};
  std::vector<LinkSpec> links{{"*", "*", kBandwidth, 0, {}}};
  std::vector<std::int64_t> workspace_bytes;
  std::vector<Costs::Joined> joined;
  DeviceId worker = kNoDevice;  // for which hosts keep parameters
  ProblemOptions options;

  static Device device(const std::string& name) {
    Device one;
    one.name = name;
    one.kind = "k";
    return one;
  }

  std::shared_ptr<const Problem> problem() {
    const auto graph = ops::fold_constants(builder_.build());
    auto cluster = std::make_shared<const Cluster>("case", devices, links);
    if (worker != kNoDevice) cluster = cluster->with_hosts_keeping_for(worker);
    const auto stated = Costs::stated(*graph, *cluster);
    const auto us = stated->of_kind(0);
    const auto costs = std::make_shared<const Costs>(
        std::vector<std::vector<double>>(static_cast<std::size_t>(cluster->kind_count()),
                                         {us.begin(), us.end()}),
        workspace_bytes, "case", joined);
    return std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
  }
  StepTrace trace(const Placement& placement) { return Simulator(problem()).trace(placement); }

 private:
  GraphBuilder builder_;
  std::vector<std::vector<TensorId>> outputs_;
};

using Starts = std::vector<double>;

TEST_CASE("transfers over a parallel link wait for nothing, the others as ever") {
  //   0: ss                       s makes x (4) and y (3) for device 1, z (2) for device 2
  //   0>1: ..xxxx                 both at once
  //   0>1: ..yyy
  //   0>2: ..zz                   not parallel, and yet it need not wait for x and y
  Case one;
  one.devices.push_back(Case::device("2"));
  one.links.push_back({"0", "1", kBandwidth, 0, {}, true});
  const OpId s = one.op("s", 2, {4, 3, 2});
  const OpId a = one.op("a", 1);
  const OpId b = one.op("b", 1);
  const OpId c = one.op("c", 1);
  one.read(a, s, 0);
  one.read(b, s, 1);
  one.read(c, s, 2);
  const StepTrace trace = one.trace({0, 1, 1, 2});
  CHECK(trace.op_start_us == Starts{0, 6, 5, 4});
  CHECK(trace.runtime_us == 7);
  REQUIRE(trace.transfers.size() == 3);
  for (const Transfer& transfer : trace.transfers) CHECK(transfer.start_us == 2);
  CHECK(trace.links.size() == 2);
  CHECK(trace.links[0].busy_us == 7);  // by both together
}

TEST_CASE("a view takes no memory, and what it is of stays as long as what it gives") {
  // The model's input x (4) and what a makes (6) are reshaped, the latter twice; c reads both.
  Case one;
  const OpId x = one.op("x", 0, {4});
  const OpId v = one.op("v", 0, {4});
  const OpId a = one.op("a", 1, {6});
  const OpId w = one.op("w", 0, {6});
  const OpId u = one.op("u", 0, {6});
  const OpId b = one.op("b", 1, {1});
  const OpId c = one.op("c", 1, {2});
  one.read(v, x);
  one.read(a, v);
  one.read(w, a);
  one.read(u, w);
  one.read(b, a);
  one.read(c, u);
  one.read(c, b);
  one.read(c, v);
  one.result(c);
  for (const OpId view : {v, w, u}) one.builder().set_attribute(view, "view", std::int64_t{1});
  const Simulator simulator(one.problem());
  // x, and in turn: a; a and b; a, b and c.
  CHECK(simulator.trace(Placement{0, 0, 0, 0, 0, 0, 0}).devices[0].peak_bytes == 13000);
  // Device 1 gets what u gives, b and v: it has their copies, and c.
  const StepTrace apart = simulator.trace(Placement{0, 0, 0, 0, 0, 0, 1});
  CHECK(apart.devices[0].peak_bytes == 11000);
  CHECK(apart.devices[1].peak_bytes == 13000);
  // Device 1 has what a gives once: w and u are views of the copy.
  const StepTrace split = simulator.trace(Placement{0, 0, 0, 1, 1, 0, 1});
  CHECK(split.devices[1].peak_bytes == 13000);
}

TEST_CASE("an op that writes over an input takes nothing, and keeps that input alone") {
  // The sum of a and b (4 each) is over a, and b is let go of at its end; a function of it is over it; next takes 6.
  const auto peaks = [](Objective objective, bool overwrites, const Placement& placement) {
    Case one("tf");
    const OpId x = one.op("x", 0, {0});
    const OpId a = one.op("a", 1, {4}, "MatMul");
    const OpId b = one.op("b", 1, {4}, "MatMul");
    const OpId sum = one.op("sum", 1, {4}, "AddV2");
    const OpId relu = one.op("relu", 1, {4}, "Relu");
    const OpId next = one.op("next", 1, {6}, "MatMul");
    one.read(a, x);
    one.read(b, x);
    one.read(sum, a);
    one.read(sum, b);
    one.read(relu, sum);
    one.read(next, relu);
    one.result(next);
    one.options.objective = objective;
    one.options.overwrites = overwrites;
    Simulator::Workspace workspace;
    Evaluation evaluation;
    Simulator(one.problem()).evaluate(placement, workspace, evaluation);
    return evaluation.peak_bytes;
  };
  const Placement here{0, 0, 0, 0, 0, 0}, apart{0, 0, 0, 1, 1, 1};
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    // a is there while b is made; in a stage what is sent is gone with its op.
    const std::int64_t sender = objective == Objective::latency ? 8000 : 4000;
    // a and b, then a and next; there, their copies, then that of a and next.
    CHECK(peaks(objective, true, here) == std::vector<std::int64_t>{10000, 0});
    CHECK(peaks(objective, true, apart) == std::vector<std::int64_t>{sender, 10000});
    // a, b and the sum.
    CHECK(peaks(objective, false, here) == std::vector<std::int64_t>{12000, 0});
    CHECK(peaks(objective, false, apart) == std::vector<std::int64_t>{sender, 12000});
  }
}

TEST_CASE("some kernels write over inputs on machines of hosts alone") {
  for (const bool gpu : {false, true}) {
    Case one("onnx");
    for (Device& device : one.devices) device.host = true;
    if (gpu) {
      one.devices[1].host = false;
      one.devices[1].kind = "gpu";
    }
    const OpId x = one.op("x", 0, {0});
    const OpId scores = one.op("scores", 1, {4}, "MatMul");
    const OpId softmax = one.op("softmax", 1, {4}, "Softmax");
    const OpId next = one.op("next", 1, {1}, "MatMul");
    one.read(scores, x);
    one.read(softmax, scores);
    one.read(next, softmax);
    one.result(next);
    CHECK(one.trace({0, 0, 0, 0}).devices[0].peak_bytes == (gpu ? 8000 : 5000));
  }
}

TEST_CASE(
    "what was measured as one op is done in place, where nothing else reads what is between") {
  const auto peak_bytes = [](bool joined, bool other_reader) {
    Case one;
    const OpId convolution = one.op("convolution", 1, {4});
    const OpId normalization = one.op("normalization", 0, {4});
    const OpId relu = one.op("relu", 0, {4});
    const OpId next = one.op("next", 1, {1});
    one.read(normalization, convolution);
    one.read(relu, normalization);
    one.read(next, relu);
    if (other_reader) one.read(next, normalization);
    one.result(next);
    if (joined) one.joined = {{normalization, convolution}, {relu, convolution}};
    return Simulator(one.problem()).trace(Placement{0, 0, 0, 0}).devices[0].peak_bytes;
  };
  CHECK(peak_bytes(false, false) == 8000);
  CHECK(peak_bytes(true, false) == 5000);
  CHECK(peak_bytes(true, true) == 9000);
}

TEST_CASE(
    "a product with a function of one factor is done in place, where both were measured as one") {
  const auto peak_bytes = [](bool joined) {
    Case one;
    const OpId convolution = one.op("convolution", 1, {4});
    const OpId gate = one.op("gate", 0, {4});
    const OpId product = one.op("product", 0, {4});
    const OpId next = one.op("next", 1, {1});
    one.read(gate, convolution);
    one.read(product, convolution);
    one.read(product, gate);
    one.read(next, product);
    one.result(next);
    if (joined) one.joined = {{gate, convolution}, {product, convolution}};
    return Simulator(one.problem()).trace(Placement{0, 0, 0, 0}).devices[0].peak_bytes;
  };
  CHECK(peak_bytes(false) == 12000);
  CHECK(peak_bytes(true) == 5000);
}

TEST_CASE("a receiver that copies takes its mail before its ops, one transfer after the other") {
  //   0: ss                        s makes x (4) and y (3) for device 1, which notices them at 3
  //   1: llllxxxxxyyyyab           each takes 1 more; a reads x and could begin at 9
  Case one;
  one.links[0] = {"*", "*", kBandwidth, 1, {}};
  one.links[0].receiver_us = 1;
  const OpId s = one.op("s", 2, {4, 3});
  const OpId a = one.op("a", 1);
  const OpId b = one.op("b", 1);
  one.op("l", 4);
  one.read(a, s, 0);
  one.read(b, s, 1);
  const Simulator simulator(one.problem());
  const StepTrace trace = simulator.trace(Placement{0, 1, 1, 1});
  CHECK(trace.op_start_us == Starts{0, 13, 14, 0});
  CHECK(trace.runtime_us == 15);
  REQUIRE(trace.transfers.size() == 2);
  CHECK(trace.transfers[0].queued_us == 2);
  CHECK(trace.transfers[0].start_us == 4);
  CHECK(trace.transfers[0].end_us == 9);
  CHECK(trace.transfers[1].start_us == 9);
  CHECK(trace.transfers[1].end_us == 13);
  // b waited for a, which waited for y, which waited for x, which waited for l.
  REQUIRE(trace.critical_path.size() == 5);
  CHECK(trace.critical_path[0].op == 3);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(trace.critical_path[i].reason == CriticalStep::Reason::device_busy);
  }
  // A receiver that waits begins when the message is there: s runs behind l and ends at 6.
  const StepTrace idle = simulator.trace(Placement{0, 1, 1, 0});
  CHECK(idle.transfers[0].start_us == 7);
  CHECK(idle.runtime_us == 18);
}

TEST_CASE("what crosses a parallel link counts in memory as any copy does") {
  //   0: sss      x (2) leaves at 3 and is there at 5
  //   1: ...xx aa
  Case one;
  one.links[0].parallel = true;
  const OpId s = one.op("s", 3, {2});
  const OpId a = one.op("a", 2);
  one.read(a, s, 0);
  const StepTrace trace = one.trace({0, 1});
  const std::vector<MemorySample> expected{{0, 0, 0},    {1, 0, 0}, {0, 0, 2000},
                                           {1, 3, 2000}, {0, 5, 0}, {1, 7, 0}};
  REQUIRE(trace.memory.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(trace.memory[i].device == expected[i].device);
    CHECK(trace.memory[i].us == expected[i].us);
    CHECK(trace.memory[i].bytes == expected[i].bytes);
  }
}

TEST_CASE("a device runs the ready op with the longest path to a sink") {
  // s, t, u are ready at 0; u leads to v and so goes first, then s, the longer of the others.
  //   0: uuusstvvvv   v has to wait for t, which was ready when s ended, and v only at 8: no,
  //                   v is ready at 3 (all local) with path 4, so it goes before s and t.
  //   0: uuuvvvvsst
  Case one;
  one.op("s", 2);
  one.op("t", 1);
  const OpId u = one.op("u", 3, {0});
  const OpId v = one.op("v", 4);
  one.read(v, u);
  const StepTrace trace = one.trace({0, 0, 0, 0});
  CHECK(trace.op_start_us == Starts{7, 9, 0, 3});
  CHECK(trace.runtime_us == 10);
  CHECK(trace.devices[0].busy_us == 10);
  CHECK(trace.devices[0].idle_us == 0);
}

TEST_CASE("branches that are alike run one after another, so that only their results wait") {
  //   0: abcabcj   each a makes 2, b 5 and c 1: c frees more than b made of a
  Case one;
  const OpId j = one.op("j", 1, {1});
  one.result(j);
  for (int branch = 0; branch < 2; ++branch) {
    const OpId a = one.op("a" + std::to_string(branch), 1, {2});
    const OpId b = one.op("b" + std::to_string(branch), 1, {5});
    const OpId c = one.op("c" + std::to_string(branch), 1, {1});
    one.read(b, a);
    one.read(c, b);
    one.read(j, c);
  }
  const StepTrace trace = one.trace(Placement(7, 0));
  CHECK(trace.op_start_us == Starts{6, 0, 1, 2, 3, 4, 5});
  CHECK(trace.devices[0].peak_bytes == 8000);  // the first c beside a and b of the second branch
}

TEST_CASE(
    "what frees nothing waits for its path: chains that grow, results, and tensors read twice") {
  const auto starts = [](std::int64_t last_kilobytes, bool result, bool read_twice) {
    Case one;
    const OpId j = one.op("j", 1, {1});
    one.result(j);
    for (int branch = 0; branch < 2; ++branch) {
      const OpId a = one.op("a" + std::to_string(branch), 1, {2});
      const OpId b = one.op("b" + std::to_string(branch), 1, {last_kilobytes});
      one.read(b, a);
      one.read(j, b);
      if (result) one.result(a);
      if (read_twice) one.read(j, a);
    }
    return one.trace(Placement(5, 0)).op_start_us;
  };
  const Starts in_depth{4, 0, 1, 2, 3}, in_breadth{4, 0, 2, 1, 3};
  CHECK(starts(2, false, false) == in_depth);
  CHECK(starts(3, false, false) == in_breadth);
  CHECK(starts(2, true, false) == in_breadth);
  CHECK(starts(2, false, true) == in_breadth);
}

TEST_CASE("an op that frees memory waits for what was more urgent than the op before it") {
  //   0: uuavvvvb   b frees what a made; v, which is ready at 2, goes before a and b
  Case one;
  const OpId a = one.op("a", 1, {2});
  const OpId b = one.op("b", 1, {1});
  const OpId u = one.op("u", 2, {0});
  const OpId v = one.op("v", 4, {1});
  one.read(b, a);
  one.read(v, u);
  for (const OpId op : {b, v}) one.result(op);
  CHECK(one.trace(Placement(4, 0)).op_start_us == Starts{6, 7, 0, 2});
}

TEST_CASE("among equal paths the op that was ready first runs first") {
  // b and c are equal; c is ready at 2, b at 5, while x (longest path) holds device 0 until 6.
  //   0: xxxxxxccb    1: p q
  Case one;
  const OpId x = one.op("x", 6);
  const OpId b = one.op("b", 2);
  const OpId c = one.op("c", 2);
  const OpId p = one.op("p", 4, {1});
  const OpId q = one.op("q", 1, {1});
  one.read(b, p);
  one.read(c, q);
  for (const OpId op : {p, q}) one.result(op);  // else b and c would free them
  // Device 1 runs p (path 6) before q (path 3) on its own, so q gets device 2.
  one.devices.push_back(Case::device("2"));
  const StepTrace trace = one.trace({0, 0, 0, 1, 2});
  CHECK(trace.op_start_us[static_cast<std::size_t>(x)] == 0);
  CHECK(trace.op_start_us[static_cast<std::size_t>(c)] == 6);
  CHECK(trace.op_start_us[static_cast<std::size_t>(b)] == 8);
}

TEST_CASE("a tensor is sent once per receiving device, over one outgoing engine") {
  //   0:   a
  //   0>1:  ===      one transfer for b and c
  //   0>2:     ===   the sender's engine is busy until 4
  //   1:      bc     2:        d
  Case one;
  one.devices.push_back(Case::device("2"));
  const OpId a = one.op("a", 1, {3});
  for (const char* name : {"b", "c", "d"}) one.read(one.op(name, 1), a);
  const StepTrace trace = one.trace({0, 1, 1, 2});
  CHECK(trace.op_start_us == Starts{0, 4, 5, 7});
  REQUIRE(trace.transfers.size() == 2);
  CHECK(trace.transfers[0].dst == 1);
  CHECK(trace.transfers[0].start_us == 1);
  CHECK(trace.transfers[0].end_us == 4);
  CHECK(trace.transfers[1].dst == 2);
  CHECK(trace.transfers[1].queued_us == 1);
  CHECK(trace.transfers[1].start_us == 4);
  CHECK(trace.runtime_us == 8);
  REQUIRE(trace.links.size() == 2);
  CHECK(trace.links[0].bytes == 3000);
  CHECK(trace.links[0].transfers == 1);
  CHECK(trace.links[0].busy_us == 3);
  // a, its second transfer (held up by the first), d.
  REQUIRE(trace.critical_path.size() == 4);
  CHECK(trace.critical_path[0].op == a);
  CHECK(trace.critical_path[1].transfer == 0);
  CHECK(trace.critical_path[1].reason == CriticalStep::Reason::input);
  CHECK(trace.critical_path[2].transfer == 1);
  CHECK(trace.critical_path[2].reason == CriticalStep::Reason::link_busy);
  CHECK(trace.critical_path[3].op == 3);
}

TEST_CASE("a device with an engine per link sends to several at once, and in turn to each") {
  //   0:   a         b reads a's first (3), c its second (2), d its third (1)
  //   0>1:  ===      b's
  //   0>1:     ==    c's waits for its link
  //   0>2:  =        d's waits for nothing
  Case one;
  one.devices.push_back(Case::device("2"));
  for (Device& device : one.devices) device.engine_per_link = true;
  const OpId a = one.op("a", 1, {3, 2, 1});
  for (std::size_t output = 0; output < 3; ++output) {
    one.read(one.op(std::string(1, "bcd"[output]), 1), a, output);
  }
  const StepTrace trace = one.trace({0, 1, 1, 2});
  CHECK(trace.op_start_us == Starts{0, 4, 6, 2});
  CHECK(trace.runtime_us == 7);
  // a, both transfers of the link, c.
  REQUIRE(trace.critical_path.size() == 4);
  CHECK(trace.critical_path[2].reason == CriticalStep::Reason::link_busy);
}

TEST_CASE(
    "a device with an engine per link receives from several at once, those with one send in turn") {
  //   0: a     1: b     2 has an engine per link, 0 and 1 one each
  //   0>2:  ====
  //   0>1:      ==      waits for the engine of 0
  //   1>2:  ==          at once with 0>2
  Case one;
  one.devices.push_back(Case::device("2"));
  one.devices.back().kind = "mesh";
  one.devices.back().engine_per_link = true;
  const OpId a = one.op("a", 1, {4, 2});
  const OpId b = one.op("b", 1, {2});
  const OpId c = one.op("c", 1, {1});
  const OpId d = one.op("d", 1);
  const OpId e = one.op("e", 1);
  one.read(c, a);
  one.read(d, a, 1);
  one.read(e, b);
  CHECK(one.trace({0, 1, 2, 1, 2}).op_start_us == Starts{0, 0, 5, 7, 3});
}

TEST_CASE("channels limit a device with an engine per link") {
  Case one;
  for (const char* name : {"2", "3"}) one.devices.push_back(Case::device(name));
  for (Device& device : one.devices) device.engine_per_link = true;
  one.links.push_back({"0", "1", kBandwidth, 0, {"slot"}});
  one.links.push_back({"0", "2", kBandwidth, 0, {"slot"}});
  const OpId a = one.op("a", 1, {3});
  for (const char* name : {"b", "c", "d"}) one.read(one.op(name, 1), a);
  CHECK(one.trace({0, 1, 2, 3}).op_start_us == Starts{0, 4, 7, 4});
}

TEST_CASE("the receiver whose op is most urgent is served first") {
  // As above, but d leads to e and so its device comes first, whatever the graph's order.
  //   0>2:  ===   0>1:     ===
  Case one;
  one.devices.push_back(Case::device("2"));
  const OpId a = one.op("a", 1, {3});
  const OpId b = one.op("b", 1);
  const OpId d = one.op("d", 1, {0});
  const OpId e = one.op("e", 5);
  one.read(b, a);
  one.read(d, a);
  one.read(e, d);
  CHECK(one.trace({0, 1, 2, 2}).op_start_us == Starts{0, 7, 4, 5});
}

TEST_CASE("a receiver takes in one transfer at a time, the one queued first before the others") {
  //   0: a     1: bb
  //   0>2:  ====
  //   1>2:      ==     queued at 2, waits for the incoming engine of 2 until 5
  //   2:       c d     (c at 5, d at 7)
  Case one;
  one.devices.push_back(Case::device("2"));
  const OpId a = one.op("a", 1, {4});
  const OpId b = one.op("b", 2, {2});
  const OpId c = one.op("c", 1);
  const OpId d = one.op("d", 1);
  one.read(c, a);
  one.read(d, b);
  const StepTrace trace = one.trace({0, 1, 2, 2});
  CHECK(trace.op_start_us == Starts{0, 0, 5, 7});
  CHECK(trace.critical_path[2].reason == CriticalStep::Reason::link_busy);
}

TEST_CASE("a sender's transfers leave in the order in which they were queued") {
  // b's tensor for device 3 is behind a's for device 2, which is taking one from device 1: the
  // queue of device 0 waits for its head although device 3 is idle.
  //   1: x           1>2:  ====
  //   0: aab         0>2:      ==   (queued at 2)
  //                  0>3:        =  (queued at 3)
  Case one;
  one.devices.push_back(Case::device("2"));
  one.devices.push_back(Case::device("3"));
  const OpId x = one.op("x", 1, {4});
  const OpId a = one.op("a", 2, {2});
  const OpId b = one.op("b", 1, {1});
  const OpId p = one.op("p", 1);
  const OpId q = one.op("q", 1);
  const OpId r = one.op("r", 1);
  one.read(p, x);
  one.read(q, a);
  one.read(r, b);
  CHECK(one.trace({1, 0, 0, 2, 2, 3}).op_start_us == Starts{0, 0, 2, 5, 7, 8});
}

TEST_CASE("links that share a channel take turns, and an older head keeps what it waits for") {
  // All links into 2 and 3 share the channel "pcie". x's transfer holds it from 1 to 5; those of y
  // (queued at 2) and z (at 3) follow in that order.
  //   0>2:  ====        x
  //   1>3:      ==      y
  //   4>2:        =     z: device 2 is idle from 5 on, the channel only from 7 on
  Case one;
  for (const char* name : {"2", "3", "4"}) one.devices.push_back(Case::device(name));
  one.links.push_back({"*", "2", kBandwidth, 0, {"pcie"}});
  one.links.push_back({"*", "3", kBandwidth, 0, {"pcie"}});
  const OpId x = one.op("x", 1, {4});
  const OpId y = one.op("y", 2, {2});
  const OpId z = one.op("z", 3, {1});
  const OpId p = one.op("p", 1);
  const OpId q = one.op("q", 1);
  const OpId r = one.op("r", 1);
  one.read(p, x);
  one.read(q, y);
  one.read(r, z);
  CHECK(one.trace({0, 1, 4, 2, 3, 2}).op_start_us == Starts{0, 0, 0, 5, 7, 8});
}

TEST_CASE("latency counts in every transfer; a control edge costs latency and holds no engine") {
  //   0:   a
  //   0>1:  =======    2 us latency + 5 us
  //   0~1:  --         the signal to c: 2 us, beside the transfer
  //   1:      c    b
  Case one;
  one.links[0].latency_us = 2;
  const OpId a = one.op("a", 1, {5});
  const OpId b = one.op("b", 1);
  const OpId c = one.op("c", 1);
  one.read(b, a);
  one.builder().add_control_edge(a, c);
  const StepTrace trace = one.trace({0, 1, 1});
  CHECK(trace.op_start_us == Starts{0, 8, 3});
  REQUIRE(trace.transfers.size() == 2);
  REQUIRE(trace.links.size() == 1);
  CHECK(trace.links[0].transfers == 1);
  CHECK(trace.links[0].busy_us == 7);
}

TEST_CASE("an op pays its device's overhead, unless it costs nothing") {
  //   0: aa.bb   "." = z, of no duration, between a and b
  Case one;
  one.devices[0].op_overhead_us = one.devices[1].op_overhead_us = 1;
  const OpId a = one.op("a", 1, {0});
  const OpId z = one.op("z", 0, {0});
  const OpId b = one.op("b", 1);
  one.read(z, a);
  one.read(b, z);
  const StepTrace trace = one.trace({0, 0, 0});
  CHECK(trace.op_start_us == Starts{0, 2, 2});
  CHECK(trace.op_end_us == Starts{2, 2, 4});
  CHECK(trace.devices[0].busy_us == 4);
}

TEST_CASE("outputs are held until the last local consumer and the last send are done") {
  //   0:    aabbb       a's output (10 kB) is read by b until 5 and sent until 12
  //   0>1:    ==========
  //   mem 0: 10 10 13 13 13 10 ...        b's own output, 3 kB, is read by nobody: gone at 5
  //   mem 1: the copy from 2 (the start of the transfer) until c has ended at 14
  Case one;
  const OpId a = one.op("a", 2, {10});
  const OpId b = one.op("b", 3, {3});
  const OpId c = one.op("c", 2, {1});
  one.read(b, a);
  one.read(c, a);
  const StepTrace trace = one.trace({0, 0, 1});
  CHECK(trace.devices[0].peak_bytes == 13000);
  CHECK(trace.devices[0].peak_us == 2);
  CHECK(trace.devices[0].peak_op == b);
  CHECK(trace.devices[1].peak_bytes == 11000);
  CHECK(trace.devices[1].peak_us == 12);
  CHECK(trace.devices[1].peak_op == c);
  std::vector<std::pair<double, std::int64_t>> first, second;
  for (const MemorySample& sample : trace.memory) {
    (sample.device == 0 ? first : second).emplace_back(sample.us, sample.bytes);
  }
  const std::vector<std::pair<double, std::int64_t>> expected_first = {
      {0, 0}, {0, 10000}, {2, 13000}, {5, 10000}, {12, 0}};
  const std::vector<std::pair<double, std::int64_t>> expected_second = {
      {0, 0}, {2, 10000}, {12, 11000}, {14, 0}};
  CHECK(first == expected_first);
  CHECK(second == expected_second);
}

TEST_CASE("parameters are resident, shared ones once per device; workspace while its op runs") {
  // Own parameters: a 100, b 20; one of 1000 bytes is read by a, b and c. b works in 7 bytes.
  Case one;
  const OpId a = one.op("a", 1, {0});
  const OpId b = one.op("b", 1);
  const OpId c = one.op("c", 1);
  one.read(b, a);
  TensorInfo weight;
  weight.bytes = 1000;
  const TensorId shared = one.builder().add_parameter(weight);
  for (const OpId op : {a, b, c}) one.builder().add_input(op, shared);
  one.builder().set_param_bytes(a, 100);
  one.builder().set_param_bytes(b, 20);
  one.workspace_bytes = {0, 7, 0};
  one.devices[0].memory_bytes = 1125;
  const auto problem = one.problem();
  const Simulator simulator(problem);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 0, 1}, workspace, evaluation);
  CHECK(evaluation.peak_bytes == std::vector<std::int64_t>{1127, 1000});
  CHECK(!evaluation.feasible);
  CHECK(evaluation.worst_device == 0);
  CHECK(evaluation.excess_bytes == 2);
  const StepTrace trace = simulator.trace(Placement{0, 0, 1});
  CHECK(trace.devices[0].param_bytes == 1120);
  CHECK(trace.devices[0].peak_op == b);
  CHECK(trace.devices[1].peak_op == kNoOp);
}

TEST_CASE("what ends at an instant gives its memory back before what starts takes its own") {
  //   0: aabb    each 5 kB, nothing kept: 5 kB at a time
  Case one;
  one.op("a", 2, {5});
  one.op("b", 2, {5});
  CHECK(one.trace({0, 0}).devices[0].peak_bytes == 5000);
}

TEST_CASE("throughput: a load is compute, tensors received and outputs sent, once each") {
  //   host 0: a        a's 3 kB go to b and c on 1 (one transfer) and to d on 2 over a link of half
  //   1: b c e         the bandwidth; b's 4 kB come back to the host
  //   2: d             c's 2 kB go to d on 2, again at half the bandwidth
  Case one;
  one.options.objective = Objective::throughput;
  one.devices = {Case::device("0"), Case::device("1"), Case::device("2")};
  one.devices[0].host = true;
  one.devices[0].kind = "cpu";
  one.devices[1].memory_bytes = 99;
  one.links.push_back({"*", "2", kBandwidth / 2, 0, {}});
  const OpId a = one.op("a", 1, {3});
  const OpId b = one.op("b", 2, {4});
  const OpId c = one.op("c", 3, {2});
  const OpId d = one.op("d", 5);
  const OpId e = one.op("e", 7);
  one.read(b, a);
  one.read(c, a);
  one.read(d, a);
  one.read(d, c);
  const OpId f = one.op("f", 1);
  one.read(f, b);
  one.read(e, b);
  one.builder().set_param_bytes(e, 100);
  const Simulator simulator(one.problem());
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 1, 1, 2, 1, 0}, workspace, evaluation);
  // Device 1: compute 12, receives a (3), sends b (4) and c (2 kB at half: 4).
  // Device 2: compute 5, receives a (6) and c (4). The host: compute 2 and nothing else.
  CHECK(evaluation.busy_us == std::vector<double>{2, 23, 15});
  CHECK(evaluation.max_load_us == 23);
  CHECK(evaluation.objective_us == 23);
  // The host holds b's output when it makes a's. Device 1 holds a's and b's when it makes c's, beside
  // its parameters; device 2 what it receives.
  CHECK(evaluation.peak_bytes == std::vector<std::int64_t>{7000, 9100, 5000});
  CHECK(evaluation.worst_device == 1);
  CHECK(evaluation.excess_bytes == 9001);
}

TEST_CASE("throughput: two hosts both pay for what passes between them") {
  //   host 0: a     a's 3 kB go to b on the host 1 and to c on 2, b's 4 kB to c
  //   host 1: b
  //   2: c
  Case one;
  one.options.objective = Objective::throughput;
  one.devices = {Case::device("0"), Case::device("1"), Case::device("2")};
  for (const std::size_t host : {0, 1}) {
    one.devices[host].host = true;
    one.devices[host].kind = "cpu";
  }
  const OpId a = one.op("a", 1, {3});
  const OpId b = one.op("b", 2, {4});
  const OpId c = one.op("c", 5);
  one.read(b, a);
  one.read(c, a);
  one.read(c, b);
  const Simulator simulator(one.problem());
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 1, 2}, workspace, evaluation);
  CHECK(evaluation.busy_us == std::vector<double>{1 + 3, 2 + 3, 5 + 3 + 4});
}

TEST_CASE("throughput: a channel that transfers share has a load of its own") {
  //   0: a     a's 3 kB go to b and c, b's 4 kB to c, all over one channel: 10 us in each step
  //   1: b
  //   2: c
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    Case one;
    one.options.objective = Objective::throughput;
    one.options.semantics = semantics;
    one.devices.push_back(Case::device("2"));
    one.links = {{"*", "*", kBandwidth, 0, {"bus"}}};
    const OpId a = one.op("a", 1, {3});
    const OpId b = one.op("b", 1, {4});
    const OpId c = one.op("c", 1);
    one.read(b, a);
    one.read(c, a);
    one.read(c, b);
    const Simulator simulator(one.problem());
    Simulator::Workspace workspace;
    Evaluation evaluation;
    simulator.evaluate(Placement{0, 1, 2}, workspace, evaluation);
    CHECK(evaluation.busy_us == std::vector<double>{4, 8, 8});
    // The published simulator knows no channels.
    const double channel_us = semantics == Semantics::dataflow ? 10 : 0;
    CHECK(evaluation.max_load_us == std::max(channel_us, 8.0));
  }
}

TEST_CASE("inputs are there from the start to the end, results from their op to the end") {
  //   0: aabb    x (10 kB) is read by a alone; a's result (3 kB) by b, which works in its own 1 kB
  Case one;
  const OpId x = one.op("x", 0, {10});
  const OpId a = one.op("a", 2, {3});
  const OpId b = one.op("b", 2, {1});
  one.read(a, x);
  one.read(b, a);
  one.result(a);
  std::vector<std::pair<double, std::int64_t>> samples;
  const StepTrace trace = one.trace({0, 0, 0});
  for (const MemorySample& sample : trace.memory) {
    if (sample.device == 0) samples.emplace_back(sample.us, sample.bytes);
  }
  const std::vector<std::pair<double, std::int64_t>> expected = {
      {0, 10000}, {0, 13000}, {2, 14000}, {4, 13000}};
  CHECK(samples == expected);
  CHECK(trace.devices[0].peak_bytes == 14000);
  CHECK(trace.devices[0].param_bytes == 0);
}

TEST_CASE("a constant of the step is there once, whether the step returns it or not") {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    Case one;
    one.options.objective = objective;
    one.options.in_flight = 3;
    const OpId constant = one.op("c", 1, {100});
    const OpId a = one.op("a", 5, {10});
    const OpId b = one.op("b", 5, {10});
    one.read(b, a);
    one.op("d", 5);
    one.builder().set_pure(constant);
    one.result(constant);
    one.result(b);
    const Simulator simulator(one.problem());
    Simulator::Workspace workspace;
    Evaluation evaluation;
    simulator.evaluate(Placement{0, 0, 0, 0}, workspace, evaluation);
    CHECK(evaluation.peak_bytes[0] == (objective == Objective::latency ? 120000 : 160000));
  }
}

TEST_CASE("a copy of an input or a result lives as any copy does") {
  //   x and a's result stay on device 0; device 1 frees its copies
  Case one;
  const OpId x = one.op("x", 0, {10});
  const OpId a = one.op("a", 1, {4});
  const OpId b = one.op("b", 1, {2});
  const OpId c = one.op("c", 1);
  one.read(a, x);
  one.read(b, x);
  one.read(c, a);
  one.read(c, b);
  one.result(a);
  const StepTrace trace = one.trace({0, 0, 1, 1});
  std::int64_t last[2] = {0, 0};
  for (const MemorySample& sample : trace.memory) last[sample.device] = sample.bytes;
  CHECK(last[0] == 14000);
  CHECK(last[1] == 0);
}

TEST_CASE("throughput: every step in flight has its inputs, activations and results") {
  Case one;
  one.options.objective = Objective::throughput;
  one.options.in_flight = 3;
  const OpId x = one.op("x", 0, {10});
  const OpId a = one.op("a", 1, {4});
  const OpId b = one.op("b", 1, {2});
  one.read(a, x);
  one.read(b, a);
  one.result(b);
  one.builder().set_param_bytes(b, 500);
  const Simulator simulator(one.problem());
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 0, 1}, workspace, evaluation);
  CHECK(evaluation.peak_bytes == std::vector<std::int64_t>{3 * 14000, 500 + 3 * 6000});
}

TEST_CASE("throughput: the workspace of the op that runs is there once, whatever is in flight") {
  Case one;
  one.options.objective = Objective::throughput;
  one.options.in_flight = 3;
  one.workspace_bytes = {100, 700};
  const OpId a = one.op("a", 1, {4});
  one.read(one.op("b", 1, {2}), a);
  const Simulator simulator(one.problem());
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 0}, workspace, evaluation);
  CHECK(evaluation.peak_bytes[0] == 3 * 6000 + 700);
}

TEST_CASE("a host that only keeps parameters has the rest in the memory of who computes for it") {
  for (const Objective objective : {Objective::latency, Objective::throughput}) {
    Case one;
    one.options.objective = objective;
    one.devices[0].host = true;
    one.devices[0].kind = "host";
    one.worker = 1;
    one.workspace_bytes = {0, 50};
    const OpId x = one.op("x", 0, {10});
    const OpId a = one.op("a", 1, {4});
    one.read(a, x);
    one.builder().set_param_bytes(a, 500);
    const Simulator simulator(one.problem());
    Simulator::Workspace workspace;
    Evaluation evaluation;
    simulator.evaluate(Placement{0, 0}, workspace, evaluation);
    CHECK(evaluation.peak_bytes == std::vector<std::int64_t>{500, 14050});
  }
}

TEST_CASE("an output sent to several receivers counts at the slowest of their links") {
  Case one;
  one.options.objective = Objective::throughput;
  one.devices.push_back(Case::device("2"));
  one.links.push_back({"*", "2", kBandwidth / 2, 0, {}});
  const OpId a = one.op("a", 1, {3});
  one.read(one.op("b", 1), a);
  one.read(one.op("c", 1), a);
  const Simulator simulator(one.problem());
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator.evaluate(Placement{0, 1, 2}, workspace, evaluation);
  CHECK(evaluation.busy_us == std::vector<double>{1 + 6, 1 + 3, 1 + 6});
}

TEST_CASE("placeto: a broadcast moves at its slowest receiver's bandwidth, latency is unknown") {
  //   0:   a......   (pause 5.7)
  //   bus:  ======   3 kB at half the bandwidth, then a pause of 25
  Case one;
  one.options.semantics = Semantics::placeto;
  one.devices.push_back(Case::device("2"));
  one.links[0].latency_us = 9;
  one.links.push_back({"*", "2", kBandwidth / 2, 9, {}});
  const OpId a = one.op("a", 1, {3});
  one.read(one.op("b", 1), a);
  one.read(one.op("c", 1), a);
  const StepTrace trace = one.trace({0, 1, 2});
  CHECK(trace.op_start_us == Starts{0, 7, 7});
  CHECK(trace.runtime_us == 32);
  REQUIRE(trace.links.size() == 1);
  CHECK(trace.links[0].src == 0);
  CHECK(trace.links[0].dst == kNoDevice);
}

TEST_CASE("a step that fills memory exactly fits, and a byte less is too little") {
  // Device 0 has, while b runs, what a made (3), what b makes (1), and b's workspace.
  const auto judged = [](std::int64_t memory_bytes, std::int64_t workspace_bytes) {
    Case one;
    one.devices[0].memory_bytes = memory_bytes;
    one.workspace_bytes = {0, workspace_bytes};
    const OpId a = one.op("a", 1, {3});
    const OpId b = one.op("b", 1, {1});
    one.read(b, a);
    one.result(b);
    Simulator::Workspace workspace;
    Evaluation evaluation;
    Simulator(one.problem()).evaluate(Placement{0, 0}, workspace, evaluation);
    CHECK(evaluation.feasible == (evaluation.worst_device == kNoDevice));
    CHECK(evaluation.feasible == (evaluation.excess_bytes == 0));
    return evaluation.excess_bytes;
  };
  CHECK(judged(4000, 0) == 0);
  CHECK(judged(3999, 0) == 1);
  CHECK(judged(4500, 500) == 0);
  CHECK(judged(4499, 500) == 1);
}

}  // namespace
}  // namespace berth::test
