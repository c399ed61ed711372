// The executor on stand-in devices: order, devices, transfers, memory, failures.
#include "runtime/executor.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "backends/random_sums.h"
#include "backends/stand_in.h"
#include "backends/test_program.h"
#include "berth/sdk/ops/constants.h"
#include "runtime/session.h"
#include "runtime/values.h"
#include "support/expect_error.h"
#include "support/threads.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using runtime::DeviceSession;
using runtime::Executor;
using runtime::Kernel;
using runtime::KernelContext;
using runtime::Value;

/// A program on `count` stand-ins of the type Runtime.
template <typename Runtime = StandIn>
struct Rig {
  Rig(TestProgram& program, int count, std::vector<double> priorities_us = {},
      std::int64_t memory_bytes = kNoLimit, const std::vector<Graph::Constant>& constants = {})
      : cluster(stand_in_cluster(count, memory_bytes)),
        runtime(*cluster),
        executor(runtime, *cluster) {
    TestProgram::Built built = program.build(constants);
    SessionOptions options;
    options.priorities_us = std::move(priorities_us);
    session.emplace(built.program, std::move(built.kernels), cluster, runtime, executor, options);
  }

  StepResult run(const Placement& placement, StepOptions options = {}) {
    options.trace = true;
    return session->run(placement, options);
  }
  /// Ops in the order of their starts.
  static std::vector<OpId> order(const StepResult& result) {
    std::vector<OpId> ops(result.trace.op_start_us.size());
    for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = static_cast<OpId>(i);
    std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
      return result.trace.op_start_us[static_cast<std::size_t>(a)] <
             result.trace.op_start_us[static_cast<std::size_t>(b)];
    });
    return ops;
  }

  std::shared_ptr<const Cluster> cluster;
  Runtime runtime;
  Executor executor;
  std::optional<DeviceSession> session;
};

std::vector<float> floats(const TensorContent& content) {
  const auto* const first = reinterpret_cast<const float*>(content.bytes.data());
  return {first, first + content.bytes.size() / sizeof(float)};
}

TEST_CASE(
    "an executor whose threads the system does not start says so, and ends those it started") {
  const auto cluster = stand_in_cluster(3);
  StandIn runtime(*cluster);
  for (const int left : {0, 2}) {
    threads_left = left;
    const int before = begun_threads;
    expect_error(ErrorCode::io, {"starts no more threads", "fewer devices"},
                 [&] { const Executor executor(runtime, *cluster); });
    CHECK(begun_threads == before);
  }
  threads_left = std::numeric_limits<int>::max();
}

TEST_CASE("the ready op with the largest priority runs first, among equals the one ready first") {
  TestProgram program;
  const OpId root = program.add("root", {}, sum(0));
  program.add("low", {root}, sum(0));
  const OpId high = program.add("high", {root}, sum(0));
  program.add("same1", {root}, sum(0));
  program.add("same2", {root}, sum(0));
  program.add("after_high", {high}, sum(0));
  Rig<> rig(program, 1, {9, 1, 5, 3, 3, 4});
  const StepResult result = rig.run(Placement(6, 0));
  CHECK(rig.order(result) == std::vector<OpId>{0, 2, 5, 3, 4, 1});
}

