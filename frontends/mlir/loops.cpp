#include "loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"
#include "places.h"
#include "shards.h"

namespace berth_mlir {
namespace {

using Number = std::optional<std::int64_t>;
/// One for each dimension of a loop; empty where it is computed.
using Numbers = llvm::SmallVector<Number, 4>;

Number number_in(mlir::Attribute attribute) {
  auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  return number ? Number(number.getValue().getSExtValue()) : std::nullopt;
}

/// The results of a map; none where a dimension has several of them, whose least or greatest counts.
Numbers constants_of(mlir::Operation& op, llvm::StringRef key, llvm::StringRef groups = {}) {
  Numbers numbers;
  auto map = mlir::dyn_cast_or_null<mlir::AffineMapAttr>(attribute_of(op, key));
  if (!map) return numbers;
  if (auto sizes = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute_of(op, groups))) {
    if (sizes.getNumElements() != map.getValue().getNumResults()) return numbers;
  }
  for (mlir::AffineExpr result : map.getValue().getResults()) {
    auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(result);
    numbers.push_back(number ? Number(number.getValue()) : std::nullopt);
  }
  return numbers;
}

Numbers static_numbers_of(mlir::Operation& op, llvm::StringRef key) {
  Numbers numbers;
  auto array = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attribute_of(op, key));
  if (!array) return numbers;
  for (const std::int64_t number : array.asArrayRef()) {
    numbers.push_back(mlir::ShapedType::isDynamic(number) ? std::nullopt : Number(number));
  }
  return numbers;
}

bool is_loop(llvm::StringRef type) {
  constexpr llvm::StringRef kLoops[] = {"scf.for", "scf.forall", "scf.parallel", "affine.for",
                                        "affine.parallel"};
  return llvm::is_contained(kLoops, type);
}

/// The bounds and steps of a loop; none of other ops.
struct Ranges {
  explicit Ranges(mlir::Operation& op);
  Numbers begins, ends, steps;
};

Ranges::Ranges(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (type == "scf.for" || type == "scf.parallel") {
    unsigned dims = 1;
    if (type == "scf.parallel") dims = op.getRegion(0).getNumArguments();
    if (op.getNumOperands() < 3 * dims) return;
    for (unsigned i = 0; i < dims; ++i) {
      begins.push_back(number_of(op.getOperand(i)));
      ends.push_back(number_of(op.getOperand(dims + i)));
      steps.push_back(number_of(op.getOperand(2 * dims + i)));
    }
  } else if (type == "scf.forall") {
    begins = static_numbers_of(op, "staticLowerBound");
    ends = static_numbers_of(op, "staticUpperBound");
    steps = static_numbers_of(op, "staticStep");
  } else if (type == "affine.for") {
    begins = constants_of(op, "lowerBoundMap");
    ends = constants_of(op, "upperBoundMap");
    steps = {number_in(attribute_of(op, "step"))};
  } else if (type == "affine.parallel") {
    begins = constants_of(op, "lowerBoundsMap", "lowerBoundsGroups");
    ends = constants_of(op, "upperBoundsMap", "upperBoundsGroups");
    auto by = mlir::dyn_cast_or_null<mlir::ArrayAttr>(attribute_of(op, "steps"));
    for (mlir::Attribute step : by ? by.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
      steps.push_back(number_in(step));
    }
  }
}

/// A comparison, from the first operand's side.
enum class Holds { less, at_most, more, at_least, differs };

std::optional<Holds> comparison_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (type == "arith.cmpi") {
    auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute_of(op, "predicate"));
    constexpr Holds kOrders[] = {Holds::less, Holds::at_most, Holds::more, Holds::at_least};
    const std::int64_t predicate = number ? number.getValue().getSExtValue() : -1;
    if (predicate == 1) return Holds::differs;
    return predicate >= 2 && predicate < 10 ? std::optional(kOrders[(predicate - 2) % 4])
                                            : std::nullopt;
  }
  const mlir::Attribute direction = attribute_of(op, "comparison_direction");
  if (!type.ends_with(".compare") || !direction) return std::nullopt;
  std::string text;
  llvm::raw_string_ostream stream(text);
  direction.print(stream);
  struct Name {
    llvm::StringRef text;
    Holds holds;
  };
  constexpr Name kNames[] = {{"LT", Holds::less},
                             {"LE", Holds::at_most},
                             {"GT", Holds::more},
                             {"GE", Holds::at_least},
                             {"NE", Holds::differs}};
  for (const Name& name : kNames) {
    if (llvm::StringRef(text).contains(name.text)) return name.holds;
  }
  return std::nullopt;
}

