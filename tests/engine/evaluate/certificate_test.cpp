// Certificates of lower bounds against the checker, which is a program of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/bounds.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "berth/sdk/ops/constants.h"
#include "support/optimum.h"
#include "support/process.h"
#include "support/random_problem.h"
#include "support/random_rules.h"
#include "support/temporary_folder.h"

using namespace berth;
using namespace berth::test;

namespace {

using Json = nlohmann::json;

struct Case {
  std::shared_ptr<const Problem> problem;
  Certificate certificate;
  Json json;
};

Case certified(std::shared_ptr<const Problem> problem) {
  Certificate certificate = certify(*problem, strong_lower_bounds(*problem));
  Json json = Json::parse(certificate_json(*problem, certificate));
  return {std::move(problem), std::move(certificate), std::move(json)};
}

Case random_case(std::uint64_t seed, OpId most_ops, bool constrained = false) {
  Random random(seed);
  const bool memory = seed % 2 == 0;
  const auto graph = random_graph(
      random, {.ops = static_cast<OpId>(2 + random.below(static_cast<std::uint64_t>(most_ops) - 1)),
               .edge_chance = 2.0 / most_ops + 0.5 * random.uniform(),
               .control_chance = 0.2,
               .colocate_chance = seed % 3 == 0 ? 0.4 : 0.0,
               .max_bytes = 200000,
               .max_param_bytes = memory ? 1000000 : 0});
  const auto cluster = random_cluster(random, {.devices = 2 + static_cast<int>(random.below(2)),
                                               .kinds = 1 + static_cast<int>(random.below(3)),
                                               .host = seed % 5 == 0,
                                               .memory_bytes = memory ? 3000000 : kNoLimit,
                                               .op_overhead_us = seed % 7 == 0 ? 3.0 : 0.0});
  const auto costs = random_costs(random, *graph, *cluster, 100, seed % 4 == 0 ? 0.3 : 0.0);
  ProblemOptions options;
  options.objective = seed % 4 == 3 ? Objective::throughput : Objective::latency;
  options.semantics = seed % 8 < 3 ? Semantics::placeto : Semantics::dataflow;
  std::shared_ptr<const Constraints> rules;
  if (constrained) {
    rules = std::make_shared<const Constraints>(*graph, *cluster, *costs,
                                                random_rules(random, *graph, *cluster, *costs));
  }
  return certified(
      std::make_shared<const Problem>(graph, cluster, costs, nullptr, options, std::move(rules)));
}

/// Much flows into few ops.
Case collecting_case(std::uint64_t seed) {
  Random random(seed);
  const auto graph = random_collectors(random);
  const auto cluster = random_cluster(random, {.devices = 2 + static_cast<int>(random.below(2)),
                                               .kinds = 1 + static_cast<int>(random.below(2)),
                                               .per_link_chance = seed % 3 == 0 ? 0.5 : 0.0});
  return certified(
      std::make_shared<const Problem>(graph, cluster, random_costs(random, *graph, *cluster)));
}

/// What the checker says of each, a line for each: many at a time, since it is slow to start.
std::vector<std::string> check(const std::vector<Json>& certificates) {
  const TemporaryFolder folder;
  std::vector<std::string> command{BERTH_PYTHON, BERTH_SCRIPTS "/check_certificate.py"};
  for (const Json& certificate : certificates) {
    command.push_back(folder / ("c" + std::to_string(command.size()) + ".json"));
    std::ofstream(command.back()) << certificate.dump();
  }
  const ProcessResult result = run_process(command);
  CHECK(result.err == "");
  std::vector<std::string> lines(1);
  for (const char c : result.out) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  lines.pop_back();
  REQUIRE(lines.size() == certificates.size());
  const bool rejected = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("REJECTED") != std::string::npos;
  });
  CHECK(result.status == (rejected ? 1 : 0));
  return lines;
}

bool accepted(const std::string& line) {
  return line.find(": proven: ") != std::string::npos;
}

/// All numbers within.
void collect_numbers(Json& json, std::vector<Json*>& numbers) {
  if (json.is_number()) numbers.push_back(&json);
  if (json.is_structured()) {
    for (Json& each : json) collect_numbers(each, numbers);
  }
}

