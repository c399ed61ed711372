// Bytes of ops that read or write a part of what they are given: caches that go on in their place, windows
// over them, and tables that are looked up.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "one_op.h"

namespace berth::test {
namespace {

std::pair<std::string, AttributeValue> number(const char* name, std::int64_t value) {
  return {name, value};
}

double size_of(const std::vector<TensorInfo>& tensors) {
  double bytes = 0;
  for (const TensorInfo& tensor : tensors) {
    double elements = 1;
    for (const std::int64_t dim : tensor.shape) elements *= static_cast<double>(dim);
    bytes += elements * dtype_bits(tensor.dtype) / 8;
  }
  return bytes;
}

/// Bytes with the states, as pairs of an output and the input that it becomes.
double bytes_of(const OneOp& one, const std::vector<std::pair<std::size_t, std::size_t>>& states) {
  const auto graph = one.graph();
  const OpId op = graph->op_count() - 1;
  std::vector<Graph::State> all;
  for (const auto& [output, input] : states) {
    all.push_back({graph->outputs(op)[output], *graph->find_op("in" + std::to_string(input))});
  }
  return op_work(*graph->with_states(all), op).bytes;
}

/// One new token behind 4096; 32 heads of 128 for queries and 8 for keys; 131,072 rows of tables.
struct Decoding {
  static constexpr std::int64_t kPast = 4096;
  const TensorInfo query = tensor({1, 1, 4096}, DType::f16),
                   fresh = tensor({1, 1, 1024}, DType::f16);
  const TensorInfo past = tensor({1, 8, kPast, 128}, DType::f16);
  const TensorInfo present = tensor({1, 8, kPast + 1, 128}, DType::f16);
  const TensorInfo table = tensor({131072, 64}, DType::f16), total = tensor({}, DType::i32);
  const double row = size_of({fresh});
  /// Query, keys and values of the token, and the result.
  const double token = 2 * size_of({query}) + 2 * row;

