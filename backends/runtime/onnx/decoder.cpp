// Attention of decoders: grouped heads, rotated positions (ONNX 23 and com.microsoft).
#include <ATen/Functions.h>

#include <array>
#include <cmath>
#include <limits>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/onnx/heads.h"
#include "runtime/onnx/rotation.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

// --- positions -----------------------------------------------------------------------------------

// Rows of a table of [positions, half], as `rotated` takes them. `positions`: [batch or 1, length].
Tensor rows_at(const Tensor& table, const Tensor& positions) {
  return at::embedding(table, positions.to(at::kLong)).unsqueeze(1);
}

// [batch, length, heads * size] is turned head by head, and has its own form again.
template <class Rotate>
Tensor by_heads(const Tensor& x, std::int64_t heads, const Rotate& rotate) {
  if (x.dim() == 4) return rotate(x);
  return merge_heads(rotate(split_heads(x, heads)));
}

// Inputs: x, positions (one: of the first of a sequence), tables of cos and sin.
Kernel make_contrib_rotary(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool interleaved = int_attribute(op, "interleaved", 0) != 0;
  const std::int64_t stated_heads = int_attribute(op, "num_heads", 0);
  if (int_attribute(op, "is_packed_batching", 0) != 0) refuse_attribute("is_packed_batching", "1");
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& cos = tensor_at(in, 2);
    Tensor positions = tensor_at(in, 1);
    if (positions.dim() < 2) {
      const std::int64_t length = x.dim() == 4 ? x.size(2) : x.size(1);
      positions = at::add(at::arange(length, positions.options()), positions).unsqueeze(0);
    }
    std::int64_t heads = stated_heads;
    if (heads < 1 && x.dim() != 4) {
      heads = shared_out(x.size(-1), "elements", 2 * cos.size(1), "elements of a head");
    }
    out[0].tensor = by_heads(x, heads, [&](const Tensor& split) {
      return rotated(split, rows_at(cos, positions), rows_at(tensor_at(in, 3), positions),
                     interleaved);
    });
  });
}

// Inputs: x, cos and sin: tables, with positions behind them; or [batch, length, half] without.
Kernel make_rotary(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool interleaved = int_attribute(op, "interleaved", 0) != 0;
  const std::int64_t heads = int_attribute(op, "num_heads", 0);
  const std::int64_t size = int_attribute(op, "rotary_embedding_dim", 0);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto angles = [&](std::size_t i) {
      const Tensor& given = tensor_at(in, i);
      const Tensor rows = has(in, 3) ? rows_at(given, tensor_at(in, 3)) : given.unsqueeze(1);
      return size > 0 ? rows.narrow(-1, 0, size / 2) : rows;
    };
    if (x.dim() == 3 && heads < 1) refuse_attribute("num_heads", std::to_string(heads));
    out[0].tensor = by_heads(x, heads, [&](const Tensor& split) {
      return rotated(split, angles(1), angles(2), interleaved);
    });
  });
}

// --- attention -----------------------------------------------------------------------------------

// Rows [batch, heads, length, n] by keys or values [batch, groups, n, m], of which each serves as many heads: their rows
// stand below each other, as a copy of the keys for each head would take far more than the product.
Tensor product_by_groups(const Tensor& rows, const Tensor& groups) {
  const std::int64_t heads = rows.size(1), count = groups.size(1);
  if (heads == count) return product(rows, groups);
  const std::int64_t each = shared_out(heads, "heads of queries", count, "heads of keys");
  const Tensor y =
      product(rows.reshape({rows.size(0), count, each * rows.size(2), rows.size(3)}), groups);
  return y.reshape({y.size(0), heads, rows.size(2), y.size(3)});
}

Tensor soft_capped(const Tensor& scores, double cap) {
  return cap > 0 ? at::mul(at::tanh(at::div(scores, cap)), cap) : scores;
}

