// Shapes of single operators, and of chains that compute shapes.
#include "model_text.h"

namespace berth::test {
namespace {

struct Case {
  const char* graph;   ///< inputs and body; the output is y
  const char* result;  ///< type of y
};

void check(const Case& c, int opset) {
  CAPTURE(c.graph);
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph("g " + std::string(c.graph), opset));
  CHECK(type_text(*model.graph, "y") == c.result);
}

TEST_CASE("operators that move data") {
  static constexpr Case kCases[] = {
      {"(float[2,3] x) => (y) <int64[2] s = {3, -1}> { y = Reshape(x, s) }", "f32[3,2]"},
      {"(float[2,3] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }", "f32[2,3]"},
      {"(float[0,3] x) => (y) <int64[2] s = {0, 3}> { y = Reshape<allowzero = 1>(x, s) }",
       "f32[0,3]"},
      {"(float[2,1] x) => (y) <int64[3] s = {4, 1, 5}> { y = Expand(x, s) }", "f32[4,2,5]"},
      {"(float[2,3] x) => (y) <int64[2] r = {2, 1}> { y = Tile(x, r) }", "f32[4,3]"},
      {"(float[2,3,4] x) => (y) { y = Transpose(x) }", "f32[4,3,2]"},
      {"(float[2,3,4] x) => (y) { y = Transpose<perm = [0,2,1]>(x) }", "f32[2,4,3]"},
      {"(float[2,3] x, float[2,5] z) => (y) { y = Concat<axis = -1>(x, z) }", "f32[2,8]"},
      {"(float[5,3] x, int64[2,7] i) => (y) { y = Gather<axis = 0>(x, i) }", "f32[2,7,3]"},
      {"(float[9,3] x) => (y) <int64[1] b = {-1}, int64[1] e = {-100}, int64[1] a = {0}, int64[1] "
       "s "
       "= {-2}> { y = Slice(x, b, e, a, s) }",
       "f32[5,3]"},
      {"(float[9,3] x) => (y) <int64[1] b = {2}, int64[1] e = {9223372036854775807}> { y = "
       "Slice(x, "
       "b, e) }",
       "f32[7,3]"},
      {"(float[1,3,1] x) => (y) { y = Squeeze(x) }", "f32[3]"},
      {"(float[3] x) => (y) <int64[2] a = {0, -1}> { y = Unsqueeze(x, a) }", "f32[1,3,1]"},
      {"(float[7,2] x) => (z, y) { z, y = Split<axis = 0>(x) }", "f32[3,2]"},
      {"(float[7,2] x) => (z, y) <int64[2] s = {2, 5}> { z, y = Split<axis = 0>(x, s) }",
       "f32[5,2]"},
      {"(float[2,3] x) => (y) <int64[4] p = {0, 1, 2, 3}> { y = Pad(x, p) }", "f32[4,7]"},
      {"(float[1,3,8,8] x) => (y) <float[4] s = {1.0, 1.0, 2.0, 0.5}> { y = Resize(x, , s) }",
       "f32[1,3,16,4]"},
      {"(float16[2,3] x, float[3] s) => (y) { y = SimplifiedLayerNormalization(x, s) }",
       "f32[2,3]"},
      // Multiplied in f32, as ONNX Runtime and the kernel do.
      {"(float[1,1,3,10] x) => (y) <float[4] s = {1.0, 1.0, 2.3333333, 0.7}> { y = Resize(x, , s) "
       "}",
       "f32[1,1,7,7]"},
      {"(float[1,3,8,8] x) => (y) <int64[4] s = {1, 3, 5, 6}> { y = Resize(x, , , s) }",
       "f32[1,3,5,6]"},
      {"(float[2,3,4] x) => (y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 0>(x, a) }",
       "f32[2,4]"},
      {"(float[2,3,4] x) => (y) { y = ReduceMean<axes = [-1]>(x) }", "f32[2,3,1]"},
      {"(float[2,3] x) => (y) { y = Cast<to = 10>(x) }", "f16[2,3]"},
  };
  for (const Case& c : kCases) check(c, 17);
}

TEST_CASE("operators of opset 18 and later, which the installed libonnx does not know") {
  static constexpr Case kCases[] = {
      {"(float[2,3,4] x) => (y) <int64[1] a = {1}> { y = ReduceMax(x, a) }", "f32[2,1,4]"},
      {"(float[7,2] x) => (z, y) { z, y = Split<axis = 0, num_outputs = 2>(x) }", "f32[3,2]"},
      {"(float[2,3] x) => (y) <int64[2] p = {1, 1}, float v = {0.0}, int64[1] a = {1}> { y = "
       "Pad(x, "
       "p, v, a) }",
       "f32[2,5]"},
      {"(float[2,5,8] q, float[2,7,8] k, float[2,7,6] v) => (y) { y = Attention<q_num_heads = 4, "
       "kv_num_heads = 2>(q, k, v) }",
       "f32[2,5,12]"},
      {"(float[2,4,5,8] q, float[2,4,7,8] k, float[2,4,7,8] v) => (y) { y = Attention(q, k, v) }",
       "f32[2,4,5,8]"},
      {"(float[1,1,2,4] x) => (y) <int64[2] s = {7, 8}> { y = Resize<axes = [2,3], "
       "keep_aspect_ratio_policy = \"not_larger\">(x, , , s) }",
       "f32[1,1,4,8]"},
      {"(float[1,1,2,4] x) => (y) <int64[2] s = {7, 8}> { y = Resize<axes = [2,3], "
       "keep_aspect_ratio_policy = \"not_smaller\">(x, , , s) }",
       "f32[1,1,7,14]"},
      {"(float[1,1,2,4] x) => (y) <int64[2] s = {7, 8}> { y = Resize<axes = [2,3]>(x, , , s) }",
       "f32[1,1,7,8]"},
      {"(float[2,3] x) => (y) { y = Gelu(x) }", "f32[2,3]"},
      {"(float[2,3] x, float[3] s) => (y) { y = RMSNormalization(x, s) }", "f32[2,3]"},
  };
  for (const Case& c : kCases) check(c, 23);
}

TEST_CASE("operators that compute") {
  static constexpr Case kCases[] = {
      {"(float[2,1] x, float[3] z) => (y) { y = Add(x, z) }", "f32[2,3]"},
      {"(float[2] x, float[2] z) => (y) { y = Less(x, z) }", "bool[2]"},
      {"(bool[2,1] c, float[3] x, float z) => (y) { y = Where(c, x, z) }", "f32[2,3]"},
      {"(float[5,2,3] x, float[3,4] z) => (y) { y = MatMul(x, z) }", "f32[5,2,4]"},
      {"(float[3] x, float[3] z) => (y) { y = MatMul(x, z) }", "f32[]"},
      {"(float[3,2] x, float[4,3] z) => (y) { y = Gemm<transA = 1, transB = 1>(x, z) }",
       "f32[2,4]"},
      {"(float[1,3,224,224] x, float[64,3,7,7] w) => (y) { y = Conv<strides = [2,2], pads = "
       "[3,3,3,3]>(x, w) }",
       "f32[1,64,112,112]"},
      {"(float[1,3,225,225] x, float[8,3,3,3] w) => (y) { y = Conv<strides = [2,2], auto_pad = "
       "\"SAME_UPPER\">(x, w) }",
       "f32[1,8,113,113]"},
      {"(float[1,3,9,9] x) => (y) { y = MaxPool<kernel_shape = [2,2], strides = [2,2], ceil_mode = "
       "1>(x) }",
       "f32[1,3,5,5]"},
      // The third window would begin in the padding behind the data.
      {"(float[1,3,4,4] x) => (y) { y = MaxPool<kernel_shape = [1,1], strides = [3,3], pads = "
       "[0,0,2,2], ceil_mode = 1>(x) }",
       "f32[1,3,2,2]"},
      {"(float[1,3,9,9] x) => (y) { y = GlobalAveragePool(x) }", "f32[1,3,1,1]"},
      {"(float[2,3,4] a, float[2,4,5] b) => (y) { y = Einsum<equation = \"bij,bjk->bik\">(a, b) }",
       "f32[2,3,5]"},
      {"(float[7,2,3] a, float[3,5] b) => (y) { y = Einsum<equation = \"...ij,jk\">(a, b) }",
       "f32[7,2,5]"},
      {"(uint8[2,3] x, float s) => (y) { y = DequantizeLinear(x, s) }", "f32[2,3]"},
      {"(int8[2,3] x, int8[3,4] w) => (y) { y = MatMulInteger(x, w) }", "i32[2,4]"},
      {"(float[7,2,3] x, float[1,20,3] w, float[1,20,5] r) => (y) { y = LSTM<hidden_size = 5>(x, "
       "w, "
       "r) }",
       "f32[7,1,2,5]"},
  };
  for (const Case& c : kCases) check(c, 17);
}

TEST_CASE("classical models") {
  static constexpr Case kCases[] = {
      {"(float[9,4] x) => (l, y) { l, y = ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = "
       "[0, 1, 2]>(x) }",
       "f32[9,3]"},
      {"(float[9,4] x) => (y, s) { y, s = ai.onnx.ml.LinearClassifier<classlabels_strings = "
       "[\"a\", \"b\"]>(x) }",
       "string[9]"},
      {"(float[9,4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 2>(x) }",
       "f32[9,2]"},
      {"(double[9,4] x) => (y) { y = ai.onnx.ml.TreeEnsemble<n_targets = 2>(x) }", "f64[9,2]"},
      {"(float[9,4] x) => (y) { y = ai.onnx.ml.SVMRegressor(x) }", "f32[9,1]"},
      {"(double[9,4] x) => (y) { y = ai.onnx.ml.Scaler(x) }", "f32[9,4]"},
      {"(int64[9,1] x) => (y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [4, 5, 6]>(x) }",
       "f32[9,1,3]"},
      {"(string[9] x) => (y) { y = ai.onnx.ml.LabelEncoder<keys_strings = [\"a\"], values_int64s = "
       "[1]>(x) }",
       "i64[9]"},
      {"(float[9,4] x, int64[2] i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }",
       "f32[9,2]"},
      {"(float[9,4] x, float[9,3] z) => (y) { y = ai.onnx.ml.FeatureVectorizer(x, z) }",
       "f32[9,7]"},
      {"(string[9] x) => (y) { y = RegexFullMatch<pattern = \"a.*\">(x) }", "bool[9]"},
      {"(string[9] x) => (y, n) { y, n = StringSplit(x) }", "string[9,?]"},
      {"(int64[5] x) => (y) { y = TfIdfVectorizer<ngram_indexes = [0, 2, 1]>(x) }", "f32[3]"},
  };
  for (const Case& c : kCases) check(c, 20);
}

TEST_CASE("Fourier transforms") {
  static constexpr Case kCases[] = {
      {"(float[2,16,1] x) => (y) { y = DFT(x) }", "f32[2,16,2]"},
      {"(float[1,16,8,1] x) => (y) { y = DFT<onesided = 1>(x) }", "f32[1,16,5,2]"},
      {"(float[1,16,8,1] x) => (y) <int64 a = {-3}> { y = DFT<onesided = 1>(x, , a) }",
       "f32[1,9,8,2]"},
      {"(float[2,16,1] x) => (y) <int64 n = {8}, int64 a = {1}> { y = DFT<onesided = 1>(x, n, a) }",
       "f32[2,5,2]"},
      {"(float[2,9,2] x) => (y) <int64 n = {16}, int64 a = {1}> { y = DFT<onesided = 1, inverse = "
       "1>(x, n, a) }",
       "f32[2,16,1]"},
      {"(float[2,9,2] x) => (y) <int64 a = {1}> { y = DFT<onesided = 1, inverse = 1>(x, , a) }",
       "f32[2,16,1]"},
      {"(float[2,100,1] x, float[20] w) => (y) <int64 s = {10}> { y = STFT(x, s, w) }",
       "f32[2,9,11,2]"},
  };
  for (const Case& c : kCases) check(c, 20);
  check({"(float[1,16,8,1] x) => (y) { y = DFT<onesided = 1>(x) }", "f32[1,9,8,2]"}, 17);
}

TEST_CASE("linear attention and convolutions that keep a state") {
  static constexpr Case kCases[] = {
      {"(float[2,8,5] x, float[8,1,4] w) => (z, y) { z, y = CausalConvWithState(x, w) }",
       "f32[2,8,3]"},
      {"(float[2,5,16] q, float[2,5,8] k, float[2,5,6] v) => (y) { y = LinearAttention<q_num_heads "
       "= 4, kv_num_heads = 2>(q, k, v) }",
       "f32[2,5,12]"},
      {"(float[2,5,16] q, float[2,5,8] k, float[2,5,6] v) => (z, y) { z, y = "
       "LinearAttention<q_num_heads = 4, kv_num_heads = 2>(q, k, v) }",
       "f32[2,2,4,3]"},
      {"(float[2,3] a, float[2,3] b) => (y) { y = SwiGLU(a, b) }", "f32[2,3]"},
  };
  for (const Case& c : kCases) check(c, 24);
}

TEST_CASE("operators of com.microsoft") {
  static constexpr Case kCases[] = {
      {"(uint8[100,32] d, int64[2,7] i, float16[100,4] s) => (y) { y = "
       "com.microsoft.GatherBlockQuantized<bits = 4>(d, i, s) }",
       "f16[2,7,64]"},
      {"(float[2,5,8] x, uint8[6,1,16] g, float[6] s, uint8[6,1,16] u, float[6] t) => (y) { y = "
       "com.microsoft.MatMulNBitsMlp<N = 6, K = 8>(x, , , g, s, , u, t) }",
       "f32[2,5,6]"},
      {"(uint8[2,5] x, float s, uint8 z, uint8[4,5] w, float t, uint8 v, int32[4] c, float u, "
       "uint8 "
       "o) => (y) { y = com.microsoft.QGemm<transB = 1>(x, s, z, w, t, v, c, u, o) }",
       "u8[2,4]"},
      {"(uint8[2,5] x, float s, uint8 z, uint8[5,4] w, float t, uint8 v) => (y) { y = "
       "com.microsoft.QGemm(x, s, z, w, t, v) }",
       "f32[2,4]"},
      {"(float[2,5,8] x, float[8,24] w, float[24] b) => (y) { y = "
       "com.microsoft.Attention<num_heads "
       "= 2>(x, w, b) }",
       "f32[2,5,8]"},
      {"(float[2,5,8] x, float[8,24] w, float[24] b, float[2,2,2,3,4] p) => (z, y) { z, y = "
       "com.microsoft.Attention<num_heads = 2>(x, w, b, , p) }",
       "f32[2,2,2,8,4]"},
      {"(float[2,5,8] q, float[2,7,8] k, float[2,7,6] v) => (y) { y = "
       "com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }",
       "f32[2,5,6]"},
      {"(float16[2,5,8] q, float16[2,5,4] k, float16[2,5,4] v, float16[2,1,3,4] a, "
       "float16[2,1,3,4] "
       "b) => (z, y) { z, y = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = "
       "1>(q, "
       "k, v, a, b) }",
       "f16[2,1,8,4]"},
      {"(int32[2,5] i, int32[2,5] s, float[99,8] w, float[9,8] p, float[2,8] t, float[8] g, "
       "float[8] "
       "b) => (y) { y = com.microsoft.EmbedLayerNormalization(i, s, w, p, t, g, b) }",
       "f32[2,5,8]"},
      {"(float[2,5,8] x, float[2,5,8] s, float[8] g) => (y) { y = "
       "com.microsoft.SkipLayerNormalization(x, s, g) }",
       "f32[2,5,8]"},
      {"(float[5,2] x, float[4,5] z) => (y) { y = com.microsoft.FusedMatMul<transA = 1, transB = "
       "1>(x, z) }",
       "f32[2,4]"},
      {"(uint8[2,5] x, uint8[4,5] w, float[4] c, float a, float b) => (y) { y = "
       "com.microsoft.GemmFloat8<transB = 1, dtype = 10>(x, w, c, a, b) }",
       "f16[2,4]"},
      {"(float[2,8] x, uint8[16,1,4] w, float[16] s) => (y) { y = com.microsoft.MatMulNBits<K = 8, "
       "N "
       "= 16>(x, w, s) }",
       "f32[2,16]"},
      {"(uint8[2,5,8] x, uint8[8,24] w, float[24] b, float s, float t) => (y) { y = "
       "com.microsoft.QAttention<num_heads = 2>(x, w, b, s, t) }",
       "f32[2,5,8]"},
      {"(float[1,9,9,3] x, float[4,3,3,3] w) => (y) { y = com.microsoft.NhwcConv(x, w) }",
       "f32[1,7,7,4]"},
      {"(float[2,3] x) => (y) { y = com.microsoft.FastGelu(x) }", "f32[2,3]"},
      {"(float[2,3] a, float[2,3] b) => (y) { y = com.microsoft.SwiGLU(a, b) }", "f32[2,3]"},
      {"(float[1,5,4] e, float16[1,2,5,4] q, float16[1,2,5,4] r, float16[1,1,5,4] k, "
       "float16[1,1,5,4] "
       "l) => (z, y) { z, y = com.microsoft.GemmaRotaryEmbedding(e, q, r, k, l) }",
       "f16[1,1,5,4]"},
      {"(uint8[2,3] a, uint8[3] b) => (y) { y = com.microsoft.MulInteger(a, , b) }", "i32[2,3]"},
      {"(float[2,8] x, uint8[99] w) => (y) <int64[2] s = {8, 16}> { y = "
       "com.microsoft.MatMulFpQ4(x, w, s) }",
       "f32[2,16]"},
      {"(float[1,2,4,4] x, float[1,2,3,2] g) => (y) { y = com.microsoft.GridSample(x, g) }",
       "f32[1,2,2,3]"},
      {"(float[2,7] x) => (y) { y = com.microsoft.UnfoldTensor<dim = 1, size = 3, step = 2>(x) }",
       "f32[2,3,3]"},
      {"(int8[2,7] x) => (y) { y = com.microsoft.ReduceSumInteger<axes = [1], keepdims = 0>(x) }",
       "i32[2]"},
  };
  for (const Case& c : kCases) check(c, 17);
}

TEST_CASE("caches of grouped attention keep their type and rows, and their length in place") {
  const std::string q = "(float[1,5,8] q, float[1,5,4] k, float[1,5,4] v, ";
  const std::string op = "com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1";
  const std::string reals = q + "float[1,1,3,4] a, float[1,1,3,4] b) => (z, ";
  const std::string grows = reals + "y) { z, y = " + op + ">(q, k, v, a, b) }";
  const std::string quantized =
      q + "uint8[1,1,3,2] a, uint8[1,1,3,2] b) => (z, y) { z, y = " + op +
      ", kv_cache_bit_width = 4, k_quant_type = \"PER_TENSOR\">(q, k, v, a, b) }";
  const std::string ring =
      reals + "y) { z, y = " + op + ", sliding_window_cache = 1>(q, k, v, a, b) }";
  const std::string stated = reals + "float[1,1,3,4] y) { z, y = " + op + ">(q, k, v, a, b) }";
  check({grows.c_str(), "f32[1,1,8,4]"}, 17);
  check({quantized.c_str(), "u8[1,1,8,2]"}, 17);
  check({ring.c_str(), "f32[1,1,3,4]"}, 17);
  check({stated.c_str(), "f32[1,1,3,4]"}, 17);
}

TEST_CASE("shapes that the model computes") {
  static constexpr Case kCases[] = {
      // Reshape by Shape, Gather, Unsqueeze, Concat, as PyTorch exports a view.
      {"(float[2,6,4] x) => (y) <int64 i = {1}, int64[1] a = {0}, int64[1] m = {-1}> { s = "
       "Shape(x) "
       "d = Gather<axis = 0>(s, i) u = Unsqueeze(d, a) c = Concat<axis = 0>(u, m) y = Reshape(x, "
       "c) "
       "}",
       "f32[6,8]"},
      // Arithmetic on dimensions.
      {"(float[2,6] x) => (y) <int64 i = {1}, int64 t = {2}, int64[1] a = {0}> { s = Shape(x) d = "
       "Gather(s, i) h = Div(d, t) u = Unsqueeze(h, a) y = ConstantOfShape(u) }",
       "f32[3]"},
      {"(float[2,6] x) => (y) <int64 z = {0}, int64 o = {1}> { n = Size(x) y = Range(z, n, o) }",
       "i64[12]"},
  };
  for (const Case& c : kCases) check(c, 17);
}

TEST_CASE("inference goes on past what nobody knows") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[2,3] x) => (y) <int64[2] s = {2, 3}> { a = some.vendor.Thing(x) b = Relu(a) c = "
      "Reshape(b, s) y = Relu(c) }"));
  CHECK(type_text(*model.graph, "a") == "unknown");
  CHECK(type_text(*model.graph, "y") == "unknown[2,3]");
  CHECK(has_note(model, "some.vendor.Thing"));
  CHECK(has_note(model, "no known size"));
  CHECK(model.graph->op_type(op(*model.graph, "a")) == "some.vendor.Thing");
}

