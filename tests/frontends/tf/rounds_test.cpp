// Rounds of functional loops: what they hold and do.
#include <algorithm>
#include <cmath>

#include "berth/costs.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

const std::string kInts = attr("T", "type: DT_INT32");

/// A node of a function.
std::string inside(const std::string& text) {
  return "node_def" + text.substr(4);
}

std::string argument(const std::string& kind, const std::string& name, const char* type) {
  return kind + " { name: '" + name + "' type: " + type + " } ";
}

bool has_note(const LoadedModel& model, std::string_view part) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST_CASE("a list into which every round puts the same tensor holds it once") {
  // i, w, x, l, m of the loop:  while (i < 50) { i += 1; x = x @ w; l.push(w); m.push(x) }
  const auto all = [&](const std::string& kind) {
    return argument(kind, kind[0] + std::string("i"), "DT_INT32") +
           argument(kind, kind[0] + std::string("w"), "DT_FLOAT") +
           argument(kind, kind[0] + std::string("x"), "DT_FLOAT") +
           argument(kind, kind[0] + std::string("l"), "DT_VARIANT") +
           argument(kind, kind[0] + std::string("m"), "DT_VARIANT");
  };
  const std::string list = attr("element_dtype", "type: DT_FLOAT");
  const std::string shapes = list + attr("shape_type", "type: DT_INT32");
  const auto bytes = [&](const std::string& put, const std::string& kept) {
    const std::string body =
        "function { signature { name: 'body' " + all("input_arg") + all("output_arg") + "} " +
        inside(integers("one", {1}, true)) +
        inside(node("add", "AddV2", "ii one:output:0", kInts)) +
        inside(node("mul", "MatMul", "ix iw", kFloats)) +
        inside(node("same", "Identity", "iw", kFloats)) +
        inside(node("other", "Neg", "iw", kFloats)) +
        inside(node("pl", "TensorListPushBack", "il " + put, list)) +
        inside(node("pm", "TensorListPushBack", "im mul:product:0", list)) +
        "ret { key: 'oi' value: 'add:z:0' } ret { key: 'ow' value: '" + kept +
        "' } ret { key: 'ox' value: 'mul:product:0' } ret { key: 'ol' value: "
        "'pl:output_handle:0' } ret { key: 'om' value: 'pm:output_handle:0' } } ";
    const std::string condition = "function { signature { name: 'cond' " + all("input_arg") +
                                  argument("output_arg", "r", "DT_BOOL") + "} " +
                                  inside(integers("end", {50}, true)) +
                                  inside(node("less", "Less", "ii end:output:0", kInts)) +
                                  "ret { key: 'r' value: 'less:z:0' } } ";
    const LoadedModel model = load_bytes(
        integers("start", {0}, true) + placeholder("w", {16, 16}) + placeholder("x", {4, 16}) +
        integers("open", {-1, 16}) + integers("most", {50}, true) +
        node("l", "EmptyTensorList", "open most", shapes) +
        node("m", "EmptyTensorList", "open most", shapes) +
        node("loop", "StatelessWhile", "start w x l m",
             attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                 attr("T",
                      "list { type: DT_INT32 type: DT_FLOAT type: DT_FLOAT type: DT_VARIANT type: "
                      "DT_VARIANT }")) +
        node("yl", "TensorListStack", "loop:3 open", list + attr("num_elements", "i: 50")) +
        node("ym", "TensorListStack", "loop:4 open", list + attr("num_elements", "i: 50")) +
        "library { " + body + condition + " }");
    const Graph& graph = *model.graph;
    const auto outputs = graph.outputs(op_named(graph, "loop"));
    CHECK(graph.bytes(outputs[4]) == 50 * 4 * 16 * 4);
    // All of its elements are in what is made of it.
    CHECK(graph.bytes(graph.outputs(op_named(graph, "yl"))[0]) == 50 * 16 * 16 * 4);
    return graph.bytes(outputs[3]);
  };
  constexpr std::int64_t kOne = 16 * 16 * 4;
  CHECK(bytes("iw", "iw") == kOne);
  CHECK(bytes("same:output:0", "iw") == kOne);
  CHECK(bytes("other:y:0", "iw") == 50 * kOne);  // made anew in every round
  CHECK(bytes("iw", "other:y:0") == 50 * kOne);  // another one in every round
}

