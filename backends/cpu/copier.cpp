#include "cpu/copier.h"

#include <c10/core/InferenceMode.h>
#include <sys/prctl.h>
#include <time.h>

#include <cmath>
#include <exception>
#include <utility>

#include "runtime/values.h"

namespace berth::cpu {
namespace {

/// Sleeps until the executor's clock shows `until_us`: spinning would take a core from the devices.
void sleep_until(double until_us) {
  const double left_us = until_us - runtime::now_us();
  if (left_us <= 0) return;
  const auto left_ns = static_cast<std::int64_t>(left_us * 1e3);
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec left{static_cast<time_t>(left_ns / kSecond), static_cast<long>(left_ns % kSecond)};
  while (nanosleep(&left, &left) != 0) {
  }
}

}  // namespace

Copier::Copier(const EmulatedLink& link) : link_(link), thread_([this] { work(); }) {}

Copier::~Copier() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Copier::copy(const runtime::CopyRequest& request, runtime::MemoryMeter& receiver,
                  runtime::CopySink& sink) {
  {
    const std::lock_guard lock(mutex_);
    job_ = Job{request, &receiver, &sink, runtime::now_us()};
  }
  changed_.notify_one();
}

void Copier::work() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // sleeps end on time
  const c10::InferenceMode no_gradients;
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return quit_ || job_; });
      if (!job_) return;
      job = *std::exchange(job_, std::nullopt);
    }
    run(job);
  }
}

void Copier::run(const Job& job) const {
  runtime::Value copy;
  try {
    const runtime::MeterScope scope(job.receiver);
    copy = runtime::deep_copy(*job.request.source);
  } catch (...) {
    job.sink->copy_failed(job.request.number, std::current_exception());
    return;
  }
  if (link_.bandwidth_bytes_per_s > 0) {
    const auto bytes = static_cast<double>(runtime::value_bytes(copy));
    sleep_until(job.begun_us + link_.latency_us + bytes / link_.bandwidth_bytes_per_s * 1e6);
  } else {
    sleep_until(job.begun_us + link_.latency_us);
  }
  job.sink->copied(job.request.number, std::move(copy));
}

}  // namespace berth::cpu
