// Checks on errors: the code, and that the message says what a user needs.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "berth/error.h"

namespace berth::test {

/// Runs `action`, expects an Error with `code` whose message has every one of `parts`.
template <typename Action>
void expect_error(ErrorCode code, std::initializer_list<std::string_view> parts,
                  const Action& action) {
  try {
    action();
    FAIL_CHECK("expected an error");
  } catch (const Error& error) {
    CHECK(static_cast<int>(error.code()) == static_cast<int>(code));
    const std::string message = error.what();
    for (const std::string_view part : parts) {
      CHECK_MESSAGE(message.find(part) != std::string::npos, "the message '", message, "' lacks '",
                    std::string(part), "'");
    }
  }
}

}  // namespace berth::test
