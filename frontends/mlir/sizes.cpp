#include "sizes.h"

#include <algorithm>
#include <string>

#include "attributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/AsmParser/AsmParser.h"
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

Sizes reordered(const Sizes& from, const Numbers& order) {
  Sizes sizes;
  for (const std::int64_t at : order) {
    sizes.push_back(at >= 0 && at < static_cast<std::int64_t>(from.size()) ? from[at] : kOpen);
  }
  return sizes;
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
  constexpr llvm::StringLiteral kNames =
      " all_gather all_to_all as_strided baddbmm bmm cat col2im concat constant_pad_nd "
      "convolution dot dynamic_conv dynamic_pad dynamic_slice einsum expand fft flip gather "
      "hstack im2col index index_select masked_select matmul mm narrow nonzero pad permute "
      "pixel_shuffle pixel_unshuffle real_dynamic_slice reduce_scatter repeat "
      "repeat_interleave reshape resize select set_dimension_size slice stack subview t tile "
      "top_k topk torch_index_select transpose triangular_solve unfold unique_dim "
      "upsample_bilinear2d upsample_nearest2d view vstack ";
  const bool chooses =
      type == "stablehlo.select" || type == "arith.select" || type == "tosa.select";
  return kNames.contains((" " + name + " ").str()) && !chooses;
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
  // Branches and bodies hand on the result.
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
  if (name == "concatenate") return joined(op, number_in(op, "dimension"));
  if (name == "dynamic_iota") return contents(op.getOperand(0), rank);
  if (name == "dynamic_broadcast_in_dim" || name == "dynamic_reshape") {
    return op.getNumOperands() > 1 ? contents(op.getOperand(1), rank) : Sizes();
  }
  if (name == "transpose") return reordered(first, numbers_in(attribute_of(op, "permutation")));
  Sizes sizes;
  if (name == "reduce") {
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
  if (type == "tensor.reshape" || type == "memref.reshape") {
    return contents(op.getOperand(1), own_sizes_of(op.getResult(0)).size());
  }
  if (type == "tensor.expand_shape") return regrouped(op, /*collapses=*/false);
  if (type == "tensor.collapse_shape") return regrouped(op, /*collapses=*/true);
  if (type == "tensor.concat") return joined(op, number_in(op, "dim"));
  if (type == "tosa.concat") return joined(op, number_in(op, "axis"));
  if (type == "tensor.extract_slice" || type == "memref.subview") {
    const Sizes segments = numbers_in(attribute_of(op, "operandSegmentSizes"));
    const Sizes own = own_sizes_of(op.getResult(0));
    const bool whole = numbers_in(attribute_of(op, "static_sizes")).size() == own.size();
    return segments.size() == 4 && whole ? listed(op, static_cast<unsigned>(1 + segments[1]))
                                         : Sizes();
  }
  if (type.starts_with("tosa.")) return inferred_of_tosa(op, type.drop_front(5));
  llvm::StringRef name = type;
  return name.consume_front("torch.aten.") ? inferred_of_torch(op, name.split('.').first) : Sizes();
}

Sizes SizeInference::inferred_of_tosa(mlir::Operation& op, llvm::StringRef name) const {
  if (op.getNumOperands() == 0) return {};
  if (name == "reshape") return of_as_many(op);
  if (name == "transpose") {
    Numbers order = numbers_in(attribute_of(op, "perms"));
    if (order.empty() && op.getNumOperands() > 1) {
      order = contents(op.getOperand(1), own_sizes_of(op.getResult(0)).size());
    }
    return reordered(sizes_of(op.getOperand(0)), order);
  }
  if (name == "matmul") return with_first(op, 2);
  const bool windows = name.contains("conv") || name.ends_with("pool2d");
  const bool keeps = windows || name == "fully_connected" || name == "resize" ||
                     (name.starts_with("reduce_") && number_in(op, "axis") != 0);
  return keeps ? with_first(op, 1) : Sizes();
}

Sizes SizeInference::inferred_of_torch(mlir::Operation& op, llvm::StringRef name) const {
  if (op.getNumOperands() == 0) return {};
  const Sizes first = sizes_of(op.getOperand(0));
  const auto rank = static_cast<std::int64_t>(first.size());
  const auto axis = [&](unsigned operand) {
    const Number said =
        operand < op.getNumOperands() ? number_of(op.getOperand(operand)) : std::nullopt;
    return said && *said < 0 ? *said + rank : said.value_or(kOpen);
  };
  const std::size_t of_result = own_sizes_of(op.getResult(0)).size();
  if (name == "view" || name == "reshape" || name == "expand") {
    if (op.getNumOperands() < 2) return {};
    const Sizes sizes = contents(op.getOperand(1), of_result);
    return name == "expand" || !llvm::is_contained(sizes, kOpen) ? sizes : of_as_many(op);
  }
  if (name == "mm" || name == "bmm" || name == "matmul" || name == "linear") {
    return with_first(op, of_result - 1);
  }
  if (name == "embedding" && op.getNumOperands() > 1) {
    Sizes sizes = sizes_of(op.getOperand(1));
    if (rank == 2) sizes.push_back(first.back());
    return sizes;
  }
  Numbers order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  if (name == "t" && rank == 2) return {first[1], first[0]};
  if (name == "transpose" && axis(1) >= 0 && axis(1) < rank && axis(2) >= 0 && axis(2) < rank) {
    std::swap(order[axis(1)], order[axis(2)]);
    return reordered(first, order);
  }
  if (name == "permute" && op.getNumOperands() > 1) {
    return reordered(first, numbers_of(op.getOperand(1)));
  }
  if (name == "select" && axis(1) >= 0 && axis(1) < rank) {
    order.erase(order.begin() + axis(1));
    return reordered(first, order);
  }
  return name.contains("conv") || name.contains("_pool") ? with_first(op, 1) : Sizes();
}

Sizes SizeInference::with_first(mlir::Operation& op, std::size_t count) const {
  Sizes sizes = own_sizes_of(op.getResult(0));
  const Sizes first = sizes_of(op.getOperand(0));
  for (std::size_t i = 0; i < std::min({count, sizes.size(), first.size()}); ++i) {
    if (sizes[i] == kOpen) sizes[i] = first[i];
  }
  return sizes;
}

Sizes SizeInference::of_as_many(mlir::Operation& op) const {
  Sizes sizes = own_sizes_of(op.getResult(0));
  const Sizes from = sizes_of(op.getOperand(0));
  if (is_open(from) || llvm::count(sizes, kOpen) != 1) return {};
  std::int64_t all = 1, known = 1;
  for (const std::int64_t size : from) all *= size;
  for (const std::int64_t size : sizes) known *= size == kOpen ? 1 : size;
  if (known > 0) *llvm::find(sizes, kOpen) = all / known;
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
  Sizes slices;
  if (op.getNumOperands() > 2) {  // dynamic_gather computes them
    const std::size_t rank = own_sizes_of(op.getOperand(0)).size();
    for (auto [at, size] : llvm::enumerate(contents(op.getOperand(2), rank))) {
      if (!llvm::is_contained(dims.dropped, static_cast<std::int64_t>(at))) slices.push_back(size);
    }
  }
  std::size_t next_index = 0, next_slice = 0;
  for (auto [at, size] : llvm::enumerate(sizes)) {
    const bool in_slice = llvm::is_contained(dims.offsets, static_cast<std::int64_t>(at));
    const Sizes& from = in_slice ? slices : indices;
    std::size_t& next = in_slice ? next_slice : next_index;
    if (next < from.size() && size == kOpen) size = from[next];
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

}  // namespace berth_mlir
