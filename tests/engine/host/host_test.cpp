#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "berth/c.h"
#include "berth/engine.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "berth/version.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/temporary_folder.h"

using namespace berth;
using berth::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

fs::path fixture_folder(const std::string& name) {
  return fs::path(FIXTURES_DIR) / name;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Sets BERTH_PLUGIN_PATH for the life of the object.
class PluginPath {
 public:
  explicit PluginPath(const std::string& value) {
    if (const char* before = std::getenv("BERTH_PLUGIN_PATH")) before_ = before;
    setenv("BERTH_PLUGIN_PATH", value.c_str(), 1);
  }
  ~PluginPath() {
    if (before_.empty()) {
      unsetenv("BERTH_PLUGIN_PATH");
    } else {
      setenv("BERTH_PLUGIN_PATH", before_.c_str(), 1);
    }
  }
  PluginPath(const PluginPath&) = delete;
  PluginPath& operator=(const PluginPath&) = delete;

 private:
  std::string before_;
};

class Registered final : public Policy {
 public:
  PolicyAnswer place(Evaluator&, const PlaceContext&) override { return Placement(); }
};
constexpr PluginDescriptor kRegistered =
    describe_plugin<Registered>("registered", "1", "of this program");

std::string error_of(Engine& engine, ErrorCode code) {
  try {
    static_cast<void>(engine.make_policy("fixture"));
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("plugin host: a good plugin is found, described and made") {
  Engine engine({fixture_folder("good")});
  const auto plugins = engine.plugins();
  REQUIRE(plugins.size() == 1);
  CHECK(plugins[0].kind == PluginKind::policy);
  CHECK(plugins[0].name == "fixture");
  CHECK(plugins[0].description == "a fixture");
  CHECK(plugins[0].file == fixture_folder("good") / "policy_fixture.so");
  REQUIRE(plugins[0].options.size() == 1);
  CHECK(plugins[0].options[0].name == "rounds");
  CHECK(plugins[0].options[0].default_value == "8");
  CHECK(engine.problems().empty());
  CHECK(engine.make_policy("fixture") != nullptr);
  CHECK(engine.make_policy("fixture", {{"rounds", std::string("3")}}) != nullptr);
}

TEST_CASE("plugin host: scanning calls nothing in a plugin") {
  const fs::path file = fixture_folder("good") / "policy_fixture.so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const int* calls = static_cast<int*>(dlsym(library, "fixture_calls"));
  REQUIRE(calls != nullptr);
  const int before = *calls;
  Engine engine({fixture_folder("good")});
  static_cast<void>(engine.plugins());
  CHECK(*calls == before);
  static_cast<void>(engine.make_policy("fixture"));
  CHECK(*calls == before + 1);
  dlclose(library);
}

TEST_CASE("plugin host: plugins of another build are refused with the reason") {
  struct Refusal {
    const char* folder;
    std::vector<std::string> parts;
  };
  const std::string abi = std::to_string(BERTH_ABI_VERSION);
  const std::string other_abi = std::to_string(BERTH_ABI_VERSION + 1);
  const std::vector<Refusal> refusals = {
      {"wrong_abi", {"ABI " + other_abi, "ABI " + abi, BERTH_VERSION_STRING, "rebuild"}},
      {"wrong_size", {"8 bytes", std::to_string(sizeof(PluginDescriptor))}},
      {"wrong_magic", {"berth_plugin", "descriptor"}},
      {"wrong_fingerprint", {"otherc++-1", BERTH_BUILD_FINGERPRINT, "9.9.9"}},
      {"no_fingerprint", {BERTH_BUILD_FINGERPRINT}},
      {"unknown_kind", {"factory"}},
      {"other_kind", {"name the file frontend_fixture.so"}},
      {"another", {"holds the policy 'another'; name the file policy_another.so"}},
      {"bad_name", {"name"}},
      {"no_name", {"name"}},
      {"no_options", {"options"}},
      {"nameless_option", {"option #0"}},
      {"no_factory", {"factory"}},
      {"no_symbol", {"berth_plugin", "symbol"}},
      {"unresolved", {"library: undefined symbol: defined_nowhere; link it to what it needs"}},
      {"unresolved_function", {"called_but_defined_nowhere"}},
      {"crashing", {"ABI " + other_abi}},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.folder);
    Engine engine({fixture_folder(refusal.folder)});
    CHECK(engine.plugins().empty());
    const auto problems = engine.problems();
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0]);
    CHECK(mentions(problems[0], (fixture_folder(refusal.folder) / "policy_fixture.so").string()));
    CHECK_FALSE(mentions(problems[0], "\n"));
    for (const std::string& part : refusal.parts) CHECK(mentions(problems[0], part));
    // Asked for by name, the refusal is the answer.
    const std::string error = error_of(engine, ErrorCode::incompatible);
    CAPTURE(error);
    for (const std::string& part : refusal.parts) CHECK(mentions(error, part));
  }
}

