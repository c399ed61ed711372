#include "tf/file_bytes.h"

#include <fstream>

#include "berth/sdk/gzip.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {

void read_bytes(const std::filesystem::path& path, FileBytes& file) {
  file.path = path;
  file.source.file = path.string();
  file.mapped = std::make_unique<frontend::MappedFile>(path);
  file.bytes = file.mapped->bytes();
  file.is_compressed = file.mapped->compressed();
  if (is_text(file.bytes.substr(0, kFrontBytes))) {
    file.is_text = true;
    file.text = std::string(file.bytes);
    file.mapped.reset();
    file.bytes = {};
  }
  file.source.begin = file.bytes.data();
}

void set_binary(FileBytes& file, std::string binary) {
  file.owned = std::move(binary);
  file.bytes = file.owned;
  file.source.begin = file.bytes.data();
}

std::string front_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};  // opening a pipe would wait
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::string front(kFrontBytes, '\0');
  stream.read(front.data(), static_cast<std::streamsize>(front.size()));
  front.resize(static_cast<std::size_t>(stream.gcount()));
  return is_gzip(front) ? gunzip_front(front, kFrontBytes) : front;
}

}  // namespace berth::tf_frontend
