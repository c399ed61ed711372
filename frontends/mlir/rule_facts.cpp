// What the work rules of ops ask for beside tensors (engine/ops/mlir/rules.h), read from attributes and from
// constants among the operands.
#include <algorithm>
#include <cmath>
#include <optional>

#include "attributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

std::int64_t op_count(mlir::Operation& op) {
  std::int64_t count = 0;
  for (mlir::Region& region : op.getRegions()) {
    for (mlir::Block& block : region) {
      for (mlir::Operation& inner : block) {
        if (!ends_block(inner)) ++count;
      }
    }
  }
  return count;
}

/// The maps of the op's operands; none of an op that has others than one for each.
llvm::SmallVector<mlir::AffineMap, 4> maps_of(mlir::Operation& op) {
  llvm::SmallVector<mlir::AffineMap, 4> maps;
  auto all = mlir::dyn_cast_or_null<mlir::ArrayAttr>(attribute_of(op, "indexing_maps"));
  for (mlir::Attribute each : all ? all.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto map = mlir::dyn_cast<mlir::AffineMapAttr>(each);
    if (!map || maps.size() == op.getNumOperands()) return {};
    maps.push_back(map.getValue());
  }
  return maps;
}

/// How long the loops are that the maps of the operands name.
llvm::SmallVector<double, 6> loops_of(mlir::Operation& op, llvm::ArrayRef<mlir::AffineMap> maps) {
  llvm::SmallVector<double, 6> loops;
  for (auto [map, operand] : llvm::zip(maps, op.getOperands())) {
    loops.resize(map.getNumDims(), 1);
    const TensorFacts facts(operand.getType());
    for (auto [result, size] : llvm::zip(map.getResults(), facts.shape)) {
      auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(result);
      if (dim && size > 0) loops[dim.getPosition()] = static_cast<double>(size);
    }
  }
  return loops;
}

/// How often the body runs; -1 where no maps say it.
double loop_points(mlir::Operation& op) {
  const auto maps = maps_of(op);
  if (maps.empty()) return -1;
  double points = 1;
  for (const double loop : loops_of(op, maps)) points *= loop;
  return points;
}

/// How many elements each result takes of a window's side: of a running sum or its like, whose window is all
/// that is behind it, a tree of them takes the logarithm.
double side_points(std::int64_t size, std::int64_t result, llvm::ArrayRef<std::int64_t> padding) {
  const bool runs = size > 1 && result == size && padding.size() == 2 &&
                    std::min(padding[0], padding[1]) == 0 &&
                    std::max(padding[0], padding[1]) == size - 1;
  return runs ? std::ceil(std::log2(static_cast<double>(size))) : static_cast<double>(size);
}

double body_points(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (type == "linalg.generic" || type == "iree_linalg_ext.exp_reduction") return loop_points(op);
  if (type.ends_with("hlo.scatter") && op.getNumOperands() > 0) {
    return TensorFacts(op.getOperands().back().getType()).elements();  // of the updates
  }
  double points = 1;
  for (mlir::Value value : op.getOperands()) {
    points = std::max(points, TensorFacts(value.getType()).elements());
  }
  for (mlir::Type result : op.getResultTypes()) {
    points = std::max(points, TensorFacts(result).elements());
  }
  const Numbers window = numbers_in(attribute_of(op, "window_dimensions"));
  if (window.empty() || op.getNumResults() == 0) return points;
  // Windows are counted by what they give, or by the gradients that they spread.
  const TensorFacts result(op.getResult(0).getType());
  points = result.elements();
  if (type.ends_with(".select_and_scatter") && op.getNumOperands() > 1) {
    points = TensorFacts(op.getOperand(1).getType()).elements();
  }
  const Numbers padding = numbers_in(attribute_of(op, "padding"));
  for (std::size_t i = 0; i < window.size(); ++i) {
    const bool padded = i < result.shape.size() && padding.size() == 2 * window.size();
    const auto around = llvm::ArrayRef(padding).slice(padded ? 2 * i : 0, padded ? 2 : 0);
    points *= side_points(window[i], padded ? result.shape[i] : -1, around);
  }
  return points;
}

