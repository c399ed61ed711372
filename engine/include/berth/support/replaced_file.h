/// @file
/// A file that is made beside its place and then renamed is written where and as open(2) would write
/// it in place.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace berth {

/// The file behind the links of `path`, whether it is there yet or not. `error` is set where they
/// go round in a circle or cannot be read.
[[nodiscard]] inline std::filesystem::path behind_links(std::filesystem::path path,
                                                        std::error_code& error) {
  constexpr int kMostLinks = 40;  // Linux's
  error.clear();
  for (int links = 0; !error; ++links) {
    std::error_code absent;
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, absent))) break;
    if (links == kMostLinks) {
      error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    } else {
      path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
  }
  return path;
}

/// The new file `fd` may be read and written by those who may the old one, if that is there. 0 or
/// errno.
[[nodiscard]] inline int keep_permissions(int fd, const std::filesystem::path& old) noexcept {
  constexpr mode_t kPermissions = 0777;
  struct stat before {
  }, now{};
  if (::stat(old.c_str(), &before) != 0) return 0;
  const mode_t mode = before.st_mode & kPermissions;
  // Some file systems have one mode for all files, and refuse to set any.
  if (::fstat(fd, &now) == 0 && (now.st_mode & kPermissions) == mode) return 0;
  return ::fchmod(fd, mode) == 0 ? 0 : errno;
}

}  // namespace berth
