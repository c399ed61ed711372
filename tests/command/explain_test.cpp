// `berth explain` on the diamond, where every figure is known: chains of 3 x 1000 us on each gpu,
// 10 us for `end`; a tensor takes 10 + 1 us to travel.
#include "berth.h"

using namespace berth::test;

namespace {

std::vector<std::string> explain(std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "diamond.graph.json", "--cluster", "pair.cluster.json"});
  return more;
}

}  // namespace

TEST_CASE("explain tells the critical path in stretches and the transfer that hurts") {
  const Workplace work;
  const Json json = work.berth_json(explain({"--placement", "split.json", "--json"}));
  // b0 b1 b2 on gpu:1, their output to gpu:0, end.
  CHECK(json["runtime_us"] == doctest::Approx(3021));
  const Json& path = json["critical_path"];
  REQUIRE(path.size() == 3);
  CHECK(path[0]["device"] == "gpu:1");
  CHECK(path[0]["ops"] == 3);
  CHECK(path[0]["first"] == "b0");
  CHECK(path[0]["last"] == "b2");
  CHECK(path[1]["transfer"]["producer"] == "b2");
  CHECK(path[1]["transfer"]["src"] == "gpu:1");
  CHECK(path[1]["transfer"]["dst"] == "gpu:0");
  CHECK(path[1]["transfer"]["bytes"] == 1000);
  CHECK(path[2]["first"] == "end");
  CHECK(json["hurting_transfers"].size() == 1);
  CHECK(json["waits_us"]["transfers"] == doctest::Approx(11));
  CHECK(json["full_devices"].empty());

  const ProcessResult text = work.berth(explain({"--placement", "split.json"}));
  CHECK(text.status == 0);
  CHECK(text.err == "");
  for (const char* part :
       {"The critical path of one step, 3.021 ms", "gpu:1 runs 3 ops, from b0 to b2",
        "gpu:1 -> gpu:0: sends the output of b2, 1000 B", "gpu:0 runs end",
        "Transfers that the step waits for", "No device's memory is near its limit"}) {
    CHECK_MESSAGE(text.out.find(part) != std::string::npos, text.out, " lacks ", part);
  }
}

TEST_CASE("explain --op tells what every other device would cost, and the runner-up") {
  const Workplace work;
  const Json json = work.berth_json(explain({"--placement", "split.json", "--op", "b2", "--json"}));
  CHECK(json["device"] == "gpu:1");
  CHECK(json["on_critical_path"] == true);
  CHECK(json["start_us"] == doctest::Approx(2000));
  REQUIRE(json["alternatives"].size() == 2);
  // gpu:0 runs a0 a1 a2 until 3000, then b2 and end.
  CHECK(json["alternatives"][0]["device"] == "gpu:0");
  CHECK(json["alternatives"][0]["objective_us"] == doctest::Approx(4010));
  CHECK(json["alternatives"][0]["change_us"] == doctest::Approx(989));
  // cpu:0: 100 times as long, and two transfers.
  CHECK(json["alternatives"][1]["objective_us"] == doctest::Approx(2000 + 11 + 100000 + 11 + 10));
  CHECK(json["runner_up"] == "gpu:0");
  CHECK(json["bound_by"] == "contention");  // it would wait for a2

  const ProcessResult text = work.berth(explain({"--placement", "split.json", "--op", "b2"}));
  CHECK(text.out.find("b2 (Layer) is on gpu:1, from 2.000 ms to 3.000 ms, on the critical path.") !=
        std::string::npos);
  CHECK(text.out.find("4.010 ms (+989.0 us), the runner-up") != std::string::npos);
}

TEST_CASE("explain tells constraints, co-location, memory, and nothing apart") {
  Workplace work;
  const auto bound_by = [&](const std::string& op, std::vector<std::string> more) {
    more.insert(more.end(), {"--placement", "split.json", "--op", op, "--json"});
    return work.berth_json(explain(more));
  };
  // Only the gpus are left to it, then only one.
  const Json pinned = bound_by("b2", {"--pin", "b2=gpu:1"});
  CHECK(pinned["bound_by"] == "constraint");
  CHECK(pinned["runner_up"].is_null());
  CHECK(pinned["constraints"][0] == "--pin 'b2=gpu:1'");
  CHECK(pinned["alternatives"][0]["refused"] == "--pin 'b2=gpu:1'");
  // `end` would do as well on gpu:1.
  CHECK(bound_by("end", {})["bound_by"] == "nothing");

  Json graph = diamond_graph();
  for (const int op : {0, 1, 2}) graph["ops"][op]["colocate"] = "a";
  work.write("diamond.graph.json", graph);
  const Json together = bound_by("a1", {});
  CHECK(together["colocated"] == Json({"a0", "a2"}));
  // All of a on gpu:1 as well: 6 x 1000, the transfer overlapped, end on gpu:0.
  CHECK(together["alternatives"][0]["objective_us"] == doctest::Approx(6021));

  // All on gpu:0, b0 b1 b2 together would be better on gpu:1, where there is no room.
  graph = diamond_graph();
  for (const int op : {3, 4, 5}) graph["ops"][op]["colocate"] = "b";
  work.write("diamond.graph.json", graph);
  work.write("split.json",
             diamond_placement({"gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0", "gpu:0"}));
  CHECK(bound_by("b1", {})["bound_by"] == "nothing");
  CHECK(bound_by("b1", {"--memory-margin", "gpu:1=99%"})["bound_by"] == "memory");
}

