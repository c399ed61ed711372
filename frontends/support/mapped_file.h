#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace berth::frontend {

/// A file mapped read-only: pages are read when touched and can be dropped by the system, so that
/// a file of many GB costs memory only where it is looked at. [thread-safe: immutable]
class MappedFile {
 public:
  /// Throws Error(not_found) where nothing is there, Error(io) where the system refuses, and
  /// Error(invalid_file) for what is not a regular file or is empty.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Valid as long as this object. Another process that cuts the file short meanwhile makes reading
  /// past its new end fatal, as for every mapping.
  [[nodiscard]] std::string_view bytes() const noexcept { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace berth::frontend
