/// @file
/// Everything that executing a graph needs besides the graph: all attributes, bodies of control flow, and the
/// contents of tensors. A Graph holds what placing needs; a Program holds the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/dtype.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth {

/// The content of a tensor: dense, row-major, little-endian. Elements narrower than a byte are
/// packed, the first in the low bits. Copies share the content.
struct TensorContent {
  DType dtype = DType::unknown;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;   ///< empty for DType::string
  std::vector<std::string> texts;     ///< DType::string only
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive: a mapped file, a buffer
};

/// A value in a running program. Ids below Graph::tensor_count() are the graph's tensors. Each
/// larger id belongs to one body of control flow.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;  ///< an omitted optional input or an unwanted output

struct Body;

using AttributeContent =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, DType, std::vector<DType>, TensorContent,
                 std::shared_ptr<const Body>>;

/// One op, as it is executed.
struct Instruction {
  std::string name;          ///< for messages; inside a body, after the name of the body's op
  std::string type;          ///< as Graph::op_type: "Conv", "com.microsoft.Attention", "MatMul"
  std::int64_t version = 0;  ///< version of the type's op set; 0 = it has none
  std::vector<std::pair<std::string, AttributeContent>> attributes;
  std::vector<ValueId> inputs;   ///< in the op's own positions
  std::vector<ValueId> outputs;  ///< in the op's own positions
  /// Values of the enclosing scope that the op's bodies read, besides `inputs`; distinct.
  std::vector<ValueId> captured;
  /// Why the op cannot be executed although it can be placed. Empty = it can, if there is a kernel.
  std::string obstacle;

  /// The attribute's content; null if there is none or it has another type.
  template <class T>
  [[nodiscard]] const T* attribute(std::string_view key) const noexcept {
    for (const auto& [name_, content] : attributes) {
      if (name_ == key) return std::get_if<T>(&content);
    }
    return nullptr;
  }
};

/// The body of an If, a Loop or a Scan.
struct Body {
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::pair<ValueId, TensorContent>> constants;
  std::vector<Instruction> instructions;  ///< producers first
};

/// A graph that can be executed. [thread-safe: immutable once built]
struct Program {
  std::shared_ptr<const Graph> graph;
  /// Indexed by op. Inputs and outputs are ids of the graph's tensors. Graph::inputs(op) is `inputs`
  /// followed by `captured`; Graph::outputs(op) is `outputs` without kNoValue.
  std::vector<Instruction> instructions;
  /// The content of a parameter, by tensor, if the file holds it. Empty for all others.
  std::vector<std::optional<TensorContent>> parameters;
  std::vector<OpId> inputs;               ///< ops without inputs, whose outputs the caller feeds
  std::vector<TensorId> outputs;          ///< what the model returns, in the model's order
  std::vector<std::string> input_names;   ///< their names in the file, by position in `inputs`
  std::vector<std::string> output_names;  ///< their names in the file, by position in `outputs`
};

}  // namespace berth
