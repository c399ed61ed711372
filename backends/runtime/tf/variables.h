// Variables: one tensor per variable in the device's state, under the name of the variable's op.
//
// A reference, and a handle of a resource, is the variable's tensor itself. Ops that change the
// variable change it in place, and so for all holders of the reference. Ops that read the value
// (Identity, ReadVariableOp) return another tensor on the same memory. While one of those is alive,
// a change first moves the variable to memory of its own (writable), so that a value that was read
// never changes.
#pragma once

#include "runtime/tf/support.h"

namespace berth::runtime::tf {

/// The variable that `in[i]` refers to, ready to be changed in place.
[[nodiscard]] const Tensor& writable(Inputs in, std::size_t i);

}  // namespace berth::runtime::tf
