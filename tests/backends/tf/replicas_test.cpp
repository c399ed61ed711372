// Written replicas, executed: what one device computes for the whole batch.
#include "berth/replicas.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "step.h"
#include "support/data.h"
#include "support/temporary_folder.h"

namespace berth::runtime {
namespace {

constexpr const char* kStep = "train/train_op";

/// A training graph at other batches than its file's, with what its step needs.
struct Example {
  std::filesystem::path file = test::source_path("examples/models/tf/nmt_tiny.pb");
  std::string loss = "loss/total";

  LoadOptions at_batch(std::int64_t batch) const {
    LoadOptions options;
    options.dims["*"] = batch;
    options.fetches = {loss + ":0", kStep};
    return options;
  }
  std::shared_ptr<const Program> load(std::int64_t batch) const {
    tf_frontend::TensorFlowFrontend frontend{Options{}};
    return frontend.load_program(file, at_batch(batch)).program;
  }
  std::shared_ptr<const Graph> graph(std::int64_t batch) const {
    tf_frontend::TensorFlowFrontend frontend{Options{}};
    return frontend.load(file, at_batch(batch)).graph;
  }
};

/// Which replica updates which variable, in a plan of these shares.
std::vector<std::int32_t> owners(const Example& example, const Training& training,
                                 const std::vector<std::int64_t>& shares,
                                 const std::shared_ptr<const Cluster>& cluster) {
  const auto sized = [&](std::int64_t batch) {
    auto graph = example.graph(batch);
    auto costs = Costs::roofline(*graph, *cluster);
    return SizedModel{std::move(graph), std::move(costs)};
  };
  ReplicaPlan plan;
  plan.share_updates = true;
  plan.bucket_bytes = 1'000'000;
  std::vector<SizedModel> models;
  for (const std::int64_t share : shares) {
    plan.replicas.push_back({{static_cast<DeviceId>(1 + plan.replicas.size())}, share});
    models.push_back(sized(share));
  }
  return replicate(training, sized(training.batch), models, *cluster, plan).owner;
}

/// The replicated graph as ReplicaWriter::write_replicas writes it.
std::shared_ptr<const Program> written(const Example& example,
                                       const std::vector<std::int64_t>& shares,
                                       const std::filesystem::path& file,
                                       bool share_updates = false) {
  std::int64_t batch = 0;
  for (const std::int64_t share : shares) batch += share;
  const auto graph = example.graph(batch);
  Training training = study_training(*graph, *example.graph(batch / 2), batch);
  const auto cluster = Cluster::preset("k80x4");
  if (share_updates) training.owner = owners(example, training, shares, cluster);
  const Placement placement(static_cast<std::size_t>(graph->op_count()) * shares.size(), 1);
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  frontend.write_replicas(example.file, example.at_batch(batch), *graph, training, shares, *cluster,
                          placement, file);
  std::vector<std::string> fetches = {kStep};
  for (std::size_t r = 0; r < shares.size(); ++r) {
    fetches.push_back("replica_" + std::to_string(r) + "/" + example.loss + ":0");
  }
  return load_tf(file, fetches);
}

void check_equal(const Example& example, const std::vector<std::int64_t>& shares,
                 bool share_updates = false) {
  const test::TemporaryFolder folder;
  std::int64_t batch = 0;
  for (const std::int64_t share : shares) batch += share;
  Stepper one(example.load(batch));
  Stepper replicas(written(example, shares, folder / "replicas.pb", share_updates));
  // The others assign what one replica updates; moments are at their owner alone.
  int assigned = 0;
  std::map<std::string, std::size_t> copies;  // of variables
  for (const Instruction& each : replicas.program().instructions) {
    assigned += each.type == "Assign";
    if (each.type == "VariableV2") ++copies[each.name.substr(each.name.find('/') + 1)];
  }
  CHECK((assigned > 0) == share_updates);
  for (const auto& [name, count] : copies) {
    CAPTURE(name);
    const bool owners_alone = name.ends_with("/moment") || name == "table";  // none reads it
    CHECK(count == (share_updates && owners_alone ? 1 : shares.size()));
  }
  const auto has = [&](const std::string& name) {
    const auto& all = replicas.program().instructions;
    return std::any_of(all.begin(), all.end(),
                       [&](const Instruction& each) { return each.name == name; });
  };
  // Feeds and first values, drawn once.
  const at::Generator generator = at::detail::createCPUGenerator(7);
  std::map<std::string, at::Tensor> feeds, shared;
  for (const OpId op : one.program().inputs) {
    const Graph& graph = *one.program().graph;
    const TensorId tensor = graph.outputs(op)[0];
    const at::IntArrayRef shape(graph.shape(tensor).data(), graph.shape(tensor).size());
    REQUIRE(shape[0] == batch);
    const at::Tensor feed =
        graph.dtype(tensor) == DType::f32
            ? at::rand(shape, generator)
            : at::randint(0, 50, shape, generator).to(scalar_type(graph.dtype(tensor)));
    feeds[graph.op_name(op)] = feed;
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      shared["replica_" + std::to_string(r) + "/" + graph.op_name(op)] =
          feed.slice(0, begin, begin + shares[r]).contiguous();
      begin += shares[r];
    }
  }
  for (const Instruction& each : one.program().instructions) {
    if (each.type != "VariableV2") continue;
    const TensorId tensor = each.outputs[0];
    const Graph& graph = *one.program().graph;
    if (graph.dtype(tensor) != DType::f32) continue;
    const at::IntArrayRef shape(graph.shape(tensor).data(), graph.shape(tensor).size());
    const at::Tensor first = at::rand(shape, generator) * 0.2 - 0.1;
    one.set_variable(each.name, first);
    for (std::size_t r = 0; r < shares.size(); ++r) {
      const std::string name = "replica_" + std::to_string(r) + "/" + each.name;
      if (has(name)) replicas.set_variable(name, first);
    }
  }
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    one.run(feeds);
    replicas.run(shared);
    const double loss = one.value(example.loss).item().toDouble();
    double mean = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      const std::string name = "replica_" + std::to_string(r) + "/" + example.loss;
      mean += replicas.value(name).item().toDouble() * static_cast<double>(shares[r]) /
              static_cast<double>(batch);
    }
    CHECK(std::abs(mean - loss) <= 1e-5 * std::abs(loss));
    for (const auto& [name, variable] : one.state.variables) {
      for (std::size_t r = 0; r < shares.size(); ++r) {
        CAPTURE(name);
        CAPTURE(r);
        const std::string copy = "replica_" + std::to_string(r) + "/" + name;
        if (!has(copy)) continue;
        CHECK(difference(replicas.state.variables.at(copy).tensor, variable.tensor) <= 1e-5);
      }
    }
  }
}

