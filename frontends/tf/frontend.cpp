#include "tf/frontend.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/gzip.h"
#include "support/experts.h"
#include "support/sizes.h"
#include "support/text.h"
#include "support/weight_names.h"
#include "tf/annotate.h"
#include "tf/assigned_shapes.h"
#include "tf/batch.h"
#include "tf/execution.h"
#include "tf/fetches.h"
#include "tf/graph_maker.h"
#include "tf/inference.h"
#include "tf/input_names.h"
#include "tf/measured_costs.h"
#include "tf/model_file.h"
#include "tf/program.h"
#include "tf/replicas.h"
#include "tf/saved_values.h"

namespace berth::tf_frontend {
namespace {

Library make_library(const ModelFile& file, const GraphDef& graph) {
  Library library{graph, file.source, {}};
  for (const OpDef& op : file.meta.ops) library.ops.emplace(op.name, &op);
  return library;
}

/// The fetches, with a signature's outputs in the place of its name. A node of that name is meant first.
std::vector<std::string> fetches_of(const ModelFile& file, const GraphDef& graph,
                                    const std::vector<std::string>& asked) {
  std::vector<std::string> fetches;
  const std::vector<Signature>& signatures = file.meta.signatures;
  for (const std::string& fetch : asked) {
    const std::string_view name = std::string_view(fetch).substr(0, fetch.find(':'));
    const auto& nodes = graph.nodes();
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](const NodeDef& each) { return each.name == name; })) {
      fetches.push_back(fetch);
      continue;
    }
    const auto found = std::find_if(signatures.begin(), signatures.end(),
                                    [&](const Signature& each) { return each.name == fetch; });
    if (found != signatures.end() && !found->outputs.empty()) {
      fetches.insert(fetches.end(), found->outputs.begin(), found->outputs.end());
      continue;
    }
    if (!signatures.empty()) {
      std::vector<std::string> names;
      for (const Signature& each : signatures) names.push_back(frontend::readable(each.name));
      throw Error(ErrorCode::not_found,
                  cat(file.source.file, ": fetch '", frontend::readable(fetch),
                      "' is neither a node of the graph nor a signature with outputs",
                      known_names(fetch, std::move(names))));
    }
    fetches.push_back(fetch);
  }
  return fetches;
}

/// Ops and sizes that inference does not know.
struct Unknowns {
  std::set<std::string> ops;  ///< types without a rule
  std::string bodies;         ///< the note on sizes in bodies
};

void note_unknowns(const Graph& graph, const Unknowns& unknown, std::vector<std::string>& notes) {
  if (!unknown.ops.empty()) {
    notes.push_back(cat("op types without a shape rule: ",
                        frontend::list_names({unknown.ops.begin(), unknown.ops.end()}),
                        "; say what they give with --op-rules FILE"));
  }
  std::string note = frontend::sizes_note(graph);
  // Sizes of the graph's own tensors are missing first.
  if (note.empty()) note = unknown.bodies;
  if (!note.empty()) notes.push_back(std::move(note));
}

/// Tensors without a size in loops and branches, which are no tensors of the graph.
std::string note_of_bodies(const Program& program, const Inferred& inferred) {
  std::int64_t tensors = 0;
  std::set<std::string> ops;
  for (const auto& [node, count] : inferred.unsized) {
    if (count == 0) continue;
    tensors += count;
    ops.insert(frontend::readable(program.nodes[static_cast<std::size_t>(node)].name));
  }
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const FrameId frame = inferred.loops.outermost(static_cast<NodeId>(i));
    const auto& outputs = program.nodes[i].outputs;
    const auto count = std::count_if(outputs.begin(), outputs.end(), lacks_size);
    if (frame == kNoFrame || count == 0) continue;
    tensors += count;
    ops.insert(inferred.loops.frames[static_cast<std::size_t>(frame)].name);
  }
  return tensors == 0 ? "" : frontend::bodies_note(tensors, {ops.begin(), ops.end()});
}