TEST_CASE("plugin host: a table in C is a plugin, whatever compiled it") {
  for (const char* const folder : {"table_good", "table_later"}) {
    CAPTURE(folder);
    Engine engine({fixture_folder(folder)});
    const auto plugins = engine.plugins();
    REQUIRE(engine.problems() == std::vector<std::string>());
    REQUIRE(plugins.size() == 1);
    CHECK(plugins[0].kind == PluginKind::policy);
    CHECK(plugins[0].name == "fixture");
    CHECK(plugins[0].version == "1.0");
    CHECK(plugins[0].description == "a table");
    REQUIRE(plugins[0].options.size() == 1);
    CHECK(plugins[0].options[0].meaning == "devices from the last");
    CHECK(plugins[0].file == fixture_folder(folder) / "policy_fixture.so");
  }
}

TEST_CASE("plugin host: a table places, by its options, and says what it asked wrongly") {
  const auto graph = test::layered_graph(/*seed=*/1, {.ops = 90});
  const auto cluster = test::equal_devices(3);
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const DeviceId last = problem->cluster().device_count() - 1;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Policy> wrong;
  {
    Engine engine({fixture_folder("table_good")});
    policy = engine.make_policy("fixture", {{"back", std::string("1")}});
    wrong = engine.make_policy("fixture", {{"back", std::string("/")}});
    test::expect_error(ErrorCode::invalid_argument, {"'forth'", "Known: back"}, [&] {
      static_cast<void>(engine.make_policy("fixture", {{"forth", std::string("1")}}));
    });
  }
  // It outlives its engine, as every policy may.
  const PlaceResult result =
      place(*policy, *evaluator, {}, std::numeric_limits<double>::infinity());
  CHECK(std::count(result.placement.begin(), result.placement.end(), last - 1) ==
        problem->graph().op_count());
  const std::string outside =
      "group #0 is on device " + std::to_string(last + 1) + " of " + std::to_string(last + 1);
  test::expect_error(
      ErrorCode::unsupported, {"policy 'fixture' failed with status 1", outside}, [&] {
        static_cast<void>(place(*wrong, *evaluator, {}, std::numeric_limits<double>::infinity()));
      });
}

TEST_CASE("plugin host: a table that is wrong is refused with the reason") {
  struct Refusal {
    const char* folder;
    ErrorCode code;
    std::vector<std::string> parts;
  };
  const std::vector<Refusal> refusals = {
      {"wrong_magic", ErrorCode::incompatible, {"berth_c_plugin", "BERTH_POLICY_PLUGIN"}},
      {"wrong_abi", ErrorCode::incompatible, {"version 0", "from 2 on", "BERTH_POLICY_PLUGIN"}},
      {"wrong_size", ErrorCode::incompatible, {"8 bytes", std::to_string(sizeof(berth_policy))}},
      {"huge", ErrorCode::incompatible, {"1048576 bytes"}},
      {"asks_later", ErrorCode::incompatible, {"later version", "upgrade Berth"}},
      {"bad_name", ErrorCode::incompatible, {"lacks a name"}},
      {"no_name", ErrorCode::incompatible, {"lacks a name"}},
      {"long_name", ErrorCode::incompatible, {"lacks a name"}},
      {"no_options", ErrorCode::incompatible, {"options is null"}},
      {"no_place", ErrorCode::incompatible, {"without `place`"}},
      {"destroys", ErrorCode::incompatible, {"`destroy`", "leave it null"}},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.folder);
    const fs::path folder = fixture_folder(std::string("table_") + refusal.folder);
    Engine engine({folder});
    CHECK(engine.plugins().empty());
    const auto problems = engine.problems();
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0]);
    CHECK(mentions(problems[0], (folder / "policy_fixture.so").string()));
    for (const std::string& part : refusal.parts) CHECK(mentions(problems[0], part));
    const std::string error = error_of(engine, refusal.code);
    for (const std::string& part : refusal.parts) CHECK(mentions(error, part));
  }
}

