// Loops in the IR: how often their bodies run, and the memory that those take.
#pragma once

#include "mlir/IR/Operation.h"

namespace berth_mlir {

/// How often a loop runs its body: the product of its dimensions with constant bounds; how far scf.while,
/// stablehlo.while or mhlo.while counts, from one constant to another. 1 for other ops.
double trips_of(mlir::Operation& op);

/// Bytes that the op's regions hold at their fullest, besides what they capture and what the op gives. Those of
/// several regions are there one at a time, as are those of two trips. Calls are followed.
double body_bytes(mlir::Operation& op);

}  // namespace berth_mlir