TEST_CASE("on one device any graph runs in the order of the scheduling policy") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    constexpr int kOps = 60;
    TestProgram program;
    std::vector<std::vector<OpId>> producers(kOps);
    std::vector<double> priorities_us;
    for (OpId op = 0; op < kOps; ++op) {
      std::set<OpId> chosen;
      for (int i = 0; op > 0 && i < static_cast<int>(random() % 3); ++i) {
        chosen.insert(static_cast<OpId>(random() % static_cast<std::uint32_t>(op)));
      }
      producers[static_cast<std::size_t>(op)].assign(chosen.begin(), chosen.end());
      program.add("op" + std::to_string(op), producers[static_cast<std::size_t>(op)], sum(1));
      priorities_us.push_back(static_cast<double>(random() % 8));
    }
    // The policy, said plainly: the order of release counts among equal priorities.
    struct Waiting {
      OpId op;
      int released;
    };
    std::vector<Waiting> ready;
    std::vector<char> done(kOps), queued(kOps);
    std::vector<OpId> expected;
    int releases = 0;
    const auto release = [&](OpId op) {
      queued[static_cast<std::size_t>(op)] = true;
      ready.push_back({op, releases++});
    };
    const auto is_ready = [&](OpId op) {
      const auto& needs = producers[static_cast<std::size_t>(op)];
      return !queued[static_cast<std::size_t>(op)] &&
             std::all_of(needs.begin(), needs.end(),
                         [&](OpId p) { return done[static_cast<std::size_t>(p)]; });
    };
    const auto urgency = [&](OpId op) { return priorities_us[static_cast<std::size_t>(op)]; };
    for (OpId op = 0; op < kOps; ++op) {
      if (is_ready(op)) release(op);
    }
    while (!ready.empty()) {
      const auto next =
          std::min_element(ready.begin(), ready.end(), [&](const Waiting& a, const Waiting& b) {
            return urgency(a.op) != urgency(b.op) ? urgency(a.op) > urgency(b.op)
                                                  : a.released < b.released;
          });
      const OpId op = next->op;
      ready.erase(next);
      expected.push_back(op);
      done[static_cast<std::size_t>(op)] = true;
      std::vector<OpId> freed;
      for (OpId other = 0; other < kOps; ++other) {
        if (is_ready(other)) freed.push_back(other);
      }
      std::stable_sort(freed.begin(), freed.end(),
                       [&](OpId a, OpId b) { return urgency(a) > urgency(b); });
      for (const OpId other : freed) release(other);
    }
    Rig<> rig(program, 1, priorities_us);
    CHECK(rig.order(rig.run(Placement(kOps, 0))) == expected);
  }
}

TEST_CASE("every op runs on the worker of its device, and results do not depend on the placement") {
  TestProgram program;
  std::vector<std::thread::id> threads(4);
  const auto here = [&threads](std::size_t op) -> Kernel {
    return [&threads, op](KernelContext& context, std::span<const Value> inputs,
                          std::span<Value> outputs) {
      threads[op] = std::this_thread::get_id();
      sum(static_cast<float>(op))(context, inputs, outputs);
    };
  };
  const OpId a = program.add("a", {}, here(0));
  const OpId b = program.add("b", {a}, here(1));
  const OpId c = program.add("c", {a}, here(2));
  program.add_output(program.add("d", {b, c}, here(3)));
  Rig<> rig(program, 3);
  for (const Placement& placement : {Placement{0, 0, 0, 0}, {0, 1, 2, 0}, {2, 1, 0, 1}}) {
    StepOptions options;
    options.outputs = true;
    const StepResult result = rig.run(placement, options);
    CHECK(result.executed == placement);
    for (std::size_t op = 0; op < 4; ++op) CHECK(threads[op] == rig.runtime.owner(placement[op]));
    CHECK(floats(result.outputs.at(0)) == std::vector<float>{6, 6, 6, 6});
  }
}

TEST_CASE("a tensor is sent once to each device that reads it, a control edge without a copy") {
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  program.add("b", {a}, sum(1));
  program.add("c", {a}, sum(1));
  program.add("d", {a}, sum(1));
  program.add("e", {a}, sum(1));
  const OpId f = program.add("f", {}, sum(1));
  program.add_control_edge(a, f);
  Rig<> rig(program, 3);
  const StepResult result = rig.run({0, 1, 1, 2, 0, 2});
  CHECK(rig.runtime.copies() == std::vector<std::pair<DeviceId, DeviceId>>{{0, 1}, {0, 2}});
  int signals = 0;
  for (const Transfer& transfer : result.trace.transfers) {
    if (transfer.tensor == kNoTensor) {
      ++signals;
    } else {
      CHECK(transfer.bytes == 16);
    }
    CHECK(transfer.queued_us <= transfer.start_us);
    CHECK(transfer.start_us <= transfer.end_us);
  }
  CHECK(signals == 1);
  CHECK(result.trace.op_start_us[5] >= result.trace.op_end_us[0]);
  REQUIRE(result.trace.links.size() == 2);
  CHECK(result.trace.links[0].bytes == 16);
}

