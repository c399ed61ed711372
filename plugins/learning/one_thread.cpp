#include "one_thread.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <mutex>

// Absent with another BLAS.
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

namespace berth::learning {
namespace {

std::mutex lock;
int living = 0;
int blas_before = 0;

}  // namespace

OneThread::OneThread() {
  static_cast<void>(
      at::get_num_threads());  // ATen sets OpenMP's number at its first use in a thread
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard guard(lock);
  if (living++ > 0) return;
  blas_before = openblas_get_num_threads();
  openblas_set_num_threads(1);
}

OneThread::~OneThread() {
  omp_set_num_threads(before_);
  if (openblas_set_num_threads == nullptr || openblas_get_num_threads == nullptr) return;
  const std::lock_guard guard(lock);
  if (--living == 0) openblas_set_num_threads(blas_before);
}

}  // namespace berth::learning