TEST_CASE("plugin host: files that are no libraries are refused") {
  std::ifstream good(fixture_folder("good") / "policy_fixture.so", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(good)), std::istreambuf_iterator<char>());
  REQUIRE(bytes.size() > 4096);
  std::vector<std::pair<std::string, std::string>> files = {
      {"empty", ""},
      {"text", "this is a text file\n"},
      {"header alone", bytes.substr(0, 64)},
      {"not an ELF file", std::string(bytes.size(), 'x')},
  };
  // Cut anywhere, and cut by one byte.
  for (std::size_t i = 1; i < 32; ++i) {
    files.emplace_back("cut at " + std::to_string(i) + "/32",
                       bytes.substr(0, bytes.size() * i / 32));
  }
  files.emplace_back("cut by one byte", bytes.substr(0, bytes.size() - 1));
  std::string wrong_machine = bytes;
  wrong_machine[18] = '\x7f';
  files.emplace_back("another machine", wrong_machine);
  for (const auto& [what, content] : files) {
    CAPTURE(what);
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "policy_fixture.so", std::ios::binary) << content;
    Engine engine({folder.path()});
    CHECK(engine.plugins().empty());
    const auto problems = engine.problems();
    REQUIRE(problems.size() == 1);
    CHECK(mentions(problems[0], "policy_fixture.so"));
  }
}

TEST_CASE("plugin host: pipes and folders are refused unopened") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder.path() / "policy_pipe.so").c_str(), 0600) == 0);
  fs::create_directory(folder.path() / "policy_room.so");
  Engine engine({folder.path()});
  CHECK(engine.plugins().empty());
  const auto problems = engine.problems();
  REQUIRE(problems.size() == 2);
  for (const std::string& problem : problems) CHECK(mentions(problem, "is no regular file"));
}

TEST_CASE("plugin host: where a plugin is refused, the answer lists the others") {
  const TemporaryFolder folder;
  fs::copy_file(fixture_folder("another") / "policy_fixture.so",
                folder.path() / "policy_another.so");
  fs::copy_file(fixture_folder("unresolved") / "policy_fixture.so",
                folder.path() / "policy_fixture.so");
  Engine engine({folder.path()});
  const std::string error = error_of(engine, ErrorCode::incompatible);
  CHECK(mentions(error, "Known: another. Refused: "));
  CHECK_FALSE(mentions(error, "Searched"));
}

TEST_CASE("plugin host: asking for one plugin looks at no other") {
  const TemporaryFolder folder;
  fs::copy_file(fixture_folder("good") / "policy_fixture.so", folder.path() / "policy_fixture.so");
  std::ofstream(folder.path() / "policy_broken.so") << "text";
  Engine engine({folder.path()});
  const PluginInfo plugin = engine.plugin(PluginKind::policy, "fixture");
  CHECK(plugin.description == "a fixture");
  REQUIRE(plugin.options.size() == 1);
  CHECK(plugin.options[0].name == "rounds");
  CHECK(engine.problems().empty());
  CHECK_THROWS_AS(static_cast<void>(engine.plugin(PluginKind::policy, "none")), Error);
  CHECK(engine.problems().size() == 1);
}

TEST_CASE("plugin host: other files and folders are left alone") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "README.md") << "text";
  std::ofstream(folder.path() / "libpolicy_fixture.so") << "text";
  std::ofstream(folder.path() / "policy_fixture.so.bak") << "text";
  Engine engine({folder.path(), folder.path() / "no" / "such" / "folder"});
  CHECK(engine.plugins().empty());
  CHECK(engine.problems().empty());
}

TEST_CASE("plugin host: of two plugins with one name the first found wins") {
  Engine engine({fixture_folder("same_name"), fixture_folder("good")});
  const auto plugins = engine.plugins();
  REQUIRE(plugins.size() == 1);
  CHECK(plugins[0].description == "the other one");
  const auto problems = engine.problems();
  REQUIRE(problems.size() == 1);
  CHECK(mentions(problems[0], fixture_folder("good").string()));
  CHECK(mentions(problems[0], fixture_folder("same_name").string()));
}

TEST_CASE("plugin host: BERTH_PLUGIN_PATH is searched in order, after the engine's own folder") {
  const std::string first = fixture_folder("same_name").string();
  const std::string second = fixture_folder("good").string();
  const auto description = [] {
    Engine engine;
    for (const PluginInfo& info : engine.plugins()) {
      if (info.name == "fixture") return info.description;
    }
    return std::string("not found");
  };
  {
    const PluginPath path(first + ":" + second);
    CHECK(description() == "the other one");
  }
  {
    const PluginPath path("::" + second + ":" + first + ":");
    CHECK(description() == "a fixture");
  }
  const PluginPath path("");
  CHECK(description() == "not found");
}

