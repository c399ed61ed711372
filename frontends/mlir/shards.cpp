#include "shards.h"

#include <cstdint>
#include <string>

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

std::string printed(mlir::Operation& op, llvm::StringRef key) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (mlir::Attribute attribute = attribute_of(op, key)) attribute.print(stream);
  return text;
}

/// The name in "#sdy.sharding_per_value<[<@mesh, [{\"d\"}, {}]>]>"; of a mesh without one all of the text.
std::string mesh_of(mlir::Operation& op) {
  for (const llvm::StringRef key : {"in_shardings", "out_shardings"}) {
    const std::string text = printed(op, key);
    if (llvm::StringRef(text).contains("mesh<[")) return text;
    const llvm::StringRef name =
        llvm::StringRef(text).split('@').second.take_until([](char c) { return c == ','; });
    auto module = op.getParentOfType<mlir::ModuleOp>();
    if (name.empty() || !module) continue;
    for (mlir::Operation& each : module.getOps()) {
      auto symbol = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(each, "sym_name"));
      const bool found = each.getName().getStringRef() == "sdy.mesh" && symbol &&
                         symbol.getValue() == name.trim('"');
      if (found) return printed(each, "mesh");
    }
  }
  return {};
}

}  // namespace

double shards_of(mlir::Operation& op) {
  const std::string mesh = mesh_of(op), axes = printed(op, "manual_axes");
  double shards = 1;
  llvm::StringRef rest = llvm::StringRef(axes).split('{').second;
  while (rest.contains('"')) {
    const auto [axis, behind] = rest.split('"').second.split('"');
    rest = behind;
    llvm::StringRef size = llvm::StringRef(mesh).split(("\"" + axis + "\"=").str()).second;
    std::int64_t number = 0;
    if (!size.consumeInteger(10, number) && number > 0) shards *= static_cast<double>(number);
  }
  return shards;
}

}  // namespace berth_mlir
