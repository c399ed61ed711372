// Placements written back into files.
#include "tf/annotate.h"

#include <google/protobuf/util/message_differencer.h>

#include "berth/error.h"
#include "berth/sdk/gzip.h"
#include "frontends/tf/proto/graph.pb.h"
#include "support/expect_error.h"
#include "text_graph.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {
namespace {

using test::expect_error;

std::shared_ptr<const Cluster> machine(std::vector<std::string> names = {"gpu:0", "gpu:1",
                                                                         "cpu:0"}) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    Device device;
    device.name = name;
    device.kind = name.substr(0, 3);
    device.host = device.kind == "cpu";
    devices.push_back(device);
  }
  return std::make_shared<Cluster>("machine", devices,
                                   std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
}

/// Ops in turn on the devices of the machine; the file as it is written and the graph of it.
struct Annotated {
  std::string bytes;
  LoadedModel model;
};
Annotated annotate(const std::string& bytes, const std::string& name, const Cluster& cluster) {
  const test::TemporaryFolder folder;
  write_file(folder / name, bytes);
  TensorFlowFrontend frontend{Options{}};
  const LoadedModel model = frontend.load(folder / name, {});
  Placement placement;
  for (OpId op = 0; op < model.graph->op_count(); ++op) {
    placement.push_back(op % cluster.device_count());
  }
  frontend.annotate(folder / name, *model.graph, cluster, placement, folder / ("out." + name));
  return {read_file(folder / ("out." + name)), frontend.load(folder / ("out." + name), {})};
}

const std::string kGraph = "# kept\n" + placeholder("x", {2, 3}) +
                           "node {\n\tname: 'y'\n\top: 'Relu'\n\tinput: 'x'\n\tdevice: "
                           "'/job:a/device:CPU:3' # kept too\n\tattr { key: 'T' value { type: "
                           "DT_FLOAT } }\n}\n" +
                           node("z", "Tanh", "y", kFloats) + "versions { producer: 1087 }\n";

void expect_devices(const Graph& graph) {
  const char* const names[] = {"/device:GPU:0", "/device:GPU:1", "/device:CPU:0"};
  for (OpId op = 0; op < graph.op_count(); ++op) CHECK(graph.requested_device(op) == names[op % 3]);
}

TEST_CASE("text keeps every other character") {
  const Annotated result = annotate(kGraph, "g.pbtxt", *machine());
  expect_devices(*result.model.graph);
  CHECK(result.bytes.find("device: \"/device:GPU:1\" # kept too\n\tattr") != std::string::npos);
  // Without what was written, it is the text that was there.
  std::string rest = result.bytes;
  for (const std::string device : {"device: \"/device:GPU:0\" ", "device: \"/device:CPU:0\" "}) {
    REQUIRE(rest.find(device) != std::string::npos);
    rest.erase(rest.find(device), device.size());
  }
  const std::string changed = "\"/device:GPU:1\"";
  rest.replace(rest.find(changed), changed.size(), "'/job:a/device:CPU:3'");
  CHECK(rest == kGraph);
}

TEST_CASE("what is not of the step goes with the ops that it is co-located with") {
  const test::TemporaryFolder folder;
  write_file(folder / "g.pbtxt",
             placeholder("x", {2, 3}) + node("loss", "Tanh", "x", kFloats) +
                 node("gradient", "Relu", "x",
                      kFloats + " attr { key: '_class' value { list { s: 'loc:@loss' } } }") +
                 node("other", "Tanh", "x", kFloats));
  TensorFlowFrontend frontend{Options{}};
  LoadOptions step;
  step.fetches = {"gradient"};
  const LoadedModel model = frontend.load(folder / "g.pbtxt", step);
  REQUIRE(!model.graph->find_op("loss"));
  Placement placement(static_cast<std::size_t>(model.graph->op_count()), 0);
  placement[static_cast<std::size_t>(*model.graph->find_op("gradient"))] = 1;
  frontend.annotate(folder / "g.pbtxt", *model.graph, *machine(), placement, folder / "out.pbtxt");
  const LoadedModel written = frontend.load(folder / "out.pbtxt", {});
  const auto device = [&](const char* name) {
    return written.graph->requested_device(*written.graph->find_op(name));
  };
  CHECK(device("x") == "/device:GPU:0");
  CHECK(device("gradient") == "/device:GPU:1");
  CHECK(device("loss") == "/device:GPU:1");
  CHECK(device("other").empty());
}

TEST_CASE("a device's name may hold what ends a string of the text") {
  const std::string name = "/job:a\n\"b\\\t\x7f";
  const Annotated result = annotate(kGraph, "g.pbtxt", *machine({name}));
  for (OpId op = 0; op < result.model.graph->op_count(); ++op) {
    CHECK(result.model.graph->requested_device(op) == name);
  }
}

