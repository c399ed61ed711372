// Gradients are linear in what they are made of, so that powers add up, but for the types below.
#include "replicas/growth.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "berth/sdk/ops/constants.h"
#include "berth/support/index.h"

namespace berth {
namespace {

using TypeNames = std::set<std::string_view>;
using Growth = std::optional<int>;

/// Terms of one sum, or parts of one tensor.
const TypeNames kTermOps = {
    "Add",      "AddV2",  "AddN",  "Sub",           "BiasAdd",
    "ConcatV2", "Concat", "Pack",  "DynamicStitch", "Maximum",
    "Minimum",  "Select", "Merge", "SelectV2",      "ParallelDynamicStitch"};
/// Some parts may be zeros or limits, which are constants.
const TypeNames kStrictTerms = {"Add", "AddV2", "AddN", "Sub", "BiasAdd"};
const TypeNames kQuotientOps = {"RealDiv", "Div", "DivNoNan", "FloorDiv", "TruncateDiv"};
const TypeNames kSquareOps = {"Square", "L2Loss", "SquaredDifference"};
/// Neither sums nor products.
const TypeNames kFunctionOps = {"Exp",      "Expm1",   "Log",  "Log1p",   "Tanh",       "Sigmoid",
                                "Softplus", "Softmax", "Pow",  "Erf",     "LogSoftmax", "Sin",
                                "Cos",      "Elu",     "Selu", "Softsign"};
/// Whole numbers count here, too: all, or the first of the inputs.
const TypeNames kArithmetic = {"Cast", "Identity", "Neg", "Mul",  "RealDiv",  "Div",
                               "Add",  "AddV2",    "Sub", "AddN", "FloorDiv", "TruncateDiv"};
const TypeNames kFirstOnly = {"Sum", "Mean", "Prod", "Reshape", "Squeeze", "ExpandDims"};
/// They give as much of fewer samples: a mean of them, or one.
const TypeNames kPickOps = {"Mean",     "Max",      "Min",    "ArgMax",   "ArgMin",      "Gather",
                            "GatherV2", "GatherNd", "Slice",  "TopK",     "TopKV2",      "All",
                            "Any",      "Prod",     "Unique", "UniqueV2", "StridedSlice"};
const TypeNames kSizeOps = {"Shape", "ShapeN", "Size", "Rank"};

/// Linear in the gradients that it takes, which may be several, and next to outputs of the forward pass.
bool takes_gradients(std::string_view type) {
  return type.find("Grad") != type.npos || type.find("Backprop") != type.npos ||
         type == "IdentityN";
}

class GrowthStudy {
 public:
  GrowthStudy(const Graph& whole, const Graph& smaller) : graph_(whole), smaller_(smaller) {
    double largest = 0;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      for (const TensorId tensor : graph_.outputs(op)) {
        if (graph_.is_input(op)) largest = std::max(largest, quotient(tensor));
      }
    }
    log_ratio_ = largest > 1 ? std::log(largest) : 0;
    growth_.resize(at(graph_.tensor_count()), 0);
  }

  std::vector<Growth> run() {
    for (const OpId op : graph_.topological_order()) {
      const Growth by_inputs = of_inputs(op);
      for (const TensorId output : graph_.outputs(op)) {
        const Growth sums = summed(op, output);
        growth_[at(output)] = by_inputs && sums ? Growth(*by_inputs + *sums) : Growth();
      }
      const double* const known = number(graph_, op);
      const double* const before = number(smaller_, op);
      if (known != nullptr && before != nullptr && !graph_.outputs(op).empty()) {
        growth_[at(graph_.outputs(op)[0])] =
            *known == *before ? Growth(0) : power(*known / *before);
      }
    }
    return std::move(growth_);
  }

 private:
  /// Times by which a tensor is larger.
  double quotient(TensorId tensor) const {
    const auto bytes = static_cast<double>(graph_.bytes(tensor));
    const auto before = static_cast<double>(smaller_.bytes(tensor));
    return bytes > 0 && before > 0 ? bytes / before : 1;
  }
  Growth power(double ratio) const {
    if (log_ratio_ <= 0 || !(ratio > 0)) return std::nullopt;
    const double exact = std::log(ratio) / log_ratio_;
    const double whole = std::round(exact);
    if (std::abs(exact - whole) > 1e-3) return std::nullopt;
    return static_cast<int>(whole);
  }
  /// Its dimensions of the batch's size.
  int rows(TensorId tensor) const {
    return log_ratio_ <= 0 ? 0
                           : static_cast<int>(std::lround(std::log(quotient(tensor)) / log_ratio_));
  }
  static const double* number(const Graph& graph, OpId op) {
    const AttributeValue* const value = graph.attribute(op, ops::kKnownNumber);
    return value != nullptr ? std::get_if<double>(value) : nullptr;
  }

