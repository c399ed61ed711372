// Ops in which samples of one batch meet.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "berth/replicas.h"
#include "berth/sdk/ops/constants.h"
#include "training_graph.h"

using namespace berth;
using namespace berth::test;

namespace {

using Names = std::set<std::string>;

/// x [b, 8] or, where `turned`, [8, b] -> `type` -> summed over the samples -> an update. An axis goes in by an input or
/// an attribute.
struct Step {
  const char* type;
  int axis_input = -1;  ///< -1: none
  double axis = 0;
  const char* attribute = nullptr;
  bool turned = false;
  std::int64_t gives = 1;  ///< samples of x for each that the op gives
  const char* dialect = "tf";
};

std::shared_ptr<const Graph> graph_of(const Step& step, std::int64_t b) {
  GraphBuilder builder("meeting", step.dialect);
  const auto output = [&](OpId op, std::vector<std::int64_t> shape, DType dtype = DType::f32) {
    TensorInfo info;
    info.dtype = dtype;
    info.has_shape = true;
    info.shape = std::move(shape);
    return builder.add_output(op, info);
  };
  const auto rows = [&](std::int64_t count) {
    return step.turned ? std::vector<std::int64_t>{8, count} : std::vector<std::int64_t>{count, 8};
  };
  TensorInfo parameter;
  parameter.dtype = DType::f32;
  parameter.has_shape = true;
  parameter.shape = {8};
  const bool tf = std::string(step.dialect) == "tf";
  const TensorId w =
      tf ? output(builder.add_op("w", "VariableV2"), {8}) : builder.add_parameter(parameter);
  const OpId fed = builder.add_op("fed", tf ? "Placeholder" : "Input");
  const TensorId x = output(fed, rows(b));
  const OpId constant = builder.add_op("axis", "Const");
  builder.set_attribute(constant, std::string(ops::kKnownNumber), step.axis);
  const TensorId axis = output(constant, {}, DType::i32);
  const OpId op = builder.add_op("op", step.type);
  builder.add_input(op, x);
  for (int i = 1; i <= step.axis_input; ++i) builder.add_input(op, axis);
  if (step.attribute != nullptr) {
    builder.set_attribute(op, step.attribute, static_cast<std::int64_t>(step.axis));
  }
  const TensorId y = output(op, rows(b / step.gives));
  const OpId sum = builder.add_op("dw", tf ? "Sum" : "ReduceSum");
  builder.add_input(sum, y);
  const TensorId dw = output(sum, {8});
  const OpId update = builder.add_op("update", tf ? "AssignSub" : "Sub");
  builder.add_input(update, w);
  builder.add_input(update, dw);
  const TensorId anew = output(update, {8});
  if (!tf) builder.add_result(anew);
  return builder.build();
}

std::string meeting(const Step& step) {
  const auto whole = graph_of(step, 8);
  const Training training = study_training(*whole, *graph_of(step, 4), 8);
  if (!training.meetings.empty()) return whole->op_name(training.meetings.front());
  if (training.possible_meetings.empty()) return "";
  return "perhaps " + whole->op_name(training.possible_meetings.front());
}

}  // namespace

TEST_CASE("samples that meet on the way to a gradient are named") {
  const auto graph = [](std::int64_t b, const char* kind) {
    GraphBuilder builder("meeting", "tf");
    const auto op = [&](const char* name, const char* type, const std::vector<TensorId>& inputs,
                        std::vector<std::int64_t> shape) {
      const OpId made = builder.add_op(name, type);
      for (const TensorId input : inputs) builder.add_input(made, input);
      TensorInfo info;
      info.dtype = DType::f32;
      info.has_shape = true;
      info.shape = std::move(shape);
      return builder.add_output(made, info);
    };
    const std::string meet(kind);
    const TensorId x = op("x", "Placeholder", {}, {b, 8});
    const TensorId w = op("w", "VariableV2", {}, {8});
    TensorId rows = x;
    if (meet == "norm") {
      const TensorId norm = op("norm", "L2Loss", {x}, {});
      rows = op("rows", "Mul", {x, norm}, {b, 8});
    } else if (meet == "pairs") {
      const TensorId pairs = op("pairs", "MatMul", {x, x}, {b, b});
      rows = op("rows", "MatMul", {pairs, x}, {b, 8});
    } else if (meet == "loss") {
      // A loss that is only shown.
      op("loss", "Mean", {x}, {});
    }
    op("update", "AssignSub", {w, op("dw", "Sum", {rows}, {8})}, {8});
    return builder.build();
  };
  const auto meetings = [&](const char* kind) {
    const auto whole = graph(8, kind);
    Names names;
    for (const OpId op : study_training(*whole, *graph(4, kind), 8).meetings)
      names.insert(whole->op_name(op));
    return names;
  };
  CHECK(meetings("norm") == Names{"norm"});
  CHECK(meetings("pairs") == Names{"pairs"});
  CHECK(meetings("loss").empty());
}

