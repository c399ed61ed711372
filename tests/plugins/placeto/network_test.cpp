// The network against the published formulas written out in LibTorch: values and gradients, for
// every shape it can have.
#include "placeto/network.h"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "berth/sdk/random.h"
#include "placeto/graph_view.h"
#include "support/random_graph.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::placeto;
using torch::Tensor;

namespace {

struct Case {
  const char* name;
  EmbeddingShape embedding;
  std::size_t devices;
  std::size_t candidates;
  std::size_t hidden;
  double bound;
};

std::vector<Case> cases() {
  EmbeddingShape paper{.features = 9};
  EmbeddingShape wide{.features = 18, .rounds = 2};
  EmbeddingShape deep{.features = 7, .rounds = 3, .layers = 2};
  EmbeddingShape previous{.features = 5, .rounds = 3, .self_term = SelfTerm::previous};
  EmbeddingShape none{.features = 5, .rounds = 3, .self_term = SelfTerm::none, .layers = 2};
  EmbeddingShape silent{.features = 5, .rounds = 0};
  EmbeddingShape one{.features = 5, .rounds = 2, .pooling = Pooling::one};
  EmbeddingShape plain{.features = 5, .rounds = 2, .pooling = Pooling::none};
  EmbeddingShape swept{.features = 6, .rounds = 1, .sweep = true, .layers = 2};
  EmbeddingShape swept_bare{.features = 6, .rounds = 1, .sweep = true, .self_term = SelfTerm::none};
  EmbeddingShape by_device{.features = 11, .rounds = 8, .by_device = true};
  EmbeddingShape swept_mean{
      .features = 6, .rounds = 1, .sweep = true, .mean_messages = true, .mean_pools = true};
  EmbeddingShape by_device_mean{
      .features = 11, .rounds = 3, .mean_messages = true, .mean_pools = true, .by_device = true};
  EmbeddingShape mean_pools{.features = 8, .rounds = 8, .layers = 2, .mean_pools = true};
  EmbeddingShape by_device_deep{.features = 6, .rounds = 2, .layers = 2, .by_device = true};
  return {{"paper", paper, 4, 0, 1, 0},
          {"wide", wide, 8, 0, 1, 0},
          {"deep", deep, 3, 0, 2, 0},
          {"previous", previous, 2, 0, 1, 5},
          {"none", none, 2, 0, 1, 0},
          {"no messages", silent, 2, 0, 1, 0},
          {"simple aggregator", one, 2, 0, 1, 0},
          {"no pooling", plain, 2, 0, 1, 0},
          {"sweep", swept, 2, 0, 1, 0},
          {"sweep without self", swept_bare, 2, 0, 1, 0},
          {"sweep of means", swept_mean, 2, 0, 1, 0},
          {"means of pools", mean_pools, 4, 0, 2, 0},
          {"by device", by_device, 0, 4, 1, 0},
          {"by device, means", by_device_mean, 0, 4, 1, 0},
          {"by device, deep", by_device_deep, 0, 3, 2, 5}};
}

/// The formulas as published, one state at a time.
class Reference {
 public:
  Reference(const NetworkShape& shape, const Network& network)
      : shape_(shape), embedding_(shape.embedding) {
    for (const NamedTensor& tensor : network.tensors()) {
      if (tensor.name.rfind("adam.", 0) == 0) continue;
      Tensor values = torch::tensor(tensor.values).reshape(tensor.shape).to(torch::kFloat64);
      parameters_[tensor.name] = values.requires_grad_();
    }
  }

  Tensor& parameter(const std::string& name) { return parameters_.at(name); }
  [[nodiscard]] const std::map<std::string, Tensor>& parameters() const { return parameters_; }

