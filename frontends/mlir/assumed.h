// Facts of a module that its user says, because the IR leaves them open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "sizes.h"

namespace berth_mlir {

/// The size of a dimension of an entry's argument.
struct GivenSize {
  std::string function;  ///< empty = every function that nothing in the module calls
  unsigned argument;
  unsigned dimension;
  std::int64_t size;
};

/// Sizes as a user says them: "64" for all that are open and follow from nothing, "arg0:1=64" for dimension 1 of
/// argument 0, "main:arg0:1=64" for that of a function.
struct GivenSizes {
  std::int64_t others = 0;  ///< 0 = open still
  std::vector<GivenSize> of_arguments;
};
/// Empty, with what is wrong in `error`, where a text says none of these, or anything of the module that is not there.
[[nodiscard]] std::optional<GivenSizes> read_sizes(llvm::ArrayRef<std::string> texts,
                                                   mlir::ModuleOp module, std::string& error);

/// While it lives, types of the module have the sizes that they leave open, and loops say how often they run. The
/// module is as it was afterwards.
class Assumed {
 public:
  /// Sizes of arguments are those of `sizes`, or the bounds that their types have, or `sizes.others`. Those of results
  /// follow from them, as far as the rules of SizeInference go; others have a bound's size, or `sizes.others`. `trips`:
  /// how often loops run that do not say it (trips_of); 0 = unknown still.
  Assumed(mlir::ModuleOp module, const GivenSizes& sizes, std::int64_t trips);
  ~Assumed();
  Assumed(const Assumed&) = delete;
  Assumed& operator=(const Assumed&) = delete;

 private:
  void give_to_arguments(mlir::ModuleOp module, const GivenSizes& sizes);
  /// Bounds of the type, else `others`.
  void give_rest(mlir::Value value, std::int64_t others);

  SizeInference inference_;
  llvm::SmallVector<mlir::Operation*> loops_;
};

}  // namespace berth_mlir
