// An op as a work rule sees it: its tensors and attributes, any of which may be missing.
//
// Counts are doubles, and NaN means "not known". So a formula over unknown dimensions is itself
// unknown without a check at every step, and a product of huge dimensions cannot overflow. Missing
// tensors (omitted, out of range) answer every question with "not known".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "berth/graph.h"

namespace berth::ops {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The attribute that lists the positions, ascending, at which an op gives nothing, before one at which it does.
inline constexpr std::string_view kOmittedOutputs = "omitted_outputs";

class TensorView {
 public:
  TensorView(const Graph& graph, TensorId id) : graph_(&graph), id_(id) {}

  [[nodiscard]] bool present() const { return id_ != kNoTensor; }
  /// -1 if not known.
  [[nodiscard]] int rank() const;
  /// A negative `axis` counts from the end. NaN if out of range or not known.
  [[nodiscard]] double dim(int axis) const;
  [[nodiscard]] double elements() const;
  /// Product of the dimensions [first, last). Negative numbers count from the end, and `last` =
  /// kEnd is the rank.
  static constexpr int kEnd = std::numeric_limits<int>::max();
  [[nodiscard]] double elements(int first, int last) const;
  /// 0 if not known: the roofline model counts the bytes that it knows.
  [[nodiscard]] double bytes() const;
  [[nodiscard]] DType dtype() const;

 private:
  const Graph* graph_;
  TensorId id_;
};

class OpView {
 public:
  OpView(const Graph& graph, OpId op) : graph_(&graph), op_(op) {}

  [[nodiscard]] std::size_t input_count() const { return graph_->inputs(op_).size(); }
  [[nodiscard]] TensorView input(std::size_t i) const;
  /// Counts as the type does, with outputs that are left out, which the graph does not have (kOmittedOutputs).
  [[nodiscard]] TensorView output(std::size_t i) const;

  /// Total size of the distinct tensors read.
  [[nodiscard]] double inputs_read() const;
  /// The same with the weights that are stated as bytes of the op (Graph::stated_param_bytes), which a step reads as it
  /// reads parameter tensors.
  [[nodiscard]] double bytes_read() const;
  /// Total size of the tensors written.
  [[nodiscard]] double bytes_written() const;
  /// Whether the output goes on with the input in its place, as the next step's (Graph::State).
  [[nodiscard]] bool goes_on(std::size_t input, std::size_t output) const;
  /// The type that the arithmetic runs in: that of the first input with a known type, otherwise of
  /// the first output, otherwise f32.
  [[nodiscard]] DType dtype() const;

  /// Attributes. The fallback is returned if one is absent or of another type.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] std::span<const std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::string_view text(std::string_view name) const;

 private:
  const Graph* graph_;
  OpId op_;
};

}  // namespace berth::ops