/// Whether it takes numbers without a sign of their own as unsigned ones.
bool is_unsigned(mlir::Operation& comparison) {
  if (comparison.getName().getStringRef() != "arith.cmpi") return false;
  auto predicate = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute_of(comparison, "predicate"));
  return predicate && predicate.getValue().getSExtValue() >= 6;
}

Holds turned_around(Holds holds) {
  switch (holds) {
    case Holds::less:
      return Holds::more;
    case Holds::at_most:
      return Holds::at_least;
    case Holds::more:
      return Holds::less;
    case Holds::at_least:
      return Holds::at_most;
    case Holds::differs:
      break;
  }
  return Holds::differs;
}

/// A loop that tests before each trip: "while (condition of the state) state = body(state)".
struct While {
  mlir::Block* before;
  mlir::Block* body;
  Followed condition;
};

std::optional<While> while_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (!type.ends_with(".while") || op.getNumRegions() != 2) return std::nullopt;
  for (mlir::Region& region : op.getRegions()) {
    if (!region.hasOneBlock() || region.front().empty()) return std::nullopt;
  }
  While loop{&op.getRegion(0).front(), &op.getRegion(1).front(), {}};
  const auto tested = loop.before->back().getOperands();
  if (tested.empty() || loop.before->getNumArguments() != op.getNumOperands() ||
      loop.body->getNumArguments() != op.getNumOperands() ||
      loop.body->back().getNumOperands() != op.getNumOperands()) {
    return std::nullopt;
  }
  loop.condition = followed({tested.front(), {}});
  // scf.while may hand other values to its body.
  const auto handed = tested.drop_front();
  if (!handed.empty() && !llvm::equal(handed, loop.before->getArguments())) return std::nullopt;
  return loop;
}

/// The number that `value` has in every trip: a constant, or a state that starts as one and stays.
Number fixed_number(mlir::Operation& op, const While& loop, mlir::Value value, bool as_unsigned) {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  if (!argument) return number_of(value, as_unsigned);
  if (argument.getOwner() != loop.before) return std::nullopt;
  const unsigned at = argument.getArgNumber();
  const mlir::Value next = followed({loop.body->back().getOperand(at), {}}).value;
  return next == loop.body->getArgument(at) ? number_of(op.getOperand(at), as_unsigned)
                                            : std::nullopt;
}

/// An operand of the op that gives `value`, behind calls.
mlir::Value operand_behind(const Followed& value, unsigned number) {
  return followed({value.value.getDefiningOp()->getOperand(number), value.calls}).value;
}

/// How much a trip adds to the state at `at`.
std::optional<double> step_of(const While& loop, unsigned at) {
  const Followed sum = followed({loop.body->back().getOperand(at), {}});
  mlir::Operation* const next = sum.value.getDefiningOp();
  if (next == nullptr || next->getNumOperands() != 2) return std::nullopt;
  const llvm::StringRef type = next->getName().getStringRef();
  const bool subtracts = type.ends_with(".subtract") || type == "arith.subi";
  if (!subtracts && !type.ends_with(".add") && type != "arith.addi") return std::nullopt;
  const mlir::Value left = operand_behind(sum, 0), right = operand_behind(sum, 1);
  const mlir::Value state = loop.body->getArgument(at);
  if (left != state && (subtracts || right != state)) return std::nullopt;
  const auto step = number_of(left == state ? right : left);
  if (!step) return std::nullopt;
  return subtracts ? -static_cast<double>(*step) : static_cast<double>(*step);
}

double trips_between(Holds holds, double begin, double end, double step) {
  const double length = (end - begin) / step;
  const bool upwards = holds == Holds::less || holds == Holds::at_most;
  if (holds == Holds::differs) {
    return length >= 0 && length == std::floor(length) ? length : 1;
  }
  if (upwards != (step > 0)) return 1;  // none, or without end
  const bool with_last = holds == Holds::at_most || holds == Holds::at_least;
  return std::max(0.0, with_last ? std::floor(length) + 1 : std::ceil(length));
}

