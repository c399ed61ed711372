// Gradients, found by sizes at two batches.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "berth/error.h"
#include "berth/replicas.h"
#include "berth/sdk/ops/constants.h"
#include "berth/support/text.h"
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
    const auto op = test::adder(builder);
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
    const auto op = test::adder(builder);
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
    const auto op = test::adder(builder);
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
    const auto op = test::adder(builder);
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

namespace {

/// A number that the frontend knows, as the size of the batch.
TensorId known(GraphBuilder& builder, const char* name, const std::vector<TensorId>& inputs,
               double number, DType dtype = DType::f32) {
  const TensorId tensor = test::adder(builder)(name, "Prod", inputs, {}, dtype);
  builder.set_attribute(builder.op_count() - 1, std::string(ops::kKnownNumber), number);
  return tensor;
}

/// Names of the gradients that are of sums.
Names sums(const Graph& graph, const Training& training) {
  Names names;
  for (const auto& gradient : training.gradients) {
    if (gradient.of_sum) names.insert(graph.op_name(graph.producer(gradient.tensor)));
  }
  return names;
}

/// y = x w, its gradient divided by the batch's size or not, and w's own norm beside it.
std::shared_ptr<const Graph> loss_of(std::int64_t b, bool mean) {
  GraphBuilder builder("loss", "tf");
  const auto op = test::adder(builder);
  const TensorId x = op("x", "Placeholder", {}, {b, 8});
  const TensorId w = op("w", "VariableV2", {}, {8, 8});
  const TensorId shape = op("shape", "Shape", {x}, {2}, DType::i32);
  const TensorId size = known(builder, "size", {shape}, static_cast<double>(b));
  const TensorId y = op("y", "MatMul", {x, w}, {b, 8});
  const TensorId dy = op("dy", "TanhGrad", {y, y}, {b, 8});
  const TensorId rows = mean ? op("rows", "RealDiv", {dy, size}, {b, 8}) : dy;
  const TensorId dw = op("dw", "MatMul", {x, rows}, {8, 8});
  const TensorId decay = op("decay", "Mul", {w, w}, {8, 8});
  const TensorId total = op("total", "AddN", {dw, decay}, {8, 8});
  op("update", "ApplyGradientDescent", {w, total}, {8, 8});
  return builder.build();
}

}  // namespace

TEST_CASE("gradients of a sum are added, and before what counts once") {
  const auto mean = loss_of(8, true);
  const Training of_mean = study_training(*mean, *loss_of(4, true), 8);
  CHECK(gradients(*mean, of_mean, false) == Names{"total"});
  CHECK(sums(*mean, of_mean).empty());
  const auto sum = loss_of(8, false);
  const Training of_sum = study_training(*sum, *loss_of(4, false), 8);
  CHECK(gradients(*sum, of_sum, false) == Names{"dw"});
  CHECK(sums(*sum, of_sum) == Names{"dw"});
}

TEST_CASE("a loop's gradients are sums where those of what it gives are") {
  const auto graph = [](std::int64_t b, bool mean) {
    GraphBuilder builder("loop", "tf");
    const auto op = test::adder(builder);
    const auto loop = [&](const char* name, const std::vector<TensorId>& inputs) {
      const TensorId first = op(name, "StatelessWhile", inputs, {b, 8});
      TensorInfo info;
      info.dtype = DType::f32;
      info.has_shape = true;
      info.shape = {8, 8};
      return std::pair(first, builder.add_output(builder.op_count() - 1, info));
    };
    const TensorId x = op("x", "Placeholder", {}, {b, 8});
    const TensorId w = op("w", "VariableV2", {}, {8, 8});
    const TensorId shape = op("shape", "Shape", {x}, {2}, DType::i32);
    const TensorId size = known(builder, "size", {shape}, static_cast<double>(b));
    const auto [y, same_w] = loop("forward", {x, w});
    const TensorId dy = op("dy", "TanhGrad", {y, y}, {b, 8});
    const TensorId rows = mean ? op("rows", "RealDiv", {dy, size}, {b, 8}) : dy;
    const TensorId used = op("used", "MatMul", {rows, same_w}, {b, 8});
    const auto [dx, dw] = loop("backward", {used, op("zeros", "Const", {}, {8, 8})});
    static_cast<void>(dx);
    op("update", "ApplyGradientDescent", {w, dw}, {8, 8});
    return builder.build();
  };
  for (const bool mean : {true, false}) {
    CAPTURE(mean);
    const auto whole = graph(8, mean);
    const Training training = study_training(*whole, *graph(4, mean), 8);
    CHECK(gradients(*whole, training, false) == Names{"backward"});
    CHECK(sums(*whole, training) == (mean ? Names() : Names{"backward"}));
    CHECK(training.meetings.empty());
  }
}

