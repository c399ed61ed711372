// The content of a tensor as a file holds it.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sdk/program.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

/// `bytes` is a TensorProto of node `node`, checked by read_tensor. Raw content stays where it is,
/// kept alive by `owner`. Content given element by element is decoded; the last element stands for
/// all that follow. Throws Error(invalid_file) naming the node if there are more elements than the
/// shape has, and Error(unsupported) for a type that cannot be computed with.
[[nodiscard]] TensorContent read_content(std::string_view bytes, const WireSource& source,
                                         std::string_view node,
                                         const std::shared_ptr<const void>& owner);

}  // namespace berth::tf_frontend
