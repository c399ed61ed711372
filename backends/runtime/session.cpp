#include "runtime/session.h"

#include <algorithm>
#include <unordered_map>

#include "berth/costs.h"
#include "berth/error.h"
#include "berth/sdk/ops/overwriting.h"
#include "berth/simulator.h"
#include "berth/support/index.h"
#include "runtime/computing.h"
#include "runtime/layouts.h"
#include "runtime/stored.h"
#include "runtime/tensors.h"
#include "runtime/trace.h"
#include "runtime/values.h"

namespace berth::runtime {
namespace {

TensorId fed_tensor(const Program& program, std::size_t input) {
  return program.instructions[at(program.inputs[input])].outputs.at(0);
}

bool has_hosts_alone(const Cluster& cluster) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (!cluster.device(d).host) return false;
  }
  return true;
}

}  // namespace

DeviceSession::DeviceSession(std::shared_ptr<const Program> program, std::vector<Kernel> kernels,
                             std::shared_ptr<const Cluster> cluster, DeviceRuntime& runtime,
                             Executor& executor, const SessionOptions& options)
    : program_(std::move(program)),
      kernels_(std::move(kernels)),
      fused_(*program_),
      branches_(*program_),
      cluster_(std::move(cluster)),
      runtime_(runtime),
      executor_(executor),
      seed_(options.seed),
      priorities_us_(options.priorities_us),
      overwritten_(ops::overwritten_inputs(*program_->graph, has_hosts_alone(*cluster_))),
      weights_of_images_(weights_of_images(*program_)),
      states_(at(cluster_->device_count())),
      given_(program_->inputs.size()),
      drawn_(program_->inputs.size()),
      fed_(program_->inputs.size()) {
  const auto graph = program_->graph;
  computed_.resize(at(graph->op_count()));
  if (priorities_us_.empty()) {
    priorities_us_ =
        berth::priorities_us(Problem(graph, cluster_, Costs::roofline(*graph, *cluster_)));
  } else if (priorities_us_.size() != at(graph->op_count())) {
    throw Error(ErrorCode::invalid_argument,
                std::to_string(priorities_us_.size()) + " priorities for the " +
                    std::to_string(graph->op_count()) + " ops of graph '" + graph->name() +
                    "'; give one for each, or none");
  }
  for (std::size_t k = 0; k < program_->inputs.size(); ++k) {
    kernels_[at(program_->inputs[k])] = [this, k](KernelContext&, std::span<const Value>,
                                                  std::span<Value> outputs) {
      outputs[0] = fed_[k];
    };
  }
  read_as_stored(*program_, kernels_);
  branches_.guard(kernels_);
  placed_kernels_ = kernels_;
  take_inputs(options.inputs);
}

DeviceSession::~DeviceSession() = default;

void DeviceSession::take_inputs(const std::map<std::string, TensorContent, std::less<>>& inputs) {
  const Graph& graph = *program_->graph;
  for (const auto& [name, content] : inputs) {
    const auto& names = program_->input_names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      std::string known;
      for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
      throw Error(ErrorCode::invalid_argument, "the model has no input '" + name + "'; it has: " +
                                                   (known.empty() ? "none" : known));
    }
    const auto k = static_cast<std::size_t>(found - names.begin());
    const TensorId tensor = fed_tensor(*program_, k);
    const auto shape = graph.shape(tensor);
    bool fits = graph.dtype(tensor) == DType::unknown || graph.dtype(tensor) == content.dtype;
    if (graph.has_shape(tensor)) {
      fits = fits && shape.size() == content.shape.size();
      for (std::size_t i = 0; fits && i < shape.size(); ++i) {
        fits = shape[i] == kUnknownDim || shape[i] == content.shape[i];
      }
    }
    if (!fits) {
      throw Error(ErrorCode::invalid_argument,
                  "input '" + name +
                      "' is not of the type and shape that the model was loaded "
                      "with; convert it, or load the model for its shape");
    }
    given_[k] = {make_tensor(content), nullptr};
  }
}

