// What the tables of op types promise of every row.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>

#include "../costs/one_op.h"
#include "berth/sdk/ops/element_types.h"
#include "berth/sdk/ops/op.h"

namespace berth::ops {
namespace {

constexpr std::array<std::string_view, 2> kDialects = {"onnx", "tf"};

TEST_CASE("every type whose shapes follow has a rule for its work, or says why it has none") {
  for (const std::string_view dialect : kDialects) {
    const auto types = known_ops(dialect);
    CHECK(types.size() > 300);
    for (const std::string_view type : types) {
      CAPTURE(dialect);
      CAPTURE(type);
      const OpInfo* const op = find_op(dialect, type);
      REQUIRE(op != nullptr);
      if (op->shape != nullptr) CHECK((op->has_work || !op->no_work_because.empty()));
    }
  }
}

TEST_CASE(
    "contributed operators that cost something have a rule for their shapes: libonnx has none") {
  for (const std::string_view type : known_ops("onnx")) {
    CAPTURE(type);
    const OpInfo* const op = find_op("onnx", type);
    // Optimizers give lists, and one op takes its padding from the step.
    const bool follows = type.find("Optimizer") == type.npos && !type.ends_with("ZeroGradient") &&
                         !type.ends_with("WithDynamicPads");
    if (!type.starts_with("com.microsoft.") || !op->has_work || !follows) continue;
    if (op->no_work_because.empty()) CHECK((op->shape != nullptr));
  }
}

TEST_CASE("a type that says why it has no work costs nothing, or has no rule") {
  for (const std::string_view dialect : kDialects) {
    for (const std::string_view type : known_ops(dialect)) {
      CAPTURE(dialect);
      CAPTURE(type);
      const OpInfo* const op = find_op(dialect, type);
      test::OneOp one{std::string(type), {test::tensor({4, 4})}, {test::tensor({4, 4})}};
      one.dialect = std::string(dialect);
      const bool free = op->has_work && !op->no_work_because.empty();
      if (free) CHECK(one.work().launches == 0);
      CHECK(has_work_rule(*one.graph(), 1) == op->has_work);
    }
  }
}

TEST_CASE("contributed operators without a row of their own are as the standard ones") {
  CHECK(find_op("onnx", "com.microsoft.Relu") == find_op("onnx", "Relu"));
  CHECK(find_op("onnx", "com.microsoft.MaxPool") == find_op("onnx", "MaxPool"));
  CHECK(find_op("onnx", "com.microsoft.Gelu") != find_op("onnx", "Gelu"));
  CHECK(find_op("onnx", "com.microsoft.nchwc.Relu") == nullptr);
  CHECK(find_op("onnx", "no.such.Relu") == nullptr);
  CHECK(find_op("onnx", "") == nullptr);
  CHECK(find_op("berth", "Relu") == nullptr);
}

TEST_CASE("whatever makes a dataset gives a handle to it") {
  REQUIRE(find_op("tf", "MapDatasetV2") != nullptr);
  CHECK(find_op("tf", "MapDatasetV2")->outputs.size() == 1);
  CHECK(find_op("tf", "MapDatasetV2")->has_work);
  CHECK(find_op("tf", "DatasetCardinality") == nullptr);
}

/// An op without a file: attributes of integers alone.
class NoAttributes final : public Attributes {
 public:
  [[nodiscard]] bool has(std::string_view /*key*/) const override { return false; }
  [[nodiscard]] std::int64_t integer(std::string_view /*key*/,
                                     std::int64_t fallback) const override {
    return fallback;
  }
  [[nodiscard]] std::string_view text(std::string_view /*key*/,
                                      std::string_view fallback) const override {
    return fallback;
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view /*key*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<double> reals(std::string_view /*key*/) const override { return {}; }
  [[nodiscard]] Value tensor(std::string_view /*key*/) const override { return {}; }
};

/// The outputs of an op of `type` with these inputs, shapes and contents.
std::vector<Value> infer(std::string_view dialect, std::string_view type,
                         const std::vector<Value>& inputs, std::size_t outputs = 1,
                         int output_type = kUnknownType) {
  const OpInfo* const info = find_op(dialect, type);
  REQUIRE(info != nullptr);
  std::vector<const Value*> given;
  for (const Value& input : inputs) given.push_back(&input);
  std::vector<Value> out(outputs, tensor_type(output_type));
  const NoAttributes attributes;
  OpContext op(type, attributes, given, out);
  if (info->shape != nullptr) info->shape(op);
  fold_contents(*info, op);
  return out;
}

Value integers(int type, std::vector<std::int64_t> numbers) {
  Value value = tensor_type(type, {static_cast<std::int64_t>(numbers.size())});
  value.data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return value;
}

Value reals(std::vector<double> numbers) {
  Value value = tensor_type(onnx::kFloat, {static_cast<std::int64_t>(numbers.size())});
  value.reals = std::make_shared<const std::vector<double>>(std::move(numbers));
  return value;
}

using Numbers = std::vector<std::int64_t>;

TEST_CASE("no rule fails on an op that has nothing of what it asks for") {
  for (const std::string_view dialect : kDialects) {
    for (const std::string_view type : known_ops(dialect)) {
      CAPTURE(dialect);
      CAPTURE(type);
      for (const std::size_t outputs : {0U, 1U, 4U}) {
        infer(dialect, type, {}, outputs);
        infer(dialect, type, std::vector<Value>(9), outputs);
        infer(dialect, type, std::vector<Value>(9, tensor_type(1, {})), outputs);
        infer(dialect, type, std::vector<Value>(9, integers(7, {-1, 0, 5})), outputs);
      }
    }
  }
}

TEST_CASE("the sign of real numbers is their sign") {
  const auto out = infer("onnx", "Sign", {reals({-2.5, 0, 7})});
  REQUIRE(out[0].reals != nullptr);
  CHECK(*out[0].reals == std::vector<double>{-1, 0, 1});
}

TEST_CASE("TensorFlow divides integers down, ONNX towards zero") {
  const Value a = integers(tf::kInt64, {-7}), b = integers(tf::kInt64, {2});
  CHECK(*infer("tf", "FloorDiv", {a, b})[0].data == Numbers{-4});
  CHECK(*infer("tf", "TruncateDiv", {a, b})[0].data == Numbers{-3});
  const Value c = integers(onnx::kInt64, {-7}), d = integers(onnx::kInt64, {2});
  CHECK(*infer("onnx", "Div", {c, d})[0].data == Numbers{-3});
  CHECK(*infer("onnx", "Mod", {c, d})[0].data == Numbers{1});
}

TEST_CASE("a folded number is rounded to the type of its tensor") {
  const auto times = [](int type, double a, double b) {
    Value x = reals({a}), y = reals({b});
    x.type = y.type = type;
    return (*infer("onnx", "Mul", {x, y})[0].reals)[0];
  };
  // In f64 the product is below 7.
  CHECK(times(onnx::kFloat, 10, 0.7F) == 7);
  CHECK(times(onnx::kDouble, 10, 0.7F) < 7);
  CHECK(times(onnx::kFloat, 1e30, 1e30) == std::numeric_limits<double>::infinity());
  CHECK(times(onnx::kFloat, 1e-25, 1e-25) == 0);
  CHECK(times(onnx::kFloat16, 3, 683) == 2048);  // 2049 lies between two, of which 2048 is even
  CHECK(times(onnx::kFloat16, 1, 65520) == std::numeric_limits<double>::infinity());
  CHECK(times(onnx::kFloat16, 1, 0x1.8p-24) == 0x1p-23);
  CHECK(times(onnx::kBfloat16, 1, 257) == 256);
  const auto tf_product = infer("tf", "Mul", {reals({10}), reals({0.7F})}, 1, tf::kFloat);
  CHECK(*tf_product[0].reals == std::vector<double>{7});
}

TEST_CASE("a folded integer is wrapped to the type of its tensor") {
  const auto cast = [](const Value& from, int to) {
    return *infer("onnx", "CastLike", {from, tensor_type(to, {})})[0].data;
  };
  const Value many = integers(onnx::kInt64, {300, -1, std::int64_t{1} << 31, Data::kUnknown});
  CHECK(cast(many, onnx::kUint8) == Numbers{44, 255, 0, Data::kUnknown});
  CHECK(cast(many, onnx::kInt8) == Numbers{44, -1, 0, Data::kUnknown});
  CHECK(cast(many, onnx::kInt32) == Numbers{300, -1, -(std::int64_t{1} << 31), Data::kUnknown});
  // No content holds 2^64 - 1.
  CHECK(cast(many, onnx::kUint64)[1] == Data::kUnknown);
  CHECK(cast(many, onnx::kBool) == Numbers{1, 1, 1, Data::kUnknown});
  const Value most = integers(tf::kInt32, {std::numeric_limits<std::int32_t>::max()});
  CHECK(*infer("tf", "AddV2", {most, integers(tf::kInt32, {1})}, 1, tf::kInt32)[0].data ==
        Numbers{std::numeric_limits<std::int32_t>::min()});
}

TEST_CASE("a real number is cast to true unless it is 0, and to no integer that is too narrow") {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Value from = reals({0.5, 0, -300.7, unknown});
  const Numbers truths = {1, 0, 1, Data::kUnknown};
  CHECK(*infer("onnx", "CastLike", {from, tensor_type(onnx::kBool, {})})[0].data == truths);
  CHECK(*infer("tf", "Cast", {from}, 1, tf::kBool)[0].data == truths);
  CHECK(*infer("tf", "Cast", {from}, 1, tf::kInt32)[0].data == Numbers{0, 0, -300, Data::kUnknown});
  CHECK(*infer("onnx", "CastLike", {from, tensor_type(onnx::kUint8, {})})[0].data ==
        Numbers{0, 0, Data::kUnknown, Data::kUnknown});
}

TEST_CASE("what is joined keeps its place where its content is not known") {
  Value unknown = tensor_type(tf::kInt32, {2});
  Value axis = tensor_type(tf::kInt32, {});
  axis.data = std::make_shared<const Numbers>(1, 0);
  const auto out = infer("tf", "ConcatV2", {integers(tf::kInt32, {3}), unknown, axis});
  REQUIRE(out[0].data != nullptr);
  CHECK(*out[0].data == Numbers{3, Data::kUnknown, Data::kUnknown});
}

TEST_CASE("a list says the shape of its elements") {
  Value list;
  list.handle = std::make_shared<Handle>();
  list.handle->ranked = true;
  list.handle->dims = {kUnknownDim, 8};
  const auto out = infer("tf", "TensorListElementShape", {list});
  CHECK(out[0].dims == Dims{2});
  REQUIRE(out[0].data != nullptr);
  CHECK(*out[0].data == Numbers{Data::kUnknown, 8});
}

TEST_CASE("a sparse sum takes its axes from the fourth input") {
  const auto out = infer("tf", "SparseReduceSum",
                         {tensor_type(tf::kInt64, {5, 2}), tensor_type(tf::kFloat, {5}),
                          integers(tf::kInt64, {3, 4}), integers(tf::kInt32, {1})});
  CHECK(out[0].dims == Dims{3});
}

}  // namespace
}  // namespace berth::ops
