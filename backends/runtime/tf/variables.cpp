#include "runtime/tf/variables.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/tensors.h"

namespace berth::runtime::tf {

const Tensor& writable(Inputs in, std::size_t i) {
  const Tensor& variable = tensor_at(in, i);
  // Tensor's own count is of references; that of its storage, of tensors on the same memory.
  if (variable.storage().use_count() > 1 || !variable.is_contiguous()) {
    variable.set_data(variable.clone(at::MemoryFormat::Contiguous));
  }
  return variable;
}

namespace {

/// The first value of a variable; drawn numbers are the same on every device.
struct Beginning {
  explicit Beginning(const Instruction& op) : shape(ints_attribute(op, "shape").value_or(Ints{})) {
    element = type(op, "dtype", at::kFloat);
    if (const auto* value = op.attribute<TensorContent>("initial_value")) {
      content = make_tensor(*value);
    }
    if (const auto* limits = op.attribute<std::vector<double>>("initial_uniform")) {
      uniform = true;
      first = limits->at(0);
      second = limits->at(1);
    }
    if (const auto* moments = op.attribute<std::vector<double>>("initial_normal")) {
      first = moments->at(0);
      second = moments->at(1);
    }
    for (const std::int64_t size : shape) {
      if (size < 0) refuse_attribute("shape", "not known");
    }
  }

  [[nodiscard]] Tensor make(at::Device device, std::uint64_t seed) const {
    // The variable needs memory of its own, because it will be written.
    if (content.defined() && (content.dim() > 0 || shape.empty())) {
      return content.to(at::kCPU, element, false, true).reshape(shape).to(device);
    }
    if (content.defined()) return at::full(shape, content.item(), element).to(device);
    if (!at::isFloatingType(element)) return at::zeros(shape, element).to(device);
    const Tensor drawn = at::empty(shape, at::kFloat);
    const at::Generator generator = at::detail::createCPUGenerator(seed);
    if (uniform) {
      drawn.uniform_(first, second, generator);
    } else {
      drawn.normal_(first, second, generator);
    }
    return drawn.to(device, element);
  }

  Ints shape;
  at::ScalarType element;
  Tensor content;
  bool uniform = false;
  // Without an initializer the values are small, so that sums over thousands of them stay finite.
  double first = 0, second = 0.02;
};

Kernel make_variable(const KernelRequest& request) {
  return [beginning = Beginning(request.instruction), name = request.instruction.name](
             KernelContext& context, Inputs, Outputs out) {
    Value& variable = context.state->variables[name];
    if (!variable.present()) variable.tensor = beginning.make(context.device, context.seed);
    out[0] = variable;
  };
}

/// The first input is the output.
Kernel make_same(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0] = in[0]; };
}

/// The variable's value as it is now.
Kernel make_read(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = tensor_at(in, 0).alias(); };
}

bool gives_reference(std::string_view type) {
  return type.starts_with("Variable") || type.starts_with("Assign") || type.starts_with("Apply") ||
         type.starts_with("SparseApply") || type == "RefIdentity" ||
         (type.starts_with("Scatter") && type != "ScatterNd");
}

/// For an input that is no reference, the value is the same tensor and costs nothing.
Kernel make_identity(const KernelRequest& request) {
  const Graph& graph = *request.program.graph;
  const ValueId input = request.instruction.inputs.at(0);
  // Values of bodies are none of the graph's.
  const OpId producer = input < graph.tensor_count() ? graph.maker(input) : kNoOp;
  const bool reference = producer != kNoOp && gives_reference(graph.op_type(producer));
  return reference ? make_read(request) : make_same(request);
}

void check_shape(const Tensor& variable, const Tensor& value) {
  if (variable.sizes() == value.sizes()) return;
  throw Error(ErrorCode::invalid_argument,
              "a variable keeps its shape while it is executed, and is given another");
}

/// (reference, value). References go out where the type has an output.
template <void (*change)(const Tensor& variable, const Tensor& value)>
Kernel make_change(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& variable = writable(in, 0);
    const Tensor& value = tensor_at(in, 1);
    check_shape(variable, value);
    change(variable, on_device(context, value));
    if (!out.empty()) out[0] = in[0];
  };
}

void assign(const Tensor& variable, const Tensor& value) {
  variable.copy_(value);
}
void add(const Tensor& variable, const Tensor& value) {
  variable.add_(value);
}
void subtract(const Tensor& variable, const Tensor& value) {
  variable.sub_(value);
}

/// Waits for its inputs and prints nothing.
Kernel make_nothing(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs, Outputs) {};
}

/// Variables get their first value when they are first read.
Kernel make_is_initialized(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::full({}, in[0].present(), at::kBool);
  };
}

/// (condition, what to print)
Kernel make_assert(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs) {
    if (!tensor_at(in, 0).item().to<bool>()) {
      throw Error(ErrorCode::invalid_argument,
                  "the condition that the model asserts does not hold; check what it is fed");
    }
  };
}

/// Outputs are inputs, one by one.
Kernel make_all_same(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    for (std::size_t i = 0; i < out.size() && i < in.size(); ++i) out[i] = in[i];
  };
}

constexpr KernelRow kRows[] = {
    {"Assert", make_assert},
    {"Assign", make_change<assign>},
    {"AssignAdd", make_change<add>},
    {"AssignAddVariableOp", make_change<add>},
    {"AssignSub", make_change<subtract>},
    {"AssignSubVariableOp", make_change<subtract>},
    {"AssignVariableOp", make_change<assign>},
    {"CheckNumerics", make_identity},
    {"CheckNumericsV2", make_identity},
    {"ControlTrigger", make_nothing},
    {"EnsureShape", make_identity},
    {"Identity", make_identity},
    {"IdentityN", make_all_same},
    {"IsVariableInitialized", make_is_initialized},
    {"NoOp", make_nothing},
    {"PlaceholderWithDefault", make_identity},
    {"PreventGradient", make_identity},
    {"Print", make_identity},
    {"ReadVariableOp", make_read},
    {"RefIdentity", make_same},
    {"Snapshot", make_identity},
    {"StopGradient", make_identity},
    {"VarHandleOp", make_variable},
    {"VarIsInitializedOp", make_is_initialized},
    {"Variable", make_variable},
    {"VariableV2", make_variable},
};

}  // namespace

std::span<const KernelRow> variable_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