TEST_CASE("plugin host: relative entries of BERTH_PLUGIN_PATH are told and not searched") {
  const fs::path before = fs::current_path();
  fs::current_path(fixture_folder("good"));
  for (const std::string entry : {".", "./", "../good"}) {
    const PluginPath path(entry + ":" + fixture_folder("same_name").string());
    Engine engine;
    CHECK(engine.plugin(PluginKind::policy, "fixture").description == "the other one");
    REQUIRE(engine.problems().size() == 1);
    CHECK(engine.problems()[0] ==
          "BERTH_PLUGIN_PATH: '" + entry + "' is not searched; give the whole path, from '/' on");
  }
  const PluginPath path(".");
  Engine engine;
  test::expect_error(ErrorCode::not_found, {"'fixture'", "BERTH_PLUGIN_PATH: '.' is not searched"},
                     [&] { static_cast<void>(engine.make_policy("fixture")); });
  fs::current_path(before);
}

TEST_CASE("plugin host: entries of BERTH_PLUGIN_PATH that cannot be searched are told") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "file", absent = folder.path() / "absent";
  write_file(file, "");
  const PluginPath path(file + ":" + absent + ":" + fixture_folder("good").string());
  Engine engine;
  CHECK(engine.plugin(PluginKind::policy, "fixture").name == "fixture");
  const auto problems = engine.problems();
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].starts_with("BERTH_PLUGIN_PATH: '" + file +
                                "' cannot be searched: Not a directory; name a folder"));
  CHECK(problems[1].starts_with("BERTH_PLUGIN_PATH: '" + absent +
                                "' cannot be searched: No such file or directory; name a folder"));
  test::expect_error(ErrorCode::not_found, {"'nobody'", "absent' cannot be searched"},
                     [&] { static_cast<void>(engine.make_policy("nobody")); });
}

TEST_CASE("plugin host: a model that may not be read is told from one that is not there") {
  const TemporaryFolder folder;
  Engine engine({fixture_folder("good")});
  const auto refused = [&](const fs::path& model, ErrorCode code, const std::string& why) {
    test::expect_error(code, {model.string(), why},
                       [&] { static_cast<void>(engine.load(model, {})); });
  };
  refused(folder.path() / "absent", ErrorCode::not_found, "no such file or folder");
  fs::create_symlink("circle", folder.path() / "circle");
  refused(folder.path() / "circle", ErrorCode::io, "levels of symbolic links");

  fs::create_directories(folder.path() / "closed/inside");
  write_file(folder.path() / "secret", "");
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder.path() / "closed", fs::perms::none);
  fs::permissions(folder.path() / "secret", fs::perms::none);
  const uid_t user = ::geteuid();
  constexpr uid_t kNobody = 65534;  // permissions hold nobody else back where this user is root
  REQUIRE((user != 0 || ::seteuid(kNobody) == 0));
  refused(folder.path() / "closed", ErrorCode::io, "Permission denied");
  refused(folder.path() / "closed/inside", ErrorCode::io, "Permission denied");
  refused(folder.path() / "secret", ErrorCode::io, "Permission denied");
  REQUIRE((user != 0 || ::seteuid(user) == 0));
  fs::permissions(folder.path() / "closed", fs::perms::all);
}

TEST_CASE("plugin host: the working directory is not searched") {
  const fs::path before = fs::current_path();
  fs::current_path(fixture_folder("good"));
  const PluginPath path(":");
  Engine engine;
  for (const PluginInfo& info : engine.plugins()) CHECK(info.name != "fixture");
  fs::current_path(before);
}

TEST_CASE("plugin host: a frontend that fails gives an error naming it or its model") {
  Engine engine({fixture_folder("frontend")});
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, ErrorCode code,
                           std::initializer_list<std::string_view> parts) {
    const fs::path model = folder.path() / (name + ".fixture");
    std::ofstream(model) << "a model";
    test::expect_error(code, parts, [&] { static_cast<void>(engine.load(model)); });
  };
  refused("claims", ErrorCode::invalid_argument,
          {"frontend 'broken' failed with an error of its own: no idea"});
  refused("throws", ErrorCode::invalid_argument,
          {"throws.fixture: the frontend that reads it failed", "no licence today"});
  refused("number", ErrorCode::invalid_argument, {"unknown exception"});
  refused("empty", ErrorCode::incompatible, {"gave no graph"});
}

