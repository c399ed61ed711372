// Graphs whose files fix the batch, at another one.
#include <doctest/doctest.h>

#include <string>

#include "berth/sdk/ops/constants.h"
#include "support/data.h"
#include "text_graph.h"

using namespace berth;
using namespace berth::tf_frontend;

namespace {

std::shared_ptr<const Graph> example(const std::string& name, std::int64_t batch = 0) {
  LoadOptions options;
  if (batch > 0) options.dims["*"] = batch;
  TensorFlowFrontend frontend{Options{}};
  return frontend.load(test::source_path("examples/models/tf") / (name + ".pb.gz"), options).graph;
}

/// Tensors of the same ops whose sizes differ; names the first.
void compare(const Graph& made, const Graph& exported) {
  REQUIRE(made.op_count() == exported.op_count());
  int different = 0;
  for (OpId op = 0; op < made.op_count(); ++op) {
    REQUIRE(made.op_name(op) == exported.op_name(op));
    const auto a = made.outputs(op), b = exported.outputs(op);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (made.bytes(a[i]) == exported.bytes(b[i])) continue;
      if (different++ < 3)
        MESSAGE(made.op_name(op), " ", made.bytes(a[i]), " ", exported.bytes(b[i]));
    }
  }
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("a training graph at another batch has the shapes that its exporter gives it") {
  compare(*example("inception_v3_b64", 32), *example("inception_v3_b32"));
  compare(*example("nmt_b64", 256), *example("nmt_b256"));
  compare(*example("nmt_b256_sums", 64), *example("nmt_b64_sums"));
}

TEST_CASE("the file's own batch changes nothing") {
  compare(*example("rnnlm_b64", 64), *example("rnnlm_b64"));
  compare(*example("nasnet_b64", 64), *example("nasnet_b64"));
}

TEST_CASE("sizes are constants where the file fixes them and the caller gives none") {
  const auto folded = [](std::initializer_list<int> dims, const LoadOptions& options = {}) {
    const std::string graph =
        placeholder("x", dims) + node("h", "Relu", "x", kFloats) +
        node("s", "Shape", "h", kFloats) +
        node("n", "Cast", "s", attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
        node("y", "Mul", "h n", kFloats);
    return ops::fold_constants(load_bytes(graph, options).graph)->constant_count();
  };
  CHECK(folded({3, 2}) == 2);
  CHECK(folded({-1, 2}) == 0);
  LoadOptions options;
  options.dims["batch"] = 3;
  CHECK(folded({-1, 2}, options) == 0);
  options = {};
  options.shapes["x"] = {3, 2};
  CHECK(folded({-1, 2}, options) == 0);
}