  Tensor log_policy(const StateView& view, const float* candidates, const std::uint8_t* allowed,
                    std::size_t devices) {
    const auto d = static_cast<std::int64_t>(shape_.embedding.features);
    const auto n = static_cast<std::int64_t>(view.graph->count);
    const auto stride = static_cast<std::int64_t>(padded(shape_.embedding.features));
    const Tensor features =
        torch::from_blob(const_cast<float*>(view.features), {n, stride}).to(torch::kFloat64);
    const Tensor h = perceptron("self", features.narrow(1, 0, d), false);
    const Tensor both =
        torch::cat({messages(view, h, "top_down", true), messages(view, h, "bottom_up", false)}, 1);
    const auto current = static_cast<std::int64_t>(view.current);
    std::vector<Tensor> parts;
    const char* const sets[] = {"ancestors", "descendants", "parallel"};
    for (std::size_t set = 0; set < shape_.embedding.sets(); ++set) {
      const bool one = shape_.embedding.pooling == Pooling::one;
      const Tensor in = member(view, [&](std::size_t u) {
        const Relation relation = view.graph->relation(view.current, u);
        return one ? relation != Relation::self : static_cast<std::size_t>(relation) == set;
      });
      parts.push_back(pool(one ? "all" : sets[set], both, in));
    }
    parts.push_back(both[current]);
    const Tensor state = torch::cat(parts, 0);
    Tensor x = layer("classifier.0", state);
    Tensor directly;
    if (shape_.candidate_features > 0) {
      std::vector<Tensor> rows, direct;
      for (std::size_t m = 0; m < devices; ++m) {
        const Tensor in = member(view, [&](std::size_t u) {
          return u != view.current && view.placement[u] == static_cast<std::int32_t>(m);
        });
        const Tensor own =
            torch::from_blob(const_cast<float*>(candidates + m * shape_.candidate_features),
                             {static_cast<std::int64_t>(shape_.candidate_features)})
                .to(torch::kFloat64);
        rows.push_back(torch::cat({pool("device", both, in), own}, 0));
        direct.push_back(torch::dot(own, parameter("classifier.direct.weight")));
      }
      directly = torch::stack(direct);
      x = x.unsqueeze(0) +
          torch::matmul(torch::stack(rows), parameter("classifier.device.weight").t());
    }
    x = torch::relu(x);
    for (std::size_t l = 1; l < shape_.hidden_layers; ++l) {
      x = torch::relu(layer("classifier." + std::to_string(l), x));
    }
    Tensor logits = layer("classifier." + std::to_string(shape_.hidden_layers), x);
    if (shape_.candidate_features > 0) logits = logits.squeeze(1) + directly;
    if (shape_.logit_bound > 0) logits = shape_.logit_bound * torch::tanh(logits);
    const Tensor mask = torch::from_blob(const_cast<std::uint8_t*>(allowed),
                                         {static_cast<std::int64_t>(devices)}, torch::kUInt8);
    return torch::log_softmax(logits.masked_fill(mask == 0, -INFINITY), 0);
  }

 private:
  Tensor layer(const std::string& name, const Tensor& x) {
    return torch::matmul(x, parameter(name + ".weight").t()) + parameter(name + ".bias");
  }

  /// A perceptron of the body, whose parameters lie in one flat vector.
  Tensor perceptron(const std::string& name, Tensor x, bool last_relu) {
    Tensor& body = parameter("body");
    std::vector<const DenseLayer*> layers;
    for (const DenseLayer& layer : embedding_.layers()) {
      if (layer.name.rfind(name + ".", 0) == 0) layers.push_back(&layer);
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const auto out = static_cast<std::int64_t>(layers[l]->out);
      const auto in = static_cast<std::int64_t>(layers[l]->in);
      const auto offset = static_cast<std::int64_t>(layers[l]->flat);
      const Tensor weight = body.narrow(0, offset, out * in).reshape({out, in});
      x = torch::matmul(x, weight.t()) + body.narrow(0, offset + out * in, out);
      if (last_relu || l + 1 < layers.size()) x = torch::relu(x);
    }
    return x;
  }

  template <typename In>
  Tensor member(const StateView& view, const In& in) {
    std::vector<double> values;
    for (std::size_t u = 0; u < view.graph->count; ++u) values.push_back(in(u) ? 1 : 0);
    return torch::tensor(values, torch::kFloat64);
  }

  Tensor pool(const std::string& name, const Tensor& x, const Tensor& in) {
    Tensor sum = torch::matmul(in, perceptron(name + ".l", x, true));
    if (embedding_.shape().mean_pools) sum = sum / torch::clamp_min(in.sum(), 1);
    return perceptron(name + ".h", sum, true);
  }

  Tensor messages(const StateView& view, const Tensor& h, const std::string& direction, bool down) {
    const EmbeddingShape& shape = shape_.embedding;
    if (shape.rounds == 0) return h;
    const auto n = static_cast<std::int64_t>(view.graph->count);
    Tensor adjacency = torch::zeros({n, n}, torch::kFloat64);  // [v, u]: v hears from u
    const Neighbours& from = down ? view.graph->parents : view.graph->children;
    for (std::int64_t v = 0; v < n; ++v) {
      for (std::int32_t e = from.begin[static_cast<std::size_t>(v)];
           e < from.begin[static_cast<std::size_t>(v) + 1]; ++e) {
        adjacency[v][from.to[static_cast<std::size_t>(e)]] = 1;
      }
    }
    const Tensor hears = (adjacency.sum(1, true) > 0).to(torch::kFloat64);
    if (shape.mean_messages) adjacency = adjacency / torch::clamp_min(adjacency.sum(1, true), 1);
    const auto update = [&](const Tensor& rows, const Tensor& x) {
      return perceptron(direction + ".g",
                        torch::matmul(rows, perceptron(direction + ".f", x, true)), true);
    };
    if (shape.sweep) {
      std::vector<Tensor> x(static_cast<std::size_t>(n), torch::zeros_like(h[0]));
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t v = down ? i : n - 1 - i;
        Tensor row = update(adjacency[v].unsqueeze(0), torch::stack(x)).squeeze(0) * hears[v];
        if (shape.self_term != SelfTerm::none) row = row + h[v];
        x[static_cast<std::size_t>(v)] = row;
      }
      return torch::stack(x);
    }
    Tensor x = h;
    for (std::size_t r = 0; r < shape.rounds; ++r) {
      const Tensor change = update(adjacency, x) * hears;
      x = shape.self_term == SelfTerm::none       ? change
          : shape.self_term == SelfTerm::previous ? x + change
                                                  : h + change;
    }
    return x;
  }

