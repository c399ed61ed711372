// Inputs that are weights, and rules that the user writes.
#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/ops/constants.h"
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// Two layers whose weights are inputs, named as `dot` says.
onnx::ModelProto with_weights_as_inputs(char dot) {
  onnx::ModelProto model = parse_graph(
      "g (float[batch,4] x, float[4,8] w0, float[8] b0, float[8,2] w1) => (y) "
      "{ h = Gemm(x, w0, b0) y = MatMul(h, w1) }");
  const std::map<std::string, std::string> names = {{"w0", std::string("fc0") + dot + "weight"},
                                                    {"b0", std::string("fc0") + dot + "bias"},
                                                    {"w1", std::string("fc1") + dot + "weight"}};
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    if (names.contains(input.name())) input.set_name(names.at(input.name()));
  }
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (names.contains(input)) input = names.at(input);
    }
  }
  return model;
}

LoadOptions with(LoadOptions::Arguments arguments) {
  LoadOptions options;
  options.arguments = arguments;
  return options;
}

TEST_CASE("inputs with names and uses of weights are parameters, and the note says so") {
  ModelFolder models;
  constexpr std::int64_t kBytes = 4 * (4 * 8 + 8 + 8 * 2);
  for (const char dot : {'.', '_'}) {
    CAPTURE(dot);
    const LoadedModel model = models.load(with_weights_as_inputs(dot));
    CHECK(model.graph->total_param_bytes() == kBytes);
    CHECK(model.graph->op_count() == 3);  // x, and the two products
    CHECK(has_note(model, "3 inputs are taken for parameters"));
    CHECK(has_note(model, "--arguments inputs"));
  }
  const auto proto = with_weights_as_inputs('.');
  const LoadedModel inputs = models.load(proto, with(LoadOptions::Arguments::inputs));
  CHECK(inputs.graph->total_param_bytes() == 0);
  CHECK(inputs.graph->op_count() == 6);
  CHECK_FALSE(has_note(inputs, "parameters"));
  // All whose shape the file fixes: not x, whose batch is open.
  const LoadedModel all = models.load(proto, with(LoadOptions::Arguments::parameters));
  CHECK(all.graph->total_param_bytes() == kBytes);
  CHECK_FALSE(has_note(all, "parameters"));
}

TEST_CASE("where all shapes are fixed, parameters are what is read as a weight") {
  ModelFolder models;
  const auto parameters = with(LoadOptions::Arguments::parameters);
  const LoadedModel model = models.load(
      parse_graph("g (float[2,4] x, float[4,8] a, float[2,8] b) => (y) { at = Identity(a) xa = "
                  "MatMul(x, at) y = Add(xa, b) }"),
      parameters);
  CHECK(model.graph->total_param_bytes() == 4 * 4 * 8);
  CHECK(model.graph->find_op("x").has_value());
  CHECK(model.graph->find_op("b").has_value());
  const LoadedModel none =
      models.load(parse_graph("g (float[2] x, float[2] b) => (y) { y = Add(x, b) }"), parameters);
  CHECK(none.graph->total_param_bytes() == 0);
  CHECK(has_note(none, "--arguments parameters changes nothing"));
}

TEST_CASE("data is not taken for weights") {
  ModelFolder models;
  for (const char* const graph :
       {"g (float[4,8] a, float[8,2] b) => (y) { y = MatMul(a, b) }",
        "g (float[4] sample_weight, float[4] x) => (y) { y = Mul(x, sample_weight) }",
        "g (int64[4] weight, float[9,8] x) => (y) { y = Gather(x, weight) }",
        "g (float[n,4] weight, float[4,4] x) => (y) { y = MatMul(weight, x) }"}) {
    CAPTURE(graph);
    CHECK(models.load(parse_graph(graph)).graph->total_param_bytes() == 0);
  }
}

