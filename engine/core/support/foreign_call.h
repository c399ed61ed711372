// Calls into plugins, whose exceptions are theirs and not the engine's.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

/// Returns what `call` does. All that it throws beside Error and std::bad_alloc becomes
/// Error(invalid_argument), which begins with `whom`, such as "policy 'heft'".
template <typename Call>
auto call_plugin(const std::string& whom, Call call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                cat(whom, " failed with an error of its own: ", error.what()));
  } catch (...) {
    throw Error(ErrorCode::invalid_argument,
                cat(whom, " failed with an unknown exception; fix the plugin"));
  }
}

}  // namespace berth
