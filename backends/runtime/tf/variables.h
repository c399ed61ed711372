// Variables: a tensor per variable in the device's state, under the name of the variable's op.
//
// A reference, and a handle of a resource, is the variable's tensor itself: what changes the
// variable changes it in place, and so for all who hold the reference. What reads the value
// (Identity, ReadVariableOp) gives another tensor on the same memory; while one of those is alive,
// a change moves the variable to memory of its own first (writable), so that a value once read
// stays what it was.
#pragma once

#include "runtime/tf/support.h"

namespace berth::runtime::tf {

/// The variable that `in[i]` refers to, ready to be changed in place.
[[nodiscard]] const Tensor& writable(Inputs in, std::size_t i);

}  // namespace berth::runtime::tf
