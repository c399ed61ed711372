// Fused ops of exported transformers (com.microsoft).
#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "berth/error.h"
#include "runtime/onnx/heads.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

// The addend to the scores of [batch, heads, queries, keys] for a mask in any of its forms.
Tensor mask_scores(const Tensor& mask, std::int64_t batch, std::int64_t keys, double filter) {
  Tensor seen;
  if (mask.dim() == 1) {  // keys per sequence, or where each ends and then where it begins
    if (mask.size(0) != batch && mask.size(0) != 2 * batch) {
      throw Error(ErrorCode::unsupported, "no kernel for a mask of length " +
                                              std::to_string(mask.size(0)) + " and batch " +
                                              std::to_string(batch));
    }
    const Tensor at_key = at::arange(keys, mask.options()).unsqueeze(0);
    seen = at::lt(at_key, mask.narrow(0, 0, batch).unsqueeze(1));
    if (mask.size(0) == 2 * batch) {
      seen = at::logical_and(seen, at::ge(at_key, mask.narrow(0, batch, batch).unsqueeze(1)));
    }
    seen = seen.reshape({batch, 1, 1, keys});
  } else if (mask.dim() == 2) {
    seen = at::ne(mask, 0).reshape({batch, 1, 1, keys});
  } else {
    seen = at::ne(mask.dim() == 3 ? mask.unsqueeze(1) : mask, 0);
  }
  return at::mul(at::logical_not(seen), filter).to(at::kFloat);
}

struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;
  double scale = 0;  // 0 = 1 / sqrt(head size)
  double filter = -10000;

  explicit AttentionOptions(const Instruction& op)
      : heads(int_attribute(op, "num_heads", 1)),
        causal(int_attribute(op, "unidirectional", 0) != 0),
        scale(float_attribute(op, "scale", 0)),
        filter(float_attribute(op, "mask_filter_value", -10000)) {
    for (const char* const name : {"do_rotary", "past_present_share_buffer"}) {
      if (int_attribute(op, name, 0) != 0) refuse_attribute(name, "1");
    }
    if (heads < 1) refuse_attribute("num_heads", std::to_string(heads));
  }
};

// q, k, v: [batch, heads, length, size]; `mask` and `bias` may be undefined. `past`: of the keys, those before the first
// query's own.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const Tensor& bias, std::int64_t past, const AttentionOptions& options) {
  const double scale =
      options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  Tensor scores = at::mul(product(q, k.transpose(2, 3)), scale);
  if (bias.defined()) scores = at::add(scores, bias);
  const std::int64_t queries = q.size(2);
  const std::int64_t keys = k.size(2);
  if (mask.defined()) {
    // A mask of [batch, 1, longest, longest] covers more than this step.
    Tensor added =
        mask_scores(mask, q.size(0), mask.dim() == 4 ? mask.size(3) : keys, options.filter);
    if (mask.dim() == 4) added = added.narrow(2, past, queries).narrow(3, 0, keys);
    scores = at::add(scores, added.to(scores.scalar_type()));
  }
  if (options.causal) {
    const Tensor seen =
        at::tril(at::ones({queries, keys}, scores.options().dtype(at::kBool)), past);
    // Among keys of other lengths too, ONNX Runtime lets the last query see all.
    if (queries > 0) seen.select(0, queries - 1).fill_(true);
    scores = at::masked_fill(scores, at::logical_not(seen), std::numeric_limits<float>::lowest());
  }
  return merge_heads(product(at::softmax(scores, -1), v));
}

// Inputs: x, weights of q, k and v side by side, bias?, mask?, past?, attention bias?. Past and
// present are [2, batch, heads, length, size].
Kernel make_attention(const KernelRequest& request) {
  const AttentionOptions options(request.instruction);
  const Ints sizes = ints_attribute(request.instruction, "qkv_hidden_sizes").value_or(Ints{});
  if (!sizes.empty() && sizes.size() != 3) refuse_attribute("qkv_hidden_sizes", "not three sizes");
  return widened([options, sizes](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Tensor all = product(x, tensor_at(in, 1));
    if (has(in, 2)) all = at::add(all, tensor_at(in, 2));
    Ints parts = sizes;
    if (parts.empty()) parts.assign(3, all.size(2) / 3);
    const auto qkv = at::split_with_sizes(all, parts, 2);
    const Tensor q = split_heads(qkv[0], options.heads);
    Tensor k = split_heads(qkv[1], options.heads);
    Tensor v = split_heads(qkv[2], options.heads);
    std::int64_t before = 0;
    if (has(in, 4)) {
      const Tensor& past = tensor_at(in, 4);
      before = past.size(3);
      k = at::cat({past.select(0, 0), k}, 2);
      v = at::cat({past.select(0, 1), v}, 2);
    }
    out[0].tensor = attend(q, k, v, optional_at(in, 3), optional_at(in, 5), before, options);
    if (out.size() > 1) out[1].tensor = at::stack({k, v});
  });
}

