// Control flow, inputs and constants, queues, tables, iterators.
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void switch_input(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.pass(i, op.in(0));
}
/// The common part of all inputs. One of a loop has its second input from the loop's own end, which is
/// not known yet and shaped as the first.
void merge(OpContext& op) {
  Value shape;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Value& input = op.in(i);
    if (shape.handle == nullptr) {
      shape.handle = input.handle;
      shape.other = input.other;
    }
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
void exit_loop(OpContext& op) {
  op.pass(0, op.in(0));
  op.out(0).forget_content();
}

void loop_function(OpContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("output_shapes");
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.pass(i, op.in(i));
    op.out(i).forget_content();
    if (i < shapes.size()) merge_shape(op.out(i), shapes[i]);
  }
}

// --- Inputs -------------------------------------------------------------------------------------

void constant(OpContext& op) {
  op.pass(0, op.attributes.tensor("value"));
}
/// default value; fed or not, it fits the shape.
void placeholder_with_default(OpContext& op) {
  rule::shape_attribute(op);
  merge_shape(op.out(0), op.in(0));
}

constexpr WorkRule kBodies{nullptr, OpClass::other, 0,
                           "the frontend states the work of its bodies"};

constexpr Row kOps[] = {
    {"AnonymousIterator", "handle:=resource", rule::scalars, kHandle},
    {"AnonymousIteratorV2", "handle:=resource deleter:=variant", rule::scalars, kHandle},
    {"AnonymousIteratorV3", "handle:=resource", rule::scalars, kHandle},
    {"Assert", "", rule::none, kControl},
    {"Barrier", "handle:=string", rule::scalars, kHandle},
    {"Case", "output:@Tout", rule::listed_shapes, kBodies},
    {"CheckNumerics", "output:T", rule::identity, kView},
    {"CheckNumericsV2", "output:T", rule::identity, kView},
    {"Const", "output:dtype", constant, kSource},
    {"ControlTrigger", "", rule::none, kControl},
    {"DebugIdentity", "output:T", rule::identity, kView},
    {"DeepCopy", "y:T", rule::like_first, copies()},
    {"Enter", "output:T", rule::identity, kControl},
    {"Exit", "output:T", exit_loop, kControl},
    {"FIFOQueue", "handle:=string", rule::scalars, kHandle},
    {"FIFOQueueV2", "handle:=resource", rule::scalars, kHandle},
    {"GuaranteeConst", "output:T", rule::identity, kView},
    {"HashTable", "table_handle:=string", rule::scalars, kHandle},
    {"HashTableV2", "table_handle:=resource", rule::scalars, kHandle},
    {"Identity", "output:T", rule::identity, kView},
    {"IdentityN", "output:@T", rule::identity, kView},
    {"If", "output:@Tout", rule::listed_shapes, kBodies},
    {"InitializeTable", "", rule::none, kHost},
    {"InitializeTableFromTextFile", "", rule::none, kHost},
    {"InitializeTableFromTextFileV2", "", rule::none, kHost},
    {"InitializeTableV2", "", rule::none, kHost},
    {"Iterator", "handle:=resource", rule::scalars, kHandle},
    {"IteratorFromStringHandle", "resource_handle:=resource", rule::scalars, kHandle},
    {"IteratorFromStringHandleV2", "resource_handle:=resource", rule::scalars, kHandle},
    {"IteratorGetNext", "components:@output_types", rule::listed_shapes, kSource},
    {"IteratorGetNextAsOptional", "optional:=variant", rule::scalars, kHandle},
    {"IteratorGetNextSync", "components:@output_types", rule::listed_shapes, kSource},
    {"IteratorToStringHandle", "string_handle:=string", rule::scalars, kHandle},
    {"IteratorV2", "handle:=resource", rule::scalars, kHandle},
    {"LookupTableFind", "values:Tout", rule::like_second, copies()},
    {"LookupTableFindV2", "values:Tout", rule::like_second, copies()},
    {"LookupTableImport", "", rule::none, kHost},
    {"LookupTableImportV2", "", rule::none, kHost},
    {"LookupTableInsert", "", rule::none, copies()},
    {"LookupTableInsertV2", "", rule::none, copies()},
    {"LookupTableSize", "size:=int64", rule::scalars, kShapes},
    {"LookupTableSizeV2", "size:=int64", rule::scalars, kShapes},
    {"LoopCond", "output:=bool", rule::scalars, kControl},
    {"MakeIterator", "", rule::none, kHandle},
    {"Merge", "output:T value_index:=int32", merge, kControl},
    {"MutableHashTable", "table_handle:=string", rule::scalars, kHandle},
    {"MutableHashTableOfTensors", "table_handle:=string", rule::scalars, kHandle},
    {"MutableHashTableOfTensorsV2", "table_handle:=resource", rule::scalars, kHandle},
    {"MutableHashTableV2", "table_handle:=resource", rule::scalars, kHandle},
    {"NextIteration", "output:T", rule::identity, kControl},
    {"NoOp", "", rule::none, kControl},
    {"OneShotIterator", "handle:=resource", rule::scalars, kHandle},
    {"OptionalFromValue", "optional:=variant", rule::scalars, kHandle},
    {"OptionalGetValue", "components:@output_types", rule::listed_shapes, kSource},
    {"OptionalHasValue", "has_value:=bool", rule::scalars, kHandle},
    {"OptionalNone", "optional:=variant", rule::scalars, kHandle},
    {"PaddingFIFOQueue", "handle:=string", rule::scalars, kHandle},
    {"PaddingFIFOQueueV2", "handle:=resource", rule::scalars, kHandle},
    {"Placeholder", "output:dtype", rule::shape_attribute, kSource},
    {"PlaceholderV2", "output:dtype", rule::shape_attribute, kSource},
    {"PlaceholderWithDefault", "output:dtype", placeholder_with_default, kSource},
    {"PreventGradient", "output:T", rule::identity, kView},
    {"QueueClose", "", rule::none, kHandle},
    {"QueueCloseV2", "", rule::none, kHandle},
    {"QueueDequeue", "components:@component_types", nullptr, copies()},
    {"QueueDequeueMany", "components:@component_types", nullptr, copies()},
    {"QueueDequeueManyV2", "components:@component_types", nullptr, copies()},
    {"QueueDequeueUpTo", "components:@component_types", nullptr, copies()},
    {"QueueDequeueUpToV2", "components:@component_types", nullptr, copies()},
    {"QueueDequeueV2", "components:@component_types", nullptr, copies()},
    {"QueueEnqueue", "", rule::none, copies()},
    {"QueueEnqueueMany", "", rule::none, copies()},
    {"QueueEnqueueManyV2", "", rule::none, copies()},
    {"QueueEnqueueV2", "", rule::none, copies()},
    {"QueueSize", "size:=int32", rule::scalars, kShapes},
    {"QueueSizeV2", "size:=int32", rule::scalars, kShapes},
    {"RandomShuffleQueue", "handle:=string", rule::scalars, kHandle},
    {"RandomShuffleQueueV2", "handle:=resource", rule::scalars, kHandle},
    {"RefEnter", "output:T", rule::identity, kControl},
    {"RefExit", "output:T", exit_loop, kControl},
    {"RefIdentity", "output:T", rule::identity, kView},
    {"RefMerge", "output:T value_index:=int32", merge, kControl},
    {"RefNextIteration", "output:T", rule::identity, kControl},
    {"RefSwitch", "output_false:T output_true:T", switch_input, kControl},
    {"Snapshot", "output:T", rule::identity, kView},
    {"StatelessCase", "output:@Tout", rule::listed_shapes, kBodies},
    {"StatelessIf", "output:@Tout", rule::listed_shapes, kBodies},
    {"StatelessWhile", "output:@T", loop_function, kBodies},
    {"StopGradient", "output:T", rule::identity, kView},
    {"Switch", "output_false:T output_true:T", switch_input, kControl},
    {"SymbolicGradient", "output:@Tout", nullptr},
    {"While", "output:@T", loop_function, kBodies},
    {"_Arg", "output:T", nullptr, kSource},
    {"_Recv", "tensor:tensor_type", nullptr, copies()},
    {"_Retval", "", rule::none, kSource},
    {"_Send", "", rule::none, copies()},
    {"_SwitchN", "outputs:T*num_outs", switch_input, kControl},
};

}  // namespace

std::span<const Row> control_flow_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
