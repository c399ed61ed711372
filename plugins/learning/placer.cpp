#include "placer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "learning/sampling.h"
#include "learning/sequence_layers.h"

namespace berth::learning {
namespace {

/// Widths of the embeddings of types (that of Mirhoseini et al., ICLR 2018) and of neighbours.
constexpr std::int64_t kTypeWidth = 20;
constexpr std::int64_t kNeighbourWidth = 32;
/// A logit so low that the device has no probability, while its product with it is still 0.
constexpr double kBarred = -1e9;

torch::Tensor uniform(std::int64_t rows, std::int64_t columns, double limit, Random& random) {
  torch::Tensor values = torch::zeros({rows, columns});
  fill_uniform(values, limit, random);
  return values;
}

/// Standard normal, [samples, devices].
torch::Tensor draw_noise(std::vector<Random>& random, std::int64_t devices) {
  torch::Tensor noise = torch::empty({static_cast<std::int64_t>(random.size()), devices});
  float* values = noise.data_ptr<float>();
  for (Random& each : random) {
    for (std::int64_t d = 0; d < devices; ++d) *values++ = static_cast<float>(draw_normal(each));
  }
  return noise;
}

}  // namespace

struct Placer::Encoded {
  torch::Tensor keys;      ///< [length, hidden]
  torch::Tensor inputs;    ///< [devices + 1, 4 * hidden] what a device before adds to the gates
  torch::Tensor at_steps;  ///< [length, 4 * hidden] what the group adds, bias included
  LstmState state;         ///< [samples, hidden]
};

Placer::Placer(const PlacerShape& shape, Parameters& parameters, Random& random) : shape_(shape) {
  const std::int64_t hidden = shape.hidden, half = hidden / 2;
  const std::int64_t width = kTypeWidth + kShapeFeatures + 2 * kNeighbourWidth;
  type_table_ = parameters.add("types", uniform(shape.vocabulary, kTypeWidth, 1, random));
  input_table_ = parameters.add("inputs", uniform(shape.capacity, kNeighbourWidth, 1, random));
  output_table_ = parameters.add("outputs", uniform(shape.capacity, kNeighbourWidth, 1, random));
  const auto direction = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    Direction made;
    made.input = parameters.add_weights(name + ".input", in, 4 * out, random);
    made.recurrent = parameters.add_weights(name + ".recurrent", out, 4 * out, random);
    torch::Tensor bias = torch::zeros({4 * out});
    bias.narrow(0, out, out).fill_(1);  // forget gates start open
    made.bias = parameters.add(name + ".bias", bias);
    return made;
  };
  forward_ = direction("encoder.forward", width, half);
  backward_ = direction("encoder.backward", width, half);
  decoder_ = direction("decoder", hidden, hidden);
  if (shape.aligned) {
    aligned_ = parameters.add_weights("decoder.aligned", hidden, 4 * hidden, random);
  }
  device_table_ = parameters.add("devices", uniform(shape.devices + 1, hidden, 1, random));
  key_ = parameters.add_weights("attention.key", hidden, hidden, random);
  query_ = parameters.add_weights("attention.query", hidden, hidden, random);
  score_ = parameters.add_weights("attention.score", hidden, 1, random);
  logits_hidden_ = parameters.add_weights("logits.hidden", hidden, shape.devices, random);
  logits_context_ = parameters.add_weights("logits.context", hidden, shape.devices, random);
  logits_bias_ = parameters.add("logits.bias", torch::zeros({shape.devices}));
  if (shape.persistence > 0) {
    const double others = static_cast<double>(std::max<std::int64_t>(shape.devices - 1, 1));
    persistence_ =
        parameters.add("logits.persistence",
                       torch::full({1}, shape.persistence + std::log(others), torch::kFloat32));
  }
}

Placer::Encoded Placer::encode(const Sequence& sequence, std::int64_t samples) const {
  const torch::Tensor x = torch::cat(
      {torch::mm(sequence.types, type_table_), sequence.shapes,
       torch::mm(sequence.inputs, input_table_), torch::mm(sequence.outputs, output_table_)},
      1);
  const torch::Tensor zero = torch::zeros({1, shape_.hidden / 2});
  const auto run = [&](const Direction& direction, const torch::Tensor& in) {
    const torch::Tensor gates = torch::addmm(direction.bias, in, direction.input).unsqueeze(1);
    return lstm(gates, direction.recurrent, {zero, zero});
  };
  const LstmSequence ahead = run(forward_, x), back = run(backward_, x.flip(0));
  const torch::Tensor all =
      torch::cat({ahead.hidden.squeeze(1), back.hidden.squeeze(1).flip(0)}, 1);
  Encoded out;
  out.keys = torch::mm(all, key_);
  out.inputs = torch::mm(device_table_, decoder_.input);
  out.at_steps = shape_.aligned ? torch::addmm(decoder_.bias, all, aligned_)
                                : decoder_.bias.expand({sequence.length(), 4 * shape_.hidden});
  const torch::Tensor last = torch::cat({ahead.hidden[-1], back.hidden[-1]}, 1);
  out.state.hidden = last.expand({samples, shape_.hidden});
  out.state.cell = torch::cat({ahead.cell, back.cell}, 1).expand({samples, shape_.hidden});
  return out;
}

