// Types, shapes and small contents of all values of a program.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/frontend.h"
#include "berth/sdk/op_rules.h"
#include "onnx/program.h"

namespace berth::onnx_frontend {

struct InferenceReport {
  /// Operators that neither a rule nor libonnx knows, as "domain.Type", with their number.
  std::map<std::string, std::int64_t> unknown_operators;
  /// Operators of a set that is newer than libonnx's, with what its schemas do not know, on which their shapes rest.
  std::set<std::string> beyond_schemas;
  /// Nodes that libonnx refuses: their number, and the first one with the reason.
  std::int64_t refused = 0;
  std::string first_refusal;
  /// Values whose declared type contradicts what follows from the inputs.
  std::int64_t contradictions = 0;
  /// Loops whose trip count is not known before they run, and ops that search: their body is counted once.
  std::vector<std::string> loops_of_unknown_length;
  /// Tensors of the graph, and of bodies, whose size depends on what is chosen when the step runs, and which were
  /// given that of the largest step; and the types of the ops that choose.
  std::int64_t at_their_largest = 0;
  std::set<std::string> choosers;
  /// Ops that choose the tokens of experts, and what the first says of how many are chosen.
  std::int64_t routings = 0;
  LoadOptions::Experts experts;
};

/// Goes over the bodies in topological order and skips what cannot be inferred. The types of graph
/// inputs must be set. Control flow is entered: If takes the larger of two branch results, Loop and
/// Scan take what stays the same from one iteration to the next. A Loop whose state changes, and whose
/// trip count is known and moderate, is followed trip by trip: what grows has its last size.
/// A Loop that its condition alone ends is counted where what the condition reads is known, trip by trip.
/// Throws Error(invalid_argument) where a shape, or the trips of a loop, that the user gave contradict what follows.
/// `experts` is what the user says of a mixture of experts; `rules` are the user's own.
[[nodiscard]] InferenceReport infer(Program& program, LoadOptions::Experts experts,
                                    const OpRules& rules);

}  // namespace berth::onnx_frontend
