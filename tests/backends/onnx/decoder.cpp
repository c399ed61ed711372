// Attention of decoders: forms that newer versions added, against the same in ops that are older.
#include <doctest/doctest.h>

#include "backends/onnx/two_ways.h"

namespace berth::test {
namespace {

TEST_CASE("a window of attention hides the keys before and behind it") {
  struct Case {
    const char* attributes;
    const char* mask;
  };
  const Case cases[] = {
      {"left_window_size = 1", "0,0,0,0, 0,0,0,0, -99,0,0,0, -99,-99,0,0"},
      {"right_window_size = 1", "0,0,-99,-99, 0,0,0,-99, 0,0,0,0, 0,0,0,0"},
      {"left_window_size = 0, right_window_size = 1",
       "0,0,-99,-99, -99,0,0,-99, -99,-99,0,0, -99,-99,-99,0"},
      {"left_window_size = 1, is_causal = 1",
       "0,-99,-99,-99, 0,0,-99,-99, -99,0,0,-99, -99,-99,0,0"},
      {"left_window_size = -1, right_window_size = -1", "0,0,0,0, 0,0,0,0, 0,0,0,0, 0,0,0,0"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.attributes);
    CHECK(difference_of("m = Constant<value = float[4,4] {" + std::string(each.mask) +
                            "}>() y = Attention<" + each.attributes +
                            ">(x, x, x) z = Attention(x, x, x, m)",
                        {1, 2, 4, 2}) == "");
  }
}

/// Ends of the sequences, and the length of the longest.
std::string lengths(const char* last) {
  return "s = Constant<value = int32[1] {" + std::string(last) +
         "}>() t = Constant<value = int32 {4}>() ";
}

TEST_CASE("grouped attention that is not causal sees all of a sequence, without its padding") {
  const std::string grouped =
      "y = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 2, causal = 0>"
      "(x, x, x, , , s, t) ";
  CHECK(difference_of(
            lengths("3") + grouped + "z = Attention<q_num_heads = 2, kv_num_heads = 2>(x, x, x)",
            {1, 4, 4}) == "");
  CHECK(
      difference_of(lengths("2") + grouped +
                        "b = Constant<value = int64[1] {0}>() e = Constant<value = int64[1] {3}>() "
                        "a = Constant<value = int64[1] {1}>() k = Slice(x, b, e, a) "
                        "z = Attention<q_num_heads = 2, kv_num_heads = 2>(x, k, k)",
                    {1, 4, 4}) == "");
}

TEST_CASE("grouped attention normalizes queries and keys where it has weights for that") {
  const std::string head =
      "<num_heads = 2, kv_num_heads = 2, q_norm_epsilon = 0.5, qk_norm_epsilon = 0.25>";
  CHECK(
      difference_of(
          lengths("3") +
              "v = Constant<value = float[2] {2, -1}>() w = Constant<value = float[2] {0.5, 3}>() "
              "heads = Constant<value = int64[4] {1, 4, 2, 2}>() "
              "flat = Constant<value = int64[3] {1, 4, 4}>() r = Reshape(x, heads) "
              "qn = RMSNormalization<epsilon = 0.5>(r, v) q = Reshape(qn, flat) "
              "kn = RMSNormalization<epsilon = 0.25>(r, w) k = Reshape(kn, flat) "
              "y = com.microsoft.GroupQueryAttention" +
              head +
              "(x, x, x, , , s, t, , , , , , , , v, w) "
              "z = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 2>"
              "(q, k, x, , , s, t)",
          {1, 4, 4}) == "");
}

TEST_CASE("a head of keys that serves several heads of queries is as one for each") {
  for (const std::string queries : {"[1] {5", "[3] {9, 0, 2"}) {
    const std::string ops =
        "t = Constant<value = int64" + queries +
        "}>() q = Gather<axis = 2>(x, t) "
        "two = Constant<value = int64[2] {3, 1}>() k = Gather<axis = 1>(x, two) "
        "each = Constant<value = int64[4] {3, 3, 1, 1}>() "
        "r = Gather<axis = 1>(x, each) ";
    CHECK(difference_of(ops + "y = Attention(q, k, k) z = Attention(q, r, r)", {2, 4, 70, 64}) ==
          "");
  }
}

}  // namespace
}  // namespace berth::test
