#include "berth/sdk/ops/constants.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/sdk/ops/op.h"
#include "berth/sdk/ops/views.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "ops/op_view.h"

namespace berth::ops {
namespace {

using Role = Graph::Constant;

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// "com.microsoft.Gelu" -> "Gelu".
std::string_view bare(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

bool is_variable(std::string_view type) {
  return type == "VarHandleOp" || type == "VariableV2" || type == "Variable";
}

/// Ops that only read a variable.
bool reads_variable(std::string_view type) {
  return type == "ReadVariableOp" || type == "Identity" || type == "VariableShape";
}

bool is_view(std::string_view type) {
  constexpr std::array<std::string_view, 9> kViews = {"Dropout",
                                                      "GuaranteeConst",
                                                      "Identity",
                                                      "ReadVariableOp",
                                                      "StopGradient",
                                                      "builtin.unrealized_conversion_cast",
                                                      "torch_c.from_builtin_tensor",
                                                      "torch_c.to_builtin_tensor",
                                                      "tosa.identity"};
  // A load of a global that was loaded before.
  return contains(kViews, type) || type.find("global") != std::string_view::npos;
}

bool gives_another_shape(std::string_view bare_type) {
  constexpr std::array<std::string_view, 5> kTypes = {"Flatten", "Reshape", "Squeeze", "Transpose",
                                                      "Unsqueeze"};
  return contains(kTypes, bare_type);
}

/// Whether the axes of its input trade places.
bool turns(std::string_view type) {
  return bare(type) == "Transpose";
}

bool is_dequantising(std::string_view type) {
  return bare(type) == "DequantizeLinear";
}

/// Bits of an element, by its bytes, as a graph has no type for floats of 4; 0 where they are not known.
int bits_of(const TensorView& tensor) {
  const double bits = 8 * tensor.bytes() / tensor.elements();
  return bits > 0 && bits <= 64 ? static_cast<int>(bits) : 0;
}

bool holds_small_floats(const TensorView& weights) {
  return weights.dtype() == DType::f8 ||
         (weights.dtype() == DType::unknown && bits_of(weights) == 4);
}

/// Whether a runtime multiplies the weights that `dequantising` gives to the second input of `product`,
/// `turned` around or not, as they are stored.
///
/// ONNX Runtime 1.32 does where it makes MatMulNBits of integers. Measured with one scale, a scale per row
/// or column, and blocks along either axis: scales of columns do, of a matrix that the product takes as it
/// is stored. Of weights in 8 bits it turns a matrix with one scale, or with scales that are of columns
/// then. Floats of 8 and 4 bits are for TensorRT, which takes scales of columns and blocks of rows either
/// way around; ONNX Runtime has no such product.
bool dequantises(const OpView& dequantising, const OpView& product, std::string_view type,
                 bool turned) {
  const bool general = type == "Gemm";
  if (!general && type != "MatMul") return false;
  if (general && product.integer("transB", 0) != 0) turned = !turned;
  const TensorView weights = dequantising.input(0), scales = dequantising.input(1);
  const DType stored = weights.dtype();
  const bool floats = holds_small_floats(weights);
  const bool bytes = stored == DType::i8 || stored == DType::u8;
  if (!floats && !bytes && stored != DType::i4 && stored != DType::u4) return false;
  std::int64_t axis = dequantising.integer("axis", 1);
  if (axis < 0) axis += weights.rank();
  const bool one = scales.elements() == 1;
  if (turned && !floats) {
    return !general && bytes && (one || (scales.rank() == 1 && axis == 0));
  }
  const std::int64_t columns = turned ? 0 : 1;
  return one || (scales.rank() == 1 && axis == columns) ||
         (scales.rank() == 2 && axis == 1 - columns);
}

bool stays_in_step(const Graph& graph, OpId op) {
  return OpView(graph, op).integer(kInStepAttribute, 0) == 1;
}

/// Whether each step decides which sizes the op's results have, by the branch that runs or the rounds of a loop:
/// a graph has those of the largest.
bool decides_sizes(std::string_view type) {
  constexpr std::array<std::string_view, 18> kTypes = {
      "BeamSearch",  "Case",           "GreedySearch", "If",
      "Loop",        "Merge",          "RefMerge",     "RefSwitch",
      "Sampling",    "Scan",           "SequenceMap",  "StatelessCase",
      "StatelessIf", "StatelessWhile", "Switch",       "WhisperBeamSearch",
      "While",       "_SwitchN"};
  return contains(kTypes, bare(type));
}

/// Whether the op gives sizes that are known before the step, though what has them may be made in it.
bool gives_fixed_sizes(const Graph& graph, OpId op) {
  if (!reads_sizes_alone(graph.dialect(), graph.op_type(op))) return false;
  if (OpView(graph, op).integer(kFixedSizesAttribute, 0) != 1) return false;
  const auto inputs = graph.inputs(op);
  return std::all_of(inputs.begin(), inputs.end(), [&](TensorId tensor) {
    return TensorView(graph, tensor).elements() >= 0;  // false for NaN
  });
}

class Folding {
 public:
  explicit Folding(const Graph& graph)
      : graph_(graph),
        roles_(at(graph.op_count()), Role::no),
        of_variables_(at(graph.op_count()), false),
        behind_decisions_(at(graph.op_count()), false),
        quantised_(at(graph.tensor_count()), false) {}

  /// False where nothing is to be folded.
  bool run() {
    if (graph_.constant_count() > 0) return false;
    find_written();
    bool any = false;
    bool work_left = false;
    for (const OpId op : graph_.topological_order()) {
      behind_decisions_[at(op)] = is_behind_decision(op);
      const Role role = role_of(op);
      roles_[at(op)] = role;
      of_variables_[at(op)] = role != Role::no && is_of_variables(op);
      any = any || role != Role::no;
      work_left = work_left || (role == Role::no && !graph_.inputs(op).empty());
    }
    return any && work_left;
  }
  [[nodiscard]] const std::vector<Role>& roles() const { return roles_; }

 private:
  [[nodiscard]] bool is_constant(OpId op) const { return roles_[at(op)] != Role::no; }

  /// Variables that the step writes: by co-location, or because an op that does more than compute takes
  /// the variable first, or what was read of it.
  void find_written() {
    if (graph_.dialect() != "tf") return;
    written_variables_.assign(at(graph_.op_count()), false);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const std::string& type = graph_.op_type(op);
      if (is_variable(type) || reads_variable(type) || is_pure("tf", type)) continue;
      const std::string& name = graph_.colocation(op);
      if (!name.empty()) written_.insert(name);
      const auto inputs = graph_.inputs(op);
      if (inputs.empty() || inputs.front() == kNoTensor) continue;
      OpId source = graph_.producer(inputs.front());
      while (source != kNoOp && reads_variable(graph_.op_type(source)) &&
             !graph_.inputs(source).empty() && graph_.inputs(source).front() != kNoTensor) {
        source = graph_.producer(graph_.inputs(source).front());
      }
      if (source != kNoOp) written_variables_[at(source)] = true;
    }
  }

  /// A variable that the step reads, and nothing else.
  [[nodiscard]] bool only_read(OpId variable) const {
    if (written_variables_[at(variable)]) return false;
    if (written_.contains(graph_.colocation(variable))) return false;
    const bool by_handle = graph_.op_type(variable) == "VarHandleOp";
    const auto edges = graph_.out_edges(variable);
    return !edges.empty() && std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      const std::string& reader = graph_.op_type(edge.dst);
      return edge.tensor != kNoTensor &&
             (reads_variable(reader) || (!by_handle && is_pure("tf", reader)));
    });
  }

