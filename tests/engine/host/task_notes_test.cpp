// The arithmetic of a task's costs, and the note that names it.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/machines.h"
#include "berth/run.h"
#include "berth/tools.h"

using namespace berth;

namespace {

TEST_CASE("f32 is in TF32 as the program does it, which a note says unless the setting does") {
  const auto model = [](const char* dialect, bool products, bool convolutions) {
    GraphBuilder builder("net", dialect);
    const TensorInfo info{DType::f32, true, {8, 8}, kUnknownBytes};
    TensorId last = builder.add_output(builder.add_op("x", "Input"), info);
    const auto add = [&](const std::string& layer, OpClass op_class) {
      const OpId op = builder.add_op("/" + layer + "/Some", "Some");
      builder.set_work(op, {1e12, 0, op_class, DType::f32, 1});
      builder.add_input(op, last);
      builder.add_input(op, builder.add_parameter(info, layer + ".weight"));
      last = builder.add_output(op, info);
    };
    if (products) add("layers.0", OpClass::matmul);
    if (convolutions) add("layers.1", OpClass::convolution);
    return builder.build();
  };
  Engine engine({"/no/plugins"});
  const auto note_of = [&](const std::shared_ptr<const Graph>& graph, const char* words,
                           const Settings& settings = {}) {
    const Task task = make_task(engine, graph, machine_of_words(words), settings);
    std::string found;
    for (const std::string& note : task.notes) {
      if (note.find("TF32") == std::string::npos) continue;
      CHECK(found.empty());
      found = note;
    }
    return found;
  };
  const auto of_onnx = model("onnx", true, true);
  CHECK(
      note_of(of_onnx, "2xa100+host") ==
      "f32 products and convolutions are in TF32 on gpu:0, gpu:1, as ONNX Runtime computes them by "
      "default; the setting tf32 says otherwise");
  CHECK(
      note_of(model("tf", true, false), "a100+v100+host") ==
      "f32 products are in TF32 on gpu:0, as TensorFlow computes them by default; the setting tf32 "
      "says otherwise");
  CHECK(note_of(model("berth", true, true), "a100+host") ==
        "f32 convolutions are in TF32 on gpu:0, products not, as PyTorch computes them by default; "
        "the "
        "setting tf32 says otherwise");
  CHECK(note_of(model("berth", true, false), "a100+host") ==
        "f32 products are not in TF32 on gpu:0, as PyTorch computes them by default; the setting "
        "tf32 "
        "says otherwise");
  Settings settings;
  settings.tool = "accelerate";
  CHECK(note_of(of_onnx, "a100+host", settings) ==
        "f32 convolutions are in TF32 on gpu:0, products not, as accelerate computes them by "
        "default; "
        "the setting tf32 says otherwise");
  CHECK(note_of(of_onnx, "v100+host") == "");
  CHECK(note_of(model("onnx", false, false), "a100+host") == "");
  settings = {};
  settings.tf32 = Tf32::none;
  CHECK(note_of(of_onnx, "a100+host", settings) == "");
}

TEST_CASE("roofline costs have the arithmetic of the tool, which the setting tf32 replaces") {
  const auto arithmetic = [](const char* dialect, const char* tool, const char* tf32) {
    GraphBuilder builder("net", dialect);
    static_cast<void>(builder.add_op("a", "Some"));
    Settings settings;
    if (*tool != '\0') settings.tool = tool;
    if (*tf32 != '\0') set_setting(settings, "tf32", tf32);
    return arithmetic_of(settings, *builder.build());
  };
  CHECK(arithmetic("onnx", "", "").tf32 == Tf32::all);
  CHECK(arithmetic("berth", "", "").tf32 == Tf32::convolutions);
  CHECK(arithmetic("onnx", "", "none").tf32 == Tf32::none);
  for (const Tool& each : tools()) {
    CAPTURE(each.name);
    const std::string name(each.name);
    const bool torch =
        name == "accelerate" || name == "vllm" || name == "deepspeed" || name == "torch-pipelining";
    const Arithmetic by_default = arithmetic("onnx", name.c_str(), "");
    CHECK(by_default.tf32 == (torch ? Tf32::convolutions : Tf32::all));
    CHECK(by_default.narrow_as_integers == (name == "llama.cpp"));
    const Arithmetic asked = arithmetic("onnx", name.c_str(), "none");
    CHECK(asked.tf32 == Tf32::none);
    CHECK(asked.narrow_as_integers == by_default.narrow_as_integers);
  }
  Settings measured;
  measured.evaluator = EvaluatorKind::measure;
  GraphBuilder builder("net", "onnx");
  static_cast<void>(builder.add_op("a", "Some"));
  CHECK(arithmetic_of(measured, *builder.build()).tf32 == Tf32::none);
}

TEST_CASE("costs of a task are in TF32 as its settings say") {
  GraphBuilder builder("net", "onnx");
  const OpId op = builder.add_op("/layers.0/Some", "Some");
  builder.set_work(op, {1e15, 0, OpClass::matmul, DType::f32, 1});
  const auto graph = builder.build();
  Engine engine({"/no/plugins"});
  const auto cluster = machine_of_words("a100+host");  // 19.5 TFLOP/s, in TF32 156
  const KindId gpu = cluster->kind_of(*cluster->find_device("gpu:0"));
  const auto ms = [&](const Settings& settings) {
    return make_task(engine, graph, cluster, settings).problem->costs().op_us(op, gpu) / 1e3;
  };
  CHECK(ms({}) == doctest::Approx(1e6 / (0.8 * 156)));
  Settings settings;
  for (const char* const source : {"", "roofline"}) {
    if (*source != '\0') settings.costs = source;
    settings.tf32 = Tf32::none;
    CHECK(ms(settings) == doctest::Approx(1e6 / (0.8 * 19.5)));
    settings.tf32 = Tf32::convolutions;
    CHECK(ms(settings) == doctest::Approx(1e6 / (0.8 * 19.5)));
  }
}

TEST_CASE("tf32 beside costs that are stated is noted, as it says nothing of them") {
  GraphBuilder builder("net", "berth");
  builder.set_cost(builder.add_op("a", "Some"), "", 5);
  const auto graph = builder.build();
  Engine engine({"/no/plugins"});
  Settings settings;
  settings.tf32 = Tf32::all;
  const auto notes = [&] {
    return make_task(engine, graph, machine_of_words("a100+host"), settings).notes;
  };
  CHECK(notes().empty());
  settings.costs = "stated";
  CHECK(notes() == std::vector<std::string>{"tf32 is for roofline costs, and these are stated"});
}

}  // namespace
