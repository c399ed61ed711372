// Thousands of broken ONNX models, made from small good ones by seeded mutation: each loads or is
// refused with an Error, and nothing else happens. Best under the address sanitizer.
#include <string>
#include <vector>

#include "../frontends/onnx/model_text.h"
#include "berth/error.h"
#include "mutation.h"

namespace berth::test {
namespace {

constexpr const char* kHead =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1, \"my\" : 1]>\n";
// Between them the constructs and the operators with the most rules.
constexpr const char* kSeeds[] = {
    "g (float[N,3,16,16] x) => (float[N,4] y) <float[4,3,3,3] w = "
    "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,"
    "15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,"
    "46,"
    "47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,"
    "78,"
    "79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,"
    "107,"
    "108}> { c = Conv<strides = [2,2], pads = [1,1,1,1], dilations = [1,1], group = 1>(x, w) r = "
    "Relu(c) p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r) q = GlobalAveragePool(p) y = "
    "Flatten<axis = 1>(q) }",
    "g (float[2,6,4] x) => (y, z, w) <int64 i = {1}, int64[1] a = {0}, int64[1] m = {-1}, int64[2] "
    "t "
    "= {2, 4}, int64 o = {1}> { s = Shape(x) d = Gather<axis = 0>(s, i) u = Unsqueeze(d, a) c = "
    "Concat<axis = 0>(u, m) y = Reshape(x, c) f, g = Split<axis = 0>(s, t) h = Slice(s, a, t) e = "
    "Expand(o, h) k = ConstantOfShape(h) z = Tile(e, h) n = Size(x) w = Range(i, n, o) }",
    "g (float[2,3] x, bool c) => (y, all) <int64 m = {5}, float[3,3] w = {1,2,3,4,5,6,7,8,9}> { i "
    "= "
    "If(c) <then_branch = t () => (float[2,3] a) { a = MatMul(x, w) }, else_branch = e () => "
    "(float[2,3] b) { b = Relu(x) }> y, all = Loop(m, , i) <body = b (int64 k, bool d, float[2,3] "
    "s) "
    "=> (bool f, float[2,3] t, float[2,3] u) { f = Identity(d) t = MatMul(s, w) u = Relu(t) }> }",
    "g (float[3] s, float[7,3] x) => (y, z) { y, z = Scan<num_scan_inputs = 1, scan_input_axes = "
    "[0], "
    "body = b (float[3] a, float[3] e) => (float[3] o, float[3] p) { o = Add(a, e) p = Identity(o) "
    "}>(s, x) }",
    "g (float[2,3] x) => (y) { a = my.F<alpha = 0.5>(x) y = my.F(a) } <opset_import: [\"\" : 17], "
    "domain: \"my\"> F <alpha> (p) => (q) { t = LeakyRelu <alpha: float = @alpha> (p) q = Abs(t) }",
    "g (float[2,5,8] x, float[8,24] w, float[24] b, float[8] s) => (y, o) { a = "
    "com.microsoft.Attention<num_heads = 2>(x, w, b) l = com.microsoft.SkipLayerNormalization(a, "
    "x, "
    "s) y = com.microsoft.FusedMatMul<transB = 1>(l, x) m = com.microsoft.MultiHeadAttention"
    "<num_heads = 2>(x, x, x) o = com.microsoft.MatMulNBits<K = 8, N = 16>(m, w, s) }",
    "g (float[1,4,8,8] x, float[7,2,3] r, float[1,20,3] u, float[1,20,5] v) => (y, l, n, e) { c = "
    "ConvTranspose<strides = [2,2], kernel_shape = [4,4]>(x, x) d = DepthToSpace<blocksize = 2>(x) "
    "p "
    "= SpaceToDepth<blocksize = 2>(d) a = ArgMax<axis = 1>(p) y = TopK<axis = -1>(p, k) l = "
    "LSTM<hidden_size = 5>(r, u, v) n = LayerNormalization<axis = -1>(r, u) e = Einsum<equation = "
    "\"abij,abjk->abik\">(x, x) k = Constant<value_ints = [3]>() b = BatchNormalization(x, r, r, "
    "r, "
    "r) q = AveragePool<kernel_shape = [2,2], auto_pad = \"SAME_UPPER\">(b) h = OneHot(a, k, k) j "
    "= "
    "Pad(x, k) m = Resize(x, , k) o = ReduceSum(x, k) s = Compress<axis = 0>(x, k) t = "
    "GatherND(x, k) w = ScatterND(x, k, x) z = CumSum(x, k) }",
    "g (float[4,4] x) => (y) { s = SplitToSequence<axis = 0>(x, k) k = Constant<value_int = 2>() t "
    "= "
    "SequenceAt(s, k) u = SequenceConstruct(t, x) y = ConcatFromSequence<axis = 0, new_axis = "
    "0>(u) f "
    "= STFT(x, k) h = HannWindow(k) d = DFT<axis = 1>(x) m = MelWeightMatrix(k, k, k, x, x) o = "
    "NonMaxSuppression(x, x) r = RoiAlign(x, x, k) v = MaxUnpool<kernel_shape = [2,2]>(x, x) e = "
    "EyeLike(x) n = NonZero(x) w = Where(x, x, x) i = QuantizeLinear(x, x) j = "
    "DequantizeLinear(i, x) }",
};

const std::vector<std::string> kWords = {"", "\xff", "..", "Relu", "Reshape"};

TEST_CASE("broken models load or are refused") {
  ModelFolder models;
  std::size_t loaded = 0, refused = 0;
  for (std::size_t seed = 0; seed < std::size(kSeeds); ++seed) {
    const onnx::ModelProto good = parse_model(std::string(kHead) + kSeeds[seed]);
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      Random random(seed * 1'000'003 + round);
      onnx::ModelProto model = good;
      std::string bytes;
      if (round % 2 == 0) {
        for (std::uint64_t i = random.below(4); i < 4; ++i) mutate_structure(model, kWords, random);
        bytes = model.SerializeAsString();
      } else {
        bytes = good.SerializeAsString();
        for (std::uint64_t i = random.below(4); i < 4; ++i) mutate_bytes(bytes, random);
      }
      CAPTURE(seed);
      CAPTURE(round);
      try {
        (void)models.load_program(bytes);
        ++loaded;
      } catch (const Error& error) {
        ++refused;
        if (error.what() == std::string()) FAIL_CHECK("an error without a message");
      } catch (const std::exception& other) {
        FAIL_CHECK("not an Error: ", std::string(other.what()));
      }
    }
  }
  MESSAGE(loaded, " loaded, ", refused, " refused");
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace berth::test