  [[nodiscard]] bool pure(OpId op) const {
    const std::string& type = graph_.op_type(op);
    if (graph_.dialect() == "tf") {
      if (is_variable(type)) return only_read(op);
      if (type == "ReadVariableOp") return true;
    }
    if (type == "Dropout") return ops::is_view(graph_, op);
    return graph_.stated_pure(op) || is_pure(graph_.dialect(), type);
  }

  [[nodiscard]] bool is_of_variables(OpId op) const {
    if (graph_.dialect() != "tf") return false;
    const auto edges = graph_.in_edges(op);
    return is_variable(graph_.op_type(op)) ||
           std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
             return edge.tensor != kNoTensor && of_variables_[at(edge.src)];
           });
  }

  [[nodiscard]] bool is_behind_decision(OpId op) const {
    const auto edges = graph_.in_edges(op);
    return decides_sizes(graph_.op_type(op)) ||
           std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
             return edge.tensor != kNoTensor && behind_decisions_[at(edge.src)];
           });
  }

  /// Whether all that the op waits for is there before the step, or it asks only for sizes, which are. TensorFlow
  /// leaves an op's control edges to the constant that it becomes.
  [[nodiscard]] bool waits_for_nothing(OpId op) const {
    const bool is_tf = graph_.dialect() == "tf";
    const bool of_sizes = gives_fixed_sizes(graph_, op) && !behind_decisions_[at(op)];
    const auto edges = graph_.in_edges(op);
    return std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      return is_constant(edge.src) || (edge.tensor == kNoTensor ? is_tf : of_sizes);
    });
  }

  [[nodiscard]] Role role_of(OpId op) const {
    if (graph_.outputs(op).empty() || !pure(op) || stays_in_step(graph_, op)) return Role::no;
    if (!waits_for_nothing(op)) return Role::no;
    const auto inputs = graph_.inputs(op);
    if (inputs.empty()) return Role::made;
    const std::string& type = graph_.op_type(op);
    if (graph_.dialect() == "onnx") return onnx_role(op, type);
    if (is_view(type)) return Role::stands;
    return is_of_variables(op) || grows(op) ? Role::no : Role::made;
  }

  [[nodiscard]] Role onnx_role(OpId op, std::string_view type) const {
    const TensorId first = graph_.inputs(op).front();
    const bool quantised = first != kNoTensor && quantised_[at(first)];
    if (is_dequantising(type)) {
      if (!readers_dequantise(op, {op})) return Role::no;
    } else if (!(quantised && turns(type))) {
      if (!is_view(type)) return Role::made;
      if (!quantised) return Role::stands;
    }
    for (const TensorId output : graph_.outputs(op)) quantised_[at(output)] = true;
    return Role::stands;
  }

  /// The way of dequantised weights from the op that dequantises them.
  struct Way {
    OpId from;
    bool turned = false;
    bool forks = false;  ///< several ops read them
    int length = 0;
  };

  /// Whether kernels take the weights that `op` hands on as they are stored. ONNX Runtime makes MatMulNBits
  /// of a product where nothing else reads them, and QLinearConv and its like where activations are
  /// quantised too. Before other ops, weights are dequantised in every step.
  [[nodiscard]] bool readers_dequantise(OpId op, Way way) const {
    constexpr int kLongest = 8;
    const auto edges = graph_.out_edges(op);
    way.forks = way.forks || edges.size() > 1;
    return !edges.empty() && way.length <= kLongest &&
           std::all_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return reader_dequantises(edge, way); });
  }
  [[nodiscard]] bool reader_dequantises(const Edge& edge, const Way& way) const {
    const std::string& reader = graph_.op_type(edge.dst);
    if (is_view(reader) || turns(reader)) {
      return readers_dequantise(edge.dst,
                                {way.from, way.turned != turns(reader), way.forks, way.length + 1});
    }
    const auto inputs = graph_.inputs(edge.dst);
    if (is_dequantising(reader)) {  // scales that have a scale themselves
      return inputs.size() > 1 && inputs[1] == edge.tensor &&
             holds_small_floats(OpView(graph_, edge.dst).input(0)) &&
             readers_dequantise(edge.dst, {edge.dst, false, false, way.length + 1});
    }
    const auto others = graph_.in_edges(edge.dst);
    const bool beside_quantised = std::any_of(others.begin(), others.end(), [&](const Edge& other) {
      return other.src != edge.src && !is_constant(other.src) &&
             is_dequantising(graph_.op_type(other.src));
    });
    if (beside_quantised) return true;
    return !way.forks && inputs.size() > 1 && inputs[1] == edge.tensor &&
           dequantises(OpView(graph_, way.from), OpView(graph_, edge.dst), reader, way.turned);
  }

  /// Whether the results are too large to be folded. TensorFlow's limit is that of its runtime, which
  /// folds what Grappler leaves.
  [[nodiscard]] bool grows(OpId op) const {
    const std::int64_t small = graph_.dialect() == "tf" ? 10 * 1024 * 1024 : 100 * 1024;
    std::int64_t read = 0;
    for (const TensorId tensor : graph_.inputs(op)) {
      if (tensor != kNoTensor) read = saturating_sum(read, graph_.bytes(tensor));
    }
    return graph_.output_bytes(op) > std::max(read, small);
  }

  const Graph& graph_;
  std::vector<Role> roles_;
  std::vector<bool> of_variables_;  ///< by op: a variable, or what stands for one
  /// Whether an op, by its id, may give other sizes in another step.
  std::vector<bool> behind_decisions_;
  mutable std::vector<bool> quantised_;      ///< by tensor: what stands for quantised weights
  std::unordered_set<std::string> written_;  ///< co-location classes
  std::vector<bool> written_variables_;      ///< by op; TensorFlow's graphs only
};

