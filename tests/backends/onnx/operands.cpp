// Attributes and operands that do not fit together: an error that says so, and no crash.
#include <doctest/doctest.h>

#include <limits>

#include "backends/onnx/values.h"
#include "berth/error.h"
#include "frontends/onnx/model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

onnx::TensorProto ones(const std::vector<std::int64_t>& shape) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    tensor.add_dims(dim);
    count *= dim;
  }
  for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(1);
  return tensor;
}

/// y of a graph of ops, given x.
runtime::Value computed(const std::string& graph, const onnx::TensorProto& x, int opset = 23) {
  ModelFolder models;
  const CpuModel model(models.save(parse_graph(graph, opset)));
  return model.run({value_of(x)}).at(0);
}

/// A graph of ops that make y of x, which has these dimensions.
std::string graph_of(const std::string& ops, const std::vector<std::int64_t>& x) {
  std::string dims;
  for (const std::int64_t dim : x) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  return "g (float[" + dims + "] x) => (y) { " + ops + " }";
}
std::string ints(const std::string& name, const std::string& type, const std::string& values) {
  return name + " = Constant<value = int64" + type + " {" + values + "}>() ";
}
std::string reals(const std::string& name, const std::string& type, const std::string& values) {
  return name + " = Constant<value = float" + type + " {" + values + "}>() ";
}

struct Case {
  std::string ops;
  std::vector<std::int64_t> x;
  const char* says;
};
void check_refused(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    CAPTURE(each.ops);
    std::string said;
    try {
      static_cast<void>(computed(graph_of(each.ops, each.x), ones(each.x)));
    } catch (const std::exception& error) {
      said = error.what();
    }
    CHECK_MESSAGE(said.find(each.says) != std::string::npos, said);
  }
}

