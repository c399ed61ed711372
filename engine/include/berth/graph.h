/// @file
/// The computation graph of a neural network: ops, tensors, edges.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/dtype.h"
#include "berth/export.h"
#include "berth/types.h"

namespace berth {

/// Type, shape and size of a tensor: an output of an op, or a parameter.
struct TensorInfo {
  DType dtype = DType::unknown;
  bool has_shape = false;           ///< false: not even the rank is known
  std::vector<std::int64_t> shape;  ///< kUnknownDim for an unknown dimension
  /// Size. kUnknownBytes = derive it from dtype and shape; it stays unknown if that fails.
  std::int64_t bytes = kUnknownBytes;
};

/// Number of elements of a shape; kUnknownDim if a dimension is unknown. Saturates instead of
/// overflowing.
[[nodiscard]] BERTH_EXPORT std::int64_t element_count(std::span<const std::int64_t> shape) noexcept;

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                                    std::vector<double>, std::vector<std::string>>;

/// The kind of work an op does. The roofline model has one efficiency per class.
enum class OpClass : std::uint8_t {
  none,  ///< no work: a shape, a constant, a view
  convolution,
  pointwise_convolution,  ///< its window is one point: a matrix product over channels
  grouped_convolution,    ///< several groups of channels, each with its own weights
  depthwise_convolution,  ///< a group per channel
  matmul,
  attention,
  recurrent,
  normalization,
  pooling,
  reduction,
  elementwise,
  data_movement,
  other,  ///< no rule: costed by its bytes
};
inline constexpr int kOpClassCount = 14;
[[nodiscard]] BERTH_EXPORT std::string_view op_class_name(OpClass op_class) noexcept;

/// The matrix products that a kernel is made of, all alike: `rows` x `inner` times `inner` x
/// `columns`, `count` of them. A convolution has a row for each point, a column for each output
/// channel and an inner element for each tap.
struct MatrixProducts {
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double count = 0;  ///< 0 = not known, or none
};

/// The work of one execution of an op.
struct Work {
  double flops = 0;  ///< floating-point operations; a fused multiply-add counts as two
  double bytes = 0;  ///< bytes read and written, including parameters
  OpClass op_class = OpClass::other;
  DType dtype = DType::f32;  ///< the type the arithmetic runs in
  /// Number of kernels that an executor launches for the op; the device's per-op overhead is paid
  /// for each. More than 1 for an op with a body (If, Loop, Scan); 0 for an op that costs nothing.
  double launches = 1;
  /// Sizes that decide how many units of a device a matrix product keeps busy; all, if unknown.
  MatrixProducts products = {};
  /// Bytes held while the op runs, besides its inputs and outputs: of an op with a body what that makes.
  double workspace_bytes = 0;
  /// A matrix product whose weights are stored in 8 bits or fewer, whatever it computes in.
  bool narrow_weights = false;
};

/// Op `dst` consumes `tensor`, which op `src` produces. kNoTensor = control edge: it orders the two
/// ops and carries no data. An op that reads a tensor twice has one edge for it.
struct Edge {
  OpId src;
  OpId dst;
  TensorId tensor;
};

/// An immutable computation graph. Structure of arrays; adjacency in compressed rows.
///
/// Invariants, checked by GraphBuilder::build: the graph is acyclic; op names are non-empty and
/// unique; every id is in range; sizes are >= 0 and do not overflow. Graphs of 100,000 ops are
/// normal. [thread-safe: immutable]
class BERTH_EXPORT Graph {
 public:
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] const std::string& name() const noexcept;
  /// The vocabulary of the op types: "onnx", "tf", or "berth" if it does not matter.
  [[nodiscard]] const std::string& dialect() const noexcept;

  [[nodiscard]] OpId op_count() const noexcept;
  [[nodiscard]] TensorId tensor_count() const noexcept;
  /// Number of data and control edges together.
  [[nodiscard]] std::int64_t edge_count() const noexcept;