// How many keys before and behind its own position a query sees; negative = all.
struct Band {
  std::int64_t left, right;

  [[nodiscard]] bool hides() const noexcept { return left >= 0 || right >= 0; }
};

// Marks the keys that the queries do not see. Query i is at position `before` + i. `before`: [batch, 1, 1, 1],
// or a number for all.
template <class Before>
Tensor unseen(std::int64_t queries, std::int64_t keys, const Before& before, const Band& band,
              const Tensor& like) {
  const auto whole = like.options().dtype(at::kLong);
  const Tensor query = at::add(at::arange(queries, whole).unsqueeze(1), before);
  const Tensor key = at::arange(keys, whole).unsqueeze(0);
  Tensor hidden = at::zeros({}, whole.dtype(at::kBool));
  if (band.right >= 0) hidden = at::gt(at::sub(key, band.right), query);
  if (band.left >= 0) hidden = at::logical_or(hidden, at::lt(key, at::sub(query, band.left)));
  return hidden;
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct GroupedOptions {
  std::int64_t heads, groups;
  Band band;
  double scale, cap, q_epsilon, k_epsilon;
  bool causal, rotary, interleaved, smooth;

  explicit GroupedOptions(const Instruction& op)
      : heads(int_attribute(op, "num_heads", 0)),
        groups(int_attribute(op, "kv_num_heads", 0)),
        band{-1, -1},
        scale(float_attribute(op, "scale", 0)),
        cap(float_attribute(op, "softcap", 0)),
        q_epsilon(epsilon_of(op, "q_norm_epsilon")),
        k_epsilon(epsilon_of(op, "k_norm_epsilon")),
        causal(int_attribute(op, "causal", 1) != 0),
        rotary(int_attribute(op, "do_rotary", 0) != 0),
        interleaved(int_attribute(op, "rotary_interleaved", 0) != 0),
        smooth(int_attribute(op, "smooth_softmax", 0) == 1) {
    if (heads < 1) refuse_attribute("num_heads", std::to_string(heads));
    if (groups < 1 || heads % groups != 0) refuse_attribute("kv_num_heads", std::to_string(groups));
    const std::int64_t size = int_attribute(op, "local_window_size", -1);
    if (size == 0 || (size > 0 && !causal)) {
      refuse_attribute("local_window_size", std::to_string(size));
    }
    if (causal) band = {size < 0 ? -1 : size - 1, 0};
  }

 private:
  static double epsilon_of(const Instruction& op, std::string_view name) {
    return float_attribute(op, name, float_attribute(op, "qk_norm_epsilon", 1e-6));
  }
};

// Each head by the root of its mean square, if there are weights.
Tensor root_normalized(const Tensor& x, const Tensor& weights, double epsilon) {
  if (!weights.defined()) return x;
  const Tensor mean = at::mean(at::square(x), at::IntArrayRef{-1}, /*keepdim=*/true);
  return at::mul(at::mul(x, at::rsqrt(at::add(mean, epsilon))), weights);
}

// The share of each key. `sink`: [heads], a score of nothing beside the keys; undefined = none.
Tensor shares(const Tensor& scores, const Tensor& sink, bool smooth) {
  if (!sink.defined() && !smooth) return at::softmax(scores, -1);
  Ints shape = scores.sizes().vec();
  shape.back() = 1;
  const Tensor nothing = sink.defined() ? sink.reshape({1, -1, 1, 1}).expand(shape)
                                        : at::zeros(shape, scores.options());
  return at::softmax(at::cat({scores, nothing.to(scores.scalar_type())}, -1), -1)
      .narrow(-1, 0, scores.size(-1));
}

// q, k and v of one sequence or of several of one length, whose keys are the past ones and the new.
Tensor grouped(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
               const Tensor& sink, const GroupedOptions& options) {
  const double scale =
      options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  const std::int64_t queries = q.size(2), keys = k.size(2);
  Tensor scores = at::mul(product_by_groups(q, k.transpose(2, 3)), scale);
  scores = soft_capped(scores, options.cap);
  if (bias.defined()) scores = at::add(scores, bias.narrow(-1, 0, keys));
  if (options.band.hides()) {
    scores = at::masked_fill(scores, unseen(queries, keys, keys - queries, options.band, scores),
                             kNever);
  }
  return product_by_groups(shares(scores, sink, options.smooth), v);
}

// Inputs: q (or q, k and v packed), k?, v?, past k?, past v?, keys in all of each sequence less one, the
// most of those, cos?, sin?, positions?, bias?, sink?, scales of a quantized past, weights of q's norm?, of k's?.
// Outputs: y, present k, present v. Sequences that are shorter than the longest end in padding.
Kernel make_grouped_attention(const KernelRequest& request) {
  const GroupedOptions options(request.instruction);
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    const Tensor& given = tensor_at(in, 0);
    std::array<Tensor, 3> qkv = {given, optional_at(in, 1), optional_at(in, 2)};
    if (!qkv[1].defined()) {
      const std::int64_t size = given.size(2) / (options.heads + 2 * options.groups);
      const auto parts = at::split_with_sizes(
          given, {options.heads * size, options.groups * size, options.groups * size}, 2);
      std::copy(parts.begin(), parts.end(), qkv.begin());
    }
    const std::int64_t batch = given.size(0), length = given.size(1);
    const Ints last = ints_of(tensor_at(in, 5));
    const std::int64_t total = ints_of(tensor_at(in, 6)).at(0);
    const std::int64_t room = std::max(total, has(in, 3) ? tensor_at(in, 3).size(2) : 0);
    std::vector<Tensor> outputs;
    std::array<std::vector<Tensor>, 2> present;
    for (std::int64_t b = 0; b < batch; ++b) {
      // All of a prompt is new: what is behind its end counts as well.
      const std::int64_t end = last.at(static_cast<std::size_t>(b)) + 1;
      const std::int64_t before = total == length ? 0 : end - length;
      const std::int64_t keys = before + length;
      Tensor parts[3];
      for (std::size_t i = 0; i < 3; ++i) {
        parts[i] = split_heads(qkv[i].narrow(0, b, 1), i == 0 ? options.heads : options.groups);
      }
      parts[0] = root_normalized(parts[0], optional_at(in, 14), options.q_epsilon);
      parts[1] = root_normalized(parts[1], optional_at(in, 15), options.k_epsilon);
      if (options.rotary) {
        const Tensor positions =
            has(in, 9) ? tensor_at(in, 9).narrow(0, b, 1)
                       : at::arange(before, keys, given.options().dtype(at::kLong)).unsqueeze(0);
        for (Tensor* const part : {&parts[0], &parts[1]}) {
          *part = rotated(*part, rows_at(tensor_at(in, 7), positions),
                          rows_at(tensor_at(in, 8), positions), options.interleaved);
        }
      }
      for (std::size_t i = 0; i < 2; ++i) {
        if (before > 0) {
          const Tensor past = tensor_at(in, 3 + i).narrow(0, b, 1).narrow(2, 0, before);
          parts[i + 1] = at::cat({past, parts[i + 1]}, 2);
        }
        present[i].push_back(runtime::padded(parts[i + 1], {0, 0, 0, room - keys}));
      }
      Tensor bias = optional_at(in, 10);
      if (bias.defined() && bias.size(0) > 1) bias = bias.narrow(0, b, 1);
      // No query sees the padding behind it; those that look ahead would.
      const std::int64_t seen = options.causal ? keys : end;
      outputs.push_back(
          merge_heads(grouped(parts[0], parts[1].narrow(2, 0, seen), parts[2].narrow(2, 0, seen),
                              bias, optional_at(in, 11), options)));
    }
    out[0].tensor = at::cat(outputs);
    for (std::size_t i = 0; i < 2 && i + 1 < out.size(); ++i) {
      out[i + 1].tensor = at::cat(present[i]);
    }
  });
}

