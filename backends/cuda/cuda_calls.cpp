#include "cuda/cuda_calls.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include "berth/error.h"

namespace berth::cuda {
namespace {

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}
cudaEvent_t native(Event event) {
  return reinterpret_cast<cudaEvent_t>(event);
}

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // The error of this call must not be taken for that of the next one.
  static_cast<void>(cudaGetLastError());
  throw Error(ErrorCode::execution, std::string("CUDA's ") + call +
                                        " failed: " + cudaGetErrorString(status) + " (" +
                                        cudaGetErrorName(status) +
                                        "); if the GPU no longer answers, start again and look "
                                        "at nvidia-smi");
}

/// Cores for f32 in one multiprocessor, by compute capability (CUDA C++ Programming Guide,
/// "Arithmetic Instructions").
int cores(int major, int minor) {
  if (major == 7 || (major == 8 && minor == 0) || (major == 6 && minor == 0)) return 64;
  return 128;
}

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, gpu), "cudaDeviceGetAttribute");
  return value;
}

/// LibTorch may bring its own CUDA Runtime. Both must see the same current device; the thread's
/// context belongs to the driver.
class OnGpu {
 public:
  explicit OnGpu(at::Device device) : guard_(device) {
    check(cudaSetDevice(device.index()), "cudaSetDevice");
  }

 private:
  c10::DeviceGuard guard_;
};

class CudaCalls final : public Calls {
 public:
  std::vector<Gpu> gpus() override {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
      const std::string why =
          status == cudaSuccess ? "the driver lists none" : std::string(cudaGetErrorString(status));
      static_cast<void>(cudaGetLastError());
      throw Error(ErrorCode::not_found, "no CUDA device: " + why +
                                            "; install a GPU and its driver, look at "
                                            "CUDA_VISIBLE_DEVICES, or use --backend cpu");
    }
    if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
      throw Error(ErrorCode::not_found, "this LibTorch has no CUDA (" TORCH_VERSION
                                        "); build Berth with one that has, as `./dev help` says");
    }
    // Otherwise f32 convolutions are computed in TF32, with three digits, and no longer agree with
    // the host's.
    at::globalContext().setAllowTF32CuDNN(false);
    std::vector<Gpu> found;
    for (int gpu = 0; gpu < count; ++gpu) found.push_back(describe(gpu));
    return found;
  }

  std::string versions() override {
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return "CUDA driver " + std::to_string(driver) + ", runtime " + std::to_string(runtime) +
           ", LibTorch " TORCH_VERSION;
  }

  bool connect(int gpu, int peer) override {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, gpu, peer), "cudaDeviceCanAccessPeer");
    if (can == 0) return false;
    const OnGpu here(torch_device(gpu));
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
    } else {
      check(status, "cudaDeviceEnablePeerAccess");
    }
    return true;
  }

  Stream make_stream(int gpu) override {
    const OnGpu here(torch_device(gpu));
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return reinterpret_cast<Stream>(stream);
  }
  Event make_event(int gpu) override {
    const OnGpu here(torch_device(gpu));
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "cudaEventCreate");
    return reinterpret_cast<Event>(event);
  }
  void destroy(Stream stream) noexcept override {
    static_cast<void>(cudaStreamDestroy(native(stream)));
  }
  void destroy(Event event) noexcept override {
    static_cast<void>(cudaEventDestroy(native(event)));
  }

  void record(Event event, Stream stream) override {
    check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
  }
  void wait(Stream stream, Event event) override {
    check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent");
  }
  bool done(Event event) override {
    const cudaError_t status = cudaEventQuery(native(event));
    if (status != cudaErrorNotReady) check(status, "cudaEventQuery");
    return status == cudaSuccess;
  }
  void synchronize(Stream stream) override {
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  }
  double elapsed_us(Event from, Event to) override {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, native(from), native(to)), "cudaEventElapsedTime");
    return static_cast<double>(ms) * 1e3;
  }

  void copy(Stream stream, void* to, int to_gpu, const void* from, int from_gpu,
            std::size_t bytes) override {
    if (bytes == 0) return;
    if (to_gpu == kHost || from_gpu == kHost || to_gpu == from_gpu) {
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
    } else {
      check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, native(stream)),
            "cudaMemcpyPeerAsync");
    }
  }
  void call_after(Stream stream, void (*function)(void*), void* argument) override {
    check(cudaLaunchHostFunc(native(stream), function, argument), "cudaLaunchHostFunc");
  }

  void* allocate_pinned(std::size_t bytes) override {
    void* block = nullptr;
    // Portable: pinned for every GPU.
    if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  void free_pinned(void* block) noexcept override { static_cast<void>(cudaFreeHost(block)); }

  at::Device torch_device(int gpu) const override {
    return {at::kCUDA, static_cast<c10::DeviceIndex>(gpu)};
  }
  /// For a stream that LibTorch did not make, its id is the stream's address
  /// (c10/cuda/CUDAStream.cpp, since 1.11). Written out here to avoid its CUDA headers.
  c10::Stream torch_stream(int gpu, Stream stream) const override {
    return c10::Stream(c10::Stream::UNSAFE, torch_device(gpu),
                       reinterpret_cast<c10::StreamId>(stream));
  }
  void make_current(int gpu, Stream stream) override {
    const c10::impl::VirtualGuardImpl torch(c10::DeviceType::CUDA);
    torch.setDevice(torch_device(gpu));
    torch.exchangeStream(torch_stream(gpu, stream));
  }
  void keep_for(const c10::DataPtr& block, int gpu, Stream stream) override {
    c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
        .recordDataPtrOnStream(block, torch_stream(gpu, stream));
  }

 private:
  Gpu describe(int gpu) {
    // The first tensor initialises LibTorch and its allocator.
    static_cast<void>(at::empty({1}, at::TensorOptions(torch_device(gpu))));
    const OnGpu here(torch_device(gpu));
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    Gpu described;
    described.model = properties.name;
    described.memory_bytes = static_cast<std::int64_t>(total);
    described.free_bytes = static_cast<std::int64_t>(free);
    const double clock = attribute(cudaDevAttrClockRate, gpu) * 1e3;
    constexpr double kFlopsPerFma = 2;
    described.flops = clock * kFlopsPerFma * properties.multiProcessorCount *
                      cores(properties.major, properties.minor);
    described.multiprocessors = properties.multiProcessorCount;
    constexpr double kTransfersPerClock = 2;
    described.memory_bandwidth = attribute(cudaDevAttrMemoryClockRate, gpu) * 1e3 *
                                 kTransfersPerClock *
                                 attribute(cudaDevAttrGlobalMemoryBusWidth, gpu) / 8;
    return described;
  }
};

}  // namespace

std::shared_ptr<Calls> make_cuda_calls() {
  return std::make_shared<CudaCalls>();
}

}  // namespace berth::cuda
