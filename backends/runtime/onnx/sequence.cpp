// Sequences and optionals.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

const std::vector<Value>& sequence_at(Inputs inputs, std::size_t i) {
  if (!has(inputs, i) || inputs[i].structure == nullptr ||
      inputs[i].structure->kind != Structure::Kind::sequence) {
    throw Error(ErrorCode::invalid_argument, "input " + std::to_string(i) + " is no sequence");
  }
  return inputs[i].structure->sequence;
}

Value sequence_of(std::vector<Value> elements) {
  auto made = std::make_shared<Structure>();
  made->sequence = std::move(elements);
  Value value;
  value.structure = std::move(made);
  return value;
}

// Counted from the end where negative; may be `limit` itself for an insertion.
std::size_t position(Inputs inputs, std::size_t i, std::size_t count, std::size_t limit) {
  const std::int64_t stated = ints_of(tensor_at(inputs, i)).at(0);
  const std::int64_t at = stated < 0 ? stated + static_cast<std::int64_t>(count) : stated;
  if (at < 0 || at >= static_cast<std::int64_t>(limit)) {
    throw Error(ErrorCode::invalid_argument, "position " + std::to_string(stated) +
                                                 " is outside a sequence of " +
                                                 std::to_string(count));
  }
  return static_cast<std::size_t>(at);
}

Kernel make_construct(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0] = sequence_of({in.begin(), in.end()});
  };
}

Kernel make_empty(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs, Outputs out) { out[0] = sequence_of({}); };
}

Kernel make_at(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const auto& elements = sequence_at(in, 0);
    out[0] = elements[position(in, 1, elements.size(), elements.size())];
  };
}

Kernel make_length(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const auto length = static_cast<std::int64_t>(sequence_at(in, 0).size());
    out[0].tensor = at::scalar_tensor(length, at::kLong).to(context.device);
  };
}

Kernel make_insert(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    std::vector<Value> elements = sequence_at(in, 0);
    const std::size_t count = elements.size();
    const std::size_t at = has(in, 2) ? position(in, 2, count, count + 1) : count;
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), in[1]);
    out[0] = sequence_of(std::move(elements));
  };
}

Kernel make_erase(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    std::vector<Value> elements = sequence_at(in, 0);
    if (elements.empty()) throw Error(ErrorCode::invalid_argument, "the sequence is empty");
    const std::size_t count = elements.size();
    const std::size_t at = has(in, 1) ? position(in, 1, count, count) : count - 1;
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
    out[0] = sequence_of(std::move(elements));
  };
}

Kernel make_concat(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const bool is_new = int_attribute(request.instruction, "new_axis", 0) != 0;
  return [axis, is_new](KernelContext&, Inputs in, Outputs out) {
    std::vector<Tensor> parts;
    for (const Value& element : sequence_at(in, 0)) parts.push_back(element.tensor);
    out[0].tensor = is_new ? at::stack(parts, axis) : at::cat(parts, axis);
  };
}

// Without lengths: single slices, which may lose the axis; one number: parts of at most that.
Kernel make_split(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const bool keep = int_attribute(request.instruction, "keepdims", 1) != 0;
  return [axis, keep](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor lengths = optional_at(in, 1);
    std::vector<Tensor> parts;
    if (!lengths.defined()) {
      parts = keep ? at::split(x, 1, axis) : at::unbind(x, axis);
    } else if (lengths.dim() == 0) {
      parts = at::split(x, ints_of(lengths).at(0), axis);
    } else {
      parts = at::split_with_sizes(x, ints_of(lengths), axis);
    }
    std::vector<Value> elements;
    for (const Tensor& part : parts) elements.push_back({part, nullptr});
    out[0] = sequence_of(std::move(elements));
  };
}

// --- optionals -----------------------------------------------------------------------------------

bool is_nothing(const Value& value) {
  return !value.present() ||
         (value.structure != nullptr && value.structure->kind == Structure::Kind::nothing);
}

Kernel make_optional(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    if (has(in, 0)) {
      out[0] = in[0];
      return;
    }
    auto nothing = std::make_shared<Structure>();
    nothing->kind = Structure::Kind::nothing;
    out[0].structure = std::move(nothing);
  };
}

Kernel make_has_element(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const bool has_element = !in.empty() && !is_nothing(in[0]);
    out[0].tensor = at::scalar_tensor(has_element, at::kBool).to(context.device);
  };
}

Kernel make_get_element(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    if (in.empty() || is_nothing(in[0])) {
      throw Error(ErrorCode::invalid_argument, "the optional is empty; ask OptionalHasElement");
    }
    out[0] = in[0];
  };
}

constexpr KernelRow kRows[] = {
    {"ConcatFromSequence", make_concat},
    {"Optional", make_optional},
    {"OptionalGetElement", make_get_element},
    {"OptionalHasElement", make_has_element},
    {"SequenceAt", make_at},
    {"SequenceConstruct", make_construct},
    {"SequenceEmpty", make_empty},
    {"SequenceErase", make_erase},
    {"SequenceInsert", make_insert},
    {"SequenceLength", make_length},
    {"SplitToSequence", make_split},
};

}  // namespace

std::span<const KernelRow> sequence_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
