#include "assumed.h"

#include <string>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "loops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "op_facts.h"

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

/// "[main:]arg0:1=64".
std::optional<GivenSize> read_size(llvm::StringRef text) {
  GivenSize given{{}, 0, 0, 0};
  auto [place, size] = text.split('=');
  const auto [front, dimension] = place.rsplit(':');
  llvm::StringRef argument = front;
  if (front.contains(':')) {
    given.function = front.rsplit(':').first.str();
    argument = front.rsplit(':').second;
  }
  const bool is_read = argument.consume_front("arg") &&
                       !argument.getAsInteger(10, given.argument) &&
                       !dimension.getAsInteger(10, given.dimension) &&
                       !size.getAsInteger(10, given.size) && given.size > 0;
  return is_read ? std::optional(given) : std::nullopt;
}

/// The functions to whose arguments a size belongs.
llvm::SmallVector<mlir::Operation*> functions_for(mlir::ModuleOp module, llvm::StringRef name) {
  llvm::SmallVector<mlir::Operation*> functions;
  llvm::DenseSet<mlir::Operation*> called;
  module->walk([&called](mlir::Operation* op) { called.insert(callee_of(*op)); });
  module->walk([&](mlir::Operation* op) {
    if (body_of(op) == nullptr) return;
    const bool fits = name.empty() ? !called.contains(op)
                                   : mlir::SymbolTable::getSymbolName(op).getValue() == name;
    if (fits) functions.push_back(op);
  });
  return functions;
}

/// Whether the type of the argument leaves that size open.
bool leaves_open(mlir::Operation* function, const GivenSize& given) {
  mlir::Region& body = *body_of(function);
  if (given.argument >= body.getNumArguments()) return false;
  const TensorFacts facts(body.getArgument(given.argument).getType());
  return given.dimension < facts.shape.size() && facts.shape[given.dimension] < 0;
}

}  // namespace

std::optional<GivenSizes> read_sizes(llvm::ArrayRef<std::string> texts, mlir::ModuleOp module,
                                     std::string& error) {
  GivenSizes sizes;
  for (const std::string& text : texts) {
    if (!llvm::StringRef(text).contains('=')) {
      if (!llvm::StringRef(text).getAsInteger(10, sizes.others) && sizes.others > 0) continue;
      error = text + " is no size; give a number from 1 on, or leave it out";
      return std::nullopt;
    }
    const auto given = read_size(text);
    if (!given) {
      error = text +
              " is not read; give ARGUMENT:DIMENSION=SIZE, such as arg0:1=64 or "
              "main:arg0:1=64, with a size from 1 on";
      return std::nullopt;
    }
    const auto functions = functions_for(module, given->function);
    if (llvm::none_of(functions, [&given](mlir::Operation* function) {
          return leaves_open(function, *given);
        })) {
      error = text +
              " is of no argument whose type leaves that size open; count arguments and "
              "dimensions of a function with a body from 0 on";
      return std::nullopt;
    }
    sizes.of_arguments.push_back(*given);
  }
  return sizes;
}

Assumed::Assumed(mlir::ModuleOp module, const GivenSizes& sizes, std::int64_t trips)
    : inference_(module) {
  give_to_arguments(module, sizes);
  inference_.run();
  module->walk([&](mlir::Operation* op) {
    for (mlir::Value result : op->getResults()) give_rest(result, sizes.others);
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Value argument : region.getArguments()) give_rest(argument, sizes.others);
    }
    if (trips == 0 || trips_of(*op).known) return;
    op->setAttr(kTripsAttribute, mlir::Builder(op->getContext()).getI64IntegerAttr(trips));
    loops_.push_back(op);
  });
}

Assumed::~Assumed() {
  inference_.undo();
  for (mlir::Operation* loop : loops_) loop->removeAttr(kTripsAttribute);
}

void Assumed::give_to_arguments(mlir::ModuleOp module, const GivenSizes& sizes) {
  for (const GivenSize& given : sizes.of_arguments) {
    for (mlir::Operation* function : functions_for(module, given.function)) {
      if (!leaves_open(function, given)) continue;
      mlir::Value argument = body_of(function)->getArgument(given.argument);
      Sizes all(TensorFacts(argument.getType()).shape.size(), -1);
      all[given.dimension] = given.size;
      inference_.give(argument, all);
    }
  }
  for (mlir::Operation* function : functions_for(module, {})) {
    for (mlir::Value argument : body_of(function)->getArguments()) {
      give_rest(argument, sizes.others);
    }
  }
}

void Assumed::give_rest(mlir::Value value, std::int64_t others) {
  const std::size_t rank = TensorFacts(value.getType()).shape.size();
  Sizes all(rank, others > 0 ? others : -1);
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(value.getType())) {
    for (auto [size, bound] : llvm::zip(all, bounds_in(tensor.getEncoding()))) {
      if (bound > 0) size = bound;
    }
  }
  inference_.give(value, all);
}

}  // namespace berth_mlir
