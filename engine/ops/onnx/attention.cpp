// Attention in its many forms.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ops/attention_window.h"
#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

// Attention 23: Q, K, V, mask, past key, past value; 3-dimensional (batch, length, hidden) with
// head counts as attributes, or 4-dimensional (batch, heads, length, head size).
void standard_attention(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.give(i, tensor_type(op.type_of(i == 2 ? 2 : 0)));
  }
  const Dims* const q = op.shape(0);
  const Dims* const k = op.shape(1);
  const Dims* const v = op.shape(2);
  if (q == nullptr || k == nullptr || v == nullptr || q->size() != k->size() ||
      v->size() != k->size() || (q->size() != 3 && q->size() != 4)) {
    return;
  }
  const bool flat = q->size() == 3;
  const std::int64_t q_heads = flat ? op.attributes.integer("q_num_heads", 0) : (*q)[1];
  const std::int64_t kv_heads = flat ? op.attributes.integer("kv_num_heads", 0) : (*k)[1];
  const auto head_size = [&](const Dims& dims) {
    if (!flat || dims.back() == kUnknownDim) return dims.back();
    return kv_heads > 0 ? dims.back() / kv_heads : kUnknownDim;
  };
  const std::int64_t batch = q->front();
  const std::int64_t length = (*q)[q->size() - 2];
  std::int64_t total = (*k)[k->size() - 2];
  if (const Dims* const past = op.shape(4); past != nullptr && past->size() == 4) {
    total = total == kUnknownDim || (*past)[2] == kUnknownDim ? kUnknownDim : total + (*past)[2];
  }
  const std::int64_t v_size = head_size(*v);
  if (flat) {
    op.set(0, op.type_of(0), {batch, length, multiply_dims(q_heads, v_size)});
  } else {
    op.set(0, op.type_of(0), {batch, q_heads, length, v_size});
  }
  op.set(1, op.type_of(1), {batch, valid_dim(kv_heads), total, head_size(*k)});
  op.set(2, op.type_of(2), {batch, valid_dim(kv_heads), total, v_size});
  op.set(3, op.type_of(0), {batch, valid_dim(q_heads), length, total});
}

// Attention and its quantised form: one weight (hidden, q + k + v) for the three projections.
void packed_projection_attention(OpContext& op, int elem, std::size_t past_input) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(elem));
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  const auto sizes = op.listed("qkv_hidden_sizes");
  std::int64_t hidden = divide_dims(dim_of(op.shape(1), 1, 2), 3);
  if (hidden == kUnknownDim) hidden = divide_dims(dim_of(op.shape(2), 0, 1), 3);
  if (sizes && sizes->size() == 3) hidden = valid_dim((*sizes)[2]);
  Dims result = *x;
  result.back() = hidden;
  op.set(0, elem, std::move(result));
  if (x->size() != 3) return;
  const std::int64_t heads = op.attributes.integer("num_heads", 0);
  std::int64_t total = (*x)[1];
  const Dims* const past = op.shape(past_input);
  if (past != nullptr && past->size() == 5) {
    const bool shared = op.attributes.integer("past_present_share_buffer", 0) != 0;
    total = shared ? (*past)[3] : add_dims(total, (*past)[3]);
  }
  op.set(1, elem, {2, x->front(), valid_dim(heads), total, divide_dims(hidden, heads)});
}

void attention(OpContext& op) {
  packed_projection_attention(op, op.type_of(0), 4);
}
void quantized_attention(OpContext& op) {
  packed_projection_attention(op, op.type_of(3), 8);
}

