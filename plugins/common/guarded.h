// No exception leaves a function of a C interface.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace berth {

/// Runs the body. False where it threw, with the reason in `why`.
template <typename Body>
bool guarded(std::string& why, const Body& body) noexcept {
  try {
    try {
      body();
      return true;
    } catch (const std::bad_alloc&) {
      why = "out of memory";
    } catch (const std::exception& error) {
      why = error.what();
    } catch (...) {
      why = "failed for an unknown reason";
    }
  } catch (const std::bad_alloc&) {
    why.clear();  // no memory for the text
  }
  return false;
}

}  // namespace berth
