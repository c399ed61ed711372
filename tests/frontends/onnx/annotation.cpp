// A placement written into a model and read back.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "berth/cluster.h"
#include "berth/error.h"
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr const char* kModel = R"(<ir_version: 11, opset_import: ["" : 17, "my" : 1]>
g (float[2,3] x) => (float[2,3] y) {
  k = Constant<value = float[3] {1,2,3}>()
  a = my.F(x)
  b = Add(a, k)
  y = Relu(b)
}
<opset_import: ["" : 17], domain: "my"> F (p) => (q) { r = Relu(p) q = Abs(r) }
)";

Cluster two_devices() {
  Device cpu, gpu;
  cpu.name = "cpu:0";
  cpu.kind = "cpu";
  gpu.name = "gpu:0";
  gpu.kind = "gpu";
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = 1e9;
  return Cluster("two", {cpu, gpu}, {link});
}

std::string content(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST_CASE("devices of nodes survive the round trip") {
  ModelFolder models;
  const auto path = models.save(parse_model(kModel));
  const auto output = models.folder() / "placed.onnx";
  const Cluster cluster = two_devices();
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  placement[static_cast<std::size_t>(op(*graph, "y"))] = 1;
  models.frontend().annotate(path, *graph, cluster, placement, output);
  const auto placed = models.frontend().load(output, {}).graph;
  CHECK(placed->requested_device(op(*placed, "y")) == "gpu:0");
  CHECK(placed->requested_device(op(*placed, "b")) == "cpu:0");

  SUBCASE("the standard's multi-device fields say the same") {
    // NodeProto.device_configurations (10): configuration_id (1) "berth", sharding_spec (2) of
    // tensor_name (1) "y" on device (2) 1; ModelProto.configuration (26): name, two devices.
    const std::string bytes = content(output);
    CHECK(bytes.find(std::string("\x52\x0e\x0a\x05"
                                 "berth\x12\x05\x0a\x01y\x10\x01",
                                 16)) != std::string::npos);
    CHECK(bytes.find("\xd2\x01\x17\x0a\x05"
                     "berth\x10\x02\x1a\x05"
                     "cpu:0\x1a\x05"
                     "gpu:0") != std::string::npos);
  }
  SUBCASE("ONNX Runtime's layer annotation says the same") {
    // NodeProto.metadata_props (9): key (1) "layer_ann", value (2) the device.
    CHECK(content(output).find("\x4a\x12\x0a\x09layer_ann\x12\x05gpu:0") != std::string::npos);
  }
  SUBCASE("a second placement replaces the first") {
    placement.assign(placement.size(), 1);
    models.frontend().annotate(output, *placed, cluster, placement, output);
    const auto again = models.frontend().load(output, {}).graph;
    CHECK(again->requested_device(op(*again, "y")) == "gpu:0");
    CHECK(again->requested_device(op(*again, "b")) == "gpu:0");
    placement.assign(placement.size(), 0);
    const auto once = models.folder() / "once.onnx";
    models.frontend().annotate(path, *graph, cluster, placement, once);
    models.frontend().annotate(output, *again, cluster, placement, output);
    CHECK(content(output) == content(once));
  }
  SUBCASE("all else is as it was") {
    onnx::ModelProto before, after;
    REQUIRE(before.ParseFromString(content(path)));
    REQUIRE(after.ParseFromString(content(output)));
    after.DiscardUnknownFields();
    for (onnx::NodeProto& node : *after.mutable_graph()->mutable_node()) {
      for (const int added : {9, 10}) {  // metadata and devices, where this libonnx knows them
        const auto* const field = node.GetDescriptor()->FindFieldByNumber(added);
        if (field != nullptr) node.GetReflection()->ClearField(&node, field);
      }
    }
    if (const auto* const field = after.GetDescriptor()->FindFieldByNumber(26)) {
      after.GetReflection()->ClearField(&after, field);
    }
    CHECK(after.SerializeAsString() == before.SerializeAsString());
  }
}

TEST_CASE("a file of an older version gets metadata, and no field that its version lacks") {
  for (const std::int64_t version : {8, 10}) {
    ModelFolder models;
    onnx::ModelProto model = parse_model(kModel);
    model.set_ir_version(version);
    const auto path = models.save(model);
    const auto output = models.folder() / "placed.onnx";
    const auto graph = models.frontend().load(path, {}).graph;
    const Placement placement(static_cast<std::size_t>(graph->op_count()), 1);
    models.frontend().annotate(path, *graph, two_devices(), placement, output);
    const std::string bytes = content(output);
    CHECK(bytes.find("\x4a\x12\x0a\x09layer_ann\x12\x05gpu:0") != std::string::npos);
    // "berth" with a device list or a sharding behind it.
    CHECK(bytes.find(std::string("\x0a\x05"
                                 "berth\x10")) == std::string::npos);
    CHECK(bytes.find(std::string("\x0a\x05"
                                 "berth\x12")) == std::string::npos);
    onnx::ModelProto after;
    REQUIRE(after.ParseFromString(bytes));
    CHECK(after.ir_version() == version);
  }
}

std::string device_of_node(const std::filesystem::path& path, int index) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(content(path)));
  const std::string node = model.graph().node(index).SerializeAsString();
  for (const char* const device : {"cpu:0", "gpu:0"}) {
    if (node.find(device) != std::string::npos) return device;
  }
  return "";
}