TEST_CASE("buffers of gradients reside too, as in training artefacts of ONNX Runtime") {
  ModelFolder models;
  onnx::ModelProto model = parse_graph("g (float[2,4] x, float[4,4] b) => (y) { y = Add(x, b) }");
  model.mutable_graph()->mutable_input(1)->set_name("fc.weight_grad.accumulation.buffer");
  model.mutable_graph()->mutable_node(0)->set_input(1, "fc.weight_grad.accumulation.buffer");
  CHECK(models.load(model).graph->total_param_bytes() == 64);
}

TEST_CASE("an input beside a buffer for its gradients is a weight, whatever its name") {
  ModelFolder models;
  onnx::ModelProto model = parse_graph(
      "g (float[2,4] x, float[4,4] w1, float[4,4] b, float[4,4] labels) => (y, z) { y = Add(x, w1) "
      "z = Add(b, labels) }");
  model.mutable_graph()->mutable_input(2)->set_name("w1_grad.accumulation.buffer");
  model.mutable_graph()->mutable_node(1)->set_input(0, "w1_grad.accumulation.buffer");
  CHECK(models.load(model).graph->total_param_bytes() == 2 * 64);
  CHECK(has_note(models.load(model), "'w1'"));
}

/// A step of descent for fc_weight; `next` names what the weight becomes.
onnx::ModelProto step_of_descent(const std::string& next) {
  return parse_graph("g (float[2,4] x, float[4,8] fc_weight) => (float[2,8] y, float[4,8] " + next +
                     ") { y = MatMul(x, fc_weight) t = Transpose(x) d = MatMul(t, y) " + next +
                     " = Sub(fc_weight, d) }");
}

TEST_CASE("a weight whose next value the step returns is its state, and no parameter") {
  ModelFolder models;
  LoadOptions options;
  const auto is_state = [&](const std::string& next) {
    const LoadedModel model = models.load(step_of_descent(next), options);
    CHECK(has_note(model, "taken for a parameter") == (model.graph->total_param_bytes() > 0));
    return model.graph->find_op("fc_weight").has_value() && model.graph->total_param_bytes() == 0;
  };
  CHECK(is_state("fc_weight_new"));
  CHECK(is_state("fc_weight_out"));
  CHECK_FALSE(is_state("q"));
  options.states = {"q=fc_weight"};  // stronger than any guess, and than the meaning of all
  for (const auto choice : {LoadOptions::Arguments::guess, LoadOptions::Arguments::parameters,
                            LoadOptions::Arguments::inputs}) {
    options.arguments = choice;
    CHECK(is_state("q"));
  }
  options.arguments.reset();
  options.states = {"none"};
  CHECK_FALSE(is_state("fc_weight_new"));
}

TEST_CASE("what is computed of a weight that is trained is no constant of the step") {
  ModelFolder models;
  const auto folded = [&](const std::string& result, const std::string& made,
                          const std::string& more = {}) {
    onnx::ModelProto model =
        parse_graph("g (float[2,4] x, float[8,4] w1" + more + ") => (y, " + result +
                    ") { t = Transpose(w) o = Transpose(w1) h = MatMul(x, t) k = MatMul(x, o) y = "
                    "Add(h, k) z = Transpose(h) " +
                    made + " }");
    add_weight(model, "w", {8, 4});
    add_weight(model, "w1", {8, 4});
    model.mutable_graph()->mutable_input()->DeleteSubrange(1, 1);
    return ops::fold_constants(models.load(model).graph)->constant_count();
  };
  CHECK(folded("q", "q = MatMul(z, x)") == 2);  // the result of a net may be shaped so
  for (const char* const name : {"w_grad", "grad_w", "dw", "w_new"}) {
    CAPTURE(name);
    CHECK(folded(name, std::string(name) + " = MatMul(z, x)") == 1);
  }
  // Of a step that adds it to a buffer, or hands it to an optimizer, it is no result.
  const char* const kBuffer = ", float[8,4] b, bool[1] reset";
  CHECK(folded("q",
               "w_grad = MatMul(z, x) q = com.microsoft.InPlaceAccumulatorV2(b, w_grad, reset)",
               kBuffer) == 1);
  CHECK(folded("q", "g = MatMul(z, x) q = com.microsoft.SGDOptimizer(r, w, g)", ", float r") == 1);
}

