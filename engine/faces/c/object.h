// Shared by all functions of berth/c.h: objects, texts, options by size, and no exceptions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/support/text.h"
#include "support/c_values.h"

namespace berth::c {

/// An object behind a handle. Its address is that of the handle.
class Object {
 public:
  enum class Kind : std::uint32_t {
    engine = 1,
    builder,
    graph,
    cluster,
    problem,
    result,
    evaluator,
    environment
  };

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
/// With spaces for line breaks: of a list by lines, each text is one.
[[nodiscard]] std::string one_line(std::string text);
/// A text that outlives the caller.
[[nodiscard]] inline berth_text borrow(std::string_view text) {
  return {text.data(), text.size()};
}

/// take_struct the other way round: fills in what the caller's version has room for.
void give_options(const void* known, std::size_t known_size, void* out, std::size_t first_size,
                  const char* what);

/// Rows of an object's own numbers.
struct Array {
  const void* data;
  const char* dtype;
  std::array<std::int64_t, 3> shape;  ///< 1 behind the rank
  std::int32_t rank;
};
template <typename T>
constexpr const char* dtype_of() {
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "i32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "i64";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "u8";
}
/// `values` must outlive the array: an object's, or static. `shape` is all dimensions, since without rows nothing says
/// how long one would be; empty = one dimension.
template <typename T>
Array rows(std::span<const T> values, std::initializer_list<std::int64_t> shape = {}) {
  Array array{values.data(), dtype_of<T>(), {static_cast<std::int64_t>(values.size()), 1, 1}, 1};
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  if (shape.size() > 0) array.rank = static_cast<std::int32_t>(shape.size());
  return array;
}
template <typename T>
Array rows(const std::vector<T>& values, std::initializer_list<std::int64_t> shape = {}) {
  return rows(std::span<const T>(values), shape);
}
/// The array of that name. Throws Error(invalid_argument) that lists all names.
using NamedArrays = std::initializer_list<std::pair<std::string_view, Array>>;
void give_array(NamedArrays all, berth_text name, berth_array* out);

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