TEST_CASE("calls of functions and Constants") {
  ModelFolder models;
  const auto path = models.save(parse_model(kModel));
  const auto output = models.folder() / "placed.onnx";
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  SUBCASE("a call whose ops agree has their device, a Constant that of its readers") {
    placement[static_cast<std::size_t>(op(*graph, "b"))] = 1;
    models.frontend().annotate(path, *graph, two_devices(), placement, output);
    CHECK(device_of_node(output, 0) == "gpu:0");
    CHECK(device_of_node(output, 1) == "cpu:0");
  }
  SUBCASE("a call whose ops are apart cannot be said") {
    placement[static_cast<std::size_t>(op(*graph, "a/r"))] = 1;
    expect_error(ErrorCode::unsupported, {"on several devices", "onnx.inliner"}, [&] {
      models.frontend().annotate(path, *graph, two_devices(), placement, output);
    });
    CHECK_FALSE(std::filesystem::exists(output));
  }
}

TEST_CASE("external data lies beside the model that is written") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }");
  add_weight(proto, "w", {3});
  onnx::TensorProto& weight = *proto.mutable_graph()->mutable_initializer(0);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* const location = weight.add_external_data();
  location->set_key("location");
  location->set_value("data/w.bin");
  const auto path = models.save(proto);
  std::filesystem::create_directories(models.folder() / "data");
  std::ofstream(models.folder() / "data/w.bin", std::ios::binary) << std::string(12, '\1');
  const auto graph = models.frontend().load(path, {}).graph;
  const auto annotate = [&](const std::string& output) {
    std::filesystem::create_directories((models.folder() / output).parent_path());
    models.frontend().annotate(path, *graph, two_devices(),
                               Placement(static_cast<std::size_t>(graph->op_count()), 0),
                               models.folder() / output);
  };
  SUBCASE("in another folder it is copied") {
    annotate("other/placed.onnx");
    CHECK(content(models.folder() / "other/data/w.bin") == std::string(12, '\1'));
    annotate("other/placed.onnx");
  }
  SUBCASE("and another file is not taken for it, nor replaced") {
    std::filesystem::create_directories(models.folder() / "other/data");
    std::ofstream(models.folder() / "other/data/w.bin") << "another";
    expect_error(ErrorCode::io, {"other/data/w.bin: is another file than"},
                 [&] { annotate("other/placed.onnx"); });
    CHECK(content(models.folder() / "other/data/w.bin") == "another");
    CHECK_FALSE(std::filesystem::exists(models.folder() / "other/placed.onnx"));
  }
  SUBCASE("beside the model nothing is to be done") {
    annotate("placed.onnx");
    CHECK(std::filesystem::exists(models.folder() / "placed.onnx"));
  }
  SUBCASE("a pipe stays one, and nothing is put beside it") {
    annotate("placed.onnx");
    std::filesystem::create_directories(models.folder() / "other");
    const auto pipe = models.folder() / "other/pipe.onnx";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(reader >= 0);
    annotate("other/pipe.onnx");
    CHECK(std::filesystem::is_fifo(pipe));
    char buffer[1 << 16];
    const auto count = ::read(reader, buffer, sizeof buffer);
    ::close(reader);
    REQUIRE(count > 0);
    CHECK(std::string(buffer, static_cast<std::size_t>(count)) ==
          content(models.folder() / "placed.onnx"));
    CHECK_FALSE(std::filesystem::exists(models.folder() / "other/data"));
  }
  SUBCASE("a link stays, and the file behind it keeps its permissions") {
    const auto link = models.folder() / "link.onnx", placed = models.folder() / "placed.onnx";
    std::filesystem::create_symlink("placed.onnx", link);
    annotate("link.onnx");
    const auto owner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    std::filesystem::permissions(placed, owner);
    annotate("link.onnx");
    CHECK(std::filesystem::is_symlink(link));
    CHECK(std::filesystem::status(placed).permissions() == owner);
  }
}

TEST_CASE("nothing is written for a placement of another graph, or where nothing can be") {
  ModelFolder models;
  const auto path = models.save(parse_model(kModel));
  const auto other = models.load(parse_graph("g (float[2] x) => (y) { y = Abs(x) q = Abs(x) }"));
  const auto output = models.folder() / "placed.onnx";
  const Placement placement(static_cast<std::size_t>(other.graph->op_count()), 0);
  expect_error(ErrorCode::invalid_argument, {"m.onnx", "another graph"}, [&] {
    models.frontend().annotate(path, *other.graph, two_devices(), placement, output);
  });
  CHECK(!std::filesystem::exists(output));
  const auto graph = models.frontend().load(path, {}).graph;
  const Placement right(static_cast<std::size_t>(graph->op_count()), 0);
  expect_error(ErrorCode::io, {"absent"}, [&] {
    models.frontend().annotate(path, *graph, two_devices(), right,
                               models.folder() / "absent/placed.onnx");
  });
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(models.folder().path())) {
    ++files;
  }
  CHECK(files == 1);
}

}  // namespace
}  // namespace berth::test
