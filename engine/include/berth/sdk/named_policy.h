/// @file
/// A policy with its options in one text.
#pragma once

#include <string>
#include <string_view>

#include "berth/export.h"
#include "berth/options.h"

namespace berth {

struct NamedPolicy {
  std::string name;
  OptionTexts options;  ///< texts
};

/// "metis", "placeto:weights=none:groups=64", "single:device=gpu:1": the name, and each option behind a colon; a
/// part without '=' belongs to the value before it. Throws Error(invalid_argument) where a part behind the name is
/// not of the form key=value, and for a key that is given twice. The policy need not exist.
[[nodiscard]] BERTH_EXPORT NamedPolicy parse_named_policy(std::string_view text);

}  // namespace berth
