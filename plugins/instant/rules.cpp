#include "instant/rules.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::policies::instant {
namespace {

constexpr std::string_view kFormat = "berth.instant/2";

/// How a weight is drawn: 0 as often as `none` says, else between the ends, evenly in its logarithm.
struct Range {
  double none;
  double least;
  double most;
};
constexpr std::array<Range, Rule::kWeights> kRanges = {{{.2, .1, 4},
                                                        {.2, .1, 4},
                                                        {.15, .1, 4},
                                                        {.6, .01, 1},
                                                        {.6, .03, 1},
                                                        {.6, .1, 4},
                                                        {.1, .1, 4},
                                                        {.5, .01, 1},
                                                        {.5, .03, 2},
                                                        {.4, .005, .3},
                                                        {.3, .1, 4}}};

Rule parse(const std::string& line, std::size_t number, const std::filesystem::path& path) {
  std::istringstream text(line);
  Rule rule;
  std::vector<double> weights;
  for (double weight = 0; text >> weight;) weights.push_back(weight);
  const bool fine = std::all_of(weights.begin(), weights.end(),
                                [](double weight) { return weight >= 0 && std::isfinite(weight); });
  if (fine && text.eof() && weights.size() == Rule::kWeights) {
    std::copy(weights.begin(), weights.end(), rule.weights.begin());
    return rule;
  }
  throw Error(ErrorCode::invalid_file,
              cat("'", path.string(), "', line ", number, ": ", std::size_t{Rule::kWeights},
                  " numbers >= 0 expected; make the file anew with `berth learn`"));
}

}  // namespace

const std::vector<Rule>& shipped_rules() {
  // 360 draws on four graphs of each family on three machines; scripts/experiments/instant.lua makes them anew.
  static const std::vector<Rule> rules = {
      {{1.182, 0.7793, 1.68, 0, 0, 3.979, 2.475, 0.09355, 0.2718, 0, 0}},
      {{0.316, 3.098, 1.939, 0, 0, 1.085, 2.421, 0.06129, 0, 0.01234, 0}},
      {{0, 0, 0.1427, 0, 0, 0, 1.038, 0.07038, 0, 0.4168, 0}},
      {{0, 0, 0.1762, 0, 0, 0, 1.409, 0.05, 0, 0.2656, 0}},
      {{0.8693, 0.8463, 1.71, 0, 0, 4.141, 2.289, 0.09184, 0.2209, 0, 0}},
      {{1.151, 0.5259, 0.996, 0, 0.02142, 0, 0.5301, 0.05901, 0.417, 0, 0}},
      {{0.5212, 4.074, 2.465, 0, 0, 0.6946, 1.251, 0.08404, 0, 0.0137, 0}},
      {{1.165, 0.5329, 1.633, 0, 0.02159, 0, 0.6646, 0.05515, 0.5066, 0, 0}},
  };
  return rules;
}

Rule random_rule(Random& random) {
  Rule rule;
  for (std::size_t i = 0; i < Rule::kWeights; ++i) {
    const Range& range = kRanges[i];
    const double drawn = range.least * std::pow(range.most / range.least, random.uniform());
    if (random.uniform() >= range.none) rule.weights[i] = drawn;
  }
  return rule;
}

Rule varied(const Rule& rule, double spread, Random& random) {
  Rule drawn = rule;
  for (std::size_t i = 0; i < Rule::kShare; ++i) {
    drawn.weights[i] *= std::exp(spread * (random.uniform() - random.uniform()));
  }
  return drawn;
}

std::vector<Rule> read_rules(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    throw Error(ErrorCode::not_found,
                cat("cannot read '", path.string(), "'; give a file of `berth learn`"));
  }
  if (line != kFormat) {
    throw Error(ErrorCode::invalid_file,
                cat("'", path.string(), "' begins with '", line.substr(0, 40), "' instead of '",
                    kFormat, "'; make it anew with `berth learn`"));
  }
  std::vector<Rule> rules;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (!line.empty()) rules.push_back(parse(line, number, path));
  }
  if (!rules.empty()) return rules;
  throw Error(ErrorCode::invalid_file,
              cat("'", path.string(), "' has no rule; make it anew with `berth learn`"));
}

}  // namespace berth::policies::instant
