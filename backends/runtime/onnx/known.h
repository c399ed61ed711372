// The attributes and inputs that the kernels know.
#pragma once

#include "berth/sdk/program.h"

namespace berth::runtime::onnx {

/// Op sets to come give ops attributes and inputs that a kernel of today would overlook. Throws Error(unsupported)
/// naming one that the instruction has and its kernel does not know, or a value of one that it cannot do. Types
/// without a published schema are not looked at.
void refuse_unknown(const Instruction& instruction);

}  // namespace berth::runtime::onnx
