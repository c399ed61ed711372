// Traces of other tools' profilers as costs.
#include "berth.h"
#include "support/data.h"

using namespace berth::test;

namespace {

/// The diamond with a trace in which PyTorch measured `us` for each of these ops, on one processor.
struct Traced : Workplace {
  explicit Traced(const std::vector<std::string>& ops, double us = 5) {
    Json events = Json::array();
    for (const std::string& op : ops) {
      events.push_back({{"ph", "X"}, {"cat", "user_annotation"}, {"name", op}, {"dur", us}});
    }
    write("trace.json", {{"schemaVersion", 1}, {"traceEvents", events}});
    write("host.cluster.json", {{"format", "berth.cluster/1"},
                                {"name", "host"},
                                {"devices",
                                 {{{"name", "cpu:0"},
                                   {"kind", "cpu"},
                                   {"host", true},
                                   {"flops", 1e9},
                                   {"memory_bandwidth_bytes_per_s", 1e9}}}},
                                {"links", Json::array()}});
  }
};

const std::vector<std::string> kAll = {"a0", "a1", "a2", "b0", "b1", "b2", "end"};

}  // namespace

TEST_CASE("a trace is costs, for --costs and as a file that profile writes") {
  const Traced work(kAll);
  const std::vector<std::string> place = {"place",     "diamond.graph.json", "--policy", "single",
                                          "--cluster", "host.cluster.json",  "--json",   "--costs"};
  std::vector<std::string> traced = place;
  traced.emplace_back("trace.json");
  const ProcessResult result = work.berth(traced);
  CHECK(result.err == "berth: note: measured ops of 7: 7 on cpu\n");
  REQUIRE(result.status == 0);
  CHECK(Json::parse(result.out)["runtime_us"] == 35);

  const ProcessResult written = work.berth({"profile", "diamond.graph.json", "--from", "trace.json",
                                            "--cluster", "host.cluster.json", "-o", "costs.json"});
  CHECK(written.err == result.err);
  REQUIRE(written.status == 0);
  std::vector<std::string> filed = place;
  filed.emplace_back("costs.json");
  CHECK(work.berth_json(filed)["runtime_us"] == 35);
}

TEST_CASE("costs that were measured with other sizes state none") {
  const Workplace work;
  const std::string cnn = source_path("examples/models/tiny_cnn.onnx").string();
  const auto has_sizes = [&](const char* batch, int measured) {
    const Json shape = {{"float", {measured, 8, 32, 32}}};
    work.write("ort.json", Json::array({{{"ph", "X"},
                                         {"cat", "Node"},
                                         {"name", "/stem/stem.0/Conv_kernel_time"},
                                         {"dur", 5},
                                         {"args",
                                          {{"provider", "CPUExecutionProvider"},
                                           {"output_type_shape", Json::array({shape})}}}}}));
    const ProcessResult result = work.berth({"profile", cnn, "--batch", batch, "--from", "ort.json",
                                             "--cluster", "host", "-o", "costs.json"});
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    return Json::parse(file_text(work / "costs.json")).contains("tensor_bytes");
  };
  CHECK(has_sizes("2", 2));
  CHECK_FALSE(has_sizes("4", 2));
}

TEST_CASE("the note tells how many ops a trace measures; one of another graph is an error") {
  const Traced some({"a0", "other"});
  const std::vector<std::string> profile = {
      "profile", "diamond.graph.json", "--from", "trace.json", "--cluster", "host.cluster.json"};
  CHECK(some.berth(profile).err.find("7: 1 on cpu; the rest cost what the roofline") !=
        std::string::npos);
  const ProcessResult none = Traced({"other"}).berth(profile);
  CHECK(none.status == 1);
  CHECK(none.err.find("measures no op of graph 'diamond'") != std::string::npos);
}

TEST_CASE("profile measures, or reads what was measured") {
  const Traced work(kAll);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "--from"},
      {{"--from", "trace.json"}, "--cluster"},
      {{"--cluster", "host.cluster.json", "--backend", "cpu"}, "--from"},
      {{"--from", "trace.json", "--cluster", "host.cluster.json", "--backend", "cpu"},
       "--backend"}};
  for (const auto& [more, message] : cases) {
    std::vector<std::string> arguments = {"profile", "diamond.graph.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = work.berth(arguments);
    CHECK(result.status == 2);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err, " lacks ", message);
  }
}
