// Logical CUDA devices on a substitute for CUDA: order, waiting, memory, failures.
#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <array>
#include <chrono>
#include <optional>

#include "backends/cuda_substitute.h"
#include "backends/random_sums.h"
#include "backends/test_program.h"
#include "cuda/backend.h"
#include "cuda/cuda_runtime.h"
#include "runtime/session.h"
#include "runtime/values.h"
#include "support/expect_error.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using cuda::Clock;
using cuda::CudaBackend;
using cuda::CudaRuntime;
using cuda::kHost;
using cuda::Substitute;
using runtime::Kernel;
using runtime::KernelContext;
using runtime::Value;

Options cuda_options(const OptionTexts& texts) {
  Options options(cuda::kOptions);
  for (const auto& [name, value] : texts) options.set("backend 'cuda'", name, value);
  return options;
}

/// A step that hangs is given up, and the test says so.
StepOptions watchdog() {
  StepOptions options;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  options.should_stop = [limit] { return std::chrono::steady_clock::now() > limit; };
  return options;
}

/// Two GPUs: cuda:0 and cuda:2 share the first, cuda:1 has the second; then the host.
struct CudaRig {
  explicit CudaRig(TestProgram& program, std::shared_ptr<Substitute> the_substitute,
                   const OptionTexts& texts = {})
      : substitute(std::move(the_substitute)) {
    OptionTexts all = texts;
    all["devices"] = std::int64_t{3};
    cluster = CudaBackend(cuda_options(all), substitute).cluster();
    runtime.emplace(*cluster, std::vector<int>{0, 1, 0, kHost}, substitute);
    executor.emplace(*runtime, *cluster);
    TestProgram::Built built = program.build();
    session.emplace(built.program, std::move(built.kernels), cluster, *runtime, *executor,
                    SessionOptions{});
  }
  StepResult run(const Placement& placement) {
    StepOptions options = watchdog();
    options.trace = true;
    options.outputs = true;
    return session->run(placement, options);
  }
  std::vector<float> output(const Placement& placement) {
    const TensorContent content = run(placement).outputs.at(0);
    const auto* const first = reinterpret_cast<const float*>(content.bytes.data());
    return {first, first + content.bytes.size() / sizeof(float)};
  }

  std::shared_ptr<Substitute> substitute;
  std::shared_ptr<const Cluster> cluster;
  std::optional<CudaRuntime> runtime;
  std::optional<runtime::Executor> executor;
  std::optional<runtime::DeviceSession> session;
};

/// `kernel`, and the substitute hears of it. `point`: what lay before it.
Kernel told(Substitute& substitute, const std::string& op, Kernel kernel, Clock* point = nullptr) {
  return [=, &substitute](KernelContext& context, std::span<const Value> inputs,
                          std::span<Value> outputs) {
    kernel(context, inputs, outputs);
    std::vector<const void*> reads;
    std::vector<const void*> writes;
    for (const Value& input : inputs) reads.push_back(input.tensor.data_ptr());
    for (const Value& output : outputs) {
      if (output.tensor.defined()) writes.push_back(output.tensor.data_ptr());
    }
    const Clock at = substitute.launch(op, reads, writes);
    if (point != nullptr) *point = at;
  };
}

TEST_CASE("devices share GPUs in turn, each with a share of the memory") {
  const auto substitute = std::make_shared<Substitute>(2, 1000);
  const CudaBackend one_each(cuda_options({}), substitute);
  CHECK(one_each.cluster()->device_names() == "cuda:0, cuda:1, cpu:0");
  CHECK(one_each.cluster()->device(0).memory_bytes == 900);
  CHECK(one_each.cluster()->device(2).host);
  const CudaBackend shared(cuda_options({{"devices", std::int64_t{3}}, {"host", false}}),
                           substitute);
  CHECK(shared.cluster()->device_names() == "cuda:0, cuda:1, cuda:2");
  REQUIRE(shared.notes().size() == 1);
  CHECK(shared.notes()[0].starts_with("3 devices share 2 GPUs"));
  CHECK(one_each.notes().empty());
  CHECK(shared.cluster()->device(0).memory_bytes == 450);
  CHECK(shared.cluster()->device(1).memory_bytes == 900);
  CHECK(shared.cluster()->device(2).memory_bytes == 450);
  CHECK(shared.fingerprint() != one_each.fingerprint());
}

