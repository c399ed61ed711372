// Iterators, queues and stacks.
#include <ATen/Functions.h>

#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using tf_frontend::attr;
using tf_frontend::kFloats;
using tf_frontend::node;
using tf_frontend::placeholder;

constexpr const char* kTypes = "list { type: DT_FLOAT type: DT_INT32 }";
constexpr const char* kShapes =
    "list { shape { dim { size: 2 } dim { size: 3 } } shape { dim { size: 2 } } }";

TEST_CASE("an iterator gives elements of its types and shapes, the same in every step") {
  const std::string lists = attr("output_types", kTypes) + attr("output_shapes", kShapes);
  Stepper stepper = stepper_of(node("iterator", "IteratorV2", "", lists) +
                                   node("next", "IteratorGetNext", "iterator", lists) +
                                   node("minus", "Neg", "next", kFloats),
                               {"minus:0", "next:1"});
  stepper.run();
  const at::Tensor rows = stepper.value("next").clone();
  CHECK(rows.sizes() == at::IntArrayRef({2, 3}));
  CHECK(rows.min().item().toFloat() >= 0);
  CHECK(rows.max().item().toFloat() < 1);
  CHECK((stepper.value("next", 1).scalar_type() == at::kInt));
  CHECK(at::equal(stepper.value("minus"), at::neg(rows)));
  stepper.run();
  CHECK(at::equal(stepper.value("next"), rows));
}

TEST_CASE("what a step takes from a queue is drawn, what it puts there goes nowhere") {
  const std::string types = attr("component_types", "list { type: DT_FLOAT }") +
                            attr("shapes", "list { shape { dim { size: 4 } } }");
  Stepper stepper =
      stepper_of(node("queue", "FIFOQueueV2", "", types) +
                     node("taken", "QueueDequeueV2", "queue",
                          types + attr("_output_shapes", "list { shape { dim { size: 4 } } }")) +
                     node("minus", "Neg", "taken", kFloats) +
                     node("put", "QueueEnqueueV2", "queue minus",
                          attr("Tcomponents", "list { type: DT_FLOAT }")),
                 {"minus:0", "put"});
  stepper.run();
  CHECK(stepper.value("minus").sizes() == at::IntArrayRef({4}));
}

TEST_CASE("a stack gives back what was pushed last, and is empty when a step begins") {
  const std::string kind = attr("elem_type", "type: DT_FLOAT");
  Stepper stepper = stepper_of(
      placeholder("x", {2}) + placeholder("y", {2}) +
          node("most", "Const", "",
               attr("dtype", "type: DT_INT32") +
                   attr("value", "tensor { dtype: DT_INT32 tensor_shape { } int_val: -1 }")) +
          node("stack", "StackV2", "most", kind) + node("one", "StackPushV2", "stack x", kFloats) +
          node("two", "StackPushV2", "stack y ^one", kFloats) +
          node("last", "StackPopV2", "stack ^two", kind) + node("result", "Sub", "last x", kFloats),
      {"result:0"});
  const at::Tensor x = at::full({2}, 3.0F), y = at::full({2}, 5.0F);
  for (int step = 0; step < 2; ++step) {
    stepper.run({{"x", x}, {"y", y}});
    CHECK(at::equal(stepper.value("result").cpu(), at::sub(y, x)));
  }
}

}  // namespace
}  // namespace berth::runtime