// Inputs: q, k, v, mask?, past k?, past v?, how many keys of each sequence count?. Outputs: y, present k,
// present v, and the scores after as many steps as qk_matmul_output_mode says.
Kernel make_attention(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::int64_t q_heads = int_attribute(op, "q_num_heads", 0);
  const std::int64_t kv_heads = int_attribute(op, "kv_num_heads", 0);
  Band band = {int_attribute(op, "left_window_size", -1),
               int_attribute(op, "right_window_size", -1)};
  if (int_attribute(op, "is_causal", 0) != 0) band.right = 0;
  const double stated_scale = float_attribute(op, "scale", 0);
  const double cap = float_attribute(op, "softcap", 0);
  const std::int64_t mode = int_attribute(op, "qk_matmul_output_mode", 0);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const bool is_flat = tensor_at(in, 0).dim() == 3;
    if (is_flat && (q_heads < 1 || kv_heads < 1)) refuse_attribute("q_num_heads", "less than 1");
    const Tensor q = split_heads(tensor_at(in, 0), q_heads);
    Tensor k = split_heads(tensor_at(in, 1), kv_heads);
    Tensor v = split_heads(tensor_at(in, 2), kv_heads);
    const std::int64_t before = has(in, 4) ? tensor_at(in, 4).size(2) : 0;
    if (has(in, 4)) k = at::cat({tensor_at(in, 4), k}, 2);
    if (has(in, 5)) v = at::cat({tensor_at(in, 5), v}, 2);
    const double scale =
        stated_scale != 0 ? stated_scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
    const std::int64_t queries = q.size(2), keys = k.size(2);
    std::array<Tensor, 4> steps;
    steps[0] = at::mul(product_by_groups(q, k.transpose(2, 3)), scale);
    steps[1] = soft_capped(steps[0], cap);
    Tensor scores = steps[1];
    if (has(in, 3)) {
      Tensor mask = tensor_at(in, 3);
      if (mask.scalar_type() == at::kBool) {
        mask = at::masked_fill(at::zeros(mask.sizes(), scores.options()), at::logical_not(mask),
                               kNever);
      }
      scores = at::add(scores, runtime::padded(mask, {0, keys - mask.size(-1)}, kNever));
    }
    Tensor begins;  // of the queries
    if (has(in, 6)) {
      const Tensor count = tensor_at(in, 6).reshape({-1, 1, 1, 1});
      const Tensor key = at::arange(keys, count.options());
      scores = at::masked_fill(scores, at::ge(key, count), kNever);
      begins = at::sub(count, queries);
    }
    if (band.hides()) {
      const Tensor hidden = begins.defined() ? unseen(queries, keys, begins, band, scores)
                                             : unseen(queries, keys, before, band, scores);
      scores = at::masked_fill(scores, hidden, kNever);
    }
    steps[2] = scores;
    // A query that sees nothing gives 0.
    steps[3] = at::masked_fill(at::softmax(scores, -1),
                               at::all(at::isneginf(scores), -1, /*keepdim=*/true), 0);
    const Tensor y = product_by_groups(steps[3], v);
    out[0].tensor = is_flat ? merge_heads(y) : y;
    if (out.size() > 1) out[1].tensor = k;
    if (out.size() > 2) out[2].tensor = v;
    if (out.size() > 3) out[3].tensor = steps.at(static_cast<std::size_t>(mode));
  });
}

constexpr KernelRow kRows[] = {
    {"Attention", make_attention},
    {"RotaryEmbedding", make_rotary},
    {"com.microsoft.GroupQueryAttention", make_grouped_attention},
    {"com.microsoft.RotaryEmbedding", make_contrib_rotary},
};

}  // namespace

std::span<const KernelRow> decoder_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
