// Variables, optimizers, tensor arrays and lists, stacks, tables, control flow, inputs.
#include <algorithm>

#include "berth/error.h"
#include "support/text.h"
#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

// --- Handles ------------------------------------------------------------------------------------

/// Handles of arrays and stacks were pairs of names once, and kept that shape.
const Dims kPair = {2};

/// Output 0 becomes a handle of its own to tensors of the type and shape given.
Handle& new_handle(ShapeContext& op, int type, Dims dims = {}) {
  op.set(0, std::move(dims));
  op.out(0).handle = std::make_shared<Handle>();
  op.out(0).handle->type = type;
  return *op.out(0).handle;
}

void state_shape(Handle& handle, const Value& shape) {
  handle.ranked = shape.ranked;
  handle.dims = shape.dims;
}

/// What a write tells of the tensors behind a handle.
void learn(const Value& handle, const Value& element) {
  if (handle.handle == nullptr || !element.ranked) return;
  Value known;
  known.ranked = handle.handle->ranked;
  known.dims = handle.handle->dims;
  merge_shape(known, element);
  state_shape(*handle.handle, known);
  if (handle.handle->type == kUnknownType) handle.handle->type = element.type;
}

Value element_of(const Value& handle) {
  Value element;
  if (handle.handle == nullptr) return element;
  element.type = handle.handle->type;
  element.ranked = handle.handle->ranked;
  element.dims = handle.handle->dims;
  return element;
}

void give_element(ShapeContext& op, std::size_t output, const Value& element) {
  op.copy_shape(output, element);
  if (op.out(output).type == kUnknownType) op.out(output).type = element.type;
}

/// `rows` elements one after the other.
void give_rows(ShapeContext& op, std::size_t output, const Value& element, Number rows) {
  if (op.out(output).type == kUnknownType) op.out(output).type = element.type;
  if (!element.ranked) return;
  Dims dims{rows};
  dims.insert(dims.end(), element.dims.begin(), element.dims.end());
  op.set(output, std::move(dims));
}

/// The rows of a tensor, as elements of a handle.
Value row_of(const Value& tensor) {
  Value row;
  row.type = tensor.type;
  if (tensor.ranked && !tensor.dims.empty()) {
    row.set_shape(Dims(tensor.dims.begin() + 1, tensor.dims.end()));
  }
  return row;
}

Number length_of(const Value& handle) {
  return handle.handle == nullptr ? kUnknownDim : handle.handle->size;
}

void give_length(ShapeContext& op) {
  op.set(0, {});
  if (length_of(op.in(0)) != kUnknownDim) op.set_data(0, {length_of(op.in(0))});
}

Number size_or_unknown(const Value& scalar) {
  const Number n = scalar.element(0).value_or(kUnknownDim);
  return n < 0 || n > kMaxDim ? kUnknownDim : n;
}

// --- Variables ----------------------------------------------------------------------------------

void shape_attribute(ShapeContext& op) {
  Value shape;
  if (op.attributes.shape("shape", shape)) op.copy_shape(0, shape);
}
/// In the first kind of variables an empty shape says nothing.
void old_variable(ShapeContext& op) {
  Value shape;
  if (op.attributes.shape("shape", shape) && !shape.dims.empty()) op.copy_shape(0, shape);
}
void variable_handle(ShapeContext& op) {
  Value shape;
  op.attributes.shape("shape", shape);
  state_shape(new_handle(op, op.attributes.type("dtype")), shape);
}
void read_variable(ShapeContext& op) {
  give_element(op, 0, element_of(op.in(0)));
}
void assign(ShapeContext& op) {
  op.copy_shape(0, op.in(0));
  if (!op.in(0).ranked) op.copy_shape(0, op.in(1));
}
void variable_shape(ShapeContext& op) {
  const Value element = element_of(op.in(0));
  op.set(0, {element.ranked ? element.rank() : kUnknownDim});
  if (!element.ranked) return;
  std::vector<Number> numbers = element.dims;
  std::replace(numbers.begin(), numbers.end(), kUnknownDim, Data::kUnknown);
  op.set_data(0, std::move(numbers));
}
/// handle, indices.
void gather_variable(ShapeContext& op) {
  const Value table = element_of(op.in(0));
  const Number batch = op.attributes.integer("batch_dims", 0);
  if (op.out(0).type == kUnknownType) op.out(0).type = table.type;
  if (!table.ranked || table.dims.empty() || !op.in(1).ranked || batch != 0) return;
  Dims dims = op.in(1).dims;
  dims.insert(dims.end(), table.dims.begin() + 1, table.dims.end());
  op.set(0, std::move(dims));
}

