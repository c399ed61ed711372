// Every kernel of TensorFlow's ops against what TensorFlow computed; see make_cases.py.
#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/data.h"
#include "support/expect_error.h"

namespace berth::runtime {
namespace {

using tf_frontend::attr;
using tf_frontend::integers;
using tf_frontend::kFloats;
using tf_frontend::node;
using tf_frontend::placeholder;
using tf_frontend::shape;

/// Elements in f16, f32 and f64 may differ by this much, relative to their size where it is above 1:
/// sums of some hundred products in another order. All other types agree exactly.
double tolerance_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
    case at::kComplexFloat:
      return 2e-5;
    case at::kDouble:
      return 1e-12;
    case at::kHalf:
      return 2e-3;  // two units in the last place
    default:
      return 0;
  }
}

const std::filesystem::path& cases_path() {
  static const std::filesystem::path path = test::source_path("tests/backends/tf/op_cases.pb.gz");
  return path;
}

/// "12/expected_after_0" -> {"12/after_0", 0}, "12/expected_3" -> {"12/op", 3}
std::pair<std::string, std::size_t> computed_by(const std::string& expected) {
  const std::string case_number = expected.substr(0, expected.find('/') + 1);
  const std::string index = expected.substr(expected.rfind('_') + 1);
  if (expected.find("expected_after_") != std::string::npos) {
    return {case_number + "after_" + index, 0};
  }
  return {case_number + "op", std::stoul(index)};
}

/// An output whose content TensorFlow leaves open: what a fused op keeps for its own gradient, gates in steps that are not
/// taken, and vectors of any sign, which decomposition_test.cpp looks at.
bool is_open(const std::string& type, std::size_t port) {
  const bool is_gate = port != 1 && port != 6;
  return (type == "FusedBatchNormV3" && port == 5) || type == "Qr" ||
         ((type == "Svd" || type == "SelfAdjointEigV2") && port > 0) ||
         (type.starts_with("BlockLSTM") && is_gate);
}

int compare(const Stepper& stepper) {
  int compared = 0;
  for (const Instruction& each : stepper.program().instructions) {
    if (each.name.find("/expected_") == std::string::npos) continue;
    const auto [op, port] = computed_by(each.name);
    const auto id = stepper.program().graph->find_op(op);
    REQUIRE(id.has_value());
    const std::string& type = stepper.program().graph->op_type(*id);
    if (is_open(type, port)) continue;
    const at::Tensor expected = stepper.value(each.name);
    const at::Tensor actual = stepper.value(op, port);
    const double apart = difference(actual, expected);
    CHECK_MESSAGE(apart <= tolerance_of(expected), type, " of ", op, ":", port, " differs by ",
                  apart);
    ++compared;
  }
  return compared;
}

TEST_CASE("kernels compute what TensorFlow computes, and again in the next step") {
  Stepper stepper(load_tf(cases_path(), {"all"}));
  for (int step = 0; step < 2; ++step) {
    CAPTURE(step);
    stepper.integers_stay = step == 0;  // later what other ops compute
    stepper.run();
    const int compared = compare(stepper);
    CHECK(compared > 600);
    if (step == 0) MESSAGE(compared, " outputs as TensorFlow has them");
  }
}

// Their numbers are not TensorFlow's; the tests below look at them.
const std::set<std::string> kRandom = {"Multinomial",          "RandomGamma",    "RandomPoissonV2",
                                       "RandomShuffle",        "RandomUniform",  "RandomUniformInt",
                                       "RandomStandardNormal", "TruncatedNormal"};

// Its numbers are counted by hand: operands_test.cpp looks at them.
const std::set<std::string> kByHand = {"MirrorPadGrad"};

/// Iterators, queues and stacks: sources_test.cpp looks at them.
bool feeds(const std::string& type) {
  const auto has = [&](const char* part) { return type.find(part) != std::string::npos; };
  return has("Iterator") || has("Queue") || type.starts_with("Stack");
}

/// Those of bodies too.
void add_types(const std::vector<Instruction>& instructions, std::set<std::string>& types) {
  for (const Instruction& each : instructions) {
    types.insert(each.type);
    for (const auto& [name, content] : each.attributes) {
      const auto* const body = std::get_if<std::shared_ptr<const Body>>(&content);
      if (body != nullptr) add_types((*body)->instructions, types);
    }
  }
}

TEST_CASE("every kernel has a case") {
  std::set<std::string> seen;
  for (const auto& path : {cases_path(), test::source_path("tests/backends/tf/control_flow.pb.gz"),
                           test::source_path("tests/backends/tf/old_branches.pb.gz")}) {
    add_types(load_tf(path, {"all"})->instructions, seen);
  }
  for (const auto& [type, maker] : tf_kernels().makers()) {
    // The same op by its name of 2015; the end of a function, which has no op outside of one.
    if (type == "Variable" || type == "_Retval") continue;
    const bool known =
        seen.contains(type) || kRandom.contains(type) || kByHand.contains(type) || feeds(type);
    CHECK_MESSAGE(known, "no case for ", type);
  }
  MESSAGE(tf_kernels().makers().size(), " op types have kernels");
}

