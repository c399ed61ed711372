#include "shards.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "llvm/ADT/STLExtras.h"
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

/// The shards of a mesh along the axes of sdy.manual_computation.
double shards_along_axes(mlir::Operation& op) {
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

constexpr llvm::StringLiteral kToShards = "SPMDFullToShardShape", kToWhole = "SPMDShardToFullShape";

bool calls_target(mlir::Operation* op, llvm::StringRef target) {
  if (op == nullptr || op->getNumOperands() != 1 || op->getNumResults() != 1) return false;
  auto name = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(*op, "call_target_name"));
  return name && name.getValue() == target;
}

/// Numbers in "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}" that belong to "manual"; of "{manual}"
/// all partitions of the module, and as many as the tensor has of its shard where that does not say it.
double manual_shards(mlir::Operation& conversion) {
  auto said = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(conversion, "mhlo.sharding"));
  if (!said) return 1;
  llvm::SmallVector<llvm::StringRef> sizes, kinds;
  said.getValue().split("devices=[").second.split(']').first.split(sizes, ',');
  said.getValue().split("last_tile_dims={").second.split('}').first.split(kinds, ',');
  double shards = 1;
  for (auto [size, kind] : llvm::zip(llvm::reverse(sizes), llvm::reverse(kinds))) {
    std::int64_t number = 0;
    if (kind.trim() == "manual" && !size.trim().getAsInteger(10, number)) {
      shards *= static_cast<double>(std::max<std::int64_t>(number, 1));
    }
  }
  auto module = conversion.getParentOfType<mlir::ModuleOp>();
  if (said.getValue() != "{manual}" || !module) return shards;
  auto partitions = module->getAttrOfType<mlir::IntegerAttr>("mhlo.num_partitions");
  if (partitions) return std::max(1.0, static_cast<double>(partitions.getInt()));
  return TensorFacts(conversion.getOperand(0).getType()).elements() /
         std::max(1.0, TensorFacts(conversion.getResult(0).getType()).elements());
}

/// The conversion that gives a shard, behind annotations; null for none.
mlir::Operation* conversion_behind(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  while (op != nullptr && is_annotation(*op) && !converts_shards(*op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return calls_target(op, kToShards) ? op : nullptr;
}

}  // namespace

bool converts_shards(mlir::Operation& op) {
  return calls_target(&op, kToShards) || calls_target(&op, kToWhole);
}

double shards_of(mlir::Operation& op) {
  if (op.getName().getStringRef() == "sdy.manual_computation") return shards_along_axes(op);
  double shards = 1;
  if (callee_of(op) == nullptr) return shards;
  for (mlir::Value operand : op.getOperands()) {
    if (mlir::Operation* const conversion = conversion_behind(operand)) {
      shards = std::max(shards, manual_shards(*conversion));
    }
  }
  return shards;
}

bool reads_a_shard(mlir::Operation& op) {
  return !is_annotation(op) && llvm::any_of(op.getOperands(), [](mlir::Value operand) {
    return conversion_behind(operand) != nullptr;
  });
}

mlir::Type whole_type(mlir::Value value) {
  for (mlir::Operation* user : value.getUsers()) {
    if (calls_target(user, kToWhole)) return user->getResult(0).getType();
    if (is_annotation(*user) && !converts_shards(*user) && user->getNumResults() == 1) {
      return whole_type(user->getResult(0));
    }
  }
  return value.getType();
}

bool is_collective(mlir::Operation& op) {
  constexpr llvm::StringRef kNames[] = {"all_gather",         "all_reduce",
                                        "all_to_all",         "collective_broadcast",
                                        "collective_permute", "reduce_scatter"};
  return llvm::is_contained(kNames, hlo_name(op));
}

llvm::SmallVector<mlir::Operation*> collectives_of(llvm::ArrayRef<mlir::Operation*> ops) {
  llvm::SmallVector<mlir::Operation*> collectives;
  for (mlir::Operation* op : ops) {
    op->walk<mlir::WalkOrder::PreOrder>([&collectives](mlir::Operation* inner) {
      if (shards_of(*inner) > 1) return mlir::WalkResult::skip();
      if (is_collective(*inner)) collectives.push_back(inner);
      return mlir::WalkResult::advance();
    });
  }
  return collectives;
}

}  // namespace berth_mlir
