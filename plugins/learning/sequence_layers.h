// Layers of sequence networks, with gradients of their own: a whole sequence is one node of the
// tape, so that the products over all its steps are one product.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace berth::learning {

/// State of LSTM cells, [batch, hidden] each.
struct LstmState {
  torch::Tensor hidden;
  torch::Tensor cell;
};

/// One step (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000): `gates`
/// [batch, 4 * hidden] is what the inputs add to the gates, in the order input, forget, output,
/// candidate; `recurrent` is [hidden, 4 * hidden]. Overwrites `gates` with the gates' values and
/// `state` with the next one. No gradients.
void lstm_step(torch::Tensor& gates, const torch::Tensor& recurrent, LstmState& state);

struct LstmSequence {
  torch::Tensor hidden;  ///< [steps, batch, hidden] after each step
  torch::Tensor cell;    ///< [batch, hidden] after the last
};

/// All steps of `gates` [steps, batch, 4 * hidden], first to last, steps >= 1; differentiable in
/// all its arguments.
[[nodiscard]] LstmSequence lstm(const torch::Tensor& gates, const torch::Tensor& recurrent,
                                const LstmState& initial);

/// Scores of additive attention (Bahdanau et al., ICLR 2015): scores[q, k] = sum over i of
/// weights[i] * tanh(queries[q, i] + keys[k, i]), for queries [q, width], keys [k, width], weights
/// [width], a multiple of 16; differentiable in all three. Memory is in proportion to the scores,
/// not to the sums.
[[nodiscard]] torch::Tensor additive_scores(const torch::Tensor& queries, const torch::Tensor& keys,
                                            const torch::Tensor& weights);

/// additive_scores for many calls with the same keys, without gradients.
class AdditiveAttention {
 public:
  AdditiveAttention(const torch::Tensor& keys, const torch::Tensor& weights);
  [[nodiscard]] torch::Tensor scores(const torch::Tensor& queries) const;

 private:
  torch::Tensor keys_, weights_, weights_sum_;
};

}  // namespace berth::learning