/// XLA compiles a call as a whole for one device.
void note_compiled_calls(const Program& program, const WireSource& source,
                         std::vector<std::string>& notes) {
  std::set<std::string> functions;
  for (const Call& call : program.calls) {
    if (call.function == nullptr) continue;
    const Attributes attributes(call.function->attrs, nullptr, source);
    if (attributes.boolean("_XlaMustCompile", false)) {
      functions.insert(frontend::readable(call.function->signature.name));
    }
  }
  const std::vector<std::string> names(functions.begin(), functions.end());
  if (names.empty()) return;
  notes.push_back(cat("functions that XLA is to compile, each for one device (jit_compile): ",
                      frontend::list_names(names),
                      "; their ops are placed one by one, so export without it to split them"));
}

/// Whether the exporter wrote the shapes that it inferred.
bool states_shapes(const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [](const Node& node) { return node.attributes.has("_output_shapes"); });
}

/// Input pipelines run functions on the host, out of what is placed.
void note_pipelines(const Program& program, std::vector<std::string>& notes) {
  std::set<std::string> types;
  for (const Node& node : program.nodes) {
    if (node.op.find("Dataset") == node.op.npos) continue;
    for (const char* key : {"f", "predicate", "key_func", "reduce_func"}) {
      if (!node.attributes.function(key).name.empty()) types.insert(frontend::readable(node.op));
    }
  }
  if (types.empty()) return;
  notes.push_back(cat("work within functions of an input pipeline is not counted: ",
                      frontend::list_names({types.begin(), types.end()}),
                      "; to place it, export a function that takes a batch"));
}

/// Errors of the graph itself say which file it is of.
template <typename Action>
auto naming(const std::filesystem::path& file, const Action& action) {
  try {
    return action();
  } catch (const Error& refusal) {
    throw Error(refusal.code(), cat(file.string(), ": ", refusal.what()));
  }
}

/// A file and all that is made of it on the way to a graph.
struct Reading {
  std::shared_ptr<const ModelFile> file;
  std::shared_ptr<GraphDef> graph;
  std::unique_ptr<Library> library;
  Program program;
  Inferred inferred;
  std::vector<std::string> notes;
  Unknowns unknown;
  std::optional<FixedBatch> fixed;  ///< where the batch is the user's and not the file's
  std::optional<SettledSizes> sizes;
};

/// Placeholders that are parameters: those whose shape the file fixes where the user says so; those
/// with the names of weights where it fixes all, and where it is to be guessed.
void mark_parameters(LoadOptions::Arguments choice, Program& program,
                     std::vector<std::string>& notes) {
  if (choice == LoadOptions::Arguments::inputs) return;
  const bool guess = choice == LoadOptions::Arguments::guess;
  std::vector<std::string> taken;
  const bool any_open = std::any_of(
      program.nodes.begin(), program.nodes.end(),
      [](const Node& node) { return node.op == "Placeholder" && !node.fixed.value_or(false); });
  for (Node& node : program.nodes) {
    if (node.op != "Placeholder" || !node.fixed.value_or(false)) continue;
    const bool named = ops::tf::is_float_type(node.outputs[0].type) &&
                       frontend::input_name(node.name) == frontend::InputName::weight;
    if ((guess || !any_open) && !named) continue;  // a step has something to work on
    node.parameter = true;
    taken.push_back(frontend::readable(node.name));
  }
  if (!guess && taken.empty()) notes.push_back(frontend::no_parameters_note());
  if (guess && !taken.empty()) notes.push_back(frontend::guessed_parameters_note(taken));
}

/// The step's program with its shapes, at the batch that the user states where the file fixes one.
class Shapes {
 public:
  Shapes(Library& library, const Selection& selection, const LoadOptions& options,
         InferenceContext& context)
      : library_(library), selection_(selection), options_(options), context_(context) {}