/// The operands on which a value of the body depends, through ops on single elements alone; empty where it depends
/// on what is summed up, or on anything else.
std::optional<llvm::SetVector<unsigned>> operands_behind(mlir::Value value, mlir::Block& body) {
  llvm::SetVector<unsigned> operands;
  llvm::SetVector<mlir::Value> open;
  open.insert(value);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(open[i])) {
      if (argument.getOwner() != &body) continue;  // a number from around
      if (argument.getArgNumber() + 1 >= body.getNumArguments()) return std::nullopt;
      operands.insert(argument.getArgNumber());
      continue;
    }
    mlir::Operation& op = *open[i].getDefiningOp();
    if (op.getBlock() != &body) continue;
    if (op.getNumRegions() > 0) return std::nullopt;
    open.insert(op.operand_begin(), op.operand_end());
  }
  return operands.empty() ? std::nullopt : std::optional(operands);
}

/// The op that gives a value, behind conversions.
mlir::Operation* maker_behind_conversions(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  const auto converts = [](mlir::Operation& each) {
    const llvm::StringRef type = each.getName().getStringRef();
    return type.starts_with("arith.ext") || type.starts_with("arith.trunc");
  };
  while (op != nullptr && converts(*op)) op = op->getOperand(0).getDefiningOp();
  return op;
}

/// The operands of the left and of the right factor of what a body adds up: of products in the numbers that linalg's
/// contractions have. Each factor may be computed from several operands, such as weights and their scales.
struct Factors {
  llvm::SetVector<unsigned> left, right;
};

std::optional<Factors> added_products(mlir::Operation& op) {
  if (op.getName().getStringRef() != "linalg.generic" || op.getNumResults() > 1)
    return std::nullopt;
  mlir::Block& body = op.getRegion(0).front();
  if (body.getNumArguments() != op.getNumOperands() || body.back().getNumOperands() != 1) {
    return std::nullopt;
  }
  const mlir::Value so_far = body.getArguments().back();
  mlir::Operation* const sum = maker_behind_conversions(body.back().getOperand(0));
  if (sum == nullptr || sum->getBlock() != &body || sum->getNumOperands() != 2) return std::nullopt;
  const llvm::StringRef adds = sum->getName().getStringRef();
  for (const unsigned side : {0U, 1U}) {
    if (sum->getOperand(1 - side) != so_far) continue;
    mlir::Operation* const product = maker_behind_conversions(sum->getOperand(side));
    if (product == nullptr || product->getBlock() != &body) continue;
    const llvm::StringRef multiplies = product->getName().getStringRef();
    const bool fits = (multiplies == "arith.mulf" && adds == "arith.addf") ||
                      (multiplies == "arith.muli" && adds == "arith.addi") ||
                      (multiplies == "complex.mul" && adds == "complex.add");
    if (!fits) continue;
    const auto left = operands_behind(product->getOperand(0), body);
    const auto right = operands_behind(product->getOperand(1), body);
    if (!left || !right ||
        llvm::any_of(*left, [&right](unsigned i) { return right->contains(i); })) {
      continue;
    }
    const bool in_order = left->contains(0);
    return Factors{in_order ? *left : *right, in_order ? *right : *left};
  }
  return std::nullopt;
}

/// A matrix product or a convolution in the general form, by the loops that its operands share: the columns of
/// each of its groups, and what an element of the result sums over. A window is what the image of a convolution
/// has only in sums of loops.
struct GeneralProduct {
  double groups = 1, columns = 1, channels = 1, window = 1;
};