  // --- ops -----------------------------------------------------------------------------------
  [[nodiscard]] const std::string& op_name(OpId op) const noexcept;
  [[nodiscard]] const std::string& op_type(OpId op) const noexcept;
  [[nodiscard]] std::optional<OpId> find_op(std::string_view name) const noexcept;
  /// Tensors read, in the op's own order, with repeats. kNoTensor = an omitted optional input.
  [[nodiscard]] std::span<const TensorId> inputs(OpId op) const noexcept;
  /// Tensors produced, in port order.
  [[nodiscard]] std::span<const TensorId> outputs(OpId op) const noexcept;
  [[nodiscard]] std::span<const Edge> in_edges(
      OpId op) const noexcept;  ///< by input order, control edges last
  [[nodiscard]] std::span<const Edge> out_edges(
      OpId op) const noexcept;  ///< by (consumer, its input order)
  /// Total size of the outputs. Unknown sizes count as 0.
  [[nodiscard]] std::int64_t output_bytes(OpId op) const noexcept;
  /// Bytes of parameters (weights) that must reside where this op runs: its `parameters`, plus what
  /// GraphBuilder::set_param_bytes added. A parameter that several ops read is counted for each of
  /// them; see shared_parameters.
  [[nodiscard]] std::int64_t param_bytes(OpId op) const noexcept;
  /// param_bytes without the parameters in shared_parameters.
  [[nodiscard]] std::int64_t own_param_bytes(OpId op) const noexcept;
  /// The distinct parameter tensors that must reside where this op runs. Of a constant op there are
  /// none.
  [[nodiscard]] std::span<const TensorId> parameters(OpId op) const noexcept;
  /// Co-location class: ops with the same class must share a device. Empty = none.
  [[nodiscard]] const std::string& colocation(OpId op) const noexcept;
  /// The device that the model file asks for. Empty = none.
  [[nodiscard]] const std::string& requested_device(OpId op) const noexcept;
  [[nodiscard]] const AttributeValue* attribute(OpId op, std::string_view name) const noexcept;
  /// All attributes of an op, in the order in which they were set.
  [[nodiscard]] std::vector<std::pair<std::string_view, const AttributeValue*>> attributes(
      OpId op) const;
  /// Work stated by the builder of the graph. It overrides the rule of the op's type.
  [[nodiscard]] const std::optional<Work>& stated_work(OpId op) const noexcept;

  // --- what lives through the step -------------------------------------------------------------
  /// Whether the op stands for an input of the model: an op of the type "Input", "input" or
  /// "Placeholder" (and kin) that waits for nothing. What it gives is there from the start of a step
  /// to its end.
  [[nodiscard]] bool is_input(OpId op) const noexcept;
  /// Whether the step returns the tensor, which then lives to its end: as the builder said
  /// (add_result), or where it said nothing of any tensor, what ops without consumers give.
  [[nodiscard]] bool is_result(TensorId tensor) const noexcept;
  /// Bytes of the op's outputs that live to the end of the step: of an input all, else results, less
  /// reused_bytes.
  [[nodiscard]] std::int64_t lasting_bytes(OpId op) const noexcept;
  /// A result that is the next step's input. Both ops share a device. A result no larger takes the input's
  /// place in memory, and so does a cache that its kernel appends to.
  struct State {
    TensorId result;
    OpId input;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] std::span<const State> states() const noexcept;
  /// A copy of the graph with these states added; one that it has is kept in place from then on. Classes
  /// of co-location that meet are one. Throws Error(invalid_argument) for a tensor that no op of the step
  /// makes, an op that is no input, and one that has another state.
  [[nodiscard]] std::shared_ptr<const Graph> with_states(std::span<const State> states) const;
  /// Bytes of the op's outputs that take the place of inputs.
  [[nodiscard]] std::int64_t reused_bytes(OpId op) const noexcept;
  /// Whether the builder named results.
  [[nodiscard]] bool names_results() const noexcept;

  // --- constants of the step -----------------------------------------------------------------
  // Ops that depend on parameters, constants and fixed sizes alone are computed once, when a model is loaded
  // (fold_constants in berth/sdk/ops/constants.h). Such an op keeps its id, its inputs and its outputs, but
  // the step does not run it: it has no edges, and its outputs are parameters to all that read them.

  [[nodiscard]] bool is_constant(OpId op) const noexcept;
  [[nodiscard]] OpId constant_count() const noexcept;
  /// For a constant op, the first op of the step that reads what it gives, directly or through other
  /// constants; for one that takes the sizes of the step's tensor, the op that makes that. Tools that must
  /// name a device for it take that op's. kNoOp = nobody does, or the op is no constant.
  [[nodiscard]] OpId first_reader(OpId constant) const noexcept;
  /// The op that makes the tensor, in the step or before it; kNoOp = a parameter of the model.
  [[nodiscard]] OpId maker(TensorId tensor) const noexcept;
  /// The parameters that reside for what a constant makes: the tensor itself, or those that it
  /// stands for. Empty for other tensors.
  [[nodiscard]] std::span<const TensorId> kept_for(TensorId tensor) const noexcept;
  /// Bytes read where the tensor is read: its size, or that of the parameters that are kept in its
  /// place (quantised weights).
  [[nodiscard]] std::int64_t read_bytes(TensorId tensor) const noexcept;