  /// Fills in what is known at the user's batch, into `context` and `inferred`. The sites of a batch
  /// that the file fixes go into `fixed`.
  Program infer(Inferred& inferred, std::optional<FixedBatch>& fixed) {
    Program program = make();
    const std::optional<std::int64_t> batch = context_.bindings.batch();
    if (!batch || *batch <= 0) {
      inferred = tf_frontend::infer(context_, program);
      return program;
    }
    if (fixed) return at_batch(*fixed, *batch, inferred);  // known from a load before
    // The file's own batch first, without the user's.
    LoadOptions as_stated = options_;
    as_stated.dims.erase("*");
    as_stated.dims.erase("batch");
    Bindings bindings(as_stated, library_.source.file);
    InferenceContext own = context_of(bindings);
    const Inferred stated = tf_frontend::infer(own, program);
    const std::optional<std::int64_t> size = stated_batch(program);
    if (!size) {
      program = make();
      inferred = tf_frontend::infer(context_, program);
      return program;
    }
    fixed = find_batch(
        program, stated.loops.order, *size, library_.source.file,
        [&](const FixedBatch& sites, std::int64_t probe) { return probed(sites, probe); });
    return at_batch(*fixed, *batch, inferred);
  }

 private:
  Program make() {
    const int left = library_.nodes_left;
    Program program = make_program(library_, selection_.needed, selection_.fetches);
    library_.nodes_left = left;
    return program;
  }
  InferenceContext context_of(Bindings& bindings) const {
    InferenceContext context{library_, bindings, context_.rules, context_.experts};
    context.empty_shapes_say_nothing = context_.empty_shapes_say_nothing;
    context.assigned = context_.assigned;
    return context;
  }
  Program at_batch(const FixedBatch& fixed, std::int64_t batch, Inferred& inferred) {
    Program program = make();
    set_batch(program, fixed, batch);
    context_.bindings.replace_batch(fixed.size);
    context_.other_batch = true;
    inferred = tf_frontend::infer(context_, program);
    return program;
  }
  Program probed(const FixedBatch& sites, std::int64_t probe) {
    Program program = make();
    set_batch(program, sites, probe);
    LoadOptions options = options_;
    options.dims.erase("batch");
    options.dims["*"] = probe;
    options.weakness["dims.*"] = context_.bindings.weakness_of_batch();
    Bindings bindings(options, library_.source.file);
    bindings.replace_batch(sites.size);
    InferenceContext context = context_of(bindings);
    context.other_batch = true;
    static_cast<void>(tf_frontend::infer(context, program));
    return program;
  }

  Library& library_;
  const Selection& selection_;
  const LoadOptions& options_;
  InferenceContext& context_;
};

}  // namespace

struct TensorFlowFrontend::Known {
  std::filesystem::path model;
  std::vector<std::string> fetches;
  std::shared_ptr<const ModelFile> file;
  std::shared_ptr<GraphDef> graph;  ///< `fixed` points into it
  FixedBatch fixed;
};