std::optional<GeneralProduct> general_product(mlir::Operation& op) {
  const auto maps = maps_of(op);
  const std::optional<Factors> factors = added_products(op);
  if (!factors || maps.size() != op.getNumOperands() || maps.size() < 3) return std::nullopt;
  const mlir::AffineMap& of_result = maps.back();
  const auto is_plain = [&maps](unsigned i) { return maps[i].isProjectedPermutation(); };
  if (!llvm::all_of(factors->right, is_plain) || !of_result.isProjectedPermutation()) {
    return std::nullopt;
  }
  GeneralProduct product;
  for (auto [position, size] : llvm::enumerate(loops_of(op, maps))) {
    const auto at = static_cast<unsigned>(position);
    const mlir::AffineExpr loop = mlir::getAffineDimExpr(at, op.getContext());
    const auto reads = [&maps, at](unsigned i) { return maps[i].isFunctionOfDim(at); };
    const bool alone = llvm::any_of(factors->left, [&maps, loop](unsigned i) {
      return llvm::is_contained(maps[i].getResults(), loop);
    });
    const bool left = llvm::any_of(factors->left, reads);
    const bool right = llvm::any_of(factors->right, reads);
    const bool result = of_result.isFunctionOfDim(at);
    if (result && left && right && alone) {
      product.groups *= size;
    } else if (result && right && !left) {
      product.columns *= size;
    } else if (!result && left && right) {
      (alone ? product.channels : product.window) *= size;
    } else if (!result || !left || right) {
      return std::nullopt;
    }
  }
  return product;
}

berth_status add_numbers(berth_builder* builder, std::int32_t id, llvm::StringRef name,
                         llvm::ArrayRef<std::int64_t> numbers) {
  if (numbers.empty()) return BERTH_OK;
  return berth_builder_attribute(builder, id, view(name), numbers.data(), numbers.size(), {});
}

/// The attributes of a model's own op, whose rules read them as the model's file has them: whole numbers,
/// lists of them, and texts. Those of torch.operator are called "torch.onnx.axis".
berth_status add_model_attributes(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  constexpr std::size_t kLongest = 64;  // what is longer holds contents
  const auto add = [&](mlir::NamedAttribute named) -> berth_status {
    llvm::SmallVector<std::int64_t> numbers;
    const auto take = [&numbers](mlir::Attribute attribute) {
      auto number = mlir::dyn_cast<mlir::IntegerAttr>(attribute);
      if (!number || number.getValue().getSignificantBits() > 64) return false;
      const bool truth = number.getType().isInteger(1);
      numbers.push_back(truth ? static_cast<std::int64_t>(number.getValue().getZExtValue())
                              : number.getValue().getSExtValue());
      return true;
    };
    const mlir::Attribute value = named.getValue();
    llvm::StringRef name = named.getName().getValue();
    name.consume_front("torch.onnx.");
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(value)) {
      return berth_builder_attribute(builder, id, view(name), nullptr, 0, view(text.getValue()));
    }
    if (auto list = mlir::dyn_cast<mlir::ArrayAttr>(value)) {
      if (list.size() > kLongest || !llvm::all_of(list, take)) return BERTH_OK;
    } else if (auto dense = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(value)) {
      if (static_cast<std::size_t>(dense.size()) > kLongest) return BERTH_OK;
      numbers.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
    } else if (!take(value)) {
      return BERTH_OK;
    }
    return add_numbers(builder, id, name, numbers);
  };
  for (mlir::NamedAttribute named : op.getAttrs()) {
    if (berth_status status = add(named)) return status;
  }
  auto properties = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op.getPropertiesAsAttribute());
  if (!properties) return BERTH_OK;
  for (mlir::NamedAttribute named : properties) {
    if (berth_status status = add(named)) return status;
  }
  return BERTH_OK;
}

