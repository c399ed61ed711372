// Work rules survive whatever a graph says: missing tensors, unknown and absurd shapes and
// attributes. Every count stays finite, so that every cost does.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/sdk/ops/op.h"
#include "one_op.h"

namespace berth {
namespace {

using test::OneOp;

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

/// Numbers a broken or hostile file may hold.
constexpr std::array<std::int64_t, 8> kNumbers = {-kHuge, -1, 0, 1, 2, 3, 64, kHuge};
constexpr std::array<std::int64_t, 7> kDims = {kUnknownDim, 0, 1, 2, 3, 64, kHuge};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  template <typename Array>
  auto pick(const Array& items) {
    return items[below(items.size())];
  }

  TensorInfo tensor() {
    TensorInfo info;
    info.has_shape = below(8) != 0;
    // A type without a width, so that a huge shape has no size and the graph is accepted.
    info.dtype = DType::unknown;
    bool huge = false;
    for (std::size_t rank = below(7); info.has_shape && rank > 0; --rank) {
      info.shape.push_back(pick(kDims));
      huge = huge || info.shape.back() == kHuge;
    }
    if (!huge) info.dtype = pick(std::array{DType::f32, DType::f16, DType::i8, DType::i64});
    return info;
  }

  OneOp op(const std::string& type) {
    OneOp made{type, {}, {}};
    for (std::size_t n = below(10); n > 0; --n) {
      made.inputs.emplace_back();
      if (below(5) != 0) made.inputs.back() = tensor();
    }
    for (std::size_t n = below(4); n > 0; --n) made.outputs.push_back(tensor());
    for (const char* name :
         {"num_heads", "q_num_heads", "hidden_size", "layout", "transA", "k", "transB",
          "sampling_ratio", "size", "window", "adj_x", "is_training"}) {
      if (below(2) == 0) made.attributes.emplace_back(name, pick(kNumbers));
    }
    const std::vector<std::int64_t> list = {pick(kNumbers), pick(kNumbers), pick(kNumbers)};
    if (below(2) == 0) made.attributes.emplace_back("kernel_shape", list);
    if (below(2) == 0) made.attributes.emplace_back("ksize", list);
    if (below(2) == 0) made.attributes.emplace_back("qkv_hidden_sizes", list);
    if (below(2) == 0) made.attributes.emplace_back("direction", std::string("bidirectional"));
    if (below(8) == 0) made.attributes.emplace_back("mode", 1.5);  // of another type
    made.attributes.emplace_back(
        "equation", std::string(pick(std::array{"ab,bc->ac", "...a,...ab", "a", ",,", "->", "aa",
                                                "...", "a.b,\xff->\x01", "abcdefg,gfedcba"})));
    return made;
  }

 private:
  std::mt19937_64 engine_;
};

TEST_CASE("work rules give finite counts for any shapes and attributes") {
  Random random(1);
  const auto cluster = Cluster::preset("k80x2");
  std::vector<std::pair<std::string, std::string>> types;
  for (const char* dialect : {"onnx", "tf"}) {
    for (const std::string_view type : ops::known_ops(dialect)) types.emplace_back(dialect, type);
  }
  for (const auto& [dialect, type] : types) {
    CAPTURE(dialect);
    CAPTURE(type);
    for (int attempt = 0; attempt < 60; ++attempt) {
      OneOp one = random.op(type);
      one.dialect = dialect;
      const auto graph = one.graph();
      const OpId op = graph->op_count() - 1;
      const Work work = op_work(*graph, op);
      REQUIRE(std::isfinite(work.flops));
      REQUIRE(std::isfinite(work.bytes));
      REQUIRE(std::isfinite(work.launches));
      REQUIRE(work.flops >= 0);
      REQUIRE(work.bytes >= 0);
      REQUIRE(work.launches >= 0);
      const auto costs = Costs::roofline(*graph, *cluster);
      for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
        // Some types have no kernel for GPUs.
        const bool somewhere = costs->can_run(op, kind) || !cluster->kind_device(kind).host;
        REQUIRE(somewhere);
      }
    }
  }
}

TEST_CASE("work rules: without shapes only the known bytes count") {
  for (const char* type : {"Conv", "MatMul", "Add", "Softmax", "LSTM", "MaxPool", "Einsum"}) {
    CAPTURE(type);
    TensorInfo sized;  // a size, but no shape
    sized.bytes = 1000;
    const Work work = OneOp{type, {sized, sized, sized}, {sized}}.work();
    CHECK(std::string(op_class_name(work.op_class)) == "other");
    CHECK(work.bytes == 4000);
    CHECK(work.flops == 0);
  }
}

TEST_CASE("work rules: an empty tensor is no work") {
  const TensorInfo empty = test::tensor({0, 64}), row = test::tensor({64});
  CHECK(OneOp{"Add", {empty, empty}, {empty}}.work().flops == 0);
  CHECK(OneOp{"MatMul", {empty, test::tensor({64, 8})}, {test::tensor({0, 8})}}.work().flops == 0);
  CHECK(OneOp{"ReduceSum", {empty}, {row}}.work().flops == 0);
}

TEST_CASE("work rules: a larger batch is never less work") {
  const auto batched = [](std::int64_t n) {
    const auto image = test::tensor({n, 8, 16, 16});
    const auto sequence = test::tensor({n, 32, 64});
    const auto split = test::tensor({n, 4, 32, 16});
    const std::pair<std::string, AttributeValue> heads{"num_heads", std::int64_t{4}};
    return std::vector<OneOp>{
        {"Conv", {image, test::tensor({8, 8, 3, 3})}, {image}},
        {"BatchNormalization", {image}, {image}},
        {"MaxPool", {image}, {image}, {{"kernel_shape", std::vector<std::int64_t>{3, 3}}}},
        {"Relu", {image}, {image}},
        {"Transpose", {image}, {image}},
        {"Resize", {image}, {image}, {{"mode", std::string("linear")}}},
        {"MatMul", {sequence, test::tensor({64, 64})}, {sequence}},
        {"Softmax", {sequence}, {sequence}},
        {"TopK", {sequence}, {test::tensor({n, 32, 4})}},
        {"Attention", {split, split, split}, {split}},
        {"com.microsoft.Attention", {sequence, test::tensor({64, 192})}, {sequence}, {heads}},
        {"LSTM",
         {test::tensor({32, n, 64}), test::tensor({1, 64, 64}), test::tensor({1, 64, 16})},
         {test::tensor({32, 1, n, 16})}},
    };
  };
  for (std::int64_t n = 1; n < 1000; n = n * 3 + 1) {
    const auto smaller = batched(n), larger = batched(n + 1);
    for (std::size_t i = 0; i < smaller.size(); ++i) {
      CAPTURE(smaller[i].type);
      const Work less = smaller[i].work(), more = larger[i].work();
      CHECK(std::string(op_class_name(less.op_class)) != "other");
      CHECK(less.flops <= more.flops);
      CHECK(less.bytes < more.bytes);
      CHECK(less.launches <= more.launches);
    }
  }
}

}  // namespace
}  // namespace berth