StepResult DeviceSession::run(const Placement& placement, const StepOptions& options) {
  const StepInputs inputs{*program_,
                          placed_kernels_,
                          [this](TensorId tensor, DeviceId device) {
                            return &parameters_.at({tensor, device});
                          },
                          states_,
                          options.seed,
                          options.outputs,
                          options.should_stop};
  if (step_ == nullptr || step_->plan().device_of != placement) {
    check(placement);
    place(placement, inputs);
  }
  feed(placement, options.seed);
  try {
    executor_.run(*step_, inputs);
  } catch (...) {
    std::fill(fed_.begin(), fed_.end(), Value{});
    throw;
  }
  std::fill(fed_.begin(), fed_.end(), Value{});
  StepResult result;
  summarize(*step_, result);
  if (options.trace) add_trace(*step_, *cluster_, result);
  if (options.outputs) result.outputs = outputs(placement);
  return result;
}

void DeviceSession::reset() {
  for (DeviceState& state : states_) state.variables.clear();
}

void DeviceSession::check(const Placement& placement) const {
  const Graph& graph = *program_->graph;
  if (placement.size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                "a placement of " + std::to_string(placement.size()) + " ops for the " +
                    std::to_string(graph.op_count()) + " of graph '" + graph.name() +
                    "'; place the graph that is executed");
  }
  std::unordered_map<std::string_view, OpId> first_of;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    const DeviceId device = placement[at(op)];
    if (device < 0 || device >= cluster_->device_count()) {
      throw Error(ErrorCode::invalid_argument,
                  "op '" + graph.op_name(op) + "' is on device #" + std::to_string(device) +
                      ", which the backend does not have; it has " + cluster_->device_names());
    }
    if (graph.colocation(op).empty()) continue;
    const OpId first = first_of.try_emplace(graph.colocation(op), op).first->second;
    if (placement[at(first)] != device) {
      throw Error(ErrorCode::invalid_argument,
                  "ops '" + graph.op_name(first) + "' and '" + graph.op_name(op) +
                      "' are on different devices but must be together (co-location '" +
                      graph.colocation(op) + "'); place them on one");
    }
  }
}

void DeviceSession::place(const Placement& placement, const StepInputs& inputs) {
  step_.reset();
  // Variables belong to where their ops were.
  reset();
  auto plan = std::make_shared<const Plan>(
      make_plan(*program_, placement, cluster_->device_count(), priorities_us_, overwritten_));
  load_parameters(*plan);
  step_ = std::make_unique<Step>(std::move(plan), inputs);
}

void DeviceSession::load_parameters(const Plan& plan) {
  std::map<std::pair<TensorId, DeviceId>, Value> needed;
  for (const Plan::Resident& one : plan.parameters) {
    const auto key = std::pair(one.parameter, one.device);
    needed[key] = std::move(parameters_[key]);
  }
  parameters_ = std::move(needed);  // what is no longer needed makes room first
  std::ranges::copy(kernels_, placed_kernels_.begin());
  fused_.place(
      plan.device_of, runtime_,
      [this](TensorId tensor) -> const Value& { return host_parameter(tensor); }, placed_kernels_);
  for (auto& [key, value] : parameters_) {
    if (value.present() || fused_.holds(key.first)) continue;
    try {
      const Value& host = host_parameter(key.first);
      value = stays_on_host(key.first, host)
                  ? host
                  : runtime_.upload(key.second, arranged(key.first, key.second, host));
    } catch (const Error& error) {
      throw Error(error.code(), "parameter '" + program_->graph->tensor_name(key.first) +
                                    "' cannot be loaded: " + error.what());
    }
  }
}

/// In the layout in which the device's kernels read it.
Value DeviceSession::arranged(TensorId tensor, DeviceId device, const Value& host) const {
  const bool turned = weights_of_images_[at(tensor)] && runtime_.torch_device(device).is_cpu() &&
                      host.tensor.defined() && prefers_channels_innermost(host.tensor);
  return turned ? Value{host.tensor.contiguous(at::MemoryFormat::ChannelsLast), nullptr} : host;
}

