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

constexpr std::string_view kFormat = "berth.instant/1";

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
                                                        {.5, .03, 2}}};

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
  // 300 draws on four graphs of each family on three machines; scripts/experiments/instant.lua makes them anew.
  static const std::vector<Rule> rules = {
      {{1.253, 1.693, 1.345, 0, 0, 3.098, 1.444, 0.03777, 0.2037}},
      {{2.071, 1.763, 1.412, 0, 0, 4.875, 2.602, 0.05416, 1.725}},
      {{0.7217, 4.526, 0.9106, 0, 0, 0, 0.6854, 0.07764, 0}},
      {{6.085, 0, 0.5042, 0, 0, 0.2924, 1.541, 0.05821, 0}},
      {{2.527, 0.1112, 2.057, 0, 0, 0, 4.484, 0.03453, 0.7921}},
      {{1.055, 2.123, 1.298, 0, 0, 1.844, 1.403, 0.05578, 0.216}},
      {{0.5747, 2.01, 1.113, 0, 0, 2.364, 1.563, 0.05, 0.1986}},
      {{0.6422, 13.19, 1.355, 0, 0, 0, 0.4187, 0.1284, 0}},
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
  for (double& weight : drawn.weights) {
    weight *= std::exp(spread * (random.uniform() - random.uniform()));
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
