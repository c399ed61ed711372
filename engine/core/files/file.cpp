#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/gzip.h"
#include "berth/support/replaced_file.h"
#include "berth/support/text.h"

namespace berth {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  throw Error(code, cat(path.string(), ": ", action, ": ", std::generic_category().message(error)));
}

/// Bytes of a pipe or a device, some of which never end.
constexpr std::size_t kMostOfStream = std::size_t{256} << 20;

/// Closes the file however the scope is left.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// 0 or errno.
  int close() {
    const int result = ::close(fd_) == 0 ? 0 : errno;
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

/// 0 or errno.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Tries names of files beside `target` until `create(name)` does not fail with EEXIST; -1 with
/// errno set where it fails otherwise.
template <typename Create>
int create_beside(const std::filesystem::path& target, std::string& temporary,
                  const Create& create) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = cat(target.string(), ".", ::getpid(), ".", attempt, ".tmp");
    const int result = create(temporary.c_str());
    if (result >= 0 || errno != EEXIST) return result;
  }
  return -1;
}

/// A new file in the folder of `target`. Without a name where the file system can do that, so that
/// a process that is killed while it writes leaves nothing; else called `temporary`.
int create_unnamed(const std::filesystem::path& target, std::string& temporary) {
  const std::filesystem::path folder =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const int fd = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd >= 0) return fd;
  return create_beside(target, temporary, [](const char* name) {
    return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  });
}

/// Gives the file the name `temporary`, one of its own beside `target`. 0 or errno.
int give_name(int fd, const std::filesystem::path& target, std::string& temporary) {
  const std::string unnamed = cat("/proc/self/fd/", fd);
  const int linked = create_beside(target, temporary, [&](const char* name) {
    return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
  });
  if (linked == 0) return 0;
  temporary.clear();
  return errno;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be opened", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail(path, "cannot be read", errno);
  if (S_ISDIR(info.st_mode)) fail(path, "cannot be read", EISDIR);
  std::string content;
  content.reserve(static_cast<std::size_t>(info.st_size) + 1);
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0) {
      if (errno == EINTR) continue;
      fail(path, "cannot be read", errno);
    }
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
    if (!S_ISREG(info.st_mode) && content.size() > kMostOfStream) {
      throw Error(ErrorCode::io,
                  cat(path.string(), ": gives more than ", kMostOfStream >> 20,
                      " MiB and is no regular file; write it to a file, and name that"));
    }
  }
}

std::string read_text(const std::filesystem::path& path) {
  std::string content = read_file(path);
  if (is_gzip(content)) content = gunzip(content, path.string());
  refuse_lfs_pointer(content, path.string());
  return content;
}

void refuse_lfs_pointer(std::string_view content, const std::string& file) {
  if (!content.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw Error(ErrorCode::invalid_file,
              cat(file,
                  ": is a pointer of Git LFS, which stands in the place of the file itself; "
                  "fetch that with 'git lfs pull' in its repository, or download it"));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  if (const std::optional<int> in_place = open_in_place(path)) {
    Descriptor device(*in_place);
    if (device.get() < 0) fail(path, "cannot be opened for writing", errno);
    const int error = write_all(device.get(), content);
    if (error != 0) fail(path, "cannot be written", error);
    return;
  }
  // A link keeps its target: the file behind it is replaced, or made.
  std::error_code link_error;
  const std::filesystem::path target = behind_links(path, link_error);
  if (link_error) fail(path, "cannot be created", link_error.value());
  std::string temporary;
  Descriptor file(create_unnamed(target, temporary));
  if (file.get() < 0) fail(path, "cannot be created", errno);
  // Before there is anything to read in it.
  int error = keep_permissions(file.get(), target);
  if (error == 0) error = write_all(file.get(), content);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error == 0 && temporary.empty()) error = give_name(file.get(), target, temporary);
  const int close_error = file.close();
  if (error == 0) error = close_error;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    fail(path, "cannot be written", error);
  }
}

}  // namespace berth