const std::string kFloat = attr("dtype", "type: DT_FLOAT");

TEST_CASE("random numbers follow their distribution, and the seed alone") {
  std::string text = integers("shape", {50, 200}) + integers("least", {-3}, true) +
                     integers("limit", {5}, true) +
                     node("whole", "RandomUniformInt", "shape least limit",
                          attr("Tout", "type: DT_INT32") + attr("T", "type: DT_INT32"));
  for (const char* type : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    text += node(type, type, "shape", kFloat + attr("T", "type: DT_INT32"));
  }
  const std::vector<std::string> all = {"RandomUniform", "RandomStandardNormal", "TruncatedNormal",
                                        "whole"};
  Stepper first = stepper_of(text, all), second = stepper_of(text, all);
  first.run();
  second.run();
  struct Expected {
    const char* op;
    double mean, deviation, least, most;
  };
  // 10,000 numbers: three standard errors of a mean are 0.03 deviations.
  for (const Expected& each :
       {Expected{"RandomUniform", 0.5, 0.2887, 0, 1}, Expected{"RandomStandardNormal", 0, 1, -9, 9},
        Expected{"TruncatedNormal", 0, 0.8796, -2, 2}, Expected{"whole", 0.5, 2.291, -3, 4}}) {
    CAPTURE(each.op);
    const at::Tensor numbers = first.value(each.op).to(at::kDouble);
    CHECK(numbers.sizes().vec() == std::vector<std::int64_t>{50, 200});
    CHECK(std::abs(numbers.mean().item().toDouble() - each.mean) <= 0.03 * each.deviation);
    CHECK(numbers.std().item().toDouble() ==
          doctest::Approx(each.deviation).epsilon(0.03).scale(0));
    CHECK(numbers.min().item().toDouble() >= each.least);
    CHECK(numbers.max().item().toDouble() <= each.most);
    CHECK(difference(first.value(each.op), second.value(each.op)) == 0);
  }
}

TEST_CASE("samples follow their distribution, and rows are shuffled whole") {
  const std::string i32 = attr("T", "type: DT_INT32"), sampled = attr("S", "type: DT_INT32");
  const std::string text =
      integers("shape", {10000}) + integers("count", {10000}, true) +
      integers("rows", {0, 1, 2, 3, 4, 5, 6, 7}) + placeholder("logits", {2, 3}) +
      placeholder("parameters", {2}) +
      node("class", "Multinomial", "logits count",
           kFloats + attr("output_dtype", "type: DT_INT64")) +
      node("gamma", "RandomGamma", "shape parameters", kFloats + sampled) +
      node("poisson", "RandomPoissonV2", "shape parameters",
           sampled + attr("R", "type: DT_FLOAT") + attr("dtype", "type: DT_INT64")) +
      node("shuffled", "RandomShuffle", "rows", i32);
  const std::vector<std::string> all = {"class", "gamma", "poisson", "shuffled"};
  Stepper first = stepper_of(text, all), second = stepper_of(text, all);
  const float odds = std::log(3.0F);
  const std::map<std::string, at::Tensor> feeds = {
      {"logits", at::tensor({0.0F, odds, -100.0F, -100.0F, 0.0F, odds}).reshape({2, 3})},
      {"parameters", at::tensor({0.5F, 4.0F})}};
  first.run(feeds);
  second.run(feeds);
  for (const std::string& each : all) CHECK(difference(first.value(each), second.value(each)) == 0);
  const auto mean = [&](const char* op, std::int64_t axis) {
    const at::Tensor numbers = first.value(op).to(at::kDouble);
    return numbers.mean(axis).cpu();
  };
  // The first class of each row comes once in four times.
  CHECK(difference(first.value("class").min(), at::scalar_tensor(0, at::kLong)) == 0);
  const at::Tensor classes = mean("class", 1), gammas = mean("gamma", 0),
                   events = mean("poisson", 0);
  CHECK(classes[0].item().toDouble() == doctest::Approx(0.75).epsilon(0.02).scale(0));
  CHECK(classes[1].item().toDouble() == doctest::Approx(1.75).epsilon(0.02).scale(0));
  for (const at::Tensor& means : {gammas, events}) {
    CHECK(means[0].item().toDouble() == doctest::Approx(0.5).epsilon(0.05).scale(0));
    CHECK(means[1].item().toDouble() == doctest::Approx(4).epsilon(0.05).scale(0));
  }
  const at::Tensor order = first.value("shuffled").cpu();
  CHECK(difference(std::get<0>(order.sort()), at::tensor({0, 1, 2, 3, 4, 5, 6, 7}, at::kInt)) == 0);
}

