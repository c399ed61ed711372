// What every frontend owes its callers: one body over all frontend plugins of the build.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/groups.h"
#include "berth/sdk/random.h"
#include "support/data.h"
#include "support/temporary_folder.h"

using namespace berth;
using namespace berth::test;
namespace fs = std::filesystem;

namespace {

// Names that model files have, of every family.
constexpr const char* kModelNames[] = {"m.onnx", "m.ONNX", "m.pb", "m.pbtxt", "m.meta"};

Engine& engine() {
  static Engine instance({test::plugin_folder()});
  return instance;
}

struct Named {
  std::string name;
  std::shared_ptr<Frontend> frontend;
};

std::vector<Named> frontends() {
  std::vector<Named> all;
  for (const PluginInfo& info : engine().plugins()) {
    if (info.kind == PluginKind::frontend) {
      all.push_back({info.name, engine().make_frontend(info.name)});
    }
  }
  return all;
}

/// Every frontend with models writes placements into them.
PlacementWriter& writer_of(const Named& each) {
  auto* const writer = dynamic_cast<PlacementWriter*>(each.frontend.get());
  REQUIRE(writer != nullptr);
  return *writer;
}

std::vector<fs::path> example_models(const Frontend& frontend) {
  std::vector<fs::path> models;
  for (const auto& entry : fs::recursive_directory_iterator(source_path("examples/models"))) {
    if (entry.is_regular_file() && frontend.claims(entry.path())) models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

// Runs `action`, which must throw an Error that names `file`.
template <class Action>
void expect_refusal(const fs::path& file, const Action& action) {
  try {
    action();
    FAIL_CHECK("expected an error about ", file.string());
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK_MESSAGE(message.find(file.filename().string()) != std::string::npos, "the message '",
                  message, "' does not name ", file.filename().string());
  }
}

// A frontend may decline a file by its content; one that claims it must load it or say why not.
void expect_refusal_where_claimed(Frontend& frontend, const fs::path& file) {
  if (!frontend.claims(file)) return;
  expect_refusal(file, [&] { (void)frontend.load(file, {}); });
}

Placement alternating(const Graph& graph) {
  Placement placement(static_cast<std::size_t>(graph.op_count()));
  for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = static_cast<DeviceId>(i % 2);
  return placement;
}

std::size_t file_count(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

}  // namespace

TEST_CASE("there is a frontend, and each claims its own files alone") {
  const auto all = frontends();
  REQUIRE(!all.empty());
  const TemporaryFolder folder;
  for (const char* const name : {"model.txt", "cluster.json", "g.graph.json", "script.lua"}) {
    std::ofstream(folder / name) << "{}";
    for (const Named& each : all) {
      CAPTURE(each.name);
      CHECK(!each.frontend->claims(folder / name));
    }
  }
  for (const Named& each : all) {
    for (const fs::path& model : example_models(*each.frontend)) {
      for (const Named& other : all) {
        CAPTURE(model.string());
        if (other.name != each.name) CHECK(!other.frontend->claims(model));
      }
    }
  }
}

TEST_CASE("files that are not there, empty, folders, pipes or links in a circle are refused") {
  const TemporaryFolder folder;
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const char* const name : kModelNames) {
      CAPTURE(name);
      const fs::path file = folder / name;
      fs::remove_all(file);
      expect_refusal(file, [&] { (void)each.frontend->load(file, {}); });
      std::ofstream(file).flush();
      expect_refusal_where_claimed(*each.frontend, file);
      fs::remove(file);
      fs::create_directory(file);
      expect_refusal_where_claimed(*each.frontend, file);
      fs::remove(file);
      REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
      expect_refusal_where_claimed(*each.frontend, file);
      fs::remove(file);
      fs::create_symlink(file, file);
      expect_refusal_where_claimed(*each.frontend, file);
    }
  }
}

TEST_CASE("random bytes are refused") {
  const TemporaryFolder folder;
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const char* const name : kModelNames) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        std::string bytes(1 + random.below(300), '\0');
        for (char& byte : bytes) byte = static_cast<char>(random.next());
        std::ofstream(folder / name, std::ios::binary) << bytes;
        expect_refusal_where_claimed(*each.frontend, folder / name);
      }
    }
  }
}

