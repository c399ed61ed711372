// The graph of replicas, as it is written.
#include "berth/replicas.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "text_graph.h"
#include "tf/attributes.h"
#include "tf/graph_def.h"
#include "tf/model_file.h"
#include "tf/tensor_content.h"

using namespace berth;
using namespace berth::tf_frontend;

namespace {

/// A written file.
class Written {
 public:
  Written(const std::string& text, const std::vector<std::int64_t>& shares,
          const std::string& name = "replicas.pb") {
    const auto model = folder_ / "model.pbtxt";
    write_file(model, text);
    std::int64_t batch = 0;
    for (const std::int64_t share : shares) batch += share;
    TensorFlowFrontend frontend{Options{}};
    const auto load = [&](std::int64_t size) { return frontend.load(model, options(size)).graph; };
    const auto whole = load(batch);
    const Training training = study_training(*whole, *load(batch / 2), batch);
    const Placement placement(static_cast<std::size_t>(whole->op_count()) * shares.size(), 1);
    frontend.write_replicas(model, options(batch), *whole, training, shares,
                            *Cluster::preset("k80x4"), placement, folder_ / name);
    file_ = read_model_file(folder_ / name, {}, {});
    read_graph_def(file_->graph, file_->source, definition_);
    for (const NodeDef& node : definition_.nodes()) nodes_[std::string(node.name)] = &node;
  }
  MessageKind kind() const { return file_->kind; }
  bool has(const std::string& name) const { return nodes_.contains(name); }
  const NodeDef& at(const std::string& name) const {
    REQUIRE_MESSAGE(has(name), name);
    return *nodes_.at(name);
  }
  Attributes attributes(const std::string& name) const {
    return Attributes(at(name).attrs, nullptr, file_->source);
  }
  std::vector<std::string> inputs(const std::string& name) const {
    const auto& inputs = at(name).inputs;
    return {inputs.begin(), inputs.end()};
  }
  template <typename Number>
  std::vector<Number> numbers(const std::string& name) const {
    const Attributes all = attributes(name);
    const TensorContent content =
        read_content(all.find("value").bytes, file_->source, name, nullptr);
    std::vector<Number> numbers(content.bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), content.bytes.data(), numbers.size() * sizeof(Number));
    return numbers;
  }

 private:
  static LoadOptions options(std::int64_t batch) {
    LoadOptions options;
    options.dims["*"] = batch;
    options.fetches = {"train"};
    return options;
  }

  const test::TemporaryFolder folder_;
  std::unique_ptr<ModelFile> file_;
  GraphDef definition_;
  std::map<std::string, const NodeDef*> nodes_;
};

using Names = std::vector<std::string>;

std::string variable(const std::string& name, const std::string& type,
                     std::initializer_list<int> dims) {
  return node(name, "VariableV2", "", attr("dtype", "type: " + type) + shape("shape", dims));
}

/// w -= sum of x over the batch, which the rows of `more` may change before.
std::string step(const std::string& more, const std::string& rows, int batch,
                 const std::string& type = "DT_FLOAT", const std::string& updated = "sum") {
  const std::string t = attr("T", "type: " + type);
  return node("x", "Placeholder", "", attr("dtype", "type: " + type) + shape("shape", {batch, 2})) +
         variable("w", type, {2}) + integers("axis", {0}) + more +
         node("sum", "Sum", rows + " axis", t + attr("Tidx", "type: DT_INT32")) +
         node("update", "AssignSub", "w " + updated, t + attr("_class", "list { s: 'loc:@w' }"));
}
const std::string kTrain = node("train", "NoOp", "^update");

/// The size of the batch, as a float.
std::string size_of_batch(const std::string& type = "DT_FLOAT") {
  return node("shape", "Shape", "x",
              attr("T", "type: " + type) + attr("out_type", "type: DT_INT32")) +
         integers("begin", {0}) + integers("end", {1}) +
         node("size", "StridedSlice", "shape begin end end",
              attr("T", "type: DT_INT32") + attr("Index", "type: DT_INT32") +
                  attr("shrink_axis_mask", "i: 1")) +
         node("count", "Cast", "size",
              attr("SrcT", "type: DT_INT32") + attr("DstT", "type: " + type));
}

}  // namespace

