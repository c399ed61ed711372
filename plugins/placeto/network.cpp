#include "network.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "berth/random.h"
#include "learning/parameters.h"

namespace berth::placeto {
namespace {

constexpr double kEntropyOffset = 1e-3;  // A2.3

/// A dense layer of the classifier.
struct Dense {
  torch::Tensor weight;  ///< [out, in]
  torch::Tensor bias;    ///< [out]

  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& x) const {
    return torch::matmul(x, weight.t()) + bias;
  }
};

/// fill_glorot for a part of the body.
void fill_glorot(float* weights, std::size_t out, std::size_t in, Random& random) {
  torch::Tensor part = torch::from_blob(weights, {static_cast<std::int64_t>(out * in)});
  learning::fill_glorot(part, static_cast<std::int64_t>(in), static_cast<std::int64_t>(out),
                        random);
}

/// Gradients are summed over this many parts of a batch, in order, so that the sum does not depend
/// on the number of threads.
constexpr std::size_t kParts = 16;

}  // namespace

struct Network::State {
  State(const NetworkShape& network_shape, std::uint64_t seed)
      : shape(network_shape), embedding(network_shape.embedding) {
    Random random(seed);
    body = torch::zeros({static_cast<std::int64_t>(embedding.size())});
    for (const DenseLayer& layer : embedding.layers()) {
      fill_glorot(body.data_ptr<float>() + layer.flat, layer.out, layer.in, random);
    }
    parameters.add("body", body);
    const std::size_t state = shape.embedding.state_width();
    std::size_t in = state;
    if (shape.candidate_features > 0) {
      // The first layer's weights are in two parts: of the state, and of the device.
      const std::size_t device = shape.embedding.node_width() + shape.candidate_features;
      first_of_device = weights("classifier.device", state, device, random);
      direct = torch::zeros({static_cast<std::int64_t>(shape.candidate_features)});
      std::copy(shape.prior.begin(), shape.prior.end(), direct.data_ptr<float>());
      parameters.add("classifier.direct.weight", direct);
    }
    for (std::size_t l = 0; l < shape.hidden_layers; ++l) {
      const bool wide = shape.hidden_layers > 1 && l == 0 && shape.candidate_features == 0;
      const std::size_t out = wide ? 2 * state : state;
      hidden.push_back(dense("classifier." + std::to_string(l), out, in, random));
      in = out;
    }
    last = dense("classifier." + std::to_string(shape.hidden_layers),
                 shape.candidate_features > 0 ? 1 : shape.devices, in, random);
  }

  Dense dense(const std::string& name, std::size_t out, std::size_t in, Random& random) {
    Dense layer{weights(name, out, in, random), torch::zeros({static_cast<std::int64_t>(out)})};
    parameters.add(name + ".bias", layer.bias);
    return layer;
  }