// --- Tensor arrays and stacks -------------------------------------------------------------------

/// size.
void tensor_array(ShapeContext& op) {
  Value shape;
  op.attributes.shape("element_shape", shape);
  Handle& handle = new_handle(op, op.attributes.type("dtype"), kPair);
  state_shape(handle, shape);
  handle.size = size_or_unknown(op.in(0));
  op.set(1, {});
}
/// The gradient's elements are shaped as the array's own.
void tensor_array_gradient(ShapeContext& op) {
  op.set(0, kPair);
  op.out(0).handle = op.in(0).handle;
  op.set(1, {});
}
/// handle, index, value, flow.
void tensor_array_write(ShapeContext& op) {
  learn(op.in(0), op.in(2));
  op.set(0, {});
}
/// handle, indices, value, flow.
void tensor_array_scatter(ShapeContext& op) {
  learn(op.in(0), row_of(op.in(2)));
  if (op.in(0).handle != nullptr && op.in(0).handle->size <= 0) {
    op.in(0).handle->size = op.in(2).dim(0);  // it grows as it is written
  }
  op.set(0, {});
}
/// handle, value, lengths, flow.
void tensor_array_split(ShapeContext& op) {
  Value element = op.in(1);
  if (element.ranked && !element.dims.empty()) element.dims[0] = kUnknownDim;
  learn(op.in(0), element);
  op.set(0, {});
}
void tensor_array_read(ShapeContext& op) {
  give_element(op, 0, element_of(op.in(0)));
}
/// handle, indices, flow.
void tensor_array_gather(ShapeContext& op) {
  const Number listed = op.in(1).dim(0);
  give_rows(op, 0, element_of(op.in(0)), listed != kUnknownDim ? listed : length_of(op.in(0)));
}
void tensor_array_concat(ShapeContext& op) {
  Value element = element_of(op.in(0));
  if (element.ranked && !element.dims.empty()) element.dims[0] = kUnknownDim;
  give_element(op, 0, element);
  op.set(1, {length_of(op.in(0))});
}

void stack(ShapeContext& op) {
  new_handle(op, op.attributes.type("elem_type"), kPair);
}
/// handle, element.
void stack_push(ShapeContext& op) {
  learn(op.in(0), op.in(1));
  op.copy_shape(0, op.in(1));
}

// --- Tensor lists -------------------------------------------------------------------------------

