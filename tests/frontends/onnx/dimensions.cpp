// Dynamic dimensions.
#include "berth/error.h"
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr const char* kGraph =
    "g (float[batch,seq] x, float[batch,past] p) => (y) { y = Concat<axis = 1>(p, x) }";

TEST_CASE("named dimensions get the values given") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph(kGraph), {{{"batch", 8}, {"seq", 5}, {"past", 0}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[8,5]");
  CHECK(model.notes.empty());
}

TEST_CASE("those not given are 1, with a note") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(kGraph), {{{"batch", 8}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[8,2]");
  CHECK(has_note(model, "'past', 'seq'; give them with --dim NAME=SIZE"));
}

TEST_CASE("what attention fixes of a cache need not be given") {
  ModelFolder models;
  struct Case {
    const char* type;    ///< of p
    const char* inputs;  ///< of the op, with its attributes
    const char* found;
  };
  const std::string query = "(float16[b,s,h] x, float16[b,kv,past,size] v, int32[b,1] l, int32 t, ";
  const Case kCases[] = {
      // All three projections of 4 + 2 * 2 heads are packed.
      {"float16[b,kv,past,size]",
       "GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(q, , , p, v, l, t)", "f16[1,2,9,8]"},
      {"int8[b,kv,past,size]",
       "GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(q, , , p, v, l, t)", "i8[1,2,9,8]"},
      {"float16[b,kv,past,size]", "MultiHeadAttention<num_heads = 4>(q, q, q, , , , p, v)",
       "f16[1,4,9,16]"},
      {"float16[2,b,kv,past,size]", "Attention<num_heads = 2>(x, w, , , p)", "f16[2,1,2,9,10]"},
      {"float16[b,kv,near,size]",
       "GroupQueryAttention<num_heads = 4, kv_num_heads = 2, local_window_size = 5>(q, , , p, v, "
       "l, t)",
       "f16[1,2,5,8]"},
      {"float16[b,kv,near,size]",
       "GroupQueryAttention<num_heads = 4, kv_num_heads = 2, local_window_size = 50>(q, , , p, v, "
       "l, t)",
       "f16[1,2,9,8]"},
  };
  for (const Case& one : kCases) {
    CAPTURE(one.inputs);
    const std::string whole =
        "  r = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(q, , , v, v, l, "
        "t)";
    onnx::ModelProto proto =
        parse_graph("g " + query + one.type + " p) => (y) { q = MatMul(x, a) " +
                    " y = com.microsoft." + one.inputs + whole + " }");
    add_weight(proto, "a", {32, 64}, onnx::TensorProto::FLOAT16);
    add_weight(proto, "w", {32, 60}, onnx::TensorProto::FLOAT16);
    const LoadedModel model =
        models.load(proto, {{{"past", 9}, {"b", 1}, {"s", 1}, {"h", 32}}, {}});
    CHECK(type_text(*model.graph, "p") == one.found);
    CHECK_FALSE(has_note(model, "taken as 1"));
  }
  // A size that was given counts.
  onnx::ModelProto proto = parse_graph(
      "g " + query + "float16[b,kv,past,size] p) => (y) { q = MatMul(x, a) y = com.microsoft." +
      kCases[0].inputs + " }");
  add_weight(proto, "a", {32, 64}, onnx::TensorProto::FLOAT16);
  CHECK(type_text(*models.load(proto, {{{"size", 3}}, {}}).graph, "p") == "f16[1,2,1,3]");
}

TEST_CASE("a shape binds the names in it") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(kGraph), {{}, {{"x", {8, 5}}, {"p", {8, 3}}}});
  CHECK(type_text(*model.graph, "y") == "f32[8,8]");
}

TEST_CASE("dimensions without a name") {
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph("g (float[?,3] x) => (y) { y = Relu(x) }");
  CHECK(type_text(*models.load(proto).graph, "y") == "f32[1,3]");
  CHECK(has_note(models.load(proto), "--shape"));
  CHECK(type_text(*models.load(proto, {{}, {{"x", {4, 3}}}}).graph, "y") == "f32[4,3]");
}

