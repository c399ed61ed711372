// Operands that do not fit together: an error that says so, and no crash.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <string_view>

#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/expect_error.h"

namespace berth::runtime {
namespace {

using tf_frontend::attr;
using tf_frontend::kFloats;
using tf_frontend::node;

at::Tensor longs(std::vector<std::int64_t> values) {
  return at::tensor(values, at::kLong);
}
at::Tensor ones(std::vector<std::int64_t> shape) {
  return at::ones(shape);
}
at::Tensor number(double value) {
  return at::zeros({}) + value;
}

/// An op as a file has it, ready to run.
class Single {
 public:
  Single(const std::string& type, const std::string& attributes, std::size_t inputs) {
    std::string text, names;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string name = "in" + std::to_string(i);
      text += node(name, "Placeholder", "", attr("dtype", "type: DT_FLOAT"));
      names += (i > 0 ? " " : "") + name;
    }
    const test::TemporaryFolder folder;
    write_file(folder / "graph.pbtxt", text + node("op", type, names, attributes));
    program_ = load_tf(folder / "graph.pbtxt", {"op"});
    const Instruction& op =
        program_->instructions[static_cast<std::size_t>(*program_->graph->find_op("op"))];
    kernel_ = tf_kernels().make({*program_, op, tf_kernels()});
    outputs_ = op.outputs.size();
  }

  at::Tensor run(const std::vector<at::Tensor>& tensors) const {
    std::vector<Value> inputs, outputs(outputs_);
    for (const at::Tensor& each : tensors) inputs.push_back({each, nullptr});
    KernelContext context;
    kernel_(context, inputs, outputs);
    return outputs.empty() ? at::Tensor() : outputs.front().tensor;
  }