TEST_CASE("the same file gives the same graph") {
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const fs::path& model : example_models(*each.frontend)) {
      CAPTURE(model.string());
      const LoadedModel first = each.frontend->load(model, {});
      const LoadedModel second = engine().make_frontend(each.name)->load(model, {});
      CHECK(first.notes == second.notes);
      REQUIRE(first.graph->op_count() == second.graph->op_count());
      CHECK(first.graph->total_param_bytes() == second.graph->total_param_bytes());
      for (OpId op = 0; op < first.graph->op_count(); ++op) {
        REQUIRE(first.graph->op_name(op) == second.graph->op_name(op));
        REQUIRE(first.graph->op_type(op) == second.graph->op_type(op));
        REQUIRE(first.graph->output_bytes(op) == second.graph->output_bytes(op));
        REQUIRE(std::ranges::equal(first.graph->inputs(op), second.graph->inputs(op)));
      }
    }
  }
}

TEST_CASE("a dimension or input the model does not have is an error that names it") {
  LoadOptions dims, shapes;
  dims.dims = {{"no such dimension", 2}};
  shapes.shapes = {{"no such input", {2}}};
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const fs::path& model : example_models(*each.frontend)) {
      CAPTURE(model.string());
      for (const LoadOptions& options : {dims, shapes}) {
        try {
          (void)each.frontend->load(model, options);
          FAIL_CHECK("expected an error");
        } catch (const Error& error) {
          CHECK(error.code() == ErrorCode::invalid_argument);
          CHECK(std::string(error.what()).find("no such") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("a fetch loads what it needs and nothing else") {
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const fs::path& model : example_models(*each.frontend)) {
      CAPTURE(model.string());
      const auto whole = each.frontend->load(model, {}).graph;
      const auto order = whole->topological_order();
      const std::string fetch = whole->op_name(order[order.size() / 2]);
      CAPTURE(fetch);
      const auto expected = prune(*whole, std::vector{fetch});
      LoadOptions options;
      options.fetches = {fetch};
      const auto part = each.frontend->load(model, options).graph;
      REQUIRE(part->op_count() == expected->op_count());
      CHECK(part->op_count() < whole->op_count());
      for (OpId op = 0; op < part->op_count(); ++op) {
        REQUIRE(part->op_name(op) == expected->op_name(op));
        REQUIRE(part->output_bytes(op) == expected->output_bytes(op));
      }
      options.fetches = {fetch, "no such op"};
      try {
        (void)each.frontend->load(model, options);
        FAIL_CHECK("expected an error");
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::not_found);
        CHECK(std::string(error.what()).find("'no such op'") != std::string::npos);
        CHECK(std::string(error.what()).find(model.filename().string()) != std::string::npos);
      }
    }
  }
}

/// A family may have a vocabulary of its own: "/device:GPU:0" is TensorFlow's "gpu:0".
std::string plain_name(std::string device) {
  constexpr std::string_view kTensorFlow = "/device:";
  if (device.starts_with(kTensorFlow)) device.erase(0, kTensorFlow.size());
  for (char& c : device) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return device;
}

TEST_CASE("a placement written into a model is asked for by the graph read back") {
  const auto cluster = Cluster::preset("k80x2");
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    for (const fs::path& model : example_models(*each.frontend)) {
      CAPTURE(model.string());
      const TemporaryFolder folder;
      const fs::path output = folder / model.filename().string();
      const auto graph = each.frontend->load(model, {}).graph;
      const Placement placement = alternating(*graph);
      writer_of(each).annotate(model, *graph, *cluster, placement, output);
      CHECK(file_count(folder.path()) == 1);
      const auto again = each.frontend->load(output, {}).graph;
      REQUIRE(again->op_count() == graph->op_count());
      OpId asked = 0;
      for (OpId op = 0; op < again->op_count(); ++op) {
        REQUIRE(again->op_name(op) == graph->op_name(op));
        const std::string& device = again->requested_device(op);
        if (device.empty()) continue;  // an op that is no node of the file, as a graph input
        ++asked;
        REQUIRE(plain_name(device) ==
                cluster->device(placement[static_cast<std::size_t>(op)]).name);
      }
      CHECK(asked > 0);
    }
  }
}

TEST_CASE("an annotation that fails leaves nothing behind") {
  const auto cluster = Cluster::preset("k80x2");
  int with_models = 0;
  for (const Named& each : frontends()) {
    CAPTURE(each.name);
    const TemporaryFolder folder;
    const auto models = example_models(*each.frontend);
    if (models.empty()) continue;  // it reads nothing but costs
    ++with_models;
    const auto graph = each.frontend->load(models.front(), {}).graph;
    const Placement placement = alternating(*graph);
    CHECK_THROWS_AS(writer_of(each).annotate(folder / "absent", *graph, *cluster, placement,
                                             folder / "out.bin"),
                    Error);
    CHECK_THROWS_AS(writer_of(each).annotate(models.front(), *graph, *cluster, placement,
                                             folder / "absent/out.bin"),
                    Error);
    CHECK(file_count(folder.path()) == 0);
  }
  CHECK(with_models > 0);
}
