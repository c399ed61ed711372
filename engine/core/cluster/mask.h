// CUDA_VISIBLE_DEVICES of the process that looked at its machine, in the machine's name: a plan that sets the
// variable itself must say the numbers that its user knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/support/text.h"

namespace berth {

inline constexpr std::string_view kMaskMark = " with CUDA_VISIBLE_DEVICES=";

/// The name of a machine of which a process sees the GPUs that `entries` name; as it is where there are none.
[[nodiscard]] inline std::string masked_name(std::string_view name,
                                             const std::vector<std::string>& entries) {
  std::string masked(name);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    masked += cat(i == 0 ? kMaskMark : ",", entries[i]);
  }
  return masked;
}

/// The entries in a machine's name, one for each of its GPUs; empty where it has none.
[[nodiscard]] inline std::vector<std::string> mask_in(std::string_view name) {
  const std::size_t mark = name.find(kMaskMark);
  if (mark == std::string_view::npos) return {};
  return split_names(name.substr(mark + kMaskMark.size()));
}

}  // namespace berth
