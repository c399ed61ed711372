// Loops written with frames: one op each, their rounds counted where the graph tells.
#include "berth/error.h"
#include "support/expect_error.h"
#include "text_graph.h"
#include "tf/graph_maker.h"

namespace berth::tf_frontend {
namespace {

const std::string kInt = attr("T", "type: DT_INT32");

std::string enter(const std::string& name, const std::string& input, const std::string& frame,
                  const std::string& type) {
  return node(name, "Enter", input, type + attr("frame_name", "s: '" + frame + "'"));
}

/// i = start; while (i < limit) { x = x @ x; i += step }
std::string loop(const std::string& prefix, int start, int limit, int step,
                 const std::string& compare = "Less", const std::string& change = "Add") {
  const auto at = [&](const std::string& name) { return prefix + name; };
  return integers(at("start"), {start}, true) + integers(at("limit"), {limit}, true) +
         integers(at("step"), {step}, true) + enter(at("i"), at("start"), at("frame"), kInt) +
         enter(at("v"), "x", at("frame"), kFloats) +
         enter(at("n"), at("limit"), at("frame"), kInt) +
         enter(at("s"), at("step"), at("frame"), kInt) +
         node(at("mi"), "Merge", at("i") + " " + at("ni"), kInt + attr("N", "i: 2")) +
         node(at("mv"), "Merge", at("v") + " " + at("nv"), kFloats + attr("N", "i: 2")) +
         node(at("less"), compare, at("mi") + " " + at("n"), kInt) +
         node(at("cond"), "LoopCond", at("less")) +
         node(at("si"), "Switch", at("mi") + " " + at("cond"), kInt) +
         node(at("sv"), "Switch", at("mv") + " " + at("cond"), kFloats) +
         node(at("bi"), "Identity", at("si") + ":1", kInt) +
         node(at("add"), change, at("bi") + " " + at("s"), kInt) +
         node(at("mul"), "MatMul", at("sv") + ":1 " + at("sv") + ":1", kFloats) +
         node(at("ni"), "NextIteration", at("add"), kInt) +
         node(at("nv"), "NextIteration", at("mul"), kFloats) +
         node(at("xi"), "Exit", at("si"), kInt) + node(at("xv"), "Exit", at("sv"), kFloats);
}

const std::string kInput = placeholder("x", {16, 16});
constexpr double kRound = 2.0 * 16 * 16 * 16;

double flops_of(const Graph& graph, const std::string& name) {
  const auto& work = graph.stated_work(op_named(graph, name));
  REQUIRE(work.has_value());
  return work->flops;
}

TEST_CASE("what a loop's rounds put into a list is known behind the loop") {
  const std::string list = attr("element_dtype", "type: DT_FLOAT");
  const std::string variant = attr("T", "type: DT_VARIANT");
  // The list's own shape leaves the batch open; each round puts x into it.
  const std::string text =
      kInput + integers("open", {-1, 16}) + integers("n", {7}, true) + integers("zero", {0}, true) +
      integers("one", {1}, true) +
      node("list", "TensorListReserve", "open n", list + attr("shape_type", "type: DT_INT32")) +
      enter("ei", "zero", "f", kInt) + enter("el", "list", "f", variant) +
      enter("ex", "x", "f", kFloats + attr("is_constant", "b: true")) +
      enter("en", "n", "f", kInt + attr("is_constant", "b: true")) +
      enter("eo", "one", "f", kInt + attr("is_constant", "b: true")) +
      node("mi", "Merge", "ei ni", kInt + attr("N", "i: 2")) +
      node("ml", "Merge", "el nl", variant + attr("N", "i: 2")) +
      node("less", "Less", "mi en", kInt) + node("cond", "LoopCond", "less") +
      node("si", "Switch", "mi cond", kInt) + node("sl", "Switch", "ml cond", variant) +
      node("ai", "Add", "si:1 eo", kInt) + node("r1", "Relu", "ex", kFloats) +
      node("r2", "Relu", "r1", kFloats) + node("r3", "Relu", "r2", kFloats) +
      node("r4", "Relu", "r3", kFloats) + node("r5", "Relu", "r4", kFloats) +
      node("r6", "Relu", "r5", kFloats) + node("put", "TensorListSetItem", "sl:1 si:1 r6", list) +
      node("ni", "NextIteration", "ai", kInt) + node("nl", "NextIteration", "put", variant) +
      node("xl", "Exit", "sl", variant) +
      node("y", "TensorListStack", "xl open", list + attr("num_elements", "i: -1"));
  CHECK(shape_of(*load_bytes(text).graph, "y") == std::vector<std::int64_t>{7, 16, 16});
}

TEST_CASE("a loop is one op with the work of its rounds") {
  const LoadedModel model =
      load_bytes(kInput + loop("", 0, 10, 1) + node("y", "Relu", "xv", kFloats) +
                 node("z", "Identity", "xi", kInt));
  const Graph& graph = *model.graph;
  const OpId op = op_named(graph, "frame");
  CHECK(graph.op_type(op) == "While");
  CHECK(graph.op_count() == 7);  // x, three constants, the loop, y and z
  CHECK(graph.outputs(op).size() == 2);
  CHECK(shape_of(graph, "y") == std::vector<std::int64_t>{16, 16});
  CHECK(flops_of(graph, "frame") == doctest::Approx(10 * kRound).epsilon(0.02));
  const AttributeValue* const types = graph.attribute(op, "body_types");
  REQUIRE(types != nullptr);
  CHECK(std::get<std::string>(*types).find("MatMul,Merge,NextIteration") != std::string::npos);
}

TEST_CASE("rounds are counted from the counter") {
  struct Case {
    int start, limit, step;
    const char* compare;
    const char* change;
    int rounds;
  };
  const Case cases[] = {
      {0, 10, 1, "Less", "Add", 10},         {0, 10, 3, "Less", "AddV2", 4},
      {2, 10, 2, "LessEqual", "Add", 5},     {10, 0, 2, "Greater", "Sub", 5},
      {10, 1, 1, "GreaterEqual", "Sub", 10}, {5, 5, 1, "Less", "Add", 0},
      {9, 3, -2, "Greater", "Add", 3},
  };
  for (const Case& c : cases) {
    CAPTURE(c.compare);
    CAPTURE(c.start);
    const LoadedModel model =
        load_bytes(kInput + loop("", c.start, c.limit, c.step, c.compare, c.change));
    CHECK(flops_of(*model.graph, "frame") == doctest::Approx(c.rounds * kRound).epsilon(0.02));
  }
}

TEST_CASE("rounds are counted with constants that wait for the round, as TensorFlow writes them") {
  std::string text = kInput + loop("", 0, 10, 2);
  const std::string entered = enter("s", "step", "frame", kInt);
  const std::string step = integers("step", {2}, true);
  text.replace(text.find(entered), entered.size(), "");
  text.replace(text.find(step), step.size(), "");
  std::string inside = integers("s", {2}, true);
  inside.insert(inside.find(" op:"), " input: '^bi'");
  CHECK(flops_of(*load_bytes(text + inside).graph, "frame") ==
        doctest::Approx(5 * kRound).epsilon(0.02));
}

/// The text, `old` replaced by `fresh`.
std::string with(std::string text, const std::string& old, const std::string& fresh) {
  REQUIRE(text.find(old) != std::string::npos);
  return text.replace(text.find(old), old.size(), fresh);
}

TEST_CASE("rounds are counted to a limit and by a step that every round hands on") {
  // As TensorFlow lowers the loop over a range.
  const auto variable = [](const std::string& name, const std::string& end) {
    return enter("e" + name, name == "n" ? "limit" : "step", "frame", kInt) +
           node(name, "Merge", "e" + name + " next_" + name, kInt + attr("N", "i: 2")) +
           node("switch_" + name, "Switch", name + " cond", kInt) +
           node("kept_" + name, "Identity", "switch_" + name + ":1", kInt) +
           node("next_" + name, "NextIteration", end, kInt);
  };
  const auto flops = [&](const std::string& end_of_step) {
    std::string text = with(kInput + loop("", 0, 12, 3), enter("n", "limit", "frame", kInt),
                            variable("n", "kept_n"));
    text = with(text, enter("s", "step", "frame", kInt), variable("s", end_of_step));
    return flops_of(*load_bytes(text).graph, "frame");
  };
  CHECK(flops("kept_s") == doctest::Approx(4 * kRound).epsilon(0.02));
  CHECK(flops("add") == doctest::Approx(kRound).epsilon(0.02));  // a step that changes
}

TEST_CASE("a condition that is false behind one side of a Switch ends a loop as the other does") {
  // while (q ? i < 12 : false), and the like.
  const std::string bools = attr("T", "type: DT_BOOL");
  const auto constant = [](const std::string& value) {
    return node("no", "Const", "^off",
                attr("dtype", "type: DT_BOOL") + attr("value",
                                                      "tensor { dtype: DT_BOOL "
                                                      "tensor_shape { } bool_val: " +
                                                          value + " }"));
  };
  const auto flops = [&](const std::string& choice) {
    const std::string text =
        node("q", "Placeholder", "", attr("dtype", "type: DT_BOOL") + shape("shape", {})) +
        with(kInput + loop("", 0, 12, 3), node("cond", "LoopCond", "less"),
             choice + node("cond", "LoopCond", "both"));
    return flops_of(*load_bytes(text).graph, "frame");
  };
  const std::string merged = node("both", "Merge", "sn no", bools + attr("N", "i: 2"));
  const std::string pivot =
      node("pivot", "Switch", "eq eq", bools) + node("off", "Identity", "pivot", bools);
  const std::string entered = enter("eq", "q", "frame", bools + attr("is_constant", "b: true"));
  const auto taken = [&](int side) {
    return node("sl", "Switch", "less eq", bools) +
           node("sn", "Identity", "sl:" + std::to_string(side), bools);
  };
  CHECK(flops(entered + pivot + taken(1) + constant("false") + merged) ==
        doctest::Approx(4 * kRound).epsilon(0.02));
  CHECK(flops(entered + pivot + taken(1) + constant("true") + merged) ==
        doctest::Approx(kRound).epsilon(0.02));
  // The side itself is what ends it.
  CHECK(flops(entered + pivot + taken(1) +
              node("both", "Merge", "off sn", bools + attr("N", "i: 2"))) ==
        doctest::Approx(4 * kRound).epsilon(0.02));
  // The counter chooses: while (i < 12 ? q : false).
  CHECK(flops(entered + node("pivot", "Switch", "less less", bools) +
              node("off", "Identity", "pivot", bools) + node("sn", "Switch", "eq less", bools) +
              constant("false") + node("both", "Merge", "sn:1 no", bools + attr("N", "i: 2"))) ==
        doctest::Approx(4 * kRound).epsilon(0.02));
}

TEST_CASE("what a round makes longer has its last length behind the loop, its mean one in it") {
  // while (..) { v = concat(v, x) }, ten rounds
  const std::string text = with(
      kInput + integers("axis", {0}, true) + loop("", 0, 10, 1) + node("y", "Relu", "xv", kFloats),
      node("mul", "MatMul", "sv:1 sv:1", kFloats),
      enter("ex", "x", "frame", kFloats) + enter("ea", "axis", "frame", kInt) +
          node("square", "MatMul", "sv:1 ex", kFloats) +
          node("mul", "ConcatV2", "square ex ea",
               kFloats + attr("N", "i: 2") + attr("Tidx", "type: DT_INT32")));
  const LoadedModel model = load_bytes(text);
  CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{11 * 16, 16});
  // 1 + 2 + .. + 10 times the work of the first round.
  CHECK(flops_of(*model.graph, "frame") == doctest::Approx(55 * kRound).epsilon(0.02));
}

TEST_CASE("the count of one loop is the limit of another, as in gradients") {
  // The second loop counts down what the first has counted up.
  std::string second = loop("b_", 0, 1, 1, "GreaterEqual", "Sub");
  const std::string from = "input: 'b_start'";
  second.replace(second.find(from), from.size(), "input: 'xi'");
  const LoadedModel model = load_bytes(kInput + loop("", 0, 6, 1) + second);
  CHECK(flops_of(*model.graph, "b_frame") == doctest::Approx(6 * kRound).epsilon(0.02));
}

TEST_CASE("rounds that nobody knows count as one, noted, and can be said") {
  std::string text = kInput + loop("", 0, 10, 1);
  // The limit comes from outside.
  const std::string limit = integers("limit", {10}, true);
  text.replace(
      text.find(limit), limit.size(),
      node("limit", "Placeholder", "", attr("dtype", "type: DT_INT32") + shape("shape", {})));
  const LoadedModel once = load_bytes(text);
  CHECK(flops_of(*once.graph, "frame") == doctest::Approx(kRound).epsilon(0.02));
  bool noted = false;
  for (const std::string& note : once.notes) {
    noted = noted || note.find(
                         "'frame'; the graph does not show how often they run; say it with "
                         "--dim LOOP=N, such as --dim frame=10") != std::string::npos;
  }
  CHECK(noted);
  LoadOptions options;
  options.dims = {{"frame", 40}};
  CHECK(flops_of(*load_bytes(text, options).graph, "frame") ==
        doctest::Approx(40 * kRound).epsilon(0.02));
}

TEST_CASE("loops within loops multiply and are one op") {
  // The inner loop's input is the outer's value, its result what the outer goes on with.
  std::string inner = loop("in_", 0, 3, 1);
  const std::string x = "name: 'in_v' op: 'Enter' input: 'x'";
  inner.replace(inner.find(x), x.size(), "name: 'in_v' op: 'Enter' input: 'mul'");
  for (const char* name : {"in_start", "in_limit", "in_step"}) {
    // Constants of the inner loop wait for the outer's body, as TensorFlow writes them.
    const std::string head = std::string("name: '") + name + "' op: 'Const'";
    inner.replace(inner.find(head), head.size(), head + " input: '^bi'");
  }
  std::string outer = loop("", 0, 5, 1);
  const std::string next = "name: 'nv' op: 'NextIteration' input: 'mul'";
  outer.replace(outer.find(next), next.size(), "name: 'nv' op: 'NextIteration' input: 'in_xv'");
  const LoadedModel model = load_bytes(kInput + outer + inner);
  CHECK(model.graph->op_count() == 5);
  CHECK(flops_of(*model.graph, "frame") == doctest::Approx((5 + 15) * kRound).epsilon(0.03));
}

TEST_CASE("a condition without a loop stays as its ops") {
  const LoadedModel model = load_bytes(
      kInput + node("p", "Placeholder", "", attr("dtype", "type: DT_BOOL") + shape("shape", {})) +
      node("s", "Switch", "x p", kFloats) + node("a", "Relu", "s", kFloats) +
      node("b", "Tanh", "s:1", kFloats) + node("m", "Merge", "a b", kFloats + attr("N", "i: 2")));
  CHECK(model.graph->op_count() == 6);
  CHECK(shape_of(*model.graph, "m") == std::vector<std::int64_t>{16, 16});
}

TEST_CASE("of the branches behind a condition the larger counts, in a loop too") {
  const std::string condition =
      node("p", "Placeholder", "", attr("dtype", "type: DT_BOOL") + shape("shape", {})) +
      node("pred", "Identity", "p", attr("T", "type: DT_BOOL"));
  const std::string inner =
      node("q", "Placeholder", "", attr("dtype", "type: DT_BOOL") + shape("shape", {})) +
      node("t", "Switch", "s:1 q", kFloats) + node("c", "Relu", "t", kFloats) +
      node("d", "MatMul", "t:1 t:1", kFloats) +
      node("n", "Merge", "c d", kFloats + attr("N", "i: 2"));
  const LoadedModel model = load_bytes(
      kInput + condition + node("s", "Switch", "x pred", kFloats) +
      node("pivot", "Identity", "s", kFloats) + node("a", "Relu", "s", kFloats) +
      node("b", "MatMul", "x x ^pivot", kFloats) + inner + node("e", "MatMul", "n n", kFloats) +
      node("m", "Merge", "a e", kFloats + attr("N", "i: 2")) +
      node("y", "Identity", "m ^b", kFloats));
  CHECK(flops_of(*model.graph, "a") == 0);  // a, b or d, e: of c and d too
  CHECK(flops_of(*model.graph, "b") == 0);
  CHECK(flops_of(*model.graph, "c") == 0);
  CHECK(op_work(*model.graph, op_named(*model.graph, "d")).flops == kRound);
  CHECK(op_work(*model.graph, op_named(*model.graph, "e")).flops == kRound);
  CHECK(op_work(*model.graph, op_named(*model.graph, "b")).launches == 0);
}

TEST_CASE("the sizes of one product are not those of a loop's or of several") {
  Work product;
  product.flops = 2e9;
  product.products = {1000, 1000, 1000, 1};
  Work bias;
  bias.flops = 0;
  bias.bytes = 8;
  CHECK(scale_work(product, 1).products.count == 1);
  CHECK(scale_work(product, 10).products.count == 0);
  CHECK(scale_work(product, 10).flops == 2e10);
  CHECK(add_work(product, bias).products.count == 1);
  CHECK(add_work(bias, product).products.count == 1);
  CHECK(add_work(product, product).products.count == 0);
}

}  // namespace
}  // namespace berth::tf_frontend
