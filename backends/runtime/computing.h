// State of a thread that computes with LibTorch.
#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <string>

namespace berth::runtime {

#if TORCH_VERSION_MAJOR >= 2
namespace warnings = c10::WarningUtils;
#else
namespace warnings = c10::Warning;
#endif

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