const std::string kList = attr("element_dtype", "type: DT_INT32");
const std::string kShapes = kFloats + attr("out_type", "type: DT_INT32");

/// An empty list of this name.
std::string list(const std::string& name, const std::string& kind) {
  return node(name, "EmptyTensorList", "none most", kind + attr("shape_type", "type: DT_INT32"));
}

TEST_CASE(
    "elements that are popped have what all pushes have in common: content, and lists of it") {
  const std::string lists = attr("element_dtype", "type: DT_VARIANT");
  const std::string stacks = attr("elem_type", "type: DT_INT32");
  const std::string x = placeholder("x", {6, 8}) + integers("none", {-1}, true) +
                        integers("most", {9}, true) + integers("a", {2, 24}) +
                        integers("b", {4, 12}) + integers("i", {0}, true);
  const std::string l = list("l", kList) + node("p", "TensorListPushBack", "l a", kList);
  const std::string y = node("y", "Reshape", "x pop:1", kFloats);
  struct Case {
    std::string text;
    std::vector<std::int64_t> dims;
  };
  for (const Case& one :
       {Case{l + node("q", "TensorListPushBack", "p a", kList) +
                 node("pop", "TensorListPopBack", "q none", kList) + y,
             {2, 24}},
        Case{l + node("q", "TensorListPushBack", "p b", kList) +
                 node("pop", "TensorListPopBack", "q none", kList) + y,
             {-1, -1}},
        Case{l + node("q", "TensorListSetItem", "p i b", kList) +
                 node("pop", "TensorListPopBack", "q none", kList) + y,
             {-1, -1}},
        // The rest is zeros.
        Case{node("l", "TensorListReserve", "none most", kList) +
                 node("q", "TensorListSetItem", "l i a", kList) +
                 node("pop", "TensorListPopBack", "q none", kList) + y,
             {-1, -1}},
        Case{l + list("m", lists) + node("q", "TensorListPushBack", "m p", lists) +
                 node("inner", "TensorListPopBack", "q none", lists) +
                 node("pop", "TensorListPopBack", "inner:1 none", kList) + y,
             {2, 24}},
        Case{node("s", "StackV2", "most", stacks) + node("push", "StackPushV2", "s a", kInts) +
                 node("pop", "StackPopV2", "s ^push", stacks) +
                 node("y", "Reshape", "x pop", kFloats),
             {2, 24}}}) {
    CAPTURE(one.text);
    const LoadedModel model = load_bytes(x + one.text);
    CHECK(shape_of(*model.graph, "y") == one.dims);
  }
}

/// A loop that pushes the shape of x, and one that pops it for the gradient of a broadcast, as a loop's gradient does:
/// g -> the sum over what was broadcast -> matmul(g, g^T).
std::string loop_with_gradient(int batch) {
  const auto function = [&](const std::string& name, const std::string& outputs) {
    return "function { signature { name: '" + name + "' " + argument("input_arg", "i", "DT_INT32") +
           argument("input_arg", "l", "DT_VARIANT") + argument("input_arg", "x", "DT_FLOAT") +
           outputs + "} ";
  };
  const std::string outs = argument("output_arg", "oi", "DT_INT32") +
                           argument("output_arg", "ol", "DT_VARIANT") +
                           argument("output_arg", "ox", "DT_FLOAT");
  const std::string count = inside(integers("one", {1}, true)) +
                            inside(node("add", "AddV2", "i one:output:0", kInts)) +
                            "ret { key: 'oi' value: 'add:z:0' } ret { key: 'ox' value: 'x' } ";
  const std::string forward =
      function("forward", outs) + count + inside(node("shape", "Shape", "x", kShapes)) +
      inside(node("push", "TensorListPushBack", "l shape:output:0", kList)) +
      "ret { key: 'ol' value: 'push:output_handle:0' } } ";
  const std::string back =
      function("back", outs) + count + inside(integers("none", {-1}, true)) +
      inside(node("pop", "TensorListPopBack", "l none:output:0", kList)) +
      inside(node("args", "BroadcastGradientArgs", "pop:tensor:0 pop:tensor:0", kInts)) +
      inside(node("sum", "Sum", "x args:r0:0", kFloats)) +
      inside(node("g", "Reshape", "sum:output:0 pop:tensor:0", kFloats)) +
      inside(
          node("m", "MatMul", "g:output:0 g:output:0", kFloats + attr("transpose_b", "b: true"))) +
      "ret { key: 'ol' value: 'pop:output_handle:0' } } ";
  const std::string condition = function("cond", argument("output_arg", "r", "DT_BOOL")) +
                                inside(integers("end", {10}, true)) +
                                inside(node("less", "Less", "i end:output:0", kInts)) +
                                "ret { key: 'r' value: 'less:z:0' } } ";
  const auto loop = [&](const std::string& name, const std::string& inputs) {
    return node(name, "StatelessWhile", inputs,
                attr("body", "func { name: '" + name + "' }") +
                    attr("cond", "func { name: 'cond' }") +
                    attr("T", "list { type: DT_INT32 type: DT_VARIANT type: DT_FLOAT }"));
  };
  return integers("start", {0}, true) + integers("none", {-1}, true) +
         integers("most", {10}, true) + placeholder("x", {batch, 16}) + list("l", kList) +
         loop("forward", "start l x") + loop("back", "start forward:1 forward:2") + "library { " +
         forward + back + condition + " }";
}

