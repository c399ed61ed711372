// scripts/berth/meta.lua documents every bound function, and nothing else.
#include <algorithm>
#include <sstream>

#include "berth/files.h"
#include "support/host_fixture.h"

namespace berth {
namespace {

struct Documented {
  std::string name;
  bool has_text = false;
  std::vector<std::string> parameters, described;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    part.erase(0, part.find_first_not_of(' '));
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// Every "function a.b(...)" or "function a:b(...)" with the "---" lines above it.
std::vector<Documented> documented_functions() {
  std::istringstream in(read_file(test::source_path("scripts/berth/meta.lua")));
  std::vector<Documented> functions;
  Documented next;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("---")) {
      next.has_text = true;
      if (line.starts_with("---@param ")) {
        std::string name = line.substr(10, line.find(' ', 10) - 10);
        if (name.ends_with('?')) name.pop_back();
        next.described.push_back(name);
      }
      continue;
    }
    if (line.starts_with("function ")) {
      const std::size_t open = line.find('('), close = line.find(')');
      next.name = line.substr(9, open - 9);
      next.parameters = split(line.substr(open + 1, close - open - 1), ',');
      functions.push_back(next);
    }
    next = {};
  }
  return functions;
}

TEST_CASE("meta.lua documents every bound function, and nothing else") {
  std::vector<std::string> names;
  for (const Documented& function : documented_functions()) {
    CAPTURE(function.name);
    CHECK(function.has_text);
    CHECK(function.parameters == function.described);
    names.push_back(function.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == lua::Host::bound_functions());
}

TEST_CASE_FIXTURE(test::HostFixture, "meta.lua is Lua") {
  run("assert(loadfile(arg[1]))", {test::source_path("scripts/berth/meta.lua").string()});
}

}  // namespace
}  // namespace berth