/// TensorFlow's kernels have integer constants and shapes in host memory, whatever their device.
bool DeviceSession::stays_on_host(TensorId tensor, const Value& value) const {
  return program_->graph->dialect() == "tf" && program_->graph->maker(tensor) != kNoOp &&
         value.tensor.defined() && at::isIntegralType(value.tensor.scalar_type(), false);
}

const Value& DeviceSession::host_parameter(TensorId tensor) {
  Value& value = host_parameters_[tensor];
  if (value.present()) return value;
  if (const OpId maker = program_->graph->maker(tensor); maker != kNoOp) {
    if (!computed_[at(maker)]) compute(maker);
    return value;
  }
  const auto& content = program_->parameters[at(tensor)];
  if (!content) {
    value = draw_parameter(*program_->graph, tensor,
                           mixed_seed(seed_, static_cast<std::uint64_t>(tensor)));
  } else {
    value = value_of(*content);
  }
  return value;
}

/// On the host, after the constants that it depends on. What they make stays there for the next
/// placement.
void DeviceSession::compute(OpId constant) {
  const Graph& graph = *program_->graph;
  const Computing computing;
  for (std::vector<OpId> open = {constant}; !open.empty();) {
    const OpId op = open.back();
    const std::size_t before = open.size();
    for (const TensorId tensor : graph.inputs(op)) {
      const OpId maker = tensor == kNoTensor ? kNoOp : graph.maker(tensor);
      if (maker != kNoOp && graph.is_constant(maker) && !computed_[at(maker)])
        open.push_back(maker);
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (computed_[at(op)]) continue;
    computed_[at(op)] = true;
    std::vector<Value> inputs;
    for (const TensorId tensor : graph.inputs(op)) {
      if (tensor == kNoTensor) {
        inputs.emplace_back();
      } else if (graph.producer(tensor) != kNoOp) {
        inputs.push_back(sized_value(graph, tensor));
      } else {
        inputs.push_back(host_parameter(tensor));
      }
    }
    const Instruction& instruction = program_->instructions[at(op)];
    std::vector<Value> outputs(instruction.outputs.size());
    KernelContext context;
    context.seed = mixed_seed(seed_, static_cast<std::uint64_t>(op));
    context.state = &constant_state_;
    try {
      kernels_[at(op)](context, inputs, outputs);
    } catch (const std::exception& error) {
      throw Error(ErrorCode::execution, "op '" + graph.op_name(op) + "' (" + graph.op_type(op) +
                                            "), which is computed once, failed with inputs " +
                                            describe(inputs) + ": " + said_by(error));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (instruction.outputs[i] == kNoValue) continue;
      host_parameters_[instruction.outputs[i]] = std::move(outputs[i]);
    }
  }
}

void DeviceSession::feed(const Placement& placement, std::uint64_t seed) {
  for (std::size_t k = 0; k < fed_.size(); ++k) {
    const Value* host = &given_[k];
    if (!host->present()) {
      if (!drawn_[k].present() || drawn_seed_ != seed) {
        drawn_[k] = draw_input(*program_->graph, fed_tensor(*program_, k), mixed_seed(seed, k));
      }
      host = &drawn_[k];
    }
    fed_[k] = runtime_.upload(placement[at(program_->inputs[k])], *host);
  }
  drawn_seed_ = seed;
}

std::vector<TensorContent> DeviceSession::outputs(const Placement& placement) {
  std::vector<TensorContent> contents;
  for (const TensorId tensor : program_->outputs) {
    const OpId producer = program_->graph->producer(tensor);
    const Value value = producer == kNoOp
                            ? host_parameter(tensor)
                            : runtime_.download(placement[at(producer)], step_->value(tensor));
    contents.push_back(to_content(value, program_->graph->dtype(tensor)));
  }
  return contents;
}

}  // namespace berth::runtime
