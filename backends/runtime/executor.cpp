#include "runtime/executor.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "berth/error.h"
#include "runtime/computing.h"
#include "runtime/thread.h"
#include "runtime/transfers.h"
#include "runtime/values.h"

namespace berth::runtime {
namespace {

/// How long a worker looks for the next step before it sleeps: about as long as waking it takes.
constexpr double kSpin_us = 30;
constexpr auto kPoll = std::chrono::milliseconds(20);
/// Each op of a device writes the device's: two may not share a line of the caches.
struct alignas(128) OwnContext : KernelContext {};
/// In an inbox: the message is not for this device but one it sent, and was received.
constexpr std::uint32_t kReceived = 1U << 31;

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// True as soon as `holds` is; false if the time for spinning passes first.
template <typename Condition>
bool spin(const Condition& holds, double for_us = kSpin_us) {
  constexpr int kBetweenClocks = 32;
  const double until = now_us() + for_us;
  do {
    for (int i = 0; i < kBetweenClocks; ++i) {
      if (holds()) return true;
      relax();
    }
  } while (now_us() < until);
  return false;
}

}  // namespace

double now_us() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

void Step::drop_holder(std::uint32_t slot) noexcept {
  const std::uint32_t held = holders_[slot].fetch_sub(1, std::memory_order_acq_rel);
  assert(held > 0);
  if (held == 1) slots_[slot] = {};
}

void Step::ring(Lane& lane) noexcept {
  lane.bell.fetch_add(1);
  lane.bell.notify_one();
}

void Step::post(Lane& lane, std::uint32_t entry, const Parcel& parcel) noexcept {
  Notice& notice = lane.inbox[lane.written.fetch_add(1, std::memory_order_relaxed)];
  notice.entry = entry;
  notice.parcel = parcel;
  notice.step.store(number_, std::memory_order_release);
}

const Step::Notice* Step::next(const Lane& lane) const noexcept {
  const Notice& notice = lane.inbox[lane.read];
  return notice.step.load(std::memory_order_acquire) == number_ ? &notice : nullptr;
}

void Step::arrive(std::uint32_t message, const Parcel& parcel) noexcept {
  Lane& lane = lanes_[static_cast<std::size_t>(plan_->messages[message].dst)];
  post(lane, message + 1, parcel);
  ring(lane);
}

void Step::give_back(std::uint32_t message) noexcept {
  post(lanes_[static_cast<std::size_t>(plan_->messages[message].src)], (message + 1) | kReceived);
}

struct Executor::Impl final : public CopySink {
  Impl(DeviceRuntime& runtime, const Cluster& cluster);
  ~Impl();

  void run(Step& step, const StepInputs& inputs);

  void copied(std::uint32_t message, Value copy) noexcept override;
  void copy_failed(std::uint32_t message, std::exception_ptr error) noexcept override;

 private:
  using Entry = TransferQueue::Entry;

  void end_workers() noexcept;
  void work(DeviceId device);
  void run_device(DeviceId device);
  void run_ops(DeviceId device, Step::Lane& lane);
  void wait_for_message(Step::Lane& lane);
  bool take_messages(DeviceId device, Step::Lane& lane);
  void receive(DeviceId device, std::uint32_t message, const Parcel& parcel);
  void make_ready(Step::Lane& lane, std::uint32_t op);
  void execute(DeviceId device, Step::Lane& lane, std::uint32_t op);
  std::size_t take_overwritten(std::uint32_t op, std::span<Value> inputs);
  void call(DeviceId device, std::uint32_t op, std::span<const Value> inputs,
            std::span<Value> outputs);
  void end_op(Step::Lane& lane, std::uint32_t op);
  void send(std::uint32_t op);
  void send_directly(std::uint32_t message);
  void begin_copies(const std::vector<Entry>& entries) noexcept;
  void end_copy(std::uint32_t message) noexcept;
  [[nodiscard]] std::exception_ptr transfer_error(std::uint32_t message,
                                                  const std::exception_ptr& error) const;
  [[nodiscard]] Error op_error(DeviceId device, std::uint32_t op, std::span<const Value> inputs,
                               ErrorCode code, const std::string& what) const;
  void fail(std::exception_ptr error) noexcept;
  void wait_for_workers();
  void take_copy_times();
  [[nodiscard]] bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

