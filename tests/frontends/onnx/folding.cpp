// Small contents, followed through every operator that shapes are computed with.
#include "berth/costs.h"
#include "model_text.h"

namespace berth::test {
namespace {

/// Nodes that compute v, the shape of y, from constants and from x of shape [2,3,4].
struct Case {
  const char* constants;
  const char* nodes;
  const char* shape;
};

void check(const Case& c) {
  CAPTURE(c.nodes);
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph("g (float[2,3,4] x) => (y) <" + std::string(c.constants) + "> { " +
                                  c.nodes + " y = ConstantOfShape(v) }",
                              18));
  CHECK(type_text(*model.graph, "y") == "f32[" + std::string(c.shape) + "]");
}

TEST_CASE("moving integers") {
  static constexpr Case kCases[] = {
      // The pads of torch.nn.functional.pad: pairs, from the last dimension on, become all that
      // is before and all that is behind.
      {"int64[4] p = {1, 2, 3, 4}, int64[2] s = {2, 2}, int64[1] b = {-1}, int64[1] e = "
       "{-9223372036854775807}, int64[1] a = {0}, int64[1] n = {-1}",
       "r = Reshape(p, s) c = Slice(r, b, e, a, b) t = Transpose<perm = [1, 0]>(c) v = Reshape(t, "
       "n)",
       "3,1,4,2"},
      {"int64[5] p = {5, 6, 7, 8, 9}, int64[1] b = {-1}, int64[1] e = {-9223372036854775808}, "
       "int64[1] a = {0}, int64[1] t = {-2}",
       "v = Slice(p, b, e, a, t)", "9,7,5"},
      {"int64[2,3] p = {1, 2, 3, 4, 5, 6}, int64[2] b = {1, 0}, int64[2] e = {2, 3}, int64[2] t = "
       "{1, 2}, int64[2] a = {0, 1}, int64[1] z = {0}",
       "c = Slice(p, b, e, a, t) v = Squeeze(c, z)", "4,6"},
      {"int64[2] p = {3, 5}, int64[1] r = {2}", "v = Tile(p, r)", "3,5,3,5"},
      {"int64[1,2] p = {3, 5}, int64[2] r = {2, 1}, int64[1] n = {-1}",
       "t = Tile(p, r) v = Reshape(t, n)", "3,5,3,5"},
      {"int64[1] p = {3}, int64[1] s = {3}", "v = Expand(p, s)", "3,3,3"},
      {"int64[2] p = {3, 5}, int64[2] w = {1, 2}, int64 f = {7}", "v = Pad(p, w, f)", "7,3,5,7,7"},
      {"int64[2,2] p = {1, 2, 3, 4}, int64[2,2] i = {1, 0, 0, 1}, int64[1] n = {-1}",
       "g = GatherElements<axis = 1>(p, i) v = Reshape(g, n)", "2,1,3,4"},
      {"int64[2,2] p = {1, 2, 3, 4}, int64[3,2] i = {1, 1, 0, 1, 0, 0}", "v = GatherND(p, i)",
       "4,2,1"},
      {"int64[2,2] p = {1, 2, 3, 4}, int64[2,1] i = {1, 0}", "v = GatherND<batch_dims = 1>(p, i)",
       "2,3"},
      {"int64[3] p = {1, 2, 3}, int64[2,1] i = {2, -3}, int64[2] u = {8, 9}",
       "v = ScatterND(p, i, u)", "9,2,8"},
      {"int64[3] p = {1, 2, 3}, int64[1] i = {-1}, int64[1] u = {8}",
       "v = ScatterElements<axis = 0>(p, i, u)", "1,2,8"},
      {"int64[4] p = {1, 2, 3, 4}, int64[2] s = {1, 3}", "w, v = Split<axis = 0>(p, s)", "2,3,4"},
      {"int64[2] p = {0, 2}", "s = Shape(x) v = Gather(s, p)", "2,4"},
      {"int64[1] a = {0}", "v = Shape<start = -2>(x)", "3,4"},
  };
  for (const Case& c : kCases) check(c);
}

TEST_CASE("computing with integers") {
  static constexpr Case kCases[] = {
      {"int64[3] p = {7, 8, 9}, int64[3] q = {4, 3, 5}", "v = Mod(p, q)", "3,2,4"},
      {"int64[2] p = {-7, 8}, int64[2] q = {4, 5}, int64[2] o = {9, 0}",
       "m = Mod<fmod = 1>(p, q) v = Add(m, o)", "6,3"},
      {"int64[2] p = {2, 6}, int64[2] q = {5, 3}, int64[1] r = {4}", "v = Max(p, q, r)", "5,6"},
      {"int64[2] p = {2, 6}, int64[2] q = {5, 3}, int64[1] r = {4}", "v = Min(p, q, r)", "2,3"},
      {"int64[2] p = {2, 6}, int64[2] q = {5, 3}", "v = Max(p, q)", "5,6"},
      {"int64[2] p = {2, 6}", "v = Min(p)", "2,6"},
      {"int64[4] p = {2, 6, 9, 4}, int64 l = {3}, int64 h = {7}", "v = Clip(p, l, h)", "3,6,7,4"},
      {"int64[2] p = {2, 6}, int64 h = {5}", "v = Clip(p, , h)", "2,5"},
      {"int64[2,3] p = {1, 2, 3, 4, 5, 6}, int64[1] a = {1}", "v = ReduceSum<keepdims = 0>(p, a)",
       "6,15"},
      {"int64[2,3] p = {1, 2, 3, 4, 5, 6}, int64[1] a = {0}", "v = ReduceProd<keepdims = 0>(p, a)",
       "4,10,18"},
      {"float[2] p = {2.5, 6.5}, int64[1] a = {0}", "m = ReduceMax(p, a) v = Cast<to = 7>(m)", "6"},
      {"float[2] p = {2.5, 6.5}, int64[1] a = {0}", "m = ReduceMin(p, a) v = Cast<to = 7>(m)", "2"},
      {"int64[3] p = {1, 2, 3}, int64 a = {0}", "v = CumSum(p, a)", "1,3,6"},
      {"int64[3] p = {1, 2, 3}, int64 a = {0}", "v = CumSum<exclusive = 1, reverse = 1>(p, a)",
       "5,3,0"},
      {"int64 b = {2}, int64 e = {9}, int64 d = {3}", "v = Range(b, e, d)", "2,5,8"},
      {"float b = {2.0}, float e = {4.0}, float d = {0.75}",
       "r = Range(b, e, d) v = Cast<to = "
       "7>(r)",
       "2,2,3"},
      {"int64[3] p = {5, 0, 7}, int64[1] n = {-1}", "z = NonZero(p) v = Reshape(z, n)", "0,2"},
      {"int64[2,2] p = {5, 0, 7, 1}, int64[1] n = {-1}", "z = NonZero(p) v = Reshape(z, n)",
       "0,1,1,0,0,1"},
      {"int64[2] p = {5, 6}, int64[2] q = {6, 6}, int64[1] o = {3}",
       "c = Equal(p, q) v = Where(c, o, p)", "5,3"},
      {"bool[2] p = {1, 0}, bool[2] q = {1, 1}", "c = Xor(p, q) v = Cast<to = 7>(c)", "0,1"},
      {"int64[2] p = {6, 5}, int64[2] q = {3, 4}", "v = Sum(p, q, p)", "15,14"},
  };
  for (const Case& c : kCases) check(c);
}

TEST_CASE("an element that is not known leaves the others known") {
  static constexpr Case kCases[] = {
      {"int64[1] p = {5}, int64[1] a = {0}",
       "i = Cast<to = 7>(x) m = ReduceMax<keepdims = 0>(i) n = Unsqueeze(m, a) v = Concat<axis = "
       "0>(n, p)",
       "?,5"},
  };
  for (const Case& c : kCases) check(c);
}

TEST_CASE("sizes that a step decides are those of the largest step, and it is said") {
  struct Choice {
    const char* graph;
    const char* result;  ///< type of y
    const char* chooser;
  };
  static constexpr Choice kChoices[] = {
      {"(float[2,3] x) => (y) { y = NonZero(x) }", "i64[2,6]", "'NonZero'"},
      {"(float[2,3] x, bool[2] c) => (y) { y = Compress<axis = 0>(x, c) }", "f32[2,3]",
       "'Compress'"},
      {"(float[2,3] x, bool[4] c) => (y) { y = Compress(x, c) }", "f32[4]", "'Compress'"},
      {"(float[2,3] x) => (y) { y = Unique(x) }", "f32[6]", "'Unique'"},
      {"(float[2,3] x) => (y) { y, a, b, c = Unique<axis = 1>(x) }", "f32[2,3]", "'Unique'"},
      {"(float[2,3] x, int64[1] k) => (y) { z, y = TopK(x, k) }", "i64[2,3]", "'TopK'"},
      {"(float[1,9,4] b, float[1,2,9] s) => (y) <int64 n = {5}> { y = NonMaxSuppression(b, s, n) }",
       "i64[10,3]", "'NonMaxSuppression'"},
      {"(float[1,9,4] b, float[1,2,9] s) => (y) <int64 n = {50}> { y = NonMaxSuppression(b, s, n) "
       "}",
       "i64[18,3]", "'NonMaxSuppression'"},
      {"(float[9] x, int64[1] e) => (y) <int64[1] b = {0}> { y = Slice(x, b, e) }", "f32[9]",
       "'Slice'"},
      {"(float[9] x, int64[2] s) => (y) { z, y = Split(x, s) }", "f32[9]", "'Split'"},
      // What is computed from it is as large as follows.
      {"(float[2,3] x) => (y) { n = NonZero(x) t = Transpose(n) y = GatherND(x, t) }", "f32[6]",
       "'NonZero'"},
      {"(float[2,3] x) => (y) { n = NonZero(x) s = Shape<start = 1>(n) y = ConstantOfShape(s) }",
       "f32[6]", "'NonZero'"},
  };
  for (const Choice& c : kChoices) {
    CAPTURE(c.graph);
    ModelFolder models;
    const LoadedModel model = models.load(parse_graph("g " + std::string(c.graph), 18));
    CHECK(type_text(*model.graph, "y") == c.result);
    CHECK(has_note(model, "counted for the largest step, in which all is chosen by: "));
    CHECK(has_note(model, c.chooser));
  }
}

TEST_CASE("sizes that follow from contents after all are no matter of the step") {
  for (const char* const graph :
       {"(float[2,3] x) => (y) { s = Shape(x) y = NonZero(s) }",
        "(float[2,3] x) => (y) <bool[2] c = {1, 0}> { y = Compress<axis = 0>(x, c) }",
        "(float[2,3] x) => (y) <int64[1] k = {2}> { y, i = TopK(x, k) }"}) {
    CAPTURE(graph);
    ModelFolder models;
    const LoadedModel model = models.load(parse_graph("g " + std::string(graph), 18));
    CHECK(model.graph->bytes_known(*find_tensor(*model.graph, "y")));
    CHECK_FALSE(has_note(model, "largest step"));
  }
}

TEST_CASE("arithmetic of sizes that the caller gives is no work of a device") {
  ModelFolder models;
  LoadOptions options;
  options.dims["N"] = 3;
  const auto graph =
      models
          .load(parse_graph(
                    "g (float[N,4] x) => (y, w) <int64[1] i = {0}, float[4] f = {1, 2, 3, 4}> { "
                    "s = Shape(x) n = Gather(s, i) m = Mul(n, n) c = Cast<to = 1>(m) "
                    "z = ConstantOfShape(m) r = Relu(z) y = Gather(x, n) w = Mul(f, x) }",
                    18),
                options)
          .graph;
  for (const char* const free : {"s", "n", "m", "c"}) {
    CAPTURE(free);
    CHECK(op_work(*graph, op(*graph, free)).launches == 0);
  }
  for (const char* const launched : {"z", "r", "y", "w"}) {
    CAPTURE(launched);
    CHECK(op_work(*graph, op(*graph, launched)).launches == 1);
  }
}

}  // namespace
}  // namespace berth::test
