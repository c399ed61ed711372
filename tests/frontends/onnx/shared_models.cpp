// Real model files, good and bad, from public repositories: what loads, and how much of it has a
// size.
#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "berth/error.h"
#include "onnx/frontend.h"
#include "support/data.h"

namespace berth::onnx_frontend {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models_below(const fs::path& folder) {
  const OnnxFrontend frontend{Options{}};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && frontend.claims(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

double share_of_known_sizes(const Graph& graph) {
  if (graph.tensor_count() == 0) return 1;
  int known = 0;
  for (TensorId t = 0; t < graph.tensor_count(); ++t) known += graph.bytes_known(t) ? 1 : 0;
  return static_cast<double>(known) / graph.tensor_count();
}

TEST_CASE("every good shared model loads") {
  if (!test::have_shared_data("the test of real ONNX files")) return;
  OnnxFrontend frontend{Options{}};
  const auto files = models_below(test::shared_path("models/onnx"));
  std::size_t loaded = 0, sized = 0;
  for (const fs::path& file : files) {
    CAPTURE(file.filename().string());
    try {
      const LoadedModel model = frontend.load(file, {});
      ++loaded;
      const auto program = frontend.load_program(file, {}).program;
      CHECK(program->graph->op_count() == model.graph->op_count());
      CHECK(program->graph->tensor_count() == model.graph->tensor_count());
      if (share_of_known_sizes(*model.graph) >= 0.95) ++sized;
    } catch (const Error& refusal) {
      FAIL_CHECK("refused: ", refusal.what());
    }
  }
  MESSAGE(loaded, " of ", files.size(), " models load; in ", sized,
          " of them at least 95 % of the tensors have a size");
}

}  // namespace
}  // namespace berth::onnx_frontend
