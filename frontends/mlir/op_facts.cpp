#include "op_facts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shards.h"

namespace berth_mlir {
namespace {

constexpr llvm::StringRef kComposite = "stablehlo.composite";

std::string printed(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

/// The element type of a dialect that is not loaded, or not linked: "si64" and "i8" as texts have them. A quantised type has
/// its storage's.
llvm::StringRef dtype_of_text(llvm::StringRef text) {
  struct Name {
    llvm::StringRef text, dtype;
  };
  constexpr Name kNames[] = {{"f32", "f32"},
                             {"f64", "f64"},
                             {"f16", "f16"},
                             {"bf16", "bf16"},
                             {"i1", "bool"},
                             {"i4", "i4"},
                             {"u4", "u4"},
                             {"ui4", "u4"},
                             {"i8", "i8"},
                             {"si8", "i8"},
                             {"u8", "u8"},
                             {"ui8", "u8"},
                             {"i16", "i16"},
                             {"si16", "i16"},
                             {"u16", "u16"},
                             {"ui16", "u16"},
                             {"i32", "i32"},
                             {"si32", "i32"},
                             {"u32", "u32"},
                             {"ui32", "u32"},
                             {"i64", "i64"},
                             {"si64", "i64"},
                             {"ui64", "u64"},
                             {"complex<f32>", "c64"},
                             {"complex<f64>", "c128"}};
  if (text.starts_with("!quant.")) text = text.split('<').second.split(':').first.split('<').first;
  for (const Name& name : kNames) {
    if (text.trim() == name.text) return name.dtype;
  }
  return text.starts_with("f8") ? "f8" : "";
}

llvm::StringRef dtype_of(mlir::Type type) {
  if (type.isF32()) return "f32";
  if (type.isF64()) return "f64";
  if (type.isF16()) return "f16";
  if (type.isBF16()) return "bf16";
  if (type.isIndex()) return "i64";
  if (auto number = mlir::dyn_cast<mlir::ComplexType>(type)) {
    const mlir::Type part = number.getElementType();
    return part.isF64() ? "c128" : part.isF32() ? "c64" : "";
  }
  if (auto number = mlir::dyn_cast<mlir::FloatType>(type)) {
    return number.getWidth() == 8 ? "f8" : "";
  }
  if (auto number = mlir::dyn_cast<mlir::IntegerType>(type)) {
    switch (number.getWidth()) {
      case 1:
        return "bool";
      case 4:
        return number.isUnsigned() ? "u4" : "i4";
      case 8:
        return number.isUnsigned() ? "u8" : "i8";
      case 16:
        return number.isUnsigned() ? "u16" : "i16";
      case 32:
        return number.isUnsigned() ? "u32" : "i32";
      case 64:
        return number.isUnsigned() ? "u64" : "i64";
      default:
        return "";
    }
  }
  return dtype_of_text(printed(type));
}

/// The bits of an element, whatever Berth calls its type; 0 where nothing is known of it.
unsigned bits_of(mlir::Type type) {
  if (type.isIntOrFloat()) return type.getIntOrFloatBitWidth();
  if (auto number = mlir::dyn_cast<mlir::ComplexType>(type)) {
    return 2 * bits_of(number.getElementType());
  }
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type)) {
    return static_cast<unsigned>(vector.getNumElements()) * bits_of(vector.getElementType());
  }
  // The storage of a quantised type: "i2".
  const std::string text = printed(type);
  llvm::StringRef storage = text;
  unsigned bits = 0;
  if (!storage.consume_front("!quant.")) return 0;
  storage = storage.split('<').second.split(':').first.split('<').first.ltrim("sui");
  return storage.getAsInteger(10, bits) ? 0 : bits;
}

/// "!torch.vtensor<[8,?],f32>": a list of sizes and an element type in brackets.
bool read_listed_type(llvm::StringRef text, TensorFacts& facts) {
  if (!text.starts_with("!") || !text.ends_with(">") || !text.split('<').second.starts_with("[")) {
    return false;
  }
  const auto parts = text.drop_back().split("<[").second.split(']');
  for (llvm::StringRef list = parts.first; !list.empty();) {
    const auto dims = list.split(',');
    std::int64_t dim = -1;
    if (dims.first.trim() != "?" && dims.first.trim().getAsInteger(10, dim)) return false;
    facts.shape.push_back(dim);
    list = dims.second;
  }
  facts.ranked = true;
  facts.dtype = dtype_of_text(parts.second.split(',').second.trim());
  return true;
}

/// Numbers, lists and names that torch-mlir's programs pass beside tensors; what holds tensors is none.
bool is_number_of_torch(llvm::StringRef text) {
  if (!text.consume_front("!torch.")) return false;
  text.consume_front("list<");
  text.consume_front("optional<");
  for (const llvm::StringRef name : {"int", "float", "bool", "none", "str", "number", "Device"}) {
    if (text.starts_with(name)) return true;
  }
  return false;
}

/// arith.constant, torch.constant.int, torch.constant.bool.
bool is_number(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  return type.ends_with(".constant") || type.starts_with("torch.constant.");
}

}  // namespace

