// Values besides those that kernels compute: those of a file, drawn ones, copies, and descriptions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/graph.h"
#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// A number that depends on both arguments and looks random: the seed of one op or parameter.
[[nodiscard]] std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t which) noexcept;

/// A host value of the tensor's type and shape, for a model's input. Real numbers are uniform in
/// [0, 1), integers and truth values are 0 or 1 (valid in every vocabulary and mask), text is
/// empty. A single number that the frontend knows (ops::kKnownNumber) is that: loops run as often as is planned. Throws Error(unsupported) for an unknown shape.
[[nodiscard]] Value draw_input(const Graph& graph, TensorId tensor, std::uint64_t seed);

/// The same for a parameter that the file does not hold. Vectors are uniform in [0.5, 1.5), because
/// they may be variances. Matrices and kernels are uniform with the deviation 1 / sqrt(elements per
/// output), so that activations neither vanish nor overflow in deep models.
[[nodiscard]] Value draw_parameter(const Graph& graph, TensorId tensor, std::uint64_t seed);

/// A value of the tensor's shape in which every element is the same 0: for ops that read sizes alone. Throws
/// Error(unsupported) for an unknown shape.
[[nodiscard]] Value sized_value(const Graph& graph, TensorId tensor);

/// Text of a shape, row-major.
[[nodiscard]] Value text_value(std::vector<std::string> texts, std::vector<std::int64_t> dims = {});

/// Text, or a tensor on the host, made and refused as `make_tensor` does.
[[nodiscard]] Value value_of(const TensorContent& content);

/// Bytes of all its tensors.
[[nodiscard]] std::int64_t value_bytes(const Value& value);

/// The value with each of its tensors replaced by what `function` gives for it.
template <typename Function>
[[nodiscard]] Value transformed(const Value& value, const Function& function) {
  Value result;
  if (value.tensor.defined()) result.tensor = function(value.tensor);
  if (value.structure != nullptr) {
    auto structure = std::make_shared<Structure>(*value.structure);
    for (Value& part : structure->sequence) part = transformed(part, function);
    result.structure = std::move(structure);
  }
  return result;
}

/// A copy with its own memory for every tensor, allocated as the calling thread allocates.
[[nodiscard]] Value deep_copy(const Value& value);

/// A host value for a caller; it shares the tensor's memory. Any other value than a tensor has
/// DType::opaque and no bytes. Unsigned integers, which ATen holds in wider ones, have their own type where
/// the graph says that they are `stated`, and then memory of their own.
[[nodiscard]] TensorContent to_content(const Value& value, DType stated);

/// "f32[1x3x224x224], i64[], absent", for messages.
[[nodiscard]] std::string describe(std::span<const Value> values);

}  // namespace berth::runtime