  // --- tensors -------------------------------------------------------------------------------
  /// The op that produces the tensor in the step; kNoOp = it is a parameter, or made by a constant op.
  [[nodiscard]] OpId producer(TensorId tensor) const noexcept;
  /// Empty if the builder gave no name.
  [[nodiscard]] const std::string& tensor_name(TensorId tensor) const noexcept;
  [[nodiscard]] DType dtype(TensorId tensor) const noexcept;
  [[nodiscard]] bool has_shape(TensorId tensor) const noexcept;
  [[nodiscard]] std::span<const std::int64_t> shape(TensorId tensor) const noexcept;
  /// Size; 0 if unknown, see bytes_known.
  [[nodiscard]] std::int64_t bytes(TensorId tensor) const noexcept;
  [[nodiscard]] bool bytes_known(TensorId tensor) const noexcept;

  /// A parameter tensor that several ops read. It resides once on every device that runs one of
  /// `consumers` (sorted, distinct).
  struct SharedParameter {
    TensorId tensor;
    std::int64_t bytes;
    std::vector<OpId> consumers;
  };
  [[nodiscard]] const std::vector<SharedParameter>& shared_parameters() const noexcept;
  /// Total size of the parameters, each counted once.
  [[nodiscard]] std::int64_t total_param_bytes() const noexcept;

  // --- order ---------------------------------------------------------------------------------
  /// All ops, each after its producers and the constants that it reads. Among the ops that could
  /// come next, the smallest id does.
  [[nodiscard]] std::span<const OpId> topological_order() const noexcept;

  // --- costs carried by the graph --------------------------------------------------------------
  /// A compute time that came with the graph: from the exchange format, or a compiler's estimate.
  /// Empty `kind` = any device kind. An op without entries has no stated cost.
  struct StatedCost {
    std::string kind;
    double us;
  };
  [[nodiscard]] std::span<const StatedCost> stated_costs(OpId op) const noexcept;
  /// What GraphBuilder::set_param_bytes said.
  [[nodiscard]] std::int64_t stated_param_bytes(OpId op) const noexcept;
  /// Whether the builder said that the op is pure.
  [[nodiscard]] bool stated_pure(OpId op) const noexcept;

  /// The nature of an op's outputs where the op does not run in the step.
  enum class Constant : std::uint8_t {
    no,      ///< it runs in the step
    made,    ///< each output is a parameter of its own
    stands,  ///< an output stands for what the op reads, which resides as it is: a view, or weights
             ///< that stay quantised
  };
  [[nodiscard]] Constant constant_role(OpId op) const noexcept;
  /// A copy of the graph in which these ops (one entry per op) are constants. What a constant reads is a
  /// parameter, made by a constant, or a tensor of the step of which it takes the sizes alone.
  [[nodiscard]] std::shared_ptr<const Graph> with_constants(std::span<const Constant> roles) const;

 private:
  friend class GraphBuilder;
  struct Data;
  explicit Graph(std::unique_ptr<const Data> data);
  std::unique_ptr<const Data> data_;
};

/// Builds a Graph. Ops and tensors may be added in any order and may refer forward.
///
/// Every call checks its ids and throws Error(invalid_argument) at once. What depends on the whole
/// graph (cycles, duplicate names) is checked by build. [thread-compatible]
class BERTH_EXPORT GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::string dialect = "berth");
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  OpId add_op(std::string name, std::string type);
  /// Adds the op's next output port. `tensor_name` is for writers and messages and may be empty.
  TensorId add_output(OpId op, TensorInfo info, std::string tensor_name = {});
  /// Adds a tensor without a producer: a weight, which resides where its consumers run.
  TensorId add_parameter(TensorInfo info, std::string tensor_name = {});
  /// Adds the op's next input; kNoTensor for an omitted optional one.
  void add_input(OpId op, TensorId tensor);
  void add_control_edge(OpId src, OpId dst);

  /// The step returns the tensor.
  void add_result(TensorId tensor);
  /// The step returns what was named so far, and nothing else: nothing, if that is nothing.
  void name_results();

  /// Replaces everything known of a tensor.
  void set_tensor(TensorId tensor, TensorInfo info);
  /// Bytes (>= 0) of weights beside the parameter tensors that the op reads. Unless its work is stated, or its type's
  /// rule reads a part of them (as Gather), each step reads them all.
  void set_param_bytes(OpId op, std::int64_t bytes);
  void set_colocation(OpId op, std::string colocation);
  /// The op gives the same outputs for the same inputs and does nothing else. The types of the
  /// dialects "onnx", "tf" and "mlir" are known to be or not to be so.
  void set_pure(OpId op);
  void set_requested_device(OpId op, std::string device);
  void set_attribute(OpId op, std::string name, AttributeValue value);
  void set_work(OpId op, const Work& work);
  /// Empty `kind` = any device kind. `us` is finite and >= 0.
  void set_cost(OpId op, std::string kind, double us);

  [[nodiscard]] OpId op_count() const noexcept;

  /// Validates the graph and freezes it. The builder is empty afterwards, for another graph of the same name and
  /// dialect. Throws Error(invalid_graph) naming the op and the fix.
  [[nodiscard]] std::shared_ptr<const Graph> build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