TensorFacts::TensorFacts(mlir::Type type) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    ranked = true;
    shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    type = tensor.getElementType();
  } else if (auto buffer = mlir::dyn_cast<mlir::MemRefType>(type)) {
    ranked = true;
    shape.assign(buffer.getShape().begin(), buffer.getShape().end());
    type = buffer.getElementType();
  } else if (auto vector = mlir::dyn_cast<mlir::VectorType>(type)) {
    ranked = true;
    shape.assign(vector.getShape().begin(), vector.getShape().end());
    type = vector.getElementType();
  } else if (type.isIntOrIndexOrFloat()) {
    ranked = true;
  } else if (const std::string text = printed(type); read_listed_type(text, *this)) {
    return;
  } else if (is_number_of_torch(text)) {
    ranked = true;
    dtype = "i64";
    return;
  } else {
    shape.clear();
  }
  for (std::int64_t& dim : shape) dim = mlir::ShapedType::isDynamic(dim) ? -1 : dim;
  dtype = dtype_of(type);
  if (dtype.empty()) element_bits = bits_of(type);
}

berth_tensor TensorFacts::tensor() const {
  berth_tensor tensor = BERTH_TENSOR_INIT;
  tensor.dtype = view(dtype);
  tensor.shape = shape.data();
  tensor.rank = ranked ? static_cast<std::int32_t>(shape.size()) : -1;
  if (ranked && element_bits > 0 && !llvm::is_contained(shape, -1)) {
    tensor.bytes =
        static_cast<std::int64_t>(std::min(std::ceil(elements() * element_bits / 8), 1e18));
  }
  return tensor;
}

double TensorFacts::elements() const {
  double count = 1;
  for (const std::int64_t dim : shape) count *= dim >= 0 ? static_cast<double>(dim) : 1;
  return count;
}

mlir::Attribute attribute_of(mlir::Operation& op, llvm::StringRef name) {
  if (mlir::Attribute own = op.getAttr(name)) return own;
  auto properties = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op.getPropertiesAsAttribute());
  return properties ? properties.get(name) : mlir::Attribute();
}

llvm::StringRef type_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (type != "torch.operator") return type;
  auto name = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(op, "name"));
  return name && !name.empty() ? name.getValue() : type;
}

llvm::StringRef hlo_name(mlir::Operation& op) {
  llvm::StringRef type = op.getName().getStringRef();
  return type.consume_front("stablehlo.") || type.consume_front("mhlo.") ? type : "";
}

bool is_none(mlir::Value value) {
  mlir::Operation* const op = value.getDefiningOp();
  return mlir::isa<mlir::NoneType>(value.getType()) ||
         (op != nullptr && op->getName().getStringRef() == "torch.constant.none");
}

bool is_constant(mlir::Operation& op) {
  if (op.getNumOperands() != 0 || op.getNumRegions() != 0 || op.getNumResults() != 1) return false;
  if (op.getName().getStringRef().ends_with(".constant")) return true;
  // onnx.Constant, tosa.const, tf.Const, torch.vtensor.literal: what they give is in them.
  for (const llvm::StringRef key : {"value", "values", "torch.onnx.value"}) {
    if (mlir::isa_and_nonnull<mlir::ElementsAttr>(attribute_of(op, key))) return true;
  }
  return false;
}

bool packs_tensors(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  const bool packs = type == "torch.prim.ListConstruct" || type == "torch.prim.TupleConstruct" ||
                     type == "stablehlo.tuple" || type == "mhlo.tuple";
  return packs && op.getNumResults() == 1 &&
         llvm::any_of(op.getOperandTypes(),
                      [](mlir::Type element) { return !is_number_of_torch(printed(element)); });
}

