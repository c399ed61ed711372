#include "onnx/inference.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>
#include <utility>

#include "berth/error.h"
#include "onnx/bodies.h"
#include "onnx/op_context.h"
#include "onnx/routing.h"
#include "onnx/sequences.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

// Loops inside loops run their bodies' inference more than once per level; past this many node
// visits per node the first result stands.
constexpr std::int64_t kVisitsPerNode = 8;
// Loops whose state grows are followed trip by trip, up to so many node visits in all.
constexpr std::int64_t kVisitsOfTrips = 1 << 16;
// A loop's condition is followed for so many visits of the nodes that decide it.
constexpr std::int64_t kVisitsOfCondition = 1 << 15;

class Inference {
 public:
  Inference(Program& program, bool largest_step, LoadOptions::Experts experts, const OpRules& rules)
      : program_(program),
        rules_(rules),
        routing_(program, experts),
        largest_step_(largest_step),
        visits_left_(program.node_count * kVisitsPerNode) {}

  void run(const Body& body, bool report);
  InferenceReport take_report() { return std::move(report_); }

 private:
  void visit(const Node& node, bool report);
  void infer_op(NodeContext& op, bool report);
  // The file's word on the outputs, for a rule that cannot tell all from the inputs.
  void state_outputs(NodeContext& op) const {
    for (std::size_t i = 0; i < op.output_count(); ++i) {
      const ValueId id = op.node.outputs[i];
      if (id != kNoValue) op.out(i) = program_.value(id).declared;
    }
  }
  void infer_if(NodeContext& op, bool report);
  void infer_loop(NodeContext& op, bool report);
  void infer_scan(NodeContext& op, bool report);
  // Types of the body's inputs, then the body. False where the counts do not fit.
  bool enter(const Body& body, const std::vector<Type>& inputs, bool report);
  Type result(const Body& body, std::size_t i) const {
    const bool known = i < body.outputs.size() && body.outputs[i] != kNoValue;
    return known ? without_content(program_.value(body.outputs[i]).type) : Type{};
  }
  // True if the types of the state stay as they are.
  bool iterate(const Body& body, std::vector<Type> inputs, std::size_t first_state,
               std::size_t states, std::size_t first_result, bool report);
  bool cuts_in_trip(const NodeContext& op) const;
  std::int64_t pieces_of(const NodeContext& op);
  std::int64_t length_cut(const Node& node) const;
  std::pair<ValueId, std::int64_t> sum_of(ValueId id) const;
  std::int64_t trips_of(const NodeContext& op, const std::vector<Type>& inputs);
  std::int64_t given_or(const NodeContext& op, std::int64_t trips) const;
  void infer_search(const NodeContext& op, bool report);
  std::int64_t count_trips(const Body& body, std::vector<Type> inputs);
  std::int64_t follow_trips(const Body& body, std::vector<Type> inputs, std::int64_t trips);
  void infer_sequence_map(NodeContext& op, bool report);

  Program& program_;
  const OpRules& rules_;
  const Routing routing_;
  const bool largest_step_;
  InferenceReport report_;
  std::int64_t visits_left_;
  std::int64_t trip_visits_left_ = kVisitsOfTrips;
  const Body* body_ = nullptr;  // that is gone over
  // How often the innermost loop around that runs, and what a trip goes over once at most: its body and those of
  // branches within, by Body::id.
  std::int64_t loop_trips_ = 1;
  std::set<std::int32_t> in_trip_;
  // While trips are followed, one may know more than all do: the ops that were found to take pieces before that.
  bool follows_ = false;
  std::set<const Node*> take_pieces_;
};

bool bigger(const Type& a, const Type& b) {
  return product(a.dims) > product(b.dims);
}

// --- control flow --------------------------------------------------------------------------------

bool Inference::enter(const Body& body, const std::vector<Type>& inputs, bool report) {
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    Value& value = program_.value(body.inputs[i]);
    value.type = i < inputs.size() ? inputs[i] : Type{};
    merge_type(value.type, value.declared);
  }
  run(body, report);
  return body.inputs.size() == inputs.size();
}