TEST_CASE("counters have the samples of all replicas, and what no sample changes is nobody's") {
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("counters", "tf");
    const auto op = test::adder(builder);
    const TensorId x = op("x", "Placeholder", {}, {b, 8});
    const TensorId seen = op("seen", "VariableV2", {}, {}, DType::i64);
    const TensorId right = op("right", "VariableV2", {}, {}, DType::i32);
    const TensorId width = op("width", "VariableV2", {}, {}, DType::i64);
    const TensorId shape = op("shape", "Shape", {x}, {2}, DType::i64);
    const TensorId size = known(builder, "size", {shape}, static_cast<double>(b), DType::i64);
    const TensorId columns = known(builder, "columns", {shape}, 8, DType::i64);
    const TensorId hits = op("hits", "Cast", {x}, {b, 8}, DType::i32);
    const TensorId count = op("count", "Sum", {hits}, {}, DType::i32);
    const TensorId w = op("w", "VariableV2", {}, {8});
    op("update", "AssignSub", {w, op("dw", "Sum", {x}, {8})}, {8});
    op("see", "AssignAdd", {seen, size}, {}, DType::i64);
    op("hit", "AssignAdd", {right, count}, {}, DType::i32);
    op("widen", "AssignAdd", {width, columns}, {}, DType::i64);
    return builder.build();
  };
  const auto whole = graph(8);
  const Training training = study_training(*whole, *graph(4), 8);
  CHECK(gradients(*whole, training, false) == Names{"dw", "size", "count"});
  CHECK(sums(*whole, training) == Names{"dw", "size", "count"});
}

TEST_CASE("rows of one number are gathered before an optimizer adds them up") {
  const auto graph = [](std::int64_t b) {
    GraphBuilder builder("unique", "tf");
    const auto op = test::adder(builder);
    const TensorId fed = op("fed", "Placeholder", {}, {b}, DType::i64);
    const TensorId ids = op("ids", "Reshape", {fed}, {b}, DType::i64);
    const TensorId x = op("x", "Placeholder", {}, {b, 8});
    const TensorId moment = op("moment", "VariableV2", {}, {50, 8});
    const TensorId values = op("values", "Tanh", {x}, {b, 8});
    const TensorId unique = op("unique", "Unique", {ids}, {b}, DType::i64);
    TensorInfo info;
    info.dtype = DType::i32;
    info.has_shape = true;
    info.shape = {b};
    const TensorId index = builder.add_output(builder.op_count() - 1, info);
    const TensorId summed = op("summed", "UnsortedSegmentSum", {values, index}, {b, 8});
    const TensorId square = op("square", "Mul", {summed, summed}, {b, 8});
    op("update", "ScatterAdd", {moment, unique, square}, {50, 8});
    return builder.build();
  };
  const auto whole = graph(8);
  const Training training = study_training(*whole, *graph(4), 8);
  CHECK(gradients(*whole, training, true) == Names{"ids", "values"});
  CHECK(marked(*whole, training.reads_reduced) == Names{"unique", "summed", "update"});
  CHECK(marked(*whole, training.whole) == Names{"unique", "summed", "square", "update"});
}

namespace {

/// A step as ONNX Runtime trains: x scaled by a norm's weight, times a matrix. It returns its loss and, where
/// `updates` does not say otherwise, the gradients; else the parameters anew, which with `states` are inputs.
std::shared_ptr<const Graph> onnx_step(std::int64_t b, bool updates, bool states = false) {
  GraphBuilder builder(updates ? "updates" : "gradients", "onnx");
  const auto op = test::adder(builder);
  const auto parameter = [&](std::vector<std::int64_t> shape) {
    TensorInfo info;
    info.dtype = DType::f32;
    info.has_shape = true;
    info.shape = std::move(shape);
    if (!states) return builder.add_parameter(info);
    return builder.add_output(builder.add_op(cat("weight ", builder.op_count()), "Input"), info);
  };
  const TensorId scale = parameter({6}), weight = parameter({6, 4}), table = parameter({9, 6});
  const TensorId ids = op("ids", "Input", {}, {b}, DType::i64);
  const TensorId x = op("x", "Gather", {table, ids}, {b, 6});
  const TensorId normed = op("normed", "LayerNormalization", {x, scale}, {b, 6});
  const TensorId y = op("y", "MatMul", {normed, weight}, {b, 4});
  const TensorId loss = op("loss", "ReduceMean", {y}, {});
  const TensorId dy = op("dy", "Expand", {loss, y}, {b, 4});
  const TensorId dw_t = op("dw_t", "Gemm", {dy, normed}, {4, 6});
  const TensorId dw = op("dw", "Transpose", {dw_t}, {6, 4});
  const TensorId dnormed = op("dnormed", "MatMul", {dy, weight}, {b, 6});
  // One op gives a gradient of the batch's size and one of the parameter's, which it reads.
  const TensorId dx =
      op("dscale", "com.microsoft.LayerNormalizationGrad", {dnormed, x, scale}, {b, 6});
  TensorInfo like_scale;
  like_scale.dtype = DType::f32;
  like_scale.has_shape = true;
  like_scale.shape = {6};
  const TensorId dscale = builder.add_output(builder.op_count() - 1, like_scale);
  if (updates) {
    const TensorId next[] = {op("new_weight", "Sub", {weight, dw}, {6, 4}),
                             op("new_scale", "Sub", {scale, dscale}, {6}),
                             op("new_table", "ScatterND", {table, ids, dx}, {9, 6})};
    for (const TensorId tensor : next) builder.add_result(tensor);
    if (states) {
      builder.add_result(loss);
      const auto graph = builder.build();
      return graph->with_states(std::vector<Graph::State>{{next[0], graph->producer(weight)},
                                                          {next[1], graph->producer(scale)},
                                                          {next[2], graph->producer(table)}});
    }
  } else {
    builder.add_result(dw);
    builder.add_result(dscale);
  }
  builder.add_result(loss);
  return builder.build();
}

}  // namespace

