// What a fuzz target reads, as a file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "support/temporary_folder.h"

namespace berth::test {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// One file that is written anew for every input, and stays open; TMPDIR says where.
class InputFile {
 public:
  explicit InputFile(const std::string& name)
      : path_(folder_ / name), file_(open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
    if (file_ < 0) std::abort();
  }
  ~InputFile() { close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& write(std::string_view content) const {
    const auto size = static_cast<ssize_t>(content.size());
    if (pwrite(file_, content.data(), content.size(), 0) != size || ftruncate(file_, size) != 0) {
      std::abort();
    }
    return path_;
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
  int file_;
};

}  // namespace berth::test