TEST_CASE("a value that was read stays what it was when the variable changes") {
  for (const bool reference : {true, false}) {
    CAPTURE(reference);
    const std::string read = reference ? "Identity" : "ReadVariableOp";
    const std::string change = reference ? "AssignAdd" : "AssignAddVariableOp";
    const std::string types = kFloats + kFloat;
    const std::string text =
        node("v", reference ? "VariableV2" : "VarHandleOp", "", kFloat + shape("shape", {3})) +
        node("before", read, "v", types) + node("change", change, "v before ^before", types) +
        node("after", read, "v ^change", types) + node("again", "Neg", "before ^after", kFloats);
    Stepper stepper = stepper_of(text, {"before", "after", "again"});
    stepper.run();
    const at::Tensor before = stepper.value("before");
    CHECK(difference(stepper.value("after"), before * 2) == 0);
    CHECK(difference(stepper.value("again"), -before) == 0);
    CHECK(difference(stepper.state.variables.at("v").tensor, before * 2) == 0);
    // The next step goes on from there.
    stepper.run();
    CHECK(difference(stepper.value("before"), before * 2) == 0);
  }
}

TEST_CASE("diagonals whose alignment a file leaves out are aligned as the op's version has it") {
  const auto constant = [](const std::string& name, const std::string& tensor) {
    return node(name, "Const", "",
                kFloat + attr("value", "tensor { dtype: DT_FLOAT " + tensor + " }"));
  };
  std::string text =
      constant("x", "tensor_shape { dim { size: 2 } dim { size: 2 } } float_val: [1, 2, 3, 4]") +
      constant("filler", "tensor_shape {} float_val: 9") + integers("k", {0, 1});
  const auto add = [&](const std::string& name, const std::string& version,
                       const std::string& align) {
    const std::string stated = align.empty() ? "" : attr("align", "s: '" + align + "'");
    text += node(name, "MatrixDiagPart" + version, "x k filler", kFloats + stated);
  };
  add("second", "V2", "");
  add("third", "V3", "");
  add("left", "V3", "LEFT_LEFT");
  add("right", "V3", "RIGHT_LEFT");
  Stepper stepper = stepper_of(text, {"second", "third", "left", "right"});
  stepper.run();
  CHECK(difference(stepper.value("second"), stepper.value("left")) == 0);
  CHECK(difference(stepper.value("third"), stepper.value("right")) == 0);
  CHECK(difference(stepper.value("left"), stepper.value("right")) > 0);
}

TEST_CASE("variables without an initializer begin small, the same each time, and not all equal") {
  const std::string text =
      node("v", "VariableV2", "", kFloat + shape("shape", {40, 50})) +
      node("w", "VariableV2", "", attr("dtype", "type: DT_INT64") + shape("shape", {})) +
      node("read", "Identity", "v", kFloats) +
      node("count", "Identity", "w", attr("T", "type: DT_INT64"));
  Stepper first = stepper_of(text, {"read", "count"}), second = stepper_of(text, {"read", "count"});
  first.run();
  second.run();
  const at::Tensor values = first.value("read");
  CHECK(values.abs().max().item().toDouble() < 0.2);
  CHECK(values.std().item().toDouble() > 0.01);
  CHECK(difference(values, second.value("read")) == 0);
  CHECK(first.value("count").item().toLong() == 0);
}

TEST_CASE("a range whose step leads away from its limit is refused") {
  const auto program = load_tf(cases_path(), {"all"});
  const auto& all = program->instructions;
  const auto range = std::ranges::find(all, "Range", &Instruction::type);
  REQUIRE(range != all.end());
  const Kernel kernel = tf_kernels().find("Range")({*program, *range, tf_kernels()});
  const auto number = [](double value) { return Value{at::scalar_tensor(value), nullptr}; };
  KernelContext context;
  Value out;
  for (const double limit : {0.0, 0.5}) {
    const Value inputs[] = {number(1), number(limit), number(1)};
    CHECK_THROWS_AS(kernel(context, inputs, {&out, 1}), c10::Error);
  }
}

TEST_CASE("what a kernel cannot do is refused while loading, by the attribute's name") {
  const std::string text =
      placeholder("x", {1, 2, 2, 4}) +
      node("y", "MaxPool", "x",
           kFloats + attr("ksize", "list { i: 1 i: 1 i: 1 i: 2 }") +
               attr("strides", "list { i: 1 i: 1 i: 1 i: 2 }") + attr("padding", "s: 'VALID'"));
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", text);
  const auto program = load_tf(folder / "graph.pbtxt", {"y"});
  const Instruction& pool =
      program->instructions[static_cast<std::size_t>(*program->graph->find_op("y"))];
  test::expect_error(ErrorCode::unsupported, {"strides"}, [&] {
    static_cast<void>(tf_kernels().find("MaxPool")({*program, pool, tf_kernels()}));
  });
}

}  // namespace
}  // namespace berth::runtime