// Inputs: q (or all packed), k?, v?, bias?, key mask?, attention bias?, past k?, past v?.
Kernel make_multi_head_attention(const KernelRequest& request) {
  const AttentionOptions options(request.instruction);
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    Tensor q = tensor_at(in, 0);
    Tensor k = optional_at(in, 1);
    Tensor v = optional_at(in, 2);
    if (q.dim() == 5) {  // [batch, length, heads, 3, size]
      v = q.select(3, 2).transpose(1, 2);
      k = q.select(3, 1).transpose(1, 2);
      q = q.select(3, 0).transpose(1, 2);
    } else if (k.defined() && k.dim() == 5) {  // [batch, length, heads, 2, size]
      v = k.select(3, 1).transpose(1, 2);
      k = k.select(3, 0).transpose(1, 2);
    }
    if (!k.defined() || !v.defined()) {
      throw Error(ErrorCode::unsupported, "no kernel for queries without keys and values");
    }
    Tensor* const parts[] = {&q, &k, &v};
    std::int64_t from = 0;
    for (Tensor* const part : parts) {
      if (has(in, 3) && part->dim() == 3) {
        *part = at::add(*part, tensor_at(in, 3).narrow(0, from, part->size(2)));
        from += part->size(2);
      }
      *part = split_heads(*part, options.heads);
    }
    const std::int64_t past = has(in, 6) ? tensor_at(in, 6).size(2) : 0;
    if (has(in, 6)) k = at::cat({tensor_at(in, 6), k}, 2);
    if (has(in, 7)) v = at::cat({tensor_at(in, 7), v}, 2);
    out[0].tensor = attend(q, k, v, optional_at(in, 4), optional_at(in, 5), past, options);
    if (out.size() > 1) out[1].tensor = k;
    if (out.size() > 2) out[2].tensor = v;
  });
}

// --- normalizations ------------------------------------------------------------------------------

// Inputs: x, skip, scale, shift?, bias?. `simplified`: without the mean, and without a shift.
template <bool simplified>
Kernel make_skip_layer_norm(const KernelRequest& request) {
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-12);
  return widened(
      [epsilon](KernelContext&, Inputs in, Outputs out) {
        Tensor sum = at::add(tensor_at(in, 0), tensor_at(in, 1));
        const Tensor bias = optional_at(in, simplified ? 3 : 4);
        if (bias.defined()) sum = at::add(sum, bias);
        const Tensor& scale = tensor_at(in, 2);
        if (simplified) {
          const Tensor inverse =
              at::rsqrt(at::add(at::mean(at::square(sum), at::IntArrayRef{-1}, true), epsilon));
          out[0].tensor = at::mul(at::mul(sum, inverse), scale);
          if (out.size() > 2) out[2].tensor = inverse;
        } else {
          const auto [y, mean, inverse] = at::native_layer_norm(
              sum, sum.sizes().slice(sum.dim() - 1), scale, optional_at(in, 3), epsilon);
          out[0].tensor = y;
          if (out.size() > 1) out[1].tensor = mean;
          if (out.size() > 2) out[2].tensor = inverse;
        }
        if (out.size() > 3) out[3].tensor = sum;
      },
      /*like=*/{0, kInF32, kInF32});
}

// Inputs: words, segments?, embeddings of words, of positions, of segments?, scale, shift, mask?,
// positions?. Its second output is how many words of each sequence the mask shows.
Kernel make_embed_layer_norm(const KernelRequest& request) {
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-12);
  return widened([epsilon](KernelContext&, Inputs in, Outputs out) {
    const Tensor words = tensor_at(in, 0).to(at::kLong);
    const std::int64_t length = words.size(1);
    const Tensor positions =
        has(in, 8) ? tensor_at(in, 8).to(at::kLong) : at::arange(length, words.options());
    Tensor sum =
        at::add(at::embedding(tensor_at(in, 2), words), at::embedding(tensor_at(in, 3), positions));
    if (has(in, 4)) {  // words without a segment are in the first
      const Tensor& segments = tensor_at(in, 4);
      sum = at::add(sum, has(in, 1) ? at::embedding(segments, tensor_at(in, 1).to(at::kLong))
                                    : segments.select(0, 0));
    }
    out[0].tensor =
        at::layer_norm(sum, {sum.size(-1)}, tensor_at(in, 5), tensor_at(in, 6), epsilon);
    if (out.size() > 1) {
      const Tensor mask = optional_at(in, 7);
      out[1].tensor = mask.defined() ? at::sum(at::ne(mask, 0), at::IntArrayRef{1}, false, at::kInt)
                                     : at::zeros({words.size(0)}, words.options().dtype(at::kInt));
    }
    if (out.size() > 2) out[2].tensor = sum;
  });
}

constexpr KernelRow kRows[] = {
    {"com.microsoft.Attention", make_attention},
    {"com.microsoft.EmbedLayerNormalization", make_embed_layer_norm},
    {"com.microsoft.MultiHeadAttention", make_multi_head_attention},
    {"com.microsoft.SkipLayerNormalization", make_skip_layer_norm<false>},
    {"com.microsoft.SkipSimplifiedLayerNormalization", make_skip_layer_norm<true>},
};

}  // namespace

std::span<const KernelRow> attention_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