TEST_CASE(
    "the gradient of a loop has the work of its sizes, whether the file states them or the user") {
  LoadOptions options;
  options.dims["*"] = 8;
  const LoadedModel open = load_bytes(loop_with_gradient(-1), options);
  CHECK_FALSE(has_note(open, "no known size"));
  const LoadedModel fixed = load_bytes(loop_with_gradient(8));
  for (const char* name : {"forward", "back"}) {
    CAPTURE(name);
    const auto of_open = open.graph->stated_work(op_named(*open.graph, name));
    const auto of_fixed = fixed.graph->stated_work(op_named(*fixed.graph, name));
    CHECK(of_open->flops == of_fixed->flops);
    CHECK(of_open->bytes == of_fixed->bytes);
  }
  const double rounds = open.graph->stated_work(op_named(*open.graph, "back"))->flops;
  CHECK(rounds == doctest::Approx(10 * 2.0 * 8 * 8 * 16).epsilon(0.01));
}

/// i, c, x of a loop:  while (i < 10) { i += 1; x = sum(matmul(c[0 : size], w)) }, where `size` is a node of the body.
std::string windows(const std::string& nodes, const std::string& size) {
  const auto all = [&](const std::string& kind, const std::string& mark) {
    return argument(kind, mark + "i", "DT_INT32") + argument(kind, mark + "c", "DT_FLOAT") +
           argument(kind, mark + "d", "DT_INT32") + argument(kind, mark + "x", "DT_FLOAT");
  };
  const std::string body =
      "function { signature { name: 'body' " + all("input_arg", "") + all("output_arg", "o") +
      "} " + inside(integers("one", {1}, true)) + inside(integers("wide", {16}, true)) +
      inside(integers("begin", {0, 0})) + inside(integers("axis", {0})) +
      inside(node("add", "AddV2", "i one:output:0", kInts)) + nodes +
      inside(node("size", "Pack", size + " wide:output:0", kInts + attr("N", "i: 2"))) +
      inside(node("k", "Slice", "c begin:output:0 size:output:0",
                  kFloats + attr("Index", "type: DT_INT32"))) +
      inside(node("m", "MatMul", "k:output:0 c", kFloats + attr("transpose_b", "b: true"))) +
      inside(node("sum", "Sum", "m:product:0 axis:output:0",
                  kFloats + attr("Tidx", "type: DT_INT32"))) +
      "ret { key: 'oi' value: 'add:z:0' } ret { key: 'oc' value: 'c' } ret { key: 'od' value: 'd' "
      "} "
      "ret { key: 'ox' value: 'sum:output:0' } } ";
  const std::string condition = "function { signature { name: 'cond' " + all("input_arg", "") +
                                argument("output_arg", "r", "DT_BOOL") + "} " +
                                inside(integers("end", {10}, true)) +
                                inside(node("less", "Less", "i end:output:0", kInts)) +
                                "ret { key: 'r' value: 'less:z:0' } } ";
  return integers("start", {0}, true) + placeholder("c", {10, 16}) + placeholder("x", {10}) +
         node("data", "Placeholder", "", attr("dtype", "type: DT_INT32") + shape("shape", {})) +
         node("loop", "StatelessWhile", "start c data x",
              attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                  attr("T",
                       "list { type: DT_INT32 type: DT_FLOAT type: DT_INT32 type: DT_FLOAT }")) +
         "library { " + body + condition + " }";
}

