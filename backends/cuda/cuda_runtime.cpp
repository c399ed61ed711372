#include "cuda/cuda_runtime.h"

#include <ATen/Functions.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "cuda/allocation_watch.h"
#include "cuda/charge.h"
#include "runtime/values.h"

namespace berth::cuda {

using runtime::CopyRequest;
using runtime::CopySink;
using runtime::MemoryMeter;
using runtime::MeterScope;
using runtime::OpTimes;
using runtime::transformed;
using runtime::Value;

struct CudaRuntime::Unit {
  struct Kept {
    Event end;
    std::array<Value, 2> source;
  };

  Unit(const Device& device, int the_gpu, Calls& the_calls)
      : name(device.name), gpu(the_gpu), calls(the_calls), meter(device.name, device.memory_bytes) {
    if (gpu == kHost) return;
    compute = calls.make_stream(gpu);
    in = calls.make_stream(gpu);
    out = calls.make_stream(gpu);
    for (Event& event : clock) event = calls.make_event(gpu);
    made_dense = calls.make_event(gpu);
  }
  ~Unit() {
    if (gpu == kHost) return;
    for (const auto& [begin, end] : op_events) {
      calls.destroy(begin);
      calls.destroy(end);
    }
    for (const auto& [number, events] : copies) {
      calls.destroy(events.begin);
      calls.destroy(events.end);
    }
    for (const Event event : {clock[0], clock[1], made_dense}) calls.destroy(event);
    for (const Stream stream : {compute, in, out}) calls.destroy(stream);
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  EventPair next_op_events() {
    if (ops_issued == op_events.size()) {
      op_events.push_back({calls.make_event(gpu), calls.make_event(gpu)});
    }
    return op_events[ops_issued];
  }
  /// Reads both clocks: the GPU's between two readings of the host's, a few times, and the narrowest counts. What an
  /// idle GPU is given first takes up to 200 us.
  void set_clock() {
    constexpr double kLongest_us = 500;
    double narrowest_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 4; ++i) {
      const double before_us = runtime::now_us();
      calls.record(clock[1], compute);
      double after_us = runtime::now_us();
      while (!calls.done(clock[1]) && after_us < before_us + kLongest_us) {
        after_us = runtime::now_us();
      }
      if (after_us - before_us >= narrowest_us) continue;
      narrowest_us = after_us - before_us;
      begun_us = before_us;
      std::swap(clock[0], clock[1]);
    }
  }
  /// A time on the executor's clock, never too late: the GPU recorded the event after the host had
  /// read its clock.
  double clock_us(Event event) { return begun_us + calls.elapsed_us(clock[0], event); }

  const std::string name;
  const int gpu;
  Calls& calls;
  MemoryMeter meter;
  Stream compute = nullptr;
  Stream in = nullptr;
  Stream out = nullptr;

  std::array<Event, 2> clock = {};  // the first was recorded after begun_us
  double begun_us = 0;
  std::vector<EventPair> op_events;  // in the order of issue; the worker's own
  std::size_t ops_issued = 0;
  std::atomic<Event> last_op = nullptr;  // the op issued last; read by the threads that copy
  // Events of copies from here, which come one by one. Recording an event again does not affect
  // those who already wait for it.
  Event last_sent = nullptr;  // to a GPU, in this step
  Event made_dense = nullptr;
  std::shared_ptr<AllocationWatch> watch = std::make_shared<AllocationWatch>();
  // Guarded by CudaRuntime::mutex_.
  std::unordered_map<std::uint32_t, EventPair> copies;  // by message number
  std::deque<Kept> kept;                                // until their copies have ended
};

namespace {

template <typename Function>
void for_each_tensor(const Value& value, const Function& function) {
  if (value.tensor.defined()) function(value.tensor);
  if (value.structure == nullptr) return;
  for (const Value& part : value.structure->sequence) for_each_tensor(part, function);
}

/// Turns ATen's error for a full GPU into ours.
template <typename Function>
auto with_room(const std::string& device, const Function& function) {
  try {
    return function();
  } catch (const c10::OutOfMemoryError& error) {
    throw Error(ErrorCode::out_of_memory, "device " + device +
                                              " is out of memory, and so is its GPU (" +
                                              error.what_without_backtrace() +
                                              "); place less there, or close what else uses "
                                              "the GPU");
  }
}

}  // namespace

CudaRuntime::CudaRuntime(const Cluster& cluster, std::vector<int> gpu_of,
                         std::shared_ptr<Calls> calls)
    : calls_(std::move(calls)), pinned_(std::make_shared<PinnedPool>(calls_)) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const int gpu = gpu_of.at(static_cast<std::size_t>(d));
    units_.push_back(std::make_unique<Unit>(cluster.device(d), gpu, *calls_));
  }
  bridge_ = std::make_unique<HostBridge>(calls_, units_.size());
}