TEST_CASE("options out of range are refused with the range") {
  const auto substitute = std::make_shared<Substitute>(1, 1000);
  const auto make = [&](const OptionTexts& texts) {
    return [&substitute, texts] { CudaBackend(cuda_options(texts), substitute); };
  };
  expect_error(ErrorCode::invalid_argument, {"'cuda'", "devices", "0 to 64"},
               make({{"devices", std::int64_t{65}}}));
  expect_error(ErrorCode::invalid_argument, {"'cuda'", "memory_bytes", ">= 0"},
               make({{"memory_bytes", std::int64_t{-1}}}));
  expect_error(ErrorCode::invalid_argument, {"memory_bytes is 501", "2 devices", "has 1000"},
               make({{"devices", std::int64_t{2}}, {"memory_bytes", std::int64_t{501}}}));
}

TEST_CASE("the substitute finds an order that nothing enforces") {
  Substitute substitute;
  const cuda::Stream first = substitute.make_stream(0);
  const cuda::Stream second = substitute.make_stream(1);
  const cuda::Event written = substitute.make_event(0);
  std::array<char, 8> from{};
  std::array<char, 8> to{};
  substitute.make_current(0, first);
  substitute.launch("writer", {}, {from.data()});
  substitute.record(written, first);
  SUBCASE("waits") {
    substitute.wait(second, written);
    substitute.make_current(1, second);
    substitute.launch("reader", {from.data()}, {});
    CHECK(substitute.violations().empty());
    CHECK(substitute.unkept() == 1);
  }
  SUBCASE("does not wait") {
    substitute.copy(second, to.data(), 1, from.data(), 0, 8);
    CHECK(substitute.violations().size() == 1);
  }
  substitute.destroy(written);
  substitute.destroy(first);
  substitute.destroy(second);
}

TEST_CASE("under any placement on GPUs and the host, everything waits for what it reads") {
  constexpr int kOps = 60;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const auto substitute = std::make_shared<Substitute>();
    {
      RandomSums sums(seed, kOps, [&](OpId op, Kernel kernel) {
        return told(*substitute, "op" + std::to_string(op), std::move(kernel));
      });
      CudaRig rig(sums.program, substitute);
      for (int i = 0; i < 6; ++i) {
        const Placement placement = sums.placement(kOps, i < 3 ? 4 : 3);
        CHECK(rig.output(placement) == std::vector<float>(4, sums.expected));
        CHECK(substitute->violations() == std::vector<std::string>{});
        CHECK(substitute->unkept() == 0);
      }
      rig.run(Placement(kOps, 0));
      for (const DeviceId d : {1, 2, 3}) CHECK(rig.runtime->meter(d).held_bytes() == 0);
    }
    CHECK(substitute->left() == 0);
  }
}

TEST_CASE("the host waits for GPUs at the ends of steps alone") {
  constexpr int kOps = 60;
  const auto substitute = std::make_shared<Substitute>();
  RandomSums sums(1, kOps);
  CudaRig rig(sums.program, substitute);
  const Placement placement = sums.placement(kOps, 4);
  const auto waits = [&] {
    const int before = substitute->waits();
    rig.session->run(placement, watchdog());
    return substitute->waits() - before;
  };
  constexpr int kStreams = 3 * 3;  // of three devices
  CHECK(waits() == kStreams);
  CHECK(waits() == kStreams);
}

