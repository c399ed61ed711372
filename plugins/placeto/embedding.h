// The network's body: from the features of all groups to an embedding of the state around the group
// that is to be placed, and the gradient of its parameters. It follows the graph embedding of
// Placeto (Addanki et al., NeurIPS 2019, section on the policy network) and its released code.
//
//   features [groups, d]
//     h = self(features)                                    both directions share it
//     x <- s + [N(v) not empty] relu(g(sum over N(v) of relu(f(x))))
//                                                           rounds, top-down and bottom-up
//   X = [x top-down ; x bottom-up]                          [groups, 2d]
//   per set (ancestors, descendants, parallel): relu(h(sum of relu(l(X))))
//   state = [sets.. ; X of the current group]               [(sets + 1) * 2d]
//   per device (optional): the same pooling over the groups that are on it now   [devices, 2d]
// A mean is the sum divided by the number of its terms (where it has any).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dense_layers.h"
#include "graph_view.h"

namespace berth::placeto {

/// The term that a round adds its message to: h (as in the released code), the result of the round
/// before, or nothing (as in the workshop paper of 2018).
enum class SelfTerm { transform, previous, none };
/// Which sets are pooled: three; one of all other groups (the paper's ablation "simple
/// aggregator"); none.
enum class Pooling { three, one, none };

struct EmbeddingShape {
  std::size_t features = 0;  ///< d
  std::size_t rounds = 8;    ///< k; 0 = no message passing
  bool sweep = false;        ///< one pass in topological order instead of parallel rounds
  SelfTerm self_term = SelfTerm::transform;
  std::size_t layers = 1;  ///< of f, g, l, h; self has one more. Paper 1, code by default 2
  Pooling pooling = Pooling::three;
  bool mean_messages = false;  ///< messages are means, not sums
  bool mean_pools = false;     ///< pools are means, not sums (the code's "normalize-aggs")
  bool by_device = false;

  [[nodiscard]] std::size_t sets() const {
    return pooling == Pooling::three ? kRelations : pooling == Pooling::one ? 1 : 0;
  }
  [[nodiscard]] std::size_t node_width() const { return 2 * features; }
  [[nodiscard]] std::size_t state_width() const { return (sets() + 1) * node_width(); }
};

/// One state of one problem, as the network sees it.
struct StateView {
  const GraphView* graph;
  const float* features;          ///< [groups, padded(d)], padding 0
  std::size_t current;            ///< the group to place
  const std::int32_t* placement;  ///< by group; read only where by_device
  std::size_t devices;
};

/// Immutable but for the parameters. [thread-compatible: forward and backward are const]
class Embedding {
 public:
  explicit Embedding(const EmbeddingShape& shape);

  [[nodiscard]] const EmbeddingShape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<DenseLayer>& layers() const { return layers_.all(); }
  /// Number of parameters.
  [[nodiscard]] std::size_t size() const { return layers_.flat_size(); }
  /// Floats of a gradient, packed.
  [[nodiscard]] std::size_t gradient_size() const { return layers_.packed_size(); }

  /// `flat.size() == size()`.
  void set_parameters(std::span<const float> flat);

  /// Intermediate values of one state, reused. [thread-compatible: one per thread]
  struct Tape {
    std::vector<float> values;
    std::vector<float> gradients;
    std::vector<std::int32_t> order;
  };

  /// `state`: state_width() floats; `by_device`: [devices, node_width()], or null.
  void forward(const StateView& view, Tape& tape, float* state, float* by_device) const;
  /// Adds to `gradient` (gradient_size() floats) that of the parameters, given that of forward's
  /// results. The tape must hold that very forward.
  void backward(const StateView& view, const float* d_state, const float* d_by_device, Tape& tape,
                float* gradient) const;

  /// flat_gradient += gradient.
  void add_gradient(const float* gradient, std::span<float> flat_gradient) const;

 private:
  struct Values;
  struct Gradients;
  /// The values of a state where they lie on the tape, which is made large enough.
  [[nodiscard]] Values on_tape(const StateView& view, Tape& tape) const;
  Perceptron perceptron(const std::string& name, std::size_t layers, std::size_t width);

  EmbeddingShape shape_;
  Perceptron self_;
  Perceptron message_[2], update_[2];           ///< f and g: top-down, bottom-up
  std::vector<Perceptron> pool_in_, pool_out_;  ///< l and h by set, then by device
  DenseLayers layers_;
};

}  // namespace berth::placeto