/// The roles of a folded graph's ops for a runtime that reads every parameter as it is stored.
class AsStored {
 public:
  explicit AsStored(const Graph& graph)
      : graph_(graph), quantised_(at(graph.tensor_count()), false) {
    for (OpId op = 0; op < graph.op_count(); ++op) roles_.push_back(graph.constant_role(op));
  }

  /// False where all roles are as they were.
  bool run() {
    bool changed = false;
    for (const OpId op : graph_.topological_order()) {
      const Role before = roles_[at(op)];
      if (before == Role::no ? stands_for_quantised(op) : views_parameter(op)) {
        roles_[at(op)] = Role::stands;
      }
      if (roles_[at(op)] == Role::stands && is_of_quantised(op)) {
        for (const TensorId output : graph_.outputs(op)) quantised_[at(output)] = true;
      }
      changed = changed || roles_[at(op)] != before;
    }
    return changed;
  }
  [[nodiscard]] const std::vector<Role>& roles() const { return roles_; }

 private:
  [[nodiscard]] bool views_parameter(OpId op) const {
    return roles_[at(op)] == Role::made && !graph_.inputs(op).empty() &&
           gives_another_shape(bare(graph_.op_type(op)));
  }
  [[nodiscard]] bool is_of_quantised(OpId op) const {
    if (is_dequantising(graph_.op_type(op))) return true;
    const auto inputs = graph_.inputs(op);
    return !inputs.empty() && inputs.front() != kNoTensor && quantised_[at(inputs.front())];
  }
  /// An op of the step that dequantises parameters, or hands on those that were dequantised.
  [[nodiscard]] bool stands_for_quantised(OpId op) const {
    const std::string& type = graph_.op_type(op);
    const bool hands_on = is_view(type) || gives_another_shape(bare(type)) || bare(type) == "Cast";
    if (graph_.inputs(op).empty() || stays_in_step(graph_, op) || !is_of_quantised(op) ||
        !(hands_on || is_dequantising(type))) {
      return false;
    }
    const auto edges = graph_.in_edges(op);
    return std::all_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return roles_[at(edge.src)] != Role::no; });
  }

  const Graph& graph_;
  std::vector<Role> roles_;
  std::vector<bool> quantised_;  ///< by tensor: what stands for quantised weights
};