TEST_CASE("a note names the tensor with which it begins that sizes are missing") {
  ModelFolder models;
  const auto proto = parse_graph(
      "g (int64 n) => (int64[LATER] y) <int64 z = {0}, int64 o = {1}> { r = Range(z, n, o) a = "
      "Neg(r) y = Add(a, r) }");
  const LoadedModel model = models.load(proto);
  CHECK(has_note(model, "it begins with 'r': give shapes with --shape TENSOR="));
  CHECK_FALSE(has_note(model, "'LATER' of"));
  const LoadedModel given = models.load(proto, {{}, {{"r", {5}}}});
  CHECK(type_text(*given.graph, "y") == "i64[5]");
  CHECK_FALSE(has_note(given, "no known size"));
}

TEST_CASE("a newer operator set is told of where an op has what libonnx lacks") {
  ModelFolder models;
  const auto told = [&](const std::string& op) {
    const LoadedModel model =
        models.load(parse_graph("g (float[1,4,2,2] x) => (y) { y = " + op + " }", 99));
    return has_note(model, "does not know");
  };
  CHECK_FALSE(told("Relu(x)"));
  CHECK_FALSE(told("Flatten(x)"));
  CHECK_FALSE(told("Attention<is_causal = 1>(x, x, x)"));
  CHECK(told("SpaceToDepth<blocksize = 2, from_a_set_to_come = 1>(x)"));
}

