// Graphs whose files fix the batch, at another one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tf/program.h"

namespace berth::tf_frontend {

/// A number in a constant of the file that is as many times larger as the batch is.
struct BatchSite {
  const NodeDef* node = nullptr;  ///< a Const
  std::size_t index = 0;          ///< of the element; of the dimension where `dimension`
  /// The constant is as long along this dimension: it repeats one number, or has rows of each sample.
  bool dimension = false;
  friend bool operator==(const BatchSite&, const BatchSite&) = default;
};

/// The batch that a file fixes, and all of its constants that hold it.
struct FixedBatch {
  std::int64_t size = 0;
  std::vector<BatchSite> sites;
};

/// The first dimension of every input that has one, where the file fixes it and all agree.
/// Otherwise nothing: some input leaves it open, they differ, or it is 1, which cannot be told from
/// sizes that are no batch.
[[nodiscard]] std::optional<std::int64_t> stated_batch(const Program& program);

/// Finds the constants that hold the batch, by inference alone: with another batch at the inputs,
/// shapes contradict each other until the right constants follow. `stated` is inferred as the file
/// has it, `order` has its nodes, producers first. `at` gives the same program inferred with the
/// sites known so far, at another batch. Throws Error(unsupported) naming a node whose shape does
/// not follow from any constant, as with control flow that depends on the batch.
[[nodiscard]] FixedBatch find_batch(
    const Program& stated, std::span<const NodeId> order, std::int64_t size,
    const std::string& file, const std::function<Program(const FixedBatch&, std::int64_t)>& at);

/// Gives the constants of `program` the values that they have at `batch`.
void set_batch(Program& program, const FixedBatch& fixed, std::int64_t batch);

/// The attribute "value" of a constant at `batch`: an AttrValue. Empty where the constant stays.
[[nodiscard]] std::string value_at(const NodeDef& node, const Attributes& attributes,
                                   const FixedBatch& fixed, std::int64_t batch);

/// Samples of a replica.
struct Share {
  std::int64_t begin = 0, samples = 0;
  std::int64_t of = 0;  ///< the whole batch
};
/// The same for a share of the batch: of a constant with rows of each sample, theirs. Throws
/// Error(unsupported) naming such a constant where the whole batch is not the file's.
[[nodiscard]] std::string value_of_share(const NodeDef& node, const Attributes& attributes,
                                         const FixedBatch& fixed, const Share& share);

}  // namespace berth::tf_frontend
