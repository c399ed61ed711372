// Where tests find their data.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "support/paths.h"

namespace berth::test {

/// A file of the project.
inline std::filesystem::path source_path(const std::string& relative) {
  return source_folder() / relative;
}

/// The shared fixtures beside the checkout. Says so on the test's output where they are absent;
/// the caller then returns, so that the suite passes without them.
inline bool have_shared_data(const std::string& what) {
  if (std::filesystem::exists(shared_data_folder())) return true;
  MESSAGE("skipped: ", what, " needs the fixtures in ", shared_data_folder().string(),
          ", which is not there");
  return false;
}

inline std::filesystem::path shared_path(const std::string& relative) {
  return shared_data_folder() / relative;
}

}  // namespace berth::test
