// What a profile says of a backend whose times are known.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "berth/simulator.h"
#include "scripted.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// A step on one device: its ops one after the other, each `overhead_us` after the one before.
StepResult step_of(const std::vector<double>& op_us, double overhead_us) {
  StepResult result;
  double now = 0;
  for (const double us : op_us) {
    result.trace.op_start_us.push_back(now);
    result.trace.op_end_us.push_back(now + us);
    now += us + overhead_us;
  }
  result.runtime_us = result.trace.runtime_us = now;
  result.workspace_bytes.assign(op_us.size(), 0);
  return result;
}

double free_transfer(DeviceId, DeviceId, std::int64_t, int) {
  return 1;
}

TEST_CASE("profile: simulating with it repeats the step on each kind of device") {
  const std::vector<std::vector<double>> op_us = {{10, 20, 30}, {5, 0, 70}};
  const double overhead_us[] = {2, 4};
  ScriptedBackend backend(scripted_cluster({2, 1}), free_transfer);
  ScriptedSession session(chain_program(),
                          [&](const Placement& placement, const StepOptions& step) {
                            CHECK(step.trace);
                            const std::size_t kind = placement[0] == 2 ? 1 : 0;
                            return step_of(op_us[kind], overhead_us[kind]);
                          });
  const Profile found = profile(backend, session, {.warm_up = 1, .repeats = 3});
  CHECK(found.cluster->device_names() == "a:0, a:1, b:0");
  for (KindId kind = 0; kind < 2; ++kind) {
    const auto us = found.costs->of_kind(kind);
    CHECK(std::vector<double>(us.begin(), us.end()) == op_us[static_cast<std::size_t>(kind)]);
  }
  const auto problem =
      std::make_shared<const Problem>(session.program().graph, found.cluster, found.costs);
  CHECK(Simulator(problem).trace(Placement{0, 0, 0}).runtime_us == doctest::Approx(66));
  CHECK(Simulator(problem).trace(Placement{1, 1, 1}).runtime_us == doctest::Approx(66));
  // 75 of ops and 3 times 4 between them. The op that takes no time has no overhead either, so that
  // the two others carry its share.
  CHECK(Simulator(problem).trace(Placement{2, 2, 2}).runtime_us == doctest::Approx(87));
}

TEST_CASE(
    "profile: where every step was interrupted in another op, no op and no overhead is longer") {
  int step = 0;
  ScriptedBackend backend(scripted_cluster({1}));
  ScriptedSession session(chain_program(), [&](const Placement&, const StepOptions&) {
    std::vector<double> op_us = {10, 20, 30};
    op_us[static_cast<std::size_t>(step++ % 3)] += 5000;
    return step_of(op_us, 1);
  });
  const Profile found = profile(backend, session, {.warm_up = 0, .repeats = 9});
  const auto us = found.costs->of_kind(0);
  CHECK(std::vector<double>(us.begin(), us.end()) == std::vector<double>{10, 20, 30});
  CHECK(found.cluster->device(0).op_overhead_us == doctest::Approx(1));
}

TEST_CASE("profile: a step that was disturbed does not count") {
  int step = 0;
  ScriptedBackend backend(scripted_cluster({1}));
  ScriptedSession session(chain_program(), [&](const Placement&, const StepOptions&) {
    StepResult result = step_of({10, 20, 30}, 0);
    const double noise = 0.01 * (++step % 5);
    for (double& end : result.trace.op_end_us) end += noise;
    if (step % 10 == 0) {
      for (double& end : result.trace.op_end_us) end += 5000;
      result.runtime_us += 15000;
    }
    result.workspace_bytes = {step % 7, 0, 8};
    return result;
  });
  const Profile found = profile(backend, session, {.warm_up = 0, .repeats = 20});
  const auto us = found.costs->of_kind(0);
  CHECK(us[0] == doctest::Approx(10).epsilon(0.01));
  CHECK(us[1] == doctest::Approx(20).epsilon(0.01));
  CHECK(us[2] == doctest::Approx(30).epsilon(0.01));
  CHECK(found.cluster->device(0).op_overhead_us < 1);
  CHECK(found.costs->workspace_bytes(0) == 6);  // the largest
  CHECK(found.costs->workspace_bytes(2) == 8);
}

