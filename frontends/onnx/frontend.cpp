#include "onnx/frontend.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "berth/error.h"
#include "berth/groups.h"
#include "berth/sdk/op_rules.h"
#include "onnx/annotation.h"
#include "onnx/arguments.h"
#include "onnx/contents.h"
#include "onnx/decisions.h"
#include "onnx/dims.h"
#include "onnx/inference.h"
#include "onnx/instructions.h"
#include "onnx/model.h"
#include "onnx/program.h"
#include "onnx/routing.h"
#include "onnx/splitting.h"
#include "onnx/translation.h"
#include "support/experts.h"
#include "support/mapped_file.h"
#include "support/sizes.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using frontend::list_names;
using frontend::readable;

/// Advice that may mend a refusal: a net that halves an image and doubles it again has no place for one pixel.
std::string advice_on_dims(const std::vector<std::string>& taken_as_one) {
  if (taken_as_one.empty()) return "";
  return cat("; 1 may be too small for dimensions that were not given: ", list_names(taken_as_one),
             "; give them with --dim, such as --dim ", taken_as_one.front(), "=64");
}

void note_inference(const InferenceReport& report, const Model& model,
                    std::vector<std::string>& notes) {
  if (!report.unknown_operators.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, count] : report.unknown_operators) {
      names.push_back(cat(name, " (", count, "x)"));
    }
    notes.push_back(
        cat("operators not known here are kept as they are; sizes of what they make "
            "come from the file or stay unknown: ",
            list_names(names),
            "; say what they give with --op-rules FILE, or with --shape TENSOR=1x3x224x224"));
  }
  if (!report.beyond_schemas.empty()) {
    notes.push_back(
        cat("operators have attributes or inputs that the installed libonnx does not know, whose "
            "operator sets are older; their shapes follow its rules: ",
            list_names({report.beyond_schemas.begin(), report.beyond_schemas.end()}),
            "; where those are wrong, give shapes with --shape TENSOR=1x3x224x224"));
  }
  if (report.refused > 0) {
    notes.push_back(cat("shape inference refuses ", report.refused, " nodes, first ",
                        readable(report.first_refusal), advice_on_dims(model.dims_taken_as_one)));
  }
  if (report.contradictions > 0) {
    notes.push_back(cat(report.contradictions,
                        " tensors have another type or shape in the file "
                        "than follows from the inputs; the latter counts"));
  }
  if (report.at_their_largest > 0) {
    notes.push_back(frontend::largest_step_note(report.at_their_largest, report.choosers));
  }
  if (report.routings > 0) {
    notes.push_back(frontend::routing_note(report.routings, report.experts));
  }
  if (const std::vector<std::string>& names = report.loops_of_unknown_length; !names.empty()) {
    notes.push_back(
        cat("the number of iterations of a loop is not known before it runs; its body is counted "
            "once: ",
            list_names(names), "; say it with --dim LOOP=N, such as --dim ", names.front(), "=10"));
  }
}

/// `unsized`: tensors of the graph without a size.
void note_data(const Model& model, std::int64_t unsized, std::vector<std::string>& notes) {
  if (model.tensors_without_data > 0) {
    notes.push_back(cat(model.tensors_without_data,
                        " weights have no data in the file; their "
                        "sizes follow from their shapes"));
  }
  if (!model.lost_shapes.empty() && unsized > 0) {
    std::string why;
    for (const auto& [what, files] : model.lost_files) {
      why += cat(why.empty() ? "" : ", ", list_names({files.begin(), files.end()}, 4), what);
    }
    notes.push_back(
        cat("shapes lie in external data that is not there (", why,
            "): ", list_names(model.lost_shapes, 4), "; ", unsized,
            unsized == 1 ? " tensor has" : " tensors have",
            " no size without them. Put the whole files beside the model, export it again, or give "
            "shapes with --shape TENSOR=1x3x224x224"));
  }
}

std::int64_t unsized_tensors(const Graph& graph) {
  std::int64_t unsized = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    unsized += graph.bytes_known(tensor) ? 0 : 1;
  }
  return unsized;
}

/// Those of the tensors behind the first without a size follow.
frontend::OpenDims open_dims(const Model& model, const Translation& translation) {
  const Graph& graph = *translation.graph;
  std::map<std::string, TensorId> unsized;
  for (const TensorId tensor : frontend::lost_sizes(graph, translation.not_asked)) {
    unsized.emplace(frontend::tensor_label(graph, tensor), tensor);
  }
  frontend::OpenDims open;
  if (unsized.empty()) return open;
  const auto& proto = model.proto->graph();
  for (const auto* const infos : {&proto.value_info(), &proto.output()}) {
    for (const auto& info : *infos) {
      const auto tensor = unsized.find(readable(info.name()));
      if (tensor == unsized.end()) continue;
      for (const auto& dim : info.type().tensor_type().shape().dim()) {
        if (!is_named(dim) || model.dims.value_of(dim.dim_param())) continue;
        open[tensor->second].insert(dim.dim_param());
      }
    }
  }
  return open;
}

void note_sizes(const Model& model, const Translation& translation,
                std::vector<std::string>& notes) {
  std::string note = frontend::sizes_note(*translation.graph, translation.not_asked,
                                          open_dims(model, translation));
  if (note.empty()) note = translation.note_of_bodies;
  if (!note.empty()) notes.push_back(std::move(note));
}

