#include "targets.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/replaced_file.h"
#include "console.h"
#include "report_file.h"

namespace berth::command {
namespace {

[[noreturn]] void refuse(const Target& target, const std::string& why) {
  throw Error(ErrorCode::io,
              fmt::format("cannot write {} '{}': {}", target.option, target.path.string(), why));
}

/// Absolute and without links, whether or not the file is there, or the one that a link names.
std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = behind_links(output_path(path), ignored);
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
}

/// Refuses to write over what is read.
void check_input(const Target& target, const Input& input) {
  std::error_code ignored;
  if (input.path.empty() || !std::filesystem::exists(target.path, ignored)) return;
  if (std::filesystem::equivalent(target.path, input.path, ignored)) {
    refuse(target, fmt::format("it is {} itself; choose another name", input.what));
  }
  if (!std::filesystem::is_directory(input.path, ignored)) return;
  const std::filesystem::path inside =
      real_path(target.path).lexically_relative(real_path(input.path));
  if (!inside.empty() && *inside.begin() != "..") {
    refuse(target, fmt::format("it is a part of {}; choose another name", input.what));
  }
}

/// Refuses a folder in which no file can be made.
void check_folder(const Target& target) {
  std::error_code circle, ignored;
  std::filesystem::path folder = behind_links(target.path, circle).parent_path();
  if (circle) refuse(target, circle.message() + "; choose another name");
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    refuse(target, fmt::format("there is no folder '{}'; create it first", folder.string()));
  }
  if (access(folder.c_str(), W_OK) != 0) {
    refuse(target, fmt::format("folder '{}' is not writable; choose another", folder.string()));
  }
}

void check_target(const Target& target, const std::vector<Input>& inputs) {
  std::error_code ignored;
  if (std::filesystem::is_directory(target.path, ignored)) {
    refuse(target, "it is a folder; name a file in it");
  }
  if (!is_in_place(target.path)) check_folder(target);
  for (const Input& input : inputs) check_input(target, input);
}

}  // namespace

void add_target(std::vector<Target>& targets, const char* option,
                const std::optional<std::string>& path) {
  if (path) targets.push_back({option, *path});
}

std::vector<Input> model_inputs(Engine& engine, const std::string& model,
                                const std::vector<Target>& targets) {
  std::vector<Input> inputs = {{"the model", model}};
  std::error_code ignored;
  if (std::none_of(targets.begin(), targets.end(), [&](const Target& target) {
        return std::filesystem::is_regular_file(target.path, ignored);
      })) {
    return inputs;
  }
  try {
    const auto frontend = engine.frontend_for(model);
    if (const auto* const parts = dynamic_cast<const ModelFiles*>(frontend.get())) {
      for (std::filesystem::path& file : parts->files(model)) {
        inputs.push_back({"the model's data", std::move(file)});
      }
    }
  } catch (const Error&) {
    return inputs;  // loading the model says what is wrong with it
  }
  return inputs;
}

void check_targets(const std::vector<Target>& targets, const std::vector<Input>& inputs) {
  for (const Target& target : targets) {
    check_target(target, inputs);
    for (const Target& earlier : targets) {
      if (&earlier == &target) break;
      if (real_path(earlier.path) == real_path(target.path)) {
        refuse(target, fmt::format("{} names it too; choose another name", earlier.option));
      }
    }
  }
}

void write_target(const std::filesystem::path& path, std::string_view content) {
  write_file(output_path(path), content);
}

bool Written::attempt(const std::string& option, const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const Error& error) {
    fail(option, error.what());
    return false;
  }
}

void Written::fail(const std::string& option, const std::string& why) {
  lose(option);
  log_warning(fmt::format("{} was not written: {}", option, why));
}

void Written::write_step(const Settings& settings, const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  if (settings.trace) {
    attempt("--trace", [&] {
      write_target(*settings.trace, trace_json(problem, outcome.placement, outcome.trace));
    });
  }
  if (settings.svg) {
    attempt("--svg", [&] {
      write_target(*settings.svg, timeline_svg(problem, outcome.placement, outcome.trace));
    });
  }
  if (settings.report) {
    attempt("--report", [&] { write_report(*settings.report, outcome, settings); });
  }
}

std::string Written::text() const {
  std::string text;
  for (const Target& target : targets_) {
    if (std::find(lost_.begin(), lost_.end(), target.option) != lost_.end()) continue;
    const auto advice = advice_.find(target.option);
    text += fmt::format("  wrote {} ({}){}\n", target.path.string(), target.option,
                        advice == advice_.end() ? "" : "; " + advice->second);
  }
  return text;
}

}  // namespace berth::command
