/// @file
/// Frontends read model files; extensions of theirs write placements back, and more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/problem.h"
#include "berth/replicas.h"
#include "berth/sdk/program.h"

namespace berth {

struct LoadOptions {
  /// Values of named dynamic dimensions: {"batch": 8}; > 0. "*" is the first one of every input. A loop's name is
  /// how often it runs, where the file does not say. Names that are expressions ("past + seq") follow from their
  /// symbols. A name that the model does not have is an error; the message lists those it has.
  std::map<std::string, std::int64_t> dims;
  /// Shapes by name: of inputs, for dimensions without a name, and of any other tensor whose shape
  /// does not follow from what the file holds. One that contradicts what follows is an error.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  /// How weak the source of a size is, by "dims.NAME" or "shapes.NAME"; absent = 0, the strongest. Where two say
  /// the same dimension, the stronger one counts; two of one strength that differ are an error.
  std::map<std::string, int, std::less<>> weakness;
  /// Names of ops or tensors to compute; only what they need is loaded. Empty = the outputs that
  /// the file declares, or the training step if it has one. An unknown name is an error.
  std::vector<std::string> fetches;
  /// Whether Engine::load marks what a runtime computes once, when it loads the model
  /// (berth/sdk/ops/constants.h). Programs are executed op by op. Frontends do not look at it.
  std::optional<bool> fold;  ///< default: true
  /// Results that are the next step's inputs, each as "RESULT=INPUT" by name. Others are found by name
  /// too (berth/sdk/ops/states.h), unless one of the texts is "none". To a frontend, INPUT is no parameter.
  std::vector<std::string> states;
  /// The meaning of the model's inputs. `guess`: parameters where the file is of a kind whose weights are
  /// inputs (training artefacts, exported gradients), with a note; else inputs.
  enum class Arguments : std::uint8_t { guess, inputs, parameters };
  std::optional<Arguments> arguments = {};  ///< guess
  /// How many of how many experts a token chooses.
  struct Experts {
    std::int64_t chosen = 0;
    std::int64_t of = 0;
  };
  std::optional<Experts> experts = {};  ///< as the model says
  /// A berth.ops/1 file with rules for op types that no table has; empty = none.
  std::optional<std::string> op_rules = {};
};

/// "inputs", "parameters" or "guess". Throws Error(invalid_argument) listing them.
[[nodiscard]] BERTH_EXPORT LoadOptions::Arguments arguments_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view arguments_name(
    LoadOptions::Arguments arguments) noexcept;
/// "2/8": two of eight. Throws Error(invalid_argument) for any other text.
[[nodiscard]] BERTH_EXPORT LoadOptions::Experts experts_from_text(std::string_view text);

/// The sizes of LoadOptions as they count: those that gave way to stronger ones have these' values.
struct SettledSizes {
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::vector<std::int64_t>> shapes;
};

struct LoadedModel {
  std::shared_ptr<const Graph> graph;
  /// Warnings for the user: a newer opset than is known, assumed defaults,
  /// unknown op types, the number of tensors without a size.
  std::vector<std::string> notes;
  std::optional<SettledSizes> sizes = {};  ///< where some gave way
};

struct LoadedProgram {
  std::shared_ptr<const Program> program;
  /// As LoadedModel::notes.
  std::vector<std::string> notes;
  std::optional<SettledSizes> sizes = {};  ///< as LoadedModel::sizes
};

struct LoadedCosts {
  std::shared_ptr<const Costs> costs;
  /// Warnings for the user: how many ops have a measurement.
  std::vector<std::string> notes;
};

/// Reads one family of model files. [thread-compatible]
///
/// All else that a frontend can do is an extension: a class below, or in berth/sdk/splitting.h, from
/// which it derives too. A new extension changes the layout of no class here.
class BERTH_EXPORT Frontend {
 public:
  virtual ~Frontend();

  /// Whether the file or folder looks like one of this family: by its name, and by its first bytes
  /// if the name does not decide. Never throws for a file that cannot be read.
  [[nodiscard]] virtual bool claims(const std::filesystem::path& model) const = 0;

  /// Throws Error naming the file, the place in it and the fix.
  [[nodiscard]] virtual LoadedModel load(const std::filesystem::path& model,
                                         const LoadOptions& options) = 0;
};

/// Extension of a Frontend: it gives what executing needs. [thread-compatible]
class BERTH_EXPORT ProgramLoader {
 public:
  virtual ~ProgramLoader();

  /// Loads the model with everything that executing it needs. The graph is the one that `load`
  /// of the frontend returns for these options: same ops, same tensors, same ids. Tensor contents that can be used
  /// as they lie in the file are mapped, not read. Throws as `load` does. An op that can be placed
  /// but not executed says why in Instruction::obstacle.
  [[nodiscard]] virtual LoadedProgram load_program(const std::filesystem::path& model,
                                                   const LoadOptions& options) = 0;
};

/// Extension of a Frontend: its models may lie in several files. [thread-compatible]
class BERTH_EXPORT ModelFiles {
 public:
  virtual ~ModelFiles();

  /// Files that loading or executing the model reads besides `model` itself, whether or not they are there.
  /// Empty for a model that cannot be read.
  [[nodiscard]] virtual std::vector<std::filesystem::path> files(
      const std::filesystem::path& model) const = 0;
};

/// Extension of a Frontend: it writes placements into its files. [thread-compatible]
class BERTH_EXPORT PlacementWriter {
 public:
  virtual ~PlacementWriter();

  /// Writes the model to `output` with its placement, in the family's own terms. Everything else in
  /// the file is kept. The file is written completely or not at all.
  virtual void annotate(const std::filesystem::path& model, const Graph& graph,
                        const Cluster& cluster, const Placement& placement,
                        const std::filesystem::path& output) = 0;
};

/// Extension of a Frontend: it reads what the family's own profiler measured. [thread-compatible]
class BERTH_EXPORT CostsReader {
 public:
  virtual ~CostsReader();

  /// Whether the content of the file looks like compute times from that profiler. Never throws for
  /// a file that cannot be read.
  [[nodiscard]] virtual bool claims_costs(const std::filesystem::path& costs) const = 0;

  /// The costs of `graph`, which this frontend loaded, on the kinds of `cluster`: measured costs by
  /// op name, and Costs::roofline for the other ops. Throws Error naming the file, the place in it
  /// and the fix; also if the file measures no op of the graph.
  [[nodiscard]] virtual LoadedCosts load_costs(const std::filesystem::path& costs,
                                               const Graph& graph, const Cluster& cluster) = 0;
};

/// Extension of a Frontend: it writes steps of replicas. [thread-compatible]
class BERTH_EXPORT ReplicaWriter {
 public:
  virtual ~ReplicaWriter();

  /// Writes the step of replicas to `output`: every replica a copy of the model at its share of the
  /// batch, its nodes named "replica_0/..", on the devices that `placement` has for op
  /// r * graph.op_count() + i; gradients of means weighted by the shares, all summed, sparse ones gathered.
  /// Replicas begin with the values of the first one's variables, and draw random numbers of their own. What the
  /// file calls its step runs all of them. `graph` is the whole batch's, which `options` loaded.
  virtual void write_replicas(const std::filesystem::path& model, const LoadOptions& options,
                              const Graph& graph, const Training& training,
                              const std::vector<std::int64_t>& shares, const Cluster& cluster,
                              const Placement& placement, const std::filesystem::path& output) = 0;
};

}  // namespace berth
