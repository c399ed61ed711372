// The work of ops that run others in turn.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "liveness.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "loops.h"
#include "op_facts.h"
#include "places.h"

namespace berth_mlir {
namespace {

/// One op by itself, to ask for its work.
berth_status add_alone(mlir::Operation& op, berth_builder* builder, std::int32_t number) {
  std::int32_t id = -1;
  const std::string name = std::to_string(number);
  if (berth_status status = berth_builder_op(builder, view(name), view(type_of(op)), &id)) {
    return status;
  }
  for (mlir::Value operand : op.getOperands()) {
    for (mlir::Value value : elements_of(operand)) {
      if (is_none(value)) {
        if (berth_status status = berth_builder_input(builder, id, -1)) return status;
        continue;
      }
      const TensorFacts facts = facts_of(value);
      berth_tensor tensor = facts.tensor();
      mlir::Operation* const maker = value.getDefiningOp();
      if (maker != nullptr && is_empty(*maker)) tensor.bytes = 0;
      std::int32_t parameter = -1;
      if (berth_status status = berth_builder_parameter(builder, &tensor, &parameter)) {
        return status;
      }
      if (berth_status status = berth_builder_input(builder, id, parameter)) return status;
    }
  }
  for (mlir::Value result : op.getResults()) {
    const TensorFacts facts = facts_of(result);
    const berth_tensor tensor = facts.tensor();
    if (berth_status status = berth_builder_output(builder, id, &tensor, nullptr)) return status;
  }
  return add_rule_attributes(op, builder, id);
}

/// Whether the op runs one of its regions, as the step decides.
bool chooses(mlir::Operation& op) {
  constexpr llvm::StringRef kTypes[] = {"affine.if",      "mhlo.case",    "mhlo.if",
                                        "onnx.If",        "scf.if",       "scf.index_switch",
                                        "stablehlo.case", "stablehlo.if", "tf.CaseRegion",
                                        "tf.IfRegion",    "torch.prim.If"};
  return llvm::is_contained(kTypes, type_of(op));
}

/// Ops that run in turn, and branches of which one runs.
struct Sequence {
  struct Part {
    std::int32_t id;  // in the scratch graph
    double times;
    bool launches;  // a kernel
  };
  llvm::SmallVector<Part> parts;
  std::vector<std::vector<Sequence>> choices;
};

/// Ops within one op, calls followed, and how often each runs.
class Inside {
 public:
  explicit Inside(berth_builder* scratch) : scratch_(scratch) {}

  [[nodiscard]] const Sequence& sequence() const { return sequence_; }
  /// Types of the parts, each once.
  [[nodiscard]] const std::set<std::string>& types() const { return types_; }

  /// The ops in `root`, or in the function that it calls.
  berth_status add(mlir::Operation& root) {
    mlir::Operation* const callee = callee_of(root);
    return callee != nullptr ? add_regions(*callee, trips_of(root).count, sequence_)
                             : add_regions(root, 1, sequence_);
  }

 private:
  berth_status add_regions(mlir::Operation& root, double times, Sequence& sequence) {
    times *= trips_of(root).count;
    std::vector<Sequence> branches;
    for (mlir::Region& region : root.getRegions()) {
      Sequence& into = chooses(root) ? branches.emplace_back() : sequence;
      for (mlir::Block& block : region) {
        const Liveness liveness(block, effects_);
        for (mlir::Operation& op : block) {
          if (liveness.is_dead(op)) continue;
          if (berth_status status = add_op(op, times, into)) return status;
        }
      }
    }
    if (!branches.empty()) sequence.choices.push_back(std::move(branches));
    return BERTH_OK;
  }