  DeviceRuntime& runtime_;
  const Cluster& cluster_;
  const bool direct_;  ///< DeviceRuntime::reads_others
  TransferQueue transfers_;
  std::vector<std::thread> workers_;

  // Set by `run` before a step, read by all until it ends.
  Step* step_ = nullptr;
  const StepInputs* inputs_ = nullptr;
  std::vector<OwnContext> contexts_;  // by device

  alignas(64) std::atomic<std::uint32_t> generation_ = 0;  // steps begun; workers sleep on it
  std::atomic<bool> quit_ = false;
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;  // workers that are in this step
  alignas(64) std::atomic<bool> stop_ = false;
  std::atomic<std::uint32_t> callbacks_ = 0;  // copied and copy_failed, under way

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t finished_ = 0;
  std::exception_ptr error_;
};

Executor::Impl::Impl(DeviceRuntime& runtime, const Cluster& cluster)
    : runtime_(runtime), cluster_(cluster), direct_(runtime.reads_others()), transfers_(cluster) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    contexts_.emplace_back();
    contexts_.back().device = runtime.torch_device(d);
    contexts_.back().should_stop = [this] { return stopped(); };
  }
  try {
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      workers_.push_back(begin_thread([this, d] { work(d); }));
    }
  } catch (...) {
    end_workers();
    throw;
  }
}

Executor::Impl::~Impl() {
  end_workers();
}

