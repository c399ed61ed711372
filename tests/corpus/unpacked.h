// The graphs of tests/corpus/graphs, unpacked.
#pragma once

#include <filesystem>
#include <string>

#include "berth/files.h"
#include "berth/sdk/gzip.h"

namespace berth::test {

/// TensorFlow graphs stay packed, as its frontend reads them; it reads no folder with a packed file.
inline bool is_read_packed(const std::filesystem::path& file) {
  return file.string().ends_with(".pb.gz") && file.filename() != "saved_model.pb.gz";
}

inline void unpack(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    fs::path target = to / fs::relative(entry.path(), from);
    fs::create_directories(target.parent_path());
    std::string bytes = read_file(entry.path());
    if (target.extension() == ".gz" && !is_read_packed(target)) {
      bytes = gunzip(bytes, entry.path().string());
      target.replace_extension();
    }
    write_file(target, bytes);
  }
}

}  // namespace berth::test