void Inference::infer_if(NodeContext& op, bool report) {
  const auto branch = [&](const char* name) -> const Body* {
    const Body* const body = op.node.body(name);
    return body != nullptr && may_run(program_, op.node, *body) ? body : nullptr;
  };
  const Body* const yes = branch("then_branch");
  const Body* const no = branch("else_branch");
  for (const Body* const body : {yes, no}) {
    if (body == nullptr) continue;
    if (in_trip_.contains(body_->id)) in_trip_.insert(body->id);
    enter(*body, {}, report);
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const Type a = yes != nullptr ? result(*yes, i) : Type{};
    const Type b = no != nullptr ? result(*no, i) : Type{};
    // A placement needs room for either: the larger where both are known.
    if (complete(a) && complete(b)) {
      op.out(i) = bigger(b, a) ? b : a;
    } else {
      op.out(i) = complete(a) || !b.ranked ? a : b;
      merge_type(op.out(i), complete(a) ? b : a);
    }
  }
}

// Runs a loop's body until the types of its state stay as they are: a dimension that grows from one
// iteration to the next ends as unknown.
bool Inference::iterate(const Body& body, std::vector<Type> inputs, std::size_t first_state,
                        std::size_t states, std::size_t first_result, bool report) {
  bool stays = true;
  for (int round = 0; round < 3; ++round) {
    enter(body, inputs, report && round == 0);
    bool changed = false;
    for (std::size_t i = 0; i < states && first_state + i < inputs.size(); ++i) {
      Type& before = inputs[first_state + i];
      before = common_type(before, result(body, first_result + i), changed);
    }
    stays = stays && !changed;
    if (!changed || visits_left_ <= 0) return stays;
  }
  return stays;
}

// Runs a loop's body as often as the loop does, each trip with the state that the one before left, so
// that what grows has its last size in the end; the work is that of the last trip, the largest.
// Returns how many trips there are: the condition may end the loop before its count does.
std::int64_t Inference::follow_trips(const Body& body, std::vector<Type> inputs,
                                     std::int64_t trips) {
  follows_ = true;
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    inputs[0].data = std::make_shared<const std::vector<std::int64_t>>(1, trip);
    enter(body, inputs, false);
    const bool ends = !body.outputs.empty() && body.outputs[0] != kNoValue &&
                      program_.value(body.outputs[0]).type.element(0) == 0;
    if (ends) return trip + 1;
    for (std::size_t i = 2; i < inputs.size() && i - 1 < body.outputs.size(); ++i) {
      const ValueId id = body.outputs[i - 1];
      inputs[i] = id != kNoValue ? program_.value(id).type : Type{};
    }
  }
  return trips;
}

// The nodes of a loop's body that say whether it goes on, in this trip or a later one, in their order.
std::vector<const Node*> deciding_nodes(const Body& body) {
  std::set<ValueId> needed;
  if (!body.outputs.empty()) needed.insert(body.outputs[0]);
  std::set<const Node*> found;
  for (std::size_t before = 0; before != needed.size();) {
    before = needed.size();
    for (std::size_t i = 2; i < body.inputs.size() && i - 1 < body.outputs.size(); ++i) {
      if (needed.contains(body.inputs[i])) needed.insert(body.outputs[i - 1]);
    }
    for (const Node& node : body.nodes) {
      const bool decides = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](ValueId id) { return needed.contains(id); });
      if (!decides) continue;
      found.insert(&node);
      needed.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  std::vector<const Node*> nodes;
  for (const std::int32_t index : body.order) {
    const Node& node = body.nodes[static_cast<std::size_t>(index)];
    if (found.contains(&node)) nodes.push_back(&node);
  }
  return nodes;
}

// How often a loop runs whose condition alone ends it, by computing what that reads, trip by trip; kUnknownDim where
// that is not known, or has no end soon. `inputs`: of the first trip, with what they hold.
std::int64_t Inference::count_trips(const Body& body, std::vector<Type> inputs) {
  const std::vector<const Node*> nodes = deciding_nodes(body);
  const bool plain = std::all_of(nodes.begin(), nodes.end(),
                                 [](const Node* node) { return node->bodies.empty(); });
  if (nodes.empty() || !plain || inputs.size() != body.inputs.size()) return kUnknownDim;
  const auto most = kVisitsOfCondition / static_cast<std::int64_t>(nodes.size());
  for (std::int64_t trip = 0; trip < most; ++trip) {
    inputs[0].data = std::make_shared<const std::vector<std::int64_t>>(1, trip);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      program_.value(body.inputs[i]).type = inputs[i];
    }
    for (const Node* const node : nodes) visit(*node, false);
    const auto goes_on = program_.value(body.outputs[0]).type.element(0);
    if (!goes_on) return kUnknownDim;
    if (*goes_on == 0) return trip + 1;
    for (std::size_t i = 2; i < inputs.size() && i - 1 < body.outputs.size(); ++i) {
      const ValueId id = body.outputs[i - 1];
      inputs[i] = id != kNoValue ? program_.value(id).type : Type{};
    }
  }
  return kUnknownDim;
}