TEST_CASE("plugin host: a factory that fails gives an error naming the plugin") {
  SUBCASE("by throwing") {
    Engine engine({fixture_folder("throwing")});
    const std::string error = error_of(engine, ErrorCode::incompatible);
    CHECK(mentions(error, "fixture"));
    CHECK(mentions(error, "no licence today"));
  }
  SUBCASE("by throwing what says nothing") {
    Engine engine({fixture_folder("throwing_int")});
    const std::string error = error_of(engine, ErrorCode::incompatible);
    CHECK(mentions(error, "policy 'fixture' failed to start"));
  }
  SUBCASE("by returning nothing") {
    Engine engine({fixture_folder("null_factory")});
    CHECK(mentions(error_of(engine, ErrorCode::incompatible), "fixture"));
  }
  SUBCASE("because a default does not parse") {
    Engine engine({fixture_folder("bad_default")});
    const std::string error = error_of(engine, ErrorCode::invalid_argument);
    CHECK(mentions(error, "rounds"));
    CHECK(mentions(error, "many"));
  }
}

TEST_CASE("plugin host: an unknown name lists the known ones") {
  Engine engine({fixture_folder("good")});
  try {
    static_cast<void>(engine.make_policy("fixtrue"));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(mentions(error.what(), "fixtrue"));
    CHECK(mentions(error.what(), "'fixture'"));
  }
  for (const char* name : {"", "../good/policy_fixture", "a/b"}) {
    CHECK_THROWS_AS(static_cast<void>(engine.make_policy(name)), Error);
  }
}

TEST_CASE("plugin host: where nothing is known, the answer names the folders") {
  const TemporaryFolder empty;
  const fs::path absent = empty.path() / "absent";
  Engine engine({absent, empty.path()});
  test::expect_error(ErrorCode::not_found,
                     {"Known: none.", "Searched: " + absent.string() + " (no such folder).",
                      "Searched: " + empty.path().string() + "."},
                     [&] { static_cast<void>(engine.make_policy("heft")); });
}

TEST_CASE("plugin host: an unknown name opens no library") {
  Engine engine({fixture_folder("good")});
  const fs::path file = fixture_folder("good") / "policy_fixture.so";
  const auto open = [&] {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  };
  // Other cases of this program open it, and libraries stay.
  const bool before = open();
  test::expect_error(ErrorCode::not_found, {"did you mean 'fixture'"},
                     [&] { static_cast<void>(engine.make_policy("fixtrue")); });
  CHECK(open() == before);
}

TEST_CASE("plugin host: only what is allowed is opened") {
  Engine engine({fixture_folder("good")});
  engine.register_plugin(kRegistered);
  engine.allow_only({"policy_heft", "frontend_*"});
  REQUIRE(engine.plugins().size() == 1);  // what is registered in process stays
  test::expect_error(ErrorCode::not_found, {"Allowed are only: policy_heft, frontend_*"},
                     [&] { static_cast<void>(engine.make_policy("fixture")); });
  engine.allow_only({"policy_heft"}, "study.json: line 3");
  test::expect_error(ErrorCode::not_found,
                     {"policy_heft (the setting \"plugins\", study.json: line 3)."},
                     [&] { static_cast<void>(engine.make_policy("fixture")); });
  engine.allow_only({"policy_fix*"});
  CHECK(engine.make_policy("fixture") != nullptr);
  engine.allow_only({});
  CHECK(engine.plugins().size() == 1);
  for (const char* name : {"heft", "policy heft", "../policy_heft", "policy_heft.so"}) {
    test::expect_error(ErrorCode::invalid_argument, {name, "KIND_NAME"},
                       [&] { engine.allow_only({name}); });
  }
}

