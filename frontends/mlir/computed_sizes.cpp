// Numbers that a module computes of sizes.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"
#include "sizes.h"

namespace berth_mlir {
namespace {

constexpr std::int64_t kOpen = -1;

/// Sums, products and their like on two whole numbers; empty for other ops.
std::optional<std::int64_t> arithmetic(llvm::StringRef type, std::int64_t a, std::int64_t b) {
  const auto is = [type](std::initializer_list<llvm::StringRef> names) {
    return llvm::is_contained(names, type);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (std::max(std::abs(a), std::abs(b)) > kMost) return std::nullopt;
  if (is({"arith.addi", "stablehlo.add", "torch.aten.add.int"})) return a + b;
  if (is({"arith.subi", "stablehlo.subtract", "torch.aten.sub.int"})) return a - b;
  if (is({"arith.muli", "stablehlo.multiply", "torch.aten.mul.int"})) return a * b;
  if (is({"arith.maxsi", "arith.maxui", "stablehlo.maximum"})) return std::max(a, b);
  if (is({"arith.minsi", "arith.minui", "stablehlo.minimum"})) return std::min(a, b);
  if (b > 0 && a >= 0) {
    if (is({"arith.divsi", "arith.divui", "arith.floordivsi", "stablehlo.divide",
            "torch.aten.floordiv.int"})) {
      return a / b;
    }
    if (is({"arith.ceildivsi", "arith.ceildivui"})) return (a + b - 1) / b;
    if (is({"arith.remsi", "arith.remui", "stablehlo.remainder"})) return a % b;
  }
  return std::nullopt;
}

/// Ops that give the number, or the list, that they are given.
bool keeps_contents(llvm::StringRef type) {
  constexpr llvm::StringRef kTypes[] = {
      "arith.extsi",        "arith.extui",  "arith.index_cast", "arith.index_castui",
      "arith.trunci",       "mhlo.convert", "mhlo.reshape",     "stablehlo.convert",
      "stablehlo.reshape",  "tensor.cast",  "tensor.bitcast",   "tensor.collapse_shape",
      "tensor.expand_shape"};
  return llvm::is_contained(kTypes, type);
}

}  // namespace

Sizes SizeInference::contents(mlir::Value value, std::size_t count) const {
  Sizes sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const Number size = element(value, static_cast<std::int64_t>(i));
    sizes.push_back(size && *size >= 0 ? *size : kOpen);
  }
  return sizes;
}

SizeInference::Number SizeInference::element(mlir::Value value, std::int64_t index,
                                             int depth) const {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) return std::nullopt;
  if (const mlir::Value operand = handed_over_.lookup(value)) {
    return element(operand, index, depth + 1);
  }
  mlir::Operation* const op = value.getDefiningOp();
  if (op == nullptr) return std::nullopt;
  if (is_constant(*op)) {
    auto all = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute_of(*op, "value"));
    if (!all || all.getNumElements() <= 1) return number_of(value);
    if (index >= all.getNumElements()) return std::nullopt;
    return (*(all.value_begin<llvm::APInt>() + index)).getSExtValue();
  }
  if (const auto number = number_of(value)) return number;
  return computed(*op, index, depth + 1);
}

SizeInference::Number SizeInference::computed(mlir::Operation& op, std::int64_t index,
                                              int depth) const {
  const llvm::StringRef type = op.getName().getStringRef(), hlo = hlo_name(op);
  const auto size_at = [this, &op](Number at) {
    const Sizes sizes = sizes_of(op.getOperand(0));
    const bool is_there = at && *at >= 0 && *at < static_cast<std::int64_t>(sizes.size());
    return is_there && sizes[*at] != kOpen ? Number(sizes[*at]) : std::nullopt;
  };
  if (hlo == "get_dimension_size") return size_at(number_in(op, "dimension"));
  if (type == "shape.shape_of") return size_at(index);
  if (type == "tensor.dim" || type == "memref.dim" || type == "torch.aten.size.int") {
    return size_at(element(op.getOperand(1), 0, depth));
  }
  if (keeps_contents(type)) return element(op.getOperand(0), index, depth);
  if (type == "tensor.from_elements" || type == "torch.prim.ListConstruct") {
    return index < op.getNumOperands()
               ? element(op.getOperand(static_cast<unsigned>(index)), 0, depth)
               : std::nullopt;
  }
  if (hlo == "concatenate") {
    for (mlir::Value part : op.getOperands()) {
      const auto length = static_cast<std::int64_t>(TensorFacts(part.getType()).elements());
      if (index < length) return element(part, index, depth);
      index -= length;
    }
    return std::nullopt;
  }
  if (type == "affine.apply") {
    auto map = mlir::dyn_cast_or_null<mlir::AffineMapAttr>(attribute_of(op, "map"));
    llvm::SmallVector<mlir::Attribute> numbers, results;
    for (mlir::Value operand : op.getOperands()) {
      const Number number = element(operand, 0, depth);
      if (!number) return std::nullopt;
      numbers.push_back(mlir::IntegerAttr::get(mlir::IndexType::get(op.getContext()), *number));
    }
    if (!map || failed(map.getValue().constantFold(numbers, results))) return std::nullopt;
    return mlir::cast<mlir::IntegerAttr>(results.front()).getInt();
  }
  if (op.getNumOperands() != 2) return std::nullopt;
  const Number a = element(op.getOperand(0), index, depth);
  const Number b = element(op.getOperand(1), index, depth);
  return a && b ? arithmetic(type, *a, *b) : std::nullopt;
}

}  // namespace berth_mlir