TEST_CASE("a tensor is freed when its last reader has ended") {
  TestProgram program;
  std::vector<float> memory(4);
  bool freed = false;
  std::vector<bool> freed_at;
  const auto watching = [&](KernelContext& context, std::span<const Value> inputs,
                            std::span<Value> outputs) {
    freed_at.push_back(freed);
    sum(0)(context, inputs, outputs);
  };
  const OpId a =
      program.add("a", {}, [&](KernelContext&, std::span<const Value>, std::span<Value> outputs) {
        outputs[0].tensor = at::from_blob(
            memory.data(), {4}, [&](void*) { freed = true; }, at::kFloat);
      });
  const OpId b = program.add("b", {a}, watching);
  const OpId c = program.add("c", {a, b}, watching);
  program.add("d", {c}, watching);
  Rig<> rig(program, 1);
  rig.run(Placement(4, 0));
  CHECK(freed_at == std::vector<bool>{false, false, true});
}

TEST_CASE("peak memory is what devices held at once, parameters, copies and workspace included") {
  constexpr std::int64_t kElements = 256;
  constexpr std::int64_t kBytes = kElements * 4;
  TestProgram program(kElements);
  const TensorId weight = program.add_parameter("weight");
  const OpId a = program.add("a", {}, sum(1, kElements), {weight});
  const OpId b = program.add(
      "b", {a}, [](KernelContext& context, std::span<const Value> inputs, std::span<Value> out) {
        const at::Tensor workspace = at::empty({3 * kElements});
        sum(1, kElements)(context, inputs, out);
      });
  program.add("c", {b}, sum(1, kElements));
  Rig<> rig(program, 2);
  SUBCASE("on one device") {
    const StepResult result = rig.run({0, 0, 0});
    // weight + a + workspace + b
    CHECK(result.peak_bytes == std::vector<std::int64_t>{6 * kBytes, 0});
    CHECK(result.workspace_bytes == std::vector<std::int64_t>{0, 3 * kBytes, 0});
    CHECK(result.trace.devices[0].param_bytes == kBytes);
    CHECK(result.trace.devices[0].peak_op == b);
    CHECK(result.trace.memory.back().bytes <= 3 * kBytes);
  }
  SUBCASE("on two devices") {
    const StepResult result = rig.run({0, 1, 1});
    // the copy of a + workspace + b
    CHECK(result.peak_bytes == std::vector<std::int64_t>{2 * kBytes, 5 * kBytes});
  }
  SUBCASE("a device that no longer reads a parameter gives it back") {
    rig.run({0, 0, 0});
    rig.run({1, 1, 1});
    CHECK(rig.runtime.meter(0).held_bytes() == 0);
    CHECK(rig.runtime.meter(1).held_bytes() == kBytes);
  }
}

TEST_CASE("inputs are there from the start of a step, and results until its end") {
  constexpr std::int64_t kElements = 256;
  constexpr std::int64_t kBytes = kElements * 4;
  TestProgram program(kElements);
  const OpId x = program.add_input("x");
  const OpId a = program.add("a", {x}, sum(1, kElements));
  program.add_output(a);
  const OpId b = program.add("b", {a}, sum(1, kElements));
  program.add("d", {program.add("c", {b}, sum(1, kElements))}, sum(1, kElements));
  Rig<> rig(program, 1);
  // x, a, and of b, c and d two at a time.
  CHECK(rig.run(Placement(5, 0)).peak_bytes == std::vector<std::int64_t>{4 * kBytes});
  CHECK(rig.runtime.meter(0).held_bytes() == 0);
  StepOptions options;
  options.outputs = true;
  rig.run(Placement(5, 0), options);
  CHECK(rig.runtime.meter(0).held_bytes() == kBytes);
}

