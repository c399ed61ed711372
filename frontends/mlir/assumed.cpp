#include "assumed.h"

#include <algorithm>
#include <string>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "loops.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace berth_mlir {
namespace {

/// The bounds in "#stablehlo.bounds<1024, ?>" or "#mhlo.type_extensions<bounds = [1024, ?]>"; 0 = none.
llvm::SmallVector<std::int64_t> bounds_in(mlir::Attribute encoding) {
  llvm::SmallVector<std::int64_t> bounds;
  if (!encoding) return bounds;
  std::string text;
  llvm::raw_string_ostream stream(text);
  encoding.print(stream);
  llvm::StringRef list = llvm::StringRef(text).split("bounds").second.ltrim(" =<[");
  for (list = list.take_until([](char c) { return c == '>' || c == ']'; }); !list.empty();) {
    const auto parts = list.split(',');
    std::int64_t bound = 0;
    if (parts.first.trim().getAsInteger(10, bound)) bound = 0;
    bounds.push_back(bound);
    list = parts.second;
  }
  return bounds;
}

/// The sizes of `shape` with the open ones given.
llvm::SmallVector<std::int64_t> given_sizes(llvm::ArrayRef<std::int64_t> shape,
                                            llvm::ArrayRef<std::int64_t> bounds,
                                            std::int64_t dims) {
  llvm::SmallVector<std::int64_t> given(shape);
  for (auto [i, size] : llvm::enumerate(given)) {
    if (!mlir::ShapedType::isDynamic(size)) continue;
    const std::int64_t bound = i < bounds.size() ? bounds[i] : 0;
    if (bound > 0 || dims > 0) size = bound > 0 ? bound : dims;
  }
  return given;
}

/// The type with the sizes that it leaves open; the same one where nothing gives them.
mlir::Type sized(mlir::Type type, std::int64_t dims) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    const auto shape = given_sizes(tensor.getShape(), bounds_in(tensor.getEncoding()), dims);
    if (llvm::equal(shape, tensor.getShape())) return type;
    return mlir::RankedTensorType::get(shape, tensor.getElementType());
  }
  if (auto buffer = mlir::dyn_cast<mlir::MemRefType>(type)) {
    return mlir::MemRefType(
        mlir::MemRefType::Builder(buffer).setShape(given_sizes(buffer.getShape(), {}, dims)));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  if (dims == 0 || !llvm::StringRef(text).starts_with("!torch.v")) return type;
  std::string given;
  for (const char c : text) given += c == '?' ? std::to_string(dims) : std::string(1, c);
  return given == text ? type : mlir::parseType(given, type.getContext());
}

}  // namespace

Assumed::Assumed(mlir::ModuleOp module, std::int64_t dims, std::int64_t trips) {
  module->walk([&](mlir::Operation* op) {
    for (mlir::Value result : op->getResults()) give_sizes(result, dims);
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Value argument : region.getArguments()) give_sizes(argument, dims);
    }
    if (trips == 0 || trips_of(*op).known) return;
    op->setAttr(kTripsAttribute, mlir::Builder(op->getContext()).getI64IntegerAttr(trips));
    loops_.push_back(op);
  });
}

Assumed::~Assumed() {
  for (auto& [value, type] : types_) value.setType(type);
  for (mlir::Operation* loop : loops_) loop->removeAttr(kTripsAttribute);
}

void Assumed::give_sizes(mlir::Value value, std::int64_t dims) {
  const mlir::Type type = value.getType(), given = sized(type, dims);
  if (given == type) return;
  types_.emplace_back(value, type);
  value.setType(given);
}

}  // namespace berth_mlir
