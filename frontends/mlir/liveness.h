// Ops from which nothing follows, which compilers drop: gradients leave them in most functions.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// Whether ops do more than give their results, with all that runs in them; it keeps what it knows of functions. Ops of
/// dialects that are neither loaded nor known here do.
class Effects {
 public:
  bool has(mlir::Operation& op);

 private:
  bool any_in(mlir::Operation& op);

  llvm::DenseMap<mlir::Operation*, bool> functions_;
  int depth_ = 0;  // calls
};

/// The ops of a block that lead to what it hands on, or to an effect.
class Liveness {
 public:
  /// `wanted`: by value that the block hands on, whether anyone reads it; empty = all of them.
  Liveness(mlir::Block& block, Effects& effects, llvm::ArrayRef<bool> wanted = {});

  [[nodiscard]] bool is_dead(mlir::Operation& op) const { return dead_.contains(&op); }
  /// Whether each result of an op of the block is read.
  [[nodiscard]] llvm::SmallVector<bool> read_of(mlir::Operation& op) const;

 private:
  llvm::DenseSet<mlir::Operation*> dead_;
  llvm::DenseSet<mlir::Value> read_;
};

}  // namespace berth_mlir
