// Loops in the IR: how often their bodies run, and the memory that those take.
#pragma once

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Operation.h"

namespace berth_mlir {

/// The attribute of a loop that says how often it runs.
inline constexpr llvm::StringLiteral kTripsAttribute = "berth.trips";

/// How often a loop runs its body: as kTripsAttribute says, else the product of its dimensions with constant bounds; how far scf.while,
/// stablehlo.while or mhlo.while counts at most, from one constant to another; the shards that run it (shards_of). Calls are
/// followed. 1 for other ops.
struct Trips {
  double count = 1;
  bool known = true;  ///< false: something counts as one trip because data say how often it runs
};
Trips trips_of(mlir::Operation& op);
/// The loops among the ops, within them and in what they call, whose trips are not known.
llvm::SetVector<mlir::Operation*> uncounted_loops(llvm::ArrayRef<mlir::Operation*> ops);

/// Bytes that the op's regions, or the function that a composite stands for, hold at their fullest, besides what they capture and what the op gives. Those of
/// several regions are there one at a time, as are those of two trips. Calls are followed.
double body_bytes(mlir::Operation& op);

/// Bytes of a tensor; 0 where nothing is known of it.
double bytes_of(mlir::Value value);

}  // namespace berth_mlir