  torch::Tensor weights(const std::string& name, std::size_t out, std::size_t in, Random& random) {
    torch::Tensor result =
        torch::zeros({static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)});
    fill_glorot(result.data_ptr<float>(), out, in, random);
    return parameters.add(name + ".weight", result);
  }

  /// Runs `work(begin, end, tape)` for all states of each part, parts in parallel.
  template <typename Work>
  void for_parts(std::size_t count, const Work& work) {
    tapes.resize(kParts);
    at::parallel_for(0, kParts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto part = static_cast<std::size_t>(begin); part < static_cast<std::size_t>(end);
           ++part) {
        work(part * count / kParts, (part + 1) * count / kParts, tapes[part]);
      }
    });
  }

  void load_body() {
    if (!body_changed) return;
    embedding.set_parameters({body.data_ptr<float>(), embedding.size()});
    body_changed = false;
  }

  struct Embedded {
    torch::Tensor state;      ///< [states, state_width]
    torch::Tensor by_device;  ///< [states, devices, node_width]; undefined in the one-hot form
  };

  Embedded embed(const StateBatch& batch) {
    load_body();
    const std::size_t count = batch.states.size();
    const std::size_t state_width = shape.embedding.state_width();
    const std::size_t device_width = batch.devices * shape.embedding.node_width();
    Embedded out;
    out.state =
        torch::empty({static_cast<std::int64_t>(count), static_cast<std::int64_t>(state_width)});
    if (shape.embedding.by_device) {
      out.by_device =
          torch::empty({static_cast<std::int64_t>(count), static_cast<std::int64_t>(batch.devices),
                        static_cast<std::int64_t>(shape.embedding.node_width())});
    }
    float* const states = out.state.data_ptr<float>();
    float* const devices = shape.embedding.by_device ? out.by_device.data_ptr<float>() : nullptr;
    for_parts(count, [&](std::size_t begin, std::size_t end, Embedding::Tape& tape) {
      for (std::size_t s = begin; s < end; ++s) {
        embedding.forward(batch.states[s], tape, states + s * state_width,
                          devices == nullptr ? nullptr : devices + s * device_width);
      }
    });
    return out;
  }

  /// Adds the gradient of the body, given that of its results; computes forward again, which is
  /// cheaper than keeping every state's values.
  void embed_back(const StateBatch& batch, const Embedded& embedded) {
    const std::size_t count = batch.states.size();
    const std::size_t state_width = shape.embedding.state_width();
    const std::size_t device_width = batch.devices * shape.embedding.node_width();
    const torch::Tensor d_state = embedded.state.grad().contiguous();
    const torch::Tensor d_device =
        shape.embedding.by_device ? embedded.by_device.grad().contiguous() : torch::Tensor();
    const float* const d_states = d_state.data_ptr<float>();
    const float* const d_devices = shape.embedding.by_device ? d_device.data_ptr<float>() : nullptr;
    for_parts(count, [&](std::size_t begin, std::size_t end, Embedding::Tape& tape) {
      embedding.clear_gradient(tape);
      std::vector<float> state(state_width), device(device_width);
      for (std::size_t s = begin; s < end; ++s) {
        embedding.forward(batch.states[s], tape, state.data(), device.data());
        embedding.backward(batch.states[s], d_states + s * state_width,
                           d_devices == nullptr ? nullptr : d_devices + s * device_width, tape);
      }
    });
    torch::Tensor& gradient = body.mutable_grad();
    if (!gradient.defined()) gradient = torch::zeros_like(body);
    for (const Embedding::Tape& tape : tapes) {
      embedding.add_gradient(tape, {gradient.data_ptr<float>(), embedding.size()});
    }
  }

  /// log pi [states, devices].
  torch::Tensor classify(const StateBatch& batch, const Embedded& embedded) const {
    const auto count = static_cast<std::int64_t>(batch.states.size());
    const auto devices = static_cast<std::int64_t>(batch.devices);
    torch::Tensor x = hidden.front()(embedded.state);
    torch::Tensor candidates;
    if (shape.candidate_features > 0) {
      const auto features = static_cast<std::int64_t>(shape.candidate_features);
      candidates = torch::from_blob(const_cast<float*>(batch.candidates),
                                    {count, devices, features});  // only read
      const torch::Tensor device =
          shape.embedding.by_device ? torch::cat({embedded.by_device, candidates}, 2) : candidates;
      x = x.unsqueeze(1) + torch::matmul(device, first_of_device.t());
    }
    x = torch::relu(x);
    for (std::size_t l = 1; l < hidden.size(); ++l) x = torch::relu(hidden[l](x));
    torch::Tensor logits = last(x);
    if (shape.candidate_features > 0)
      logits = logits.squeeze(2) + torch::matmul(candidates, direct);
    if (shape.logit_bound > 0) logits = shape.logit_bound * torch::tanh(logits);
    const torch::Tensor allowed =
        torch::from_blob(const_cast<std::uint8_t*>(batch.allowed), {count, devices}, torch::kUInt8);
    logits = logits.masked_fill(allowed == 0, -std::numeric_limits<float>::infinity());
    return torch::log_softmax(logits, 1);
  }

  NetworkShape shape;
  Embedding embedding;
  torch::Tensor body;
  torch::Tensor first_of_device;
  torch::Tensor direct;  ///< [candidate_features]
  std::vector<Dense> hidden;
  Dense last;
  learning::Parameters parameters;
  std::vector<Embedding::Tape> tapes;
  bool body_changed = true;
};

Network::Network(const NetworkShape& shape, std::uint64_t seed)
    : state_(std::make_unique<State>(shape, seed)) {}
Network::~Network() = default;

const NetworkShape& Network::shape() const {
  return state_->shape;
}

std::int64_t Network::parameter_count() const {
  return state_->parameters.count();
}

void Network::log_policy(const StateBatch& batch, std::vector<float>& out) {
  const torch::NoGradGuard no_gradient;
  const torch::Tensor log_pi = state_->classify(batch, state_->embed(batch)).contiguous();
  out.assign(log_pi.data_ptr<float>(), log_pi.data_ptr<float>() + log_pi.numel());
}

double Network::accumulate(const StateBatch& batch, std::span<const std::int32_t> actions,
                           std::span<const double> advantages, double entropy_weight) {
  const auto count = static_cast<std::int64_t>(batch.states.size());
  State::Embedded embedded;
  {
    const torch::NoGradGuard no_gradient;
    embedded = state_->embed(batch);
  }
  embedded.state.requires_grad_();
  if (embedded.by_device.defined()) embedded.by_device.requires_grad_();
  const torch::Tensor log_pi = state_->classify(batch, embedded);
  const torch::Tensor action =
      torch::from_blob(const_cast<std::int32_t*>(actions.data()), {count, 1}, torch::kInt32)
          .to(torch::kInt64);
  const torch::Tensor advantage =
      torch::from_blob(const_cast<double*>(advantages.data()), {count}, torch::kFloat64)
          .to(torch::kFloat32);
  const torch::Tensor chosen = log_pi.gather(1, action).squeeze(1);
  const torch::Tensor pi = log_pi.exp();
  const torch::Tensor entropy = -(pi * torch::log(pi + kEntropyOffset)).sum();
  const torch::Tensor loss = -(advantage * chosen).sum() - entropy_weight * entropy;
  loss.backward();
  state_->embed_back(batch, embedded);
  return loss.item<double>();
}

double Network::step(double learning_rate, double max_norm) {
  const double norm = state_->parameters.step(learning_rate, max_norm);
  state_->body_changed = true;
  return norm;
}

std::vector<NamedTensor> Network::tensors() const {
  return state_->parameters.tensors();
}

void Network::set_tensors(std::span<const NamedTensor> tensors) {
  state_->parameters.set_tensors(tensors);
  state_->body_changed = true;
}

}  // namespace berth::placeto
