#include "cpu/copier.h"

#include <c10/core/InferenceMode.h>
#include <sys/prctl.h>
#include <time.h>

#include <cmath>
#include <exception>
#include <sstream>
#include <utility>

#include "berth/error.h"
#include "runtime/thread.h"
#include "runtime/values.h"

namespace berth::cpu {
namespace {

/// A copy cannot be interrupted: a link that would hold one up for ever must not end in one.
constexpr double kLongest_us = 10e6;

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

Copier::Copier(const EmulatedLink& link)
    : link_(link), thread_(runtime::begin_thread([this] { work(); })) {}

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
  const auto bytes = static_cast<double>(runtime::value_bytes(copy));
  double lasts_us = link_.latency_us;
  if (link_.bandwidth_bytes_per_s > 0) lasts_us += bytes / link_.bandwidth_bytes_per_s * 1e6;
  if (lasts_us > kLongest_us) {
    std::ostringstream text;
    text << "backend 'cpu': a copy of " << bytes << " bytes over its emulated links takes "
         << lasts_us / 1e6 << " s, and none longer than " << kLongest_us / 1e6
         << " s is waited for; give it a smaller latency_us or a larger bandwidth_bytes_per_s";
    job.sink->copy_failed(job.request.number,
                          std::make_exception_ptr(Error(ErrorCode::invalid_argument, text.str())));
    return;
  }
  sleep_until(job.begun_us + lasts_us);
  job.sink->copied(job.request.number, std::move(copy));
}

}  // namespace berth::cpu