double flops_of_loop(const LoadedModel& model) {
  return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
}

constexpr double kRow = 2.0 * 16 * 10 + 10;  // a product with each of 10 rows, and the sum

TEST_CASE("a size that a loop's counter decides is another one in every round") {
  const LoadedModel model = load_bytes(windows("", "add:z:0"));
  CHECK(flops_of_loop(model) == doctest::Approx(55 * kRow).epsilon(0.01));  // 1 + 2 + .. + 10
  CHECK_FALSE(has_note(model, "largest step"));
  CHECK_FALSE(has_note(model, "no known size"));
}

TEST_CASE("a size in a loop that data decide is that of the largest step, and it is said") {
  const LoadedModel model = load_bytes(windows("", "d"));
  CHECK(flops_of_loop(model) == doctest::Approx(100 * kRow).epsilon(0.01));
  CHECK(has_note(model, "counted for the largest step"));
  CHECK_FALSE(has_note(model, "no known size"));
}

TEST_CASE("tensors of a body that have no size are counted, and the loop is named") {
  const LoadedModel model =
      load_bytes(windows(inside(node("mine", "Mystery", "d")), "mine:output:0"));
  CHECK(has_note(model, "in the bodies of 'loop' have no known size"));
}

/// The operations of a loop whose condition `condition` gives, of i and d:  while (..) { i += 1; x = x @ x; d = d }
double flops_while(const std::string& condition, const std::string& result,
                   const std::string& library) {
  const auto all = [&](const std::string& kind) {
    return argument(kind, kind[0] + std::string("i"), "DT_INT32") +
           argument(kind, kind[0] + std::string("d"), "DT_BOOL") +
           argument(kind, kind[0] + std::string("x"), "DT_FLOAT");
  };
  const std::string body = "function { signature { name: 'body' " + all("input_arg") +
                           all("output_arg") + "} " + inside(integers("one", {1}, true)) +
                           inside(node("add", "AddV2", "ii one:output:0", kInts)) +
                           inside(node("mul", "MatMul", "ix ix", kFloats)) +
                           "ret { key: 'oi' value: 'add:z:0' } ret { key: 'od' value: 'id' } "
                           "ret { key: 'ox' value: 'mul:product:0' } } ";
  const std::string cond = "function { signature { name: 'cond' " + all("input_arg") +
                           argument("output_arg", "r", "DT_BOOL") + "} " +
                           inside(integers("end", {32}, true)) + condition +
                           "ret { key: 'r' value: '" + result + "' } } ";
  const LoadedModel model = load_bytes(
      integers("start", {0}, true) + placeholder("x", {16, 16}) +
      node("d", "Placeholder", "", attr("dtype", "type: DT_BOOL") + shape("shape", {})) +
      node("loop", "StatelessWhile", "start d x",
           attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
               attr("T", "list { type: DT_INT32 type: DT_BOOL type: DT_FLOAT }")) +
      "library { " + body + cond + library + " }");
  return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
}

/// A branch of a condition: of a, what `nodes` make of it.
std::string branch(const std::string& name, const std::string& nodes, const std::string& result,
                   const std::string& first = "DT_BOOL") {
  return "function { signature { name: '" + name + "' " +
         argument("input_arg", "a", first.c_str()) + argument("output_arg", "r", "DT_BOOL") + "} " +
         nodes + "ret { key: 'r' value: '" + result + "' } } ";
}

