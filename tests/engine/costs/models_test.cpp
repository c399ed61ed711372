// What the example models have to do in all, against their published counts.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "berth/costs.h"
#include "berth/engine.h"
#include "support/data.h"

namespace berth {
namespace {

struct Model {
  const char* file;
  std::map<std::string, std::int64_t> dims;
  double gflop;  ///< expected
  const char* source;
};

const Model kModels[] = {
    // Multiply-adds as published, twice, for one image; the rest of the ops come on top.
    {"resnet50.onnx", {{"batch", 1}}, 2 * 4.09, "torchvision: 4.09 GMAC"},
    {"inception_v3.onnx", {{"batch", 1}}, 2 * 5.71, "torchvision: 5.71 GMAC"},
    // Twice the 85.1 M weights of the layers per token, and 4 s^2 h per layer of attention.
    {"bert_base.onnx",
     {{"batch", 1}, {"sequence", 128}},
     (2 * 85.1e6 * 128 + 12 * 4.0 * 128 * 128 * 768) / 1e9,
     "layers' weights and attention"},
    // The same with the 38.6 M weights of the output layer, which the embedding shares.
    {"gpt2.onnx",
     {{"batch", 1}, {"sequence", 256}},
     (2 * (85.1e6 + 38.6e6) * 256 + 12 * 4.0 * 256 * 256 * 768) / 1e9,
     "layers' and output weights and attention"},
};

TEST_CASE("the example models do the work that is published of them") {
  Engine engine({test::plugin_folder()});
  for (const Model& model : kModels) {
    CAPTURE(model.file);
    CAPTURE(model.source);
    LoadOptions options;
    options.dims = model.dims;
    const LoadedModel loaded =
        engine.load(test::source_path(std::string("examples/models/") + model.file), options);
    const Graph& graph = *loaded.graph;
    double gflop = 0;
    std::map<std::string, int> without_rule;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      gflop += op_work(graph, op).flops / 1e9;
      if (!has_work_rule(graph, op)) ++without_rule[graph.op_type(op)];
    }
    CHECK(gflop >= model.gflop * 0.995);
    CHECK(gflop <= model.gflop * 1.03);
    CHECK(without_rule.empty());
  }
}

}  // namespace
}  // namespace berth
