// Written replicas, executed: what one device computes for the whole batch.
#include "berth/replicas.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "step.h"
#include "support/data.h"
#include "support/temporary_folder.h"

namespace berth::runtime {
namespace {

std::filesystem::path example(const std::string& name) {
  return test::source_path("examples/models/tf") / name;
}

constexpr const char* kStep = "train/train_op";

/// The example at another batch than its file's, with what its step needs and its loss.
LoadOptions at_batch(std::int64_t batch) {
  LoadOptions options;
  options.dims["*"] = batch;
  options.fetches = {"loss/total:0", kStep};
  return options;
}

std::shared_ptr<const Program> load_at(std::int64_t batch) {
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  return frontend.load_program(example("nmt_tiny.pb"), at_batch(batch)).program;
}

std::shared_ptr<const Graph> graph_at(std::int64_t batch) {
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  return frontend.load(example("nmt_tiny.pb"), at_batch(batch)).graph;
}

/// The replicated graph as ReplicaWriter::write_replicas writes it.
std::shared_ptr<const Program> written(const std::vector<std::int64_t>& shares,
                                       const std::filesystem::path& file) {
  std::int64_t batch = 0;
  for (const std::int64_t share : shares) batch += share;
  const auto graph = graph_at(batch);
  const Training training = study_training(*graph, *graph_at(batch / 2), batch);
  const auto cluster = Cluster::preset("k80x4");
  const Placement placement(static_cast<std::size_t>(graph->op_count()) * shares.size(), 1);
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  frontend.write_replicas(example("nmt_tiny.pb"), at_batch(batch), *graph, training, shares,
                          *cluster, placement, file);
  std::vector<std::string> fetches = {kStep};
  for (std::size_t r = 0; r < shares.size(); ++r) {
    fetches.push_back("replica_" + std::to_string(r) + "/loss/total:0");
  }
  return load_tf(file, fetches);
}

void check_equal(const std::vector<std::int64_t>& shares) {
  const test::TemporaryFolder folder;
  std::int64_t batch = 0;
  for (const std::int64_t share : shares) batch += share;
  Stepper one(load_at(batch));
  Stepper replicas(written(shares, folder / "replicas.pb"));
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
    one.state.variables[each.name].tensor = first.clone();
    for (std::size_t r = 0; r < shares.size(); ++r) {
      replicas.state.variables["replica_" + std::to_string(r) + "/" + each.name].tensor =
          first.clone();
    }
  }
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    one.run(feeds);
    replicas.run(shared);
    const double loss = one.value("loss/total").item().toDouble();
    double mean = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      mean += replicas.value("replica_" + std::to_string(r) + "/loss/total").item().toDouble() *
              static_cast<double>(shares[r]) / static_cast<double>(batch);
    }
    CHECK(std::abs(mean - loss) <= 1e-5 * std::abs(loss));
    for (const auto& [name, variable] : one.state.variables) {
      for (std::size_t r = 0; r < shares.size(); ++r) {
        CAPTURE(name);
        CAPTURE(r);
        const auto& replica =
            replicas.state.variables.at("replica_" + std::to_string(r) + "/" + name).tensor;
        CHECK(difference(replica, variable.tensor) <= 1e-5);
      }
    }
  }
}

TEST_CASE("replicas of a clipped step with embeddings give one device's losses and weights") {
  SUBCASE("equal shares") {
    check_equal({3, 3});
  }
  SUBCASE("unequal shares") {
    check_equal({5, 2, 1});
  }
}

TEST_CASE("two replicas take the steps that TensorFlow took") {
  // The example's own batch is 2: a sample each. Values as in training_test.cpp.
  const test::TemporaryFolder folder;
  Stepper reference(load_tf(test::source_path("tests/backends/tf/training_steps.pb.gz"), {"all"}));
  reference.run();
  Stepper replicas(written({1, 1}, folder / "replicas.pb"));
  std::map<std::string, at::Tensor> feeds;
  for (const std::string& name : replicas.program().input_names) {
    const std::size_t slash = name.find('/');
    const std::int64_t r = name[slash - 1] - '0';
    feeds[name] = reference.value("feed/" + name.substr(slash + 1)).slice(0, r, r + 1).contiguous();
  }
  for (const Instruction& each : replicas.program().instructions) {
    if (each.type != "VariableV2") continue;
    replicas.state.variables[each.name].tensor =
        reference.value("initial/" + each.name.substr(each.name.find('/') + 1)).clone();
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