TEST_CASE("replicas of a clipped step with embeddings give one device's losses and weights") {
  SUBCASE("equal shares") {
    check_equal({}, {3, 3});
  }
  SUBCASE("unequal shares") {
    check_equal({}, {5, 2, 1});
  }
  SUBCASE("shared updates") {
    check_equal({}, {3, 3}, true);
  }
  SUBCASE("shared updates of unequal shares") {
    check_equal({}, {5, 2, 1}, true);
  }
}

/// Two weights with momentum: y = a x, z = b x, of which the means over the batch and over its squares are
/// the gradients; and a table whose rows' gradients are x by the batch's size, clipped by the norm of all
/// gradients before they are summed.
std::string momentum_graph() {
  std::string text;
  const auto node = [&](const std::string& name, const std::string& op,
                        const std::vector<std::string>& inputs, const std::string& attrs) {
    text += "node { name: '" + name + "' op: '" + op + "' ";
    for (const std::string& input : inputs) text += "input: '" + input + "' ";
    text += attrs + " }\n";
  };
  const auto type = [](const std::string& key) {
    return " attr { key: '" + key + "' value { type: DT_FLOAT } }";
  };
  const std::string four = " attr { key: 'shape' value { shape { dim { size: 4 } } } }";
  node(
      "x", "Placeholder", {},
      type("dtype") + " attr { key: 'shape' value { shape { dim { size: 8 } dim { size: 4 } } } }");
  node(
      "axis", "Const", {},
      " attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: "
      "DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } }");
  for (const char* const name : {"rate", "momentum"}) {
    node(name, "Const", {},
         type("dtype") +
             " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: "
             "0.5 } } }");
  }
  const std::string reduction = type("T") + " attr { key: 'Tidx' value { type: DT_INT32 } }";
  std::vector<std::string> updates;
  for (const std::string name : {"a", "b"}) {
    node(name, "VariableV2", {}, type("dtype") + four);
    node(name + "/moment", "VariableV2", {}, type("dtype") + four);
    node(name + "/read", "Identity", {name}, type("T"));
    node(name + "/product", "Mul", {"x", name + "/read"}, type("T"));
    node(name + "/square", "Square", {name + "/product"}, type("T"));
    node(name + "/gradient", "Mean", {name + (name == "a" ? "/product" : "/square"), "axis"},
         reduction);
    node(name + "/update", "ApplyMomentum",
         {name, name + "/moment", "rate", name + "/gradient", "momentum"},
         type("T") + " attr { key: '_class' value { list { s: 'loc:@" + name + "' } } }");
    updates.push_back("^" + name + "/update");
  }
  node("ids", "Placeholder", {},
       " attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { "
       "size: 8 } } } }");
  const auto number = [&](const std::string& name, const std::string& shape, int value) {
    node(name, "Const", {},
         " attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
         "dtype: DT_INT32 tensor_shape { " +
             shape + " } int_val: " + std::to_string(value) + " } } }");
  };
  const std::string one = "dim { size: 1 }";
  number("begin", one, 0);
  number("end", one, 1);
  number("rows", "", 50);
  node("shape", "Shape", {"x"}, type("T") + " attr { key: 'out_type' value { type: DT_INT32 } }");
  node("batch", "StridedSlice", {"shape", "begin", "end", "end"},
       " attr { key: 'T' value { type: DT_INT32 } } attr { key: 'Index' value { type: DT_INT32 } } "
       "attr { key: 'shrink_axis_mask' value { i: 1 } }");
  node("divisor", "Cast", {"batch"},
       " attr { key: 'SrcT' value { type: DT_INT32 } }" + type("DstT"));
  node("mean", "RealDiv", {"x", "divisor"}, type("T"));
  node("values", "AddN", {"mean"}, type("T") + " attr { key: 'N' value { i: 1 } }");
  node("values/norm", "L2Loss", {"values"}, type("T"));
  node("a/norm", "L2Loss", {"a/gradient"}, type("T"));
  node("norm", "Add", {"values/norm", "a/norm"}, type("T"));
  node("clip", "Rsqrt", {"norm"}, type("T"));
  node("values/clipped", "Mul", {"values", "clip"}, type("T"));
  node("dense", "UnsortedSegmentSum", {"values/clipped", "ids", "rows"},
       type("T") +
           " attr { key: 'Tindices' value { type: DT_INT32 } } attr { key: 'Tnumsegments' "
           "value { type: DT_INT32 } }");
  node("table", "VariableV2", {},
       type("dtype") +
           " attr { key: 'shape' value { shape { dim { size: 50 } dim { size: 4 } } } }");
  node("table/update", "AssignSub", {"table", "dense"},
       type("T") + " attr { key: '_class' value { list { s: 'loc:@table' } } }");
  updates.push_back("^table/update");
  node("both", "Add", {"a/product", "b/product"}, type("T"));
  node("by_column", "Mean", {"both", "axis"}, reduction);
  node("loss", "Mean", {"by_column", "axis"}, reduction);
  node(kStep, "NoOp", updates, "");
  return text;
}