TEST_CASE("weights are trained where results without names have all their shapes in turn") {
  ModelFolder models;
  const auto folded = [&](const std::string& results) {
    const onnx::ModelProto model = parse_graph(
        "g (float[2,4] x, float[8,4] a_weight, float[3,8] b_weight) => (y, " + results +
        ") { t = Transpose(a_weight) h = MatMul(x, t) u = Transpose(b_weight) y = MatMul(h, u) p = "
        "Transpose(h) da = MatMul(p, x) q = Transpose(y) db = MatMul(q, h) val_1 = Identity(da) "
        "val_2 = Identity(db) }");
    return ops::fold_constants(models.load(model).graph)->constant_count();
  };
  CHECK(folded("val_1") == 2);
  CHECK(folded("val_2, val_1") == 2);
  CHECK(folded("val_1, val_2") == 0);
}

TEST_CASE("a program with weights as inputs has the same graph") {
  ModelFolder models;
  const std::string bytes = with_weights_as_inputs('.').SerializeAsString();
  const LoadedProgram program = models.load_program(bytes);
  CHECK(program.program->graph->op_count() == models.load(bytes).graph->op_count());
  CHECK(program.program->input_names == std::vector<std::string>{"x"});
}

TEST_CASE("a rule of the user's says what an op gives and does") {
  ModelFolder models;
  LoadOptions options;
  options.op_rules = models
                         .save(std::string(R"({"format": "berth.ops/1", "ops": [
        {"type": "my.FakeQuant", "like": 0, "flops": 4},
        {"type": "my.Sums", "outputs": [{"shape": [2], "dtype": "i64"}, {"like": 0}]}]})"),
                               "ops.json")
                         .string();
  const auto proto = parse_model(
      "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
      "g (float[2,3] x) => (y) { q = my.FakeQuant(x) n, s = my.Sums(q) y = Relu(s) }");
  CHECK(type_text(*models.load(proto).graph, "y") == "unknown");
  const LoadedModel model = models.load(proto, options);
  CHECK(type_text(*model.graph, "q") == "f32[2,3]");
  CHECK(type_text(*model.graph, "n") == "i64[2]");
  CHECK(type_text(*model.graph, "y") == "f32[2,3]");
  CHECK_FALSE(has_note(model, "not known"));
  const Work work = op_work(*model.graph, op(*model.graph, "q"));
  CHECK(work.flops == 4 * 6);
  CHECK(work.bytes == 2 * 24);
}

TEST_CASE("mistakes in rules are told with their place") {
  ModelFolder models;
  const auto proto = parse_graph("g (float[2] x) => (y) { y = Relu(x) }");
  const std::pair<const char*, std::string_view> kMistakes[] = {
      {R"({"format": "berth.ops/1", "ops": [{"type": "A"}]})", "either \"like\""},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "like": -1}]})", "ops[0].like"},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "like": 0, "outputs": []}]})", "either"},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "outputs": []}]})", "at least one"},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "outputs": [{}]}]})", "\"like\""},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "outputs": [{"like": 0, "dtype": "x"}]}]})",
       "'x'"},
      {R"({"format": "berth.ops/1", "ops": [{"type": "A", "like": 0}, {"type": "A", "like": 0}]})",
       "two rules for 'A'"},
      {R"({"format": "berth.ops/1", "ops": [{"like": 0}]})", "type"},
      {R"({"format": "berth.ops/2", "ops": []})", "berth.ops/1"},
      {R"({"format": "berth.ops/1", "rules": []})", "rules"},
  };
  for (const auto& [text, part] : kMistakes) {
    CAPTURE(text);
    LoadOptions options;
    options.op_rules = models.save(std::string(text), "ops.json").string();
    expect_error(ErrorCode::invalid_file, {"ops.json", part},
                 [&] { (void)models.load(proto, options); });
  }
}

}  // namespace
}  // namespace berth::test