// As its inputs say, its condition, or the user; kUnknownDim where nothing does. `inputs`: of its body's first trip.
std::int64_t Inference::trips_of(const NodeContext& op, const std::vector<Type>& inputs) {
  std::int64_t trips = kUnknownDim;
  if (const auto stated = op.integers(0); stated && stated->size() == 1) {
    // A huge count stands for "until the condition fails", one below 0 for none.
    const std::int64_t count = std::max<std::int64_t>(stated->front(), 0);
    if (count < std::int64_t{1} << 31) trips = count;
  }
  // A condition that is false from the start.
  if (op.has(1) && op.in(1).content_size() == 1 && op.in(1).element(0) == 0) trips = 0;
  if (trips == kUnknownDim) trips = count_trips(*op.node.bodies.front(), inputs);
  return given_or(op, trips);
}

// The trips that the user gives, where the model does not say them.
std::int64_t Inference::given_or(const NodeContext& op, std::int64_t trips) const {
  const auto given = program_.given_trips.find(op.node.name);
  if (given == program_.given_trips.end()) return trips;
  if (trips == kUnknownDim || trips == given->second) return given->second;
  throw Error(ErrorCode::invalid_argument,
              cat("loop '", op.node.name, "' is given ", given->second, " iterations and runs ",
                  trips, " as the model says; leave it out of the dimensions"));
}

std::int64_t nodes_in(const Body& body) {
  auto count = static_cast<std::int64_t>(body.nodes.size());
  for (const Node& node : body.nodes) {
    for (const auto& inner : node.bodies) count += nodes_in(*inner);
  }
  return count;
}

// Whether every trip of a loop puts one tensor into the list that state `i` is.
bool puts_one(const Program& program, const Body& body, std::size_t i) {
  if (i + 2 >= body.inputs.size() || i + 1 >= body.outputs.size()) return false;
  const ValueId id = body.outputs[i + 1];
  if (id == kNoValue || program.value(id).origin != Value::Origin::node) return false;
  const Value& end = program.value(id);
  if (end.body != body.id) return false;
  const Node& node = body.nodes[static_cast<std::size_t>(end.producer)];
  return node.type() == "SequenceInsert" && node.inputs.front() == body.inputs[i + 2];
}

// The list behind a loop that puts one more `element` into it in each trip.
Type lengthened(const Type& before, const Type& element, std::int64_t trips) {
  const std::int64_t length = length_of(before);
  if (length == kUnknownDim) return sequence_like(element);
  return sequence_of_alike(element, length + trips);
}

void Inference::infer_loop(NodeContext& op, bool report) {
  const Body& body = *op.node.bodies.front();
  const std::size_t states = op.input_count() > 2 ? op.input_count() - 2 : 0;
  std::vector<Type> inputs = {tensor_type(TensorProto::INT64, {}),
                              tensor_type(TensorProto::BOOL, {})};
  for (std::size_t i = 0; i < states; ++i) {
    const Type* const type = op.input(i + 2);
    inputs.push_back(type != nullptr ? without_content(*type) : Type{});
  }
  std::vector<Type> first = inputs;
  first[1].data = std::make_shared<const std::vector<std::int64_t>>(1, 1);
  for (std::size_t i = 0; i < states; ++i) {
    if (op.has(i + 2)) first[i + 2] = op.in(i + 2);
  }
  std::int64_t trips = trips_of(op, first);
  const std::int64_t outer_trips = std::exchange(loop_trips_, trips);
  std::set<std::int32_t> outer_in_trip = std::exchange(in_trip_, {body.id});
  const bool outer_follows = std::exchange(follows_, false);
  const bool stays = iterate(body, inputs, 2, states, 1, report);
  if (trips == kUnknownDim && report) report_.loops_of_unknown_length.push_back(op.node.name);
  // A trip visits each node a few times where there are loops inside.
  const std::int64_t visits = nodes_in(body) + 1;
  if (!stays && trips > 0 && trips <= trip_visits_left_ / visits) {
    trip_visits_left_ -= trips * visits;
    inputs = first;
    trips = follow_trips(body, std::move(first), trips);
  }
  follows_ = outer_follows;
  loop_trips_ = outer_trips;
  in_trip_ = std::move(outer_in_trip);
  op.node.bodies.front()->trips = trips;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    Type type = trips == 0 && i < states ? inputs[i + 2] : result(body, i + 1);
    if (i < states && trips > 0 && length_of(type) == kUnknownDim && puts_one(program_, body, i)) {
      type = lengthened(op.in(i + 2), any_element(type), trips);
    }
    if (i >= states && !type.other) {  // collected over the iterations
      if (type.ranked) type.dims.insert(type.dims.begin(), trips);
    }
    op.give(i, std::move(type));
  }
}