TEST_CASE("operands that do not fit together are refused, and what is wrong with them is said") {
  const std::string update = reals("u", "[1]", "9");
  const std::string weights = reals("w", "[1,3,1]", "1, 1, 1") + reals("r", "[1,3,1]", "1, 1, 1");
  const std::string region = reals("r", "[1,4]", "0, 0, 1, 1");
  const std::string bands = ints("n", "", "8") + ints("d", "", "32") + ints("s", "", "16000");
  const std::vector<Case> cases = {
      {ints("i", "[1,2]", "4, -5") + update + "y = ScatterND(x, i, u)",
       {4, 4},
       "index 4 is not between -4 and 3"},
      {ints("i", "[1,2]", "0, -5") + update + "y = ScatterND(x, i, u)",
       {4, 4},
       "index -5 is not between -4 and 3"},
      {ints("i", "[1,3]", "0, 0, 0") + update + "y = ScatterND(x, i, u)", {4, 4}, "an index of 3"},
      {ints("i", "[1,2]", "0, -5") + "y = GatherND(x, i)", {4, 4}, "index -5 is out of bounds"},
      {"y = DepthToSpace<blocksize = 0>(x)", {1, 4, 1, 1}, "blocksize is 0"},
      {"y = DepthToSpace<blocksize = 4294967296>(x)", {1, 4, 1, 1}, "blocksize is 4294967296"},
      {"y = SpaceToDepth<blocksize = 0>(x)", {1, 1, 2, 2}, "blocksize is 0"},
      {"y = SpaceToDepth<blocksize = 2>(x)", {1, 1, 3, 2}, "3 rows are not divisible by 2"},
      {reals("w", "[1,1,1,1]", "1") + "y = Conv<group = 0>(x, w)", {1, 1, 2, 2}, "group is 0"},
      {reals("w", "[1,1,1,1]", "1") + "y = ConvTranspose<group = 0>(x, w)",
       {1, 1, 2, 2},
       "group is 0"},
      {reals("w", "[1,1,1,1]", "1") + reals("o", "[1,2,1,1]", "0, 0") +
           "y = DeformConv<group = 0>(x, w, o)",
       {1, 1, 1, 1},
       "group is 0"},
      {reals("w", "[1,1,1,1]", "1") + reals("o", "[1,2,1,1]", "0, 0") +
           "y = DeformConv<offset_group = 0>(x, w, o)",
       {1, 1, 1, 1},
       "offset_group is 0"},
      {reals("w", "[1,1,1,1]", "1") + reals("o", "[1,2,1,1]", "0, 0") +
           "y = DeformConv<group = 2>(x, w, o)",
       {1, 1, 1, 1},
       "1 channels are not divisible by 2 groups"},
      {ints("i", "[2]", "2, 2") + ints("b", "[2]", "0, 0") + "y = Col2Im(x, i, b)",
       {1, 4, 4},
       "a window"},
      {ints("i", "[2]", "2, 2") + ints("b", "[2]", "1, 3") +
           "y = Col2Im<pads = [0, 1, 0, 0]>(x, i, b)",
       {1, 4, 2},
       "4 rows are not divisible by 3"},
      {ints("p", "[2]", "1, 1") + "y = Pad<mode = \"wrap\">(x, p)", {0}, "without elements"},
      {ints("p", "[2]", "1, 1") + "y = Pad<mode = \"edge\">(x, p)", {0}, "without elements"},
      {ints("p", "[2]", "0, 4611686018427387904") + "y = Pad<mode = \"edge\">(x, p)",
       {2},
       "overflow"},
      {reals("s", "[0]", "") + reals("t", "[0]", "") +
           "y = GroupNormalization<num_groups = 1>(x, s, t)",
       {1, 2, 1},
       "2 channels are not divisible by 0"},
      {reals("s", "[2]", "1, 1") + "y = GroupNormalization<num_groups = 0>(x, s, s)",
       {1, 2, 1},
       "num_groups is 0"},
      {"y = LRN<size = 0>(x)", {1, 1, 2, 2}, "size is 0"},
      {reals("s", "[1]", "-2") + "y = Resize(x, , s)", {2}, "its scale of axis 0 is -2"},
      {reals("one", "[1]", "1") + reals("zero", "[1]", "0") +
           "s = Div(one, zero) y = Resize(x, , s)",
       {2},
       "its scale of axis 0 is inf"},
      {ints("s", "[1]", "-1") + "y = Resize(x, , , s)", {2}, "its size of axis 0 is -1"},
      {"a = Constant<value = float {0}>() b = Constant<value = float {1}>() e = Div(a, a) r = "
       "Range(a, e, b) y = "
       "Add(x, r)",
       {1},
       "a range cannot have"},
      {weights + "b = Constant<value = int32[1] {99}>() n, y = GRU<hidden_size = 1>(x, w, r, , b)",
       {3, 1, 1},
       "sequence length 99 is not between 0 and 3"},
      {weights + "b = Constant<value = int32[1] {-7}>() n, y = GRU<hidden_size = 1>(x, w, r, , b)",
       {3, 1, 1},
       "sequence length -7 is not between 0 and 3"},
      {region + ints("i", "[1]", "-1") + "y = RoiAlign(x, r, i)",
       {1, 1, 2, 2},
       "batch index -1 is not between 0"},
      {region + ints("i", "[1]", "0") +
           "y = RoiAlign<sampling_ratio = 9007199254740992, output_height = 1024>(x, r, i)",
       {1, 1, 2, 2},
       "overflow"},
      {"y = com.microsoft.MultiHeadAttention<num_heads = 2>(x, x, x)",
       {1, 2, 3},
       "3 elements are not divisible by 2"},
      {"k = Constant<value = float[1,0,2,2] {}>() y = Attention(x, k, k)",
       {1, 2, 2, 2},
       "2 heads of queries"},
      {"y = Attention(x, x, x)", {1, 2, 4, 1, 1}, "not divisible by 0 heads"},
      {bands + "h = Constant<value = float {20000}>() y = MelWeightMatrix(n, d, s, x, h)",
       {},
       "mel weights up to 20000 Hz need more than 16000 samples per second"},
      {bands + "y = MelWeightMatrix(n, d, s, s, x)",
       {},
       "no mel weights of 8 bands from 16000 to 1 Hz"},
  };
  check_refused(cases);
}

