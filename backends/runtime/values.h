// Values beside what kernels compute: drawn ones, copies, and what is said of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "berth/graph.h"
#include "berth/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// A number that depends on both and looks random: the seed of one op, one parameter.
[[nodiscard]] std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t which) noexcept;

/// A host value of the tensor's type and shape for a model's input: real numbers uniform in [0, 1),
/// integers and truth values 0 or 1 (which every vocabulary and mask has), empty text. Throws
/// Error(unsupported) where the shape is not known.
[[nodiscard]] Value draw_input(const Graph& graph, TensorId tensor, std::uint64_t seed);

/// The same for a parameter that the file does not carry. Vectors are uniform in [0.5, 1.5): they
/// may be variances. Matrices and kernels are uniform with the deviation 1 / sqrt(elements that go
/// into one output), so that activations neither vanish nor overflow in deep models.
[[nodiscard]] Value draw_parameter(const Graph& graph, TensorId tensor, std::uint64_t seed);

/// Of all its tensors.
[[nodiscard]] std::int64_t value_bytes(const Value& value);

/// With memory of its own, every tensor of it; allocated as the calling thread allocates.
[[nodiscard]] Value deep_copy(const Value& value);

/// A host value for a caller; it shares the tensor's memory. Anything but a tensor has
/// DType::opaque and no bytes.
[[nodiscard]] TensorContent to_content(const Value& value);

/// "f32[1x3x224x224], i64[], absent", for messages.
[[nodiscard]] std::string describe(std::span<const Value> values);

}  // namespace berth::runtime