TEST_CASE("an op does not wait for what others of its device read") {
  const auto substitute = std::make_shared<Substitute>();
  Clock source;
  Clock reader;
  Clock bystander;
  TestProgram program;
  const OpId a = program.add("a", {}, told(*substitute, "a", sum(1), &source));
  const OpId after = program.add("after", {}, told(*substitute, "after", sum(1)));
  // Released when the copy of a has been asked for, and issued before its reader.
  const OpId c = program.add("bystander", {}, told(*substitute, "bystander", sum(1), &bystander));
  const OpId b = program.add("reader", {a}, told(*substitute, "reader", sum(1), &reader));
  program.add_control_edge(a, after);
  program.add_control_edge(after, c);
  program.add_control_edge(c, b);
  CudaRig rig(program, substitute);
  rig.run({0, 3, 1, 1});
  REQUIRE(source.size() == 1);
  const auto [stream, point] = *source.begin();
  REQUIRE(reader.contains(stream));
  CHECK(reader.at(stream) >= point);
  CHECK_FALSE(bystander.contains(stream));
}

TEST_CASE(
    "an op waits for those of other GPUs that it must follow, though it reads nothing of them") {
  const auto substitute = std::make_shared<Substitute>();
  Clock first;
  Clock second;
  TestProgram program;
  const OpId a = program.add("a", {}, told(*substitute, "a", sum(1), &first));
  const OpId b = program.add("b", {}, told(*substitute, "b", sum(1), &second));
  program.add_control_edge(a, b);
  CudaRig rig(program, substitute);
  rig.run({0, 1});
  REQUIRE(first.size() == 1);
  const auto [stream, point] = *first.begin();
  REQUIRE(second.contains(stream));
  CHECK(second.at(stream) >= point);
  CHECK(rig.run({0, 3}).runtime_us > 0);
  CHECK(rig.run({3, 0}).runtime_us > 0);
}

TEST_CASE("what is sent is kept until the copy has read it") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  std::vector<float> memory(4);
  bool freed = false;
  std::vector<bool> freed_at;
  const auto watching = [&](KernelContext& context, std::span<const Value> in,
                            std::span<Value> out) {
    freed_at.push_back(freed);
    sum(1)(context, in, out);
  };
  const OpId a =
      program.add("a", {}, [&](KernelContext&, std::span<const Value>, std::span<Value> outputs) {
        outputs[0].tensor = at::from_blob(
            memory.data(), {4}, [&](void*) { freed = true; }, at::kFloat);
      });
  const OpId b = program.add("b", {a}, watching);
  const OpId c = program.add("c", {b}, watching);
  program.add("d", {c}, watching);  // the receiver has more to do than the copy
  CudaRig rig(program, substitute);
  substitute->set_behind(true);
  rig.run({0, 1, 0, 1});
  CHECK(freed_at == std::vector<bool>{false, false, false});
  CHECK(freed);
  substitute->set_behind(false);
  freed = false;
  rig.run({0, 1, 0, 1});
  CHECK(freed_at.back());
}

/// A list of a tensor that does not lie in one piece, one that repeats, an empty one and text; and
/// what there is to add up of it.
OpId add_forms(TestProgram& program) {
  const OpId a =
      program.add("a", {}, [](KernelContext&, std::span<const Value>, std::span<Value> outputs) {
        auto list = std::make_shared<runtime::Structure>();
        const at::Tensor table = at::arange(12).to(at::kFloat).reshape({2, 6});
        list->sequence.push_back({table.slice(1, 0, 6, 2), nullptr});
        list->sequence.push_back({at::ones({1}).expand({3}), nullptr});
        list->sequence.push_back({at::empty({0}), nullptr});
        list->sequence.push_back(runtime::text_value({"a word"}));
        outputs[0].structure = std::move(list);
      });
  const auto pass = [](KernelContext&, std::span<const Value> inputs, std::span<Value> outputs) {
    outputs[0] = inputs[0];
  };
  const OpId b = program.add("b", {a}, pass);
  const OpId c = program.add("c", {b}, pass);
  return program.add("sum", {c},
                     [](KernelContext&, std::span<const Value> inputs, std::span<Value> outputs) {
                       const auto& list = inputs[0].structure->sequence;
                       REQUIRE(list.size() == 4);
                       CHECK(list[2].tensor.numel() == 0);
                       CHECK(list[3].structure->texts.at(0) == "a word");
                       outputs[0].tensor = list[0].tensor.select(0, 1).add(list[1].tensor);
                     });
}

