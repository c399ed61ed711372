// Every page of scripts/recipes: its scripts run, by the commands that it says are tested.
#include <algorithm>
#include <sstream>

#include "berth.h"
#include "support/data.h"

using namespace berth::test;

namespace {

/// Writes every ```lua block to the file that its first line names.
void write_scripts(const Workplace& work, const std::string& page) {
  static const std::string kFence = "```lua\n-- ";
  for (std::size_t at = page.find(kFence); at != std::string::npos;
       at = page.find(kFence, at + 1)) {
    const std::size_t name = at + kFence.size();
    const std::size_t end = page.find("\n```", name);
    REQUIRE(end != std::string::npos);
    const std::size_t code = at + kFence.size() - 3;
    work.write_text(page.substr(name, page.find('\n', name) - name),
                    page.substr(code, end + 1 - code));
  }
}

/// "<!-- tested: berth WORDS -->", without the command's name, in order.
std::vector<std::vector<std::string>> tested_commands(const std::string& page) {
  static const std::string kStart = "<!-- tested: berth ";
  const std::string examples = source_path("examples").string() + "/";
  std::vector<std::vector<std::string>> commands;
  for (std::size_t at = page.find(kStart); at != std::string::npos;
       at = page.find(kStart, at + 1)) {
    const std::size_t begin = at + kStart.size();
    std::istringstream words(page.substr(begin, page.find(" -->", begin) - begin));
    commands.emplace_back();
    for (std::string word; words >> word;) {
      commands.back().push_back(word.starts_with("examples/") ? examples + word.substr(9) : word);
    }
  }
  return commands;
}

/// What a build may lack.
bool left_out(const std::string& message) {
  for (const char* part : {"built without Lua", "no policy '", "no backend '", "no frontend knows",
                           "SQLite's library is not here", "no module_torch.so in",
                           "built without what training by many processes needs"}) {
    if (message.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the recipes run") {
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("scripts/recipes"))) {
    if (entry.path().filename() != "README.md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  const std::string index = file_text(source_path("scripts/recipes/README.md"));
  REQUIRE(pages.size() >= 5);
  for (const auto& path : pages) {
    CAPTURE(path.filename().string());
    CHECK(index.find("](" + path.filename().string() + ")") != std::string::npos);
    const std::string page = file_text(path);
    const Workplace work;
    write_scripts(work, page);
    // A script is copied to anywhere: it names no file of Berth's folder.
    for (const auto& script : std::filesystem::directory_iterator(work / "")) {
      if (script.path().extension() != ".lua") continue;
      CHECK_MESSAGE(file_text(script.path()).find("\"examples/") == std::string::npos,
                    script.path().string());
    }
    const auto commands = tested_commands(page);
    CHECK(!commands.empty());
    for (const auto& command : commands) {
      const ProcessResult result = work.berth(command);
      if (left_out(result.err)) {
        MESSAGE("skipped: ", result.err);
        break;
      }
      CHECK_MESSAGE(result.status == 0, command[1], ": ", result.err);
      CHECK((!result.out.empty() || command[1] == "plot"));
    }
  }
}
