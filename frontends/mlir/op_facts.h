// The facts of one op of the IR, in the types of Berth's C ABI.
#pragma once

#include <berth/c.h>

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/Operation.h"

namespace berth_mlir {

inline berth_text view(llvm::StringRef text) {
  return {text.data(), text.size()};
}
inline llvm::StringRef message() {
  const berth_text text = berth_message();
  return {text.data, text.size};
}

/// A tensor's type and shape; of a scalar its type. Those of dialects that are not loaded are read from their text
/// (!torch.vtensor<[8,?],f32>, !quant.uniform<i8:f32, ..>). Nothing is known of other types.
struct TensorFacts {
  explicit TensorFacts(mlir::Type type);
  [[nodiscard]] berth_tensor tensor() const;

  llvm::StringRef dtype;      ///< empty where Berth has no name for it
  unsigned element_bits = 0;  ///< of a type without a name; 0 = not known
  bool ranked = false;
  llvm::SmallVector<std::int64_t, 4> shape;
  [[nodiscard]] double elements() const;  ///< dimensions that are not known count as 1
};

/// An attribute, wherever the op keeps it: ops of dialects that are not loaded have it in their
/// properties.
[[nodiscard]] mlir::Attribute attribute_of(mlir::Operation& op, llvm::StringRef name);

/// The op's type. Of torch.operator, which stands for ops that torch-mlir has no own ones for ("onnx.MatMul"), that of
/// what it stands for.
[[nodiscard]] llvm::StringRef type_of(mlir::Operation& op);
/// The name without its dialect, of an op of StableHLO or of MHLO; empty for others.
[[nodiscard]] llvm::StringRef hlo_name(mlir::Operation& op);
/// Whether the value stands for a tensor that is left out: onnx.NoValue's, torch.constant.none's.
[[nodiscard]] bool is_none(mlir::Value value);

/// Whether the op is a function, with a body or without.
[[nodiscard]] bool is_function(mlir::Operation& op);
/// A function with a body; null for any other op.
[[nodiscard]] mlir::Region* body_of(mlir::Operation* function);
/// The function that the op calls, or that a composite (stablehlo.composite) stands for; null for any other op, and
/// where the module has no body of it.
[[nodiscard]] mlir::Operation* callee_of(mlir::Operation& op);
/// Whether the op is one op that runs others in turn: those in its regions, or those of the function it stands for.
[[nodiscard]] bool runs_in_turn(mlir::Operation& op);

/// Whether the op is a constant: it resides wherever it is read, as a parameter does.
[[nodiscard]] bool is_constant(mlir::Operation& op);

/// Whether the op puts tensors together and moves none: torch-mlir's lists and tuples of them, and tuples. Who
/// reads its result reads the elements.
[[nodiscard]] bool packs_tensors(mlir::Operation& op);
/// The elements of a value that such ops put together, each once; the value itself of any other op.
[[nodiscard]] llvm::SetVector<mlir::Value> elements_of(mlir::Value value);
/// Which element of its first operand the op takes; empty for an op that takes none, or a computed one.
[[nodiscard]] std::optional<std::int64_t> element_taken(mlir::Operation& op);
/// Whether the op's results are the elements of its operand, one by one.
[[nodiscard]] bool unpacks_tensors(mlir::Operation& op);

/// Whether the op only checks sizes (JAX's shape_assertion) or says how its operand is sharded: sdy.sharding_constraint, custom calls of "Sharding", GSPMD's
/// conversions to shards and back (converts_shards). Its result, if it has one, is the operand.
[[nodiscard]] bool is_annotation(mlir::Operation& op);

/// A result's type and shape. A list of parts (torch.aten.chunk) is as large as what it is made of, and what a call
/// gives for a shard is all shards (whole_type).
[[nodiscard]] TensorFacts facts_of(mlir::Value result);

/// The symbol of the global that the op loads; empty for an op that loads none.
[[nodiscard]] std::string global_of(mlir::Operation& op);
/// The symbols of the globals that anything in the module may write.
[[nodiscard]] llvm::StringSet<> written_globals(mlir::Operation* module);

/// Whether the op only ends its block and hands on what that gives (scf.yield, stablehlo.return).
[[nodiscard]] bool ends_block(mlir::Operation& op);
/// Whether the op sees single numbers alone (the arithmetic of indices): no kernel is launched for it.
[[nodiscard]] bool is_scalar(mlir::Operation& op);

/// Whether the op's regions say what happens at every element, not what happens in turn.
[[nodiscard]] bool runs_per_element(mlir::Operation& op);

/// The whole number that an op of the module gives, such as a bound of a loop; empty where that is computed.
/// `as_unsigned`: a type that says nothing of a sign has none.
[[nodiscard]] std::optional<std::int64_t> number_of(mlir::Value value, bool as_unsigned = false);
/// Those of torch-mlir's lists; none where one is computed.
[[nodiscard]] llvm::SmallVector<std::int64_t, 4> numbers_of(mlir::Value list);

/// Values around the op that its regions read, each once, without its operands: inputs of the op, after
/// those.
[[nodiscard]] llvm::SmallVector<mlir::Value> captured_by(mlir::Operation& op);

/// Gives the builder what the work rule of the op's type asks for.
berth_status add_rule_attributes(mlir::Operation& op, berth_builder* builder, std::int32_t id);

/// Work of an op that runs others in turn (while, if, scf.for, a composite, ...): that of all ops in it, each as
/// often as its loops run (trips_of). Its workspace is what they hold (body_bytes).
berth_status add_body_work(mlir::Operation& op, berth_builder* builder, std::int32_t id);

/// Work of an op whose result is in the memory of the op that reads it (taker_of_filled): by its rule. Until that
/// one runs, what it fills is its workspace.
berth_status add_filling_work(mlir::Operation& op, berth_builder* builder, std::int32_t id);

}  // namespace berth_mlir
