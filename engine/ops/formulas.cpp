#include "ops/formulas.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <string>

namespace berth::ops {

double known_or(double value, double fallback) {
  return std::isnan(value) ? fallback : value;
}

double convolution_flops(double output_elements, double taps, bool bias) {
  return output_elements * (2 * taps + (bias ? 1 : 0));
}

double matmul_flops(double output_elements, double inner, bool bias) {
  return output_elements * (2 * inner + (bias ? 1 : 0));
}

double attention_scores(const AttentionShape& shape) {
  return shape.batch * shape.heads * shape.queries * shape.keys;
}

double attention_flops(const AttentionShape& shape) {
  // Per score: scale, maximum, subtract, exp, sum, divide.
  constexpr double kSoftmaxFlops = 5 + kTranscendentalFlops;
  return attention_scores(shape) * (2 * shape.qk_size + 2 * shape.v_size + kSoftmaxFlops);
}

double recurrent_flops(const RecurrentShape& shape) {
  // Per hidden unit and gate: the sum of both products, the bias, the activation. The few
  // operations that mix the gates are left out: under 1 % of the smallest real layer.
  constexpr double kGateFlops = 2 + kTranscendentalFlops;
  const double units = shape.steps * shape.directions * shape.batch * shape.gates * shape.hidden;
  return units * (2 * (shape.input + shape.hidden) + kGateFlops);
}

double selection_flops(double elements, double kept) {
  return elements * std::max(1.0, std::log2(std::max(1.0, kept)));
}

double fourier_flops(double elements, double points) {
  return 5 * elements * std::max(1.0, std::log2(points));
}

namespace {

/// The sum of the points of the products by which operands are taken together, one after the other, as
/// runtimes do. A label goes once no later operand and no result has it.
double points_by_pairs(const std::vector<std::string>& terms, const std::string& result,
                       const std::array<double, 256>& size) {
  const auto has = [](const std::string& labels, char label) {
    return labels.find(label) != std::string::npos;
  };
  std::string held;
  for (const char label : terms.front()) {
    if (!has(held, label)) held.push_back(label);
  }
  double sum = 0;
  for (std::size_t t = 1; t < terms.size(); ++t) {
    std::string both = held, left;
    for (const char label : terms[t]) {
      if (!has(both, label)) both.push_back(label);
    }
    double points = 1;
    for (const char label : both) {
      points *= size[static_cast<unsigned char>(label)];
      bool is_needed = has(result, label);
      for (std::size_t later = t + 1; later < terms.size(); ++later) {
        is_needed = is_needed || has(terms[later], label);
      }
      if (is_needed) left.push_back(label);
    }
    sum += points;
    held = left;
  }
  return sum;
}

/// Index labels of one operand or of the result: letters, and '.' where "..." stands.
std::string labels_of(std::string_view term) {
  std::string labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else if (term.substr(i, 3) == "...") {
      labels.push_back('.');
      i += 2;
    }
  }
  return labels;
}

std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> terms;
  for (std::size_t start = 0;;) {
    const std::size_t comma = text.find(',', start);
    terms.push_back(labels_of(text.substr(start, comma - start)));
    if (comma == std::string_view::npos) return terms;
    start = comma + 1;
  }
}

}  // namespace

EinsumWork einsum_work(std::string_view equation, const std::vector<std::vector<double>>& dims) {
  const EinsumWork unknown{std::numeric_limits<double>::quiet_NaN(), false};
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> terms = split_terms(equation.substr(0, arrow));
  if (terms.size() != dims.size()) return unknown;

  std::array<double, 256> size{};  // by label; 0 = not seen
  std::array<int, 256> uses{};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::string& labels = terms[t];
    const bool ellipsis = labels.find('.') != std::string::npos;
    const std::size_t named = labels.size() - (ellipsis ? 1 : 0);
    if (dims[t].size() < named || (!ellipsis && dims[t].size() != named)) return unknown;
    std::size_t axis = 0;
    for (const char label : labels) {
      const auto slot = static_cast<unsigned char>(label);
      std::size_t span = label == '.' ? dims[t].size() - named : 1;
      double extent = 1;
      for (; span > 0; --span) extent *= dims[t][axis++];
      if (std::isnan(extent)) return unknown;
      size[slot] = uses[slot] == 0 ? extent : std::max(size[slot], extent);  // 1 broadcasts
      ++uses[slot];
    }
  }

  // Without an arrow the result has the labels that occur once.
  std::string result;
  if (arrow != std::string_view::npos) {
    result = labels_of(equation.substr(arrow + 2));
  } else {
    for (std::size_t label = 0; label < uses.size(); ++label) {
      if (uses[label] == 1 || label == '.') result.push_back(static_cast<char>(label));
    }
  }
  double points = 1;
  bool contracts = false;
  double products = 1, rows = 1, columns = 1;
  for (std::size_t label = 0; label < size.size(); ++label) {
    if (uses[label] == 0) continue;
    points *= size[label];
    const bool kept = result.find(static_cast<char>(label)) != std::string::npos;
    contracts = contracts || (!kept && uses[label] > 1 && terms.size() > 1);
    const bool first = terms.front().find(static_cast<char>(label)) != std::string::npos;
    if (kept) (uses[label] > 1 ? products : first ? rows : columns) *= size[label];
  }
  // A multiplication and an addition for each point of a product.
  const double flops = terms.size() > 1 ? 2 * points_by_pairs(terms, result, size) : points;
  EinsumWork work{flops, contracts};
  if (terms.size() == 2 && contracts) {
    work.products = products;
    work.rows = rows;
    work.columns = columns;
  }
  return work;
}

}  // namespace berth::ops