TEST_CASE("a sum over the batch is the sum of the replicas', and a mean counts by shares") {
  const Written sum(step("", "x", -1) + kTrain, {5, 3});
  CHECK(sum.inputs("reduce/0") == Names{"replica_0/sum", "replica_1/sum"});
  const Written mean(
      step(size_of_batch() + node("rows", "RealDiv", "x count", kFloats), "rows", -1) + kTrain,
      {5, 3});
  CHECK(mean.inputs("reduce/0") == Names{"replica_0/reduce/0", "replica_1/reduce/0"});
  CHECK(mean.numbers<float>("replica_0/reduce/weight_1") == std::vector<float>{0.625F});
}

TEST_CASE("a file that is named as a MetaGraphDef is one") {
  const std::string text = step("", "x", -1) + kTrain;
  CHECK(Written(text, {5, 3}).kind() == MessageKind::graph);
  for (const char* const name : {"replicas.meta", "replicas.meta.gz"}) {
    const Written written(text, {5, 3}, name);
    CHECK(written.kind() == MessageKind::meta_graph);
    CHECK(written.inputs("reduce/0") == Names{"replica_0/sum", "replica_1/sum"});
  }
}

TEST_CASE("shares weigh gradients in the gradients' own precision") {
  const Written mean(step(size_of_batch("DT_DOUBLE") +
                              node("rows", "RealDiv", "x count", attr("T", "type: DT_DOUBLE")),
                          "rows", -1, "DT_DOUBLE") +
                         kTrain,
                     {3, 2, 2});
  CHECK(mean.numbers<double>("replica_0/reduce/weight_2") == std::vector<double>{3.0 / 7.0});
}

TEST_CASE("a step that is the count of steps runs all replicas under its name") {
  const std::string one =
      node("one", "Const", "",
           attr("dtype", "type: DT_FLOAT") +
               attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }"));
  const Written written(step("", "x", -1) + one + variable("steps", "DT_FLOAT", {}) +
                            node("train", "AssignAdd", "steps one ^update", kFloats),
                        {5, 3});
  CHECK(written.at("train").op == "Identity");
  CHECK(written.inputs("train") ==
        Names{"replica_0/train", "^replica_0/train", "^replica_1/train"});
}

TEST_CASE(
    "what the step does not need is replica 0's, and nothing is colocated with it elsewhere") {
  const std::string near = attr("_class", "list { s: 'loc:@unused' }");
  const std::string first =
      node("first", "Const", "",
           attr("dtype", "type: DT_FLOAT") +
               attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }"));
  const Written written(step(node("rows", "Identity", "x", kFloats + near), "rows", -1) + kTrain +
                            first + variable("unused", "DT_FLOAT", {}) +
                            node("unused/Assign", "Assign", "unused first", kFloats + near) +
                            node("init", "NoOp", "^unused/Assign"),
                        {5, 3});
  CHECK(written.has("replica_0/unused/Assign"));
  CHECK_FALSE(written.has("replica_1/unused/Assign"));
  CHECK(written.attributes("replica_0/rows").texts("_class").size() == 1);
  CHECK(written.attributes("replica_1/rows").texts("_class").empty());
  CHECK(written.attributes("replica_1/update").texts("_class").size() == 1);
}

TEST_CASE("replicas draw numbers of their own from a seed, and none where there is no seed") {
  const auto drawing = [](const std::string& seeds) {
    return step(node("noise", "RandomUniform", "shape",
                     attr("T", "type: DT_INT32") + attr("dtype", "type: DT_FLOAT") + seeds) +
                    node("shape", "Shape", "x", kFloats + attr("out_type", "type: DT_INT32")) +
                    node("rows", "Mul", "x noise", kFloats),
                "rows", -1) +
           kTrain;
  };
  const Written seeded(drawing(attr("seed", "i: 1") + attr("seed2", "i: 7")), {5, 3});
  CHECK(seeded.attributes("replica_0/noise").integer("seed2", 0) == 7);
  CHECK(seeded.attributes("replica_1/noise").integer("seed2", 0) > 7);
  const Written any(drawing(attr("seed", "i: 0") + attr("seed2", "i: 0")), {5, 3});
  CHECK(any.attributes("replica_1/noise").integer("seed2", 1) == 0);
}