CudaRuntime::~CudaRuntime() = default;

CudaRuntime::Unit& CudaRuntime::unit(DeviceId device) const {
  return *units_[static_cast<std::size_t>(device)];
}

at::Device CudaRuntime::torch_device(DeviceId device) const {
  const int gpu = unit(device).gpu;
  return gpu == kHost ? at::Device(at::kCPU) : calls_->torch_device(gpu);
}

MemoryMeter& CudaRuntime::meter(DeviceId device) {
  return unit(device).meter;
}

bool CudaRuntime::is_asynchronous(DeviceId device) const {
  return unit(device).gpu != kHost;
}

void CudaRuntime::begin_step(DeviceId device) {
  Unit& here = unit(device);
  if (here.gpu == kHost) return;
  calls_->make_current(here.gpu, here.compute);
  here.ops_issued = 0;
  here.last_sent = nullptr;
  free_kept();
  here.set_clock();
}

void CudaRuntime::run(DeviceId device, const runtime::Kernel& kernel,
                      runtime::KernelContext& context, std::span<const Value> inputs,
                      std::span<Value> outputs) {
  Unit& here = unit(device);
  if (here.gpu == kHost) {
    const MeterScope scope(&here.meter);
    kernel(context, inputs, outputs);
    return;
  }
  free_kept();
  for (const Value& input : inputs) await(here, input);
  const auto [begin, end] = here.next_op_events();
  calls_->record(begin, here.compute);
  here.watch->reset();
  with_room(here.name, [&] {
    const c10::DebugInfoGuard watching(c10::DebugInfoKind::PROFILER_STATE, here.watch);
    kernel(context, inputs, outputs);
  });
  calls_->record(end, here.compute);
  ++here.ops_issued;
  here.last_op = end;
  // The op already has its memory; if that exceeds the share, this is where it becomes known.
  here.meter.take(here.watch->peak_bytes());
  here.meter.give(here.watch->peak_bytes());
  for (const Value& output : outputs) {
    for_each_tensor(output, [&](const at::Tensor& tensor) {
      if (on_gpu(here, tensor)) charge(tensor, here.meter);
    });
  }
}

void CudaRuntime::await(Unit& here, const Value& value) {
  for_each_tensor(value, [&](const at::Tensor& tensor) {
    Charge* const known = charge_of(tensor);
    if (known == nullptr || known->arrival == nullptr) return;
    calls_->wait(here.compute, known->arrival);
    known->arrival = nullptr;
  });
}

void CudaRuntime::end_step(DeviceId device, std::span<OpTimes> times) {
  Unit& here = unit(device);
  if (here.gpu == kHost) return;
  try {
    for (const Stream stream : {here.compute, here.in, here.out}) calls_->synchronize(stream);
  } catch (...) {
    bridge_->fail(device, std::current_exception());
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    kept_count_ -= here.kept.size();
    here.kept.clear();
  }
  // An op that threw has no events, so its step has no times.
  for (std::size_t i = 0; i < std::min(times.size(), here.ops_issued); ++i) {
    OpTimes& op = times[i];
    op.start_us = std::max(op.start_us, here.clock_us(here.op_events[i].begin));
    op.end_us = std::max(op.start_us, here.clock_us(here.op_events[i].end));
  }
}