TEST_CASE(
    "plugin host: where frontends are not allowed, files that they may read are refused with "
    "that") {
  const TemporaryFolder folder;
  fs::copy_file(fixture_folder("other_kind") / "policy_fixture.so",
                folder.path() / "frontend_fixture.so");
  const fs::path model = folder.path() / "model.onnx";
  std::ofstream(model, std::ios::binary) << "no JSON";
  Engine engine({folder.path()});
  engine.allow_only({"policy_*"}, "study.json: line 3");
  const std::string left_out =
      ". Allowed are only: policy_* (the setting \"plugins\", study.json: line 3), which leaves "
      "out frontend_fixture;";
  test::expect_error(ErrorCode::unsupported, {"no frontend knows this kind of file", left_out},
                     [&] { static_cast<void>(engine.load(model)); });
  const auto graph = test::layered_graph(/*seed=*/1, {.ops = 90});
  const auto cluster = test::equal_devices(3);
  test::expect_error(ErrorCode::unsupported, {"holds no costs", left_out},
                     [&] { static_cast<void>(engine.load_costs(model, *graph, *cluster)); });
  engine.allow_only({"policy_*", "frontend_*"});
  test::expect_error(ErrorCode::incompatible, {"frontend_fixture.so"},
                     [&] { static_cast<void>(engine.load(model)); });
}

TEST_CASE("plugin host: a program of another build is refused in words") {
  test::expect_error(ErrorCode::incompatible, {"ABI 3", std::to_string(BERTH_ABI_VERSION)}, [] {
    const Engine engine({}, {3, BERTH_BUILD_FINGERPRINT});
  });
  test::expect_error(ErrorCode::incompatible, {"otherlib-1", BERTH_BUILD_FINGERPRINT}, [] {
    const Engine engine({}, {BERTH_ABI_VERSION, "otherlib-1"});
  });
  CHECK(version() == std::string(BERTH_VERSION_STRING));
  CHECK(abi_version() == BERTH_ABI_VERSION);
}

TEST_CASE("models of other programs: the error says what they are and how they become readable") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& part) {
    std::ofstream(folder.path() / name) << "x";
    Engine engine;
    test::expect_error(ErrorCode::unsupported, {(folder.path() / name).string(), part},
                       [&] { static_cast<void>(engine.load(folder.path() / name)); });
  };
  refused("model.GGUF", "place that with --for llama.cpp");
  refused("model.pt", "torch.onnx.export");
  refused("model.mlir", "--load-pass-plugin=berth_mlir.so");
  refused("model.onnx.zst", "unpack it first");
  refused("graph.json", "let its name end in .graph.json");
  refused("notes.rtf", "no frontend knows this kind of file. Known: ");
  refused(
      "noext",
      "the end of its name, which this one lacks: link or copy it to a name such as noext.onnx");
  refused("config.json", "optimum-cli export onnx");
  Engine engine;
  test::expect_error(ErrorCode::unsupported, {folder.path().string(), "optimum-cli export onnx"},
                     [&] { static_cast<void>(engine.load(folder.path())); });
}

TEST_CASE("plugin host: a factory is given the pointer of its descriptor") {
  int seen = 0;
  PluginDescriptor descriptor = kRegistered;
  descriptor.user = &seen;
  descriptor.create_policy = [](const Options&, const PolicyMaker&, void* user) -> Policy* {
    ++*static_cast<int*>(user);
    return new Registered;
  };
  Engine engine({fixture_folder("good")});
  engine.register_plugin(descriptor);
  CHECK(engine.make_policy("registered") != nullptr);
  CHECK(seen == 1);
}

namespace {

/// Keeps what the engine hands it, for the test to use.
class Composer final : public Policy {
 public:
  Composer(const Options&, const PolicyMaker& make) : make_(make) {}
  PolicyAnswer place(Evaluator&, const PlaceContext&) override { return Placement(); }
  [[nodiscard]] const PolicyMaker& make() const { return make_; }

 private:
  PolicyMaker make_;
};

constexpr PluginDescriptor kComposer =
    describe_plugin<Composer>("composer", "1", "runs other policies");

}  // namespace

TEST_CASE("plugin host: a policy can make others, for as long as its engine lives") {
  std::unique_ptr<Policy> policy;
  {
    Engine engine({fixture_folder("good")});
    engine.register_plugin(kComposer);
    policy = engine.make_policy("composer");
    const PolicyMaker& make = dynamic_cast<const Composer&>(*policy).make();
    CHECK(make("fixture", {{"rounds", std::int64_t{3}}}) != nullptr);
    // Those it makes can do the same.
    const std::unique_ptr<Policy> inner = make("composer", {});
    CHECK(dynamic_cast<const Composer&>(*inner).make()("fixture", {}) != nullptr);
    try {
      static_cast<void>(make("absent", {}));
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::not_found);
    }
  }
  try {
    static_cast<void>(dynamic_cast<const Composer&>(*policy).make()("fixture", {}));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(mentions(error.what(), "has ended"));
  }
}
