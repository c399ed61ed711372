/// @file
/// The layers of a network, recognised from its ops. Rules that speak of "a layer" use them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/export.h"
#include "berth/graph.h"
#include "berth/support/index.h"
#include "berth/types.h"

namespace berth {

using LayerId = std::int32_t;
inline constexpr LayerId kNoLayer = -1;

enum class LayerKind : std::uint8_t {
  recurrent,  ///< one step of an LSTM layer, or a recurrent op that computes all steps
  convolution,
  pooling,
  dense,  ///< a matrix product with weights
  join,   ///< concatenates convolution or pooling layers: the end of parallel branches
};

struct Layer {
  LayerKind kind;
  OpId op;  ///< the op that defines the layer; for an LSTM step, the Split into its four gates
  /// The parameter or variable that the layer multiplies by; kNoTensor if none is found. Steps with
  /// the same weights form one recurrent layer.
  TensorId weights;
  std::int32_t depth;  ///< number of layers on the longest path up to and including this one; >= 1
};

/// Which layer each op belongs to.
///
/// A layer is the op that defines it and everything computed from that op before the next layer:
/// bias, normalization, activation. An op after several layers belongs to the deepest. An op before
/// all layers belongs to the layer that it serves (its weights, for example), or to none if it
/// serves several or none.
///
/// An LSTM step written in elementary ops is recognised by its gates: a Split into four, three of
/// which lead to Sigmoid and one to Tanh. The step also takes the product before the Split, and
/// what serves nothing else (the concatenation of input and state, the lookup of a word).
///
/// Grouping by layers creates no cycle: an op of one layer never depends on an op of a layer that
/// is later in (depth, id).
///
/// Op names matter in two cases. A gradient that nothing else assigns belongs to the layer that its
/// name says ("gradients/X_grad/..." to the layer of X, as TensorFlow names them). Together with op
/// types ("...Grad", "...Backprop..."), names tell gradients from the forward pass.
///
/// Construction takes time in proportion to ops and edges. [thread-safe: immutable]
class BERTH_EXPORT Layers {
 public:
  explicit Layers(const Graph& graph);

  /// In topological order of Layer::op.
  [[nodiscard]] std::span<const Layer> all() const noexcept { return layers_; }
  [[nodiscard]] const Layer& operator[](LayerId layer) const noexcept { return layers_[at(layer)]; }
  [[nodiscard]] LayerId of(OpId op) const noexcept { return layer_of_[at(op)]; }
  /// False for gradients and for everything computed from them.
  [[nodiscard]] bool forward(OpId op) const noexcept { return forward_[at(op)]; }

 private:
  std::vector<Layer> layers_;
  std::vector<LayerId> layer_of_;
  std::vector<bool> forward_;
};

}  // namespace berth
