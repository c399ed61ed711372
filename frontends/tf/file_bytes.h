// A file of TensorFlow's: one Protobuf message, binary or text, perhaps compressed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "support/mapped_file.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

/// As much of a file's front as tells what is in it.
inline constexpr std::size_t kFrontBytes = 4096;

struct FileBytes {
  std::filesystem::path path;  ///< of the file itself, also where a SavedModel's folder was named
  WireSource source;
  std::unique_ptr<frontend::MappedFile> mapped;
  std::string text;   ///< of a text file, decompressed
  std::string owned;  ///< the bytes, where they are not the mapped file's
  std::string_view bytes;
  bool is_text = false;
  bool is_compressed = false;
};

/// Reads and decompresses a file into `file`; of a text file only `text` is set yet. Throws Error
/// naming the file.
void read_bytes(const std::filesystem::path& path, FileBytes& file);
/// Sets the binary form of a text file.
void set_binary(FileBytes& file, std::string binary);

/// The first bytes of a file, decompressed; empty where it cannot be read. Never throws.
[[nodiscard]] std::string front_of(const std::filesystem::path& path);

}  // namespace berth::tf_frontend