  /// Inputs that are numbers to compute with, and no shapes, positions or axes.
  std::vector<TensorId> terms(OpId op) const {
    const auto inputs = graph_.inputs(op);
    const bool first = kFirstOnly.contains(graph_.op_type(op));
    const bool every = kArithmetic.contains(graph_.op_type(op));
    std::vector<TensorId> all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoTensor) continue;
      if (is_float(graph_.dtype(inputs[i])) || every || (first && i == 0)) all.push_back(inputs[i]);
    }
    return all;
  }
  /// Zeros, of any growth.
  bool is_neutral(OpId op, TensorId term) const {
    const OpId maker = graph_.maker(term);
    if (maker != kNoOp && graph_.op_type(maker) == "ZerosLike") return true;
    return graph_.producer(term) == kNoOp && !kStrictTerms.contains(graph_.op_type(op));
  }
  Growth common(OpId op, const std::vector<TensorId>& of) const {
    Growth all;
    for (const TensorId term : of) {
      if (is_neutral(op, term)) continue;
      const Growth one = growth_[at(term)];
      if (!one || (all && *all != *one)) return std::nullopt;
      all = one;
    }
    return all.value_or(0);
  }
  /// All that grows at all, as gradients do.
  Growth common_growing(const std::vector<TensorId>& of) const {
    Growth all;
    for (const TensorId term : of) {
      const Growth one = growth_[at(term)];
      if (!one || *one == 0) continue;
      if (all && *all != *one) return std::nullopt;
      all = one;
    }
    return all.value_or(0);
  }

  Growth of_inputs(OpId op) const {
    const std::string_view type = graph_.op_type(op);
    if (kSizeOps.contains(type)) return std::nullopt;
    const std::vector<TensorId> all = terms(op);
    if (is_loop(type) || is_array(type) || takes_gradients(type)) return common_growing(all);
    if (kTermOps.contains(type)) return common(op, all);
    int sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Growth one = growth_[at(all[i])];
      if (!one) return std::nullopt;
      sum += i > 0 && kQuotientOps.contains(type) ? -*one : *one;
    }
    if (sum == 0) return 0;
    if (kSquareOps.contains(type)) return 2 * sum / static_cast<int>(all.size());
    if (type == "Reciprocal" || type == "Inv") return -sum;
    if (type == "Sqrt" || type == "Rsqrt") {
      if (sum % 2 != 0) return std::nullopt;
      return type == "Sqrt" ? sum / 2 : -sum / 2;
    }
    return kFunctionOps.contains(type) ? Growth() : Growth(sum);
  }
  /// How often the op sums over the batch on the way to an output. Nothing for sums over pairs of samples, of which
  /// each sample's part may have been divided by how many others there are.
  Growth summed(OpId op, TensorId output) const {
    const std::string_view type = graph_.op_type(op);
    const bool statistics = type.starts_with("FusedBatchNorm") && type.find("Grad") == type.npos;
    if (kPickOps.contains(type) || is_array(type) || statistics) return 0;
    if (is_loop(type)) return adds_up(op, output) ? 1 : 0;
    int most = 0;
    for (const TensorId input : graph_.inputs(op)) {
      if (input != kNoTensor) most = std::max(most, rows(input));
    }
    if (most > 1 && rows(output) < most) return std::nullopt;
    return std::max(0, most - rows(output));
  }

  /// Whether a loop adds up an output from round to round, as gradients of its weights; a number is the state of
  /// an array.
  bool adds_up(OpId op, TensorId output) const {
    if (!is_float(graph_.dtype(output)) || rows(output) > 0 || graph_.bytes(output) <= 8) {
      return false;
    }
    const auto inputs = graph_.inputs(op), outputs = graph_.outputs(op);
    if (inputs.size() != outputs.size()) return true;
    // Such a loop gives what it takes, weights as well, which are no zeros.
    const auto place = std::find(outputs.begin(), outputs.end(), output) - outputs.begin();
    const TensorId first = inputs[static_cast<std::size_t>(place)];
    const OpId maker = first == kNoTensor ? kNoOp : graph_.producer(first);
    const std::string_view type = maker == kNoOp ? "Const" : graph_.op_type(maker);
    return type == "Const" || type == "Fill" || type == "ZerosLike";
  }

  const Graph& graph_;
  const Graph& smaller_;
  double log_ratio_ = 0;
  std::vector<Growth> growth_;
};

}  // namespace

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

bool is_loop(std::string_view type) {
  return type == "While" || type == "StatelessWhile" || type == "If" || type == "StatelessIf" ||
         type == "Case" || type.ends_with("PartitionedCall");
}
bool is_array(std::string_view type) {
  return type.starts_with("TensorArray") || type.starts_with("TensorList") ||
         type.starts_with("Stack");
}

std::vector<std::optional<int>> find_growth(const Graph& whole, const Graph& smaller) {
  return GrowthStudy(whole, smaller).run();
}

}  // namespace berth
