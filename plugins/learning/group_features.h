// Features of groups of ops for sequence policies, after the op and group embeddings of Mirhoseini et
// al., ICML 2017 and ICLR 2018.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "berth/problem.h"

namespace berth::learning {

/// The op types with their own embedding. Immutable.
class Vocabulary {
 public:
  /// The `most` types with most ops in the problems, by number, ties by name.
  Vocabulary(std::span<const Problem* const> problems, std::size_t most);
  /// As `text` of another wrote it.
  explicit Vocabulary(const std::string& text);

  /// Embeddings: one per type, and the first for all types that have none.
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(types_.size()) + 1; }
  [[nodiscard]] std::int64_t of(const std::string& type) const;
  /// All types, a line each.
  [[nodiscard]] std::string text() const;

 private:
  void index();
  std::vector<std::string> types_;
  std::unordered_map<std::string, std::int64_t> index_;
};

/// Tensors per group and dimensions per tensor among its features: the largest tensors that it
/// hands on, zeros if there are fewer.
inline constexpr std::int64_t kShapeTensors = 4;
inline constexpr std::int64_t kShapeDims = 4;
inline constexpr std::int64_t kShapeFeatures = kShapeTensors * kShapeDims;

/// Groups in the order in which they are placed.
struct Sequence {
  std::vector<std::int32_t> labels;  ///< [length] ascending, below the capacity
  torch::Tensor types;               ///< [length, vocabulary] shares of its ops
  torch::Tensor shapes;              ///< [length, kShapeFeatures] log(1 + dimension) / 10
  torch::Tensor inputs;              ///< [length, capacity] 1 if it reads from that label
  torch::Tensor outputs;             ///< [length, capacity] 1 if that label reads from it
  torch::Tensor barred;              ///< [length, devices] bool: the device cannot run most of it

  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(labels.size()); }
};

/// The groups of a problem, called units here, with what of their features does not depend on how
/// they are divided into groups. Immutable.
class Units {
 public:
  /// Throws Error(unsupported) naming an op of a unit that no device can run as a whole.
  Units(const Problem& problem, const Vocabulary& vocabulary);

  [[nodiscard]] std::int64_t count() const { return types_.size(0); }
  /// [units, vocabulary] shares of its ops.
  [[nodiscard]] const torch::Tensor& types() const { return types_; }
  /// [units, kShapeFeatures]
  [[nodiscard]] torch::Tensor shapes() const;

  /// Units with one label are a group, which sees its parts' types, largest tensors and
  /// neighbours. `label` is below `capacity` for every unit. A device that cannot run most ops of
  /// a group is barred from it, unless that leaves none.
  [[nodiscard]] Sequence sequence(const Problem& problem, std::span<const std::int32_t> label,
                                  std::int64_t capacity) const;

  /// The device of every unit from that of every group of a sequence; a unit that cannot run there
  /// goes to the able device where it takes least time.
  [[nodiscard]] GroupPlacement expand(const Problem& problem, const Sequence& sequence,
                                      std::span<const std::int32_t> label,
                                      std::span<const std::int64_t> devices) const;

 private:
  struct Output {
    std::int64_t bytes;
    TensorId tensor;
  };
  void write_shapes(std::vector<Output>& outputs, float* row) const;

  std::shared_ptr<const Graph> graph_;
  torch::Tensor types_;
  std::vector<float> ops_;                    ///< by unit: how many
  std::vector<std::vector<Output>> outputs_;  ///< by unit: the largest, largest first
  std::vector<DeviceId> home_;                ///< by unit: where it takes least time
};

}  // namespace berth::learning
