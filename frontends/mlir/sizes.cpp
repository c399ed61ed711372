#include "sizes.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "attributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"
#include "places.h"

namespace berth_mlir {
namespace {

constexpr std::int64_t kOpen = -1;

std::string printed(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

bool is_open(llvm::ArrayRef<std::int64_t> sizes) {
  return llvm::is_contained(sizes, kOpen);
}

/// "!torch.vtensor<[?,256],f32>" with sizes for its "?".
mlir::Type listed_type(mlir::Type type, llvm::ArrayRef<std::int64_t> sizes) {
  const std::string text = printed(type);
  if (!llvm::StringRef(text).starts_with("!torch.v")) return type;
  std::string given;
  std::size_t at = 0;
  for (const char c : text) {
    const bool says = c == '?' && at < sizes.size() && sizes[at] >= 0;
    given += says ? std::to_string(sizes[at]) : std::string(1, c);
    if (c == ',') ++at;
  }
  return given == text ? type : mlir::parseType(given, type.getContext());
}

/// The name without its dialect, of an op of StableHLO or of MHLO; empty for others.
llvm::StringRef hlo_name(mlir::Operation& op) {
  llvm::StringRef type = op.getName().getStringRef();
  return type.consume_front("stablehlo.") || type.consume_front("mhlo.") ? type : "";
}

std::int64_t number_at(mlir::Operation& op, llvm::StringRef key) {
  const Sizes numbers = numbers_in(attribute_of(op, key));
  return numbers.empty() ? kOpen : numbers.front();
}

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

/// Whether a result with an operand's open type need not have its sizes.
bool changes_sizes(llvm::StringRef type) {
  if (type.starts_with("onnx.") || type.starts_with("tf.") || type.ends_with("custom_call")) {
    return true;
  }
  llvm::StringRef name = type;
  if (name.consume_front("torch.aten.")) {
    name = name.split('.').first;
  } else {
    name = name.rsplit('.').second;
  }
  constexpr llvm::StringRef kNames[] = {"as_strided",
                                        "baddbmm",
                                        "bmm",
                                        "cat",
                                        "concat",
                                        "convolution",
                                        "dot",
                                        "dynamic_conv",
                                        "dynamic_pad",
                                        "dynamic_slice",
                                        "einsum",
                                        "expand",
                                        "flip",
                                        "gather",
                                        "index",
                                        "index_select",
                                        "masked_select",
                                        "matmul",
                                        "mm",
                                        "nonzero",
                                        "pad",
                                        "permute",
                                        "repeat",
                                        "reshape",
                                        "real_dynamic_slice",
                                        "rescale",
                                        "resize",
                                        "select",
                                        "slice",
                                        "subview",
                                        "t",
                                        "tile",
                                        "transpose",
                                        "unique_dim",
                                        "view"};
  const bool chooses =
      type == "stablehlo.select" || type == "arith.select" || type == "tosa.select";
  return llvm::is_contained(kNames, name) && !chooses;
}

}  // namespace

mlir::Type with_sizes(mlir::Type type, llvm::ArrayRef<std::int64_t> sizes) {
  const auto filled = [sizes](llvm::ArrayRef<std::int64_t> shape) {
    llvm::SmallVector<std::int64_t> all(shape);
    for (auto [own, given] : llvm::zip(all, sizes)) {
      if (mlir::ShapedType::isDynamic(own) && given >= 0) own = given;
    }
    return all;
  };
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    const auto shape = filled(tensor.getShape());
    if (llvm::equal(shape, tensor.getShape())) return type;
    // An encoding may say bounds, which sizes must not have.
    const bool open = llvm::any_of(shape, mlir::ShapedType::isDynamic);
    return open ? mlir::RankedTensorType::get(shape, tensor.getElementType(), tensor.getEncoding())
                : mlir::RankedTensorType::get(shape, tensor.getElementType());
  }
  if (auto buffer = mlir::dyn_cast<mlir::MemRefType>(type)) {
    return mlir::MemRefType(mlir::MemRefType::Builder(buffer).setShape(filled(buffer.getShape())));
  }
  return listed_type(type, sizes);
}

void SizeInference::give(mlir::Value value, llvm::ArrayRef<std::int64_t> sizes) {
  const mlir::Type type = value.getType(), given = with_sizes(type, sizes);
  if (given == type) return;
  own_types_.try_emplace(value, type);
  value.setType(given);
  any_ = true;
}

void SizeInference::run() {
  constexpr int kMostPasses = 32;  // calls of calls need as many
  any_ = true;
  for (int pass = 0; pass < kMostPasses && any_; ++pass) {
    any_ = false;
    module_->walk<mlir::WalkOrder::PreOrder>([this](mlir::Operation* op) { visit(*op); });
  }
}

void SizeInference::undo() {
  for (auto& [value, type] : own_types_) value.setType(type);
}

void SizeInference::visit(mlir::Operation& op) {
  if (mlir::Operation* const callee = callee_of(op)) return visit_call(op, *callee);
  const llvm::StringRef type = op.getName().getStringRef();
  // States of loops have the types of their starts.
  const bool counts = type == "scf.for" || type == "affine.for";
  if (counts || type.ends_with(".while")) {
    for (mlir::Region& region : op.getRegions()) {
      for (mlir::BlockArgument state : region.getArguments()) {
        const unsigned before = counts ? 1 : 0, at = state.getArgNumber();
        const unsigned states = region.getNumArguments() - before;
        if (at < before || op.getNumOperands() < states) continue;
        give(state, sizes_of(op.getOperand(op.getNumOperands() - states + at - before)));
      }
    }
  }
  for (mlir::OpResult result : op.getResults()) {
    const Sizes own = sizes_of(result);
    if (!is_open(own)) continue;
    const Sizes sizes = inferred(op, result.getResultNumber());
    if (sizes.size() == own.size()) give(result, sizes);
  }
}

void SizeInference::visit_call(mlir::Operation& call, mlir::Operation& callee) {
  mlir::Region& body = *body_of(&callee);
  for (auto [argument, operand] : llvm::zip(body.getArguments(), call.getOperands())) {
    handed_over_.try_emplace(argument, operand);
    give(argument, sizes_of(operand));
  }
  if (!body.hasOneBlock()) return;
  for (auto [result, value] : llvm::zip(call.getResults(), body.front().back().getOperands())) {
    give(result, sizes_of(value));
  }
}

Sizes SizeInference::sizes_of(mlir::Value value) const {
  const TensorFacts facts(value.getType());
  return facts.ranked ? facts.shape : Sizes();
}

Sizes SizeInference::own_sizes_of(mlir::Value value) const {
  const TensorFacts facts(own_types_.contains(value) ? own_types_.lookup(value) : value.getType());
  return facts.ranked ? facts.shape : Sizes();
}

Sizes SizeInference::inferred(mlir::Operation& op, unsigned result) const {
  const llvm::StringRef type = type_of(op), hlo = hlo_name(op);
  if (const mlir::Value place = destination_by_type(op.getResult(result))) return sizes_of(place);
  if (!hlo.empty()) {
    if (const Sizes sizes = inferred_of_hlo(op, hlo); !sizes.empty()) return sizes;
  } else if (const Sizes sizes = inferred_of_tensor(op, type); !sizes.empty()) {
    return sizes;
  }
  // What branches and bodies hand on is the result.
  if (op.getNumRegions() > 0 && !runs_per_element(op) && op.getRegion(0).hasOneBlock()) {
    const auto handed_on = op.getRegion(0).front().back().getOperands();
    if (result < handed_on.size()) return sizes_of(handed_on[result]);
  }
  return as_operand_alike(op, result);
}

Sizes SizeInference::inferred_of_hlo(mlir::Operation& op, llvm::StringRef name) const {
  if (op.getNumOperands() == 0) return {};
  const Sizes first = sizes_of(op.getOperand(0));
  const std::size_t rank = own_sizes_of(op.getResult(0)).size();
  if (name == "dot_general" || name == "dot") return product(op);
  if (name == "gather" || name == "dynamic_gather") return gathered(op);
  if (name == "concatenate") return joined(op, number_at(op, "dimension"));
  if (name == "dynamic_iota") return contents(op.getOperand(0), rank);
  if (name == "dynamic_broadcast_in_dim" || name == "dynamic_reshape") {
    return op.getNumOperands() > 1 ? contents(op.getOperand(1), rank) : Sizes();
  }
  Sizes sizes;
  if (name == "transpose") {
    for (const std::int64_t from : numbers_in(attribute_of(op, "permutation"))) {
      sizes.push_back(from < static_cast<std::int64_t>(first.size()) ? first[from] : kOpen);
    }
  } else if (name == "reduce") {
    const Sizes gone = numbers_in(attribute_of(op, "dimensions"));
    for (auto [at, size] : llvm::enumerate(first)) {
      if (!llvm::is_contained(gone, static_cast<std::int64_t>(at))) sizes.push_back(size);
    }
  } else if (name == "reduce_window") {
    const Sizes window = numbers_in(attribute_of(op, "window_dimensions"));
    for (auto [size, side] : llvm::zip(first, window)) sizes.push_back(side == 1 ? size : kOpen);
  } else if (name == "convolution" && attribute_of(op, "dimension_numbers")) {
    const ConvolutionDims dims = convolution_dims(op);
    if (dims.input_batch.empty() || dims.output_batch.empty()) return {};
    const auto in = static_cast<std::size_t>(dims.input_batch.front());
    const auto out = static_cast<std::size_t>(dims.output_batch.front());
    sizes.assign(rank, kOpen);
    if (in < first.size() && out < rank) sizes[out] = first[in];
  }
  return sizes;
}

Sizes SizeInference::inferred_of_tensor(mlir::Operation& op, llvm::StringRef type) const {
  if (type == "tensor.empty" || type == "tensor.generate" || type == "bufferization.alloc_tensor" ||
      type == "memref.alloc" || type == "memref.alloca") {
    return listed(op, 0);
  }
  if (type == "tensor.splat") return listed(op, 1);
  if (type == "tensor.expand_shape") return regrouped(op, /*collapses=*/false);
  if (type == "tensor.collapse_shape") return regrouped(op, /*collapses=*/true);
  if (type == "tensor.concat") return joined(op, number_at(op, "dim"));
  if (type == "tosa.concat") return joined(op, number_at(op, "axis"));
  if (type == "tensor.extract_slice") {
    const Sizes segments = numbers_in(attribute_of(op, "operandSegmentSizes"));
    const Sizes own = own_sizes_of(op.getResult(0));
    const bool whole = numbers_in(attribute_of(op, "static_sizes")).size() == own.size();
    return segments.size() == 4 && whole ? listed(op, static_cast<unsigned>(1 + segments[1]))
                                         : Sizes();
  }
  llvm::StringRef name = type;
  if (!name.consume_front("torch.aten.") || op.getNumOperands() < 2) return {};
  name = name.split('.').first;
  if (name == "view" || name == "reshape" || name == "expand") {
    return contents(op.getOperand(1), own_sizes_of(op.getResult(0)).size());
  }
  const bool multiplies = name == "mm" || name == "matmul" || name == "linear" || name == "bmm";
  if (!multiplies) return {};
  // Rows stay; the columns are the right side's.
  Sizes sizes = sizes_of(op.getOperand(0));
  if (!sizes.empty()) sizes.back() = own_sizes_of(op.getResult(0)).back();
  return sizes;
}

Sizes SizeInference::as_operand_alike(mlir::Operation& op, unsigned result) const {
  if (changes_sizes(type_of(op))) return {};
  const Sizes own = own_sizes_of(op.getResult(result));
  Sizes sizes(own.size(), kOpen);
  for (mlir::Value operand : op.getOperands()) {
    if (own_sizes_of(operand) != own) continue;
    for (auto [size, of_operand] : llvm::zip(sizes, sizes_of(operand))) {
      if (size == kOpen) size = of_operand;
    }
  }
  return sizes;
}

Sizes SizeInference::product(mlir::Operation& op) const {
  const Sizes left = sizes_of(op.getOperand(0)), right = sizes_of(op.getOperand(1));
  ProductDims dims = product_dims(op);
  if (!attribute_of(op, "dot_dimension_numbers")) {
    dims.left_contracting = {static_cast<std::int64_t>(left.size()) - 1};
    dims.right_contracting = {0};
  }
  Sizes sizes;
  for (const std::int64_t batch : dims.left_batching) {
    if (batch >= static_cast<std::int64_t>(left.size())) return {};
    sizes.push_back(left[batch]);
  }
  const auto add_others = [&sizes](const Sizes& of, const Sizes& batching, const Sizes& summed) {
    for (auto [at, size] : llvm::enumerate(of)) {
      const auto dim = static_cast<std::int64_t>(at);
      if (!llvm::is_contained(batching, dim) && !llvm::is_contained(summed, dim)) {
        sizes.push_back(size);
      }
    }
  };
  add_others(left, dims.left_batching, dims.left_contracting);
  add_others(right, dims.right_batching, dims.right_contracting);
  return sizes;
}

Sizes SizeInference::gathered(mlir::Operation& op) const {
  const GatherDims dims = gather_dims(op);
  Sizes indices = sizes_of(op.getOperand(1)), sizes = own_sizes_of(op.getResult(0));
  if (dims.index_vector >= 0 && dims.index_vector < static_cast<std::int64_t>(indices.size())) {
    indices.erase(indices.begin() + dims.index_vector);
  }
  std::size_t next = 0;
  for (auto [at, size] : llvm::enumerate(sizes)) {
    if (llvm::is_contained(dims.offsets, static_cast<std::int64_t>(at))) continue;
    if (next < indices.size() && size == kOpen) size = indices[next];
    ++next;
  }
  return sizes;
}

Sizes SizeInference::joined(mlir::Operation& op, std::int64_t axis) const {
  Sizes sizes(own_sizes_of(op.getResult(0)).size(), kOpen);
  if (axis < 0 || axis >= static_cast<std::int64_t>(sizes.size())) return {};
  std::int64_t sum = 0;
  for (mlir::Value part : op.getOperands()) {
    const Sizes of_part = sizes_of(part);
    if (of_part.size() != sizes.size()) return {};
    sum = sum == kOpen || of_part[axis] == kOpen ? kOpen : sum + of_part[axis];
    for (auto [size, each] : llvm::zip(sizes, of_part)) size = std::max(size, each);
  }
  sizes[axis] = sum;
  return sizes;
}

Sizes SizeInference::regrouped(mlir::Operation& op, bool collapses) const {
  auto groups = mlir::dyn_cast_or_null<mlir::ArrayAttr>(attribute_of(op, "reassociation"));
  const Sizes from = sizes_of(op.getOperand(0)), own = own_sizes_of(op.getResult(0));
  if (!groups) return {};
  Sizes sizes = own;
  for (auto [at, group] : llvm::enumerate(groups)) {
    const Sizes dims = numbers_in(group);
    const Sizes& parts = collapses ? from : own;
    std::int64_t known = 1, open = 0, open_at = kOpen;
    for (const std::int64_t dim : dims) {
      if (dim >= static_cast<std::int64_t>(parts.size())) return {};
      if (parts[dim] == kOpen) {
        ++open;
        open_at = dim;
      } else {
        known *= parts[dim];
      }
    }
    if (collapses) {
      if (open == 0 && at < sizes.size()) sizes[at] = known;
    } else if (open == 1 && known > 0 && at < from.size() && from[at] != kOpen) {
      sizes[open_at] = from[at] / known;
    }
  }
  return sizes;
}

Sizes SizeInference::listed(mlir::Operation& op, unsigned first) const {
  Sizes sizes = own_sizes_of(op.getResult(0));
  for (std::int64_t& size : sizes) {
    if (size != kOpen) continue;
    if (first >= op.getNumOperands()) return {};
    size = element(op.getOperand(first++), 0).value_or(kOpen);
  }
  return sizes;
}

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
  if (hlo == "get_dimension_size") return size_at(number_at(op, "dimension"));
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
