// Where tests find their data.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace berth::test {

/// A file of the project.
inline std::filesystem::path source_path(const std::string& relative) {
  return std::filesystem::path(BERTH_SOURCE_DIR) / relative;
}

/// The shared fixtures beside the checkout. Says so on the test's output where they are absent;
/// the caller then returns, so that the suite passes without them.
inline bool have_shared_data(const std::string& what) {
  if (std::filesystem::exists(BERTH_TEST_DATA_DIR)) return true;
  MESSAGE("skipped: ", what, " needs the fixtures in ", BERTH_TEST_DATA_DIR,
          ", which is not there");
  return false;
}

inline std::filesystem::path shared_path(const std::string& relative) {
  return std::filesystem::path(BERTH_TEST_DATA_DIR) / relative;
}

}  // namespace berth::test
