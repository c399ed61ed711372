// Facts of a module that its user says, because the IR leaves them open.
#pragma once

#include <cstdint>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// While it lives, types of the module have the sizes that they leave open, and loops say how often they run. The
/// module is as it was afterwards.
class Assumed {
 public:
  /// `dims`: the size of each open dimension, but of those whose type has a bound, which count as that; 0 = open
  /// still. `trips`: how often loops run that do not say it (trips_of); 0 = unknown still.
  Assumed(mlir::ModuleOp module, std::int64_t dims, std::int64_t trips);
  ~Assumed();
  Assumed(const Assumed&) = delete;
  Assumed& operator=(const Assumed&) = delete;

 private:
  void give_sizes(mlir::Value value, std::int64_t dims);

  llvm::SmallVector<std::pair<mlir::Value, mlir::Type>> types_;  ///< as they were
  llvm::SmallVector<mlir::Operation*> loops_;
};

}  // namespace berth_mlir