/// element shape, size.
void list_reserve(ShapeContext& op) {
  Handle& handle = new_handle(op, op.attributes.type("element_dtype"));
  state_shape(handle, shape_of_content(op.in(0)));
  handle.size = size_or_unknown(op.in(1));
}
void list_empty(ShapeContext& op) {
  Handle& handle = new_handle(op, op.attributes.type("element_dtype"));
  state_shape(handle, shape_of_content(op.in(0)));
}
/// The list with one more, or one other, element: `from` is that element.
void list_updated(ShapeContext& op, const Value& from) {
  op.set(0, {});
  op.out(0).handle = op.in(0).handle;
  learn(op.in(0), from);
}
void list_push(ShapeContext& op) {
  list_updated(op, op.in(1));
}
void list_set(ShapeContext& op) {
  list_updated(op, op.in(2));
}
void list_same(ShapeContext& op) {
  list_updated(op, Value());
}
void list_scatter_into(ShapeContext& op) {
  list_updated(op, row_of(op.in(1)));
}
/// tensor, element shape (or indices).
void list_from_rows(ShapeContext& op) {
  const Value& tensor = op.in(0);
  Handle& handle = new_handle(op, tensor.type);
  state_shape(handle, row_of(tensor));
  handle.size = tensor.dim(0);
}
/// A shape among the inputs fills what the list's own leaves open.
Value list_element(const ShapeContext& op, std::size_t shape) {
  Value element = element_of(op.in(0));
  merge_shape(element, shape_of_content(op.in(shape)));
  return element;
}
/// list, index, element shape.
void list_get(ShapeContext& op) {
  give_element(op, 0, list_element(op, 2));
}
/// list, element shape: the list without its last, and that.
void list_pop(ShapeContext& op) {
  op.set(0, {});
  op.out(0).handle = op.in(0).handle;
  give_element(op, 1, list_element(op, 1));
}
/// list, element shape.
void list_stack(ShapeContext& op) {
  Number rows = length_of(op.in(0));
  if (rows == kUnknownDim) rows = op.attributes.integer("num_elements", kUnknownDim);
  if (rows < 0 || rows > kMaxDim) rows = kUnknownDim;
  give_rows(op, 0, list_element(op, 1), rows);
}
/// list, indices, element shape.
void list_gather(ShapeContext& op) {
  give_rows(op, 0, list_element(op, 2), op.in(1).dim(0));
}
void list_concat(ShapeContext& op) {
  Value element = element_of(op.in(0));
  if (element.ranked && !element.dims.empty()) element.dims[0] = kUnknownDim;
  give_element(op, 0, element);
  op.set(1, {length_of(op.in(0))});
}

// --- Control flow -------------------------------------------------------------------------------

void switch_input(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.pass(i, op.in(0));
}
/// What all inputs agree on. One of a loop has its second input from the loop's own end, which is
/// not known yet and shaped as the first.
void merge(ShapeContext& op) {
  Value shape;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Value& input = op.in(i);
    if (shape.handle == nullptr) shape.handle = input.handle;
    if (shape.type == kUnknownType) shape.type = input.type;
    if (!input.ranked) continue;
    if (!shape.ranked) {
      shape.set_shape(input.dims);
    } else if (shape.dims.size() != input.dims.size()) {
      shape.ranked = false;
      shape.dims.clear();
      break;
    }
    for (std::size_t d = 0; d < shape.dims.size(); ++d) {
      if (shape.dims[d] != input.dims[d]) shape.dims[d] = kUnknownDim;
    }
  }
  op.pass(0, shape);
  op.set(1, {});
}
void exit_loop(ShapeContext& op) {
  op.pass(0, op.in(0));
  op.out(0).data = nullptr;
}

/// Shapes listed in the attribute, one for each output.
void listed_shapes(ShapeContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("output_shapes");
  for (std::size_t i = 0; i < op.output_count() && i < shapes.size(); ++i) {
    op.copy_shape(i, shapes[i]);
  }
}
void loop_function(ShapeContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("output_shapes");
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.pass(i, op.in(i));
    op.out(i).data = nullptr;
    if (i < shapes.size()) merge_shape(op.out(i), shapes[i]);
  }
}

// --- Inputs -------------------------------------------------------------------------------------

void constant(ShapeContext& op) {
  const Attr attr = op.attributes.find("value");
  if (attr.kind != Attr::Kind::tensor) {
    throw Error(
        ErrorCode::invalid_graph,
        frontend::cat(op.attributes.source().file, ": the constant '", frontend::readable(op.name),
                      "' has no value; export the graph again"));
  }
  op.pass(0, read_tensor(attr.bytes, op.attributes.source(), op.name));
}
/// default value; fed or not, it fits the shape.
void placeholder_with_default(ShapeContext& op) {
  shape_attribute(op);
  merge_shape(op.out(0), op.in(0));
}