/// Counts its calls.
Kernel counted(int& calls, const Kernel& kernel) {
  return [&calls, kernel](KernelContext& context, std::span<const Value> inputs,
                          std::span<Value> outputs) {
    ++calls;
    kernel(context, inputs, outputs);
  };
}

TEST_CASE("constants of the step are computed once, and reside where they are read") {
  using enum Graph::Constant;
  constexpr std::int64_t kElements = 256;
  constexpr std::int64_t kBytes = kElements * 4;
  TestProgram program(kElements);
  int calls = 0;
  const TensorId weight = program.add_parameter("weight");
  const OpId once = program.add("once", {}, counted(calls, sum(1, kElements)), {weight});
  const OpId twice = program.add("twice", {once}, counted(calls, sum(1, kElements)));
  const OpId a = program.add("a", {twice}, sum(1, kElements));
  const OpId b = program.add("b", {twice, a}, sum(1, kElements));
  program.add_output(b);
  program.add_output(twice);
  std::vector<float> expected;
  SUBCASE("left in the step, they run with it") {
    Rig<> rig(program, 2);
    StepOptions options;
    options.outputs = true;
    expected = floats(rig.run({0, 0, 0, 0}, options).outputs.at(0));
    CHECK(calls == 2);
    rig.run({0, 0, 0, 0}, options);
    CHECK(calls == 4);
    CHECK(expected.at(0) > 6);  // 2 * (weight + 2) + 2, of a weight of 0.5 and more
  }
  SUBCASE("folded, they do not") {
    Rig<> rig(program, 2, {}, kNoLimit, {made, made, no, no});
    StepOptions options;
    options.outputs = true;
    std::vector<std::vector<float>> outputs;
    for (const Placement& placement : {Placement{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}}) {
      const StepResult result = rig.run(placement, options);
      outputs.push_back(floats(result.outputs.at(0)));
      CHECK(floats(result.outputs.at(1)).at(0) + 1 < outputs.back().at(0));
      CHECK(result.executed == placement);
      CHECK(result.trace.op_end_us[static_cast<std::size_t>(twice)] == 0);
      // Neither the weight nor what lies between stays: the last constant, a, and b.
      const auto device = static_cast<std::size_t>(placement[0]);
      CHECK(result.trace.devices[device].param_bytes == kBytes);
      CHECK(result.peak_bytes[device] == 3 * kBytes);
      CHECK(result.peak_bytes[1 - device] == 0);
      CHECK(rig.runtime.copies().empty());
    }
    CHECK(calls == 2);
    CHECK(outputs[0] == outputs[1]);
    CHECK(outputs[0] == outputs[2]);
    // Read on both devices, it is on both, and a alone is sent.
    const StepResult apart = rig.run({0, 0, 0, 1}, options);
    CHECK(floats(apart.outputs.at(0)) == outputs[0]);
    CHECK(rig.runtime.copies().size() == 1);
    CHECK(apart.trace.devices[0].param_bytes == kBytes);
    CHECK(apart.trace.devices[1].param_bytes == kBytes);
    CHECK(calls == 2);
  }
}

