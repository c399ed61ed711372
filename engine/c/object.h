// What every function of berth/c.h needs: objects, texts, options by size, and no exceptions.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/settings.h"
#include "berth/support/text.h"

namespace berth::c {

/// What a caller holds. Its address is that of the handle.
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

/// Throws Error(invalid_argument) for null. `what` names the argument.
template <typename T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::invalid_argument, cat(what, " is null; give an address"));
  }
  return *pointer;
}
/// `count` entries; null only where there are none.
template <typename T>
std::span<T> array(T* entries, std::size_t count, const char* what) {
  if (count > 0) static_cast<void>(required(entries, what));
  return {entries, count};
}

/// Throws Error(invalid_argument) for a length without a pointer.
[[nodiscard]] std::string_view view(berth_text text);
[[nodiscard]] inline std::string string(berth_text text) {
  return std::string(view(text));
}
/// Valid until the thread's next call.
[[nodiscard]] berth_text give(std::string text);
/// Of what outlives the caller.
[[nodiscard]] inline berth_text borrow(std::string_view text) {
  return {text.data(), text.size()};
}

/// A struct of the caller's, whose version may be another: `known` with as much of it as both know.
/// `first_size` is its size in the first version. Throws Error for a size that no version had, and
/// for a later version that asks for what is not known here.
void take_options(const void* given, void* known, std::size_t known_size, std::size_t first_size,
                  const char* what);
template <typename T>
T take(const T* given, const T& defaults, const char* what) {
  T known = defaults;
  if (given != nullptr) take_options(given, &known, sizeof(T), sizeof(T), what);
  return known;
}
/// The other way round: fills in what the caller's version has room for.
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
