#include "onnx/translation.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "berth/blocks.h"
#include "berth/costs.h"
#include "berth/sdk/ops/constants.h"
#include "onnx/bodies.h"
#include "onnx/constants.h"
#include "onnx/decisions.h"
#include "onnx/graph_names.h"
#include "onnx/routing.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using frontend::readable;

constexpr std::size_t kLongestText = 1024;
/// Ops that more steps than these need run in every step.
constexpr double kNearlyAlways = 0.999;
constexpr Work kNoWork = {0, 0, OpClass::none, DType::f32, 0};

std::int64_t stored_bytes(const Value& value) {
  return std::max<std::int64_t>(0, bytes_of(tensor_info(value.type)));
}

using Works = std::unordered_map<OpId, Work>;

// Translates one body; those of its ops come out as stated work.
class Translator {
 public:
  Translator(const Program& program, const Body& body, std::string name, bool fold)
      : program_(program), body_(body), fold_(fold), builder_(std::move(name), "onnx") {
    tensors_.reserve(program.values.size());
  }

  // `works`: what is known better of some ops than their rules say.
  std::shared_ptr<const Graph> translate_main(const GraphNames& names, const Works& works);
  // Of the graph, which is of the same body: what ops do in the mean that some steps skip.
  Works skipped_works(const Graph& graph) const;
  std::unordered_map<ValueId, TensorId> take_tensors() { return std::move(tensors_); }
  // For costing only: names do not matter, and weights from outside are parameters.
  Work translate_body();

 private:
  void add_node(const Node& node, const std::string& name);
  void add_returned_constants(const GraphNames& names);
  void add_attributes(OpId op, const Node& node);
  void add_training_mode(OpId op, const Node& node);
  void add_omitted_outputs(OpId op, const Node& node);
  void add_bodies(OpId op, const Node& node);
  void add_in_step(OpId op, const Node& node);
  void add_fixed_sizes(OpId op, const Node& node);
  bool computes_sizes(const Node& node) const;
  TensorId tensor(ValueId id);
  /// Weights in the bodies that may run, and in theirs.
  std::int64_t bytes_inside(const Node& node) const;
  void read_inputs(const std::vector<std::pair<OpId, const Node*>>& ops);
  OpId add_source(ValueId id, const std::string& name, const char* type);
  void add_captured();

  const Program& program_;
  const Body& body_;
  const bool fold_;
  GraphBuilder builder_;
  std::unordered_map<ValueId, TensorId> tensors_;
  std::vector<std::pair<OpId, const Node*>> ops_;
  std::unordered_set<ValueId> sizes_;  // and what is computed of them on the host
};

// The tensor of a value; one that nothing here produces becomes a parameter when first read.
TensorId Translator::tensor(ValueId id) {
  if (id == kNoValue) return kNoTensor;
  const auto [entry, is_new] = tensors_.try_emplace(id, kNoTensor);
  if (is_new) {
    const Value& value = program_.value(id);
    entry->second = builder_.add_parameter(tensor_info(value.type), readable(value.name));
  }
  return entry->second;
}