TEST_CASE("an op that runs faster elsewhere is not said to run more slowly there") {
  // Two gpus, one twice as fast, and the host. On the fast one runs a chain that the step waits for;
  // b would run in half its time there, and the chain would wait for it.
  Workplace work;
  Json cluster = pair_cluster();
  cluster["devices"][1]["kind"] = "slow";
  work.write("pair.cluster.json", cluster);
  const auto op = [](const char* name, double fast, double slow, double host) {
    return Json{{"name", name},
                {"type", "Layer"},
                {"cost_us", {{"gpu", fast}, {"slow", slow}, {"cpu", host}}},
                {"output_bytes", {1}}};
  };
  work.write("diamond.graph.json", {{"format", "berth.graph/1"},
                                    {"name", "two"},
                                    {"ops", {op("a", 1000, 4000, 90000), op("b", 400, 800, 1100)}},
                                    {"edges", Json::array()}});
  work.write("split.json", {{"format", "berth.placement/1"},
                            {"graph", "two"},
                            {"devices", {"gpu:0", "gpu:1", "cpu:0"}},
                            {"assignment", {{"a", "gpu:0"}, {"b", "gpu:1"}}}});
  const Json json = work.berth_json(explain({"--placement", "split.json", "--op", "b", "--json"}));
  // On gpu:0 the step takes 1400 us, on the host 1100.
  CHECK(json["alternatives"][0]["objective_us"] == doctest::Approx(1400));
  CHECK(json["alternatives"][1]["objective_us"] == doctest::Approx(1100));
  CHECK(json["runner_up"] == "cpu:0");
  CHECK(json["bound_by"] == "contention");
}

TEST_CASE(
    "an op that would be faster elsewhere, and wait no longer for devices, is held by the order") {
  // On the slow gpu b waits for p. On the fast one it would take half its time, and come after t, for
  // which the step waits anyway.
  Workplace work;
  Json cluster = pair_cluster();
  cluster["devices"][1]["kind"] = "slow";
  work.write("pair.cluster.json", cluster);
  const auto op = [](const char* name, double fast, double slow) {
    return Json{{"name", name},
                {"type", "Layer"},
                {"cost_us", {{"gpu", fast}, {"slow", slow}, {"cpu", 90000}}},
                {"output_bytes", {1}}};
  };
  work.write(
      "diamond.graph.json",
      {{"format", "berth.graph/1"},
       {"name", "order"},
       {"ops",
        {op("h", 100, 200), op("t", 11000, 22000), op("p", 9000, 9000), op("b", 1500, 3000)}},
       {"edges", {{{"src", 0}, {"output", 0}, {"dst", 1}}}}});
  work.write("split.json",
             {{"format", "berth.placement/1"},
              {"graph", "order"},
              {"devices", {"gpu:0", "gpu:1", "cpu:0"}},
              {"assignment", {{"h", "gpu:0"}, {"t", "gpu:0"}, {"p", "gpu:1"}, {"b", "gpu:1"}}}});
  const Json json = work.berth_json(explain({"--placement", "split.json", "--op", "b", "--json"}));
  CHECK(json["bound_by"] == "order");
  const ProcessResult text = work.berth(explain({"--placement", "split.json", "--op", "b"}));
  CHECK(text.out.find("order") != std::string::npos);
}