TEST_CASE("moments, and rows that are clipped before they are summed, are the whole batch's") {
  const test::TemporaryFolder folder;
  Example example;
  example.file = folder / "momentum.pbtxt";
  example.loss = "loss";
  std::ofstream(example.file) << momentum_graph();
  SUBCASE("shared updates") {
    check_equal(example, {3, 5}, true);
  }
  SUBCASE("each its own") {
    check_equal(example, {3, 4, 1}, false);
  }
}

TEST_CASE("two replicas take the steps that TensorFlow took") {
  // The example's own batch is 2: a sample each. Values as in training_test.cpp.
  const test::TemporaryFolder folder;
  Stepper reference(load_tf(test::source_path("tests/backends/tf/training_steps.pb.gz"), {"all"}));
  reference.run();
  Stepper replicas(written({}, {1, 1}, folder / "replicas.pb"));
  std::map<std::string, at::Tensor> feeds;
  for (const std::string& name : replicas.program().input_names) {
    const std::size_t slash = name.find('/');
    const std::int64_t r = name[slash - 1] - '0';
    feeds[name] = reference.value("feed/" + name.substr(slash + 1)).slice(0, r, r + 1).contiguous();
  }
  for (const Instruction& each : replicas.program().instructions) {
    if (each.type != "VariableV2") continue;
    replicas.set_variable(each.name,
                          reference.value("initial/" + each.name.substr(each.name.find('/') + 1)));
  }
  const at::Tensor losses = reference.value("losses");
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    replicas.run(feeds);
    const double mean = (replicas.value("replica_0/loss/total").item().toDouble() +
                         replicas.value("replica_1/loss/total").item().toDouble()) /
                        2;
    const double expected = losses[step].item().toDouble();
    CHECK(std::abs(mean - expected) <= 2e-5 * expected);  // as one device has it
  }
}

}  // namespace
}  // namespace berth::runtime
