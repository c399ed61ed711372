// The work of ops that run others in turn.
#include <algorithm>
#include <set>
#include <string>

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

/// Ops within one op, calls followed, and how often each runs.
class Inside {
 public:
  explicit Inside(berth_builder* scratch) : scratch_(scratch) {}

  struct Part {
    double times;
    bool launches;  // a kernel
  };
  [[nodiscard]] llvm::ArrayRef<Part> parts() const { return parts_; }
  /// Types of the parts, each once.
  [[nodiscard]] const std::set<std::string>& types() const { return types_; }

  berth_status add(mlir::Operation& root, double base) {
    berth_status status = BERTH_OK;
    root.walk([&](mlir::Operation* inner) {
      if (inner == &root || status != BERTH_OK || parts_.size() >= kMostOps) return;
      // Ops that run at every element of an op are counted with it.
      double trips = base * trips_of(root).count;
      for (mlir::Operation* parent = inner->getParentOp(); parent != &root;
           parent = parent->getParentOp()) {
        if (runs_per_element(*parent)) return;
        trips *= trips_of(*parent).count;
      }
      mlir::Operation* const callee = callee_of(*inner);
      if (callee != nullptr && !llvm::is_contained(calls_, callee) && calls_.size() < kDeepest) {
        calls_.push_back(callee);
        status = add(*callee, trips);
        calls_.pop_back();
        return;
      }
      if (ends_block(*inner) || only_passes_on(*inner)) return;
      if (runs_in_turn(*inner)) return;
      if (!is_scalar(*inner)) types_.insert(type_of(*inner).str());
      status = add_alone(*inner, scratch_, static_cast<std::int32_t>(parts_.size()));
      parts_.push_back({std::min(trips, 1e15), !is_scalar(*inner)});
    });
    return status;
  }

 private:
  static constexpr std::size_t kDeepest = 64;
  static constexpr std::size_t kMostOps = 1'000'000;  // calls of calls may double without end

  berth_builder* scratch_;
  llvm::SmallVector<Part> parts_;
  std::set<std::string> types_;
  llvm::SmallVector<mlir::Operation*> calls_;
};

}  // namespace

berth_status add_body_work(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  berth_builder* scratch = nullptr;
  if (berth_status status = berth_builder_new(BERTH_TEXT("body"), BERTH_TEXT("mlir"), &scratch)) {
    return status;
  }
  Inside inside(scratch);
  mlir::Operation* const callee = callee_of(op);
  berth_status status = inside.add(callee != nullptr ? *callee : op, 1);
  berth_graph* graph = nullptr;
  if (status == BERTH_OK) status = berth_builder_finish(scratch, &graph);
  berth_work sum = BERTH_WORK_INIT;
  sum.launches = 0;
  double largest = -1;
  for (std::size_t i = 0; i < inside.parts().size() && status == BERTH_OK; ++i) {
    berth_work work = BERTH_WORK_INIT;
    status = berth_graph_op_work(graph, static_cast<std::int32_t>(i), &work);
    const auto [times, launches] = inside.parts()[i];
    sum.flops += work.flops * times;
    sum.bytes += work.bytes * times;
    if (launches) sum.launches += work.launches * times;
    // The largest part says what kind of work it is.
    if ((work.flops + work.bytes) * times <= largest) continue;
    largest = (work.flops + work.bytes) * times;
    sum.op_class = work.op_class;
    sum.dtype = work.dtype;
  }
  sum.workspace_bytes = body_bytes(op);
  if (status == BERTH_OK) status = berth_builder_work(builder, id, &sum);
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