/// What compare_certificate.py says of a certificate and the files of its problem.
ProcessResult compare(const Json& certificate, const std::string& graph,
                      const std::string& cluster) {
  const TemporaryFolder folder;
  std::ofstream(folder / "c.json") << certificate.dump();
  std::ofstream(folder / "graph.json") << graph;
  std::ofstream(folder / "cluster.json") << cluster;
  return run_process({BERTH_PYTHON, BERTH_SCRIPTS "/compare_certificate.py", folder / "c.json",
                      folder / "graph.json", folder / "cluster.json"});
}

ProcessResult compare(const Json& certificate, const Problem& problem) {
  return compare(certificate, graph_json(problem.graph(), problem.costs(), problem.cluster()),
                 cluster_json(problem.cluster()));
}

}  // namespace

TEST_CASE("certificates: hold the largest bound, and the checker accepts every one") {
  std::vector<Json> certificates;
  int as_large = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Case tried = random_case(seed, seed % 3 == 0 ? 60 : 12, /*constrained=*/seed % 6 == 1);
    const LowerBound strong = strong_lower_bound(*tried.problem);
    CAPTURE(strong.source);
    CHECK(tried.certificate.bound.us <= strong.us);
    if (tried.certificate.bound.us >= strong.us * (1 - 1e-9)) ++as_large;
    CHECK(!tried.certificate.rests_on.empty());
    certificates.push_back(tried.json);
  }
  CHECK(as_large == 120);  // none of these is short of memory within one component
  const std::vector<std::string> lines = check(certificates);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(i);
    CAPTURE(lines[i]);
    CHECK(accepted(lines[i]));
  }
}

TEST_CASE(
    "certificates: whatever is changed in the steps, no claim above the optimum is accepted") {
  std::vector<Json> tampered;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Case tried = random_case(seed, 6);
    const double best_us = optimum_us(tried.problem);
    if (best_us == std::numeric_limits<double>::infinity() || best_us == 0) continue;
    CHECK(tried.certificate.bound.us <= best_us);
    Random random(seed);
    for (int i = 0; i < 12; ++i) {
      Json json = tried.json;
      json["bound_us"] = best_us * (1 + 1e-6);
      std::vector<Json*> numbers;
      collect_numbers(json["rounds"], numbers);
      collect_numbers(json["end"], numbers);
      // The claim alone, then with it some of the steps' numbers, by a little or by much.
      for (int changes = 0; changes < i && !numbers.empty(); ++changes) {
        Json& number = *numbers[random.below(numbers.size())];
        if (number.is_number_float()) {
          number = number.get<double>() * (random.below(2) == 0 ? 1.001 : 3 * random.uniform());
        } else {
          number = random.below(7);
        }
      }
      tampered.push_back(std::move(json));
    }
  }
  REQUIRE(tampered.size() > 300);
  for (const std::string& line : check(tampered)) {
    CAPTURE(line);
    CHECK(!accepted(line));
  }
}

TEST_CASE("certificates: links that are too slow for what flows into a cluster") {
  std::vector<Json> certificates, tampered;
  for (std::uint64_t seed = 0; seed < 2000 && certificates.size() < 30; ++seed) {
    CAPTURE(seed);
    const Case tried = collecting_case(seed);
    if (tried.certificate.bound.source.find("links into a cluster") == std::string::npos) continue;
    const double best_us = optimum_us(tried.problem);
    CHECK(tried.certificate.bound.us <= best_us);
    certificates.push_back(tried.json);
    Json json = tried.json;
    json["bound_us"] = best_us * (1 + 1e-6);
    Json& hub = json["rounds"].back()["hub_not_on"].back();
    Random random(seed);
    for (int i = 0; i < 10; ++i) {
      hub[2 + random.below(5)] = best_us * random.uniform();
      tampered.push_back(json);
    }
    json = tried.json;
    for (Json& link : json["problem"]["transfers"]) link[4] = false;
    tampered.push_back(std::move(json));
  }
  REQUIRE(certificates.size() == 30);
  for (const std::string& line : check(certificates)) {
    CAPTURE(line);
    CHECK(accepted(line));
  }
  for (const std::string& line : check(tampered)) {
    CAPTURE(line);
    CHECK(!accepted(line));
  }
}