namespace {

std::unique_ptr<Reading> read(const std::filesystem::path& model, const LoadOptions& asked,
                              std::shared_ptr<const TensorFlowFrontend::Known>& known) {
  auto reading = std::make_unique<Reading>();
  const bool again = known != nullptr && known->model == model && known->fetches == asked.fetches;
  if (again) {
    reading->file = known->file;
    reading->graph = known->graph;
    reading->fixed = known->fixed;
  } else {
    reading->file = read_model_file(model, asked.fetches);
    reading->graph = std::make_shared<GraphDef>();
    read_graph_def(reading->file->graph, reading->file->source, *reading->graph);
  }
  const ModelFile& file = *reading->file;
  const GraphDef& graph = *reading->graph;
  reading->library = std::make_unique<Library>(make_library(file, graph));
  Library& library = *reading->library;
  std::vector<std::string>& notes = reading->notes;
  notes = file.notes;
  Selection selection = select(library, file.meta, fetches_of(file, graph, asked.fetches));
  notes.insert(notes.end(), selection.notes.begin(), selection.notes.end());
  const InputNames input_names(file.meta, graph, selection.needed);
  const LoadOptions options = input_names.in_nodes(asked);
  Bindings bindings(options, file.source.file);
  bindings.show(input_names);
  const OpRules rules = OpRules::load(options.op_rules.value_or(""));
  InferenceContext context{library, bindings, rules.empty() ? nullptr : &rules,
                           options.experts.value_or(LoadOptions::Experts())};
  context.fold = options.fold.value_or(true);
  // Before this version an empty shape of a placeholder meant that nothing is known of it.
  constexpr std::int64_t kFirstWithScalars = 24;
  context.empty_shapes_say_nothing = graph.producer > 0 && graph.producer < kFirstWithScalars;
  context.assigned = assigned_shapes(context, selection, options);
  reading->program =
      Shapes(library, selection, options, context).infer(reading->inferred, reading->fixed);
  bindings.finish(notes);
  reading->inferred.fixes_sizes =
      !bindings.gives_sizes() && context.routings == 0 && reading->inferred.at_their_largest == 0;
  reading->sizes = bindings.sizes();
  if (!bindings.batch()) reading->fixed.reset();
  if (reading->fixed && !again) {
    known = std::make_shared<const TensorFlowFrontend::Known>(TensorFlowFrontend::Known{
        model, options.fetches, reading->file, reading->graph, *reading->fixed});
  }
  if (reading->fixed && reading->fixed->size != *bindings.batch()) {
    notes.push_back(cat("the file fixes a batch of ", reading->fixed->size, "; at ",
                        *bindings.batch(), ", ", reading->fixed->sites.size(),
                        " numbers in its constants follow"));
  }
  mark_parameters(options.arguments.value_or(LoadOptions::Arguments::guess), reading->program,
                  notes);
  if (context.routings > 0) {
    notes.push_back(frontend::routing_note(context.routings, context.routed_experts));
  } else if (options.experts) {
    notes.push_back(frontend::no_routing_note(*options.experts));
  }
  if (reading->inferred.at_their_largest > 0) {
    notes.push_back(
        frontend::largest_step_note(reading->inferred.at_their_largest, context.choosers));
  }
  reading->unknown = {std::move(context.unknown_ops),
                      note_of_bodies(reading->program, reading->inferred)};
  note_compiled_calls(reading->program, file.source, notes);
  note_pipelines(reading->program, notes);
  if (const auto names = variables_without_size(reading->program); !names.empty()) {
    notes.push_back(
        cat("variables whose size the file does not tell, so that their memory is not "
            "counted: ",
            frontend::list_names(names),
            states_shapes(reading->program)
                ? "; save the model as a SavedModel, whose variables state their shapes"
                : "; export the graph with its shapes (add_shapes=True)"));
  }
  return reading;
}

std::string graph_name(const std::filesystem::path& model) {
  return frontend::readable(model.stem().string());
}

/// The tags of the graph, where describe() has put them behind the model's name.
std::string_view tags_in(const std::filesystem::path& model, std::string_view name) {
  const std::string front = graph_name(model) + " (";
  if (!name.starts_with(front) || !name.ends_with(')')) return {};
  return name.substr(front.size(), name.size() - front.size() - 1);
}

GraphBuilder describe(const Reading& reading, const std::filesystem::path& model) {
  const std::string& tags = reading.file->tags;
  const std::string name = graph_name(model) + (tags.empty() ? "" : cat(" (", tags, ")"));
  return naming(reading.file->path,
                [&] { return describe_graph(reading.program, reading.inferred, name); });
}

/// Gives `action` the training step of a file, at its whole batch.
template <typename Action>
auto with_step(const std::filesystem::path& model, const LoadOptions& options, const Graph& graph,
               const Training& training, std::shared_ptr<const TensorFlowFrontend::Known>& known,
               const Action& action) {
  LoadOptions at_batch = options;
  if (!options.dims.contains("batch")) at_batch.dims["*"] = training.batch;
  const std::unique_ptr<Reading> reading = read(model, at_batch, known);
  const Selection selection = select(*reading->library, reading->file->meta,
                                     fetches_of(*reading->file, *reading->graph, at_batch.fetches));
  return action(ReplicaSource{*reading->file, *reading->library, selection, reading->program,
                              reading->fixed, graph, training});
}

}  // namespace

TensorFlowFrontend::TensorFlowFrontend(const Options& /*options*/) {}

