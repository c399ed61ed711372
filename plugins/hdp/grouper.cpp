#include "grouper.h"

#include <vector>

#include "division.h"

namespace berth::hdp {
namespace {

/// Width of the embedding of types, as in the paper.
constexpr std::int64_t kTypeWidth = 20;
/// Powers of the adjacency matrix in place_features.
constexpr int kPowers = 8;
/// Seed of the projection: the same for every graph, so that features carry over.
constexpr std::uint64_t kProjectionSeed = 1;

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

torch::Tensor starting_groups(const Problem& problem, std::int64_t groups) {
  const std::vector<std::int32_t> label = divide(problem, static_cast<std::int32_t>(groups));
  torch::Tensor one_hot = torch::zeros({problem.groups().count(), groups});
  float* const rows = one_hot.data_ptr<float>();
  for (std::size_t unit = 0; unit < label.size(); ++unit) {
    rows[static_cast<std::int64_t>(unit) * groups + label[unit]] = 1;
  }
  return one_hot;
}

FeedForwardGrouper::FeedForwardGrouper(const learning::Vocabulary& vocabulary, std::int64_t hidden,
                                       std::int64_t groups, double prior,
                                       learning::Parameters& parameters, Random& random)
    : vocabulary_(vocabulary.size()), groups_(groups), prior_(prior) {
  const std::int64_t width = kTypeWidth + learning::kShapeFeatures + kPlaceFeatures;
  torch::Tensor table = torch::zeros({vocabulary_, kTypeWidth});
  learning::fill_uniform(table, 0.1, random);
  type_table_ = parameters.add("grouper.types", table);
  first_ = parameters.add_weights("grouper.first", width, hidden, random);
  first_bias_ = parameters.add("grouper.first.bias", torch::zeros({hidden}));
  last_ = parameters.add_weights("grouper.last", hidden, groups, random);
  last_bias_ = parameters.add("grouper.last.bias", torch::zeros({groups}));
}

torch::Tensor FeedForwardGrouper::features(const Problem& problem,
                                           const learning::Units& units) const {
  return torch::cat({units.types(), units.shapes(), place_features(problem.groups()),
                     starting_groups(problem, groups_)},
                    1);
}

torch::Tensor FeedForwardGrouper::log_policy(const torch::Tensor& features) const {
  const std::int64_t start = features.size(1) - groups_;
  const torch::Tensor x = torch::cat({torch::mm(features.narrow(1, 0, vocabulary_), type_table_),
                                      features.narrow(1, vocabulary_, start - vocabulary_)},
                                     1);
  const torch::Tensor hidden = torch::relu(torch::addmm(first_bias_, x, first_));
  const torch::Tensor logits = torch::addmm(last_bias_, hidden, last_);
  return torch::log_softmax(logits + prior_ * features.narrow(1, start, groups_), 1);
}

}  // namespace berth::hdp