llvm::SetVector<mlir::Value> elements_of(mlir::Value value) {
  llvm::SetVector<mlir::Value> elements;
  llvm::SetVector<mlir::Value> open;
  open.insert(value);
  for (std::size_t i = 0; i < open.size(); ++i) {
    mlir::Operation* const op = open[i].getDefiningOp();
    if (op == nullptr || !packs_tensors(*op)) {
      elements.insert(open[i]);
      continue;
    }
    for (mlir::Value element : op->getOperands()) open.insert(element);
  }
  return elements;
}

std::optional<std::int64_t> element_taken(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (op.getNumOperands() < 1 || op.getNumResults() != 1) return std::nullopt;
  if (type.ends_with(".get_tuple_element")) {
    auto index = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute_of(op, "index"));
    return index ? std::optional(index.getValue().getSExtValue()) : std::nullopt;
  }
  const bool indexes = type == "torch.aten.__getitem__.t" || type == "torch.prim.TupleIndex";
  return indexes && op.getNumOperands() == 2 ? number_of(op.getOperand(1)) : std::nullopt;
}

bool unpacks_tensors(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  return op.getNumOperands() == 1 &&
         (type == "torch.prim.ListUnpack" || type == "torch.prim.TupleUnpack");
}

bool is_annotation(mlir::Operation& op) {
  if (converts_shards(op)) return true;
  auto target = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(op, "call_target_name"));
  // JAX checks the sizes that it has names for.
  if (target && target == "shape_assertion") return op.getNumResults() == 0;
  const bool passes = op.getNumResults() == 0 || op.getResultTypes() == op.getOperandTypes();
  if (op.getNumOperands() != 1 || op.getNumRegions() != 0 || !passes) return false;
  const llvm::StringRef type = op.getName().getStringRef();
  for (const llvm::StringRef name :
       {"sharding_constraint", "reshard", "sharding_group", "propagation_barrier"}) {
    if (type.starts_with("sdy.") && type.ends_with(name)) return true;
  }
  if (!target || !type.ends_with(".custom_call")) return false;
  return target == "Sharding" || target.getValue().starts_with("xla.sdy.");
}

TensorFacts facts_of(mlir::Value result) {
  mlir::Operation* const op = result.getDefiningOp();
  const bool of_all_shards = op != nullptr && callee_of(*op) != nullptr;
  const TensorFacts facts(of_all_shards ? whole_type(result) : result.getType());
  if (facts.ranked || op == nullptr || op->getNumOperands() == 0) return facts;
  const bool parts = llvm::StringRef(printed(result.getType())).starts_with("!torch.list<");
  return parts ? TensorFacts(op->getOperand(0).getType()) : facts;
}

std::string global_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  const bool loads =
      type.contains("global_load") || type == "util.global.load" || type == "memref.get_global";
  if (!loads || op.getNumOperands() != 0 || op.getNumResults() != 1) return {};
  for (const llvm::StringRef key : {"global", "name"}) {
    if (auto symbol = mlir::dyn_cast_or_null<mlir::SymbolRefAttr>(attribute_of(op, key))) {
      return symbol.getLeafReference().getValue().str();
    }
  }
  return {};
}

llvm::StringSet<> written_globals(mlir::Operation* module) {
  llvm::StringSet<> written;
  module->walk([&written](mlir::Operation* op) {
    const llvm::StringRef type = op->getName().getStringRef();
    if (type == "memref.global") {
      auto name = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute_of(*op, "sym_name"));
      // What writes through a reference cannot be seen.
      if (name && !attribute_of(*op, "constant")) written.insert(name.getValue());
    } else if (type.contains("global") && type.contains("store")) {
      for (const llvm::StringRef key : {"global", "name"}) {
        auto symbol = mlir::dyn_cast_or_null<mlir::SymbolRefAttr>(attribute_of(*op, key));
        if (symbol) written.insert(symbol.getLeafReference().getValue());
      }
    }
  });
  return written;
}

bool ends_block(mlir::Operation& op) {
  // The trait of terminators is not known of dialects that are not loaded. The last of these inserts is an
  // insert as the others.
  mlir::Operation* const parent = op.getParentOp();
  return &op == &op.getBlock()->back() && op.getNumResults() == 0 && op.getNumRegions() == 0 &&
         parent->getName().getStringRef() != "scf.forall.in_parallel";
}

