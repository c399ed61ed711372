// Additive attention. The sums of every query with every key would be the largest tensor by far, so
// the backward pass computes them again.
//
// With a = exp(2q) and b = exp(2k), which are made once per query and key,
//   tanh(q + k) = 1 - 2 / (1 + a b),
// so that a term costs a division in place of an exponential.
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstddef>

#include "sequence_layers.h"

// The inner loops once per instruction set; which one runs is decided when the library is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define BERTH_EVERY_MACHINE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BERTH_EVERY_MACHINE
#endif

namespace berth::learning {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::size_t kLane = 16;
using Vector =
    float __attribute__((vector_size(kLane * sizeof(float)), aligned(sizeof(float)), may_alias));

/// exp(2 * kBound) squared is still finite, and tanh of kBound is 1 in single precision.
constexpr double kBound = 20;
/// Queries of one task: gradients of keys are summed over tasks, in order.
constexpr std::int64_t kTasks = 8;

struct Loop {
  const float* queries;  ///< exp(2q) [count, width]
  const float* keys;     ///< exp(2k) [key_count, width]
  const float* weights;  ///< [width]
  std::size_t key_count;
  std::size_t width;  ///< a multiple of kLane
};

/// scores[q, k] without the sum of weights: -2 * sum of weights / (1 + a b).
BERTH_EVERY_MACHINE void score(const Loop& loop, std::size_t begin, std::size_t end,
                               float* scores) {
  for (std::size_t q = begin; q < end; ++q) {
    const float* const a = loop.queries + q * loop.width;
    for (std::size_t k = 0; k < loop.key_count; ++k) {
      const float* const b = loop.keys + k * loop.width;
      Vector sum{};
      for (std::size_t i = 0; i < loop.width; i += kLane) {
        const auto& x = *reinterpret_cast<const Vector*>(a + i);
        const auto& y = *reinterpret_cast<const Vector*>(b + i);
        sum += *reinterpret_cast<const Vector*>(loop.weights + i) / (1.0F + x * y);
      }
      float total = 0;
      for (std::size_t i = 0; i < kLane; ++i) total += sum[i];
      scores[q * loop.key_count + k] = -2 * total;
    }
  }
}

/// Adds the gradients; `d_keys` and `d_weights` are this task's own.
BERTH_EVERY_MACHINE void score_back(const Loop& loop, std::size_t begin, std::size_t end,
                                    const float* d_scores, float* d_queries, float* d_keys,
                                    float* d_weights) {
  for (std::size_t q = begin; q < end; ++q) {
    const float* const a = loop.queries + q * loop.width;
    float* const dq = d_queries + q * loop.width;
    for (std::size_t k = 0; k < loop.key_count; ++k) {
      const float* const b = loop.keys + k * loop.width;
      float* const dk = d_keys + k * loop.width;
      const float d = d_scores[q * loop.key_count + k];
      for (std::size_t i = 0; i < loop.width; i += kLane) {
        const auto& x = *reinterpret_cast<const Vector*>(a + i);
        const auto& y = *reinterpret_cast<const Vector*>(b + i);
        const Vector r = 1.0F / (1.0F + x * y);
        // 1 - tanh^2 = 4 r (1 - r)
        const Vector inner =
            *reinterpret_cast<const Vector*>(loop.weights + i) * (4 * d) * r * (1.0F - r);
        *reinterpret_cast<Vector*>(dq + i) += inner;
        *reinterpret_cast<Vector*>(dk + i) += inner;
        *reinterpret_cast<Vector*>(d_weights + i) += d * (1.0F - 2.0F * r);
      }
    }
  }
}

torch::Tensor doubled_exp(const torch::Tensor& x) {
  return x.clamp(-kBound, kBound).mul_(2).exp_().contiguous();
}

template <typename Work>
void for_tasks(std::int64_t count, const Work& work) {
  at::parallel_for(0, kTasks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      work(task, static_cast<std::size_t>(task * count / kTasks),
           static_cast<std::size_t>((task + 1) * count / kTasks));
    }
  });
}

Loop loop_of(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& v) {
  return {a.data_ptr<float>(), b.data_ptr<float>(), v.data_ptr<float>(),
          static_cast<std::size_t>(b.size(0)), static_cast<std::size_t>(b.size(1))};
}

/// Without the sum of weights.
torch::Tensor scores_of(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& v) {
  torch::Tensor scores = torch::empty({a.size(0), b.size(0)});
  const Loop loop = loop_of(a, b, v);
  for_tasks(a.size(0), [&](std::int64_t, std::size_t begin, std::size_t end) {
    score(loop, begin, end, scores.data_ptr<float>());
  });
  return scores;
}

class AdditiveScores : public torch::autograd::Function<AdditiveScores> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& queries,
                               const torch::Tensor& keys, const torch::Tensor& weights) {
    const torch::Tensor a = doubled_exp(queries), b = doubled_exp(keys);
    const torch::Tensor v = weights.contiguous();
    context->save_for_backward({a, b, v});
    return scores_of(a, b, v).add_(v.sum());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &a = saved[0], &b = saved[1], &v = saved[2];
    const torch::Tensor d_scores = gradients[0].contiguous();
    torch::Tensor d_queries = torch::zeros_like(a);
    torch::Tensor d_keys = torch::zeros({kTasks, b.size(0), b.size(1)});
    torch::Tensor d_weights = torch::zeros({kTasks, b.size(1)});
    const Loop loop = loop_of(a, b, v);
    for_tasks(a.size(0), [&](std::int64_t task, std::size_t begin, std::size_t end) {
      score_back(loop, begin, end, d_scores.data_ptr<float>(), d_queries.data_ptr<float>(),
                 d_keys.data_ptr<float>() + task * b.numel(),
                 d_weights.data_ptr<float>() + task * v.numel());
    });
    return {d_queries, d_keys.sum(0), d_weights.sum(0)};
  }
};

}  // namespace

torch::Tensor additive_scores(const torch::Tensor& queries, const torch::Tensor& keys,
                              const torch::Tensor& weights) {
  return AdditiveScores::apply(queries, keys, weights);
}

AdditiveAttention::AdditiveAttention(const torch::Tensor& keys, const torch::Tensor& weights)
    : keys_(doubled_exp(keys)), weights_(weights.contiguous()), weights_sum_(weights.sum()) {}

torch::Tensor AdditiveAttention::scores(const torch::Tensor& queries) const {
  return scores_of(doubled_exp(queries), keys_, weights_).add_(weights_sum_);
}

}  // namespace berth::learning
