// Forms of files, and files that are none.
#include "berth/error.h"
#include "berth/sdk/gzip.h"
#include "support/expect_error.h"
#include "text_graph.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {
namespace {

using test::expect_error;

const std::string kGraph = "# a comment\n" + placeholder("x", {2, 3}) +
                           node("y", "Relu", "x", kFloats) + "versions { producer: 1087 }\n";

void expect_graph(const LoadedModel& model) {
  CHECK(model.graph->op_count() == 2);
  CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{2, 3});
  CHECK(model.graph->dialect() == "tf");
}

std::string binary(const std::string& text) {
  return text_to_binary(text, kind_of_text(text, "text"), "text");
}

TEST_CASE("one graph loads from every form") {
  SUBCASE("text") {
    expect_graph(load_bytes(kGraph));
  }
  SUBCASE("text, compressed") {
    expect_graph(load_bytes(gzip(kGraph), {}, "g.pbtxt.gz"));
  }
  SUBCASE("binary") {
    expect_graph(load_bytes(binary(kGraph), {}, "g.pb"));
  }
  SUBCASE("binary, compressed") {
    expect_graph(load_bytes(gzip(binary(kGraph)), {}, "g.pb.gz"));
  }
  SUBCASE("two members of a compressed file") {
    const std::string bytes = binary(kGraph);
    expect_graph(load_bytes(gzip(bytes.substr(0, 20)) + gzip(bytes.substr(20)), {}, "g.pb.gz"));
  }
  SUBCASE("a MetaGraphDef") {
    const std::string text = "meta_info_def { tags: 'train' } graph_def { " + kGraph + " }";
    expect_graph(load_bytes(text, {}, "g.meta"));
    expect_graph(load_bytes(binary(text), {}, "g.meta"));
  }
  SUBCASE("a SavedModel, its file and its folder") {
    const std::string text =
        "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def { " +
        kGraph + " } }";
    expect_graph(load_bytes(text, {}, "saved_model.pbtxt"));
    const test::TemporaryFolder folder;
    write_file(folder / "saved_model.pb", binary(text));
    TensorFlowFrontend frontend{Options{}};
    CHECK(frontend.claims(folder.path()));
    expect_graph(frontend.load(folder.path(), {}));
  }
}

TEST_CASE("claims goes by name and first bytes") {
  const TensorFlowFrontend frontend{Options{}};
  const test::TemporaryFolder folder;
  const auto claims = [&](const std::string& name, const std::string& bytes) {
    write_file(folder / name, bytes);
    return frontend.claims(folder / name);
  };
  CHECK(claims("a.pb", binary(kGraph)));
  CHECK(claims("a.pbtxt", kGraph));
  CHECK(claims("a.pb.gz", gzip(binary(kGraph))));
  CHECK_FALSE(claims("a.json", kGraph));
  CHECK_FALSE(claims("model.onnx.pb", binary(kGraph)));
  // As a model of ONNX begins: a version, then its producer.
  CHECK_FALSE(claims("model.pb", std::string("\x08\x07\x12\x07pytorch\x1a\x03") + "2.0"));
  CHECK_FALSE(frontend.claims(folder / "missing.pb"));
  CHECK_FALSE(frontend.claims(folder.path()));
}

TEST_CASE("a file that is no graph is refused with the place and the fix") {
  struct Case {
    const char* what;
    std::string bytes;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"empty", "", {"empty"}},
      {"another message as text", "op { name: 'Add' }", {"line 1", "'op'", "op definitions"}},
      {"words", "this is no graph", {"line 1", "'this'"}},
      {"text cut short", "node { name: 'x' op: 'NoOp'", {"line 1"}},
      {"an unknown enumerator",
       "node { name: 'x' op: 'Placeholder'\n attr { key: 'dtype' value "
       "{ type: DT_WRONG } } }",
       {"line 2", "column", "DT_WRONG"}},
      {"a wrong type", "node {\n name: 3 }", {"line 2", "column 8"}},
      {"random bytes", std::string("\x8a\x01\xff\x00\x13", 5), {"no GraphDef"}},
      {"a cut binary", binary(kGraph).substr(0, 60), {"byte", "are left"}},
      {"a pointer of Git LFS",
       "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
       {"Git LFS", "git lfs pull"}},
      {"gzip cut short", gzip(binary(kGraph)).substr(0, 40), {"gzip", "damaged"}},
      {"no nodes", "versions { producer: 20 }", {"no nodes"}},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.what);
    try {
      static_cast<void>(load_bytes(bad.bytes, {}, "bad.pb"));
      FAIL_CHECK("loaded");
    } catch (const Error& error) {
      const std::string message = error.what();
      CHECK(message.find("bad.pb") != std::string::npos);
      for (const std::string& part : bad.parts) {
        CHECK_MESSAGE(message.find(part) != std::string::npos, "'", message, "' lacks '", part,
                      "'");
      }
    }
  }
}