/// Whether the value is the constant false, or a tensor of it.
bool is_false(mlir::Value value) {
  mlir::Operation* const op = value.getDefiningOp();
  if (op == nullptr) return false;
  if (op->getName().getStringRef().ends_with(".broadcast_in_dim")) value = op->getOperand(0);
  return value.getDefiningOp() != nullptr && number_of(value) == 0;
}

/// A truth without what leaves it as it is: "x != false", a conversion to its own type.
Followed bare_truth(Followed truth) {
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps; ++step) {
    mlir::Operation* const op = truth.value.getDefiningOp();
    if (op == nullptr || op->getNumOperands() == 0) return truth;
    const bool converts = op->getName().getStringRef().ends_with(".convert") &&
                          op->getOperand(0).getType() == truth.value.getType();
    const bool compares = op->getNumOperands() == 2 && comparison_of(*op) == Holds::differs &&
                          op->getOperand(0).getType() == truth.value.getType() &&
                          is_false(operand_behind(truth, 1));
    if (!converts && !compares) return truth;
    truth = followed({op->getOperand(0), truth.calls});
  }
  return truth;
}

/// How often the loop runs while a comparison holds; empty where that is not known.
std::optional<double> trips_while(mlir::Operation& op, const While& loop, const Followed& truth) {
  mlir::Operation& test = *truth.value.getDefiningOp();
  const std::optional<Holds> holds = comparison_of(test);
  if (!holds) return std::nullopt;
  for (const unsigned side : {0U, 1U}) {
    auto counter = mlir::dyn_cast<mlir::BlockArgument>(operand_behind(truth, side));
    if (!counter || counter.getOwner() != loop.before) continue;
    const unsigned at = counter.getArgNumber();
    const auto begin = number_of(op.getOperand(at), is_unsigned(test));
    const mlir::Value last = operand_behind(truth, 1 - side);
    const auto end = fixed_number(op, loop, last, is_unsigned(test));
    const auto step = step_of(loop, at);
    if (!begin || !end || !step || *step == 0) continue;
    return trips_between(side == 0 ? *holds : turned_around(*holds), static_cast<double>(*begin),
                         static_cast<double>(*end), *step);
  }
  return std::nullopt;
}

/// Data may end a loop early whose condition is "counts and ..": the largest step counts.
Trips trips_of_while(mlir::Operation& op) {
  Trips trips{1, false};
  const std::optional<While> loop = while_of(op);
  if (!loop) return trips;
  constexpr std::size_t kMostParts = 64;
  llvm::SmallVector<Followed> open = {loop->condition};
  for (std::size_t i = 0; i < std::min(open.size(), kMostParts); ++i) {
    const Followed truth = bare_truth(open[i]);
    mlir::Operation* const test = truth.value.getDefiningOp();
    if (test == nullptr || test->getNumOperands() != 2) continue;
    const llvm::StringRef type = test->getName().getStringRef();
    if (type == "arith.andi" || type == "stablehlo.and" || type == "mhlo.and") {
      for (mlir::Value part : test->getOperands()) open.push_back(followed({part, truth.calls}));
    } else if (const auto count = trips_while(op, *loop, truth)) {
      trips = {trips.known ? std::min(trips.count, *count) : *count, true};
    }
  }
  return trips;
}

double element_bytes(const TensorFacts& facts) {
  if (facts.dtype.empty()) return facts.element_bits / 8.0;
  if (facts.dtype == "bool") return 1;
  unsigned bits = 0;
  const llvm::StringRef digits = facts.dtype.drop_while([](char c) { return c < '0' || c > '9'; });
  return digits.getAsInteger(10, bits) ? 0 : bits / 8.0;
}

/// The operand in whose memory the result is, as another form of it or as it is; null where the result has its own.
mlir::Value seen_by(mlir::OpResult result) {
  const mlir::Value same = operand_that_is(result);
  return same || !is_view(*result.getOwner()) ? same : result.getOwner()->getOperand(0);
}

/// The tensor that a value is, or shows.
mlir::Value tensor_of(mlir::Value value) {
  while (auto result = mlir::dyn_cast_or_null<mlir::OpResult>(value)) {
    const mlir::Value shown = seen_by(result);
    if (!shown) break;
    value = shown;
  }
  return value;
}

/// The memory of blocks, each function's once.
class Bodies {
 public:
  double most_in(mlir::Operation& op) {
    double most = 0;
    for (mlir::Region& region : op.getRegions()) {
      if (region.hasOneBlock()) most = std::max(most, most_in(region.front()));
    }
    return most;
  }

