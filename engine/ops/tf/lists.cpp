// Tensor arrays, stacks and tensor lists: tensors behind a handle.
#include <algorithm>

#include "ops/tf/handles.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// Handles of arrays and stacks were pairs of names once, and kept that shape.
const Dims kPair = {2};

/// `rows` elements one after the other.
void give_rows(OpContext& op, std::size_t output, const Value& element, Number rows) {
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

void give_length(OpContext& op) {
  op.set(0, {});
  if (length_of(op.in(0)) != kUnknownDim) op.set_data(0, {length_of(op.in(0))});
}

/// size.
void tensor_array(OpContext& op) {
  Value shape;
  op.attributes.shape("element_shape", shape);
  Handle& handle = new_handle(op, op.attributes.type("dtype", kUnknownType), kPair);
  state_shape(handle, shape);
  handle.size = size_or_unknown(op.in(0));
  op.set(1, {});
}
/// The gradient's elements are shaped as the array's own.
void tensor_array_gradient(OpContext& op) {
  op.set(0, kPair);
  op.out(0).handle = op.in(0).handle;
  op.set(1, {});
}
/// handle, index, value, flow.
void tensor_array_write(OpContext& op) {
  learn(op.in(0), op.in(2));
  op.set(0, {});
}
/// handle, indices, value, flow.
void tensor_array_scatter(OpContext& op) {
  learn(op.in(0), row_of(op.in(2)));
  if (op.in(0).handle != nullptr && op.in(0).handle->size <= 0) {
    op.in(0).handle->size = op.in(2).dim(0);  // it grows as it is written
  }
  op.set(0, {});
}
/// handle, value, lengths, flow.
void tensor_array_split(OpContext& op) {
  Value element = op.in(1);
  if (element.ranked && !element.dims.empty()) element.dims[0] = kUnknownDim;
  learn(op.in(0), element);
  op.set(0, {});
}
/// handle, indices, flow.
void tensor_array_gather(OpContext& op) {
  const Number listed = op.in(1).dim(0);
  give_rows(op, 0, element_of(op.in(0)), listed != kUnknownDim ? listed : length_of(op.in(0)));
}
void joined_elements(OpContext& op) {
  Value element = element_of(op.in(0));
  if (element.ranked && !element.dims.empty()) element.dims[0] = kUnknownDim;
  give_element(op, 0, element);
  op.set(1, {length_of(op.in(0))});
}

void stack(OpContext& op) {
  new_list(op, op.attributes.type("elem_type", kUnknownType), kPair);
}
/// handle, element.
void stack_push(OpContext& op) {
  learn_push(op.in(0), op.in(1));
  op.copy_shape(0, op.in(1));
}
void stack_pop(OpContext& op) {
  give_element(op, 0, pushed_element(op.in(0)));
}

// --- Tensor lists -------------------------------------------------------------------------------

/// element shape, size.
void list_reserve(OpContext& op) {
  Handle& handle = new_list(op, op.attributes.type("element_dtype", kUnknownType));
  state_shape(handle, shape_of_content(op.in(0)));
  handle.size = size_or_unknown(op.in(1));
  learn_push(op.out(0), Value());  // zeros until they are set
}
void list_empty(OpContext& op) {
  Handle& handle = new_list(op, op.attributes.type("element_dtype", kUnknownType));
  state_shape(handle, shape_of_content(op.in(0)));
}
/// The list with one more, or one other, element: `from` is that element.
void list_updated(OpContext& op, const Value& from) {
  same_list(op);
  learn_push(op.in(0), from);
}
void list_push(OpContext& op) {
  list_updated(op, op.in(1));
}
void list_set(OpContext& op) {
  list_updated(op, op.in(2));
}
void list_same(OpContext& op) {
  list_updated(op, Value());
}
void list_scatter_into(OpContext& op) {
  list_updated(op, row_of(op.in(1)));
}
/// tensor, element shape (or indices).
void list_from_rows(OpContext& op) {
  const Value& tensor = op.in(0);
  Handle& handle = new_list(op, tensor.type);
  learn_push(op.out(0), row_of(tensor));
  handle.size = tensor.dim(0);
}
/// A shape among the inputs fills what the list's own leaves open.
Value list_element(const OpContext& op, std::size_t shape) {
  Value element = pushed_element(op.in(0));
  merge_shape(element, shape_of_content(op.in(shape)));
  return element;
}
/// list, index, element shape.
void list_get(OpContext& op) {
  give_element(op, 0, list_element(op, 2));
}
/// list, element shape: the list without its last, and that.
void list_pop(OpContext& op) {
  same_list(op);
  give_element(op, 1, list_element(op, 1));
}
/// list, element shape.
void list_stack(OpContext& op) {
  Number rows = length_of(op.in(0));
  if (rows == kUnknownDim) rows = op.attributes.integer("num_elements", kUnknownDim);
  if (rows < 0 || rows > kMaxDim) rows = kUnknownDim;
  give_rows(op, 0, list_element(op, 1), rows);
}
/// list, indices, element shape.
void list_gather(OpContext& op) {
  give_rows(op, 0, list_element(op, 2), op.in(1).dim(0));
}

constexpr Row kOps[] = {
    {"EmptyTensorList", "handle:=variant", list_empty, kHandle},
    {"Stack", "handle:=string", stack, kHandle},
    {"StackClose", "", rule::none, kHandle},
    {"StackCloseV2", "", rule::none, kHandle},
    {"StackPop", "elem:elem_type", stack_pop, kHandle},
    {"StackPopV2", "elem:elem_type", stack_pop, kHandle},
    {"StackPush", "output:T", stack_push, kHandle},
    {"StackPushV2", "output:T", stack_push, kHandle},
    {"StackV2", "handle:=resource", stack, kHandle},
    {"TensorArray", "handle:=string", tensor_array, kHandle},
    {"TensorArrayClose", "", rule::none, kHandle},
    {"TensorArrayCloseV3", "", rule::none, kHandle},
    {"TensorArrayConcat", "value:dtype lengths:=int64", joined_elements, copies()},
    {"TensorArrayConcatV2", "value:dtype lengths:=int64", joined_elements, copies()},
    {"TensorArrayConcatV3", "value:dtype lengths:=int64", joined_elements, copies()},
    {"TensorArrayGather", "value:dtype", tensor_array_gather, copies()},
    {"TensorArrayGatherV2", "value:dtype", tensor_array_gather, copies()},
    {"TensorArrayGatherV3", "value:dtype", tensor_array_gather, copies()},
    {"TensorArrayGrad", "grad_handle:=string", tensor_array_gradient, kHandle},
    {"TensorArrayGradV2", "grad_handle:=string", tensor_array_gradient, kHandle},
    {"TensorArrayGradV3", "grad_handle:=resource flow_out:=float", tensor_array_gradient, kHandle},
    {"TensorArrayRead", "value:dtype", read_handle, kHandle},
    {"TensorArrayReadV2", "value:dtype", read_handle, kHandle},
    {"TensorArrayReadV3", "value:dtype", read_handle, kHandle},
    {"TensorArrayScatter", "flow_out:=float", tensor_array_scatter, copies()},
    {"TensorArrayScatterV2", "flow_out:=float", tensor_array_scatter, copies()},
    {"TensorArrayScatterV3", "flow_out:=float", tensor_array_scatter, copies()},
    {"TensorArraySize", "size:=int32", give_length, kShapes},
    {"TensorArraySizeV2", "size:=int32", give_length, kShapes},
    {"TensorArraySizeV3", "size:=int32", give_length, kShapes},
    {"TensorArraySplit", "flow_out:=float", tensor_array_split, copies()},
    {"TensorArraySplitV2", "flow_out:=float", tensor_array_split, copies()},
    {"TensorArraySplitV3", "flow_out:=float", tensor_array_split, copies()},
    {"TensorArrayV2", "handle:=string", tensor_array, kHandle},
    {"TensorArrayV3", "handle:=resource flow:=float", tensor_array, kHandle},
    {"TensorArrayWrite", "flow_out:=float", tensor_array_write, kHandle},
    {"TensorArrayWriteV2", "flow_out:=float", tensor_array_write, kHandle},
    {"TensorArrayWriteV3", "flow_out:=float", tensor_array_write, kHandle},
    {"TensorListConcat", "tensor:element_dtype lengths:=int64", joined_elements, copies()},
    {"TensorListConcatV2", "tensor:element_dtype lengths:=int64", joined_elements, copies()},
    {"TensorListElementShape", "element_shape:shape_type", element_shape, kShapes},
    {"TensorListFromTensor", "output_handle:=variant", list_from_rows, copies()},
    {"TensorListGather", "values:element_dtype", list_gather, copies()},
    {"TensorListGetItem", "item:element_dtype", list_get, kHandle},
    {"TensorListLength", "length:=int32", give_length, kShapes},
    {"TensorListPopBack", "output_handle:=variant tensor:element_dtype", list_pop, kHandle},
    {"TensorListPushBack", "output_handle:=variant", list_push, kHandle},
    {"TensorListReserve", "handle:=variant", list_reserve, kHandle},
    {"TensorListResize", "output_handle:=variant", list_same, kHandle},
    {"TensorListScatter", "output_handle:=variant", list_from_rows, copies()},
    {"TensorListScatterIntoExistingList", "output_handle:=variant", list_scatter_into, copies()},
    {"TensorListScatterV2", "output_handle:=variant", list_from_rows, copies()},
    {"TensorListSetItem", "output_handle:=variant", list_set, kHandle},
    {"TensorListStack", "tensor:element_dtype", list_stack, copies()},
};

}  // namespace

std::span<const Row> list_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