// Query (batch, length, hidden) or all three packed as (batch, length, heads, 3, head size); keys
// and values (batch, length, hidden), packed (.., heads, 2, head size) or (batch, heads, length,
// head size).
void multi_head_attention(OpContext& op, std::size_t past_input) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(op.type_of(0)));
  const Dims* const q = op.shape(0);
  const Dims* const k = op.shape(1);
  const Dims* const v = op.shape(2);
  const std::int64_t heads = valid_dim(op.attributes.integer("num_heads", 0));
  if (q == nullptr || (q->size() != 3 && q->size() != 5) || heads < 1) return;
  const std::int64_t batch = (*q)[0];
  const std::int64_t length = (*q)[1];
  const std::int64_t head_size = q->size() == 5 ? (*q)[4] : divide_dims((*q)[2], heads);
  std::int64_t total = length;
  std::int64_t v_size = head_size;
  if (k != nullptr && k->size() >= 3) total = k->size() == 4 ? (*k)[2] : (*k)[1];
  if (v != nullptr && v->size() == 3) v_size = divide_dims((*v)[2], heads);
  if (v != nullptr && v->size() == 4) v_size = (*v)[3];
  const Dims* const past = op.shape(past_input);
  if (past != nullptr && past->size() == 4) {
    const bool shared = op.attributes.integer("past_present_share_buffer", 0) != 0;
    total = shared ? (*past)[2] : add_dims(total, (*past)[2]);
  }
  op.set(0, op.type_of(0), {batch, length, multiply_dims(heads, v_size)});
  op.set(1, op.type_of(0), {batch, heads, total, head_size});
  op.set(2, op.type_of(0), {batch, heads, total, v_size});
}

void multi_head(OpContext& op) {
  multi_head_attention(op, 6);
}
void masked_multi_head(OpContext& op) {
  multi_head_attention(op, 5);
}

// How long the caches are that grouped attention gives back. Those that hold a window, or are written in
// place, stay as long as they are; that the file alone says, as the length of `stated`, an output.
std::int64_t grouped_length(const OpContext& op, std::int64_t fresh, const Value& stated) {
  const std::int64_t past = op.has(3) ? dim_of(op.shape(3), 2, 4) : 0;
  if (op.attributes.integer("sliding_window_cache", 0) != 0) return past;
  if (op.in(6).content_size() == 1 && op.in(6).element(0)) {
    return std::max(past, dim_of_element(op.in(6), 0));
  }
  const bool in_place = past > 0 && stated.rank() == 4 && stated.dims[2] == past;
  return in_place ? past : add_dims(past, fresh);
}

// Query (batch, length, heads x size), or with keys and values packed behind it. Caches of fewer bits have
// rows and a type of their own.
void group_query_attention(OpContext& op) {
  const Dims* const q = op.shape(0);
  const std::int64_t total = q == nullptr || q->size() != 3
                                 ? kUnknownDim
                                 : grouped_length(op, (*q)[1], std::as_const(op).out(1));
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const bool is_cache = (i == 1 || i == 2) && op.has(i + 2);
    op.give(i, tensor_type(op.type_of(is_cache ? i + 2 : 0)));
  }
  const std::int64_t heads = op.attributes.integer("num_heads", 0);
  const std::int64_t kv_heads = op.attributes.integer("kv_num_heads", 0);
  if (q == nullptr || q->size() != 3 || heads < 1 || kv_heads < 1 || heads > kMaxDim ||
      kv_heads > kMaxDim) {
    return;
  }
  const bool packed = !op.has(1);
  const std::int64_t size = divide_dims((*q)[2], packed ? heads + 2 * kv_heads : heads);
  std::int64_t hidden = (*q)[2];
  if (packed && (size == kUnknownDim || __builtin_mul_overflow(size, heads, &hidden))) {
    hidden = kUnknownDim;
  }
  op.set(0, {(*q)[0], (*q)[1], hidden});
  for (const std::size_t i : {1U, 2U}) {
    const std::int64_t row = dim_of(op.shape(i + 2), 3, 4);
    op.set(i, {(*q)[0], kv_heads, total, row == kUnknownDim ? size : row});
  }
}

/// Tokens without padding (tokens, hidden), with the weights of all three projections.
void packed_attention(OpContext& op) {
  op.set_like(0, 0);
  Value& out = op.out(0);
  const Dims* const weights = op.shape(1);
  if (out.rank() > 0 && weights != nullptr && weights->size() == 2) {
    out.dims.back() = divide_dims(weights->back(), 3);
  }
}
/// Query, key and value as (tokens, hidden).
void packed_multi_head(OpContext& op) {
  op.set_like(0, 0);
  Value& out = op.out(0);
  const Dims* const v = op.shape(2);
  if (out.rank() > 0 && v != nullptr && v->size() == 2) out.dims.back() = v->back();
}

