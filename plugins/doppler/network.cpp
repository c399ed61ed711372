#include "network.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/functional/activation.h>

#include <algorithm>

namespace berth::doppler {
namespace {

/// A logit so low that the choice has no probability, while its product with it is still 0.
constexpr double kBarred = -1e9;

/// Values of PLC's hidden layer that are computed at a time, 256 kB: the memory of larger ones goes back
/// to the system and comes from it again with every operation, a third of an update's time.
constexpr std::int64_t kMostHidden = std::int64_t{1} << 16;

torch::Tensor bent(const torch::Tensor& x) {
  return torch::leaky_relu(x, kSlope);
}

/// The entropy of logarithms of probabilities along the last axis.
torch::Tensor entropy_of(const torch::Tensor& log_pi) {
  return -(log_pi.exp() * log_pi).sum(-1);
}

}  // namespace

std::vector<float> floats(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

Network::Network(const NetworkShape& shape, std::uint64_t seed) : shape_(shape) {
  Random random(seed);
  const std::int64_t d = shape.hidden, h = shape.head;
  const auto weights = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return parameters.add_weights(name, rows, columns, random);
  };
  const auto zeros = [&](const char* name, std::int64_t count) {
    return parameters.add(name, torch::zeros({count}));
  };
  input_ = weights("graph.input", kGroupFeatures, d);
  input_bias_ = zeros("graph.input.bias", d);
  self_ = weights("graph.self", d, d);
  parents_ = weights("graph.parents", d, d);
  children_ = weights("graph.children", d, d);
  round_bias_ = zeros("graph.bias", d);
  select_ = weights("select.hidden", 3 * d + kGroupFeatures, h);
  select_bias_ = zeros("select.hidden.bias", h);
  select_last_ = weights("select.last", h, 1);
  select_direct_ = zeros("select.direct", 1);
  own_ = weights("place.own", d + kGroupFeatures, h);
  held_ = weights("place.held", d, h);
  from_features_ = weights("place.features", kDeviceFeatures, h);
  place_bias_ = zeros("place.hidden.bias", h);
  place_last_ = weights("place.last", h, 1);
  place_direct_ = zeros("place.direct", kDeviceFeatures);
}

Encoded Network::encode(const ProblemView& view) const {
  torch::Tensor x = bent(torch::addmm(input_bias_, view.features, input_));
  for (std::int64_t round = 0; round < shape_.rounds; ++round) {
    const torch::Tensor heard = torch::mm(torch::mm(view.from_parents, x), parents_) +
                                torch::mm(torch::mm(view.from_children, x), children_);
    x = x + bent(torch::addmm(round_bias_, x, self_) + heard) / static_cast<double>(shape_.rounds);
  }
  const torch::Tensor seen = torch::cat(
      {x, torch::mm(view.path_to_sink, x), torch::mm(view.path_from_source, x), view.features}, 1);
  Encoded encoded;
  const torch::Tensor select =
      torch::mm(bent(torch::addmm(select_bias_, seen, select_)), select_last_).squeeze(1) +
      select_direct_ * (kTailScale * view.tail);
  encoded.select = kSelectBound * torch::tanh(select / kSelectBound);
  encoded.own = torch::mm(torch::cat({x, view.features}, 1), own_);
  encoded.held = torch::mm(x, held_);
  return encoded;
}

double Network::learn(const ProblemView& view, const Played& played, const torch::Tensor& selected,
                      const torch::Tensor& placed,
                      const std::function<torch::Tensor(const Scores&, std::int64_t first)>& loss,
                      const std::function<void()>& check) const {
  const Encoded encoded = encode(view);
  // The graph's network is differentiated once, with what all parts say of its values.
  const auto leaf = [](const torch::Tensor& values) { return values.detach().requires_grad_(); };
  const Encoded leaves{leaf(encoded.select), leaf(encoded.own), leaf(encoded.held)};
  const std::int64_t episodes = played.order.size(0);
  const auto each = static_cast<std::int64_t>(view.groups * view.devices) * shape_.head;
  const std::int64_t part = std::clamp<std::int64_t>(kMostHidden / each, 1, episodes);
  double sum = 0;
  for (std::int64_t first = 0; first < episodes; first += part) {
    const auto of = [&](const torch::Tensor& all) {
      return all.narrow(0, first, std::min(part, episodes - first));
    };
    const Played some{of(played.order), of(played.device), of(played.ready), of(played.features)};
    const torch::Tensor lost = loss(score(view, leaves, some, of(selected), of(placed)), first);
    check();
    lost.backward();
    check();
    sum += lost.item<double>();
  }
  torch::autograd::backward({encoded.select, encoded.own, encoded.held},
                            {leaves.select.grad(), leaves.own.grad(), leaves.held.grad()});
  return sum;
}

Scores Network::score(const ProblemView& view, const Encoded& encoded, const Played& played,
                      const torch::Tensor& selected, const torch::Tensor& placed) const {
  // SEL's logits do not depend on the state, so that sums over what is ready are products with one
  // vector. They are bounded, so that no sum underflows.
  const torch::Tensor weight = encoded.select.exp();
  const torch::Tensor sum = torch::matmul(played.ready, weight);
  const torch::Tensor select =
      encoded.select.index_select(0, selected.reshape({-1})).view_as(sum) - sum.log();
  const torch::Tensor select_entropy =
      sum.log() - torch::matmul(played.ready, weight * encoded.select) / sum;
  const std::int64_t episodes = played.order.size(0), steps = played.order.size(1);
  const auto devices = static_cast<std::int64_t>(view.devices);
  const torch::Tensor flat = played.order.reshape({-1});
  const auto of_step = [&](const torch::Tensor& by_group) {
    return by_group.index_select(0, flat).reshape({episodes, steps, -1});
  };
  // [episodes, T, devices, head]: the mean over what each device held before the step.
  const torch::Tensor on = torch::one_hot(played.device, devices).to(torch::kFloat32);
  const torch::Tensor added = on.unsqueeze(3) * of_step(encoded.held).unsqueeze(2);
  const torch::Tensor count = (on.cumsum(1) - on).clamp_min(1);
  const torch::Tensor held = (added.cumsum(1) - added) / count.unsqueeze(3);
  const torch::Tensor hidden = bent(of_step(encoded.own).unsqueeze(2) + held +
                                    torch::matmul(played.features, from_features_) + place_bias_);
  const torch::Tensor logits =
      torch::matmul(hidden, place_last_).squeeze(3) + torch::matmul(played.features, place_direct_);
  const torch::Tensor place =
      torch::log_softmax(logits.masked_fill(of_step(view.barred), kBarred), -1);
  Scores scores;
  scores.log_probability = (select + place.gather(2, placed.unsqueeze(2)).squeeze(2)).sum(1);
  scores.entropy = (select_entropy + entropy_of(place)).sum(1);
  return scores;
}

Network::Head Network::head() const {
  return {floats(from_features_), floats(place_bias_), floats(place_last_), floats(place_direct_)};
}

}  // namespace berth::doppler