TEST_CASE("gradients that a step returns are reduced where they are returned") {
  const auto whole = onnx_step(8, false);
  const Training training = study_training(*whole, *onnx_step(4, false), 8);
  CHECK(gradients(*whole, training, false) == Names{"dw", "dscale"});
  CHECK(gradients(*whole, training, true).empty());
  CHECK(marked(*whole, training.reads_reduced).empty());
  CHECK(training.gradient_bytes == (24 + 6) * 4);
}

TEST_CASE("parameters that a step returns anew are updated by what all replicas found") {
  for (const bool states : {false, true}) {
    const auto whole = onnx_step(8, true, states);
    const Training training = study_training(*whole, *onnx_step(4, true, states), 8);
    CHECK(gradients(*whole, training, false) == Names{"dw", "dscale"});
    // Its other output, rows of the table.
    CHECK(gradients(*whole, training, true) == Names{"dscale", "ids"});
    CHECK(marked(*whole, training.reads_reduced) == Names{"new_weight", "new_scale", "new_table"});
    CHECK(marked(*whole, training.updates) == Names{"new_weight", "new_scale", "new_table"});
  }
}

namespace {

/// x -> dw [4, 4] -> finite -> ok -> cond, whose branch updates w by dw.
std::shared_ptr<const Graph> conditional_step(std::int64_t b, const std::string& kind) {
  GraphBuilder builder("conditional", "tf");
  const auto op = test::adder(builder);
  const TensorId x = op("x", "Placeholder", {}, {b, 4});
  const TensorId w = op("w", "VariableV2", {}, {4, 4});
  const TensorId dw = op("dw", "MatMul", {x, x}, {4, 4});
  const bool of_samples = kind == "condition of samples";
  const TensorId finite =
      op("finite", "IsFinite", {of_samples ? x : dw}, {of_samples ? b : 4, 4}, DType::boolean);
  const TensorId ok = op("ok", "All", {finite}, {}, DType::boolean);
  std::vector<TensorId> given = {ok, w, dw};
  if (kind == "samples within") given.push_back(x);
  op("cond", "If", given, {});
  builder.set_attribute(/*op=*/5, "body_types", std::string("Mul,AssignSubVariableOp"));
  return builder.build();
}

}  // namespace

TEST_CASE("an op whose body changes variables is an update, and its condition is of the sums") {
  const auto whole = conditional_step(8, "");
  const Training training = study_training(*whole, *conditional_step(4, ""), 8);
  CHECK(gradients(*whole, training, false) == Names{"dw"});
  CHECK(marked(*whole, training.updates) == Names{"cond"});
  CHECK(marked(*whole, training.reads_reduced) == Names{"finite", "cond"});
  for (const auto& [kind, why] :
       {std::pair("condition of samples", "'cond' (If) changes variables, and reads 'ok' (All)"),
        std::pair("samples within", "its updates are in 'cond' (If)")}) {
    CAPTURE(kind);
    test::expect_error(ErrorCode::unsupported, {"has no replicas", why}, [&, kind = kind] {
      static_cast<void>(study_training(*conditional_step(8, kind), *conditional_step(4, kind), 8));
    });
  }
}

TEST_CASE("a graph that cannot be shared says why") {
  const auto refused = [](const Graph& whole, const Graph& smaller, const char* why) {
    test::expect_error(ErrorCode::unsupported, {"has no replicas", why},
                       [&] { static_cast<void>(study_training(whole, smaller, 64)); });
  };
  refused(*test::training_graph(64, false), *test::training_graph(32, false), "no training step");
  refused(*test::training_graph(64), *test::training_graph(64), "no tensor depends on the batch");
  refused(*test::training_graph(64), *test::training_graph(32, false),
          "its ops depend on the size of the batch");
}