  [[nodiscard]] OneOp op(const char* type, std::vector<std::optional<TensorInfo>> behind,
                         std::int64_t window = -1) const {
    OneOp one{type,
              {query, fresh, fresh},
              {query, present, present},
              {number("num_heads", 32), number("kv_num_heads", 8), number("q_num_heads", 32),
               number("local_window_size", window)}};
    one.inputs.insert(one.inputs.end(), behind.begin(), behind.end());
    return one;
  }
  [[nodiscard]] OneOp grouped(std::int64_t window) const {
    return op("com.microsoft.GroupQueryAttention", {past, past, total, total, table, table},
              window);
  }
};

TEST_CASE("a cache that goes on in its place is read, and gets the new rows") {
  const Decoding at;
  const double caches = 2 * size_of({at.past}), tables = 2 * 64 * 2;
  const double lengths = size_of({at.total, at.total});
  const std::vector<std::pair<std::size_t, std::size_t>> states = {{1, 3}, {2, 4}};
  CHECK(bytes_of(at.grouped(-1), states) == at.token + caches + 2 * at.row + tables + lengths);
  SUBCASE("within a window alone") {
    CHECK(bytes_of(at.grouped(1024), states) ==
          at.token + 2 * 1023 * at.row + 2 * at.row + tables + lengths);
    // As many as there are.
    CHECK(bytes_of(at.grouped(10000), states) == bytes_of(at.grouped(-1), states));
    CHECK(at.grouped(1024).work().flops < at.grouped(-1).work().flops / 3.9);
  }
  SUBCASE("made anew, it is read and written as a whole") {
    CHECK(bytes_of(at.grouped(1024), {}) ==
          at.token + caches + 2 * size_of({at.present}) + tables + lengths);
  }
  SUBCASE("by every such op") {
    struct Case {
      const char* type;
      std::vector<std::optional<TensorInfo>> behind;
      std::size_t past;
      double beside;  ///< bytes of lengths and rows of tables
    };
    const std::optional<TensorInfo> none;
    const TensorInfo fused = at.past;
    for (const Case& each :
         {Case{"com.microsoft.SparseAttention",
               {fused, fused, none, none, none, at.total, at.table, at.table},
               3,
               4 + tables},
          Case{"com.microsoft.MultiHeadAttention", {none, none, none, fused, fused}, 6, 0},
          Case{"com.microsoft.DecoderMaskedMultiHeadAttention", {none, none, fused, fused}, 5, 0},
          Case{"Attention", {none, fused, fused}, 4, 0}}) {
      CAPTURE(std::string(each.type));
      OneOp one = at.op(each.type, each.behind);
      one.attributes.push_back(number("past_present_share_buffer", 1));
      const double bytes = bytes_of(one, {{1, each.past}, {2, each.past + 1}});
      CHECK(bytes == at.token + caches + 2 * at.row + each.beside);
    }
  }
  SUBCASE("keys and values in one") {
    const TensorInfo x = tensor({1, 1, 64}), weights = tensor({64, 192}), bias = tensor({192});
    const TensorInfo both = tensor({2, 1, 4, 100, 16}), next = tensor({2, 1, 4, 101, 16});
    for (const char* const type :
         {"com.microsoft.Attention", "com.microsoft.DecoderMaskedSelfAttention"}) {
      const OneOp one{type,
                      {x, weights, bias, std::nullopt, both},
                      {x, next},
                      {number("num_heads", 4), number("past_present_share_buffer", 1)}};
      CHECK(bytes_of(one, {{1, 4}}) ==
            size_of({x, x, weights, bias, both}) + size_of({tensor({2, 1, 4, 1, 16})}));
    }
  }
}

TEST_CASE("of blocks those are read that a sequence may have, and the new rows are written") {
  const TensorInfo query = tensor({2, 4096}, DType::f16), fresh = tensor({2, 1024}, DType::f16);
  const TensorInfo cache = tensor({1000, 16, 8, 128}, DType::f16);
  const TensorInfo lengths = tensor({3}, DType::i32), blocks = tensor({2, 10}, DType::i32);
  const OneOp one{"com.microsoft.PagedAttention",
                  {query, fresh, fresh, cache, cache, lengths, lengths, blocks},
                  {query, cache, cache},
                  {number("num_heads", 32), number("kv_num_heads", 8)}};
  const double row = size_of({fresh}) / 2;
  const double given = size_of({query, query, fresh, fresh, lengths, lengths, blocks});
  CHECK(one.work().bytes == doctest::Approx(given + 2 * (2 * 10 * 16 + 2) * row));
  CHECK(one.work().flops == 32.0 * 2 * 160 * (4 * 128 + 15));
}

TEST_CASE("of a rotation's tables the rows of the positions are read") {
  const TensorInfo x = tensor({2, 3, 8}), heads = tensor({2, 4, 3, 2}),
                   positions = tensor({2, 3}, DType::i64);
  const TensorInfo table = tensor({1000, 4}), whole = tensor({2, 3, 4});
  const double rows = size_of({whole, whole});
  const auto bytes = [](const char* type, std::vector<std::optional<TensorInfo>> inputs) {
    const TensorInfo result = *inputs.front();
    return OneOp{type, std::move(inputs), {result}}.work().bytes;
  };
  const double moved = size_of({x, x, positions}) + rows;
  CHECK(bytes("com.microsoft.RotaryEmbedding", {x, positions, table, table}) == moved);
  CHECK(bytes("com.microsoft.RotaryEmbedding", {heads, positions, table, table}) ==
        moved + 2 * (size_of({heads}) - size_of({x})));
  CHECK(bytes("RotaryEmbedding", {x, table, table, positions}) == moved);
  CHECK(bytes("RotaryEmbedding", {x, whole, whole}) == moved - size_of({positions}));
}

TEST_CASE("a scatter into a cache in its place writes the new rows, another copies all") {
  const TensorInfo cache = tensor({1, 8, 1000, 16}), update = tensor({1, 8, 1, 16}),
                   index = tensor({1}, DType::i64);
  struct Case {
    const char* dialect;
    const char* type;
    std::vector<std::optional<TensorInfo>> inputs;
  };
  for (const Case& each : {Case{"onnx", "TensorScatter", {cache, update, index}},
                           Case{"onnx", "ScatterND", {cache, index, update}},
                           Case{"onnx", "ScatterElements", {cache, index, update}},
                           Case{"tf", "TensorScatterUpdate", {cache, index, update}}}) {
    CAPTURE(std::string(each.type));
    OneOp one{each.type, each.inputs, {cache}};
    one.dialect = each.dialect;
    CHECK(bytes_of(one, {{0, 0}}) == size_of({update, update, index}));
    CHECK(bytes_of(one, {}) == size_of({cache, cache, update, index}));
  }
}

}  // namespace
}  // namespace berth::test
