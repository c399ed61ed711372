/// @file
/// The attribute that says of which module an op is.
#pragma once

#include <string_view>

namespace berth {

/// Attribute of an op: the module that computes it, where a frontend knows it and the op's name has no
/// scope.
inline constexpr std::string_view kModuleAttribute = "torch.module";

}  // namespace berth
