// The values behind handles: of a variable, a tensor array, a stack or a tensor list.
#pragma once

#include "ops/tf/rules.h"

namespace berth::ops::tf {

/// Common to all elements that were pushed on a stack or a list, besides their shape: content, and
/// of lists what they hold. Value::other of all that hold its handle.
struct Pushes {
  mutable std::shared_ptr<const Value> common;  ///< null before the first push
};

/// Output 0 becomes a handle of its own to tensors of the type and shape given. The reference stays
/// valid as long as the output holds it.
Handle& new_handle(OpContext& op, int type, Dims dims = {});
void state_shape(Handle& handle, const Value& shape);
/// Learns from a write about the tensors behind a handle.
void learn(const Value& handle, const Value& element);
[[nodiscard]] Value element_of(const Value& handle);
/// As new_handle, and what is pushed is learned too.
Handle& new_list(OpContext& op, int type, Dims dims = {});
/// Output 0 is the list that the first input is.
void same_list(OpContext& op);
/// Learns from a push. A loop's gradient gets sizes from what the loop has pushed: shapes, and lists of the
/// loops in it.
void learn_push(const Value& handle, const Value& element);
/// An element that was pushed.
[[nodiscard]] Value pushed_element(const Value& handle);
void give_element(OpContext& op, std::size_t output, const Value& element);
/// Output 0 is what is behind the first input.
void read_handle(OpContext& op);
/// Output 0 is the shape of what is behind the first input, unknown dimensions as -1.
void element_shape(OpContext& op);

}  // namespace berth::ops::tf