TEST_CASE("weights that stay quantised are dequantised as they are read, and only they reside") {
  using enum Graph::Constant;
  constexpr std::int64_t kElements = 256;
  constexpr std::int64_t kBytes = kElements * 4;
  int calls = 0;
  const auto make = [&](TestProgram& program) {
    const TensorId weight = program.add_parameter("weight");
    const TensorId scale = program.add_parameter("scale");
    const OpId wide = program.add("wide", {}, counted(calls, sum(1, kElements)), {weight, scale});
    const OpId turned = program.add("turned", {wide}, counted(calls, sum(1, kElements)));
    const OpId same = program.add("same", {}, counted(calls, sum(0, kElements)), {weight});
    const OpId a = program.add("a", {turned}, sum(1, kElements));
    program.add_output(program.add("b", {a, turned, same}, sum(1, kElements)));
  };
  StepOptions options;
  options.outputs = true;
  TestProgram unfolded(kElements), folded(kElements);
  make(unfolded);
  make(folded);
  Rig<> reference(unfolded, 1);
  const auto expected = floats(reference.run({0, 0, 0, 0, 0}, options).outputs.at(0));
  CHECK(calls == 3);
  calls = 0;
  Rig<> rig(folded, 1, {}, kNoLimit, {stands, stands, stands, no, no});
  const StepResult result = rig.run({0, 0, 0, 0, 0}, options);
  CHECK(floats(result.outputs.at(0)) == expected);
  CHECK(calls == 4);  // two for each reader; the view stands for the weight itself
  CHECK(result.trace.devices[0].param_bytes == 2 * kBytes);
  CHECK(rig.run({0, 0, 0, 0, 0}, options).peak_bytes == result.peak_bytes);
  CHECK(rig.runtime.meter(0).held_bytes() == 3 * kBytes);  // and the output
}

TEST_CASE("a constant that cannot be computed is named") {
  TestProgram program;
  const OpId bad =
      program.add("bad", {}, [](KernelContext&, std::span<const Value>, std::span<Value>) {
        throw std::runtime_error("no");
      });
  program.add("a", {bad}, sum(1));
  Rig<> rig(program, 1, {}, kNoLimit, {Graph::Constant::made, Graph::Constant::no});
  expect_error(ErrorCode::execution, {"'bad'", "computed once", "no"}, [&] { rig.run({0, 0}); });
}

TEST_CASE("what LibTorch cannot compute once is told in a sentence, without addresses") {
  TestProgram program;
  const OpId bad =
      program.add("bad", {}, [](KernelContext&, std::span<const Value>, std::span<Value>) {
        static_cast<void>(at::ones({4}).matmul(at::ones({5, 5})));
      });
  program.add("a", {bad}, sum(1));
  Rig<> rig(program, 1, {}, kNoLimit, {Graph::Constant::made, Graph::Constant::no});
  std::string said;
  try {
    rig.run({0, 0});
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("'bad'") != std::string::npos);
  CHECK_MESSAGE(said.find("cannot be multiplied") != std::string::npos, said);
  CHECK(said.find("Exception raised from") == std::string::npos);
}

TEST_CASE("memory that the system refuses an op is told with the op") {
  TestProgram program;
  program.add("broken", {}, [](KernelContext&, std::span<const Value>, std::span<Value>) {
    throw std::bad_alloc();
  });
  Rig<> rig(program, 1);
  expect_error(ErrorCode::out_of_memory, {"'broken' (Test)", "the machine has no room"},
               [&] { rig.run({0}); });
}

TEST_CASE("an op that fails is named with its device and the shapes of its inputs") {
  TestProgram program;
  bool fails = true;
  const OpId a = program.add("a", {}, sum(1));
  program.add("broken", {a, a},
              [&](KernelContext& context, std::span<const Value> inputs, std::span<Value> outputs) {
                if (fails) inputs[0].tensor.matmul(at::ones({5, 5}));
                sum(0)(context, inputs, outputs);
              });
  program.add("bystander", {a}, sum(1));
  Rig<> rig(program, 2);
  const Placement placement = {0, 1, 0};
  for (int i = 0; i < 3; ++i) {
    expect_error(ErrorCode::execution, {"'broken' (Test)", "d:1", "f32[4], f32[4]"},
                 [&] { rig.run(placement); });
  }
  CHECK(rig.runtime.meter(0).held_bytes() == 0);
  CHECK(rig.runtime.meter(1).held_bytes() == 0);
  fails = false;
  CHECK(rig.run(placement).executed == placement);
}

