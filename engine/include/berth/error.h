#pragma once

#include <stdexcept>
#include <string>

#include "berth/export.h"

namespace berth {

/// What went wrong, for a caller that reacts to it; the text is for a person.
enum class ErrorCode {
  invalid_argument,  ///< a value out of range, an unknown name or option
  invalid_graph,     ///< cyclic, duplicate names, dangling edges, bad sizes
  invalid_file,      ///< a file that does not hold what its format asks
  not_found,         ///< a file, plugin or preset that is not there
  io,                ///< the operating system refused a read or a write
  unsupported,       ///< understood, and not something this part can do
  incompatible,      ///< a plugin of another ABI or version
  infeasible,        ///< no placement satisfies memory, kinds and constraints
  cancelled,         ///< stopped on request before there was anything to return
  out_of_memory,     ///< a device cannot hold what it was to execute
  execution,         ///< an op failed on a device
};

/// The one exception of the engine. The message says what happened, where, and the fix.
/// The engine throws nothing else on user input; std::bad_alloc may pass through.
class BERTH_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ~Error() override;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace berth
