// Inputs of a model that are its weights.
#pragma once

#include <string>
#include <vector>

#include "berth/frontend.h"
#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Takes out of the program's inputs those that are parameters: those whose shape the file fixes where
/// `LoadOptions::arguments` says so, or of these, where it fixes all, those that are read as weights; those whose names
/// and uses are a weight's where it is to be guessed, with a note. They become parameters of the ops that read them,
/// without content. An input that `LoadOptions::states` names stays one, as does one whose next value the step returns
/// where that is guessed, too: the step's state. Marks the weights that the step trains.
void take_parameters(const Model& model, const LoadOptions& options, Program& program,
                     std::vector<std::string>& notes);

}  // namespace berth::onnx_frontend
