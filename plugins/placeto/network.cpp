#include "network.h"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "berth/sdk/random.h"
#include "learning/parameters.h"

namespace berth::placeto {
namespace {

constexpr double kEntropyOffset = 1e-3;  // A2.3

/// fill_glorot for a part of the body.
void fill_glorot(float* weights, std::size_t out, std::size_t in, Random& random) {
  torch::Tensor part = torch::from_blob(weights, {static_cast<std::int64_t>(out * in)});
  learning::fill_glorot(part, static_cast<std::int64_t>(in), static_cast<std::int64_t>(out),
                        random);
}

/// Gradients are summed over this many parts of the decisions, in order, so that the sum does not
/// depend on the number of threads.
constexpr std::size_t kParts = 16;

/// The values of a layer of the classifier.
struct Dense {
  torch::Tensor weight;  ///< [out, in]
  torch::Tensor bias;    ///< [out]; undefined if it has none

  [[nodiscard]] const float* bias_values() const {
    return bias.defined() ? bias.data_ptr<float>() : nullptr;
  }
};

/// The gradient of `values`, zero at first.
float* gradient_of(torch::Tensor& values) {
  torch::Tensor& gradient = values.mutable_grad();
  if (!gradient.defined()) gradient = torch::zeros_like(values);
  return gradient.data_ptr<float>();
}

ClassifierShape classifier_shape(const NetworkShape& shape) {
  ClassifierShape result;
  result.state = shape.embedding.state_width();
  result.devices = shape.devices;
  result.pooled = shape.embedding.by_device ? shape.embedding.node_width() : 0;
  result.candidate_features = shape.candidate_features;
  result.hidden_layers = shape.hidden_layers;
  result.logit_bound = shape.logit_bound;
  return result;
}

/// The loss of a decision; `d_logits` becomes its gradient.
double loss_of(std::span<const float> log_pi, std::size_t action, double advantage,
               double entropy_weight, std::span<float> d_logits) {
  double sum = 0, mean = 0;  // of p ln(p + offset); of its derivative by p, over p
  const auto slope = [](double p) {
    return std::log(p + kEntropyOffset) + p / (p + kEntropyOffset);
  };
  for (const float value : log_pi) {
    const double p = std::exp(static_cast<double>(value));
    sum += p * std::log(p + kEntropyOffset);
    mean += p * slope(p);
  }
  for (std::size_t m = 0; m < log_pi.size(); ++m) {
    const double p = std::exp(static_cast<double>(log_pi[m]));
    d_logits[m] = static_cast<float>(advantage * (p - (m == action ? 1 : 0)) +
                                     entropy_weight * p * (slope(p) - mean));
  }
  return -advantage * static_cast<double>(log_pi[action]) + entropy_weight * sum;
}

}  // namespace

struct Network::State {
  State(const NetworkShape& network_shape, std::uint64_t seed)
      : shape(network_shape),
        embedding(network_shape.embedding),
        classifier(classifier_shape(network_shape)) {
    Random random(seed);
    body = torch::zeros({static_cast<std::int64_t>(embedding.size())});
    for (const DenseLayer& layer : embedding.layers()) {
      fill_glorot(body.data_ptr<float>() + layer.flat, layer.out, layer.in, random);
    }
    parameters.add("body", body);
    for (const DenseLayer& layer : classifier.layers()) {
      Dense& values = head.emplace_back();
      const auto out = static_cast<std::int64_t>(layer.out);
      values.weight = parameters.add_weights(layer.name + ".weight", out,
                                             static_cast<std::int64_t>(layer.in), random);
      if (classifier.has_bias(layer)) {
        values.bias = parameters.add(layer.name + ".bias", torch::zeros({out}));
      } else {
        direct = torch::zeros({static_cast<std::int64_t>(shape.candidate_features)});
        std::copy(shape.prior.begin(), shape.prior.end(), direct.data_ptr<float>());
        parameters.add("classifier.direct.weight", direct);
      }
    }
    pack();
  }

  /// Gives the layers the values of the parameters, which have changed.
  void pack() {
    embedding.set_parameters({body.data_ptr<float>(), embedding.size()});
    for (std::size_t l = 0; l < head.size(); ++l) {
      classifier.set_layer(classifier.layers()[l], head[l].weight.data_ptr<float>(),
                           head[l].bias_values());
    }
    if (direct.defined()) {
      classifier.set_direct({direct.data_ptr<float>(), shape.candidate_features});
    }
  }

  /// Scratch of one thread.
  struct Scratch {
    Embedding::Tape embedding;
    Classifier::Tape classifier;
    std::vector<float> state, by_device, log_policy;
    std::vector<float> d_state, d_by_device, d_logits;
  };