bool is_scalar(mlir::Operation& op) {
  const auto is_one = [](mlir::Type type) {
    if (mlir::isa<mlir::ShapedType>(type)) return false;
    return type.isIntOrIndexOrFloat() || is_number_of_torch(printed(type));
  };
  return op.getNumOperands() + op.getNumResults() > 0 && op.getNumRegions() == 0 &&
         llvm::all_of(op.getOperandTypes(), is_one) && llvm::all_of(op.getResultTypes(), is_one);
}

bool runs_per_element(mlir::Operation& op) {
  llvm::StringRef type = op.getName().getStringRef();
  if (type.starts_with("linalg.") || type.starts_with("iree_linalg_ext.")) return true;
  if (type == "tensor.pad" || type == "tensor.generate") return true;
  if (!type.consume_front("stablehlo.") && !type.consume_front("mhlo.")) return false;
  return type == "reduce" || type == "map" || type == "reduce_window" ||
         type == "select_and_scatter" || type == "scatter" || type == "sort" ||
         type == "all_reduce" || type == "reduce_scatter";
}

llvm::SmallVector<mlir::Value> captured_by(mlir::Operation& op) {
  llvm::SetVector<mlir::Value> used;
  if (op.getNumRegions() > 0) mlir::getUsedValuesDefinedAbove(op.getRegions(), used);
  llvm::SmallVector<mlir::Value> captured;
  for (mlir::Value value : used) {
    if (!llvm::is_contained(op.getOperands(), value)) captured.push_back(value);
  }
  return captured;
}

std::optional<std::int64_t> number_of(mlir::Value value, bool as_unsigned) {
  mlir::Operation* const op = value.getDefiningOp();
  if (op == nullptr || !is_number(*op)) return std::nullopt;
  const mlir::Attribute value_given = attribute_of(*op, "value");
  std::optional<llvm::APInt> number;
  mlir::Type type;
  if (auto one = mlir::dyn_cast_or_null<mlir::IntegerAttr>(value_given)) {
    number = one.getValue();
    type = one.getType();
  } else if (auto dense = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(value_given)) {
    if (dense.getNumElements() == 1) number = *dense.value_begin<llvm::APInt>();
    type = dense.getElementType();
  }
  if (!number) return std::nullopt;
  if (as_unsigned || type.isUnsignedInteger() || type.isInteger(1)) {
    if (number->getActiveBits() > 63) return std::nullopt;
    return static_cast<std::int64_t>(number->getZExtValue());
  }
  return number->getSignificantBits() > 64 ? std::nullopt : std::optional(number->getSExtValue());
}

llvm::SmallVector<std::int64_t, 4> numbers_of(mlir::Value list) {
  llvm::SmallVector<std::int64_t, 4> numbers;
  mlir::Operation* const op = list.getDefiningOp();
  if (op == nullptr || op->getName().getStringRef() != "torch.prim.ListConstruct") return numbers;
  for (mlir::Value element : op->getOperands()) {
    const auto number = number_of(element);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

bool is_function(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  return type == "func.func" || type == "util.func";  // IREE's own
}

mlir::Region* body_of(mlir::Operation* function) {
  if (function == nullptr || !is_function(*function) || function->getNumRegions() == 0)
    return nullptr;
  mlir::Region& body = function->getRegion(0);
  return body.empty() ? nullptr : &body;
}

mlir::Operation* callee_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  const bool calls = type == "func.call" || type == "call" || type == "util.call";
  if (!calls && type != kComposite) return nullptr;
  auto name = mlir::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(
      attribute_of(op, calls ? "callee" : "decomposition"));
  if (!name) return nullptr;
  mlir::Operation* found = mlir::SymbolTable::lookupNearestSymbolFrom(&op, name.getAttr());
  // Functions of dialects that are not loaded might be tables of symbols themselves, and end that search.
  if (mlir::Operation* const module = op.getParentOfType<mlir::ModuleOp>(); !found && module) {
    found = mlir::SymbolTable::lookupSymbolIn(module, name.getAttr());
  }
  return body_of(found) != nullptr ? found : nullptr;
}

bool runs_in_turn(mlir::Operation& op) {
  if (op.getNumRegions() > 0) return !runs_per_element(op);
  if (callee_of(op) == nullptr) return false;
  return op.getName().getStringRef() == kComposite || shards_of(op) > 1;
}

}  // namespace berth_mlir