void Translator::add_attributes(OpId op, const Node& node) {
  std::int64_t bytes = 0;
  const bool states_chosen = program_.experts.of > 0 && is_mixture_of_experts(node);
  if (states_chosen) builder_.set_attribute(op, "k", program_.experts.chosen);
  for (const auto& a : node.proto->attribute()) {
    const std::string name = readable(a.name());
    bytes += dropped_bytes(a);
    if (a.has_t()) {
      bytes += bytes_of(tensor_info(
          tensor_type(a.t().data_type(), Dims(a.t().dims().begin(), a.t().dims().end()))));
    }
    if (name.empty() || (name == "k" && states_chosen)) continue;
    if (a.has_i()) {
      builder_.set_attribute(op, name, std::int64_t{a.i()});
    } else if (a.has_f()) {
      builder_.set_attribute(op, name, static_cast<double>(a.f()));
    } else if (a.has_s() && a.s().size() <= kLongestText) {
      builder_.set_attribute(op, name, readable(a.s()));
    } else if (a.ints_size() > 0) {
      builder_.set_attribute(op, name, std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
    } else if (a.floats_size() > 0) {
      builder_.set_attribute(op, name, std::vector<double>(a.floats().begin(), a.floats().end()));
    } else if (a.strings_size() > 0) {
      std::vector<std::string> texts;
      for (const std::string& text : a.strings()) texts.push_back(readable(text));
      builder_.set_attribute(op, name, std::move(texts));
    }
  }
  bytes += bytes_inside(node);
  if (bytes > 0) builder_.set_param_bytes(op, bytes);
}

std::int64_t Translator::bytes_inside(const Node& node) const {
  std::int64_t bytes = 0;
  for (const auto& body : node.bodies) {
    if (!may_run(program_, node, *body)) continue;
    for (const ValueId id : body->initializers) bytes += stored_bytes(program_.value(id));
    for (const ValueId id : body->constants) bytes += stored_bytes(program_.value(id));
    for (const Node& inner : body->nodes) bytes += bytes_inside(inner);
  }
  return bytes;
}

// Says of a Dropout whether it drops, where the file does: by a constant, before opset 7 by an attribute. One
// that the step is asked for may.
void Translator::add_training_mode(OpId op, const Node& node) {
  constexpr std::size_t kTrainingMode = 2;
  constexpr std::int64_t kFirstOfInference = 7;
  if (node.type() != "Dropout" || !node.domain.empty()) return;
  std::optional<std::int64_t> mode;
  if (node.opset < kFirstOfInference) {
    const onnx::AttributeProto* const is_test = node.attribute("is_test");
    mode = is_test == nullptr || is_test->i() == 0 ? 1 : 0;
  } else if (node.inputs.size() > kTrainingMode && node.inputs[kTrainingMode] != kNoValue) {
    const Type& type = program_.value(node.inputs[kTrainingMode]).type;
    if (type.content_size() == 1) mode = type.element(0);
  }
  if (mode) builder_.set_attribute(op, "training_mode", *mode);
}

/// One of several bodies runs (If): the larger one is planned for, and there is room for each.
void take_larger(Work& work, const Work& inside) {
  const double room = std::max(work.workspace_bytes, inside.workspace_bytes);
  if (inside.flops + inside.bytes >= work.flops + work.bytes) work = inside;
  work.workspace_bytes = room;
}

/// All of them run, one after the other, in memory that they share.
void take_too(Work& work, const Work& inside) {
  if (inside.flops > work.flops) {
    work.dtype = inside.dtype;
    work.op_class = inside.op_class;
  }
  work.flops += inside.flops;
  work.bytes += inside.bytes;
  work.launches += inside.launches;
  work.products = {};
  work.workspace_bytes = std::max(work.workspace_bytes, inside.workspace_bytes);
}

void Translator::add_bodies(OpId op, const Node& node) {
  if (node.bodies.empty()) return;
  std::string types;
  for (const std::string& type : types_inside(program_, node)) {
    types += cat(types.empty() ? "" : ",", type);
  }
  builder_.set_attribute(op, "body_types", std::move(types));
  Work work = kNoWork;
  for (const auto& body : node.bodies) {
    if (!may_run(program_, node, *body)) continue;
    Work inside = Translator(program_, *body, "body", fold_).translate_body();
    const double trips = trip_count(program_, node, *body);
    const double beams = beams_beside(program_, node, *body);  // they read weights together
    inside.flops *= trips * beams;
    inside.bytes *= trips;
    inside.launches *= trips;
    if (trips * beams != 1) inside.products = {};
    const bool first = body == node.bodies.front();
    if (searches(node) && !first) {
      take_too(work, inside);
    } else {
      take_larger(work, inside);
    }
  }
  work.launches = std::max(1.0, work.launches);
  builder_.set_work(op, work);
}

/// A runtime cannot compute before the step what a caller may give another weight for, or what each step changes.
void Translator::add_in_step(OpId op, const Node& node) {
  const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    if (id == kNoValue) return false;
    const Value& value = program_.value(id);
    return value.overridable || value.trained;
  });
  if (reads) builder_.set_attribute(op, std::string(ops::kInStepAttribute), std::int64_t{1});
}

