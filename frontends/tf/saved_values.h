// The values of variables in the checkpoint beside a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/sdk/program.h"
#include "tf/model_file.h"
#include "tf/program.h"

namespace berth::tf_frontend {

struct SavedValues {
  std::map<std::string, TensorContent, std::less<>> of;  ///< by the name of the variable's op
  std::vector<std::string> notes;
};

/// For the variables of `program`, which is a step of `file`. A SavedModel's checkpoint is in its folder "variables",
/// that of MODEL.meta is MODEL. Which tensor belongs to which variable follows from the ops that would restore it. A
/// note says which variables are left without a value, unless `file` is of a graph alone. Throws Error for a
/// damaged checkpoint.
[[nodiscard]] SavedValues find_saved_values(const ModelFile& file, Library& library,
                                            const Program& program);

}  // namespace berth::tf_frontend
