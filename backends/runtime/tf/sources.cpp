// Iterators and queues, which feed a step from outside. Their elements are drawn, as a model's inputs are, and are
// the same in every step; what a step puts into a queue goes nowhere.
//
// Stacks hold what loops of TensorFlow 1 hand to their gradients. One is in the state of its device, empty when the
// step begins; those that push and pop run in the order of the loops that have them.
#include <ATen/ops/scalar_tensor.h>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"
#include "runtime/values.h"

namespace berth::runtime::tf {
namespace {

/// The same for every session, so that a placement can be compared with one device.
constexpr std::uint64_t kSeed = 1;

Kernel make_element(const KernelRequest& request) {
  std::vector<Value> drawn;
  for (const ValueId output : request.instruction.outputs) {
    const bool counts = output >= 0 && output < request.program.graph->tensor_count();
    drawn.push_back(counts ? draw_input(*request.program.graph, output,
                                        mixed_seed(kSeed, static_cast<std::uint64_t>(output)))
                           : Value{});
  }
  return [drawn = std::move(drawn)](KernelContext& context, Inputs, Outputs out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = drawn[i];
      if (out[i].tensor.defined()) out[i].tensor = on_device(context, out[i].tensor);
    }
  };
}

/// Nobody looks into it.
Kernel make_handle(const KernelRequest& request) {
  return [handle = text_value({request.instruction.name})](KernelContext&, Inputs, Outputs out) {
    out[0] = handle;
  };
}

Kernel make_nothing(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs, Outputs) {};
}

// --- Stacks: (handle, ..); the handle is the name under which the device's state has the stack ------------------

struct StackNames {
  explicit StackNames(Inputs in) {
    if (!has(in, 0) || in[0].structure == nullptr || in[0].structure->texts.size() != 1) {
      throw Error(ErrorCode::invalid_argument, "its input 0 is no stack");
    }
    prefix = cat("stack ", in[0].structure->texts.front(), " ");
  }
  [[nodiscard]] std::string size() const { return prefix + "size"; }
  [[nodiscard]] std::string element(std::int64_t at) const { return cat(prefix, at); }

  std::string prefix;
};

std::int64_t size_of(KernelContext& context, const StackNames& names) {
  const Value& size = context.state->variables[names.size()];
  return size.present() ? size.tensor.item().toLong() : 0;
}

void set_size(KernelContext& context, const StackNames& names, std::int64_t size) {
  context.state->variables[names.size()].tensor = at::scalar_tensor(size, at::kLong);
}

Kernel make_stack(const KernelRequest& request) {
  return [handle = text_value({request.instruction.name})](KernelContext& context, Inputs,
                                                           Outputs out) {
    out[0] = handle;
    const StackNames names({&out[0], 1});
    for (std::int64_t at = size_of(context, names); at-- > 0;) {
      context.state->variables.erase(names.element(at));
    }
    set_size(context, names, 0);
  };
}

/// (handle, element)
Kernel make_push(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const StackNames names(in);
    const std::int64_t size = size_of(context, names);
    context.state->variables[names.element(size)] = in[1];
    set_size(context, names, size + 1);
    out[0] = in[1];
  };
}

/// (handle)
Kernel make_pop(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const StackNames names(in);
    const std::int64_t size = size_of(context, names);
    if (size == 0) {
      throw Error(ErrorCode::invalid_argument,
                  "it takes from a stack with nothing on it; is what pushes on another device?");
    }
    const auto top = context.state->variables.find(names.element(size - 1));
    out[0] = std::move(top->second);
    context.state->variables.erase(top);
    set_size(context, names, size - 1);
  };
}

constexpr KernelRow kRows[] = {
    {"FIFOQueue", make_handle},
    {"FIFOQueueV2", make_handle},
    {"Iterator", make_handle},
    {"IteratorGetNext", make_element},
    {"IteratorGetNextSync", make_element},
    {"IteratorV2", make_handle},
    {"MakeIterator", make_nothing},
    {"OneShotIterator", make_handle},
    {"PaddingFIFOQueue", make_handle},
    {"PaddingFIFOQueueV2", make_handle},
    {"QueueClose", make_nothing},
    {"QueueCloseV2", make_nothing},
    {"QueueDequeue", make_element},
    {"QueueDequeueMany", make_element},
    {"QueueDequeueManyV2", make_element},
    {"QueueDequeueUpTo", make_element},
    {"QueueDequeueUpToV2", make_element},
    {"QueueDequeueV2", make_element},
    {"QueueEnqueue", make_nothing},
    {"QueueEnqueueMany", make_nothing},
    {"QueueEnqueueManyV2", make_nothing},
    {"QueueEnqueueV2", make_nothing},
    {"RandomShuffleQueue", make_handle},
    {"RandomShuffleQueueV2", make_handle},
    {"Stack", make_stack},
    {"StackClose", make_nothing},
    {"StackCloseV2", make_nothing},
    {"StackPop", make_pop},
    {"StackPopV2", make_pop},
    {"StackPush", make_push},
    {"StackPushV2", make_push},
    {"StackV2", make_stack},
    {"TensorArrayCloseV3", make_nothing},
};

}  // namespace

std::span<const KernelRow> source_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