void CudaRuntime::copy(const CopyRequest& request, CopySink& sink) {
  if (unit(request.dst).gpu == kHost) {
    to_host(request, sink);
  } else if (unit(request.src).gpu == kHost) {
    bridge_->post([this, request, &sink] { from_host(request, sink); });
  } else {
    between_gpus(request, sink);
  }
}

void CudaRuntime::between_gpus(const CopyRequest& request, CopySink& sink) {
  Unit& from = unit(request.src);
  Unit& to = unit(request.dst);
  const EventPair events = copy_events(to, request.number);
  bool copied = false;
  const Value source = transformed(*request.source, [&](const at::Tensor& tensor) {
    at::Tensor in_one_piece = dense(from, tensor);
    copied = copied || !in_one_piece.is_same(tensor);
    return in_one_piece;
  });
  if (copied) calls_->record(from.made_dense, from.out);
  calls_->wait(to.in, copied ? from.made_dense : from.last_op.load());
  if (!request.source->present()) calls_->wait(to.compute, from.last_op);
  if (from.last_sent != nullptr) calls_->wait(to.in, from.last_sent);
  calls_->record(events.begin, to.in);
  Value copy = transformed(source, [&](const at::Tensor& tensor) {
    // Every device can read what kernels keep on the host.
    if (!on_gpu(from, tensor)) return tensor;
    at::Tensor made = allocate(to, to.in, tensor);
    charge(made, to.meter, events.end);
    calls_->copy(to.in, made.data_ptr(), to.gpu, tensor.data_ptr(), from.gpu, tensor.nbytes());
    calls_->keep_for(block_of(made), to.gpu, to.compute);
    return made;
  });
  calls_->record(events.end, to.in);
  from.last_sent = events.end;
  keep(to, events.end, {*request.source, source});
  sink.copied(request.number, std::move(copy));
}

/// The source must be neither freed nor, if it is a variable, written before the copy has read it.
/// The sink is told that it no longer needs the source, but the GPU still does.
void CudaRuntime::keep(Unit& receiver, Event end, std::array<Value, 2> source) {
  const std::lock_guard lock(mutex_);
  receiver.kept.push_back({end, std::move(source)});
  ++kept_count_;
}

/// Copies to one receiver end in the order in which they were requested.
void CudaRuntime::free_kept() {
  if (kept_count_ == 0) return;
  const std::lock_guard lock(mutex_);
  for (const auto& receiver : units_) {
    while (!receiver->kept.empty() && calls_->done(receiver->kept.front().end)) {
      receiver->kept.pop_front();
      --kept_count_;
    }
  }
}

void CudaRuntime::to_host(const CopyRequest& request, CopySink& sink) {
  Unit& from = unit(request.src);
  Unit& to = unit(request.dst);
  const EventPair events = copy_events(from, request.number);
  calls_->wait(from.out, from.last_op);
  calls_->record(events.begin, from.out);
  Value source =
      transformed(*request.source, [&](const at::Tensor& tensor) { return dense(from, tensor); });
  Value copy = transformed(source, [&](const at::Tensor& tensor) {
    if (!on_gpu(from, tensor)) {
      const MeterScope scope(&to.meter);
      return tensor.clone();
    }
    at::Tensor made = pinned_->make(tensor, &to.meter);
    calls_->copy(from.out, made.data_ptr(), kHost, tensor.data_ptr(), from.gpu, tensor.nbytes());
    return made;
  });
  calls_->record(events.end, from.out);
  bridge_->expect(request.src, from.out,
                  {request.number, &sink, std::move(copy), std::move(source), events.end});
}

