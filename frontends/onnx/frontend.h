#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "berth/frontend.h"
#include "berth/options.h"
#include "berth/sdk/splitting.h"

namespace berth::onnx_frontend {

/// Loads a model whose content is in memory; external data is looked for beside `path`.
[[nodiscard]] LoadedModel load_model(std::string_view bytes, const std::filesystem::path& path,
                                     const LoadOptions& options);

/// The same, with what executing it needs. `owner` keeps `bytes` alive: contents refer to them.
[[nodiscard]] LoadedProgram load_program(std::string_view bytes, std::shared_ptr<const void> owner,
                                         const std::filesystem::path& path,
                                         const LoadOptions& options);

/// Models of the ONNX exchange format: files whose name ends in ".onnx" (or ".onnx.pb", as the
/// first model zoos named them).
class OnnxFrontend final : public Frontend,
                           public ProgramLoader,
                           public ModelFiles,
                           public PlacementWriter,
                           public ModelSplitter {
 public:
  explicit OnnxFrontend(const Options& options);

  [[nodiscard]] bool claims(const std::filesystem::path& model) const override;
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options) override;
  [[nodiscard]] LoadedProgram load_program(const std::filesystem::path& model,
                                           const LoadOptions& options) override;
  [[nodiscard]] std::vector<std::filesystem::path> files(
      const std::filesystem::path& model) const override;
  void annotate(const std::filesystem::path& model, const Graph& graph, const Cluster& cluster,
                const Placement& placement, const std::filesystem::path& output) override;
  [[nodiscard]] std::vector<ModelPart> split(const std::filesystem::path& model, const Graph& graph,
                                             const Cluster& cluster, const Placement& placement,
                                             const std::filesystem::path& folder) override;
};

}  // namespace berth::onnx_frontend
