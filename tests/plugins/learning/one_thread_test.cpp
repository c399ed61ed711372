#include "learning/one_thread.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>
#include <omp.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

// Absent with another BLAS.
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

using berth::learning::OneThread;

namespace {

int blas_threads() {
  return openblas_get_num_threads == nullptr ? 0 : openblas_get_num_threads();
}

/// Threads that LibTorch takes for a sum that is worth many.
int taken() {
  std::atomic<int> tasks{0};
  at::parallel_for(0, 1 << 20, 1, [&](std::int64_t, std::int64_t) { ++tasks; });
  return tasks;
}

}  // namespace

TEST_CASE("one thread: for as long as it lives, nested too; then as many as before") {
  // Which sets OpenMP's number at its first use: LibTorch's own, and since 2.x this program's.
  static_cast<void>(at::get_num_threads());
  static_cast<void>(taken());
  const int omp_own = omp_get_max_threads();
  omp_set_num_threads(3);
  const int blas = blas_threads();
  {
    const OneThread outer;
    CHECK(omp_get_max_threads() == 1);
    CHECK(taken() == 1);
    CHECK(blas_threads() <= 1);
    { const OneThread inner; }
    CHECK(omp_get_max_threads() == 1);
    CHECK(blas_threads() <= 1);
  }
  CHECK(omp_get_max_threads() == 3);
  CHECK(taken() == 3);
  CHECK(blas_threads() == blas);
  omp_set_num_threads(omp_own);
}

TEST_CASE(
    "one thread: another thread keeps its own number, and OpenBLAS has its own back at the end") {
  const int blas = blas_threads();
  std::optional<OneThread> here(std::in_place);
  std::promise<void> entered, ended;
  std::thread other([&] {
    static_cast<void>(at::get_num_threads());
    omp_set_num_threads(2);
    {
      const OneThread there;
      entered.set_value();
      ended.get_future().wait();
      CHECK(omp_get_max_threads() == 1);
      CHECK(blas_threads() <= 1);
    }
    CHECK(omp_get_max_threads() == 2);
  });
  entered.get_future().wait();
  here.reset();
  CHECK(blas_threads() <= 1);
  ended.set_value();
  other.join();
  CHECK(blas_threads() == blas);
}
