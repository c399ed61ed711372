// Inputs whose numbers decide how much a step does.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/program.h"

namespace berth::onnx_frontend {

struct Decisions {
  /// Numbers of inputs with one element for which loops run as often as is planned: what a run feeds.
  std::unordered_map<ValueId, double> numbers;
  /// Inputs, with the op, that choose a branch: what a run draws may choose another than was planned.
  std::vector<std::string> drawn;
};

/// Takes a program whose types are inferred.
[[nodiscard]] Decisions find_decisions(const Program& program);

/// A note for whoever runs a model with inputs that are drawn; empty where there are none.
[[nodiscard]] std::string drawn_note(const Decisions& decisions);

}  // namespace berth::onnx_frontend
