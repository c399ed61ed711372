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

int known_sizes(const Graph& graph) {
  int known = 0;
  for (TensorId t = 0; t < graph.tensor_count(); ++t) known += graph.bytes_known(t) ? 1 : 0;
  return known;
}

TEST_CASE("every good shared model loads") {
  if (!test::have_shared_data("the test of real ONNX files")) return;
  OnnxFrontend frontend{Options{}};
  const auto files = models_below(test::shared_path("models/onnx"));
  std::size_t loaded = 0, mostly_sized = 0;
  std::int64_t tensors = 0, sized = 0;
  for (const fs::path& file : files) {
    CAPTURE(file.filename().string());
    try {
      const LoadedModel model = frontend.load(file, {});
      ++loaded;
      const auto program = frontend.load_program(file, {}).program;
      CHECK(program->graph->op_count() == model.graph->op_count());
      CHECK(program->graph->tensor_count() == model.graph->tensor_count());
      const int known = known_sizes(*model.graph);
      tensors += model.graph->tensor_count();
      sized += known;
      if (known >= 0.95 * model.graph->tensor_count()) ++mostly_sized;
    } catch (const Error& refusal) {
      FAIL_CHECK("refused: ", refusal.what());
    }
  }
  MESSAGE(loaded, " of ", files.size(), " models load; in ", mostly_sized,
          " of them at least 95 % of the tensors have a size, in all ", sized, " of ", tensors);
  // What is left are texts, sequences, ops of others and sizes that only the content of an input
  // tells.
  CHECK(static_cast<double>(mostly_sized) >= 0.93 * static_cast<double>(files.size()));
  CHECK(static_cast<double>(sized) >= 0.98 * static_cast<double>(tensors));
}

}  // namespace
}  // namespace berth::onnx_frontend
