// A file that is replaced as a whole or not at all, or written in place where it cannot be replaced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace berth::onnx_frontend {

/// Writes beside the target, then renames, as write_file does (berth/files.h); a pipe or a device is written in
/// place. Compresses where the target's name ends in ".gz". Throws Error(io).
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& target);
  /// Leaves the target as it was where commit() was not called.
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view bytes);
  void commit();
  /// No file will lie where the target is.
  [[nodiscard]] bool in_place() const { return in_place_; }

 private:
  void write_now(std::string_view bytes);
  [[noreturn]] void refuse(int error) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool compresses_ = false;
  bool in_place_ = false;
  std::string content_;  // before it is compressed
  int file_ = -1;
  bool done_ = false;
};

}  // namespace berth::onnx_frontend