 private:
  std::shared_ptr<const Program> program_;
  Kernel kernel_;
  std::size_t outputs_ = 0;
};

const std::string kSplits = attr("row_partition_types", "list { s: 'ROW_SPLITS' }");
const std::string kRowIds =
    attr("row_partition_types", "list { s: 'FIRST_DIM_SIZE' s: 'VALUE_ROWIDS' }");
const std::string kEachPixel = attr("strides", "list { i: 1 i: 1 i: 1 i: 1 }");
const std::string kEachVoxel = attr("strides", "list { i: 1 i: 1 i: 1 i: 1 i: 1 }");
const std::string kOneLevel =
    attr("OUTPUT_RAGGED_RANK", "i: 1") + attr("PARAMS_RAGGED_RANK", "i: 1");

TEST_CASE("operands that do not fit together are refused, and what is wrong with them is said") {
  struct Case {
    const char* type;
    std::string attributes;
    std::vector<at::Tensor> operands;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"RGBToHSV", kFloats, {ones({2, 4})}, "4 channels"},
      {"ResizeArea", kFloats, {ones({1, 0, 3, 1}), longs({2, 2})}, "an axis of 0 pixels"},
      {"ScaleAndTranslate",
       kFloats,
       {ones({1, 2, 2, 1}), longs({2, 2}), ones({2}) - 1, ones({2})},
       "its scale is 0"},
      {"ImageProjectiveTransformV2",
       attr("interpolation", "s: 'NEAREST'"),
       {ones({1, 2, 2, 1}), ones({1, 7}), longs({2, 2})},
       "a transform 8 numbers"},
      {"Dilation2D",
       kFloats + attr("strides", "list { i: 1 i: 1 i: 1 i: 1 }"),
       {ones({1, 3, 3, 2}), ones({2, 2, 3})},
       "as many channels"},
      {"CombinedNonMaxSuppression",
       "",
       {ones({1, 2, 3, 4}), ones({1, 2, 2}), number(1), number(1), number(0.5), number(0)},
       "boxes and scores"},
      {"ResourceSparseApplyAdagrad",
       kFloats,
       {ones({3, 2}), ones({3, 2}), number(0.1), ones({1, 2}), longs({0, 1})},
       "1 rows for 2 indices"},
      {"ResourceScatterNdAdd",
       kFloats,
       {ones({3}), longs({0, 1}).reshape({1, 2}), ones({1})},
       "an index of 2 dimensions"},
      {"SparseToDense",
       kFloats,
       {longs({0, 1}).reshape({1, 2}), longs({3}), ones({1}), number(0)},
       "an index of 2 dimensions"},
      {"SparseTensorDenseMatMul",
       kFloats,
       {longs({0, 1}).reshape({1, 2}), ones({1}), longs({2, 3}), ones({2, 2})},
       "3 columns are multiplied by 2 rows"},
      {"TridiagonalSolve", kFloats, {ones({2, 3}), ones({3, 1})}, "2 diagonals"},
      {"NthElement", kFloats, {ones({3}), longs({3})}, "element 3 of 3"},
      {"UnravelIndex", "", {longs({6}), longs({2, 3})}, "beyond the 6"},
      {"Bitcast", kFloats + attr("type", "type: DT_DOUBLE"), {ones({3})}, "should be 2"},
      {"DataFormatVecPermute", "", {longs({1, 2, 3})}, "3 rows"},
      {"HistogramFixedWidth", kFloats, {ones({3}), ones({2}), longs({2})}, "a limit that is above"},
      {"QuantizeAndDequantizeV3",
       kFloats,
       {ones({3}), number(-1), number(1), longs({0})},
       "0 bits"},
      {"LSTMBlockCell",
       kFloats,
       {ones({1, 2}), ones({1, 3}), ones({1, 3}), ones({5, 12}), ones({3}), ones({3}), ones({3}),
        ones({9})},
       "9 numbers"},
      {"CTCLoss",
       kFloats,
       {ones({2, 1, 3}), longs({1, 0}).reshape({1, 2}), longs({0}), longs({2})},
       "sequence 1 of 1"},
      {"CTCLoss",
       kFloats,
       {ones({2, 1, 3}), longs({0, 0}).reshape({1, 2}), longs({3}), longs({2})},
       "none of the 3 classes"},
      {"RaggedRange", kFloats, {number(0), number(1), number(0)}, "step of a range is 0"},
      {"RaggedRange", kFloats, {number(0), number(1e30), number(1)}, "too long"},
      {"RaggedGather", kOneLevel, {longs({0, 2}), ones({2}), longs({1})}, "row 1 of 1"},
      {"RaggedGather", kOneLevel, {longs({0, 3}), ones({2}), longs({0})}, "ascend from 0 to 2"},
      {"RaggedTensorToSparse",
       attr("RAGGED_RANK", "i: 1"),
       {longs({0, 2, 1}), ones({1})},
       "ascend from 0 to 1"},
      {"RaggedTensorToTensor",
       kSplits,
       {longs({-1, -1}), ones({2}), number(0), longs({0, 1LL << 40})},
       "ascend from 0 to 2"},
      {"RaggedTensorToTensor",
       kRowIds,
       {longs({-1, -1}), ones({2}), number(0), longs({1}), longs({0, 1})},
       "below 1"},
      {"Split", kFloats, {longs({0}), ones({3})}, "3 elements are not divisible by 0 parts"},
      {"Split",
       kFloats + attr("num_split", "i: 2"),
       {longs({0}), ones({3})},
       "3 elements are not divisible by 2 parts"},
      {"SpaceToDepth",
       kFloats + attr("block_size", "i: 2"),
       {ones({1, 3, 2, 1})},
       "3 rows are not divisible by 2"},
      {"Conv2D",
       kFloats + kEachPixel,
       {ones({1, 2, 2, 3}), ones({1, 1, 0, 2})},
       "3 channels are not divisible by 0"},
      {"Conv2DBackpropInput",
       kFloats + kEachPixel,
       {longs({1, 2, 2, 0}), ones({1, 1, 3, 2}), ones({1, 2, 2, 2})},
       "without channels"},
      {"DepthwiseConv2dNativeBackpropInput",
       kFloats + kEachPixel,
       {longs({1, 2, 2, 0}), ones({1, 1, 0, 2}), ones({1, 2, 2, 0})},
       "without channels"},
      {"Conv3DBackpropInputV2",
       kFloats + kEachVoxel,
       {longs({1, 1, 2, 2, 0}), ones({1, 1, 1, 3, 2}), ones({1, 1, 2, 2, 2})},
       "without channels"},
      {"Conv3D",
       kFloats + kEachVoxel,
       {ones({1, 1, 2, 2, 3}), ones({1, 1, 1, 0, 2})},
       "3 channels are not divisible by 0"},
      {"SpaceToBatchND",
       kFloats,
       {ones({1, 2, 1}), longs({0}), longs({0, 0}).reshape({1, 2})},
       "2 elements are not divisible by 0"},
      {"SpaceToBatchND",
       kFloats,
       {ones({4, 4}), longs({2, 2}), longs({0, 0, 0, 0}).reshape({2, 2})},
       "blocks of 2 dimensions"},
      {"BatchToSpaceND",
       kFloats,
       {ones({1, 2, 1}), longs({0}), longs({0, 0}).reshape({1, 2})},
       "1 images are not divisible by 0"},
      {"CropAndResize",
       kFloats,
       {ones({1, 2, 2, 1}), ones({1, 4}), longs({-1}), longs({1, 1})},
       "image -1 is not between 0 and 0"},
      {"ReverseSequence",
       kFloats + attr("seq_dim", "i: 1"),
       {ones({2, 3}), longs({1, -7})},
       "sequence length -7 is not between 0 and 3"},
      {"GatherNd",
       kFloats,
       {ones({4, 4}), longs({1, 4}).reshape({1, 2})},
       "index 4 is not between 0 and 3"},
      {"TensorScatterUpdate",
       kFloats,
       {ones({4, 4}), longs({4, -5}).reshape({1, 2}), ones({1})},
       "index 4 is not between 0 and 3"},
      {"ScatterNd",
       kFloats,
       {longs({2, -1}).reshape({1, 2}), ones({1}), longs({4, 4})},
       "index -1 is not between 0 and 3"},
      {"StatelessRandomUniformInt",
       attr("dtype", "type: DT_INT64"),
       {longs({2}), longs({1, 2}), longs({3}), longs({3})},
       "least number 3"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Single op(each.type, each.attributes, each.operands.size());
    test::expect_error(ErrorCode::invalid_argument, {each.says}, [&] { op.run(each.operands); });
  }
}

TEST_CASE("a block of no pixels and a window that stands still are refused while loading") {
  const auto refuses = [](const char* type, const std::string& attributes, std::size_t inputs,
                          const char* says) {
    CAPTURE(type);
    test::expect_error(ErrorCode::unsupported, {says},
                       [&] { Single(type, kFloats + attributes, inputs); });
  };
  for (const char* const size : {"i: 0", "i: 4294967296"}) {
    refuses("DepthToSpace", attr("block_size", size), 1, "attribute block_size");
    refuses("SpaceToDepth", attr("block_size", size), 1, "attribute block_size");
  }
  refuses("Conv3D",
          attr("strides", "list { i: 1 i: 0 i: 1 i: 1 i: 1 }") + attr("padding", "s: 'SAME'"), 2,
          "attribute strides");
}

TEST_CASE("the least integer by -1 is itself, without a rest") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto least32 = static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::min());
  for (const char* const type :
       {"Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod"}) {
    CAPTURE(type);
    const bool is_rest = std::string_view(type).ends_with("Mod");
    const Single op(type, attr("T", "type: DT_INT64"), 2);
    const auto expected = [&](std::int64_t least) {
      return is_rest ? longs({0, 0, 1}) : longs({least, -7, 3});
    };
    const at::Tensor a = longs({kLeast, 7, 7}), b = longs({-1, -1, 2});
    CHECK(at::equal(op.run({a, b}), expected(kLeast)));
    const at::Tensor narrow = longs({least32, 7, 7}).to(at::kInt);
    CHECK(at::equal(op.run({narrow, b.to(at::kInt)}).to(at::kLong), expected(least32)));
  }
}

