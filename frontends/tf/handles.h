// Learns from ops about the variables and lists whose handles they take.
//
// A function's graph gets its variables from outside: their handles are placeholders or arguments
// without a type or a shape, and what the variables are follows from their uses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tf/attributes.h"
#include "tf/program.h"
#include "tf/value.h"

namespace berth::tf_frontend {

/// The op that stands for a variable of the second kind, whose output is its handle.
inline constexpr std::string_view kVariableOp = "VarHandleOp";

/// Whether an op of this type stands for a variable.
[[nodiscard]] bool is_variable(std::string_view op) noexcept;

/// The name under which an op that stands for a variable shares it with others of its kind; empty
/// where it has one of its own.
[[nodiscard]] std::string shared_name(const Node& node);

/// Whether what a handle refers to is made by ops of this type.
[[nodiscard]] bool makes_content(std::string_view op);

/// An op with its values; `inputs` hold no null.
struct Use {
  std::string_view type;
  const Attributes& attributes;
  std::span<const Value* const> inputs;
  std::span<Value> outputs;

  /// A value of which nothing is known if `i` is out of range.
  [[nodiscard]] const Value& in(std::size_t i) const noexcept;
};

/// Learns from an op once its outputs are inferred: that handles among its inputs are those of
/// variables, their type and shape; and how long the list is that it gives.
void learn_from_use(const Use& op);

/// The handle behind a placeholder or an argument: what its attributes say of a variable, or
/// nothing yet.
[[nodiscard]] std::shared_ptr<Handle> captured_handle(const Attributes& attributes);

/// Makes the node that stands for a captured variable a VarHandleOp of the type and shape found.
void make_variable(Program& program, Node& node);

}  // namespace berth::tf_frontend
