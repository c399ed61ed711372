// The window of attention: how far back it sees.
#pragma once

#include <cstdint>

#include "ops/op_view.h"

namespace berth::ops {

/// Keys that a query of the op sees, its own among them; 0 = all of them, or it is no attention.
[[nodiscard]] std::int64_t attention_window(const OpView& op);

}  // namespace berth::ops