  Classifier::Input forward(const Decision& decision, Scratch& scratch, float* log_policy) const {
    const std::size_t devices = decision.state.devices;
    scratch.state.resize(padded(shape.embedding.state_width()));
    scratch.by_device.resize(devices * shape.embedding.node_width());
    embedding.forward(decision.state, scratch.embedding, scratch.state.data(),
                      scratch.by_device.data());
    const Classifier::Input input{scratch.state.data(), scratch.by_device.data(),
                                  decision.candidates, decision.allowed, devices};
    classifier.forward(input, scratch.classifier, log_policy);
    return input;
  }

  /// The loss of one decision; adds its gradient to the two.
  double learn(const Decision& decision, std::size_t action, double advantage,
               double entropy_weight, Scratch& scratch, float* d_embedding,
               float* d_classifier) const {
    const std::size_t devices = decision.state.devices;
    scratch.log_policy.resize(devices);
    scratch.d_logits.resize(devices);
    scratch.d_state.resize(padded(shape.embedding.state_width()));
    scratch.d_by_device.resize(devices * shape.embedding.node_width());
    const Classifier::Input input = forward(decision, scratch, scratch.log_policy.data());
    const double loss =
        loss_of(scratch.log_policy, action, advantage, entropy_weight, scratch.d_logits);
    classifier.backward(input, scratch.d_logits.data(), scratch.classifier, d_classifier,
                        scratch.d_state.data(), scratch.d_by_device.data());
    embedding.backward(decision.state, scratch.d_state.data(), scratch.d_by_device.data(),
                       scratch.embedding, d_embedding);
    return loss;
  }

  /// Adds packed gradients to the parameters'.
  void add_gradient(const float* d_embedding, const float* d_classifier) {
    embedding.add_gradient(d_embedding, {gradient_of(body), embedding.size()});
    for (std::size_t l = 0; l < head.size(); ++l) {
      DenseLayers::add_gradient(classifier.layers()[l], d_classifier, gradient_of(head[l].weight),
                                head[l].bias.defined() ? gradient_of(head[l].bias) : nullptr);
    }
    if (!direct.defined()) return;
    const float* const from = classifier.direct_gradient(d_classifier);
    float* const to = gradient_of(direct);
    for (std::size_t i = 0; i < shape.candidate_features; ++i) to[i] += from[i];
  }

  NetworkShape shape;
  Embedding embedding;
  Classifier classifier;
  torch::Tensor body;
  std::vector<Dense> head;  ///< by layer of the classifier
  torch::Tensor direct;     ///< [candidate_features]; undefined in the one-hot form
  learning::Parameters parameters;
  mutable tbb::enumerable_thread_specific<Scratch> scratches;
  std::vector<std::vector<float>> gradients;  ///< by part: of the embedding, of the classifier
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

void Network::log_policy(const Decision& decision, float* out) const {
  state_->forward(decision, state_->scratches.local(), out);
}

double Network::accumulate(std::span<const Decision> decisions,
                           std::span<const std::int32_t> actions,
                           std::span<const double> advantages, double entropy_weight) {
  const std::size_t body = state_->embedding.gradient_size();
  const std::size_t head = state_->classifier.gradient_size();
  state_->gradients.resize(kParts);
  std::vector<double> losses(kParts);
  tbb::parallel_for(std::size_t{0}, kParts, [&](std::size_t part) {
    State::Scratch& scratch = state_->scratches.local();
    std::vector<float>& gradient = state_->gradients[part];
    gradient.assign(body + head, 0.0F);
    double loss = 0;
    for (std::size_t i = part * decisions.size() / kParts;
         i < (part + 1) * decisions.size() / kParts; ++i) {
      loss += state_->learn(decisions[i], static_cast<std::size_t>(actions[i]), advantages[i],
                            entropy_weight, scratch, gradient.data(), gradient.data() + body);
    }
    losses[part] = loss;
  });
  double loss = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    loss += losses[part];
    const float* const gradient = state_->gradients[part].data();
    state_->add_gradient(gradient, gradient + body);
  }
  return loss;
}

double Network::step(double learning_rate, double max_norm) {
  const double norm = state_->parameters.step(learning_rate, max_norm);
  state_->pack();
  return norm;
}

std::vector<float> Network::weights() const {
  return state_->parameters.weights();
}

void Network::set_weights(std::span<const float> weights) {
  state_->parameters.set_weights(weights);
  state_->pack();
}

void Network::take_gradient(std::vector<float>& out) {
  state_->parameters.take_gradient(out);
}

void Network::set_gradient(std::span<const float> gradient) {
  state_->parameters.set_gradient(gradient);
}

std::vector<NamedTensor> Network::tensors() const {
  return state_->parameters.tensors();
}

void Network::set_tensors(std::span<const NamedTensor> tensors) {
  state_->parameters.set_tensors(tensors);
  state_->pack();
}

}  // namespace berth::placeto
