// Messages name options where they are had: every text of the sources is walked.
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "berth.h"
#include "support/data.h"

using namespace berth::test;

namespace {

using Names = std::set<std::string>;

/// Options of other programs, which texts tell people to give to them.
const Names kOthers = {"--allow-unregistered-dialect",
                       "--load-pass-plugin",
                       "--inline",
                       "--pass-pipeline",  // mlir-opt
                       "--model",          // optimum-cli
                       "--tflite",         // tf2onnx
                       "--pipeline-parallel-size",
                       "--tensor-parallel-size",
                       "--max-model-len",
                       "--dtype",
                       "--kv-cache-dtype",  // vLLM
                       "--tensor-split",
                       "--n-cpu-moe",  // llama.cpp
                       "--trace",
                       "--type"};  // nsys

Names options_in(const std::string& help) {
  Names names;
  static const std::regex option("(?:^|\n) +(?:-\\w,)?(--[a-z][a-z-]*)(?:,(--[a-z-]+))?");
  for (std::sregex_iterator it(help.begin(), help.end(), option), end; it != end; ++it) {
    names.insert((*it)[1]);
    if ((*it)[2].matched) names.insert((*it)[2]);
  }
  return names;
}

/// The names under "Subcommands:".
std::vector<std::string> subcommands_in(const std::string& help) {
  std::vector<std::string> names;
  const std::size_t begin = help.find("Subcommands:\n");
  if (begin == std::string::npos) return names;
  static const std::regex name("\n  ([a-z]+) ");
  const std::string list = help.substr(begin + 12, help.find("\n\n", begin) - begin - 12);
  for (std::sregex_iterator it(list.begin(), list.end(), name), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

/// The options of every subcommand, with those of its own subcommands.
std::map<std::string, Names> all_options(const Workplace& work) {
  std::map<std::string, Names> options;
  const std::string help = work.berth({"--help"}).out;
  options[""] = options_in(help);
  for (const std::string& name : subcommands_in(help)) {
    const std::string its = work.berth({name, "--help"}).out;
    options[name] = options_in(its);
    for (const std::string& inner : subcommands_in(its)) {
      options[name].merge(options_in(work.berth({name, inner, "--help"}).out));
    }
  }
  return options;
}

/// The string literals of a source file, neighbours joined, comments left out.
std::vector<std::string> literals(const std::string& source) {
  std::vector<std::string> found;
  bool joins = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else if (c == '\'' && i + 2 < source.size() && (i == 0 || !std::isalnum(source[i - 1]))) {
      i = source.find('\'', i + (source[i + 1] == '\\' ? 3 : 2));
    } else if (c == '"') {
      if (!joins) found.emplace_back();
      for (++i; i < source.size() && source[i] != '"'; ++i) {
        const bool escaped = source[i] == '\\';
        if (escaped) ++i;
        found.back() += escaped && source[i] == 'n' ? '\n' : source[i];
      }
      joins = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      joins = false;
    }
    if (i == std::string::npos) break;
  }
  return found;
}

std::vector<std::string> options_named(const std::string& text) {
  std::vector<std::string> named;
  static const std::regex option("(^|[^A-Za-z0-9-])(--[a-z][a-z-]+)");
  static const std::regex of_script("[.]lua --[a-z-]+");
  const std::string own = std::regex_replace(text, of_script, ".lua");
  for (std::sregex_iterator it(own.begin(), own.end(), option), end; it != end; ++it) {
    named.push_back((*it)[2]);
  }
  return named;
}

/// The subcommands that a text names: "`berth place --for ..".
std::vector<std::string> commands_named(const std::string& text) {
  std::vector<std::string> named;
  static const std::regex command("berth ([a-z]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), command), end; it != end; ++it) {
    named.push_back((*it)[1]);
  }
  return named;
}

}  // namespace

TEST_CASE("help offers no option that a run which measures refuses") {
  const Names options = options_in(Workplace().berth({"tune", "--help"}).out);
  CHECK(options.contains("--measurements"));
  for (const char* simulated : {"--for", "--replicate", "--soft"})
    CHECK(!options.contains(simulated));
}

TEST_CASE("every option that a message names is had where the message is read") {
  const Workplace work;
  const std::map<std::string, Names> options = all_options(work);
  REQUIRE(options.size() > 15);
  Names any;
  for (const auto& [name, its] : options) any.insert(its.begin(), its.end());
  int texts = 0;
  for (const char* const folder : {"engine", "plugins", "frontends", "backends"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
      if (entry.path().extension() != ".cpp") continue;
      // A subcommand has a file of its name.
      const bool own = entry.path().parent_path().filename() == "command" &&
                       options.contains(entry.path().stem().string());
      const bool loads = std::string(folder) == "frontends";
      for (const std::string& text : literals(file_text(entry.path()))) {
        for (const std::string& option : options_named(text)) {
          if (kOthers.contains(option) && !own) continue;
          ++texts;
          CAPTURE(entry.path().string());
          CAPTURE(text);
          CAPTURE(option);
          CHECK(any.contains(option));
          bool elsewhere = text.find("of other subcommands") != std::string::npos;
          for (const std::string& name : commands_named(text)) {
            if (!options.contains(name)) continue;
            elsewhere = elsewhere || options.at(name).contains(option);
          }
          if (elsewhere) continue;
          if (own) CHECK(options.at(entry.path().stem().string()).contains(option));
          // A model is loaded by every subcommand that has --dim.
          for (const auto& [name, its] : options) {
            if (!loads || !its.contains("--dim")) continue;
            CAPTURE(name);
            CHECK(its.contains(option));
          }
        }
      }
    }
  }
  CHECK(texts > 100);
}