TEST_CASE("certificates: a head that does not follow is rejected by its step") {
  std::vector<Json> tampered;
  // By its key, where its figures are: the head itself and, of a backlog, the time it counts from.
  const std::vector<std::pair<const char*, std::vector<std::size_t>>> steps{
      {"heads", {2}}, {"tails", {2}}, {"backlog_heads", {1, 2}}, {"backlog_tails", {1, 2}}};
  for (const auto& [what, figures] : steps) {
    const std::size_t before = tampered.size();
    for (std::uint64_t seed = 0; seed < 1000 && tampered.size() < before + 15; ++seed) {
      const Case tried = random_case(seed, 40);
      if (tried.json["rounds"].empty() || tried.json["rounds"][0][what].empty()) continue;
      for (const std::size_t figure : figures) {
        Json json = tried.json;
        Json& us = json["rounds"][0][what].back()[figure];
        if (us.is_null() || us.get<double>() == 0) continue;
        us = us.get<double>() * 1.0001;
        tampered.push_back(std::move(json));
      }
    }
    CAPTURE(what);
    REQUIRE(tampered.size() >= before + 15);
  }
  for (const std::string& line : check(tampered)) {
    CAPTURE(line);
    CHECK(line.find(": REJECTED at round 0: ") != std::string::npos);
  }
}

TEST_CASE("certificates: forged proofs of any bound are not taken for a proof of the problem") {
  const std::string graph = R"({"format": "berth.graph/1", "name": "g", "ops": [
      {"name": "w", "type": "X", "cost_us": 1, "output_bytes": [8], "pure": true},
      {"name": "a", "type": "X", "cost_us": 40, "output_bytes": [8]},
      {"name": "b", "type": "X", "cost_us": 20, "output_bytes": [8]}],
    "edges": [{"src": 0, "output": 0, "dst": 1}, {"src": 1, "output": 0, "dst": 2}]})";
  const std::string cluster = R"({"format": "berth.cluster/1", "name": "c", "devices": [
      {"name": "gpu:0", "kind": "gpu"}, {"name": "gpu:1", "kind": "gpu"}],
    "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 1}]})";
  const auto machine = parse_cluster(cluster, "c");
  const auto loaded = ops::fold_constants(parse_graph(graph, "g"));
  const auto honest = [&](Semantics semantics) {
    ProblemOptions options;
    options.semantics = semantics;
    return certified(std::make_shared<const Problem>(
                         loaded, machine, Costs::stated(*loaded, *machine), nullptr, options))
        .json;
  };

  // A backlog of no ops, which ends when its certificate likes.
  Json backlog = honest(Semantics::dataflow);
  backlog["bound_us"] = 1e9;
  Json round = {{"op_not_on", {{0, 0}}}};
  for (const char* empty :
       {"heads", "tails", "backlog_tails", "together", "cluster_not_on", "hub_not_on"}) {
    round[empty] = Json::array();
  }
  round["backlog_heads"] = Json::array({Json::array({0, 2e9, 2e9, nullptr})});
  backlog["rounds"] = Json::array({round});
  backlog["end"] = {{"by", "window"}, {"from_us", 0}, {"to_us", 1}, {"weights", {1}}, {"parts", 0}};
  // One op, a thousand times.
  Json repeated = honest(Semantics::dataflow);
  for (int i = 0; i < 1000; ++i) {
    repeated["problem"]["ops"].push_back(repeated["problem"]["ops"].back());
    repeated["problem"]["ops"].back()["class"] = 100 + i;
  }
  // A constant that no device holds.
  Json constant = honest(Semantics::dataflow);
  for (Json& op : constant["problem"]["ops"]) {
    if (op["name"] == "w") op["us"] = Json::array({nullptr});
  }
  // Pauses that nobody asked for.
  Json paused = honest(Semantics::placeto);
  paused["problem"]["device_gap_us"] = 1e6;

  const std::vector<std::string> lines =
      check({honest(Semantics::dataflow), honest(Semantics::placeto), backlog});
  CHECK(accepted(lines[0]));
  CHECK(lines[0].ends_with(", semantics dataflow"));
  CHECK(lines[1].ends_with(", semantics placeto with pauses of 5.7 us"));
  CHECK(lines[2].find(": REJECTED at round 0: ") != std::string::npos);
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    const ProcessResult same = compare(honest(semantics), graph, cluster);
    CAPTURE(same.out);
    CHECK(same.status == 0);
    CHECK(same.out.find(", objective latency, semantics ") != std::string::npos);
  }
  const auto differs = [&](const Json& forged, const std::string& why) {
    const ProcessResult result = compare(forged, graph, cluster);
    CAPTURE(result.out);
    CHECK(result.status == 1);
    CHECK(result.out.find(why) != std::string::npos);
  };
  differs(repeated, " is listed twice");
  differs(constant, "op w costs 0");
  differs(paused, "a device pauses for 1000000.0 us after an op; say so with --device-gap-us");
}

