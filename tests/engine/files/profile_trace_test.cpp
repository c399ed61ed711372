// Traces of other tools' profilers as costs.
#include "files/profile_trace.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "berth/error.h"
#include "berth/files.h"
#include "support/expect_error.h"
#include "support/two_matmuls.h"

namespace berth::test {
namespace {

std::shared_ptr<const Graph> graph() {
  return two_matmuls({"/a/MatMul", "b"});
}

MeasuredCosts parsed(const std::string& json) {
  return parse_profile_trace(json, "trace.json", *graph(), *host_and_gpu());
}

constexpr const char* kTorch = R"({"schemaVersion": 1, "deviceProperties": [{"name": "b"}],
 "traceEvents": [
  {"ph": "M", "name": "b", "args": {"name": "python"}},
  {"ph": "X", "cat": "user_annotation", "name": "/a/MatMul", "ts": 1, "dur": 900.5},
  {"ph": "X", "cat": "user_annotation", "name": "/a/MatMul", "ts": 2, "dur": 20,
   "args": {"External id": 4, "dur": 7, "shape": [[1, {"name": "b", "dur": 3}]]}},
  {"ph": "X", "cat": "user_annotation", "name": "/a/MatMul", "ts": 3, "dur": 35},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "/a/MatMul", "ts": 3, "dur": 4.5},
  {"ph": "X", "cat": "python_function", "name": "b", "ts": 3, "dur": 1000},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 3, "dur": 25}],
 "traceName": "b"})";

TEST_CASE("PyTorch's ranges count by name: the median, on GPUs that of their kernels alone") {
  const auto roofline = Costs::roofline(*graph(), *host_and_gpu());
  const MeasuredCosts made = parsed(kTorch);
  CHECK(made.costs->op_us(0, 0) == roofline->op_us(0, 0));
  CHECK(made.costs->op_us(0, 1) == 4.5);
  CHECK(made.costs->op_us(1, 0) == roofline->op_us(1, 0));
  CHECK(
      made.note ==
      "measured ops of 2: 0 on cpu, 1 on gpu; the rest cost what the roofline model says; of 1 ops "
      "that ran on a GPU the host's time is that of launching them and does not count");
  std::string on_host = kTorch;
  on_host.replace(on_host.find("gpu_user_annotation"), 3, "old");
  const MeasuredCosts host = parsed(on_host);
  CHECK(host.costs->op_us(0, 0) == 35);
  CHECK(host.costs->op_us(0, 1) == roofline->op_us(0, 1));
  CHECK(host.note ==
        "measured ops of 2: 1 on cpu, 0 on gpu; the rest cost what the roofline model says");
}

TEST_CASE("a trace of a GPU alone says nothing of a machine without one") {
  Device device{"cpu:0", "cpu"};
  device.host = true;
  const Cluster bare("bare", {device}, {});
  expect_error(ErrorCode::invalid_file, {"trace.json", "on a GPU alone", "'bare'"}, [&] {
    static_cast<void>(parse_profile_trace(kTorch, "trace.json", *graph(), bare));
  });
}

TEST_CASE("ONNX Runtime's nodes count where its provider for processors ran them") {
  const MeasuredCosts made = parsed(R"([
    {"cat": "Session", "ph": "X", "name": "model_run", "dur": 99, "args": {}},
    {"cat": "Node", "ph": "X", "name": "b_kernel_time", "dur": 11,
     "args": {"op_name": "MatMul", "provider": "CPUExecutionProvider"}},
    {"cat": "Node", "ph": "X", "name": "b_fence_before", "dur": 5, "args": {}},
    {"cat": "Node", "ph": "X", "name": "/a/MatMul_kernel_time", "dur": 3,
     "args": {"provider": "CUDAExecutionProvider"}}])");
  CHECK(made.costs->op_us(1, 0) == 11);
  CHECK(made.costs->op_us(0, 0) == Costs::roofline(*graph(), *host_and_gpu())->op_us(0, 0));
  CHECK(made.note.find("1 on cpu, 0 on gpu") != std::string::npos);
  CHECK(made.note.find("1 events are of other providers") != std::string::npos);
}

constexpr const char* kOptimized = R"([
    {"cat": "Session", "ph": "X", "name": "model_run", "dur": 99, "args": {}},
    {"cat": "Node", "ph": "X", "name": "/a/MatMul_kernel_time", "dur": 11,
     "args": {"provider": "CPUExecutionProvider"}},
    {"cat": "Node", "ph": "X", "name": "fused_kernel_time", "dur": 900,
     "args": {"provider": "CPUExecutionProvider"}},
    {"cat": "Node", "ph": "X", "name": "fused_kernel_time", "dur": 5,
     "args": {"provider": "CPUExecutionProvider"}},
    {"cat": "Node", "ph": "X", "name": "fused_kernel_time", "dur": 6,
     "args": {"provider": "CPUExecutionProvider"}},
    {"cat": "Node", "ph": "X", "name": "MatMul_0_kernel_time", "dur": 7.5,
     "args": {"provider": "CPUExecutionProvider"}}])";