TEST_CASE("a device that is full is named with the op, and the next placement runs") {
  TestProgram program(256);
  const OpId a = program.add("a", {}, sum(1, 256));
  const OpId b = program.add("b", {}, sum(1, 256));
  program.add("c", {a, b}, sum(1, 256));
  Rig<> rig(program, 2, {3, 2, 1}, 2048 + 512);
  SUBCASE("by an op") {
    expect_error(ErrorCode::out_of_memory, {"'c' (Test)", "d:0", "2560 bytes"}, [&] {
      rig.run({0, 0, 0});
    });
  }
  SUBCASE("by what arrives") {
    // d:1 holds b and the copy of a, and has no room for c.
    expect_error(ErrorCode::out_of_memory, {"d:1"}, [&] { rig.run({0, 1, 1}); });
  }
  CHECK(rig.runtime.meter(0).held_bytes() == 0);
  CHECK(rig.runtime.meter(1).held_bytes() == 0);
}

TEST_CASE("a parameter that does not fit is named") {
  TestProgram program(256);
  program.add("a", {}, sum(0, 256), {program.add_parameter("weight")});
  Rig<> rig(program, 1, {}, 1000);
  expect_error(ErrorCode::out_of_memory, {"'weight'", "d:0"}, [&] { rig.run({0}); });
}

TEST_CASE("a step is given up on request, also inside an op that asks") {
  TestProgram program;
  std::atomic<bool> inside = false;
  const OpId a = program.add(
      "loop", {}, [&](KernelContext& context, std::span<const Value>, std::span<Value> outputs) {
        inside = true;
        while (!context.should_stop()) std::this_thread::yield();
        outputs[0].tensor = at::zeros({4});
        throw Error(ErrorCode::cancelled, "the loop was stopped");
      });
  program.add("after", {a}, sum(1));
  Rig<> rig(program, 2);
  StepOptions options;
  options.should_stop = [&] { return inside.load(); };
  expect_error(ErrorCode::cancelled, {"stopped"}, [&] { rig.run({0, 1}, options); });
}

TEST_CASE("placements that cannot be run are refused with the fix") {
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  const OpId b = program.add("b", {a}, sum(1));
  program.set_colocation(a, "pair");
  program.set_colocation(b, "pair");
  Rig<> rig(program, 2);
  expect_error(ErrorCode::invalid_argument, {"1 ops", "2"}, [&] { rig.run({0}); });
  expect_error(ErrorCode::invalid_argument, {"'b'", "#2", "d:0, d:1"}, [&] { rig.run({0, 2}); });
  expect_error(ErrorCode::invalid_argument, {"'a' and 'b'", "'pair'"}, [&] { rig.run({0, 1}); });
}

TEST_CASE("inputs are fed or drawn by seed") {
  TestProgram program;
  const OpId x = program.add_input("x");
  program.add_output(program.add("y", {x}, sum(1)));
  TestProgram::Built built = program.build();
  const auto cluster = stand_in_cluster(1);
  StandIn runtime(*cluster);
  Executor executor(runtime, *cluster);
  SessionOptions options;
  const auto run = [&](std::uint64_t seed) {
    DeviceSession session(built.program, built.kernels, cluster, runtime, executor, options);
    StepOptions step;
    step.seed = seed;
    step.outputs = true;
    return floats(session.run({0, 0}, step).outputs.at(0));
  };
  SUBCASE("drawn") {
    CHECK(run(1) == run(1));
    CHECK(run(1) != run(2));
  }
  SUBCASE("fed") {
    const std::vector<float> fed = {1, 2, 3, 4};
    options.inputs["x"] = {DType::f32, {4}, std::as_bytes(std::span(fed)), {}, nullptr};
    CHECK(run(1) == std::vector<float>{2, 3, 4, 5});
  }
  SUBCASE("by a name it does not have") {
    options.inputs["z"] = {};
    expect_error(ErrorCode::invalid_argument, {"'z'", "x"}, [&] { run(1); });
  }
  SUBCASE("of another shape") {
    const std::vector<float> fed = {1, 2};
    options.inputs["x"] = {DType::f32, {2}, std::as_bytes(std::span(fed)), {}, nullptr};
    expect_error(ErrorCode::invalid_argument, {"'x'", "shape"}, [&] { run(1); });
  }
}

