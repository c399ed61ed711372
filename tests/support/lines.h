// The lines of a text file.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace berth::test {

/// The lines of `file`, without their ends. Fails the test where it cannot be read.
inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  REQUIRE_MESSAGE(stream.good(), file.string(), " cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace berth::test