TEST_CASE("certificates: a file that is no certificate is rejected, whatever it holds") {
  const Json json = random_case(1, 8).json;
  std::vector<Json> broken{Json(), Json::array(), Json(7), Json::object()};
  for (const auto& [key, value] : json.items()) {
    static_cast<void>(value);
    if (key == "cluster" || key == "costs" || key == "version" || key == "source" ||
        key == "rests_on" || key == "graph") {
      continue;  // for people
    }
    Json without = json;
    without.erase(key);
    broken.push_back(without);
    for (const Json& other : {Json(-1), Json("text"), Json(nullptr), Json::array({1, {2}})}) {
      Json changed = json;
      changed[key] = other;
      broken.push_back(changed);
    }
  }
  for (const std::string& line : check(broken)) {
    CAPTURE(line);
    CHECK(line.find(": REJECTED at ") != std::string::npos);
  }
}

TEST_CASE(
    "certificates: every change of the problem's figures shows in the comparison with files") {
  for (std::uint64_t seed : {1, 2, 4, 6}) {
    CAPTURE(seed);
    const Case tried = random_case(seed, 8);
    const ProcessResult same = compare(tried.json, *tried.problem);
    CAPTURE(same.out);
    CHECK(same.status == 0);
    Random random(seed);
    for (const char* part : {"kinds", "transfers", "ops", "edges"}) {
      CAPTURE(part);
      Json json = tried.json;
      std::vector<Json*> numbers;
      collect_numbers(json["problem"][part], numbers);
      // Numbers of classes are names.
      for (Json& op : json["problem"]["ops"]) {
        std::erase(numbers, &op["class"]);
      }
      if (numbers.empty()) continue;
      Json& number = *numbers[random.below(numbers.size())];
      CAPTURE(number.dump());
      number = number.get<double>() + 1;
      CHECK(compare(json, *tried.problem).status == 1);
    }
  }
}