void Inference::infer_scan(NodeContext& op, bool report) {
  const Body& body = *op.node.bodies.front();
  const auto scanned = op.attributes.integer("num_scan_inputs", 0);
  // Scan 8 has the sequence lengths as input 0 and a batch dimension before the sequence.
  const bool old = op.node.opset < 9;
  const std::size_t skipped = old ? 1 : 0;
  if (scanned < 1 || static_cast<std::size_t>(scanned) + skipped > op.input_count()) return;
  const std::size_t states = op.input_count() - skipped - static_cast<std::size_t>(scanned);
  std::int64_t length = kUnknownDim, batch = kUnknownDim;
  std::vector<Type> inputs;
  for (std::size_t i = skipped; i < op.input_count(); ++i) {
    Type type = without_content(op.in(i));
    const bool is_state = i - skipped < states;
    if (type.ranked && old && !type.dims.empty()) {
      batch = type.dims.front();
      type.dims.erase(type.dims.begin());
    }
    if (type.ranked && !is_state) {
      const std::int64_t at = old ? 0 : listed(op, "scan_input_axes", i - states);
      const auto axis = ops::normal_axis(at, type.dims.size());
      if (!axis) return;
      length = type.dims[*axis];
      type.dims.erase(type.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
    }
    inputs.push_back(std::move(type));
  }
  iterate(body, inputs, 0, states, 0, report);
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    Type type = result(body, i);
    if (type.ranked && i >= states) {
      const std::int64_t at = old ? 0 : listed(op, "scan_output_axes", i - states);
      const auto axis = ops::normal_axis(at, type.dims.size() + 1);
      if (!axis) continue;
      type.dims.insert(type.dims.begin() + static_cast<std::ptrdiff_t>(*axis), length);
    }
    if (type.ranked && old) type.dims.insert(type.dims.begin(), batch);
    op.give(i, std::move(type));
  }
}

/// Sizes that an op is given by its inputs, and not by their shapes, are known.
bool sizes_known(const NodeContext& op) {
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    const Dims* const dims = op.shape(i);
    const bool whole = op.type_of(i) == ops::onnx::kInt64 || op.type_of(i) == ops::onnx::kInt32;
    if (whole && dims != nullptr && dims->size() == 1 && !op.integers(i)) return false;
  }
  return true;
}

/// Its rule knows all dimensions of what it gives but those over which the window cannot move.
bool has_window(const NodeContext& op) {
  return op.node.type() == "Conv" || op.attributes.has("kernel_shape");
}

// The body once for each element, where they are known; else for what they have in common.
void Inference::infer_sequence_map(NodeContext& op, bool report) {
  const Body& body = *op.node.bodies.front();
  std::size_t count = 1;
  bool known = true;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (other_of(op.in(i)) == nullptr) continue;
    const std::vector<Type>* const held = elements_of(op.in(i));
    known = known && held != nullptr && (i == 0 || held->size() == count);
    if (known && i == 0) count = held->size();
  }
  const std::int64_t visits = nodes_in(body) + 1;
  known = known && static_cast<std::int64_t>(count) <= trip_visits_left_ / visits;
  if (known) trip_visits_left_ -= static_cast<std::int64_t>(count) * visits;
  std::vector<std::vector<Type>> made(op.output_count());
  for (std::size_t at = 0; at < (known ? count : 1); ++at) {
    std::vector<Type> inputs;
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      const bool is_sequence = other_of(op.in(i)) != nullptr;
      inputs.push_back(!is_sequence ? without_content(op.in(i))
                       : known      ? (*elements_of(op.in(i)))[at]
                                    : any_element(op.in(i)));
    }
    enter(body, inputs, report && at == 0);
    for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(result(body, i));
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    op.give(i, known ? sequence_of(std::move(made[i]), {}) : sequence_like(made[i].front()));
  }
}

// --- one node ------------------------------------------------------------------------------------

bool all_complete(const std::vector<Type>& types) {
  return std::all_of(types.begin(), types.end(), [](const Type& t) { return complete(t); });
}