namespace {

std::string floats(const std::string& name, std::initializer_list<int> dims,
                   std::initializer_list<int> values) {
  std::string tensor = "dtype: DT_FLOAT tensor_shape {";
  for (const int dim : dims) tensor += " dim { size: " + std::to_string(dim) + " }";
  tensor += " }";
  for (const int value : values) tensor += " float_val: " + std::to_string(value);
  return node(name, "Const", "",
              attr("dtype", "type: DT_FLOAT") + attr("value", "tensor { " + tensor + " }"));
}

}  // namespace

TEST_CASE("a constant with rows of each sample has those of the share") {
  const std::string text =
      step(floats("weights", {4, 1}, {1, 2, 3, 4}) + floats("ones", {4, 1}, {1}) +
               node("weighted", "Mul", "x weights", kFloats) +
               node("rows", "Mul", "weighted ones", kFloats),
           "rows", 4) +
      kTrain;
  const Written written(text, {3, 1});
  CHECK(written.numbers<float>("replica_0/weights") == std::vector<float>{1, 2, 3});
  CHECK(written.numbers<float>("replica_1/weights") == std::vector<float>{4});
  CHECK(written.numbers<float>("replica_1/ones") == std::vector<float>{1});
  test::expect_error(ErrorCode::unsupported, {"'weights'", "a row for each of the 4 samples"}, [&] {
    Written(text, {4, 4});
  });
}

TEST_CASE("a constant divides a mean where it grows with the samples, whatever its number is") {
  // 4 samples. By `four` is divided what is no sum over them, and what is a mean already.
  const std::string four = floats("four", {}, {4}), other = floats("other", {}, {4});
  const std::string text =
      step(floats("u", {2}, {1, 2}) + four + other + node("norm", "L2Loss", "w/read", kFloats) +
               node("w/read", "Identity", "w", kFloats) +
               node("scaled", "RealDiv", "norm four", kFloats) +
               node("total", "Sum", "x both", kFloats + attr("Tidx", "type: DT_INT32")) +
               integers("both", {0, 1}) + node("mean", "RealDiv", "total other", kFloats) +
               node("loss", "Add", "mean scaled", kFloats) +
               node("change", "Mul", "sum loss", kFloats),
           "x", 4, "DT_FLOAT", "change") +
      kTrain;
  const Written written(text, {3, 1});
  CHECK(written.numbers<float>("replica_0/four") == std::vector<float>{4});
  CHECK(written.numbers<float>("replica_0/other") == std::vector<float>{3});
}

TEST_CASE("a Tile along another dimension than the batch's repeats as often in a share") {
  // As the gradient of a Tile is computed: its repeats and sizes, one behind the other, say what is summed.
  const std::string types = kFloats + attr("Tshape", "type: DT_INT32");
  const std::string whole = attr("T", "type: DT_INT32");
  const std::string text =
      step(
          integers("sizes", {4, 1, 2}) + node("one", "Reshape", "x sizes", types) +
              integers("repeats", {1, 4, 1}) +
              node("tiled", "Tile", "one repeats", kFloats + attr("Tmultiples", "type: DT_INT32")) +
              integers("sizes_again", {4, 1, 2}) +
              node("stack", "Pack", "repeats sizes_again",
                   whole + attr("N", "i: 2") + attr("axis", "i: 0")) +
              integers("perm", {1, 0}) +
              node("turned", "Transpose", "stack perm", whole + attr("Tperm", "type: DT_INT32")) +
              integers("flat", {-1}) +
              node("shape", "Reshape", "turned flat", whole + attr("Tshape", "type: DT_INT32")) +
              node("parts", "Reshape", "tiled shape", types) + integers("axes", {0, 2, 4}) +
              node("summed", "Sum", "parts axes", kFloats + attr("Tidx", "type: DT_INT32")) +
              integers("rows/sizes", {4, 2}) + node("rows", "Reshape", "summed rows/sizes", types),
          "rows", 4) +
      kTrain;
  const Written written(text, {3, 1});
  CHECK(written.numbers<std::int32_t>("replica_0/repeats") == std::vector<std::int32_t>{1, 4, 1});
  CHECK(written.numbers<std::int32_t>("replica_0/sizes_again") ==
        std::vector<std::int32_t>{3, 1, 2});
}