TEST_CASE("a kernel refuses attributes, values of them and inputs that it does not know") {
  const std::string grouped =
      "y = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 2";
  const std::string lengths =
      "s = Constant<value = int32[1] {0}>() t = Constant<value = int32 {1}>() ";
  check_refused({
      {"y = Relu<slope = 1>(x)", {1}, "its attribute slope is none that this kernel knows"},
      {lengths + grouped + ", qk_output = 1>(x, x, x, , , s, t)", {1, 1, 2}, "qk_output is 1"},
      {lengths + grouped + ", sliding_window_cache = 1>(x, x, x, , , s, t)",
       {1, 1, 2},
       "sliding_window_cache is 1"},
      {lengths + grouped + ", k_quant_type = \"PER_TENSOR\">(x, x, x, , , s, t)",
       {1, 1, 2},
       "k_quant_type is PER_TENSOR"},
      {lengths + grouped + ", causal = 0, local_window_size = 2>(x, x, x, , , s, t)",
       {1, 1, 2},
       "local_window_size is 2"},
      {lengths + grouped + ">(x, x, x, , , s, t, , , , , , , , , , s)",
       {1, 1, 2},
       "its input 16 is none that this kernel knows, which takes 16"},
  });
}
TEST_CASE("rows of 4 bits a number are gathered from tensors of such a type as from packed ones") {
  struct Case {
    const char* type;
    const char* zero;  // the type's own is 0, that of packed numbers 8
    float least;
  };
  for (const Case& each : {Case{"uint4", "", 0}, Case{"uint4", ", z", 3}, Case{"int4", "", 0}}) {
    CAPTURE(each.type);
    auto model = parse_graph(
        "g (float[16] x) => (float[1,16] y) { i = Constant<value = int64[1] {1}>() y = "
        "com.microsoft.GatherBlockQuantized<block_size = 16>(d, i, s" +
            std::string(each.zero) + ") }",
        23);
    const auto weight = [&](const char* name, const std::string& type, std::int64_t columns) {
      auto* const tensor = model.mutable_graph()->add_initializer();
      tensor->set_name(name);
      // Some releases of libonnx do not name these types.
      tensor->set_data_type(type == "uint4" ? 21 : type == "int4" ? 22 : 1);
      tensor->add_dims(2);
      tensor->add_dims(columns);
      return tensor;
    };
    std::string data;
    for (int i = 0; i < 32; i += 2) data.push_back(static_cast<char>(i % 8 | (i % 8 + 1) << 4));
    weight("d", each.type, 16)->set_raw_data(data);
    auto* const scales = weight("s", "float", 1);
    for (const float scale : {1.0F, 2.0F}) scales->add_float_data(scale);
    weight("z", each.type, 1)->set_raw_data(std::string(1, '\x31'));
    onnx::TensorProto expected = ones({1, 16});
    for (int i = 0; i < 16; ++i)
      expected.set_float_data(i, 2 * (static_cast<float>(i % 8) - each.least));
    ModelFolder models;
    const CpuModel loaded(models.save(model));
    CHECK(difference(value_of(expected), loaded.run({value_of(ones({16}))}).at(0), {}) == "");
  }
}

TEST_CASE("the mean of nothing is 0, as ONNX Runtime has it for bags without words") {
  const auto y = computed(
      "g (float[2, 0] x) => (float[2, 1] y) { a = Constant<value = int64[1] {1}>() y = "
      "ReduceMean(x, a) }",
      ones({2, 0}));
  onnx::TensorProto zeros = ones({2, 1});
  for (const int i : {0, 1}) zeros.set_float_data(i, 0);
  CHECK(difference(value_of(zeros), y, {}) == "");
}

TEST_CASE("indices count from the end in every dimension") {
  const auto y = computed(graph_of(ints("i", "[2,2]", "-1, 0, 1, -2") + reals("u", "[2]", "5, 6") +
                                       "y = ScatterND(x, i, u)",
                                   {2, 3}),
                          ones({2, 3}));
  onnx::TensorProto expected = ones({2, 3});
  expected.set_float_data(3, 5);
  expected.set_float_data(4, 6);
  CHECK(difference(value_of(expected), y, {}) == "");
}

TEST_CASE("the least integer by -1 is itself, without a rest") {
  onnx::TensorProto a, zeros;
  for (onnx::TensorProto* const tensor : {&a, &zeros}) {
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(2);
  }
  a.add_int64_data(std::numeric_limits<std::int64_t>::min());
  a.add_int64_data(7);
  zeros.add_int64_data(0);
  zeros.add_int64_data(1);
  const auto y = [&](const std::string& op) {
    return computed(
        "g (int64[2] x) => (int64[2] y) { b = Constant<value = int64[2] {-1, 2}>() y = " + op +
            "(x, b) }",
        a);
  };
  CHECK(difference(value_of(zeros), y("Mod"), {}) == "");
  CHECK(difference(value_of(zeros), y("Mod<fmod = 1>"), {}) == "");
  a.set_int64_data(1, 6);
  onnx::TensorProto quotient = a;
  quotient.set_int64_data(1, 3);
  CHECK(difference(value_of(quotient), y("Div"), {}) == "");
}

}  // namespace
}  // namespace berth::test
