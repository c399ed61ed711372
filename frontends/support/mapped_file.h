#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace berth::frontend {

/// A file mapped read-only. Pages are read when touched, and the system can drop them. So a file of
/// many GB costs memory only where it is read. The content of a gzip file is decompressed into
/// memory. [thread-safe: immutable]
class MappedFile {
 public:
  /// Throws Error(not_found) if there is no such file, Error(io) if the system refuses, and
  /// Error(invalid_file) if it is not a regular file, is empty, a pointer of Git LFS in the place of
  /// the file, or damaged gzip.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Valid as long as this object. If another process shortens the file meanwhile, reading past its
  /// new end is fatal, as for every mapping.
  [[nodiscard]] std::string_view bytes() const noexcept {
    return compressed_ ? std::string_view(content_) : std::string_view(data_, size_);
  }
  /// Whether the file is a gzip file, and `bytes` its content.
  [[nodiscard]] bool compressed() const noexcept { return compressed_; }

 private:
  void decompress(const std::string& file);

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::string content_;  // of a gzip file
  bool compressed_ = false;
};

}  // namespace berth::frontend
