// What every backend must do, for every backend of the build that has devices here.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/sdk/random.h"
#include "support/data.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

Engine& engine() {
  static Engine instance({test::plugin_folder()});
  return instance;
}

/// A small training step: variables, gradients, updates.
std::shared_ptr<const Program> model() {
  static const LoadedProgram loaded =
      engine().load_program(source_path("examples/models/tf/nmt_tiny.pb"));
  return loaded.program;
}

/// A backend with the model open on it.
struct Bench {
  explicit Bench(const std::string& name)
      : backend(engine().make_backend(name)), session(backend->open(model(), {})) {}

  [[nodiscard]] std::size_t op_count() const {
    return static_cast<std::size_t>(model()->graph->op_count());
  }
  [[nodiscard]] DeviceId device_count() const { return backend->cluster()->device_count(); }
  /// Every op anywhere, but for those that belong together.
  [[nodiscard]] Placement scattered(std::uint64_t seed) const {
    Random random(seed);
    const auto any = [&] {
      return static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(device_count())));
    };
    std::map<std::string, DeviceId> of_class;
    Placement placement;
    for (OpId op = 0; op < model()->graph->op_count(); ++op) {
      const std::string& together = model()->graph->colocation(op);
      placement.push_back(together.empty() ? any()
                                           : of_class.try_emplace(together, any()).first->second);
    }
    return placement;
  }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Session> session;
};

/// Runs `check(name)` as a subcase per backend; one without devices here says so when it is made.
template <typename Check>
void for_each_backend(const Check& check) {
  int found = 0;
  for (const PluginInfo& info : engine().plugins()) {
    if (info.kind != PluginKind::backend) continue;
    CAPTURE(info.name);
    try {
      static_cast<void>(engine().make_backend(info.name));
    } catch (const Error& error) {
      CHECK(static_cast<int>(error.code()) == static_cast<int>(ErrorCode::not_found));
      MESSAGE(info.name, " has no devices here: ", error.what());
      continue;
    }
    ++found;
    check(info.name);
  }
  CHECK(found > 0);
}

std::vector<std::byte> bytes_of(const StepResult& result) {
  std::vector<std::byte> bytes;
  for (const TensorContent& output : result.outputs) {
    bytes.insert(bytes.end(), output.bytes.begin(), output.bytes.end());
  }
  return bytes;
}

TEST_CASE("a backend says what it is") {
  for_each_backend([](const std::string& name) {
    const auto backend = engine().make_backend(name);
    CHECK(backend->cluster()->device_count() > 0);
    CHECK_FALSE(backend->description().empty());
    CHECK(backend->description().find('\n') == std::string::npos);
    CHECK(backend->fingerprint() == engine().make_backend(name)->fingerprint());
    CHECK_NOTHROW((void)Costs::roofline(*model()->graph, *backend->cluster()));
  });
}

TEST_CASE("outputs do not depend on the placement, and ops run where they were placed") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    CHECK(bench.backend->cannot_run(*model()).empty());
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Verification found = verify(*bench.backend, *bench.session, bench.scattered(seed));
      REQUIRE_FALSE(found.outputs.empty());
      for (const Verification::Output& output : found.outputs) CHECK(output.compared);
      for (const Difference& difference : found.differences) {
        FAIL_CHECK(difference.what, " ", difference.explanation);
      }
    }
  });
}

TEST_CASE("same seed, same outputs; another seed, others") {
  for_each_backend([](const std::string& name) {
    StepOptions options;
    options.outputs = true;
    const auto outputs = [&](std::uint64_t seed) {
      Bench bench(name);
      options.seed = seed;
      return bytes_of(bench.session->run(Placement(bench.op_count(), 0), options));
    };
    const std::vector<std::byte> first = outputs(1);
    CHECK_FALSE(first.empty());
    CHECK(first == outputs(1));
    CHECK(first != outputs(2));
  });
}

