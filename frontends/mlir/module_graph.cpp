#include "module_graph.h"

#include "buffers.h"
#include "llvm/ADT/Twine.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "op_facts.h"
#include "places.h"

namespace berth_mlir {
namespace {

/// Functions are taken apart by recursion, and their ops are there as often as they are called: few lines
/// can ask for more than any machine has.
constexpr std::size_t kDeepestCall = 256;
constexpr std::int32_t kMostOps = 1 << 20;

mlir::LogicalResult checked(mlir::Operation& op, berth_status status) {
  if (status == BERTH_OK) return mlir::success();
  return op.emitError(message());
}

/// An attribute that the entry gives its argument; null for none.
mlir::Attribute said_of(mlir::BlockArgument argument, llvm::StringRef key) {
  mlir::Operation& entry = *argument.getOwner()->getParentOp();
  auto all = mlir::dyn_cast_or_null<mlir::ArrayAttr>(attribute_of(entry, "arg_attrs"));
  if (!all || argument.getArgNumber() >= all.size()) return {};
  auto said = mlir::dyn_cast<mlir::DictionaryAttr>(all[argument.getArgNumber()]);
  return said ? said.get(key) : mlir::Attribute();
}

/// Whether the caller gives the argument's memory away, as JAX says it: to a result that it names, or to any
/// one of its type.
bool is_donated(mlir::BlockArgument argument) {
  auto donor = mlir::dyn_cast_or_null<mlir::BoolAttr>(said_of(argument, "jax.buffer_donor"));
  return said_of(argument, "tf.aliasing_output") || (donor && donor.getValue());
}

}  // namespace

/// -1 = what does not count, such as a value of the outside, or none.
ModuleGraph::Ids ModuleGraph::tensors_of(const Tensors& tensors, mlir::Value value) {
  const auto found = tensors.find(value);
  return is_none(value) || found == tensors.end() ? Ids{-1} : found->second;
}

std::string ModuleGraph::name_for(llvm::StringRef type) {
  return (type + "#" + llvm::Twine(count_++)).str();
}

mlir::FailureOr<berth_graph*> ModuleGraph::build(mlir::Operation* entry) {
  const auto name = mlir::SymbolTable::getSymbolName(entry).getValue();
  if (failed(checked(*entry, berth_builder_new(view(name), BERTH_TEXT("mlir"), &builder_)))) {
    return mlir::failure();
  }
  mlir::Region& body = *body_of(entry);
  Tensors tensors;
  llvm::SmallVector<Ids> results;
  calls_.push_back(entry);
  if (failed(add_arguments(body, tensors)) || failed(add_body(entry, body, {}, tensors, results))) {
    return mlir::failure();
  }
  if (failed(add_donations(body, tensors, results))) return mlir::failure();
  for (const Ids& ids : results) {
    for (const std::int32_t result : ids) {
      if (result < 0) continue;
      if (failed(checked(*entry, berth_builder_result(builder_, result)))) return mlir::failure();
    }
  }
  // Where inputs count as parameters, what depends on them alone is not computed before the step.
  if (options_.arguments_are_parameters &&
      failed(checked(*entry, berth_builder_no_fold(builder_)))) {
    return mlir::failure();
  }
  berth_graph* graph = nullptr;
  if (failed(checked(*entry, berth_builder_finish(builder_, &graph)))) return mlir::failure();
  return graph;
}

mlir::LogicalResult ModuleGraph::add_arguments(mlir::Region& body, Tensors& tensors) {
  mlir::Operation& function = *body.getParentOp();
  for (mlir::BlockArgument argument : body.getArguments()) {
    const TensorFacts facts(argument.getType());
    leaves_sizes_open_ = leaves_sizes_open_ || llvm::is_contained(facts.shape, -1);
    const berth_tensor tensor = facts.tensor();
    std::int32_t& id = tensors[argument].emplace_back(-1);
    if (options_.arguments_are_parameters) {
      if (failed(checked(function, berth_builder_parameter(builder_, &tensor, &id)))) {
        return mlir::failure();
      }
      kept_.insert(id);
      continue;
    }
    const std::string name = name_for("argument");
    std::int32_t op = -1;
    if (failed(
            checked(function, berth_builder_op(builder_, view(name), BERTH_TEXT("input"), &op))) ||
        failed(checked(function, add_no_work(op))) ||
        failed(checked(function, berth_builder_output(builder_, op, &tensor, &id)))) {
      return mlir::failure();
    }
    arguments_.push_back(op);
    varying_.insert(id);
    if (!is_donated(argument)) kept_.insert(id);
  }
  return mlir::success();
}

mlir::LogicalResult ModuleGraph::add_donations(mlir::Region& body, const Tensors& tensors,
                                               llvm::ArrayRef<Ids> results) {
  if (options_.arguments_are_parameters) return mlir::success();
  llvm::DenseSet<std::int32_t> taken;
  for (mlir::BlockArgument argument : body.getArguments()) {
    taken.insert(tensors_of(tensors, argument).front());
  }
  const auto add = [&](mlir::BlockArgument argument, mlir::IntegerAttr named) {
    for (auto [number, returned] : llvm::enumerate(body.front().back().getOperands())) {
      const Ids& ids = results[number];
      const bool fits =
          named ? named.getValue() == number : returned.getType() == argument.getType();
      // A result may not depend on the step's inputs, or have an argument's place already.
      if (!fits || ids.size() != 1 || !varying_.contains(ids.front())) continue;
      if (!taken.insert(ids.front()).second) continue;
      const std::int32_t input = arguments_[argument.getArgNumber()];
      return checked(*body.getParentOp(), berth_builder_state(builder_, ids.front(), input));
    }
    return mlir::success();
  };
  // Results that have a name first: the others may be anybody's.
  for (const bool with_name : {true, false}) {
    for (mlir::BlockArgument argument : body.getArguments()) {
      auto named =
          mlir::dyn_cast_or_null<mlir::IntegerAttr>(said_of(argument, "tf.aliasing_output"));
      if (!is_donated(argument) || static_cast<bool>(named) != with_name) continue;
      if (failed(add(argument, named))) return mlir::failure();
    }
  }
  return mlir::success();
}

mlir::LogicalResult ModuleGraph::add_body(mlir::Operation* function, mlir::Region& body,
                                          llvm::ArrayRef<bool> wanted, Tensors& tensors,
                                          llvm::SmallVectorImpl<Ids>& results) {
  if (!body.hasOneBlock()) {
    return function->emitError(
        "berth-place: a function of several blocks has no graph; turn branches into ops with "
        "regions (scf.if, stablehlo.case) first");
  }
  const Liveness liveness(body.front(), effects_, wanted);
  for (mlir::Operation& op : body.front()) {
    if (liveness.is_dead(op)) {
      note_dead(op);
      continue;
    }
    if (ends_block(op)) {
      for (mlir::Value value : op.getOperands()) results.push_back(tensors_of(tensors, value));
      break;
    }
    mlir::Operation* const callee = callee_of(op);
    if (callee != nullptr && !runs_in_turn(op)) {
      if (failed(add_call(op, callee, *body_of(callee), liveness.read_of(op), tensors)))
        return mlir::failure();
      continue;
    }
    if (failed(add_op(op, tensors))) return mlir::failure();
  }
  return mlir::success();
}

void ModuleGraph::note_dead(mlir::Operation& op) {
  if (is_constant(op) || is_empty(op) || only_passes_on(op) || packs_tensors(op)) return;
  dead_.insert(&op);
  static_cast<void>(asked_device(op));  // which must be there still
}

std::vector<mlir::Operation*> ModuleGraph::dead() const {
  std::vector<mlir::Operation*> dead;
  llvm::copy_if(dead_, std::back_inserter(dead),
                [this](mlir::Operation* op) { return id_of_.lookup_or(op) < 0; });
  return dead;
}

mlir::LogicalResult ModuleGraph::add_call(mlir::Operation& call, mlir::Operation* callee,
                                          mlir::Region& body, llvm::ArrayRef<bool> wanted,
                                          Tensors& tensors) {
  if (llvm::is_contained(calls_, callee)) {
    return call.emitError("berth-place: a function that calls itself has no graph");
  }
  if (calls_.size() >= kDeepestCall) {
    return call.emitError("berth-place: calls are nested more than ")
           << kDeepestCall << " deep; inline them first (--inline)";
  }
  if (failed(count_one(call))) return mlir::failure();
  Tensors inner;
  for (auto [argument, operand] : llvm::zip(body.getArguments(), call.getOperands())) {
    inner[argument] = tensors_of(tensors, operand);
  }
  llvm::SmallVector<Ids> results;
  calls_.push_back(callee);
  mlir::StringAttr device = asked_device(call);
  if (!device && !devices_of_calls_.empty()) device = devices_of_calls_.back();
  devices_of_calls_.push_back(device);
  if (failed(add_body(callee, body, wanted, inner, results))) return mlir::failure();
  devices_of_calls_.pop_back();
  calls_.pop_back();
  for (auto [value, ids] : llvm::zip(call.getResults(), results)) tensors[value] = ids;
  return mlir::success();
}

mlir::LogicalResult ModuleGraph::count_one(mlir::Operation& op) {
  if (++expanded_ <= kMostOps) return mlir::success();
  return op.emitError("berth-place: the function has more than ")
         << kMostOps << " ops with those of the functions that it calls in their places";
}

mlir::LogicalResult ModuleGraph::add_op(mlir::Operation& op, Tensors& tensors) {
  if (failed(count_one(op))) return mlir::failure();
  if ((is_constant(op) || is_empty(op)) && !attribute_of(op, options_.attribute)) {
    const TensorFacts facts(op.getResult(0).getType());
    berth_tensor tensor = facts.tensor();
    if (is_empty(op)) tensor.bytes = 0;
    std::int32_t& parameter = tensors[op.getResult(0)].emplace_back(-1);
    const auto status = berth_builder_parameter(builder_, &tensor, &parameter);
    if (is_constant(op)) kept_.insert(parameter);
    return checked(op, status);
  }
  for (mlir::OpResult result : op.getResults()) {
    if (mlir::Value same = operand_that_is(result)) tensors[result] = tensors_of(tensors, same);
  }
  if (only_passes_on(op)) return mlir::success();
  const mlir::FailureOr<bool> passed = pass_elements(op, tensors);
  if (failed(passed) || *passed) return passed;
  const llvm::StringRef type = type_of(op);
  const std::string name = name_for(type);
  std::int32_t id = -1;
  if (failed(checked(op, berth_builder_op(builder_, view(name), view(type), &id)))) {
    return mlir::failure();
  }
  bool varies = false;
  if (failed(add_inputs(op, id, tensors, varies))) return mlir::failure();
  if (failed(note_load(op, id, tensors))) return mlir::failure();
  // Else it is a constant of the step, as what it writes over may be.
  if (varies && failed(keep_in_step(op, tensors))) return mlir::failure();
  if (failed(add_outputs(op, id, varies, tensors))) return mlir::failure();
  if (failed(order_buffers(op, id, tensors))) return mlir::failure();
  if (failed(checked(op, add_work(op, id, tensors)))) return mlir::failure();
  if (id_of_.try_emplace(&op, id).second) ops_.push_back(&op);
  return add_hints(op, id);
}

mlir::LogicalResult ModuleGraph::add_outputs(mlir::Operation& op, std::int32_t id, bool varies,
                                             Tensors& tensors) {
  // An update of a part of it lies in its memory.
  mlir::Operation* const taker = taker_of(op);
  const bool has_memory = !is_empty(op) && (taker == nullptr || updates_part(*taker));
  for (mlir::OpResult result : op.getResults()) {
    if (tensors.contains(result)) continue;
    const TensorFacts facts = facts_of(result);
    leaves_sizes_open_ = leaves_sizes_open_ || llvm::is_contained(facts.shape, -1);
    berth_tensor tensor = facts.tensor();
    if (!has_memory) tensor.bytes = 0;
    std::int32_t& made = tensors[result].emplace_back(-1);
    if (failed(checked(op, berth_builder_output(builder_, id, &tensor, &made)))) {
      return mlir::failure();
    }
    if (varies) varying_.insert(made);
    made_by_[made] = id;
  }
  return mlir::success();
}

std::int32_t ModuleGraph::buffer_behind(std::int32_t tensor) const {
  for (auto shown = shown_by_.find(tensor); shown != shown_by_.end();
       shown = shown_by_.find(tensor)) {
    tensor = shown->second;
  }
  return tensor;
}

mlir::LogicalResult ModuleGraph::order_buffers(mlir::Operation& op, std::int32_t id,
                                               const Tensors& tensors) {
  for (mlir::OpResult result : op.getResults()) {
    if (!mlir::isa<mlir::MemRefType>(result.getType())) continue;
    const std::int32_t made = tensors_of(tensors, result).front();
    if (is_view(op)) {
      shown_by_[made] = tensors_of(tensors, op.getOperand(0)).front();
    } else {
      buffer_written_by_[id] = made;
    }
  }
  const auto follow = [&](std::int32_t before) {
    if (before < 0 || before == id) return mlir::success();
    return checked(op, berth_builder_after(builder_, id, before));
  };
  const TouchedBuffers touched = buffers_of(op);
  for (mlir::Value buffer : touched.read) {
    BufferUse& use = uses_of_buffers_[buffer_behind(tensors_of(tensors, buffer).front())];
    if (failed(follow(use.writer))) return mlir::failure();
    use.readers.push_back(id);
  }
  for (mlir::Value buffer : touched.written) {
    const std::int32_t written = buffer_behind(tensors_of(tensors, buffer).front());
    BufferUse& use = uses_of_buffers_[written];
    buffer_written_by_.try_emplace(id, written);
    if (failed(follow(use.writer))) return mlir::failure();
    for (const std::int32_t reader : use.readers) {
      if (failed(follow(reader))) return mlir::failure();
    }
    use = {id, {}};
  }
  return mlir::success();
}

berth_status ModuleGraph::add_no_work(std::int32_t id) {
  berth_work nothing = BERTH_WORK_INIT;
  nothing.launches = 0;
  nothing.op_class = BERTH_TEXT("none");
  return berth_builder_work(builder_, id, &nothing);
}

bool ModuleGraph::copies_destination(mlir::Operation& op, const Tensors& tensors) {
  if (!updates_part(op)) return false;
  const mlir::Value destination = destination_of(op.getResult(0));
  return destination && (kept_.contains(tensors_of(tensors, destination).front()) ||
                         is_read_after(destination, op));
}

mlir::LogicalResult ModuleGraph::keep_in_step(mlir::Operation& op, const Tensors& tensors) {
  for (mlir::OpResult result : op.getResults()) {
    const mlir::Value destination = destination_of(result);
    if (!destination || is_read_after(destination, op)) continue;
    const auto maker = made_by_.find(tensors_of(tensors, destination).front());
    if (maker == made_by_.end() || !in_step_.insert(maker->second).second) continue;
    const std::int64_t yes = 1;
    if (failed(checked(op, berth_builder_attribute(builder_, maker->second, BERTH_TEXT("in_step"),
                                                   &yes, 1, {})))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

mlir::Operation* ModuleGraph::taker_of(mlir::Operation& op) {
  mlir::Operation* const taker = taker_of_filled(op);
  // They share a device, unless the user says otherwise.
  return taker != nullptr &&
                 attribute_of(op, options_.attribute) == attribute_of(*taker, options_.attribute)
             ? taker
             : nullptr;
}

berth_status ModuleGraph::add_work(mlir::Operation& op, std::int32_t id, const Tensors& tensors) {
  if (is_scalar(op)) return add_no_work(id);
  if (runs_in_turn(op)) return add_body_work(op, builder_, id);
  mlir::Operation* const taker = taker_of(op);
  if (taker != nullptr && !updates_part(*taker)) return add_filling_work(op, builder_, id);
  const std::int64_t yes = 1;
  berth_status status = BERTH_OK;
  if (starts_empty(op)) {
    status = berth_builder_attribute(builder_, id, BERTH_TEXT("starts_empty"), &yes, 1, {});
  } else if (copies_destination(op, tensors)) {
    status = berth_builder_attribute(builder_, id, BERTH_TEXT("copies"), &yes, 1, {});
  }
  if (status != BERTH_OK) return status;
  return add_rule_attributes(op, builder_, id);
}

mlir::LogicalResult ModuleGraph::add_inputs(mlir::Operation& op, std::int32_t id,
                                            const Tensors& tensors, bool& varies) {
  llvm::SmallVector<mlir::Value> inputs(op.operand_begin(), op.operand_end());
  inputs.append(captured_by(op));
  for (mlir::Value value : inputs) {
    for (const std::int32_t tensor : tensors_of(tensors, value)) {
      if (failed(checked(op, berth_builder_input(builder_, id, tensor)))) return mlir::failure();
      varies = varies || varying_.contains(tensor);
    }
  }
  return mlir::success();
}

mlir::FailureOr<bool> ModuleGraph::pass_elements(mlir::Operation& op, Tensors& tensors) {
  const auto is_one = [&tensors](mlir::Value value) {
    return tensors_of(tensors, value).size() == 1;
  };
  if (packs_tensors(op)) {
    const bool nested = !llvm::all_of(op.getOperands(), is_one);
    Ids ids;
    llvm::SetVector<std::int32_t> distinct;
    for (mlir::Value element : op.getOperands()) {
      for (const std::int32_t id : tensors_of(tensors, element)) {
        // Lists of lists would double without end.
        if (nested && failed(count_one(op))) return mlir::failure();
        if (!nested || distinct.insert(id)) ids.push_back(id);
      }
    }
    tensors[op.getResult(0)] = std::move(ids);
    return true;
  }
  mlir::Operation* const from =
      op.getNumOperands() > 0 ? op.getOperand(0).getDefiningOp() : nullptr;
  if (from == nullptr || !packs_tensors(*from) || !llvm::all_of(from->getOperands(), is_one)) {
    return false;
  }
  const Ids ids = tensors_of(tensors, op.getOperand(0));
  const auto count = static_cast<std::int64_t>(ids.size());
  if (const auto index = element_taken(op); index && *index >= -count && *index < count) {
    tensors[op.getResult(0)] = {ids[*index < 0 ? *index + count : *index]};
    return true;
  }
  if (!unpacks_tensors(op) || op.getNumResults() != ids.size()) return false;
  for (auto [result, id] : llvm::zip(op.getResults(), ids)) tensors[result] = {id};
  return true;
}

mlir::LogicalResult ModuleGraph::note_load(mlir::Operation& op, std::int32_t id,
                                           const Tensors& tensors) {
  const std::string global = global_of(op);
  if (global.empty()) return mlir::success();
  if (!written_) written_ = written_globals(module_);
  if (written_->contains(global)) return mlir::success();
  if (failed(checked(op, berth_builder_pure(builder_, id)))) return mlir::failure();
  const auto [first, is_new] = loads_.try_emplace(global, op.getResult(0));
  if (is_new) return mlir::success();
  return checked(op, berth_builder_input(builder_, id, tensors_of(tensors, first->second).front()));
}

mlir::StringAttr ModuleGraph::asked_device(mlir::Operation& op) {
  const mlir::Attribute asked = attribute_of(op, options_.attribute);
  if (!asked) return {};
  asking_.insert(&op);
  if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(asked)) {
    const std::uint64_t id = number.getValue().getLimitedValue();
    if (id < options_.by_number.size()) {
      return mlir::StringAttr::get(op.getContext(), options_.by_number[id]);
    }
  }
  return mlir::dyn_cast<mlir::StringAttr>(asked);
}

mlir::FailureOr<mlir::StringAttr> ModuleGraph::device_for_all(mlir::Operation& op) {
  mlir::StringAttr device;
  mlir::Operation* first = nullptr;
  const auto take = [&](mlir::Operation* each) -> mlir::WalkResult {
    const mlir::StringAttr asked = asked_device(*each);
    if (!asked || asked == device) return mlir::WalkResult::advance();
    if (device) {
      auto error = each->emitError("berth-place: asks for device ")
                   << asked << ", but runs with one that asks for " << device
                   << ": an op and those in its regions share a device; ask for the same one";
      error.attachNote(first->getLoc()) << "asks for " << device;
      return mlir::WalkResult::interrupt();
    }
    device = asked;
    first = each;
    return mlir::WalkResult::advance();
  };
  if (op.walk<mlir::WalkOrder::PreOrder>(take).wasInterrupted()) return mlir::failure();
  return device;
}

mlir::LogicalResult ModuleGraph::add_hints(mlir::Operation& op, std::int32_t id) {
  berth_op_hints hints = BERTH_OP_HINTS_INIT;
  // An op that fills memory for another one is where that is.
  mlir::Operation* const taker = taker_of(op);
  if (taker != nullptr) places_.try_emplace(taker, id);
  std::string together;
  if (const auto place = places_.find(taker != nullptr ? taker : &op); place != places_.end()) {
    together = ("place " + llvm::Twine(place->second)).str();
  } else if (const auto buffer = buffer_written_by_.find(id);
             buffer != buffer_written_by_.end() && calls_.size() == 1) {
    // A buffer is in one place, where all that write it are.
    together = ("buffer " + llvm::Twine(buffer->second)).str();
  } else if (calls_.size() > 1) {
    together = ("op " + llvm::Twine(id_of_.lookup_or(&op))).str();
  }
  hints.colocation = view(together);
  const mlir::FailureOr<mlir::StringAttr> asked = device_for_all(op);
  if (failed(asked)) return mlir::failure();
  mlir::StringAttr device = *asked;
  if (!device && !devices_of_calls_.empty()) device = devices_of_calls_.back();
  if (const auto given = given_.find(&op); given != given_.end()) {
    hints.requested_device = view(given->second);
  } else if (device) {
    hints.requested_device = view(device.getValue());
  }
  if (hints.requested_device.size > 0) asks_for_devices_ = true;
  return checked(op, berth_builder_hints(builder_, id, &hints));
}

}  // namespace berth_mlir
