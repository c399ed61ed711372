// Ops that run bodies: If, Case and While, and the ends of functions.
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/interpreter.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

using SequencePtr = std::shared_ptr<const Sequence>;

/// A number counts if it is not 0, any other tensor and a text if it holds something.
bool is_true(const Value& value) {
  if (value.structure != nullptr) {
    const auto& texts = value.structure->texts;
    return value.structure->dims.empty() ? !texts.empty() && !texts[0].empty() : !texts.empty();
  }
  if (value.tensor.dim() > 0) return value.tensor.numel() > 0;
  return value.tensor.item().toDouble() != 0;
}

Kernel make_if(const KernelRequest& request) {
  const SequencePtr yes = sequence_of(request, "then_branch");
  const SequencePtr no = sequence_of(request, "else_branch");
  return [yes, no](KernelContext& context, Inputs in, Outputs out) {
    if (!has(in, 0)) throw Error(ErrorCode::invalid_argument, "its condition is absent");
    const bool condition = is_true(in[0]);
    move_results((condition ? yes : no)->run(context, in.subspan(1), in), out);
  };
}

/// The branch of that index, the last one for any other.
Kernel make_case(const KernelRequest& request) {
  std::vector<SequencePtr> branches;
  for (std::string name = "branch0";
       request.instruction.attribute<std::shared_ptr<const Body>>(name) != nullptr;
       name = cat("branch", branches.size())) {
    branches.push_back(sequence_of(request, name));
  }
  if (branches.empty()) throw Error(ErrorCode::unsupported, "it has no branches");
  return [branches](KernelContext& context, Inputs in, Outputs out) {
    const auto count = static_cast<std::int64_t>(branches.size());
    const std::int64_t index = ints_of(tensor_at(in, 0)).at(0);
    const std::int64_t taken = index < 0 || index >= count ? count - 1 : index;
    move_results(branches[static_cast<std::size_t>(taken)]->run(context, in.subspan(1), in), out);
  };
}

struct While {
  SequencePtr condition, body;
  Ints initial;  ///< by variable, the input that it begins with
  Ints given;    ///< by output, the variable that it is

  void operator()(KernelContext& context, Inputs in, Outputs out) const {
    std::vector<Value> variables;
    for (const std::int64_t from : initial) variables.push_back(in[static_cast<std::size_t>(from)]);
    const std::uint64_t seed = context.seed;
    for (std::uint64_t round = 1; is_true(condition->run(context, variables, in).at(0)); ++round) {
      context.seed = seed + round * 0x9E3779B97F4A7C15ULL;
      variables = body->run(context, variables, in);
    }
    context.seed = seed;
    for (std::size_t i = 0; i < out.size() && i < given.size(); ++i) {
      out[i] = variables.at(static_cast<std::size_t>(given[i]));
    }
  }
};

Kernel make_while(const KernelRequest& request) {
  While made;
  made.condition = sequence_of(request, "cond");
  made.body = sequence_of(request, "body");
  made.initial = ints_attribute(request.instruction, "initial").value_or(Ints{});
  made.given = ints_attribute(request.instruction, "given").value_or(Ints{});
  return made;
}

/// The side that is not taken gives nothing.
Kernel make_switch(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    if (!has(in, 1)) throw Error(ErrorCode::invalid_argument, "its condition is absent");
    const std::size_t taken = is_true(in[1]) ? 1 : 0;
    if (taken < out.size()) out[taken] = in[0];
  };
}

/// The input that is there, and its index. A large constant is there whether or not its branch is taken.
Kernel make_merge(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const auto present = [](const Value& value) { return value.present(); };
    if (std::ranges::count_if(in, present) != 1) {
      throw Error(ErrorCode::unsupported,
                  "several of its inputs are there: a branch gives a constant as it is; place it "
                  "without executing it, or export the graph for one case");
    }
    const auto index = std::ranges::find_if(in, present) - in.begin();
    out[0] = in[static_cast<std::size_t>(index)];
    if (out.size() > 1) {
      out[1].tensor = at::full({}, index, at::TensorOptions(at::kInt).device(at::kCPU));
    }
  };
}

/// The result of a function that stands alone is what it is given.
Kernel make_result(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    if (!out.empty()) out[0] = in[0];
  };
}

constexpr KernelRow kRows[] = {
    {"Case", make_case},
    {"If", make_if},
    {"Merge", make_merge},
    {"RefSwitch", make_switch},
    {"StatelessCase", make_case},
    {"StatelessIf", make_if},
    {"StatelessWhile", make_while},
    {"Switch", make_switch},
    {"While", make_while},
    {"_Retval", make_result},
};

}  // namespace

std::span<const KernelRow> control_flow_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