TEST_CASE("profile: whoever stops it has the figures of three steps or more, and of the links") {
  for (const int steps : {2, 3, 7}) {
    CAPTURE(steps);
    int transfers = 0;
    ScriptedBackend backend(scripted_cluster({2}),
                            [&](DeviceId, DeviceId, std::int64_t bytes, int) {
                              ++transfers;
                              return 5 + static_cast<double>(bytes) / 1000;
                            });
    ScriptedSession session(chain_program(),
                            [i = 0, steps](const Placement&, const StepOptions&) mutable {
                              // One step is long enough for warming up.
                              if (i == 0)
                                std::this_thread::sleep_for(std::chrono::milliseconds(60));
                              if (i++ > steps) throw Error(ErrorCode::cancelled, "stopped");
                              return step_of({10, 20, 30}, 1);
                            });
    const ProfileOptions options{
        .warm_up = 1, .repeats = 10, .seed = 0, .should_stop = [] { return true; }, .progress = {}};
    if (steps < 3) {
      expect_error(ErrorCode::cancelled, {"stopped"},
                   [&] { static_cast<void>(profile(backend, session, options)); });
      continue;
    }
    const Profile found = profile(backend, session, options);
    CHECK(found.stopped);
    CHECK(found.costs->op_us(1, 0) == 20);
    CHECK(found.cluster->route(0, 1).bandwidth_bytes_per_s == doctest::Approx(1e9));
    CHECK(transfers <= 2 * 8 * 4);  // of 416: two links, eight sizes, one that warms up and three
    const std::string note = "stopped after " + std::to_string(steps) + " of 10 steps on a:0";
    CHECK(std::count(found.notes.begin(), found.notes.end(), note) == 1);
  }
}

TEST_CASE("profile: bandwidth and latency are those of the link") {
  const double latency_us[] = {5, 40};
  const double bytes_per_us[] = {1000, 250};
  int transfers = 0;
  ScriptedBackend backend(
      scripted_cluster({2}), [&](DeviceId src, DeviceId, std::int64_t bytes, int) {
        const auto i = static_cast<std::size_t>(src);
        const double us = latency_us[i] + static_cast<double>(bytes) / bytes_per_us[i];
        return ++transfers % 9 == 0 ? 50 * us : us;
      });
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions&) {
    return step_of({1, 1, 1}, 0);
  });
  const Profile found = profile(backend, session, {.warm_up = 0, .repeats = 3});
  for (DeviceId src = 0; src < 2; ++src) {
    const Route& route = found.cluster->route(src, 1 - src);
    const auto i = static_cast<std::size_t>(src);
    CHECK(route.latency_us == doctest::Approx(latency_us[i]));
    CHECK(route.bandwidth_bytes_per_s == doctest::Approx(1e6 * bytes_per_us[i]));
  }
  CHECK_FALSE(found.link_samples.empty());
}

TEST_CASE("profile: where receivers copy, what one more tensor takes is the receiver's time") {
  const auto machine = scripted_cluster({2});
  LinkSpec link = machine->links().front();
  link.receiver_us = 0;
  ScriptedBackend backend(
      std::make_shared<const Cluster>(
          "copying", std::vector{machine->device(0), machine->device(1)}, std::vector{link}),
      [](DeviceId, DeviceId, std::int64_t bytes, int count) {
        return 2 + count * (0.5 + static_cast<double>(bytes) / 1000);
      });
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions&) {
    return step_of({1, 1, 1}, 0);
  });
  const Profile found = profile(backend, session, {.warm_up = 0, .repeats = 3});
  const Route& route = found.cluster->route(0, 1);
  CHECK(route.latency_us == doctest::Approx(2).epsilon(0.01));
  CHECK(route.receiver_us.value_or(-1) == doctest::Approx(0.5).epsilon(0.02).scale(0));
  CHECK(route.bandwidth_bytes_per_s == doctest::Approx(1e9));
  CHECK(route.transfer_us(1000) == doctest::Approx(3.5).epsilon(0.01));
}

TEST_CASE("profile: a link as fast as memory, and one whose time does not depend on size") {
  ScriptedBackend backend(scripted_cluster({2}),
                          [](DeviceId src, DeviceId, std::int64_t bytes, int) {
                            return src == 0 ? 3.0 : static_cast<double>(bytes) / 100;
                          });
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions&) {
    return step_of({1, 1, 1}, 0);
  });
  const Profile found = profile(backend, session, {.warm_up = 0, .repeats = 3});
  CHECK(found.cluster->route(0, 1).latency_us == doctest::Approx(3));
  CHECK(found.cluster->route(1, 0).latency_us == doctest::Approx(0));
  CHECK(found.cluster->route(1, 0).bandwidth_bytes_per_s == doctest::Approx(1e8));
}