/// Which dimensions meet in a product, and how many products an element of its result sums up.
berth_status add_product(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (auto equation = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(op, "einsum_config"))) {
    return berth_builder_attribute(builder, id, BERTH_TEXT("equation"), nullptr, 0,
                                   view(equation.getValue()));
  }
  if (attribute_of(op, "dot_dimension_numbers") ||
      attribute_of(op, "ragged_dot_dimension_numbers")) {
    const ProductDims dims = product_dims(op);
    const bool parts = llvm::any_of(dims.left_ragged, [&dims](std::int64_t dim) {
      return llvm::is_contained(dims.left_contracting, dim);
    });
    if (berth_status status = add_numbers(builder, id, "contracting", dims.left_contracting)) {
      return status;
    }
    if (berth_status status = add_numbers(builder, id, "batching", dims.left_batching)) {
      return status;
    }
    return parts ? add_numbers(builder, id, "ragged_inner", {1}) : BERTH_OK;
  }
  if (const auto product = general_product(op)) {
    const auto whole = [](double number) {
      return static_cast<std::int64_t>(std::min(number, 1e18));
    };
    return add_numbers(builder, id, "product",
                       {whole(product->groups), whole(product->columns), whole(product->channels),
                        whole(product->window)});
  }
  // Maps transpose or spread the operands of a named product.
  const bool named = type == "linalg.contract" || type.ends_with("matmul");
  if (!named || !attribute_of(op, "indexing_maps") || op.getNumOperands() == 0) return BERTH_OK;
  const TensorFacts result(op.getOperand(op.getNumOperands() - 1).getType());
  const double inner = loop_points(op) / std::max(1.0, result.elements());
  if (!(inner >= 1 && inner < 1e18)) return BERTH_OK;
  return add_numbers(builder, id, "inner", {static_cast<std::int64_t>(inner)});
}

berth_status add_convolution(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  if (!attribute_of(op, "dimension_numbers")) return BERTH_OK;
  const ConvolutionDims dims = convolution_dims(op);
  const struct {
    llvm::StringRef name;
    Numbers numbers;
  } facts[] = {
      {"output_features", dims.output_features},
      {"input_features", dims.input_features},
      {"output_batch", dims.output_batch},
      {"groups", numbers_in(attribute_of(op, "feature_group_count"))},
      {"batch_groups", numbers_in(attribute_of(op, "batch_group_count"))},
      {"lhs_dilation", numbers_in(attribute_of(op, "lhs_dilation"))},
  };
  for (const auto& fact : facts) {
    if (berth_status status = add_numbers(builder, id, fact.name, fact.numbers)) return status;
  }
  return BERTH_OK;
}

/// The constants among the operands of torch.aten's windows and sums of products.
berth_status add_torch_constants(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  llvm::StringRef name = type_of(op);
  if (!name.consume_front("torch.aten.")) return BERTH_OK;
  name = name.split('.').first;
  const auto operand = [&op](unsigned i) {
    return i < op.getNumOperands() ? number_of(op.getOperand(i)) : std::nullopt;
  };
  if (name == "einsum" && op.getNumOperands() > 0 && op.getOperand(0).getDefiningOp() != nullptr) {
    auto equation = mlir::dyn_cast_or_null<mlir::StringAttr>(
        attribute_of(*op.getOperand(0).getDefiningOp(), "value"));
    if (!equation) return BERTH_OK;
    return berth_builder_attribute(builder, id, BERTH_TEXT("equation"), nullptr, 0,
                                   view(equation.getValue()));
  }
  if (name.starts_with("max_pool") || name.starts_with("avg_pool")) {
    if (op.getNumOperands() < 2) return BERTH_OK;
    Numbers window = numbers_of(op.getOperand(1));
    // One side stands for all of them.
    const std::size_t sides = name.contains("3d") ? 3 : name.contains("2d") ? 2 : 1;
    if (window.size() == 1) window.resize(sides, window.front());
    return add_numbers(builder, id, "window", window);
  }
  const bool backward = name == "convolution_backward";
  const bool both = name == "convolution" || name == "_convolution" || backward;
  if (!both && !name.starts_with("conv")) return BERTH_OK;
  const unsigned behind = backward ? 1 : 0;  // operands more in front
  if (both && operand(6 + behind).value_or(0) != 0) {
    if (berth_status status = add_numbers(builder, id, "transposed", {1})) return status;
  }
  if (backward && op.getNumOperands() > 10) {
    const Numbers asked = numbers_of(op.getOperand(10));  // gradients of the image, weights, bias
    const std::int64_t gradients = asked.size() == 3 ? (asked[0] != 0) + (asked[1] != 0) : 2;
    if (berth_status status = add_numbers(builder, id, "gradients", {gradients})) return status;
  }
  const auto groups = operand(both ? 8 + behind : 6);
  return groups ? add_numbers(builder, id, "groups", {*groups}) : BERTH_OK;
}