TEST_CASE("what the file declares fills what cannot be inferred") {
  ModelFolder models;
  const LoadedModel model = models.load(
      parse_graph(
          "g (float[N,3] x) => (float[N,5] y) <float[N,7] a> { a = some.vendor.Thing(x) y = "
          "some.vendor.Thing(a) }"),
      {{{"N", 4}}, {}});
  CHECK(type_text(*model.graph, "a") == "f32[4,7]");
  CHECK(type_text(*model.graph, "y") == "f32[4,5]");
}

TEST_CASE("graphs that ONNX Runtime has optimised for its blocked layout") {
  ModelFolder models;
  const auto model = parse_model(
      "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft.nchwc\" : 1]>\n"
      "g (float[2,16,8,8] x, float[32,16,3,3] w) => (y) {"
      " a = com.microsoft.nchwc.ReorderInput(x)"
      " b = com.microsoft.nchwc.Conv<pads = [1,1,1,1]>(a, w)"
      " c = com.microsoft.nchwc.MaxPool<kernel_shape = [2,2], strides = [2,2]>(b)"
      " d = com.microsoft.nchwc.Upsample<scales = [1,1,3,3]>(c)"
      " y = com.microsoft.nchwc.ReorderOutput<channels = 30>(d) }");
  const LoadedModel loaded = models.load(model);
  CHECK(type_text(*loaded.graph, "b") == "f32[2,32,8,8]");
  CHECK(type_text(*loaded.graph, "c") == "f32[2,32,4,4]");
  CHECK(type_text(*loaded.graph, "d") == "f32[2,32,12,12]");
  CHECK(type_text(*loaded.graph, "y") == "f32[2,30,12,12]");
}