TEST_CASE("values of every form cross between GPUs and the host") {
  for (const Placement& placement :
       {Placement{0, 0, 0, 0}, {0, 1, 2, 0}, {0, 3, 1, 3}, {3, 0, 3, 1}, {0, 2, 3, 2}}) {
    const auto substitute = std::make_shared<Substitute>();
    TestProgram program;
    program.add_output(add_forms(program));
    CudaRig rig(program, substitute);
    CHECK(rig.output(placement) == std::vector<float>{7, 9, 11});
    CHECK(substitute->violations() == std::vector<std::string>{});
  }
}

TEST_CASE("an op whose output depends on values reads them, and nobody else waits") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  const OpId a =
      program.add("a", {}, [](KernelContext&, std::span<const Value>, std::span<Value> outputs) {
        outputs[0].tensor = at::arange(4).to(at::kFloat);
      });
  const OpId chosen = program.add(
      "chosen", {a}, [&](KernelContext&, std::span<const Value> inputs, std::span<Value> outputs) {
        substitute->look();  // as ATen does: it must know how many there are
        outputs[0].tensor = inputs[0].tensor.masked_select(inputs[0].tensor.gt(1));
      });
  program.add_output(program.add(
      "twice", {chosen}, [](KernelContext&, std::span<const Value> inputs, std::span<Value> out) {
        out[0].tensor = inputs[0].tensor.mul(2);
      }));
  CudaRig rig(program, substitute);
  for (const Placement& placement : {Placement{0, 0, 0}, {0, 1, 2}, {3, 0, 3}, {0, 3, 1}}) {
    CHECK(rig.output(placement) == std::vector<float>{4, 6});
  }
}

TEST_CASE("a device keeps to its share, workspace included") {
  constexpr std::int64_t kElements = 1024;
  constexpr std::int64_t kBytes = 4 * kElements;
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program(kElements);
  std::int64_t workspace = 0;
  const OpId a = program.add("a", {}, sum(1, kElements));
  const OpId b = program.add(
      "b", {a}, [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
        // What LibTorch's allocator for GPUs says of a block and of its end.
        const c10::Device gpu(c10::kCUDA, 0);
        const std::int64_t taken = workspace + kBytes;
        c10::reportMemoryUsageToProfiler(nullptr, taken, 0, 0, gpu);
        c10::reportMemoryUsageToProfiler(nullptr, -workspace, 0, 0, gpu);
        sum(1, kElements)(context, in, out);
      });
  static_cast<void>(b);
  CudaRig rig(program, substitute, {{"memory_bytes", 3 * kBytes}});
  const auto waits_for_room = [&](const Placement& placement, const char* device) {
    for (int i = 0; i < 3; ++i) {
      expect_error(ErrorCode::out_of_memory, {"'b'", device, std::to_string(3 * kBytes)},
                   [&] { rig.run(placement); });
      for (const DeviceId d : {0, 1, 2, 3}) CHECK(rig.runtime->meter(d).held_bytes() == 0);
    }
  };
  workspace = kBytes;
  const StepResult result = rig.run({0, 0});
  CHECK(result.workspace_bytes.at(1) == kBytes);
  CHECK(result.peak_bytes == std::vector<std::int64_t>{3 * kBytes, 0, 0, 0});
  workspace = kBytes + 1;
  waits_for_room({0, 0}, "cuda:0");
  waits_for_room({3, 2}, "cuda:2");
}

