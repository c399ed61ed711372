// Layers, losses, draws, and the steps of optimisers.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "operation.h"

namespace berth::torch_module {
namespace {

using In = const Tensor&;
using MaybeIn = const std::optional<Tensor>&;

c10::optional<Tensor> optional(MaybeIn tensor) {
  if (!tensor) return c10::nullopt;
  return *tensor;
}

/// The message of an edge's source, [.., edges, width].
Tensor along_edges(In messages, const Index& sources, const Index& targets) {
  TORCH_CHECK(sources.value.sizes() == targets.value.sizes() && sources.value.dim() == 1,
              "sources and targets need the same shape [edges], got ", sources.value.sizes(),
              " and ", targets.value.sizes());
  TORCH_CHECK(messages.dim() >= 2, "messages need the shape [.., nodes, width], got ",
              messages.sizes());
  return messages.index_select(messages.dim() - 2, sources.value);
}

/// The largest over the edges that end in a node of what its sources say; 0 where none does.
Tensor edge_max(In messages, const Index& sources, const Index& targets, std::int64_t nodes) {
  const Tensor said = along_edges(messages, sources, targets);
  std::vector<std::int64_t> shape = said.sizes().vec();
  shape[shape.size() - 2] = nodes;
  const Tensor at = targets.value.unsqueeze(-1).expand(said.sizes());
  return at::zeros(shape, said.options())
      .scatter_reduce(-2, at, said, "amax", /*include_self=*/false);
}

/// exp(score) divided by its sum over the edges that end in the same node.
Tensor edge_softmax(In scores, const Index& targets, std::int64_t nodes) {
  TORCH_CHECK(
      targets.value.dim() == 1 && scores.dim() >= 1 && scores.size(-1) == targets.value.size(0),
      "scores need the shape [.., edges] of targets ", targets.value.sizes(), ", got ",
      scores.sizes());
  std::vector<std::int64_t> shape = scores.sizes().vec();
  shape.back() = nodes;
  const Tensor at = targets.value.expand(scores.sizes());
  // Any constant of a node leaves the result as it is; the largest keeps exp from overflowing.
  const Tensor most = at::zeros(shape, scores.options())
                          .scatter_reduce(-1, at, scores.detach(), "amax", /*include_self=*/false);
  const Tensor e = (scores - most.gather(-1, at)).exp();
  return e / at::zeros(shape, scores.options()).scatter_add(-1, at, e).gather(-1, at);
}

/// One step of gradient descent with momentum, in the order of torch.optim's code.
Tensor sgd_step(Tensor self, In gradient_in, Tensor velocity, double rate, double momentum,
                double decay, bool nesterov) {
  const at::NoGradGuard no_gradient;
  Tensor gradient = gradient_in;
  if (decay != 0) gradient = gradient.add(self, decay);
  if (momentum != 0) {
    velocity.mul_(momentum).add_(gradient);
    gradient = nesterov ? gradient.add(velocity, momentum) : velocity;
  }
  return self.add_(gradient, -rate);
}

/// Sums over the edges that end in a node of what its sources say.
Tensor edge_sum(In messages, const Index& sources, const Index& targets, std::int64_t nodes) {
  const Tensor said = along_edges(messages, sources, targets);
  std::vector<std::int64_t> shape = said.sizes().vec();
  shape[shape.size() - 2] = nodes;
  return at::zeros(shape, said.options()).index_add(said.dim() - 2, targets.value, said);
}

/// One step of Adam (Kingma and Ba, ICLR 2015), in the order of torch.optim's code. With `decoupled`
/// the decay is that of AdamW (Loshchilov and Hutter, ICLR 2019).
Tensor adam_step(Tensor self, In gradient_in, Tensor mean, Tensor square, std::int64_t step,
                 double rate, double beta1, double beta2, double epsilon, double decay,
                 bool decoupled) {
  const at::NoGradGuard no_gradient;
  Tensor gradient = gradient_in;
  if (decay != 0 && decoupled) self.mul_(1 - rate * decay);
  if (decay != 0 && !decoupled) gradient = gradient.add(self, decay);
  mean.mul_(beta1).add_(gradient, 1 - beta1);
  square.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(step));
  const Tensor denominator = (square.sqrt() / std::sqrt(correction2)).add_(epsilon);
  return self.addcdiv_(mean, denominator, -rate / correction1);
}

Tensor dropped_out(In x, double p, bool training) {
  TORCH_CHECK(p >= 0 && p <= 1, "p is a probability from 0 to 1, got ", p);
  if (!training || p == 0) return x;
  if (p == 1) return x * 0;  // 1 - p divides nothing
  return x * at::empty_like(x).bernoulli_(1 - p, generator()) / (1 - p);
}

/// LibTorch's C++ would set the variance to NaN, for good.
Tensor normalised(In x, In weight, In bias, Tensor mean, Tensor variance, bool training,
                  double momentum, double epsilon) {
  TORCH_CHECK(!training || x.dim() < 2 || x.numel() != x.size(1),
              "in training a column needs more than one value, for one has no variance");
  return at::batch_norm(x, weight, bias, mean, variance, training, momentum, epsilon,
                        /*cudnn=*/false);
}

/// LibTorch's C++ broadcasts: [n, 1] beside [n] would be [n, n] differences.
void require_one_shape(In x, In y) {
  TORCH_CHECK(x.sizes() == y.sizes(), "both need the same shape");
}

}  // namespace