TEST_CASE(
    "a total beside what each sample has is a meeting where it leads back to samples itself") {
  // x -> `type` -> rows [b, 8] and a total; the gradient is of the rows, or of the rows times the total.
  const auto meets = [](const char* type, bool leads_back) {
    const auto graph = [&](std::int64_t b) {
      GraphBuilder builder("total", "tf");
      const auto op = adder(builder);
      const TensorId x = op("x", "Placeholder", {}, {b, 8});
      const TensorId w = op("w", "VariableV2", {}, {8});
      TensorId rows = op("op", type, {x}, {b, 8});
      TensorInfo number;
      number.dtype = DType::f32;
      number.has_shape = true;
      const TensorId total = builder.add_output(/*op=*/2, number);
      op("shown", "AssignAdd", {op("mean", "VariableV2", {}, {}), total}, {});
      if (leads_back) rows = op("scaled", "Mul", {rows, total}, {b, 8});
      op("update", "AssignSub", {w, op("dw", "Sum", {rows}, {8})}, {8});
      return builder.build();
    };
    return !study_training(*graph(8), *graph(4), 8).meetings.empty();
  };
  CHECK_FALSE(meets("SoftmaxCrossEntropyLoss", /*leads_back=*/false));
  CHECK(meets("SoftmaxCrossEntropyLoss", /*leads_back=*/true));
  // What the samples become depends on the statistics, whoever else reads these.
  CHECK(meets("FusedBatchNormV3", /*leads_back=*/false));
}

TEST_CASE("samples meet in an op that reads along the batch's axis, though it keeps their number") {
  const Step sure[] = {
      {.type = "Roll", .axis_input = 2},
      {.type = "ReverseV2", .axis_input = 1, .axis = -2},
      {.type = "Cumsum", .axis_input = 1},
      {.type = "TopKV2", .turned = true, .gives = 2},
      {.type = "Softmax", .turned = true},
      {.type = "RandomShuffle"},
      {.type = "StridedSlice", .gives = 2},
      {.type = "TopK", .attribute = "axis", .dialect = "onnx"},
      {.type = "Softmax", .attribute = "axis", .dialect = "onnx"},
  };
  for (const Step& step : sure) {
    CAPTURE(step.type);
    CHECK(meeting(step) == "op");
  }
}

TEST_CASE("samples do not meet along another axis") {
  const Step none[] = {
      {.type = "Roll", .axis_input = 2, .axis = 1},
      {.type = "Cumsum", .axis_input = 1, .axis = -1},
      {.type = "TopKV2"},
      {.type = "Softmax"},
      {.type = "GatherV2", .axis_input = 2, .axis = 1},
      {.type = "RandomShuffle", .turned = true},
      {.type = "Tanh"},
      {.type = "StridedSlice"},
      {.type = "Softmax", .dialect = "onnx"},
  };
  for (const Step& step : none) {
    CAPTURE(step.type);
    CHECK(meeting(step).empty());
  }
}

TEST_CASE(
    "samples meet perhaps where what a tensor or a body holds decides it, or the type is unknown") {
  const Step open[] = {
      {.type = "GatherV2", .axis_input = 2},
      {.type = "SegmentSum"},
      {.type = "While"},
      {.type = "MyOwnOp"},
      {.type = "Gather", .dialect = "onnx"},
      {.type = "CumSum", .dialect = "onnx"},
  };
  for (const Step& step : open) {
    CAPTURE(step.type);
    CHECK(meeting(step) == "perhaps op");
  }
}