/// Runs on the bridge's thread: the host copies into pinned memory, and the worker has ops to run.
void CudaRuntime::from_host(const CopyRequest& request, CopySink& sink) {
  Value copy;
  try {
    Unit& to = unit(request.dst);
    const EventPair events = copy_events(to, request.number);
    calls_->record(events.begin, to.in);
    copy = transformed(*request.source, [&](const at::Tensor& tensor) {
      const at::Tensor source =
          tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
      const at::Tensor staged = pinned_->make(source, nullptr);
      const auto* const bytes = static_cast<const std::byte*>(source.data_ptr());
      std::copy_n(bytes, source.nbytes(), static_cast<std::byte*>(staged.data_ptr()));
      bridge_->keep_until(events.end, staged);
      at::Tensor made = allocate(to, to.in, source);
      charge(made, to.meter, events.end);
      calls_->copy(to.in, made.data_ptr(), to.gpu, staged.data_ptr(), kHost, staged.nbytes());
      calls_->keep_for(block_of(made), to.gpu, to.compute);
      return made;
    });
    calls_->record(events.end, to.in);
  } catch (...) {
    sink.copy_failed(request.number, std::current_exception());
    return;
  }
  sink.copied(request.number, std::move(copy));
}

std::optional<OpTimes> CudaRuntime::copy_times(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= copied_by_.size() || copied_by_[number] == nullptr) return std::nullopt;
  Unit& timed = *copied_by_[number];
  const EventPair& events = timed.copies.at(number);
  return OpTimes{timed.clock_us(events.begin), timed.clock_us(events.end)};
}

Value CudaRuntime::upload(DeviceId device, const Value& host) {
  Unit& here = unit(device);
  if (here.gpu == kHost) {
    const MeterScope scope(&here.meter);
    return runtime::deep_copy(host);
  }
  return transformed(host, [&](const at::Tensor& tensor) {
    const at::Tensor source = tensor.contiguous();
    at::Tensor made = allocate(here, here.compute, source);
    charge(made, here.meter);
    calls_->copy(here.compute, made.data_ptr(), here.gpu, source.data_ptr(), kHost,
                 source.nbytes());
    calls_->synchronize(here.compute);
    return made;
  });
}

Value CudaRuntime::download(DeviceId device, const Value& value) {
  Unit& here = unit(device);
  const MeterScope none(nullptr);
  return transformed(value, [&](const at::Tensor& tensor) {
    if (here.gpu == kHost || !on_gpu(here, tensor)) return tensor.clone();
    const at::Tensor source = dense(here, tensor);
    calls_->synchronize(here.out);
    at::Tensor made =
        at::empty_strided(source.sizes(), source.strides(), source.options().device(at::kCPU));
    calls_->copy(here.compute, made.data_ptr(), kHost, source.data_ptr(), here.gpu,
                 source.nbytes());
    calls_->synchronize(here.compute);
    return made;
  });
}

/// A tensor of the type, shape and strides of `like`, which is dense, for use on `stream`.
at::Tensor CudaRuntime::allocate(Unit& here, Stream stream, const at::Tensor& like) {
  return with_room(here.name, [&] {
    const c10::StreamGuard on(calls_->torch_stream(here.gpu, stream));
    return at::empty_strided(like.sizes(), like.strides(),
                             like.options().device(calls_->torch_device(here.gpu)));
  });
}

/// The tensor without holes, so that it can be copied in one piece: the tensor itself, or a copy
/// that is issued on `out`.
at::Tensor CudaRuntime::dense(Unit& here, const at::Tensor& tensor) {
  if (!on_gpu(here, tensor) || tensor.is_non_overlapping_and_dense()) return tensor;
  calls_->wait(here.out, here.last_op);
  return with_room(here.name, [&] {
    const c10::StreamGuard on(calls_->torch_stream(here.gpu, here.out));
    calls_->keep_for(block_of(tensor), here.gpu, here.out);
    return tensor.contiguous();
  });
}

bool CudaRuntime::on_gpu(const Unit& here, const at::Tensor& tensor) const {
  return tensor.device() == calls_->torch_device(here.gpu);
}

CudaRuntime::EventPair CudaRuntime::copy_events(Unit& timed, std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= copied_by_.size()) copied_by_.resize(number + 1);
  copied_by_[number] = &timed;
  EventPair& events = timed.copies[number];
  if (events.begin == nullptr) {
    events = {calls_->make_event(timed.gpu), calls_->make_event(timed.gpu)};
  }
  return events;
}

}  // namespace berth::cuda