TEST_CASE("a GPU without room is named with the op, and the next step works") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  bool full = true;
  const OpId a = program.add("a", {}, sum(1));
  program.add("b", {a},
              [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
                TORCH_CHECK_WITH(OutOfMemoryError, !full, "tried to allocate 2 GiB");
                sum(1)(context, in, out);
              });
  CudaRig rig(program, substitute);
  expect_error(ErrorCode::out_of_memory, {"'b' (Test)", "cuda:1", "allocate 2 GiB"}, [&] {
    rig.run({0, 1});
  });
  full = false;
  CHECK(rig.run({0, 1}).executed == Placement{0, 1});
}

TEST_CASE("whichever op fails, the step ends and the next one works") {
  constexpr int kOps = 40;
  const auto substitute = std::make_shared<Substitute>();
  RandomSums sums(3, kOps);
  CudaRig rig(sums.program, substitute);
  for (OpId failing = 0; failing < kOps; ++failing) {
    const Placement placement = sums.placement(kOps, 4);
    sums.failing = failing;
    expect_error(ErrorCode::execution, {"'op" + std::to_string(failing) + "'", "as the test wants"},
                 [&] { rig.run(placement); });
    sums.failing = kNoOp;
    CHECK(rig.output(placement) == std::vector<float>(4, sums.expected));
  }
}

TEST_CASE("a GPU that disappears is an error, whatever waits for it") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  std::atomic<int> lost = -1;
  const OpId a = program.add(
      "a", {}, [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
        if (lost == 0) substitute->lose(0);
        sum(1)(context, in, out);
      });
  const OpId b = program.add("b", {a}, sum(1));
  // The host has asked for what lies on the GPU, and then it goes.
  const OpId c = program.add(
      "c", {a}, [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
        if (lost == 1) substitute->lose(0);
        sum(1)(context, in, out);
      });
  program.add_output(program.add("d", {b, c}, sum(1)));
  CudaRig rig(program, substitute);
  for (int round = 0; round < 2; ++round) {
    for (const Placement& placement :
         {Placement{0, 0, 0, 0}, {0, 3, 0, 3}, {0, 3, 0, 0}, {0, 1, 0, 3}, {0, 3, 2, 1}}) {
      lost = round;
      expect_error(ErrorCode::execution, {"has fallen off the bus"}, [&] { rig.run(placement); });
      lost = -1;
      substitute->repair();
      CHECK(rig.output(placement) == std::vector<float>(4, 5));
    }
  }
}

/// Like a GPU that fails between a copy to the host and what CUDA says of it.
TEST_CASE("a copy that CUDA never speaks of again is found out") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  // Both wait for the host, so that no worker is left to find out.
  const OpId b = program.add("b", {a}, sum(1));
  program.add("c", {b}, sum(1));
  program.add("d", {b}, sum(1));
  CudaRig rig(program, substitute);
  const Placement placement = {1, 3, 1, 0};
  substitute->lose_before_calling(1);
  expect_error(ErrorCode::execution, {"'a'", "cuda:1", "cpu:0", "has fallen off the bus"},
               [&] { rig.run(placement); });
  substitute->repair();
  CHECK(rig.run(placement).executed == placement);
}

TEST_CASE("the trace has the times at which GPUs copied") {
  const auto substitute = std::make_shared<Substitute>();
  TestProgram program;
  const OpId a = program.add("a", {}, sum(1));
  const OpId b = program.add("b", {a}, sum(1));
  program.add("c", {b}, sum(1));
  CudaRig rig(program, substitute);
  for (const Placement& placement : {Placement{0, 1, 3}, {3, 2, 0}}) {
    const StepTrace trace = rig.run(placement).trace;
    REQUIRE(trace.transfers.size() == 2);
    for (const Transfer& transfer : trace.transfers) {
      CHECK(transfer.bytes == 16);
      CHECK(transfer.queued_us <= transfer.start_us);
      CHECK(transfer.start_us <= transfer.end_us);
    }
    for (std::size_t op = 1; op < 3; ++op) {
      CHECK(trace.op_end_us[op - 1] <= trace.op_start_us[op]);
    }
  }
}

}  // namespace
}  // namespace berth::test
