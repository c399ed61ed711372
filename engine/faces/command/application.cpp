#include "application.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"
#include "berth/version.h"
#include "console.h"
#include "subcommands.h"

namespace berth::command {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kDescription =
    "Berth finds every op of a neural network its berth: the device it should run on.";
constexpr const char* kExamples =
    "Examples:\n"
    "  berth compare model.onnx --cluster k80x4           which policy is best here?\n"
    "  berth place model.onnx --cluster k80x4 -o placement.json\n"
    "  berth inspect model.onnx                           what is in this model?\n"
    "  berth SUBCOMMAND --help                            options and examples of each";

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

/// The words as options: `berth help place` asks for what `berth place --help` does.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty()) return arguments;
  if (arguments.front() == "version") arguments.front() = "--version";
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

/// The parser's own message for a misspelled subcommand does not say which there are.
void check_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw CLI::RequiredError("A subcommand");
  const std::string& first = arguments.front();
  if (first.starts_with('-')) {
    if (app.get_option_no_throw(first) != nullptr) return;
    throw CLI::ValidationError(fmt::format("unknown option '{}'", first));
  }
  const std::vector<std::string> names = subcommand_names(app);
  if (std::find(names.begin(), names.end(), first) != names.end()) return;
  throw CLI::ValidationError(
      fmt::format("unknown subcommand '{}'{}", first, known_names(first, names)));
}

/// The parser does not say which of the extra arguments is at fault, nor what was meant.
std::string extras_text(const CLI::App& sub, const std::string& otherwise) {
  for (const std::string& argument : sub.remaining()) {
    if (!argument.starts_with('-')) continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : sub.get_options()) {
      for (const std::string& longer : option->get_lnames()) known.push_back("--" + longer);
    }
    const std::string meant = closest_name(name, known);
    return fmt::format("unknown option '{}'{}", name,
                       meant.empty() ? "" : fmt::format("; you may mean '{}'", meant));
  }
  return otherwise;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  std::string help = "berth --help";
  for (const CLI::App* sub : app.get_subcommands()) {
    help = "berth " + sub->get_name() + " --help";
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      text = extras_text(*sub, text);
    }
  }
  const std::size_t mismatch = text.find("At Most 1 required but received ");
  if (mismatch != std::string::npos) text.replace(mismatch, std::string::npos, "give it once");
  if (text.ends_with('.')) text.pop_back();
  log_error(fmt::format("{}; see `{}`", text, help));
  return kUsage;
}

/// Help with descriptions in lines that fit a terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kColumn); }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_desc(option);
    for (std::size_t line = 0; text.size() - line > kWidth;) {
      const std::size_t blank = text.rfind(' ', line + kWidth);
      if (blank == std::string::npos || blank <= line) break;
      text[blank] = '\n';
      line = blank + 1;
    }
    return text;
  }

 private:
  static constexpr std::size_t kColumn = 26;
  static constexpr std::size_t kWidth = 70;
};

int run_checked(CLI::App& app, const Action& chosen, int argc, char** argv) {
  try {
    std::vector<std::string> arguments = arguments_of(argc, argv);
    check_subcommand(app, arguments);
    std::reverse(arguments.begin(), arguments.end());  // as the parser takes them
    app.parse(std::move(arguments));
    return chosen();
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
}

}  // namespace

int run(int argc, char** argv) {
  open_console();
  try {
    CLI::App app(kDescription, "berth");
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(kExamples);
    app.set_version_flag("--version", "berth " BERTH_VERSION_STRING);
    app.require_subcommand(1);
    Action chosen;
    add_place(app, chosen);
    add_compare(app, chosen);
    add_simulate(app, chosen);
    add_explain(app, chosen);
    add_report(app, chosen);
    add_profile(app, chosen);
    add_measure(app, chosen);
    add_tune(app, chosen);
    add_learn(app, chosen);
    add_verify(app, chosen);
    add_inspect(app, chosen);
    add_devices(app, chosen);
    add_plugins(app, chosen);
    add_config(app, chosen);
    add_schema(app, chosen);
    add_watch(app, chosen);
    add_run(app, chosen);
    add_study(app, chosen);
    add_completion(app, chosen);
    return run_checked(app, chosen, argc, argv);
  } catch (const Error& error) {
    log_error(error.what());
  } catch (const std::bad_alloc&) {
    log_error("out of memory; close other programs, or place a smaller model");
  } catch (const std::exception& error) {
    log_error(fmt::format("internal error, please report it: {}", error.what()));
  }
  return kFailed;
}

}  // namespace berth::command
