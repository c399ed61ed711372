// The files a subcommand is asked to write.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace berth::command {

/// One `-o FILE` kind of option with a value.
struct Target {
  std::string option;
  std::filesystem::path path;
};

/// Before the work: tells what would fail after it. Throws Error(io) for a target whose folder is
/// not there or not writable, that is a folder itself, that is `input`, or that two options name.
void check_targets(const std::vector<Target>& targets, const std::filesystem::path& input);

}  // namespace berth::command
