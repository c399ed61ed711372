// Mixtures of experts that exporters spell out: which ops choose the tokens of an expert, and how
// many they choose in the mean.
#pragma once

#include <optional>
#include <vector>

#include "berth/frontend.h"
#include "onnx/program.h"
#include "support/experts.h"

namespace berth::onnx_frontend {

/// [thread-compatible]
class Routing {
 public:
  /// `given`: what the user said; its figures count before those of the model. Keeps a reference to
  /// the program, which must not grow.
  Routing(const Program& program, LoadOptions::Experts given);

  /// Follows the mask back to the TopK by which a router chooses. Empty where there is none, unless
  /// the user said how many experts a token chooses, or where sizes are not known.
  [[nodiscard]] std::optional<frontend::Routed> of(const Node& node) const;

 private:
  void add_body(const Body& body);
  [[nodiscard]] std::optional<frontend::Router> router_of(ValueId mask) const;
  [[nodiscard]] std::optional<frontend::Router> router_at(const Node& top) const;

  const Program& program_;
  const LoadOptions::Experts given_;
  std::vector<const Body*> bodies_;  ///< by Body::id
};

/// The share of steps in which `node` has anything to do: that of the tokens that it reads. What
/// scatters them back runs in every step.
[[nodiscard]] double share_of(const Program& program, const Node& node);

/// Whether the type is of a mixture of experts in one op, which says itself how many are chosen.
[[nodiscard]] bool is_mixture_of_experts(const Node& node);

}  // namespace berth::onnx_frontend
