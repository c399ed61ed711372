// No exception leaves a function of the C interface.
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace berth::torch_module {

/// The text of berth_torch_error, of this thread.
[[nodiscard]] std::string& last_error();

/// Runs the body; 0, or 1 with the reason in last_error().
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    try {
      body();
      return 0;
    } catch (const c10::Error& error) {
      last_error() = error.what_without_backtrace();
    } catch (const std::bad_alloc&) {
      last_error() = "out of memory";
    } catch (const std::exception& error) {
      last_error() = error.what();
    } catch (...) {
      last_error() = "failed for an unknown reason";
    }
  } catch (const std::bad_alloc&) {
    last_error().clear();  // no memory for the text
  }
  return 1;
}

}  // namespace berth::torch_module