 private:
  double most_in(mlir::Block& block) {
    const Liveness liveness(block, effects_);
    llvm::DenseMap<mlir::Value, mlir::Operation*> last_reader;
    for (mlir::Operation& op : block) {
      if (liveness.is_dead(op)) continue;
      op.walk([&](mlir::Operation* inner) {
        for (mlir::Value operand : inner->getOperands()) {
          for (mlir::Value value : elements_of(operand)) last_reader[tensor_of(value)] = &op;
        }
      });
    }
    llvm::DenseMap<mlir::Value, double> bytes_held;
    // States of a loop have memory outside. An argument of a function too, but its caller may read that again.
    if (!is_function(*block.getParentOp())) {
      for (mlir::BlockArgument state : block.getArguments()) bytes_held[state] = 0;
    }
    llvm::DenseMap<mlir::Operation*, double> given_up;  // by the op that reads last
    double held = 0, most = 0;
    for (mlir::Operation& op : block) {
      if (&op == &block.back()) break;
      if (liveness.is_dead(op)) continue;
      if (!is_constant(op) && !is_empty(op) && !packs_tensors(op)) {
        for (mlir::OpResult result : op.getResults()) {
          mlir::Operation* const last = last_reader.lookup(result);
          // The loop's state, or the op's own result, or a tensor that has memory already.
          if (last == &block.back() || seen_by(result)) continue;
          const mlir::Value place = tensor_of(destination_of(result));
          const bool taken = bytes_held.contains(place) && last_reader.lookup(place) == &op;
          const double bytes = taken ? bytes_held.lookup(place) : bytes_of(result);
          bytes_held[result] = bytes;
          (taken ? given_up[&op] : held) += taken ? -bytes : bytes;
          given_up[last == nullptr ? &op : last] += bytes;
        }
      }
      most = std::max(most, held + inside(op));
      held -= given_up.lookup(&op);
    }
    return most;
  }

  double inside(mlir::Operation& op) {
    if (mlir::Operation* const callee = callee_of(op)) {
      // A function that calls itself finds 0 here.
      const auto [known, is_new] = functions_.try_emplace(callee, 0);
      if (!is_new || depth_ == kDeepest) return known->second;
      ++depth_;
      const double most = most_in(*callee);
      --depth_;
      return functions_[callee] = most;
    }
    return runs_per_element(op) ? 0 : most_in(op);
  }

  static constexpr int kDeepest = 64;  // calls; more would need a stack without end

  llvm::DenseMap<mlir::Operation*, double> functions_;
  Effects effects_;
  int depth_ = 0;
};

}  // namespace

Trips trips_of(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (op.getNumRegions() > 0) {
    auto said = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.getAttr(kTripsAttribute));
    if (said) return {static_cast<double>(said.getValue().getSExtValue()), true};
  }
  if (const double shards = shards_of(op); shards > 1) return {shards, true};
  if (type.ends_with(".while")) return trips_of_while(op);
  const Ranges ranges(op);
  Trips trips;
  trips.known = !ranges.begins.empty() || !is_loop(type);
  for (const auto& [begin, end, step] : llvm::zip(ranges.begins, ranges.ends, ranges.steps)) {
    if (!begin || !end || !step || *step <= 0) {
      trips.known = false;
      continue;
    }
    const double length = static_cast<double>(*end) - static_cast<double>(*begin);
    trips.count *= std::max(0.0, std::ceil(length / static_cast<double>(*step)));
  }
  return trips;
}

llvm::SetVector<mlir::Operation*> uncounted_loops(llvm::ArrayRef<mlir::Operation*> ops) {
  llvm::SetVector<mlir::Operation*> uncounted, open;
  const auto visit = [&](mlir::Operation* op) {
    if (!trips_of(*op).known) uncounted.insert(op);
    if (mlir::Operation* const callee = callee_of(*op)) open.insert(callee);
  };
  for (mlir::Operation* op : ops) op->walk(visit);
  for (std::size_t i = 0; i < open.size(); ++i) open[i]->walk(visit);
  return uncounted;
}

double bytes_of(mlir::Value value) {
  const TensorFacts facts = facts_of(value);
  return facts.ranked ? facts.elements() * element_bytes(facts) : 0;
}

double body_bytes(mlir::Operation& op) {
  mlir::Operation* const callee = callee_of(op);
  return Bodies().most_in(callee != nullptr ? *callee : op);
}

}  // namespace berth_mlir
