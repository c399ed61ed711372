#pragma once

#include <memory>

#include "berth/frontend.h"
#include "berth/options.h"
#include "berth/sdk/write_checks.h"

namespace berth::tf_frontend {

/// TensorFlow's graphs: GraphDef (.pb, .pbtxt), MetaGraphDef (.meta) and SavedModel (a folder or
/// its file); binary or text, also compressed (.gz).
class TensorFlowFrontend final : public Frontend,
                                 public ProgramLoader,
                                 public PlacementWriter,
                                 public CostsReader,
                                 public ReplicaWriter,
                                 public ReplicaChecker {
 public:
  explicit TensorFlowFrontend(const Options& options);

  [[nodiscard]] bool claims(const std::filesystem::path& model) const override;

  /// Loads what the fetches need; without fetches, the step (see fetches.h). Open dimensions and
  /// loops with an unknown number of iterations are bound by name (see Bindings in inference.h).
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options) override;

  /// If the file shows the value of a variable before the first step, the variable's attributes
  /// hold it (see find_initial_values in initial_values.h). A fetch without outputs, such as a
  /// train op, stands for the variables that the ops it needs have changed. Switch and
  /// Merge outside of loops are not executed.
  [[nodiscard]] LoadedProgram load_program(const std::filesystem::path& model,
                                           const LoadOptions& options) override;

  /// Sets NodeDef.device of every placed node and changes no other byte. The form is that of the
  /// input, compressed if `output` ends in ".gz". For a SavedModel the file is written, not the
  /// folder.
  void annotate(const std::filesystem::path& model, const Graph& graph, const Cluster& cluster,
                const Placement& placement, const std::filesystem::path& output) override;

  /// A binary GraphDef, compressed if `output` ends in ".gz".
  void write_replicas(const std::filesystem::path& model, const LoadOptions& options,
                      const Graph& graph, const Training& training,
                      const std::vector<std::int64_t>& shares, const Cluster& cluster,
                      const Placement& placement, const std::filesystem::path& output) override;

  /// Refuses steps in functions, and gradients that are computed in loops.
  void check_replicas(const std::filesystem::path& model, const LoadOptions& options,
                      const Graph& graph, const Training& training) override;

  /// A RunMetadata, StepStats or CostGraphDef, by its content.
  [[nodiscard]] bool claims_costs(const std::filesystem::path& costs) const override;

  /// Measured times by name of node; see measured_costs.h for what counts for which op and kind.
  [[nodiscard]] LoadedCosts load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster) override;

  struct Known;

 private:
  /// The file whose batch was found last, which is as long to find as a load.
  std::shared_ptr<const Known> known_;
};

}  // namespace berth::tf_frontend
