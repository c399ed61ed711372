// Names by which weights are told from data where a file has both as inputs.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::frontend {

/// What the name of an input says of it.
enum class InputName : std::uint8_t {
  data,
  numbered,  ///< made up by an exporter, for weights and data alike: "onnx::MatMul_12", "primals_3"
  likely,    ///< ends as weights do, without a module before it: "fc1_weight"
  weight,  ///< of a module's weight, or a buffer of its gradient: "layer0.weight", "dense/kernel:0"
};
[[nodiscard]] InputName input_name(std::string_view name);

}  // namespace berth::frontend
