// The layers of a network, read from its ops: what rules that speak of "a layer" go by.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/export.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth {

using LayerId = std::int32_t;
inline constexpr LayerId kNoLayer = -1;

enum class LayerKind : std::uint8_t {
  recurrent,    ///< one step of an LSTM layer, or a recurrent op that does all of them
  convolution,  ///<
  pooling,      ///<
  dense,        ///< a matrix product with weights
  join,         ///< concatenates convolution or pooling layers (the end of parallel branches)
};
[[nodiscard]] BERTH_EXPORT std::string_view layer_kind_name(LayerKind kind) noexcept;

struct Layer {
  LayerKind kind;
  OpId op;  ///< the op that makes it; of an LSTM step the Split into its four gates
  /// The parameter or variable that it multiplies by, kNoTensor where none is seen. Steps with the
  /// same weights are one recurrent layer.
  TensorId weights;
  std::int32_t depth;  ///< layers on the longest path to and with this one; 1 = the first
};

/// Which layer each op belongs to.
///
/// A layer is the op that makes it and what is computed from it before the next one: bias,
/// normalization, activation. An op behind several layers belongs to the deepest. An LSTM step
/// written in elementary ops is recognised by its gates (a Split in four, three of which lead to
/// Sigmoid and one to Tanh) and also takes the product before them and what serves nothing else
/// (concatenation of input and state, lookup of a word). Ops behind no layer belong to the one that
/// they serve (its weights), and to none where they serve several or none.
///
/// Going by layers creates no cycle: no op that is behind a layer depends on one that comes after
/// its own in (depth, id). Names matter only for gradients that say no more than where they come
/// from
/// ("gradients/X_grad/..." belongs to the layer of X, as TensorFlow names them) and for telling
/// them from the forward pass, beside the op types ("...Grad", "...Backprop...").
///
/// Takes time in proportion to ops and edges. [thread-safe: immutable]
class BERTH_EXPORT Layers {
 public:
  explicit Layers(const Graph& graph);

  /// In topological order of `Layer::op`.
  [[nodiscard]] std::span<const Layer> all() const noexcept { return layers_; }
  [[nodiscard]] const Layer& operator[](LayerId layer) const noexcept {
    return layers_[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] LayerId of(OpId op) const noexcept {
    return layer_of_[static_cast<std::size_t>(op)];
  }
  /// False for gradients and for all that is computed from them.
  [[nodiscard]] bool forward(OpId op) const noexcept {
    return forward_[static_cast<std::size_t>(op)];
  }

 private:
  std::vector<Layer> layers_;
  std::vector<LayerId> layer_of_;
  std::vector<bool> forward_;
};

}  // namespace berth
