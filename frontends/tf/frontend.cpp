#include "tf/frontend.h"

#include <memory>
#include <set>

#include "berth/error.h"
#include "berth/files.h"
#include "support/text.h"
#include "tf/annotate.h"
#include "tf/fetches.h"
#include "tf/graph_maker.h"
#include "tf/gzip.h"
#include "tf/inference.h"
#include "tf/measured_costs.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {
namespace {

using frontend::cat;

Library make_library(const ModelFile& file, const GraphDef& graph) {
  Library library{graph, file.source, {}};
  for (const OpDef& op : file.meta.ops) library.ops.emplace(op.name, &op);
  return library;
}

void note_unknowns(const Graph& graph, const std::set<std::string>& unknown_ops,
                   std::vector<std::string>& notes) {
  if (!unknown_ops.empty()) {
    notes.push_back(cat("op types without a shape rule: ",
                        frontend::list_names({unknown_ops.begin(), unknown_ops.end()})));
  }
  TensorId unsized = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    unsized += graph.bytes_known(tensor) ? 0 : 1;
  }
  if (unsized > 0) {
    notes.push_back(
        cat(unsized, " of ", graph.tensor_count(), " tensors have no size and count as 0 bytes"));
  }
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

struct Reading {
  GraphBuilder builder;
  std::vector<std::string> notes;
  std::set<std::string> unknown_ops;
};

/// The file and all that was made of it end with this call: building the graph takes as much again.
Reading read(const std::filesystem::path& model, const LoadOptions& options) {
  const std::unique_ptr<ModelFile> file = read_model_file(model);
  GraphDef graph;
  read_graph_def(file->graph, file->source, graph);
  Library library = make_library(*file, graph);
  std::vector<std::string> notes = file->notes;
  Selection selection = select(library, file->meta, options.fetches);
  notes.insert(notes.end(), selection.notes.begin(), selection.notes.end());
  Program program = make_program(library, selection.needed);
  Bindings bindings(options, file->source.file);
  InferenceContext context{library, bindings, {}};
  // Before this version an empty shape of a placeholder meant that nothing is known of it.
  constexpr std::int64_t kFirstWithScalars = 24;
  context.empty_shapes_say_nothing = graph.producer > 0 && graph.producer < kFirstWithScalars;
  const Inferred inferred = infer(context, program);
  bindings.finish(notes);
  const std::string name = frontend::readable(model.stem().string());
  GraphBuilder builder =
      naming(file->path, [&] { return describe_graph(program, inferred, name); });
  return {std::move(builder), std::move(notes), std::move(context.unknown_ops)};
}

}  // namespace

TensorFlowFrontend::TensorFlowFrontend(const Options& /*options*/) {}

bool TensorFlowFrontend::claims(const std::filesystem::path& model) const {
  return looks_like_tensorflow(model);
}

LoadedModel TensorFlowFrontend::load(const std::filesystem::path& model,
                                     const LoadOptions& options) {
  Reading reading = read(model, options);
  LoadedModel loaded;
  loaded.notes = std::move(reading.notes);
  loaded.graph = naming(model, [&] { return reading.builder.build(); });
  note_unknowns(*loaded.graph, reading.unknown_ops, loaded.notes);
  return loaded;
}

void TensorFlowFrontend::annotate(const std::filesystem::path& model, const Graph& graph,
                                  const Cluster& cluster, const Placement& placement,
                                  const std::filesystem::path& output) {
  const std::unique_ptr<ModelFile> file = read_model_file(model);
  GraphDef definition;
  read_graph_def(file->graph, file->source, definition);
  Library library = make_library(*file, definition);
  const NodeDevices devices(library, graph, cluster, placement);
  const std::string content = set_devices(*file, devices);
  write_file(output, output.extension() == ".gz" ? gzip(content) : content);
}

bool TensorFlowFrontend::claims_costs(const std::filesystem::path& costs) const {
  return looks_like_profile(costs);
}

LoadedCosts TensorFlowFrontend::load_costs(const std::filesystem::path& costs, const Graph& graph,
                                           const Cluster& cluster) {
  return measured_costs(read_profile(costs), costs.string(), graph, cluster);
}

}  // namespace berth::tf_frontend
