// Shared by all functions of berth/c.h: objects, texts, options by size, and no exceptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/support/text.h"
#include "support/c_values.h"

namespace berth::c {

/// An object behind a handle. Its address is that of the handle.
class Object {
 public:
  enum class Kind : std::uint32_t { engine = 1, builder, graph, cluster, problem, result };

  explicit Object(Kind kind);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// Throws Error(invalid_argument) for null, another kind, and, in builds that look after it, for
  /// what was released. `what` names it.
  static void check(const void* handle, Kind kind, const char* what);
  static void release(void* handle);

 private:
  Kind kind_;
};

/// The object behind a handle.
template <typename T>
T& get(T* handle) {
  Object::check(handle, std::remove_const_t<T>::kKind, std::remove_const_t<T>::kName);
  return *handle;
}

/// Valid until the thread's next call.
[[nodiscard]] berth_text give(std::string text);
/// A text that outlives the caller.
[[nodiscard]] inline berth_text borrow(std::string_view text) {
  return {text.data(), text.size()};
}

/// take_struct the other way round: fills in what the caller's version has room for.
void give_options(const void* known, std::size_t known_size, void* out, std::size_t first_size,
                  const char* what);

/// A callback of the caller's has failed.
struct CallbackFailed {
  std::string message;
};

/// Sets the message of this thread.
berth_status failed(berth_status status, std::string_view message) noexcept;
/// The status of the exception that is being handled.
berth_status failed_with_current() noexcept;

/// Runs the body of a function; what it throws becomes its status.
template <typename Body>
berth_status guarded(const Body& body) noexcept {
  try {
    body();
    return BERTH_OK;
  } catch (...) {
    return failed_with_current();
  }
}

}  // namespace berth::c