TEST_CASE("dimensions that are called ? or None are without a name") {
  ModelFolder models;
  for (const char* name : {"?", "None"}) {
    onnx::ModelProto proto =
        parse_graph("g (float[a,3,b,c] x) => (float[a,3,b,c] y) { y = Relu(x) }");
    for (auto* const infos :
         {proto.mutable_graph()->mutable_input(), proto.mutable_graph()->mutable_output()}) {
      auto* const shape = infos->Mutable(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
      for (const int i : {0, 2, 3}) shape->mutable_dim(i)->set_dim_param(name);
    }
    CHECK(type_text(*models.load(proto, {{}, {{"x", {2, 3, 48, 192}}}}).graph, "y") ==
          "f32[2,3,48,192]");
    CHECK(type_text(*models.load(proto, {{{"*", 5}}, {}}).graph, "y") == "f32[5,3,1,1]");
    CHECK(has_note(models.load(proto), "dimensions without a name are taken as 1"));
    test::expect_error(ErrorCode::invalid_argument, {"its inputs have no named dimensions"}, [&] {
      models.load(proto, {{{name, 2}}, {}});
    });
  }
}

TEST_CASE("the first dimension of every input is bound at once, whatever it is called") {
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph(
      "g (float[unk__1,seq] x, float[?,seq] p, float[3,seq] fixed) => (y) "
      "{ y = Concat<axis = 0>(p, x, fixed) }");
  const LoadedModel model = models.load(proto, {{{"*", 8}, {"seq", 5}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[19,5]");
  CHECK(model.notes.empty());
}

TEST_CASE("names that are sums and products follow") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[batch,seq] x, float[a,b] m) => (y) { y = Relu(m) }");
  auto* const shape = proto.mutable_graph()
                          ->mutable_input(1)
                          ->mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("2*batch + 1");
  shape->mutable_dim(1)->set_dim_param("seq + seq");
  const LoadedModel model = models.load(proto, {{{"batch", 8}, {"seq", 5}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[17,10]");
  CHECK(model.notes.empty());
}

/// A graph whose inputs' dimensions have these names.
onnx::ModelProto with_dims(const std::vector<std::vector<std::string>>& inputs) {
  std::string list, relus;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string n = std::to_string(i);
    list += (i > 0 ? ", float[" : "float[");
    for (std::size_t d = 0; d < inputs[i].size(); ++d) list += d > 0 ? ",?" : "?";
    list += "] x" + n;
    relus += " y" + n + " = Relu(x" + n + ")";
  }
  onnx::ModelProto proto = parse_graph("g (" + list + ") => (y0) {" + relus + " }");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto* const shape = proto.mutable_graph()
                            ->mutable_input(static_cast<int>(i))
                            ->mutable_type()
                            ->mutable_tensor_type()
                            ->mutable_shape();
    for (std::size_t d = 0; d < inputs[i].size(); ++d) {
      shape->mutable_dim(static_cast<int>(d))->set_dim_param(inputs[i][d]);
    }
  }
  return proto;
}

TEST_CASE("names that are expressions follow, and their symbols can be given") {
  ModelFolder models;
  const auto proto = with_dims({{"batch", "seq"}, {"Max(1, seq//2)", "past + seq"}, {"-seq + 9"}});
  const LoadedModel model = models.load(proto, {{{"batch", 2}, {"seq", 5}, {"past", 7}}, {}});
  CHECK(type_text(*model.graph, "y1") == "f32[2,12]");
  CHECK(type_text(*model.graph, "y2") == "f32[4]");
  CHECK(model.notes.empty());
}

TEST_CASE(
    "a symbol of expressions alone is 1 where it is not given, and the note says where it is") {
  ModelFolder models;
  const LoadedModel model = models.load(with_dims({{"past + 1"}}));
  CHECK(type_text(*model.graph, "y0") == "f32[2]");
  CHECK(has_note(model, "'past'"));
  CHECK(has_note(model, "'past' in 'past + 1'"));
}

TEST_CASE("an expression given as a whole gives the one symbol that is not") {
  ModelFolder models;
  const auto proto = with_dims({{"seq", "past + seq"}, {"past"}});
  const LoadedModel model = models.load(proto, {{{"seq", 5}}, {{"x0", {5, 12}}}});
  CHECK(type_text(*model.graph, "y0") == "f32[5,12]");
  CHECK(type_text(*model.graph, "y1") == "f32[7]");
  CHECK(model.notes.empty());
  expect_error(ErrorCode::invalid_argument, {"'past + seq'", "given as 12", "comes to 8"}, [&] {
    (void)models.load(proto, {{{"seq", 5}, {"past", 3}}, {{"x0", {5, 12}}}});
  });
}

TEST_CASE("a size of an expression that no size of its symbol gives is refused") {
  ModelFolder models;
  const auto proto = with_dims({{"2*n", "n"}});
  CHECK(type_text(*models.load(proto, {{}, {{"x0", {20, 10}}}}).graph, "y0") == "f32[20,10]");
  expect_error(ErrorCode::invalid_argument, {"'2*n'", "given as 21", "no size of 'n'"}, [&] {
    (void)models.load(proto, {{{"2*n", 21}}, {}});
  });
  expect_error(ErrorCode::invalid_argument, {"'n + 3'", "given as 2", "no size of 'n'"}, [&] {
    (void)models.load(with_dims({{"n + 3"}}), {{}, {{"x0", {2}}}});
  });
  // Half of it may be any of two.
  CHECK_NOTHROW((void)models.load(with_dims({{"n//2"}}), {{}, {{"x0", {5}}}}));
}

TEST_CASE("an expression given as a whole must leave one symbol open at most") {
  ModelFolder models;
  onnx::ModelProto proto = with_dims({{"seq"}, {"past"}});
  auto* const shape = proto.mutable_graph()
                          ->mutable_output(0)
                          ->mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape();
  shape->add_dim()->set_dim_param("past + seq");
  expect_error(ErrorCode::invalid_argument, {"'past + seq'", "'past', 'seq' are is open"}, [&] {
    (void)models.load(proto, {{{"past + seq", 9}}, {}});
  });
  const LoadedModel model = models.load(proto, {{{"past + seq", 9}, {"seq", 2}}, {}});
  CHECK(type_text(*model.graph, "y1") == "f32[7]");
}

TEST_CASE("a dimension that comes to no size is 1, with a note") {
  ModelFolder models;
  const LoadedModel model = models.load(with_dims({{"n", "n - 4"}}), {{{"n", 2}}, {}});
  CHECK(type_text(*model.graph, "y0") == "f32[2,1]");
  CHECK(has_note(model, "'n - 4' of 'x0'"));
}

TEST_CASE("names that look like expressions, of symbols that are nowhere else") {
  ModelFolder models;
  const LoadedModel model =
      models.load(with_dims({{"batch-size", "2s1"}}), {{{"batch-size", 4}}, {}});
  CHECK(type_text(*model.graph, "y0") == "f32[4,1]");
  // With the symbol elsewhere they are expressions.
  const LoadedModel product =
      models.load(with_dims({{"s1", "2s1", "s1-s2"}}), {{{"s1", 6}, {"s2", 2}}, {}});
  CHECK(type_text(*product.graph, "y0") == "f32[6,12,4]");
}

TEST_CASE("dimensions of tensors without a size are listed with where they are") {
  ModelFolder models;
  const auto proto =
      parse_graph("g (float[2,3] x) => (y) <float[n,3] q> { q = nowhere.F(x) y = Relu(q) }");
  const LoadedModel model = models.load(proto);
  CHECK(has_note(model,
                 "2 of 3 tensors have no known size and count as 0 bytes; dimensions that nothing "
                 "gives a size: 'n' of 'q': give them with --dim, such as --dim n=64"));
  CHECK_FALSE(has_note(model, "it begins with"));
  CHECK(type_text(*models.load(proto, {{{"n", 4}}, {}}).graph, "y") == "f32[4,3]");
}

TEST_CASE("the dimension of most tensors without a size is named first") {
  ModelFolder models;
  const auto proto = parse_graph(
      "g (float[2,3] x) => (y, z) <float[a,3] p, float[n,3] q, float[n,3] r> { p = nowhere.F(x) "
      "q = nowhere.F(x) r = nowhere.F(x) s = nowhere.F(x) y = Add(q, r) z = Add(p, s) }");
  const LoadedModel model = models.load(proto);
  CHECK(has_note(model, "'n' of 2 tensors, 'a' of 'p': give them with --dim, such as --dim n=64"));
  CHECK(has_note(model, "=64; no rule says the type of 's'"));
}

TEST_CASE("symbols are listed, not the expressions that hold them") {
  ModelFolder models;
  expect_error(ErrorCode::invalid_argument, {"'total'", "'past', 'seq'"}, [&] {
    (void)models.load(with_dims({{"past + seq"}}), {{{"total", 3}}, {}});
  });
}

TEST_CASE("the shape of any tensor can be given, and must fit what follows") {
  ModelFolder models;
  const auto proto =
      parse_graph("g (float[2,3] x) => (y) { q = nowhere.Custom(x) r = Relu(q) y = Relu(r) }");
  CHECK(type_text(*models.load(proto).graph, "y") == "unknown");
  CHECK(has_note(models.load(proto), "--op-rules FILE"));
  CHECK(has_note(models.load(proto), "--shape TENSOR="));
  const LoadedModel model = models.load(proto, {{}, {{"q", {4, 5}}}});
  CHECK(type_text(*model.graph, "q") == "f32[4,5]");
  CHECK(type_text(*model.graph, "y") == "f32[4,5]");
  expect_error(ErrorCode::invalid_argument, {"m.onnx", "'r'", "contradicts", "leave it out"}, [&] {
    (void)models.load(proto, {{}, {{"q", {4, 5}}, {"r", {4, 6}}}});
  });
  expect_error(ErrorCode::invalid_argument, {"no input and no tensor named 'z'", "'x'"}, [&] {
    (void)models.load(proto, {{}, {{"z", {1}}}});
  });
}

TEST_CASE("of two sizes of a dimension the stronger source's counts, whichever way it is said") {
  struct Row {
    LoadOptions options;
    std::string y;
    SettledSizes sizes;
  };
  const Row rows[] = {
      {{{{"*", 3}, {"batch", 2}, {"seq", 5}}, {}, {{"dims.batch", 1}, {"dims.seq", 1}}},
       "f32[3,6]",
       {{{"*", 3}, {"batch", 3}, {"seq", 5}}, {}}},
      {{{{"batch", 2}, {"past", 4}}, {{"x", {3, 5}}}, {{"dims.batch", 1}, {"dims.past", 1}}},
       "f32[3,9]",
       {{{"batch", 3}, {"past", 4}}, {{"x", {3, 5}}}}},
      {{{{"batch", 3}}, {{"x", {2, 5}}}, {{"shapes.x", 2}}},
       "f32[3,6]",
       {{{"batch", 3}}, {{"x", {3, 5}}}}},
      {{{{"*", 2}, {"batch", 3}}, {}, {{"dims.*", 1}}}, "f32[3,2]", {{{"batch", 3}}, {}}},
  };
  ModelFolder models;
  for (const Row& row : rows) {
    CAPTURE(row.y);
    const LoadedModel model = models.load(parse_graph(kGraph), row.options);
    CHECK(type_text(*model.graph, "y") == row.y);
    REQUIRE(model.sizes);
    CHECK(model.sizes->dims == row.sizes.dims);
    CHECK(model.sizes->shapes == row.sizes.shapes);
  }
  const LoadedModel unnamed =
      models.load(parse_graph("g (float[?,3] x, float[b,3] z) => (y) { y = Add(x, z) }"),
                  {{{"*", 4}}, {{"x", {2, 3}}}, {{"shapes.x", 1}}});
  CHECK(type_text(*unnamed.graph, "y") == "f32[4,3]");
  CHECK(unnamed.sizes->shapes.at("x") == std::vector<std::int64_t>{4, 3});
}

TEST_CASE("mistakes are told with what the model has") {
  struct Mistake {
    LoadOptions options;
    std::initializer_list<std::string_view> parts;
  };
  const Mistake kMistakes[] = {
      {{{{"Batch", 8}}, {}}, {"m.onnx", "'Batch'", "'batch', 'past', 'seq'"}},
      {{{{"batch", -1}}, {}}, {"'batch'", "-1"}},
      {{{{"batch", std::int64_t{1} << 60}}, {}}, {"'batch'", "from 0 to"}},
      {{{}, {{"z", {1}}}}, {"'z'", "'p', 'x'"}},
      {{{}, {{"x", {1}}}}, {"'x' has 2 dimensions", "has 1"}},
      {{{}, {{"x", {1, -3}}}}, {"'x'", "-3"}},
      {{{{"batch", 8}}, {{"x", {4, 5}}}}, {"'batch'", "8", "4"}},
      {{{{"*", 8}, {"batch", 4}}, {}}, {"'batch'", "8", "4", "give it once"}},
      {{{{"N", 8}}, {}}, {"'N'", "--batch 8", "--dim batch=8"}},
      {{{{"*", -1}}, {}}, {"batch", "-1"}},
  };
  ModelFolder models;
  for (const Mistake& mistake : kMistakes) {
    expect_error(ErrorCode::invalid_argument, mistake.parts,
                 [&] { (void)models.load(parse_graph(kGraph), mistake.options); });
  }
  expect_error(ErrorCode::invalid_argument,
               {"no input leaves its first dimension open", "leave --batch out"}, [&] {
                 (void)models.load(parse_graph("g (float[1,seq] x) => (y) { y = Relu(x) }"),
                                   {{{"*", 8}}, {}});
               });
  expect_error(ErrorCode::invalid_argument, {"dimension 1", "3 in the model", "4"}, [&] {
    (void)models.load(parse_graph("g (float[N,3] x) => (y) { y = Relu(x) }"),
                      {{}, {{"x", {2, 4}}}});
  });
}

}  // namespace
}  // namespace berth::test
