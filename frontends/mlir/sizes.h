// Sizes that follow from others, where the types of the IR leave them open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// One size for each dimension; -1 = open.
using Sizes = Numbers;

/// The type with `sizes` where it leaves sizes open; the same one where those say nothing more.
[[nodiscard]] mlir::Type with_sizes(mlir::Type type, llvm::ArrayRef<std::int64_t> sizes);

/// Gives values whose types leave sizes open those that follow from others: from operands, from what the module
/// computes of sizes, through calls (of several the first) and into regions. Types that it changes are kept, so that
/// they can be put back.
class SizeInference {
 public:
  explicit SizeInference(mlir::ModuleOp module) : module_(module) {}

  /// Gives `value` sizes where its type leaves them open.
  void give(mlir::Value value, llvm::ArrayRef<std::int64_t> sizes);
  /// Until nothing follows any more.
  void run();
  /// Puts the types back.
  void undo();

 private:
  using Number = std::optional<std::int64_t>;

  void visit(mlir::Operation& op);
  void visit_call(mlir::Operation& call, mlir::Operation& callee);
  [[nodiscard]] Sizes sizes_of(mlir::Value value) const;
  /// As the module has them.
  [[nodiscard]] Sizes own_sizes_of(mlir::Value value) const;
  [[nodiscard]] Sizes inferred(mlir::Operation& op, unsigned result) const;
  [[nodiscard]] Sizes inferred_of_hlo(mlir::Operation& op, llvm::StringRef name) const;
  [[nodiscard]] Sizes inferred_of_tensor(mlir::Operation& op, llvm::StringRef type) const;
  [[nodiscard]] Sizes inferred_of_tosa(mlir::Operation& op, llvm::StringRef name) const;
  [[nodiscard]] Sizes inferred_of_torch(mlir::Operation& op, llvm::StringRef name) const;
  /// The result's own sizes, and the first ones of operand 0 where they are open.
  [[nodiscard]] Sizes with_first(mlir::Operation& op, std::size_t count) const;
  /// The one size that is open, of as many elements as operand 0 has.
  [[nodiscard]] Sizes of_as_many(mlir::Operation& op) const;
  [[nodiscard]] Sizes as_operand_alike(mlir::Operation& op, unsigned result) const;
  [[nodiscard]] Sizes product(mlir::Operation& op) const;
  [[nodiscard]] Sizes gathered(mlir::Operation& op) const;
  [[nodiscard]] Sizes joined(mlir::Operation& op, std::int64_t axis) const;
  [[nodiscard]] Sizes regrouped(mlir::Operation& op, bool collapses) const;
  /// The open ones of a result, in their order, are these operands.
  [[nodiscard]] Sizes listed(mlir::Operation& op, unsigned first) const;
  [[nodiscard]] Sizes contents(mlir::Value value, std::size_t count) const;
  /// An element of a whole number or a short list of them that the module computes.
  [[nodiscard]] Number element(mlir::Value value, std::int64_t index, int depth = 0) const;
  [[nodiscard]] Number computed(mlir::Operation& op, std::int64_t index, int depth) const;

  mlir::ModuleOp module_;
  llvm::DenseMap<mlir::Value, mlir::Type> own_types_;  ///< of values that have been given others
  llvm::DenseMap<mlir::Value, mlir::Value>
      handed_over_;  ///< by argument of a function: a call's operand
  bool any_ = false;
};

}  // namespace berth_mlir
