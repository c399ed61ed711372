// Real files, good and bad, from public repositories: what loads, and whether the shapes that
// TensorFlow wrote into them are found again without them.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "berth/error.h"
#include "frontends/tf/proto/graph.pb.h"
#include "support/data.h"
#include "text_graph.h"
#include "tf/attributes.h"
#include "tf/model_file.h"

namespace berth::tf_frontend {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every good shared model loads") {
  if (!test::have_shared_data("the test of real TensorFlow files")) return;
  TensorFlowFrontend frontend{Options{}};
  int loaded = 0, files = 0;
  std::int64_t tensors = 0, sized = 0;
  for (const char* folder : {"models/tf", "models/tf_train"}) {
    for (const fs::path& file : files_below(test::shared_path(folder))) {
      CAPTURE(file.filename().string());
      ++files;
      CHECK(frontend.claims(file));
      try {
        const LoadedModel model = frontend.load(file, {});
        ++loaded;
        tensors += model.graph->tensor_count();
        for (TensorId t = 0; t < model.graph->tensor_count(); ++t) {
          sized += model.graph->bytes_known(t) ? 1 : 0;
        }
      } catch (const Error& refusal) {
        FAIL_CHECK("refused: ", refusal.what());
      }
    }
  }
  MESSAGE(loaded, " of ", files, " models load; ", sized, " of their ", tensors,
          " tensors have a size with no dimension bound");
  CHECK(static_cast<double>(sized) >= 0.81 * static_cast<double>(tensors));
}

TEST_CASE("files that hold no graph are refused, the others load") {
  if (!test::have_shared_data("the test of bad TensorFlow files")) return;
  TensorFlowFrontend frontend{Options{}};
  for (const fs::path& file : files_below(test::shared_path("models/tf_bad"))) {
    const std::string name = file.filename().string();
    CAPTURE(name);
    // Bad for TensorFlow's server or importer, and yet whole graphs.
    const bool graph = name == "fuzz_bad_node_attr.saved_model.pb" ||
                       name == "serving_bad_half_plus_two_export.meta" ||
                       name == "g2m_error-message-with-source-info.pbtxt" ||
                       name == "g2m_graph-undefined-output.pbtxt" ||
                       name == "g2m_invalid-output-index.pbtxt";
    try {
      static_cast<void>(frontend.load(file, {}));
      CHECK_MESSAGE(graph, "loaded");
    } catch (const Error& refusal) {
      CHECK_MESSAGE(!graph, "refused: ", refusal.what());
      CHECK(std::string(refusal.what()).find(name) != std::string::npos);
    }
  }
}

TEST_CASE("a graph is the same from binary and from text") {
  if (!test::have_shared_data("the comparison of forms")) return;
  TensorFlowFrontend frontend{Options{}};
  for (const char* name : {"bert_squad", "taxi_widedeep_2022"}) {
    CAPTURE(name);
    const fs::path base = test::shared_path(std::string("models/tf_train/") + name);
    const LoadedModel binary = frontend.load(base.string() + ".meta", {});
    const LoadedModel text = frontend.load(base.string() + ".pbtxt", {});
    const Graph &a = *binary.graph, &b = *text.graph;
    REQUIRE(a.op_count() == b.op_count());
    REQUIRE(a.tensor_count() == b.tensor_count());
    CHECK(a.total_param_bytes() == b.total_param_bytes());
    bool same = true;
    for (OpId op = 0; op < a.op_count(); ++op) {
      same = same && a.op_name(op) == b.op_name(op) && a.op_type(op) == b.op_type(op) &&
             a.colocation(op) == b.colocation(op) && a.in_edges(op).size() == b.in_edges(op).size();
    }
    for (TensorId t = 0; t < a.tensor_count(); ++t) {
      same = same && a.bytes(t) == b.bytes(t) && a.dtype(t) == b.dtype(t);
    }
    CHECK(same);
  }
}

/// The file's graph without the shapes TensorFlow wrote.
std::string without_shapes(const ModelFile& file) {
  tf_files::GraphDef graph;
  REQUIRE(graph.ParseFromArray(file.graph.data(), static_cast<int>(file.graph.size())));
  const auto strip = [](auto* nodes) {
    for (auto& node : *nodes) {
      auto* attrs = node.mutable_attr();
      attrs->erase(std::remove_if(attrs->begin(), attrs->end(),
                                  [](const auto& a) { return a.key() == "_output_shapes"; }),
                   attrs->end());
    }
  };
  strip(graph.mutable_node());
  for (auto& function : *graph.mutable_library()->mutable_function()) {
    strip(function.mutable_node_def());
  }
  return graph.SerializeAsString();
}

TEST_CASE("inference finds the shapes that TensorFlow wrote") {
  if (!test::have_shared_data("the comparison with TensorFlow's shapes")) return;
  std::int64_t known = 0, found = 0, differ = 0;
  std::vector<fs::path> files = files_below(test::shared_path("models/tf_train"));
  for (const fs::path& file : files_below(test::shared_path("models/tf"))) files.push_back(file);
  for (const fs::path& path : files) {
    CAPTURE(path.filename().string());
    const std::unique_ptr<ModelFile> file = read_model_file(path);
    GraphDef graph;
    read_graph_def(file->graph, file->source, graph);
    LoadOptions everything;
    for (const NodeDef& node : graph.nodes()) everything.fetches.emplace_back(node.name);
    if (everything.fetches.empty()) continue;
    const LoadedModel model = load_bytes(without_shapes(*file), everything, "stripped.pb");
    for (const NodeDef& node : graph.nodes()) {
      const auto op = model.graph->find_op(node.name);
      if (!op) continue;
      const Attributes attributes(node.attrs, nullptr, file->source);
      const std::vector<Value> declared = attributes.shapes("_output_shapes");
      const auto outputs = model.graph->outputs(*op);
      for (std::size_t i = 0; i < declared.size() && i < outputs.size(); ++i) {
        if (!declared[i].fully_known()) continue;
        ++known;
        const auto shape = model.graph->shape(outputs[i]);
        if (!model.graph->has_shape(outputs[i]) ||
            std::find(shape.begin(), shape.end(), kUnknownDim) != shape.end()) {
          continue;
        }
        const bool same = std::equal(shape.begin(), shape.end(), declared[i].dims.begin(),
                                     declared[i].dims.end());
        found += same ? 1 : 0;
        differ += same ? 0 : 1;
        CHECK_MESSAGE(same, "output ", i, " of ", std::string(node.name), " (",
                      std::string(node.op), ") has another shape");
      }
    }
  }
  MESSAGE(found, " of ", known, " known shapes are found again, ", differ, " differ");
  CHECK(static_cast<double>(found) >= 0.95 * static_cast<double>(known));
}

}  // namespace
}  // namespace berth::tf_frontend
