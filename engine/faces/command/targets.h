// The files a subcommand is asked to write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/outcome.h"
#include "berth/settings.h"

namespace berth::command {

/// One `-o FILE` kind of option with a value.
struct Target {
  std::string option;
  std::filesystem::path path;
};

/// Adds it where the setting has a value.
void add_target(std::vector<Target>& targets, const char* option,
                const std::optional<std::string>& path);

/// A file that the command reads; an empty path = none. `what` as in "it is the model itself".
struct Input {
  std::string what;
  std::filesystem::path path;
};

/// Before the work: tells what would fail after it. Throws Error(io) for a target whose folder is
/// not there or not writable, that is a folder itself, that is one of `inputs`, or that two options
/// name.
void check_targets(const std::vector<Target>& targets, const std::vector<Input>& inputs);

/// Writes the file of a target, after check_targets; "/dev/stdout" is standard output.
void write_target(const std::filesystem::path& path, std::string_view content);
/// Writes the trace and the drawing of the step that the settings ask for.
void write_step(const Settings& settings, const Outcome& outcome);

}  // namespace berth::command
