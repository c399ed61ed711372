#include "targets.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <system_error>

#include "berth/error.h"

namespace berth::command {
namespace {

[[noreturn]] void refuse(const Target& target, const std::string& why) {
  throw Error(ErrorCode::io,
              fmt::format("cannot write {} '{}': {}", target.option, target.path.string(), why));
}

/// Absolute and without links, whether or not the file is there.
std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

void check_target(const Target& target, const std::filesystem::path& input) {
  std::error_code ignored;
  std::filesystem::path folder = target.path.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    refuse(target, fmt::format("there is no folder '{}'; create it first", folder.string()));
  }
  if (std::filesystem::is_directory(target.path, ignored)) {
    refuse(target, "it is a folder; name a file in it");
  }
  if (access(folder.c_str(), W_OK) != 0) {
    refuse(target, fmt::format("folder '{}' is not writable; choose another", folder.string()));
  }
  if (std::filesystem::equivalent(target.path, input, ignored)) {
    refuse(target, "it is the model itself; choose another name");
  }
}

}  // namespace

void check_targets(const std::vector<Target>& targets, const std::filesystem::path& input) {
  for (const Target& target : targets) {
    check_target(target, input);
    for (const Target& earlier : targets) {
      if (&earlier == &target) break;
      if (real_path(earlier.path) == real_path(target.path)) {
        refuse(target, fmt::format("{} names it too; choose another name", earlier.option));
      }
    }
  }
}

}  // namespace berth::command