TEST_CASE("a power by one number is the power by as many as the base has") {
  const double infinite = std::numeric_limits<double>::infinity();
  const at::Tensor base =
      at::tensor({-2.5, -0.0, 0.0, 0.3, 1.0, 7.25, infinite, -infinite}).to(at::kFloat);
  const Single op("Pow", kFloats, 2);
  for (const float exponent : {0.0F, 1.0F, 2.0F, 3.0F, 0.5F, -0.5F, -1.0F, -2.0F, 1.7F}) {
    CAPTURE(exponent);
    const at::Tensor one = at::ones({}).mul(exponent);
    const at::Tensor got = op.run({base, one}), expected = op.run({base, one.expand({8}).clone()});
    CHECK(at::allclose(got, expected, 3e-7, 0, /*equal_nan=*/true));
    CHECK(got.sizes() == base.sizes());
  }
}

TEST_CASE("the gradient of a mirrored border is added to that of what it mirrors") {
  const at::Tensor margins = longs({0, 0, 2, 1}).reshape({2, 2});
  const at::Tensor gradient = at::tensor({1., 2., 4., 8., 16., 32.}, at::kFloat).reshape({1, 6});
  // [c b | a b c | b], and [b a | a b c | c].
  CHECK(at::equal(
      Single("MirrorPadGrad", kFloats + attr("mode", "s: 'REFLECT'"), 2).run({gradient, margins}),
      at::tensor({4., 42., 17.}, at::kFloat).reshape({1, 3})));
  CHECK(at::equal(
      Single("MirrorPadGrad", kFloats + attr("mode", "s: 'SYMMETRIC'"), 2).run({gradient, margins}),
      at::tensor({6., 9., 48.}, at::kFloat).reshape({1, 3})));
}

TEST_CASE("what no memory holds is refused before it is computed") {
  const Single op("MirrorPad", kFloats, 2);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(op.run({ones({2}), longs({0, 1LL << 62}).reshape({1, 2})})),
      doctest::Contains("overflow"), std::exception);
}

TEST_CASE("indices beyond what they point into are refused") {
  const at::Tensor far = longs({7});
  const auto refuses = [](const char* type, const std::vector<at::Tensor>& operands) {
    CAPTURE(type);
    CHECK_THROWS_AS(Single(type, kFloats, operands.size()).run(operands), std::exception);
  };
  refuses("ResourceSparseApplyAdagrad",
          {ones({3, 2}), ones({3, 2}), number(0.1), ones({1, 2}), far});
  refuses("ResourceScatterMax", {ones({3}), far, ones({1})});
  refuses("ResourceScatterUpdate", {ones({3}), far, ones({1})});
  refuses("MaxPoolGradWithArgmax",
          {ones({1, 2, 2, 1}), ones({1, 1, 1, 1}), far.reshape({1, 1, 1, 1})});
  refuses("SparseSegmentSumGrad", {ones({1, 2}), far, longs({0}), longs({3})});
  refuses("SparseTensorDenseMatMul",
          {longs({0, 7}).reshape({1, 2}), ones({1}), longs({2, 3}), ones({3, 2})});
}

}  // namespace
}  // namespace berth::runtime