void flex_attention(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const v = op.shape(2);
  if (op.shape(0) == nullptr || v == nullptr || v->empty()) return;
  if (!op.out(0).dims.empty()) op.out(0).dims.back() = v->back();
}

void relative_position_bias(OpContext& op) {
  const auto q = op.integers(1), k = op.integers(2);
  op.set(0, op.type_of(0),
         {1, dim_of(op.shape(0), 1, 2), q && q->size() == 1 ? valid_dim(q->front()) : kUnknownDim,
          k && k->size() == 1 ? valid_dim(k->front()) : kUnknownDim});
}

void gated_relative_position_bias(OpContext& op) {
  const std::int64_t length = dim_of(op.shape(0), 1, 3);
  op.set(0, op.type_of(0),
         {dim_of(op.shape(0), 0, 3), valid_dim(op.attributes.integer("num_heads", -1)), length,
          length});
}

/// query, key, value [batch, length, heads x size], state [batch, kv heads, k size, v size].
void linear_attention(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(op.type_of(0)));
  if (op.has(3)) op.give(1, tensor_type(op.type_of(3)));
  const Dims* const q = op.shape(0);
  const Dims* const v = op.shape(2);
  const std::int64_t q_heads = op.attributes.integer("q_num_heads", 0);
  const std::int64_t kv_heads = op.attributes.integer("kv_num_heads", 0);
  if (q == nullptr || v == nullptr || q->size() != 3 || v->size() != 3) return;
  const std::int64_t v_size = divide_dims(v->back(), kv_heads);
  op.set(0, {(*q)[0], (*q)[1], multiply_dims(valid_dim(q_heads), v_size)});
  op.set(1, {(*q)[0], valid_dim(kv_heads), divide_dims(q->back(), q_heads), v_size});
}
/// query [tokens, heads, k size], key, value [tokens, heads, v size]; a state for each sequence.
void gated_delta_net(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(op.type_of(0)));
  const Dims* const q = op.shape(0);
  const Dims* const v = op.shape(2);
  if (q == nullptr || v == nullptr || q->size() != 3 || v->size() != 3) return;
  op.set(0, {(*q)[0], (*v)[1], (*v)[2]});
  if (op.has(6)) op.set_like(1, 6);
}
/// a, bias, scale, b: the decay, and with b how much is written.
void linear_attention_gate(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 3);
}

// --- Work ---------------------------------------------------------------------------------------
// Workspace: the score matrices, as kernels hold them that do not fuse the whole of attention, and
// the projections where the op makes them. Fused kernels need less: this errs on the safe side.

/// Inputs and outputs of which an op reads or writes a part.
struct Parts {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::array<std::size_t, 2> past{kNone,
                                  kNone};  ///< of keys and values; the first alone may hold both
  std::array<std::size_t, 2> tables{kNone,
                                    kNone};  ///< with a row for each position that there may be
  double fresh = 0;                          ///< keys that are no past ones
  double window = std::numeric_limits<double>::infinity();  ///< keys that a query sees
};

/// Bytes moved. Of tables the rows of the queries are read, and of a cache those within the window. Where
/// the cache goes on in its place (Graph::State) the new rows are written, else it is made anew: read and
/// written as a whole.
double attention_bytes(const OpView& op, const AttentionShape& shape, const Parts& parts) {
  double bytes = work::all_bytes(op);
  const auto keep = [&bytes](const TensorView& tensor, double rows, double all) {
    bytes -= tensor.bytes() - work::bytes_of_rows(tensor, rows, all);
  };
  for (const std::size_t table : parts.tables) {
    keep(op.input(table), shape.batch * shape.queries, op.input(table).dim(0));
  }
  const double seen = std::min(shape.keys, parts.window + shape.queries - 1);
  for (std::size_t i = 0; i < parts.past.size(); ++i) {
    const TensorView past = op.input(parts.past[i]), present = op.output(i + 1);
    if (!past.present() || (present.present() && !op.goes_on(parts.past[i], i + 1))) continue;
    keep(present, parts.fresh, present.dim(-2));
    keep(past, std::max(0.0, seen - parts.fresh), past.dim(-2));
  }
  return bytes;
}

