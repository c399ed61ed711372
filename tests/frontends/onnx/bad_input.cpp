// Broken models: one clear message each.
#include <fstream>
#include <functional>

#include "berth/error.h"
#include "berth/sdk/gzip.h"
#include "model_text.h"
#include "onnx/skeleton.h"
#include "support/expect_error.h"
#include "support/wire.h"

namespace berth::test {
namespace {

using frontend::append_bytes_field;
using onnx::ModelProto;

constexpr const char* kGood = "g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }";

TEST_CASE("broken graphs") {
  struct Broken {
    const char* what;
    std::function<void(ModelProto&)> damage;
    ErrorCode code;
    std::initializer_list<std::string_view> parts;
  };
  const auto node = [](ModelProto& m, int i) { return m.mutable_graph()->mutable_node(i); };
  const auto weight = [](ModelProto& m, std::vector<std::int64_t> dims) {
    add_weight(m, "w", dims);
    return m.mutable_graph()->mutable_initializer(0);
  };
  const Broken kBroken[] = {
      {"an input nobody makes",
       [&](ModelProto& m) { node(m, 1)->set_input(0, "b"); },
       ErrorCode::invalid_graph,
       {"m.onnx", "'y' (Relu)", "'b'"}},
      {"an output nobody makes",
       [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
       ErrorCode::invalid_graph,
       {"graph output 'z'"}},
      {"a cycle",
       [&](ModelProto& m) { node(m, 0)->set_input(0, "y"); },
       ErrorCode::invalid_graph,
       {"'y', 'a'", "circle"}},
      {"a node that reads itself",
       [&](ModelProto& m) { node(m, 0)->set_input(0, "a"); },
       ErrorCode::invalid_graph,
       {"'a'", "circle"}},
      {"two producers",
       [&](ModelProto& m) { node(m, 0)->set_output(0, "y"); },
       ErrorCode::invalid_graph,
       {"'y' is produced twice"}},
      {"an input that is produced",
       [&](ModelProto& m) { node(m, 0)->set_output(0, "x"); },
       ErrorCode::invalid_graph,
       {"'x' is produced twice"}},
      {"two inputs of a name",
       [](ModelProto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); },
       ErrorCode::invalid_graph,
       {"two graph inputs are named 'x'"}},
      {"two weights of a name",
       [&](ModelProto& m) {
         weight(m, {2});
         weight(m, {3});
       },
       ErrorCode::invalid_graph,
       {"two initializers are named 'w'"}},
      {"a negative dimension",
       [&](ModelProto& m) {
         weight(m, {2, -3});
       },
       ErrorCode::invalid_file,
       {"tensor 'w'", "-3"}},
      {"dimensions that overflow",
       [&](ModelProto& m) {
         weight(m, {std::int64_t{1} << 40, std::int64_t{1} << 40});
       },
       ErrorCode::invalid_file,
       {"tensor 'w'", "larger than any memory"}},
      {"too many dimensions",
       [&](ModelProto& m) { weight(m, std::vector<std::int64_t>(1000, 1)); },
       ErrorCode::invalid_file,
       {"tensor 'w'", "1000 dimensions"}},
      {"data that does not fit its shape",
       [&](ModelProto& m) { weight(m, {3})->set_raw_data("12345678"); },
       ErrorCode::invalid_file,
       {"tensor 'w'", "8 bytes", "12"}},
      {"a weight without a type",
       [&](ModelProto& m) { weight(m, {3})->clear_data_type(); },
       ErrorCode::invalid_file,
       {"tensor 'w'", "element type"}},
      {"no operator set",
       [](ModelProto& m) { m.clear_opset_import(); },
       ErrorCode::invalid_file,
       {"opset_import"}},
      {"a negative operator set",
       [](ModelProto& m) { m.mutable_opset_import(0)->set_version(-1); },
       ErrorCode::invalid_file,
       {"version -1"}},
      {"no IR version",
       [](ModelProto& m) { m.clear_ir_version(); },
       ErrorCode::invalid_file,
       {"ir_version"}},
      {"no graph",
       [](ModelProto& m) { m.clear_graph(); },
       ErrorCode::invalid_file,
       {"holds no graph"}},
  };
  ModelFolder models;
  for (const Broken& broken : kBroken) {
    CAPTURE(broken.what);
    ModelProto model = parse_graph(kGood);
    broken.damage(model);
    expect_error(broken.code, broken.parts, [&] { (void)models.load(model); });
  }
}

TEST_CASE("broken functions") {
  struct Broken {
    const char* functions;
    std::initializer_list<std::string_view> parts;
  };
  const Broken kBroken[] = {
      {"<opset_import: [\"my\" : 1], domain: \"my\"> F (p) => (q) { q = my.F(p) }",
       {"'F' calls itself"}},
      {"<opset_import: [\"my\" : 1], domain: \"my\"> F (p) => (q) { q = my.G(p) } <opset_import: "
       "[\"my\" : 1], domain: \"my\"> G (p) => (q) { q = my.F(p) }",
       {"calls itself"}},
      {"<opset_import: [\"\" : 17], domain: \"my\"> F (p) => (q) { r = Relu(p) }",
       {"'F' never produces its output 'q'"}},
      {"<opset_import: [\"\" : 17], domain: \"my\"> F (p) => (q) { q = Relu(x) }",
       {"(Relu) reads 'x'"}},
      {"<opset_import: [\"\" : 17], domain: \"my\"> F (p, p) => (q) { q = Relu(p) }",
       {"two inputs named 'p'"}},
      {"<opset_import: [\"\" : 17], domain: \"my\"> F () => (q) { q = Constant<value_int = 1>() }",
       {"has 1 inputs"}},
      {"<opset_import: [\"\" : 17], domain: \"my\"> F (p) => (q) { q = Relu(p) } <opset_import: "
       "[\"\" : 17], domain: \"my\"> F (p) => (q) { q = Relu(p) }",
       {"'F'", "twice"}},
  };
  ModelFolder models;
  for (const Broken& broken : kBroken) {
    CAPTURE(broken.functions);
    const ModelProto model = parse_model(
        std::string("<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> g (float[2] x) => "
                    "(float[2] y) { y = my.F(x) } ") +
        broken.functions);
    try {
      (void)models.load(model);
      FAIL_CHECK("expected an error");
    } catch (const Error& error) {
      for (const auto part : broken.parts) {
        CHECK_MESSAGE(std::string_view(error.what()).find(part) != std::string_view::npos,
                      std::string(error.what()));
      }
    }
  }
}

TEST_CASE("functions that unfold to more nodes than any model are refused") {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> g (float[2] x) => "
      "(float[2] y) { y = my.F40(x) } <opset_import: [\"\" : 17], domain: \"my\"> "
      "F0 (p) => (q) { q = Relu(p) }";
  for (int i = 1; i <= 40; ++i) {
    const std::string inner = "my.F" + std::to_string(i - 1);
    text += "<opset_import: [\"my\" : 1], domain: \"my\"> F" + std::to_string(i) +
            " (p) => (q) { r = " + inner + "(p) q = " + inner + "(r) }";
  }
  ModelFolder models;
  expect_error(ErrorCode::unsupported, {"more than 1000000 nodes"},
               [&] { (void)models.load(parse_model(text)); });
}

TEST_CASE("every truncation of a model is refused") {
  ModelFolder models;
  ModelProto model = parse_graph(kGood);
  add_weight(model, "w", {2});
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("12345678");
  const std::string whole = model.SerializeAsString();
  CHECK_NOTHROW((void)models.load(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    bool refused = false;
    try {
      (void)models.load(whole.substr(0, size));
    } catch (const Error&) {
      refused = true;
    }
    // Cut between the model's own fields, the start can be a model without what follows.
    if (!refused) CHECK(size > whole.size() / 2);
  }
}

TEST_CASE("wrong wire types and lengths are told with their place") {
  struct Broken {
    std::string bytes;
    std::string_view part;
  };
  std::string graph_as_number, long_field, nested = "x";
  frontend::append_varint_field(graph_as_number, 7, 1);
  long_field = std::string("\x3a\xff\xff\xff\xff\x0f", 6);
  const Broken kBroken[] = {
      {graph_as_number, "field 7 of ModelProto has wire type 0 instead of 2"},
      {long_field, "claims 4294967295 bytes"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "longer than 64 bits"},
      {std::string("\x0b"), "wire type 3"},
      {std::string("\x02\x00", 2), "no field has this number"},
      {"not a model at all", "byte"},
  };
  ModelFolder models;
  for (const Broken& broken : kBroken) {
    expect_error(ErrorCode::invalid_file, {"m.onnx", "byte", broken.part},
                 [&] { (void)models.load(broken.bytes); });
  }
}

TEST_CASE("graphs nested without end are refused") {
  std::string graph;
  for (int i = 0; i < 5000; ++i) {
    std::string attribute, node, outer;
    append_bytes_field(attribute, 6, graph);
    append_bytes_field(node, 5, attribute);
    append_bytes_field(outer, 1, node);
    graph = outer;
  }
  std::string model;
  append_bytes_field(model, 7, graph);
  ModelFolder models;
  expect_error(ErrorCode::invalid_file, {"nested more than 32 deep"},
               [&] { (void)models.load(model); });
}

TEST_CASE("types nested without end are refused") {
  std::string type;
  for (int i = 0; i < 5000; ++i) {
    std::string sequence, outer;
    append_bytes_field(sequence, 1, type);
    append_bytes_field(outer, 4, sequence);
    type = outer;
  }
  std::string info, graph, model;
  append_bytes_field(info, 1, "x");
  append_bytes_field(info, 2, type);
  append_bytes_field(graph, 11, info);
  append_bytes_field(model, 7, graph);
  ModelFolder models;
  expect_error(ErrorCode::invalid_file, {"nested too deep"}, [&] { (void)models.load(model); });
}

TEST_CASE("lists that a loop nests in lists, or that never end, do no harm") {
  for (const char* const grows :
       {"SequenceConstruct(q)", "SequenceConstruct(q, q)", "Optional(q)", "SequenceInsert(q, q)",
        "SequenceInsert(q, x)", "SplitToSequence(q)"}) {
    CAPTURE(grows);
    onnx::ModelProto proto = parse_graph(
        "g (float[2,3] x) => (y) <int64 m = {30000}> { e = SequenceEmpty() y = Loop(m, , e) <body "
        "= "
        "b (int64 i, bool c, float q) => (bool d, float r) { d = Identity(c) r = " +
        std::string(grows) + " }> }");
    auto* const body = proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
    body->mutable_input(2)->clear_type();
    body->mutable_output(1)->clear_type();
    ModelFolder models;
    CHECK(models.load(proto).graph->op_count() == 3);
  }
}

TEST_CASE("attributes out of range do no harm") {
  static constexpr const char* kGraphs[] = {
      "g (float[1,3,8,8] x, float[4,3,3,3] w) => (y) { y = Conv<strides = [0,0]>(x, w) }",
      "g (float[1,3,8,8] x, float[4,3,3,3] w) => (y) { y = Conv<dilations = [-1,9]>(x, w) }",
      "g (float[1,3,8,8] x, float[4,3,3,3] w) => (y) { y = ConvTranspose<strides = [0,0]>(x, w) }",
      "g (float[1,3,8,8] x) => (y) { y = MaxPool<kernel_shape = [0]>(x) }",
      "g (float[1,3,8,8] x) => (y) { y = Transpose<perm = [-9,0,1,2]>(x) }",
      "g (float[1,3,8,8] x) => (y) { y = SpaceToDepth<blocksize = 0>(x) }",
      "g (float[1,3,8,8] x) => (y, z) { y, z = LayerNormalization<axis = -100>(x, x) }",
      "g (float[1,3,8,8] x) => (y) { y = Flatten<axis = 99>(x) }",
      "g (float[1,3,8,8] x) => (y) { y = ArgMax<axis = -99>(x) }",
      "g (float[1,3,8,8] x) => (y) { y = Concat<axis = 9223372036854775807>(x, x) }",
      "g (float[4] x) => (y) <int64 s = {0}> { y = SplitToSequence(x, s) }",
      "g (float[4] x) => (y) { y = Einsum<equation = \"...,->->\">(x) }",
      "g (float[4] x) => (y) { y = If(x) }",
      "g (float[4] x) => (y) { y = Loop(x) }",
      "g (float[4] x) => (y) { y = Scan<num_scan_inputs = 99, body = b () => () { }>(x) }",
      "g (float[4] x) => (y) { y = Cast<to = 12345>(x) }",
      "g (float[4] x) => (y) <int64[1] s = {-9223372036854775807}> { y = Reshape(x, s) }",
      "g (float[4] x) => (y) { y = Conv() }",
      "g () => (y) { y = Add() }",
  };
  ModelFolder models;
  for (const char* const graph : kGraphs) {
    CAPTURE(graph);
    CHECK_NOTHROW((void)models.load(parse_graph(graph)));
  }
}

TEST_CASE("attributes of a wrong type do no harm") {
  ModelFolder models;
  ModelProto model = parse_graph("g (float[1,4,8,8] x) => (y) { y = DepthToSpace(x) }");
  auto* const attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("blocksize");
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s("two");
  const LoadedModel loaded = models.load(model);
  CHECK(has_note(loaded, "attribute 'blocksize' has another type"));
}

TEST_CASE("files that are no files") {
  ModelFolder models;
  const auto load = [&](const std::string& name) {
    (void)models.frontend().load(models.folder() / name, {});
  };
  std::filesystem::create_directory(models.folder() / "folder.onnx");
  (void)models.save(std::string(), "empty.onnx");
  expect_error(ErrorCode::not_found, {"absent.onnx"}, [&] { load("absent.onnx"); });
  expect_error(ErrorCode::invalid_file, {"folder.onnx", "not a regular file"},
               [&] { load("folder.onnx"); });
  expect_error(ErrorCode::invalid_file, {"empty.onnx", "empty"}, [&] { load("empty.onnx"); });
}

TEST_CASE("a pointer of Git LFS in the place of the model is told, and how to get the file") {
  ModelFolder models;
  const auto path = models.save(
      std::string("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"));
  expect_error(ErrorCode::invalid_file, {"m.onnx", "Git LFS", "git lfs pull"},
               [&] { (void)models.frontend().load(path, {}); });
}

TEST_CASE("a compressed model is read, and written compressed") {
  ModelFolder models;
  const auto proto = parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const auto path = models.save(gzip(proto.SerializeAsString()), "m.onnx.gz");
  CHECK(models.frontend().claims(path));
  const LoadedModel model = models.frontend().load(path, {});
  CHECK(type_text(*model.graph, "y") == "f32[2]");
  const Cluster cluster("c", {Device{.name = "gpu:0", .kind = "gpu"}}, {});
  const auto written = models.folder() / "placed.onnx.gz";
  models.frontend().annotate(path, *model.graph, cluster, {0, 0}, written);
  CHECK(models.frontend().load(written, {}).graph->requested_device(1) == "gpu:0");
  expect_error(ErrorCode::invalid_file, {"cut.onnx.gz", "gzip", "cut short"}, [&] {
    (void)models.frontend().load(
        models.save(gzip(proto.SerializeAsString()).substr(0, 40), "cut.onnx.gz"), {});
  });
}

// --- external data -------------------------------------------------------------------------------

ModelProto with_external_weight(const std::string& location) {
  ModelProto model = parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  add_weight(model, "w", {2});
  auto* const tensor = model.mutable_graph()->mutable_initializer(0);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* const entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  return model;
}

TEST_CASE("external data is located, and need not be there") {
  ModelFolder models;
  SUBCASE("absent") {
    const LoadedModel model = models.load(with_external_weight("w.bin"));
    CHECK(model.notes.empty());  // placing needs no weights
    CHECK(model.graph->total_param_bytes() == 8);
  }
  SUBCASE("there, and too short to say anything") {
    (void)models.save(std::string("x"), "w.bin");
    CHECK(models.load(with_external_weight("w.bin")).notes.empty());
  }
  SUBCASE("a link within the folder") {
    (void)models.save(std::string("x"), "real.bin");
    std::filesystem::create_symlink("real.bin", models.folder() / "w.bin");
    CHECK(models.load(with_external_weight("w.bin")).notes.empty());
  }
  SUBCASE("beside the file that a linked model points to") {
    const TemporaryFolder cache;
    std::ofstream(cache / "blob") << with_external_weight("w.bin").SerializeAsString();
    std::ofstream(cache / "data") << "x";
    std::filesystem::create_symlink(cache / "blob", models.folder() / "linked.onnx");
    std::filesystem::create_symlink(cache / "data", models.folder() / "w.bin");
    CHECK_NOTHROW((void)models.frontend().load(models.folder() / "linked.onnx", {}));
  }
}

TEST_CASE("the files of a model are its external data, whether or not they are there") {
  ModelFolder models;
  const auto& parts = dynamic_cast<const ModelFiles&>(models.frontend());
  const auto saved = models.save(with_external_weight("w.bin").SerializeAsString(), "m.onnx");
  CHECK(parts.files(saved) == std::vector{models.folder() / "w.bin"});
  CHECK(parts
            .files(models.save(
                parse_graph("g (float[2] x) => (y) { y = Relu(x) }").SerializeAsString(),
                "whole.onnx"))
            .empty());
  CHECK(parts.files(models.save(std::string("no model"), "bad.onnx")).empty());
  CHECK(parts.files(models.folder() / "absent.onnx").empty());
}

TEST_CASE("external data outside the model's folder is refused") {
  ModelFolder models;
  std::filesystem::create_symlink("/etc", models.folder() / "away");
  for (const std::string location : {"/etc/passwd", "../w.bin", "a/../../w.bin", "away/passwd"}) {
    CAPTURE(location);
    expect_error(ErrorCode::invalid_file, {"tensor 'w'", location, "leaves the model's folder"},
                 [&] { (void)models.load(with_external_weight(location)); });
  }
  expect_error(ErrorCode::invalid_file, {"tensor 'w'", "without a location"},
               [&] { (void)models.load(with_external_weight("")); });
}

}  // namespace
}  // namespace berth::test