TEST_CASE("the trace of a step is consistent") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    const Graph& graph = *model()->graph;
    StepOptions options;
    options.trace = true;
    const Placement placement = bench.scattered(5);
    const StepResult result = bench.session->run(placement, options);
    const StepTrace& trace = result.trace;
    CHECK(result.executed == placement);
    CHECK(trace.runtime_us == result.runtime_us);
    std::set<std::pair<TensorId, DeviceId>> sent;
    for (const Transfer& transfer : trace.transfers) {
      CHECK(transfer.src != transfer.dst);
      CHECK(transfer.queued_us <= transfer.start_us);
      CHECK(transfer.start_us <= transfer.end_us);
      if (transfer.tensor != kNoTensor) CHECK(sent.emplace(transfer.tensor, transfer.dst).second);
    }
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const auto i = static_cast<std::size_t>(op);
      CHECK(trace.op_start_us[i] <= trace.op_end_us[i]);
      CHECK(trace.op_end_us[i] <= trace.runtime_us);
      for (const Edge& edge : graph.in_edges(op)) {
        const auto src = static_cast<std::size_t>(edge.src);
        CHECK(trace.op_end_us[src] <= trace.op_start_us[i]);
        const bool crosses = placement[src] != placement[i] && edge.tensor != kNoTensor;
        if (crosses) CHECK(sent.contains({edge.tensor, placement[i]}));
      }
    }
    for (DeviceId d = 0; d < bench.device_count(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      CHECK(result.peak_bytes[i] >= trace.devices[i].param_bytes);
    }
    REQUIRE_FALSE(trace.critical_path.empty());
    CHECK(trace.critical_path.back().end_us == doctest::Approx(trace.runtime_us));
  });
}

TEST_CASE("a step is given up on request, and the next one runs") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    const Placement placement(bench.op_count(), 0);
    StepOptions options;
    options.should_stop = [] { return true; };
    // Whether the step ends before it is asked is open; never that it hangs.
    try {
      static_cast<void>(bench.session->run(placement, options));
    } catch (const Error& error) {
      CHECK(static_cast<int>(error.code()) == static_cast<int>(ErrorCode::cancelled));
    }
    CHECK(bench.session->run(placement, {}).runtime_us > 0);
  });
}

TEST_CASE("placements of other graphs and machines are refused") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    expect_error(ErrorCode::invalid_argument, {}, [&] { bench.session->run({0}, {}); });
    Placement beyond(bench.op_count(), 0);
    beyond.back() = bench.device_count();
    expect_error(ErrorCode::invalid_argument, {bench.backend->cluster()->device_names()},
                 [&] { bench.session->run(beyond, {}); });
  });
}

TEST_CASE("ops without a kernel are listed, and opening names the first") {
  for_each_backend([](const std::string& name) {
    GraphBuilder builder("strange", "onnx");
    builder.add_op("first", "NoSuchOp");
    builder.add_op("second", "NoSuchOp");
    Program program;
    program.graph = builder.build();
    program.instructions.resize(2);
    program.instructions[0].type = program.instructions[1].type = "NoSuchOp";
    const auto backend = engine().make_backend(name);
    const std::vector<Obstacle> obstacles = backend->cannot_run(program);
    REQUIRE(obstacles.size() == 2);
    CHECK(obstacles[1].op == 1);
    expect_error(ErrorCode::unsupported, {"'first'", "NoSuchOp"}, [&] {
      static_cast<void>(backend->open(std::make_shared<const Program>(program), {}));
    });
  });
}

TEST_CASE("a profile is costs and a machine that a step can be simulated with") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    const Profile found = profile(*bench.backend, *bench.session, {.warm_up = 1, .repeats = 3});
    CHECK(found.costs->kind_count() == found.cluster->kind_count());
    CHECK(found.cluster->device_names() == bench.backend->cluster()->device_names());
    for (const Profile::LinkSample& sample : found.link_samples) CHECK(sample.us > 0);
    const auto problem =
        std::make_shared<const Problem>(model()->graph, found.cluster, found.costs);
    // Not how near to the next step that is, which no two runs agree on: the profile's own tests
    // predict a machine whose times are known. On one device a step takes what its ops take.
    double sum_us = 0;
    for (OpId op = 0; op < model()->graph->op_count(); ++op) {
      const double us = problem->cost_us(op, 0);
      if (us > 0) sum_us += us + found.cluster->device(0).op_overhead_us;
    }
    CHECK(sum_us > 0);
    CHECK(Simulator(problem).trace(Placement(bench.op_count(), 0)).runtime_us ==
          doctest::Approx(sum_us));
  });
}

TEST_CASE("a policy places by what executing its placements takes") {
  for_each_backend([](const std::string& name) {
    Bench bench(name);
    const auto problem = std::make_shared<const Problem>(
        model()->graph, bench.backend->cluster(),
        Costs::roofline(*model()->graph, *bench.backend->cluster()));
    const auto evaluator = make_measuring_evaluator(
        problem, std::shared_ptr<Session>(std::move(bench.session)), {.warm_up = 0, .repeats = 1});
    const auto policy = engine().make_policy("random", {{"samples", std::int64_t{5}}});
    const PlaceResult result = place(*policy, *evaluator, {}, 60);
    CHECK(result.evaluation.runtime_us > 0);
    CHECK(evaluator->evaluations() >= 5);
  });
}

}  // namespace
}  // namespace berth::test
