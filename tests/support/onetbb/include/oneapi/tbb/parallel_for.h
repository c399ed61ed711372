// See task_arena.h.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>

namespace tbb {

/// A loop within the body of another one runs on the thread that meets it.
template <typename Index, typename Body>
void parallel_for(Index first, Index last, const Body& body) {
  if (!(first < last)) return;
  const stand_in::Place outer = stand_in::place;
  const auto count = static_cast<std::size_t>(last - first);
  const auto threads = std::min(count, static_cast<std::size_t>(outer.threads));
  // Relaxed: that two bodies take turns here puts neither before the other.
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(threads);
  const auto work = [&](std::size_t number) {
    const stand_in::Within within(
        {1, outer.caller, number == 0 ? outer.number : static_cast<int>(number)});
    try {
      for (;;) {
        const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= count) return;
        body(static_cast<Index>(first + static_cast<Index>(i)));
      }
    } catch (...) {
      errors[number] = std::current_exception();
      next.store(count, std::memory_order_relaxed);
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work, i);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace tbb
