// The part of oneTBB that Berth uses, over plain threads, for ThreadSanitizer.
//
// Debian's libtbb is not built with it: how tasks are handed over is not seen, and everything that
// goes from one thread to another by it is called a race. Here every call starts threads and joins
// them, which is seen; and there are always several, so that races show on a machine of one core too.
#pragma once

#include <algorithm>
#include <thread>
#include <utility>

namespace tbb {

namespace info {
inline int default_concurrency() {
  constexpr int kLeast = 4;
  return std::max(kLeast, static_cast<int>(std::thread::hardware_concurrency()));
}
}  // namespace info

namespace stand_in {

/// Where the calling thread is.
struct Place {
  int threads = info::default_concurrency();  ///< that a loop may use
  std::thread::id caller = std::this_thread::get_id();
  int number = 0;  ///< of the thread, of those that work for the caller
};
inline thread_local Place place;

/// Sets the place for a scope.
class Within {
 public:
  explicit Within(const Place& inner) : outer_(std::exchange(place, inner)) {}
  ~Within() { place = outer_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  Place outer_;
};

}  // namespace stand_in

class task_arena {
 public:
  static constexpr int automatic = -1;
  explicit task_arena(int threads = automatic)
      : threads_(threads == automatic ? info::default_concurrency() : threads) {}

  template <typename Body>
  decltype(auto) execute(Body&& body) {
    const stand_in::Within within({threads_, stand_in::place.caller, stand_in::place.number});
    return std::forward<Body>(body)();
  }

 private:
  int threads_;
};

}  // namespace tbb
