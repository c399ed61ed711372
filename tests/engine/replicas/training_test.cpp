// Gradients, found by sizes at two batches.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "berth/error.h"
#include "berth/replicas.h"
#include "support/expect_error.h"
#include "training_graph.h"

using namespace berth;

namespace {

using Names = std::set<std::string>;

Names gradients(const Graph& graph, const Training& training, bool sparse) {
  Names names;
  for (const auto& gradient : training.gradients) {
    if (gradient.sparse == sparse) names.insert(graph.op_name(graph.producer(gradient.tensor)));
  }
  return names;
}

Names marked(const Graph& graph, const std::vector<bool>& ops) {
  Names names;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (ops[static_cast<std::size_t>(op)]) names.insert(graph.op_name(op));
  }
  return names;
}

/// Adds an op of one output.
auto adder(GraphBuilder& builder) {
  return [&builder](const char* name, const char* type, const std::vector<TensorId>& inputs,
                    std::vector<std::int64_t> shape, DType dtype = DType::f32) {
    const OpId made = builder.add_op(name, type);
    for (const TensorId input : inputs) builder.add_input(made, input);
    TensorInfo info;
    info.dtype = dtype;
    info.has_shape = true;
    info.shape = std::move(shape);
    return builder.add_output(made, info);
  };
}

}  // namespace

TEST_CASE("gradients are those before clipping by the global norm; rows of a table are gathered") {
  const auto whole = test::training_graph(64), smaller = test::training_graph(32);
  const Training training = study_training(*whole, *smaller, 64);
  CHECK(gradients(*whole, training, false) == Names{"dw"});
  CHECK(gradients(*whole, training, true) == Names{"dx", "ids"});
  CHECK(marked(*whole, training.reads_reduced) ==
        Names{"norm_w", "clipped_w", "norm_x", "clipped_x", "update_table"});
  // The norm reads what was gathered, so that all behind it is the same in every replica.
  CHECK(marked(*whole, training.whole).contains("clipped_x"));
  CHECK(marked(*whole, training.whole).contains("norm_x"));
  CHECK_FALSE(marked(*whole, training.whole).contains("dx"));
  CHECK(training.gradient_bytes == 4 * 8 * 4);
  CHECK(training.gathered_bytes == 64 * 4 * 4 + 64 * 4);
  CHECK(training.batch == 64);
}

TEST_CASE("a statistic of the batch is reduced for its average, and not for the layer") {
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("norm", "tf");
    const auto op = [&](const char* name, const char* type, std::vector<TensorId> inputs,
                        std::vector<std::int64_t> shape) {
      const OpId made = builder.add_op(name, type);
      for (const TensorId input : inputs) builder.add_input(made, input);
      TensorInfo info;
      info.dtype = DType::f32;
      info.has_shape = true;
      info.shape = std::move(shape);
      return builder.add_output(made, info);
    };
    const TensorId x = op("x", "Placeholder", {}, {b, 100});
    const TensorId average = op("average", "VariableV2", {}, {100});
    const TensorId mean = op("mean", "Mean", {x}, {100});
    op("centred", "Sub", {x, mean}, {b, 100});
    const TensorId change = op("change", "Sub", {average, mean}, {100});
    op("move", "AssignSub", {average, change}, {100});
    return builder.build();
  };
  const auto whole = graph(8), smaller = graph(4);
  const Training training = study_training(*whole, *smaller, 8);
  CHECK(gradients(*whole, training, false) == Names{"change"});
  CHECK(marked(*whole, training.reads_reduced) == Names{"move"});
}

TEST_CASE("a gradient's update is its own variable's, though the norm leads to all") {
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("norm", "tf");
    const auto op = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                        std::vector<std::int64_t> shape) {
      const OpId made = builder.add_op(name, type);
      for (const TensorId input : inputs) builder.add_input(made, input);
      TensorInfo info;
      info.dtype = DType::f32;
      info.has_shape = true;
      info.shape = std::move(shape);
      return builder.add_output(made, info);
    };
    const TensorId x = op("x", "Placeholder", {}, {b, 100});
    std::vector<TensorId> variables, gradients, norms;
    for (const char* const name : {"u", "v", "w"}) {
      variables.push_back(op(name, "VariableV2", {}, {100}));
      gradients.push_back(op(std::string("d") + name, "Sum", {x}, {100}));
      norms.push_back(op(std::string("norm_") + name, "L2Loss", {gradients.back()}, {}));
    }
    const TensorId norm = op("norm", "AddN", norms, {});
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string name(1, "uvw"[i]);
      const TensorId clipped = op("clipped_" + name, "Mul", {gradients[i], norm}, {100});
      op("update_" + name, "ApplyGradientDescent", {variables[i], clipped}, {100});
    }
    return builder.build();
  };
  const auto whole = graph(8);
  const Training training = study_training(*whole, *graph(4), 8);
  REQUIRE(training.gradients.size() == 3);
  for (const auto& gradient : training.gradients) {
    const std::string name(whole->op_name(whole->producer(gradient.tensor)).substr(1));
    CHECK(whole->op_name(gradient.update) == "update_" + name);
  }
}

