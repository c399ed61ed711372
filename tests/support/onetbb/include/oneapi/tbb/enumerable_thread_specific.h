// See task_arena.h.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace tbb {

/// Threads that are started for the same caller one after another share a value, as those of a pool do.
template <typename T>
class enumerable_thread_specific {
 public:
  T& local() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<T>& value = values_[{stand_in::place.caller, stand_in::place.number}];
    if (value == nullptr) value = std::make_unique<T>();
    return *value;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::thread::id, int>, std::unique_ptr<T>> values_;
};

}  // namespace tbb