Estimate attention_of(const OpView& op, const WorkRule& rule, AttentionShape shape,
                      const Parts& parts = {}) {
  const double bytes = attention_bytes(op, shape, parts);
  const double scores = attention_scores(shape);
  shape.keys = std::min(shape.keys, parts.window);
  return work::make_estimate(op, rule, attention_flops(shape), bytes,
                             scores * work::element_bytes(op.output(0).dtype()));
}

/// Keys seen: those in `present` (its second last dimension) where the op gives it back, else the
/// past ones and the new ones.
double keys_seen(const TensorView& present, const TensorView& past, double fresh) {
  const double all = present.dim(-2);
  if (!std::isnan(all)) return all;
  return fresh + (past.present() ? past.dim(-2) : 0);
}

double heads_of(const OpView& op, std::string_view attribute) {
  const std::int64_t heads = op.integer(attribute, 0);
  return heads > 0 ? static_cast<double>(heads) : kUnknown;
}

/// One tensor has the keys and the values of the past.
Estimate projected_attention_of(const OpView& op, const WorkRule& rule, std::size_t past) {
  const TensorView input = op.input(0);    // [batch, queries, hidden]
  const TensorView weights = op.input(1);  // [hidden, q + k + v]
  const auto sizes = op.integers("qkv_hidden_sizes");
  const double columns = weights.dim(1);
  const double q = sizes.size() == 3 ? static_cast<double>(sizes[0]) : columns / 3;
  const double v = sizes.size() == 3 ? static_cast<double>(sizes[2]) : columns / 3;
  AttentionShape shape{};
  shape.batch = input.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = input.dim(1);
  shape.keys = keys_seen(op.output(1), op.input(past), shape.queries);
  shape.qk_size = q / shape.heads;
  shape.v_size = v / shape.heads;
  Parts parts;
  parts.past = {past, Parts::kNone};
  parts.fresh = shape.queries;
  Estimate estimate = attention_of(op, rule, shape, parts);
  const double projections = shape.batch * shape.queries * columns;
  estimate.work.flops += matmul_flops(projections, weights.dim(0), op.input(2).present());
  estimate.work.workspace_bytes += projections * work::element_bytes(op.output(0).dtype());
  return estimate;
}

Estimate projected_attention_work(const OpView& op, const WorkRule& rule) {
  return projected_attention_of(op, rule, 4);
}

Estimate quantized_projected_attention_work(const OpView& op, const WorkRule& rule) {
  return projected_attention_of(op, rule, 8);
}

template <std::size_t Past>
Estimate multi_head_attention_work(const OpView& op, const WorkRule& rule) {
  // Query [b, s, d], or all packed [b, s, heads, 3, h]. Key [b, t, d], packed with the value
  // [b, t, heads, 2, h], or from another attention [b, heads, t, h]. Output [b, s, dv].
  const TensorView query = op.input(0), key = op.input(1);
  AttentionShape shape{};
  shape.batch = query.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = query.dim(1);
  Parts parts;
  parts.past = {Past, Past + 1};
  parts.fresh = !key.present() ? shape.queries : key.dim(key.rank() == 4 ? 2 : 1);
  shape.keys = keys_seen(op.output(1), op.input(Past), parts.fresh);
  shape.qk_size = query.rank() == 5 ? query.dim(4) : query.dim(2) / shape.heads;
  shape.v_size = op.output(0).dim(2) / shape.heads;
  return attention_of(op, rule, shape, parts);
}

/// Keys that a query sees; infinity for all.
double window_of(const OpView& op) {
  const std::int64_t window = attention_window(op);
  return window > 0 ? static_cast<double>(window) : std::numeric_limits<double>::infinity();
}

template <std::size_t Tables>
Estimate grouped_attention_work(const OpView& op, const WorkRule& rule) {
  // Query [b, s, d], or packed with key and value; past key [b, kv heads, p, h] at 3. Output
  // [b, s, d].
  const TensorView output = op.output(0);
  AttentionShape shape{};
  shape.batch = output.dim(0);
  shape.heads = heads_of(op, "num_heads");
  shape.queries = output.dim(1);
  shape.keys = keys_seen(op.output(1), op.input(3), shape.queries);
  shape.qk_size = shape.v_size = output.dim(2) / shape.heads;
  return attention_of(op, rule, shape,
                      {{3, 4}, {Tables, Tables + 1}, shape.queries, window_of(op)});
}