TEST_CASE("a SavedModel or a MetaGraph that is cut short is told so") {
  const std::string meta =
      "meta_info_def { tags: 'serve' } graph_def { " + std::string(kGraph) + " }";
  for (const std::string& text :
       {"saved_model_schema_version: 1 meta_graphs { " + meta + " }", meta}) {
    const std::string whole = binary(text);
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2}) {
      CAPTURE(size);
      expect_error(ErrorCode::invalid_file, {"cut.pb", "cut short", "ends at byte"},
                   [&] { static_cast<void>(load_bytes(whole.substr(0, size), {}, "cut.pb")); });
    }
  }
}

TEST_CASE("a compressed file that grows without end is refused early") {
  const std::string bomb = gzip(std::string(std::size_t{80} << 20, '\0'));
  REQUIRE(bomb.size() < 100000);
  expect_error(ErrorCode::invalid_file, {"bomb.pb.gz", "as no graph does", "decompress"},
               [&] { static_cast<void>(load_bytes(bomb, {}, "bomb.pb.gz")); });
}

TEST_CASE("deep nesting is refused, in fields that are known and in others") {
  const auto nested = [](const std::string& open, const std::string& close) {
    std::string text = "node { name: 'x' op: 'NoOp' ";
    for (int i = 0; i < 100000; ++i) text += open;
    for (int i = 0; i < 100000; ++i) text += close;
    return text + "}";
  };
  expect_error(ErrorCode::invalid_file, {"line 1"}, [&] {
    static_cast<void>(load_bytes(nested("attr { key: 'f' value { func { ", "} } }")));
  });
  expect_error(ErrorCode::invalid_file, {"line 1"},
               [&] { static_cast<void>(load_bytes(nested("stranger { ", "}"))); });
}

TEST_CASE("what a newer TensorFlow adds is no reason to refuse") {
  expect_graph(load_bytes(kGraph + "brand_new { a: 1 b: 'x' [x.y/z] { c: 2 } }"));
  const LoadedModel model = load_bytes(
      placeholder("x", {2}) + node("y", "BrandNewOp", "x", attr("unheard_of", "i: 4") + kFloats));
  CHECK(model.graph->op_count() == 2);
  CHECK(model.graph->attribute(op_named(*model.graph, "y"), "unheard_of") != nullptr);
}

TEST_CASE("a type that only a newer TensorFlow numbers loads, of unknown size") {
  std::string bytes = binary(kGraph);
  const std::string type =
      "\x0a\x05"
      "dtype\x12\x02\x30\x01";  // 1: DT_FLOAT
  const std::size_t at = bytes.find(type);
  REQUIRE(at != std::string::npos);
  bytes[at + type.size() - 1] = 99;
  const LoadedModel model = load_bytes(bytes, {}, "g.pb");
  const TensorId tensor = model.graph->outputs(op_named(*model.graph, "x"))[0];
  CHECK(model.graph->dtype(tensor) == DType::unknown);
  CHECK_FALSE(model.graph->bytes_known(tensor));
}

TEST_CASE("structural damage names the node") {
  struct Case {
    const char* what;
    std::string text;
    std::vector<std::string> parts;
  };
  const std::string x = placeholder("x", {2});
  const Case cases[] = {
      {"an input that is not there", x + node("y", "Relu", "z", kFloats), {"'y'", "'z'"}},
      {"a port that is not there", x + node("y", "Relu", "x:3", kFloats), {"output 3", "'x'"}},
      {"a port that is no number", x + node("y", "Relu", "x:1x", kFloats), {"'x:1x'"}},
      {"a negative port", x + node("y", "Relu", "x:-1", kFloats), {"'x:-1'"}},
      {"a name given twice", x + x, {"'x'", "unique"}},
      {"a node without an op", "node { name: 'x' }", {"no op"}},
      {"a node without a name", "node { op: 'NoOp' }", {"no name"}},
      {"a circle without a loop",
       node("a", "Add", "b b", kFloats) + node("b", "Relu", "a", kFloats),
       {"a", "b", "circle"}},
      {"a constant without value", node("c", "Const"), {"'c'", "no value"}},
      {"a constant of a negative size",
       node("c", "Const", "",
            attr("value",
                 "tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                 "-1 } } float_val: 1 }")),
       {"'c'", "-1"}},
      {"a constant larger than its content",
       node("c", "Const", "",
            attr("value",
                 "tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                 "5 } } tensor_content: '1234' }")),
       {"'c'", "5 elements"}},
      {"a constant beyond any machine",
       node("c", "Const", "",
            attr("value",
                 "tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                 "99999999999 } dim { size: 99999999999 } } }")),
       {"'c'", "any machine"}},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.what);
    try {
      static_cast<void>(load_bytes(bad.text));
      FAIL_CHECK("loaded");
    } catch (const Error& error) {
      const std::string message = error.what();
      for (const std::string& part : bad.parts) {
        CHECK_MESSAGE(message.find(part) != std::string::npos, "'", message, "' lacks '", part,
                      "'");
      }
    }
  }
}

}  // namespace
}  // namespace berth::tf_frontend
