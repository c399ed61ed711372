// Sets of groups as one row each: relu(h(sum over the members of relu(l(X)))), forward and
// backward.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "buffers.h"
#include "embedding.h"
#include "perceptrons.h"

namespace berth::placeto {

/// Gradients that the way back works in; rows are as wide as those of X.
struct PoolGradients {
  Rows pooled;   ///< of the results of h, [pools]
  Rows sums;     ///< [pools]
  Rows members;  ///< of the results of l, [groups]
  Rows rows;     ///< of the rows of X, [groups]
};

/// Pools by where groups stand to the one that is placed. Pools do not overlap, and the group
/// itself is in none.
class SetPools {
 public:
  /// Takes its buffers from `arena`; `order` is reused.
  SetPools(const EmbeddingShape& shape, std::span<const Perceptron> in,
           std::span<const Perceptron> out, const StateView& view, std::vector<std::int32_t>& order,
           Arena& arena);

  /// Which groups are in which set; forward does it itself.
  void find_members();
  /// `pooled`: [sets, node_width()].
  void forward(const Perceptrons& run, ConstRows x, float* pooled);
  /// Adds to `d_x`; find_members comes first.
  void backward(const Perceptrons& run, const float* d_pooled, PoolGradients d, Rows d_x) const;

 private:
  [[nodiscard]] bool holds(std::size_t set, std::size_t group) const;

  const EmbeddingShape& shape_;
  std::span<const Perceptron> in_, out_;
  const StateView& view_;
  std::vector<std::int32_t>& order_;  ///< the members of each set, one after the other
  std::size_t begin_[kRelations + 1] = {};
  Rows rows_;            ///< of X, in order
  Activations members_;  ///< l of them
  Rows sums_;            ///< [sets]
  Activations pooled_;   ///< h of them
};

/// Pools by the device that groups are on now, without the one that is placed. Without devices in
/// the shape it holds nothing.
class DevicePools {
 public:
  DevicePools(const EmbeddingShape& shape, std::span<const Perceptron> in,
              std::span<const Perceptron> out, const StateView& view, Arena& arena);

  /// `pooled`: [devices, node_width()].
  void forward(const Perceptrons& run, ConstRows x, float* pooled);
  /// Adds to `d_x`.
  void backward(const Perceptrons& run, ConstRows x, const float* d_pooled, PoolGradients d,
                Rows d_x) const;

 private:
  [[nodiscard]] std::size_t device_of(std::size_t group) const {
    return static_cast<std::size_t>(view_.placement[group]);
  }
  void divide_by_members(Rows sums) const;

  const EmbeddingShape& shape_;
  std::span<const Perceptron> in_, out_;  ///< the device's are the last
  const StateView& view_;
  Activations members_;
  Rows sums_;  ///< [devices]
  Activations pooled_;
};

}  // namespace berth::placeto
