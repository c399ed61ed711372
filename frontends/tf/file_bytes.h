// A file of TensorFlow: one Protobuf message, binary or text, perhaps compressed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "support/mapped_file.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

/// As many bytes at the front of a file as tell what it holds.
inline constexpr std::size_t kFrontBytes = 4096;

struct FileBytes {
  std::filesystem::path path;  ///< of the file itself, even if a SavedModel's folder was named
  WireSource source;
  std::unique_ptr<frontend::MappedFile> mapped;
  std::string text;   ///< of a text file, decompressed
  std::string owned;  ///< the bytes, unless they are those of the mapped file
  std::string_view bytes;
  bool is_text = false;
  bool is_compressed = false;
};

/// Reads and decompresses a file into `file`. For a text file, only `text` is set. Throws Error
/// naming the file.
void read_bytes(const std::filesystem::path& path, FileBytes& file);
/// Sets the binary form of a text file.
void set_binary(FileBytes& file, std::string binary);

/// The first bytes of a file, decompressed; empty if it cannot be read. Never throws.
[[nodiscard]] std::string front_of(const std::filesystem::path& path);

}  // namespace berth::tf_frontend
