// Which folder may include headers of which others. The graph is drawn in engine/README.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/paths.h"

using namespace berth::test;

namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string name;
  std::set<std::string> below;  ///< what it may include, named in earlier rows
};

/// The engine's wings, each a folder of roles or one role by itself.
const std::vector<std::string> kWings = {"core", "ops", "proofs", "learn", "show", "run", "faces"};

/// Lower folders first, so that no arrow runs up. `engine/x` is the role x of the engine, in whichever
/// wing, with its public headers. To add a role: a row behind all that it needs.
const std::vector<Folder> kFolders = {
    {"engine/support", {}},
    {"engine/graph", {"engine/support"}},
    {"engine/cluster", {"engine/support"}},
    {"engine/ops", {"engine/support", "engine/graph"}},
    {"engine/costs", {"engine/support", "engine/graph", "engine/cluster", "engine/ops"}},
    {"engine/layers", {"engine/support", "engine/graph", "engine/costs"}},
    {"engine/groups",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/layers"}},
    {"engine/constraints",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/groups"}},
    {"engine/problem",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/groups",
      "engine/constraints"}},
    {"engine/simulator", {"engine/support", "engine/problem"}},
    {"engine/moves", {"engine/support", "engine/simulator"}},
    {"engine/proofs", {"engine/support", "engine/problem"}},
    {"engine/evaluate",
     {"engine/support", "engine/graph", "engine/groups", "engine/ops", "engine/problem",
      "engine/simulator", "engine/moves", "engine/proofs"}},
    {"engine/learn",
     {"engine/support", "engine/groups", "engine/constraints", "engine/problem", "engine/simulator",
      "engine/evaluate"}},
    {"engine/files",
     {"engine/support", "engine/graph", "engine/cluster", "engine/ops", "engine/costs",
      "engine/problem", "engine/simulator", "engine/proofs", "engine/evaluate"}},
    {"engine/writers",
     {"engine/support", "engine/graph", "engine/cluster", "engine/ops", "engine/costs",
      "engine/layers", "engine/groups", "engine/constraints"}},
    {"engine/reports",
     {"engine/support", "engine/graph", "engine/costs", "engine/layers", "engine/groups",
      "engine/constraints", "engine/problem", "engine/simulator", "engine/evaluate", "engine/files",
      "engine/writers"}},
    {"engine/measure",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/problem",
      "engine/simulator", "engine/evaluate"}},
    {"engine/replicas",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/ops"}},
    {"engine/host",
     {"engine/support", "engine/graph", "engine/cluster", "engine/ops", "engine/costs",
      "engine/groups", "engine/constraints", "engine/problem", "engine/simulator", "engine/proofs",
      "engine/evaluate", "engine/files", "engine/writers", "engine/measure", "engine/replicas"}},
    {"engine/detect", {"engine/support", "engine/cluster", "engine/files", "engine/host"}},
    {"engine/c",
     {"engine/support", "engine/graph", "engine/cluster", "engine/ops", "engine/costs",
      "engine/constraints", "engine/problem", "engine/evaluate", "engine/learn", "engine/files",
      "engine/reports", "engine/writers", "engine/host", "engine/detect"}},
    {"engine/lua",
     {"engine/support", "engine/graph", "engine/cluster", "engine/ops", "engine/costs",
      "engine/groups", "engine/constraints", "engine/problem", "engine/simulator", "engine/moves",
      "engine/proofs", "engine/evaluate", "engine/learn", "engine/files", "engine/reports",
      "engine/writers", "engine/measure", "engine/host", "engine/detect"}},
    {"engine/command",
     {"engine/support", "engine/graph", "engine/cluster", "engine/costs", "engine/evaluate",
      "engine/files", "engine/reports", "engine/writers", "engine/detect", "engine/measure",
      "engine/host", "engine/lua"}},

    {"frontends/support", {"engine/*"}},
    {"frontends/onnx", {"engine/*", "frontends/support"}},
    {"frontends/tf", {"engine/*", "frontends/support"}},
    {"frontends/nsight", {"engine/*"}},

    {"backends/runtime", {"engine/*"}},
    {"backends/cpu", {"engine/*", "backends/runtime"}},
    {"backends/cuda", {"engine/*", "backends/runtime"}},

    {"plugins/common", {"engine/*"}},
    {"plugins/learning", {"engine/*"}},
    {"plugins/*", {"engine/*", "plugins/common", "plugins/learning"}},
};

/// Public headers that are not called after their folder.
const std::map<std::string, std::string> kHomes = {
    {"backend", "measure"},
    {"dtype", "support"},
    {"engine", "host"},
    {"bounds", "proofs"},
    {"c", "support"},
    {"carried_states", "groups"},
    {"colocation", "groups"},
    {"environment", "learn"},
    {"error", "support"},
    {"evaluator", "evaluate"},
    {"explanation", "reports"},
    {"outcome", "evaluate"},
    {"export", "support"},
    {"frontend", "host"},
    {"figures", "support"},
    {"gzip", "support"},
    {"learning", "learn"},
    {"training_options", "learn"},
    {"named_policy", "support"},
    {"op_rules", "files"},
    {"module_attribute", "graph"},
    {"options", "support"},
    {"placement", "support"},
    {"plugin", "host"},
    {"policy", "evaluate"},
    {"program", "graph"},
    {"plan_writers", "writers"},
    {"random", "support"},
    {"report", "reports"},
    {"run", "host"},
    {"separation", "problem"},
    {"settings", "host"},
    {"types", "support"},
    {"version", "support"},
    {"measured_costs", "costs"},
    {"bound_effort", "evaluate"},
    {"observation", "learn"},
    {"footprint", "problem"},
    {"repair", "evaluate"},
    {"neighbourhoods", "learn"},
    {"blocks", "layers"},
    {"machines", "cluster"},
    {"simplicity", "evaluate"},
    {"needs", "reports"},
    {"splitting", "host"},
    {"write_checks", "host"},
    {"tools", "writers"},
};

/// "engine/core/graph/graph.cpp" -> "engine/graph", "plugins/auto/auto.cpp" -> "plugins/auto".
std::string first_two(const fs::path& path) {
  auto part = path.begin();
  const fs::path top = *part++;
  if (top == "engine") {
    const auto wing = part++;
    // Wings that are one role by themselves hold its files.
    if (fs::path(*part).has_extension() || *wing == "ops") part = wing;
  }
  return (top / *part).generic_string();
}

/// berth/x.h and berth/sdk/x.h by name, berth/support/x.h and berth/sdk/ops/x.h by folder.
std::string folder_of_public(const fs::path& path) {
  const std::string parent = path.parent_path().filename().string();
  if (parent != "berth" && parent != "sdk") return "engine/" + parent;
  const std::string stem = path.stem().string();
  const auto home = kHomes.find(stem);
  return "engine/" + (home != kHomes.end() ? home->second : stem);
}

/// Of a file, by its path from the project's folder.
std::string folder_of(const fs::path& path) {
  const fs::path below = path.lexically_relative("engine/include");
  return *below.begin() != ".." ? folder_of_public(below) : first_two(path);
}

/// The file that `text` names in `file`; empty where it is none of the project's.
fs::path resolved(const fs::path& root, const fs::path& file, const std::string& text) {
  const fs::path top = *file.begin();
  // As from `top`, so from the other top folders: a build may put any of them on the search path.
  for (const fs::path& base : {fs::path("engine/include"), file.parent_path(), top,
                               fs::path("engine"), fs::path("engine/core"), fs::path("engine/show"),
                               fs::path("engine/run"), fs::path("engine/faces"),
                               fs::path("plugins"), fs::path("frontends"), fs::path("backends")}) {
    const fs::path path = (base / text).lexically_normal();
    if (fs::exists(root / path)) return path;
  }
  return {};
}

struct Include {
  fs::path file;
  fs::path of;
};

std::vector<Include> all_includes(const fs::path& root) {
  std::vector<Include> includes;
  for (const char* const top : {"engine", "frontends", "backends", "plugins"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      const fs::path file = entry.path().lexically_relative(root);
      std::ifstream text(entry.path());
      constexpr std::string_view kFront = "#include \"";
      for (std::string line; std::getline(text, line);) {
        if (!line.starts_with(kFront)) continue;
        const std::size_t end = line.find('"', kFront.size());
        const fs::path of = resolved(root, file, line.substr(kFront.size(), end - kFront.size()));
        if (!of.empty()) includes.push_back({file, of});
      }
    }
  }
  return includes;
}

const Folder* row_of(const std::string& folder) {
  const std::string any = folder.substr(0, folder.find('/')) + "/*";
  for (const std::string& name : {folder, any}) {
    const auto row = std::find_if(kFolders.begin(), kFolders.end(),
                                  [&](const Folder& each) { return each.name == name; });
    if (row != kFolders.end()) return &*row;
  }
  return nullptr;
}

bool allows(const Folder& row, const fs::path& of) {
  const std::string folder = folder_of(of);
  if (row.below.contains(folder)) return true;
  // The others see the engine's public headers alone.
  return row.below.contains("engine/*") && of.generic_string().starts_with("engine/include/");
}

}  // namespace