Estimate standard_attention_work(const OpView& op, const WorkRule& rule) {
  // Q, K, V as [b, heads, s, h] or, with the heads in attributes, [b, s, heads * h]; past key at 4.
  const TensorView query = op.input(0), key = op.input(1), output = op.output(0);
  const bool split = query.rank() == 4;
  AttentionShape shape{};
  shape.batch = query.dim(0);
  shape.heads = split ? query.dim(1) : heads_of(op, "q_num_heads");
  shape.queries = query.dim(-2);
  shape.keys = keys_seen(op.output(1), op.input(4), key.dim(-2));
  shape.qk_size = query.dim(-1) / (split ? 1 : shape.heads);
  shape.v_size = output.dim(-1) / (split ? 1 : shape.heads);
  Parts parts;
  parts.past = {4, 5};
  parts.fresh = key.dim(-2);
  return attention_of(op, rule, shape, parts);
}

constexpr WorkRule attending(EstimateFunction* estimate) {
  return {estimate, OpClass::attention};
}

/// Heads of `hidden` in all over keys that each query may see, after a projection to `columns`.
Estimate after_projection(const OpView& op, const WorkRule& rule, AttentionShape shape,
                          double columns) {
  Estimate estimate = attention_of(op, rule, shape);
  const TensorView weights = op.input(1);
  estimate.work.flops +=
      matmul_flops(shape.batch * shape.queries * columns, weights.dim(0), op.input(2).present());
  return estimate;
}
/// tokens [n, hidden], weights [hidden, q + k + v], bias, places of the tokens [batch, length].
Estimate packed_attention_work(const OpView& op, const WorkRule& rule) {
  const double heads = heads_of(op, "num_heads"), size = op.output(0).dim(1) / heads;
  const AttentionShape shape{1, heads, op.input(0).dim(0), op.input(3).dim(1), size, size};
  return after_projection(op, rule, shape, op.input(1).dim(1));
}
/// query, key, value [n, hidden], bias, places of the tokens [batch, length].
Estimate packed_multi_head_work(const OpView& op, const WorkRule& rule) {
  const double heads = heads_of(op, "num_heads");
  return attention_of(op, rule,
                      {1, heads, op.input(0).dim(0), op.input(4).dim(1), op.input(0).dim(1) / heads,
                       op.output(0).dim(1) / heads});
}
/// input [batch, length, hidden], weights [hidden, q + k + v]; each query sees a window.
Estimate longformer_work(const OpView& op, const WorkRule& rule) {
  const double heads = heads_of(op, "num_heads"), size = op.output(0).dim(2) / heads;
  const double window = 2 * static_cast<double>(op.integer("window", 0)) + 1;
  const AttentionShape shape{op.input(0).dim(0), heads, op.input(0).dim(1), window, size, size};
  return after_projection(op, rule, shape, op.input(1).dim(1));
}
/// query [length, batch, hidden], key [length, batch, hidden], weights of the query and of both
/// others.
Estimate decoder_attention_work(const OpView& op, const WorkRule& rule) {
  const TensorView query = op.input(0), key = op.input(1);
  const double heads = heads_of(op, "num_heads"), size = query.dim(2) / heads;
  Estimate estimate =
      attention_of(op, rule, {query.dim(1), heads, query.dim(0), key.dim(0), size, size});
  estimate.work.flops += matmul_flops(query.elements(), query.dim(2), /*bias=*/true) +
                         matmul_flops(2 * key.elements(), key.dim(2), /*bias=*/true);
  return estimate;
}
/// The operations of a step on the states [k, v] of heads of values: for each token and each of a state's numbers
/// an outer product is added (2) and each query reads (2); as the rule says they decay (1), and recall what they have for
/// the key (2).
double state_flops(const OpView& op, double k_size, std::string_view rule) {
  const double decay = rule.starts_with("gated") ? 1 : 0, recall = rule.ends_with("delta") ? 2 : 0;
  return k_size * ((2 + decay + recall) * op.input(2).elements() + 2 * op.output(0).elements());
}
Estimate linear_attention_work(const OpView& op, const WorkRule& rule) {
  const double k_size = op.input(0).dim(-1) / heads_of(op, "q_num_heads");
  const std::string_view update = op.text("update_rule");
  return work::make_estimate(op, rule,
                             state_flops(op, k_size, update.empty() ? "gated_delta" : update),
                             work::all_bytes(op));
}
Estimate gated_delta_net_work(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, state_flops(op, op.input(0).dim(-1), "gated_delta"),
                             work::all_bytes(op));
}
/// query, key, value [tokens, hidden], caches [blocks, block size, kv heads, size], which the op writes in
/// their place, lengths, and for each sequence the blocks that it has: as many may be full.
Estimate paged_attention_work(const OpView& op, const WorkRule& rule) {
  const TensorView output = op.output(0), cache = op.input(3), blocks = op.input(7);
  AttentionShape shape{};
  shape.batch = 1;
  shape.heads = heads_of(op, "num_heads");
  shape.queries = output.dim(0);
  shape.keys = blocks.dim(1) * cache.dim(1);
  shape.qk_size = shape.v_size = output.dim(1) / shape.heads;
  const Parts parts{{Parts::kNone, Parts::kNone}, {8, 9}, 0, window_of(op)};
  Estimate estimate = attention_of(op, rule, shape, parts);
  const double all = cache.elements(0, 2);
  const double seen = blocks.dim(0) * std::min(shape.keys, parts.window);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const TensorView past = op.input(3 + i), present = op.output(1 + i);
    estimate.work.bytes -= past.bytes() - work::bytes_of_rows(past, seen, all);
    estimate.work.bytes -= present.bytes() - work::bytes_of_rows(present, shape.queries, all);
  }
  return estimate;
}