bool pure_tf(std::string_view type) {
  // Their families are pure otherwise.
  constexpr std::array<std::string_view, 13> kImpure = {"Empty",
                                                        "InplaceAdd",
                                                        "InplaceSub",
                                                        "InplaceUpdate",
                                                        "RandomShuffle",
                                                        "FractionalAvgPool",
                                                        "FractionalMaxPool",
                                                        "CudnnRNN",
                                                        "CudnnRNNV2",
                                                        "CudnnRNNV3",
                                                        "CudnnRNNBackprop",
                                                        "CudnnRNNBackpropV2",
                                                        "CudnnRNNBackpropV3"};
  return !contains(kImpure, type);
}

bool pure_onnx(std::string_view type) {
  constexpr std::array<std::string_view, 4> kImpure = {"Input", "Dropout", "BiasDropout",
                                                       "DropoutGrad"};
  return !contains(kImpure, bare(type));
}

bool pure_mlir(std::string_view type) {
  if (type.starts_with("onnx.")) return pure_onnx(type);
  if (type.starts_with("tf.")) return pure_tf(type.substr(3));
  constexpr std::string_view kTorch = "torch.aten.";
  if (type.starts_with(kTorch)) {
    constexpr std::array<std::string_view, 6> kDrawn = {"rand",   "bernoulli", "dropout",
                                                        "normal", "uniform",   "empty"};
    const std::string_view name = type.substr(kTorch.size());
    for (const std::string_view drawn : kDrawn) {
      if (name.starts_with(drawn)) return false;
    }
  }
  // Those that stand for memory, or that compilers fuse with what reads them.
  constexpr std::array<std::string_view, 12> kImpure = {
      "fill",       "fill_rng_2d",          "empty", "alloc", "alloca",       "alloc_tensor",
      "get_global", "optimization_barrier", "rng",   "iota",  "dynamic_iota", "rng_bit_generator"};
  return !contains(kImpure, bare(type));
}

}  // namespace

bool is_pure(std::string_view dialect, std::string_view type) {
  const OpInfo* const info = find_op(dialect, type);
  if (info == nullptr || !info->pure) return false;
  if (dialect == "tf") return pure_tf(type);
  return dialect == "onnx" ? pure_onnx(type) : pure_mlir(type);
}

bool reads_sizes_alone(std::string_view dialect, std::string_view type) {
  if (dialect == "onnx") return type == "Shape" || type == "Size";
  constexpr std::array<std::string_view, 4> kTypes = {"Rank", "Shape", "ShapeN", "Size"};
  return dialect == "tf" && contains(kTypes, type);
}

std::shared_ptr<const Graph> fold_constants(std::shared_ptr<const Graph> graph) {
  Folding folding(*graph);
  if (!folding.run()) return graph;
  return graph->with_constants(folding.roles());
}

std::shared_ptr<const Graph> with_parameters_as_stored(std::shared_ptr<const Graph> graph) {
  AsStored as_stored(*graph);
  return as_stored.run() ? graph->with_constants(as_stored.roles()) : graph;
}

}  // namespace berth::ops
