// The layers with gradients of their own against the published formulas written out in LibTorch.
#include <torch/torch.h>

#include <vector>

#include "berth/sdk/random.h"
#include "learning/parameters.h"
#include "learning/sequence_layers.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::learning;
using torch::Tensor;

namespace {

Tensor random_tensor(at::IntArrayRef shape, Random& random) {
  Tensor values = torch::zeros(shape);
  fill_uniform(values, 1, random);
  return values.requires_grad_();
}

Tensor copy(const Tensor& x) {
  return x.detach().to(torch::kFloat64).requires_grad_();
}

void check_near(const Tensor& actual, const Tensor& expected) {
  REQUIRE(actual.sizes() == expected.sizes());
  CHECK((actual.to(torch::kFloat64) - expected).abs().max().item<double>() < 1e-4);
}

}  // namespace

TEST_CASE("lstm: values and gradients are those of the cells one after the other") {
  Random random(4);
  constexpr std::int64_t kSteps = 6, kBatch = 3, kHidden = 5;
  const Tensor gates = random_tensor({kSteps, kBatch, 4 * kHidden}, random);
  const Tensor recurrent = random_tensor({kHidden, 4 * kHidden}, random);
  const Tensor hidden = random_tensor({kBatch, kHidden}, random);
  const Tensor cell = random_tensor({kBatch, kHidden}, random);
  const std::vector<Tensor> actual{gates, recurrent, hidden, cell};
  std::vector<Tensor> expected;
  for (const Tensor& each : actual) expected.push_back(copy(each));

  Tensor h = expected[2], c = expected[3];
  std::vector<Tensor> all;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const auto parts = (expected[0][t] + torch::mm(h, expected[1])).chunk(4, 1);
    c = torch::sigmoid(parts[1]) * c + torch::sigmoid(parts[0]) * torch::tanh(parts[3]);
    h = torch::sigmoid(parts[2]) * torch::tanh(c);
    all.push_back(h);
  }
  const Tensor weight = random_tensor({kSteps, kBatch, kHidden}, random).detach();
  const Tensor reference = torch::stack(all);
  ((reference * weight).sum() + c.square().sum()).backward();

  const LstmSequence sequence = lstm(gates, recurrent, {hidden, cell});
  check_near(sequence.hidden, reference);
  check_near(sequence.cell, c);
  ((sequence.hidden * weight).sum() + sequence.cell.square().sum()).backward();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    check_near(actual[i].grad(), expected[i].grad());
  }

  LstmState state{hidden.detach(), cell.detach()};
  const torch::NoGradGuard no_gradient;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    Tensor step = gates.detach()[t].clone();
    lstm_step(step, recurrent.detach(), state);
  }
  check_near(state.hidden, reference[-1]);
  check_near(state.cell, c);
}

TEST_CASE("additive scores: values and gradients are those of the formula, far out too") {
  Random random(5);
  for (const double scale : {1.0, 60.0}) {
    CAPTURE(scale);
    const Tensor queries = (random_tensor({9, 32}, random).detach() * scale).requires_grad_();
    const Tensor keys = (random_tensor({7, 32}, random).detach() * scale).requires_grad_();
    const Tensor weights = random_tensor({32}, random);
    const Tensor q = copy(queries), k = copy(keys), w = copy(weights);
    const Tensor expected = (torch::tanh(q.unsqueeze(1) + k.unsqueeze(0)) * w).sum(2);
    const Tensor weight = random_tensor({9, 7}, random).detach();
    (expected * weight).sum().backward();

    const Tensor scores = additive_scores(queries, keys, weights);
    (scores * weight).sum().backward();
    check_near(AdditiveAttention(keys.detach(), weights.detach()).scores(queries.detach()),
               scores.detach().to(torch::kFloat64));
    // Far out the sums of the formula are within its bound of 20 only where one of the two is.
    if (scale > 1) {
      CHECK(torch::isfinite(scores).all().item<bool>());
      CHECK(torch::isfinite(keys.grad()).all().item<bool>());
      continue;
    }
    check_near(scores, expected);
    check_near(queries.grad(), q.grad());
    check_near(keys.grad(), k.grad());
    check_near(weights.grad(), w.grad());
  }
}
