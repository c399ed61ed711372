#include "grouper.h"

#include <vector>

namespace berth::hdp {
namespace {

/// Width of the embedding of types (C1).
constexpr std::int64_t kTypeWidth = 20;
/// Powers of the adjacency matrix in place_features.
constexpr int kPowers = 8;
/// Of the projection: the same for every graph, so that features carry over.
constexpr std::uint64_t kProjectionSeed = 1;
/// How much better the nearest centre's logit is at first, in units of the mean distance.
constexpr double kSharpness = 12;

torch::Tensor unit_rows(const torch::Tensor& x) {
  return x / (x.square().sum(1, true).sqrt() + 1e-6);
}

}  // namespace

torch::Tensor place_features(const Groups& units) {
  const std::int64_t count = units.count();
  Random random(kProjectionSeed);
  torch::Tensor x = torch::empty({count, kPlaceFeatures});
  learning::fill_uniform(x, 1, random);
  torch::Tensor sum = torch::zeros_like(x);
  for (int power = 0; power < kPowers; ++power) {
    torch::Tensor next = torch::zeros_like(x);
    const float* const from = x.data_ptr<float>();
    float* const to = next.data_ptr<float>();
    for (GroupId unit = 0; unit < count; ++unit) {
      const auto add = [&](GroupId other, std::size_t degree) {
        const float weight = 1 / static_cast<float>(degree);
        for (std::int64_t i = 0; i < kPlaceFeatures; ++i) {
          to[unit * kPlaceFeatures + i] += weight * from[other * kPlaceFeatures + i];
        }
      };
      const auto in = units.in_edges(unit), out = units.out_edges(unit);
      const std::size_t degree = in.size() + out.size() + 1;
      add(unit, degree);
      for (const Groups::Edge& edge : in) add(edge.src, degree);
      for (const Groups::Edge& edge : out) add(edge.dst, degree);
    }
    x = unit_rows(next);
    sum += x;
  }
  return unit_rows(sum);
}

FeedForwardGrouper::FeedForwardGrouper(const learning::Vocabulary& vocabulary, std::int64_t hidden,
                                       std::int64_t groups,
                                       std::span<const learning::FirstProblem> problems,
                                       learning::Parameters& parameters, Random& random)
    : vocabulary_(vocabulary.size()) {
  const std::int64_t width = kTypeWidth + learning::kShapeFeatures + kPlaceFeatures;
  torch::Tensor table = torch::zeros({vocabulary_, kTypeWidth});
  learning::fill_uniform(table, 0.1, random);
  type_table_ = parameters.add("grouper.types", table);
  first_ = parameters.add_weights("grouper.first", width, hidden, random);
  first_bias_ = parameters.add("grouper.first.bias", torch::zeros({hidden}));
  last_ = parameters.add_weights("grouper.last", hidden, groups, random);
  last_bias_ = parameters.add("grouper.last.bias", torch::zeros({groups}));
  if (problems.empty()) return;
  std::vector<torch::Tensor> all;
  for (const auto& [problem, units] : problems) all.push_back(features(*problem, *units));
  start_from(torch::cat(all, 0), random);
}

torch::Tensor FeedForwardGrouper::features(const Problem& problem,
                                           const learning::Units& units) const {
  return torch::cat({units.types(), units.shapes(), place_features(problem.groups())}, 1);
}

torch::Tensor FeedForwardGrouper::embed(const torch::Tensor& features) const {
  const std::int64_t rest = features.size(1) - vocabulary_;
  const torch::Tensor x = torch::cat({torch::mm(features.narrow(1, 0, vocabulary_), type_table_),
                                      features.narrow(1, vocabulary_, rest)},
                                     1);
  return torch::relu(torch::addmm(first_bias_, x, first_));
}

torch::Tensor FeedForwardGrouper::log_policy(const torch::Tensor& features) const {
  return torch::log_softmax(torch::addmm(last_bias_, embed(features), last_), 1);
}

void FeedForwardGrouper::start_from(const torch::Tensor& features, Random& random) {
  const torch::NoGradGuard no_gradient;
  const torch::Tensor embedded = embed(features);
  const std::int64_t groups = last_.size(1), units = embedded.size(0);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(groups));
  for (std::int64_t& each : drawn) {
    each = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(units)));
  }
  const torch::Tensor centres = embedded.index_select(0, torch::tensor(drawn));
  // -|x - c|^2 but for |x|^2, which is the same for all groups.
  const torch::Tensor spread = (embedded - embedded.mean(0, true)).square().sum(1).mean() + 1e-6;
  const torch::Tensor scale = kSharpness / spread;
  last_.copy_(2 * scale * centres.t());
  last_bias_.copy_(-scale * centres.square().sum(1));
}

}  // namespace berth::hdp
