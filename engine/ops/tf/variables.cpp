// Variables, the optimizers' updates, and accumulators.
#include <cmath>

#include "ops/tf/handles.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// In the first kind of variables an empty shape says nothing.
void old_variable(OpContext& op) {
  Value shape;
  if (op.attributes.shape("shape", shape) && !shape.dims.empty()) op.copy_shape(0, shape);
}
void variable_handle(OpContext& op) {
  Value shape;
  op.attributes.shape("shape", shape);
  state_shape(new_handle(op, op.attributes.type("dtype", kUnknownType)), shape);
}
void assign(OpContext& op) {
  op.copy_shape(0, op.in(0));
  if (!op.in(0).ranked) op.copy_shape(0, op.in(1));
}
/// handle, indices.
void gather_variable(OpContext& op) {
  const Value table = element_of(op.in(0));
  const Number batch = op.attributes.integer("batch_dims", 0);
  if (op.out(0).type == kUnknownType) op.out(0).type = table.type;
  if (!table.ranked || !op.in(1).ranked) return;
  if (auto dims = gathered(table.dims, op.in(1).dims, batch, batch)) op.set(0, *std::move(dims));
}
void gather_blocks(OpContext& op) {
  const Value table = element_of(op.in(0));
  if (op.out(0).type == kUnknownType) op.out(0).type = table.type;
  if (!table.ranked || !op.in(1).ranked) return;
  if (auto dims = gathered_nd(table.dims, op.in(1).dims, 0)) op.set(0, *std::move(dims));
}

// --- Work ---------------------------------------------------------------------------------------
// References to variables and handles have no bytes of their own: what is touched is counted from
// the elements of the gradient or of the value.

Estimate update_of(const OpView& op, const WorkRule& rule, const TensorView& gradient, int slots) {
  const double elements = gradient.elements();
  const double touched = 1 + 2.0 * (1 + slots);
  Estimate estimate = work::make_estimate(
      op, rule, rule.flops * elements, touched * elements * work::element_bytes(gradient.dtype()));
  estimate.work.dtype = gradient.dtype() == DType::unknown ? DType::f32 : gradient.dtype();
  return estimate;
}

/// The input with most elements: the gradient, or a variable of its shape.
TensorView largest_input(const OpView& op) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    const bool known = !std::isnan(op.input(i).elements());
    if (known && !(op.input(best).elements() >= op.input(i).elements())) best = i;
  }
  return op.input(best);
}

/// The input before the indices.
TensorView rows_updated(const OpView& op) {
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    const TensorView input = op.input(i);
    const bool integers = input.dtype() == DType::i32 || input.dtype() == DType::i64;
    if (integers && input.rank() == 1) return op.input(i - 1);
  }
  return largest_input(op);
}

template <int slots>
Estimate dense_update(const OpView& op, const WorkRule& rule) {
  return update_of(op, rule, largest_input(op), slots);
}
template <int slots>
Estimate sparse_update(const OpView& op, const WorkRule& rule) {
  return update_of(op, rule, rows_updated(op), slots);
}
/// `flops` for each weight: every product, sum and root of the update as TensorFlow documents it.
/// Weights and `slots` as large are read and written, the gradient read.
template <int slots>
constexpr WorkRule dense(double flops) {
  return {dense_update<slots>, OpClass::elementwise, flops};
}
/// Likewise for the rows that a gradient has.
template <int slots>
constexpr WorkRule sparse(double flops) {
  return {sparse_update<slots>, OpClass::elementwise, flops};
}

/// variable, value: rule.flops for each element.
Estimate assignment(const OpView& op, const WorkRule& rule) {
  const TensorView value = op.input(1);
  // An update in place reads the variable too.
  const double times = rule.flops > 0 ? 3 : 2;
  return work::make_estimate(op, rule, rule.flops * value.elements(),
                             times * value.elements() * work::element_bytes(value.dtype()));
}
constexpr WorkRule kAssign{assignment, OpClass::data_movement};
constexpr WorkRule kAssignSum{assignment, OpClass::elementwise, 1};