TEST_CASE(
    "certificates: inputs that are on hosts, and classes that states join, are those of files") {
  const std::string graph = R"({"format": "berth.graph/1", "name": "g", "ops": [
      {"name": "x", "type": "Input", "cost_us": 0, "output_bytes": [100]},
      {"name": "old", "type": "Input", "cost_us": 0, "output_bytes": [100], "colocate": "c"},
      {"name": "new", "type": "X", "cost_us": 20, "output_bytes": [100]}],
    "edges": [{"src": 0, "output": 0, "dst": 2}, {"src": 1, "output": 0, "dst": 2}]})";
  std::string with_state = graph;
  with_state.insert(with_state.size() - 1, R"(, "states": [{"src": 2, "output": 0, "input": 1}])");
  const std::string cluster = R"({"format": "berth.cluster/1", "name": "c", "devices": [
      {"name": "gpu:0", "kind": "gpu"}, {"name": "cpu:0", "kind": "cpu", "host": true}],
    "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 5}]})";
  const auto machine = parse_cluster(cluster, "c");
  const auto loaded = parse_graph(with_state, "g");
  // Costs by kind, then op: x is on hosts alone, as the command has it; or on GPUs alone, or new on hosts.
  const double no = kCannotRun;
  const auto status = [&](std::vector<std::vector<double>> us, const std::string& of) {
    const auto costs =
        std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>{}, "test");
    const Case tried = certified(std::make_shared<const Problem>(loaded, machine, costs));
    return compare(tried.json, of, cluster).status;
  };
  CHECK(machine->kind_name(0) == "gpu");
  CHECK(status({{0, 0, 20}, {0, 0, 20}}, with_state) == 0);
  CHECK(status({{no, 0, 20}, {0, 0, 20}}, with_state) == 0);
  CHECK(status({{0, 0, 20}, {no, 0, 20}}, with_state) == 1);
  CHECK(status({{0, 0, no}, {0, 0, 20}}, with_state) == 1);
  CHECK(status({{0, 0, 20}, {0, 0, 20}}, graph) == 1);
  // A file that cannot be read is no other problem.
  CHECK(status({{0, 0, 20}, {0, 0, 20}}, "an ONNX model") == 2);
  CHECK(status({{0, 0, 20}, {0, 0, 20}}, cluster) == 2);
}

TEST_CASE(
    "certificates: constants, devices that run some types, and links with a receiver are those of "
    "files") {
  const std::string graph = R"({"format": "berth.graph/1", "name": "g", "ops": [
      {"name": "w", "type": "X", "cost_us": 10, "output_bytes": [1000], "pure": true},
      {"name": "v", "type": "Identity", "cost_us": 10, "output_bytes": [1000], "pure": true},
      {"name": "own", "type": "X", "cost_us": 10, "output_bytes": [30, 40], "pure": true},
      {"name": "grown", "type": "X", "cost_us": 10, "output_bytes": [900000], "pure": true},
      {"name": "a", "type": "X", "cost_us": 20, "output_bytes": [500], "param_bytes": 7},
      {"name": "b", "type": "Y", "cost_us": 5, "output_bytes": []},
      {"name": "unread", "type": "X", "cost_us": 1, "output_bytes": [50], "pure": true},
      {"name": "last", "type": "X", "cost_us": 1, "output_bytes": [60], "pure": true}],
    "edges": [{"src": 0, "output": 0, "dst": 1}, {"src": 1, "output": 0, "dst": 4},
      {"src": 0, "output": 0, "dst": 5}, {"src": 2, "output": 1, "dst": 4}, {"src": 2, "output": 0, "dst": 3},
      {"src": 3, "output": 0, "dst": 5}, {"src": 4, "output": 0, "dst": 5}, {"src": 6, "output": 0, "dst": 7}]})";
  const std::string cluster = R"({"format": "berth.cluster/1", "name": "c", "devices": [
      {"name": "gpu:0", "kind": "gpu"}, {"name": "npu:0", "kind": "npu", "runs": {"types": ["Y"]}}],
    "links": [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 5, "receiver_us": 1}]})";
  const auto machine = parse_cluster(cluster, "c");
  const auto loaded = ops::fold_constants(parse_graph(graph, "g"));
  CHECK(loaded->constant_count() == 5);
  CHECK(loaded->shared_parameters().size() == 1);
  const Case tried =
      certified(std::make_shared<const Problem>(loaded, machine, Costs::stated(*loaded, *machine)));
  const ProcessResult same = compare(tried.json, graph, cluster);
  CAPTURE(same.out);
  CHECK(same.status == 0);
  for (const char* const change : {"\"pure\": true", "\"Y\"]", "[1000]"}) {
    std::string other = change[1] == 'Y' ? cluster : graph;
    other.replace(other.find(change), std::string(change).size(),
                  change[1] == 'p'   ? "\"pure\": false"
                  : change[1] == 'Y' ? "\"X\"]"
                                     : "[1001]");
    CAPTURE(change);
    const bool machine_changed = change[1] == 'Y';
    CHECK(compare(tried.json, machine_changed ? graph : other, machine_changed ? other : cluster)
              .status == 1);
  }
}