TEST_CASE("small contents in files beside the model make shapes") {
  ModelFolder models;
  auto model = parse_graph("g (float[2,6] x) => (y) { y = Reshape(x, s) }");
  add_weight(model, "s", {2}, onnx::TensorProto::INT64);
  auto* shape = model.mutable_graph()->mutable_initializer(0);
  shape->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", "w.bin"}, std::pair{"offset", "8"}}) {
    auto* const entry = shape->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  const std::int64_t numbers[] = {99, 3, 4};
  const std::string bytes(reinterpret_cast<const char*>(numbers), sizeof numbers);
  (void)models.save(bytes, "w.bin");
  CHECK(type_text(*models.load(model).graph, "y") == "f32[3,4]");
  const auto lost = [&](std::string_view why) {
    const LoadedModel loaded = models.load(model);
    CHECK(type_text(*loaded.graph, "y") == "f32[?,?]");
    CHECK(has_note(loaded, why));
    CHECK(has_note(loaded, "'s'; 1 tensor has no size"));
    CHECK(has_note(loaded, "--shape TENSOR="));
    CHECK(type_text(*models.load(model, {{}, {{"y", {3, 4}}}}).graph, "y") == "f32[3,4]");
  };
  (void)models.save(bytes.substr(0, 23), "w.bin");
  lost("'w.bin' cut short");
  (void)models.save(std::string("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                    "w.bin");
  lost("'w.bin' a pointer of Git LFS");
  std::filesystem::remove(models.folder() / "w.bin");
  lost("'w.bin' missing");
  std::filesystem::create_directory(models.folder() / "w.bin");
  lost("'w.bin' no file");
  // The file of another tensor, which nobody asks for, has no part in it.
  add_weight(model, "unread", {512, 512});
  shape = model.mutable_graph()->mutable_initializer(0);
  auto* const weight = model.mutable_graph()->mutable_initializer(1);
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  *weight->add_external_data() = shape->external_data(0);
  weight->mutable_external_data(0)->set_value("other.bin");
  shape->mutable_external_data(1)->set_value("-16");
  lost("('w.bin' at an offset that is no number)");
}

TEST_CASE("weights in a file that is missing need no word, since their sizes are known") {
  ModelFolder models;
  auto model = parse_graph("g (float[2,6] x) => (y) { y = MatMul(x, w) }");
  add_weight(model, "w", {6, 3}, onnx::TensorProto::FLOAT);
  auto* const weight = model.mutable_graph()->mutable_initializer(0);
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* const entry = weight->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  const LoadedModel loaded = models.load(model);
  CHECK(type_text(*loaded.graph, "y") == "f32[2,3]");
  CHECK(loaded.notes == std::vector<std::string>{});
}

TEST_CASE("an operator newer than libonnx is not said to be wrong") {
  ModelFolder models;
  // Since opset 18 the axes are an input; of x nothing is known.
  const auto model = parse_model(
      "<ir_version: 8, opset_import: [\"\" : 18, \"nowhere\" : 1]>\n"
      "g (float[2,3] a) => (y) <int64[1] axes = {1}> { x = nowhere.F(a) y = ReduceProd(x, axes) }");
  for (const std::string& note : models.load(model).notes) {
    CAPTURE(note);
    CHECK(note.find("refuses") == std::string::npos);
  }
}

TEST_CASE("a gradient of a convolution does what its outputs ask for, at their places") {
  ModelFolder models;
  const onnx::ModelProto all = parse_graph(
      "g (float[8,64,56,56] dy, float[8,64,56,56] x, float[64,64,3,3] w) => (float[8,64,56,56] dx, "
      "float[64,64,3,3] dw, float[64] db) { dx, dw, db = com.microsoft.ConvGrad<group = 1>(dy, x, "
      "w) "
      "}");
  const auto without = [&](const std::vector<int>& outputs) {
    onnx::ModelProto model = all;
    auto* const graph = model.mutable_graph();
    for (const int i : outputs) graph->mutable_node(0)->set_output(i, "");
    for (auto at = outputs.rbegin(); at != outputs.rend(); ++at) {
      graph->mutable_output()->DeleteSubrange(*at, 1);
    }
    const LoadedModel loaded = models.load(model);
    return op_work(*loaded.graph, loaded.graph->op_count() - 1);
  };
  constexpr double kOne = 2.0 * 8 * 64 * 56 * 56 * 576;
  CHECK(without({}).flops == doctest::Approx(2 * kOne).epsilon(0.01));
  CHECK(without({0}).flops == doctest::Approx(kOne).epsilon(0.01));
  CHECK(without({1, 2}).flops == doctest::Approx(kOne).epsilon(0.01));
  CHECK(without({0, 1}).flops == 8.0 * 64 * 56 * 56);  // a sum
}

TEST_CASE("work of a training step is that of its tensors, not of the numbers beside them") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float dl, float[64,10] logs, int64[64] labels, float[64,8] b, float[64,8] d, bool[1] r) "
      "=> (dx, done) { dx = com.microsoft.SoftmaxCrossEntropyLossGrad(dl, logs, labels) done = "
      "com.microsoft.InPlaceAccumulatorV2(b, d, r) }"));
  const auto work = [&](const char* output) {
    return op_work(*model.graph, op(*model.graph, output));
  };
  CHECK(work("dx").flops > 2 * 640);
  CHECK(work("dx").bytes == 4 + 2 * 4 * 640 + 8 * 64);
  CHECK(work("done").flops == 512);
  CHECK(work("done").bytes == 3 * 4 * 512 + 2);  // read, and written back
}

TEST_CASE("gradients of pools and optimizers are known, of lists too") {
  ModelFolder models;
  const LoadedModel pools = models.load(parse_graph(
      "g (float[1,2,4,4] dy, int64[1,2,4,4] at) => (float[1,2,8,8] dx, float[1,2,8,8] da) { dx = "
      "MaxPoolGrad<kernel_shape = [2, 2]>(dy, at) da = AveragePoolGrad<kernel_shape = [2, 2]>(dy) "
      "}"));
  CHECK_FALSE(has_note(pools, "not known here"));
  const LoadedModel lists = models.load(parse_graph(
      "g (float rate, int64 step, float[64,8] w, float[64,8] dw, float[64,8] a, float[64,8] b) => "
      "(flag) { ws = SequenceConstruct(w) ds = SequenceConstruct(dw) as = SequenceConstruct(a) bs "
      "= "
      "SequenceConstruct(b) flag, w2, a2, b2 = com.microsoft.AdamWOptimizer(rate, step, ws, ds, "
      "as, "
      "bs) }"));
  CHECK_FALSE(has_note(lists, "not known here"));
  CHECK_FALSE(has_note(lists, "no known size"));
}

}  // namespace
}  // namespace berth::test
