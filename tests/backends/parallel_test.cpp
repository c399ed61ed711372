// Loops on all threads of a device.
#include "runtime/parallel.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

TEST_CASE("each part is worked on once, on several threads where there are some") {
  constexpr std::int64_t kCount = 1000;
  std::vector<std::atomic<int>> visits(kCount);
  std::set<std::thread::id> threads;
  std::mutex mutex;
  in_parallel(0, kCount, 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  for (const auto& count : visits) CHECK(count.load() == 1);
  CHECK((threads.size() > 1) == (at::get_num_threads() > 1));
  threads.clear();
  in_parallel(0, 5, 10,
              [&](std::int64_t, std::int64_t) { threads.insert(std::this_thread::get_id()); });
  CHECK(threads.size() == 1);
}

TEST_CASE("what the work throws is thrown on") {
  CHECK_THROWS_AS(
      in_parallel(0, 100, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("no"); }),
      std::runtime_error);
}

}  // namespace
}  // namespace berth::runtime