/// variable, indices, updates: rule.flops for each update.
Estimate scatter(const OpView& op, const WorkRule& rule) {
  const TensorView updates = op.input(2);
  return work::make_estimate(op, rule, rule.flops * updates.elements(),
                             3 * updates.bytes() + op.input(1).bytes());
}
constexpr WorkRule kScatter{scatter, OpClass::data_movement};
constexpr WorkRule kScatterSum{scatter, OpClass::elementwise, 1};

/// variable, begin, end, strides, value.
Estimate strided_assignment(const OpView& op, const WorkRule& rule) {
  const TensorView value = op.input(4);
  return work::make_estimate(op, rule, 0,
                             2 * value.elements() * work::element_bytes(value.dtype()));
}
constexpr WorkRule kStridedAssign{strided_assignment, OpClass::data_movement};

constexpr Row kOps[] = {
    {"ApplyAdaMax", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyAdadelta", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyAdagrad", "out:T", rule::like_first, dense<1>(8)},
    {"ApplyAdagradDA", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyAdagradV2", "out:T", rule::like_first, dense<1>(8)},
    {"ApplyAdam", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyAddSign", "out:T", rule::like_first, dense<1>(8)},
    {"ApplyCenteredRMSProp", "out:T", rule::like_first, dense<3>(18)},
    {"ApplyFtrl", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyFtrlV2", "out:T", rule::like_first, dense<2>(15)},
    {"ApplyGradientDescent", "out:T", rule::like_first, dense<0>(2)},
    {"ApplyMomentum", "out:T", rule::like_first, dense<1>(4)},
    {"ApplyPowerSign", "out:T", rule::like_first, dense<1>(8)},
    {"ApplyProximalAdagrad", "out:T", rule::like_first, dense<1>(8)},
    {"ApplyProximalGradientDescent", "out:T", rule::like_first, dense<0>(5)},
    {"ApplyRMSProp", "out:T", rule::like_first, dense<2>(15)},
    {"Assign", "output_ref:T", assign, kAssign},
    {"AssignAdd", "output_ref:T", rule::like_first, kAssignSum},
    {"AssignAddVariableOp", "", rule::none, kAssignSum},
    {"AssignSub", "output_ref:T", rule::like_first, kAssignSum},
    {"AssignSubVariableOp", "", rule::none, kAssignSum},
    {"AssignVariableOp", "", rule::none, kAssign},
    {"ConditionalAccumulator", "handle:=string", rule::scalars, kHandle},
    {"CountUpTo", "output:T", rule::scalars, kControl},
    {"DestroyResourceOp", "", rule::none, kHandle},
    {"DestroyTemporaryVariable", "value:T", rule::like_first, kView},
    {"IsVariableInitialized", "is_initialized:=bool", rule::scalars, kControl},
    {"ReadVariableOp", "value:dtype", read_handle, kView},
    {"ResourceApplyAdaMax", "", rule::none, dense<2>(15)},
    {"ResourceApplyAdadelta", "", rule::none, dense<2>(15)},
    {"ResourceApplyAdagrad", "", rule::none, dense<1>(8)},
    {"ResourceApplyAdagradDA", "", rule::none, dense<2>(15)},
    {"ResourceApplyAdagradV2", "", rule::none, dense<1>(8)},
    {"ResourceApplyAdam", "", rule::none, dense<2>(15)},
    {"ResourceApplyAdamWithAmsgrad", "", rule::none, dense<3>(18)},
    {"ResourceApplyAddSign", "", rule::none, dense<1>(8)},
    {"ResourceApplyCenteredRMSProp", "", rule::none, dense<3>(18)},
    {"ResourceApplyFtrl", "", rule::none, dense<2>(15)},
    {"ResourceApplyFtrlV2", "", rule::none, dense<2>(15)},
    {"ResourceApplyGradientDescent", "", rule::none, dense<0>(2)},
    {"ResourceApplyKerasMomentum", "", rule::none, dense<1>(4)},
    {"ResourceApplyMomentum", "", rule::none, dense<1>(4)},
    {"ResourceApplyPowerSign", "", rule::none, dense<1>(8)},
    {"ResourceApplyProximalAdagrad", "", rule::none, dense<1>(8)},
    {"ResourceApplyProximalGradientDescent", "", rule::none, dense<0>(5)},
    {"ResourceApplyRMSProp", "", rule::none, dense<2>(15)},
    {"ResourceGather", "output:dtype", gather_variable, gathers()},
    {"ResourceGatherNd", "output:dtype", gather_blocks, gathers()},
    {"ResourceScatterAdd", "", rule::none, kScatterSum},
    {"ResourceScatterDiv", "", rule::none, kScatterSum},
    {"ResourceScatterMax", "", rule::none, kScatterSum},
    {"ResourceScatterMin", "", rule::none, kScatterSum},
    {"ResourceScatterMul", "", rule::none, kScatterSum},
    {"ResourceScatterNdAdd", "", rule::none, kScatterSum},
    {"ResourceScatterNdMax", "", rule::none, kScatterSum},
    {"ResourceScatterNdMin", "", rule::none, kScatterSum},
    {"ResourceScatterNdSub", "", rule::none, kScatterSum},
    {"ResourceScatterNdUpdate", "", rule::none, kScatter},
    {"ResourceScatterSub", "", rule::none, kScatterSum},
    {"ResourceScatterUpdate", "", rule::none, kScatter},
    {"ResourceSparseApplyAdadelta", "", rule::none, sparse<2>(15)},
    {"ResourceSparseApplyAdagrad", "", rule::none, sparse<1>(8)},
    {"ResourceSparseApplyAdagradDA", "", rule::none, sparse<2>(15)},
    {"ResourceSparseApplyAdagradV2", "", rule::none, sparse<1>(8)},
    {"ResourceSparseApplyCenteredRMSProp", "", rule::none, sparse<3>(18)},
    {"ResourceSparseApplyFtrl", "", rule::none, sparse<2>(15)},
    {"ResourceSparseApplyFtrlV2", "", rule::none, sparse<2>(15)},
    {"ResourceSparseApplyKerasMomentum", "", rule::none, sparse<1>(4)},
    {"ResourceSparseApplyMomentum", "", rule::none, sparse<1>(4)},
    {"ResourceSparseApplyProximalAdagrad", "", rule::none, sparse<1>(8)},
    {"ResourceSparseApplyProximalGradientDescent", "", rule::none, sparse<0>(5)},
    {"ResourceSparseApplyRMSProp", "", rule::none, sparse<2>(15)},
    {"ResourceStridedSliceAssign", "", rule::none, kStridedAssign},
    {"ScatterAdd", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterDiv", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterMax", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterMin", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterMul", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterNdAdd", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterNdMax", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterNdMin", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterNdSub", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterNdUpdate", "output_ref:T", rule::like_first, kScatter},
    {"ScatterSub", "output_ref:T", rule::like_first, kScatterSum},
    {"ScatterUpdate", "output_ref:T", rule::like_first, kScatter},
    {"SparseApplyAdadelta", "out:T", rule::like_first, sparse<2>(15)},
    {"SparseApplyAdagrad", "out:T", rule::like_first, sparse<1>(8)},
    {"SparseApplyAdagradDA", "out:T", rule::like_first, sparse<2>(15)},
    {"SparseApplyAdagradV2", "out:T", rule::like_first, sparse<1>(8)},
    {"SparseApplyCenteredRMSProp", "out:T", rule::like_first, sparse<3>(18)},
    {"SparseApplyFtrl", "out:T", rule::like_first, sparse<2>(15)},
    {"SparseApplyFtrlV2", "out:T", rule::like_first, sparse<2>(15)},
    {"SparseApplyMomentum", "out:T", rule::like_first, sparse<1>(4)},
    {"SparseApplyProximalAdagrad", "out:T", rule::like_first, sparse<1>(8)},
    {"SparseApplyProximalGradientDescent", "out:T", rule::like_first, sparse<0>(5)},
    {"SparseApplyRMSProp", "out:T", rule::like_first, sparse<2>(15)},
    {"TemporaryVariable", "ref:dtype", rule::shape_attribute, kSource},
    {"VarHandleOp", "resource:=resource", variable_handle, kSource},
    {"VarIsInitializedOp", "is_initialized:=bool", rule::scalars, kControl},
    {"Variable", "ref:dtype", old_variable, kSource},
    {"VariableShape", "output:out_type=int32", element_shape, kShapes},
    {"VariableV2", "ref:dtype", rule::shape_attribute, kSource},
};

}  // namespace

std::span<const Row> variable_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
