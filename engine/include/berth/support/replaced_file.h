/// @file
/// A file that is made beside its place and then renamed is written where and as open(2) would write
/// it in place; what cannot be replaced so is written in place.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace berth {

/// The number of the open file of this process that `path` names, as /proc/self/fd/1 and /dev/fd/1
/// do; -1 = none. A last link is not followed: see behind_links.
[[nodiscard]] inline int own_descriptor(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size()) return -1;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code no_folder, no_proc;
  const auto here = std::filesystem::canonical(folder, no_folder);
  const auto own = std::filesystem::canonical("/proc/self/fd", no_proc);
  return !no_folder && !no_proc && here == own ? number : -1;
}

/// The file behind the links of `path`, whether it is there yet or not; an open file of this process
/// (see own_descriptor) is not looked behind. `error` is set where they go round in a circle or
/// cannot be read.
[[nodiscard]] inline std::filesystem::path behind_links(std::filesystem::path path,
                                                        std::error_code& error) {
  constexpr int kMostLinks = 40;  // Linux's
  error.clear();
  for (int links = 0; !error; ++links) {
    std::error_code absent;
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, absent))) break;
    if (own_descriptor(path) >= 0) break;
    if (links == kMostLinks) {
      error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    } else {
      path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
  }
  return path;
}

/// Whether no other file can stand in the place of `path`: it is a device, a pipe or a folder, or an
/// open file of this process.
[[nodiscard]] inline bool is_in_place(const std::filesystem::path& path) {
  std::error_code ignored;
  if (own_descriptor(behind_links(path, ignored)) >= 0) return true;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

/// Opens for writing what is_in_place: a descriptor, or -1 with errno set. Nothing for other files.
/// Writing goes on where this process's own open file is, as what else writes to that does.
[[nodiscard]] inline std::optional<int> open_in_place(const std::filesystem::path& path) {
  if (!is_in_place(path)) return std::nullopt;
  std::error_code ignored;
  const int own = own_descriptor(behind_links(path, ignored));
  if (own >= 0) return ::fcntl(own, F_DUPFD_CLOEXEC, 0);
  return ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
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
