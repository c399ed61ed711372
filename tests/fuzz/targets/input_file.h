// What a fuzz target reads, as a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

#include "support/temporary_folder.h"

namespace berth::test {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// One file that is written anew for every input; TMPDIR says where.
class InputFile {
 public:
  explicit InputFile(const std::string& name) : path_(folder_ / name) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& write(std::string_view content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_;
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace berth::test
