#include "embedding.h"

#include <algorithm>

#include "message_passing.h"
#include "pooling.h"

namespace berth::placeto {

Embedding::Embedding(const EmbeddingShape& shape) : shape_(shape) {
  const std::size_t node = shape_.features;
  const std::size_t both = shape_.node_width();
  self_ = perceptron("self", shape_.layers + 1, node);
  if (shape_.rounds > 0) {
    const char* const names[2] = {"top_down", "bottom_up"};
    for (std::size_t direction = 0; direction < 2; ++direction) {
      message_[direction] = perceptron(std::string(names[direction]) + ".f", shape_.layers, node);
      update_[direction] = perceptron(std::string(names[direction]) + ".g", shape_.layers, node);
    }
  }
  const auto add_pool = [&](const std::string& name) {
    pool_in_.push_back(perceptron(name + ".l", shape_.layers, both));
    pool_out_.push_back(perceptron(name + ".h", shape_.layers, both));
  };
  const char* const sets[kRelations] = {"ancestors", "descendants", "parallel"};
  for (std::size_t k = 0; k < shape_.sets(); ++k) {
    add_pool(shape_.pooling == Pooling::one ? "all" : sets[k]);
  }
  if (shape_.by_device) add_pool("device");
}

Perceptron Embedding::perceptron(const std::string& name, std::size_t layers, std::size_t width) {
  Perceptron result;
  for (std::size_t l = 0; l < layers; ++l) {
    result.push_back(layers_.add(name + "." + std::to_string(l), width, width));
  }
  return result;
}

void Embedding::set_parameters(std::span<const float> flat) {
  for (const DenseLayer& layer : layers_.all()) {
    const float* const weight = flat.data() + layer.flat;
    layers_.set(layer, weight, weight + layer.out * layer.in);
  }
}

void Embedding::add_gradient(const float* gradient, std::span<float> flat_gradient) const {
  for (const DenseLayer& layer : layers_.all()) {
    float* const weight = flat_gradient.data() + layer.flat;
    DenseLayers::add_gradient(layer, gradient, weight, weight + layer.out * layer.in);
  }
}

/// Values of one state's pass through the network.
struct Embedding::Values {
  /// Null memory in the arena: only what it takes is of use.
  Values(const Embedding& e, const StateView& view, Tape& tape, Arena& arena)
      : shape(e.shape_),
        groups(view.graph->count),
        features{view.features, groups, padded(shape.features)},
        self(arena.activations(shape.layers + 1, groups, features.width)),
        directions{{shape, e.message_[0], e.update_[0], view.graph->parents, view.graph->children,
                    /*top_down=*/true, groups, arena},
                   {shape, e.message_[1], e.update_[1], view.graph->children, view.graph->parents,
                    /*top_down=*/false, groups, arena}},
        joined(arena.rows(groups, padded(shape.node_width()))),
        sets(shape, e.pool_in_, e.pool_out_, view, tape.order, arena),
        devices(shape, e.pool_in_, e.pool_out_, view, arena) {}

  /// The start of both directions.
  [[nodiscard]] ConstRows h() const { return self.layer(shape.layers); }

  /// X = [top-down; bottom-up].
  void join() {
    const std::size_t d = shape.features;
    const ConstRows down = directions[0].result(h()), up = directions[1].result(h());
    for (std::size_t v = 0; v < groups; ++v) {
      float* const row = joined.row(v);
      std::copy_n(down.row(v), d, row);
      std::copy_n(up.row(v), d, row + d);
      std::fill_n(row + 2 * d, joined.width - 2 * d, 0.0F);
    }
  }

  const EmbeddingShape& shape;
  std::size_t groups;
  ConstRows features;
  Activations self;
  MessagePassing directions[2];
  Rows joined;
  SetPools sets;
  DevicePools devices;
};

/// Scratch of the backward pass.
struct Embedding::Gradients {
  Gradients(const Values& values, const StateView& view, Arena& arena)
      : joined(arena.rows(values.groups, values.joined.width)) {
    const std::size_t groups = values.groups;
    const std::size_t narrow = values.features.width, wide = values.joined.width;
    const std::size_t pools = std::max<std::size_t>(1, view.devices);
    messages = {arena.rows(groups, narrow), arena.rows(groups, narrow), arena.rows(groups, narrow),
                arena.rows(groups, narrow), arena.rows(1, narrow)};
    pool = {arena.rows(pools, wide), arena.rows(pools, wide), arena.rows(groups, wide),
            arena.rows(groups, wide)};
    spare = arena.rows(std::max(groups, pools), wide);
  }

  /// The part of X that a direction gave, as the gradient of its result.
  void split(std::size_t direction, std::size_t d) const {
    for (std::size_t v = 0; v < joined.count; ++v) {
      float* const row = messages.x.row(v);
      std::copy_n(joined.row(v) + direction * d, d, row);
      std::fill_n(row + d, messages.x.width - d, 0.0F);
    }
  }

  Rows joined;  ///< of X
  MessageGradients messages;
  PoolGradients pool;
  Rows spare;  ///< between the layers of a perceptron
};

void Embedding::forward(const StateView& view, Tape& tape, float* state, float* by_device) const {
  Values values = on_tape(view, tape);
  const Perceptrons run(layers_, /*gradient=*/nullptr, /*spare=*/{});
  run.forward(self_, values.features, values.self, /*last_relu=*/false);
  for (MessagePassing& direction : values.directions) direction.forward(run, values.h());
  values.join();
  values.sets.forward(run, values.joined, state);
  const std::size_t width = shape_.node_width();
  std::copy_n(values.joined.row(view.current), width, state + shape_.sets() * width);
  if (shape_.by_device) values.devices.forward(run, values.joined, by_device);
}

void Embedding::backward(const StateView& view, const float* d_state, const float* d_by_device,
                         Tape& tape, float* gradient) const {
  Values values = on_tape(view, tape);
  Arena needed;
  static_cast<void>(Gradients(values, view, needed));
  if (tape.gradients.size() < needed.size()) tape.gradients.resize(needed.size());
  Arena arena(tape.gradients.data());
  const Gradients d(values, view, arena);
  const Perceptrons run(layers_, gradient, d.spare);

  clear(d.joined);
  clear(d.messages.h);
  values.sets.find_members();
  values.sets.backward(run, d_state, d.pool, d.joined);
  const std::size_t width = shape_.node_width();
  float* const own = d.joined.row(view.current);
  for (std::size_t i = 0; i < width; ++i) own[i] += d_state[shape_.sets() * width + i];
  if (shape_.by_device) {
    values.devices.backward(run, values.joined, d_by_device, d.pool, d.joined);
  }
  for (std::size_t direction = 0; direction < 2; ++direction) {
    d.split(direction, shape_.features);
    values.directions[direction].backward(run, values.h(), d.messages);
  }
  run.backward(self_, values.features, values.self, d.messages.h.data, /*d_in=*/nullptr,
               /*last_relu=*/false);
}

Embedding::Values Embedding::on_tape(const StateView& view, Tape& tape) const {
  Arena needed;
  static_cast<void>(Values(*this, view, tape, needed));
  if (tape.values.size() < needed.size()) tape.values.resize(needed.size());
  Arena arena(tape.values.data());
  return Values(*this, view, tape, arena);
}

}  // namespace berth::placeto