TEST_CASE("of compute and transfers the one is the reason that costs more") {
  Workplace work;
  const auto bound_by = [&](double host_us, double bytes) {
    const auto op = [&](const char* name, double gpu, double cpu) {
      return Json{{"name", name},
                  {"type", "Layer"},
                  {"cost_us", {{"gpu", gpu}, {"cpu", cpu}}},
                  {"output_bytes", {bytes}}};
    };
    Json cluster = pair_cluster();
    cluster["devices"].erase(1);
    work.write("pair.cluster.json", cluster);
    work.write(
        "diamond.graph.json",
        {{"format", "berth.graph/1"},
         {"name", "chain"},
         {"ops", {op("a", 100, 9000), op("b", 100, host_us), op("c", 100, 9000)}},
         {"edges",
          {{{"src", 0}, {"output", 0}, {"dst", 1}}, {{"src", 1}, {"output", 0}, {"dst", 2}}}}});
    work.write("split.json", {{"format", "berth.placement/1"},
                              {"graph", "chain"},
                              {"devices", {"gpu:0", "cpu:0"}},
                              {"assignment", {{"a", "gpu:0"}, {"b", "gpu:0"}, {"c", "gpu:0"}}}});
    return work
        .berth_json(explain({"--placement", "split.json", "--op", "b", "--json"}))["bound_by"]
        .get<std::string>();
  };
  // One us more of computing, and two transfers of 1 ms.
  CHECK(bound_by(101, 1e6) == "communication");
  CHECK(bound_by(100, 1e6) == "communication");
  CHECK(bound_by(9000, 1) == "compute");
}

TEST_CASE(
    "transfers add up to what the step waits for, and a long one comes before those behind it") {
  // One tensor of 500 us over a link that six of 1 us wait for.
  Workplace work;
  Json cluster = pair_cluster();
  cluster["devices"].erase(2);
  cluster["links"][0]["latency_us"] = 0;
  work.write("pair.cluster.json", cluster);
  Json ops = Json::array(), edges = Json::array(), assignment = Json::object();
  for (int i = 0; i < 8; ++i) {
    const std::string name = i == 0 ? "long" : i < 7 ? "mask" + std::to_string(i) : "end";
    ops.push_back({{"name", name},
                   {"type", "T"},
                   {"cost_us", i == 7 ? 10 : 0.1},
                   {"output_bytes", {i == 0 ? 500000 : 1000}}});
    assignment[name] = i == 7 ? "gpu:1" : "gpu:0";
    if (i < 7) edges.push_back({{"src", i}, {"output", 0}, {"dst", 7}});
  }
  edges.push_back({{"src", 0}, {"dst", 1}});
  work.write("diamond.graph.json",
             {{"format", "berth.graph/1"}, {"name", "queue"}, {"ops", ops}, {"edges", edges}});
  work.write("split.json", {{"format", "berth.placement/1"},
                            {"graph", "queue"},
                            {"devices", {"gpu:0", "gpu:1"}},
                            {"assignment", assignment}});
  const Json json = work.berth_json(explain({"--placement", "split.json", "--json"}));
  const Json& transfers = json["hurting_transfers"];
  REQUIRE(transfers.size() >= 6);
  CHECK(transfers[0]["transfer"]["producer"] == "long");
  CHECK(transfers[1]["transfer"]["waited_us"] > 400);
  double us = 0;
  for (const Json& each : transfers) {
    us += each["end_us"].get<double>() - each["start_us"].get<double>();
  }
  CHECK(us == doctest::Approx(json["waits_us"]["transfers"].get<double>()));
  const ProcessResult text = work.berth(explain({"--placement", "split.json"}));
  CHECK(text.out.find("more, ") != std::string::npos);
}

TEST_CASE("memory that another op lacks does not hold an op where it is") {
  // "big" is too large for gpu:1. x and y share gpu:0, while gpu:2 is empty.
  Workplace work;
  Json cluster = pair_cluster();
  for (int device = 0; device < 3; ++device) {
    cluster["devices"][device] = {{"name", "gpu:" + std::to_string(device)},
                                  {"kind", "gpu"},
                                  {"memory_bytes", device == 2 ? 13 : 1000}};
  }
  work.write("pair.cluster.json", cluster);
  Json ops = Json::array();
  for (const char* name : {"big", "x", "y"}) {
    const bool big = ops.empty();
    ops.push_back({{"name", name},
                   {"type", "T"},
                   {"cost_us", big ? 10 : 100},
                   {"output_bytes", {4}},
                   {"param_bytes", big ? 2000 : 10}});
  }
  work.write(
      "diamond.graph.json",
      {{"format", "berth.graph/1"}, {"name", "room"}, {"ops", ops}, {"edges", Json::array()}});
  work.write("split.json", {{"format", "berth.placement/1"},
                            {"graph", "room"},
                            {"devices", {"gpu:0", "gpu:1", "gpu:2"}},
                            {"assignment", {{"big", "gpu:1"}, {"x", "gpu:0"}, {"y", "gpu:0"}}}});
  // x needs 14 bytes, one more than gpu:2 has.
  const auto bound_by = [&] {
    return work.berth_json(
        explain({"--placement", "split.json", "--op", "x", "--json"}))["bound_by"];
  };
  CHECK(bound_by() == "memory");
  cluster["devices"][2]["memory_bytes"] = 1000;
  work.write("pair.cluster.json", cluster);
  CHECK(bound_by() == "nothing");

  // A placement that does not fit is told before anything else.
  const std::string told = "DOES NOT FIT: device gpu:1 needs ";
  CHECK(work.berth(explain({"--placement", "split.json", "--op", "x"})).out.starts_with(told));
  const ProcessResult whole = work.berth(explain({"--placement", "split.json"}));
  CHECK(whole.out.find(told) < whole.out.find("critical path"));
  CHECK(whole.out.find("gpu:1 does not hold what is on it: ") != std::string::npos);
}