torch::Tensor Placer::bound(const torch::Tensor& logits) const {
  const torch::Tensor cool = logits / shape_.temperature;
  return shape_.tanh_constant > 0 ? shape_.tanh_constant * torch::tanh(cool) : cool;
}

PlacerSamples Placer::sample(const Sequence& sequence, const PlacerDraws& draws,
                             Random& random) const {
  const torch::NoGradGuard no_gradient;
  const std::int64_t length = sequence.length(), samples = draws.samples;
  const auto devices = static_cast<std::size_t>(shape_.devices);
  std::vector<Random> own;
  for (std::int64_t k = 0; k < samples; ++k) own.push_back(random.split());
  const Encoded encoded = encode(sequence, samples);
  const AdditiveAttention attention(encoded.keys, score_);
  LstmState state = encoded.state;
  PlacerSamples out;
  out.devices = torch::empty({length, samples}, torch::kInt64);
  out.log_probability.assign(static_cast<std::size_t>(samples), 0);
  out.entropy.assign(static_cast<std::size_t>(samples), 0);
  torch::Tensor before = torch::full({samples}, shape_.devices, torch::kInt64);
  std::vector<std::uint8_t> allowed(devices);
  for (std::int64_t t = 0; t < length; ++t) {
    if (draws.should_stop && draws.should_stop()) throw Ended{};
    torch::Tensor gates = encoded.inputs.index_select(0, before).add_(encoded.at_steps[t]);
    lstm_step(gates, decoder_.recurrent, state);
    const torch::Tensor focus =
        torch::softmax(attention.scores(torch::mm(state.hidden, query_)), 1);
    const torch::Tensor context = torch::mm(focus, encoded.keys);
    torch::Tensor logits = bound(
        torch::addmm(logits_bias_, state.hidden, logits_hidden_).addmm_(context, logits_context_));
    const torch::Tensor scale = logits.square().mean().sqrt();
    if (persistence_.defined() && t > 0) {
      logits.add_(torch::one_hot(before, shape_.devices) * persistence_);
    }
    logits.masked_fill_(sequence.barred[t], kBarred);
    const torch::Tensor log_pi = torch::log_softmax(logits, 1).contiguous();
    torch::Tensor behaviour = log_pi;
    if (draws.noise > 0) {
      const torch::Tensor noise = draw_noise(own, shape_.devices);
      behaviour = torch::log_softmax(logits + noise * (draws.noise * scale), 1).contiguous();
    }
    const bool* const barred = sequence.barred[t].data_ptr<bool>();
    for (std::size_t d = 0; d < devices; ++d) allowed[d] = barred[d] ? 0 : 1;
    before = out.devices[t];
    for (std::size_t k = 0; k < own.size(); ++k) {
      const float* const row = log_pi.data_ptr<float>() + k * devices;
      std::size_t device;
      if (draws.greedy) {
        device = static_cast<std::size_t>(std::max_element(row, row + devices) - row);
      } else if (draws.epsilon > 0 && own[k].uniform() < draws.epsilon) {
        device = draw_allowed(allowed.data(), devices, own[k]);
      } else {
        device = draw(behaviour.data_ptr<float>() + k * devices, devices, own[k].uniform());
      }
      before.data_ptr<std::int64_t>()[k] = static_cast<std::int64_t>(device);
      out.log_probability[k] += static_cast<double>(row[device]);
      out.entropy[k] += entropy_of(row, devices);
    }
  }
  return out;
}

Placer::Scores Placer::score(const Sequence& sequence, const torch::Tensor& devices) const {
  const std::int64_t length = sequence.length(), samples = devices.size(1);
  const Encoded encoded = encode(sequence, samples);
  const torch::Tensor first = torch::full({1, samples}, shape_.devices, torch::kInt64);
  const torch::Tensor before = torch::cat({first, devices.narrow(0, 0, length - 1)}, 0);
  const torch::Tensor gates = encoded.inputs.index_select(0, before.reshape({-1}))
                                  .view({length, samples, 4 * shape_.hidden}) +
                              encoded.at_steps.unsqueeze(1);
  const torch::Tensor hidden =
      lstm(gates, decoder_.recurrent, encoded.state).hidden.view({length * samples, shape_.hidden});
  const torch::Tensor focus = torch::softmax(
      additive_scores(torch::mm(hidden, query_), encoded.keys, score_.squeeze(1)), 1);
  const torch::Tensor context = torch::mm(focus, encoded.keys);
  torch::Tensor logits = bound(torch::addmm(logits_bias_, hidden, logits_hidden_) +
                               torch::mm(context, logits_context_))
                             .view({length, samples, shape_.devices});
  if (persistence_.defined()) {
    // Nothing comes before the first group: its row of the one more column is cut off.
    logits = logits +
             torch::one_hot(before, shape_.devices + 1).narrow(2, 0, shape_.devices) * persistence_;
  }
  const torch::Tensor log_pi =
      torch::log_softmax(logits.masked_fill(sequence.barred.unsqueeze(1), kBarred), 2);
  const torch::Tensor chosen = log_pi.gather(2, devices.unsqueeze(2)).squeeze(2);
  return {chosen.sum(0), -(log_pi.exp() * log_pi).sum(2).sum(0)};
}

}  // namespace berth::learning