/// Rounds of a loop may differ in the sizes of their tensors, so bodies are left alone.
void Translator::add_fixed_sizes(OpId op, const Node& node) {
  if (&body_ != &program_.main || !program_.fixes_sizes) return;
  if (!ops::reads_sizes_alone("onnx", node.full_type())) return;
  builder_.set_attribute(op, std::string(ops::kFixedSizesAttribute), std::int64_t{1});
}

bool is_small_constant(const Value& value) {
  constexpr std::int64_t kMostElements = 100;  // of ONNX Runtime
  const std::int64_t elements = value.type.ranked ? product(value.type.dims) : kUnknownDim;
  return (value.origin == Value::Origin::initializer || value.origin == Value::Origin::constant) &&
         elements != kUnknownDim && elements <= kMostElements;
}

/// Whether the node computes with sizes alone, which ONNX Runtime does on the host beside a GPU. Ops that make tensors
/// as large as the sizes say run on the GPU.
bool Translator::computes_sizes(const Node& node) const {
  static const std::unordered_set<std::string_view> kMakers = {"ConstantOfShape", "Expand", "Range",
                                                               "Tile"};
  if (!node.domain.empty() || !node.bodies.empty() || kMakers.contains(node.type())) return false;
  bool any = false;
  for (const ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    const bool is_size = sizes_.contains(id);
    any = any || is_size;
    if (!is_size && !is_small_constant(program_.value(id))) return false;
  }
  return any;
}

void Translator::add_omitted_outputs(OpId op, const Node& node) {
  std::vector<std::int64_t> omitted;
  std::size_t seen = 0;  // of them, those before an output that is there
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) {
      omitted.push_back(static_cast<std::int64_t>(i));
    } else {
      seen = omitted.size();
    }
  }
  omitted.resize(seen);
  if (!omitted.empty()) {
    builder_.set_attribute(op, "omitted_outputs", std::move(omitted));
  }
}

void Translator::add_node(const Node& node, const std::string& name) {
  const OpId op = builder_.add_op(name, node.full_type());
  add_attributes(op, node);
  add_omitted_outputs(op, node);
  add_training_mode(op, node);
  add_bodies(op, node);
  add_in_step(op, node);
  add_fixed_sizes(op, node);
  const bool computes = computes_sizes(node);
  if (computes) builder_.set_work(op, kNoWork);
  if (computes || ops::reads_sizes_alone("onnx", node.full_type())) {
    for (const ValueId id : node.outputs) sizes_.insert(id);
  }
  if (!node.requested_device.empty()) {
    builder_.set_requested_device(op, readable(node.requested_device));
  }
  if (!node.module.empty()) {
    builder_.set_attribute(op, std::string(kModuleAttribute), readable(node.module));
  }
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    const Value& value = program_.value(id);
    if (value.producer_work) builder_.set_work(op, *value.producer_work);
    tensors_[id] = builder_.add_output(op, tensor_info(value.type), readable(value.name));
  }
  ops_.emplace_back(op, &node);
}

void Translator::read_inputs(const std::vector<std::pair<OpId, const Node*>>& ops) {
  for (const auto& [op, node] : ops) {
    for (const ValueId id : node->inputs) builder_.add_input(op, tensor(id));
    for (const ValueId id : node->captured) builder_.add_input(op, tensor(id));
  }
}

Works Translator::skipped_works(const Graph& graph) const {
  Works works;
  for (const auto& [op, node] : ops_) {
    const double share = share_of(program_, *node);
    if (share > kNearlyAlways) continue;
    Work work = op_work(graph, op);
    work.flops *= share;
    work.bytes *= share;
    work.products = {};
    works.emplace(op, work);
  }
  return works;
}

OpId Translator::add_source(ValueId id, const std::string& name, const char* type) {
  const Value& value = program_.value(id);
  const OpId op = builder_.add_op(name, type);
  builder_.set_work(op, kNoWork);
  tensors_[id] = builder_.add_output(op, tensor_info(value.type), readable(value.name));
  return op;
}