/// Counts by the loops of an attention's query, key and value: queries in all heads, keys of each, the width that queries and
/// keys have, and that of the values; none where the maps are not there.
Numbers attention_sides(mlir::Operation& op) {
  const auto maps = maps_of(op);
  if (maps.size() < 3) return {};
  double queries = 1, keys = 1, width = 1, of_values = 1;
  for (auto [position, size] : llvm::enumerate(loops_of(op, maps))) {
    const auto reads = [&maps, at = static_cast<unsigned>(position)](unsigned i) {
      return maps[i].isFunctionOfDim(at);
    };
    const bool query = reads(0), key = reads(1), value = reads(2);
    double& side = query ? (key && !value ? width : queries) : key ? keys : of_values;
    side *= size;
  }
  const auto whole = [](double side) { return static_cast<std::int64_t>(std::min(side, 1e18)); };
  return {whole(queries), whole(keys), whole(width), whole(of_values)};
}

/// What IREE's own ops say of their axes and sides.
berth_status add_iree_facts(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (!type.starts_with("iree_linalg_ext.")) return BERTH_OK;
  for (const llvm::StringRef key : {"dimension", "kernel_size"}) {
    const Numbers said = numbers_in(attribute_of(op, key));
    if (berth_status status = add_numbers(builder, id, key, said)) return status;
  }
  if (!type.ends_with("attention")) return BERTH_OK;
  return add_numbers(builder, id, "attention", attention_sides(op));
}

/// Pairs: a captured tensor of which the body reads single elements alone, as the op's input of this number, and
/// how many each time. An embedding is such a table.
Numbers picked_from(mlir::Operation& op) {
  Numbers picked;
  for (const auto& [number, value] : llvm::enumerate(captured_by(op))) {
    std::int64_t times = 0;
    bool whole = false;
    for (mlir::OpOperand& use : value.getUses()) {
      mlir::Operation& reader = *use.getOwner();
      if (!op.isProperAncestor(&reader)) continue;
      const llvm::StringRef type = reader.getName().getStringRef();
      const bool picks = type == "tensor.extract" || type == "memref.load";
      // In a region within the body, it could be a loop's.
      whole = whole || !picks || use.getOperandNumber() != 0 || reader.getParentOp() != &op;
      ++times;
    }
    if (!whole) picked.append({static_cast<std::int64_t>(op.getNumOperands() + number), times});
  }
  return picked;
}

}  // namespace

berth_status add_rule_attributes(mlir::Operation& op, berth_builder* builder, std::int32_t id) {
  const llvm::StringRef type = type_of(op);
  if (type.starts_with("onnx.") || type.starts_with("tf.")) {
    return add_model_attributes(op, builder, id);
  }
  for (const auto add : {add_product, add_convolution, add_torch_constants, add_iree_facts}) {
    if (berth_status status = add(op, builder, id)) return status;
  }
  const Numbers lengths = numbers_in(attribute_of(op, "fft_length"));
  if (berth_status status = add_numbers(builder, id, "fft_length", lengths)) return status;
  if (type.starts_with("tosa.") && type.ends_with("pool2d")) {
    return add_numbers(builder, id, "window", numbers_in(attribute_of(op, "kernel")));
  }
  if (op.getNumRegions() == 0 || !runs_per_element(op)) return BERTH_OK;
  const double points = body_points(op);
  if (points >= 0 && points < 1e18) {
    if (berth_status status =
            add_numbers(builder, id, "points", {static_cast<std::int64_t>(points)})) {
      return status;
    }
  }
  if (berth_status status = add_numbers(builder, id, "picked", picked_from(op))) return status;
  return add_numbers(builder, id, "body", {std::max<std::int64_t>(op_count(op), 1)});
}

}  // namespace berth_mlir
