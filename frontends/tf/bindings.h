// Statements of a user about a model's open sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/frontend.h"
#include "tf/input_names.h"
#include "tf/value.h"

namespace berth::tf_frontend {

/// Statements of the user about open dimensions and loops, and which of them were used.
///
/// Open dimensions of placeholders and iterators are named "tensor/axis" ("tokens/1",
/// "IteratorGetNext:2/0"); "batch" names every open first dimension at once. A loop whose number of
/// iterations the graph does not show is named by its frame, or by its While node.
class Bindings {
 public:
  explicit Bindings(const LoadOptions& options, const std::string& file);

  /// Messages add the names that callers have for inputs; the options have those of nodes.
  void show(const InputNames& names) noexcept { names_ = &names; }

  /// Inputs whose first dimension is `stated` have the user's batch in its place.
  void replace_batch(std::int64_t stated) noexcept { stated_batch_ = stated; }
  /// The batch that the user states, if any, and LoadOptions::weakness of its source.
  [[nodiscard]] std::optional<std::int64_t> batch() const noexcept { return batch_; }
  [[nodiscard]] int weakness_of_batch() const noexcept { return weakness_of_batch_; }
  /// The user's sizes as they count; none where no source is weaker than another.
  [[nodiscard]] std::optional<SettledSizes> sizes() const;

  /// Replaces or completes the shape of input tensor `name` as the user states.
  void apply(const std::string& name, Value& value);
  /// Completes the shape of any other tensor `name` as the user states. Throws
  /// Error(invalid_argument) where that contradicts what is known of it.
  void give(const std::string& name, Value& value);
  [[nodiscard]] bool gives_shapes() const noexcept { return !options_.shapes.empty(); }
  [[nodiscard]] bool gives_sizes() const noexcept {
    return gives_shapes() || !options_.dims.empty();
  }
  /// Iterations of a loop as the user states them; 1, with a note, if nothing is known.
  [[nodiscard]] std::int64_t trips_or_one(const std::string& loop);

  /// Throws Error(invalid_argument) for names that the model does not have, listing those it has.
  void finish(std::vector<std::string>& notes) const;

 private:
  /// `shape`: the name of the shape that the user gives for it; empty = none.
  void settle(const std::string& name, const std::string& shape, std::size_t axis, Value& value);

  std::string file_;
  const LoadOptions& options_;
  const InputNames* names_ = nullptr;
  std::optional<std::int64_t> batch_, stated_batch_;
  int weakness_of_batch_ = 0;
  SettledSizes sizes_;
  std::set<std::string> inputs_;
  std::set<std::string> open_;  // dimensions that stay open
  std::set<std::string> dims_;  // all that may be bound
  std::set<std::string> used_;
  std::set<std::string> unknown_loops_;
};

}  // namespace berth::tf_frontend
