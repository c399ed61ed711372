// Logical CPU devices: threads, memory, emulated links.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <omp.h>

#include <array>
#include <optional>
#include <set>
#include <vector>

#include "backends/test_program.h"
#include "berth/engine.h"
#include "berth/files.h"
#include "berth/support/process_limits.h"
#include "cpu/backend.h"
#include "cpu/cpu_runtime.h"
#include "runtime/memory_meter.h"
#include "runtime/parcel.h"
#include "runtime/session.h"
#include "runtime/values.h"
#include "support/expect_error.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using runtime::KernelContext;
using runtime::Value;

Options cpu_options(const OptionTexts& texts) {
  Options options(cpu::kOptions);
  for (const auto& [name, value] : texts) options.set("backend 'cpu'", name, value);
  return options;
}

/// A test program on the devices of a CPU backend.
struct CpuRig {
  CpuRig(TestProgram& program, const OptionTexts& texts, int threads = 1,
         const cpu::EmulatedLink& link = {})
      : cluster(cpu::CpuBackend(cpu_options(texts)).cluster()),
        runtime(*cluster, {0, 1}, threads, link),
        executor(runtime, *cluster) {
    TestProgram::Built built = program.build();
    session.emplace(built.program, std::move(built.kernels), cluster, runtime, executor,
                    SessionOptions{});
  }
  StepResult run(const Placement& placement) {
    StepOptions options;
    options.trace = true;
    return session->run(placement, options);
  }

  std::shared_ptr<const Cluster> cluster;
  cpu::CpuRuntime runtime;
  runtime::Executor executor;
  std::optional<runtime::DeviceSession> session;
};

TEST_CASE("devices are as many and as large as the options say") {
  const cpu::CpuBackend backend(
      cpu_options({{"devices", std::int64_t{3}}, {"memory_bytes", std::int64_t{1} << 20}}));
  CHECK(backend.cluster()->device_names() == "cpu:0, cpu:1, cpu:2");
  CHECK(backend.cluster()->device(2).memory_bytes == 1 << 20);
  CHECK(backend.cluster()->kind_count() == 1);
  const cpu::CpuBackend other(cpu_options({{"devices", std::int64_t{2}}}));
  CHECK(backend.fingerprint() != other.fingerprint());
}

TEST_CASE("options out of range are refused with the range") {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, OptionValue>>{
           {"devices", std::int64_t{0}},
           {"devices", std::int64_t{65}},
           {"threads", std::int64_t{-1}},
           {"memory_bytes", std::int64_t{-1}},
           {"latency_us", -1.0},
           {"bandwidth_bytes_per_s", -1.0}}) {
    expect_error(ErrorCode::invalid_argument, {"'cpu'", name}, [&] {
      cpu::CpuBackend(cpu_options({{name, value}}));
    });
  }
}

TEST_CASE("each device has its own intra-op threads, and the caller keeps its own") {
  const int before = omp_get_max_threads();
  std::array<int, 2> seen{};
  TestProgram program;
  for (std::size_t d = 0; d < 2; ++d) {
    program.add(
        "op" + std::to_string(d), {},
        [&seen, d](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
          seen[d] = at::get_num_threads();
          sum(0)(context, in, out);
        });
  }
  CpuRig rig(program, {{"devices", std::int64_t{2}}}, /*threads=*/3);
  rig.run({0, 1});
  CHECK(seen[0] == 3);
  CHECK(seen[1] == 3);
  CHECK(omp_get_max_threads() == before);
}

TEST_CASE("a tensor that crosses devices is copied, one that does not is shared") {
  const void* made = nullptr;
  const void* read = nullptr;
  TestProgram program;
  const OpId a = program.add(
      "a", {}, [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
        sum(1)(context, in, out);
        made = out[0].tensor.data_ptr();
      });
  program.add("b", {a},
              [&](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
                read = in[0].tensor.data_ptr();
                sum(1)(context, in, out);
              });
  CpuRig rig(program, {{"devices", std::int64_t{2}}});
  rig.run({0, 0});
  CHECK(made == read);
  rig.run({0, 1});
  CHECK(made != read);
}