/// Copies on threads of its own, and notes what runs at once.
class Watched : public StandIn {
 public:
  using StandIn::StandIn;
  ~Watched() override {
    for (std::thread& thread : threads_) thread.join();
  }
  void copy(const runtime::CopyRequest& request, runtime::CopySink& sink) override {
    record(request);
    const std::lock_guard lock(mutex_);
    crowded_ = crowded_ || sending_.contains(request.src) || receiving_.contains(request.dst);
    sending_.insert(request.src);
    receiving_.insert(request.dst);
    threads_.emplace_back([this, request, &sink] {
      std::this_thread::yield();
      {
        const std::lock_guard inner(mutex_);
        sending_.erase(request.src);
        receiving_.erase(request.dst);
      }
      finish(request, sink);
    });
  }
  bool crowded() {
    const std::lock_guard lock(mutex_);
    return crowded_;
  }

 private:
  std::multiset<DeviceId> sending_, receiving_;
  std::vector<std::thread> threads_;
  bool crowded_ = false;
};

TEST_CASE(
    "random graphs under random placements end with the right values, and engines are not shared") {
  constexpr int kOps = 80;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    RandomSums sums(seed, kOps);
    Rig<Watched> rig(sums.program, 4);
    for (int i = 0; i < 4; ++i) {
      const Placement placement = sums.placement(kOps, 4);
      StepOptions options;
      options.outputs = true;
      const StepResult result = rig.run(placement, options);
      CHECK(result.executed == placement);
      CHECK(floats(result.outputs.at(0)) == std::vector<float>(4, sums.expected));
      CHECK(result.trace.critical_path.back().end_us ==
            doctest::Approx(result.runtime_us).epsilon(1e-6));
    }
    CHECK_FALSE(rig.runtime.crowded());
    for (DeviceId d = 0; d < 4; ++d) {
      rig.session->run(Placement(kOps, 0), {});
      CHECK(rig.runtime.meter(d).held_bytes() == 0);
    }
  }
}

/// A step that hangs is given up, and the test says so.
StepOptions watchdog() {
  StepOptions options;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  options.should_stop = [limit] { return std::chrono::steady_clock::now() > limit; };
  return options;
}

TEST_CASE("whichever op fails, the step ends and the next one works") {
  constexpr int kOps = 60;
  RandomSums sums(3, kOps);
  Rig<Watched> rig(sums.program, 3);
  for (OpId failing = 0; failing < kOps; ++failing) {
    const Placement placement = sums.placement(kOps, 3);
    sums.failing = failing;
    expect_error(ErrorCode::execution, {"'op" + std::to_string(failing) + "'", "as the test wants"},
                 [&] { rig.run(placement, watchdog()); });
    sums.failing = kNoOp;
    CHECK(rig.run(placement, watchdog()).executed == placement);
  }
}

/// A device that issues ops and runs them later by a clock of its own: each takes 10 us.
class Asynchronous : public StandIn {
 public:
  using StandIn::StandIn;
  void end_step(DeviceId, std::span<runtime::OpTimes> times) override {
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = {static_cast<double>(10 * i), static_cast<double>(10 * i + 10)};
    }
  }
};

TEST_CASE("an asynchronous device says itself when its ops ran") {
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  program.add("c", {program.add("b", {a}, sum(1))}, sum(1));
  Rig<Asynchronous> rig(program, 1);
  const StepResult result = rig.run({0, 0, 0});
  CHECK(result.runtime_us == 30);
  CHECK(result.trace.op_start_us == std::vector<double>{0, 10, 20});
  CHECK(result.busy_us == std::vector<double>{30});
  REQUIRE(result.trace.critical_path.size() == 3);
  CHECK(result.trace.critical_path[0].reason == CriticalStep::Reason::start);
  CHECK(result.trace.critical_path[1].reason == CriticalStep::Reason::input);
}