TEST_CASE("binary keeps every other byte, unknown fields and their order too") {
  std::string bytes = text_to_binary(kGraph, MessageKind::graph, "text");
  bytes += "\x9a\x06\x03new";  // a field that no reader knows
  const Annotated result = annotate(bytes, "g.pb", *machine());
  expect_devices(*result.model.graph);
  CHECK(result.bytes.substr(result.bytes.size() - 6) == "\x9a\x06\x03new");
  // With the devices as they were, it is the message that was there, byte by byte.
  const std::string again = set_devices(
      *[&] {
        static test::TemporaryFolder folder;
        write_file(folder / "again.pb", result.bytes);
        return read_model_file(folder / "again.pb");
      }(),
      [&] {
        static test::TemporaryFolder folder;
        write_file(folder / "g.pb", result.bytes);
        GraphDef graph;
        static std::unique_ptr<ModelFile> file;
        file = read_model_file(folder / "g.pb");
        read_graph_def(file->graph, file->source, graph);
        Library library{graph, file->source, {}};
        Placement placement;
        for (OpId op = 0; op < result.model.graph->op_count(); ++op) placement.push_back(op % 3);
        return NodeDevices(library, *result.model.graph, *machine(), placement);
      }());
  CHECK(again == result.bytes);
  tf_files::GraphDef before, after;
  REQUIRE(before.ParseFromString(bytes));
  REQUIRE(after.ParseFromString(result.bytes));
  for (auto* graph : {&before, &after}) {
    for (auto& node : *graph->mutable_node()) node.clear_device();
  }
  CHECK(google::protobuf::util::MessageDifferencer::Equals(before, after));
}

TEST_CASE("wrapped and compressed files stay what they are") {
  const std::string meta = "meta_info_def { tags: 'serve' } graph_def { " + kGraph +
                           " } signature_def { key: 's' value { method_name: 'm' } }";
  const std::string saved = "saved_model_schema_version: 1 meta_graphs { " + meta + " }";
  expect_devices(*annotate(meta, "g.meta", *machine()).model.graph);
  expect_devices(*annotate(saved, "g.pbtxt", *machine()).model.graph);
  expect_devices(*annotate(text_to_binary(meta, MessageKind::meta_graph, ""), "g.meta", *machine())
                      .model.graph);
  const Annotated result = annotate(gzip(text_to_binary(saved, MessageKind::saved_model, "")),
                                    "saved_model.pb.gz", *machine());
  expect_devices(*result.model.graph);
  CHECK(is_gzip(result.bytes));
}

TEST_CASE("devices are named as TensorFlow names them") {
  const auto cluster =
      machine({"gpu:1", "gpux", "cpu:0", "/job:w/device:GPU:7", "cpu", "card", "/device:GPU:2"});
  CHECK(tensorflow_devices(*cluster) ==
        std::vector<std::string>{"/device:GPU:1", "/device:GPU:0", "/device:CPU:0",
                                 "/job:w/device:GPU:7", "/device:CPU:1", "/device:GPU:3",
                                 "/device:GPU:2"});
}

TEST_CASE("a placement on a device that TensorFlow cannot tell apart or does not know is refused") {
  const auto cluster = machine({"gpu:1", "/device:GPU:1", "cpu:0"});
  CHECK_NOTHROW(static_cast<void>(tensorflow_devices(*cluster, {0, 2, 0})));
  expect_error(ErrorCode::unsupported, {"'gpu:1'", "'/device:GPU:1'", "another name"}, [&] {
    static_cast<void>(tensorflow_devices(*cluster, {0, 1, 2}));
  });
  Device host, npu;
  host.name = host.kind = "cpu";
  host.host = true;
  npu.name = npu.kind = "npu";
  npu.runs.types = {"MatMul"};
  const Cluster phone("phone", {host, npu}, std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
  CHECK_NOTHROW(static_cast<void>(tensorflow_devices(phone, {0, 0})));
  expect_error(ErrorCode::unsupported, {"npu", "neural processor", "the tool tensorflow"}, [&] {
    static_cast<void>(tensorflow_devices(phone, {0, 1}));
  });
}

TEST_CASE("weights go where they are read") {
  const std::string text =
      placeholder("x", {256}) +
      node("w", "Const", "",
           attr("dtype", "type: DT_FLOAT") +
               attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 256 } } }")) +
      node("y", "Add", "x w", kFloats);
  const Annotated result = annotate(text, "g.pbtxt", *machine());
  CHECK(result.bytes.find("name: 'w' device: \"/device:GPU:1\"") != std::string::npos);
}

TEST_CASE("a graph of another file is refused") {
  const test::TemporaryFolder folder;
  write_file(folder / "g.pbtxt", kGraph);
  const LoadedModel other = load_bytes(placeholder("other", {1}));
  TensorFlowFrontend frontend{Options{}};
  expect_error(ErrorCode::invalid_argument, {"g.pbtxt", "no node named"}, [&] {
    frontend.annotate(folder / "g.pbtxt", *other.graph, *machine(), {0}, folder / "out.pbtxt");
  });
  CHECK_FALSE(std::filesystem::exists(folder / "out.pbtxt"));
}

TEST_CASE("nodes of a function called twice cannot be in two places") {
  const std::string function =
      "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } "
      "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: 'n' op: 'Relu' input: 'a' " +
      kFloats + " } ret { key: 'r' value: 'n:activations:0' } } }";
  const std::string once = placeholder("x", {2}) + node("c", "f", "x") + function;
  const Annotated result = annotate(once, "g.pbtxt", *machine());
  CHECK(result.bytes.find("name: 'n' device: \"/device:GPU:1\"") != std::string::npos);
  expect_error(ErrorCode::unsupported, {"'f'", "'n'"}, [&] {
    static_cast<void>(
        annotate(placeholder("x", {2}) + node("c", "f", "x") + node("d", "f", "c") + function,
                 "g.pbtxt", *machine()));
  });
}

}  // namespace
}  // namespace berth::tf_frontend