  berth_status add_op(mlir::Operation& op, double times, Sequence& sequence) {
    if (count_ >= kMostOps) return BERTH_OK;
    mlir::Operation* const callee = callee_of(op);
    if (callee != nullptr && !llvm::is_contained(calls_, callee) && calls_.size() < kDeepest) {
      calls_.push_back(callee);
      const berth_status status = add_regions(*callee, times * trips_of(op).count, sequence);
      calls_.pop_back();
      return status;
    }
    if (ends_block(op) || only_passes_on(op)) return BERTH_OK;
    // Ops that run at every element of an op are counted with it.
    if (runs_in_turn(op)) return add_regions(op, times, sequence);
    if (!is_scalar(op)) types_.insert(type_of(op).str());
    sequence.parts.push_back({count_, std::min(times, 1e15), !is_scalar(op)});
    return add_alone(op, scratch_, count_++);
  }

  static constexpr std::size_t kDeepest = 64;
  static constexpr std::int32_t kMostOps = 1'000'000;  // calls of calls may double without end

  berth_builder* scratch_;
  Sequence sequence_;
  std::int32_t count_ = 0;
  Effects effects_;
  std::set<std::string> types_;
  llvm::SmallVector<mlir::Operation*> calls_;
};

/// A sum of work, of the kind of its largest part.
struct Sum {
  berth_work work = BERTH_WORK_INIT;
  double largest = -1;

  void add(const berth_work& part, double size) {
    work.flops += part.flops;
    work.bytes += part.bytes;
    work.launches += part.launches;
    if (size <= largest) return;
    largest = size;
    work.op_class = part.op_class;
    work.dtype = part.dtype;
  }
};

berth_status add_sequence(const Sequence& sequence, const berth_graph* graph, Sum& sum) {
  for (const auto& [id, times, launches] : sequence.parts) {
    berth_work work = BERTH_WORK_INIT;
    if (berth_status status = berth_graph_op_work(graph, id, &work)) return status;
    work.flops *= times;
    work.bytes *= times;
    work.launches *= launches ? times : 0;
    sum.add(work, work.flops + work.bytes);
  }
  for (const std::vector<Sequence>& branches : sequence.choices) {
    Sum most;
    most.work.launches = 0;
    for (const Sequence& branch : branches) {
      Sum inside;
      inside.work.launches = 0;
      if (berth_status status = add_sequence(branch, graph, inside)) return status;
      const auto size = [](const Sum& of) { return of.work.flops + of.work.bytes; };
      if (size(inside) >= size(most)) most = inside;
    }
    sum.add(most.work, most.largest);
  }
  return BERTH_OK;
}

}  // namespace

berth_status add_body_work(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  berth_builder* scratch = nullptr;
  if (berth_status status = berth_builder_new(BERTH_TEXT("body"), BERTH_TEXT("mlir"), &scratch)) {
    return status;
  }
  Inside inside(scratch);
  berth_status status = inside.add(op);
  berth_graph* graph = nullptr;
  if (status == BERTH_OK) status = berth_builder_finish(scratch, &graph);
  Sum sum;
  sum.work.launches = 0;
  if (status == BERTH_OK) status = add_sequence(inside.sequence(), graph, sum);
  sum.work.workspace_bytes = body_bytes(op);
  if (status == BERTH_OK) status = berth_builder_work(builder, id, &sum.work);
  const std::string types = llvm::join(inside.types(), ",");
  if (status == BERTH_OK) {
    status =
        berth_builder_attribute(builder, id, BERTH_TEXT("body_types"), nullptr, 0, view(types));
  }
  berth_release(graph);
  berth_release(scratch);
  return status;
}

berth_status add_filling_work(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  berth_builder* scratch = nullptr;
  if (berth_status status = berth_builder_new(BERTH_TEXT("fill"), BERTH_TEXT("mlir"), &scratch)) {
    return status;
  }
  berth_graph* graph = nullptr;
  berth_work work = BERTH_WORK_INIT;
  berth_status status = add_alone(op, scratch, 0);
  if (status == BERTH_OK) status = berth_builder_finish(scratch, &graph);
  if (status == BERTH_OK) status = berth_graph_op_work(graph, 0, &work);
  for (mlir::Value result : op.getResults()) work.workspace_bytes += bytes_of(result);
  if (status == BERTH_OK) status = berth_builder_work(builder, id, &work);
  berth_release(graph);
  berth_release(scratch);
  return status;
}

}  // namespace berth_mlir