void Executor::Impl::end_workers() noexcept {
  quit_ = true;
  ++generation_;
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Executor::Impl::run(Step& step, const StepInputs& inputs) {
  step.prepare(inputs);
  transfers_.reset();
  for (std::size_t d = 0; d < contexts_.size(); ++d) {
    contexts_[d].state = &inputs.states[d];
    MemoryMeter& meter = runtime_.meter(static_cast<DeviceId>(d));
    meter.reset_peak();
    step.resident_bytes_[d] = meter.held_bytes();
  }
  step_ = &step;
  inputs_ = &inputs;
  stop_ = false;
  arrived_ = 0;
  finished_ = 0;
  error_ = nullptr;
  ++generation_;
  generation_.notify_all();
  wait_for_workers();
  // A worker ends when its ops are done, which is after everything it receives. Only the ends of
  // callbacks, and after a failure running copies, may be left.
  while (!transfers_.idle() || callbacks_ != 0) std::this_thread::yield();
  for (std::size_t d = 0; d < contexts_.size(); ++d) {
    step.peak_bytes_[d] = runtime_.meter(static_cast<DeviceId>(d)).peak_bytes();
  }
  if (error_ != nullptr || !inputs.keep_outputs) step.clear();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  take_copy_times();
}

void Executor::Impl::take_copy_times() {
  const auto& messages = step_->plan().messages;
  for (std::uint32_t m = 0; m < messages.size(); ++m) {
    if (direct_) {
      // Senders left it to this place: the times are the receiver's, in caches of its own.
      MessageTimes& times = step_->message_times_[m];
      times.queued_us = step_->op_times_[messages[m].producer].end_us;
      if (messages[m].tensor == kNoTensor) times.start_us = times.end_us = times.queued_us;
    }
    if (messages[m].tensor == kNoTensor) continue;
    const std::optional<OpTimes> ran = runtime_.copy_times(m);
    if (!ran) continue;
    MessageTimes& times = step_->message_times_[m];
    times.start_us = std::max(times.queued_us, ran->start_us);
    times.end_us = std::max(times.start_us, ran->end_us);
  }
}

void Executor::Impl::wait_for_workers() {
  std::unique_lock lock(mutex_);
  const auto all_finished = [this] { return finished_ == workers_.size(); };
  while (!changed_.wait_for(lock, kPoll, all_finished)) {
    if (!inputs_->should_stop || stopped()) continue;
    lock.unlock();
    try {
      if (inputs_->should_stop()) {
        throw Error(ErrorCode::cancelled, "the step was stopped on request");
      }
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
  }
}

void Executor::Impl::fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  stop_ = true;
  transfers_.stop();
  for (Step::Lane& lane : step_->lanes_) step_->ring(lane);
}

void Executor::Impl::work(DeviceId device) {
  runtime_.enter(device);
  const Computing computing;
  for (std::uint32_t seen = 0;;) {
    if (!spin([&] { return generation_.load(std::memory_order_acquire) != seen; })) {
      generation_.wait(seen, std::memory_order_acquire);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (quit_) return;
    run_device(device);
    const std::lock_guard lock(mutex_);
    if (++finished_ == workers_.size()) changed_.notify_one();
  }
}

void Executor::Impl::run_device(DeviceId device) {
  Step::Lane& lane = step_->lanes_[static_cast<std::size_t>(device)];
  // All workers start together, so that the time to wake threads is not part of the step.
  ++arrived_;
  const auto all_here = [this] { return arrived_.load() == workers_.size(); };
  while (!spin(all_here)) std::this_thread::yield();
  const auto succeeds = [&](const auto& action) {
    try {
      action();
      return true;
    } catch (const std::exception& error) {
      fail(std::make_exception_ptr(
          Error(ErrorCode::execution,
                "device " + cluster_.device(device).name + " failed: " + said_by(error))));
      return false;
    }
  };
  if (succeeds([&] { runtime_.begin_step(device); })) {
    try {
      run_ops(device, lane);
    } catch (...) {
      fail(std::current_exception());
    }
  }
  succeeds([&] { runtime_.end_step(device, lane.times); });
  for (std::size_t i = 0; i < lane.times.size(); ++i) {
    step_->op_times_[lane.order[i]] = lane.times[i];
  }
}

void Executor::Impl::run_ops(DeviceId device, Step::Lane& lane) {
  const Plan& plan = step_->plan();
  const auto d = static_cast<std::size_t>(device);
  const std::uint32_t ops = plan.first_op[d + 1] - plan.first_op[d];
  for (std::uint32_t i = plan.first_op[d]; i < plan.first_op[d + 1]; ++i) {
    if (plan.pending[i] == 0) make_ready(lane, i);
  }
  while (lane.done < ops) {
    take_messages(device, lane);
    if (stopped()) return;
    if (lane.ready.empty()) {
      wait_for_message(lane);
      continue;
    }
    const std::uint32_t op = lane.ready.front().op;
    std::pop_heap(lane.ready.begin(), lane.ready.end());
    lane.ready.pop_back();
    execute(device, lane, op);
    ++lane.done;
  }
}

void Executor::Impl::make_ready(Step::Lane& lane, std::uint32_t op) {
  lane.ready.push_back({step_->plan().priority_us[op], lane.sequence++, op});
  std::push_heap(lane.ready.begin(), lane.ready.end());
}

bool Executor::Impl::take_messages(DeviceId device, Step::Lane& lane) {
  const std::uint32_t first = lane.read;
  while (const Step::Notice* const notice = step_->next(lane)) {
    const std::uint32_t entry = notice->entry;
    ++lane.read;
    if ((entry & kReceived) != 0) {
      step_->drop_holder(step_->plan().messages[(entry & ~kReceived) - 1].src_slot);
      continue;
    }
    if (direct_ && step_->plan().messages[entry - 1].tensor != kNoTensor) {
      receive(device, entry - 1, notice->parcel);
    }
    for (const std::uint32_t op : step_->plan().released_on_arrival[entry - 1]) {
      assert(step_->pending_[op] > 0);
      if (--step_->pending_[op] == 0) make_ready(lane, op);
    }
  }
  return lane.read != first;
}

void Executor::Impl::receive(DeviceId device, std::uint32_t message, const Parcel& parcel) {
  const Plan::Message& sent = step_->plan().messages[message];
  Value& slot = step_->slots_[sent.dst_slot];
  MessageTimes& times = step_->message_times_[message];
  times.start_us = now_us();
  try {
    if (parcel.kind != Parcel::Kind::none) {
      const MeterScope scope(&runtime_.meter(device));
      slot = parcel.open();
    } else {
      slot = runtime_.receive(device, step_->slots_[sent.src_slot]);
    }
  } catch (...) {
    std::rethrow_exception(transfer_error(message, std::current_exception()));
  }
  times.end_us = now_us();
  times.bytes = value_bytes(slot);
  // The sender frees what it allocated: two threads at one pool would wait for each other's caches.
  if (parcel.kind != Parcel::Kind::values) step_->give_back(message);
}

void Executor::Impl::wait_for_message(Step::Lane& lane) {
  const auto there = [&] { return step_->next(lane) != nullptr || stopped(); };
  if (spin(there, runtime_.patience_us())) return;
  const std::uint32_t heard = lane.bell.load();
  if (!there()) lane.bell.wait(heard);
}

void Executor::Impl::execute(DeviceId device, Step::Lane& lane, std::uint32_t op) {
  const Plan& plan = step_->plan();
  const auto sources = plan.inputs[op];
  const std::uint32_t first_source = plan.inputs.begin()[op];
  const std::span<Value> inputs(lane.inputs.data(), sources.size());
  const std::span<Value> outputs(lane.outputs.data(), plan.outputs[op].size());
  MemoryMeter& meter = runtime_.meter(device);
  meter.reset_op_peak();

  assert(step_->executed_[op] == kNoDevice && step_->pending_[op] == 0);
  lane.order.push_back(op);
  OpTimes& times = lane.times.emplace_back();
  times.start_us = now_us();
  const std::size_t overwritten = take_overwritten(op, inputs);
  const std::int64_t held_before = meter.held_bytes();
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (k == overwritten) continue;
    if (sources[k].slot != kNone) {
      inputs[k] = step_->slots_[sources[k].slot];
    } else if (const Value* const parameter = step_->parameters_[first_source + k]) {
      inputs[k] = *parameter;
    }
  }
  contexts_[static_cast<std::size_t>(device)].overwritten = overwritten;
  call(device, op, inputs, outputs);
  times.end_us = now_us();

  step_->executed_[op] = device;
  step_->held_bytes_[op] = meter.held_bytes();
  step_->op_peak_bytes_[op] = meter.op_peak_bytes();
  // An op that writes over an input has no output beside it: one that it makes nevertheless is workspace.
  const std::int64_t held = overwritten == kNoInput ? step_->held_bytes_[op] : held_before;
  step_->workspace_bytes_[op] = std::max<std::int64_t>(0, step_->op_peak_bytes_[op] - held);
  for (Value& input : inputs) input = {};
  const auto slots = plan.outputs[op];
  for (std::size_t k = 0; k < slots.size(); ++k) {
    Value made = std::exchange(outputs[k], {});
    if (slots[k] == kNone || step_->holders_[slots[k]].load(std::memory_order_relaxed) == 0) {
      continue;
    }
    step_->slots_[slots[k]] = std::move(made);
  }
  end_op(lane, op);
}

/// The value of the input that the op writes over, from its slot, where the op alone has it. Its position, or
/// kNoInput.
std::size_t Executor::Impl::take_overwritten(std::uint32_t op, std::span<Value> inputs) {
  const std::uint32_t k = step_->plan().overwritten[op];
  if (k == kNone) return kNoInput;
  const std::uint32_t slot = step_->plan().inputs[op][k].slot;
  if (step_->holders_[slot].load(std::memory_order_acquire) != 1) return kNoInput;
  inputs[k] = std::move(step_->slots_[slot]);
  return k;
}

void Executor::Impl::call(DeviceId device, std::uint32_t op, std::span<const Value> inputs,
                          std::span<Value> outputs) {
  const auto id = static_cast<std::size_t>(step_->plan().op[op]);
  KernelContext& context = contexts_[static_cast<std::size_t>(device)];
  context.seed = mixed_seed(inputs_->seed, id);
  try {
    runtime_.run(device, inputs_->kernels[id], context, inputs, outputs);
  } catch (const Error& error) {
    const bool kept = error.code() == ErrorCode::out_of_memory ||
                      error.code() == ErrorCode::cancelled ||
                      error.code() == ErrorCode::unsupported;
    throw op_error(device, op, inputs, kept ? error.code() : ErrorCode::execution, error.what());
  } catch (const std::bad_alloc& error) {
    throw op_error(device, op, inputs, ErrorCode::out_of_memory, said_by(error));
  } catch (const std::exception& error) {
    throw op_error(device, op, inputs, ErrorCode::execution, said_by(error));
  }
}

Error Executor::Impl::op_error(DeviceId device, std::uint32_t op, std::span<const Value> inputs,
                               ErrorCode code, const std::string& what) const {
  const Graph& graph = *inputs_->program.graph;
  const OpId id = step_->plan().op[op];
  return {code, "op '" + graph.op_name(id) + "' (" + graph.op_type(id) + ") failed on device " +
                    cluster_.device(device).name + " with inputs " + describe(inputs) + ": " +
                    what};
}

void Executor::Impl::send_directly(std::uint32_t message) {
  const std::uint32_t slot = step_->plan().messages[message].src_slot;
  const Parcel parcel = slot == kNone ? Parcel() : Parcel(step_->slots_[slot]);
  step_->arrive(message, parcel);
  if (parcel.kind == Parcel::Kind::values) step_->drop_holder(slot);
}

void Executor::Impl::send(std::uint32_t op) {
  const Plan& plan = step_->plan();
  if (direct_) {
    for (const std::uint32_t m : plan.sent[op]) send_directly(m);
    return;
  }
  std::vector<Entry> entries;
  const double queued_us = now_us();
  for (const std::uint32_t m : plan.sent[op]) {
    const Plan::Message& message = plan.messages[m];
    step_->message_times_[m] = {queued_us, queued_us, queued_us, 0};
    const bool is_signal = message.tensor == kNoTensor;
    if (is_signal && !runtime_.is_asynchronous(message.src)) {
      step_->arrive(m);
    } else {
      entries.push_back({m, message.src, message.dst});
    }
  }
  if (entries.empty()) return;
  std::vector<Entry> started;
  transfers_.enqueue(entries, started);
  begin_copies(started);
}

void Executor::Impl::end_op(Step::Lane& lane, std::uint32_t op) {
  const Plan& plan = step_->plan();
  if (!plan.sent[op].empty()) send(op);
  for (const std::uint32_t consumer : plan.released[op]) {
    assert(step_->pending_[consumer] > 0);
    if (--step_->pending_[consumer] == 0) make_ready(lane, consumer);
  }
  for (const std::uint32_t slot : plan.held[op]) step_->drop_holder(slot);
}

void Executor::Impl::begin_copies(const std::vector<Entry>& entries) noexcept {
  for (const Entry& entry : entries) {
    step_->message_times_[entry.message].start_us = now_us();
    static const Value signal;
    const std::uint32_t slot = step_->plan().messages[entry.message].src_slot;
    const Value* const source = slot == kNone ? &signal : &step_->slots_[slot];
    try {
      runtime_.copy({entry.message, entry.src, entry.dst, source}, *this);
    } catch (...) {
      copy_failed(entry.message, std::current_exception());
    }
  }
}

void Executor::Impl::copied(std::uint32_t message, Value copy) noexcept {
  ++callbacks_;
  const Plan::Message& sent = step_->plan().messages[message];
  MessageTimes& times = step_->message_times_[message];
  times.end_us = now_us();
  times.bytes = value_bytes(copy);
  if (sent.tensor != kNoTensor) {
    step_->slots_[sent.dst_slot] = std::move(copy);
    step_->drop_holder(sent.src_slot);
  }
  step_->arrive(message);
  end_copy(message);
  --callbacks_;
}

void Executor::Impl::copy_failed(std::uint32_t message, std::exception_ptr error) noexcept {
  ++callbacks_;
  fail(transfer_error(message, error));
  end_copy(message);
  --callbacks_;
}

std::exception_ptr Executor::Impl::transfer_error(std::uint32_t message,
                                                  const std::exception_ptr& error) const {
  const Plan::Message& sent = step_->plan().messages[message];
  const Graph& graph = *inputs_->program.graph;
  const OpId producer = step_->plan().op[sent.producer];
  const std::string transfer = "the output of op '" + graph.op_name(producer) + "' (" +
                               graph.op_type(producer) + ") could not be sent from " +
                               cluster_.device(sent.src).name + " to " +
                               cluster_.device(sent.dst).name + ": ";
  try {
    std::rethrow_exception(error);
  } catch (const Error& cause) {
    const bool full = cause.code() == ErrorCode::out_of_memory;
    return std::make_exception_ptr(
        Error(full ? cause.code() : ErrorCode::execution, transfer + cause.what()));
  } catch (const std::exception& cause) {
    return std::make_exception_ptr(Error(ErrorCode::execution, transfer + said_by(cause)));
  } catch (...) {
    return error;
  }
}

void Executor::Impl::end_copy(std::uint32_t message) noexcept {
  const Plan::Message& sent = step_->plan().messages[message];
  std::vector<Entry> started;
  transfers_.finish({message, sent.src, sent.dst}, started);
  begin_copies(started);
}

Executor::Executor(DeviceRuntime& runtime, const Cluster& cluster)
    : impl_(std::make_unique<Impl>(runtime, cluster)) {}
Executor::~Executor() = default;

void Executor::run(Step& step, const StepInputs& inputs) {
  impl_->run(step, inputs);
}

}  // namespace berth::runtime
