// Ops that run bodies: If, Loop, Scan.
#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/interpreter.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/tensors.h"

namespace berth::runtime::onnx {
namespace {

using SequencePtr = std::shared_ptr<const Sequence>;

bool is_true(const Tensor& tensor) {
  return tensor.item().toBool();
}

Kernel make_if(const KernelRequest& request) {
  const SequencePtr yes = sequence_of(request, "then_branch");
  const SequencePtr no = sequence_of(request, "else_branch");
  return [yes, no](KernelContext& context, Inputs in, Outputs out) {
    const bool condition = is_true(tensor_at(in, 0));
    move_results((condition ? yes : no)->run(context, {}, in), out);
  };
}

// Collects what each iteration gives.
class Collected {
 public:
  Collected(std::size_t count, Ints axes, std::vector<bool> reversed)
      : parts_(count), axes_(std::move(axes)), reversed_(std::move(reversed)) {}

  void add(std::span<const Value> results) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].push_back(tensor_at(results, i));
  }

  // `empty`: what stands for a result of no iterations.
  Tensor take(std::size_t i, const Tensor& empty) {
    auto& parts = parts_[i];
    if (parts.empty()) return empty;
    if (reversed_[i]) std::reverse(parts.begin(), parts.end());
    return at::stack(parts, axes_[i]);
  }

 private:
  std::vector<std::vector<Tensor>> parts_;
  Ints axes_;
  std::vector<bool> reversed_;
};

// A scan output of a loop that never runs has length 0: its other dimensions are those inferred.
Tensor empty_like_output(const KernelRequest& request, std::size_t output) {
  const Graph& graph = *request.program.graph;
  const auto& outputs = request.instruction.outputs;
  const ValueId id = output < outputs.size() ? outputs[output] : kNoValue;
  if (id == kNoValue || id >= graph.tensor_count() || !graph.has_shape(id)) {
    return at::empty({0});
  }
  Ints shape(graph.shape(id).begin(), graph.shape(id).end());
  for (std::int64_t& dim : shape) dim = dim == kUnknownDim ? 0 : dim;
  if (!shape.empty()) shape[0] = 0;
  return at::empty(shape, scalar_type(graph.dtype(id)));
}

struct Loop {
  SequencePtr body;
  std::size_t states = 0;     // carried from one iteration to the next
  std::vector<Tensor> empty;  // scan outputs of no iterations

  void operator()(KernelContext& context, Inputs in, Outputs out) const {
    const std::int64_t trips =
        has(in, 0) ? ints_of(tensor_at(in, 0)).at(0) : std::numeric_limits<std::int64_t>::max();
    bool go_on = !has(in, 1) || is_true(tensor_at(in, 1));
    std::vector<Value> given(states + 2);
    for (std::size_t i = 0; i < states; ++i) given[i + 2] = in[i + 2];
    const auto bools = at::TensorOptions(at::kBool).device(context.device);
    const auto longs = at::TensorOptions(at::kLong).device(context.device);
    given[1].tensor = at::scalar_tensor(true, bools);
    Collected collected(empty.size(), Ints(empty.size(), 0), std::vector<bool>(empty.size()));
    const std::uint64_t seed = context.seed;
    for (std::int64_t i = 0; i < trips && go_on; ++i) {
      given[0].tensor = at::scalar_tensor(i, longs);
      context.seed = seed + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL;
      std::vector<Value> results = body->run(context, given, in);
      given[1] = results.at(0);
      go_on = is_true(tensor_at(given, 1));
      for (std::size_t s = 0; s < states; ++s) given[s + 2] = std::move(results[s + 1]);
      collected.add(std::span(results).subspan(states + 1));
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i < states) {
        out[i] = given[i + 2];
      } else if (i - states < empty.size()) {
        out[i].tensor = collected.take(i - states, empty[i - states].to(context.device));
      }
    }
  }
};

const Body& body_of(const KernelRequest& request) {
  return **request.instruction.attribute<std::shared_ptr<const Body>>("body");
}

Kernel make_loop(const KernelRequest& request) {
  Loop loop;
  loop.body = sequence_of(request, "body");
  const Body& body = body_of(request);
  const std::size_t inputs = request.instruction.inputs.size();
  loop.states = inputs > 2 ? inputs - 2 : 0;
  if (body.inputs.size() != loop.states + 2 || body.outputs.size() < loop.states + 1) {
    throw Error(ErrorCode::unsupported, "its body's inputs or outputs do not fit its inputs");
  }
  for (std::size_t i = loop.states + 1; i < body.outputs.size(); ++i) {
    loop.empty.push_back(empty_like_output(request, i - 1));
  }
  return loop;
}

struct Scan {
  SequencePtr body;
  std::size_t states = 0;
  Ints input_axes;
  std::vector<bool> input_reversed;
  Ints output_axes;
  std::vector<bool> output_reversed;
  std::vector<Tensor> empty;

