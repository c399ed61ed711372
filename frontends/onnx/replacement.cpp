#include "onnx/replacement.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <system_error>

#include "berth/error.h"
#include "berth/sdk/gzip.h"
#include "berth/support/replaced_file.h"
#include "berth/support/text.h"

namespace berth::onnx_frontend {

Replacement::Replacement(const std::filesystem::path& target)
    : compresses_(target.extension() == ".gz") {
  if (const std::optional<int> opened = open_in_place(target)) {
    target_ = target;
    in_place_ = true;
    file_ = *opened;
    if (file_ < 0) refuse(errno);
    return;
  }
  std::error_code link_error;
  target_ = behind_links(target, link_error);
  if (link_error) refuse(link_error.value());
  temporary_ = target_;
  temporary_ += cat(".", ::getpid(), ".", std::random_device{}(), ".tmp");
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) refuse(errno);
  if (const int error = keep_permissions(file_, target_); error != 0) {
    ::close(file_);
    ::unlink(temporary_.c_str());
    refuse(error);
  }
}

Replacement::~Replacement() {
  if (file_ >= 0) ::close(file_);
  if (!done_ && !in_place_) ::unlink(temporary_.c_str());
}

void Replacement::write(std::string_view bytes) {
  if (compresses_) {
    content_ += bytes;
  } else {
    write_now(bytes);
  }
}

void Replacement::commit() {
  if (compresses_) write_now(gzip(content_));
  if (!in_place_ && ::fsync(file_) != 0) refuse(errno);
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) refuse(errno);
  if (!in_place_ && ::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(errno);
  done_ = true;
}

void Replacement::write_now(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Replacement::refuse(int error) const {
  throw Error(ErrorCode::io, cat(target_.string(),
                                 ": cannot be written: ", std::generic_category().message(error)));
}

}  // namespace berth::onnx_frontend
