// No exception leaves a function of the C interface.
#pragma once

#include <c10/util/Exception.h>

#include <stdexcept>
#include <string>

#include "common/guarded.h"

namespace berth::torch_module {

/// The text of berth_torch_error, of this thread.
[[nodiscard]] std::string& last_error();

/// Runs the body; 0, or 1 with the reason in last_error().
template <typename Body>
int guarded(const Body& body) noexcept {
  const bool fine = berth::guarded(last_error(), [&] {
    try {
      body();
    } catch (const c10::Error& error) {
      throw std::runtime_error(error.what_without_backtrace());
    }
  });
  return fine ? 0 : 1;
}

}  // namespace berth::torch_module
