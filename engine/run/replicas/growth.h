// How numbers grow with the batch: what tells a mean over the samples from a sum.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "berth/graph.h"

namespace berth {

[[nodiscard]] bool is_float(DType dtype);

/// Loops, branches and calls, and TensorFlow's arrays and lists of tensors: graphs do not say what is done within.
[[nodiscard]] bool is_loop(std::string_view type);
[[nodiscard]] bool is_array(std::string_view type);

/// Indexed by tensor: the power of m with which its numbers grow where every sample is there m times. A mean over
/// samples has 0 and a sum 1, as the batch's size has; of the rows that make up the gradient of a mean, each has
/// -1. Nothing = not known. `smaller` is the same model of TensorFlow at a smaller batch: what depends on
/// the size alone follows from the numbers that the frontend knows at both (kKnownNumber).
[[nodiscard]] std::vector<std::optional<int>> find_growth(const Graph& whole, const Graph& smaller);

}  // namespace berth