std::string graph_name(const Model& model) {
  const std::string& name = model.proto->graph().name();
  return name.empty() ? readable(model.path.stem().string()) : readable(name);
}

// A model on its way to a graph, or to a program.
struct Loading {
  std::unique_ptr<Model> model;
  Program program;
  Translation translation;
  std::shared_ptr<const Graph> graph;  // the translation's, or what the fetches leave of it
  std::vector<std::string> notes;
};

Loading read_graph(std::string_view bytes, const std::filesystem::path& path,
                   const LoadOptions& options) {
  Loading loading;
  const OpRules rules = OpRules::load(options.op_rules.value_or(""));
  loading.model = read_model(bytes, path);
  const Model& model = *loading.model;
  bind_dims(*loading.model, options);
  loading.program = make_program(*loading.model);
  loading.program.experts = options.experts.value_or(LoadOptions::Experts());
  loading.program.given_trips = options.dims;
  const InferenceReport report = [&] {
    try {
      return infer(loading.program, options.experts.value_or(LoadOptions::Experts()), rules);
    } catch (const Error& refusal) {
      throw Error(refusal.code(), cat(model.file, ": ", refusal.what()));
    }
  }();

  loading.program.fixes_sizes =
      model.fixes_sizes && report.routings == 0 && report.at_their_largest == 0;

  auto& notes = loading.notes;
  notes = model.notes;
  notes.insert(notes.end(), loading.program.notes.begin(), loading.program.notes.end());
  note_inference(report, model, notes);
  const std::vector<Node>& nodes = loading.program.main.nodes;
  if (options.experts && report.routings == 0 &&
      std::none_of(nodes.begin(), nodes.end(), is_mixture_of_experts)) {
    notes.push_back(frontend::no_routing_note(*options.experts));
  }
  take_parameters(model, options, loading.program, notes);
  try {
    loading.translation =
        translate(loading.program, graph_name(model), options.fold.value_or(true), notes);
    loading.graph = loading.translation.graph;
    note_sizes(model, loading.translation, notes);
    note_data(model, unsized_tensors(*loading.graph), notes);
    if (!options.fetches.empty()) {
      const OpId all = loading.graph->op_count();
      loading.graph = prune(*loading.graph, options.fetches);
      notes.push_back(cat("left out ", all - loading.graph->op_count(), " of ", all,
                          " ops that the fetches do not need"));
    }
  } catch (const Error& refusal) {
    throw Error(refusal.code(), cat(model.file, ": ", refusal.what()));
  }
  return loading;
}

}  // namespace

LoadedModel load_model(std::string_view bytes, const std::filesystem::path& path,
                       const LoadOptions& options) {
  Loading loading = read_graph(bytes, path, options);
  return {std::move(loading.graph), std::move(loading.notes), std::move(loading.model->sizes)};
}

LoadedProgram load_program(std::string_view bytes, std::shared_ptr<const void> owner,
                           const std::filesystem::path& path, const LoadOptions& options) {
  Loading loading = read_graph(bytes, path, options);
  if (std::string note = drawn_note(find_decisions(loading.program)); !note.empty()) {
    loading.notes.push_back(std::move(note));
  }
  Contents contents(*loading.model, bytes, std::move(owner));
  auto program = std::make_shared<const berth::Program>(
      make_executable(loading.program, loading.translation, std::move(loading.graph),
                      options.fetches, contents, loading.notes));
  return {std::move(program), std::move(loading.notes), std::move(loading.model->sizes)};
}

OnnxFrontend::OnnxFrontend(const Options& /*options*/) {}

bool OnnxFrontend::claims(const std::filesystem::path& model) const {
  std::string name = model.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".onnx") || name.ends_with(".onnx.pb");
}

LoadedModel OnnxFrontend::load(const std::filesystem::path& path, const LoadOptions& options) {
  const frontend::MappedFile file(path);
  return load_model(file.bytes(), path, options);
}

LoadedProgram OnnxFrontend::load_program(const std::filesystem::path& path,
                                         const LoadOptions& options) {
  const auto file = std::make_shared<const frontend::MappedFile>(path);
  return onnx_frontend::load_program(file->bytes(), file, path, options);
}

std::vector<std::filesystem::path> OnnxFrontend::files(const std::filesystem::path& path) const {
  std::vector<std::filesystem::path> files;
  try {
    const frontend::MappedFile file(path);
    const std::unique_ptr<Model> model = read_model(file.bytes(), path);
    static_cast<void>(
        make_program(*model));  // checks every tensor, and so learns where its data is
    for (const std::string& location : model->checked_locations) {
      files.push_back(path.parent_path() / location);
    }
  } catch (const Error&) {
    return {};
  }
  std::sort(files.begin(), files.end());
  return files;
}

void OnnxFrontend::annotate(const std::filesystem::path& model, const Graph& graph,
                            const Cluster& cluster, const Placement& placement,
                            const std::filesystem::path& output) {
  write_annotated(model, graph, cluster, placement, output);
}

std::vector<ModelPart> OnnxFrontend::split(const std::filesystem::path& model, const Graph& graph,
                                           const Cluster& cluster, const Placement& placement,
                                           const std::filesystem::path& folder) {
  return split_model(model, graph, cluster, placement, folder);
}

}  // namespace berth::onnx_frontend
