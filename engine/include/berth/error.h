/// @file
/// The engine's exception.
#pragma once

#include <stdexcept>
#include <string>

#include "berth/export.h"

namespace berth {

/// The kind of a failure, for callers that react to it. The message is for people.
enum class ErrorCode {
  invalid_argument,  ///< a value out of range, an unknown name or option
  invalid_graph,     ///< a cycle, duplicate names, dangling edges, bad sizes
  invalid_file,      ///< the content of a file breaks the rules of its format
  not_found,         ///< a file, plugin or preset does not exist
  io,                ///< the operating system refused a read or a write
  unsupported,       ///< the request is understood, but this part cannot do it
  incompatible,      ///< a plugin was built for another ABI or version
  infeasible,        ///< no placement satisfies memory, device kinds and constraints
  cancelled,         ///< stopped on request before there was a result to return
  out_of_memory,     ///< a device cannot hold what it was asked to execute
  execution,         ///< an op failed on a device
};

/// The only exception that the engine throws, apart from `std::bad_alloc`. The message says what
/// happened, where, and how to fix it.
class BERTH_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ~Error() override;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace berth
