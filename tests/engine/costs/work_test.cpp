#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "one_op.h"

namespace berth {
namespace {

using test::class_of;
using test::OneOp;
using test::Shape;
using test::tensor;

using Ints = std::vector<std::int64_t>;

TEST_CASE("work of convolutions") {
  SUBCASE("the first layer of ResNet-50") {
    const Work work = OneOp{
        "Conv",
        {tensor({1, 3, 224, 224}), tensor({64, 3, 7, 7})},
        {tensor({1, 64, 112,
                 112})}}.work();
    CHECK(work.flops == 2.0 * 64 * 112 * 112 * 3 * 49);
    CHECK(work.bytes == 4.0 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112));
    CHECK(class_of(work) == "convolution");
    CHECK(work.launches == 1);
  }
  SUBCASE("a bias is one addition per output, a group divides the channels") {
    const Work work =
        OneOp{"Conv", {tensor({2, 8, 10}), tensor({16, 2, 3}), tensor({16})}, {tensor({2, 16, 8})}}
            .work();
    CHECK(work.flops == (2.0 * 2 * 3 + 1) * 2 * 16 * 8);
  }
  SUBCASE("transposed: every input element spreads over its taps") {
    const Work work = OneOp{
        "ConvTranspose",
        {tensor({1, 4, 5, 5}), tensor({4, 8, 3, 3})},
        {tensor({1, 8, 11,
                 11})}}.work();
    CHECK(work.flops == 2.0 * 4 * 25 * 8 * 9);
  }
  SUBCASE("quantized: the weights are the fourth input, the arithmetic is 8-bit") {
    const auto scale = tensor({});
    const Work work = OneOp{"QLinearConv",
                            {tensor({1, 3, 8, 8}, DType::u8), scale, scale,
                             tensor({4, 3, 3, 3}, DType::i8), scale, scale, scale, scale},
                            {tensor({1, 4, 6, 6}, DType::u8)}}
                          .work();
    CHECK(work.flops == 2.0 * 4 * 36 * 27);
    CHECK(dtype_name(work.dtype) == "u8");
  }
  SUBCASE("deformable: the same products, and a bilinear sample per channel and tap") {
    const Work work = OneOp{
        "DeformConv",
        {tensor({1, 3, 8, 8}), tensor({4, 3, 3, 3}), tensor({1, 18, 6, 6})},
        {tensor({1, 4, 6,
                 6})}}.work();
    CHECK(work.flops == 2.0 * 4 * 36 * 27 + 8.0 * 36 * 27);
  }
}

TEST_CASE("work of attention") {
  // Each score: a product over the head, its use over the head, and 15 for softmax.
  const double batch = 2, heads = 12, queries = 128, head = 64;
  const double hidden = heads * head;
  const double product = batch * heads * queries * queries * (4 * head + 15);
  const std::pair<std::string, AttributeValue> num_heads{"num_heads", std::int64_t{12}};
  const TensorInfo joined = tensor({2, 128, 768}), split = tensor({2, 12, 128, 64});
  const TensorInfo weights = tensor({768, 2304}), bias = tensor({2304});

  SUBCASE("com.microsoft.Attention makes its own queries, keys and values") {
    const Work work =
        OneOp{"com.microsoft.Attention", {joined, weights, bias}, {joined}, {num_heads}}.work();
    CHECK(work.flops == batch * queries * 3 * hidden * (2 * hidden + 1) + product);
    CHECK(class_of(work) == "attention");
  }
  SUBCASE("past keys lengthen the scores") {
    const Work work = OneOp{
        "com.microsoft.Attention",
        {tensor({2, 1, 768}), weights, bias, std::nullopt, tensor({2, 2, 12, 127, 64})},
        {tensor({2, 1, 768})},
        {num_heads}}.work();
    CHECK(work.flops == batch * 3 * hidden * (2 * hidden + 1) + product / queries);
  }
  SUBCASE("com.microsoft.MultiHeadAttention, separate and packed") {
    const std::string type = "com.microsoft.MultiHeadAttention";
    CHECK(OneOp{type, {joined, joined, joined}, {joined}, {num_heads}}.work().flops == product);
    CHECK(OneOp{type, {joined, split, split}, {joined}, {num_heads}}.work().flops == product);
    CHECK(OneOp{type, {tensor({2, 128, 12, 3, 64})}, {joined}, {num_heads}}.work().flops ==
          product);
  }
  SUBCASE("grouped: as many scores as query heads") {
    const TensorInfo few = tensor({2, 128, 128});
    CHECK(OneOp{"com.microsoft.GroupQueryAttention", {joined, few, few}, {joined}, {num_heads}}
              .work()
              .flops == product);
  }
  SUBCASE("the standard's, with split heads and with heads in attributes") {
    CHECK(OneOp{"Attention", {split, split, split}, {split}}.work().flops == product);
    CHECK(OneOp{"Attention",
                {joined, joined, joined},
                {joined},
                {{"q_num_heads", std::int64_t{12}}, {"kv_num_heads", std::int64_t{12}}}}
              .work()
              .flops == product);
  }
}

TEST_CASE("work of recurrent layers") {
  SUBCASE("LSTM: four gates, both directions, a launch per step and direction") {
    const Work work =
        OneOp{"LSTM",
              {tensor({20, 8, 100}), tensor({2, 1024, 100}), tensor({2, 1024, 256})},
              {tensor({20, 2, 8, 256})},
              {{"hidden_size", std::int64_t{256}}, {"direction", std::string("bidirectional")}}}
            .work();
    CHECK(work.flops == 20.0 * 2 * 8 * 4 * 256 * (2 * (100 + 256) + 12));
    CHECK(work.launches == 40);
    CHECK(class_of(work) == "recurrent");
  }
  SUBCASE("GRU: three gates; the size is R's where no attribute gives it") {
    CHECK(OneOp{"GRU",
                {tensor({20, 8, 100}), tensor({1, 768, 100}), tensor({1, 768, 256})},
                {tensor({20, 1, 8, 256})}}
              .work()
              .flops == 20.0 * 8 * 3 * 256 * (2 * (100 + 256) + 12));
  }
}

TEST_CASE(
    "work of TensorFlow's recurrent layers: each step is launched and reads its weights again") {
  const auto in_tf = [](OneOp op) {
    op.dialect = "tf";
    return op.work();
  };
  const TensorInfo x = tensor({20, 8, 100}), state = tensor({8, 256}), peephole = tensor({256});
  const double recurrent = 256.0 * 1024 * 4;
  const auto block = [&](const char* type) {
    return in_tf({type,
                  {tensor({}, DType::i64), x, state, state, tensor({356, 1024}), peephole, peephole,
                   peephole, tensor({1024})},
                  {tensor({20, 8, 256})}});
  };
  const Work layer = block("BlockLSTMV2");
  CHECK(layer.launches == 20);
  CHECK(layer.flops == 2.0 * 20 * 8 * 356 * 1024);
  const double once =
      8 + 4.0 * (20 * 8 * 100 + 2 * 8 * 256 + 356 * 1024 + 3 * 256 + 1024 + 20 * 8 * 256);
  CHECK(layer.bytes == once + 19 * recurrent);
  CHECK(block("BlockLSTMGradV2").launches == 20);
  const auto cudnn = [&](const char* mode, bool time_major) {
    return in_tf({"CudnnRNNV3",
                  {x, tensor({4, 8, 256}), tensor({4, 8, 256}), tensor({5000000})},
                  {tensor({20, 8, 512})},
                  {{"rnn_mode", std::string(mode)}, {"time_major", std::int64_t{time_major}}}});
  };
  CHECK(cudnn("lstm", true).launches == 20 * 4);
  CHECK(cudnn("lstm", false).launches == 8 * 4);
  CHECK(cudnn("lstm", true).bytes - cudnn("gru", true).bytes == 19.0 * 4 * 256 * 256 * 4);
  CHECK(cudnn("gru", true).bytes - cudnn("rnn_tanh", true).bytes == 19.0 * 4 * 2 * 256 * 256 * 4);
}

TEST_CASE("work of the first k: each line is sorted for itself") {
  const auto flops = [](const char* dialect, const char* type, const Shape& kept,
                        std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
    OneOp op{type, {tensor({64, 32}), tensor({1}, DType::i64)}, {tensor(kept)}, attributes};
    op.dialect = dialect;
    return op.work().flops;
  };
  CHECK(flops("onnx", "TopK", {64, 8}) == 64.0 * 32 * 3);
  CHECK(flops("onnx", "TopK", {16, 32}, {{"axis", std::int64_t{0}}}) == 64.0 * 32 * 4);
  CHECK(flops("onnx", "TopK", {64, kUnknownDim}) == 64.0 * 32 * 5);
  CHECK(flops("tf", "TopKV2", {64, 8}) == 64.0 * 32 * 3);
  CHECK(flops("tf", "ApproxTopK", {16, 32}, {{"reduction_dimension", std::int64_t{0}}}) ==
        64.0 * 32 * 4);
  CHECK(flops("tf", "NthElement", {64}) == 64.0 * 32 * 2);
}

TEST_CASE("work of other ops") {
  SUBCASE("pooling counts its windows") {
    CHECK(OneOp{"MaxPool",
                {tensor({1, 64, 112, 112})},
                {tensor({1, 64, 56, 56})},
                {{"kernel_shape", Ints{3, 3}}}}
              .work()
              .flops == 9.0 * 64 * 56 * 56);
    CHECK(OneOp{"GlobalAveragePool", {tensor({1, 2048, 7, 7})}, {tensor({1, 2048, 1, 1})}}
              .work()
              .flops == 2048.0 * 49);
  }
  SUBCASE("a gather reads the rows it takes, not the table") {
    const Work work = OneOp{
        "Gather",
        {tensor({30522, 768}), tensor({1, 128}, DType::i64)},
        {tensor({1, 128,
                 768})}}.work();
    CHECK(work.bytes == 2.0 * 128 * 768 * 4 + 128 * 8);
    CHECK(class_of(work) == "data_movement");
  }
  SUBCASE("a tensor read twice is read once from memory") {
    GraphBuilder builder("square", "onnx");
    const OpId in = builder.add_op("in", "Input");
    const TensorId x = builder.add_output(in, tensor({1000}));
    const OpId mul = builder.add_op("mul", "Mul");
    builder.add_input(mul, x);
    builder.add_input(mul, x);
    builder.add_output(mul, tensor({1000}));
    CHECK(op_work(*builder.build(), mul).bytes == 8000);
  }
  SUBCASE("views, shapes and constants cost nothing") {
    for (const char* type : {"Input", "Reshape", "Shape", "Constant", "Identity", "Squeeze"}) {
      const Work work = OneOp{type, {tensor({64, 64})}, {tensor({4096})}}.work();
      CHECK(work.flops == 0);
      CHECK(work.bytes == 0);
      CHECK(work.launches == 0);
    }
  }
  SUBCASE("Dropout is a view, unless a training mode is given") {
    CHECK(OneOp{"Dropout", {tensor({64})}, {tensor({64})}}.work().launches == 0);
    const TensorInfo flag = tensor({}, DType::boolean);
    CHECK(OneOp{"Dropout", {tensor({64}), tensor({}), flag}, {tensor({64})}}.work().flops == 192);
  }
}

TEST_CASE("stated work overrides the rule") {
  GraphBuilder builder("stated", "onnx");
  const OpId op = builder.add_op("loop", "Loop");
  builder.set_work(op, {1e6, 2e6, OpClass::matmul, DType::f16, 7});
  const auto graph = builder.build();
  CHECK(has_work_rule(*graph, op));
  CHECK(op_work(*graph, op).flops == 1e6);
  CHECK(op_work(*graph, op).launches == 7);
}

TEST_CASE("a convolution's class follows from its window and its groups") {
  const auto onnx = [](const Shape& image, const Shape& weights, const Shape& result,
                       std::int64_t group) {
    OneOp op{"Conv", {tensor(image), tensor(weights)}, {tensor(result)}};
    op.attributes = {{"group", group}};
    return op.work();
  };
  const auto tf = [](const char* type, const Shape& image, const Shape& filter,
                     const Shape& result) {
    OneOp op{type, {tensor(image), tensor(filter)}, {tensor(result)}};
    op.dialect = "tf";
    return op.work();
  };
  CHECK(class_of(onnx({2, 8, 10, 10}, {16, 8, 3, 3}, {2, 16, 8, 8}, 1)) == "convolution");
  CHECK(class_of(onnx({2, 8, 10, 10}, {16, 8, 1, 1}, {2, 16, 10, 10}, 1)) ==
        "pointwise_convolution");
  CHECK(class_of(onnx({2, 8, 10, 10}, {16, 2, 3, 3}, {2, 16, 8, 8}, 4)) == "grouped_convolution");
  CHECK(class_of(onnx({2, 8, 10, 10}, {16, 1, 3, 3}, {2, 16, 8, 8}, 8)) == "depthwise_convolution");
  CHECK(class_of(tf("Conv2D", {2, 10, 10, 8}, {3, 3, 8, 16}, {2, 10, 10, 16})) == "convolution");
  CHECK(class_of(tf("Conv2D", {2, 10, 10, 8}, {1, 1, 8, 16}, {2, 10, 10, 16})) ==
        "pointwise_convolution");
  CHECK(class_of(tf("Conv2D", {2, 10, 10, 8}, {3, 3, 2, 16}, {2, 10, 10, 16})) ==
        "grouped_convolution");
  CHECK(class_of(tf("DepthwiseConv2dNative", {2, 10, 10, 8}, {3, 3, 8, 2}, {2, 10, 10, 16})) ==
        "depthwise_convolution");
  // One channel in all is no group of its own.
  CHECK(class_of(onnx({2, 1, 10, 10}, {16, 1, 3, 3}, {2, 16, 8, 8}, 1)) == "convolution");
}

TEST_CASE("a dilation and its gradients add and compare at every tap") {
  const TensorInfo image = tensor({2, 8, 8, 4}), filter = tensor({3, 3, 4});
  const TensorInfo result = tensor({2, 6, 6, 4});
  constexpr double kFlops = 2.0 * (2 * 6 * 6 * 4) * (3 * 3);
  const auto flops = [](const std::string& type, std::vector<TensorInfo> inputs,
                        TensorInfo output) {
    OneOp op{type, {inputs.begin(), inputs.end()}, {std::move(output)}};
    op.dialect = "tf";
    return op.work().flops;
  };
  CHECK(flops("Dilation2D", {image, filter}, result) == kFlops);
  CHECK(flops("Dilation2DBackpropInput", {image, filter, result}, image) == kFlops);
  CHECK(flops("Dilation2DBackpropFilter", {image, filter, result}, filter) == kFlops);
}

TEST_CASE("gradients of convolutions do the same work in all their forms") {
  const TensorInfo image = tensor({8, 16, 16, 3}), filter = tensor({3, 3, 3, 32});
  const TensorInfo gradient = tensor({8, 16, 16, 32}), sizes = tensor({4}, DType::i32);
  const double flops = 2.0 * 8 * 16 * 16 * 32 * (3 * 3 * 3);
  const auto work = [&](const char* type, const TensorInfo& first, const TensorInfo& second,
                        const TensorInfo& result) {
    OneOp op{type, {first, second, gradient}, {result}};
    op.dialect = "tf";
    return op.work();
  };
  for (const Work& found : {work("Conv2DBackpropInput", sizes, filter, image),
                            work("Conv2DBackpropInputV2", image, filter, image),
                            work("Conv2DBackpropFilter", image, sizes, filter),
                            work("Conv2DBackpropFilterV2", image, filter, filter)}) {
    CHECK(found.flops == flops);
    CHECK(class_of(found) == "convolution");
  }
  const TensorInfo film = tensor({2, 4, 8, 8, 3}), cube = tensor({2, 3, 3, 3, 32});
  const TensorInfo slopes = tensor({2, 4, 8, 8, 32});
  for (const char* type : {"Conv3DBackpropInput", "Conv3DBackpropInputV2"}) {
    OneOp op{type, {film, cube, slopes}, {film}};
    op.dialect = "tf";
    CHECK(op.work().flops == 2.0 * 2 * 4 * 8 * 8 * 32 * (2 * 3 * 3 * 3));
  }
}

TEST_CASE("an op without a rule is costed by its bytes") {
  const OneOp op{"my.domain.Mystery", {tensor({10}), tensor({20})}, {tensor({30})}};
  CHECK(class_of(op.work()) == "other");
  CHECK(op.work().bytes == 240);
  CHECK(op.work().flops == 0);
  CHECK_FALSE(has_work_rule(*op.graph(), 2));
  CHECK_FALSE(has_work_rule(*OneOp{"Loop", {}, {}}.graph(), 0));
  CHECK(has_work_rule(*OneOp{"Conv", {}, {}}.graph(), 0));
  CHECK_FALSE(has_work_rule(*OneOp{"Conv", {}, {}, {}, "berth"}.graph(), 0));
}

TEST_CASE("weights stated as bytes of an op are read as parameter tensors are") {
  const auto bytes_of = [](const char* type, const std::vector<TensorInfo>& weights,
                           std::int64_t stated) {
    GraphBuilder builder("weights", "onnx");
    const TensorId x = builder.add_output(builder.add_op("x", "Input"), tensor({2, 8}));
    const OpId op = builder.add_op("op", type);
    builder.add_input(op, x);
    for (const TensorInfo& weight : weights) builder.add_input(op, builder.add_parameter(weight));
    builder.add_output(op, tensor({2, 16}));
    builder.set_param_bytes(op, stated);
    const auto graph = builder.build();
    return op_work(*graph, op).bytes;
  };
  const double weight_bytes = 8 * 16 * 4, x_bytes = 2 * 8 * 4, y_bytes = 2 * 16 * 4;
  for (const char* type : {"my.domain.Mystery", "Softmax"}) {
    CHECK(bytes_of(type, {tensor({8, 16})}, 0) == x_bytes + weight_bytes + y_bytes);
    CHECK(bytes_of(type, {}, 8 * 16 * 4) == x_bytes + weight_bytes + y_bytes);
  }
  // Rules that read a part of what they are given, or nothing.
  CHECK(bytes_of("Gather", {}, 8 * 16 * 4) == 2 * y_bytes);
  CHECK(bytes_of("Reshape", {}, 8 * 16 * 4) == 0);
}

}  // namespace
}  // namespace berth