/// Tensors of many types and orders in memory, of a few bytes and of more than are copied directly.
std::vector<at::Tensor> tensors_of_all_kinds() {
  std::vector<at::Tensor> all = {at::tensor(3),
                                 at::arange(10, at::kFloat),
                                 at::arange(11, at::kFloat),
                                 at::ones({1, 2, 1, 1, 2, 1}),
                                 at::ones({1, 2, 1, 1, 2, 1, 1}),
                                 at::arange(40).expand({9, 40})};
  for (const std::int64_t rows : {0, 1, 5, 300}) {
    const at::Tensor plain = at::arange(rows * 40, at::kFloat).reshape({rows, 40});
    const at::Tensor images = at::arange(rows * 40, at::kFloat)
                                  .reshape({rows, 5, 2, 4})
                                  .contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor complex = at::complex(plain, plain + 1);
    all.insert(all.end(), {plain, plain.t(), plain.slice(1, 3, 20), plain.select(1, 7), images,
                           plain.to(at::kHalf), plain.to(at::kLong).t(), plain.gt(7), complex,
                           at::conj(complex), at::arange(rows, at::kDouble)});
  }
  return all;
}

TEST_CASE(
    "a copy of any tensor has its values, type and order in memory, and a memory of its own") {
  std::set<runtime::Parcel::Kind> kinds;
  for (const at::Tensor& sent : tensors_of_all_kinds()) {
    const runtime::Parcel parcel(Value{sent, nullptr});
    kinds.insert(parcel.kind);
    for (const bool whole : {true, false}) {
      if (!whole && parcel.kind == runtime::Parcel::Kind::none) continue;
      const Value value = whole ? runtime::deep_copy({sent, nullptr}) : parcel.open();
      const at::Tensor& copy = value.tensor;
      CHECK(copy.equal(sent));
      CHECK((copy.scalar_type() == sent.scalar_type()));
      if (sent.is_non_overlapping_and_dense()) CHECK((copy.strides() == sent.strides()));
      if (sent.numel() > 0) CHECK(copy.data_ptr() != sent.data_ptr());
    }
  }
  CHECK(kinds.size() == 3);
}

TEST_CASE("what is sent arrives in every step, whatever its type, size and order in memory") {
  const std::vector<at::Tensor> all = tensors_of_all_kinds();
  std::vector<at::Tensor> arrived(all.size());
  TestProgram program;
  Placement placement;
  int step = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const OpId sender = program.add(
        "send" + std::to_string(i), {},
        [&, i](KernelContext& /*context*/, std::span<const Value> /*in*/, std::span<Value> out) {
          const at::Tensor made = all[i].clone();  // in memory that is another's by the next step
          out[0].tensor = step % 2 == 0 ? made : made.logical_not_();
        });
    program.add("receive" + std::to_string(i), {sender},
                [&, i](KernelContext& context, std::span<const Value> in, std::span<Value> out) {
                  sum(0)(context, {}, out);
                  const runtime::MeterScope none(nullptr);  // it outlives the device
                  arrived[i] = in[0].tensor.clone();
                });
    placement.insert(placement.end(),
                     {static_cast<DeviceId>(i % 2), static_cast<DeviceId>(1 - i % 2)});
  }
  CpuRig rig(program, {{"devices", std::int64_t{2}}});
  for (; step < 4; ++step) {
    rig.run(placement);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      CHECK(
          arrived[i].equal(step % 2 == 0 ? all[i] : all[i].logical_not().to(all[i].scalar_type())));
    }
  }
}

