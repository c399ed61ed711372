#include "buffers.h"

#include "attributes.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"
#include "places.h"

namespace berth_mlir {
namespace {

/// Whether an op without a region that runs in turn writes its operand of this number, a buffer. Ops that are not
/// known write all that they have where they give nothing.
bool writes(mlir::Operation& op, unsigned operand) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (type.starts_with("linalg.") || type.starts_with("iree_linalg_ext.")) {
    const Numbers segments = numbers_in(attribute_of(op, "operandSegmentSizes"));
    const auto inputs =
        segments.size() == 2 ? static_cast<unsigned>(segments.front()) : op.getNumOperands() - 1;
    return operand >= inputs;
  }
  if (type == "memref.copy" || type.ends_with(".store") || type == "vector.transfer_write") {
    return operand == 1;
  }
  return op.getNumResults() == 0 && op.getNumRegions() == 0;
}

/// The buffer around `op` of which the value shows a part; null where it is made within.
mlir::Value around(mlir::Operation& op, mlir::Value value) {
  mlir::Operation* maker = value.getDefiningOp();
  while (maker != nullptr && op.isProperAncestor(maker) && is_view(*maker)) {
    value = maker->getOperand(0);
    maker = value.getDefiningOp();
  }
  mlir::Operation* const owner = value.getParentBlock()->getParentOp();
  return op.isAncestor(owner) ? mlir::Value() : value;
}

}  // namespace

TouchedBuffers buffers_of(mlir::Operation& op) {
  TouchedBuffers touched;
  op.walk([&](mlir::Operation* inner) {
    if (ends_block(*inner)) return;
    for (mlir::OpOperand& operand : inner->getOpOperands()) {
      if (!mlir::isa<mlir::MemRefType>(operand.get().getType())) continue;
      const mlir::Value buffer = around(op, operand.get());
      if (!buffer) continue;
      auto& into = writes(*inner, operand.getOperandNumber()) ? touched.written : touched.read;
      into.insert(buffer);
    }
  });
  return touched;
}

}  // namespace berth_mlir