std::vector<Operation> network_operations() {
  return {
      row(
          "linear", "self, weight, bias = nil",
          [](In x, In w, MaybeIn b) { return at::linear(x, w, optional(b)); },
          "[.., in] x weight [out, in] + bias [out] -> [.., out]"),
      row(
          "embedding", "weight, index",
          [](In w, const Index& i) { return at::embedding(w, i.value); },
          "the rows of weight [rows, width] at the positions (from 1) -> [.., width]"),
      row(
          "layer_norm", "self, weight, bias, epsilon = 1e-5",
          [](In x, In w, In b, double e) { return at::layer_norm(x, w.sizes(), w, b, e); },
          "the last dimensions of weight's shape with mean 0 and variance 1, times weight, plus "
          "bias"),
      row(
          "lstm", "self, hidden, cell, weights",
          [](In x, In h, In c, const Tensors& w) {
            const auto layers = static_cast<std::int64_t>(w.size() / 4);
            return at::lstm(x, {h, c}, w, /*has_biases=*/true, layers, /*dropout=*/0.0,
                            /*train=*/false, /*bidirectional=*/false, /*batch_first=*/true);
          },
          "x [batch, length, in], hidden and cell [layers, batch, width], by layer input weight "
          "[4 width, in], hidden weight [4 width, width] and two biases [4 width] -> outputs "
          "[batch, length, width], hidden, cell"),
      row(
          "edge_sum", "self, sources, targets, nodes",
          [](In x, const Index& from, const Index& to, std::int64_t nodes) {
            return edge_sum(x, from, to, nodes);
          },
          "over a graph's edges, sources [edges] to targets [edges] (from 1): for each of `nodes` "
          "the "
          "sum of its sources' rows of self [.., nodes, width]"),
      row(
          "edge_max", "self, sources, targets, nodes",
          [](In x, const Index& from, const Index& to, std::int64_t nodes) {
            return edge_max(x, from, to, nodes);
          },
          "as edge_sum, the largest value; 0 for a node that no edge ends in"),
      row(
          "edge_softmax", "self, targets, nodes",
          [](In x, const Index& to, std::int64_t nodes) { return edge_softmax(x, to, nodes); },
          "of scores [.., edges] to targets [edges] (from 1): shares that add up to 1 over the "
          "edges "
          "that end in one of `nodes`; attention over edges"),
      row(
          "gru", "self, hidden, weights",
          [](In x, In h, const Tensors& w) {
            const auto layers = static_cast<std::int64_t>(w.size() / 4);
            return at::gru(x, h, w, /*has_biases=*/true, layers, /*dropout=*/0.0, /*train=*/false,
                           /*bidirectional=*/false, /*batch_first=*/true);
          },
          "x [batch, length, in], hidden [layers, batch, width], by layer input weight [3 width, "
          "in], hidden weight [3 width, width] and two biases [3 width] -> outputs [batch, length, "
          "width], hidden"),
      row(
          "batch_norm",
          "self, weight, bias, mean, variance, training, momentum = 0.1, epsilon = 1e-5",
          [](In x, In w, In b, Tensor mean, Tensor variance, bool training, double m, double e) {
            return normalised(x, w, b, mean, variance, training, m, e);
          },
          "[n, width] or [n, width, length] with mean 0 and variance 1 by column over n, times "
          "weight, plus bias; in training mean and variance [width] move towards those of self"),
      row(
          "dropout", "self, p = 0.5, training = true",
          [](In x, double p, bool training) { return dropped_out(x, p, training); },
          "values 0 with probability p, the rest divided by 1 - p; nothing changes where training "
          "is "
          "false"),
      row(
          "mse_loss", "self, target",
          [](In x, In y) {
            require_one_shape(x, y);
            return at::mse_loss(x, y);
          },
          "the mean of the squared differences; both of one shape"),
      row(
          "smooth_l1_loss", "self, target, beta = 1",
          [](In x, In y, double b) {
            require_one_shape(x, y);
            return at::smooth_l1_loss(x, y, at::Reduction::Mean, b);
          },
          "mean difference, squared below beta; both of one shape"),
      row(
          "cross_entropy", "self, target",
          [](In x, const Index& y) {
            // A class that LibTorch leaves out, -100 unless told, is none that anybody gives.
            return at::cross_entropy_loss(x, y.value, {}, at::Reduction::Mean,
                                          std::numeric_limits<std::int64_t>::min());
          },
          "mean of -log softmax of self [n, classes] at the classes target [n] (from 1)"),
      row(
          "binary_cross_entropy_with_logits", "self, target",
          [](In x, In y) {
            require_one_shape(x, y);
            return at::binary_cross_entropy_with_logits(x, y);
          },
          "the mean loss of logits against probabilities; both of one shape"),
      row(
          "rand", "shape", [](const Shape& s) { return at::rand(s.values, generator()); },
          "drawn uniformly from [0, 1)"),
      row(
          "randn", "shape", [](const Shape& s) { return at::randn(s.values, generator()); },
          "drawn from the normal distribution"),
      row(
          "randperm", "n", [](std::int64_t n) { return at::randperm(n, generator()) + 1; },
          "1 to n in random order"),
      row(
          "multinomial", "self, samples = 1, replacement = false",
          [](In p, std::int64_t n, bool again) {
            return at::multinomial(p, n, again, generator()) + 1;
          },
          "positions (from 1) drawn with the probabilities [.., n], which need not add up to 1 -> "
          "[.., samples]; each but once without replacement"),
      row(
          "bernoulli", "self", [](In p) { return at::bernoulli(p, generator()); },
          "1 with probability self, else 0"),
      row(
          "uniform_", "self, low = 0, high = 1",
          [](Tensor x, double low, double high) {
            const at::NoGradGuard no_gradient;
            return x.uniform_(low, high, generator());
          },
          "self becomes uniform draws; no gradient"),
      row(
          "normal_", "self, mean = 0, std = 1",
          [](Tensor x, double mean, double deviation) {
            const at::NoGradGuard no_gradient;
            return x.normal_(mean, deviation, generator());
          },
          "self becomes normal draws; no gradient"),
      row(
          "sgd_step_", "self, gradient, velocity, rate, momentum = 0, decay = 0, nesterov = false",
          [](Tensor x, In g, Tensor v, double rate, double momentum, double decay, bool nesterov) {
            return sgd_step(x, g, v, rate, momentum, decay, nesterov);
          },
          "self after a step of gradient descent; velocity changes too; all of one shape"),
      row(
          "adam_step_",
          "self, gradient, mean, square, step, rate, beta1 = 0.9, beta2 = 0.999, "
          "epsilon = 1e-8, decay = 0, decoupled = false",
          [](Tensor x, In g, Tensor m, Tensor s, std::int64_t n, double rate, double beta1,
             double beta2, double epsilon, double decay, bool decoupled) {
            return adam_step(x, g, m, s, n, rate, beta1, beta2, epsilon, decay, decoupled);
          },
          "self after step number `step` of Adam against the gradient; mean and square change too; "
          "all of one shape"),
  };
}

}  // namespace berth::torch_module
