#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/gzip.h"
#include "support/text.h"

namespace berth::frontend {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, int reason) {
  const std::string why = std::generic_category().message(reason);
  throw Error(reason == ENOENT || reason == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
              cat(path.string(), ": cannot be read: ", why));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) refuse(path, errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::invalid_file,
                cat(path.string(), ": not a regular file; name the model file itself"));
  }
  if (status.st_size == 0) {
    throw Error(ErrorCode::invalid_file,
                cat(path.string(), ": the file is empty; export or download the model again"));
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) refuse(path, errno);
  data_ = static_cast<const char*>(data);
  try {
    refuse_lfs_pointer(bytes(), path.string());
    if (is_gzip(bytes())) decompress(path.string());
  } catch (...) {
    ::munmap(data, size_);
    throw;
  }
}

void MappedFile::decompress(const std::string& file) {
  content_ = gunzip(bytes(), file);
  compressed_ = true;
  if (content_.empty()) {
    throw Error(ErrorCode::invalid_file, cat(file, ": is empty; export or download it again"));
  }
  refuse_lfs_pointer(content_, file);
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace berth::frontend