bool TensorFlowFrontend::claims(const std::filesystem::path& model) const {
  return looks_like_tensorflow(model);
}

LoadedModel TensorFlowFrontend::load(const std::filesystem::path& model,
                                     const LoadOptions& options) {
  std::unique_ptr<Reading> reading = read(model, options, known_);
  LoadedModel loaded;
  loaded.notes = std::move(reading->notes);
  loaded.sizes = std::move(reading->sizes);
  const Unknowns unknown = std::move(reading->unknown);
  GraphBuilder builder = describe(*reading, model);
  // Building the graph takes as much again as the file and all that was made of it.
  reading.reset();
  loaded.graph = naming(model, [&] { return builder.build(); });
  note_unknowns(*loaded.graph, unknown, loaded.notes);
  return loaded;
}

LoadedProgram TensorFlowFrontend::load_program(const std::filesystem::path& model,
                                               const LoadOptions& options) {
  std::unique_ptr<Reading> reading = read(model, options, known_);
  GraphBuilder builder = describe(*reading, model);
  std::shared_ptr<const Graph> graph = naming(model, [&] { return builder.build(); });
  LoadedProgram loaded;
  loaded.notes = std::move(reading->notes);
  loaded.sizes = std::move(reading->sizes);
  note_unknowns(*graph, reading->unknown, loaded.notes);
  const SavedValues saved = find_saved_values(*reading->file, *reading->library, reading->program);
  loaded.notes.insert(loaded.notes.end(), saved.notes.begin(), saved.notes.end());
  loaded.program = make_execution({reading->file, *reading->library, reading->program,
                                   reading->inferred.loops, std::move(graph), saved});
  return loaded;
}

void TensorFlowFrontend::annotate(const std::filesystem::path& model, const Graph& graph,
                                  const Cluster& cluster, const Placement& placement,
                                  const std::filesystem::path& output) {
  const std::unique_ptr<ModelFile> file = read_model_file(model, {}, tags_in(model, graph.name()));
  GraphDef definition;
  read_graph_def(file->graph, file->source, definition);
  Library library = make_library(*file, definition);
  const NodeDevices devices(library, graph, cluster, placement);
  const std::string content = set_devices(*file, devices);
  write_file(output, output.extension() == ".gz" ? gzip(content) : content);
}

void TensorFlowFrontend::check_replicas(const std::filesystem::path& model,
                                        const LoadOptions& options, const Graph& graph,
                                        const Training& training) {
  with_step(model, options, graph, training, known_,
            [](const ReplicaSource& source) { tf_frontend::check_replicas(source); });
}

void TensorFlowFrontend::write_replicas(const std::filesystem::path& model,
                                        const LoadOptions& options, const Graph& graph,
                                        const Training& training,
                                        const std::vector<std::int64_t>& shares,
                                        const Cluster& cluster, const Placement& placement,
                                        const std::filesystem::path& output) {
  std::string content =
      with_step(model, options, graph, training, known_, [&](const ReplicaSource& source) {
        return replicated_graph(source, {shares, cluster, placement});
      });
  const bool compressed = output.extension() == ".gz";
  // TensorFlow reads a file of this name as a MetaGraphDef.
  if ((compressed ? output.stem() : output).extension() == ".meta") {
    constexpr std::uint32_t kInfo = 1, kGraph = 2, kTags = 4;
    std::string info, meta;
    frontend::append_bytes_field(info, kTags, "train");
    frontend::append_bytes_field(meta, kInfo, info);
    frontend::append_bytes_field(meta, kGraph, content);
    content = std::move(meta);
  }
  write_file(output, compressed ? gzip(content) : content);
}

bool TensorFlowFrontend::claims_costs(const std::filesystem::path& costs) const {
  return looks_like_profile(costs);
}

LoadedCosts TensorFlowFrontend::load_costs(const std::filesystem::path& costs, const Graph& graph,
                                           const Cluster& cluster) {
  return measured_costs(read_profile(costs), costs.string(), graph, cluster);
}

}  // namespace berth::tf_frontend
