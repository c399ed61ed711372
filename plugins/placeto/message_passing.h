// Messages along the edges of a graph, in one direction: what a group hears from the groups before
// it (top-down) or after it (bottom-up), forward and backward.
//
//   x <- self term + [N(v) not empty] relu(g(sum over N(v) of relu(f(x))))
#pragma once

#include <vector>

#include "buffers.h"
#include "embedding.h"
#include "perceptrons.h"

namespace berth::placeto {

/// Gradients that the way back works in, [groups, width] each.
struct MessageGradients {
  Rows x;         ///< of a round's result; given for the last one, spent
  Rows h;         ///< of h; added to
  Rows input;     ///< of a perceptron's input
  Rows messages;  ///< of f's results, and of g's before them
  Rows row;       ///< one row of g's results
};

class MessagePassing {
 public:
  /// Takes its buffers from `arena`. Messages go from `sources` of a group to the group;
  /// `receivers` is the reverse of `sources`.
  MessagePassing(const EmbeddingShape& shape, const Perceptron& message, const Perceptron& update,
                 const Neighbours& sources, const Neighbours& receivers, bool top_down,
                 std::size_t groups, Arena& arena);

  /// From the same start h in all directions.
  void forward(const Perceptrons& run, ConstRows h);
  /// The result of forward: [groups, width].
  [[nodiscard]] ConstRows result(ConstRows h) const {
    return rounds_ == 0 ? h : ConstRows(round(rounds_ - 1).x);
  }
  void backward(const Perceptrons& run, ConstRows h, MessageGradients d) const;

 private:
  /// Values of one round; a sweep is one round.
  struct Round {
    Activations heard;   ///< f of every group
    Rows sums;           ///< of what the neighbours said
    Activations change;  ///< g of the sums
    Rows x;
  };
  [[nodiscard]] Round round(std::size_t r) const;

  void rounds(const Perceptrons& run, ConstRows h);
  void rounds_back(const Perceptrons& run, ConstRows h, MessageGradients d) const;
  void sweep(const Perceptrons& run, ConstRows h);
  void sweep_back(const Perceptrons& run, ConstRows h, MessageGradients d) const;

  /// The i-th group of a sweep.
  [[nodiscard]] std::size_t swept(std::size_t i) const { return top_down_ ? i : groups_ - 1 - i; }
  /// visit(u) for the sources of `v` that a sweep has been to before it.
  template <typename Visit>
  void each_heard(std::size_t v, Visit&& visit) const;
  [[nodiscard]] std::size_t heard_count(std::size_t v) const;
  /// out = the self term + `change`, where the round began with `now`.
  void add_self_term(const Kernels& kernels, ConstRows now, ConstRows h, ConstRows change,
                     Rows out) const;
  /// The gradients of means over the neighbours made those of the sums.
  void divide_by_degree(Rows rows) const;

  const EmbeddingShape& shape_;
  const Perceptron& message_;
  const Perceptron& update_;
  const Neighbours& sources_;
  const Neighbours& receivers_;
  bool top_down_;
  std::size_t groups_, width_, rounds_;
  Rows values_;  ///< of all rounds
};

}  // namespace berth::placeto
