// Work of ONNX's ops, each counted by hand on a shape small enough for it. A score of an attention takes a
// product over the head's keys, one over its values, and 15 for softmax, of which exp has 10.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "one_op.h"

namespace berth::test {
namespace {

constexpr double kSoftmax = 15;

std::pair<std::string, AttributeValue> number(const char* name, std::int64_t value) {
  return {name, value};
}

TEST_CASE("attention over cached keys sees the cached and the new ones") {
  // One new token behind 127; 12 heads of 64 for queries, 2 for keys.
  const TensorInfo query = tensor({2, 1, 768}), fresh = tensor({2, 1, 128});
  const TensorInfo past = tensor({2, 2, 127, 64});
  for (const char* const type :
       {"com.microsoft.GroupQueryAttention", "com.microsoft.SparseAttention"}) {
    CAPTURE(std::string(type));
    const auto flops = [&](const std::vector<std::optional<TensorInfo>>& inputs) {
      return OneOp{type, inputs, {query}, {number("num_heads", 12), number("kv_num_heads", 2)}}
          .work()
          .flops;
    };
    CHECK(flops({query, fresh, fresh, past, past}) == 2 * 12 * 128 * (4 * 64 + kSoftmax));
    CHECK(flops({query, fresh, fresh}) == 2 * 12 * 1 * (4 * 64 + kSoftmax));
  }
}

TEST_CASE("attention with projections of its own") {
  // Two heads of 4. A projected element is a product of 8 and a bias.
  const auto projection = [](double elements) { return elements * (2 * 8 + 1); };
  const double score = 4 * 4 + kSoftmax;
  SUBCASE("a window on either side, and the token itself") {
    const Work work = OneOp{"com.microsoft.LongformerAttention",
                            {tensor({1, 16, 8}), tensor({8, 24}), tensor({24})},
                            {tensor({1, 16, 8})},
                            {number("num_heads", 2), number("window", 2)}}
                          .work();
    CHECK(work.flops == projection(16 * 24) + 2 * 16 * 5 * score);
  }
  SUBCASE("a decoder's: the queries of 3 tokens, keys and values of 5") {
    const Work work = OneOp{
        "com.microsoft.DecoderAttention",
        {tensor({3, 1, 8}), tensor({5, 1, 8}), tensor({8, 8}), tensor({8, 16}), tensor({24})},
        {tensor({3, 1, 8})},
        {number("num_heads",
                2)}}.work();
    CHECK(work.flops == projection(3 * 8) + projection(5 * 16) + 2 * 3 * 5 * score);
  }
  SUBCASE("tokens without padding, 6 of 2 sequences of up to 4") {
    const Work work = OneOp{
        "com.microsoft.PackedAttention",
        {tensor({6, 8}), tensor({8, 24}), tensor({24}), tensor({2, 4})},
        {tensor({6, 8})},
        {number("num_heads",
                2)}}.work();
    CHECK(work.flops == projection(6 * 24) + 2 * 6 * 4 * score);
    const TensorInfo tokens = tensor({6, 8});
    CHECK(OneOp{"com.microsoft.PackedMultiHeadAttention",
                {tokens, tokens, tokens, tensor({24}), tensor({2, 4})},
                {tokens},
                {number("num_heads", 2)}}
              .work()
              .flops == 2 * 6 * 4 * score);
  }
  SUBCASE("scores and projections are held while it runs") {
    const Work work = OneOp{
        "com.microsoft.Attention",
        {tensor({2, 5, 8}), tensor({8, 24}), tensor({24})},
        {tensor({2, 5, 8})},
        {number("num_heads",
                2)}}.work();
    CHECK(work.workspace_bytes == 4 * (2 * 2 * 5 * 5 + 2 * 5 * 24));
  }
}

TEST_CASE(
    "attention with a state: it takes in and is read, and as the rule says decays and recalls") {
  const auto flops = [](const char* rule, std::int64_t q_heads) {
    OneOp op{"LinearAttention",
             {tensor({1, 4, 3 * q_heads}), tensor({1, 4, 6}), tensor({1, 4, 10})},
             {tensor({1, 4, 5 * q_heads})},
             {number("q_num_heads", q_heads), number("kv_num_heads", 2)}};
    if (rule != nullptr) op.attributes.emplace_back("update_rule", rule);
    return op.work().flops;
  };
  // For each token on each of a head's 3 x 5 numbers.
  const double numbers = 4 * 2 * (3 * 5);
  CHECK(flops("linear", 2) == numbers * (2 + 2));
  CHECK(flops("gated", 2) == numbers * (1 + 2 + 2));
  CHECK(flops("delta", 2) == numbers * (2 + 2 + 2));
  CHECK(flops("gated_delta", 2) == numbers * (1 + 2 + 2 + 2));
  CHECK(flops(nullptr, 2) == numbers * (1 + 2 + 2 + 2));
  // Three queries read each state.
  CHECK(flops("linear", 6) == numbers * (2 + 3 * 2));
  CHECK(OneOp{"com.microsoft.GatedDeltaNet",
              {tensor({4, 2, 3}), tensor({4, 2, 3}), tensor({4, 2, 5})},
              {tensor({4, 2, 5})}}
            .work()
            .flops == numbers * (1 + 2 + 2 + 2));
}

TEST_CASE("products of several matrices, and distances") {
  // Gate and up, each a product of 8 with a bias; a sigmoid of 10 and two products join them.
  CHECK(OneOp{"com.microsoft.MatMulNBitsMlp",
              {tensor({1, 4, 8})},
              {tensor({1, 4, 6})},
              {number("N", 6), number("K", 8)}}
            .work()
            .flops == 24 * (2 * (2 * 8 + 1) + 10 + 2));
  // A difference, a square and a sum for each coordinate.
  CHECK(OneOp{"com.microsoft.CDist", {tensor({4, 7}), tensor({5, 7})}, {tensor({4, 5})}}
            .work()
            .flops == 4 * 5 * 7 * 3);
  // LU factorisation of n x n: 2/3 n^3.
  CHECK(OneOp{"Det", {tensor({2, 6, 6})}, {tensor({2})}}.work().flops ==
        doctest::Approx(2 * 2.0 / 3 * 216).scale(0));
}

TEST_CASE(
    "recurrent layers read their recurrent weights in every step and hold all gates' inputs") {
  // 20 steps of a batch of 8, from 100 to 256.
  constexpr struct {
    const char* type;
    std::int64_t gates;
  } kLayers[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [type, gates] : kLayers) {
    CAPTURE(std::string(type));
    const std::int64_t rows = gates * 256;
    const Work work = OneOp{type,
                            {tensor({20, 8, 100}), tensor({2, rows, 100}), tensor({2, rows, 256})},
                            {tensor({20, 2, 8, 256})},
                            {{"direction", std::string("bidirectional")}}}
                          .work();
    const auto all = static_cast<double>(2 * rows);  // of both directions
    CHECK(work.workspace_bytes == 4 * 20 * 8 * all);
    CHECK(work.bytes == 4 * (20 * 8 * 100 + all * 100 + 20 * all * 256 + 20.0 * 2 * 8 * 256));
  }
}

TEST_CASE("windows over images: samples, neighbours and biases") {
  SUBCASE("regions: two samples a side unless it is said, of four weighted neighbours each") {
    OneOp op{"RoiAlign",
             {tensor({1, 8, 16, 16}), tensor({5, 4}), tensor({5}, DType::i64)},
             {tensor({5, 8, 7, 7})}};
    CHECK(op.work().flops == 5 * 8 * 49 * (2 * 2) * 4 * 2);
    op.attributes = {number("sampling_ratio", 3)};
    CHECK(op.work().flops == 5 * 8 * 49 * (3 * 3) * 4 * 2);
  }
  SUBCASE("resizing: a product and a sum for each of 1, 2 x 2 or 4 x 4 neighbours") {
    const auto flops = [](const char* mode) {
      return OneOp{"Resize",
                   {tensor({1, 3, 4, 4}), std::nullopt, tensor({4})},
                   {tensor({1, 3, 8, 8})},
                   {{"mode", std::string(mode)}}}
          .work()
          .flops;
    };
    CHECK(flops("nearest") == 0);
    CHECK(flops("linear") == 3 * 64 * 4 * 2);
    CHECK(flops("cubic") == 3 * 64 * 16 * 2);
  }
  SUBCASE("a transposed convolution adds its bias to every output") {
    CHECK(OneOp{"ConvTranspose",
                {tensor({1, 4, 5, 5}), tensor({4, 8, 3, 3}), tensor({8})},
                {tensor({1, 8, 11, 11})}}
              .work()
              .flops == 2 * 4 * 25 * 8 * 9 + 8 * 121);
  }
}

TEST_CASE("normalisation among channels, and of embeddings") {
  // A square and a sum for each of 5 neighbours, then a power and a division, 10 each.
  CHECK(OneOp{"LRN", {tensor({1, 8, 4, 4})}, {tensor({1, 8, 4, 4})}, {number("size", 5)}}
            .work()
            .flops == 8 * 16 * (2 * 5 + 2 * 10));
  // Each of 4 tokens has two ids and a row of three tables, and gives one row.
  const TensorInfo ids = tensor({1, 4}, DType::i32);
  CHECK(OneOp{"com.microsoft.EmbedLayerNormalization",
              {ids, ids, tensor({100, 8}), tensor({16, 8}), tensor({2, 8})},
              {tensor({1, 4, 8})}}
            .work()
            .bytes == 4 * (2 * 4 + 3 * 8 * 4 + 8 * 4));
}

TEST_CASE(
    "a quantised table is read with the scales and zero points of the rows that are gathered") {
  // 4 of 64 rows of 128 numbers, each 4 bits wide, in blocks of 32.
  const auto bytes = [](const TensorInfo& table, const TensorInfo& zeros) {
    return OneOp{"com.microsoft.GatherBlockQuantized",
                 {table, tensor({4}, DType::i64), tensor({64, 4}), zeros},
                 {tensor({4, 128})},
                 {number("bits", 4)}}
        .work()
        .bytes;
  };
  const double rows = 4 * (128 / 2 + 4 * 4 + 4 / 2);
  const double expected = rows + 4 * 8 + 4 * 128 * 4;
  CHECK(bytes(tensor({64, 128}, DType::i4), tensor({64, 4}, DType::i4)) == expected);
  CHECK(bytes(tensor({64, 64}, DType::u8), tensor({64, 2}, DType::u8)) == expected);
}

TEST_CASE("of a table nothing counts where how many rows are gathered is not known") {
  TensorInfo unknown;
  unknown.dtype = DType::f32;
  for (const char* const type : {"Gather", "Slice", "GridSample"}) {
    CAPTURE(std::string(type));
    const Work work = OneOp{type, {tensor({50000, 32}), tensor({7}, DType::i64)}, {unknown}}.work();
    CHECK(work.bytes == 7 * 8);
    CHECK(work.flops == 0);
  }
}

}  // namespace
}  // namespace berth::test