  NetworkShape shape_;
  Embedding embedding_;
  std::map<std::string, Tensor> parameters_;
};

/// Random states of one graph, and what was decided in them.
struct Batch {
  Batch(const GraphView& graph, const NetworkShape& shape, std::size_t devices, Random& random) {
    const std::size_t stride = padded(shape.embedding.features);
    const std::size_t count = 5;
    features.assign(count * graph.count * stride, 0);
    placement.resize(count * graph.count);
    allowed.assign(count * devices, 1);
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t v = 0; v < graph.count; ++v) {
        for (std::size_t i = 0; i < shape.embedding.features; ++i) {
          features[(s * graph.count + v) * stride + i] =
              static_cast<float>(2 * random.uniform() - 1);
        }
        placement[s * graph.count + v] = static_cast<std::int32_t>(random.below(devices));
      }
      actions.push_back(static_cast<std::int32_t>(random.below(devices)));
      advantages.push_back(2 * random.uniform() - 1);
      // One device that cannot run the group, in some states.
      const auto other = (static_cast<std::size_t>(actions.back()) + 1) % devices;
      if (s % 2 == 1) allowed[s * devices + other] = 0;
    }
    for (std::size_t i = 0; i < count * devices * shape.candidate_features; ++i) {
      candidates.push_back(static_cast<float>(2 * random.uniform() - 1));
    }
    for (std::size_t s = 0; s < count; ++s) {
      decisions.push_back({{&graph, features.data() + s * graph.count * stride,
                            random.below(graph.count), placement.data() + s * graph.count, devices},
                           candidates.data() + s * devices * shape.candidate_features,
                           allowed.data() + s * devices});
    }
  }

  std::vector<float> features, candidates;
  std::vector<std::int32_t> placement, actions;
  std::vector<std::uint8_t> allowed;
  std::vector<double> advantages;
  std::vector<Decision> decisions;
};

}  // namespace

TEST_CASE("the policy and the gradient are those of the published formulas") {
  constexpr double kEntropyWeight = 0.3;
  for (const Case& each : cases()) {
    CAPTURE(each.name);
    NetworkShape shape{.embedding = each.embedding,
                       .devices = each.devices,
                       .candidate_features = each.candidates,
                       .prior = std::vector<float>(each.candidates, -0.5F),
                       .hidden_layers = each.hidden,
                       .logit_bound = each.bound};
    Random random(3);
    const auto graph = test::random_graph(random, {.ops = 23, .edge_chance = 0.15});
    const GraphView view(*colocation_groups(*graph));
    const std::size_t devices = each.devices > 0 ? each.devices : 3;
    const Batch batch(view, shape, devices, random);

    Network network(shape, 11);
    Reference reference(shape, network);
    std::vector<float> log_pi(batch.decisions.size() * devices);
    for (std::size_t s = 0; s < batch.decisions.size(); ++s) {
      network.log_policy(batch.decisions[s], log_pi.data() + s * devices);
    }
    Tensor loss = torch::zeros({}, torch::kFloat64);
    for (std::size_t s = 0; s < batch.decisions.size(); ++s) {
      const Decision& decision = batch.decisions[s];
      const Tensor expected =
          reference.log_policy(decision.state, decision.candidates, decision.allowed, devices);
      for (std::size_t m = 0; m < devices; ++m) {
        const double value = expected[static_cast<std::int64_t>(m)].item<double>();
        if (batch.allowed[s * devices + m] == 0) {
          CHECK(std::isinf(log_pi[s * devices + m]));
        } else {
          CHECK(log_pi[s * devices + m] == doctest::Approx(value).epsilon(1e-4));
        }
      }
      const Tensor pi = expected.exp();
      loss = loss - batch.advantages[s] * expected[batch.actions[s]] +
             kEntropyWeight * (pi * torch::log(pi + 1e-3)).sum();
    }
    loss.backward();
    CHECK(network.accumulate(batch.decisions, batch.actions, batch.advantages, kEntropyWeight) ==
          doctest::Approx(loss.item<double>()).epsilon(1e-4));

    // The first step of Adam shows only the gradient's signs; its moments show the gradient.
    network.step(0, 0);
    std::map<std::string, Tensor> means;
    for (const NamedTensor& tensor : network.tensors()) {
      if (tensor.name.rfind("adam.mean.", 0) == 0) {
        means[tensor.name.substr(10)] =
            torch::tensor(tensor.values).reshape(tensor.shape).to(torch::kFloat64);
      }
    }
    REQUIRE(means.size() == reference.parameters().size());
    for (const auto& [name, parameter] : reference.parameters()) {
      CAPTURE(name);
      const Tensor expected = parameter.grad();
      const Tensor actual = means.at(name) / 0.1;  // 1 - beta1
      // Rounding of the single precision is relative to gradients of about 1.
      const double scale = expected.abs().max().item<double>() + 1e-3;
      const double worst = (actual - expected).abs().max().item<double>();
      CHECK(worst < 1e-3 * scale);
    }
  }
}

