#pragma once

#include "berth/frontend.h"
#include "berth/options.h"

namespace berth::tf_frontend {

/// TensorFlow's graphs: GraphDef (.pb, .pbtxt), MetaGraphDef (.meta) and SavedModel (a folder or
/// its file), binary or text, also compressed (.gz).
class TensorFlowFrontend final : public Frontend {
 public:
  explicit TensorFlowFrontend(const Options& options);

  [[nodiscard]] bool claims(const std::filesystem::path& model) const override;

  /// What is loaded is what the fetches need; without any, the step (see fetches.h). Open
  /// dimensions and loops of unknown rounds are bound by name (see Bindings in inference.h).
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options) override;

  /// Every variable says in its attributes what it is before the first step, where the file shows
  /// it (see find_initial_values in initial_values.h). A fetch without outputs, as a train op is
  /// one, stands for the variables that the ops it needs have changed. Loops and branches are not
  /// executed.
  [[nodiscard]] LoadedProgram load_program(const std::filesystem::path& model,
                                           const LoadOptions& options) override;

  /// Sets NodeDef.device of every node that is placed, and changes no other byte. The form is that
  /// of the input; compressed where `output` ends in ".gz". Of a SavedModel the file is written,
  /// not the folder.
  void annotate(const std::filesystem::path& model, const Graph& graph, const Cluster& cluster,
                const Placement& placement, const std::filesystem::path& output) override;

  /// A RunMetadata, StepStats or CostGraphDef, by its content.
  [[nodiscard]] bool claims_costs(const std::filesystem::path& costs) const override;

  /// Measured times by name of node; see measured_costs.h for what counts for which op and kind.
  [[nodiscard]] LoadedCosts load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster) override;
};

}  // namespace berth::tf_frontend
