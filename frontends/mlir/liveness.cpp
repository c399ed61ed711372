#include "liveness.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

/// Whether an op of StableHLO or MHLO, by its name there, reaches others than those that read its results.
bool hlo_has_effects(mlir::Operation& op, llvm::StringRef name) {
  if (name == "custom_call") {
    auto says = mlir::dyn_cast_or_null<mlir::BoolAttr>(attribute_of(op, "has_side_effect"));
    return says && says.getValue();
  }
  // The other devices wait for their part.
  constexpr llvm::StringRef kNames[] = {
      "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute",
      "infeed",     "outfeed",    "recv",       "reduce_scatter",       "send"};
  return llvm::is_contained(kNames, name);
}

/// Whether the op itself does more than give its results, as far as its dialect says it to MLIR.
bool registered_has_effects(mlir::Operation& op) {
  auto effects = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  if (!effects) return !op.hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>();
  llvm::SmallVector<mlir::MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [&op](const mlir::MemoryEffects::EffectInstance& effect) {
    const bool makes = mlir::isa<mlir::MemoryEffects::Allocate>(effect.getEffect()) &&
                       effect.getValue() && effect.getValue().getDefiningOp() == &op;
    return !makes && !mlir::isa<mlir::MemoryEffects::Read>(effect.getEffect());
  });
}

bool itself_has_effects(mlir::Operation& op) {
  llvm::StringRef type = type_of(op);
  if (type.consume_front("stablehlo.") || type.consume_front("mhlo.")) {
    return hlo_has_effects(op, type);
  }
  // "add_" writes over its operand.
  if (type.consume_front("torch.aten.")) return type.split('.').first.ends_with("_");
  for (const llvm::StringRef known :
       {"chlo.", "iree_linalg_ext.", "onnx.", "sdy.", "torch.constant.", "torch.prim.", "tosa."}) {
    if (type.starts_with(known)) return op.getNumResults() == 0;
  }
  return !op.isRegistered() || registered_has_effects(op);
}

}  // namespace

bool Effects::has(mlir::Operation& op) {
  constexpr int kDeepest = 64;  // calls; more would need a stack without end
  if (ends_block(op)) return false;
  mlir::Operation* const callee = callee_of(op);
  if (callee == nullptr) return itself_has_effects(op) || any_in(op);
  // A function that calls itself has those of the rest.
  const auto [known, is_new] = functions_.try_emplace(callee, false);
  if (!is_new) return known->second;
  ++depth_;
  const bool any = depth_ > kDeepest || any_in(*callee);
  --depth_;
  return functions_[callee] = any;
}

bool Effects::any_in(mlir::Operation& op) {
  return llvm::any_of(op.getRegions(), [this](mlir::Region& region) {
    return llvm::any_of(region.getOps(), [this](mlir::Operation& inner) { return has(inner); });
  });
}

Liveness::Liveness(mlir::Block& block, Effects& effects, llvm::ArrayRef<bool> wanted) {
  if (block.empty() || !ends_block(block.back())) return;
  for (auto [number, value] : llvm::enumerate(block.back().getOperands())) {
    if (number >= wanted.size() || wanted[number]) read_.insert(value);
  }
  for (mlir::Operation& op : llvm::drop_begin(llvm::reverse(block))) {
    const auto is_read = [this](mlir::Value result) { return read_.contains(result); };
    if (!llvm::any_of(op.getResults(), is_read) && !effects.has(op)) {
      dead_.insert(&op);
      continue;
    }
    read_.insert(op.operand_begin(), op.operand_end());
    for (mlir::Value value : captured_by(op)) read_.insert(value);
  }
}

llvm::SmallVector<bool> Liveness::read_of(mlir::Operation& op) const {
  llvm::SmallVector<bool> read;
  for (mlir::Value result : op.getResults()) read.push_back(read_.contains(result));
  return read;
}

}  // namespace berth_mlir