TEST_CASE("a branch that always ends a loop is one of its conditions, as of a loop with a break") {
  const std::string bools = attr("T", "type: DT_BOOL");
  const auto constant = [](const char* value) {
    return inside(node("c", "Const", "",
                       attr("dtype", "type: DT_BOOL") +
                           attr("value", std::string("tensor { dtype: DT_BOOL tensor_shape { } "
                                                     "bool_val: ") +
                                             value + " }")));
  };
  const auto choice = [](const std::string& by, const std::string& given, const std::string& type) {
    return inside(node(
        "both", "StatelessIf", by + " " + given,
        attr("then_branch", "func { name: 'yes' }") + attr("else_branch", "func { name: 'no' }") +
            attr("Tcond", "type: DT_BOOL") + attr("Tin", "list { type: " + type + " }") +
            attr("Tout", "list { type: DT_BOOL }")));
  };
  const std::string less = inside(node("less", "Less", "ii end:output:0", kInts));
  const std::string at_end = inside(node("ge", "GreaterEqual", "ii end:output:0", kInts));
  const std::string not_a = inside(node("n", "LogicalNot", "a", ""));
  const std::string later =
      inside(integers("end", {20}, true)) + inside(node("l", "Less", "a end:output:0", kInts));
  constexpr double kProduct = 2.0 * 16 * 16 * 16;
  const auto rounds = [&](const std::string& nodes, const std::string& result,
                          const std::string& library) {
    return std::lround(flops_while(nodes, result, library) / kProduct);
  };
  const std::string by_limit = less + choice("less:z:0", "id", "DT_BOOL");
  const std::string by_data = choice("id", "ii", "DT_INT32");
  const auto no = [&](const char* type) {
    return branch("no", constant("false"), "c:output:0", type);
  };
  // for i in range(32): .. break
  CHECK(rounds(by_limit, "both:output:0", branch("yes", not_a, "n:y:0") + no("DT_BOOL")) == 32);
  CHECK(rounds(by_limit, "both:output:0",
               branch("yes", not_a, "n:y:0") + branch("no", constant("true"), "c:output:0")) == 1);
  // while d and i < 20: the branch has the limit.
  CHECK(rounds(by_data, "both:output:0",
               branch("yes", later, "l:z:0", "DT_INT32") + no("DT_INT32")) == 20);
  // The other way round: false where the end is reached, what the branch is chosen by, negated.
  CHECK(rounds(at_end + choice("ge:z:0", "id", "DT_BOOL"), "both:output:0",
               branch("no", not_a, "n:y:0") + branch("yes", constant("false"), "c:output:0")) ==
        32);
  CHECK(rounds(less + choice("less:z:0", "less:z:0", "DT_BOOL"), "both:output:0",
               branch("yes", constant("true"), "c:output:0") + branch("no", "", "a")) == 32);
  CHECK(rounds(at_end + inside(node("or", "LogicalOr", "ge:z:0 id", "")) +
                   inside(node("not", "LogicalNot", "or:z:0", "")),
               "not:y:0", "") == 32);
}

TEST_CASE("weights in bodies reside once, also where inference begins anew") {
  const std::string weight = inside(
      node("w", "Const", "",
           attr("dtype", "type: DT_FLOAT") +
               attr("value",
                    "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 16 } dim { size: 64 } } "
                    "float_val: 0.5 }")));
  const std::string branch =
      "input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } } " + weight +
      inside(node("m", "MatMul", "a w:output:0", kFloats)) +
      "ret { key: 'r' value: 'm:product:0' } } ";
  const LoadedModel model = load_bytes(
      placeholder("p", {}) + placeholder("x", {8, 16}) +
      node("choice", "StatelessIf", "p x",
           attr("then_branch", "func { name: 'f' }") + attr("else_branch", "func { name: 'g' }") +
               attr("Tout", "list { type: DT_FLOAT }")) +
      node("where", "Where", "x", kFloats) + "library { function { signature { name: 'f' " +
      branch + "function { signature { name: 'g' " + branch + "}");
  CHECK(has_note(model, "largest step"));
  CHECK(model.graph->param_bytes(op_named(*model.graph, "choice")) == 2 * 16 * 64 * 4);
}

}  // namespace
}  // namespace berth::tf_frontend