TEST_CASE("parameter counts are the published ones") {
  // Counts of the released code without its `mem` attribute: d = 5 + m.
  const auto count = [](std::size_t devices, std::size_t layers) {
    NetworkShape shape;
    shape.embedding = {.features = 5 + devices, .layers = layers};
    shape.devices = devices;
    shape.hidden_layers = layers;
    return Network(shape, 0).parameter_count();
  };
  CHECK(count(2, 1) == 4902);
  CHECK(count(3, 1) == 6419);
  CHECK(count(4, 1) == 8140);
  CHECK(count(5, 1) == 10065);
  CHECK(count(8, 1) == 17064);
  CHECK(count(2, 2) == 15962);
  CHECK(count(4, 2) == 26338);
  CHECK(count(8, 2) == 54842);
}

TEST_CASE("weights and the optimiser's state survive saving and loading, to the last bit") {
  NetworkShape shape;
  shape.embedding = {.features = 8};
  shape.devices = 3;
  Random random(5);
  const auto graph = test::random_graph(random, {.ops = 12});
  const GraphView view(*colocation_groups(*graph));
  const Batch batch(view, shape, 3, random);
  Network trained(shape, 1), resumed(shape, 2);
  const auto learn = [&](Network& network) {
    network.accumulate(batch.decisions, batch.actions, batch.advantages, 0.1);
    network.step(1e-2, 1.25);
  };
  const auto same = [&] {
    const auto a = trained.tensors(), b = resumed.tensors();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].name == b[i].name);
      CHECK(a[i].values == b[i].values);
    }
  };
  for (int i = 0; i < 3; ++i) learn(trained);
  resumed.set_tensors(trained.tensors());
  same();
  for (int i = 0; i < 3; ++i) {
    learn(trained);
    learn(resumed);
  }
  same();
  auto damaged = trained.tensors();
  damaged[1].shape.push_back(1);
  CHECK_THROWS_AS(resumed.set_tensors(damaged), std::invalid_argument);
  same();
}

TEST_CASE("of the groups parallel to one, no more than `peers` are pooled, the nearest") {
  GraphBuilder builder("fork");  // a feeds b, c, d and e
  for (const char* const name : {"a", "b", "c", "d", "e"}) {
    const OpId op = builder.add_op(name, "Op");
    const TensorId made = builder.add_output(op, {DType::f32, true, {4}});
    if (op > 0) builder.add_input(op, made - op);
  }
  const auto groups = colocation_groups(*builder.build());
  const auto relations_of = [&](std::size_t peers) {
    const GraphView view(*groups, peers);
    std::vector<int> row;
    for (std::size_t other = 0; other < view.count; ++other)
      row.push_back(static_cast<int>(view.relation(2, other)));
    return row;
  };
  constexpr auto kAncestor = static_cast<int>(Relation::ancestor);
  constexpr auto kParallel = static_cast<int>(Relation::parallel);
  constexpr auto kSelf = static_cast<int>(Relation::self);
  constexpr auto kFar = static_cast<int>(Relation::far_parallel);
  const std::vector<int> all{kAncestor, kParallel, kSelf, kParallel, kParallel};
  CHECK(relations_of(0) == all);
  CHECK(relations_of(1) == std::vector<int>{kAncestor, kParallel, kSelf, kFar, kFar});
  CHECK(relations_of(2) == std::vector<int>{kAncestor, kParallel, kSelf, kParallel, kFar});
  CHECK(relations_of(9) == all);
}