TEST_CASE("profile: stopped between links it takes few samples of the others, and says so") {
  int transfers = 0;
  ScriptedBackend backend(scripted_cluster({2}), [&](DeviceId, DeviceId, std::int64_t, int) {
    ++transfers;
    return 1.0;
  });
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions&) {
    return step_of({1, 1, 1}, 0);
  });
  ProfileOptions options{.warm_up = 0, .repeats = 3};
  options.should_stop = [&] { return transfers > 100; };
  const Profile found = profile(backend, session, options);
  CHECK(found.stopped);
  CHECK(transfers < 100 + 2 * 8 * 4);
  const std::string note = "stopped before every link was measured often";
  CHECK(std::count(found.notes.begin(), found.notes.end(), note) == 1);
}

TEST_CASE("profile: too few steps are refused") {
  ScriptedBackend backend(scripted_cluster({1}), free_transfer);
  ScriptedSession session(chain_program(), [](const Placement&, const StepOptions&) {
    return step_of({1, 1, 1}, 0);
  });
  expect_error(ErrorCode::invalid_argument, {"at least 0 and 3"},
               [&] { static_cast<void>(profile(backend, session, {.warm_up = 0, .repeats = 2})); });
}

TEST_CASE("profile: it predicts the step of every placement on a machine whose times are known") {
  // The machine: two devices of a kind and one of another, and links that are not alike.
  std::vector<Device> devices(3);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].kind = d < 2 ? "a" : "b";
    devices[d].name = devices[d].kind + ":" + std::to_string(d);
    devices[d].flops = devices[d].memory_bandwidth = 1e9;
    devices[d].op_overhead_us = d < 2 ? 1.5 : 4;
  }
  const auto machine =
      std::make_shared<const Cluster>("machine", devices,
                                      std::vector<LinkSpec>{{"a:0", "a:1", 2e6, 3, {}},
                                                            {"a:1", "a:0", 1e6, 7, {}},
                                                            {"*", "b:2", 4e6, 11, {}},
                                                            {"b:2", "*", 8e6, 2, {}}});
  const auto program = chain_program(4);
  const auto times = std::make_shared<const Problem>(
      program->graph, machine,
      std::make_shared<const Costs>(
          std::vector<std::vector<double>>{{10, 20, 30, 5}, {4, 70, 8, 9}},
          std::vector<std::int64_t>{}, "known"));
  const Simulator real(times);
  ScriptedBackend backend(machine, [&](DeviceId src, DeviceId dst, std::int64_t bytes, int) {
    return machine->route(src, dst).transfer_us(bytes);
  });
  ScriptedSession session(program, [&](const Placement& placement, const StepOptions&) {
    StepResult result;
    result.trace = real.trace(placement);
    result.runtime_us = result.trace.runtime_us;
    result.workspace_bytes.assign(placement.size(), 0);
    return result;
  });
  const Profile found = profile(backend, session, {.warm_up = 1, .repeats = 3});
  const Simulator predicted(
      std::make_shared<const Problem>(program->graph, found.cluster, found.costs));
  for (DeviceId code = 0; code < 81; ++code) {
    const Placement placement{code % 3, code / 3 % 3, code / 9 % 3, code / 27};
    CAPTURE(code);
    CHECK(predicted.trace(placement).runtime_us ==
          doctest::Approx(session.run(placement, {}).runtime_us).epsilon(1e-6));
  }
}

TEST_CASE("profile: a sample counts within three deviations of a normal distribution") {
  // Half of a normal distribution is within 0.6745 deviations, so that here, where the median distance
  // is 1 us, a deviation is 1.4826 us, and three are 4.4478.
  const auto found_us = [](double far_us) {
    const std::vector<double> samples = {99, 99.2, 99.4, 99.6, 100, 101, far_us, far_us, far_us};
    ScriptedBackend backend(scripted_cluster({1}));
    std::size_t step = 0;
    ScriptedSession session(chain_program(), [&](const Placement&, const StepOptions&) {
      return step_of({samples[step++ % samples.size()], 1, 1}, 0);
    });
    return profile(backend, session, {.warm_up = 0, .repeats = 9}).costs->op_us(0, 0);
  };
  CHECK(found_us(104.4) == doctest::Approx(100).epsilon(1e-9));
  CHECK(found_us(104.5) == doctest::Approx(99.5).epsilon(1e-9));
}

}  // namespace
}  // namespace berth::test