TEST_CASE("ONNX Runtime's nodes that are no ops are told with their time and what to do") {
  const MeasuredCosts made = parsed(kOptimized);
  CHECK(made.costs->op_us(0, 0) == 11);
  CHECK(
      made.note ==
      "measured ops of 2: 1 on cpu, 0 on gpu; the rest cost what the roofline model says; "
      "2 measured nodes (13.50 us) are no ops of this graph and do not count: where no Loop, Scan "
      "or If runs them, let ONNX Runtime optimize nothing (graph_optimization_level = "
      "ORT_DISABLE_ALL), and name the model's nodes: it calls those without a name by type and "
      "number (MatMul_0)");
  expect_error(ErrorCode::invalid_file,
               {"called MatMul_0, fused; let ONNX", "name the model's nodes"}, [] {
                 std::string none = kOptimized;
                 none.erase(none.find("/a/"), 3).erase(none.find("MatMul_k"), 6);
                 none.insert(none.find("_kernel"), "fused");
                 static_cast<void>(parsed(none));
               });
}

TEST_CASE("ONNX Runtime's nodes whose outputs had other sizes are told") {
  const auto note = [](const std::string& shapes) {
    return parsed(R"([{"cat": "Node", "ph": "X", "name": "b_kernel_time", "dur": 11,
      "args": {"input_type_shape": [{"float": [9, 9]}], "output_type_shape": )" +
                  shapes + R"(,
        "provider": "CPUExecutionProvider", "threads": {"main": {"block_size": [1]}}}}])")
        .note;
  };
  for (const char* other :
       {R"([{"float": [64, 1000]}])", R"([{"float": [1000, 1000]}, {"bool": []}])"}) {
    CAPTURE(other);
    CHECK(
        note(other).ends_with("; 1 ops had outputs of other sizes there than in the model as it is "
                              "loaded now: profile it "
                              "for this batch and these dimensions"));
  }
  for (const char* same : {R"([{"float": [1000, 1000]}])", R"([{"float16": [1000000]}])", "\"\""}) {
    CAPTURE(same);
    CHECK(note(same).ends_with("roofline model says"));
  }
}

TEST_CASE("texts that JSON does not allow, which profilers write all the same") {
  for (const std::string& bad : {std::string("\x01"), std::string("\n"), std::string("\xff\xfe")}) {
    const std::string trace = R"({"note": "a)" + bad + R"(\"b", "traceEvents": [
      {"ph": "X", "cat": "python_function", "name": "f)" +
                              bad + R"(", "dur": 1},
      {"ph": "X", "cat": "cpu_op", "name": "b", "dur": 12}]})";
    CHECK(parsed(trace).costs->op_us(1, 0) == 12);
  }
}

TEST_CASE("a trace that is cut short and one that is damaged are told apart") {
  const auto refused = [](const std::string& json, const char* part) {
    expect_error(ErrorCode::invalid_file, {"trace.json", "broken at byte", part},
                 [&] { static_cast<void>(parsed(json)); });
  };
  refused(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "na)", "not stopped");
  refused(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op"}, )", "not stopped");
  refused(R"({"traceEvents": [{"ph": X}]})", "what is no JSON");
  refused(R"({"traceEvents": [{"ph": "X"} {"ph": "X"}]})", "what is no JSON");
}

TEST_CASE("what is no trace, or of another graph, is told with what to do") {
  CHECK(is_profile_trace(kTorch));
  CHECK(is_profile_trace(" [{}]"));
  CHECK_FALSE(is_profile_trace(R"({"format": "berth.costs/1"})"));
  CHECK_FALSE(is_profile_trace(""));
  const std::pair<std::string, const char*> cases[] = {
      {R"([{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "dur": 1}])", "aten::mm"},
      {"[]", "'two'"},
      {R"({"traceEvents": [{"ph": "X", "cat)", "broken at byte"},
      {R"([{"ph": "X", "cat": "cpu_op", "name": "b", "dur": -1}])", "record_function"},
      {R"([{"ph": "X", "cat": "cpu_op", "name": "b", "dur": "1"}])", "record_function"},
      {R"([[{"ph": "X", "cat": "cpu_op", "name": "b", "dur": 1}]])", "record_function"},
  };
  for (const auto& [json, message] : cases) {
    CAPTURE(json);
    expect_error(ErrorCode::invalid_file, {"trace.json", message},
                 [&] { static_cast<void>(parsed(json)); });
  }
}

}  // namespace
}  // namespace berth::test