bool inputs_complete(const NodeContext& op) {
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) != nullptr && !complete(*op.input(i))) return false;
  }
  return true;
}

void Inference::infer_search(const NodeContext& op, bool report) {
  const Node& node = op.node;
  for (const auto& body : node.bodies) enter(*body, {}, report);
  const Body* const named = node.body("decoder");
  const auto decoder = std::find_if(node.bodies.begin(), node.bodies.end(),
                                    [&](const auto& body) { return body.get() == named; });
  Body& repeated = decoder == node.bodies.end() ? *node.bodies.front() : **decoder;
  repeated.trips = given_or(op, tokens_made(op));
  if (repeated.trips == kUnknownDim) {
    if (report) report_.loops_of_unknown_length.push_back(node.name);
  } else if (repeated.trips > 0 && node.body("init_decoder") != nullptr) {
    --repeated.trips;  // that makes the first token
  }
}

void Inference::infer_op(NodeContext& op, bool report) {
  const Node& node = op.node;
  if (is_control_flow(node)) {
    if (node.type() == "If") return infer_if(op, report);
    if (node.type() == "Loop") return infer_loop(op, report);
    if (node.type() == "Scan") return infer_scan(op, report);
  }
  if (node.type() == "SequenceMap" && is_control_flow(node)) return infer_sequence_map(op, report);
  if (searches(node)) infer_search(op, report);
  if (infer_sequence(op)) return;
  const ops::Rule rule = op.info != nullptr ? op.info->shape : nullptr;
  if (rule != nullptr) {
    if (node.type() == "GroupQueryAttention") state_outputs(op);
    rule(op);
    if (all_complete(op.outputs())) return;
  }
  std::string why;
  const bool inferred = infer_by_schema(op, why);
  if (report && is_beyond_schema(op)) {
    report_.beyond_schemas.insert(frontend::readable(node.full_type()));
  }
  if (inferred || !report) return;
  if (why.empty() && rule != nullptr && op.info->shape_from_shapes && inputs_complete(op) &&
      sizes_known(op) && op.output_count() > 0 &&
      (has_window(op) ? !complete(op.out(0)) : !op.out(0).ranked)) {
    why = has_window(op) ? "its window is larger than the image, or its weights are for other "
                           "channels; give the "
                           "inputs a larger height and width, or shapes that fit"
                         : "the shapes of its inputs do not fit together";
  }
  if (!why.empty()) {
    if (report_.refused++ == 0) report_.first_refusal = cat(describe(*node.proto), ": ", why);
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) program_.value(id).refused = true;
    }
  } else if (op.info == nullptr &&
             onnx::OpSchemaRegistry::Schema(node.type(), std::string(node.domain)) == nullptr) {
    const std::string domain(node.domain);
    ++report_.unknown_operators[frontend::readable(domain.empty() ? node.type()
                                                                  : domain + "." + node.type())];
  }
}

/// Content belongs to a known shape of as many elements; ranks have a limit.
void check(Type& type) {
  for (std::int64_t& dim : type.dims) dim = ops::valid_dim(dim);
  if (type.rank() > kMaxRank) type = tensor_type(type.type);
  if (type.has_content() &&
      (!type.fully_known() ||
       product(type.dims) != static_cast<std::int64_t>(type.content_size()))) {
    type.forget_content();
  }
}

// The user's shape of a value; its type, where nothing says, is that of what the op reads.
void take_given(const NodeContext& op, Value& value) {
  for (std::size_t i = 0; i < op.input_count() && value.type.type == ops::kUnknownType; ++i) {
    if (value.declared.type == ops::kUnknownType) value.type.type = op.type_of(i);
  }
  Type given;
  given.set_shape(*value.given);
  if (!value.type.other && merge_type(value.type, given)) return;
  const std::string_view why = value.type.other
                                   ? "is for a list or a map, which has none, made by node "
                                   : "contradicts the one that follows from the inputs of node ";
  throw Error(ErrorCode::invalid_argument,
              cat("the shape given for tensor '", frontend::readable(value.name), "' ", why,
                  describe(*op.node.proto), "; leave it out"));
}

// A loop that cuts a tensor from outside where the step says, at both ends, takes all of it in all its trips.
bool Inference::cuts_in_trip(const NodeContext& op) const {
  return in_trip_.contains(body_->id) && op.node.type() == "Slice" && op.input_count() >= 3 &&
         !op.integers(1) && !op.integers(2) && op.node.inputs[0] != kNoValue &&
         !in_trip_.contains(program_.value(op.node.inputs[0]).body);
}