constexpr Row kOps[] = {
    {"Attention", standard_attention, attending(standard_attention_work)},
    {"LinearAttention", linear_attention, attending(linear_attention_work)},
    {"ai.onnx.preview.FlexAttention", flex_attention, attending(standard_attention_work)},
    {"com.microsoft.Attention", attention, attending(projected_attention_work)},
    {"com.microsoft.DecoderAttention", rule::like_first, attending(decoder_attention_work)},
    {"com.microsoft.DecoderMaskedMultiHeadAttention", masked_multi_head,
     attending(multi_head_attention_work<5>)},
    {"com.microsoft.DecoderMaskedSelfAttention", attention, attending(projected_attention_work)},
    {"com.microsoft.FlexAttention", flex_attention, attending(standard_attention_work)},
    {"com.microsoft.GatedDeltaNet", gated_delta_net, attending(gated_delta_net_work)},
    {"com.microsoft.GatedRelativePositionBias", gated_relative_position_bias,
     elementwise(kTranscendentalFlops)},
    {"com.microsoft.GroupQueryAttention", group_query_attention,
     attending(grouped_attention_work<7>)},
    {"com.microsoft.LinearAttention", linear_attention, attending(linear_attention_work)},
    {"com.microsoft.LinearAttentionGate", linear_attention_gate,
     elementwise(2 * kTranscendentalFlops)},
    {"com.microsoft.LongformerAttention", rule::like_first, attending(longformer_work)},
    {"com.microsoft.MRotaryEmbedding", rule::like_first, elementwise(6)},
    {"com.microsoft.MultiHeadAttention", multi_head, attending(multi_head_attention_work<6>)},
    {"com.microsoft.PackedAttention", packed_attention, attending(packed_attention_work)},
    {"com.microsoft.PackedMultiHeadAttention", packed_multi_head,
     attending(packed_multi_head_work)},
    {"com.microsoft.PagedAttention", rule::like_first, attending(paged_attention_work)},
    {"com.microsoft.QAttention", quantized_attention,
     attending(quantized_projected_attention_work)},
    {"com.microsoft.RelativePositionBias", relative_position_bias, writes()},
    {"com.microsoft.SparseAttention", group_query_attention, attending(grouped_attention_work<9>)},
};

}  // namespace

std::span<const Row> attention_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx

namespace berth::ops {

std::int64_t attention_window(const OpView& op) {
  return std::max<std::int64_t>(0, op.integer("local_window_size", -1));
}

}  // namespace berth::ops