TEST_CASE("no folder may include one that is above it") {
  std::set<std::string> lower;
  for (const Folder& folder : kFolders) {
    for (const std::string& below : folder.below) {
      CAPTURE(folder.name);
      CAPTURE(below);
      CHECK((below == "engine/*" || lower.contains(below)));
    }
    lower.insert(folder.name);
  }
}

TEST_CASE("folders include what the graph of folders lets them") {
  const std::vector<Include> includes = all_includes(source_folder());
  REQUIRE(includes.size() > 1000);
  for (const Include& include : includes) {
    const std::string folder = folder_of(include.file);
    if (folder == folder_of(include.of) || include.file.filename() == "berth.h") continue;
    const Folder* const row = row_of(folder);
    if (row == nullptr) {
      FAIL_CHECK(folder, " stands in no row of kFolders; add one behind all that it needs");
    } else if (!allows(*row, include.of)) {
      FAIL_CHECK(include.file.generic_string(), " includes ", include.of.generic_string(), ", but ",
                 folder, " may not know ", folder_of(include.of),
                 "; turn the arrow round, or add it to kFolders and to engine/README.md");
    }
  }
}

TEST_CASE("the engine consists of its wings") {
  for (const auto& entry : fs::directory_iterator(source_folder() / "engine")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    if (name == "include" || name == "cmake") continue;
    CAPTURE(name);
    CHECK(std::count(kWings.begin(), kWings.end(), name) == 1);
    CHECK(fs::exists(entry.path() / "README.md"));
  }
}

TEST_CASE("every arrow of the graph of folders is used") {
  std::set<std::pair<std::string, std::string>> used;
  for (const Include& include : all_includes(source_folder())) {
    used.emplace(folder_of(include.file), folder_of(include.of));
  }
  for (const Folder& folder : kFolders) {
    for (const std::string& below : folder.below) {
      if (folder.name.ends_with("/*") || below.ends_with("/*")) continue;
      CAPTURE(folder.name);
      CAPTURE(below);
      CHECK(used.contains({folder.name, below}));
    }
  }
}