std::int64_t Inference::pieces_of(const NodeContext& op) {
  if (!follows_ && cuts_in_trip(op)) take_pieces_.insert(&op.node);
  return take_pieces_.contains(&op.node) ? std::max<std::int64_t>(loop_trips_, 1) : 1;
}

// A value as another one of its body and a number that is added to it, where it is made so.
std::pair<ValueId, std::int64_t> Inference::sum_of(ValueId id) const {
  constexpr int kMostAdded = 8;
  std::int64_t sum = 0;
  for (int i = 0; i < kMostAdded; ++i) {
    const Value& value = program_.value(id);
    if (value.origin != Value::Origin::node || value.body != body_->id) break;
    const Node& node = body_->nodes[static_cast<std::size_t>(value.producer)];
    if (node.type() != "Add" || node.inputs.size() != 2) break;
    const auto number = [&](std::size_t at) {
      const Type& type = program_.value(node.inputs[at]).type;
      return type.content_size() == 1 ? type.element(0) : std::nullopt;
    };
    const std::size_t own = number(0) ? 1 : 0;
    const auto added = number(1 - own);
    if (!added || __builtin_add_overflow(sum, *added, &sum)) break;
    id = node.inputs[own];
  }
  return {id, sum};
}

// How much a Slice of one dimension takes whose end is a number behind its start, wherever that is.
std::int64_t Inference::length_cut(const Node& node) const {
  if (node.type() != "Slice" || node.inputs.size() < 3 || node.inputs.size() > 4)
    return kUnknownDim;
  for (const ValueId id : {node.inputs[1], node.inputs[2]}) {
    if (id == kNoValue) return kUnknownDim;
    const Type& type = program_.value(id).type;
    if (!type.ranked || product(type.dims) != 1) return kUnknownDim;
  }
  const auto [start, before] = sum_of(node.inputs[1]);
  const auto [end, behind] = sum_of(node.inputs[2]);
  return start == end && behind > before ? behind - before : kUnknownDim;
}

void Inference::visit(const Node& node, bool report) {
  NodeContext op(node, program_);
  op.largest_step = largest_step_;
  if (largest_step_) op.pieces = pieces_of(op);
  double share = share_of(program_, node);
  if (const std::int64_t length = length_cut(node); length != kUnknownDim) op.expected = length;
  if (const auto routed = routing_.of(node)) {
    op.expected = routed->count;
    share = std::min(share, routed->share);
    if (report && report_.routings++ == 0) report_.experts = routed->experts;
  }
  const OpRule* const custom = rules_.find(node.full_type());
  if (custom != nullptr) {
    apply_rule(*custom, op, "onnx");
  } else {
    infer_op(op, report);
  }
  for (Type& type : op.outputs()) check(type);
  if (custom == nullptr && op.info != nullptr) {
    fold_contents(*op.info, op);
    for (Type& type : op.outputs()) check(type);
  }
  if (report && op.depends_on_data() && !all_complete(op.outputs())) {
    report_.choosers.insert(frontend::readable(node.full_type()));
  }
  const auto work = custom != nullptr ? rule_work(*custom, op, "onnx") : std::nullopt;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    Value& value = program_.value(node.outputs[i]);
    value.producer_work = work;
    value.type = std::move(op.out(i));
    value.share = share;
    if (value.given) take_given(op, value);
    if (!merge_type(value.type, value.declared) && report) ++report_.contradictions;
  }
}

void Inference::run(const Body& body, bool report) {
  const Body* const outer = std::exchange(body_, &body);
  for (const std::int32_t index : body.order) {
    --visits_left_;
    visit(body.nodes[static_cast<std::size_t>(index)], report);
  }
  body_ = outer;
}

}  // namespace

InferenceReport infer(Program& program, LoadOptions::Experts experts, const OpRules& rules) {
  Inference inference(program, /*largest_step=*/false, experts, rules);
  inference.run(program.main, true);
  InferenceReport report = inference.take_report();
  const std::int64_t unsized = unsized_values(program, program.main, /*every_branch=*/true);
  if (!report.choosers.empty() && unsized > 0) {
    Inference largest(program, /*largest_step=*/true, experts, rules);
    largest.run(program.main, false);
    report.at_their_largest =
        unsized - unsized_values(program, program.main, /*every_branch=*/true);
  }
  return report;
}

}  // namespace berth::onnx_frontend