TEST_CASE("an op that pays a larger overhead elsewhere would run more slowly there") {
  // A small op beside a GPU whose ops begin more slowly than the host's.
  Workplace work;
  const auto bound_by = [&](double gpu_us, Json edge, double latency_us) {
    Json cluster = pair_cluster();
    cluster["devices"].erase(1);
    cluster["devices"][0]["op_overhead_us"] = 10;
    cluster["devices"][1]["op_overhead_us"] = 2;
    cluster["links"][0]["latency_us"] = latency_us;
    work.write("pair.cluster.json", cluster);
    const auto op = [](const char* name, Json us) {
      return Json{{"name", name}, {"type", "Layer"}, {"cost_us", us}, {"output_bytes", {4}}};
    };
    edge.update({{"src", 0}, {"dst", 1}});
    work.write("diamond.graph.json",
               {{"format", "berth.graph/1"},
                {"name", "small"},
                {"ops", {op("ids", {{"cpu", 2}}), op("small", {{"cpu", 1}, {"gpu", gpu_us}})}},
                {"edges", {edge}}});
    work.write("split.json", {{"format", "berth.placement/1"},
                              {"graph", "small"},
                              {"devices", {"gpu:0", "cpu:0"}},
                              {"assignment", {{"ids", "cpu:0"}, {"small", "cpu:0"}}}});
    const Json json =
        work.berth_json(explain({"--placement", "split.json", "--op", "small", "--json"}));
    CHECK(json["alternatives"][0]["change_us"].get<double>() >= 7.4);
    return json["bound_by"].get<std::string>();
  };
  const Json control = Json::object(), tensor = {{"output", 0}};
  CHECK(bound_by(1, control, 0) == "compute");
  // Four bytes take 4e-9 s: they are no reason for 7.5 us.
  CHECK(bound_by(0.5, tensor, 0) == "compute");
  CHECK(bound_by(0.5, tensor, 100) == "communication");
}

TEST_CASE("explain finds an op by the end of its name") {
  Workplace work;
  Json graph = diamond_graph();
  const char* const names[] = {"model/l1/op1",  "model/l1/op2", "model/l2/op1", "model.l3.op4",
                               "model.l3.xop4", "b2",           "end"};
  for (std::size_t i = 0; i < std::size(names); ++i) graph["ops"][i]["name"] = names[i];
  work.write("diamond.graph.json", graph);
  const auto asked = [&](const char* op) {
    return work.berth(explain({"--policy", "single", "--op", op}));
  };
  CHECK(asked("op2").out.find("model/l1/op2") != std::string::npos);
  CHECK(asked("op4").out.find("model.l3.op4") != std::string::npos);
  CHECK(asked("l2/op1").out.find("model/l2/op1") != std::string::npos);
  const ProcessResult several = asked("op1");
  CHECK(several.status == 1);
  CHECK(several.err.find("no op 'op1' in graph 'diamond'; 2 end so: model/l1/op1, model/l2/op1; "
                         "give more of the name") != std::string::npos);
}

TEST_CASE("explain takes a policy instead of a placement, and one of them") {
  const Workplace work;
  CHECK(work.berth_json(explain({"--policy", "single", "--json"}))["runtime_us"] ==
        doctest::Approx(6010));
  // auto where neither is named, as everywhere.
  CHECK(work.berth_json(explain({"--moves", "1", "--json"})).contains("runtime_us"));
  CHECK(work.berth(explain({"--policy", "single", "--placement", "split.json"})).status == 2);
  CHECK(work.berth(explain({"--policy", "random", "--set", "samples=3"})).status == 0);
  const ProcessResult misspelled = work.berth(explain({"--policy", "random", "--set", "sample=3"}));
  CHECK(misspelled.status != 0);
  CHECK(misspelled.err.find("samples") != std::string::npos);
  const ProcessResult unknown = work.berth(explain({"--policy", "single", "--op", "b22"}));
  CHECK(unknown.status == 1);
  CHECK(unknown.err.find("did you mean 'b2'") != std::string::npos);
}