TEST_CASE("what must follow an asynchronous device's op is told by a copy of nothing") {
  /// Its ops are issued, and not over, when they return.
  class Issuing : public StandIn {
   public:
    using StandIn::StandIn;
    bool is_asynchronous(DeviceId device) const override { return device == 0; }
  };
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  const OpId b = program.add("b", {}, sum(1));
  program.add_control_edge(a, b);
  Rig<Issuing> rig(program, 2);
  rig.run({0, 1});
  CHECK(rig.runtime.copies() == std::vector<std::pair<DeviceId, DeviceId>>{{0, 1}});
  rig.run({1, 0});  // has ended
  CHECK(rig.runtime.copies().size() == 1);
}

/// Its clocks disagree: the first copy seems to have run after the third.
class Disagreeing : public StandIn {
 public:
  using StandIn::StandIn;
  void copy(const runtime::CopyRequest& request, runtime::CopySink& sink) override {
    numbers_.push_back(request.number);
    StandIn::copy(request, sink);
  }
  std::optional<runtime::OpTimes> copy_times(std::uint32_t number) override {
    constexpr double kLater_us = 1e18;
    if (number == numbers_.at(0)) return runtime::OpTimes{4 * kLater_us, 5 * kLater_us};
    if (number == numbers_.at(2)) return runtime::OpTimes{2 * kLater_us, 3 * kLater_us};
    return std::nullopt;
  }

 private:
  std::vector<std::uint32_t> numbers_;  // in the order of the copies, which follow one another
};

TEST_CASE("warnings of LibTorch are not printed") {
  TestProgram program;
  program.add("op", {},
              [](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
                TORCH_WARN("in beta");
                sum(1)(context, in, out);
              });
  Rig<> rig(program, 1);
  std::FILE* const printed = std::tmpfile();
  REQUIRE(printed != nullptr);
  const int standard_error = dup(STDERR_FILENO);
  dup2(fileno(printed), STDERR_FILENO);
  rig.run({0});
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  CHECK(lseek(fileno(printed), 0, SEEK_END) == 0);
  std::fclose(printed);
}

TEST_CASE("a trace ends where clocks disagree") {
  TestProgram program;
  OpId last = program.add("a", {}, sum(1));
  for (const char* const name : {"b", "c", "d"}) last = program.add(name, {last}, sum(1));
  Rig<Disagreeing> rig(program, 2);
  const StepResult result = rig.run({0, 1, 0, 1});
  CHECK(result.trace.transfers.size() == 3);
  CHECK(result.trace.critical_path.size() <= 7 + 3);  // a transfer once
}

/// Loses its device in the middle of a step.
class Vanishing : public StandIn {
 public:
  using StandIn::StandIn;
  void end_step(DeviceId device, std::span<runtime::OpTimes>) override {
    if (device == 1) throw std::runtime_error("the device does not answer");
  }
};

TEST_CASE("a device that disappears is named") {
  TestProgram program;
  program.add("a", {}, sum(1));
  program.add("b", {}, sum(1));
  Rig<Vanishing> rig(program, 2);
  expect_error(ErrorCode::execution, {"d:1", "does not answer"}, [&] { rig.run({0, 1}); });
}

TEST_CASE("an input whose number the frontend knows is fed that, whatever the seed") {
  for (const DType dtype : {DType::i64, DType::i32, DType::boolean}) {
    const int number = dtype == DType::boolean ? 1 : 50;
    GraphBuilder builder("g", "onnx");
    const OpId input = builder.add_op("count", "Input");
    const TensorId tensor = builder.add_output(input, {dtype, true, {1}, kUnknownBytes});
    builder.set_attribute(input, std::string(ops::kKnownNumber), static_cast<double>(number));
    const auto graph = builder.build();
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      const Value drawn = runtime::draw_input(*graph, tensor, seed);
      CHECK(drawn.tensor.item().toLong() == number);
      CHECK(drawn.tensor.dim() == 1);
    }
  }
}

}  // namespace
}  // namespace berth::test
