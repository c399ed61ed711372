#include "cpu/cpu_runtime.h"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <optional>
#include <utility>

#include "cpu/machine.h"
#include "runtime/values.h"

// OpenBLAS has its own threads, as many for the whole process. Absent with another BLAS.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace berth::cpu {

using runtime::MemoryMeter;
using runtime::MeterScope;
using runtime::Value;

struct CpuRuntime::Unit {
  Unit(const Device& device, const std::string& cache, const EmulatedLink& link)
      : meter(device.name, device.memory_bytes, cache) {
    if (link.slower()) copier.emplace(link);
  }
  MemoryMeter meter;
  std::optional<Copier> copier;
};

CpuRuntime::CpuRuntime(const Cluster& cluster, std::vector<int> cores, int threads,
                       const EmulatedLink& link)
    : cores_(std::move(cores)), threads_(threads) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    units_.push_back(std::make_unique<Unit>(cluster.device(d), shared_cache(core(d, 0)), link));
  }
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}
CpuRuntime::~CpuRuntime() = default;

at::Device CpuRuntime::torch_device(DeviceId) const {
  return at::kCPU;
}

MemoryMeter& CpuRuntime::meter(DeviceId device) {
  return units_[static_cast<std::size_t>(device)]->meter;
}

double CpuRuntime::patience_us() const {
  constexpr double kWithinStep_us = 10'000;
  const bool own_cores = units_.size() * static_cast<std::size_t>(threads_) <= cores_.size();
  return own_cores && reads_others() ? kWithinStep_us : DeviceRuntime::patience_us();
}

int CpuRuntime::core(DeviceId device, int thread) const {
  return cores_[static_cast<std::size_t>(device * threads_ + thread) % cores_.size()];
}

void CpuRuntime::enter(DeviceId device) {
  cpu_set_t own;
  CPU_ZERO(&own);
  for (int t = 0; t < threads_; ++t) {
    CPU_SET(core(device, t), &own);
  }
  // If the system refuses, the device still runs, less steadily. OpenMP threads that this thread
  // starts later inherit its cores.
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof own, &own));
  // at::set_num_threads would also change the number for future threads. OpenMP's own setting is
  // for this thread only. ATen overwrites it at its first use in a thread, which therefore comes
  // first.
  static_cast<void>(at::get_num_threads());
  omp_set_num_threads(threads_);
}

void CpuRuntime::run(DeviceId device, const runtime::Kernel& kernel,
                     runtime::KernelContext& context, std::span<const Value> inputs,
                     std::span<Value> outputs) {
  const MeterScope scope(&meter(device));
  kernel(context, inputs, outputs);
}

bool CpuRuntime::reads_others() const {
  return !units_.front()->copier;
}

Value CpuRuntime::receive(DeviceId device, const Value& sent) {
  const MeterScope scope(&meter(device));
  return runtime::deep_copy(sent);
}

void CpuRuntime::copy(const runtime::CopyRequest& request, runtime::CopySink& sink) {
  units_[static_cast<std::size_t>(request.src)]->copier->copy(request, meter(request.dst), sink);
}

Value CpuRuntime::upload(DeviceId device, const Value& host) {
  if (!host.tensor.defined()) return host;
  // Values are never written, so devices may share bytes that came from outside; each is charged.
  MemoryMeter& charged = meter(device);
  const at::Tensor& tensor = host.tensor;
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  charged.take(bytes);
  return {at::from_blob(
              tensor.data_ptr(), tensor.sizes(), tensor.strides(),
              [tensor, &charged, bytes](void*) { charged.give(bytes); }, tensor.options()),
          nullptr};
}

Value CpuRuntime::download(DeviceId, const Value& value) {
  const MeterScope none(nullptr);
  return runtime::deep_copy(value);
}

}  // namespace berth::cpu