TEST_CASE("the receiver copies what it is sent between two of its ops, and the sender frees it") {
  constexpr std::int64_t kElements = 25'000;  // 100 kB
  TestProgram program(kElements);
  const OpId a = program.add("a", {}, sum(1, kElements));
  program.add("b", {a}, sum(1, kElements));
  const OpId c = program.add("c", {}, sum(1, kElements));
  program.add("d", {c}, sum(1, kElements));
  CpuRig rig(program, {{"devices", std::int64_t{2}}});
  for (int step = 0; step < 3; ++step) {
    const StepResult result = rig.run({0, 1, 1, 1});
    REQUIRE(result.trace.transfers.size() == 1);
    const Transfer& transfer = result.trace.transfers[0];
    CHECK(transfer.bytes == 4 * kElements);
    CHECK(transfer.start_us >= transfer.queued_us);
    for (const OpId op : {1, 2, 3}) {  // no op of the receiver runs meanwhile
      const auto at = static_cast<std::size_t>(op);
      CHECK((result.trace.op_end_us[at] <= transfer.start_us ||
             result.trace.op_start_us[at] >= transfer.end_us));
    }
    CHECK(result.trace.op_start_us[1] >= transfer.end_us);
  }
}

TEST_CASE("an emulated link takes at least its latency and the bytes over its bandwidth") {
  constexpr std::int64_t kElements = 25'000;  // 100 kB
  TestProgram program(kElements);
  const OpId a = program.add("a", {}, sum(1, kElements));
  program.add("b", {a}, sum(1, kElements));
  CpuRig rig(program, {{"devices", std::int64_t{2}}}, 1, {1e8, 500});
  const StepResult result = rig.run({0, 1});
  REQUIRE(result.trace.transfers.size() == 1);
  const Transfer& transfer = result.trace.transfers[0];
  CHECK(transfer.bytes == 4 * kElements);
  CHECK(transfer.end_us - transfer.start_us >= 1500);
}

TEST_CASE("what the system has no room for is an error, not its end") {
  const std::int64_t room = free_memory_bytes();
  if (room == kNoLimit) return;
  runtime::MemoryMeter meter("cpu:0");
  const runtime::MeterScope scope(&meter);
  // More than there is, and not so much that the system refuses it by itself.
  test::expect_error(ErrorCode::out_of_memory, {"the machine has no room", "bytes more"},
                     [&] { static_cast<void>(at::empty({room + (1 << 20)}, at::kByte)); });
  CHECK(meter.held_bytes() == 0);
}

TEST_CASE("memory over the limit is an error, and nothing leaks") {
  constexpr std::int64_t kElements = 1024;
  TestProgram program(kElements);
  const OpId a = program.add("a", {}, sum(1, kElements));
  program.add("b", {a}, sum(1, kElements));
  CpuRig rig(program, {{"devices", std::int64_t{2}}, {"memory_bytes", std::int64_t{6000}}});
  for (int i = 0; i < 3; ++i) {
    expect_error(ErrorCode::out_of_memory, {"cpu:0", "'b'", "6000"}, [&] { rig.run({0, 0}); });
    CHECK(rig.runtime.meter(0).held_bytes() == 0);
  }
}

TEST_CASE("large blocks that a device frees serve the others at its cache, small ones itself") {
  runtime::MemoryMeter first("cpu:0", kNoLimit, "0-1"), second("cpu:1", kNoLimit, "0-1"),
      elsewhere("cpu:2", kNoLimit, "2-3");
  const auto freed = [](runtime::MemoryMeter& meter, std::int64_t bytes) {
    const runtime::MeterScope scope(&meter);
    const at::Tensor tensor = at::empty({bytes}, at::kByte);
    CHECK(meter.held_bytes() == bytes);
    return tensor.data_ptr();
  };
  constexpr std::int64_t kSmall = 4096, kLarge = 3 << 20;
  void* const large = freed(first, kLarge);
  CHECK(freed(elsewhere, kLarge) != large);
  CHECK(freed(second, kLarge) == large);
  void* const small = freed(first, kSmall);
  CHECK(freed(second, kSmall) != small);
  CHECK(freed(first, kSmall) == small);
  for (const auto* meter : {&first, &second, &elsewhere}) CHECK(meter->held_bytes() == 0);
}

}  // namespace
}  // namespace berth::test
