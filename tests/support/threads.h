// The threads that this process begins, counted where they are begun, and refused at will. To be included by one source
// of a program: it takes the place of the C library's pthread_create, for all that is loaded too.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <memory>

namespace berth::test {

/// How many threads have begun and not ended yet, beside the first one. What /proc lists is no
/// measure of it: a thread is there until the system has put it away, on a busy machine long
/// after it was joined, and a list that is read meanwhile lacks others.
inline std::atomic<int> begun_threads{0};

/// How many threads may still begin; beyond them the system seems to have no more.
inline std::atomic<int> threads_left{std::numeric_limits<int>::max()};

struct Beginning {
  void* (*function)(void*);
  void* argument;
};

inline void* run_counted(void* beginning) {
  const Beginning begin = *std::unique_ptr<Beginning>(static_cast<Beginning*>(beginning));
  void* result = nullptr;
  // A thread may also end without returning.
  pthread_cleanup_push([](void*) { --begun_threads; }, nullptr);
  result = begin.function(begin.argument);
  pthread_cleanup_pop(1);
  return result;
}

}  // namespace berth::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using namespace berth::test;
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left <= 0) return EAGAIN;
  --threads_left;
  auto begin = std::make_unique<Beginning>(Beginning{function, argument});
  ++begun_threads;
  const int error = create(thread, attributes, run_counted, begin.get());
  if (error == 0) {
    static_cast<void>(begin.release());
  } else {
    --begun_threads;
  }
  return error;
}
