#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/problem.h"
#include "berth/program.h"

namespace berth {

struct LoadOptions {
  /// Values of named dynamic dimensions: {"batch": 8}. A name the model does not have is an error
  /// listing those it has.
  std::map<std::string, std::int64_t> dims;
  /// Shapes of inputs by name, where a dimension has no name.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  /// Ops or tensors to compute, by name: only what they need is loaded. Empty = what the file calls
  /// its outputs, or the training step where it has one. A name that is not there is an error.
  std::vector<std::string> fetches;
};

struct LoadedModel {
  std::shared_ptr<const Graph> graph;
  /// What a user should know and can live with: an opset newer than known, inferred defaults,
  /// unknown op types, how many tensors have no size.
  std::vector<std::string> notes;
};

struct LoadedProgram {
  std::shared_ptr<const Program> program;
  /// As LoadedModel::notes.
  std::vector<std::string> notes;
};

struct LoadedCosts {
  std::shared_ptr<const Costs> costs;
  /// What a user should know and can live with: how many ops have a measurement.
  std::vector<std::string> notes;
};

/// Reads (and writes back) one family of model files. [thread-compatible]
class BERTH_EXPORT Frontend {
 public:
  virtual ~Frontend();

  /// Whether this file or folder looks like one of its own: by name, and by a few bytes where the
  /// name does not decide. Never throws for a file that cannot be read.
  [[nodiscard]] virtual bool claims(const std::filesystem::path& model) const = 0;

  /// Throws Error naming the file, the place in it and the fix.
  [[nodiscard]] virtual LoadedModel load(const std::filesystem::path& model,
                                         const LoadOptions& options) = 0;

  /// The model with all that executing it needs. Its graph is the one that `load` gives for these
  /// options: same ops, same tensors, same ids. Contents that lie in the file as they are needed
  /// are mapped, not read. Throws as `load` does; what can be placed and not executed is said by
  /// the instruction (Instruction::obstacle). The default throws Error(unsupported).
  [[nodiscard]] virtual LoadedProgram load_program(const std::filesystem::path& model,
                                                   const LoadOptions& options);

  /// Writes the model with its placement in the family's own terms. Everything else in the file
  /// is kept. Written whole or not at all. The default throws Error(unsupported).
  virtual void annotate(const std::filesystem::path& model, const Graph& graph,
                        const Cluster& cluster, const Placement& placement,
                        const std::filesystem::path& output);

  /// Whether this file looks like compute times as the family's own profiler measured them, by its
  /// content. Never throws for a file that cannot be read. The default claims none.
  [[nodiscard]] virtual bool claims_costs(const std::filesystem::path& costs) const;

  /// The costs of `graph`, which this frontend loaded, on the kinds of `cluster`: measured ones by
  /// op name, the roofline model's (Costs::roofline) for the rest. Throws Error naming the file,
  /// the place in it and the fix; also where it measures no op of the graph. The default throws
  /// Error(unsupported).
  [[nodiscard]] virtual LoadedCosts load_costs(const std::filesystem::path& costs,
                                               const Graph& graph, const Cluster& cluster);
};

}  // namespace berth