  // `in`: states, then what is cut along its axis; `captured`: what the kernel was given.
  std::vector<Value> run(KernelContext& context, std::vector<Value> in, Inputs captured) const {
    const auto cut = [&](std::size_t i) -> const Tensor& { return tensor_at(in, states + i); };
    const std::int64_t length = cut(0).size(normal_axis(input_axes[0], cut(0).dim()));
    Collected collected(output_axes.size(), output_axes, output_reversed);
    const std::uint64_t seed = context.seed;
    for (std::int64_t t = 0; t < length; ++t) {
      std::vector<Value> given(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(states));
      for (std::size_t i = 0; i < input_axes.size(); ++i) {
        const std::int64_t at = input_reversed[i] ? length - 1 - t : t;
        given.push_back({at::select(cut(i), input_axes[i], at), nullptr});
      }
      context.seed = seed + static_cast<std::uint64_t>(t) * 0x9E3779B97F4A7C15ULL;
      std::vector<Value> results = body->run(context, given, captured);
      collected.add(std::span(results).subspan(states));
      for (std::size_t s = 0; s < states; ++s) in[s] = std::move(results[s]);
    }
    in.resize(states);
    for (std::size_t i = 0; i < output_axes.size(); ++i) {
      in.push_back({collected.take(i, empty[i].to(context.device)), nullptr});
    }
    return in;
  }
};

// Scan 8 has the sequences' lengths first and a batch in front of every other dimension.
void run_batched(const Scan& scan, KernelContext& context, Inputs in, std::size_t count,
                 Outputs out) {
  const Tensor lengths = optional_at(in, 0);
  const Ints steps = lengths.defined() ? ints_of(lengths) : Ints{};
  const std::int64_t batch = tensor_at(in, count - 1).size(0);
  std::vector<std::vector<Tensor>> results(out.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Value> one;
    for (std::size_t i = 1; i < count; ++i) {
      Tensor part = at::select(tensor_at(in, i), 0, b);
      if (i > scan.states && !steps.empty()) {
        part = at::narrow(part, 0, 0, steps.at(static_cast<std::size_t>(b)));
      }
      one.push_back({part, nullptr});
    }
    std::vector<Value> made = scan.run(context, std::move(one), in);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Tensor part = made.at(i).tensor;
      if (i >= scan.states && !steps.empty()) {  // shorter sequences end in zeros
        const std::int64_t full = tensor_at(in, count - 1).size(1);
        Ints pads(static_cast<std::size_t>(2 * part.dim()), 0);
        pads.back() = full - part.size(0);
        part = runtime::padded(part, pads);
      }
      results[i].push_back(part);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor = at::stack(results[i]);
}

std::vector<bool> directions(const Instruction& op, std::string_view name, std::size_t count) {
  Ints given = ints_attribute(op, name).value_or(Ints{});
  given.resize(count, 0);
  return {given.begin(), given.end()};
}

Kernel make_scan(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool is_old = op.version < 9;
  Scan scan;
  scan.body = sequence_of(request, "body");
  const Body& body = body_of(request);
  const auto cuts = static_cast<std::size_t>(int_attribute(op, "num_scan_inputs", 1));
  if (cuts < 1 || cuts > body.inputs.size() || body.inputs.size() - cuts > body.outputs.size() ||
      op.inputs.size() != body.inputs.size() + (is_old ? 1 : 0)) {
    throw Error(ErrorCode::unsupported, "its body's inputs or outputs do not fit its inputs");
  }
  scan.states = body.inputs.size() - cuts;
  const std::size_t collected = body.outputs.size() - scan.states;
  scan.input_axes = ints_attribute(op, "scan_input_axes").value_or(Ints{});
  scan.input_axes.resize(cuts, 0);
  scan.output_axes = ints_attribute(op, "scan_output_axes").value_or(Ints{});
  scan.output_axes.resize(collected, 0);
  scan.input_reversed = directions(op, is_old ? "directions" : "scan_input_directions", cuts);
  scan.output_reversed = directions(op, "scan_output_directions", collected);
  for (std::size_t i = 0; i < collected; ++i) {
    scan.empty.push_back(empty_like_output(request, scan.states + i));
  }
  const std::size_t count = op.inputs.size();
  if (is_old) {
    return [scan, count](KernelContext& context, Inputs in, Outputs out) {
      run_batched(scan, context, in, count, out);
    };
  }
  return [scan, count](KernelContext& context, Inputs in, Outputs out) {
    move_results(
        scan.run(context, {in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count)}, in), out);
  };
}

// Runs its body once for each element of its first sequence, and for those of the others.
Kernel make_sequence_map(const KernelRequest& request) {
  const SequencePtr body = sequence_of(request, "body");
  const std::size_t count = request.instruction.inputs.size();
  return [body, count](KernelContext& context, Inputs in, Outputs out) {
    std::vector<std::shared_ptr<Structure>> results(out.size());
    for (auto& result : results) result = std::make_shared<Structure>();
    if (!has(in, 0) || in[0].structure == nullptr) {
      throw Error(ErrorCode::invalid_argument, "input 0 is no sequence");
    }
    const std::size_t length = in[0].structure->sequence.size();
    for (std::size_t i = 0; i < length; ++i) {
      std::vector<Value> given;
      for (std::size_t k = 0; k < count; ++k) {
        const auto& structure = in[k].structure;
        given.push_back(structure == nullptr ? in[k] : structure->sequence.at(i));
      }
      std::vector<Value> made = body->run(context, given, in);
      for (std::size_t k = 0; k < results.size(); ++k) {
        results[k]->sequence.push_back(std::move(made.at(k)));
      }
    }
    for (std::size_t k = 0; k < results.size(); ++k) out[k].structure = std::move(results[k]);
  };
}

constexpr KernelRow kRows[] = {
    {"If", make_if},
    {"Loop", make_loop},
    {"Scan", make_scan},
    {"SequenceMap", make_sequence_map},
};

}  // namespace

std::span<const KernelRow> control_flow_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