TEST_CASE("what leads to a sum over the batch reads each replica's own") {
  // As gradients of broadcast sums have it: the shape of one gradient says how another is summed.
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("shapes", "tf");
    const auto op = adder(builder);
    const TensorId x = op("x", "Placeholder", {}, {b, 100});
    const TensorId v = op("v", "VariableV2", {}, {100});
    const TensorId w = op("w", "VariableV2", {}, {100});
    const TensorId dv = op("dv", "Sum", {x}, {100});
    const TensorId shape = op("shape", "Shape", {dv}, {1}, DType::i32);
    const TensorId dw = op("dw", "Sum", {x, shape}, {100});
    op("update_v", "ApplyGradientDescent", {v, dv}, {100});
    op("update_w", "ApplyGradientDescent", {w, dw}, {100});
    return builder.build();
  };
  const auto whole = graph(8);
  const Training training = study_training(*whole, *graph(4), 8);
  CHECK(gradients(*whole, training, false) == Names{"dv", "dw"});
  CHECK(marked(*whole, training.reads_reduced) == Names{"update_v", "update_w"});
}

TEST_CASE("rows of a mean are gathered after they are divided by the batch's size") {
  // Before it they would be weighted twice: by the share, and by what each replica divides by.
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("mean", "tf");
    const auto op = adder(builder);
    const TensorId ids = op("ids", "Placeholder", {}, {b}, DType::i64);
    const TensorId x = op("x", "Placeholder", {}, {b, 8});
    const TensorId table = op("table", "VariableV2", {}, {50, 8});
    const TensorId rate = op("rate", "VariableV2", {}, {});
    const TensorId shape = op("shape", "Shape", {ids}, {1}, DType::i32);
    const TensorId size = op("size", "Prod", {shape}, {}, DType::i32);
    const TensorId count = op("count", "Cast", {size}, {});
    const TensorId dx = op("dx", "Tanh", {x}, {b, 8});
    const TensorId mean = op("mean", "RealDiv", {dx, count}, {b, 8});
    const TensorId change = op("change", "Mul", {mean, rate}, {b, 8});
    op("update", "ScatterSub", {table, ids, change}, {50, 8});
    return builder.build();
  };
  const auto whole = graph(8);
  const Training training = study_training(*whole, *graph(4), 8);
  CHECK(gradients(*whole, training, true) == Names{"ids", "mean"});
}

TEST_CASE("a graph that cannot be shared says why") {
  const auto refused = [](const Graph& whole, const Graph& smaller, const char* why) {
    test::expect_error(ErrorCode::unsupported, {"has no replicas", why},
                       [&] { static_cast<void>(study_training(whole, smaller, 64)); });
  };
  refused(*test::training_graph(64, false), *test::training_graph(32, false), "no training step");
  refused(*test::training_graph(64), *test::training_graph(64), "no tensor depends on the batch");
  // A format whose state is a result, and which has no ops that scatter rows.
  const auto accumulated = [](std::int64_t batch) {
    GraphBuilder builder("accumulated", "onnx");
    TensorInfo info;
    info.dtype = DType::f32;
    info.has_shape = true;
    info.shape = {4};
    const TensorId w = builder.add_parameter(info);
    const OpId x = builder.add_op("x", "Input");
    info.shape = {batch, 4};
    const TensorId rows = builder.add_output(x, info);
    const OpId sum = builder.add_op("sum", "Sum");
    builder.add_input(sum, w);
    builder.add_input(sum, rows);
    info.shape = {4};
    builder.add_result(builder.add_output(sum, info));
    builder.name_results();
    return builder.build();
  };
  refused(*accumulated(64), *accumulated(32), "'sum' gives a parameter anew");
  refused(*test::training_graph(64), *test::training_graph(32, false),
          "its ops depend on the size of the batch");
}