// Values that the body gets from where it runs: each of its steps may have another.
void Translator::add_captured() {
  const auto add = [&](ValueId id) {
    if (id == kNoValue || tensors_.contains(id)) return;
    const Value::Origin origin = program_.value(id).origin;
    if (origin == Value::Origin::initializer || origin == Value::Origin::constant) return;
    add_source(id, cat("from outside ", id), "Input");
  };
  for (const ValueId id : body_.inputs) add(id);
  for (const auto& [op, node] : ops_) {
    for (const ValueId id : node->inputs) add(id);
    for (const ValueId id : node->captured) add(id);
  }
}

std::shared_ptr<const Graph> Translator::translate_main(const GraphNames& names,
                                                        const Works& works) {
  const auto numbers = find_decisions(program_).numbers;
  for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
    const OpId op = add_source(body_.inputs[i], names.inputs[i], "Input");
    const auto number = numbers.find(body_.inputs[i]);
    if (number == numbers.end()) continue;
    builder_.set_attribute(op, std::string(ops::kKnownNumber), number->second);
  }
  for (std::size_t i = 0; i < body_.nodes.size(); ++i) add_node(body_.nodes[i], names.nodes[i]);
  for (std::size_t i = 0; i < program_.returned_constants.size(); ++i) {
    add_source(program_.returned_constants[i], names.constants[i], "Constant");
  }
  read_inputs(ops_);
  for (const ValueId id : body_.outputs) {
    if (const auto made = tensors_.find(id); made != tensors_.end()) {
      builder_.add_result(made->second);
    }
  }
  for (const auto& [op, work] : works) builder_.set_work(op, work);
  return builder_.build();
}

Work Translator::translate_body() {
  for (std::size_t i = 0; i < body_.nodes.size(); ++i) {
    add_node(body_.nodes[i], cat(i));
  }
  add_captured();
  read_inputs(ops_);
  std::shared_ptr<const Graph> graph = builder_.build();
  if (fold_) graph = ops::fold_constants(std::move(graph));
  return work_in_turn(*graph, graph->topological_order());
}

/// Bodies that lack sizes, in a graph that lacks none: those would be missing first.
std::string note_of_bodies(const Program& program) {
  std::int64_t tensors = 0;
  std::vector<std::string> names;
  for (const Node& node : program.main.nodes) {
    const std::int64_t inside = unsized_inside(program, node);
    if (inside == 0) continue;
    tensors += inside;
    names.push_back(node.name);
  }
  return names.empty() ? "" : frontend::bodies_note(tensors, names);
}

}  // namespace

Translation translate(const Program& program, const std::string& name, bool fold,
                      std::vector<std::string>& notes) {
  const GraphNames names = name_ops(program);
  if (!names.repeated.empty()) {
    notes.push_back(cat("several nodes share a name; the later ones got a number: ",
                        frontend::list_names(names.repeated, 5)));
  }
  Translator translator(program, program.main, name, fold);
  Translation translation;
  translation.graph = translator.translate_main(names, {});
  const Works works = translator.skipped_works(*translation.graph);
  if (!works.empty()) {
    translation.graph = Translator(program, program.main, name, fold).translate_main(names, works);
  }
  translation.tensors = translator.take_tensors();
  const auto tensors = static_cast<std::size_t>(translation.graph->tensor_count());
  frontend::NotAsked& not_asked = translation.not_asked;
  not_asked = {std::vector<bool>(tensors, false), std::vector<bool>(tensors, false)};
  for (const auto& [id, tensor] : translation.tensors) {
    if (tensor == kNoTensor) continue;
    const Value& value = program.value(id);
    not_asked.shapeless[static_cast<std::size_t>(tensor)] = value.type.other != nullptr;
    not_asked.refused[static_cast<std::size_t>(tensor)] = value.refused;
  }
  translation.note_of_bodies = note_of_bodies(program);
  return translation;
}

}  // namespace berth::onnx_frontend
