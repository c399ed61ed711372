// Threads of a session.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::runtime {

/// Throws Error(io) where the system starts no more.
template <typename Work>
[[nodiscard]] std::thread begin_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io,
                cat("the system starts no more threads for devices (", error.what(),
                    "); use fewer devices, or raise the limit on threads or memory"));
  }
}

}  // namespace berth::runtime
