// State of a thread that computes with LibTorch, and what its errors say.
#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <exception>
#include <new>
#include <string>

namespace berth::runtime {

#if TORCH_VERSION_MAJOR >= 2
namespace warnings = c10::WarningUtils;
#else
namespace warnings = c10::Warning;
#endif

/// The text of an error, without the addresses that LibTorch adds to its own.
[[nodiscard]] inline std::string said_by(const std::exception& error) {
  if (const auto* const of_torch = dynamic_cast<const c10::Error*>(&error)) {
    return of_torch->what_without_backtrace();
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "the machine has no room for what it computes; close other programs or run a smaller "
           "model";
  }
  return error.what();
}

/// For as long as it lives, on its thread: no gradients, and LibTorch prints no warnings, such as of an
/// operation that is in beta: who runs a model can do nothing about them.
class Computing {
 private:
  struct Silence final : c10::WarningHandler {
#if TORCH_VERSION_MAJOR >= 2
    void process(const c10::Warning& /*warning*/) override {}
#else
    void process(const c10::SourceLocation& /*where*/, const std::string& /*text*/,
                 const bool /*verbatim*/) override {}
#endif
  };

  c10::InferenceMode no_gradients_;
  Silence silence_;
  warnings::WarningHandlerGuard guard_{&silence_};
};

}  // namespace berth::runtime
