// Sampling and learning of sequence policies: 280 groups on 5 devices, the size of the translation
// network of ICML 2017. Workloads:
//   sequence/sample/<hidden>/<K>    K placements drawn at once by the placer, none measured
//   sequence/update/<hidden>/<K>    one update from K placements: forward, backward, Adam
//   sequence/products/<hidden>/<K>  the matrix products of `sample` alone: its share of them is the
//                                   ratio of the two times
// `samples` is a rate, by the clock.
#include <benchmark/benchmark.h>
#include <torch/types.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "berth/problem.h"
#include "learning/placer.h"
#include "support/layered_problem.h"

namespace berth::test {
namespace {

using namespace berth::learning;

constexpr GroupId kGroups = 280;
constexpr DeviceId kDevices = 5;

void count_samples(benchmark::State& state, std::int64_t samples) {
  state.counters["samples"] = benchmark::Counter(static_cast<double>(samples),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

struct Setting {
  explicit Setting(std::int64_t hidden) : random(3) {
    LayeredShape layered;
    layered.ops = 2800;
    const auto graph = layered_graph(7, layered);
    const auto cluster = equal_devices(kDevices, 5);
    const auto costs = Costs::stated(*graph, *cluster);
    const Problem problem(graph, cluster, costs, coarsen(*graph, *costs, kGroups), {});
    const Problem* const problems[] = {&problem};
    const Vocabulary vocabulary(problems, 200);
    std::vector<std::int32_t> label(static_cast<std::size_t>(problem.groups().count()));
    std::iota(label.begin(), label.end(), 0);
    sequence = Units(problem, vocabulary).sequence(problem, label, kGroups);
    PlacerShape shape;
    shape.vocabulary = vocabulary.size();
    shape.capacity = kGroups;
    shape.devices = kDevices;
    shape.hidden = hidden;
    placer = std::make_unique<Placer>(shape, parameters, random);
  }

  Parameters parameters;
  Random random;
  Sequence sequence;
  std::unique_ptr<Placer> placer;
};

PlacerDraws draws_of(std::int64_t samples) {
  PlacerDraws draws;
  draws.samples = samples;
  return draws;
}

void sample(benchmark::State& state, std::int64_t hidden, std::int64_t samples) {
  Setting setting(hidden);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        setting.placer->sample(setting.sequence, draws_of(samples), setting.random));
  }
  count_samples(state, samples);
}

void update(benchmark::State& state, std::int64_t hidden, std::int64_t samples) {
  Setting setting(hidden);
  const PlacerSamples drawn =
      setting.placer->sample(setting.sequence, draws_of(samples), setting.random);
  const torch::Tensor advantages = torch::linspace(-1, 1, samples);
  for (auto _ : state) {
    const auto scores = setting.placer->score(setting.sequence, drawn.devices);
    (-(advantages * scores.log_probability).sum()).backward();
    setting.parameters.step(1e-4, 1);
  }
  count_samples(state, samples);
}

/// What Placer::sample multiplies: the encoder once, the decoder for every group.
void products(benchmark::State& state, std::int64_t hidden, std::int64_t samples) {
  const torch::NoGradGuard no_gradient;
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return torch::rand({rows, columns});
  };
  const std::int64_t half = hidden / 2, width = 100;
  const torch::Tensor embedded = matrix(kGroups, width), to_gates = matrix(width, 4 * half);
  const torch::Tensor one = matrix(1, half), recurrent = matrix(half, 4 * half);
  const torch::Tensor all = matrix(kGroups, hidden), square = matrix(hidden, hidden);
  const torch::Tensor wide = matrix(hidden, 4 * hidden), state_of = matrix(samples, hidden);
  const torch::Tensor focus = matrix(samples, kGroups), to_logits = matrix(hidden, kDevices);
  for (auto _ : state) {
    for (int direction = 0; direction < 2; ++direction) {
      benchmark::DoNotOptimize(torch::mm(embedded, to_gates));
      for (GroupId t = 0; t < kGroups; ++t) benchmark::DoNotOptimize(torch::mm(one, recurrent));
    }
    benchmark::DoNotOptimize(torch::mm(all, square));
    benchmark::DoNotOptimize(torch::mm(all, wide));
    for (GroupId t = 0; t < kGroups; ++t) {
      benchmark::DoNotOptimize(torch::mm(state_of, wide));
      benchmark::DoNotOptimize(torch::mm(state_of, square));
      benchmark::DoNotOptimize(torch::mm(focus, all));
      benchmark::DoNotOptimize(torch::mm(state_of, to_logits));
      benchmark::DoNotOptimize(torch::mm(state_of, to_logits));
    }
  }
  count_samples(state, samples);
}

const int registered = [] {
  for (const std::int64_t hidden : {256, 512}) {
    for (const std::int64_t samples : {1, 16}) {
      const auto add = [&](const char* name, auto run) {
        benchmark::RegisterBenchmark(("sequence/" + std::string(name) + "/" +
                                      std::to_string(hidden) + "/" + std::to_string(samples))
                                         .c_str(),
                                     run, hidden, samples)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      };
      add("sample", sample);
      add("update", update);
      add("products", products);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace berth::test