constexpr OpRow kOps[] = {
    {"AnonymousIterator", "handle:=resource", rule::scalars},
    {"AnonymousIteratorV2", "handle:=resource deleter:=variant", rule::scalars},
    {"AnonymousIteratorV3", "handle:=resource", rule::scalars},
    {"ApplyAdaMax", "out:T", rule::like_first},
    {"ApplyAdadelta", "out:T", rule::like_first},
    {"ApplyAdagrad", "out:T", rule::like_first},
    {"ApplyAdagradDA", "out:T", rule::like_first},
    {"ApplyAdagradV2", "out:T", rule::like_first},
    {"ApplyAdam", "out:T", rule::like_first},
    {"ApplyAddSign", "out:T", rule::like_first},
    {"ApplyCenteredRMSProp", "out:T", rule::like_first},
    {"ApplyFtrl", "out:T", rule::like_first},
    {"ApplyFtrlV2", "out:T", rule::like_first},
    {"ApplyGradientDescent", "out:T", rule::like_first},
    {"ApplyMomentum", "out:T", rule::like_first},
    {"ApplyPowerSign", "out:T", rule::like_first},
    {"ApplyProximalAdagrad", "out:T", rule::like_first},
    {"ApplyProximalGradientDescent", "out:T", rule::like_first},
    {"ApplyRMSProp", "out:T", rule::like_first},
    {"Assert", "", rule::none},
    {"Assign", "output_ref:T", assign},
    {"AssignAdd", "output_ref:T", rule::like_first},
    {"AssignAddVariableOp", "", rule::none},
    {"AssignSub", "output_ref:T", rule::like_first},
    {"AssignSubVariableOp", "", rule::none},
    {"AssignVariableOp", "", rule::none},
    {"Barrier", "handle:=string", rule::scalars},
    {"Case", "output:@Tout", listed_shapes},
    {"CheckNumerics", "output:T", rule::identity},
    {"ConditionalAccumulator", "handle:=string", rule::scalars},
    {"Const", "output:dtype", constant},
    {"ControlTrigger", "", rule::none},
    {"CountUpTo", "output:T", rule::scalars},
    {"DebugIdentity", "output:T", rule::identity},
    {"DestroyResourceOp", "", rule::none},
    {"DestroyTemporaryVariable", "value:T", rule::like_first},
    {"EmptyTensorList", "handle:=variant", list_empty},
    {"Enter", "output:T", rule::identity},
    {"Exit", "output:T", exit_loop},
    {"FIFOQueue", "handle:=string", rule::scalars},
    {"FIFOQueueV2", "handle:=resource", rule::scalars},
    {"HashTable", "table_handle:=string", rule::scalars},
    {"HashTableV2", "table_handle:=resource", rule::scalars},
    {"Identity", "output:T", rule::identity},
    {"IdentityN", "output:@T", rule::identity},
    {"If", "output:@Tout", listed_shapes},
    {"InitializeTable", "", rule::none},
    {"InitializeTableFromTextFile", "", rule::none},
    {"InitializeTableFromTextFileV2", "", rule::none},
    {"InitializeTableV2", "", rule::none},
    {"IsVariableInitialized", "is_initialized:=bool", rule::scalars},
    {"Iterator", "handle:=resource", rule::scalars},
    {"IteratorFromStringHandle", "resource_handle:=resource", rule::scalars},
    {"IteratorFromStringHandleV2", "resource_handle:=resource", rule::scalars},
    {"IteratorGetNext", "components:@output_types", listed_shapes},
    {"IteratorGetNextAsOptional", "optional:=variant", rule::scalars},
    {"IteratorGetNextSync", "components:@output_types", listed_shapes},
    {"IteratorToStringHandle", "string_handle:=string", rule::scalars},
    {"IteratorV2", "handle:=resource", rule::scalars},
    {"LookupTableFind", "values:Tout", rule::like_second},
    {"LookupTableFindV2", "values:Tout", rule::like_second},
    {"LookupTableImport", "", rule::none},
    {"LookupTableImportV2", "", rule::none},
    {"LookupTableInsert", "", rule::none},
    {"LookupTableInsertV2", "", rule::none},
    {"LookupTableSize", "size:=int64", rule::scalars},
    {"LookupTableSizeV2", "size:=int64", rule::scalars},
    {"LoopCond", "output:=bool", rule::scalars},
    {"MakeIterator", "", rule::none},
    {"Merge", "output:T value_index:=int32", merge},
    {"MutableHashTable", "table_handle:=string", rule::scalars},
    {"MutableHashTableOfTensors", "table_handle:=string", rule::scalars},
    {"MutableHashTableOfTensorsV2", "table_handle:=resource", rule::scalars},
    {"MutableHashTableV2", "table_handle:=resource", rule::scalars},
    {"NextIteration", "output:T", rule::identity},
    {"NoOp", "", rule::none},
    {"OneShotIterator", "handle:=resource", rule::scalars},
    {"OptionalFromValue", "optional:=variant", rule::scalars},
    {"OptionalGetValue", "components:@output_types", listed_shapes},
    {"OptionalHasValue", "has_value:=bool", rule::scalars},
    {"OptionalNone", "optional:=variant", rule::scalars},
    {"PaddingFIFOQueue", "handle:=string", rule::scalars},
    {"PaddingFIFOQueueV2", "handle:=resource", rule::scalars},
    {"Placeholder", "output:dtype", shape_attribute},
    {"PlaceholderV2", "output:dtype", shape_attribute},
    {"PlaceholderWithDefault", "output:dtype", placeholder_with_default},
    {"PreventGradient", "output:T", rule::identity},
    {"QueueClose", "", rule::none},
    {"QueueCloseV2", "", rule::none},
    {"QueueDequeue", "components:@component_types", nullptr},
    {"QueueDequeueMany", "components:@component_types", nullptr},
    {"QueueDequeueManyV2", "components:@component_types", nullptr},
    {"QueueDequeueUpTo", "components:@component_types", nullptr},
    {"QueueDequeueUpToV2", "components:@component_types", nullptr},
    {"QueueDequeueV2", "components:@component_types", nullptr},
    {"QueueEnqueue", "", rule::none},
    {"QueueEnqueueMany", "", rule::none},
    {"QueueEnqueueManyV2", "", rule::none},
    {"QueueEnqueueV2", "", rule::none},
    {"QueueSize", "size:=int32", rule::scalars},
    {"QueueSizeV2", "size:=int32", rule::scalars},
    {"RandomShuffleQueue", "handle:=string", rule::scalars},
    {"RandomShuffleQueueV2", "handle:=resource", rule::scalars},
    {"ReadVariableOp", "value:dtype", read_variable},
    {"RefEnter", "output:T", rule::identity},
    {"RefExit", "output:T", exit_loop},
    {"RefIdentity", "output:T", rule::identity},
    {"RefMerge", "output:T value_index:=int32", merge},
    {"RefNextIteration", "output:T", rule::identity},
    {"RefSwitch", "output_false:T output_true:T", switch_input},
    {"ResourceApplyAdaMax", "", rule::none},
    {"ResourceApplyAdadelta", "", rule::none},
    {"ResourceApplyAdagrad", "", rule::none},
    {"ResourceApplyAdagradDA", "", rule::none},
    {"ResourceApplyAdagradV2", "", rule::none},
    {"ResourceApplyAdam", "", rule::none},
    {"ResourceApplyAdamWithAmsgrad", "", rule::none},
    {"ResourceApplyAddSign", "", rule::none},
    {"ResourceApplyCenteredRMSProp", "", rule::none},
    {"ResourceApplyFtrl", "", rule::none},
    {"ResourceApplyFtrlV2", "", rule::none},
    {"ResourceApplyGradientDescent", "", rule::none},
    {"ResourceApplyKerasMomentum", "", rule::none},
    {"ResourceApplyMomentum", "", rule::none},
    {"ResourceApplyPowerSign", "", rule::none},
    {"ResourceApplyProximalAdagrad", "", rule::none},
    {"ResourceApplyProximalGradientDescent", "", rule::none},
    {"ResourceApplyRMSProp", "", rule::none},
    {"ResourceGather", "output:dtype", gather_variable},
    {"ResourceGatherNd", "output:dtype", nullptr},
    {"ResourceScatterAdd", "", rule::none},
    {"ResourceScatterDiv", "", rule::none},
    {"ResourceScatterMax", "", rule::none},
    {"ResourceScatterMin", "", rule::none},
    {"ResourceScatterMul", "", rule::none},
    {"ResourceScatterNdAdd", "", rule::none},
    {"ResourceScatterNdMax", "", rule::none},
    {"ResourceScatterNdMin", "", rule::none},
    {"ResourceScatterNdSub", "", rule::none},
    {"ResourceScatterNdUpdate", "", rule::none},
    {"ResourceScatterSub", "", rule::none},
    {"ResourceScatterUpdate", "", rule::none},
    {"ResourceSparseApplyAdadelta", "", rule::none},
    {"ResourceSparseApplyAdagrad", "", rule::none},
    {"ResourceSparseApplyAdagradDA", "", rule::none},
    {"ResourceSparseApplyAdagradV2", "", rule::none},
    {"ResourceSparseApplyCenteredRMSProp", "", rule::none},
    {"ResourceSparseApplyFtrl", "", rule::none},
    {"ResourceSparseApplyFtrlV2", "", rule::none},
    {"ResourceSparseApplyKerasMomentum", "", rule::none},
    {"ResourceSparseApplyMomentum", "", rule::none},
    {"ResourceSparseApplyProximalAdagrad", "", rule::none},
    {"ResourceSparseApplyProximalGradientDescent", "", rule::none},
    {"ResourceSparseApplyRMSProp", "", rule::none},
    {"ResourceStridedSliceAssign", "", rule::none},
    {"ScatterAdd", "output_ref:T", rule::like_first},
    {"ScatterDiv", "output_ref:T", rule::like_first},
    {"ScatterMax", "output_ref:T", rule::like_first},
    {"ScatterMin", "output_ref:T", rule::like_first},
    {"ScatterMul", "output_ref:T", rule::like_first},
    {"ScatterNdAdd", "output_ref:T", rule::like_first},
    {"ScatterNdMax", "output_ref:T", rule::like_first},
    {"ScatterNdMin", "output_ref:T", rule::like_first},
    {"ScatterNdSub", "output_ref:T", rule::like_first},
    {"ScatterNdUpdate", "output_ref:T", rule::like_first},
    {"ScatterSub", "output_ref:T", rule::like_first},
    {"ScatterUpdate", "output_ref:T", rule::like_first},
    {"Snapshot", "output:T", rule::identity},
    {"SparseApplyAdadelta", "out:T", rule::like_first},
    {"SparseApplyAdagrad", "out:T", rule::like_first},
    {"SparseApplyAdagradDA", "out:T", rule::like_first},
    {"SparseApplyAdagradV2", "out:T", rule::like_first},
    {"SparseApplyCenteredRMSProp", "out:T", rule::like_first},
    {"SparseApplyFtrl", "out:T", rule::like_first},
    {"SparseApplyFtrlV2", "out:T", rule::like_first},
    {"SparseApplyMomentum", "out:T", rule::like_first},
    {"SparseApplyProximalAdagrad", "out:T", rule::like_first},
    {"SparseApplyProximalGradientDescent", "out:T", rule::like_first},
    {"SparseApplyRMSProp", "out:T", rule::like_first},
    {"Stack", "handle:=string", stack},
    {"StackClose", "", rule::none},
    {"StackCloseV2", "", rule::none},
    {"StackPop", "elem:elem_type", read_variable},
    {"StackPopV2", "elem:elem_type", read_variable},
    {"StackPush", "output:T", stack_push},
    {"StackPushV2", "output:T", stack_push},
    {"StackV2", "handle:=resource", stack},
    {"StatelessCase", "output:@Tout", listed_shapes},
    {"StatelessIf", "output:@Tout", listed_shapes},
    {"StatelessWhile", "output:@T", loop_function},
    {"StopGradient", "output:T", rule::identity},
    {"Switch", "output_false:T output_true:T", switch_input},
    {"SymbolicGradient", "output:@Tout", nullptr},
    {"TemporaryVariable", "ref:dtype", shape_attribute},
    {"TensorArray", "handle:=string", tensor_array},
    {"TensorArrayClose", "", rule::none},
    {"TensorArrayCloseV3", "", rule::none},
    {"TensorArrayConcat", "value:dtype lengths:=int64", tensor_array_concat},
    {"TensorArrayConcatV2", "value:dtype lengths:=int64", tensor_array_concat},
    {"TensorArrayConcatV3", "value:dtype lengths:=int64", tensor_array_concat},
    {"TensorArrayGather", "value:dtype", tensor_array_gather},
    {"TensorArrayGatherV2", "value:dtype", tensor_array_gather},
    {"TensorArrayGatherV3", "value:dtype", tensor_array_gather},
    {"TensorArrayGrad", "grad_handle:=string", tensor_array_gradient},
    {"TensorArrayGradV2", "grad_handle:=string", tensor_array_gradient},
    {"TensorArrayGradV3", "grad_handle:=resource flow_out:=float", tensor_array_gradient},
    {"TensorArrayRead", "value:dtype", tensor_array_read},
    {"TensorArrayReadV2", "value:dtype", tensor_array_read},
    {"TensorArrayReadV3", "value:dtype", tensor_array_read},
    {"TensorArrayScatter", "flow_out:=float", tensor_array_scatter},
    {"TensorArrayScatterV2", "flow_out:=float", tensor_array_scatter},
    {"TensorArrayScatterV3", "flow_out:=float", tensor_array_scatter},
    {"TensorArraySize", "size:=int32", give_length},
    {"TensorArraySizeV2", "size:=int32", give_length},
    {"TensorArraySizeV3", "size:=int32", give_length},
    {"TensorArraySplit", "flow_out:=float", tensor_array_split},
    {"TensorArraySplitV2", "flow_out:=float", tensor_array_split},
    {"TensorArraySplitV3", "flow_out:=float", tensor_array_split},
    {"TensorArrayV2", "handle:=string", tensor_array},
    {"TensorArrayV3", "handle:=resource flow:=float", tensor_array},
    {"TensorArrayWrite", "flow_out:=float", tensor_array_write},
    {"TensorArrayWriteV2", "flow_out:=float", tensor_array_write},
    {"TensorArrayWriteV3", "flow_out:=float", tensor_array_write},
    {"TensorListConcat", "tensor:element_dtype lengths:=int64", list_concat},
    {"TensorListConcatV2", "tensor:element_dtype lengths:=int64", list_concat},
    {"TensorListFromTensor", "output_handle:=variant", list_from_rows},
    {"TensorListGather", "values:element_dtype", list_gather},
    {"TensorListGetItem", "item:element_dtype", list_get},
    {"TensorListLength", "length:=int32", give_length},
    {"TensorListPopBack", "output_handle:=variant tensor:element_dtype", list_pop},
    {"TensorListPushBack", "output_handle:=variant", list_push},
    {"TensorListReserve", "handle:=variant", list_reserve},
    {"TensorListResize", "output_handle:=variant", list_same},
    {"TensorListScatter", "output_handle:=variant", list_from_rows},
    {"TensorListScatterIntoExistingList", "output_handle:=variant", list_scatter_into},
    {"TensorListScatterV2", "output_handle:=variant", list_from_rows},
    {"TensorListSetItem", "output_handle:=variant", list_set},
    {"TensorListStack", "tensor:element_dtype", list_stack},
    {"VarHandleOp", "resource:=resource", variable_handle},
    {"VarIsInitializedOp", "is_initialized:=bool", rule::scalars},
    {"Variable", "ref:dtype", old_variable},
    {"VariableShape", "output:out_type", variable_shape},
    {"VariableV2", "ref:dtype", shape_attribute},
    {"While", "output:@T", loop_function},
    {"_Arg", "output:T", nullptr},
    {"_Recv", "tensor:tensor_type", nullptr},
    {"_Retval", "", rule::none},
    {"_Send", "", rule::none},
    {"_SwitchN", "outputs:T*num_outs", switch_input},
};

}  // namespace

std::span<const OpRow> state_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
